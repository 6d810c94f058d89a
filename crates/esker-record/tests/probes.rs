//! Rows of probes in recordings: kept, cut with the run, and guarded.

mod common;

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

#[test]
fn rows_come_back_and_a_resumed_recording_has_those_of_its_steps() {
    let folder = temporary_dir("probe-rows");
    let path = folder.path().join("recording.h5");
    let mut world = World::new(&emitting_world()).unwrap();
    let recorder = Recorder::create(&path, header(&world), 10).unwrap();
    let identity = recorder.header().identity;
    let mut recorder = BackgroundRecorder::new(recorder);
    // A row of the state at the start belongs to no step.
    recorder.record_probe(row(1, 0));
    recorder.record_frame(&world).unwrap();
    for step in 1..=10 {
        let report = world.step().unwrap();
        recorder.record_step(&world, &report);
        recorder.record_probe(row(0, step));
        if step % 3 == 0 {
            recorder.record_probe(row(1, step));
        }
    }
    recorder.finish().unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(recording.header().probes, probes());
    let steps = |probe: usize, recording: &Recording| -> Vec<u64> {
        let rows = recording.probe_rows(probe).unwrap();
        assert!(rows.iter().all(|r| *r == row(probe, r.step)));
        rows.iter().map(|r| r.step).collect()
    };
    assert_eq!(steps(0, &recording), (1..=10).collect::<Vec<_>>());
    assert_eq!(steps(1, &recording), [0, 3, 6, 9]);
    drop(recording);

    Recorder::resume(&path, identity, 1, 7)
        .unwrap()
        .finish()
        .unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(steps(0, &recording), (1..=7).collect::<Vec<_>>());
    assert_eq!(steps(1, &recording), [0, 3, 6]);
    assert_eq!(recording.header().probes, probes());
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
