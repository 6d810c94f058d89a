//! A definition with an impossible value is refused by name: it neither panics
//! nor builds a world that does something else.

mod common;

use std::sync::Arc;

use common::*;
use esker_geometry::{BodyShape, OpenFaces, Pose, Region, Side, WallShape};
use esker_world::definition::*;
use esker_world::{BuildError, RestoreError, World};
use glam::{DQuat, DVec3};

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

fn cell() -> Region {
    Region::Box {
        half_extents: DVec3::splat(0.02),
        pose: Pose::from_position(DVec3::Z * 0.1),
    }
}

fn moving(motion: Motion) -> WallDef {
    WallDef { motion, ..floor() }
}

fn sized(sizes: SizeDistribution) -> PackingDef {
    PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Random {
            region: cell(),
            count: 2,
            sizes,
        },
    }
}

/// One of everything, all of it sound.
fn sound() -> WorldDef {
    let walls = vec![
        moving(Motion::Translate {
            velocity: DVec3::X,
            start: 0.0,
            stop: 1.0,
        }),
        moving(Motion::Rotate {
            axis: DVec3::Z,
            centre: DVec3::ZERO,
            rate: 1.0,
            start: 0.0,
            stop: INFINITY,
        }),
        moving(Motion::Oscillate {
            direction: DVec3::Z,
            amplitude: 1e-3,
            frequency: 5.0,
            phase: 0.0,
        }),
        moving(Motion::Table {
            times: vec![0.0, 1.0],
            displacements: vec![DVec3::ZERO, DVec3::X],
            angles: vec![0.0, 0.1],
            axis: DVec3::Z,
            centre: DVec3::ZERO,
        }),
        wall(
            WallShape::Box {
                half_extents: DVec3::splat(0.5),
                side: Side::Inside,
                open: OpenFaces::NONE,
            },
            Pose::IDENTITY,
        ),
    ];
    let fixed = SizeDistribution::Fixed { radius: 2e-3 };
    let placed = |placement| PackingDef {
        shape: None,
        placement,
        ..sized(fixed.clone())
    };
    WorldDef {
        walls,
        packings: vec![
            placed(Placement::Lattice {
                region: cell(),
                spacing: Some(6e-3),
                jitter: 0.5,
                count: Some(3),
                sizes: fixed.clone(),
            }),
            placed(Placement::Column {
                base: DVec3::X * 0.3,
                direction: DVec3::Z,
                count: 2,
                gap: 0.0,
                sizes: fixed.clone(),
            }),
            listed(vec![grain(DVec3::new(0.2, 0.0, 0.2), 3e-3)]),
            sized(SizeDistribution::Uniform {
                min: 1e-3,
                max: 2e-3,
            }),
            sized(SizeDistribution::Normal {
                mean: 1e-3,
                deviation: 1e-4,
                min: 5e-4,
                max: 2e-3,
            }),
            sized(SizeDistribution::LogNormal {
                median: 1e-3,
                deviation: 0.1,
                min: 5e-4,
                max: 2e-3,
            }),
            sized(SizeDistribution::Mixture {
                radii: vec![1e-3, 2e-3],
                shares: vec![1.0, 0.0],
                by_mass: true,
            }),
        ],
        emitters: vec![EmitterDef {
            shape: None,
            name: "spout".into(),
            material: 0,
            region: cell(),
            rate: Rate::Mass(0.1),
            sizes: fixed,
            velocity: DVec3::ZERO,
            total: Total::Mass(1.0),
            start: 0.0,
            stop: INFINITY,
        }],
        sinks: vec![SinkDef {
            name: "bin".into(),
            region: Region::Sphere {
                radius: 0.1,
                pose: Pose::from_position(DVec3::X),
            },
        }],
        bounds: Some([DVec3::splat(-2.0), DVec3::splat(2.0)]),
        accuracy: Some(0.01),
        longest_step: Some(4e-3),
        ..scene(pellet(), PairLaw::default(), sub_stepped(10), 2e-3)
    }
}

type Damage = fn(&mut WorldDef);

