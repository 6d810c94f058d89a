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
        ("{ imbalance = 0 }", "out of range"),
        ("{ refresh_growth = 0.5 }", "out of range"),
        ("{ method = \"trail\" }", "trial"),
        ("{ method = \"trial\", imbalance = 0.2 }", "balance"),
        ("{ trial_sweeps = 50 }", "trial"),
        ("{ method = \"trial\", trial_sweeps = 0 }", "trial_sweeps"),
        ("{ method = \"trial\", trial_force = 1 }", "out of range"),
        ("{ method = \"trial\", trial_force = 0 }", "out of range"),
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

/// The refresh time was judged with trial steps too, which have none.
#[test]
fn trial_steps_are_judged_by_their_own_settings() {
    let settings = "{ method = \"trial\", rest_time = 6 }";
    assert_eq!(scene(settings).world.reduction.unwrap().rest_time, 6.0);
    let found = read("{ rest_time = 6 }").expect_err("balance").to_string();
    assert!(found.contains("longer refresh_time"), "{found}");
}

/// Laws of attraction without any force, and between materials that no grain has, were refused.
#[test]
fn cohesion_that_no_grain_feels_does_not_exclude_reduction() {
    let of_pair = |pair: &str| {
        let pair = format!("pair = [{{ {pair} }}]\n");
        let text = format!("reduction = \"on\"\n{SCENE}{pair}material.felt = {{ young = 1e7 }}\n");
        parse(&text, "scene.toml", Path::new(".")).is_ok()
    };
    assert!(!of_pair(
        "materials = [\"glass\", \"glass\"], cohesion = { energy = 0.1 }"
    ));
    assert!(!of_pair(
        "materials = [\"glass\", \"felt\"], cohesion = { energy = 0.1 }"
    ));
    assert!(of_pair(
        "materials = [\"glass\", \"glass\"], cohesion = { energy = 0 }"
    ));
    assert!(of_pair(
        "materials = [\"felt\", \"felt\"], cohesion = { energy = 0.1 }"
    ));
}

#[test]
fn check_notes_thresholds_far_from_their_defaults() {
    let notes = |settings: &str| {
        let notes = estimate(&scene(settings), None).notes;
        let mut notes: Vec<String> = notes
            .into_iter()
            .filter(|n| n.contains("default"))
            .collect();
        notes.sort();
        notes
    };
    assert_eq!(notes("\"on\""), Vec::<String>::new());
    assert_eq!(
        notes("{ rest_speed = 0.03, imbalance = 0.6, refresh_growth = 1 }"),
        Vec::<String>::new()
    );
    let wild = "{ rest_speed = 1e14, impact_speed = 1e15, rest_acceleration = 1e15, imbalance = 1, refresh_time = 1e15 }";
    let found = notes(wild);
    assert_eq!(found.len(), 5, "{found:#?}");
    for key in [
        "rest_speed",
        "impact_speed",
        "rest_acceleration",
        "imbalance",
        "refresh_time",
    ] {
        let about = |note: &String| note.starts_with(&format!("reduction: {key}"));
        assert!(found.iter().any(about), "{key}: {found:#?}");
    }
    let hasty = notes("{ rest_time = 0.01 }").join("");
    assert!(hasty.contains("slow for a moment"), "{hasty}");
    let trial = notes("{ method = \"trial\", trial_slip = 10 }").join("");
    assert!(
        trial.contains("trial_slip is 14 times its default of 0.73: "),
        "{trial}"
    );
}

#[test]
fn check_notes_sensors_without_reduction() {
    let pair = "pair = [{ materials = [\"glass\", \"glass\"], friction = 0.5 }]\n";
    let sensor = "sensor = [{ region = { box = [[0, 0, 0], [1, 1, 1]] } }]\n";
    let notes = |reduction: &str| {
        let text = format!("{reduction}{SCENE}{pair}{sensor}");
        let scene = parse(&text, "scene.toml", Path::new("."));
        estimate(&scene.unwrap(), None).notes.join("\n")
    };
    assert!(notes("").contains("[[sensor]] has no effect"));
    assert!(!notes("reduction = \"on\"\n").contains("has no effect"));
}

#[test]
fn sensors_are_among_what_must_have_names_of_its_own() {
    let sensor = "{ name = \"here\", region = { box = [[0, 0, 0], [1, 1, 1]] } }";
    let text = format!("{SCENE}sensor = [{sensor}, {sensor}]\n");
    let found = parse(&text, "scene.toml", Path::new(".")).expect_err("two of a name");
    assert!(found.to_string().contains("among sensors"), "{found}");
}

