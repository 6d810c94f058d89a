//! A stated accuracy with whole steps: what is called kept is.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const DIAMETER: f64 = 1e-2;

/// A narrow silo of 250 grains, filled from a lattice.
fn silo(method: WholeStep, accuracy: Option<f64>) -> WorldDef {
    let law = PairLaw {
        friction: 0.7,
        ..Default::default()
    };
    let material = material(2500.0, 5e6, 0.3);
    let mut def = scene(material, law, Method::WholeStep(method), 2.5e-3);
    def.accuracy = accuracy;
    let radius = 2.5 * DIAMETER;
    let cylinder = WallShape::Cylinder {
        radius,
        length: 40.0 * DIAMETER,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    let middle = Pose::from_position(DVec3::Z * 18.0 * DIAMETER);
    def.walls = vec![floor(), wall(cylinder, middle)];
    def.packings = vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Lattice {
            region: Region::Cylinder {
                radius,
                length: 24.0 * DIAMETER,
                pose: Pose::from_position(DVec3::Z * 12.0 * DIAMETER),
            },
            spacing: Some(1.05 * DIAMETER),
            jitter: 1.0,
            count: Some(250),
            sizes: SizeDistribution::Fixed {
                radius: 0.5 * DIAMETER,
            },
        },
    }];
    def
}

/// Steps, and returns the mean load on the floor, N, and the share of steps that
/// missed the accuracy.
fn observed(world: &mut World, steps: usize) -> (f64, f64) {
    let before = world.walls[0].total_load.impulse.z;
    let missed = (0..steps).filter(|_| world.step().unwrap().missed.any());
    let missed = missed.count() as f64 / steps as f64;
    let given = before - world.walls[0].total_load.impulse.z;
    (given / (steps as f64 * world.step_length()), missed)
}

/// A bed at rest stays as it is, and so does the load on its floor. Whole steps that
/// start from a part of the last impulses and are not solved to the end let it creep
/// down its wall, which takes over a tenth of the weight; overlaps and median creep
/// show nothing.
#[test]
fn the_floor_of_a_silo_keeps_its_load_where_an_accuracy_is_called_kept() {
    let exact = WholeStep {
        sweeps: 1000,
        tolerance: Some(1e-4),
        warm_start: WarmStart::FULL_HISTORY,
        ..Default::default()
    };
    let mut world = build(&silo(exact, None));
    run(&mut world, 1.0);
    let (load, _) = observed(&mut world, 20);
    let state = world.state();
    for warm_start in [WarmStart::FULL_HISTORY, history(0.85)] {
        let method = WholeStep {
            warm_start,
            ..Default::default()
        };
        let mut world = World::restore(&silo(method, Some(0.01)), state.clone()).unwrap();
        world.set_sweeps(20).unwrap();
        let (_, missed) = observed(&mut world, 300);
        assert_eq!(missed, 0.0, "{warm_start:?}");
        let (after, _) = observed(&mut world, 20);
        assert!(
            relative(after, load) < 0.03,
            "{warm_start:?}: {after:.3} N for {load:.3} N"
        );
    }
}
