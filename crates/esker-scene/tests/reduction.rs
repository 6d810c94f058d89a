//! How scenes say when grains at rest are frozen, and what `check` says about it.

use std::path::Path;

use esker_scene::estimate::estimate;
use esker_scene::{Scene, SceneErrors, parse};
use esker_world::definition::{Reduction, Split, Trial};

const SCENE: &str = "duration = 1.0\nstep = 1e-3\n\
    material.glass = { density = 2500, young = 1e9 }\n\
    grains = [{ place = \"column\", count = 1, diameter = 0.01, material = \"glass\" }]\n\
    wall = [{ name = \"floor\", shape = \"plane\", material = \"glass\" }]\n";

fn read(reduction: &str) -> Result<Scene, SceneErrors> {
    let pair = "pair = [{ materials = [\"glass\", \"glass\"], friction = 0.5 }]\n";
    let text = format!("reduction = {reduction}\n{SCENE}{pair}");
    parse(&text, "scene.toml", Path::new("."))
}

fn scene(reduction: &str) -> Scene {
    read(reduction).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn reduction_is_a_word_or_a_table_of_settings() {
    assert_eq!(scene("\"off\"").world.reduction, None);
    let default = Some(Reduction::default());
    assert_eq!(scene("\"on\"").world.reduction, default);
    assert_eq!(scene("{ method = \"balance\" }").world.reduction, default);
    let careful = scene("{ imbalance = 0.2, refresh_growth = 1 }");
    let expected = Reduction {
        imbalance: 0.2,
        refresh_growth: 1.0,
        ..Default::default()
    };
    assert_eq!(careful.world.reduction, Some(expected));
    let trial = scene("{ method = \"trial\", trial_sweeps = 100, rest_speed = 0.007 }");
    let expected = Reduction {
        rest_speed: 0.007,
        split: Split::Trial(Trial {
            sweeps: 100,
            ..Default::default()
        }),
        ..Default::default()
    };
    assert_eq!(trial.world.reduction, Some(expected));
}

#[test]
fn settings_that_contradict_each_other_are_refused_with_advice() {
    for (settings, words) in [
        ("\"maybe\"", "\"on\" or \"off\""),
        ("{ rest_sped = 0.01 }", "`rest_speed`"),
        ("{ imbalance = -0.1 }", "out of range"),
        ("{ refresh_growth = 0.5 }", "out of range"),
        ("{ method = \"trail\" }", "trial"),
        ("{ method = \"trial\", imbalance = 0.2 }", "balance"),
        ("{ trial_sweeps = 50 }", "trial"),
        ("{ method = \"trial\", trial_sweeps = 0 }", "trial_sweeps"),
        ("{ method = \"trial\", trial_force = 1 }", "less than 1"),
        ("{ impact_speed = 0.01 }", "greater impact_speed"),
        ("{ refresh_time = 0.5 }", "longer refresh_time"),
    ] {
        let found = read(settings).expect_err(settings).to_string();
        assert!(found.contains(words), "{settings}: {found}");
    }
}

#[test]
fn check_says_why_cohesion_and_reduction_exclude_each_other() {
    let pair = "pair = [{ materials = [\"glass\", \"glass\"], cohesion = { force = 1e-4 } }]\n";
    let text = format!("reduction = \"on\"\n{SCENE}{pair}");
    let found = parse(&text, "scene.toml", Path::new(".")).expect_err("cohesion");
    let found = found.to_string();
    assert!(found.contains("attract one another"), "{found}");
}

#[test]
fn check_notes_that_trial_steps_gain_nothing() {
    let notes = |settings: &str| estimate(&scene(settings), None).notes.join("\n");
    assert!(notes("{ method = \"trial\" }").contains("takes longer"));
    assert!(!notes("\"on\"").contains("takes longer"));
}

/// The floor made into something else, and more of the scene.
fn notes_of(floor: &str, more: &str) -> String {
    let scene = SCENE.replace("shape = \"plane\"", floor);
    let pair = "pair = [{ materials = [\"glass\", \"glass\"], friction = 0.5 }]\n";
    let text = format!("reduction = \"on\"\n{scene}{pair}{more}");
    let scene = parse(&text, "scene.toml", Path::new("."));
    let scene = scene.unwrap_or_else(|errors| panic!("{errors}"));
    estimate(&scene, None).notes.join("\n")
}

#[test]
fn check_notes_where_freezing_does_not_suit() {
    let flat = "shape = \"plane\"";
    assert!(!notes_of(flat, "").contains("reduction:"));
    let turning = format!("{flat}, motion = {{ type = \"rotate\", axis = [0, 1, 0], rate = 1.0 }}");
    let drum = notes_of(&turning, "");
    assert!(drum.contains("turns over"), "{drum}");
    let sink = "sink = [{ name = \"out\", region = { box = [[-1, -1, -1], [1, 1, -0.5]] } }]\n";
    let hopper = notes_of(flat, sink);
    assert!(hopper.contains("outlet"), "{hopper}");
    let shear = notes_of(flat, "periodic = { x = [-0.1, 0.1] }\n");
    assert!(shear.contains("shear cell"), "{shear}");
}

#[test]
fn check_notes_that_frozen_grains_leave_a_gpu_little_to_do() {
    let notes = |device: &str| {
        let text = format!("device = \"{device}\"\nreduction = \"on\"\n{SCENE}");
        let scene = parse(&text, "scene.toml", Path::new("."));
        let scene = scene.unwrap_or_else(|errors| panic!("{errors}"));
        estimate(&scene, None).notes.join("\n")
    };
    assert!(notes("gpu").contains("leave it little to do"));
    assert!(!notes("cpu").contains("little to do"));
}
