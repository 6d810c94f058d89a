//! Joints of machines in recordings: where they are, what they and their drives do.

mod common;

use common::{full_settings, header_of, record_run, temporary_dir};
use esker_geometry::{BodyShape, Pose};
use esker_machine::{
    BodyPose, Coordinate, DriveDef, DriveKind, JointCoordinate, JointDef, JointKind, Signal,
};
use esker_record::{
    FrameJoint, JointLabel, Precision, Recorder, Recording, RecordingMark, export_vtk,
    write_joints_csv,
};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// A wheel of 2 kg on an axle, and a block of 3 kg that a force lifts along a guide.
fn wheel_and_block() -> WorldDef {
    let body = |name: &str, mass, position| BodyDef {
        pose: Pose::from_position(position),
        ..BodyDef::new(
            name,
            BodyShape::Box {
                half_edges: DVec3::splat(0.1),
            },
            mass,
        )
    };
    let bodies = vec![
        body("wheel", 2.0, DVec3::X),
        body("block", 3.0, DVec3::Y * 5.0),
    ];
    let poses: Vec<BodyPose> = bodies
        .iter()
        .map(|body| BodyPose {
            position: body.pose.position,
            orientation: body.pose.orientation,
        })
        .collect();
    let joint = |name: &str, kind, body: usize, axis| {
        let anchor = bodies[body].pose.position;
        JointDef::at(name, kind, [None, Some(body)], (anchor, axis), &poses)
    };
    let joints = vec![
        joint("axle", JointKind::Revolute, 0, DVec3::Y),
        joint("guide", JointKind::Prismatic, 1, DVec3::Z),
    ];
    let drive = |name: &str, joint, coordinate, kind, value, force_limit| DriveDef {
        name: name.into(),
        coordinate: JointCoordinate { joint, coordinate },
        kind,
        signal: Signal::Constant(value),
        force_limit,
    };
    let motor = DriveKind::VelocityMotor;
    WorldDef {
        step: 2e-3,
        materials: vec![Material {
            name: "steel".into(),
            density: 7800.0,
            young: 1e9,
            poisson: 0.3,
        }],
        drives: vec![
            drive("motor", 0, Coordinate::Angle, motor, 3.0, Some(50.0)),
            drive("lift", 1, Coordinate::Slide, DriveKind::Force, 36.0, None),
        ],
        bodies,
        joints,
        ..Default::default()
    }
}

#[test]
fn joints_are_recorded_with_place_coordinates_and_mean_loads() {
    let dir = temporary_dir("joints");
    let path = dir.path().join("recording.h5");
    let mut world = World::new(&wheel_and_block()).unwrap();
    let header = header_of(&world, full_settings(Precision::Single, 0));
    let label = |name: &str, kind: &str, drives: &str| JointLabel {
        name: name.into(),
        kind: kind.into(),
        drives: drives.into(),
    };
    let labels = [
        label("axle", "revolute", "motor"),
        label("guide", "prismatic", "lift"),
    ];
    assert_eq!(header.joints, labels);
    let mut recorder = Recorder::create(&path, header, 1).unwrap();
    recorder.record_frame(&world).unwrap();
    record_run(&mut world, &mut recorder, 200, 50);
    recorder.finish().unwrap();

    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.header().joints, labels);
    assert_eq!(recording.frames().len(), 5);
    let frame = recording.frame(4).unwrap();
    let [axle, guide]: [FrameJoint; 2] = frame.joints.clone().try_into().unwrap();
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + b.abs());
    // 0.4 s: the wheel turns with 3 rad/s at once, and the block has (36 − 3 g) N left.
    assert!((axle.angle.unwrap() - 1.2).abs() < 0.01 && axle.slide.is_none());
    assert_eq!((axle.axis, guide.axis), (Some(DVec3::Y), Some(DVec3::Z)));
    assert!(axle.anchors.iter().all(|a| a.distance(DVec3::X) < 1e-6));
    let g = -world.gravity().z;
    let acceleration = (36.0 - 3.0 * g) / 3.0;
    let slide = 0.5 * acceleration * 0.4 * 0.4;
    assert!((guide.slide.unwrap() / slide - 1.0).abs() < 0.01 && guide.angle.is_none());
    let lifted = guide.anchors[1] - guide.anchors[0];
    assert!(close(lifted.z, guide.slide.unwrap()) && lifted.truncate().length() < 1e-9);
    // The axle carries the wheel, the lift the block.
    assert!(close(axle.load.force.z, 2.0 * g), "{}", axle.load.force);
    assert!(close(guide.load.drive_force, 36.0) && guide.load.drive_torque == 0.0);
    let before = recording.frame(3).unwrap().joints[1];
    let way = guide.slide.unwrap() - before.slide.unwrap();
    assert!((guide.load.power / (36.0 * way / 0.1) - 1.0).abs() < 0.01);
    assert!(close(guide.total_load.power, world.drive(1).work));
    assert!(axle.gap < 1e-9 && axle.tilt < 1e-9);

    let paths = export_vtk(&recording, dir.path()).unwrap();
    assert!(paths.iter().any(|path| path.ends_with("joints.vtkhdf")));
    let mut table = Vec::new();
    write_joints_csv(recording.header(), &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert_eq!(
        table,
        "joint,name,kind,drives\n0,axle,revolute,motor\n1,guide,prismatic,lift\n"
    );
}

#[test]
fn joints_of_a_resumed_recording_equal_those_of_the_uninterrupted_one() {
    let dir = temporary_dir("resumed-joints");
    let def = wheel_and_block();
    let frames = [false, true].map(|is_cut| {
        let path = dir.path().join(format!("{is_cut}.h5"));
        let mut world = World::new(&def).unwrap();
        let header = header_of(&world, full_settings(Precision::Double, 0));
        let mut recorder = Recorder::create(&path, header.clone(), 1).unwrap();
        record_run(&mut world, &mut recorder, 70, 20);
        if is_cut {
            recorder.flush().unwrap();
            let state = world.state();
            drop(recorder);
            world = World::restore(&def, state).unwrap();
            let mark = RecordingMark {
                frames: 3,
                scalar_rows: 70,
            };
            let continued = Recorder::continue_run(&path, header, mark, &world).unwrap();
            assert!(continued.lost.is_none());
            recorder = continued.recorder;
        }
        record_run(&mut world, &mut recorder, 50, 20);
        recorder.finish().unwrap();
        let recording = Recording::open(&path).unwrap();
        let frames = 0..recording.frames().len();
        frames
            .map(|i| recording.frame(i).unwrap().joints)
            .collect::<Vec<_>>()
    });
    assert_eq!(frames[0].len(), 6);
    assert_eq!(frames[0], frames[1]);
}
