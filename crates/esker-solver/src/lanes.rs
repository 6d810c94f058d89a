//! Several numbers at once: one trait, three instruction sets.
//!
//! All arithmetic is IEEE addition, multiplication, division and square root
//! without fusing, so that every lane of every instruction set computes the
//! same bits. (On current cores additions and multiplications issue side by
//! side; fusing them was not faster where it was tried.)
//!
//! `unsafe`: a value of `Avx2` or `Avx512` exists only where the processor
//! has these instructions, because making one is unsafe and the kernels are
//! entered through [`Instructions::detect`] only. Gathers and scatters trust
//! their indices.

use std::ops::{Add, Div, Mul, Sub};

use esker_contact::BodyState;

/// Four numbers that a kernel gathers together: a vector and padding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Quad(pub [f64; 4]);

/// A half of a body: four of its eight numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Velocity and inverse mass.
    Linear = 0,
    /// Angular velocity and inverse inertia.
    Angular = 4,
}

/// Which instructions the kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// What every processor has.
    Portable,
    /// Four numbers at once.
    Avx2,
    /// Eight numbers at once.
    Avx512,
}

impl Instructions {
    /// The widest that this processor has.
    pub fn detect() -> Self {
        Self::available()[0]
    }

    /// All that this processor has, the widest first.
    pub fn available() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                all.push(Instructions::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                all.push(Instructions::Avx2);
            }
        }
        all.push(Instructions::Portable);
        all
    }

    /// Its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Instructions::Portable => "portable",
            Instructions::Avx2 => "avx2",
            Instructions::Avx512 => "avx512",
        }
    }
}

/// A register full of numbers.
///
/// # Safety
/// Methods that take pointers read or write [`Lanes::WIDTH`] elements there
/// (gathers and scatters: at the indices given); those that make a value need
/// the instruction set.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Lanes of a register.
    const WIDTH: usize;
    /// One truth value per lane.
    type Mask: Copy;

    unsafe fn load(from: *const f64) -> Self;
    unsafe fn load_single(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f64);
    unsafe fn splat(x: f64) -> Self;
    fn sqrt(self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn less(self, other: Self) -> Self::Mask;
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `yes` where the mask is set.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Bit k is lane k.
    fn bits(mask: Self::Mask) -> u32;
    /// Velocity, inverse mass, angular velocity and inverse inertia of the bodies at the indices.
    unsafe fn gather_bodies(bodies: *const BodyState, index: *const u32) -> [Self; 8];
    /// One half of what [`Lanes::gather_bodies`] gives.
    unsafe fn gather_half(bodies: *const BodyState, index: *const u32, half: Half) -> [Self; 4];
    /// Puts back what [`Lanes::gather_bodies`] gave, for the first `active` lanes.
    unsafe fn scatter_bodies(
        values: [Self; 8],
        bodies: *mut BodyState,
        index: *const u32,
        active: usize,
    );
    /// The first three numbers of the quads at the indices.
    unsafe fn gather_quads(quads: *const Quad, index: *const u32) -> [Self; 3];
    /// The same of the differences of quads at two lists of indices, second less first.
    unsafe fn gather_differences(quads: *const Quad, index: [*const u32; 2]) -> [Self; 3];
}

/// Four lanes in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f64; 4]);

impl Portable {
    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut out = self.0;
        for (x, y) in out.iter_mut().zip(other.0) {
            *x = f(*x, y);
        }
        Portable(out)
    }
}

macro_rules! portable_operator {
    ($trait:ident, $method:ident, $operator:tt) => {
        impl $trait for Portable {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.map2(other, |x, y| x $operator y)
            }
        }
    };
}
portable_operator!(Add, add, +);
portable_operator!(Sub, sub, -);
portable_operator!(Mul, mul, *);
portable_operator!(Div, div, /);