/// What is done to a sound definition, by the path that the error must name.
const DAMAGES: &[(&str, Damage)] = &[
    ("gravity", |d| d.gravity.x = NAN),
    ("step", |d| d.step = 0.0),
    ("step", |d| d.step = -1e-3),
    ("step", |d| d.step = NAN),
    ("step", |d| d.step = INFINITY),
    ("tolerance", |d| d.accuracy = Some(0.0)),
    ("longest_step", |d| d.longest_step = Some(NAN)),
    ("solver.substeps", |d| d.method.set_sweeps(0)),
    ("solver.stiffness_cap", |d| {
        d.method = Method::SubStepped(SubStepped {
            stiffness_cap: -1.0,
            ..Default::default()
        });
    }),
    ("solver.tolerance", |d| {
        d.method = Method::SubStepped(SubStepped {
            tolerance: Some(NAN),
            ..Default::default()
        });
    }),
    ("solver.sweeps", |d| {
        d.method = whole_step(0, WarmStart::Cold);
    }),
    ("solver.tolerance", |d| {
        d.method = Method::WholeStep(WholeStep {
            tolerance: Some(-1.0),
            ..Default::default()
        });
    }),
    ("solver.warm_factor", |d| {
        d.method = whole_step(10, history(NAN));
    }),
    ("solver.method", |d| {
        d.method = Method::WholeStep(WholeStep {
            solver: Solver::Named("newtn".into()),
            ..Default::default()
        });
    }),
    ("solver.substeps", |d| {
        d.method = Method::Smooth(Smooth {
            substeps: 0,
            ..Default::default()
        });
    }),
    ("solver.tangential_stiffness", |d| {
        d.method = Method::Smooth(Smooth {
            tangential_stiffness: NAN,
            ..Default::default()
        });
    }),
    ("solver.rolling_stiffness", |d| {
        d.method = Method::Smooth(Smooth {
            rolling_stiffness: -1.0,
            ..Default::default()
        });
    }),
    ("contact.damping_steps", |d| d.contact.damping_steps = -1.0),
    ("contact.margin", |d| d.contact.margin = NAN),
    ("contact.friction_compliance", |d| {
        d.contact.friction_compliance = INFINITY;
    }),
    ("contact.rolling_compliance", |d| {
        d.contact.rolling_compliance = -1.0;
    }),
    ("contact.impact_speed", |d| {
        d.contact.impact_speed = Some(NAN)
    }),
    ("material", |d| d.materials = vec![pellet(); 300]),
    ("material.grain.young", |d| d.materials[0].young = 0.0),
    ("material.grain.poisson", |d| d.materials[0].poisson = 0.6),
    ("material.grain.poisson", |d| d.materials[0].poisson = NAN),
    ("material.grain.density", |d| d.materials[0].density = 0.0),
    ("pair.0.materials", |d| d.pairs[0].materials = [0, 1]),
    ("pair.1", |d| d.pairs.push(d.pairs[0].clone())),
    ("pair.0.friction", |d| d.pairs[0].law.friction = -0.1),
    ("pair.0.rolling", |d| d.pairs[0].law.rolling = NAN),
    ("pair.0.twisting", |d| d.pairs[0].law.twisting = INFINITY),
    ("pair.0.restitution", |d| d.pairs[0].law.restitution = 1.1),
    ("pair.0.damping", |d| d.pairs[0].law.damping = -1.0),
    ("pair.0.stiffness", |d| {
        d.pairs[0].law.normal = NormalLaw::Linear { stiffness: 0.0 };
    }),
    ("wall.1.material", |d| d.walls[1].material = 1),
    ("wall.0.position", |d| d.walls[0].pose.position.y = NAN),
    ("wall.0", |d| {
        d.walls[0].pose.orientation = DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0);
    }),
    ("wall.0.surface_velocity", |d| {
        d.walls[0].surface_velocity.x = INFINITY;
    }),
    ("wall.4", |d| {
        d.walls[4].shape = WallShape::Cylinder {
            radius: -1.0,
            length: 1.0,
            side: Side::Inside,
            open: OpenFaces::NONE,
        };
    }),
    ("wall.0.motion.velocity", |d| {
        if let Motion::Translate { velocity, .. } = &mut d.walls[0].motion {
            velocity.x = NAN;
        }
    }),
    ("wall.0.motion.stop", |d| {
        if let Motion::Translate { stop, .. } = &mut d.walls[0].motion {
            *stop = NAN;
        }
    }),
    ("wall.1.motion.axis", |d| {
        if let Motion::Rotate { axis, .. } = &mut d.walls[1].motion {
            *axis = DVec3::ZERO;
        }
    }),
    ("wall.1.motion.rate", |d| {
        if let Motion::Rotate { rate, .. } = &mut d.walls[1].motion {
            *rate = NAN;
        }
    }),
    ("wall.1.motion.centre", |d| {
        if let Motion::Rotate { centre, .. } = &mut d.walls[1].motion {
            centre.z = INFINITY;
        }
    }),
    ("wall.1.motion.start", |d| {
        if let Motion::Rotate { start, .. } = &mut d.walls[1].motion {
            *start = NAN;
        }
    }),
    ("wall.2.motion.direction", |d| {
        if let Motion::Oscillate { direction, .. } = &mut d.walls[2].motion {
            *direction *= 2.0;
        }
    }),
    ("wall.2.motion.amplitude", |d| {
        if let Motion::Oscillate { amplitude, .. } = &mut d.walls[2].motion {
            *amplitude = NAN;
        }
    }),
    ("wall.2.motion.frequency", |d| {
        if let Motion::Oscillate { frequency, .. } = &mut d.walls[2].motion {
            *frequency = INFINITY;
        }
    }),
    ("wall.2.motion.phase", |d| {
        if let Motion::Oscillate { phase, .. } = &mut d.walls[2].motion {
            *phase = NAN;
        }
    }),
    ("wall.3.motion", |d| {
        if let Motion::Table { angles, .. } = &mut d.walls[3].motion {
            angles.pop();
        }
    }),
    ("wall.3.motion", |d| {
        d.walls[3].motion = Motion::Table {
            times: vec![],
            displacements: vec![],
            angles: vec![],
            axis: DVec3::Z,
            centre: DVec3::ZERO,
        };
    }),
    ("wall.3.motion.times", |d| {
        if let Motion::Table { times, .. } = &mut d.walls[3].motion {
            times[1] = times[0];
        }
    }),
    ("wall.3.motion.displacements", |d| {
        if let Motion::Table { displacements, .. } = &mut d.walls[3].motion {
            displacements[1].x = NAN;
        }
    }),
    ("wall.3.motion.angles", |d| {
        if let Motion::Table { angles, .. } = &mut d.walls[3].motion {
            angles[1] = NAN;
        }
    }),
    ("wall.3.motion.axis", |d| {
        if let Motion::Table { axis, .. } = &mut d.walls[3].motion {
            *axis = DVec3::ZERO;
        }
    }),
    ("grains.0.material", |d| d.packings[0].material = 7),
    ("grains.0.velocity", |d| d.packings[0].velocity.x = NAN),
    ("grains.0.region", |d| {
        if let Placement::Lattice { region, .. } = &mut d.packings[0].placement {
            *region = Region::Sphere {
                radius: -1.0,
                pose: Pose::IDENTITY,
            };
        }
    }),
    ("grains.0.spacing", |d| {
        if let Placement::Lattice { spacing, .. } = &mut d.packings[0].placement {
            *spacing = Some(0.0);
        }
    }),
    ("grains.0.jitter", |d| {
        if let Placement::Lattice { jitter, .. } = &mut d.packings[0].placement {
            *jitter = NAN;
        }
    }),
    ("grains.0.sizes", |d| {
        if let Placement::Lattice { sizes, .. } = &mut d.packings[0].placement {
            *sizes = SizeDistribution::Fixed { radius: 0.0 };
        }
    }),
    // So light that its inverse mass is infinite.
    ("grains.0.sizes", |d| {
        if let Placement::Lattice { sizes, .. } = &mut d.packings[0].placement {
            *sizes = SizeDistribution::Fixed { radius: 1e-120 };
        }
    }),
    ("grains", |d| {
        if let Placement::Column { count, .. } = &mut d.packings[1].placement {
            *count = usize::MAX;
        }
    }),
    ("grains.1.base", |d| {
        if let Placement::Column { base, .. } = &mut d.packings[1].placement {
            base.x = NAN;
        }
    }),
    ("grains.1.direction", |d| {
        if let Placement::Column { direction, .. } = &mut d.packings[1].placement {
            *direction = DVec3::ONE;
        }
    }),
    ("grains.1.gap", |d| {
        if let Placement::Column { gap, .. } = &mut d.packings[1].placement {
            *gap = INFINITY;
        }
    }),
    ("grains.2.0.position", |d| list(d, |g| g.position.x = NAN)),
    ("grains.2.0.velocity", |d| list(d, |g| g.velocity.x = NAN)),
    ("grains.2.0.angular_velocity", |d| {
        list(d, |g| g.angular_velocity.x = INFINITY)
    }),
    ("grains.2.0.radius", |d| list(d, |g| g.radius = -1e-3)),
    ("grains.2.shape", |d| {
        d.packings[2].shape = capsules(d, Orientation::Random);
        d.shapes.clear();
    }),
    ("grains.2.orientation", |d| {
        let turn = DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0);
        d.packings[2].shape = capsules(d, Orientation::Given(turn));
    }),
    ("grains.2.orientation", |d| {
        d.packings[2].shape = capsules(d, Orientation::Listed(Arc::default()));
    }),
    ("emitter.0.orientation", |d| {
        let turns = Arc::new(vec![DQuat::IDENTITY]);
        d.emitters[0].shape = capsules(d, Orientation::Listed(turns));
    }),
    ("grains.3.sizes", |d| {
        d.packings[3] = sized(SizeDistribution::Uniform {
            min: 2e-3,
            max: 1e-3,
        });
    }),
    ("grains.4.sizes", |d| {
        d.packings[4] = sized(SizeDistribution::Normal {
            mean: 1e-3,
            deviation: NAN,
            min: 5e-4,
            max: 2e-3,
        });
    }),
    ("grains.5.sizes", |d| {
        d.packings[5] = sized(SizeDistribution::LogNormal {
            median: 0.0,
            deviation: 0.1,
            min: 5e-4,
            max: 2e-3,
        });
    }),
    ("grains.6.sizes", |d| {
        d.packings[6] = sized(SizeDistribution::Mixture {
            radii: vec![],
            shares: vec![],
            by_mass: false,
        });
    }),
    ("grains.6.sizes", |d| {
        d.packings[6] = sized(SizeDistribution::Mixture {
            radii: vec![1e-3, 2e-3],
            shares: vec![1.0],
            by_mass: false,
        });
    }),
    ("grains.6.sizes", |d| {
        d.packings[6] = sized(SizeDistribution::Mixture {
            radii: vec![1e-3],
            shares: vec![0.0],
            by_mass: false,
        });
    }),
    ("grains.6.sizes.share", |d| {
        d.packings[6] = sized(SizeDistribution::Mixture {
            radii: vec![1e-3, 2e-3],
            shares: vec![2.0, -1.0],
            by_mass: false,
        });
    }),
    ("emitter.0.material", |d| d.emitters[0].material = 1),
    ("emitter.0.region", |d| {
        d.emitters[0].region = Region::Cylinder {
            radius: 0.1,
            length: NAN,
            pose: Pose::IDENTITY,
        };
    }),
    ("emitter.0.rate", |d| d.emitters[0].rate = Rate::Number(NAN)),
    ("emitter.0.rate", |d| d.emitters[0].rate = Rate::Mass(-1.0)),
    ("emitter.0.sizes", |d| {
        d.emitters[0].sizes = SizeDistribution::Fixed { radius: NAN };
    }),
    ("emitter.0.velocity", |d| d.emitters[0].velocity.z = NAN),
    ("emitter.0.total", |d| {
        d.emitters[0].total = Total::Mass(NAN)
    }),
    ("emitter.0.stop", |d| d.emitters[0].stop = -1.0),
    ("sink.0.region", |d| {
        d.sinks[0].region = Region::Box {
            half_extents: DVec3::new(1.0, INFINITY, 1.0),
            pose: Pose::IDENTITY,
        };
    }),
    ("sink.0.region.position", |d| {
        d.sinks[0].region = Region::Sphere {
            radius: 1.0,
            pose: Pose::from_position(DVec3::X * NAN),
        };
    }),
    ("bounds", |d| d.bounds = Some([DVec3::ONE, DVec3::ZERO])),
    ("bounds", |d| d.bounds = Some([DVec3::X * NAN, DVec3::ONE])),
];

