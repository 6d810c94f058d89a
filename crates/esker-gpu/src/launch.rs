//! The launches that a step consists of, and who executes them.

use esker_solver::device::{DeviceError, DeviceWork};

use crate::layout::{
    BODY_THREADS, FLAT_THREADS, LAST_COLOURS_THREADS, MOST_COLOURS, SWEEP_THREADS, TURN_THREADS,
    shared_bytes, sweep_threads,
};
use crate::memory::{Array, DeviceMemory, Plain};

/// A kernel and what it is told besides the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in kernels/substep.cu")]
pub enum Kernel {
    BeginStep,
    ApplyImpulses { colour: u32 },
    RepeatChanges { substep: u32, last_colours: u32 },
    JoinCopies { substep: u32 },
    Sweep { colour: u32, substep: u32 },
    SweepRolling { colour: u32, substep: u32 },
    ApplyFlat { colours: u32 },
    SweepFlat { colours: u32, substep: u32 },
    SweepFlatRolling { colours: u32, substep: u32 },
    FindLosses,
    SumLosses,
    BeginTurns,
    ListTurns,
    NumberTurns,
    SubstepsInTurn,
    SubstepsInTurnRolling,
    FinishTurns,
    FinishStep,
}

impl Kernel {
    /// Whether it may begin before the kernel before it has ended: it waits by itself before it
    /// reads what that one writes. Changes are repeated from what no sweep writes, but the pass
    /// before does: in a step without contacts nothing is between two of them.
    pub fn may_overlap(self, before: Kernel) -> bool {
        match self {
            Kernel::RepeatChanges { .. } => before.is_sweep(),
            Kernel::ApplyImpulses { .. } | Kernel::ApplyFlat { .. } | Kernel::FinishStep => true,
            Kernel::BeginStep
            | Kernel::JoinCopies { .. }
            | Kernel::FindLosses
            | Kernel::SumLosses
            | Kernel::BeginTurns
            | Kernel::ListTurns
            | Kernel::NumberTurns
            | Kernel::SubstepsInTurn
            | Kernel::SubstepsInTurnRolling
            | Kernel::FinishTurns => false,
            _ => self.is_sweep(),
        }
    }

    fn is_sweep(self) -> bool {
        matches!(
            self,
            Kernel::Sweep { .. }
                | Kernel::SweepRolling { .. }
                | Kernel::SweepFlat { .. }
                | Kernel::SweepFlatRolling { .. }
        )
    }
}

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLaunch {
    /// The kernel.
    pub kernel: Kernel,
    /// Thread blocks.
    pub thread_blocks: u32,
    /// Threads of each.
    pub threads: u32,
    /// Bytes that each has for itself.
    pub shared_bytes: u32,
    /// Whether it may begin before the launch before it has ended.
    pub begins_early: bool,
    /// Whether thread blocks wait for one another: there are as many as can be at one time, at most.
    pub is_all_at_once: bool,
}

/// What decides which launches a step has. Steps of one shape need the same ones; all else they
/// read from memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepShape {
    /// Substeps.
    pub substeps: u32,
    /// Blocks of each colour at most; of a flat plan, places of its contacts, about.
    pub blocks: Vec<u32>,
    /// Whether the plan is flat: contacts of a colour share no body.
    pub is_flat: bool,
    /// Whether one kernel does all substeps, which who executes it decides
    /// ([`in_turn_if`](Self::in_turn_if)).
    pub is_in_turn: bool,
    /// Bodies that a block keeps in its own memory at most.
    pub cached_bodies: u32,
    /// Bodies and groups to pass over, about.
    pub bodies: u32,
    /// Whether contacts resist rolling.
    pub rolls: bool,
    /// Whether there are copies.
    pub has_copies: bool,
    /// Whether energy losses are found.
    pub has_losses: bool,
}

/// Launches of other sizes than these are not made for every step of its own size.
const ROUNDING: u32 = 16;

