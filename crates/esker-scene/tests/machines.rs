//! `[[joint]]` and `[[drive]]`: what scenes say of machines.

use std::io;
use std::path::Path;

use esker_machine::{Coordinate, DriveKind, Elasticity, JointCoordinate, JointKind, Signal};
use esker_scene::{Scene, SceneErrors, parse};
use esker_world::World;
use glam::DVec3;

/// Two rods that overlap at their hinge, a motor and a servo.
const ARM: &str = r#"duration = 1.0
step = 1e-3
material.steel = { density = 8000, young = 1e9 }

[[body]]
name = "upper"
shape = { box = [1.0, 0.1, 0.1], position = [0.5, 0, 0] }
mass = 1
[[body]]
name = "lower"
shape = { box = [1.1, 0.1, 0.1] }
mass = 1
position = [1.5, 0, 0]

[[joint]]
name = "shoulder"
kind = "revolute"
bodies = ["ground", "upper"]
anchor = [0, 0, 0]
axis = [0, 1, 0]
angle_limits = [-2.0, 3.0]
friction_torque = 0.5
[[joint]]
name = "elbow"
kind = "revolute"
bodies = ["upper", "lower"]
anchor = [1, 0, 0]
axis = [0, 2, 0]
angular_compliance = 1e-3
angular_damping = 2.0

[[drive]]
name = "motor"
joint = "shoulder"
kind = "motor"
table = { times = [0, 0.5, 2], values = [0, 1, 1] }
limit = 50
[[drive]]
name = "servo"
joint = "elbow"
kind = "servo"
sine = { mean = 0.1, amplitude = 0.2, frequency = 3 }
stiffness = 100
damping = 5
"#;

fn read(text: &str) -> Result<Scene, SceneErrors> {
    parse(text, "arm.toml", Path::new("."))
}

/// The message about the arm with one piece of text replaced; it must name this line.
fn refusal(piece: &str, replacement: &str, line: &str) -> String {
    assert!(ARM.contains(piece), "{piece}");
    let text = ARM.replacen(piece, replacement, 1);
    let errors = read(&text).expect_err(replacement);
    assert_eq!(errors.problems.len(), 1, "{errors}");
    let shown = errors.to_string();
    let number = 1 + text.lines().position(|l| l.contains(line)).expect(line);
    assert!(
        shown.contains(&format!("arm.toml:{number}:")),
        "line {number} is not named: {shown}"
    );
    shown
}

fn with_joint(joint: &str) -> String {
    format!("{ARM}[[joint]]\n{joint}\n")
}

#[test]
fn joints_and_drives_are_what_the_scene_says() {
    let scene = read(ARM).unwrap();
    let world = &scene.world;
    let [shoulder, elbow] = world.joints.as_slice() else {
        panic!("{:?}", world.joints)
    };
    assert_eq!(shoulder.bodies, [None, Some(0)]);
    assert_eq!(shoulder.kind, JointKind::Revolute);
    assert_eq!(shoulder.angle.limits, [-2.0, 3.0]);
    assert_eq!(shoulder.angle.friction, 0.5);
    // In the frame of the centre of mass, which is in the middle of the rod.
    assert!((shoulder.frames[1].anchor - DVec3::X * -0.5).length() < 1e-12);
    assert_eq!(elbow.bodies, [Some(0), Some(1)]);
    assert_eq!(
        elbow.angular,
        Elasticity {
            compliance: 1e-3,
            damping: 2.0
        }
    );
    assert_eq!(elbow.linear, Elasticity::RIGID);
    let [motor, servo] = world.drives.as_slice() else {
        panic!("{:?}", world.drives)
    };
    assert_eq!(motor.kind, DriveKind::VelocityMotor);
    assert_eq!(motor.force_limit, Some(50.0));
    assert_eq!(motor.signal.at(0.25, 0.0), 0.5);
    assert_eq!(
        servo.coordinate,
        JointCoordinate {
            joint: 1,
            coordinate: Coordinate::Angle
        }
    );
    assert!(matches!(servo.signal, Signal::Sine { mean: 0.1, .. }));
}

