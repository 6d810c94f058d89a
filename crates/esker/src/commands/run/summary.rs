//! What a run came to: for people, and as `summary.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use esker_scene::Scene;
use esker_world::definition::Method;
use esker_world::{Stage, StageTimes, StepReport, World};
use serde::Serialize;

use super::progress::duration;

/// Name of the summary in the result folder.
pub const FILE_NAME: &str = "summary.json";
/// Name of the table of what sinks took.
const SINKS_FILE_NAME: &str = "sinks.csv";

/// Sums over the steps of a run.
#[derive(Default)]
pub struct Totals {
    /// Time on the clock.
    pub wall: Duration,
    last: StepReport,
    times: StageTimes,
    contact_sweeps: f64,
    unconverged: u64,
    worst_overlap: f64,
    worst_residual: f64,
    residual_sum: f64,
    residual_count: u64,
    emitted: u64,
}

impl Totals {
    /// Adds one step.
    pub fn add(&mut self, report: &StepReport) {
        self.times.add(&report.times);
        self.contact_sweeps += report.contacts as f64 * report.sweeps as f64;
        self.unconverged += u64::from(!report.converged);
        self.worst_overlap = self.worst_overlap.max(report.max_overlap);
        self.emitted += report.emitted as u64;
        if let Some(residual) = report.residual {
            self.worst_residual = self.worst_residual.max(residual);
            self.residual_sum += residual;
            self.residual_count += 1;
        }
        self.last = *report;
    }
}

/// The summary; field names are the keys of `summary.json`.
#[derive(Serialize)]
pub struct Summary {
    scene: String,
    version: &'static str,
    method: &'static str,
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
    mean_residual: Option<f64>,
    worst_residual: Option<f64>,
    tolerance: Option<f64>,
    unconverged_steps: u64,
    wall_seconds: f64,
    /// Simulated seconds per second.
    real_time_factor: f64,
    seconds_per_contact_iteration: f64,
    stage_seconds: BTreeMap<&'static str, f64>,
    sinks: Vec<SinkSummary>,
    state_hash: String,
}

#[derive(Serialize)]
struct SinkSummary {
    name: String,
    number: u64,
    mass: f64,
}

impl Summary {
    pub fn new(scene: &Scene, world: &World, totals: &Totals, interrupted: bool) -> Self {
        let last = &totals.last;
        let wall = totals.wall.as_secs_f64();
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let advance = totals.times.get(Stage::Advance).as_secs_f64();
        let seen = totals.residual_count > 0;
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
                Method::SubStepped(_) => "substepped",
                Method::WholeStep(_) => "gauss-seidel",
                Method::Smooth(_) => "smooth",
            },
            sweeps: world.method().sweeps(),
            interrupted,
            steps: world.steps_done,
            time: world.time(),
            particles: world.grains.len(),
            emitted: totals.emitted,
            removed: sinks.iter().map(|s| s.number).sum(),
            lost: world.lost,
            contacts: last.contacts,
            touching_contacts: last.touching,
            mean_overlap: last.mean_overlap,
            max_overlap: last.max_overlap,
            worst_overlap: totals.worst_overlap,
            kinetic_energy: world.grains.kinetic_energy(),
            mean_residual: seen.then(|| totals.residual_sum / totals.residual_count as f64),
            worst_residual: seen.then_some(totals.worst_residual),
            tolerance: world.method().tolerance(),
            unconverged_steps: totals.unconverged,
            wall_seconds: wall,
            real_time_factor: ratio(world.time(), wall),
            seconds_per_contact_iteration: ratio(advance, totals.contact_sweeps),
            stage_seconds: Stage::ALL
                .iter()
                .map(|&stage| (stage.name(), totals.times.get(stage).as_secs_f64()))
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
        let write = |name: &str, text: String| {
            let path = output.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
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
        for sink in &self.sinks {
            println!(
                "  sink        {}: {} grains, {:.4} kg",
                sink.name, sink.number, sink.mass
            );
        }
        println!(
            "  speed       {:.2e} s per contact and sweep",
            self.seconds_per_contact_iteration
        );
        println!("  state       {}", self.state_hash);
        println!("  written to  {}", output.display());
    }
}
