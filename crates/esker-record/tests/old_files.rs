//! Files that earlier versions wrote still open and mean the same.

mod common;

use std::path::{Path, PathBuf};

use common::{emitting_world, full_settings, header_of, record_run, shaped_world, sphere_settings};
use esker_record::{Checkpoint, GrainField, Precision, Recorder, Recording};
use esker_world::World;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Writes the files of the current version. To be run once when a format
/// changes, with new file names; files of older versions stay as they are.
#[test]
#[ignore = "writes test data"]
fn write_files_of_this_version() {
    let mut world = World::new(&shaped_world()).unwrap();
    let header = header_of(&world, full_settings(Precision::Single, 4));
    let mut recorder = Recorder::create(&data("recording-4.h5"), header, 8).unwrap();
    record_run(&mut world, &mut recorder, 24, 12);
    recorder.finish().unwrap();
    let mut world = World::new(&emitting_world()).unwrap();
    let header = header_of(&world, sphere_settings(Precision::Single, 4));
    let identity = header.identity;
    let mut recorder = Recorder::create(&data("recording-3.h5"), header, 12).unwrap();
    record_run(&mut world, &mut recorder, 36, 12);
    let checkpoint = Checkpoint {
        scene: identity,
        version: "0.1.0".into(),
        time: world.time(),
        mark: recorder.mark(),
        tally: vec![("wall".into(), 1.5)],
        state: world.state(),
    };
    recorder.finish().unwrap();
    std::fs::write(data("checkpoint-4.esker"), checkpoint.encode()).unwrap();
}

#[test]
fn recordings_of_format_1_open() {
    let recording = Recording::open(&data("recording-1.h5")).unwrap();
    let header = recording.header();
    assert_eq!(
        (header.name.as_str(), header.version.as_str()),
        ("test", "0.1.0")
    );
    assert_eq!(header.walls[0].name, "floor");
    let steps: Vec<u64> = recording.frames().iter().map(|f| f.step).collect();
    assert_eq!(steps, [12, 24, 36]);
    let frame = recording.frame(2).unwrap();
    assert_eq!(frame.id.len(), frame.position.len());
    assert_eq!(frame.id.len(), 18);
    // Masses were not recorded: they are not there, rather than zero.
    assert!(frame.mass.is_empty() && !header.settings.fields.contains(&GrainField::Mass));
    let scalars = recording.scalars().unwrap();
    assert_eq!(scalars.get("time").unwrap().len(), 36);
    for later in ["owed", "frozen_share"] {
        let values = scalars.get(later).unwrap();
        assert!(values.iter().all(|value| value.is_nan()), "{later}");
    }
    // Loads of steps were not recorded: unknown, not zero.
    assert_eq!(scalars.loads().count(), 36);
    assert!(scalars.loads().all(|loads| loads[0].force.is_nan()));
    let wall = recording.frame(2).unwrap().walls[0];
    assert!(wall.load.force.is_finite() && wall.load.power.is_nan());
}

#[test]
fn recordings_of_format_2_open_with_places_as_they_are() {
    let recording = Recording::open(&data("recording-2.h5")).unwrap();
    assert_eq!(recording.header().origin, glam::DVec3::ZERO);
    let steps: Vec<u64> = recording.frames().iter().map(|f| f.step).collect();
    assert_eq!(steps, [0, 12, 24, 36]);
    let frame = recording.frame(3).unwrap();
    for (i, place) in frame.position.iter().enumerate() {
        let height = 0.005 + 0.01 * i as f64;
        assert!((place.z - height).abs() < 1e-4, "{place}");
    }
    assert_eq!(frame.contacts.len(), 3);
    assert!(recording.scalars().unwrap().loads().count() == 36);
}

#[test]
fn recordings_of_format_3_open_without_shapes() {
    let recording = Recording::open(&data("recording-3.h5")).unwrap();
    assert!(recording.header().shapes.is_empty());
    let frame = recording.frame(2).unwrap();
    assert_eq!(frame.id.len(), 18);
    assert!(frame.shape.is_empty() && frame.scale.is_empty());
}

#[test]
fn recordings_of_format_4_open_with_their_shapes() {
    let recording = Recording::open(&data("recording-4.h5")).unwrap();
    let shapes = &recording.header().shapes;
    assert_eq!(shapes[0], shaped_world().shapes[0]);
    assert_eq!(shapes.len(), 7);
    let frame = recording.frame(1).unwrap();
    assert_eq!(frame.shape, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(frame.scale[0], frame.radius[0]);
}

#[test]
fn checkpoints_of_format_1_open_and_fit_their_world() {
    let checkpoint = Checkpoint::read(&data("checkpoint-1.esker")).unwrap();
    assert_eq!(checkpoint.state.steps_done, 36);
    assert_eq!(checkpoint.tally, [("wall".to_owned(), 1.5)]);
    let mut world = World::restore(&emitting_world(), checkpoint.state).unwrap();
    assert_eq!(world.grains().len(), 18);
    // Ids were slots then: none is given again.
    let before = world.grains().id().to_vec();
    for _ in 0..100 {
        world.step().unwrap();
    }
    let came = world.grains().id().iter().filter(|id| id.source() == 1);
    assert!(came.clone().count() > 0 && came.clone().all(|id| !before.contains(id)));
}

/// A column of three grains after 100 steps, with a ledger that knew no cohesion.
#[test]
fn ledgers_of_format_3_open_without_cohesion() {
    let checkpoint = Checkpoint::read(&data("checkpoint-3.esker")).unwrap();
    let ledger = checkpoint.state.energy.unwrap();
    assert_eq!((ledger.steps, ledger.cohesion), (100, 0.0));
    assert_eq!(ledger.gravity, 4.293_737_755_872_638e-7);
    assert_eq!(ledger.damping, 2.576_242_653_528_702e-7);
}
