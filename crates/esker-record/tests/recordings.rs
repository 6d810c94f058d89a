//! Recordings return what was written, whatever happened to the writer, and
//! never anything else.

mod common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use common::{emitting_world, full_settings, header_of, record_run, temporary_dir};
use esker_record::{
    BackgroundRecorder, Frame, GrainField, LoadInterval, Precision, RecordError, RecordSettings,
    Recorder, Recording, SCALARS, part_path,
};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

fn world() -> World {
    World::new(&emitting_world()).unwrap()
}

/// A frame as single precision keeps it.
fn rounded(frame: &Frame) -> Frame {
    let f = |x: f64| f64::from(x as f32);
    let v = |x: DVec3| x.map(f);
    let mut frame = frame.clone();
    for list in [
        &mut frame.position,
        &mut frame.velocity,
        &mut frame.angular_velocity,
    ] {
        list.iter_mut().for_each(|x| *x = v(*x));
    }
    frame.orientation.iter_mut().for_each(|q| {
        *q = glam::DQuat::from_array(q.to_array().map(f));
    });
    for list in [&mut frame.radius, &mut frame.mass, &mut frame.scale] {
        list.iter_mut().for_each(|x| *x = f(*x));
    }
    for c in &mut frame.contacts {
        c.point = v(c.point);
        c.normal = v(c.normal);
        c.overlap = f(c.overlap);
        c.normal_impulse = f(c.normal_impulse);
        c.friction_impulse = v(c.friction_impulse);
        c.rolling_impulse = v(c.rolling_impulse);
        c.twisting_impulse = f(c.twisting_impulse);
    }
    frame
}

#[test]
fn every_number_returns_bit_for_bit() {
    let dir = temporary_dir("bits");
    for precision in [Precision::Single, Precision::Double] {
        for compression in [0, 4] {
            let path = dir.path().join("recording.h5");
            let mut world = world();
            let header = header_of(&world, full_settings(precision, compression));
            let mut recorder = Recorder::create(&path, header.clone(), 100).unwrap();
            recorder.record_frame(&world).unwrap();
            let empty = Frame::of(&world, &header.settings, &LoadInterval::default());
            let written = record_run(&mut world, &mut recorder, 170, 10);
            recorder.finish().unwrap();

            let recording = Recording::open(&path).unwrap();
            assert_eq!(*recording.header(), header);
            assert_eq!(recording.frames().len(), written.len() + 1);
            assert!(recording.gaps().is_empty());
            assert_eq!(recording.frame(0).unwrap(), empty);
            for (i, frame) in written.iter().enumerate() {
                let expected = match precision {
                    Precision::Single => rounded(frame),
                    Precision::Double => frame.clone(),
                };
                assert_eq!(recording.frame(i + 1).unwrap(), expected);
            }
            let last = written.last().unwrap();
            assert!(last.id.len() > 20 && last.contacts.len() > 10);
            let ids = world.grains().in_id_order();
            let masses: Vec<f64> = ids.iter().map(|&i| world.grains().mass()[i]).collect();
            assert_eq!(last.mass, masses);
            assert_eq!(last.index_of(last.id[7]), Some(7));
            let scalars = recording.scalars().unwrap();
            assert_eq!(scalars.len(), 170);
            assert_eq!(scalars.get("step").unwrap()[169], 170.0);
            assert!(scalars.get("removed").unwrap().iter().sum::<f64>() > 5.0);
            assert_eq!(recording.nearest(world.time()), Some(17));
        }
    }
}

#[test]
fn only_chosen_fields_are_there() {
    let dir = temporary_dir("fields");
    let path = dir.path().join("recording.h5");
    let settings = RecordSettings {
        fields: vec![GrainField::Radius, GrainField::Position],
        ..Default::default()
    };
    let mut world = world();
    let header = header_of(&world, settings);
    let mut recorder = Recorder::create(&path, header, 10).unwrap();
    record_run(&mut world, &mut recorder, 20, 20);
    recorder.finish().unwrap();
    let frame = Recording::open(&path).unwrap().frame(0).unwrap();
    assert_eq!(frame.position.len(), frame.id.len());
    assert_eq!(frame.radius.len(), frame.id.len());
    assert!(frame.velocity.is_empty() && frame.contacts.is_empty());
}

