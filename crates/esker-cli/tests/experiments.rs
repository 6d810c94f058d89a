//! What a user of `esker experiment` meets: names, and runs that were killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn experiment(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command
        .arg("experiment")
        .args(arguments)
        .current_dir(folder);
    command
}

/// Starts all experiments, reads lines of progress and kills the program.
fn progress_of_a_killed_run(folder: &Path, lines: usize) -> Vec<String> {
    let mut child = experiment(folder, &["--all", "--workers", "1", "-o", "results"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let progress = BufReader::new(child.stderr.take().expect("it is piped"));
    let seen = progress
        .lines()
        .take(lines)
        .collect::<Result<_, _>>()
        .expect("progress is text");
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    seen
}

#[test]
fn a_killed_run_of_all_resumes_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = progress_of_a_killed_run(folder.path(), 4);
    assert!(
        first.iter().all(|line| !line.contains("(stored)")),
        "{first:?}"
    );
    let second = progress_of_a_killed_run(folder.path(), 6);
    for (before, after) in first.iter().zip(&second) {
        assert_eq!(&format!("{before} (stored)"), after);
    }
    // The kill may have come just after one more case was done, not two.
    assert!(!second[5].contains("(stored)"), "{second:?}");
}

#[test]
fn an_unknown_experiment_is_answered_with_near_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (wrong, meant) in [("colum", "column"), ("paralel", "parallel-physics")] {
        let output = experiment(folder.path(), &[wrong])
            .output()
            .expect("it runs");
        assert!(!output.status.success());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(&format!("`{meant}`")), "{message}");
    }
    let output = experiment(folder.path(), &["xyzzyxyzzyxyzzy"])
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("beverloo") && message.contains("verification"),
        "{message}"
    );
}

/// Every case failed, and a report of numbers that are none was written.
#[test]
fn an_experiment_on_a_gpu_that_is_not_there_ends_before_its_first_case() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let devices = Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(["info", "--devices", "--json"])
        .output()
        .expect("the program starts");
    let devices: serde_json::Value = serde_json::from_slice(&devices.stdout).expect("JSON");
    if !devices["gpu"].is_null() {
        return;
    }
    let arguments = ["column", "--device", "gpu", "-o", "results"];
    let output = experiment(folder.path(), &arguments)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("no GPU for this experiment"), "{told}");
    assert!(!folder.path().join("results").exists());
}
