//! Scenes that begin with what an earlier run left: fill once, try many openings.

use std::path::Path;
use std::process::{Command, Output};

use esker::record::{Checkpoint, CheckpointStore};
use esker::world::WorldState;
use serde_json::Value;
use tempfile::TempDir;

/// Glass and lead settle in a tube on a floor.
const FILL: &str = r#"
    duration = 0.3
    step = 1e-3
    record = { every = 0.1, fields = ["position", "velocity", "spin", "radius", "material"], precision = "double" }
    material.glass = { density = 2500, young = 1e7 }
    material.lead = { density = 11000, young = 1e7 }
    [[wall]]
    name = "tube"
    shape = "cylinder"
    material = "glass"
    position = [0, 0, 0.2]
    radius = 0.04
    length = 0.4
    [[wall]]
    name = "floor"
    shape = "plane"
    material = "glass"
    [[grains]]
    place = "lattice"
    material = "glass"
    region = { cylinder = { position = [0, 0, 0.03], radius = 0.039, length = 0.058 } }
    diameter = 0.01
    [[grains]]
    place = "lattice"
    material = "lead"
    region = { cylinder = { position = [0, 0, 0.08], radius = 0.039, length = 0.03 } }
    diameter = 0.012
"#;

struct Bench {
    dir: TempDir,
}

