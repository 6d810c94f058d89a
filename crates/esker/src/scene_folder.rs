//! The files of a scene, earlier runs among them: where scenes meet recordings
//! and checkpoints, which know nothing of each other.

use std::io;
use std::path::Path;

use esker_record::{Checkpoint, CheckpointStore, GrainField, Recording};
use esker_scene::{Files, Folder, GrainList, ListedShape, RunError};
use esker_world::definition::ListedGrain;
use glam::{DQuat, DVec3};

/// Name of the recording in the folder of a run.
pub const RECORDING_FILE_NAME: &str = "recording.h5";

/// The folder of a scene, with the runs that it names.
#[derive(Clone, Debug)]
pub struct SceneFolder(Folder);

impl SceneFolder {
    /// A folder that a scene names its files in.
    pub fn new(folder: &Path) -> Self {
        SceneFolder(Folder(folder.to_owned()))
    }

    /// The folder of a scene file.
    pub fn of_scene(scene: &Path) -> Self {
        SceneFolder(Folder::of_scene(scene))
    }
}

impl Files for SceneFolder {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.read(name)
    }

    fn grains_of_run(&self, name: &str, at: Option<f64>) -> Result<GrainList, RunError> {
        let path = self.0.0.join(name);
        if path.is_dir() {
            return of_folder(&path, at);
        }
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("esker") if at.is_some() => Err(RunError(format!(
                "`{name}` is the checkpoint of one moment: `at` needs a recording"
            ))),
            Some("esker") => {
                let folder = path.parent().unwrap_or(Path::new(""));
                let recording = Recording::open(&folder.join(RECORDING_FILE_NAME)).ok();
                let checkpoint = Checkpoint::read(&path).map_err(because)?;
                of_checkpoint(&checkpoint, recording.as_ref())
            }
            _ => of_recording(&Recording::open(&path).map_err(because)?, at),
        }
    }
}

fn because(error: impl std::fmt::Display) -> RunError {
    RunError(error.to_string())
}

/// The grains of a run near a time, or at its end: from its newest checkpoint,
/// which has everything to the last bit, unless the recording goes on after it.
fn of_folder(folder: &Path, at: Option<f64>) -> Result<GrainList, RunError> {
    let recording = Recording::open(&folder.join(RECORDING_FILE_NAME));
    if at.is_none() {
        let checkpoints = CheckpointStore::new(folder).list().unwrap_or_default();
        let newest = checkpoints
            .iter()
            .find_map(|path| Checkpoint::read(path).ok());
        let recorded = recording.as_ref().ok();
        let end = recorded.and_then(|r| r.frames().last().map(|frame| frame.step));
        if let Some(checkpoint) = newest
            && end.is_none_or(|end| checkpoint.state.steps_done >= end)
        {
            return of_checkpoint(&checkpoint, recorded);
        }
    }
    of_recording(&recording.map_err(because)?, at)
}

/// The grains of a checkpoint; the names of their materials and their shapes are in
/// the recording of the same run, if that is there.
fn of_checkpoint(
    checkpoint: &Checkpoint,
    recording: Option<&Recording>,
) -> Result<GrainList, RunError> {
    // Bodies belong to the scene of that run.
    let grains = checkpoint.state.all_grains();
    let mut grains: Vec<_> = grains.filter(|grain| !grain.is_body()).collect();
    // The order of ids, as in recordings: that in memory means nothing.
    grains.sort_unstable_by_key(|grain| grain.id);
    let header = recording.map(Recording::header);
    let header = header.filter(|header| header.identity == checkpoint.scene);
    let materials = header.map_or_else(Vec::new, |header| header.materials.clone());
    let shapes = header.map_or_else(Vec::new, |header| header.shapes.clone());
    let numbers: Vec<u16> = grains.iter().map(|grain| grain.shape).collect();
    let orientations: Vec<DQuat> = grains.iter().map(|grain| grain.orientation).collect();
    Ok(GrainList {
        shape: listed_shapes(&numbers, &orientations, shapes.len()).ok_or_else(|| {
            RunError(
                "the shapes of its grains are in the recording of the run, which is not there: \
                 put the checkpoint beside it"
                    .into(),
            )
        })?,
        shapes,
        has_velocities: true,
        material: match materials.is_empty() {
            true => Vec::new(),
            false => grains.iter().map(|grain| grain.material).collect(),
        },
        materials,
        grains: grains
            .iter()
            .map(|grain| ListedGrain {
                position: grain.position,
                radius: grain.radius,
                velocity: grain.velocity,
                angular_velocity: grain.angular_velocity,
            })
            .collect(),
    })
}

/// Shapes of grains by their numbers, of which 0 is a sphere; `None` where one is
/// beyond the list of shapes.
fn listed_shapes(
    numbers: &[u16],
    orientations: &[DQuat],
    shapes: usize,
) -> Option<Vec<Option<ListedShape>>> {
    if numbers.iter().all(|&number| number == 0) {
        return Some(Vec::new());
    }
    let shape = |(&number, orientation): (&u16, &DQuat)| match usize::from(number) {
        0 => Some(None),
        number if number <= shapes => Some(Some(ListedShape {
            index: number - 1,
            // Recordings have fewer digits.
            orientation: orientation.normalize(),
        })),
        _ => None,
    };
    numbers.iter().zip(orientations).map(shape).collect()
}

/// The grains of the frame nearest to a time, or of the last.
fn of_recording(recording: &Recording, at: Option<f64>) -> Result<GrainList, RunError> {
    let name = recording.path().display();
    let last = recording.frames().len().checked_sub(1);
    let index = match at {
        Some(time) => recording.nearest(time),
        None => last,
    };
    let index = index.ok_or_else(|| RunError(format!("recording `{name}` has no frames")))?;
    let frame = recording.frame(index).map_err(because)?;
    let header = recording.header();
    let has = |field: GrainField| header.settings.fields.contains(&field);
    for field in [GrainField::Position, GrainField::Radius] {
        if !has(field) {
            return Err(RunError(format!(
                "recording `{name}` has no field \"{}\" to place grains by",
                field.name()
            )));
        }
    }
    let vectors = |list: &[DVec3], i: usize| list.get(i).copied().unwrap_or(DVec3::ZERO);
    let material = match header.materials.len() {
        _ if has(GrainField::Material) => frame.material.clone(),
        1 => vec![0; frame.id.len()],
        _ => Vec::new(),
    };
    Ok(GrainList {
        shape: listed_shapes(&frame.shape, &frame.orientation, header.shapes.len())
            .ok_or_else(|| RunError(format!("recording `{name}` names a shape it has not")))?,
        shapes: header.shapes.clone(),
        has_velocities: has(GrainField::Velocity),
        materials: match material.is_empty() {
            true => Vec::new(),
            false => header.materials.clone(),
        },
        material,
        grains: (0..frame.id.len())
            .map(|i| ListedGrain {
                position: frame.position[i],
                radius: frame.radius[i],
                velocity: vectors(&frame.velocity, i),
                angular_velocity: vectors(&frame.angular_velocity, i),
            })
            .collect(),
    })
}
