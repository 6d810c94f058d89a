//! What a solve says about its own quality.

mod common;

use common::*;
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// A heap of 60 grains in a corner of walls, on its way to rest.
fn heap(method: Method) -> World {
    let law = PairLaw {
        friction: 0.5,
        rolling: 0.1,
        ..Default::default()
    };
    let d = 2.0 * PELLET_RADIUS;
    let mut def = scene(pellet(), law, method, 5e-3);
    def.walls = vec![floor()];
    def.packings = vec![listed(
        (0..60)
            .map(|i| {
                let (x, y, z) = (i % 4, i / 4 % 4, i / 16);
                let shift = 0.2 * ((i * 7) % 5) as f64 / 5.0;
                let at = DVec3::new(x as f64 + shift, y as f64 - shift, z as f64 + 0.5) * d;
                grain(at, PELLET_RADIUS)
            })
            .collect(),
    )];
    build(&def)
}

#[test]
fn the_residual_falls_as_sweeps_are_added() {
    let mut loaded = heap(sub_stepped(25));
    run(&mut loaded, 0.3);
    let mut last = f64::INFINITY;
    for sweeps in [1, 5, 25, 125, 625] {
        let mut world = heap(whole_step(sweeps, WarmStart::Cold));
        world.grains = loaded.grains.clone();
        let residual = world.step().unwrap().residual.unwrap();
        assert!(residual < 0.7 * last, "{residual:.1e} after {last:.1e}");
        last = residual;
    }
    assert!(last < 1e-3, "{last:.1e} after 625 sweeps");
}

#[test]
fn a_solve_stops_at_its_tolerance_and_says_when_it_missed_it() {
    let limited = |sweeps, tolerance| {
        heap(Method::WholeStep(WholeStep {
            sweeps,
            tolerance: Some(tolerance),
            ..Default::default()
        }))
    };
    let mut world = limited(2000, 1e-2);
    let mut fewest = usize::MAX;
    for _ in 0..100 {
        let report = world.step().unwrap();
        assert!(report.converged && report.residual.unwrap() <= 1e-2);
        assert!(report.sweeps < 2000);
        fewest = fewest.min(report.sweeps);
    }
    assert!(fewest <= 100, "never fewer than {fewest} sweeps");
    let report = limited(3, 1e-4).step().unwrap();
    assert!(!report.converged && report.sweeps == 3 && report.residual.unwrap() > 1e-4);
}

#[test]
fn a_tight_tolerance_and_many_sweeps_agree() {
    let mut tight = heap(Method::WholeStep(WholeStep {
        sweeps: 20_000,
        tolerance: Some(1e-9),
        warm_start: history(1.0),
        ..Default::default()
    }));
    let mut many = heap(whole_step(20_000, history(1.0)));
    let report = tight.step().unwrap();
    many.step().unwrap();
    assert!(report.sweeps < 20_000, "{:?}", report.residual);
    for (a, b) in tight.grains.state.iter().zip(&many.grains.state) {
        assert!((a.velocity - b.velocity).length() < 1e-7);
    }
}

#[test]
fn sub_stepping_is_judged_by_its_tolerance_too() {
    let judged = |tolerance| {
        Method::SubStepped(SubStepped {
            tolerance: Some(tolerance),
            ..Default::default()
        })
    };
    // At rest one warm-started sweep per substep leaves nothing to do.
    let mut world = heap(judged(1e-3));
    run(&mut world, 3.0);
    let report = world.step().unwrap();
    assert!(report.converged, "{:?}", report.residual);
    // In the first step, from nothing, it does.
    let report = heap(judged(1e-6)).step().unwrap();
    assert!(!report.converged, "{:?}", report.residual);
    // Without a tolerance every step counts as converged and some are measured.
    let mut world = heap(sub_stepped(25));
    let reports: Vec<_> = (0..20).map(|_| world.step().unwrap()).collect();
    assert!(reports.iter().all(|r| r.converged));
    assert!(reports.iter().any(|r| r.residual.is_some()));
}
