//! Whatever is thrown together stays finite, gains no energy from nowhere, and
//! contacts keep their names.

mod common;

use std::collections::BTreeMap;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::definition::*;
use esker_world::{ContactKey, Partner};
use esker_world::{GrainId, World};
use glam::{DQuat, DVec3};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![
        (5..30_usize).prop_map(sub_stepped),
        (5..30_usize).prop_map(|n| whole_step(n, WarmStart::Cold)),
        (5..30_usize, 0.0..1.0_f64).prop_map(|(n, f)| whole_step(n, history(f))),
        (5..30_usize).prop_map(|n| Method::WholeStep(WholeStep {
            sweeps: n,
            tolerance: Some(1e-3),
            ..Default::default()
        })),
    ]
}

fn law() -> impl Strategy<Value = PairLaw> {
    (
        0.0..1.0_f64,
        0.0..0.4_f64,
        0.0..0.2_f64,
        0.0..=1.0_f64,
        any::<bool>(),
        0.0..2e-3_f64,
    )
        .prop_map(
            |(friction, rolling, twisting, restitution, linear, damping)| PairLaw {
                normal: if linear {
                    NormalLaw::Linear { stiffness: 1e5 }
                } else {
                    NormalLaw::Hertz
                },
                friction,
                rolling,
                twisting,
                restitution,
                damping,
                ..Default::default()
            },
        )
}

fn motion() -> impl Strategy<Value = Motion> {
    prop_oneof![
        Just(Motion::Still),
        (-10.0..10.0_f64).prop_map(|rate| Motion::Rotate {
            axis: DVec3::new(0.6, 0.8, 0.0),
            centre: DVec3::new(0.01, 0.0, 0.02),
            rate,
            start: 0.02,
            stop: 0.2,
        }),
        (1e-3..2e-2_f64, 1.0..20.0_f64, 0.0..6.0_f64).prop_map(|(amplitude, frequency, phase)| {
            Motion::Oscillate {
                direction: DVec3::new(0.0, 0.6, 0.8),
                amplitude,
                frequency,
                phase,
            }
        }),
        (-0.5..0.5_f64).prop_map(|v| Motion::Translate {
            velocity: DVec3::new(v, 0.0, -v),
            start: 0.0,
            stop: 0.1,
        }),
        (-0.05..0.05_f64, -2.0..2.0_f64).prop_map(|(way, angle)| Motion::Table {
            times: vec![0.0, 0.05, 0.2],
            displacements: vec![DVec3::ZERO, DVec3::X * way, DVec3::ZERO],
            angles: vec![0.0, angle, 0.0],
            axis: DVec3::Y,
            centre: DVec3::ZERO,
        }),
    ]
}

const BOX: f64 = 0.12;

prop_compose! {
    /// Grains of a size ratio up to 1:5 that fly about in a moving box with a
    /// moving roller in it.
    fn random_scene()(
        method in method(), law in law(), box_motion in motion(), roller_motion in motion(),
        count in 2..200_usize, smallest in 2e-3..8e-3_f64, speed in 0.0..3.0_f64,
        young in 6.0..11.0_f64, step in 1e-3..1e-2_f64, seed in any::<u64>(),
        belt in -1.0..1.0_f64, rotation in any::<bool>(),
    ) -> WorldDef {
        let mut def = scene(material(2500.0, f64::powf(10.0, young), 0.25), law, method, step);
        def.seed = seed;
        def.rotation = rotation;
        def.bounds = Some([DVec3::splat(-10.0), DVec3::splat(10.0)]);
        def.walls = vec![
            WallDef {
                motion: box_motion,
                surface_velocity: DVec3::X * belt,
                ..wall(
                    WallShape::Box { half_extents: DVec3::splat(BOX), side: Side::Inside, open: OpenFaces::NONE },
                    Pose::IDENTITY,
                )
            },
            WallDef {
                motion: roller_motion,
                ..wall(
                    WallShape::Cylinder {
                        radius: 0.02,
                        length: 0.1,
                        side: Side::Outside,
                        open: OpenFaces::NONE,
                    },
                    Pose::new(-DVec3::Z * 0.6 * BOX, DQuat::from_rotation_x(1.2)),
                )
            },
        ];
        // A radius of 1 cm and 200 grains fill a fifth of the upper half.
        let sizes = SizeDistribution::Uniform {
            min: smallest,
            max: (5.0 * smallest).min(1.2e-2),
        };
        let upper_half = Region::Box {
            half_extents: DVec3::new(BOX, BOX, 0.45 * BOX),
            pose: Pose::from_position(DVec3::Z * 0.55 * BOX),
        };
        def.packings = vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::new(0.3, -0.5, -0.8) * speed,
            placement: Placement::Random { region: upper_half, count, sizes },
        }];
        def
    }
}

