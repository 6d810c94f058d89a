//! What a run came to: for people, and as `summary.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use esker_scene::Scene;
use esker_world::definition::{Method, Solver};
use esker_world::{BodyId, GrainId, Stage, World};
use serde::Serialize;

use super::balance::{BodySummary, EnergySummary, MachineSummary, WallSummary};
use super::reduction_summary::ReductionSummary;
use super::totals::{Totals, Worst};
use super::verdict::{Evidence, Verdict, outside_of_containers};
use crate::{Error, output_file};

/// Name of the summary in the result folder.
pub const SUMMARY_FILE_NAME: &str = "summary.json";
/// Name of the table of what sinks took.
const SINKS_FILE_NAME: &str = "sinks.csv";

/// Excess of the worst contact from which on it is shown, in diameters.
const SHOWN_EXCESS: f64 = 0.01;

/// Error of the forces of tools from which on it is shown.
const SHOWN_FORCE_ERROR: f64 = 0.01;

/// What a run came to. Field names are the keys of `summary.json`; written with `{}` it is
/// what people read.
#[derive(Serialize)]
pub struct Summary {
    scene: String,
    version: &'static str,
    method: String,
    /// Threads used, mean over the steps.
    mean_threads: f64,
    sweeps: usize,
    /// False when the run reached its end.
    interrupted: bool,
    steps: u64,
    /// Simulated time, s.
    time: f64,
    particles: usize,
    emitted: u64,
    removed: u64,
    lost: u64,
    contacts: usize,
    touching_contacts: usize,
    /// At the end, in grain diameters.
    mean_overlap: f64,
    max_overlap: f64,
    /// Over the whole run, in grain diameters.
    worst_overlap: f64,
    /// J.
    kinetic_energy: f64,
    /// Where the scene asks for it.
    energy: Option<EnergySummary>,
    walls: Vec<WallSummary>,
    bodies: Vec<BodySummary>,
    /// Where grains at rest may be frozen.
    reduction: Option<ReductionSummary>,
    /// Where the scene has joints.
    machines: Option<MachineSummary>,
    /// Share by which the forces of moving walls and machines are too small on average, because
    /// contacts yield more than their law says; where these tools did any work.
    tool_force_error: Option<f64>,
    mean_residual: Option<f64>,
    worst_residual: Option<f64>,
    tolerance: Option<f64>,
    unconverged_steps: u64,
    /// Where the scene asks for an accuracy to be kept.
    accuracy: Option<AccuracySummary>,
    worst_contact: Option<WorstSummary>,
    verdict: Verdict,
    wall_seconds: f64,
    /// Simulated seconds per second.
    real_time_factor: f64,
    seconds_per_contact_iteration: f64,
    stage_seconds: BTreeMap<&'static str, f64>,
    emitters: Vec<EmitterSummary>,
    sinks: Vec<SinkSummary>,
    state_hash: String,
    /// Where the run is recorded, if it is.
    #[serde(skip)]
    folder: Option<PathBuf>,
}

/// What was done for a stated accuracy, and what was reached.
#[derive(Serialize)]
struct AccuracySummary {
    /// Stated, in grain diameters.
    tolerance: f64,
    /// Overlap beyond the contact law, in grain diameters: mean over contacts and
    /// steps, 99.9th percentile of contacts as mean over steps, and the largest.
    mean: f64,
    high: f64,
    worst_high: f64,
    missed: MissedSteps,
    /// Step used, s: mean and shortest.
    step: f64,
    shortest_step: f64,
    mean_sweeps: f64,
    most_sweeps: f64,
}

/// Steps that missed a stated accuracy, in all and by what they missed.
#[derive(Serialize)]
struct MissedSteps {
    steps: u64,
    overlap: u64,
    walls: u64,
    creep: u64,
    travel: u64,
    residual: u64,
    forces: u64,
    joints: u64,
}

impl MissedSteps {
    /// What was missed how often, most often first.
    fn reasons(&self) -> String {
        let mut reasons = [
            (self.overlap, "overlaps of grains"),
            (self.walls, "overlaps with walls"),
            (self.creep, "creep"),
            (self.travel, "steps too long for the speeds"),
            (self.residual, "the residual"),
            (self.forces, "forces of tools"),
            (self.joints, "joints"),
        ];
        reasons.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        let missed = reasons.iter().filter(|&&(count, _)| count > 0);
        let words: Vec<String> = missed.map(|(n, what)| format!("{what} {n}")).collect();
        words.join(", ")
    }
}

/// The contact that was most in excess of its law.
#[derive(Serialize)]
struct WorstSummary {
    /// Names of the two bodies.
    bodies: [String; 2],
    /// Overlap, and its part beyond the law, in grain diameters.
    overlap: f64,
    excess: f64,
    /// When, s.
    time: f64,
}