impl Bench {
    /// A folder in which the tube has been filled.
    fn filled() -> Self {
        let bench = Bench {
            dir: tempfile::tempdir().unwrap(),
        };
        bench.write("fill.toml", FILL);
        bench.succeed(&["run", "fill.toml", "-o", "filled"]);
        bench
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn esker(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_esker"))
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }

    fn succeed(&self, arguments: &[&str]) -> Output {
        let output = self.esker(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        output
    }

    /// Writes a scene with other grains and walls than the filling, runs it and
    /// returns its summary.
    fn run(&self, name: &str, text: &str) -> Value {
        let file = format!("{name}.toml");
        self.write(&file, text);
        let output = self.succeed(&["run", &file, "-o", name, "--force", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn state(&self, folder: &str) -> WorldState {
        let newest = CheckpointStore::new(self.path(folder)).list().unwrap();
        Checkpoint::read(&newest[0]).unwrap().state
    }
}

/// The filling with its grains replaced, and more changes.
fn next(grains: &str, changes: &[(&str, &str)]) -> String {
    let start = FILL.find("[[grains]]").unwrap();
    let mut text = format!("{}\n{grains}\n", &FILL[..start]);
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

const BEGIN: &str = "[[grains]]\nplace = \"run\"\nfile = \"filled\"";
const FLOOR: &str = "name = \"floor\"\n    shape = \"plane\"";

#[test]
fn a_filled_tube_is_opened_again_and_again() {
    let bench = Bench::filled();
    let before = bench.state("filled");
    let count = before.grains.len() as u64;
    assert!(count > 150);

    let closed = bench.run(
        "closed",
        &next(BEGIN, &[("duration = 0.3", "duration = 2e-3")]),
    );
    assert_eq!(closed["particles"], count);
    // A moment later every grain is what it was, nearly where it was.
    let after = bench.state("closed");
    let by_place = |state: &WorldState| {
        let mut grains = state.grains.clone();
        grains.sort_by_key(|grain| (grain.mass.to_bits(), grain.id));
        grains
    };
    for (a, b) in by_place(&before).iter().zip(by_place(&after)) {
        assert_eq!(
            (a.mass, a.radius, a.material),
            (b.mass, b.radius, b.material)
        );
        assert!(a.position.distance(b.position) < 1e-3, "{a:?} {b:?}");
    }

    // The floor goes, or makes way by half.
    let sink = "[[sink]]\nregion = { box = [[-1, -1, -2], [1, 1, -0.3]] }";
    let open = format!("{BEGIN}\n{sink}");
    let gone = "name = \"floor\"\n    shape = \"plane\"\n    position = [0, 0, -9]";
    let open = bench.run("open", &next(&open, &[(FLOOR, gone), ("= 0.3", "= 0.5")]));
    assert_eq!(open["removed"], count);

    // Other laws and other materials by the same names.
    let law = "[[pair]]\nmaterials = [\"glass\", \"lead\"]\nfriction = 0.1";
    let other = bench.run(
        "lighter",
        &next(
            &format!("{law}\n{BEGIN}"),
            &[("density = 11000", "density = 3000"), ("= 0.3", "= 0.01")],
        ),
    );
    assert_eq!(other["particles"], count);
    let mass = |state: &WorldState| state.grains.iter().map(|g| g.mass).sum::<f64>();
    assert!(mass(&bench.state("lighter")) < 0.7 * mass(&before));
}

#[test]
fn a_moment_a_region_and_rest_are_chosen() {
    let bench = Bench::filled();
    let brief = ("duration = 0.3", "duration = 1e-3");
    let begin = |more: &str| next(&format!("{BEGIN}\n{more}"), &[brief]);
    let height = |folder: &str| {
        let heights = bench.state(folder).grains.into_iter().map(|g| g.position.z);
        heights.fold(0.0, f64::max)
    };
    bench.run("first", &begin("at = 0.0"));
    bench.run("last", &begin(""));
    assert!(height("first") > height("last") + 1e-3);

    let part = bench.run(
        "part",
        &begin("within = { box = [[-1, -1, 0], [0, 1, 1]] }"),
    );
    let all = bench.state("filled").grains;
    let left = all.iter().filter(|g| g.position.x <= 0.0).count();
    assert_eq!(part["particles"], left);

    // In the first frame after the fall began, everything moves.
    let fast = |folder: &str| {
        let speeds = bench
            .state(folder)
            .grains
            .into_iter()
            .map(|g| g.velocity.length());
        speeds.fold(0.0, f64::max)
    };
    bench.run("moving", &begin("velocity = [0, 0, -1]"));
    bench.run("resting", &begin("at = 0.1\nvelocities = \"zero\""));
    assert!(fast("moving") > 0.5 && fast("resting") < 0.5);

    // Checkpoints and recordings by name; a run continues as any other does.
    let newest = CheckpointStore::new(bench.path("filled")).list().unwrap();
    let newest = newest[0].strip_prefix(bench.dir.path()).unwrap().display();
    for file in [newest.to_string(), "filled/recording.h5".to_owned()] {
        let text = next(&BEGIN.replace("filled", &file), &[("= 0.3", "= 0.02")]);
        assert_eq!(bench.run("named", &text)["particles"], all.len());
    }
    let text = next(BEGIN, &[("= 0.3", "= 0.02")]);
    let whole = bench.run("whole", &text);
    bench.succeed(&["run", "whole.toml", "-o", "broken", "--steps", "7"]);
    let resumed = bench.succeed(&["run", "whole.toml", "-o", "broken", "--resume", "--json"]);
    let resumed: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!(resumed["state_hash"], whole["state_hash"]);
}

#[test]
fn what_is_missing_is_named() {
    let bench = Bench::filled();
    let lead = "material.lead = { density = 11000, young = 1e7 }\n";
    for (grains, changes, message) in [
        (BEGIN.to_owned(), vec![(lead, "")], "no material \"lead\""),
        (BEGIN.replace("filled", "nothing"), vec![], "nothing"),
        (
            format!("{BEGIN}\nwithin = {{ box = [[5, 5, 5], [6, 6, 6]] }}"),
            vec![],
            "`within`",
        ),
        (
            format!("{BEGIN}\nmaterial = \"tin\""),
            vec![],
            "no material \"tin\"",
        ),
    ] {
        bench.write("wrong.toml", &next(&grains, &changes));
        let output = bench.esker(&["check", "wrong.toml"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{message}");
        assert!(
            told.contains(message) && told.contains("wrong.toml:"),
            "{told}"
        );
    }
    // One material for all of them needs no names.
    let one = next(
        &format!("{BEGIN}\nmaterial = \"glass\""),
        &[(lead, ""), ("= 0.3", "= 1e-3")],
    );
    assert!(bench.run("one", &one)["particles"].as_u64() > Some(150));
}

#[test]
fn exported_grains_are_read_back() {
    let bench = Bench::filled();
    bench.succeed(&["export", "filled", "--csv"]);
    let table = std::fs::read_to_string(bench.path("filled/export/grains.csv")).unwrap();
    let header = "id,x,y,z,radius,vx,vy,vz,wx,wy,wz,material";
    assert_eq!(table.lines().next(), Some(header));
    let text = "[[grains]]\nplace = \"csv\"\nfile = \"filled/export/grains.csv\"";
    let brief = [("duration = 0.3", "duration = 5e-3")];
    let from_table = bench.run("table", &next(text, &brief));
    // The recording is in double precision: the same grains to the last bit.
    let from_run = bench.run("run", &next(BEGIN, &brief));
    assert_eq!(from_table["state_hash"], from_run["state_hash"]);
    assert!(Path::new(&bench.path("filled/export/scalars.csv")).exists());
}

/// Rods and spheres settle in the tube of the filling.
fn rods() -> String {
    let rods = r#"
    [[grains]]
    place = "lattice"
    material = "glass"
    region = { cylinder = { position = [0, 0, 0.04], radius = 0.039, length = 0.075 } }
    shape = { capsule = { radius = 0.004, length = 0.008 } }
    count = 12
    [[grains]]
    place = "lattice"
    material = "lead"
    region = { cylinder = { position = [0, 0, 0.1], radius = 0.039, length = 0.02 } }
    diameter = 0.01
    "#;
    next(rods, &[("duration = 0.3", "duration = 0.05")])
}

/// From a checkpoint they go on to the last bit; from a recording as it has them.
#[test]
fn grains_that_are_no_spheres_keep_shape_and_orientation() {
    let bench = Bench {
        dir: tempfile::tempdir().unwrap(),
    };
    bench.run("filled", &rods());
    let left = bench.state("filled");
    let rods_of = |state: &WorldState| -> Vec<_> {
        let grains = state.grains.iter().filter(|grain| grain.shape > 0);
        let mut rods: Vec<_> = grains
            .map(|g| (g.position, g.orientation, g.radius))
            .collect();
        rods.sort_by(|a, b| a.0.to_array().partial_cmp(&b.0.to_array()).unwrap());
        rods
    };
    assert_eq!(rods_of(&left).len(), 12);
    // One step so short that nothing moves by more than rounding.
    let still = [
        ("duration = 0.3", "duration = 1e-9"),
        ("step = 1e-3", "step = 1e-9"),
    ];
    for (name, file) in [
        ("from-checkpoint", "filled"),
        ("from-recording", "filled/recording.h5"),
    ] {
        let begin = format!("[[grains]]\nplace = \"run\"\nfile = \"{file}\"");
        bench.run(name, &next(&begin, &still));
        let taken = bench.state(name);
        assert_eq!(taken.grains.len(), left.grains.len());
        for (taken, left) in rods_of(&taken).iter().zip(rods_of(&left)) {
            assert!(
                taken.0.distance(left.0) < 1e-8,
                "{name}: {taken:?} {left:?}"
            );
            assert!(
                taken.1.dot(left.1).abs() > 1.0 - 1e-12,
                "{name}: {taken:?} {left:?}"
            );
            assert!(
                (taken.2 / left.2 - 1.0).abs() < 1e-12,
                "{name}: {taken:?} {left:?}"
            );
        }
    }
}

/// A checkpoint alone does not say what its shapes are.
#[test]
fn a_checkpoint_of_shaped_grains_without_its_recording_is_refused() {
    let bench = Bench {
        dir: tempfile::tempdir().unwrap(),
    };
    bench.run("filled", &rods());
    std::fs::remove_file(bench.path("filled/recording.h5")).unwrap();
    bench.write("next.toml", &next(BEGIN, &[]));
    let output = bench.esker(&["check", "next.toml"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        told.contains("the shapes of its grains are in the recording"),
        "{told}"
    );
}
