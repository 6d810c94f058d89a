//! A grain that friction can hold does not creep.

mod common;

use common::*;
use esker_world::definition::*;
use glam::DVec3;

#[test]
fn a_grain_on_an_incline_of_15_degrees_stays_when_sub_stepped() {
    let slope = 15.0_f64.to_radians().tan();
    for substeps in [10, 25] {
        for step in [1e-3, 5e-3, 1e-2] {
            let law = PairLaw {
                friction: 0.91,
                rolling: 0.32,
                ..Default::default()
            };
            let mut def = scene(pellet(), law, sub_stepped(substeps), step);
            def.gravity = inclined_gravity(slope);
            def.walls = vec![floor()];
            def.packings = vec![listed(vec![grain(DVec3::Z * PELLET_RADIUS, PELLET_RADIUS)])];
            let mut world = build(&def);
            run(&mut world, 1.0);
            let start = world.grains().position()[0];
            run(&mut world, 2.0);
            let creep = world.grains().position()[0].distance(start) / 2.0;
            assert!(
                creep < 1e-6,
                "{creep:.1e} m/s, h = {step} s, n = {substeps}"
            );
        }
    }
}

/// A pile on a floor, poured and left alone, comes to rest.
#[test]
fn a_small_pile_comes_to_rest_when_sub_stepped() {
    let law = PairLaw {
        friction: 0.91,
        rolling: 0.32,
        ..Default::default()
    };
    let d = 2.0 * PELLET_RADIUS;
    let mut grains = Vec::new();
    for layer in 0..4 {
        let side = 4 - layer;
        for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
            let at = |k: usize| (k as f64 + 0.5 * layer as f64) * 1.001 * d;
            let height = 0.5 * d + layer as f64 * 0.71 * d;
            grains.push(grain(DVec3::new(at(i), at(j), height), PELLET_RADIUS));
        }
    }
    let mut def = scene(pellet(), law, sub_stepped(10), 5e-3);
    def.walls = vec![floor()];
    def.packings = vec![listed(grains)];
    let mut world = build(&def);
    run(&mut world, 2.0);
    let fastest = world
        .grains()
        .state()
        .iter()
        .map(|s| s.velocity.length())
        .fold(0.0, f64::max);
    assert!(fastest < 1e-6, "{fastest:.1e} m/s");
}
