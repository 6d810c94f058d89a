//! Probes: what is measured of a world while it runs.
//!
//! [`Probes`] watch a [`World`] from outside, after every step, and never touch
//! it: a run with probes has the same bits as one without. Each probe gives a
//! row of numbers at every multiple of its interval. What can be lost between
//! two looks is counted in every step (grains that cross a plane) or taken from
//! exact integrals (loads on walls); the rest is sampled.
//!
//! | quantity | rows are | looked at |
//! | --- | --- | --- |
//! | flow through a plane | means over the interval | every step |
//! | force, torque and power of a wall | means over the interval | exact integrals |
//! | joints and drives of machines | means over the interval, coordinates at its end | exact integrals |
//! | packing, velocity and stress in a region | means of samples | `samples` times per interval |
//! | mixing, front, profile, flow in a drum | the state at the end of the interval | once |
//!
//! Everything is summed in the order in which grains and contacts are stored,
//! which does not depend on threads, and [`Probes::tally`] holds what a
//! checkpoint needs: rows of a resumed run are those of an unbroken one.

mod definition;
mod gauge;
mod track;

use esker_world::{StepReport, Wanted, World};

pub use esker_analysis::drum::DrumSection;

pub use definition::{Class, Column, Opening, OpeningShape, Path, ProbeDef, Quantity};
use gauge::Gauge;
use track::Track;

/// Numbers of one probe at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the probe.
    pub probe: usize,
    /// Steps done.
    pub step: u64,
    /// Time at the end of the interval, s.
    pub time: f64,
    /// One number per column, or as many as the column is wide; not a number
    /// where there is nothing to measure.
    pub values: Vec<f64>,
}

/// All probes of a run.
pub struct Probes {
    probes: Vec<Probe>,
    track: Track,
}

struct Probe {
    def: ProbeDef,
    gauge: Box<dyn Gauge>,
    /// Start of the interval, s.
    since: f64,
}

impl Probes {
    /// Probes that start to watch now.
    pub fn new(defs: &[ProbeDef], world: &World) -> Self {
        let probes = defs.iter().map(|def| Probe {
            gauge: gauge::new(&def.quantity, world),
            def: def.clone(),
            since: world.time(),
        });
        let mut probes = Probes {
            probes: probes.collect(),
            track: Track::default(),
        };
        if probes.need_track() {
            probes.track.update(&world.all_grains());
        }
        probes
    }

    /// Probes that go on where those of an unbroken run would be: `tally` is
    /// what [`Probes::tally`] gave with this state of the world. A probe that
    /// has no part in it starts now.
    pub fn resume(defs: &[ProbeDef], world: &World, tally: &[(String, f64)]) -> Self {
        let mut probes = Probes::new(defs, world);
        for probe in &mut probes.probes {
            let prefix = prefix(&probe.def.name);
            let numbers: Vec<f64> = tally
                .iter()
                .filter(|(name, _)| is_numbered(name, &prefix))
                .map(|(_, value)| *value)
                .collect();
            if let Some((since, state)) = numbers.split_first()
                && probe.gauge.restore(state)
            {
                probe.since = *since;
            }
        }
        probes
    }

    /// Everything that the next rows depend on, besides the world's own state.
    pub fn tally(&self) -> Vec<(String, f64)> {
        let probes = self.probes.iter();
        probes
            .flat_map(|probe| {
                let prefix = prefix(&probe.def.name);
                let numbers = std::iter::once(probe.since).chain(probe.gauge.state());
                let named = numbers.enumerate();
                named
                    .map(|(i, x)| (format!("{prefix}{i}"), x))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.probes.is_empty()
    }

    /// Rows of the state at the start, of probes that measure states.
    pub fn first_rows(&mut self, world: &World) -> Vec<Row> {
        let probes = self.probes.iter_mut().enumerate();
        probes
            .filter(|(_, probe)| probe.gauge.measures_states())
            .map(|(index, probe)| Row {
                probe: index,
                step: world.steps_done(),
                time: world.time(),
                values: probe.gauge.close(world, 0.0),
            })
            .collect()
    }

    /// What is read after the step of this report.
    pub fn reads(&self, report: &StepReport) -> Wanted {
        let probes = self.probes.iter().map(|probe| {
            let sampling = probe.def.every / probe.gauge.samples_per_row();
            let is_due = report.reached_multiple_of(probe.def.every);
            match is_due || report.reached_multiple_of(sampling) {
                true => probe.gauge.reads(),
                false if probe.gauge.follows_grains() => Wanted::Grains,
                false => Wanted::Report,
            }
        });
        probes.max().unwrap_or_default()
    }

    /// Looks at the step that was just made; returns the rows that it completes.
    pub fn after_step(&mut self, world: &World, report: &StepReport) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, probe) in self.probes.iter_mut().enumerate() {
            probe.gauge.after_step(world, &self.track);
            let is_due = report.reached_multiple_of(probe.def.every);
            let sampling = probe.def.every / probe.gauge.samples_per_row();
            if is_due || report.reached_multiple_of(sampling) {
                probe.gauge.sample(world);
            }
            if is_due {
                let length = report.time - probe.since;
                probe.since = report.time;
                rows.push(Row {
                    probe: index,
                    step: report.step,
                    time: report.time,
                    values: probe.gauge.close(world, length),
                });
            }
        }
        if self.need_track() {
            self.track.update(&world.grains_in_motion());
        }
        rows
    }

    fn need_track(&self) -> bool {
        self.probes.iter().any(|p| p.gauge.follows_grains())
    }
}

/// How the numbers of a probe begin in a tally.
fn prefix(name: &str) -> String {
    format!("probe {name} ")
}

/// Whether a name is the prefix and a number: names of probes may begin alike.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix);
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}