fn capsules(def: &mut WorldDef, orientation: Orientation) -> Option<ShapeUse> {
    def.shapes = vec![BodyShape::Capsule {
        radius: 1e-3,
        half_length: 1e-3,
    }];
    Some(ShapeUse {
        shape: 0,
        orientation,
    })
}

fn list(def: &mut WorldDef, change: fn(&mut ListedGrain)) {
    if let Placement::Listed { grains } = &mut def.packings[2].placement {
        change(&mut Arc::make_mut(grains)[0]);
    }
}

#[test]
fn every_impossible_value_is_refused_by_its_path() {
    let mut world = World::new(&sound()).unwrap();
    world.step().unwrap();
    let state = world.state();
    for (i, (path, damage)) in DAMAGES.iter().enumerate() {
        let mut def = sound();
        damage(&mut def);
        match World::new(&def) {
            Err(BuildError::Invalid(problem)) => assert_eq!(problem.path, *path, "{i}: {problem}"),
            Err(error) => panic!("{i}, {path}: {error}"),
            Ok(_) => panic!("{i}, {path}: accepted"),
        }
        let restored = World::restore(&def, state.clone());
        assert!(
            matches!(restored, Err(RestoreError::Definition(_))),
            "{i}, {path}"
        );
        assert_eq!(esker_world::check::find_problems(&def).len(), 1);
    }
}

#[test]
fn an_unknown_solver_is_refused_with_those_that_are_known() {
    let mut def = sound();
    def.method = Method::WholeStep(WholeStep {
        solver: Solver::Named("gaus_seidel".into()),
        ..Default::default()
    });
    let Err(error) = World::new(&def) else {
        panic!("accepted");
    };
    let text = error.to_string();
    assert!(
        text.contains("gaus_seidel") && text.contains("newton"),
        "{text}"
    );
}

#[test]
fn sweeps_cannot_be_set_to_none() {
    let mut world = World::new(&sound()).unwrap();
    assert!(world.set_sweeps(0).is_err());
    world.set_sweeps(12).unwrap();
    world.step().unwrap();
    assert_eq!(world.method().sweeps(), 12);
}