impl Lanes for Portable {
    const WIDTH: usize = 4;
    type Mask = [bool; 4];

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller's pointer holds four numbers.
        Portable(unsafe { from.cast::<[f64; 4]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_single(from: *const f32) -> Self {
        // SAFETY: the caller's pointer holds four numbers.
        Portable(unsafe { from.cast::<[f32; 4]>().read_unaligned() }.map(f64::from))
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller's pointer has room for four numbers.
        unsafe { to.cast::<[f64; 4]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        Portable([x; 4])
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Portable(self.0.map(f64::sqrt))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // As the instruction does it: the second where they do not compare.
        self.map2(other, |x, y| if x > y { x } else { y })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.map2(other, |x, y| if x < y { x } else { y })
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        [0, 1, 2, 3].map(|k| self.0[k] < other.0[k])
    }

    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        [0, 1, 2, 3].map(|k| a[k] & b[k])
    }

    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Portable([0, 1, 2, 3].map(|k| if mask[k] { yes.0[k] } else { no.0[k] }))
    }

    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        (0..4).fold(0, |bits, k| bits | u32::from(mask[k]) << k)
    }

    #[inline(always)]
    unsafe fn gather_bodies(bodies: *const BodyState, index: *const u32) -> [Self; 8] {
        let mut out = [Portable([0.0; 4]); 8];
        for lane in 0..4 {
            // SAFETY: the caller's indices are those of bodies.
            let line = unsafe {
                let body = bodies.add(*index.add(lane) as usize);
                body.cast::<[f64; 8]>().read()
            };
            for (column, x) in out.iter_mut().zip(line) {
                column.0[lane] = x;
            }
        }
        out
    }

    #[inline(always)]
    unsafe fn gather_half(bodies: *const BodyState, index: *const u32, half: Half) -> [Self; 4] {
        // SAFETY: passed on to the caller.
        let all = unsafe { Self::gather_bodies(bodies, index) };
        [0, 1, 2, 3].map(|k| all[half as usize + k])
    }

    #[inline(always)]
    unsafe fn scatter_bodies(
        values: [Self; 8],
        bodies: *mut BodyState,
        index: *const u32,
        active: usize,
    ) {
        for lane in 0..active.min(4) {
            // SAFETY: the caller's indices are those of bodies.
            unsafe {
                let body = bodies.add(*index.add(lane) as usize);
                body.cast::<[f64; 8]>().write(values.map(|v| v.0[lane]));
            }
        }
    }

    #[inline(always)]
    unsafe fn gather_quads(quads: *const Quad, index: *const u32) -> [Self; 3] {
        let mut out = [Portable([0.0; 4]); 3];
        for lane in 0..4 {
            // SAFETY: the caller's indices are those of quads.
            let quad = unsafe { (*quads.add(*index.add(lane) as usize)).0 };
            for (column, x) in out.iter_mut().zip(quad) {
                column.0[lane] = x;
            }
        }
        out
    }

    #[inline(always)]
    unsafe fn gather_differences(quads: *const Quad, index: [*const u32; 2]) -> [Self; 3] {
        // SAFETY: passed on to the caller.
        let [a, b] = unsafe { index.map(|index| Self::gather_quads(quads, index)) };
        [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BodyState, Half, Lanes, Quad};
    use std::arch::x86_64::*;
    use std::ops::{Add, Div, Mul, Sub};

    /// Four lanes of AVX2.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256d);

    /// Eight lanes of AVX-512.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512d);

    macro_rules! operator {
        ($type:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
            impl $trait for $type {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: a value exists only where the instructions do.
                    $type(unsafe { $intrinsic(self.0, other.0) })
                }
            }
        };
    }
    operator!(Avx2, Add, add, _mm256_add_pd);
    operator!(Avx2, Sub, sub, _mm256_sub_pd);
    operator!(Avx2, Mul, mul, _mm256_mul_pd);
    operator!(Avx2, Div, div, _mm256_div_pd);
    operator!(Avx512, Add, add, _mm512_add_pd);
    operator!(Avx512, Sub, sub, _mm512_sub_pd);
    operator!(Avx512, Mul, mul, _mm512_mul_pd);
    operator!(Avx512, Div, div, _mm512_div_pd);

