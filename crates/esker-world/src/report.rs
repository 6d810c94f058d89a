//! What a step says about itself.

use crate::accuracy::Missed;
use crate::errors::StepErrors;
use std::time::{Duration, Instant};

/// The stages of a step, in order. Names are the same in code, profiles and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Resolution, sinks, emitters and the velocities of walls.
    Begin,
    /// Broad phase.
    FindPairs,
    /// Narrow phase and contact order.
    Collide,
    /// Equations and warm start.
    Assemble,
    /// Impacts, contact solve or substeps, and integration.
    Advance,
    /// Measures, checks, history, and what the next step is to change.
    Finish,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Stage; 6] = [
        Stage::Begin,
        Stage::FindPairs,
        Stage::Collide,
        Stage::Assemble,
        Stage::Advance,
        Stage::Finish,
    ];

    /// Its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Begin => "begin",
            Stage::FindPairs => "find_pairs",
            Stage::Collide => "collide",
            Stage::Assemble => "assemble",
            Stage::Advance => "advance",
            Stage::Finish => "finish",
        }
    }
}

/// Time spent per stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTimes([Duration; Stage::ALL.len()]);

impl StageTimes {
    /// Time of one stage.
    pub fn get(&self, stage: Stage) -> Duration {
        self.0[stage as usize]
    }

    /// Adds another step's times.
    pub fn add(&mut self, other: &StageTimes) {
        for (sum, time) in self.0.iter_mut().zip(other.0) {
            *sum += time;
        }
    }

    /// With the times of a device for the stages behind the first, which waited for them.
    pub(crate) fn with_device(mut self, times: [Duration; 5]) -> Self {
        let all: Duration = times.iter().sum();
        self.0[0] = self.0[0].saturating_sub(all);
        self.0[1..].copy_from_slice(&times);
        self
    }

    /// Time of all stages.
    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }
}

/// Measures stages as they follow one another.
pub(crate) struct StageClock {
    last: Instant,
    times: StageTimes,
}

impl StageClock {
    pub(crate) fn start() -> Self {
        StageClock {
            last: Instant::now(),
            times: StageTimes::default(),
        }
    }

    /// Books the time since the last call on a stage.
    pub(crate) fn end(&mut self, stage: Stage) {
        let now = Instant::now();
        self.times.0[stage as usize] += now - self.last;
        self.last = now;
    }

    pub(crate) fn times(&self) -> StageTimes {
        self.times
    }
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: u64,
    /// Time after the step, s.
    pub time: f64,
    /// Grains that the step moved.
    pub grains: usize,
    /// Grains of these that are frozen.
    pub frozen: usize,
    /// Contacts in the problem, predicted ones included.
    pub contacts: usize,
    /// Contacts with positive overlap at the start of the step.
    pub touching: usize,
    /// Mean overlap of touching contacts, in diameters.
    pub mean_overlap: f64,
    /// Largest overlap, in diameters.
    pub max_overlap: f64,
    /// Length of the step, s.
    pub step_length: f64,
    /// Errors of the step; `None` where they were not measured.
    pub errors: Option<StepErrors>,
    /// What of a stated accuracy the step missed; nothing where none is kept.
    pub missed: Missed,
    /// Sweeps of the main stage.
    pub sweeps: usize,
    /// Impact rows solved.
    pub impacts: usize,
    /// Residual of the contact problem after the step (see
    /// `esker_contact::ResidualSum`); `None` where it was not measured.
    pub residual: Option<f64>,
    /// False when a tolerance was set and missed.
    pub converged: bool,
    /// Grains that emitters added as the step began.
    pub emitted: usize,
    /// Grains that sinks removed as the step began: they had entered by then.
    pub removed: usize,
    /// Grains removed as the step began because they had left the bounds.
    pub lost: usize,
    /// Grains that emitters owe after the step: due by then, but there was no
    /// room for them.
    pub owed: u64,
    /// Threads used.
    pub threads: usize,
    /// Time per stage.
    pub times: StageTimes,
}

/// Share of a step by which a moment may be missed through rounding.
const MOMENT_TOLERANCE: f64 = 1e-6;

impl StepReport {
    /// Whether the step reached the next multiple of `every` seconds.
    pub fn reached_multiple_of(&self, every: f64) -> bool {
        let step = self.step_length;
        let multiples = |time: f64| ((time + MOMENT_TOLERANCE * step) / every).floor();
        multiples(self.time) > multiples(self.time - step)
    }
}
