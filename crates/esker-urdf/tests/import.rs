//! URDF descriptions become scenes that run.

use std::path::Path;

use esker_machine::{Coordinate, JointCoordinate, JointKind};
use esker_scene::Scene;
use esker_urdf::{Base, SceneText, UrdfError, read, write_scene};
use esker_world::World;
use glam::DVec3;

/// An arm of two links on a turned base, with a sensor frame and a gripper that mimics the elbow.
const ARM: &str = r#"<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/>
      <mass value="2"/>
      <inertia ixx="0.2" iyy="0.01" izz="0.2" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision>
      <origin xyz="0.5 0 0"/>
      <geometry><box size="1 0.1 0.1"/></geometry>
    </collision>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0.25 0 0"/>
      <mass value="1"/>
      <inertia ixx="0.002" iyy="0.03" izz="0.03"/>
    </inertial>
    <visual>
      <origin xyz="0.3 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.04" length="0.4"/></geometry>
    </visual>
  </link>
  <link name="sensor">
    <collision><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="100" velocity="1"/>
    <dynamics damping="0.7" friction="0.2"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/>
    <child link="lower"/>
    <origin xyz="1.2 0 0"/>
    <axis xyz="1 0 0"/>
    <limit lower="0.1" upper="0.5" effort="0" velocity="1"/>
  </joint>
  <joint name="mount" type="fixed">
    <parent link="lower"/>
    <child link="sensor"/>
    <origin xyz="0.6 0 0"/>
  </joint>
</robot>
"#;

fn converted(text: &str) -> SceneText {
    write_scene(&read(text).unwrap(), Base::Fixed, &str::to_string).unwrap()
}

