//! Checkpoints come back bit for bit, or not at all.

mod common;

use std::fs;
use std::path::Path;

use common::{emitting_world, temporary_dir};
use esker_record::{
    CHECKPOINT_FORMAT, Checkpoint, CheckpointError, CheckpointHeader, CheckpointStore,
    RecordingMark, SceneIdentity,
};
use esker_world::World;

fn checkpoint(steps: usize) -> Checkpoint {
    let mut world = World::new(&emitting_world()).unwrap();
    for _ in 0..steps {
        world.step().unwrap();
    }
    Checkpoint {
        scene: SceneIdentity::of_parts([b"scene".as_slice()]),
        version: "0.1.0".into(),
        time: world.time(),
        mark: RecordingMark {
            frames: 3,
            scalar_rows: steps as u64,
        },
        tally: vec![("unconverged".into(), 2.0)],
        state: world.state(),
    }
}

#[test]
fn a_checkpoint_returns_every_bit() {
    let before = checkpoint(80);
    assert!(!before.state.grains.is_empty() && !before.state.remembered.is_empty());
    let after = Checkpoint::decode(&before.encode(), Path::new("x")).unwrap();
    assert_eq!(before, after);
}

#[test]
fn every_truncation_and_every_flipped_byte_is_refused() {
    let bytes = checkpoint(12).encode();
    let path = Path::new("x");
    for length in 0..bytes.len() {
        let error = Checkpoint::decode(&bytes[..length], path).unwrap_err();
        assert!(
            matches!(error, CheckpointError::Truncated { .. }),
            "{length}: {error}"
        );
    }
    let mut damaged = bytes.clone();
    for i in 0..bytes.len() {
        damaged[i] ^= 0x55;
        assert!(Checkpoint::decode(&damaged, path).is_err(), "byte {i}");
        damaged[i] = bytes[i];
    }
    damaged.push(0);
    assert!(Checkpoint::decode(&damaged, path).is_err());
}

#[test]
fn foreign_and_too_new_files_are_named() {
    let path = Path::new("x");
    let refuse = |bytes: &[u8]| Checkpoint::decode(bytes, path).unwrap_err().to_string();
    assert_eq!(
        refuse(b"\x89HDF\r\n\x1a\n"),
        "`x` is not a checkpoint of Esker"
    );
    let mut bytes = checkpoint(1).encode();
    let next = CHECKPOINT_FORMAT + 1;
    bytes[8] = next as u8;
    let shown = refuse(&bytes);
    assert!(shown.contains(&format!("format {next}")), "{shown}");
}

#[test]
fn the_newest_two_are_kept_and_the_older_one_steps_in() {
    let dir = temporary_dir("checkpoints");
    let store = CheckpointStore::new(dir.path());
    let scene = checkpoint(0).scene;
    assert!(matches!(
        store.latest(scene),
        Err(CheckpointError::None { .. })
    ));
    for steps in [4, 8, 12] {
        store.save(&checkpoint(steps)).unwrap();
    }
    let files = store.list().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(CheckpointHeader::read(&files[0]).unwrap().steps_done, 12);
    assert_eq!(store.latest(scene).unwrap().checkpoint, checkpoint(12));

    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() / 2]).unwrap();
    let latest = store.latest(scene).unwrap();
    assert_eq!(latest.checkpoint, checkpoint(8));
    assert!(matches!(
        latest.refused[..],
        [CheckpointError::Truncated { .. }]
    ));

    // Resumed from step 8: the damaged later one must not return.
    store.save(&checkpoint(10)).unwrap();
    let steps: Vec<u64> = store
        .list()
        .unwrap()
        .iter()
        .map(|p| CheckpointHeader::read(p).unwrap().steps_done)
        .collect();
    assert_eq!(steps, [10, 8]);

    let other = SceneIdentity::of_parts([b"another".as_slice()]);
    assert!(matches!(
        store.latest(other),
        Err(CheckpointError::OtherScene { .. })
    ));
}

#[test]
fn the_identity_sees_where_one_part_ends_and_the_next_begins() {
    let of = |parts: &[&str]| SceneIdentity::of_parts(parts.iter().map(|p| p.as_bytes()));
    assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
}
