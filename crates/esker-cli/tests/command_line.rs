//! What a user meets at the command line: results, messages and exit codes.

use std::path::Path;
use std::process::{Command, Output};

const HEAP: &str = r#"
duration = 0.05
step = 2e-3
material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
pair = [{ materials = ["glass", "glass"], friction = 0.5, restitution = 0.6 }]
wall = [{ name = "floor", shape = "plane" }]
grains = [{ place = "random", region = { box = [[0, 0, 0], [0.1, 0.1, 0.3]] }, diameter = 0.016, count = 100 }]
"#;

fn esker(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn with_scene(text: &str, test: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("heap.toml"), text).expect("the scene is written");
    test(folder.path());
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn summary(output: &Output) -> serde_json::Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

#[test]
fn a_run_leaves_a_summary_with_all_keys_and_the_same_hash_every_time() {
    with_scene(HEAP, |folder| {
        let first = summary(&esker(folder, &["run", "heap.toml", "-o", "a", "--json"]));
        for key in [
            "scene",
            "steps",
            "time",
            "particles",
            "contacts",
            "mean_overlap",
            "max_overlap",
            "kinetic_energy",
            "unconverged_steps",
            "wall_seconds",
            "real_time_factor",
            "seconds_per_contact_iteration",
            "stage_seconds",
            "state_hash",
        ] {
            assert!(!first[key].is_null(), "{key} is missing");
        }
        assert_eq!(first["steps"], 25);
        assert_eq!(first["particles"], 100);
        let written = std::fs::read(folder.join("a/summary.json")).expect("the summary is written");
        let written: serde_json::Value = serde_json::from_slice(&written).expect("it is JSON");
        assert_eq!(written["state_hash"], first["state_hash"]);
        let second = summary(&esker(
            folder,
            &["run", "heap.toml", "-o", "b", "--json", "--threads", "2"],
        ));
        assert_eq!(first["state_hash"], second["state_hash"]);
        let shorter = summary(&esker(
            folder,
            &["run", "heap.toml", "-o", "c", "--json", "--steps", "7"],
        ));
        assert_eq!(shorter["steps"], 7);
        assert_ne!(first["state_hash"], shorter["state_hash"]);
    });
}

#[test]
fn an_existing_folder_is_replaced_only_when_asked_and_only_if_it_is_ours() {
    with_scene(HEAP, |folder| {
        let run = |more: &[&str]| {
            let mut arguments = vec!["run", "heap.toml", "-o", "out", "--steps", "1"];
            arguments.extend(more);
            esker(folder, &arguments)
        };
        assert!(run(&[]).status.success());
        let refused = run(&[]);
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"));
        assert!(run(&["--force"]).status.success());
        for ours in ["out/summary.json", "out/recording.h5"] {
            std::fs::remove_file(folder.join(ours)).expect("it was there");
        }
        std::fs::write(folder.join("out/thesis.txt"), "years of work").expect("written");
        assert!(!run(&["--force"]).status.success());
        assert!(folder.join("out/thesis.txt").exists());
    });
}

/// Each mistake has its own message, names its line, and leaves nothing behind.
#[test]
fn a_wrong_scene_is_refused_before_anything_is_written() {
    for (right, wrong, message, line) in [
        ("friction", "fricton", "did you mean `friction`?", 5),
        ("density = 2500", "density = -1", "greater than 0", 4),
        ("step = 2e-3", "step = 0", "greater than 0", 3),
        (
            "diameter = 0.016",
            "diameter = nan",
            "not a finite number",
            7,
        ),
        (
            "[\"glass\", \"glass\"]",
            "[\"glass\", \"gloss\"]",
            "no material \"gloss\"",
            5,
        ),
        ("count = 100", "count = \"many\"", "expected", 7),
        ("\"plane\"", "\"mesh\", file = \"none.stl\"", "none.stl", 6),
        (
            "[0.1, 0.1, 0.3]",
            "[0.1, 0.1, 0.05]",
            "of 100 grains fit",
            7,
        ),
    ] {
        assert!(HEAP.contains(right));
        with_scene(&HEAP.replace(right, wrong), |folder| {
            let output = esker(folder, &["run", "heap.toml", "-o", "out"]);
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{wrong}: {told}");
            assert!(told.contains(message), "{wrong}: {told}");
            assert!(
                told.contains(&format!("heap.toml:{line}:")),
                "{wrong}: {told}"
            );
            assert!(
                !folder.join("out").exists(),
                "{wrong} left something behind"
            );
        });
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    with_scene(HEAP, |folder| {
        std::fs::write(folder.join("file"), "not a folder").expect("written");
        let output = esker(folder, &["run", "heap.toml", "-o", "file/out"]);
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("file/out"));
    });
}

#[test]
fn check_estimates_a_scene_and_prints_the_schema() {
    with_scene(HEAP, |folder| {
        let estimate = summary(&esker(folder, &["check", "heap.toml", "--json"]));
        assert_eq!(estimate["grains_at_start"], 100);
        let schema = summary(&esker(folder, &["check", "--schema"]));
        assert!(schema["properties"]["duration"].is_object());
    });
}

#[test]
fn solving_a_problem_writes_no_file_unless_told() {
    with_scene(HEAP, |folder| {
        let run = ["run", "heap.toml", "-o", "out", "--dump-step", "20"];
        assert!(esker(folder, &run).status.success());
        let files = || {
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .expect("readable")
                .map(|entry| entry.expect("readable").file_name())
                .collect();
            names.sort();
            names
        };
        let problem = std::fs::read_dir(folder.join("out"))
            .expect("readable")
            .map(|entry| entry.expect("readable").path())
            .find(|path| {
                let name = path.file_name().expect("a file").to_string_lossy();
                name.starts_with("problem")
            })
            .expect("a problem was written");
        let problem = problem.to_str().expect("a plain name");
        let before = files();
        assert!(esker(folder, &["solve", problem]).status.success());
        assert_eq!(files(), before);
        let told = ["solve", problem, "--plot", "plot.svg"];
        assert!(esker(folder, &told).status.success());
        assert!(folder.join("plot.svg").exists());
    });
}

/// A full disk behind `>` made the program panic.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error_and_costs_no_results() {
    with_scene(HEAP, |folder| {
        for arguments in [
            &["check", "heap.toml"][..],
            &["check", "--schema"],
            &["run", "heap.toml", "-o", "out"],
            &["info", "out"],
            &["measure", "out"],
            &["plan"],
            &["experiment"],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_esker"))
                .args(arguments)
                .current_dir(folder)
                .stdout(std::fs::File::create("/dev/full").expect("Linux has it"))
                .output()
                .expect("the program starts");
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
            assert!(told.contains("cannot write to standard output"), "{told}");
            assert!(!told.contains("panicked"), "{told}");
        }
        assert!(folder.join("out/summary.json").exists());
    });
}

