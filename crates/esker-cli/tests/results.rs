//! What a run leaves behind, tried with the program itself: exact restarts,
//! kills, a full disk, exports and reports.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use esker::record::Recording;
use tempfile::TempDir;

fn esker(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.args(arguments);
    command
}

fn run(scene: &Path, folder: &Path, more: &[&str]) -> Command {
    let mut command = esker(&[
        "run",
        scene.to_str().unwrap(),
        "-o",
        folder.to_str().unwrap(),
    ]);
    command.args(more);
    command
}

fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    output
}

/// `state_hash` of a finished run.
fn hash(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["state_hash"].as_str().unwrap().to_owned()
}

/// Grains poured onto a shaken plate; a second of work in many steps.
fn busy_scene(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("busy.toml");
    let text = r#"
        duration = 1.2
        step = 2e-3
        material.glass = { density = 2500, young = 1e8 }
        record = { every = 0.02, contacts = true }
        checkpoint = { every = 0.05 }
        [[wall]]
        shape = "plane"
        motion = { type = "oscillate", direction = [0, 0, 1], amplitude = 5e-4, frequency = 12 }
        [[emitter]]
        region = { box = [[-0.04, -0.04, 0.04], [0.04, 0.04, 0.08]] }
        diameter = 0.008
        rate = { number = 300 }
        velocity = [0, 0, -0.5]
    "#;
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_shipped_scene_resumes_with_identical_bits() {
    let dir = tempfile::tempdir().unwrap();
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut count = 0;
    for entry in std::fs::read_dir(scenes).unwrap() {
        let scene = entry.unwrap().path();
        if scene.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let name = scene.file_stem().unwrap().to_str().unwrap().to_owned();
        let (whole, broken) = (
            dir.path().join(&name),
            dir.path().join(name.clone() + "-broken"),
        );
        succeed(run(&scene, &whole, &["--steps", "30"]));
        succeed(run(&scene, &broken, &["--steps", "17", "--threads", "1"]));
        succeed(run(
            &scene,
            &broken,
            &["--steps", "30", "--resume", "--threads", "2"],
        ));
        assert_eq!(hash(&whole), hash(&broken), "{name}");
        count += 1;
    }
    assert!(count >= 8);
}

/// A run that is killed as soon as one of its files grows beyond a size, in the
/// midst of that write: an event of the run's own, whatever the machine does.
#[cfg(unix)]
fn run_until_size(scene: &Path, folder: &Path, how: &str, bytes: u64) -> std::process::ExitStatus {
    // The shell counts in blocks of 512 bytes and leaves no core behind.
    let script = "ulimit -c 0; ulimit -f \"$4\"; exec \"$0\" run \"$1\" -o \"$2\" \"$3\"";
    Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_esker")])
        .args([scene, folder])
        .args([how, &(bytes / 512).to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn a_run_killed_twenty_times_ends_as_if_nothing_had_happened() {
    use std::os::unix::process::ExitStatusExt;
    const KILLS: u64 = 20;
    let dir = tempfile::tempdir().unwrap();
    let scene = busy_scene(&dir);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    succeed(run(&scene, &whole, &[]));
    let size = std::fs::metadata(whole.join("recording.h5")).unwrap().len();
    let mut resumed = 0;
    for kill in 1..=KILLS {
        let has_checkpoint = broken.read_dir().is_ok_and(|mut entries| {
            entries.any(|e| e.unwrap().path().extension().is_some_and(|e| e == "esker"))
        });
        let how = if has_checkpoint {
            "--resume"
        } else {
            "--force"
        };
        resumed += usize::from(has_checkpoint);
        let status = run_until_size(&scene, &broken, how, size * kill / (KILLS + 1));
        assert!(status.signal().is_some(), "kill {kill}: {status}");
        if has_checkpoint {
            let recording = Recording::open(&broken.join("recording.h5")).unwrap();
            (0..recording.frames().len()).for_each(|i| drop(recording.frame(i).unwrap()));
        }
    }
    assert!(
        resumed >= 10,
        "only {resumed} kills hit a run with a checkpoint"
    );
    succeed(run(&scene, &broken, &["--resume"]));
    assert_eq!(hash(&whole), hash(&broken));
    let [a, b] = [&whole, &broken].map(|f| Recording::open(&f.join("recording.h5")).unwrap());
    assert_eq!(a.frames().len(), b.frames().len());
    for i in 0..a.frames().len() {
        assert_eq!(a.frame(i).unwrap(), b.frame(i).unwrap());
    }
}

/// The shell limits the size of files: what a full disk does, without one.
#[cfg(unix)]
#[test]
fn a_recording_that_cannot_grow_stops_the_run_and_keeps_its_frames() {
    let dir = tempfile::tempdir().unwrap();
    let scene = busy_scene(&dir);
    let folder = dir.path().join("out");
    let script = "trap '' XFSZ; ulimit -f 500; exec \"$0\" run \"$1\" -o \"$2\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_esker")])
        .args([&scene, &folder])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("largest size"), "{message}");
    let recording = Recording::open(&folder.join("recording.h5")).unwrap();
    assert!(recording.frames().len() > 3);
    (0..recording.frames().len()).for_each(|i| drop(recording.frame(i).unwrap()));
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_older_one_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let scene = busy_scene(&dir);
    let folder = dir.path().join("out");
    succeed(run(&scene, &folder, &["--steps", "60"]));
    let newest = folder.join("checkpoint-00000000000000000060.esker");
    let bytes = std::fs::read(&newest).unwrap();
    std::fs::write(&newest, &bytes[..bytes.len() - 1]).unwrap();
    let output = succeed(run(&scene, &folder, &["--steps", "60", "--resume"]));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("truncated") && message.contains("older"),
        "{message}"
    );
    assert!(message.contains("resuming at step 50"), "{message}");
}