/// Contacts by who touches whom, with the key that names them.
fn keys(world: &World) -> BTreeMap<(GrainId, u64), Vec<ContactKey>> {
    let mut keys = BTreeMap::<_, Vec<_>>::new();
    for (contact, _) in world.contacts().filter(|(c, _)| c.overlap > 0.0) {
        let own = world.grains().id()[contact.grain as usize];
        let (first, other) = match contact.partner {
            Partner::Wall(w) => (own, u64::MAX - w as u64),
            Partner::Grain(g) => {
                let partner = world.grains().id()[g as usize];
                (own.min(partner), own.max(partner).as_u64())
            }
        };
        keys.entry((first, other)).or_default().push(contact.key);
    }
    keys
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        // The same scenes in every run; other seeds widen the search.
        rng_seed: RngSeed::Fixed(1),
        ..Default::default()
    })]

    #[test]
    fn a_random_scene_never_becomes_non_finite(def in random_scene()) {
        // A crowded draw may not find room for all its grains.
        let world = World::new(&def);
        prop_assume!(world.is_ok());
        let mut world = world.unwrap();
        for _ in 0..150 {
            let report = world.step();
            prop_assert!(report.is_ok(), "{}", report.unwrap_err());
            prop_assert!(world.grains().kinetic_energy().is_finite());
            prop_assert!(world.grains().orientation().iter().all(|q| q.is_normalized()));
        }
    }

    #[test]
    fn contacts_keep_their_keys_while_the_pair_touches(def in random_scene()) {
        let world = World::new(&def);
        prop_assume!(world.is_ok());
        let mut world = world.unwrap();
        let mut last = BTreeMap::new();
        for _ in 0..100 {
            world.step().unwrap();
            // Dense indices of contacts are valid until grains are removed.
            if world.lost() > 0 {
                break;
            }
            let now = keys(&world);
            for (pair, keys) in &now {
                let unique: std::collections::BTreeSet<_> = keys.iter().collect();
                prop_assert_eq!(unique.len(), keys.len(), "a key names one contact");
                // Two grains have one contact, which has one name for good.
                if pair.1 < u64::MAX - 1 && let Some(old) = last.get(pair) {
                    prop_assert_eq!(keys, old);
                }
            }
            last = now;
        }
    }

    /// With steps in which a grain moves less than its diameter.
    #[test]
    fn a_closed_box_keeps_its_grains(def in random_scene(), step in 2e-4..1e-3_f64) {
        let mut def = def;
        def.step = step;
        def.walls.truncate(1);
        def.walls[0].motion = Motion::Still;
        let world = World::new(&def);
        prop_assume!(world.is_ok());
        let mut world = world.unwrap();
        run(&mut world, 0.2);
        for x in world.grains().position() {
            prop_assert!(x.abs().max_element() < BOX, "a grain is at {}", x);
        }
    }
    /// In a box that stands still, kinetic and potential energy together never
    /// exceed what the grains were given. Steps are those in which a grain
    /// moves less than a tenth of its diameter; restitution stops at 0.8, since
    /// simultaneous impacts near one are known to create energy in whole steps.
    #[test]
    fn a_box_at_rest_gains_no_energy(def in random_scene(), share in 0.2..1.0_f64) {
        let mut def = def;
        def.walls.truncate(1);
        def.walls[0].motion = Motion::Still;
        def.walls[0].surface_velocity = DVec3::ZERO;
        let law = &mut def.pairs[0].law;
        law.restitution = law.restitution.min(0.8);
        let world = World::new(&def);
        prop_assume!(world.is_ok());
        let world = world.unwrap();
        let grains = world.grains();
        let smallest = grains.radius().iter().copied().fold(f64::INFINITY, f64::min);
        let fastest = def.packings[0].velocity.length() + (4.0 * BOX * G).sqrt();
        def.step = (share * 0.1 * 2.0 * smallest / fastest).min(1e-3);
        let mut world = World::new(&def).unwrap();
        let energy = |world: &World| {
            let g = world.grains();
            let height = (0..g.len()).map(|i| g.mass()[i] * (g.position()[i].z + BOX));
            g.kinetic_energy() + G * height.sum::<f64>()
        };
        let start = energy(&world);
        for _ in 0..(0.2 / def.step) as usize {
            world.step().unwrap();
            let share = energy(&world) / start;
            prop_assert!(share < 1.0 + 1e-3, "{share} of the energy at {} s", world.time());
        }
    }
}
