//! Rows do not depend on threads or on where a run was interrupted, and probes
//! do not change the world.

use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_probe::{Class, Opening, OpeningShape, Path, ProbeDef, Probes, Quantity, Row};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

fn drum() -> WorldDef {
    WorldDef {
        step: 2e-3,
        gravity: DVec3::Y * -9.81,
        materials: vec![Material {
            name: "glass".into(),
            density: 2500.0,
            young: 1e7,
            poisson: 0.3,
        }],
        walls: vec![WallDef {
            motion: Motion::Rotate {
                axis: DVec3::Z,
                centre: DVec3::ZERO,
                rate: 5.0,
                start: 0.0,
                stop: f64::INFINITY,
            },
            ..WallDef::new(
                "drum",
                WallShape::Cylinder {
                    radius: 0.06,
                    length: 0.05,
                    side: Side::Inside,
                    open: OpenFaces::NONE,
                },
                Pose::IDENTITY,
            )
        }],
        packings: vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Lattice {
                region: Region::Cylinder {
                    radius: 0.055,
                    length: 0.05,
                    pose: Pose::IDENTITY,
                },
                spacing: None,
                jitter: 0.5,
                count: Some(250),
                sizes: SizeDistribution::Uniform {
                    min: 3e-3,
                    max: 5e-3,
                },
            },
        }],
        ..Default::default()
    }
}

fn probes() -> Vec<ProbeDef> {
    let region = Region::Box {
        half_extents: DVec3::new(0.02, 0.02, 0.02),
        pose: Pose::from_position(DVec3::Y * -0.035),
    };
    let quantities = [
        Quantity::Flow(Opening {
            position: DVec3::ZERO,
            normal: DVec3::X,
            shape: OpeningShape::Disc { radius: 0.05 },
        }),
        Quantity::Bulk { region, samples: 5 },
        Quantity::Wall { wall: 0 },
        Quantity::Mixing {
            class: Class::LargerThan(8e-3),
            region: None,
            cell: 0.02,
            direction: None,
        },
        Quantity::Front {
            path: Path::Along {
                origin: DVec3::ZERO,
                direction: DVec3::X,
            },
            share: 0.9,
        },
        Quantity::Profile {
            base: DVec3::new(-0.05, -0.06, 0.0),
            direction: DVec3::X,
            length: 0.1,
            width: 0.03,
            cells: 20,
        },
    ];
    let numbered = quantities.into_iter().enumerate();
    numbered
        .map(|(i, quantity)| ProbeDef {
            name: format!("probe {i}"),
            every: 0.031 + 0.007 * i as f64,
            quantity,
        })
        .collect()
}

fn advance(world: &mut World, probes: &mut Probes, steps: usize) -> Vec<Row> {
    let step = |_| {
        let report = world.step().unwrap();
        probes.after_step(world, &report)
    };
    (0..steps).flat_map(step).collect()
}

/// Bits, so that what is not a number is equal to itself.
fn bits(rows: &[Row]) -> Vec<(usize, u64, Vec<u64>)> {
    let row = |r: &Row| {
        let values = r.values.iter().map(|x| x.to_bits()).collect();
        (r.probe, r.step, values)
    };
    rows.iter().map(row).collect()
}

#[test]
fn rows_of_a_resumed_run_are_those_of_an_unbroken_one() {
    let (def, probe_defs) = (drum(), probes());
    let mut world = World::new(&def).unwrap();
    let mut whole = Probes::new(&probe_defs, &world);
    // Within an interval of every probe.
    advance(&mut world, &mut whole, 113);
    let (state, tally) = (world.state(), whole.tally());
    let mut restored = World::restore(&def, state).unwrap();
    let mut resumed = Probes::resume(&probe_defs, &restored, &tally);
    let (a, b) = (
        advance(&mut world, &mut whole, 120),
        advance(&mut restored, &mut resumed, 120),
    );
    assert!(a.len() > 20 && bits(&a) == bits(&b));
    // A probe that forgot its interval would give other rows.
    let mut restored = World::restore(&def, world.state()).unwrap();
    let mut fresh = Probes::new(&probe_defs, &restored);
    let rows = advance(&mut restored, &mut fresh, 40);
    let unbroken = advance(&mut world, &mut whole, 40);
    assert_ne!(bits(&unbroken), bits(&rows));
}

#[test]
fn rows_are_the_same_on_any_number_of_threads_and_the_world_is_untouched() {
    let run = |threads: usize, probe_defs: &[ProbeDef]| {
        let mut world = World::new(&drum()).unwrap();
        world.set_threads(threads);
        let mut watching = Probes::new(probe_defs, &world);
        let rows = advance(&mut world, &mut watching, 150);
        (bits(&rows), world.grains().state_hash())
    };
    let (rows, hash) = run(1, &probes());
    assert_eq!(run(3, &probes()), (rows, hash));
    assert_eq!(run(1, &[]).1, hash);
}