/// A run stopped after 60 steps, and a hand to change its scene with.
fn stopped_run(dir: &TempDir) -> (PathBuf, PathBuf) {
    let (scene, folder) = (busy_scene(dir), dir.path().join("out"));
    succeed(run(&scene, &folder, &["--steps", "60"]));
    (scene, folder)
}

fn rewrite(scene: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(scene).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(scene, text.replace(from, to)).unwrap();
}

#[test]
fn a_run_resumes_with_its_scene_in_other_words_for_longer_and_with_other_frames() {
    let dir = tempfile::tempdir().unwrap();
    let (scene, folder) = stopped_run(&dir);
    rewrite(
        &scene,
        "duration = 1.2",
        "# longer, and with words\nduration = 1.5",
    );
    rewrite(&scene, "every = 0.02", "every = 0.04");
    rewrite(&scene, "step = 2e-3", "step = 0.002   # two milliseconds");
    let (whole, longer) = (dir.path().join("whole"), folder);
    succeed(run(&scene, &longer, &["--resume"]));
    succeed(run(&scene, &whole, &[]));
    assert_eq!(hash(&longer), hash(&whole));
    let recording = Recording::open(&longer.join("recording.h5")).unwrap();
    assert!(recording.header().scene.contains("two milliseconds"));
    let last = recording.frames().last().unwrap().time;
    assert!((last - 1.5).abs() < 1e-9, "{last}");

    // A run that has ended is extended like one that was stopped.
    rewrite(&scene, "duration = 1.5", "duration = 1.6");
    succeed(run(&scene, &longer, &["--resume"]));
    succeed(run(&scene, &whole, &["--force"]));
    assert_eq!(hash(&longer), hash(&whole));
}

