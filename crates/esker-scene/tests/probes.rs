//! Probes in scenes: what is read, and what is refused with the right words.

use std::path::Path;

use esker_probe::{Class, OpeningShape, Quantity};
use esker_scene::{Scene, SceneErrors, parse};
use glam::DVec3;

const HEAD: &str = r#"duration = 2.0
material.ore = { density = 3000, young = 1e7 }
material.steel = { young = 1e8 }
[[wall]]
name = "floor"
shape = "plane"
material = "steel"
[[grains]]
place = "column"
material = "ore"
count = 3
diameter = 0.01
[[probe]]
"#;

fn read(probe: &str) -> Result<Scene, SceneErrors> {
    parse(&format!("{HEAD}{probe}"), "scene.toml", Path::new("."))
}

fn quantity(probe: &str) -> Quantity {
    let scene = read(probe).unwrap_or_else(|errors| panic!("{errors}"));
    scene.probes[0].quantity.clone()
}

fn refused(probe: &str) -> String {
    read(probe).expect_err(probe).to_string()
}

#[test]
fn a_probe_without_interval_gives_a_hundred_rows() {
    let scene = read("measure = \"wall\"\nwall = \"floor\"").unwrap();
    assert_eq!(scene.probes[0].name, "probe.0");
    assert_eq!(scene.probes[0].every, 0.02);
    assert_eq!(scene.probes[0].quantity, Quantity::Wall { wall: 0 });
}

#[test]
fn openings_are_planes_discs_and_rectangles() {
    let shape = |more: &str| {
        let text = format!("measure = \"flow\"\nnormal = [0, 0, -2]\n{more}");
        match quantity(&text) {
            Quantity::Flow(opening) => {
                assert_eq!(opening.normal, -DVec3::Z);
                opening.shape
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(shape(""), OpeningShape::Plane);
    assert_eq!(shape("radius = 0.1"), OpeningShape::Disc { radius: 0.1 });
    let rectangle = |along| OpeningShape::Rectangle {
        size: [0.2, 0.1],
        along,
    };
    assert_eq!(shape("size = [0.2, 0.1]"), rectangle(DVec3::X));
    let turned = shape("size = [0.2, 0.1]\nalong = [0, 3, 1]");
    assert_eq!(turned, rectangle(DVec3::Y));
}

#[test]
fn classes_are_materials_or_sizes() {
    let class = |key: &str| match quantity(&format!("measure = \"mixing\"\ncell = 0.05\n{key}")) {
        Quantity::Mixing { class, .. } => class,
        other => panic!("{other:?}"),
    };
    assert_eq!(class("material = \"ore\""), Class::Material(0));
    assert_eq!(class("larger_than = 0.008"), Class::LargerThan(0.008));
}

#[test]
fn what_is_wrong_is_named_with_advice() {
    for (probe, words) in [
        (
            "measure = \"wall\"\nwall = \"flor\"",
            "did you mean \"floor\"?",
        ),
        ("measure = \"bulk\"", "`region` is missing"),
        (
            "measure = \"bulk\"\nregion = { box = [[0, 0, 0], [1, 1, 0]] }",
            "no volume",
        ),
        ("measure = \"flow\"", "`normal` is missing"),
        (
            "measure = \"flow\"\nnormal = [0, 0, 1]\nsize = [1, 2, 3]",
            "two numbers greater than 0",
        ),
        (
            "measure = \"flow\"\nnormal = [0, 0, 1]\nsize = [1, 2]\nalong = [0, 0, 1]",
            "not a direction in it",
        ),
        (
            "measure = \"flow\"\nnormal = [0, 0, 1]\nsize = [1, 2]\nradius = 3",
            "exclude one another",
        ),
        ("measure = \"mixing\"\ncell = 1", "needs one of `material`"),
        (
            "measure = \"mixing\"\ncell = 1\nmaterial = \"or\"",
            "did you mean \"ore\"?",
        ),
        ("measure = \"front\"", "needs one of `direction`, `axis`"),
        (
            "measure = \"profile\"\nlength = 1",
            "`direction` is missing",
        ),
        (
            "measure = \"profile\"\nlength = 1\ndirection = [0, 0, 1]",
            "upright",
        ),
        (
            "measure = \"front\"\ndirection = [1, 0, 0]\nname = \"a/b\"",
            "without `/`",
        ),
        ("measure = \"fronts\"", "did you mean \"front\"?"),
        ("measure = \"wall\"\nwall = \"floor\"\ncell = 1", "cell"),
    ] {
        let text = refused(probe);
        assert!(text.contains(words), "{probe}\n{text}");
    }
}

#[test]
fn a_front_along_a_periodic_axis_is_refused() {
    let read = |probe: &str| {
        let text = format!("periodic = {{ x = [-0.5, 0.5] }}\n{HEAD}measure = \"front\"\n{probe}");
        parse(&text, "scene.toml", Path::new("."))
    };
    for (key, across, along) in [
        ("direction", "[0, 1, 0]", "[1, 0, 1]"),
        ("axis", "[1, 0, 0]", "[0, 0, 1]"),
    ] {
        let good = read(&format!("{key} = {across}"));
        assert!(good.is_ok(), "{}", good.unwrap_err());
        let text = read(&format!("{key} = {along}")).unwrap_err().to_string();
        assert!(
            text.contains("along x, where the world is periodic"),
            "{text}"
        );
        assert!(text.contains(&format!("{key} = {along}")), "{text}");
    }
}
