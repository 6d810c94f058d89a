//! `[[body]]`: what scenes say of single rigid bodies.

use std::path::Path;

use esker_geometry::BodyShape;
use esker_scene::{Scene, SceneErrors, estimate};
use esker_world::definition::VectorOfTime;
use glam::DVec3;

const HEAD: &str = r#"
duration = 1.0
step = 1e-3
[material.steel]
density = 8000
young = 1e9
[[wall]]
name = "floor"
shape = "plane"
"#;

fn read(body: &str) -> Result<Scene, SceneErrors> {
    esker_scene::parse(&format!("{HEAD}{body}"), "body.toml", Path::new("."))
}

fn refusal(body: &str) -> String {
    read(body).expect_err("accepted").to_string()
}

#[test]
fn a_body_has_the_mass_of_its_shape_and_stands_where_it_is_put() {
    let scene = read(
        r#"
[[body]]
name = "block"
shape = { box = [0.3, 0.2, 0.1] }
position = [1, 2, 3]
rotation = { axis = [0, 0, 1], degrees = 90 }
velocity = [1, 0, 0]
angular_velocity = [0, 0, 2]
locked = ["y", "rotation-x"]
force = [1, 2, 3]
torque_table = { times = [0, 1], values = [[0, 0, 0], [0, 0, 1]] }
"#,
    )
    .unwrap();
    let body = &scene.world.bodies[0];
    assert!((body.mass - 48.0).abs() < 1e-12);
    let moments = 4.0 * DVec3::new(0.04 + 0.01, 0.09 + 0.01, 0.09 + 0.04);
    assert!((body.moments - moments).length() < 1e-12);
    assert_eq!(body.pose.position, DVec3::new(1.0, 2.0, 3.0));
    assert!((body.pose.rotate(DVec3::X) - DVec3::Y).length() < 1e-15);
    assert_eq!(body.locks.translation, [false, true, false]);
    assert_eq!(body.locks.rotation, [true, false, false]);
    assert_eq!(body.force.at(0.3), DVec3::new(1.0, 2.0, 3.0));
    assert_eq!(body.torque.at(0.25), DVec3::Z * 0.25);
    assert!(matches!(body.torque, VectorOfTime::Table { .. }));
}

#[test]
fn several_shapes_make_one_body_with_a_frame_of_its_own() {
    let scene = read(
        r#"
[[body]]
name = "dumbbell"
mass = 4
position = [0, 0, 1]
shape = [
    { sphere = 0.1, position = [0.5, 0, 0] },
    { sphere = 0.1, position = [1.5, 0, 0] },
]
"#,
    )
    .unwrap();
    let body = &scene.world.bodies[0];
    let BodyShape::Compound(compound) = &body.shape else {
        panic!("{:?}", body.shape);
    };
    assert_eq!(compound.parts().len(), 2);
    let mut moments = body.moments.to_array();
    moments.sort_by(f64::total_cmp);
    let (along, across) = (4.0 * 0.4 * 0.01, 4.0 * (0.4 * 0.01 + 0.25));
    for (got, expected) in moments.iter().zip([along, across, across]) {
        assert!((got / expected - 1.0).abs() < 1e-12, "{moments:?}");
    }
    let centre = body.centre().position;
    assert!(
        (centre - DVec3::new(1.0, 0.0, 1.0)).length() < 1e-14,
        "{centre}"
    );
    assert_eq!(
        estimate::estimate(&scene, None).notes.len(),
        1,
        "the pair has no law"
    );
}

#[test]
fn given_mass_properties_are_taken() {
    let scene = read(
        r#"
[[body]]
name = "tumbler"
shape = { box = [0.2, 0.2, 0.2] }
position = [0, 0, 1]
mass = 2
centre = [0, 0, -0.05]
inertia = [0.02, 0.03, 0.04]
"#,
    )
    .unwrap();
    let body = &scene.world.bodies[0];
    assert!((body.moments - DVec3::new(0.02, 0.03, 0.04)).length() < 1e-12);
    let centre = body.centre().position;
    assert!((centre - DVec3::Z * 0.95).length() < 1e-14);
}

#[test]
fn what_a_scene_may_not_mean_is_said() {
    let scene = read(
        r#"
[[body]]
name = "angle"
position = [0, 0, 1]
shape = [{ box = [0.2, 0.2, 0.2] }, { box = [0.2, 0.2, 0.2], position = [0.15, 0, 0] }]
force_table = { times = [0, 0.5], values = [[0, 0, 0], [0, 0, 1]] }
"#,
    )
    .unwrap();
    let notes = estimate::estimate(&scene, None).notes.join("\n");
    assert!(
        notes.contains("shapes 1 and 2 of body \"angle\" overlap by 0.05 m"),
        "{notes}"
    );
    assert!(
        notes.contains("force_table of body \"angle\" ends at 0.5 s"),
        "{notes}"
    );
}

#[test]
fn wrong_bodies_are_refused_with_line_and_advice() {
    let body = |rest: &str| {
        refusal(&format!(
            "[[body]]\nname = \"block\"\nposition = [0, 0, 1]\nshape = {{ box = [0.2, 0.2, 0.2] }}\n{rest}"
        ))
    };
    let text = body("inertia = [1, 1, 3]");
    assert!(text.contains("body.toml:14"), "{text}");
    assert!(
        text.contains("greater than the two others together"),
        "{text}"
    );
    let text = body("inertia = [1, 1, 0]");
    assert!(text.contains("must be positive"), "{text}");
    let text = body("inertia = [1, 1]");
    assert!(text.contains("[xx, yy, zz, xy, xz, yz]"), "{text}");
    let text = body("centre = [0, 0, 0.1]");
    assert!(text.contains("without `inertia`"), "{text}");
    let text = body("mass = 1\ndensity = 1");
    assert!(text.contains("mass") && text.contains("density"), "{text}");
    let text = body("locked = [\"w\"]");
    assert!(text.contains("rotation-x"), "{text}");
    let text = body("locked = [\"x\"]\nvelocity = [1, 0, 0]");
    assert!(text.contains("locked axis"), "{text}");
    let text = body("force_table = { times = [1, 0], values = [[0, 0, 0], [0, 0, 1]] }");
    assert!(text.contains("does not increase"), "{text}");
    let text =
        refusal("[[body]]\nname = \"floor\"\nshape = { sphere = 0.1 }\nposition = [0, 0, 1]");
    assert!(text.contains("taken already"), "{text}");
    let text =
        refusal("[[body]]\nname = \"ball\"\nshape = { sphere = 0.1 }\nposition = [0, 0, 0.08]");
    assert!(
        text.contains("body \"ball\" reaches 20.000 mm into wall \"floor\""),
        "{text}"
    );
    let text = refusal("[[body]]\nname = \"none\"\nshape = []");
    assert!(text.contains("at least one shape"), "{text}");
}
