//! What a run leaves behind while it runs: a recording and checkpoints.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use esker_geometry::Aabb;
use esker_probe::{Probes, Row};
use esker_record::{
    BackgroundRecorder, Checkpoint, CheckpointError, CheckpointStore, Continued, GrainField,
    JointLabel, Precision, ProbeRow, RecordSettings, Recorder, RecordingHeader, WallSurface,
};
use esker_scene::{CheckpointDef, Field, RecordDef, Scene};
use esker_world::{RestoreError, StepReport, Wanted, World};
use glam::DVec3;

use super::folder::ResultFolder;
use super::probes::{self, ProbeFile};
use super::totals::Totals;
use crate::{Error, LoadedScene, RECORDING_FILE_NAME};

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

/// The recording and the checkpoints of a run.
pub struct Output {
    scene: Arc<LoadedScene>,
    folder: ResultFolder,
    recorder: BackgroundRecorder,
    probe_file: Option<ProbeFile>,
    checkpoints: CheckpointStore,
    schedule: CheckpointSchedule,
    last_frame: Option<u64>,
}

/// A run as its newest checkpoint has it.
pub struct Resumed {
    pub world: World,
    pub totals: Totals,
    pub probes: Probes,
    pub output: Output,
    /// What to take care of.
    pub warnings: Vec<String>,
}

/// What a checkpoint holds beside the state of the world.
#[derive(Clone, Copy)]
pub struct Sums<'a> {
    pub totals: &'a Totals,
    pub probes: &'a Probes,
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

impl Output {
    /// Starts the recording of a run in a folder with a frame of its state and these rows of
    /// probes.
    pub fn start(
        folder: ResultFolder,
        scene: Arc<LoadedScene>,
        world: &World,
        rows: &[Row],
    ) -> Result<Self, Error> {
        let header = recording_header(&scene, world);
        let min = if world.emitters().is_empty() {
            0
        } else {
            LEAST_EXPECTED
        };
        let expected = world.grain_count().max(min);
        let probe_file = ProbeFile::create(folder.path(), &header.probes)?;
        let path = folder.path().join(RECORDING_FILE_NAME);
        let recorder = Recorder::create(&path, header, expected)?;
        let mut output = Output::new(folder, scene, recorder, probe_file);
        output.record_probes(rows)?;
        output.record(world)?;
        Ok(output)
    }

    /// Goes on with the run in a folder from its newest usable checkpoint.
    pub fn resume(folder: ResultFolder, scene: Arc<LoadedScene>) -> Result<Resumed, Error> {
        let mut warnings: Vec<String> = folder.warning().map(str::to_owned).into_iter().collect();
        let dir = folder.path();
        let latest = CheckpointStore::new(dir).latest(scene.identity());
        let latest = latest.map_err(|source| Error::Resume {
            folder: dir.to_owned(),
            changes: match &source {
                CheckpointError::OtherScene { .. } => scene.changes_since(dir),
                _ => None,
            },
            source,
        })?;
        let refused = latest.refused.iter();
        warnings.extend(refused.map(|why| format!("{why}; taking the older one")));
        let checkpoint = latest.checkpoint;
        if checkpoint.version != VERSION {
            warnings.push(format!(
                "the run was started by esker {}, this is {VERSION}: \
                 results may differ in their last bits from here on",
                checkpoint.version
            ));
        }
        let mark = checkpoint.mark;
        let tally = checkpoint.tally.clone();
        let world = restore(scene.scene(), checkpoint).map_err(|source| Error::Restore {
            checkpoint: latest.path,
            source,
        })?;
        let recording = dir.join(RECORDING_FILE_NAME);
        let wanted = recording_header(&scene, &world);
        let asked = wanted.settings.clone();
        let Continued { recorder, lost } =
            Recorder::continue_run(&recording, wanted, mark, &world)?;
        if let Some((why, part)) = lost {
            let part = part.display();
            warnings.push(format!("{why}; the recording goes on in {part}"));
        }
        if !is_same(&recorder.header().settings, &asked) {
            warnings.push(
                "the recording keeps the fields, precision, compression and contacts \
                 that it was started with; other ones need a new run"
                    .to_owned(),
            );
        }
        let probe_file = ProbeFile::resume(dir, &recorder.header().probes, world.time())?;
        Ok(Resumed {
            probes: Probes::resume(&scene.scene().probes, &world, &tally),
            world,
            totals: Totals::from_tally(&tally),
            output: Output::new(folder, scene, recorder, probe_file),
            warnings,
        })
    }

    fn new(
        folder: ResultFolder,
        scene: Arc<LoadedScene>,
        recorder: Recorder,
        probe_file: Option<ProbeFile>,
    ) -> Self {
        Output {
            recorder: BackgroundRecorder::new(recorder),
            probe_file,
            checkpoints: CheckpointStore::new(folder.path()),
            schedule: CheckpointSchedule::new(scene.scene().checkpoint),
            last_frame: None,
            scene,
            folder,
        }
    }

    /// Where results are written.
    pub fn folder(&self) -> &ResultFolder {
        &self.folder
    }

    /// What is recorded of the world after the step of this report.
    pub fn reads(&self, report: &StepReport) -> Wanted {
        match self.is_frame(report) {
            true if self.scene.scene().record.contacts => Wanted::Contacts,
            true => Wanted::Grains,
            false => Wanted::Report,
        }
    }

    /// Whether a frame is recorded after the step of this report.
    fn is_frame(&self, report: &StepReport) -> bool {
        let every = self.scene.scene().record.every;
        every.is_some_and(|every| report.reached_multiple_of(every))
    }

    /// Whether a checkpoint is due now, after the step of this report.
    pub fn is_checkpoint_due(&self, report: &StepReport) -> bool {
        let elapsed = self.schedule.last.elapsed().as_secs_f64();
        self.schedule.is_due(report, elapsed)
    }