/// Single precision far from zero lost the grains: at 1e6 m its steps are 6 cm.
#[test]
fn an_origin_keeps_grains_apart_far_from_zero() {
    let dir = temporary_dir("origin");
    let path = dir.path().join("recording.h5");
    let far = DVec3::new(1e6, -2e6, 350.0);
    let mut def = emitting_world();
    def.walls[0].pose.position += far;
    for region in def
        .emitters
        .iter_mut()
        .map(|e| &mut e.region)
        .chain(def.sinks.iter_mut().map(|s| &mut s.region))
    {
        let esker_geometry::Region::Box { pose, .. } = region else {
            panic!("the test's regions are boxes");
        };
        pose.position += far;
    }
    def.bounds = None;
    let mut world = World::new(&def).unwrap();
    let mut header = header_of(&world, full_settings(Precision::Single, 0));
    header.origin = far;
    let mut recorder = Recorder::create(&path, header.clone(), 20).unwrap();
    let truth = record_run(&mut world, &mut recorder, 60, 20);
    recorder.finish().unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(*recording.header(), header);
    for (i, frame) in truth.iter().enumerate() {
        let found = recording.frame(i).unwrap();
        assert!(!frame.position.is_empty());
        let pairs = found.position.iter().zip(&frame.position);
        let points = found.contacts.iter().zip(&frame.contacts);
        let pairs = pairs.chain(points.map(|(a, b)| (&a.point, &b.point)));
        for (found, truth) in pairs {
            assert!(found.distance(*truth) < 1e-7, "{found} {truth}");
        }
    }
}

/// A writer that vanishes without closing: what a kill leaves.
#[test]
fn an_unclosed_recording_has_all_frames() {
    let dir = temporary_dir("unclosed");
    for compression in [0, 3] {
        let path = dir.path().join("recording.h5");
        let mut world = world();
        let header = header_of(&world, full_settings(Precision::Single, compression));
        let mut recorder = Recorder::create(&path, header, 40).unwrap();
        for count in 1..10 {
            record_run(&mut world, &mut recorder, 8, 8);
            let recording = Recording::open(&path).unwrap();
            assert_eq!(recording.frames().len(), count);
            (0..count).for_each(|i| drop(recording.frame(i).unwrap()));
            assert_eq!(recording.scalars().unwrap().len(), 8 * count);
        }
        std::mem::forget(recorder);
    }
}

#[test]
fn a_resumed_recording_equals_the_uninterrupted_one() {
    let dir = temporary_dir("resume");
    let [whole, broken] = ["whole.h5", "broken.h5"].map(|name| dir.path().join(name));
    for compression in [0, 5] {
        let settings = full_settings(Precision::Single, compression);
        let def = emitting_world();
        let mut world = World::new(&def).unwrap();
        let header = header_of(&world, settings);
        let mut recorder = Recorder::create(&whole, header.clone(), 20).unwrap();
        record_run(&mut world, &mut recorder, 120, 7);
        recorder.finish().unwrap();

        let mut world = World::new(&def).unwrap();
        let mut recorder = Recorder::create(&broken, header.clone(), 20).unwrap();
        record_run(&mut world, &mut recorder, 60, 7);
        let (state, mark) = (world.state(), recorder.mark());
        recorder.flush().unwrap();
        record_run(&mut world, &mut recorder, 30, 7);
        std::mem::forget(recorder);

        let mut world = World::restore(&def, state).unwrap();
        let continued = Recorder::continue_run(&broken, header, mark, &world).unwrap();
        assert!(continued.lost.is_none());
        let mut recorder = continued.recorder;
        assert_eq!(
            Recording::open(&broken).unwrap().frames().len() as u64,
            mark.frames
        );
        record_run(&mut world, &mut recorder, 60, 7);
        recorder.finish().unwrap();

        let [a, b] = [&whole, &broken].map(|path| Recording::open(path).unwrap());
        assert_eq!(a.header(), b.header());
        assert_eq!(a.frames(), b.frames());
        for i in 0..a.frames().len() {
            assert_eq!(a.frame(i).unwrap(), b.frame(i).unwrap());
        }
        let [a, b] = [a, b].map(|r| r.scalars().unwrap());
        for scalar in SCALARS.iter().filter(|s| !s.name.starts_with("seconds")) {
            let bits = |list: Vec<f64>| list.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            let [a, b] = [&a, &b].map(|s| bits(s.get(scalar.name).unwrap()));
            assert_eq!(a, b, "{}", scalar.name);
        }
    }
}

