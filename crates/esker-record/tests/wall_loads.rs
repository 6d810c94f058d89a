//! Loads of walls in recordings are forces: means over the time they stand for.

mod common;

use common::{emitting_world, full_settings, header_of, record_run, temporary_dir};
use esker_record::{Precision, Recorder, Recording, RecordingMark, write_scalars_csv};
use esker_world::World;
use glam::DVec3;

/// Frames hold the means of the steps between them, impacts included; the last
/// step alone (what was recorded once) is something else.
#[test]
fn a_frame_holds_the_mean_load_since_the_frame_before() {
    let dir = temporary_dir("loads");
    let path = dir.path().join("recording.h5");
    let mut world = World::new(&emitting_world()).unwrap();
    let header = header_of(&world, full_settings(Precision::Single, 4));
    let mut recorder = Recorder::create(&path, header, 20).unwrap();
    recorder.record_frame(&world).unwrap();
    record_run(&mut world, &mut recorder, 120, 10);
    recorder.finish().unwrap();

    let recording = Recording::open(&path).unwrap();
    let scalars = recording.scalars().unwrap();
    assert_eq!(scalars.walls(), ["floor"]);
    let loads: Vec<_> = scalars.loads().map(|loads| loads[0]).collect();
    assert_eq!(loads.len(), 120);
    assert_eq!(
        recording.frame(0).unwrap().walls[0].load.force,
        DVec3::ZERO,
        "no time has passed"
    );
    let mut differs = 0;
    for (i, steps) in loads.chunks(10).enumerate() {
        let wall = recording.frame(i + 1).unwrap().walls[0];
        let mean = |x: f64| x / 10.0;
        let force = steps.iter().map(|l| l.force).sum::<DVec3>().map(mean);
        let torque = steps.iter().map(|l| l.torque).sum::<DVec3>().map(mean);
        let power = mean(steps.iter().map(|l| l.power).sum());
        let close = |a: DVec3, b: DVec3| (a - b).length() <= 1e-9 * (1.0 + b.length());
        assert!(close(wall.load.force, force) && close(wall.load.torque, torque));
        assert!((wall.load.power - power).abs() <= 1e-9 * (1.0 + power.abs()));
        differs += usize::from(!close(steps[9].force, force));
    }
    assert!(differs > 5, "forces that do not change prove nothing");
    let total = recording.frame(12).unwrap().walls[0].total_load;
    assert_eq!(total, world.walls()[0].total_load);
}

#[test]
fn loads_of_a_resumed_recording_equal_those_of_the_uninterrupted_one() {
    let dir = temporary_dir("resumed-loads");
    let path = dir.path().join("recording.h5");
    let def = emitting_world();
    let mut world = World::new(&def).unwrap();
    let header = header_of(&world, full_settings(Precision::Single, 0));
    let mut recorder = Recorder::create(&path, header.clone(), 20).unwrap();
    let mut all = Vec::new();
    let mut state = None;
    for step in 1..=60 {
        let report = world.step().unwrap();
        all.push(world.walls()[0].load);
        recorder.record_step(&world, &report).unwrap();
        if step == 33 {
            recorder.flush().unwrap();
            state = Some(world.state());
        }
    }
    drop(recorder);
    let mut world = World::restore(&def, state.unwrap()).unwrap();
    let mark = RecordingMark {
        frames: 0,
        scalar_rows: 33,
    };
    let continued = Recorder::continue_run(&path, header, mark, &world).unwrap();
    assert!(continued.lost.is_none());
    let mut recorder = continued.recorder;
    record_run(&mut world, &mut recorder, 27, 100);
    recorder.finish().unwrap();
    let scalars = Recording::open(&path).unwrap().scalars().unwrap();
    let found: Vec<_> = scalars.loads().map(|loads| loads[0]).collect();
    assert_eq!(found, all);
}

#[test]
fn the_table_of_scalars_has_the_loads_of_every_wall_by_name() {
    let dir = temporary_dir("load-columns");
    let path = dir.path().join("recording.h5");
    let mut def = emitting_world();
    def.walls[0].name = "floor, \"shaken\"".into();
    let mut world = World::new(&def).unwrap();
    let header = header_of(&world, full_settings(Precision::Single, 0));
    let mut recorder = Recorder::create(&path, header, 20).unwrap();
    record_run(&mut world, &mut recorder, 60, 60);
    recorder.finish().unwrap();
    let scalars = Recording::open(&path).unwrap().scalars().unwrap();
    let mut table = Vec::new();
    write_scalars_csv(&scalars, &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    let mut lines = table.lines();
    let head = lines.next().unwrap();
    let loads = ["force_x (N)", "force_y (N)", "force_z (N)"].into_iter();
    let loads = loads.chain(["torque_x (N m)", "torque_y (N m)", "torque_z (N m)"]);
    let columns: Vec<String> = loads
        .chain(["power (W)"])
        .map(|load| format!("\"floor, \"\"shaken\"\" {load}\""))
        .collect();
    assert!(head.ends_with(&columns.join(",")), "{head}");
    let last: Vec<f64> = lines
        .last()
        .unwrap()
        .rsplitn(8, ',')
        .take(7)
        .map(|cell| cell.parse().unwrap())
        .collect();
    let load = world.walls()[0].load;
    assert_eq!(last[0], load.power);
    assert_eq!(last[4], load.force.z);
}