#[test]
fn a_run_with_other_physics_is_not_resumed_and_the_change_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (scene, folder) = stopped_run(&dir);
    rewrite(&scene, "density = 2500", "density = 2600");
    let output = run(&scene, &folder, &["--resume"]).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr);
    for words in ["another scene", "density = 2500.0", "density = 2600.0"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn a_lost_or_damaged_recording_does_not_cost_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    let scene = busy_scene(&dir);
    succeed(run(&scene, &whole, &[]));
    let all = Recording::open(&whole.join("recording.h5")).unwrap();
    for harm in ["lost", "damaged"] {
        let folder = dir.path().join(harm);
        succeed(run(&scene, &folder, &["--steps", "60"]));
        let path = folder.join("recording.h5");
        match harm {
            "lost" => std::fs::remove_file(&path).unwrap(),
            _ => std::fs::write(&path, "not a recording").unwrap(),
        }
        let output = succeed(run(&scene, &folder, &["--resume"]));
        let message = String::from_utf8_lossy(&output.stderr);
        let part = "recording-from-step-60.h5";
        assert!(message.contains(part), "{harm}: {message}");
        assert_eq!(hash(&folder), hash(&whole), "{harm}");
        let text = folder.to_str().unwrap();
        let measured = succeed(esker(&["measure", text, "motion", "--csv"]));
        let warning = String::from_utf8_lossy(&measured.stderr);
        assert!(warning.contains("recording.h5"), "{harm}: {warning}");
        let times = String::from_utf8(measured.stdout).unwrap();
        let after = all.frames().iter().filter(|f| f.step > 60).count();
        assert_eq!(times.lines().count(), 1 + after, "{harm}");
        for command in ["report", "export", "info"] {
            succeed(esker(&[command, text]));
        }
    }
}

#[test]
fn a_run_with_a_stated_accuracy_ends_with_its_duration() {
    let dir = tempfile::tempdir().unwrap();
    let (scene, folder) = (busy_scene(&dir), dir.path().join("out"));
    rewrite(
        &scene,
        "duration = 1.2",
        "tolerance = \"5%\"\nduration = 0.5",
    );
    rewrite(&scene, "step = 2e-3", "");
    let time = |folder: &Path| -> f64 {
        let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        summary["time"].as_f64().unwrap()
    };
    succeed(run(&scene, &folder, &[]));
    assert!((time(&folder) - 0.5).abs() < 1e-9, "{}", time(&folder));
    // Longer, it keeps the step that was chosen for the shorter duration.
    rewrite(&scene, "duration = 0.5", "duration = 0.6");
    succeed(run(&scene, &folder, &["--resume"]));
    let steps = Recording::open(&folder.join("recording.h5")).unwrap();
    let times = steps.scalars().unwrap().get("time").unwrap();
    assert!(times.is_sorted_by(|a, b| a < b));
    assert!(times[times.len() - 1] > 0.6 - 1e-9);
}

#[test]
fn a_run_can_be_described_drawn_exported_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let scene = busy_scene(&dir);
    let folder = dir.path().join("out");
    succeed(run(&scene, &folder, &["--steps", "120"]));
    let text = folder.to_str().unwrap();
    let info = succeed(esker(&["info", text, "--json"]));
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(
        (info["kind"].as_str(), info["frames"].as_u64()),
        (Some("recording"), Some(13))
    );

    let picture = dir.path().join("picture.png");
    let small = ["--size", "160x120"];
    let mut command = esker(&["render", text, "--chains", "-o", picture.to_str().unwrap()]);
    command.args(small);
    succeed(command);
    assert!(std::fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
    let clip = dir.path().join("clip.gif");
    let mut command = esker(&["render", text, "--color", "height", "--every", "4", "--gif"]);
    command.arg(&clip).args(small);
    succeed(command);
    assert!(std::fs::read(&clip).unwrap().starts_with(b"GIF89a"));

    succeed(esker(&["export", text]));
    for name in [
        "grains.vtkhdf",
        "walls.vtkhdf",
        "contacts.vtkhdf",
        "scalars.csv",
    ] {
        assert!(folder.join("export").join(name).exists(), "{name}");
    }
    succeed(esker(&["report", text]));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert_eq!(page.matches("data:image/png;base64,").count(), 3);
    assert!(page.contains("Kinetic energy") && page.contains("duration = 1.2"));
    // Nothing is fetched: the only address is the name space of SVG.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("<script") && !page.contains("http"));
}

