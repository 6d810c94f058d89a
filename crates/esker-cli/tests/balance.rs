//! Loads of walls and the energy ledger, as a user of the program gets them.

use std::path::Path;
use std::process::Command;

use esker::record::Recording;
use serde_json::Value;

const RATE: f64 = 2.0;

/// A small drum, about a second of work.
const DRUM: &str = r#"
    duration = 2.0
    step = 2e-3
    record = { every = 0.1, energy = true }
    checkpoint = { every = 0.35 }
    material.pellet = { density = 3700, young = 6e6, poisson = 0.25 }

    [[pair]]
    materials = ["pellet", "pellet"]
    friction = 0.9
    rolling = 0.3
    restitution = 0.2

    [[wall]]
    name = "shell"
    shape = "cylinder"
    axis = [0, 1, 0]
    radius = 0.1
    length = 0.05
    caps = true
    motion = { type = "rotate", axis = [0, 1, 0], rate = 2.0 }

    [[grains]]
    place = "lattice"
    region = { cylinder = { axis = [0, 1, 0], radius = 0.098, length = 0.048 } }
    diameter = 0.012
    count = 250
"#;

fn esker(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn summary(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_run_of_a_drum_shows_loads_drives_and_a_ledger_that_closes() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("drum.toml");
    std::fs::write(&scene, DRUM).unwrap();
    let (scene, folder) = (scene.to_str().unwrap(), dir.path().join("out"));
    let text = folder.to_str().unwrap();
    let printed = esker(&["run", scene, "-o", text]);
    assert!(printed.contains("ledger (J)  from drives"), "{printed}");
    assert!(printed.contains("drive       shell: "), "{printed}");

    let whole = summary(&folder);
    let (energy, shell) = (&whole["energy"], &whole["walls"][0]);
    assert!(number(&energy["error"]).abs() < 0.01, "{energy}");
    assert_eq!(energy["drives"], shell["work"]);
    let (power, torque) = (number(&shell["power"]), number(&shell["torque"][1]));
    assert!(power > 0.0);
    assert!((power / (-torque * RATE) - 1.0).abs() < 1e-9);
    // Pellets are so soft that substeps resolve their collisions: no impacts.
    for key in ["friction", "rolling", "damping"] {
        assert!(number(&energy[key]) > 0.0, "{key}: {energy}");
    }

    // The same numbers in all other places.
    let measured: Value =
        serde_json::from_str(&esker(&["measure", text, "walls", "--json"])).unwrap();
    let frames = Recording::open(&folder.join("recording.h5")).unwrap();
    let last = frames.frame(frames.frames().len() - 1).unwrap().walls[0];
    // Reading the text may change the last bit.
    let same = |key: &str, value: f64| (number(&measured[key]) / value - 1.0).abs() < 1e-15;
    assert!(same("shell_power_W", last.load.power));
    assert!(same("shell_torque_y_N_m", last.load.torque.y));
    let max = number(&measured["shell_max_force_N"]);
    assert!(max >= last.load.force.length());
    assert!(max < 10.0 * last.load.force.length());

    esker(&["export", text, "--csv"]);
    let table = std::fs::read_to_string(folder.join("export/scalars.csv")).unwrap();
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = names.iter().position(|name| *name == "shell power (W)");
    let powers: Vec<f64> = lines
        .map(|line| line.split(',').nth(column.unwrap()).unwrap())
        .map(|cell| cell.parse().unwrap())
        .collect();
    assert_eq!(powers.len(), 1000);
    let mean = powers.iter().sum::<f64>() / powers.len() as f64;
    assert!((mean / power - 1.0).abs() < 1e-9, "{mean} {power}");

    esker(&["report", text]);
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for title in ["Force on walls", "Torque on walls", "Power of drives"] {
        assert!(page.contains(title), "{title}");
    }

    // Stopped between two frames and two checkpoints, and taken up again.
    let broken = dir.path().join("broken");
    let text = broken.to_str().unwrap();
    esker(&["run", scene, "-o", text, "--steps", "437"]);
    esker(&["run", scene, "-o", text, "--resume"]);
    let resumed = summary(&broken);
    assert_eq!(resumed["energy"], whole["energy"]);
    assert_eq!(resumed["walls"], whole["walls"]);
    let other = Recording::open(&broken.join("recording.h5")).unwrap();
    assert_eq!(other.frames().len(), frames.frames().len());
    for i in 0..frames.frames().len() {
        assert_eq!(other.frame(i).unwrap(), frames.frame(i).unwrap());
    }
}

#[test]
fn without_the_key_there_is_no_ledger_but_the_work_of_drives() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("drum.toml");
    std::fs::write(&scene, DRUM.replace(", energy = true", "")).unwrap();
    let folder = dir.path().join("out");
    let (scene, text) = (scene.to_str().unwrap(), folder.to_str().unwrap());
    let printed = esker(&["run", scene, "-o", text, "--steps", "200"]);
    assert!(!printed.contains("ledger"), "{printed}");
    assert!(printed.contains("drive       shell: "), "{printed}");
    let summary = summary(&folder);
    assert!(summary["energy"].is_null());
    assert!(number(&summary["walls"][0]["work"]) > 0.0);
}