/// Notes about freezing of a scene with these walls beside a floor, and more.
fn notes_with(walls: &str, more: &str) -> String {
    let floor = "{ name = \"floor\", shape = \"plane\", material = \"glass\" }";
    let text = format!(
        "reduction = \"on\"\nduration = 4.0\nstep = 1e-3\n\
         material.glass = {{ density = 2500, young = 1e9 }}\n\
         pair = [{{ materials = [\"glass\", \"glass\"], friction = 0.5 }}]\n\
         wall = [{}]\n{more}",
        walls.replace("FLOOR", floor)
    );
    let scene = parse(&text, "scene.toml", Path::new("."));
    let scene = scene.unwrap_or_else(|errors| panic!("{errors}"));
    let notes = estimate(&scene, None).notes;
    let about = notes
        .into_iter()
        .filter(|note| note.starts_with("reduction:"));
    about.collect::<Vec<_>>().join("\n")
}

const BED: &str = "grains = [{ place = \"random\", count = 50, diameter = 0.01, \
    region = { box = [[-0.05, -0.05, 0.1], [0.05, 0.05, 0.2]] } }]\n";

#[test]
fn check_notes_where_freezing_does_not_suit() {
    let drum = |motion: &str| {
        format!(
            "{{ name = \"drum\", shape = \"cylinder\", axis = [0, 1, 0], radius = 0.3, length = 0.5, motion = {motion} }}"
        )
    };
    let lid = |motion: &str| {
        format!(
            "FLOOR, {{ name = \"lid\", shape = \"plane\", position = [0, 0, 0.5], normal = [0, 0, -1], {motion} }}"
        )
    };
    let y = "axis = [0, 1, 0]";
    let two_turns = format!(
        "[{{ type = \"rotate\", {y}, rate = 0.3 }}, {{ type = \"rotate\", {y}, rate = 0.3 }}]"
    );
    let mixer = |shape: &str| {
        format!(
            "FLOOR, {{ name = \"blade\", {shape}, position = [0, 0, 0.02], motion = {{ type = \"rotate\", axis = [0, 0, 1], rate = 1.0 }} }}"
        )
    };
    let hopper = "{ name = \"cone\", shape = \"cone\", position = [0, 0, 0], radius_bottom = 0.03, radius_top = 0.1, length = 0.1 }";
    let feed = "emitter = [{ region = { box = [[-0.05, -0.05, 0.1], [0.05, 0.05, 0.2]] }, rate = { number = 100 }, diameter = 0.01 }]\n";
    let sink = "sink = [{ region = { box = [[-1, -1, -2], [1, 1, -0.5]] } }]\n";
    let belt = "{ name = \"belt\", shape = \"box\", side = \"outside\", position = [0, 0, -0.2], size = [1, 1, 0.02], surface_velocity = [1, 0, 0] }";
    for (walls, more, words) in [
        (
            drum(&format!("{{ type = \"rotate\", {y}, rate = 1.0 }}")),
            BED.into(),
            "turns over",
        ),
        (drum(&two_turns), BED.into(), "turns over"),
        (
            drum("{ type = \"table\", axis = [0, 1, 0], times = [0, 4], angles = [0, 90] }"),
            BED.into(),
            "turns over",
        ),
        (
            mixer("shape = \"box\", side = \"outside\", size = [0.1, 0.01, 0.04]"),
            BED.into(),
            "upright axis",
        ),
        (
            lid("motion = { type = \"translate\", velocity = [0.1, 0, 0] }"),
            BED.into(),
            "past one another",
        ),
        (
            lid("surface_velocity = [0.1, 0, 0]"),
            BED.into(),
            "past one another",
        ),
        (
            lid("motion = { type = \"translate\", velocity = [0.1, 0, 0] }"),
            format!("{BED}periodic = {{ x = [-0.1, 0.1] }}\n"),
            "periodic axis",
        ),
        (
            "FLOOR".into(),
            format!("gravity = [3, 0, -9]\n{BED}periodic = {{ x = [-0.1, 0.1] }}\n"),
            "periodic axis",
        ),
        (hopper.into(), format!("{BED}{sink}"), "outlet"),
        (hopper.into(), format!("{feed}{sink}"), "outlet"),
        (
            format!("{hopper}, {belt}"),
            format!("{BED}{sink}"),
            "outlet",
        ),
    ] {
        let found = notes_with(&walls, &more);
        assert!(found.contains(words), "{words}: {walls}: {found}");
    }
    let gate = "FLOOR, { name = \"gate\", shape = \"plane\", position = [0.1, 0, 0], normal = [-1, 0, 0], motion = { type = \"translate\", velocity = [0, 0, 2], start = 0.1, stop = 0.3 } }, \
        { name = \"back\", shape = \"plane\", position = [-0.1, 0, 0], normal = [1, 0, 0] }";
    let tray = format!(
        "FLOOR, {}",
        drum(&format!(
            "{{ type = \"rotate\", {y}, rate = 0.17, stop = 0.2 }}"
        ))
    );
    let plate = "{ name = \"plate\", shape = \"cylinder\", side = \"outside\", position = [0, 0, 0], radius = 0.15, length = 0.02 }";
    for (walls, more) in [
        ("FLOOR".to_owned(), BED.to_owned()),
        (tray, BED.into()),
        (
            "FLOOR".into(),
            format!("{BED}periodic = {{ x = [-0.1, 0.1] }}\n"),
        ),
        (gate.into(), BED.into()),
        (format!("FLOOR, {belt}"), feed.into()),
        // A heap on a plate, and what falls over its edge.
        (plate.into(), format!("{feed}{sink}")),
        // A bed on a belt, which carries it away.
        (belt.into(), format!("{BED}{sink}")),
    ] {
        assert_eq!(notes_with(&walls, &more), "", "{walls}");
    }
}