/// The rods overlap at the elbow; as they are joined they do not touch there.
#[test]
fn an_arm_swings_though_its_bodies_overlap_at_the_joint() {
    let scene = read(ARM).unwrap();
    let mut world = World::new(&scene.world).unwrap();
    for _ in 0..200 {
        world.step().unwrap();
    }
    assert!(world.contacts().next().is_none());
    let angle = world.joint_coordinate(JointCoordinate {
        joint: 0,
        coordinate: Coordinate::Angle,
    });
    assert!(angle.unwrap() > 0.01, "{angle:?}");
    assert!(world.joint(1).max_violation.distance < 1e-4);
}

#[test]
fn anchors_may_be_given_in_the_frames_of_bodies() {
    let text = ARM
        .replace(
            "position = [1.5, 0, 0]",
            "position = [1.0, 0.5, 0]\nrotation = { degrees = 90 }",
        )
        .replace(
            "anchor = [1, 0, 0]",
            "anchor = [1, 0, 0]\nsecond_anchor = [-0.5, 0, 0]\nframe = \"body\"",
        )
        .replace("axis = [0, 2, 0]", "axis = [0, 0, 1]");
    let scene = read(&text).unwrap();
    let elbow = &scene.world.joints[1];
    assert!((elbow.frames[0].anchor - DVec3::X * 0.5).length() < 1e-12);
    assert!((elbow.frames[1].anchor - DVec3::X * -0.5).length() < 1e-12);
}

