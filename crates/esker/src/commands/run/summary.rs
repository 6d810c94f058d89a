//! What a run came to: for people, and as `summary.json`.

use std::collections::BTreeMap;
use std::path::Path;

use esker_scene::Scene;
use esker_world::definition::{Method, Solver};
use esker_world::wall::Wall;
use esker_world::{OtherBody, Stage, StepReport, World, WorstContact};
use serde::Serialize;

use super::balance::{EnergySummary, WallSummary};
use super::progress::duration;
use crate::output_file;

/// Name of the summary in the result folder.
pub const FILE_NAME: &str = "summary.json";
/// Name of the table of what sinks took.
const SINKS_FILE_NAME: &str = "sinks.csv";

/// Excess of the worst contact from which on it is shown, in diameters.
const SHOWN_EXCESS: f64 = 0.01;

/// Sums over the steps of a run and numbers of its last step. All are plain
/// numbers, so that a checkpoint can carry them on.
#[derive(Clone, Default)]
pub struct Totals {
    /// Time on the clock, s.
    pub wall: f64,
    contacts: f64,
    touching: f64,
    mean_overlap: f64,
    max_overlap: f64,
    stages: [f64; Stage::ALL.len()],
    contact_sweeps: f64,
    unconverged: f64,
    worst_overlap: f64,
    worst_residual: f64,
    residual_sum: f64,
    residual_count: f64,
    emitted: f64,
    judged: f64,
    mean_excess_sum: f64,
    high_excess_sum: f64,
    worst_high_excess: f64,
    worst_travel: f64,
    missed: f64,
    missed_overlap: f64,
    missed_walls: f64,
    missed_creep: f64,
    missed_travel: f64,
    missed_residual: f64,
    worst: Worst,
    threads_sum: f64,
    sweeps_sum: f64,
    most_sweeps: f64,
    /// Shortest step, s; zero before the first.
    shortest_step: f64,
    /// Most contacts at once with the outer side of each closed container.
    most_outer_contacts: Vec<f64>,
}

/// The contact that was most in excess of its law, as numbers.
#[derive(Clone, Default)]
struct Worst {
    excess: f64,
    overlap: f64,
    time: f64,
    /// Slot of the grain.
    grain: f64,
    /// Slot of the other grain, or the wall's place less one and negative.
    other: f64,
}

impl Worst {
    fn keep(&mut self, found: &WorstContact, time: f64) {
        if found.excess > self.excess {
            *self = Worst {
                excess: found.excess,
                overlap: found.overlap,
                time,
                grain: f64::from(found.grain.slot),
                other: match found.other {
                    OtherBody::Grain(id) => f64::from(id.slot),
                    OtherBody::Wall(w) => -1.0 - f64::from(w),
                },
            };
        }
    }
}

/// How a checkpoint names [`Totals::most_outer_contacts`], before the wall's index.
const OUTER_CONTACTS: &str = "most_outer_contacts.";

/// Access to one number of [`Totals`].
type Number = fn(&mut Totals) -> &mut f64;

/// The numbers of [`Totals`] but for the stages, by the names they have in checkpoints.
const NUMBERS: [(&str, Number); 32] = [
    ("wall", |t| &mut t.wall),
    ("contacts", |t| &mut t.contacts),
    ("touching", |t| &mut t.touching),
    ("mean_overlap", |t| &mut t.mean_overlap),
    ("max_overlap", |t| &mut t.max_overlap),
    ("contact_sweeps", |t| &mut t.contact_sweeps),
    ("unconverged", |t| &mut t.unconverged),
    ("worst_overlap", |t| &mut t.worst_overlap),
    ("worst_residual", |t| &mut t.worst_residual),
    ("residual_sum", |t| &mut t.residual_sum),
    ("residual_count", |t| &mut t.residual_count),
    ("emitted", |t| &mut t.emitted),
    ("judged", |t| &mut t.judged),
    ("mean_excess_sum", |t| &mut t.mean_excess_sum),
    ("high_excess_sum", |t| &mut t.high_excess_sum),
    ("worst_high_excess", |t| &mut t.worst_high_excess),
    ("worst_travel", |t| &mut t.worst_travel),
    ("missed", |t| &mut t.missed),
    ("missed_overlap", |t| &mut t.missed_overlap),
    ("missed_walls", |t| &mut t.missed_walls),
    ("missed_creep", |t| &mut t.missed_creep),
    ("missed_travel", |t| &mut t.missed_travel),
    ("missed_residual", |t| &mut t.missed_residual),
    ("worst_contact_excess", |t| &mut t.worst.excess),
    ("worst_contact_overlap", |t| &mut t.worst.overlap),
    ("worst_contact_time", |t| &mut t.worst.time),
    ("worst_contact_grain", |t| &mut t.worst.grain),
    ("worst_contact_other", |t| &mut t.worst.other),
    ("threads_sum", |t| &mut t.threads_sum),
    ("sweeps_sum", |t| &mut t.sweeps_sum),
    ("most_sweeps", |t| &mut t.most_sweeps),
    ("shortest_step", |t| &mut t.shortest_step),
];

