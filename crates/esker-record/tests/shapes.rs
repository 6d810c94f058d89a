//! Recordings of grains that are no spheres hold what it takes to draw and measure them.

mod common;

use common::{TemporaryDir, sphere_settings};
use common::{emitting_world, full_settings, header_of, record_run, shaped_world, temporary_dir};
use esker_geometry::BodyShape;
use esker_record::{GrainField, Precision, RecordSettings, Recorder, Recording};
use esker_world::World;
use esker_world::definition::WorldDef;

fn recorded(
    name: &str,
    def: &WorldDef,
    settings: RecordSettings,
) -> (Recording, World, TemporaryDir) {
    let dir = temporary_dir(name);
    let path = dir.path().join("recording.h5");
    let mut world = World::new(def).unwrap();
    let header = header_of(&world, settings);
    let mut recorder = Recorder::create(&path, header, world.grains().len()).unwrap();
    record_run(&mut world, &mut recorder, 4, 4);
    recorder.finish().unwrap();
    (Recording::open(&path).unwrap(), world, dir)
}

#[test]
fn shapes_come_back_in_their_own_frames() {
    let settings = full_settings(Precision::Double, 0);
    let (recording, world, _dir) = recorded("shapes", &shaped_world(), settings);
    let read = &recording.header().shapes;
    assert_eq!(read.len(), world.shapes().len());
    for (read, shape) in read.iter().zip(world.shapes()) {
        match (read, shape) {
            (BodyShape::Polyhedron(read), BodyShape::Polyhedron(shape)) => {
                assert_eq!(read.vertices().len(), shape.vertices().len());
                for vertex in shape.vertices() {
                    assert!(read.vertices().contains(vertex), "{vertex}");
                }
            }
            (BodyShape::Clump(read), BodyShape::Clump(shape)) => {
                assert_eq!(read.spheres(), shape.spheres());
            }
            _ => assert_eq!(read, shape),
        }
        let [read, shape] = [read, shape].map(BodyShape::mass_properties);
        assert!((read.volume / shape.volume - 1.0).abs() < 1e-8);
        let ratio = read.inertia_per_mass / shape.inertia_per_mass;
        assert!((ratio - 1.0).abs().max_element() < 1e-8, "{ratio}");
    }
}

#[test]
fn grains_carry_shape_scale_and_orientation_whatever_fields_are_asked_for() {
    let settings = RecordSettings {
        fields: vec![GrainField::Position],
        precision: Precision::Double,
        ..RecordSettings::default()
    };
    let (recording, world, _dir) = recorded("shape-fields", &shaped_world(), settings);
    let frame = recording.frame(0).unwrap();
    let grains = world.grains();
    assert_eq!(frame.shape, [0, 1, 2, 3, 4, 5, 6, 7]);
    for (k, i) in grains.in_id_order().into_iter().enumerate() {
        let scale = grains.shape_of(i).map_or(grains.radius()[i], |s| s.scale);
        assert_eq!(frame.scale[k], scale);
        assert_eq!(frame.orientation[k], grains.orientation()[i]);
    }
    assert!(frame.velocity.is_empty());
}

/// Earlier programs go on reading what they can.
#[test]
fn recordings_of_spheres_stay_in_the_format_of_before() {
    let format = |name: &str, def: &WorldDef| {
        let (recording, _, _dir) = recorded(name, def, sphere_settings(Precision::Single, 0));
        recording.header().format()
    };
    assert_eq!(format("format-spheres", &emitting_world()), 3);
    assert_eq!(format("format-shapes", &shaped_world()), 4);
}
