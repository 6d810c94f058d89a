//! What a run leaves behind while it runs: a recording and checkpoints.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use esker_geometry::Aabb;
use esker_probe::{Probes, Row};
use esker_record::{
    BackgroundRecorder, Checkpoint, CheckpointStore, GrainField, Precision, ProbeRow,
    RecordSettings, Recorder, RecordingHeader, WallSurface,
};
use esker_scene::{CheckpointDef, Field, RecordDef};
use esker_world::{StepReport, World};
use glam::DVec3;

use super::probes::{self, ProbeFile};
use super::summary::Totals;
use crate::scene_file::SceneFile;

/// Name of the recording in the result folder.
pub const RECORDING_FILE_NAME: &str = "recording.h5";

/// Version of the program, as recordings and checkpoints name it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Grains that are expected at least where there are emitters.
const LEAST_EXPECTED: usize = 1024;

pub struct Output<'a> {
    file: &'a SceneFile,
    recorder: BackgroundRecorder,
    probes: Probes,
    probe_file: Option<ProbeFile>,
    checkpoints: CheckpointStore,
    last_checkpoint: Instant,
    last_frame: Option<u64>,
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
        let least = if world.emitters.is_empty() {
            0
        } else {
            LEAST_EXPECTED
        };
        let expected = world.grains.len().max(least);
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
        let recorder = Recorder::resume(
            &dir.join(RECORDING_FILE_NAME),
            file.identity,
            checkpoint.frames,
            checkpoint.scalar_rows,
        )?;
        eprintln!(
            "resuming at step {}, t = {:.4} s",
            checkpoint.state.steps_done, checkpoint.time
        );
        let world = World::restore(&file.scene.world, checkpoint.state)
            .with_context(|| format!("cannot resume from {}", latest.path.display()))?;
        let probes = Probes::resume(&file.scene.probes, &world, &checkpoint.tally);
        let probe_file = ProbeFile::resume(dir, &recorder.header().probes, checkpoint.time)?;
        Ok(Job {
            world,
            totals: Totals::from_tally(&checkpoint.tally),
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
            last_checkpoint: Instant::now(),
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
        let save = match scene.checkpoint {
            CheckpointDef::EverySimulated(every) => report.reached_multiple_of(every),
            CheckpointDef::EveryWall(seconds) => {
                self.last_checkpoint.elapsed().as_secs_f64() >= seconds
            }
        };
        if save {
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
            frames: self.recorder.frames(),
            scalar_rows: self.recorder.scalar_rows(),
            tally: [totals.to_tally(), self.probes.tally()].concat(),
            state: world.state(),
        })?;
        self.last_checkpoint = Instant::now();
        Ok(())
    }
}

fn header(file: &SceneFile, world: &World) -> RecordingHeader {
    let scene = &file.scene;
    let extent = extent(world);
    RecordingHeader {
        name: scene.name.clone(),
        scene: file.text.clone(),
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
        impulse_step: world.row_step(),
        walls: world
            .walls
            .iter()
            .map(|wall| WallSurface {
                name: wall.name.clone(),
                surface: wall.shape.triangulate(extent),
                unbounded: wall.local_bounds().is_none(),
            })
            .collect(),
        probes: probes::tables(&scene.probes),
        settings: settings(&scene.record),
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
                Field::Spin => GrainField::Spin,
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
    let grains = world.grains.position.iter().copied();
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
    let bounds = Aabb::of_points(points);
    let planes = world.walls.iter().filter(|w| w.local_bounds().is_none());
    let reach = planes.map(|plane| {
        let far = (bounds.min - plane.pose.position).abs();
        far.max((bounds.max - plane.pose.position).abs()).length()
    });
    let reach = reach.filter(|r| r.is_finite()).fold(0.0, f64::max);
    if reach > 0.0 { 1.2 * reach } else { 1.0 }
}