/// The shell limits the size of files: what a full disk does, without one.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_completed_is_not_there_and_the_old_one_stays() {
    with_scene(HEAP, |folder| {
        assert!(
            esker(folder, &["run", "heap.toml", "-o", "out"])
                .status
                .success()
        );
        std::fs::write(folder.join("old.png"), "an old picture").expect("written");
        let before = std::fs::read_dir(folder).expect("listed").count();
        for (command, path) in [
            ("render out -o old.png --size 640x480", "old.png"),
            ("render out -o new.png --size 640x480", "new.png"),
            ("report out -o new.html", "new.html"),
            ("export out --vtk -o .", "grains.vtkhdf"),
        ] {
            let script = format!("trap '' XFSZ; ulimit -f 2; exec \"$0\" {command}");
            let output = Command::new("sh")
                .args(["-c", &script, env!("CARGO_BIN_EXE_esker")])
                .current_dir(folder)
                .output()
                .expect("the shell starts");
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{command}: {told}");
            assert!(told.contains(path), "{command}: {told}");
        }
        let after = std::fs::read_dir(folder).expect("listed").count();
        assert_eq!(after, before, "something is left");
        let old = std::fs::read_to_string(folder.join("old.png")).expect("it is there");
        assert_eq!(old, "an old picture");
    });
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_would() {
    with_scene(HEAP, |folder| {
        assert!(
            esker(folder, &["run", "heap.toml", "-o", "out"])
                .status
                .success()
        );
        for (arguments, advice) in [
            ("render out -o x.jpg", ".png"),
            ("render out --gif x.mp4", ".gif"),
            ("render out --apng x.webm", ".apng"),
            ("render out -o x.png --at nan", "in seconds"),
            ("measure out --at inf", "in seconds"),
            ("export out --stl --at NaN", "in seconds"),
            ("run heap.toml -o other --threads 0", "1.."),
            ("run heap.toml -o other --threads nan", "invalid"),
        ] {
            let words: Vec<&str> = arguments.split(' ').collect();
            let output = esker(folder, &words);
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{arguments}");
            assert!(told.contains(advice), "{arguments}: {told}");
        }
        assert!(!folder.join("x.jpg").exists() && !folder.join("other").exists());
        let many = ["run", "heap.toml", "-o", "many", "--threads", "1000"];
        let output = esker(folder, &many);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && told.contains("1000 threads"),
            "{told}"
        );
    });
}