impl Totals {
    /// Adds one step of a world.
    pub fn add(&mut self, report: &StepReport, walls: &[Wall]) {
        self.most_outer_contacts.resize(walls.len(), 0.0);
        for (most, wall) in self.most_outer_contacts.iter_mut().zip(walls) {
            *most = most.max(wall.outer_contacts as f64);
        }
        for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
            *sum += report.times.get(stage).as_secs_f64();
        }
        self.contacts = report.contacts as f64;
        self.touching = report.touching as f64;
        self.mean_overlap = report.mean_overlap;
        self.max_overlap = report.max_overlap;
        self.contact_sweeps += report.contacts as f64 * report.sweeps as f64;
        self.unconverged += f64::from(u8::from(!report.converged));
        self.worst_overlap = self.worst_overlap.max(report.max_overlap);
        self.emitted += report.emitted as f64;
        self.threads_sum += report.threads as f64;
        self.sweeps_sum += report.sweeps as f64;
        self.most_sweeps = self.most_sweeps.max(report.sweeps as f64);
        if self.shortest_step == 0.0 || report.step_length < self.shortest_step {
            self.shortest_step = report.step_length;
        }
        if let Some(errors) = &report.errors {
            let high = errors.grain_excess.max(errors.wall_excess);
            self.judged += 1.0;
            self.mean_excess_sum += errors.mean_excess;
            self.high_excess_sum += high;
            self.worst_high_excess = self.worst_high_excess.max(high);
            self.worst_travel = self.worst_travel.max(errors.travel);
            if let Some(worst) = &errors.worst {
                self.worst.keep(worst, report.time);
            }
        }
        let missed = &report.missed;
        for (count, missed) in [
            (&mut self.missed, missed.any()),
            (&mut self.missed_overlap, missed.overlap),
            (&mut self.missed_walls, missed.walls),
            (&mut self.missed_creep, missed.creep),
            (&mut self.missed_travel, missed.travel),
            (&mut self.missed_residual, missed.residual),
        ] {
            *count += f64::from(u8::from(missed));
        }
        if let Some(residual) = report.residual {
            self.worst_residual = self.worst_residual.max(residual);
            self.residual_sum += residual;
            self.residual_count += 1.0;
        }
    }

    /// All numbers with their names, for a checkpoint.
    pub fn to_tally(&self) -> Vec<(String, f64)> {
        let mut totals = self.clone();
        let numbers = NUMBERS
            .iter()
            .map(|(name, number)| ((*name).to_owned(), *number(&mut totals)));
        let stages = Stage::ALL.iter().zip(self.stages);
        let walls = self.most_outer_contacts.iter().enumerate();
        numbers
            .chain(walls.map(|(k, most)| (format!("{OUTER_CONTACTS}{k}"), *most)))
            .chain(stages.map(|(stage, seconds)| (stage.name().to_owned(), seconds)))
            .collect()
    }

    /// The numbers that a checkpoint holds; zero where it lacks one.
    pub fn from_tally(tally: &[(String, f64)]) -> Self {
        let mut totals = Totals::default();
        for (name, value) in tally {
            if let Some((_, number)) = NUMBERS.iter().find(|(known, _)| known == name) {
                *number(&mut totals) = *value;
            } else if let Some(i) = Stage::ALL.iter().position(|stage| stage.name() == name) {
                totals.stages[i] = *value;
            } else if let Some(wall) = name.strip_prefix(OUTER_CONTACTS)
                && wall.parse() == Ok(totals.most_outer_contacts.len())
            {
                totals.most_outer_contacts.push(*value);
            }
        }
        totals
    }
}

