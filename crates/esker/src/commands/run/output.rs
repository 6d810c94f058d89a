//! What a run leaves behind while it runs: a recording and checkpoints.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use esker::RECORDING_FILE_NAME;
use esker_geometry::Aabb;
use esker_probe::{Probes, Row};
use esker_record::{
    BackgroundRecorder, Checkpoint, CheckpointError, CheckpointStore, Continued, GrainField,
    Precision, ProbeRow, RecordSettings, Recorder, RecordingHeader, WallSurface,
};
use esker_scene::{CheckpointDef, Field, RecordDef};
use esker_world::{RestoreError, StepReport, World};
use glam::DVec3;

use super::probes::{self, ProbeFile};
use super::totals::Totals;
use crate::scene_file::SceneFile;

/// Version of the program, as recordings and checkpoints name it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Grains that are expected at least where there are emitters.
const LEAST_EXPECTED: usize = 1024;

/// Time on the clock after which a run saves its first checkpoint, s, whatever
/// the interval is: a run that ends early should not lose its start.
const FIRST_CHECKPOINT: f64 = 5.0;

/// Share by which two steps may differ through rounding.
const SAME_STEP: f64 = 1e-9;

/// Share of the smallest radius that recorded positions must resolve.
const FINEST_SHARE: f64 = 1e-3;

pub struct Output<'a> {
    file: &'a SceneFile,
    recorder: BackgroundRecorder,
    probes: Probes,
    probe_file: Option<ProbeFile>,
    checkpoints: CheckpointStore,
    schedule: CheckpointSchedule,
    last_frame: Option<u64>,
}

/// When a run saves checkpoints.
struct CheckpointSchedule {
    interval: CheckpointDef,
    last: Instant,
    /// Whether this process has saved one.
    any: bool,
}

impl CheckpointSchedule {
    fn new(interval: CheckpointDef) -> Self {
        CheckpointSchedule {
            interval,
            last: Instant::now(),
            any: false,
        }
    }

    /// Whether one is due after the step just made, so many seconds after the
    /// last one or after the start.
    fn is_due(&self, report: &StepReport, elapsed: f64) -> bool {
        let first = !self.any && elapsed >= FIRST_CHECKPOINT;
        first
            || match self.interval {
                CheckpointDef::EverySimulated(every) => report.reached_multiple_of(every),
                CheckpointDef::EveryWall(seconds) => elapsed >= seconds,
            }
    }

    fn saved(&mut self) {
        self.last = Instant::now();
        self.any = true;
    }
}

/// A run on its way: the world, sums over its steps, and what it leaves behind.
pub struct Job<'a> {
    pub world: World,
    pub totals: Totals,
    pub output: Output<'a>,
}

impl<'a> Output<'a> {
    /// Starts the recording of a new run with its first frame.
    pub fn start(dir: &Path, file: &'a SceneFile, world: &World) -> anyhow::Result<Self> {
        let header = header(file, world);
        let min = if world.emitters.is_empty() {
            0
        } else {
            LEAST_EXPECTED
        };
        let expected = world.grain_count().max(min);
        let probe_file = ProbeFile::create(dir, &header.probes)?;
        let recorder = Recorder::create(&dir.join(RECORDING_FILE_NAME), header, expected)?;
        let probes = Probes::new(&file.scene.probes, world);
        let mut output = Output::new(dir, file, recorder, (probes, probe_file));
        let rows = output.probes.first_rows(world);
        output.record_probes(rows)?;
        output.record(world)?;
        Ok(output)
    }