#[test]
fn a_message_says_each_thing_once() {
    with_scene(HEAP, |folder| {
        for arguments in [
            ["measure", "nothing"],
            ["info", "nothing.h5"],
            ["report", "nothing"],
        ] {
            let output = esker(folder, &arguments);
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(told.matches("os error 2").count(), 1, "{told}");
        }
    });
}

/// It took a minute and gigabytes to say nothing about 1e8 grains.
#[test]
fn check_estimates_very_many_grains_without_placing_them() {
    let many = HEAP.replace("[0.1, 0.1, 0.3]", "[10, 10, 30]").replace(
        "diameter = 0.016, count = 100",
        "diameter = 0.01, count = 1e8",
    );
    let crowded = HEAP.replace("[0.1, 0.1, 0.3]", "[0.1, 0.1, 0.05]");
    for (text, placed) in [(many.as_str(), false), (HEAP, true)] {
        with_scene(text, |folder| {
            let output = esker(folder, &["check", "heap.toml"]);
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{told}");
            assert!(
                told.contains("memory ") && told.contains("run time "),
                "{told}"
            );
            assert_eq!(told.contains("--place"), !placed, "{told}");
        });
    }
    with_scene(&crowded, |folder| {
        assert!(!esker(folder, &["check", "heap.toml"]).status.success());
    });
}

/// Without a GPU, or without a program that knows of them: one line, and `auto` goes on.
#[test]
fn a_run_without_a_gpu_says_so_in_one_line_and_auto_uses_the_cpu() {
    with_scene(HEAP, |folder| {
        let devices = esker(folder, &["info", "--devices", "--json"]);
        let devices: serde_json::Value = summary(&devices);
        assert!(devices["cpu"]["threads"].as_u64() > Some(0), "{devices}");
        let on_cpu = summary(&esker(folder, &["run", "heap.toml", "-o", "a", "--json"]));
        let arguments = ["run", "heap.toml", "-o", "b", "--json", "--device", "auto"];
        let on_any = esker(folder, &arguments);
        let told = errors(&on_any);
        let on_any = summary(&on_any);
        assert_eq!(on_cpu["state_hash"], on_any["state_hash"]);
        if devices["gpu"].is_null() {
            let reason = devices["gpu_reason"].as_str().expect("a reason");
            let lines = told.lines().filter(|line| line.contains(reason));
            assert_eq!(lines.count(), 1, "{told}");
            let arguments = ["run", "heap.toml", "-o", "c", "--device", "gpu"];
            let refused = esker(folder, &arguments);
            assert_eq!(refused.status.code(), Some(1));
            let message = String::from_utf8_lossy(&refused.stderr).into_owned();
            let told = message
                .lines()
                .filter(|line| line.contains("no GPU for this run"));
            assert_eq!(told.count(), 1, "{message}");
            assert!(!folder.join("c").exists(), "nothing is left behind");
        }
    });
}

/// The scene was judged with its own device before the one of the command line was known.
#[test]
fn a_device_on_the_command_line_overrules_one_that_cannot_compute_the_scene() {
    let solver = "solver = { method = \"gauss-seidel\" }\n";
    let text = format!("device = \"gpu\"\n{HEAP}{solver}");
    with_scene(&text, |folder| {
        let refused = esker(folder, &["run", "heap.toml", "-o", "a"]);
        assert_eq!(refused.status.code(), Some(1));
        let refused = errors(&refused);
        assert!(
            refused.contains("a GPU cannot compute this scene"),
            "{refused}"
        );
        for device in ["cpu", "auto"] {
            let output = esker(
                folder,
                &["run", "heap.toml", "-o", device, "--device", device],
            );
            let told = errors(&output);
            assert!(output.status.success(), "{told}");
            assert_eq!(
                told.contains("the CPU computes the run"),
                device == "auto",
                "{told}"
            );
        }
    });
}

