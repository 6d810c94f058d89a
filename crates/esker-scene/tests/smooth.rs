//! What `check` says of smooth stepping is what a run does.

use esker_scene::estimate::estimate;
use esker_world::World;

/// A ball of 10 GPa that falls by 10 cm on a floor.
fn scene(method: &str) -> esker_scene::Scene {
    let text = format!(
        "duration = 0.2\nstep = 1e-3\nsolver = {{ {method} }}\n\
         material.glass = {{ density = 2500, young = 1e10 }}\n\
         wall = [{{ shape = \"plane\" }}]\n\
         grains = [{{ place = \"column\", count = 1, diameter = 0.01, base = [0, 0, 0.1] }}]\n"
    );
    esker_scene::parse(&text, "ball.toml", ".".as_ref()).unwrap()
}

#[test]
fn substeps_advised_for_springs_are_those_that_a_run_takes() {
    let scene = scene("method = \"smooth\", substeps = 20");
    let advised = estimate(&scene, None);
    let mut world = World::new(&scene.world).unwrap();
    let most = (0..scene.steps())
        .map(|_| world.step().unwrap().sweeps as u64)
        .max()
        .unwrap();
    println!("{} advised, {most} taken", advised.sweeps);
    assert!(most > 100);
    assert_eq!(advised.advice[0].substeps, advised.sweeps);
    // The estimate allows for grains that meet grains, which are lighter.
    let ratio = most as f64 / advised.sweeps as f64;
    assert!((0.8..1.2).contains(&ratio), "{most} of {}", advised.sweeps);
}

#[test]
fn other_methods_take_what_the_scene_says() {
    let scene = scene("substeps = 20");
    assert_eq!(estimate(&scene, None).sweeps, 20);
}

#[test]
fn every_method_that_a_scene_may_name_is_known_to_the_world() {
    for method in [
        "gauss-seidel",
        "auto",
        "newton",
        "anderson",
        "quasi-newton",
        "interior-point",
        "accelerated-gradient",
        "jacobi",
    ] {
        let scene = scene(&format!("method = \"{method}\""));
        World::new(&scene.world).unwrap();
    }
}
