//! `esker view` from the command line: where it listens, how it ends, what it refuses.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENE: &str = r#"
    duration = 1e5
    step = 1e-3
    material.glass = { density = 2500, young = 1e8 }
    wall = [{ shape = "plane" }]
    grains = [{ place = "column", count = 3, diameter = 0.01 }]
"#;

fn esker(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_esker"));
    command.current_dir(folder).args(arguments);
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_live_run_ends_by_a_signal_with_its_summary_and_can_be_resumed() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("scene.toml"), SCENE).unwrap();
    let arguments = ["view", "scene.toml", "-o", "out", "--no-open", "--paused"];
    let mut command = esker(place.path(), &arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut address = String::new();
    lines.read_line(&mut address).unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    let port = address.split([':', '/']).nth(4).unwrap();
    // The address is answered, and nobody else gets the port.
    assert!(std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
    let refused = esker(place.path(), &["view", "out", "--no-open", "--port", port]);
    let refused = { refused }.output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let message = told(&refused);
    assert!(
        message.contains(port) && message.contains("--port"),
        "{message}"
    );
    let sent = Command::new("kill")
        .args(["-s", "TERM", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(rest.contains("state"), "{rest}");
    let resumed = esker(
        place.path(),
        &["run", "scene.toml", "-o", "out", "--resume", "--steps", "2"],
    );
    let resumed = { resumed }.output().unwrap();
    assert!(resumed.status.success(), "{}", told(&resumed));
}

#[test]
fn what_cannot_be_shown_is_told_with_what_can() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("scene.toml"), "duration = true\n").unwrap();
    let run = |arguments: &[&str]| {
        let output = esker(place.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        told(&output)
    };
    let nothing = run(&["view", "nowhere", "--no-open"]);
    assert!(
        nothing.contains("neither a scene") && nothing.contains("nowhere"),
        "{nothing}"
    );
    let wrong = run(&["view", "scene.toml", "--no-open"]);
    assert!(wrong.contains("scene.toml:1"), "{wrong}");
    let missing = run(&["view", "missing.toml", "--no-open"]);
    assert!(missing.contains("missing.toml"), "{missing}");
}
