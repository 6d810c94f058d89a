//! Runs with bodies of their own, from the command line.

use std::path::Path;
use std::process::Command;

fn esker(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.args(arguments);
    command
}

fn run(scene: &Path, folder: &Path, more: &[&str]) -> Command {
    let mut command = esker(&["run"]);
    command.arg(scene).arg("-o").arg(folder).args(more);
    command
}

fn succeed(mut command: Command) {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

const SCENE: &str = r##"
duration = 0.4
step = 1e-3
[solver]
substeps = 10
[record]
every = 0.1
contacts = true
[material.stone]
density = 2000
young = 1e7
[[pair]]
materials = ["*", "*"]
[[wall]]
name = "floor"
shape = "plane"
[[body]]
name = "slab"
shape = [{ box = [0.3, 0.3, 0.02] }, { sphere = 0.02, position = [0.1, 0, 0.03] }]
mass = 2
position = [0, 0, 0.05]
[[grains]]
place = "lattice"
region = { box = [[-0.1, -0.1, 0.15], [0.1, 0.1, 0.25]] }
diameter = 0.03
"##;

#[test]
fn a_body_is_recorded_drawn_exported_and_resumed_with_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("slab.toml");
    std::fs::write(&scene, SCENE).unwrap();
    let (whole, cut) = (dir.path().join("whole"), dir.path().join("cut"));
    succeed(run(&scene, &whole, &[]));
    succeed(run(&scene, &cut, &["--steps", "170"]));
    succeed(run(&scene, &cut, &["--resume"]));
    let summary = |folder: &Path| -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (one, other) = (summary(&whole), summary(&cut));
    assert_eq!(one["state_hash"], other["state_hash"]);
    let slab = &one["bodies"][0];
    assert_eq!(slab["name"], "slab");
    assert!(slab["position"][2].as_f64().unwrap() < 0.02, "{slab}");

    let text = whole.to_str().unwrap();
    succeed(esker(&["export", text]));
    let scalars = std::fs::read_to_string(whole.join("export/scalars.csv")).unwrap();
    let mut lines = scalars.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let force = |name: &str, row: &str| -> f64 {
        let column = names.iter().position(|cell| cell.contains(name)).unwrap();
        row.split(',').nth(column).unwrap().parse().unwrap()
    };
    // What holds the slab is the floor less the grains on it: its weight.
    let rows: Vec<&str> = lines.collect();
    let mean = |name: &str| {
        let late = &rows[rows.len() - 100..];
        late.iter().map(|row| force(name, row)).sum::<f64>() / late.len() as f64
    };
    assert!(mean("floor force_z") < -19.0, "{names:?}");
    let held = mean("slab force_z");
    assert!((held / 19.62 - 1.0).abs() < 0.02, "{held}");
    let picture = dir.path().join("picture.png");
    let mut command = esker(&["render", text, "--size", "160x120", "-o"]);
    command.arg(&picture);
    succeed(command);
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));

    // Another scene begins with its grains, and without its slab.
    let after = dir.path().join("after.toml");
    let head = SCENE.split("[[body]]").next().unwrap();
    let again = format!("{head}[[grains]]\nplace = \"run\"\nfile = \"whole\"\n");
    std::fs::write(&after, again).unwrap();
    let next = dir.path().join("next");
    succeed(run(&after, &next, &["--steps", "1"]));
    assert_eq!(summary(&next)["particles"], one["particles"]);
}
