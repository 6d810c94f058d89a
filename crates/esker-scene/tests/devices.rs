//! What a scene says of the device that computes it, and what `check` says of that.

use esker_scene::estimate::estimate;
use esker_scene::{Device, NoFiles, Overrides, interpret, load_overridden};

const SCENE: &str = "duration = 1.0\nstep = 1e-3\n\
    material.glass = { density = 2500, young = 1e9 }\n\
    grains = [{ place = \"column\", count = 1, diameter = 0.01 }]\n\
    pair = [{ materials = [\"glass\", \"glass\"], friction = 0.5 }]\n\
    wall = [{ name = \"floor\", shape = \"plane\" }]\n";

const MIXED: &str = "device = \"gpu\"\nprecision = \"mixed\"\n";

fn notes(keys: &str) -> String {
    let scene = interpret(&format!("{keys}{SCENE}"), "scene.toml", &NoFiles);
    let scene = scene.unwrap_or_else(|errors| panic!("{errors}"));
    estimate(&scene, None).notes.join("\n")
}

/// A device of the command line came after the scene's own had been refused.
#[test]
fn a_device_that_is_stated_for_a_run_replaces_that_of_the_scene_before_it_is_judged() {
    let file = std::env::temp_dir().join(format!("esker-devices-{}.toml", std::process::id()));
    let text = format!("device = \"gpu\"\n{SCENE}solver = {{ method = \"gauss-seidel\" }}\n");
    std::fs::write(&file, text).expect("the scene is written");
    let load = |device| {
        let overrides = Overrides {
            device,
            ..Default::default()
        };
        load_overridden(&file, &NoFiles, usize::MAX, overrides)
    };
    let refused = load(None).expect_err("a GPU cannot").to_string();
    assert!(refused.contains("a GPU cannot compute"), "{refused}");
    for device in [Device::Cpu, Device::Auto] {
        let scene = load(Some(device)).expect("the CPU can").scene;
        assert_eq!(scene.run.device, device);
        assert!(scene.device_is_given);
    }
    std::fs::remove_file(&file).expect("it is there");
}

#[test]
fn no_device_is_not_the_same_as_one_that_is_stated() {
    let scene = |text: &str| interpret(text, "scene.toml", &NoFiles).expect("it is right");
    let plain = scene(SCENE);
    assert_eq!(
        (plain.run.device, plain.device_is_given),
        (Device::Cpu, false)
    );
    let stated = scene(&format!("device = \"cpu\"\n{SCENE}"));
    assert_eq!(
        (stated.run.device, stated.device_is_given),
        (Device::Cpu, true)
    );
}

#[test]
fn check_says_that_auto_leaves_a_scene_to_the_cpu() {
    let auto = "device = \"auto\"\n";
    assert!(!notes(auto).contains("processor"));
    let solver = "solver = { method = \"gauss-seidel\" }\n";
    let found = notes(&format!("{auto}{solver}"));
    assert!(
        found.contains("the processor computes this scene"),
        "{found}"
    );
}

/// It said "bits of its own" of runs whose substeps stay in double precision.
#[test]
fn check_says_where_mixed_precision_has_no_effect() {
    assert!(notes(MIXED).contains("bits of its own"));
    let cohesion = SCENE.replace("friction = 0.5", "cohesion = { energy = 0.1 }");
    let found = interpret(&format!("{MIXED}{cohesion}"), "scene.toml", &NoFiles);
    let found = estimate(&found.expect("it is right"), None)
        .notes
        .join("\n");
    assert!(found.contains("no effect: with `cohesion`"), "{found}");
    for (keys, why) in [
        ("reduction = \"on\"\n", "with `reduction`"),
        ("periodic = { x = [0, 1] }\n", "with a periodic axis"),
        ("record = { energy = true }\n", "with `record.energy`"),
        ("solver = { tolerance = 1e-3 }\n", "`solver.tolerance`"),
    ] {
        let found = notes(&format!("{MIXED}{keys}"));
        assert!(
            found.contains("no effect") && found.contains(why),
            "{found}"
        );
    }
    assert!(notes("precision = \"mixed\"\n").contains("no effect: the processor"));
}
