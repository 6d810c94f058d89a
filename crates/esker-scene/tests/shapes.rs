//! Shapes of grains that are no spheres, right and wrong.

use std::io;

use esker_geometry::BodyShape;
use esker_scene::estimate::estimate;
use esker_scene::{Files, Scene, SceneErrors, interpret};
use esker_world::World;
use esker_world::definition::{Orientation, Placement, SizeDistribution};
use glam::{DQuat, DVec3};

const HEAD: &str = "duration = 1.0\nstep = 1e-3\n\
    material.glass = { density = 2500, young = 1e9 }\n";

/// Surfaces: a tetrahedron, the same inside out, and one with a dent.
struct Surfaces;

fn obj(points: &[[f64; 3]], faces: &[[usize; 3]]) -> Vec<u8> {
    let points = points.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n"));
    let faces = faces.iter().map(|[a, b, c]| format!("f {a} {b} {c}\n"));
    points.chain(faces).collect::<String>().into_bytes()
}

const CORNERS: [[f64; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [10.0, 0.0, 0.0],
    [0.0, 10.0, 0.0],
    [0.0, 0.0, 10.0],
];
const OUTWARD: [[usize; 3]; 4] = [[1, 3, 2], [1, 2, 4], [1, 4, 3], [2, 3, 4]];

impl Files for Surfaces {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match name {
            "rock.obj" => Ok(obj(&CORNERS, &OUTWARD)),
            "inside-out.obj" => Ok(obj(&CORNERS, &OUTWARD.map(|[a, b, c]| [a, c, b]))),
            "dented.obj" => {
                let mut points = CORNERS.to_vec();
                points.push([2.0, 2.0, 2.0]);
                let faces = [
                    [1, 3, 2],
                    [1, 2, 4],
                    [1, 4, 3],
                    [2, 3, 5],
                    [3, 4, 5],
                    [4, 2, 5],
                ];
                Ok(obj(&points, &faces))
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn read(shape: &str) -> Result<Scene, SceneErrors> {
    let text = format!(
        "{HEAD}[[grains]]\nplace = \"random\"\ncount = 3\n\
         region = {{ box = [[0, 0, 0], [0.2, 0.2, 0.2]] }}\n{shape}\n"
    );
    interpret(&text, "scene.toml", &Surfaces)
}

fn scene(shape: &str) -> Scene {
    read(shape).unwrap_or_else(|errors| panic!("{shape}: {errors}"))
}

fn errors(shape: &str) -> String {
    read(shape).expect_err(shape).to_string()
}

#[test]
fn every_shape_becomes_grains_of_its_volume() {
    let third = std::f64::consts::PI / 3.0;
    for (shape, volume) in [
        ("{ ellipsoid = [0.01, 0.008, 0.006] }", 4.0 * third * 4.8e-7),
        ("{ box = [0.01, 0.02, 0.03] }", 6e-6),
        (
            "{ cylinder = { radius = 0.01, length = 0.02 } }",
            3.0 * third * 2e-6,
        ),
        (
            "{ capsule = { radius = 0.01, length = 0.02 } }",
            third * (4.0 + 6.0) * 1e-6,
        ),
        (
            "{ clump = [{ radius = 0.01 }, { radius = 0.01, position = [0.03, 0, 0] }] }",
            8.0 * third * 1e-6,
        ),
        (
            "{ polyhedron = { file = \"rock.obj\", size = 0.002 } }",
            8e-6 / 6.0,
        ),
        (
            "{ polyhedron = { points = [[0, 0, 0], [0.02, 0, 0], [0, 0.02, 0], [0, 0, 0.02]] } }",
            8e-6 / 6.0,
        ),
        (
            "{ polyhedron = { file = \"dented.obj\", size = 0.002, hull = true } }",
            8e-6 / 6.0,
        ),
    ] {
        let scene = scene(&format!("shape = {shape}"));
        let world = World::new(&scene.world).unwrap_or_else(|error| panic!("{shape}: {error}"));
        assert_eq!(world.grains().len(), 3);
        for mass in world.grains().mass() {
            assert!(
                (mass / (2500.0 * volume) - 1.0).abs() < 1e-6,
                "{shape}: {mass}"
            );
        }
        let [a, b] = [0, 1].map(|i| world.grains().orientation()[i]);
        assert!(a.dot(b).abs() < 0.9999, "turned at random");
    }
}

#[test]
fn scales_and_rotations_are_those_of_the_scene() {
    let keys = "shape = { ellipsoid = [0.01, 0.005, 0.005] }\n";
    let scaled = scene(&format!("{keys}scales = {{ uniform = [0.5, 2.0] }}"));
    let radius = BodyShape::Ellipsoid {
        semi_axes: DVec3::new(0.01, 0.005, 0.005),
    }
    .volume_radius();
    let Placement::Random { sizes, .. } = &scaled.world.packings[0].placement else {
        panic!("placed at random")
    };
    let SizeDistribution::Uniform { min, max } = sizes else {
        panic!("{sizes:?}")
    };
    assert!((min / radius - 0.5).abs() < 1e-12 && (max / radius - 2.0).abs() < 1e-12);
    let turned = scene(&format!(
        "{keys}rotation = {{ axis = [0, 0, 1], degrees = 90 }}"
    ));
    let shape = turned.world.packings[0].shape.clone().expect("a shape");
    let Orientation::Given(orientation) = shape.orientation else {
        panic!("{shape:?}")
    };
    let expected = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
    assert!(orientation.dot(expected).abs() > 1.0 - 1e-12);
}

#[test]
fn shapes_that_cannot_be_are_refused_with_a_reason() {
    for (keys, parts) in [
        (
            "shape = { ellipsoid = [0.01, 0.0, 0.01] }",
            ["ellipsoid", "positive"],
        ),
        ("shape = { box = [0.01, -0.01, 0.01] }", ["box", "positive"]),
        ("shape = { }", ["ellipsoid", "needs one of"]),
        (
            "diameter = 0.01\nshape = { box = [0.01, 0.01, 0.01] }",
            ["`diameter`", "`shape`"],
        ),
        (
            "diameter = 0.01\nscale = 2.0",
            ["`scale`", "only with `shape`"],
        ),
        (
            "shape = { polyhedron = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]] } }",
            ["in one plane", "no volume"],
        ),
        (
            "shape = { polyhedron = { file = \"inside-out.obj\" } }",
            ["inside out", "hull"],
        ),
        (
            "shape = { polyhedron = { file = \"dented.obj\" } }",
            ["not convex", "hull"],
        ),
        (
            "shape = { polyhedron = { file = \"none.obj\" } }",
            ["none.obj", "file"],
        ),
        ("shape = { clump = [] }", ["clump", "at least one"]),
    ] {
        let message = errors(keys);
        for part in parts {
            assert!(
                message.contains(part),
                "{keys}: `{part}` is not in\n{message}"
            );
        }
    }
}

#[test]
fn smooth_stepping_says_that_it_knows_spheres_alone() {
    let text = format!(
        "{HEAD}solver = {{ method = \"smooth\" }}\n[[grains]]\nplace = \"random\"\ncount = 1\n\
         region = {{ box = [[0, 0, 0], [0.2, 0.2, 0.2]] }}\nshape = {{ box = [0.01, 0.01, 0.01] }}\n"
    );
    let message = match interpret(&text, "scene.toml", &Surfaces) {
        Err(errors) => errors.to_string(),
        Ok(scene) => match World::new(&scene.world) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("a world of springs and boxes"),
        },
    };
    assert!(message.contains("spheres alone"), "{message}");
}

/// Contacts of boxes were once taken for those of spheres: a run took sixty times as long as said.
#[test]
fn estimates_know_what_contacts_of_a_shape_cost() {
    let time = |shape: &str| estimate(&scene(shape), Some(1e-7)).run_time;
    let spheres = |shape: &str| {
        let grains = estimate(&scene(shape), None).grains_at_end as f64;
        3.0 * grains * 1000.0 * 25.0 * 1e-7
    };
    for shape in [
        "shape = { box = [0.01, 0.01, 0.01] }",
        "shape = { ellipsoid = [0.01, 0.005, 0.005] }",
    ] {
        let ratio = time(shape) / spheres(shape);
        assert!((10.0..40.0).contains(&ratio), "{shape}: {ratio}");
    }
}

#[test]
fn a_gpu_is_refused_where_grains_are_no_spheres_and_auto_is_not() {
    let text = |device: &str| {
        format!(
            "{HEAD}device = \"{device}\"\n[[grains]]\nplace = \"random\"\ncount = 1\n\
             region = {{ box = [[0, 0, 0], [0.2, 0.2, 0.2]] }}\nshape = {{ box = [0.01, 0.01, 0.01] }}\n"
        )
    };
    let message = interpret(&text("gpu"), "scene.toml", &Surfaces)
        .expect_err("boxes on a GPU")
        .to_string();
    assert!(message.contains("spheres only"), "{message}");
    assert!(message.contains("device = \"gpu\""), "{message}");
    let scene = interpret(&text("auto"), "scene.toml", &Surfaces).expect("boxes on the CPU");
    assert_eq!(scene.run.device, esker_scene::Device::Auto);
}
