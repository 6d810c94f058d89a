//! A scene that is simulated: step by step or until a time, recorded or not.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use esker_probe::{Probes, Row};
use esker_record::RecordingHeader;
use esker_world::{StepError, StepReport, Wanted, World};

use super::folder::ResultFolder;
use super::output::{Output, Sums, recording_header};
use super::summary::Summary;
use super::totals::Totals;
use crate::device::{ChosenDevice, device_for};
use crate::{Error, LoadedScene};

/// Share of a step by which an end may be missed through rounding.
const END_TOLERANCE: f64 = 1e-6;

/// Where a run ends: at a time or after so many steps, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Time, s.
    pub time: f64,
    /// Steps since the start of the scene.
    pub steps: u64,
}

impl Until {
    /// A time, s.
    pub fn time(time: f64) -> Self {
        Until {
            time,
            steps: u64::MAX,
        }
    }

    /// A number of steps since the start of the scene.
    pub fn steps(steps: u64) -> Self {
        Until {
            time: f64::INFINITY,
            steps,
        }
    }

    /// Whether a world has come so far.
    pub fn is_reached(self, world: &World) -> bool {
        let rounding = END_TOLERANCE * world.step_length();
        world.steps_done() >= self.steps || world.time() > self.time - rounding
    }
}

/// A scene on its way through time.
///
/// It steps alone ([`Simulation::step`]) or to an end ([`Simulation::run`]), and leaves
/// nothing behind unless it is told to record ([`Simulation::record_to`]); then its folder is
/// that of `esker run`: a recording, checkpoints, rows of probes and a summary. A run that was
/// stopped or killed goes on with the same bits ([`Simulation::resume`]).
pub struct Simulation {
    scene: Arc<LoadedScene>,
    world: World,
    totals: Totals,
    probes: Probes,
    rows: Vec<Row>,
    until: Until,
    output: Option<Output>,
    failure: Option<StepError>,
    warnings: Vec<String>,
    leaves_on_device: bool,
}