    // No closure and no `map` below: they would be functions of their own,
    // without the instruction set, and inlined only as long as the optimiser
    // likes it. It stopped once, at three times the run time.

    /// Two numbers from each of two addresses.
    #[inline(always)]
    unsafe fn join(low: *const f64, high: *const f64) -> __m256d {
        // SAFETY: the caller's addresses hold two numbers each.
        unsafe {
            let low = _mm256_castpd128_pd256(_mm_loadu_pd(low));
            _mm256_insertf128_pd(low, _mm_loadu_pd(high), 1)
        }
    }

    /// Address of the line of the body at a place of the index list.
    #[inline(always)]
    unsafe fn line(bodies: *const BodyState, index: *const u32, k: usize) -> *mut f64 {
        // SAFETY: the caller's indices are those of bodies.
        unsafe { bodies.add(*index.add(k) as usize).cast_mut().cast::<f64>() }
    }

    /// Address of the quad at a place of the index list.
    #[inline(always)]
    unsafe fn quad(quads: *const Quad, index: *const u32, k: usize) -> *const f64 {
        // SAFETY: the caller's indices are those of quads.
        unsafe { quads.add(*index.add(k) as usize).cast::<f64>() }
    }

    /// The difference of the quads at place k of two index lists, second less first.
    #[inline(always)]
    unsafe fn quad_difference(quads: *const Quad, [a, b]: [*const u32; 2], k: usize) -> __m256d {
        // SAFETY: the caller's indices are those of quads.
        unsafe {
            let (a, b) = (quad(quads, a, k), quad(quads, b, k));
            _mm256_sub_pd(_mm256_load_pd(b), _mm256_load_pd(a))
        }
    }

    impl Avx2 {
        /// Columns of the 4 × 4 matrix whose rows begin at four addresses.
        /// Halves are joined while they are loaded, which spares shuffles.
        #[inline(always)]
        unsafe fn columns(rows: [*const f64; 4]) -> [Self; 4] {
            // SAFETY: the caller's addresses hold four numbers each.
            unsafe {
                let a = join(rows[0], rows[2]);
                let b = join(rows[1], rows[3]);
                let c = join(rows[0].add(2), rows[2].add(2));
                let d = join(rows[1].add(2), rows[3].add(2));
                [
                    Avx2(_mm256_unpacklo_pd(a, b)),
                    Avx2(_mm256_unpackhi_pd(a, b)),
                    Avx2(_mm256_unpacklo_pd(c, d)),
                    Avx2(_mm256_unpackhi_pd(c, d)),
                ]
            }
        }

        /// Rows of the 4 × 4 matrix with these columns.
        #[inline(always)]
        fn rows(columns: [Self; 4]) -> [__m256d; 4] {
            let [Avx2(x), Avx2(y), Avx2(z), Avx2(w)] = columns;
            // SAFETY: a value exists only where the instructions do.
            unsafe {
                let (xy_low, xy_high) = (_mm256_unpacklo_pd(x, y), _mm256_unpackhi_pd(x, y));
                let (zw_low, zw_high) = (_mm256_unpacklo_pd(z, w), _mm256_unpackhi_pd(z, w));
                [
                    _mm256_permute2f128_pd(xy_low, zw_low, 0x20),
                    _mm256_permute2f128_pd(xy_high, zw_high, 0x20),
                    _mm256_permute2f128_pd(xy_low, zw_low, 0x31),
                    _mm256_permute2f128_pd(xy_high, zw_high, 0x31),
                ]
            }
        }
    }

    impl Lanes for Avx2 {
        const WIDTH: usize = 4;
        type Mask = __m256d;

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: the caller's pointer holds four numbers.
            Avx2(unsafe { _mm256_loadu_pd(from) })
        }