impl StepShape {
    /// A shape that this one is a case of, and most steps like it too: sizes are rounded up.
    pub fn rounded_up(&self) -> StepShape {
        let up = |n: u32| (n + n / 8).next_multiple_of(ROUNDING);
        StepShape {
            substeps: self.substeps,
            blocks: self
                .blocks
                .iter()
                .map(|&n| if n > 1 { up(n) } else { n })
                .collect(),
            is_flat: self.is_flat,
            is_in_turn: self.is_in_turn,
            cached_bodies: up(self.cached_bodies),
            bodies: up(self.bodies),
            rolls: self.rolls,
            has_copies: self.has_copies,
            has_losses: self.has_losses,
        }
    }

    /// Whether the launches of this shape are right for `other` as well, and not far too large.
    pub fn covers(&self, other: &StepShape) -> bool {
        let near = |own: u32, theirs: u32| theirs <= own && own <= 2 * theirs + 2 * ROUNDING;
        self.substeps == other.substeps
            && self.rolls == other.rolls
            && self.has_copies == other.has_copies
            && self.has_losses == other.has_losses
            && self.is_flat == other.is_flat
            && self.is_in_turn == other.is_in_turn
            && self.has_blocks_of(other)
            && near(self.cached_bodies, other.cached_bodies)
            && near(self.bodies, other.bodies)
    }

    /// Whether there are thread blocks for all colours of `other`, and not far too many.
    fn has_blocks_of(&self, other: &StepShape) -> bool {
        let near = |own: u32, theirs: u32| theirs <= own && own <= 2 * theirs + 2 * ROUNDING;
        if self.is_in_turn {
            return true;
        }
        if self.is_flat {
            // Any number is right; what is slow is to have far too few or too many.
            let rest = |shape: &StepShape| {
                let last = shape.blocks.iter().skip(self.large_colours());
                last.copied().max().unwrap_or(0)
            };
            let mut large = (0..self.large_colours()).map(|colour| {
                let places = |shape: &StepShape| shape.blocks.get(colour).copied().unwrap_or(0);
                [self, other].map(places)
            });
            return rest(other) <= 2 * LAST_COLOURS_THREADS
                && large.all(|[own, theirs]| near(own, theirs));
        }
        self.blocks.len() == other.blocks.len()
            && self
                .blocks
                .iter()
                .zip(&other.blocks)
                .all(|(&own, &theirs)| near(own, theirs))
    }

    /// The same with one kernel that does all substeps, if that is wanted and can be: of a flat plan,
    /// where there are neither copies nor losses.
    pub fn in_turn_if(&self, is_wanted: bool) -> StepShape {
        StepShape {
            is_in_turn: is_wanted && self.is_flat && !self.has_copies && !self.has_losses,
            ..self.clone()
        }
    }

    /// Colours of a flat plan that have launches of their own; all others are swept one after
    /// the other by one thread block.
    fn large_colours(&self) -> usize {
        let is_large = |places: &u32| *places > LAST_COLOURS_THREADS;
        self.blocks.iter().rposition(is_large).map_or(0, |k| k + 1)
    }

    /// The launches of a sweep over the colours of a flat plan; kernels are told the first colour
    /// and, in the upper half of a word, the end.
    fn flat_launches(&self, kernel: impl Fn(u32) -> Kernel) -> impl Iterator<Item = KernelLaunch> {
        let large = self.large_colours();
        let of = move |[first, end]: [usize; 2], thread_blocks, threads| KernelLaunch {
            kernel: kernel(first as u32 | (end as u32) << 16),
            thread_blocks,
            threads,
            shared_bytes: 0,
            begins_early: false,
            is_all_at_once: false,
        };
        let own: Vec<_> = self.blocks[..large].to_vec();
        (0..=large).map(move |colour| match own.get(colour) {
            Some(places) => of(
                [colour, colour + 1],
                places.div_ceil(FLAT_THREADS).max(1),
                FLAT_THREADS,
            ),
            None => of([large, MOST_COLOURS], 1, LAST_COLOURS_THREADS),
        })
    }

