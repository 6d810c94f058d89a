//! Rows of probes in recordings: kept, cut with the run, and guarded.

mod common;

use std::path::Path;

use common::{emitting_world, full_settings, header_of, temporary_dir};
use esker_record::{
    BackgroundRecorder, Precision, ProbeColumn, ProbeRow, ProbeTable, Recorder, Recording,
    RecordingHeader,
};
use esker_world::World;

fn column(name: &str, unit: &str, width: usize) -> ProbeColumn {
    ProbeColumn {
        name: name.into(),
        unit: unit.into(),
        meaning: format!("the {name}"),
        width,
        spacing: if width > 1 { 0.25 } else { 0.0 },
    }
}

fn probes() -> Vec<ProbeTable> {
    vec![
        ProbeTable {
            name: "outlet flow".into(),
            columns: vec![column("mass_flow", "kg/s", 1), column("number", "1", 1)],
        },
        ProbeTable {
            name: "heap".into(),
            columns: vec![column("height", "m", 5)],
        },
    ]
}

fn row(probe: usize, step: u64) -> ProbeRow {
    let width = [2, 5][probe];
    ProbeRow {
        probe,
        step,
        time: step as f64 * 1e-3,
        values: (0..width).map(|i| step as f64 + 0.1 * i as f64).collect(),
    }
}

fn header(world: &World) -> RecordingHeader {
    RecordingHeader {
        probes: probes(),
        ..header_of(world, full_settings(Precision::Single, 4))
    }
}

/// Makes steps up to this one and records a row of the first probe in each, of
/// the second in every third.
fn record_to(world: &mut World, recorder: &mut BackgroundRecorder, last: u64) {
    while world.steps_done() < last {
        let report = world.step().unwrap();
        recorder.record_step(world, &report).unwrap();
        recorder.record_probe(row(0, report.step));
        if report.step.is_multiple_of(3) {
            recorder.record_probe(row(1, report.step));
        }
    }
}

/// Steps of a probe's rows, which must be those that were recorded.
fn steps(probe: usize, path: &Path) -> Vec<u64> {
    let recording = Recording::open(path).unwrap();
    assert_eq!(recording.header().probes, probes());
    let rows = recording.probe_rows(probe).unwrap();
    assert!(rows.iter().all(|r| *r == row(probe, r.step)));
    rows.iter().map(|r| r.step).collect()
}

#[test]
fn rows_come_back_and_a_resumed_recording_has_those_of_its_steps() {
    let folder = temporary_dir("probe-rows");
    let path = folder.path().join("recording.h5");
    let mut world = World::new(&emitting_world()).unwrap();
    let header = header(&world);
    let recorder = Recorder::create(&path, header.clone(), 10).unwrap();
    let mut recorder = BackgroundRecorder::new(recorder);
    // A row of the state at the start belongs to no step.
    recorder.record_probe(row(1, 0));
    recorder.record_frame(&world).unwrap();
    record_to(&mut world, &mut recorder, 7);
    let (state, mark) = (world.state(), recorder.mark());
    record_to(&mut world, &mut recorder, 10);
    recorder.finish().unwrap();
    assert_eq!(steps(0, &path), (1..=10).collect::<Vec<_>>());
    assert_eq!(steps(1, &path), [0, 3, 6, 9]);

    let world = World::restore(&emitting_world(), state).unwrap();
    let continued = Recorder::continue_run(&path, header, mark, &world).unwrap();
    assert!(continued.lost.is_none());
    continued.recorder.finish().unwrap();
    assert_eq!(steps(0, &path), (1..=7).collect::<Vec<_>>());
    assert_eq!(steps(1, &path), [0, 3, 6]);
}

#[test]
fn rows_of_all_parts_are_read_as_one() {
    let folder = temporary_dir("probe-parts");
    let path = folder.path().join("recording.h5");
    let mut world = World::new(&emitting_world()).unwrap();
    let header = header(&world);
    let recorder = Recorder::create(&path, header.clone(), 10).unwrap();
    let mut recorder = BackgroundRecorder::new(recorder);
    record_to(&mut world, &mut recorder, 7);
    let (state, mut mark) = (world.state(), recorder.mark());
    record_to(&mut world, &mut recorder, 10);
    recorder.finish().unwrap();

    // A file that lacks frames is not continued, and its rows are good.
    mark.frames += 1;
    let mut world = World::restore(&emitting_world(), state).unwrap();
    let continued = Recorder::continue_run(&path, header.clone(), mark, &world).unwrap();
    assert!(continued.lost.is_some());
    let mut recorder = BackgroundRecorder::new(continued.recorder);
    record_to(&mut world, &mut recorder, 13);
    let (state, mark) = (world.state(), recorder.mark());
    record_to(&mut world, &mut recorder, 15);
    recorder.finish().unwrap();
    assert_eq!(steps(0, &path), (1..=15).collect::<Vec<_>>());
    assert_eq!(steps(1, &path), [3, 6, 9, 12, 15]);

    let world = World::restore(&emitting_world(), state).unwrap();
    let continued = Recorder::continue_run(&path, header.clone(), mark, &world).unwrap();
    assert!(continued.lost.is_none());
    continued.recorder.finish().unwrap();
    assert_eq!(steps(0, &path), (1..=13).collect::<Vec<_>>());

    std::fs::remove_file(&path).unwrap();
    assert_eq!(steps(0, &path), (8..=13).collect::<Vec<_>>());
}

#[test]
fn a_damaged_row_is_found() {
    let folder = temporary_dir("probe-damage");
    let path = folder.path().join("recording.h5");
    let world = World::new(&emitting_world()).unwrap();
    let recorder = Recorder::create(&path, header(&world), 10).unwrap();
    let mut recorder = BackgroundRecorder::new(recorder);
    for step in 1..=3 {
        recorder.record_probe(row(0, step));
    }
    recorder.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let number = 2.1_f64.to_le_bytes();
    let at = bytes.windows(8).position(|w| w == number).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let error = Recording::open(&path).and_then(|r| r.probe_rows(0));
    let text = error.unwrap_err().to_string();
    assert!(text.contains("outlet flow"), "{text}");
}