/// A grain of clay on a floor beside one of glass, seen in every way.
#[test]
fn pictures_can_be_cut_zoomed_and_coloured() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("two.toml");
    let text = r##"
        duration = 0.01
        material.clay = { density = 1800, young = 1e7, color = "#ff0000" }
        material.glass = { density = 2500, young = 1e7 }
        [[wall]]
        name = "floor"
        shape = "plane"
        material = "clay"
        [[wall]]
        name = "box"
        shape = "box"
        size = [0.4, 0.4, 0.4]
        material = "clay"
        [[grains]]
        place = "column"
        material = "clay"
        count = 1
        diameter = 0.05
        base = [-0.1, 0, 0]
        [[grains]]
        place = "column"
        material = "glass"
        count = 1
        diameter = 0.05
        base = [0.1, 0, 0]
    "##;
    std::fs::write(&scene, text).unwrap();
    let folder = dir.path().join("run");
    succeed(run(&scene, &folder, &[]));
    let folder = folder.to_str().unwrap();
    let picture = dir.path().join("picture.png");
    let picture = picture.to_str().unwrap();
    let draw = |more: &[&str]| {
        let command = ["render", folder, "-o", picture, "--size", "160x120"];
        succeed(esker(&[&command[..], more].concat()));
        std::fs::read(picture).unwrap()
    };
    let plain = draw(&["--view", "front", "--color", "material"]);
    let coloured = |more: &[&str]| {
        let changed = draw(&[&["--view", "front", "--color", "material"][..], more].concat());
        assert_ne!(plain, changed, "{more:?}");
    };
    coloured(&["--clip", "x<0"]);
    coloured(&["--hide", "box"]);
    coloured(&["--zoom", "2"]);
    coloured(&["--focus", "0.1,0,0"]);
    coloured(&["--material-color", "glass=#00ff00"]);
    // The colour of the scene is the same as the same colour on the command line.
    let same = [
        "--view",
        "front",
        "--color",
        "material",
        "--material-color",
        "clay=#ff0000",
    ];
    assert_eq!(plain, draw(&same));
    let by_height = draw(&["--color", "height"]);
    assert_ne!(
        by_height,
        draw(&["--color", "height", "--range", "-1", "1"])
    );
    for (wrong, words) in [
        (["--hide", "lid"], "there are: floor, box"),
        (
            ["--material-color", "sand=#000000"],
            "there are: clay, glass",
        ),
        (["--material-color", "clay=redd"], "#rrggbb"),
        (["--clip", "x=3"], "y<0.05"),
        (["--zoom", "0"], "greater than 0"),
    ] {
        let command = ["render", folder, "-o", picture, "--color", "material"];
        let output = esker(&[&command[..], &wrong].concat()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(words),
            "{wrong:?}: {errors}"
        );
    }
}

#[test]
fn a_recording_is_measured_as_far_as_its_fields_allow() {
    let dir = tempfile::tempdir().unwrap();
    let scene = busy_scene(&dir);
    let folder = dir.path().join("out");
    succeed(run(&scene, &folder, &["--steps", "400"]));
    let text = folder.to_str().unwrap();
    let all = succeed(esker(&["measure", text, "--json"]));
    let all: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    let number = |key: &str| all[key].as_f64().unwrap_or_else(|| panic!("{key}: {all}"));
    assert!(number("height_m") > 0.008 && number("height_m") < 0.1);
    assert!(number("mean_speed_m_per_s") > 0.0);
    let touching = number("touching_contacts");
    assert!(touching > 50.0);
    // Most touching contacts carry load; every grain has its share of them.
    assert!((0.5..6.0).contains(&number("coordination")));
    assert!(number("mean_overlap_of_diameter") < number("max_overlap_of_diameter"));

    let series = succeed(esker(&["measure", text, "motion", "--csv"]));
    let lines: Vec<String> = String::from_utf8(series.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(lines[0].starts_with("time_s,mean_speed_m_per_s,"));
    assert_eq!(
        lines.len(),
        1 + Recording::open(&folder.join("recording.h5"))
            .unwrap()
            .frames()
            .len()
    );

    let poor = dir.path().join("poor.toml");
    let rich = std::fs::read_to_string(&scene).unwrap();
    std::fs::write(
        &poor,
        rich.replace("contacts = true", "fields = [\"position\", \"radius\"]"),
    )
    .unwrap();
    let folder = dir.path().join("poor");
    succeed(run(&poor, &folder, &["--steps", "20"]));
    for (measure, advice) in [("network", "contacts = true"), ("motion", "velocity")] {
        let output = esker(&["measure", folder.to_str().unwrap(), measure])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(advice),
            "{errors}"
        );
    }
    let rest = succeed(esker(&["measure", folder.to_str().unwrap()]));
    assert!(String::from_utf8_lossy(&rest.stderr).contains("network left out"));
    assert!(String::from_utf8_lossy(&rest.stdout).contains("height"));
}

