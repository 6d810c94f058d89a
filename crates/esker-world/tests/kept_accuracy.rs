//! A stated accuracy: what is called kept is.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

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
    let before = world.walls()[0].total_load.impulse.z;
    let missed = (0..steps).filter(|_| world.step().unwrap().missed.any());
    let missed = missed.count() as f64 / steps as f64;
    let given = before - world.walls()[0].total_load.impulse.z;
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

/// Six grains in a tube between a floor and a plate that comes down by a hundredth of a diameter each and
/// stays: what the force is, follows from Hertz's law alone. A tenth of the stiffness would leave
/// overlaps right to a hundredth of a diameter.
#[test]
fn a_plate_that_compresses_grains_feels_the_force_of_their_law() {
    const COUNT: usize = 6;
    let (step, tolerance) = (1e-3, 0.01);
    let steel = material(2500.0, 5e9, 0.3);
    let mut def = scene(steel.clone(), smooth(), sub_stepped(10), step);
    def.gravity = DVec3::ZERO;
    def.accuracy = Some(tolerance);
    let radius = 0.5 * DIAMETER;
    let height = COUNT as f64 * DIAMETER;
    let way = 0.01 * height;
    let mut plate = wall(
        WallShape::HalfSpace,
        Pose::new(
            DVec3::Z * height,
            DQuat::from_rotation_x(std::f64::consts::PI),
        ),
    );
    plate.motion = Motion::Translate {
        velocity: DVec3::Z * (-way / 0.2),
        start: 0.0,
        stop: 0.2,
    };
    // Without a tube the grains would buckle.
    let tube = WallShape::Cylinder {
        radius: 0.501 * DIAMETER,
        length: 2.0 * height,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    def.walls = vec![floor(), plate, wall(tube, Pose::IDENTITY)];
    let centres = (0..COUNT).map(|k| DVec3::Z * (k as f64 + 0.5) * DIAMETER);
    def.packings = vec![listed(centres.map(|x| grain(x, radius)).collect())];
    // One force on COUNT − 1 contacts between grains and two with walls.
    let stiffness = |radius| hertz_stiffness(&steel, radius);
    let compliance = (COUNT - 1) as f64 * stiffness(0.5 * radius).powf(-2.0 / 3.0)
        + 2.0 * stiffness(radius).powf(-2.0 / 3.0);
    let expected = (way / compliance).powf(1.5);
    let force_at_end = |def: &WorldDef| {
        let mut world = build(def);
        run(&mut world, 0.3);
        let (_, missed) = observed(&mut world, 100);
        (world.walls()[1].load.force.z / expected - 1.0, missed)
    };
    let (error, missed) = force_at_end(&def);
    assert!(error.abs() < tolerance, "force off by {error}");
    assert_eq!(missed, 0.0);
    def.accuracy = None;
    let (error, _) = force_at_end(&def);
    assert!(error < -0.2, "force off by {error}");
}

/// A plate that is pushed into a bed. Its force is built up within a few steps by friction that
/// single sweeps let creep; corrected at looks alone, every step of the push missed its accuracy, and the
/// force was a tenth too small.
#[test]
fn a_push_is_solved_right_from_its_first_steps_on() {
    let law = PairLaw {
        friction: 0.5,
        ..Default::default()
    };
    let step = 5e-3;
    let mut def = scene(material(2500.0, 5e7, 0.3), law, sub_stepped(25), step);
    let half = DVec3::new(8.0, 3.0, 3.0) * DIAMETER;
    let inside = WallShape::Box {
        half_extents: half * DVec3::new(1.0, 1.0, 2.0),
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    let trench = wall(inside, Pose::from_position(DVec3::Z * 2.0 * half.z));
    // Its thickness is beyond the end of the trench.
    let plate_shape = WallShape::Box {
        half_extents: DVec3::new(DIAMETER, 0.95 * half.y, half.z),
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    let behind = DVec3::new(-half.x - DIAMETER, 0.0, 1.05 * half.z);
    let plate = wall(plate_shape, Pose::from_position(behind));
    def.walls = vec![floor(), trench, plate];
    def.packings = vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::ZERO,
        placement: Placement::Lattice {
            region: Region::Box {
                half_extents: half,
                pose: Pose::from_position(DVec3::Z * half.z),
            },
            spacing: Some(1.03 * DIAMETER),
            jitter: 1.0,
            count: None,
            sizes: SizeDistribution::Uniform {
                min: 0.495 * DIAMETER,
                max: 0.505 * DIAMETER,
            },
        },
    }];
    let mut bed = build(&def);
    run(&mut bed, 0.4);
    def.packings = vec![snapshot(&bed)];
    def.walls[2].motion = Motion::Translate {
        velocity: DVec3::X * 0.2,
        start: 0.0,
        stop: f64::INFINITY,
    };
    def.method = sub_stepped(10);
    def.accuracy = Some(0.01);
    let mut world = build(&def);
    let missed = (0..27).filter(|_| world.step().unwrap().missed.creep);
    let missed = missed.count();
    assert!(missed <= 9, "{missed} of 27 steps");
}