#[test]
fn a_recording_of_another_scene_is_not_continued() {
    let dir = temporary_dir("refused");
    let path = dir.path().join("recording.h5");
    let mut world = world();
    let mut header = header_of(&world, RecordSettings::default());
    let mut recorder = Recorder::create(&path, header.clone(), 20).unwrap();
    record_run(&mut world, &mut recorder, 10, 5);
    let mark = recorder.mark();
    recorder.finish().unwrap();
    header.identity = esker_record::SceneIdentity(7);
    let refused = Recorder::continue_run(&path, header, mark, &world).err();
    assert!(matches!(refused, Some(RecordError::OtherScene { .. })));
}

/// Overwrites bytes of the last frames, one after another.
fn damage_the_last_frames(path: &Path) {
    const WIDTH: usize = 64;
    let bytes = fs::read(path).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    let mut left = Recording::open(path).unwrap().frames().len();
    let enough = left - 4;
    for start in (0..bytes.len() - WIDTH).rev().step_by(WIDTH) {
        file.write_all_at(&[0xa5; WIDTH], start as u64).unwrap();
        match Recording::open(path).map_or(0, |r| r.frames().len()) {
            fewer if fewer + 1 == left => left = fewer,
            _ => file
                .write_all_at(&bytes[start..start + WIDTH], start as u64)
                .unwrap(),
        }
        if left == enough {
            return;
        }
    }
    panic!("no bytes cost some frames");
}

/// What can happen to the file of a run between two sittings.
#[test]
fn a_run_goes_on_in_a_new_part_and_all_parts_are_read_as_one() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm, usize); 3] = [
        ("lost", |path| fs::remove_file(path).unwrap(), 0),
        ("scrambled", |path| fs::write(path, "no").unwrap(), 0),
        ("damaged near its end", damage_the_last_frames, 1),
    ];
    let def = emitting_world();
    for (name, harm, min_frames) in harms {
        let dir = temporary_dir(&format!("parts-{name}"));
        let [whole, broken] = ["whole.h5", "broken.h5"].map(|name| dir.path().join(name));
        let mut world = World::new(&def).unwrap();
        let header = header_of(&world, full_settings(Precision::Single, 0));
        let mut recorder = Recorder::create(&whole, header.clone(), 20).unwrap();
        record_run(&mut world, &mut recorder, 200, 10);
        recorder.finish().unwrap();

        let mut world = World::new(&def).unwrap();
        let mut recorder = Recorder::create(&broken, header.clone(), 20).unwrap();
        // Twice: the part that took over is continued as the first file is.
        for (restarts, steps) in [75, 50, 75].into_iter().enumerate() {
            record_run(&mut world, &mut recorder, steps, 10);
            let (state, mark) = (world.state(), recorder.mark());
            // Beyond the checkpoint, and not part of what comes of it.
            record_run(&mut world, &mut recorder, 7, 3);
            recorder.finish().unwrap();
            if restarts == 0 {
                harm(&broken);
            }
            world = World::restore(&def, state).unwrap();
            let continued = Recorder::continue_run(&broken, header.clone(), mark, &world).unwrap();
            assert_eq!(continued.lost.is_some(), restarts == 0, "{name}");
            recorder = continued.recorder;
        }
        recorder.finish().unwrap();
        assert!(part_path(&broken, 75).exists());

        let [a, b] = [&whole, &broken].map(|path| Recording::open(path).unwrap());
        assert!(a.gaps().is_empty() && !b.gaps().is_empty(), "{name}");
        let frames = |r: &Recording| -> Vec<Frame> {
            (0..r.frames().len()).map(|i| r.frame(i).unwrap()).collect()
        };
        let (a_frames, b_frames) = (frames(&a), frames(&b));
        let after = |frames: &[Frame]| -> Vec<Frame> {
            frames.iter().filter(|f| f.step > 75).cloned().collect()
        };
        let before = b_frames.len() - after(&b_frames).len();
        assert!(before >= min_frames, "{name}: {before}");
        assert_eq!(a_frames[..before], b_frames[..before], "{name}");
        // The mean loads of the first frame begin where its part does.
        let (a_after, b_after) = (after(&a_frames), after(&b_frames));
        assert_eq!(a_after.len(), b_after.len());
        assert_eq!(a_after[1..], b_after[1..], "{name}");
        assert_eq!(a_after[0].position, b_after[0].position, "{name}");
        let [a, b] = [a, b].map(|r| r.scalars().unwrap().get("time").unwrap());
        let b_after: Vec<f64> = b.iter().copied().filter(|t| *t > a[74]).collect();
        assert_eq!(a[75..], b_after, "{name}");
    }
}