impl WorstSummary {
    /// `None` where no contact was beyond its law.
    fn new(world: &World, worst: &Worst) -> Option<Self> {
        let table = world.table();
        let grain = |id: f64| {
            let id = GrainId::from_u64(id as u64);
            let row = table.find(BodyId::Grain(id));
            match row.and_then(|row| table.name(row)) {
                Some(name) => format!("body {name}"),
                None => id.to_string(),
            }
        };
        let other = match worst.other {
            wall if wall < 0.0 => format!("wall {}", world.walls()[(-1.0 - wall) as usize].name),
            id => grain(id),
        };
        (worst.excess > 0.0).then(|| WorstSummary {
            bodies: [grain(worst.grain), other],
            overlap: worst.overlap,
            excess: worst.excess,
            time: worst.time,
        })
    }

    fn words(&self) -> String {
        format!(
            "{} and {}: {:.2} % of a diameter, {:.2} % beyond the contact law, at {:.4} s",
            self.bodies[0],
            self.bodies[1],
            100.0 * self.overlap,
            100.0 * self.excess,
            self.time
        )
    }
}

/// Grains that left closed containers, if any did; unknown where others come
/// and go.
fn escaped(world: &World, totals: &Totals) -> Option<(u64, String)> {
    if !world.emitters().is_empty() || !world.sinks().is_empty() {
        return None;
    }
    let (outside, walls) = outside_of_containers(world)?;
    let count = (outside + world.lost()).saturating_sub(totals.outside_at_start as u64);
    (count > 0).then_some((count, walls))
}

#[derive(Serialize)]
struct EmitterSummary {
    name: String,
    number: u64,
    /// kg.
    mass: f64,
    /// Grains that were due and found no room.
    owed: u64,
}

#[derive(Serialize)]
struct SinkSummary {
    name: String,
    number: u64,
    mass: f64,
}

impl Summary {
    pub(super) fn new(
        scene: &Scene,
        world: &World,
        totals: &Totals,
        (interrupted, folder): (bool, Option<PathBuf>),
    ) -> Self {
        let wall = totals.wall;
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let advance = totals.stages[Stage::Advance as usize];
        let seen = totals.residual_count > 0.0;
        let sinks: Vec<SinkSummary> = world
            .sinks()
            .iter()
            .map(|sink| {
                let total = sink.total();
                SinkSummary {
                    name: sink.def.name.clone(),
                    number: total.number,
                    mass: total.mass,
                }
            })
            .collect();
        let accuracy = world.accuracy().map(|tolerance| AccuracySummary {
            tolerance,
            mean: ratio(totals.mean_excess_sum, totals.judged),
            high: ratio(totals.high_excess_sum, totals.judged),
            worst_high: totals.worst_high_excess,
            missed: MissedSteps {
                steps: totals.missed as u64,
                overlap: totals.missed_overlap as u64,
                walls: totals.missed_walls as u64,
                creep: totals.missed_creep as u64,
                travel: totals.missed_travel as u64,
                residual: totals.missed_residual as u64,
                forces: totals.missed_forces as u64,
                joints: totals.missed_joints as u64,
            },
            step: ratio(world.time(), world.steps_done() as f64),
            shortest_step: totals.shortest_step,
            mean_sweeps: ratio(totals.sweeps_sum, world.steps_done() as f64),
            most_sweeps: totals.most_sweeps,
        });
        let worst_contact = WorstSummary::new(world, &totals.worst);
        let energy = EnergySummary::new(world);
        let reduction = ReductionSummary::new(world, scene.world.reduction);
        let steps = world.steps_done() as f64;
        let tool_force =
            (totals.tool_energy_sum > 0.0).then(|| totals.tool_force_sum / totals.tool_energy_sum);
        let verdict = Verdict::new(&Evidence {
            mean_overlap: reduction.as_ref().map_or(totals.mean_overlap, |reduction| {
                reduction.mean_overlap(totals.mean_overlap, totals.touching)
            }),
            high_excess: ratio(totals.high_excess_sum, totals.judged),
            worst_contact: worst_contact.as_ref().map(WorstSummary::words),
            worst_travel: totals.worst_travel,
            worst_overlap: totals.worst_overlap,
            residual: seen.then(|| {
                let mean = totals.residual_sum / totals.residual_count;
                (mean, totals.residual_count as u64)
            }),
            tool_force,
            joints: totals.worst_joints,
            unconverged: ratio(totals.unconverged, steps),
            missed: accuracy
                .as_ref()
                .map(|a| (ratio(totals.missed, steps), a.missed.reasons())),
            energy_error: energy.as_ref().map(EnergySummary::error),
            frozen_imbalance: reduction.as_ref().map(ReductionSummary::imbalance),
            escaped: escaped(world, totals),
        });
        Summary {
            scene: scene.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            method: match world.method() {
                Method::SubStepped(_) => "substepped".to_owned(),
                Method::WholeStep(method) => match &method.solver {
                    Solver::Sweep => "gauss-seidel".to_owned(),
                    Solver::Named(name) => name.clone(),
                },
                Method::Smooth(_) => "smooth".to_owned(),
            },
            mean_threads: ratio(totals.threads_sum, world.steps_done() as f64),
            sweeps: world.method().sweeps(),
            interrupted,
            steps: world.steps_done(),
            time: world.time(),
            particles: world.grain_count(),
            emitted: totals.emitted as u64,
            removed: sinks.iter().map(|s| s.number).sum(),
            lost: world.lost(),
            contacts: totals.contacts as usize,
            touching_contacts: totals.touching as usize,
            mean_overlap: totals.mean_overlap,
            max_overlap: totals.max_overlap,
            worst_overlap: totals.worst_overlap,
            kinetic_energy: world.kinetic_energy(),
            energy,
            walls: world
                .walls()
                .iter()
                .enumerate()
                .map(|(k, wall)| {
                    let outer = totals.most_outer_contacts.get(k).copied();
                    WallSummary::new(wall, world.time(), outer.unwrap_or(0.0) as u64)
                })
                .collect(),
            bodies: (0..world.bodies().len())
                .map(|body| BodySummary::new(world, body))
                .collect(),
            reduction,
            machines: MachineSummary::new(world),
            tool_force_error: tool_force,
            mean_residual: seen.then(|| totals.residual_sum / totals.residual_count),
            worst_residual: seen.then_some(totals.worst_residual),
            tolerance: world.method().tolerance(),
            unconverged_steps: totals.unconverged as u64,
            accuracy,
            worst_contact,
            verdict,
            wall_seconds: wall,
            real_time_factor: ratio(world.time(), wall),
            seconds_per_contact_iteration: ratio(advance, totals.contact_sweeps),
            stage_seconds: Stage::ALL
                .iter()
                .zip(totals.stages)
                .map(|(stage, seconds)| (stage.name(), seconds))
                .collect(),
            emitters: world
                .emitters()
                .iter()
                .map(|emitter| EmitterSummary {
                    name: emitter.def.name.clone(),
                    number: emitter.progress.emitted,
                    mass: emitter.progress.mass,
                    owed: emitter.owed(world.time()),
                })
                .collect(),
            sinks,
            state_hash: format!("{:016x}", world.all_grains().state_hash()),
            folder,
        }
    }