    /// The launches, in order.
    pub fn launches(&self) -> Vec<KernelLaunch> {
        let over_bodies = |kernel| KernelLaunch {
            kernel,
            thread_blocks: self.bodies.div_ceil(BODY_THREADS).max(1),
            threads: BODY_THREADS,
            shared_bytes: 0,
            begins_early: false,
            is_all_at_once: false,
        };
        if self.is_in_turn {
            let places: u32 = self.blocks.iter().sum();
            let substeps = KernelLaunch {
                kernel: match self.rolls {
                    false => Kernel::SubstepsInTurn,
                    true => Kernel::SubstepsInTurnRolling,
                },
                thread_blocks: places.max(self.bodies).div_ceil(TURN_THREADS).max(1),
                threads: TURN_THREADS,
                shared_bytes: 0,
                begins_early: false,
                is_all_at_once: true,
            };
            return vec![
                over_bodies(Kernel::BeginTurns),
                over_bodies(Kernel::ListTurns),
                over_bodies(Kernel::NumberTurns),
                substeps,
                over_bodies(Kernel::FinishTurns),
            ];
        }
        let mut launches = vec![over_bodies(Kernel::BeginStep)];
        let sweep = |launches: &mut Vec<KernelLaunch>, kernel: &dyn Fn(u32) -> Kernel| {
            if self.is_flat {
                launches.extend(self.flat_launches(kernel));
                return;
            }
            for (colour, &blocks) in (0..).zip(&self.blocks) {
                if blocks > 0 {
                    launches.push(KernelLaunch {
                        kernel: kernel(colour),
                        thread_blocks: blocks,
                        threads: sweep_threads(self.cached_bodies),
                        shared_bytes: shared_bytes(self.cached_bodies as usize) as u32,
                        begins_early: false,
                        is_all_at_once: false,
                    });
                }
            }
        };
        sweep(&mut launches, &|colour| match self.is_flat {
            false => Kernel::ApplyImpulses { colour },
            true => Kernel::ApplyFlat { colours: colour },
        });
        let last_colours = self.large_colours() as u32;
        for substep in 0..self.substeps {
            if substep > 0 {
                // Two of eight numbers are a thread.
                launches.push(KernelLaunch {
                    thread_blocks: (4 * self.bodies).div_ceil(BODY_THREADS).max(1),
                    ..over_bodies(Kernel::RepeatChanges {
                        substep,
                        last_colours,
                    })
                });
                if self.has_copies {
                    launches.push(KernelLaunch {
                        thread_blocks: 1,
                        ..over_bodies(Kernel::JoinCopies { substep })
                    });
                }
            }
            sweep(&mut launches, &|colour| {
                let colours = colour;
                match (self.is_flat, self.rolls) {
                    (false, false) => Kernel::Sweep { colour, substep },
                    (false, true) => Kernel::SweepRolling { colour, substep },
                    (true, false) => Kernel::SweepFlat { colours, substep },
                    (true, true) => Kernel::SweepFlatRolling { colours, substep },
                }
            });
            if self.has_losses {
                launches.push(KernelLaunch {
                    kernel: Kernel::FindLosses,
                    thread_blocks: match self.is_flat {
                        false => self.blocks.iter().sum::<u32>().max(1),
                        true => self.bodies.div_ceil(SWEEP_THREADS).max(1),
                    },
                    threads: SWEEP_THREADS,
                    shared_bytes: 0,
                    begins_early: false,
                    is_all_at_once: false,
                });
                launches.push(over_bodies(Kernel::SumLosses));
            }
        }
        launches.push(over_bodies(Kernel::FinishStep));
        for k in 1..launches.len() {
            let before = launches[k - 1].kernel;
            launches[k].begins_early = launches[k].kernel.may_overlap(before);
        }
        launches
    }
}

/// A kernel of `kernels/resident.cu`: it is given the address of its record and a number.
#[derive(Clone, Copy, Debug)]
pub struct ResidentKernel {
    /// Its name.
    pub name: &'static str,
    /// The same compiled for the host, in double and in mixed precision.
    #[cfg(feature = "host")]
    pub(crate) on_host: [crate::host::HostKernel; 2],
}