/// The end that is missing made the whole file unreadable once.
#[test]
fn a_recording_cut_at_its_end_is_read_as_far_as_it_is_good() {
    for compression in [0, 4] {
        cut_at_the_end(compression);
    }
}

fn cut_at_the_end(compression: u8) {
    let dir = temporary_dir(&format!("cut-{compression}"));
    let path = dir.path().join("recording.h5");
    let mut world = world();
    for _ in 0..60 {
        world.step().unwrap();
    }
    let header = header_of(&world, full_settings(Precision::Single, compression));
    let mut recorder = Recorder::create(&path, header, 20).unwrap();
    record_run(&mut world, &mut recorder, 200, 2);
    recorder.finish().unwrap();
    let truth = Recording::open(&path).unwrap();
    let count = truth.frames().len();
    let truth: Vec<Frame> = (0..count).map(|i| truth.frame(i).unwrap()).collect();
    let file = File::options().write(true).open(&path).unwrap();
    let size = file.metadata().unwrap().len();
    let mut found = Vec::new();
    for percent in [95, 80, 60] {
        file.set_len(size * percent / 100).unwrap();
        let recording = Recording::open(&path).unwrap();
        let kept = recording.frames().len();
        assert_eq!(recording.gaps().len(), 1);
        for (i, expected) in truth.iter().enumerate().take(kept) {
            assert_eq!(recording.frame(i).unwrap(), *expected);
        }
        assert!(recording.scalars().is_ok());
        found.push(kept);
    }
    println!("{count} frames; kept {found:?}");
    assert!(
        found.is_sorted_by(|a, b| a > b),
        "{count} frames; kept {found:?}"
    );
    assert!(found[2] > count / 4, "{count} frames; kept {found:?}");
}

/// The small file of the tests below, and what is in it.
fn small_recording(path: &Path, compression: u8) -> Vec<Frame> {
    let mut world = world();
    for _ in 0..8 {
        world.step().unwrap();
    }
    let mut header = header_of(&world, full_settings(Precision::Single, compression));
    header.settings.fields.truncate(2);
    let mut recorder = Recorder::create(path, header, 1).unwrap();
    record_run(&mut world, &mut recorder, 3, 1);
    recorder.finish().unwrap();
    let recording = Recording::open(path).unwrap();
    (0..3).map(|i| recording.frame(i).unwrap()).collect()
}

/// Opens and reads everything; true when nothing failed and nothing was cut.
fn read_all(path: &Path, truth: &[Frame]) -> bool {
    let Ok(recording) = Recording::open(path) else {
        return false;
    };
    let mut whole = recording.frames().len() == truth.len();
    for (i, expected) in truth.iter().enumerate().take(recording.frames().len()) {
        match recording.frame(i) {
            Ok(frame) => assert_eq!(frame, *expected, "a wrong result"),
            Err(_) => whole = false,
        }
    }
    whole & recording.scalars().is_ok_and(|s| s.is_complete())
}

#[test]
fn truncation_gives_an_error_or_the_truth() {
    truncate_in_strides("truncation", 37);
}

#[test]
#[ignore = "takes a minute"]
fn truncation_at_every_length_gives_an_error_or_the_truth() {
    truncate_in_strides("every-length", 1);
}

fn truncate_in_strides(name: &str, stride: usize) {
    let dir = temporary_dir(name);
    let path = dir.path().join("recording.h5");
    let truth = small_recording(&path, 0);
    assert!(read_all(&path, &truth));
    let file = File::options().write(true).open(&path).unwrap();
    let size = file.metadata().unwrap().len();
    for length in (0..size).rev().step_by(stride) {
        file.set_len(length).unwrap();
        read_all(&path, &truth);
    }
}

#[test]
fn flipped_bytes_give_an_error_or_the_truth() {
    flip_in_strides("flips", 97);
}

