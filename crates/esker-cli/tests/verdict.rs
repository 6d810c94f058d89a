//! A run judges itself: in words, in `summary.json` and by its exit code.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Grains that settle in a box, as they should.
const GOOD: &str = r#"
duration = 0.4
step = 1e-3
material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
pair = [{ materials = ["glass", "glass"], friction = 0.5, restitution = 0.3 }]
wall = [{ name = "bin", shape = "box", position = [0, 0, 0.1], size = [0.08, 0.08, 0.2] }]
[[grains]]
place = "lattice"
region = { box = [[-0.04, -0.04, 0], [0.04, 0.04, 0.08]] }
diameter = 0.01
count = 200
"#;

fn esker(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

/// Exit code, verdict in `summary.json`, and what was printed.
fn run(scene: &str) -> (Option<i32>, Value, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("scene.toml"), scene).expect("the scene is written");
    let output = esker(folder.path(), &["run", "scene.toml", "-o", "out"]);
    let summary = std::fs::read(folder.path().join("out/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    let printed = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        summary["verdict"].clone(),
        String::from_utf8_lossy(&printed).into_owned(),
    )
}

#[test]
fn a_run_that_nothing_speaks_against_is_good() {
    let (code, verdict, printed) = run(GOOD);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(verdict["grade"], "good", "{printed}");
    assert!(printed.contains("verdict     good"), "{printed}");
}

#[test]
fn a_slip_of_units_is_warned_of_and_found_wrong() {
    // 70 GPa, but in Pa.
    let (code, verdict, printed) = run(&GOOD.replace("young = 5e7", "young = 70"));
    assert_eq!(code, Some(2), "{printed}");
    assert_eq!(verdict["grade"], "wrong", "{printed}");
    assert!(
        printed.contains("warning: \"glass\" and \"glass\" are too soft"),
        "{printed}"
    );
    assert!(printed.contains("`young`"), "{printed}");
}

#[test]
fn steps_far_too_long_for_the_speeds_are_not_called_good() {
    let (_, verdict, printed) = run(&GOOD.replace("step = 1e-3", "step = 0.05"));
    assert_ne!(verdict["grade"], "good", "{printed}");
}

#[test]
fn check_sees_the_fall_within_the_start_region() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A loose column of grains, 0.6 m high, on a floor where it falls apart.
    let scene = r#"
duration = 1.0
step = 5e-3
material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
pair = [{ materials = ["glass", "glass"], friction = 0.5 }]
wall = [{ name = "floor", shape = "plane" }]
[[grains]]
place = "random"
region = { box = [[-0.05, -0.05, 0], [0.05, 0.05, 0.6]] }
diameter = 0.01
count = 1000
"#;
    std::fs::write(folder.path().join("scene.toml"), scene).expect("the scene is written");
    let output = esker(folder.path(), &["check", "scene.toml", "--json"]);
    let estimate: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let speed = estimate["speed"].as_f64().expect("a speed");
    assert!((2.5..3.5).contains(&speed), "{speed}");
    let warnings = estimate["warnings"].to_string();
    assert!(warnings.contains("is coarse"), "{warnings}");
}

/// Thresholds beyond all sense froze grains as they fell, and nothing was said of it.
#[test]
fn grains_that_are_frozen_out_of_balance_are_noted_and_doubted() {
    let settings = "reduction = { rest_speed = 1e14, impact_speed = 1e15, rest_acceleration = 1e15, imbalance = 1, refresh_time = 1e15 }\n";
    let (code, verdict, printed) = run(&format!("{settings}{GOOD}"));
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(verdict["grade"], "doubtful", "{printed}");
    assert!(printed.contains("out of balance by"), "{printed}");
    let (_, verdict, printed) = run(&format!("reduction = \"on\"\n{GOOD}"));
    assert_eq!(verdict["grade"], "good", "{printed}");
}

/// Trial steps do not measure the imbalance over the threshold of the other method.
#[test]
fn summaries_leave_out_what_trial_steps_do_not_measure() {
    let scene = GOOD.replace("duration = 0.4", "duration = 0.2");
    let (_, _, printed) = run(&format!("reduction = {{ method = \"trial\" }}\n{scene}"));
    assert!(printed.contains("freezing took"), "{printed}");
    assert!(!printed.contains("of the threshold"), "{printed}");
}

/// A plunger presses a few grains of a bed by a quarter of their diameter. Where the others were frozen, the
/// mean was that of the few, and the run wrong.
#[test]
fn a_run_with_frozen_grains_is_judged_by_all_contacts() {
    let scene = r#"
duration = 2
step = 2e-3
material.glass = { density = 2500, young = 5e7 }
pair = [{ materials = ["glass", "glass"], friction = 0.6, rolling = 0.1 }]
[[wall]]
name = "bin"
shape = "box"
position = [0, 0, 0.1]
size = [0.1, 0.06, 0.2]
open = ["top"]
[[wall]]
name = "plunger"
shape = "box"
side = "outside"
position = [0, 0, 0.12]
size = [0.03, 0.03, 0.05]
motion = { type = "translate", velocity = [0, 0, -0.05], stop = 1.5 }
[[grains]]
place = "lattice"
region = { box = [[-0.05, -0.03, 0.0], [0.05, 0.03, 0.04]] }
diameter = 0.01
"#;
    for reduction in ["", "reduction = \"on\"\n"] {
        let (_, verdict, printed) = run(&format!("{reduction}{scene}"));
        assert_eq!(verdict["grade"], "doubtful", "{printed}");
    }
}
