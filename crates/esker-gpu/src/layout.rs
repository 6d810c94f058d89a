//! What kernels are given, field by field as `kernels/step.h` has it.

use esker_solver::packed::Law;

/// Numbers that kernels compute substeps with; positions, and what rows are made of, have double
/// precision always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// All in double precision, with the bits of the CPU.
    #[default]
    Double,
    /// Velocities and rows of contacts in single precision: half the bytes. Such arrays take the
    /// first half of their memory.
    Mixed,
}

/// Colours of a plan at most.
pub const MOST_COLOURS: usize = esker_solver::colouring::MOST_COLOURS;
/// Threads of a thread block that sweeps contacts of a colour of a flat plan.
pub const FLAT_THREADS: u32 = 64;
/// Threads of a thread block of the kernel that does all substeps of a flat plan.
pub const TURN_THREADS: u32 = 32;
/// Threads of the thread block that sweeps its last, small colours.
pub const LAST_COLOURS_THREADS: u32 = 256;
/// Law of a place without contact.
pub const EMPTY_PLACE: u16 = u16::MAX;
/// Threads of a thread block that sweeps a block of the plan, at most.
pub const SWEEP_THREADS: u32 = 256;
/// Threads of one that sweeps a small block, in several passes: a block is level after level, and
/// what a multiprocessor has beside it fills the time.
const SMALL_SWEEP_THREADS: u32 = 64;
/// Bodies of a small block at most: a multiprocessor has memory for several such blocks.
const SMALL_BLOCK: u32 = 512;
/// Threads of a thread block that passes over bodies.
pub const BODY_THREADS: u32 = 256;
/// Threads of a thread block of all kernels beside those of the substeps.
pub const RESIDENT_THREADS: u32 = 256;
/// Entries that such a thread block takes at a time when it sums or sorts.
pub const TILE: usize = 2048;
/// Digits of a sorting pass, and their bits.
pub const DIGITS: usize = 1 << DIGIT_BITS;
/// Bits of a digit.
pub const DIGIT_BITS: u32 = 4;
/// Numbers of a body in the memory of a thread block.
pub const CACHED: usize = 11;
/// A contact that nobody wants sums of.
pub const UNTRACKED: u32 = u32::MAX;
/// Bytes of the memory of a thread block that sweeps so many bodies.
pub fn shared_bytes(bodies: usize) -> usize {
    CACHED * bodies * size_of::<f64>()
}

/// Threads of a thread block that sweeps blocks of up to so many bodies; none where bodies do not
/// fit into the memory of one.
pub fn sweep_threads(bodies: u32) -> u32 {
    match bodies {
        1..=SMALL_BLOCK => SMALL_SWEEP_THREADS,
        _ => SWEEP_THREADS,
    }
}

/// Bodies that so many bytes hold.
pub fn fitting_bodies(bytes: usize) -> usize {
    bytes / (CACHED * size_of::<f64>())
}

/// `wake` of groups that were woken, and more.
pub const WOKEN: u32 = 0x8000_0000;

/// What all contacts of one law share.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct LawRecord {
    friction: f64,
    bias_rate: f64,
    restitution: f64,
    impact_speed: f64,
    rolls: u32,
    hertz: u32,
    follows: u32,
    unused: u32,
}

impl LawRecord {
    /// That of a law.
    pub fn of(law: &Law) -> Self {
        LawRecord {
            friction: law.friction,
            bias_rate: law.bias_rate,
            restitution: law.restitution,
            impact_speed: law.impact_speed,
            rolls: law.rolls.into(),
            hertz: law.hertz.into(),
            follows: law.follows.into(),
            unused: 0,
        }
    }
}

/// A block of the plan.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct BlockRecord {
    /// Its contacts.
    pub contacts: [u32; 2],
    /// First of its bodies, and how many fit; none where not all do.
    pub bodies: [u32; 2],
    /// Its groups.
    pub groups: [u32; 2],
}

/// What a body meets in the sweeps of a step; kernels alone write and read it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct TurnsRecord {
    colours: u64,
    masses: [f64; 2],
}

/// A body with copies.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct OriginalRecord {
    /// The body.
    pub body: u32,
    /// Its first copy.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// Nothing.
    pub unused: u32,
}

/// Where every colour begins, and the end.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct ColourStarts(pub [u32; MOST_COLOURS + 1]);

impl Default for ColourStarts {
    fn default() -> Self {
        ColourStarts([0; MOST_COLOURS + 1])
    }
}

impl ColourStarts {
    /// What every colour has.
    pub fn sizes(&self) -> Vec<u32> {
        self.0.windows(2).map(|ends| ends[1] - ends[0]).collect()
    }
}

/// A step of substeps. What are pointers to kernels are addresses here.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/step.h")]
pub struct StepRecord {
    pub step: f64,
    pub inverse_step: f64,
    pub fall: [f64; 3],
    pub friction_factor: f64,
    pub rolling_factor: f64,
    pub longest_sleep: f64,
    pub substeps: u32,
    pub bodies: u32,
    pub movable: u32,
    pub contacts: u32,
    pub groups: u32,
    pub blocks: u32,
    pub tracked_contacts: u32,
    pub rolls: u32,
    pub first_acceleration: u32,
    pub accelerations: u32,
    pub originals: u32,
    pub loss_sums: u32,
    pub colours: ColourStarts,
    pub is_flat: u32,
    pub laws: u64,
    pub block: u64,
    pub body_list: u64,
    pub original: u64,
    pub acceleration: u64,
    pub state: u64,
    pub before: u64,
    pub moved: u64,
    pub colours_of: u64,
    pub turns: u64,
    pub change: u64,
    pub impacted: u64,
    pub open_time: u64,
    pub last_body: u64,
    pub wake: u64,
    pub soonest: u64,
    pub level: u64,
    pub contact_bodies: u64,
    pub group: u64,
    pub law: u64,
    pub tracked: u64,
    pub in_turn: u64,
    pub masses: [u64; 4],
    pub plan_place: u64,
    pub normal: [u64; 3],
    pub overlap: u64,
    pub arms: [u64; 2],
    pub compliance: u64,
    pub inverse_tangent: u64,
    pub cap: u64,
    pub min_overlap: u64,
    pub damping_factor: u64,
    pub closing: u64,
    pub impulse: u64,
    pub friction: [u64; 3],
    pub rolling_limit: u64,
    pub twisting_limit: u64,
    pub inverse_rolling: u64,
    pub rolling: [u64; 3],
    pub twisting: u64,
    pub is_impact: u64,
    pub sums: u64,
    pub impact_counts: u64,
    pub losses: u64,
    pub loss_sum: u64,
    pub loss_ranges: u64,
}
