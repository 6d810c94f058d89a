//! `tolerance = "1%"`: step and sweeps from the formulas.

use esker_world::definition::{Method, WarmStart};

fn scene(head: &str) -> Result<esker_scene::Scene, esker_scene::SceneErrors> {
    let text = format!(
        "{head}\nduration = 1.0\nmaterial.glass = {{ density = 2500, young = 5e11 }}\n\
         wall = [{{ shape = \"plane\" }}]\n\
         grains = [{{ place = \"column\", count = 100, diameter = 0.01 }}]\n"
    );
    esker_scene::parse(&text, "column.toml", ".".as_ref())
}

fn substeps(scene: &esker_scene::Scene) -> usize {
    match &scene.world.method {
        Method::SubStepped(m) => m.substeps,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stated_accuracy_chooses_step_and_substeps() {
    let coarse = scene("tolerance = \"5%\"").unwrap();
    let fine = scene("tolerance = \" 0.5 %\"").unwrap();
    assert_eq!(coarse.world.accuracy, Some(0.05));
    assert!(fine.world.step < coarse.world.step);
    let rate = |s: &esker_scene::Scene| substeps(s) as f64 / s.world.step;
    assert!(rate(&fine) > 2.0 * rate(&coarse));
}

/// Runs of 1.5 s ended at 1.508 s.
#[test]
fn a_chosen_step_ends_with_the_duration_however_it_is_lengthened() {
    for duration in [1.5, 0.37, 12.0, 0.01] {
        let text = format!(
            "tolerance = \"1%\"\nduration = {duration}\n\
             material.glass = {{ density = 2500, young = 5e7 }}\n\
             wall = [{{ shape = \"plane\" }}]\n\
             grains = [{{ place = \"column\", count = 3, diameter = 0.02, gap = 0.001 }}]\n"
        );
        let scene = esker_scene::parse(&text, "s.toml", ".".as_ref()).unwrap();
        let longest = 8.0 * scene.world.step;
        let number = duration / longest;
        assert!((number - number.round()).abs() < 1e-9, "{number}");
        let mut world = esker_world::World::new(&scene.world).unwrap();
        while world.time() < duration * (1.0 - 1e-12) {
            world.step().unwrap();
        }
        let end = world.time();
        assert!(
            (end / duration - 1.0).abs() < 1e-12,
            "{end} s of {duration} s"
        );
    }
}

#[test]
fn a_given_step_stays() {
    let scene = scene("tolerance = \"1%\"\nstep = 2e-3").unwrap();
    assert_eq!(scene.world.step, 2e-3);
    assert!(substeps(&scene) >= 10);
}

/// With a part of the last impulses a bed creeps from step to step.
#[test]
fn whole_steps_that_keep_an_accuracy_start_from_all_of_the_last_impulses() {
    for (head, expected) in [
        ("tolerance = \"1%\"", 1.0),
        ("tolerance = \"1%\"\nsolver.warm_factor = 0.9", 0.9),
        ("", 0.85),
    ] {
        let scene = scene(&format!("{head}\nsolver.method = \"gauss-seidel\"")).unwrap();
        let Method::WholeStep(method) = scene.world.method else {
            panic!("{:?}", scene.world.method);
        };
        let factor = expected;
        assert_eq!(method.warm_start, WarmStart::History { factor });
    }
}

#[test]
fn an_accuracy_that_cannot_be_kept_is_refused_with_advice() {
    for wrong in ["1", "-1%", "0%", "90%", "a lot", "%"] {
        let errors = scene(&format!("tolerance = \"{wrong}\""))
            .unwrap_err()
            .to_string();
        assert!(errors.contains("tolerance = \"1%\""), "{wrong}: {errors}");
    }
}

/// Five milliseconds suited hardly anything.
#[test]
fn a_step_that_is_not_given_suits_the_grains_and_their_speed() {
    let poured = |diameter: f64, height: f64, head: &str| {
        let duration = if head.is_empty() { 1.0 } else { 2.7 };
        let bottom = height - 1.1 * diameter;
        let text = format!(
            "{head}\nduration = {duration}\nmaterial.glass = {{ density = 2500, young = 5e7 }}\n\
             wall = [{{ shape = \"plane\" }}]\n\
             [[emitter]]\n\
             region = {{ box = [[0, 0, {bottom}], [1, 1, {height}]] }}\n\
             diameter = {diameter}\nrate = {{ number = 10 }}\n"
        );
        esker_scene::parse(&text, "s.toml", ".".as_ref()).unwrap()
    };
    for (diameter, height) in [(0.01, 0.5), (0.002, 0.5), (0.01, 5.0), (0.3, 1.0)] {
        let scene = poured(diameter, height, "");
        let speed = (2.0 * 9.81 * height).sqrt();
        let way = scene.world.step * speed / diameter;
        assert!(!scene.step_is_given);
        assert!(
            way <= 0.1,
            "{diameter} m from {height} m: {way} diameters per step"
        );
        assert!(way > 0.05 || scene.world.step == 5e-3, "{way}");
        // A longer run goes on as it began.
        let longer = poured(diameter, height, "name = \"longer\"");
        assert_eq!(longer.world.step, scene.world.step);
    }
    let given = poured(0.01, 0.5, "step = 3e-3");
    assert!(given.step_is_given && given.world.step == 3e-3);
    let text = "duration = 1e6\nmaterial.a = { density = 1, young = 1e6 }\n\
                grains = [{ place = \"column\", count = 2, diameter = 1e-9 }]";
    let errors = esker_scene::parse(text, "s.toml", ".".as_ref()).unwrap_err();
    assert!(errors.to_string().contains("steps"), "{errors}");
}

/// The diameter of no grain gave steps of 1e-156 s and as many substeps as there are numbers.
#[test]
fn a_machine_without_grains_gets_the_default_step_and_no_advice_for_grains() {
    let head = "duration = 1.0\nmaterial.steel = { density = 8000, young = 1e9 }\n\
                body = [{ name = \"rod\", shape = { box = [1.0, 0.1, 0.1] }, mass = 1 }]\n";
    let read = |head: &str| esker_scene::parse(head, "rod.toml", ".".as_ref()).unwrap();
    let plain = read(head);
    let accurate = read(&format!("tolerance = \"1%\"\n{head}"));
    assert_eq!(accurate.world.step, plain.world.step);
    assert_eq!(substeps(&accurate), substeps(&plain));
    for scene in [plain, accurate] {
        let estimate = esker_scene::estimate::estimate(&scene, None);
        assert!(estimate.advice.is_empty());
        let shown = estimate.to_string();
        assert!(!shown.contains("bed"), "{shown}");
        assert!(!shown.contains("overlap"), "{shown}");
    }
}