#[test]
fn every_kind_of_joint_can_be_written() {
    let gear = r#"name = "gear"
kind = "gear"
joints = ["shoulder", "elbow"]
ratio = -2"#;
    let scene = read(&with_joint(gear)).unwrap();
    assert_eq!(scene.world.gears[0].ratio, -2.0);
    assert_eq!(scene.world.gears[0].coordinates[1].joint, 1);
    for (kind, more, expected) in [
        ("fixed", "", JointKind::Fixed),
        ("prismatic", "axis = [1, 0, 0]", JointKind::Prismatic),
        ("cylindrical", "axis = [1, 0, 0]", JointKind::Cylindrical),
        ("ball", "", JointKind::Ball),
        (
            "universal",
            "axis = [1, 0, 0]\nsecond_axis = [0, 1, 0]",
            JointKind::Universal,
        ),
        (
            "screw",
            "axis = [1, 0, 0]\npitch = 0.01",
            JointKind::Screw { pitch: 0.01 },
        ),
        (
            "distance",
            "second_anchor = [0, 0, 2]",
            JointKind::Distance { length: 2.0 },
        ),
    ] {
        let text = format!(
            r#"duration = 1.0
step = 1e-3
material.steel = {{ density = 8000, young = 1e9 }}
[[body]]
name = "bob"
shape = {{ sphere = 0.1 }}
[[joint]]
name = "joint"
kind = "{kind}"
bodies = ["ground", "bob"]
anchor = [0, 0, 0]
{more}
"#
        );
        let scene = read(&text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(scene.world.joints[0].kind, expected);
        World::new(&scene.world).unwrap();
    }
}

#[test]
fn bodies_of_a_joint_are_there_and_differ() {
    let shown = refusal("\"upper\", \"lower\"", "\"upper\", \"lover\"", "lover");
    assert!(shown.contains("did you mean \"lower\"?"), "{shown}");
    let shown = refusal(
        "\"upper\", \"lower\"",
        "\"upper\", \"upper\"",
        "\"upper\", \"upper\"",
    );
    assert!(shown.contains("with itself"), "{shown}");
    let shown = refusal(
        "\"ground\", \"upper\"",
        "\"ground\", \"ground\"",
        "\"ground\", \"ground\"",
    );
    assert!(shown.contains("with itself"), "{shown}");
}

#[test]
fn sides_that_do_not_meet_are_shown_with_their_distance() {
    let shown = refusal(
        "anchor = [1, 0, 0]",
        "anchor = [1, 0, 0]\nsecond_anchor = [1, 0.02, 0]",
        "anchor = [1, 0, 0]",
    );
    assert!(shown.contains("2.000e-2 m"), "{shown}");
    assert!(shown.contains("anchors must meet"), "{shown}");
}

/// Such joints were shown by their anchors, which are right.
#[test]
fn axes_of_a_universal_joint_that_are_not_across_are_shown() {
    let text = with_joint(
        "name = \"cross\"\nkind = \"universal\"\nbodies = [\"ground\", \"upper\"]\n\
         anchor = [0, 0, 0]\naxis = [0, 1, 0]\nsecond_axis = [0, 1, 0.1]",
    );
    let shown = read(&text).expect_err("accepted").to_string();
    assert!(shown.contains("| second_axis = [0, 1, 0.1]"), "{shown}");
    assert!(shown.contains("right angles"), "{shown}");
}

#[test]
fn machines_that_cannot_be_assembled_are_refused() {
    let closing = "name = \"brace\"\nkind = \"distance\"\nbodies = [\"ground\", \"upper\"]\n\
                   anchor = [0, 0, 0]\nsecond_anchor = [0.6, 0, 0]\nlength = 0.6005";
    let text = with_joint(closing);
    let shown = read(&text).expect_err("accepted").to_string();
    assert!(shown.contains("cannot be assembled"), "{shown}");
    assert!(shown.contains("contradict"), "{shown}");
}

#[test]
fn axes_and_limits_are_possible() {
    let shown = refusal("axis = [0, 2, 0]", "axis = [0, 0, 0]", "axis = [0, 0, 0]");
    assert!(shown.contains("not all zero"), "{shown}");
    let shown = refusal("[-2.0, 3.0]", "[2.0, 3.0]", "angle_limits");
    assert!(shown.contains("must hold zero"), "{shown}");
    refusal("[-2.0, 3.0]", "[2.0, -3.0]", "angle_limits");
    refusal(
        "angle_limits = [-2.0, 3.0]",
        "slide_limits = [-2, 3]",
        "slide_limits",
    );
    let shown = refusal("angular_compliance = 1e-3\n", "", "angular_damping");
    assert!(shown.contains("angular_compliance"), "{shown}");
}

#[test]
fn drives_have_a_coordinate_a_limit_and_a_table_that_lasts() {
    let shown = refusal("joint = \"elbow\"", "joint = \"elbov\"", "elbov");
    assert!(shown.contains("did you mean \"elbow\"?"), "{shown}");
    let shown = refusal(
        "joint = \"elbow\"",
        "joint = \"elbow\"\ncoordinate = \"slide\"",
        "coordinate",
    );
    assert!(shown.contains("a revolute joint has no slide"), "{shown}");
    let shown = refusal("limit = 50\n", "", "[[drive]]");
    assert!(shown.contains("push through"), "{shown}");
    let shown = refusal("[0, 0.5, 2]", "[0, 0.5, 0.75]", "times");
    assert!(
        shown.contains("ends at 0.75 s, before the run does at 1 s"),
        "{shown}"
    );
    let shown = refusal("[0, 0.5, 2]", "[0, 0.5, 0.5]", "times");
    assert!(shown.contains("does not increase"), "{shown}");
    refusal("[0, 0.5, 2]", "[0, 2]", "times");
    let shown = refusal("name = \"servo\"", "name = \"motor\" # twice", "# twice");
    assert!(shown.contains("taken already"), "{shown}");
}

/// One file that scenes may name.
struct OneFile(&'static str);

impl esker_scene::Files for OneFile {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match name {
            "motor.csv" => Ok(self.0.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// The arm with the table of its motor in a file.
fn read_with_file(table: &str, content: &'static str) -> Result<Scene, SceneErrors> {
    let rows = "{ times = [0, 0.5, 2], values = [0, 1, 1] }";
    assert!(ARM.contains(rows));
    let text = ARM.replacen(rows, table, 1);
    esker_scene::interpret(&text, "arm.toml", &OneFile(content))
}

#[test]
fn a_table_of_a_drive_may_be_a_file() {
    let named = "{ file = \"motor.csv\" }";
    let scene = read_with_file(named, "# rad/s\nt, value\n0,0\n0.5,1\n\n2,1\n").unwrap();
    assert_eq!(scene.world.drives, read(ARM).unwrap().world.drives);
}

#[test]
fn files_of_drives_are_refused_with_line_and_advice() {
    let line = 1 + ARM.lines().position(|l| l.starts_with("table")).unwrap();
    let refusal = |table: &str, content: &'static str| {
        let errors = read_with_file(table, content).expect_err(content);
        assert_eq!(errors.problems.len(), 1, "{errors}");
        let shown = errors.to_string();
        assert!(shown.contains(&format!("arm.toml:{line}:")), "{shown}");
        shown
    };
    let named = "{ file = \"motor.csv\" }";
    let short = refusal(named, "t,value\n0,0\n\n0.5,1\n");
    let told = "\"motor.csv\", line 4: the table ends at 0.5 s, before the run does at 1 s";
    assert!(short.contains(told), "{short}");
    assert!(short.contains("repeat the last value"), "{short}");
    for (content, told) in [
        ("t,value\n0,0\n0,1\n2,1\n", "line 3: time 0 s does not come"),
        ("t,value\n0,0\n2,fast\n", "line 3: `fast` is not a finite"),
        ("t,valve\n0,0\n", "line 1: unknown column `valve`"),
        ("t\n0\n", "line 1: the header has no column `value`"),
        ("t,value\n", "line 1: no row below the header"),
    ] {
        let shown = refusal(named, content);
        assert!(shown.contains("motor.csv"), "{shown}");
        assert!(shown.contains(told), "{shown}");
    }
    let whole = "t,value\n0,0\n2,1\n";
    let shown = refusal("{ file = \"engine.csv\" }", whole);
    assert!(shown.contains("cannot read \"engine.csv\""), "{shown}");
    let shown = refusal("{ file = \"motor.csv\", values = [0, 1] }", whole);
    assert!(shown.contains("exclude one another"), "{shown}");
    let shown = refusal("{ file = \"motor.csv\", times = [0, 2] }", whole);
    assert!(shown.contains("`file`"), "{shown}");
    let shown = refusal("{ times = [0, 2] }", whole);
    assert!(shown.contains("times but no values"), "{shown}");
    refusal("{ values = [0, 2] }", whole);
}

#[test]
fn a_drive_of_a_joint_without_coordinates_is_refused() {
    let text = with_joint(
        "name = \"pin\"\nkind = \"ball\"\nbodies = [\"ground\", \"lower\"]\nanchor = [2, 0, 0]",
    ) + "[[drive]]\nname = \"hopeless\"\njoint = \"pin\"\nkind = \"force\"\nvalue = 1\n";
    let shown = read(&text).expect_err("accepted").to_string();
    assert!(shown.contains("a ball joint has no coordinate"), "{shown}");
}

#[test]
fn gears_are_possible() {
    let gear = |changed: &str| {
        let text = with_joint(&format!("name = \"gear\"\nkind = \"gear\"\n{changed}"));
        read(&text).expect_err(changed).to_string()
    };
    let shown = gear("joints = [\"shoulder\", \"shoulder\"]\nratio = 1");
    assert!(shown.contains("with itself"), "{shown}");
    let shown = gear("joints = [\"shoulder\", \"wrist\"]\nratio = 1");
    assert!(shown.contains("no joint \"wrist\""), "{shown}");
    let shown = gear("joints = [\"shoulder\", \"elbow\"]\nratio = 0");
    assert!(shown.contains("`ratio` is zero"), "{shown}");
    let shown =
        gear("joints = [\"shoulder\", \"elbow\"]\ncoordinates = [\"angle\", \"turn\"]\nratio = 1");
    assert!(shown.contains("\"turn\" is no coordinate"), "{shown}");
}

/// A mesh on a hinge, with files of the shipped scenes.
fn meshed(body: &str, joint: &str) -> Result<Scene, SceneErrors> {
    let head = "duration = 1.0\nstep = 1e-3\nmaterial.steel = { density = 8000, young = 1e9 }\n";
    let text = format!("{head}[[body]]\nname = \"tool\"\n{body}\n{joint}");
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    parse(&text, "tool.toml", &scenes)
}

const HINGE: &str = "[[joint]]\nname = \"hinge\"\nkind = \"revolute\"\nbodies = [\"ground\", \"tool\"]\nanchor = [0, 0, 0]\naxis = [0, 0, 1]";

/// What a closed mesh encloses is the body's mass; an open one has what is given.
#[test]
fn meshes_of_bodies_have_the_mass_that_they_enclose_or_that_is_given() {
    let closed = "shape = { mesh = { file = \"meshes/rock.stl\" } }";
    let scene = meshed(closed, HINGE).unwrap();
    let [tool] = scene.world.bodies.as_slice() else {
        panic!("one body")
    };
    let volume = tool.shape.mass_properties().volume;
    assert!(volume > 0.0 && (tool.mass / (8000.0 * volume) - 1.0).abs() < 1e-12);
    assert!(World::new(&scene.world).is_ok());
    let open = "mass = 0.8\ncentre = [0.12, 0, 0]\ninertia = [1.6e-4, 3.9e-3, 3.9e-3]\n\
                shape = { mesh = { file = \"meshes/screw.stl\", scale = 0.001 } }";
    let scene = meshed(open, HINGE).unwrap();
    let tool = &scene.world.bodies[0];
    assert_eq!(tool.mass, 0.8);
    assert!((tool.moments.x / 1.6e-4 - 1.0).abs() < 1e-12);
    assert!((tool.centre().position - DVec3::X * 0.12).length() < 1e-12);
    let bounds = tool.shape.bounding_box();
    assert!((bounds.max.x - 0.12).abs() < 1e-6 && (bounds.min.x + 0.12).abs() < 1e-6);
    // A part of several, whose mass is given.
    let several = open.replace(
        "shape = {",
        "shape = [{ box = [0.02, 0.02, 0.02], position = [0.25, 0, 0] }, {",
    ) + "]";
    let scene = meshed(&several, HINGE).unwrap();
    assert!(World::new(&scene.world).is_ok());
}

#[test]
fn meshes_that_cannot_be_bodies_are_refused_with_advice() {
    let open = "shape = { mesh = { file = \"meshes/screw.stl\" } }";
    let shown = meshed(open, HINGE).unwrap_err().to_string();
    assert!(shown.contains("tool.toml:6:"), "{shown}");
    assert!(
        shown.contains("not closed") && shown.contains("`centre` and `inertia`"),
        "{shown}"
    );
    let missing = "shape = { mesh = { file = \"meshes/none.stl\" } }";
    let shown = meshed(missing, HINGE).unwrap_err().to_string();
    assert!(
        shown.contains("none.stl") && shown.contains("tool.toml:6:"),
        "{shown}"
    );
    let wrong = "shape = { mesh = { file = \"drum.toml\" } }";
    let shown = meshed(wrong, HINGE).unwrap_err().to_string();
    assert!(shown.contains("cannot be used as a body"), "{shown}");
    let loose = "shape = { mesh = { file = \"meshes/rock.stl\" } }";
    let shown = meshed(loose, "").unwrap_err().to_string();
    assert!(
        shown.contains("nothing holds the body") && shown.contains("joint"),
        "{shown}"
    );
}