fn scene(text: &str) -> Scene {
    esker_scene::parse(text, "arm.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn refused(piece: &str, replacement: &str) -> UrdfError {
    assert!(ARM.contains(piece), "{piece}");
    read(&ARM.replacen(piece, replacement, 1)).expect_err(replacement)
}

fn line_of(piece: &str) -> u32 {
    1 + ARM.lines().position(|line| line.contains(piece)).unwrap() as u32
}

#[test]
fn links_and_joints_are_where_the_description_has_them() {
    let world = scene(&converted(ARM).text).world;
    let [upper, lower] = world.bodies.as_slice() else {
        panic!("{:?}", world.bodies)
    };
    assert_eq!((upper.name.as_str(), upper.mass), ("upper", 2.0));
    // The base turns x to y; inertias are given in turned axes.
    let centre = upper.centre().position;
    assert!(
        (centre - DVec3::new(0.0, 0.5, 1.0)).length() < 1e-12,
        "{centre}"
    );
    let along = upper.frame.inverse_rotate(DVec3::X).abs();
    let moment = along.dot(upper.moments);
    assert!((moment - 0.01).abs() < 1e-12, "{moment}");
    // A slide that must be at least 0.1 starts there.
    let centre = lower.centre().position;
    assert!(
        (centre - DVec3::new(0.0, 1.2 + 0.1 + 0.25, 1.0)).length() < 1e-12,
        "{centre}"
    );
    let [shoulder, elbow] = world.joints.as_slice() else {
        panic!("{:?}", world.joints)
    };
    assert_eq!(shoulder.kind, JointKind::Revolute);
    assert_eq!(shoulder.bodies, [None, Some(0)]);
    assert!((shoulder.frames[0].axis - DVec3::NEG_X).length() < 1e-12);
    assert_eq!(shoulder.angle.limits, [-1.0, 2.0]);
    assert_eq!(shoulder.angle.friction, 0.2);
    assert_eq!(elbow.kind, JointKind::Prismatic);
    assert!((elbow.slide.limits[0], elbow.slide.limits[1]) == (0.0, 0.4));
    // A motor that holds the shoulder, and its damping; the elbow has no motor.
    assert_eq!(world.drives.len(), 2);
    assert_eq!(world.drives[1].force_limit, Some(100.0));
}

/// The sensor is a frame without mass: its shape belongs to the link that it is fixed to.
#[test]
fn links_without_mass_belong_to_what_they_are_fixed_to() {
    let SceneText { text, notes } = converted(ARM);
    assert!(
        text.contains("sphere = 0.05, position = [0.6, 0.0, 0.0]"),
        "{text}"
    );
    assert!(notes.is_empty(), "{notes:?}");
    let stray = r#"<link name="tip"/><joint name="spin" type="continuous"><parent link="lower"/>
        <child link="tip"/></joint></robot>"#;
    let robot = read(&ARM.replace("</robot>", stray)).unwrap();
    let error = write_scene(&robot, Base::Fixed, &str::to_string).unwrap_err();
    assert!(
        error.contains("\"tip\"") && error.contains("<inertial>"),
        "{error}"
    );
}

#[test]
fn an_imported_arm_runs_and_its_motor_holds_it() {
    let mut def = scene(&converted(ARM).text).world;
    def.step = 1e-3;
    let mut world = World::new(&def).unwrap();
    for _ in 0..300 {
        world.step().unwrap();
    }
    let at = |joint, coordinate| {
        let at = JointCoordinate { joint, coordinate };
        world.joint_coordinate(at).unwrap()
    };
    assert!(at(0, Coordinate::Angle).abs() < 1e-6);
    assert!(at(1, Coordinate::Slide).abs() < 1e-6);
    // It carries the weight of both links: 2 kg at 0.5 m, 1 kg at 1.55 m.
    let torque = world.drive(1).impulse / 0.3;
    assert!((torque + 9.81 * (1.0 + 1.55)).abs() < 0.3, "{torque}");
}

#[test]
fn a_joint_that_mimics_another_is_a_gear() {
    let text = ARM.replace(
        r#"<limit lower="0.1" upper="0.5" effort="0" velocity="1"/>"#,
        r#"<limit lower="-0.5" upper="0.5" effort="9" velocity="1"/><mimic joint="shoulder" multiplier="0.3"/>"#,
    );
    let world = scene(&converted(&text).text).world;
    assert_eq!(world.gears[0].ratio, 0.3);
    assert_eq!(world.gears[0].coordinates.map(|c| c.joint), [1, 0]);
    assert_eq!(
        world.drives.len(),
        2,
        "what follows has no motor of its own"
    );
}

#[test]
fn a_floating_robot_is_held_by_nothing_and_needs_mass() {
    let robot = read(ARM).unwrap();
    let error = write_scene(&robot, Base::Floating, &str::to_string).unwrap_err();
    assert!(error.contains("cannot float"), "{error}");
    let heavy = r#"<link name="base"><inertial><mass value="5"/>
        <inertia ixx="1" iyy="1" izz="1"/></inertial></link>"#;
    let robot = read(&ARM.replace(r#"<link name="base"/>"#, heavy)).unwrap();
    for (base, joints) in [(Base::Fixed, 3), (Base::Floating, 2)] {
        let SceneText { text, notes } = write_scene(&robot, base, &str::to_string).unwrap();
        assert_eq!(scene(&text).world.joints.len(), joints);
        assert!(notes[0].contains("no geometry"), "{notes:?}");
    }
}

#[test]
fn descriptions_that_cannot_be_are_refused_with_their_line() {
    let error = refused("<robot name=\"arm\">", "<robot name=\"arm\"");
    assert!(error.message.contains("not valid XML"), "{error}");
    let error = read("<sdf/>").unwrap_err();
    assert!(error.to_string().contains("not a <robot>"), "{error}");
    let error = read("<robot/>").unwrap_err();
    assert!(error.message.contains("no <link>"), "{error}");
    for (piece, replacement, words) in [
        (
            r#"<mass value="2"/>"#,
            r#"<mass value="-2"/>"#,
            "greater than 0",
        ),
        (r#"<mass value="2"/>"#, r#"<mass value="two"/>"#, "a number"),
        (r#"size="1 0.1 0.1""#, r#"size="1 0.1""#, "three numbers"),
        (r#"<sphere radius="0.05"/>"#, "<torus/>", "no geometry"),
        (
            r#"<axis xyz="0 1 0"/>"#,
            r#"<axis xyz="0 0 0"/>"#,
            "no length",
        ),
        (r#"lower="-1" upper="2""#, r#"lower="3" upper="2""#, "above"),
        (
            r#"<child link="upper"/>"#,
            r#"<child link="uper"/>"#,
            "no link \"uper\"",
        ),
        (
            r#"name="elbow" type="prismatic""#,
            r#"name="elbow" type="planar""#,
            "not known",
        ),
        (
            r#"<link name="sensor">"#,
            r#"<link name="lower">"#,
            "two <link>",
        ),
    ] {
        let error = refused(piece, replacement);
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.line, line_of(piece), "{error}");
    }
    let error = refused(r#"<child link="sensor"/>"#, r#"<child link="upper"/>"#);
    assert!(
        error
            .message
            .contains("carried by joint \"shoulder\" already"),
        "{error}"
    );
    let error = refused(r#"<parent link="base"/>"#, r#"<parent link="sensor"/>"#);
    assert!(error.message.contains("ring"), "{error}");
    let error = refused(
        r#"<link name="base"/>"#,
        r#"<link name="base"/><link name="lost"/>"#,
    );
    assert!(error.message.contains("\"lost\""), "{error}");
    let error = refused(
        r#"<limit lower="-1" upper="2" effort="100" velocity="1"/>"#,
        "",
    );
    assert!(error.message.contains("no <limit>"), "{error}");
}

/// Whatever is missing: an answer, never a panic, and never a scene that cannot be read.
#[test]
fn descriptions_with_gaps_are_refused_or_read() {
    let lines: Vec<&str> = ARM.lines().collect();
    let mut read_well = 0;
    for gap in 0..lines.len() {
        let text: Vec<&str> = [&lines[..gap], &lines[gap + 1..]].concat();
        let Ok(robot) = read(&text.join("\n")) else {
            continue;
        };
        if let Ok(SceneText { text, .. }) = write_scene(&robot, Base::Fixed, &str::to_string) {
            let syntax: Result<toml::Table, _> = text.parse();
            assert!(syntax.is_ok(), "without line {}: {text}", gap + 1);
            read_well += 1;
        }
    }
    assert!(read_well > 5, "{read_well}");
    for end in (0..ARM.len()).step_by(7) {
        assert!(read(&ARM[..end]).is_err());
    }
}
