//! Spheres side by side in memory, and which of a run of them are near one.
//!
//! The test is the search's inner loop: it takes several spheres at once. All instruction sets
//! do the same operations in the same order and find the same.
//!
//! `unsafe`: loads without bounds checks. [`Spheres`] keeps [`MOST_LANES`] spheres that are near
//! nothing behind the last, so that a load may begin at any sphere.

use esker_parallel::{SharedSlice, Team, resize};
use glam::DVec3;

/// Spheres tested at once, at most.
const MOST_LANES: usize = 8;

/// Centres and reaches, each coordinate an array of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Spheres {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
    reach: Vec<f64>,
}

impl Spheres {
    /// Replaces the spheres by so many others.
    pub(super) fn fill(
        &mut self,
        team: &mut Team,
        count: usize,
        sphere: impl Fn(usize) -> (DVec3, f64) + Sync,
    ) {
        let arrays = [&mut self.x, &mut self.y, &mut self.z, &mut self.reach];
        let arrays = arrays.map(|array| {
            resize(array, count + MOST_LANES);
            SharedSlice::new(array)
        });
        team.run(|worker| {
            for k in worker.part_of(count + MOST_LANES, 1) {
                let (centre, reach) = if k < count {
                    sphere(k)
                } else {
                    (DVec3::NAN, 0.0)
                };
                for (array, value) in arrays.iter().zip([centre.x, centre.y, centre.z, reach]) {
                    // SAFETY: parts of workers are disjoint.
                    unsafe { *array.at(k) = value };
                }
            }
        });
    }

    #[inline]
    pub(super) fn centre(&self, k: usize) -> DVec3 {
        DVec3::new(self.x[k], self.y[k], self.z[k])
    }

    #[inline]
    pub(super) fn reach(&self, k: usize) -> f64 {
        self.reach[k]
    }

    /// Those of the spheres from `first` on that are near the sphere `k`, as bits: of
    /// [`Lanes::COUNT`] spheres, or of fewer at the end of the run.
    ///
    /// # Safety
    /// The processor has the instructions of `W`.
    #[inline(always)]
    pub(super) unsafe fn near<W: Lanes>(&self, k: usize, first: usize, end: usize) -> u32 {
        assert!(first + MOST_LANES <= self.x.len());
        let sphere = [self.x[k], self.y[k], self.z[k], self.reach[k]];
        // SAFETY: so many spheres follow (asserted); the rest is the caller's.
        let bits = unsafe { W::near(self, sphere, first) };
        let left = end - first;
        if left < W::COUNT {
            bits & ((1 << left) - 1)
        } else {
            bits
        }
    }
}

/// A way to test several spheres at once.
pub(super) trait Lanes {
    /// How many.
    const COUNT: usize;

    /// A bit for each of the spheres from `first` on: whether `|x − c| < r + reach`.
    ///
    /// # Safety
    /// The processor has the instructions, and that many spheres are there.
    unsafe fn near(spheres: &Spheres, sphere: [f64; 4], first: usize) -> u32;
}

/// One after another.
pub(super) struct Scalar;

impl Lanes for Scalar {
    const COUNT: usize = 1;

    #[inline(always)]
    unsafe fn near(spheres: &Spheres, [x, y, z, reach]: [f64; 4], first: usize) -> u32 {
        let (dx, dy, dz) = (
            spheres.x[first] - x,
            spheres.y[first] - y,
            spheres.z[first] - z,
        );
        let sum = spheres.reach[first] + reach;
        u32::from(dx * dx + dy * dy + dz * dz < sum * sum)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::Avx2;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lanes, Spheres};
    use std::arch::x86_64::*;

    /// Two registers of four.
    pub(in super::super) struct Avx2;

    impl Lanes for Avx2 {
        const COUNT: usize = 8;

        #[inline(always)]
        unsafe fn near(spheres: &Spheres, sphere: [f64; 4], first: usize) -> u32 {
            // SAFETY: passed on to the caller.
            unsafe {
                near_four(spheres, sphere, first) | near_four(spheres, sphere, first + 4) << 4
            }
        }
    }

    #[inline(always)]
    unsafe fn near_four(spheres: &Spheres, [x, y, z, reach]: [f64; 4], first: usize) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe {
            let dx = _mm256_sub_pd(
                _mm256_loadu_pd(spheres.x.as_ptr().add(first)),
                _mm256_set1_pd(x),
            );
            let dy = _mm256_sub_pd(
                _mm256_loadu_pd(spheres.y.as_ptr().add(first)),
                _mm256_set1_pd(y),
            );
            let dz = _mm256_sub_pd(
                _mm256_loadu_pd(spheres.z.as_ptr().add(first)),
                _mm256_set1_pd(z),
            );
            let sum = _mm256_add_pd(
                _mm256_loadu_pd(spheres.reach.as_ptr().add(first)),
                _mm256_set1_pd(reach),
            );
            let flat = _mm256_add_pd(_mm256_mul_pd(dx, dx), _mm256_mul_pd(dy, dy));
            let square = _mm256_add_pd(flat, _mm256_mul_pd(dz, dz));
            let near = _mm256_cmp_pd(square, _mm256_mul_pd(sum, sum), _CMP_LT_OQ);
            _mm256_movemask_pd(near) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    fn found<W: Lanes>(spheres: &Spheres, k: usize, run: Range<usize>) -> Vec<usize> {
        let firsts = run.clone().step_by(W::COUNT);
        firsts
            .flat_map(|first| {
                // SAFETY: the caller has the instructions.
                let bits = unsafe { spheres.near::<W>(k, first, run.end) };
                (0..W::COUNT)
                    .filter(move |lane| bits >> lane & 1 == 1)
                    .map(move |lane| first + lane)
            })
            .collect()
    }

    #[test]
    fn all_instructions_find_the_same() {
        let mut spheres = Spheres::default();
        let place = |k: usize| (k as f64 * 0.731).sin();
        spheres.fill(&mut Team::new(2), 101, |k| {
            let centre = DVec3::new(place(k), place(3 * k), place(7 * k));
            (centre, 0.2 + 0.1 * place(5 * k))
        });
        for k in 0..101 {
            for run in [0..101, 3..4, k..k, 90..101] {
                let near = |i: &usize| {
                    let sum = spheres.reach(k) + spheres.reach(*i);
                    spheres.centre(k).distance_squared(spheres.centre(*i)) < sum * sum
                };
                let expected: Vec<usize> = run.clone().filter(near).collect();
                assert_eq!(found::<Scalar>(&spheres, k, run.clone()), expected);
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    assert_eq!(found::<Avx2>(&spheres, k, run), expected);
                }
            }
        }
    }
}