#[test]
fn check_says_why_no_gpu_will_compute_a_scene() {
    with_scene(&format!("device = \"auto\"\n{HEAP}"), |folder| {
        let devices = esker(folder, &["info", "--devices", "--json"]);
        if let Some(reason) = summary(&devices)["gpu_reason"].as_str() {
            let checked = summary(&esker(folder, &["check", "heap.toml", "--json"]));
            let notes = checked["notes"].to_string();
            assert!(
                notes.contains("no GPU here") && notes.contains(reason),
                "{notes}"
            );
        }
    });
}

/// A precision was kept by scenes and not by the command line, on a CPU too, which has only one.
#[test]
fn a_resumed_run_keeps_its_precision_where_it_has_an_effect() {
    with_scene(HEAP, |folder| {
        let run = |more: &[&str]| {
            let all = [&["run", "heap.toml", "-o", "a"], more].concat();
            esker(folder, &all)
        };
        let begun = run(&["--steps", "5", "--precision", "mixed"]);
        let told = errors(&begun);
        assert!(told.contains("precision \"mixed\" has no effect"), "{told}");
        let scene = |keys: &str| {
            std::fs::write(folder.join("heap.toml"), format!("{keys}{HEAP}")).expect("written");
        };
        // On a CPU whatever states it.
        scene("precision = \"mixed\"\n");
        let resumed = run(&["--resume", "--steps", "10"]);
        assert!(resumed.status.success(), "{}", errors(&resumed));
        scene("");
        let resumed = run(&["--resume", "--steps", "15", "--precision", "mixed"]);
        assert!(resumed.status.success(), "{}", errors(&resumed));
        // Where a GPU may compute, neither adds it.
        scene("device = \"auto\"\nprecision = \"mixed\"\n");
        let by_scene = errors(&run(&["--resume"]));
        scene("");
        let by_option = errors(&run(&[
            "--resume",
            "--device",
            "auto",
            "--precision",
            "mixed",
        ]));
        for told in [by_scene, by_option] {
            assert!(
                told.contains("added since the run began: `precision = \"mixed\"`"),
                "{told}"
            );
        }
    });
}

#[test]
fn options_that_a_benchmark_does_not_have_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (option, value, words) in [
        ("--device", "gpu", "--load rest has no --device"),
        ("--precision", "mixed", "--load rest has no --precision"),
        ("--grains", "0", "invalid value '0'"),
    ] {
        let output = esker(folder.path(), &["bench", "--load", "rest", option, value]);
        let told = errors(&output);
        assert!(!output.status.success() && told.contains(words), "{told}");
    }
}

/// It printed a mean of no steps.
#[test]
fn a_benchmark_of_a_few_steps_says_that_too_few_grains_were_frozen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arguments = ["bench", "--load", "rest", "--grains", "800", "--steps", "2"];
    let output = esker(folder.path(), &arguments);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", errors(&output));
    assert!(
        !printed.contains("NaN") && printed.contains("--steps"),
        "{printed}"
    );
}

#[test]
fn info_names_what_it_can_show_and_what_a_scene_asks_for() {
    with_scene(
        &format!("device = \"cpu\"\nreduction = \"on\"\n{HEAP}"),
        |folder| {
            let nothing = errors(&esker(folder, &["info"]));
            assert!(
                nothing.contains("--devices") && nothing.contains("FILE"),
                "{nothing}"
            );
            let facts = summary(&esker(folder, &["info", "heap.toml", "--json"]));
            assert_eq!(
                (&facts["reduction"], &facts["device"]),
                (&"balance".into(), &"cpu".into())
            );
        },
    );
    with_scene(HEAP, |folder| {
        let facts = summary(&esker(folder, &["info", "heap.toml", "--json"]));
        assert!(
            facts["reduction"].is_null() && facts["device"].is_null(),
            "{facts}"
        );
    });
}