/// The summary; field names are the keys of `summary.json`.
#[derive(Serialize)]
pub struct Summary {
    scene: String,
    version: &'static str,
    method: String,
    /// Threads used, mean over the steps.
    mean_threads: f64,
    sweeps: usize,
    /// False when the run reached its end.
    pub interrupted: bool,
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
    mean_residual: Option<f64>,
    worst_residual: Option<f64>,
    tolerance: Option<f64>,
    unconverged_steps: u64,
    /// Where the scene asks for an accuracy to be kept.
    accuracy: Option<AccuracySummary>,
    worst_contact: Option<WorstSummary>,
    wall_seconds: f64,
    /// Simulated seconds per second.
    real_time_factor: f64,
    seconds_per_contact_iteration: f64,
    stage_seconds: BTreeMap<&'static str, f64>,
    emitters: Vec<EmitterSummary>,
    sinks: Vec<SinkSummary>,
    state_hash: String,
}

/// What was done for a stated accuracy, and what was reached.
#[derive(Serialize)]
struct AccuracySummary {
    /// Stated, in grain diameters.
    tolerance: f64,
    /// Overlap beyond the contact law, in grain diameters: mean over contacts and
    /// steps, 99.9th percentile of contacts as mean over steps, and the greatest.
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
        let grain = |slot: f64| format!("grain {slot}");
        let other = match worst.other {
            wall if wall < 0.0 => format!("wall {}", world.walls[(-1.0 - wall) as usize].name),
            slot => grain(slot),
        };
        (worst.excess > 0.0).then(|| WorstSummary {
            bodies: [grain(worst.grain), other],
            overlap: worst.overlap,
            excess: worst.excess,
            time: worst.time,
        })
    }
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
    pub fn new(scene: &Scene, world: &World, totals: &Totals, interrupted: bool) -> Self {
        let wall = totals.wall;
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let advance = totals.stages[Stage::Advance as usize];
        let seen = totals.residual_count > 0.0;
        let sinks: Vec<SinkSummary> = world
            .sinks
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
        Summary {
            scene: scene.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            method: match world.method() {
                Method::SubStepped(_) => "substepped".to_owned(),
                Method::WholeStep(method) => match &method.solver {
                    Solver::Sweep => "gauss-seidel".to_owned(),
                    Solver::Named(name) => name.replace('_', "-"),
                },
                Method::Smooth(_) => "smooth".to_owned(),
            },
            mean_threads: ratio(totals.threads_sum, world.steps_done as f64),
            sweeps: world.method().sweeps(),
            interrupted,
            steps: world.steps_done,
            time: world.time(),
            particles: world.grains.len(),
            emitted: totals.emitted as u64,
            removed: sinks.iter().map(|s| s.number).sum(),
            lost: world.lost,
            contacts: totals.contacts as usize,
            touching_contacts: totals.touching as usize,
            mean_overlap: totals.mean_overlap,
            max_overlap: totals.max_overlap,
            worst_overlap: totals.worst_overlap,
            kinetic_energy: world.grains.kinetic_energy(),
            energy: EnergySummary::new(world),
            walls: world
                .walls
                .iter()
                .enumerate()
                .map(|(k, wall)| {
                    let outer = totals.most_outer_contacts.get(k).copied();
                    WallSummary::new(wall, world.time(), outer.unwrap_or(0.0) as u64)
                })
                .collect(),
            mean_residual: seen.then(|| totals.residual_sum / totals.residual_count),
            worst_residual: seen.then_some(totals.worst_residual),
            tolerance: world.method().tolerance(),
            unconverged_steps: totals.unconverged as u64,
            accuracy: world.accuracy().map(|tolerance| AccuracySummary {
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
                },
                step: ratio(world.time(), world.steps_done as f64),
                shortest_step: totals.shortest_step,
                mean_sweeps: ratio(totals.sweeps_sum, world.steps_done as f64),
                most_sweeps: totals.most_sweeps,
            }),
            worst_contact: WorstSummary::new(world, &totals.worst),
            wall_seconds: wall,
            real_time_factor: ratio(world.time(), wall),
            seconds_per_contact_iteration: ratio(advance, totals.contact_sweeps),
            stage_seconds: Stage::ALL
                .iter()
                .zip(totals.stages)
                .map(|(stage, seconds)| (stage.name(), seconds))
                .collect(),
            emitters: world
                .emitters
                .iter()
                .map(|emitter| EmitterSummary {
                    name: emitter.def.name.clone(),
                    number: emitter.progress.emitted,
                    mass: emitter.progress.mass,
                    owed: emitter.owed(world.time()),
                })
                .collect(),
            sinks,
            state_hash: format!("{:016x}", world.grains.state_hash()),
        }
    }

    pub fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Writes the summary and, where there are sinks, what they took over time.
    pub fn write(&self, output: &Path, world: &World) -> anyhow::Result<()> {
        let write =
            |name: &str, text: String| output_file::write(&output.join(name), text.as_bytes());
        if !world.sinks.is_empty() {
            let mut table = String::from("time_s,sink,number,mass_kg\n");
            for sink in &world.sinks {
                for taken in &sink.taken {
                    table.push_str(&format!(
                        "{},{},{},{}\n",
                        taken.time, sink.def.name, taken.number, taken.mass
                    ));
                }
            }
            write(SINKS_FILE_NAME, table)?;
        }
        write(FILE_NAME, self.to_json()? + "\n")
    }

    /// Prints the summary for people.
    pub fn print(&self, output: &Path) {
        let how = if self.interrupted { "stopped" } else { "done" };
        println!(
            "{}: {how} after {} steps, {:.3} s simulated in {} ({:.3} × real time)",
            self.scene,
            self.steps,
            self.time,
            duration(self.wall_seconds),
            self.real_time_factor
        );
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
        println!("  grains      {}{flow}", self.particles);
        println!(
            "  contacts    {} touching, {} with those about to",
            self.touching_contacts, self.contacts
        );
        println!(
            "  overlap     mean {:.4} %, largest {:.3} % of a diameter at the end; largest ever {:.2} %",
            100.0 * self.mean_overlap,
            100.0 * self.max_overlap,
            100.0 * self.worst_overlap
        );
        println!("  energy      {:.3e} J kinetic", self.kinetic_energy);
        let ledger = self.energy.iter().flat_map(EnergySummary::lines);
        let drives = self.walls.iter().filter_map(WallSummary::line);
        for line in ledger.chain(drives) {
            println!("{line}");
        }
        let residual = match (self.mean_residual, self.worst_residual) {
            (Some(mean), Some(worst)) => format!("residual mean {mean:.1e}, worst {worst:.1e}"),
            _ => "residual not measured".to_owned(),
        };
        println!(
            "  solver      {}, {} sweeps per step; {residual}",
            self.method, self.sweeps
        );
        match self.tolerance {
            Some(tolerance) if self.unconverged_steps > 0 => println!(
                "  WARNING     {} of {} steps missed the tolerance {tolerance:.1e}",
                self.unconverged_steps, self.steps
            ),
            Some(tolerance) => {
                println!("              every step met the tolerance {tolerance:.1e}")
            }
            None => {}
        }
        if let Some(a) = &self.accuracy {
            println!(
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
            );
            if a.missed.steps > 0 {
                println!(
                    "  WARNING     {} of {} steps missed the accuracy ({})",
                    a.missed.steps,
                    self.steps,
                    a.missed.reasons()
                );
            } else {
                println!("              every step kept the accuracy");
            }
        }
        if let Some(worst) = self
            .worst_contact
            .as_ref()
            .filter(|w| w.excess > SHOWN_EXCESS)
        {
            println!(
                "  worst pair  {} and {}: {:.2} % of a diameter, {:.2} % beyond the contact law, at {:.4} s",
                worst.bodies[0],
                worst.bodies[1],
                100.0 * worst.overlap,
                100.0 * worst.excess,
                worst.time
            );
        }
        for emitter in self.emitters.iter().filter(|e| e.owed > 0) {
            println!(
                "  WARNING     emitter {} gave {} grains and owes {}: its region was full; enlarge it, \
                 give its grains a velocity, or lower the rate",
                emitter.name, emitter.number, emitter.owed
            );
        }
        for warning in self.walls.iter().filter_map(WallSummary::warning) {
            println!("{warning}");
        }
        for sink in &self.sinks {
            println!(
                "  sink        {}: {} grains, {:.4} kg",
                sink.name, sink.number, sink.mass
            );
        }
        println!(
            "  speed       {:.2e} s per contact and sweep, on {:.1} threads on average",
            self.seconds_per_contact_iteration, self.mean_threads
        );
        println!("  state       {}", self.state_hash);
        println!("  written to  {}", output.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_survive_a_checkpoint() {
        let mut totals = Totals::default();
        for (i, (_, number)) in NUMBERS.iter().enumerate() {
            *number(&mut totals) = 1.0 + i as f64;
        }
        totals.stages = std::array::from_fn(|i| 100.0 + i as f64);
        totals.most_outer_contacts = vec![0.0, 7.0];
        let tally = totals.to_tally();
        assert_eq!(Totals::from_tally(&tally).to_tally(), tally);
        assert_eq!(tally.len(), NUMBERS.len() + Stage::ALL.len() + 2);
    }
}