/// A launch of one.
#[derive(Clone, Copy, Debug)]
pub struct ResidentLaunch {
    /// The kernel.
    pub kernel: &'static ResidentKernel,
    /// Thread blocks, of [`RESIDENT_THREADS`](crate::layout::RESIDENT_THREADS) each.
    pub thread_blocks: u32,
    /// Address of the record on the device.
    pub record: u64,
    /// The number.
    pub number: u32,
}

/// Moments that can be marked.
pub const MOMENTS: usize = 8;

/// Who has memory and executes kernels.
pub trait Executor: std::fmt::Debug + Send + Sync {
    /// Its memory.
    type Memory: DeviceMemory;

    /// What it is called, for people.
    fn name(&self) -> &str;

    /// Bytes that a thread block may have for itself.
    fn shared_bytes(&self) -> usize;

    /// Bytes that can be allocated now.
    fn free_bytes(&self) -> Result<usize, DeviceError>;

    /// Memory of so many bytes; `None` where there is not so much.
    fn allocate(&mut self, bytes: usize) -> Result<Option<Self::Memory>, DeviceError>;

    /// Memory of so many bytes that the host neither fills nor reads, and which has no staging;
    /// `None` where there is not so much.
    fn allocate_scratch(&mut self, bytes: usize) -> Result<Option<Self::Memory>, DeviceError>;

    /// An array of memory without staging, once all that was begun is done; slow.
    fn read_scratch<T: Plain>(
        &mut self,
        memory: &Self::Memory,
        array: Array<T>,
    ) -> Result<Vec<T>, DeviceError>;

    /// Begins a kernel.
    fn launch(&mut self, launch: ResidentLaunch) -> Result<(), DeviceError>;

    /// Marks a moment between what was begun before and after, one of a few.
    fn mark(&mut self, moment: usize) -> Result<(), DeviceError>;

    /// Time between two moments that have passed, s.
    fn seconds_between(&self, from: usize, to: usize) -> Result<f64, DeviceError>;

    /// Begins the kernels of a step of this shape, whose record is at this address.
    fn run(&mut self, shape: &StepShape, step: u64) -> Result<(), DeviceError>;

    /// What the kernels of the last step took; all but the bytes that were copied.
    fn work(&self) -> Result<DeviceWork, DeviceError>;

    /// Waits for all that was begun.
    fn wait(&mut self) -> Result<(), DeviceError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(blocks: &[u32]) -> StepShape {
        StepShape {
            substeps: 3,
            blocks: blocks.to_vec(),
            cached_bodies: 200,
            bodies: 10_000,
            ..Default::default()
        }
    }

    #[test]
    fn launches_of_a_step_serve_steps_of_about_its_size() {
        let own = shape(&[40, 50, 0, 1]);
        let rounded = own.rounded_up();
        assert!(rounded.covers(&own));
        assert!(rounded.covers(&shape(&[44, 48, 0, 1])));
        for other in [
            &[80, 50, 0, 1][..],
            &[4, 50, 0, 1],
            &[40, 50, 1, 1],
            &[40, 50, 0],
        ] {
            assert!(!rounded.covers(&shape(other)), "{other:?}");
        }
        assert!(!rounded.covers(&StepShape {
            substeps: 4,
            ..own.clone()
        }));
    }

    #[test]
    fn a_step_is_a_warm_start_and_a_sweep_of_all_colours_per_substep() {
        let launches = shape(&[40, 50, 0, 1]).launches();
        let count = |is: fn(&Kernel) -> bool| launches.iter().filter(|l| is(&l.kernel)).count();
        assert_eq!(count(|k| matches!(k, Kernel::ApplyImpulses { .. })), 3);
        assert_eq!(count(|k| matches!(k, Kernel::Sweep { .. })), 9);
        assert_eq!(count(|k| matches!(k, Kernel::RepeatChanges { .. })), 2);
        assert_eq!(count(|k| matches!(k, Kernel::JoinCopies { .. })), 0);
    }

