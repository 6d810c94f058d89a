//! Probes of a run, tried with the program itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

fn esker(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(scene: &Path, folder: &Path, more: &[&str]) {
    let paths = [scene.to_str().unwrap(), "-o", folder.to_str().unwrap()];
    esker(&[&["run"], &paths[..], more].concat());
}

/// Grains poured on a floor, with a probe of each kind.
fn scene(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("poured.toml");
    let text = r#"
        duration = 0.6
        step = 2e-3
        record.every = 0.1
        material.glass = { density = 2500, young = 1e7 }
        [[wall]]
        name = "floor"
        shape = "plane"
        [[emitter]]
        region = { box = [[-0.04, -0.04, 0.10], [0.04, 0.04, 0.14]] }
        sizes = { mixture = [{ diameter = 0.008 }, { diameter = 0.012 }] }
        rate = { number = 200 }
        velocity = [0, 0, -0.5]
        [[probe]]
        name = "stream"
        measure = "flow"
        position = [0, 0, 0.05]
        normal = [0, 0, -1]
        every = 0.05
        [[probe]]
        name = "heap"
        measure = "bulk"
        region = { box = [[-0.03, -0.03, 0], [0.03, 0.03, 0.03]] }
        every = 0.05
        [[probe]]
        name = "load"
        measure = "wall"
        wall = "floor"
        every = 0.03
        [[probe]]
        name = "sizes"
        measure = "mixing"
        larger_than = 0.01
        cell = 0.02
        every = 0.05
        [[probe]]
        name = "reach"
        measure = "front"
        axis = [0, 0, 1]
        every = 0.05
        [[probe]]
        name = "surface"
        measure = "profile"
        position = [-0.1, 0, 0]
        direction = [1, 0, 0]
        length = 0.2
        width = 0.02
        cells = 10
        every = 0.1
    "#;
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn rows_of_a_resumed_run_are_those_of_an_unbroken_one_in_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(&dir);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    run(&scene, &whole, &[]);
    // Between two rows of every probe.
    run(&scene, &broken, &["--steps", "137"]);
    run(&scene, &broken, &["--resume"]);
    let table = |folder: &Path| std::fs::read_to_string(folder.join("probes.csv")).unwrap();
    assert_eq!(table(&whole), table(&broken));
    let recorded = |folder: &Path| {
        let folder = folder.to_str().unwrap();
        esker(&["measure", folder, "probes", "--csv"])
    };
    assert_eq!(table(&whole), recorded(&whole));
    assert_eq!(recorded(&whole), recorded(&broken));

    let table = table(&whole);
    let header = table.lines().next().unwrap();
    for column in [
        "\"stream mass_flow (kg/s)\"",
        "\"heap packing\"",
        "\"load force_z (N)\"",
        "\"surface height at 0.01 m (m)\"",
    ] {
        assert!(header.contains(column), "{header}");
    }
    // Times of all probes: 0, each 0.05 s, and each 0.03 s of the wall's.
    assert_eq!(table.lines().count(), 1 + 1 + 12 + 20 - 4);
}

#[test]
fn probes_are_in_the_measures_and_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(&dir);
    let folder = dir.path().join("run");
    run(&scene, &folder, &[]);
    let folder = folder.to_str().unwrap();
    let measured = esker(&["measure", folder, "probes", "--json"]);
    let numbers: serde_json::Value = serde_json::from_str(&measured).unwrap();
    let number = |key: &str| numbers[key].as_f64().unwrap_or_else(|| panic!("{key}"));
    assert!(number("stream_mass_kg") > 0.0 && number("stream_number") > 50.0);
    assert!(number("heap_packing") > 0.1 && number("heap_pressure_Pa") > 0.0);
    assert!(number("load_force_z_N") < 0.0);
    assert!(number("surface_height_5_m") > 0.008);
    esker(&["report", folder]);
    let page = std::fs::read_to_string(Path::new(folder).join("report.html")).unwrap();
    for title in ["stream", "heap", "load", "sizes", "reach", "surface"] {
        assert!(page.contains(&format!(">{title}</text>")), "{title}");
    }
}

#[test]
fn a_run_without_probes_has_no_table_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ball.toml");
    let text = "duration = 0.01\nmaterial.a = { density = 1, young = 1e6 }\n\
                grains = [{ place = \"column\", count = 1, diameter = 1 }]\n";
    std::fs::write(&path, text).unwrap();
    let folder = dir.path().join("run");
    run(&path, &folder, &[]);
    assert!(!folder.join("probes.csv").exists());
    let output = Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(["measure", folder.to_str().unwrap(), "probes"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("[[probe]]"),
        "{errors}"
    );
}