/// A bed of 270 grains that lost 0.079 J of height as its columns fell lost 0.002 J with grains frozen.
#[test]
fn check_notes_lattices_whose_columns_are_frozen_before_they_buckle() {
    let notes = |rolling: &str, keys: &str| {
        let text = format!(
            "reduction = \"on\"\nduration = 2.0\nstep = 2e-3\n\
             material.glass = {{ density = 2500, young = 5e7 }}\n\
             pair = [{{ materials = [\"glass\", \"glass\"], friction = 0.6, {rolling} }}]\n\
             wall = [{{ shape = \"plane\" }}]\n\
             grains = [{{ place = \"lattice\", region = {{ box = [[-0.05, -0.03, 0], [0.05, 0.03, 0.07]] }}, {keys} }}]\n"
        );
        let scene = parse(&text, "scene.toml", Path::new("."));
        let scene = scene.unwrap_or_else(|errors| panic!("{errors}"));
        estimate(&scene, None).notes.join("\n")
    };
    for (rolling, keys, stands) in [
        ("rolling = 0.1", "diameter = 0.01", true),
        (
            "rolling = 0.1",
            "diameter = 0.01, jitter = 0.5, spacing = 0.0105",
            true,
        ),
        ("rolling = 0.1", "sizes = { uniform = [0.009, 0.01] }", true),
        ("rolling = 0.3", "diameter = 0.01, spacing = 0.0105", true),
        ("rolling = 0", "diameter = 0.01, jitter = 0", true),
        ("rolling = 0.1", "diameter = 0.01, spacing = 0.0105", false),
        (
            "rolling = 0.1",
            "sizes = { uniform = [0.008, 0.01] }",
            false,
        ),
        ("rolling = 0", "diameter = 0.01", false),
    ] {
        let found = notes(rolling, keys);
        assert_eq!(
            found.contains("is a lattice"),
            stands,
            "{rolling}, {keys}: {found}"
        );
    }
    assert!(notes("rolling = 0.1", "diameter = 0.01").contains("a spacing of 1.06 diameters"));
}

/// What freezing suits and does not among the scenes of the repository.
#[test]
fn check_knows_which_shipped_scenes_freezing_suits() {
    let notes = |name: &str| {
        let file = format!("{}/../../scenes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut scene = esker_scene::load(file).unwrap_or_else(|errors| panic!("{errors}"));
        scene.world.reduction = Some(Reduction::default());
        let notes = estimate(&scene, None).notes;
        let about = notes
            .into_iter()
            .filter(|note| note.starts_with("reduction:"));
        // Some begin with a lattice that is let fall.
        let about = about.filter(|note| !note.contains("lattice"));
        about.collect::<Vec<_>>().join("\n")
    };
    for name in [
        "conveyor",
        "pile",
        "rubble",
        "silo",
        "wheel-on-soil",
        "cookbook/belt-conveyor",
        "cookbook/column-collapse",
        "cookbook/impact",
        "experiments/reduction",
        "experiments/repose",
        "experiments/pile",
        "experiments/cup",
    ] {
        assert_eq!(notes(name), "", "{name}");
    }
    for (name, words) in [
        ("drum", "turns over"),
        ("lifter-drum", "turns over"),
        ("cookbook/paddle-mixer", "turns over"),
        ("cookbook/screw-conveyor", "turns over"),
        ("hopper", "outlet"),
        ("cookbook/hopper-belt", "outlet"),
        ("experiments/beverloo", "outlet"),
        ("experiments/drum", "turns over"),
    ] {
        assert!(notes(name).contains(words), "{name}: {}", notes(name));
    }
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