    /// Continues from the newest usable checkpoint, and says which it is.
    pub fn resume(dir: &Path, file: &'a SceneFile) -> anyhow::Result<Job<'a>> {
        let latest = CheckpointStore::new(dir)
            .latest(file.identity)
            .map_err(|error| {
                let changes = match &error {
                    CheckpointError::OtherScene { .. } => file.changes_since(dir),
                    _ => None,
                };
                let error = anyhow::Error::new(error);
                match changes {
                    Some(changes) => error.context(changes),
                    None => error,
                }
            })
            .with_context(|| format!("cannot resume {}", dir.display()))?;
        for refused in &latest.refused {
            eprintln!("warning: {refused}; taking the older one");
        }
        let checkpoint = latest.checkpoint;
        if checkpoint.version != VERSION {
            eprintln!(
                "warning: the run was started by esker {}, this is {VERSION}: \
                 results may differ in their last bits from here on",
                checkpoint.version
            );
        }
        let mark = checkpoint.mark;
        let tally = checkpoint.tally.clone();
        eprintln!(
            "resuming at step {}, t = {:.4} s",
            checkpoint.state.steps_done, checkpoint.time
        );
        let world = restore(file, checkpoint)
            .with_context(|| format!("cannot resume from {}", latest.path.display()))?;
        let recording = dir.join(RECORDING_FILE_NAME);
        let wanted = header(file, &world);
        let asked = wanted.settings.clone();
        let Continued { recorder, lost } =
            Recorder::continue_run(&recording, wanted, mark, &world)?;
        if let Some((why, part)) = lost {
            eprintln!(
                "warning: {why}; the recording goes on in {}",
                part.display()
            );
        }
        if recorder.header().settings != asked {
            eprintln!(
                "warning: the recording keeps the fields, precision, compression and contacts \
                 that it was started with; other ones need a new run"
            );
        }
        let probes = Probes::resume(&file.scene.probes, &world, &tally);
        let probe_file = ProbeFile::resume(dir, &recorder.header().probes, world.time())?;
        Ok(Job {
            world,
            totals: Totals::from_tally(&tally),
            output: Output::new(dir, file, recorder, (probes, probe_file)),
        })
    }

    fn new(
        dir: &Path,
        file: &'a SceneFile,
        recorder: Recorder,
        (probes, probe_file): (Probes, Option<ProbeFile>),
    ) -> Self {
        Output {
            file,
            recorder: BackgroundRecorder::new(recorder),
            probes,
            probe_file,
            checkpoints: CheckpointStore::new(dir),
            schedule: CheckpointSchedule::new(file.scene.checkpoint),
            last_frame: None,
        }
    }

    /// Records the step that was just made, and saves a checkpoint when it is time.
    pub fn after_step(
        &mut self,
        world: &World,
        report: &StepReport,
        totals: &Totals,
    ) -> anyhow::Result<()> {
        self.recorder.record_step(world, report);
        let rows = self.probes.after_step(world, report);
        self.record_probes(rows)?;
        let scene = &self.file.scene;
        if scene
            .record
            .every
            .is_some_and(|every| report.reached_multiple_of(every))
        {
            self.record(world)?;
        }
        let elapsed = self.schedule.last.elapsed().as_secs_f64();
        if self.schedule.is_due(report, elapsed) {
            self.save(world, totals)?;
        }
        Ok(())
    }

    /// Saves a last checkpoint, records the last state and closes the recording.
    pub fn finish(mut self, world: &World, totals: &Totals) -> anyhow::Result<()> {
        // The checkpoint comes first: a run that continues from it has no
        // frame here unless one was due.
        self.save(world, totals)?;
        if self.last_frame != Some(world.steps_done) {
            self.record(world)?;
        }
        Ok(self.recorder.finish()?)
    }

    /// The newest checkpoint that can be used, for messages.
    pub fn last_good_checkpoint(&self) -> Option<PathBuf> {
        let latest = self.checkpoints.latest(self.file.identity);
        latest.ok().map(|latest| latest.path)
    }

    fn record(&mut self, world: &World) -> anyhow::Result<()> {
        self.last_frame = Some(world.steps_done);
        Ok(self.recorder.record_frame(world)?)
    }

    fn record_probes(&mut self, rows: Vec<Row>) -> anyhow::Result<()> {
        if let Some(file) = &mut self.probe_file {
            file.write(&rows)?;
        }
        for row in rows {
            self.recorder.record_probe(ProbeRow {
                probe: row.probe,
                step: row.step,
                time: row.time,
                values: row.values,
            });
        }
        Ok(())
    }

    fn save(&mut self, world: &World, totals: &Totals) -> anyhow::Result<()> {
        // The recording must not end before the checkpoint's place in it.
        self.recorder.flush()?;
        self.checkpoints.save(&Checkpoint {
            scene: self.file.identity,
            version: VERSION.to_owned(),
            time: world.time(),
            mark: self.recorder.mark(),
            tally: [totals.to_tally(), self.probes.tally()].concat(),
            state: world.state(),
        })?;
        self.schedule.saved();
        Ok(())
    }
}

/// The world of a checkpoint. Where a scene gives no step, one is chosen, with a
/// stated accuracy also by the duration: the run goes on with the step it has.
fn restore(file: &SceneFile, checkpoint: Checkpoint) -> Result<World, RestoreError> {
    let mut def = file.scene.world.clone();
    let step = checkpoint.first_step();
    let differs = |step: &f64| (step / def.step - 1.0).abs() > SAME_STEP;
    if let Some(step) = step.filter(|step| !file.scene.step_is_given && differs(step)) {
        def.step = step;
    }
    World::restore(&def, checkpoint.state)
}

fn header(file: &SceneFile, world: &World) -> RecordingHeader {
    let scene = &file.scene;
    let extent = extent(world);
    RecordingHeader {
        name: scene.name.clone(),
        scene: scene.text.clone(),
        identity: file.identity,
        version: VERSION.to_owned(),
        materials: scene
            .world
            .materials
            .iter()
            .map(|m| m.name.clone())
            .collect(),
        material_colors: scene.material_colors.clone(),
        gravity: world.gravity(),
        step: world.step_length(),
        impulse_step: world.substep(),
        origin: origin(world, scene.record.precision),
        shapes: world.shapes().to_vec(),
        walls: world
            .walls
            .iter()
            .map(|wall| WallSurface {
                name: wall.name.clone(),
                surface: wall.shape.triangulate(extent),
                unbounded: wall.local_bounds().is_none(),
                body: None,
            })
            .chain((0..world.bodies.len()).map(|body| body_surface(world, body)))
            .collect(),
        probes: probes::tables(&scene.probes),
        settings: settings(&scene.record),
    }
}

/// The surface of a body of its own in the frame that it was given in.
fn body_surface(world: &World, body: usize) -> WallSurface {
    let mut surface = world.body_shape(body).triangulate();
    for vertex in &mut surface.vertices {
        *vertex = world.bodies[body].frame.to_local(*vertex);
    }
    WallSurface {
        name: world.bodies[body].name.clone(),
        surface,
        unbounded: false,
        body: Some(world.grains.material[world.grains.count() + body]),
    }
}

fn settings(record: &RecordDef) -> RecordSettings {
    RecordSettings {
        fields: record
            .fields
            .iter()
            // Pictures by material need it, and it is two bytes.
            .chain((!record.fields.contains(&Field::Material)).then_some(&Field::Material))
            .map(|field| match field {
                Field::Position => GrainField::Position,
                Field::Velocity => GrainField::Velocity,
                Field::Orientation => GrainField::Orientation,
                Field::AngularVelocity => GrainField::AngularVelocity,
                Field::Radius => GrainField::Radius,
                Field::Material => GrainField::Material,
                Field::Mass => GrainField::Mass,
            })
            .collect(),
        precision: match record.precision {
            esker_scene::Precision::Single => Precision::Single,
            esker_scene::Precision::Double => Precision::Double,
        },
        compression: record.compression,
        contacts: record.contacts,
    }
}

/// Half the edge of the squares that unbounded planes are shown as: the reach
/// of everything bounded from the origin of the planes' frames.
fn extent(world: &World) -> f64 {
    let bounds = bounds(world);
    let planes = world.walls.iter().filter(|w| w.local_bounds().is_none());
    let reach = planes.map(|plane| {
        let far = (bounds.min - plane.pose.position).abs();
        far.max((bounds.max - plane.pose.position).abs()).length()
    });
    let reach = reach.filter(|r| r.is_finite()).fold(0.0, f64::max);
    if reach > 0.0 { 1.2 * reach } else { 1.0 }
}

/// Where recorded positions are counted from: the scene's zero, unless single
/// precision would not tell places there apart well enough for the grains.
fn origin(world: &World, precision: esker_scene::Precision) -> DVec3 {
    let bounds = bounds(world);
    let far = bounds.min.abs().max(bounds.max.abs()).max_element();
    let all = world.all_grains();
    let grains = all.radius.iter().copied();
    let emitted = world.emitters.iter().map(|e| e.def.sizes.min());
    let min = grains.chain(emitted).fold(f64::INFINITY, f64::min);
    let resolution = far * f64::from(f32::EPSILON);
    let is_fine = resolution <= FINEST_SHARE * min;
    if precision == esker_scene::Precision::Double || is_fine || !far.is_finite() {
        DVec3::ZERO
    } else {
        // Whole metres, for whoever adds it by hand.
        bounds.min.midpoint(bounds.max).round()
    }
}

/// A box around all that is bounded: grains, emitters and walls.
fn bounds(world: &World) -> Aabb {
    let all = world.all_grains();
    let grains = all.position.iter().copied();
    let mut points: Vec<DVec3> = grains.collect();
    for emitter in &world.emitters {
        let bounds = emitter.def.region.bounds();
        points.extend([bounds.min, bounds.max]);
    }
    for wall in &world.walls {
        if let Some(bounds) = wall.local_bounds() {
            let bounds = bounds.transformed(&wall.pose);
            points.extend([bounds.min, bounds.max]);
        }
    }
    Aabb::of_points(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_checkpoint_comes_soon_and_the_others_at_their_interval() {
        let scene = "duration = 1\nstep = 0.01\nmaterial.a = { density = 1, young = 1e6 }\n\
                     grains = [{ place = \"column\", count = 1, diameter = 0.1 }]";
        let scene = esker_scene::parse(scene, "one", Path::new("")).expect("a right scene");
        let mut world = World::new(&scene.world).expect("a right scene");
        let report = world.step().expect("a grain falls");
        for interval in [
            CheckpointDef::EveryWall(600.0),
            CheckpointDef::EverySimulated(10.0),
        ] {
            let mut schedule = CheckpointSchedule::new(interval);
            assert!(!schedule.is_due(&report, 0.9 * FIRST_CHECKPOINT));
            assert!(schedule.is_due(&report, FIRST_CHECKPOINT));
            schedule.saved();
            assert!(!schedule.is_due(&report, 599.0));
            let at_600 = schedule.is_due(&report, 600.0);
            assert_eq!(at_600, interval == CheckpointDef::EveryWall(600.0));
        }
        let short = CheckpointSchedule::new(CheckpointDef::EveryWall(1.0));
        assert!(short.is_due(&report, 1.0));
    }
}