/// Two grains side by side, one nine times as heavy as the other: masses made
/// up from volumes would put their centre in the middle.
#[test]
fn masses_are_those_of_the_run_and_unknown_ones_are_not_made_up() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("out");
    let text = folder.to_str().unwrap();
    let places = ["light", "heavy"].map(|name| dir.path().join(name).with_extension("csv"));
    std::fs::write(&places[0], "x,y,z\n0.1,0,-0.1\n").unwrap();
    std::fs::write(&places[1], "x,y,z\n-0.1,0,-0.1\n").unwrap();
    let scene = r#"
        duration = 1e-4
        step = 1e-4
        material.light = { density = 1000, young = 1e8 }
        material.heavy = { density = 9000, young = 1e8 }
        grains = [
            { place = "csv", file = "light.csv", diameter = 0.01, material = "light" },
            { place = "csv", file = "heavy.csv", diameter = 0.01, material = "heavy" },
        ]
    "#;
    let path = dir.path().join("scene.toml");
    std::fs::write(&path, scene).unwrap();
    succeed(run(&path, &folder, &[]));
    let measured = succeed(esker(&["measure", text, "drum", "--json"]));
    let measured: serde_json::Value = serde_json::from_slice(&measured.stdout).unwrap();
    let angle = measured["drum_angle_deg"].as_f64().unwrap();
    assert!(
        (angle - 0.8_f64.atan().to_degrees()).abs() < 1e-3,
        "{angle}"
    );

    let without = scene.to_owned() + "\nrecord = { fields = [\"position\", \"radius\"] }\n";
    std::fs::write(&path, without).unwrap();
    succeed(run(&path, &folder, &["--force"]));
    let refused = esker(&["measure", text, "drum"]).output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && errors.contains("\"mass\""),
        "{errors}"
    );
}

#[test]
fn a_recording_of_an_earlier_version_is_measured_without_its_masses() {
    let old = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../esker-record/tests/data/recording-1.h5"
    );
    let output = succeed(esker(&["measure", old, "pile", "--csv"]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("masses"));
    let table = String::from_utf8(output.stdout).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("time_s,height_m,pile_angle_deg"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(cells[1].parse::<f64>().unwrap() > 0.0 && cells[2].is_empty());
    }
}

/// Mine coordinates: at 1e6 m single precision has steps of 6 cm.
#[test]
fn grains_far_from_zero_are_recorded_where_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (scene, folder) = (busy_scene(&dir), dir.path().join("out"));
    rewrite(
        &scene,
        "[[-0.04, -0.04, 0.04], [0.04, 0.04, 0.08]]",
        "[[999999.96, 4e6, 0.04], [1000000.04, 4000000.08, 0.08]]",
    );
    succeed(run(&scene, &folder, &["--steps", "50"]));
    let recording = Recording::open(&folder.join("recording.h5")).unwrap();
    let frame = recording.frame(recording.frames().len() - 1).unwrap();
    let checkpoint = folder.join("checkpoint-00000000000000000050.esker");
    let state = esker::record::Checkpoint::read(&checkpoint).unwrap().state;
    assert!(state.grains.len() > 10);
    for grain in state.grains {
        let recorded = frame.position[frame.index_of(grain.id.as_u64()).unwrap()];
        let distance = recorded.distance(grain.position);
        assert!(distance < 1e-6, "{distance}");
    }
    // Near zero, tables hold plain positions.
    let near = Recording::open(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../esker-record/tests/data/recording-1.h5"
    )));
    assert_eq!(near.unwrap().header().origin, [0.0; 3].into());
}