    /// Falling grains had other velocities in every run on a device: each pass over bodies read
    /// what the one before was still writing.
    #[test]
    fn passes_over_bodies_overlap_sweeps_but_not_one_another() {
        for (blocks, is_flat) in [
            (&[][..], false),
            (&[0, 0], false),
            (&[7, 1], false),
            (&[], true),
        ] {
            let step = StepShape {
                is_flat,
                ..shape(blocks)
            };
            let launches = step.launches();
            let has_sweeps = launches.iter().any(|launch| launch.kernel.is_sweep());
            for pair in launches.windows(2) {
                if matches!(pair[1].kernel, Kernel::RepeatChanges { .. }) {
                    assert_eq!(pair[1].begins_early, has_sweeps, "{pair:?}");
                    assert_eq!(pair[0].kernel.is_sweep(), has_sweeps, "{pair:?}");
                }
            }
            assert!(!launches[0].begins_early);
        }
    }

    #[test]
    fn all_substeps_of_a_flat_plan_are_one_launch_where_bodies_take_turns() {
        let flat = |blocks: &[u32]| StepShape {
            is_flat: true,
            ..shape(blocks)
        };
        let in_turn = |blocks: &[u32]| flat(blocks).in_turn_if(true);
        let own = in_turn(&[5000, 3000, 700]);
        let launches = own.launches();
        let all_at_once: Vec<_> = launches.iter().filter(|l| l.is_all_at_once).collect();
        assert_eq!(launches.len(), 5);
        assert_eq!(all_at_once.len(), 1);
        assert_eq!(all_at_once[0].kernel, Kernel::SubstepsInTurn);
        assert!(launches.iter().all(|launch| !launch.begins_early));
        // It has as many thread blocks as there can be, whatever the colours are.
        let rounded = own.rounded_up();
        assert!(rounded.covers(&in_turn(&[50_000])));
        assert!(!rounded.covers(&flat(&[5000, 3000, 700])));
        // Copies have to be joined between substeps, and losses found; blocks are swept otherwise.
        for apart in [
            shape(&[5000, 3000, 700]),
            StepShape {
                has_copies: true,
                ..own.clone()
            },
            StepShape {
                has_losses: true,
                ..own.clone()
            },
        ] {
            let launches = apart.in_turn_if(true).launches();
            assert!(launches.iter().all(|l| !l.is_all_at_once));
        }
    }

    #[test]
    fn a_flat_sweep_is_a_launch_per_large_colour_and_one_of_all_others() {
        let flat = |places: &[u32]| StepShape {
            is_flat: true,
            ..shape(places)
        };
        let own = flat(&[5000, 3000, 700, 90, 8, 0]);
        let sweeps: Vec<_> = own
            .launches()
            .into_iter()
            .filter(|launch| matches!(launch.kernel, Kernel::SweepFlat { substep: 0, .. }))
            .collect();
        let blocks: Vec<u32> = sweeps.iter().map(|launch| launch.thread_blocks).collect();
        assert_eq!(blocks, [79, 47, 11, 1]);
        let Kernel::SweepFlat { colours, .. } = sweeps[3].kernel else {
            panic!("{:?}", sweeps[3]);
        };
        assert_eq!([colours & 0xffff, colours >> 16], [3, MOST_COLOURS as u32]);
        // Bodies without contacts of these last colours need not wait for them.
        let repeats = own
            .launches()
            .into_iter()
            .filter_map(|launch| match launch.kernel {
                Kernel::RepeatChanges { last_colours, .. } => Some(last_colours),
                _ => None,
            });
        assert_eq!(repeats.collect::<Vec<_>>(), [3, 3]);
        let rounded = own.rounded_up();
        assert!(rounded.covers(&own));
        // Small colours come and go.
        assert!(rounded.covers(&flat(&[5000, 3000, 700, 90, 8, 3])));
        assert!(!rounded.covers(&flat(&[5000, 3000, 700, 900])));
        assert!(!rounded.covers(&flat(&[9000, 3000, 700, 90])));
        assert!(!rounded.covers(&shape(&[5000, 3000, 700, 90, 8, 0])));
    }
}