        #[inline(always)]
        unsafe fn load_single(from: *const f32) -> Self {
            // SAFETY: the caller's pointer holds four numbers.
            Avx2(unsafe { _mm256_cvtps_pd(_mm_loadu_ps(from)) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: the caller's pointer has room for four numbers.
            unsafe { _mm256_storeu_pd(to, self.0) };
        }

        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            // SAFETY: the caller has the instructions.
            Avx2(unsafe { _mm256_set1_pd(x) })
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx2(unsafe { _mm256_sqrt_pd(self.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx2(unsafe { _mm256_max_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx2(unsafe { _mm256_min_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn less(self, other: Self) -> Self::Mask {
            // SAFETY: a value exists only where the instructions do.
            unsafe { _mm256_cmp_pd(self.0, other.0, _CMP_LT_OQ) }
        }

        #[inline(always)]
        fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
            // SAFETY: a value exists only where the instructions do.
            unsafe { _mm256_and_pd(a, b) }
        }

        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx2(unsafe { _mm256_blendv_pd(no.0, yes.0, mask) })
        }

        #[inline(always)]
        fn bits(mask: Self::Mask) -> u32 {
            // SAFETY: a value exists only where the instructions do.
            (unsafe { _mm256_movemask_pd(mask) }) as u32
        }

        #[inline(always)]
        unsafe fn gather_bodies(bodies: *const BodyState, index: *const u32) -> [Self; 8] {
            // SAFETY: the caller's indices are those of bodies.
            unsafe {
                let [vx, vy, vz, im] = Self::gather_half(bodies, index, Half::Linear);
                let [wx, wy, wz, ii] = Self::gather_half(bodies, index, Half::Angular);
                [vx, vy, vz, im, wx, wy, wz, ii]
            }
        }

        #[inline(always)]
        unsafe fn gather_half(
            bodies: *const BodyState,
            index: *const u32,
            half: Half,
        ) -> [Self; 4] {
            // SAFETY: the caller's indices are those of bodies.
            unsafe {
                Self::columns([
                    line(bodies, index, 0).add(half as usize),
                    line(bodies, index, 1).add(half as usize),
                    line(bodies, index, 2).add(half as usize),
                    line(bodies, index, 3).add(half as usize),
                ])
            }
        }

        #[inline(always)]
        unsafe fn scatter_bodies(
            values: [Self; 8],
            bodies: *mut BodyState,
            index: *const u32,
            active: usize,
        ) {
            let [vx, vy, vz, im, wx, wy, wz, ii] = values;
            let velocity = Self::rows([vx, vy, vz, im]);
            let angular_velocity = Self::rows([wx, wy, wz, ii]);
            // Most groups are full: one branch for all of their lanes.
            let is_full = active >= 4;
            for k in 0..4 {
                if is_full || k < active {
                    // SAFETY: the caller's indices are those of bodies.
                    unsafe {
                        let line = line(bodies, index, k);
                        _mm256_store_pd(line, velocity[k]);
                        _mm256_store_pd(line.add(4), angular_velocity[k]);
                    }
                }
            }
        }

        #[inline(always)]
        unsafe fn gather_quads(quads: *const Quad, index: *const u32) -> [Self; 3] {
            // SAFETY: the caller's indices are those of quads.
            unsafe {
                let [x, y, z, _] = Self::columns([
                    quad(quads, index, 0),
                    quad(quads, index, 1),
                    quad(quads, index, 2),
                    quad(quads, index, 3),
                ]);
                [x, y, z]
            }
        }

        #[inline(always)]
        unsafe fn gather_differences(quads: *const Quad, index: [*const u32; 2]) -> [Self; 3] {
            // SAFETY: the caller's indices are those of quads.
            unsafe {
                let a = quad_difference(quads, index, 0);
                let b = quad_difference(quads, index, 1);
                let c = quad_difference(quads, index, 2);
                let d = quad_difference(quads, index, 3);
                let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
                let x = _mm256_permute2f128_pd(ab, cd, 0x20);
                let z = _mm256_permute2f128_pd(ab, cd, 0x31);
                let (ab, cd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
                let y = _mm256_permute2f128_pd(ab, cd, 0x20);
                [Avx2(x), Avx2(y), Avx2(z)]
            }
        }
    }

    /// Columns 0, 2, 4 and 6 of eight rows that come in pairs, interleaved.
    #[inline(always)]
    unsafe fn even_columns([a, b, c, d]: [__m512d; 4]) -> [__m512d; 4] {
        // SAFETY: the caller has the instructions.
        unsafe {
            let e = _mm512_shuffle_f64x2(a, b, 0x88);
            let f = _mm512_shuffle_f64x2(a, b, 0xdd);
            let g = _mm512_shuffle_f64x2(c, d, 0x88);
            let h = _mm512_shuffle_f64x2(c, d, 0xdd);
            [
                _mm512_shuffle_f64x2(e, g, 0x88),
                _mm512_shuffle_f64x2(f, h, 0x88),
                _mm512_shuffle_f64x2(e, g, 0xdd),
                _mm512_shuffle_f64x2(f, h, 0xdd),
            ]
        }
    }

    /// The quads at places k and k + 4 of the index list.
    #[inline(always)]
    unsafe fn two_quads(quads: *const Quad, index: *const u32, k: usize) -> __m512d {
        // SAFETY: the caller's indices are those of quads.
        unsafe {
            let low = _mm512_castpd256_pd512(_mm256_load_pd(quad(quads, index, k)));
            _mm512_insertf64x4(low, _mm256_load_pd(quad(quads, index, k + 4)), 1)
        }
    }

    /// A half of the bodies at places k and k + 4 of the index list.
    #[inline(always)]
    unsafe fn two_halves(
        bodies: *const BodyState,
        index: *const u32,
        half: Half,
        k: usize,
    ) -> __m512d {
        // SAFETY: the caller's indices are those of bodies.
        unsafe {
            let low = _mm256_load_pd(line(bodies, index, k).add(half as usize));
            let high = _mm256_load_pd(line(bodies, index, k + 4).add(half as usize));
            _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1)
        }
    }

    /// The differences of the quads at places k and k + 4 of two index lists.
    #[inline(always)]
    unsafe fn two_differences(quads: *const Quad, index: [*const u32; 2], k: usize) -> __m512d {
        // SAFETY: the caller's indices are those of quads.
        unsafe {
            let low = _mm512_castpd256_pd512(quad_difference(quads, index, k));
            _mm512_insertf64x4(low, quad_difference(quads, index, k + 4), 1)
        }
    }

    impl Avx512 {
        /// The columns of eight rows of four: row k beside row k + 4.
        #[inline(always)]
        unsafe fn columns([a, b, c, d]: [__m512d; 4]) -> [Self; 4] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let (ab, cd) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
                let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
                let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
                let x = _mm512_permutex2var_pd(ab, even, cd);
                let z = _mm512_permutex2var_pd(ab, odd, cd);
                let (ab, cd) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
                let y = _mm512_permutex2var_pd(ab, even, cd);
                let w = _mm512_permutex2var_pd(ab, odd, cd);
                [Avx512(x), Avx512(y), Avx512(z), Avx512(w)]
            }
        }

        /// The transpose of an 8 × 8 matrix.
        #[inline(always)]
        unsafe fn transpose(rows: [__m512d; 8]) -> [__m512d; 8] {
            // SAFETY: the caller has the instructions.
            unsafe {
                let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
                let [c0, c2, c4, c6] = even_columns([
                    _mm512_unpacklo_pd(r0, r1),
                    _mm512_unpacklo_pd(r2, r3),
                    _mm512_unpacklo_pd(r4, r5),
                    _mm512_unpacklo_pd(r6, r7),
                ]);
                let [c1, c3, c5, c7] = even_columns([
                    _mm512_unpackhi_pd(r0, r1),
                    _mm512_unpackhi_pd(r2, r3),
                    _mm512_unpackhi_pd(r4, r5),
                    _mm512_unpackhi_pd(r6, r7),
                ]);
                [c0, c1, c2, c3, c4, c5, c6, c7]
            }
        }
    }

    impl Lanes for Avx512 {
        const WIDTH: usize = 8;
        type Mask = __mmask8;

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: the caller's pointer holds eight numbers.
            Avx512(unsafe { _mm512_loadu_pd(from) })
        }

        #[inline(always)]
        unsafe fn load_single(from: *const f32) -> Self {
            // SAFETY: the caller's pointer holds eight numbers.
            Avx512(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from)) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: the caller's pointer has room for eight numbers.
            unsafe { _mm512_storeu_pd(to, self.0) };
        }

        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            // SAFETY: the caller has the instructions.
            Avx512(unsafe { _mm512_set1_pd(x) })
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx512(unsafe { _mm512_sqrt_pd(self.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx512(unsafe { _mm512_max_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx512(unsafe { _mm512_min_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn less(self, other: Self) -> Self::Mask {
            // SAFETY: a value exists only where the instructions do.
            unsafe { _mm512_cmp_pd_mask(self.0, other.0, _CMP_LT_OQ) }
        }

        #[inline(always)]
        fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
            a & b
        }

        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            // SAFETY: a value exists only where the instructions do.
            Avx512(unsafe { _mm512_mask_blend_pd(mask, no.0, yes.0) })
        }

        #[inline(always)]
        fn bits(mask: Self::Mask) -> u32 {
            u32::from(mask)
        }

        #[inline(always)]
        unsafe fn gather_bodies(bodies: *const BodyState, index: *const u32) -> [Self; 8] {
            // SAFETY: the caller's indices are those of bodies, each of which
            // is one line of eight numbers.
            unsafe {
                let [a, b, c, d, e, f, g, h] = Self::transpose([
                    _mm512_load_pd(line(bodies, index, 0)),
                    _mm512_load_pd(line(bodies, index, 1)),
                    _mm512_load_pd(line(bodies, index, 2)),
                    _mm512_load_pd(line(bodies, index, 3)),
                    _mm512_load_pd(line(bodies, index, 4)),
                    _mm512_load_pd(line(bodies, index, 5)),
                    _mm512_load_pd(line(bodies, index, 6)),
                    _mm512_load_pd(line(bodies, index, 7)),
                ]);
                [
                    Avx512(a),
                    Avx512(b),
                    Avx512(c),
                    Avx512(d),
                    Avx512(e),
                    Avx512(f),
                    Avx512(g),
                    Avx512(h),
                ]
            }
        }

        #[inline(always)]
        unsafe fn gather_half(
            bodies: *const BodyState,
            index: *const u32,
            half: Half,
        ) -> [Self; 4] {
            // SAFETY: the caller's indices are those of bodies.
            unsafe {
                Self::columns([
                    two_halves(bodies, index, half, 0),
                    two_halves(bodies, index, half, 1),
                    two_halves(bodies, index, half, 2),
                    two_halves(bodies, index, half, 3),
                ])
            }
        }

        #[inline(always)]
        unsafe fn scatter_bodies(
            values: [Self; 8],
            bodies: *mut BodyState,
            index: *const u32,
            active: usize,
        ) {
            // SAFETY: the caller's indices are those of bodies.
            unsafe {
                let [a, b, c, d, e, f, g, h] = values;
                let rows = Self::transpose([a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0]);
                for k in 0..8 {
                    if k < active {
                        _mm512_store_pd(line(bodies, index, k), rows[k]);
                    }
                }
            }
        }

        #[inline(always)]
        unsafe fn gather_quads(quads: *const Quad, index: *const u32) -> [Self; 3] {
            // SAFETY: the caller's indices are those of quads.
            unsafe {
                let [x, y, z, _] = Self::columns([
                    two_quads(quads, index, 0),
                    two_quads(quads, index, 1),
                    two_quads(quads, index, 2),
                    two_quads(quads, index, 3),
                ]);
                [x, y, z]
            }
        }

        #[inline(always)]
        unsafe fn gather_differences(quads: *const Quad, index: [*const u32; 2]) -> [Self; 3] {
            // SAFETY: the caller's indices are those of quads.
            unsafe {
                let [x, y, z, _] = Self::columns([
                    two_differences(quads, index, 0),
                    two_differences(quads, index, 1),
                    two_differences(quads, index, 2),
                    two_differences(quads, index, 3),
                ]);
                [x, y, z]
            }
        }
    }
}