#[test]
fn a_wrong_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.h5");
    std::fs::write(&path, "nothing").unwrap();
    for command in ["info", "export", "report", "measure"] {
        let output = esker(&[command, path.to_str().unwrap()]).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("x.h5"));
    }
}

#[test]
fn a_run_with_grains_frozen_says_so_resumes_exactly_and_shows_them() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("bed.toml");
    let text = r#"
        duration = 0.8
        step = 4e-3
        reduction = "on"
        material.gravel = { density = 2600, young = 1e7 }
        pair = [{ materials = ["gravel", "gravel"], friction = 0.6, rolling = 0.1 }]
        record = { every = 0.1 }
        [[wall]]
        shape = "box"
        side = "inside"
        position = [0, 0, 0.1]
        size = [0.08, 0.08, 0.2]
        [[grains]]
        place = "lattice"
        region = { box = [[-0.04, -0.04, 0], [0.04, 0.04, 0.05]] }
        diameter = 0.01
    "#;
    std::fs::write(&scene, text).unwrap();
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    let output = succeed(run(&scene, &whole, &[]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "% of grains frozen on average",
        "each counted every time",
        "% of the threshold",
        "touching among free grains (and with them)",
        "among frozen grains and walls",
        "√(g d) = 0.313 m/s",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    succeed(run(&scene, &broken, &["--steps", "110", "--threads", "1"]));
    succeed(run(&scene, &broken, &["--resume"]));
    assert_eq!(hash(&whole), hash(&broken));

    let text = std::fs::read_to_string(whole.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reduction = &summary["reduction"];
    let number = |name: &str| reduction[name].as_f64().unwrap_or_else(|| panic!("{name}"));
    assert!(number("level") > 0.5 && number("mean_level") > 0.1);
    assert!(number("mean_level") < number("level"));
    assert!(number("energy_lost") > 0.0);
    assert!((0.0..=1.0).contains(&number("worst_imbalance")));
    let causes = ["impact", "imbalance", "support", "walls", "sensor"];
    let freed: f64 = causes
        .map(|c| number(&format!("split_by_{c}")))
        .iter()
        .sum();
    let recording = Recording::open(&whole.join("recording.h5")).unwrap();
    let last = recording.frame(recording.frames().len() - 1).unwrap();
    let frozen = number("level") * last.aggregate.len() as f64;
    // Whoever is frozen at the end was frozen once more than set free.
    assert!(number("merges") >= frozen);
    assert!(number("merges") <= frozen + freed + number("refreshed"));

    let shown = last.aggregate.iter().filter(|&&a| a == 1).count() as f64;
    assert_eq!(shown, frozen.round());
    // Each of these rests on another or on the floor.
    assert!(number("frozen_contacts") >= frozen);
    let shares = recording.scalars().unwrap().get("frozen_share").unwrap();
    assert_eq!(shares[0], 0.0);
    assert!((shares.last().unwrap() - number("level")).abs() < 1e-12);
    let page = dir.path().join("report.html");
    let [from, to] = [&whole, &page].map(|path| path.to_str().unwrap());
    succeed(esker(&["report", from, "-o", to]));
    let page = std::fs::read_to_string(page).unwrap();
    for part in [
        "grains frozen at the end",
        "Frozen grains",
        "set free by",
        "contacts of free grains touching",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    let picture = dir.path().join("bed.png");
    let [from, to] = [&whole, &picture].map(|path| path.to_str().unwrap());
    succeed(esker(&["render", from, "-o", to, "--color", "aggregate"]));
    assert!(picture.exists());
}

/// The advice was to record a field that scenes refuse.
#[test]
fn colours_by_aggregate_ask_for_reduction() {
    let recording = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../esker-record/tests/data/recording-1.h5"
    );
    let output = esker(&["render", recording, "--color", "aggregate", "-o", "x.png"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && told.contains("reduction = \"on\""),
        "{told}"
    );
}
