//! What decides the course of a run, as text: two scenes that say the same
//! have the same physics, however they are written.
//!
//! Comments, white space, the order of keys, and values that are those of
//! left-out keys make no difference, and neither do keys that only say how long
//! a run lasts and what is kept of it. So a run can be continued with its scene
//! in better words, for a longer time, or with other recordings.

use esker_world::definition::WorldDef;

use crate::format::SCENE;
use crate::keys::{Key, Kind, Section};
use crate::notes::idle_precision;
use crate::scene::{DevicePrecision, RunDef};
use crate::walk::{Node, Value, default_value};

/// Keys of the top level that do not act on grains.
const WITHOUT_EFFECT: [&str; 6] = [
    "name",
    "duration",
    "device",
    "precision",
    "record",
    "checkpoint",
];

/// Keys of sections that only pictures know.
const OF_PICTURES: [&str; 1] = ["color"];

/// All values that act on grains and differ from what a left-out key means:
/// `path = value`, in the order of the format. The precision of a GPU changes the bits of a run, and
/// is one of them where a GPU may make whole steps of it, whoever states either.
pub(crate) fn physics(root: &Node, world: &WorldDef, run: &RunDef) -> Vec<String> {
    let mut lines = Vec::new();
    let acting = |key: &&Key| !WITHOUT_EFFECT.contains(&key.name);
    for key in SCENE.keys.iter().filter(acting) {
        add_key(root, key, &mut lines);
    }
    if run.precision == DevicePrecision::Mixed && idle_precision(world, run).is_none() {
        lines.push("precision = \"mixed\"".to_owned());
    }
    lines
}

fn add_section(node: &Node, section: &'static Section, lines: &mut Vec<String>) {
    let acting = |key: &&Key| !OF_PICTURES.contains(&key.name);
    for key in section.keys.iter().filter(acting) {
        add_key(node, key, lines);
    }
}

fn add_key(node: &Node, key: &'static Key, lines: &mut Vec<String>) {
    let Some(value) = node.get(key.name) else {
        return;
    };
    match (value, &key.kind) {
        (Value::Table(inner), Kind::Table(section)) => add_section(inner, section, lines),
        (Value::Table(inner), Kind::Switch(section)) => {
            // On is something, whatever is left out.
            lines.push(format!("[{}]", inner.path));
            add_section(inner, section, lines);
        }
        (Value::List(nodes), Kind::List(section)) => {
            for inner in nodes {
                // A section of which everything is left out is there all the same.
                lines.push(format!("[{}]", inner.path));
                add_section(inner, section, lines);
            }
        }
        (Value::Named(nodes), Kind::Named(section)) => {
            for (_, inner) in nodes {
                lines.push(format!("[{}]", inner.path));
                add_section(inner, section, lines);
            }
        }
        (value, _) => {
            let text = in_words(value);
            let path = node.at(key.name);
            let default = default_value(key, &path);
            if default.is_none_or(|default| in_words(&default) != text) {
                lines.push(format!("{path} = {text}"));
            }
        }
    }
}

/// A value as text that another value does not have.
fn in_words(value: &Value) -> String {
    match value {
        Value::Number(x) => format!("{x:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Texts(texts) => format!("{texts:?}"),
        Value::Vector(v) => format!("{:?}", v.to_array()),
        Value::Numbers(numbers) => format!("{numbers:?}"),
        Value::Vectors(vectors) => {
            let arrays: Vec<_> = vectors.iter().map(|v| v.to_array()).collect();
            format!("{arrays:?}")
        }
        // Sections are told line by line.
        Value::Table(_) | Value::List(_) | Value::Named(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, DevicePrecision, NoFiles, Overrides, check_overridden, interpret};

    const SCENE: &str = r#"
        duration = 1.0
        step = 1e-3
        seed = 1
        material.glass = { density = 2500, young = 5e9 }
        [[pair]]
        materials = ["glass", "glass"]
        friction = 0.4
        [[wall]]
        shape = "plane"
        [[grains]]
        place = "column"
        count = 3
        diameter = 0.01
    "#;

    fn physics(text: &str) -> Vec<String> {
        interpret(text, "s.toml", &NoFiles).unwrap().physics
    }

    #[test]
    fn other_words_for_the_same_scene_have_the_same_physics() {
        for (from, to) in [
            ("duration = 1.0", "duration = 5 # longer\nname = \"a name\""),
            ("duration = 1.0", "duration = 1.0\ndevice = \"auto\""),
            (
                "seed = 1",
                "record = { every = 0.1 }\ncheckpoint = { every = 0.2 }",
            ),
            ("step = 1e-3", "step = 0.001"),
            (
                "density = 2500, young = 5e9",
                "young = 5_000_000_000, density = 2.5e3",
            ),
            ("young = 5e9", "young = 5e9, color = \"red\""),
            ("friction = 0.4", "restitution = 0.0\nfriction = 0.40"),
            (
                "count = 3\n        diameter = 0.01",
                "diameter = 0.01\n\n count = 3",
            ),
        ] {
            assert!(SCENE.contains(from));
            assert_eq!(physics(SCENE), physics(&SCENE.replace(from, to)), "{to}");
        }
    }

    /// A precision was physics on a CPU, which has only one, and none where the command line
    /// stated it.
    #[test]
    fn a_precision_is_physics_where_a_gpu_may_compute_whoever_states_it() {
        let with = |keys: &str| physics(&SCENE.replace("seed = 1", keys));
        assert_eq!(with("precision = \"mixed\""), physics(SCENE));
        let on_gpu = with("device = \"auto\"\nprecision = \"mixed\"");
        assert!(on_gpu.contains(&"precision = \"mixed\"".to_owned()));
        let text = SCENE.replace("seed = 1", "device = \"gpu\"");
        let stated = |device, precision| {
            let overrides = Overrides { device, precision };
            let checked = check_overridden(&text, "s.toml", &NoFiles, (usize::MAX, overrides));
            checked.unwrap().scene.physics
        };
        assert_eq!(stated(None, Some(DevicePrecision::Mixed)), on_gpu);
        let on_cpu = stated(Some(Device::Cpu), Some(DevicePrecision::Mixed));
        assert_eq!(on_cpu, physics(SCENE));
    }

    #[test]
    fn another_number_another_wall_or_another_step_is_other_physics() {
        for (from, to) in [
            ("step = 1e-3", "step = 2e-3"),
            ("friction = 0.4", "friction = 0.5"),
            ("seed = 1", "seed = 2"),
            (
                "shape = \"plane\"",
                "shape = \"plane\"\n[[wall]]\nshape = \"plane\"",
            ),
            ("young = 5e9", "young = 5e8"),
        ] {
            assert!(SCENE.contains(from));
            assert_ne!(physics(SCENE), physics(&SCENE.replace(from, to)), "{to}");
        }
    }
}