    /// Records the step that was just made with the rows of probes that it completed.
    pub fn after_step(
        &mut self,
        world: &World,
        (report, rows): (&StepReport, &[Row]),
    ) -> Result<(), Error> {
        self.recorder.record_step(world, report)?;
        self.record_probes(rows)?;
        if self.is_frame(report) {
            self.record(world)?;
        }
        Ok(())
    }

    /// Saves a last checkpoint, records the last state and closes the recording. The folder
    /// stays locked while what is returned lives.
    pub fn finish(mut self, world: &World, sums: Sums<'_>) -> Result<ResultFolder, Error> {
        // The checkpoint comes first: a run that continues from it has no
        // frame here unless one was due.
        self.save(world, sums)?;
        if self.last_frame != Some(world.steps_done()) {
            self.record(world)?;
        }
        self.recorder.finish()?;
        Ok(self.folder)
    }

    /// The newest checkpoint that can be used, for messages.
    pub fn last_good_checkpoint(&self) -> Option<PathBuf> {
        let latest = self.checkpoints.latest(self.scene.identity());
        latest.ok().map(|latest| latest.path)
    }

    fn record(&mut self, world: &World) -> Result<(), Error> {
        self.last_frame = Some(world.steps_done());
        Ok(self.recorder.record_frame(world)?)
    }

    fn record_probes(&mut self, rows: &[Row]) -> Result<(), Error> {
        if let Some(file) = &mut self.probe_file {
            file.write(rows)?;
        }
        for row in rows {
            self.recorder.record_probe(ProbeRow {
                probe: row.probe,
                step: row.step,
                time: row.time,
                values: row.values.clone(),
            });
        }
        Ok(())
    }

    /// Saves a checkpoint.
    pub fn save(&mut self, world: &World, sums: Sums<'_>) -> Result<(), Error> {
        // The recording must not end before the checkpoint's place in it.
        self.recorder.flush()?;
        self.checkpoints.save(&Checkpoint {
            scene: self.scene.identity(),
            version: VERSION.to_owned(),
            time: world.time(),
            mark: self.recorder.mark(),
            tally: [sums.totals.to_tally(), sums.probes.tally()].concat(),
            state: world.state(),
        })?;
        self.schedule.saved();
        Ok(())
    }
}

/// Whether two recordings hold the same: fields have an order of their own in files.
fn is_same(one: &RecordSettings, other: &RecordSettings) -> bool {
    let all_in = |some: &RecordSettings, others: &RecordSettings| {
        let mut fields = some.fields.iter();
        fields.all(|field| others.fields.contains(field))
    };
    let in_their_order = RecordSettings {
        fields: one.fields.clone(),
        ..other.clone()
    };
    *one == in_their_order && all_in(one, other) && all_in(other, one)
}

/// The world of a checkpoint. Where a scene gives no step, one is chosen, with a
/// stated accuracy also by the duration: the run goes on with the step it has, and in the order
/// of sweeps that it has, on whatever device.
fn restore(scene: &Scene, checkpoint: Checkpoint) -> Result<World, RestoreError> {
    let mut def = scene.world.clone();
    let step = checkpoint.first_step();
    let differs = |step: &f64| (step / def.step - 1.0).abs() > SAME_STEP;
    if let Some(step) = step.filter(|step| !scene.step_is_given && differs(step)) {
        def.step = step;
    }
    let mut state = checkpoint.state;
    state.device_order.get_or_insert(scene.device_is_given);
    World::restore(&def, state)
}

/// What is known of a run before its first frame.
pub fn recording_header(loaded: &LoadedScene, world: &World) -> RecordingHeader {
    let scene = loaded.scene();
    let extent = extent(world);
    RecordingHeader {
        name: scene.name.clone(),
        scene: scene.text.clone(),
        identity: loaded.identity(),
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
            .walls()
            .iter()
            .map(|wall| WallSurface {
                name: wall.name.clone(),
                surface: wall.shape.triangulate(extent),
                unbounded: wall.local_bounds().is_none(),
                body: None,
            })
            .chain((0..world.bodies().len()).map(|body| body_surface(world, body)))
            .collect(),
        joints: JointLabel::of_world(world),
        probes: probes::tables(&scene.probes),
        settings: settings(&scene.record, scene.world.reduction.is_some()),
    }
}

/// The surface of a body of its own in the frame that it was given in.
fn body_surface(world: &World, body: usize) -> WallSurface {
    let mut surface = world.body_shape(body).triangulate();
    for vertex in &mut surface.vertices {
        *vertex = world.bodies()[body].frame.to_local(*vertex);
    }
    WallSurface {
        name: world.bodies()[body].name.clone(),
        surface,
        unbounded: false,
        body: Some(world.grains().material()[world.grains().count() + body]),
    }
}

fn settings(record: &RecordDef, freezes: bool) -> RecordSettings {
    let aggregate = freezes.then_some(GrainField::Aggregate);
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
            .chain(aggregate)
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
    let planes = world.walls().iter().filter(|w| w.local_bounds().is_none());
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
    let grains = all.radius().iter().copied();
    let emitted = world.emitters().iter().map(|e| e.def.sizes.min());
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
    let grains = all.position().iter().copied();
    let mut points: Vec<DVec3> = grains.collect();
    for emitter in world.emitters() {
        let bounds = emitter.def.region.bounds();
        points.extend([bounds.min, bounds.max]);
    }
    for wall in world.walls() {
        if let Some(bounds) = wall.local_bounds() {
            let bounds = bounds.transformed(&wall.pose);
            points.extend([bounds.min, bounds.max]);
        }
    }
    Aabb::of_points(points)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