    /// How far the run can be trusted, and what speaks against it.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Whether the run was stopped before its end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// A hash of all positions, orientations and velocities, as 16 hexadecimal digits.
    pub fn state_hash(&self) -> &str {
        &self.state_hash
    }

    /// The content of `summary.json`.
    pub fn to_json(&self) -> String {
        // Keys are field names, and numbers that are none become null.
        serde_json::to_string_pretty(self).expect("a summary is plain data")
    }

    /// Writes the summary and, where there are sinks, what they took over time.
    pub(super) fn write(&self, output: &Path, world: &World) -> Result<(), Error> {
        let write =
            |name: &str, text: String| output_file::write(&output.join(name), text.as_bytes());
        if !world.sinks().is_empty() {
            let mut table = String::from("time_s,sink,number,mass_kg\n");
            for sink in world.sinks() {
                for taken in &sink.taken {
                    table.push_str(&format!(
                        "{},{},{},{}\n",
                        taken.time, sink.def.name, taken.number, taken.mass
                    ));
                }
            }
            write(SINKS_FILE_NAME, table)?;
        }
        write(SUMMARY_FILE_NAME, self.to_json() + "\n")
    }

    /// The summary for people, line by line.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let how = if self.interrupted { "stopped" } else { "done" };
        lines.push(format!(
            "{}: {how} after {} steps, {:.3} s simulated in {} ({:.3} × real time)",
            self.scene,
            self.steps,
            self.time,
            duration(self.wall_seconds),
            self.real_time_factor
        ));
        let mut flow = Vec::new();
        for (what, count) in [
            ("emitted", self.emitted),
            ("removed", self.removed),
            ("lost", self.lost),
        ] {
            if count > 0 {
                flow.push(format!("{count} {what}"));
            }
        }
        let flow = if flow.is_empty() {
            String::new()
        } else {
            format!(" ({})", flow.join(", "))
        };
        lines.push(format!("  grains      {}{flow}", self.particles));
        let frozen = self.reduction.as_ref();
        let (touching, predicted) = (self.touching_contacts, self.contacts);
        lines.push(match frozen {
            None => format!("  contacts    {touching} touching, {predicted} with those about to"),
            Some(frozen) => format!(
                "  contacts    {touching} touching among free grains (and with them), {predicted} with those about to; \
                 {} among frozen grains and walls",
                frozen.contacts()
            ),
        });
        let of_free = frozen.map_or("", |_| " (contacts of free grains)");
        let worst = 100.0 * self.worst_overlap;
        lines.push(match self.touching_contacts {
            0 if frozen.is_some() => {
                format!("  overlap     no contact of a free grain at the end; largest ever {worst:.2} %")
            }
            _ => format!(
                "  overlap     mean {:.4} %, largest {:.3} % of a diameter at the end{of_free}; largest ever {worst:.2} %",
                100.0 * self.mean_overlap,
                100.0 * self.max_overlap,
            ),
        });
        lines.push(format!(
            "  energy      {:.3e} J kinetic",
            self.kinetic_energy
        ));
        let ledger = self.energy.iter().flat_map(EnergySummary::lines);
        let drives = self.walls.iter().filter_map(WallSummary::line);
        let machines = self.machines.iter().flat_map(MachineSummary::lines);
        let reduction = self.reduction.iter().flat_map(ReductionSummary::lines);
        lines.extend(ledger.chain(drives).chain(machines).chain(reduction));
        if let Some(error) = self.tool_force_error.filter(|e| *e > SHOWN_FORCE_ERROR) {
            lines.push(format!(
                "  tools       forces about {:.1} % too small: contacts yield more than their law says, \
                 or lag behind their load",
                100.0 * error
            ));
        }
        let residual = match (self.mean_residual, self.worst_residual) {
            (Some(mean), Some(worst)) => format!("residual mean {mean:.1e}, worst {worst:.1e}"),
            _ => "residual not measured".to_owned(),
        };
        lines.push(format!(
            "  solver      {}, {} sweeps per step; {residual}",
            self.method, self.sweeps
        ));
        match self.tolerance {
            Some(tolerance) if self.unconverged_steps > 0 => lines.push(format!(
                "  WARNING     {} of {} steps missed the tolerance {tolerance:.1e}",
                self.unconverged_steps, self.steps
            )),
            Some(tolerance) => lines.push(format!(
                "              every step met the tolerance {tolerance:.1e}"
            )),
            None => {}
        }
        if let Some(a) = &self.accuracy {
            lines.push(format!(
                "  accuracy    {} % asked; overlap beyond the law {:.3} % on average, 99.9th \
                 percentile {:.3} %, {:.3} % at worst; \
                 step {:.2e} s on average, {:.2e} s at least, {:.0} sweeps on average, {} at most",
                100.0 * a.tolerance,
                100.0 * a.mean,
                100.0 * a.high,
                100.0 * a.worst_high,
                a.step,
                a.shortest_step,
                a.mean_sweeps,
                a.most_sweeps
            ));
            if a.missed.steps > 0 {
                lines.push(format!(
                    "  WARNING     {} of {} steps missed the accuracy ({})",
                    a.missed.steps,
                    self.steps,
                    a.missed.reasons()
                ));
            } else {
                lines.push("              every step kept the accuracy".to_owned());
            }
        }
        if let Some(worst) = self
            .worst_contact
            .as_ref()
            .filter(|w| w.excess > SHOWN_EXCESS)
        {
            lines.push(format!("  worst pair  {}", worst.words()));
        }
        for emitter in self.emitters.iter().filter(|e| e.owed > 0) {
            lines.push(format!(
                "  WARNING     emitter {} gave {} grains and owes {}: its region was full; enlarge it, \
                 give its grains a velocity, or lower the rate",
                emitter.name, emitter.number, emitter.owed
            ));
        }
        lines.extend(self.walls.iter().filter_map(WallSummary::warning));
        for sink in &self.sinks {
            lines.push(format!(
                "  sink        {}: {} grains, {:.4} kg",
                sink.name, sink.number, sink.mass
            ));
        }
        lines.push(format!(
            "  speed       {:.2e} s per contact and sweep, on {:.1} threads on average",
            self.seconds_per_contact_iteration, self.mean_threads
        ));
        lines.push(format!("  state       {}", self.state_hash));
        if let Some(folder) = &self.folder {
            lines.push(format!("  written to  {}", folder.display()));
        }
        lines.extend(self.verdict.lines());
        lines
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.lines().join("\n"))
    }
}

/// A duration for people.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.0} s")
    } else if seconds < 3600.0 {
        format!("{}:{:02} min", seconds as u64 / 60, seconds as u64 % 60)
    } else {
        format!(
            "{}:{:02} h",
            seconds as u64 / 3600,
            seconds as u64 / 60 % 60
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_a_clock() {
        assert_eq!(duration(4.6), "5 s");
        assert_eq!(duration(75.0), "1:15 min");
        assert_eq!(duration(3725.0), "1:02 h");
    }
}