#[test]
#[ignore = "takes minutes"]
fn every_flipped_byte_gives_an_error_or_the_truth() {
    flip_in_strides("every-flip", 1);
}

fn flip_in_strides(name: &str, stride: usize) {
    let dir = temporary_dir(name);
    for compression in [0, 4] {
        let path = dir.path().join("recording.h5");
        let truth = small_recording(&path, compression);
        let file = File::options().write(true).open(&path).unwrap();
        let mut noticed = 0;
        let bytes = fs::read(&path).unwrap();
        for (i, byte) in bytes.into_iter().enumerate().step_by(stride) {
            file.write_all_at(&[byte ^ 0xa5], i as u64).unwrap();
            noticed += usize::from(!read_all(&path, &truth));
            file.write_all_at(&[byte], i as u64).unwrap();
        }
        assert!(noticed > 1000 / stride);
    }
}

#[test]
fn foreign_files_are_named() {
    let dir = temporary_dir("foreign");
    let path = dir.path().join("recording.h5");
    let open = |path: &Path| Recording::open(path).err().unwrap();
    assert!(matches!(open(&path), RecordError::Open { .. }));
    fs::write(&path, "no").unwrap();
    assert!(matches!(open(&path), RecordError::NotHdf5 { .. }));
}

/// 10,000 grains with positions, velocities and radii in single precision.
#[test]
fn a_grain_with_its_motion_takes_less_than_forty_bytes_per_frame() {
    let dir = temporary_dir("size");
    let mut def = emitting_world();
    def.packings = vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Lattice {
            region: esker_geometry::Region::Box {
                half_extents: DVec3::splat(0.2),
                pose: esker_geometry::Pose::from_position(DVec3::Z * 0.3),
            },
            spacing: None,
            jitter: 1.0,
            count: Some(10_000),
            sizes: SizeDistribution::Uniform {
                min: 3e-3,
                max: 5e-3,
            },
        },
    }];
    let world = World::new(&def).unwrap();
    assert_eq!(world.grains().len(), 10_000);
    for (compression, frames) in [(0, 40), (4, 10)] {
        let path = dir.path().join("recording.h5");
        let settings = RecordSettings {
            fields: vec![
                GrainField::Position,
                GrainField::Velocity,
                GrainField::Radius,
            ],
            compression,
            ..Default::default()
        };
        let header = header_of(&world, settings);
        let mut recorder = Recorder::create(&path, header, 10_000).unwrap();
        let start = std::time::Instant::now();
        for _ in 0..frames {
            recorder.record_frame(&world).unwrap();
        }
        let seconds = start.elapsed().as_secs_f64() / frames as f64;
        recorder.finish().unwrap();
        let size = fs::metadata(&path).unwrap().len();
        let each = size as f64 / (1e4 * frames as f64);
        println!(
            "level {compression}: {each:.1} bytes per grain, {:.2} ms per frame",
            1e3 * seconds
        );
        assert!(each < 40.0, "{each} bytes per grain and frame");
    }
}

/// A run of one grain that wrote no frames kept the scalars of all of its steps, 5.7 GB after some
/// minutes: they were held back for the next frame.
#[test]
fn steps_of_a_run_without_frames_are_written_while_it_runs() {
    const ROWS_PER_WRITE: usize = 4096;
    // Four may wait for the thread that writes, and it may be at work on a fifth.
    const WRITES: usize = 7;
    let dir = temporary_dir("no-frames");
    let path = dir.path().join("recording.h5");
    let mut world = World::new(&WorldDef {
        emitters: Vec::new(),
        ..emitting_world()
    })
    .unwrap();
    let header = header_of(&world, full_settings(Precision::Single, 0));
    let recorder = Recorder::create(&path, header, 1).unwrap();
    let mut recorder = BackgroundRecorder::new(recorder);
    for _ in 0..WRITES * ROWS_PER_WRITE {
        let report = world.step().unwrap();
        recorder.record_step(&world, &report).unwrap();
    }
    let written = || Recording::open(&path).unwrap().scalars().unwrap().len();
    assert!(
        written() >= (WRITES - 5) * ROWS_PER_WRITE,
        "{} rows",
        written()
    );
    recorder.finish().unwrap();
    assert_eq!(written(), WRITES * ROWS_PER_WRITE);
}
