//! Runs that are on their way: signals that end them, and others that want
//! their folder.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A run that would go on for hours.
const ENDLESS: &str = r#"
    duration = 1e5
    step = 2e-3
    material.glass = { density = 2500, young = 1e8 }
    wall = [{ shape = "plane" }]
    grains = [{ place = "column", count = 3, diameter = 0.01 }]
"#;

/// A process that does not outlive its test.
struct Live(Child);

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("endless.toml"), ENDLESS).unwrap();
        Place { dir }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
        command.current_dir(self.dir.path());
        command
            .args(["run", "endless.toml", "-o", "out"])
            .args(more);
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    /// Starts a run and waits until it has begun to write.
    fn start(&self) -> Live {
        let mut command = self.command(&[]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let live = Live(command.spawn().unwrap());
        while !self.folder().join("recording.h5").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        live
    }

    fn has_checkpoint(&self) -> bool {
        let mut entries = self.folder().read_dir().unwrap();
        entries.any(|entry| entry.unwrap().path().extension() == Some("esker".as_ref()))
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn signal(name: &str, process: &Child) {
    let sent = Command::new("kill")
        .args(["-s", name, &process.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_folder_in_use_is_refused_by_name_of_the_process_and_free_after_a_kill() {
    let place = Place::new();
    let mut live = place.start();
    for how in ["--resume", "--force"] {
        let refused = place.run(&[how, "--steps", "1"]);
        let message = told(&refused);
        assert_eq!(refused.status.code(), Some(1), "{how}: {message}");
        let holder = format!("process {} on ", live.0.id());
        assert!(message.contains(&holder), "{how}: {message}");
    }
    assert!(live.0.try_wait().unwrap().is_none(), "the first run ended");
    assert!(place.folder().join("recording.h5").exists());
    live.0.kill().unwrap();
    live.0.wait().unwrap();
    let replaced = place.run(&["--force", "--steps", "1"]);
    assert!(replaced.status.success(), "{}", told(&replaced));
    let resumed = place.run(&["--resume", "--steps", "2"]);
    assert!(resumed.status.success(), "{}", told(&resumed));
    let lock = std::fs::read_to_string(place.folder().join("run.lock")).unwrap();
    assert_eq!(lock, "", "a run that ended holds nothing");
}

/// Whether this process ignores the end of its terminal, and with it those that it starts.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 != 0)
}

#[test]
fn every_signal_to_end_leaves_a_checkpoint_to_continue_from() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if name == "HUP" && hang_up_is_ignored() {
            eprintln!("SKIPPED: HUP, which is ignored here and therefore by the run (nohup)");
            continue;
        }
        let place = Place::new();
        let mut live = place.start();
        signal(name, &live.0);
        let status = live.0.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{name}: {status}");
        let mut message = String::new();
        let mut errors = live.0.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut errors, &mut message).unwrap();
        assert!(message.contains("--resume"), "{name}: {message}");
        assert!(place.has_checkpoint(), "{name}");
        assert!(is_stopped(&place.folder()), "{name}");
        let resumed = place.run(&["--resume", "--steps", "1"]);
        assert!(resumed.status.success(), "{name}: {}", told(&resumed));
    }
}

/// Whether the summary says that the run did not reach its end.
fn is_stopped(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["interrupted"] == true
}