impl Simulation {
    /// Loads a scene file and builds its world at time zero.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Simulation::new(LoadedScene::load(path)?)
    }

    /// Builds the world of a scene at time zero. Steps use as many threads as are fastest, up
    /// to one per core; [`World::set_max_threads`] changes that, and never the results.
    pub fn new(mut scene: LoadedScene) -> Result<Self, Error> {
        let grains = scene.take_grains();
        let def = &scene.scene().world;
        let mut world = match grains {
            Some(grains) => World::with_grains_of(def, grains)?,
            None => World::new(def)?,
        };
        world.set_device_order(scene.scene().device_is_given);
        let mut probes = Probes::new(&scene.scene().probes, &world);
        let simulation = Simulation {
            until: end_of(&scene),
            totals: Totals::of_start(&world),
            rows: probes.first_rows(&world),
            scene: Arc::new(scene),
            world,
            probes,
            output: None,
            failure: None,
            warnings: Vec::new(),
            leaves_on_device: false,
        };
        simulation.on_device()
    }

    /// Goes on with the run that a folder holds, from its newest usable checkpoint.
    /// [`Simulation::take_warnings`] says what was odd about it.
    pub fn resume(scene: LoadedScene, folder: impl AsRef<Path>) -> Result<Self, Error> {
        let scene = Arc::new(scene);
        let folder = ResultFolder::open(folder.as_ref())?;
        let resumed = Output::resume(folder, Arc::clone(&scene))?;
        let simulation = Simulation {
            until: end_of(&scene),
            scene,
            world: resumed.world,
            totals: resumed.totals,
            probes: resumed.probes,
            rows: Vec::new(),
            output: Some(resumed.output),
            failure: None,
            warnings: resumed.warnings,
            leaves_on_device: false,
        };
        simulation.on_device()
    }

    /// Lets the world use all cores, and the device that the scene names.
    fn on_device(mut self) -> Result<Self, Error> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.world.set_max_threads(cores);
        let scene = self.scene.scene();
        match device_for(scene.run.device, scene.run.precision, &scene.world)? {
            ChosenDevice::Cpu => {}
            ChosenDevice::Gpu(device) => {
                let handed = device.hand_to(&mut self.world);
                handed.map_err(|source| self.failed(source))?;
            }
            ChosenDevice::NoGpu(reason) => {
                let warning = format!("device \"auto\": the CPU computes the run: {reason}");
                self.warnings.push(warning);
            }
        }
        Ok(self)
    }

    /// Records from now on to a new folder, or to one whose results are to be replaced:
    /// frames, scalars of all steps, rows of probes and checkpoints as the scene says.
    pub fn record_to(&mut self, folder: impl AsRef<Path>, replace: bool) -> Result<(), Error> {
        if let Some(path) = self.folder() {
            let path = path.to_owned();
            return Err(Error::Recording { path });
        }
        let folder = ResultFolder::create(folder.as_ref(), replace)?;
        self.warnings.extend(folder.warning().map(str::to_owned));
        let scene = Arc::clone(&self.scene);
        self.output = Some(Output::start(folder, scene, &self.world, &self.rows)?);
        Ok(())
    }

    /// Allows steps to leave the grains on the device, where it makes whole steps. Grains and
    /// contacts of [`Simulation::world`] are then those of an earlier step, but for what is
    /// recorded and measured, until [`Simulation::run`] has ended or [`Simulation::fetch`] is
    /// called. Results do not change.
    pub fn leave_on_device(&mut self, may_stay: bool) {
        self.leaves_on_device = may_stay;
    }

    /// Brings grains back from the device, where they are there.
    pub fn fetch(&mut self) -> Result<(), Error> {
        let fetched = self.world.fetch();
        fetched.map_err(|source| self.failed(source))
    }

    fn failed(&mut self, source: StepError) -> Error {
        self.failure = Some(source.clone());
        Error::Step {
            scene: self.scene.scene().name.clone(),
            checkpoint: self.output.as_ref().and_then(Output::last_good_checkpoint),
            source: Box::new(source),
        }
    }

    /// What probes and the recording read after the next step.
    fn reads_after_next(&self) -> Wanted {
        if !self.leaves_on_device {
            return Wanted::Contacts;
        }
        let report = self.world.next_report();
        let recorded = self.output.as_ref().map(|output| output.reads(&report));
        self.probes.reads(&report).max(recorded.unwrap_or_default())
    }

    /// Makes one step and records it. After a step that failed there is no other.
    pub fn step(&mut self) -> Result<StepReport, Error> {
        let start = Instant::now();
        let wanted = self.reads_after_next();
        self.world.leave_on_device(wanted < Wanted::Contacts);
        let report = match self.failure.clone() {
            Some(failure) => Err(failure),
            None => self.world.step(),
        };
        let report = report.map_err(|source| self.failed(source))?;
        if wanted > Wanted::Report {
            let fetched = self.world.fetch_grains();
            fetched.map_err(|source| self.failed(source))?;
        }
        self.totals.add(&report, self.world.walls());
        self.rows = self.probes.after_step(&self.world, &report);
        let before = self.totals.wall;
        self.totals.wall = before + start.elapsed().as_secs_f64();
        if let Some(output) = &mut self.output {
            output.after_step(&self.world, (&report, &self.rows))?;
            if output.is_checkpoint_due(&report) {
                self.checkpoint()?;
            }
            self.totals.wall = before + start.elapsed().as_secs_f64();
        }
        Ok(report)
    }

    /// Steps until an end is reached or `stop` says so, which is asked before every step, and
    /// shows every step to `after_step`, which may change the world or end the run by an error.
    /// Returns whether the end was reached.
    pub fn run<E: From<Error>>(
        &mut self,
        until: Until,
        stop: impl Fn() -> bool,
        mut after_step: impl FnMut(&mut Simulation, &StepReport) -> Result<(), E>,
    ) -> Result<bool, E> {
        self.until = until;
        while !until.is_reached(&self.world) {
            if stop() {
                self.fetch()?;
                return Ok(false);
            }
            let report = self.step()?;
            after_step(self, &report)?;
        }
        self.fetch()?;
        Ok(true)
    }

    /// Saves a checkpoint now.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.fetch()?;
        let output = self.output.as_mut().ok_or(Error::NoRecording)?;
        let sums = Sums {
            totals: &self.totals,
            probes: &self.probes,
        };
        output.save(&self.world, sums)
    }

    /// Ends the recording, if there is one, with a checkpoint, the last state and the summary,
    /// and says what the run came to. The simulation may go on, unrecorded.
    pub fn finish(&mut self) -> Result<Summary, Error> {
        self.fetch()?;
        let summary = self.summary();
        if let Some(output) = self.output.take() {
            let folder = output.folder().path().to_owned();
            let sums = Sums {
                totals: &self.totals,
                probes: &self.probes,
            };
            // The folder stays locked until the summary is there.
            let _lock = output.finish(&self.world, sums)?;
            summary.write(&folder, &self.world)?;
        }
        Ok(summary)
    }

    /// What the run has come to so far. It is interrupted if the end that was last run to, or
    /// else that of the scene, is not reached.
    pub fn summary(&self) -> Summary {
        let interrupted = !self.until.is_reached(&self.world);
        let folder = self.folder().map(Path::to_owned);
        let scene = self.scene.scene();
        Summary::new(scene, &self.world, &self.totals, (interrupted, folder))
    }

    /// The end that the scene states.
    pub fn end_of_scene(&self) -> Until {
        end_of(&self.scene)
    }

    /// The scene.
    pub fn scene(&self) -> &LoadedScene {
        &self.scene
    }

    /// The world as the last step left it.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to be changed between two steps.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Time, s.
    pub fn time(&self) -> f64 {
        self.world.time()
    }

    /// Time on the clock that steps and their recording took so far, s.
    pub fn wall_seconds(&self) -> f64 {
        self.totals.wall
    }

    /// What a recording of it would say about itself.
    pub fn recording_header(&self) -> RecordingHeader {
        recording_header(&self.scene, &self.world)
    }

    /// Where it records to, if it does.
    pub fn folder(&self) -> Option<&Path> {
        self.output.as_ref().map(|output| output.folder().path())
    }

    /// Rows of probes that the last step completed, or of the state at the start.
    pub fn probe_rows(&self) -> &[Row] {
        &self.rows
    }

    /// What was odd since this was last asked, in words.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// The end that a scene states.
fn end_of(scene: &LoadedScene) -> Until {
    let scene = scene.scene();
    Until::time(scene.steps() as f64 * scene.world.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_and_simulations_may_move_to_other_threads() {
        fn is_send<T: Send>() {}
        is_send::<World>();
        is_send::<Simulation>();
    }
}
