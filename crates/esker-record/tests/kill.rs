//! A killed writer leaves every frame that it reported as written.

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{emitting_world, full_settings, header_of, temporary_dir};
use esker_record::{Precision, Recorder, Recording};
use esker_world::World;

const PATH_VARIABLE: &str = "ESKER_TEST_RECORDING";
const KILLS: u64 = 20;

/// Not a test by itself: the writer that is killed, which says after every
/// frame how many it has written.
#[test]
#[ignore = "run by the test below"]
fn writer() {
    let Ok(path) = std::env::var(PATH_VARIABLE) else {
        return;
    };
    let mut world = World::new(&emitting_world()).unwrap();
    for _ in 0..80 {
        world.step().unwrap();
    }
    let compression = u8::from(path.ends_with("1.h5"));
    let header = header_of(&world, full_settings(Precision::Single, compression));
    let mut recorder = Recorder::create(Path::new(&path), header, 20).unwrap();
    loop {
        let report = world.step().unwrap();
        recorder.record_step(&world, &report).unwrap();
        recorder.record_frame(&world).unwrap();
        println!("\nwritten {}", recorder.frames());
    }
}

#[test]
fn every_reported_frame_survives_a_kill_at_any_moment() {
    let dir = temporary_dir("kill");
    for kill in 0..KILLS {
        let path = dir.path().join(format!("recording-{}.h5", kill % 2));
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer", "--ignored", "--nocapture"])
            .env(PATH_VARIABLE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let mut reports = lines.filter_map(|line| {
            line.unwrap()
                .strip_prefix("written ")
                .map(|n| n.parse::<usize>().unwrap())
        });
        // Kill after some frames and at different places in the next one.
        let mut reported = reports.nth(kill as usize % 7).unwrap();
        std::thread::sleep(Duration::from_micros(1370 * kill));
        writer.kill().unwrap();
        writer.wait().unwrap();
        reported = reports.last().unwrap_or(reported);

        let recording = Recording::open(&path).unwrap();
        let found = recording.frames().len();
        assert!(found >= reported, "{found} of {reported} frames");
        (0..found).for_each(|i| drop(recording.frame(i).unwrap()));
        assert!(recording.scalars().unwrap().len() >= reported);
    }
}
