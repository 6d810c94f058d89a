//! What others do to a world between steps: it does what was asked for, to the right grains, and
//! leaves a state that can be saved and continued.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Side, WallShape};
use esker_world::definition::*;
use esker_world::{AddedGrain, AppliedForce, GrainId, InterventionError, World};
use glam::{DQuat, DVec3};

fn added(position: DVec3) -> AddedGrain {
    AddedGrain {
        position,
        velocity: DVec3::ZERO,
        angular_velocity: DVec3::ZERO,
        orientation: DQuat::IDENTITY,
        radius: PELLET_RADIUS,
        material: 0,
        shape: None,
    }
}

fn rough(restitution: f64) -> PairLaw {
    PairLaw {
        friction: 0.5,
        rolling: 0.1,
        twisting: 0.05,
        restitution,
        ..Default::default()
    }
}

fn isolated(law: PairLaw, method: Method, step: f64, grains: Vec<ListedGrain>) -> World {
    let mut def = scene(pellet(), law, method, step);
    def.gravity = DVec3::ZERO;
    def.packings = vec![listed(grains)];
    build(&def)
}

/// A box of settled grains.
fn filled_box() -> (WorldDef, World) {
    let mut def = scene(pellet(), rough(0.3), sub_stepped(25), 1e-3);
    def.walls = vec![wall(
        WallShape::Box {
            half_extents: DVec3::splat(6.0 * PELLET_RADIUS),
            side: Side::Inside,
            open: OpenFaces::NONE,
        },
        Pose::IDENTITY,
    )];
    def.energy_ledger = true;
    def.packings = vec![listed(
        (0..27)
            .map(|i| {
                let place = DVec3::new((i % 3) as f64, (i / 3 % 3) as f64, (i / 9) as f64);
                grain((place - 1.0) * 2.1 * PELLET_RADIUS, PELLET_RADIUS)
            })
            .collect(),
    )];
    let mut world = build(&def);
    for _ in 0..300 {
        world.step().unwrap();
    }
    (def, world)
}

#[test]
fn a_force_accelerates_a_grain_by_its_mass_for_one_step() {
    let grains = vec![grain(DVec3::ZERO, 0.1), grain(DVec3::X, 0.1)];
    let mut world = isolated(smooth(), sub_stepped(5), 1e-3, grains);
    let (id, mass) = (world.grains().id()[1], world.grains().mass()[1]);
    let push = AppliedForce {
        grain: id,
        force: DVec3::Y * mass,
        torque: DVec3::Z * 0.4 * mass * 0.01,
    };
    world.apply_forces(&[push]).unwrap();
    for _ in 0..3 {
        world.step().unwrap();
        let [still, pushed] = [0, 1].map(|row| world.grains().state()[row]);
        assert_eq!(still.velocity, DVec3::ZERO);
        assert!((pushed.velocity - DVec3::Y * 1e-3).length() < 1e-15);
        assert!((pushed.angular_velocity - DVec3::Z * 1e-3).length() < 1e-15);
    }
}

#[test]
fn grains_that_come_and_go_leave_a_state_that_continues_with_the_same_bits() {
    let (def, mut world) = filled_box();
    let gone = [world.grains().id()[3], world.grains().id()[20]];
    let new = added(DVec3::Z * 4.0 * PELLET_RADIUS);
    let ids = world.add_grains(&[new]).unwrap();
    world.remove_grains(&gone).unwrap();
    assert_eq!(world.grains().count(), 26);
    assert_eq!(world.contacts().len(), 0);
    assert!(!gone.contains(&ids[0]));
    assert!(gone.iter().all(|id| !world.grains().id().contains(id)));
    let mut restored = World::restore(&def, world.state()).unwrap();
    for _ in 0..20 {
        world.step().unwrap();
        restored.step().unwrap();
    }
    assert_eq!(world.grains().state_hash(), restored.grains().state_hash());
    let row = world.grains().id().iter().position(|id| *id == ids[0]);
    let fallen = world.grains().position()[row.unwrap()].z;
    assert!(fallen < new.position.z, "it falls: {fallen}");
}

#[test]
fn what_others_do_is_work_in_the_ledger() {
    let (_, mut world) = filled_box();
    let imbalance = |world: &World| {
        let ledger = world.energy().unwrap();
        let kinetic = world.grains().kinetic_energy();
        (ledger.imbalance(kinetic), ledger.drives)
    };
    let (before, drives) = imbalance(&world);
    let id = world.grains().id()[26];
    world.set_velocities(&[id], &[DVec3::Z * 0.3]).unwrap();
    world.set_angular_velocities(&[id], &[DVec3::X]).unwrap();
    let (after, work) = imbalance(&world);
    assert!(work > drives);
    assert!((after - before).abs() < 1e-12 * work, "{before} {after}");
    // A force that lifts a grain gives what gravity takes, and its speed.
    let mass = world.grains().mass()[26];
    let lift = AppliedForce {
        grain: id,
        force: -20.0 * mass * world.gravity(),
        torque: DVec3::ZERO,
    };
    world.apply_forces(&[lift]).unwrap();
    world.step().unwrap();
    let (lifted, with_lift) = imbalance(&world);
    let given = with_lift - work;
    assert!(
        given > 0.0 && (lifted - after).abs() < 0.2 * given,
        "{lifted} {after} {given}"
    );
}

#[test]
fn a_wall_is_led_to_where_it_was_told_and_carries_grains_along() {
    let mut def = scene(pellet(), rough(0.8), sub_stepped(25), 1e-3);
    def.walls = vec![wall(WallShape::HalfSpace, Pose::IDENTITY)];
    def.packings = vec![listed(vec![grain(DVec3::Z * PELLET_RADIUS, PELLET_RADIUS)])];
    let mut world = build(&def);
    for step in 1..=400 {
        let pose = Pose {
            position: DVec3::Z * 1e-4 * f64::from(step),
            orientation: DQuat::from_rotation_z(1e-3 * f64::from(step)),
        };
        world.move_wall(0, pose).unwrap();
        world.step().unwrap();
        let reached = world.walls()[0].pose;
        assert!(reached.position.distance(pose.position) < 1e-15);
        assert!(reached.orientation.angle_between(pose.orientation) < 1e-7);
    }
    let state = world.grains().state()[0];
    assert!((state.velocity.z - 0.1).abs() < 1e-3, "{state:?}");
    assert!((state.angular_velocity.z - 1.0).abs() < 0.2, "{state:?}");
    // Nobody leads it any more.
    world.step().unwrap();
    assert_eq!(world.walls()[0].twist.velocity, DVec3::ZERO);
    world.place_wall(0, Pose::IDENTITY).unwrap();
    assert_eq!(world.walls()[0].pose.position, DVec3::ZERO);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let (_, mut world) = filled_box();
    let (before, contacts) = (world.grains().state_hash(), world.contacts().len());
    let nobody = GrainId::new(0, 999);
    let one = world.grains().id()[0];
    let nan = DVec3::splat(f64::NAN);
    let push = |force| AppliedForce {
        grain: one,
        force,
        torque: DVec3::ZERO,
    };
    let refused = [
        world.remove_grains(&[one, nobody]).unwrap_err(),
        world.set_velocities(&[one], &[]).unwrap_err(),
        world.set_velocities(&[one], &[nan]).unwrap_err(),
        world.apply_forces(&[push(nan)]).unwrap_err(),
        world.move_wall(7, Pose::IDENTITY).unwrap_err(),
        world.place_wall(0, Pose::from_position(nan)).unwrap_err(),
        world.add_grains(&[added(nan)]).unwrap_err(),
    ];
    assert_eq!(refused[0], InterventionError::NoGrain(nobody));
    assert_eq!(refused[4], InterventionError::NoWall { wall: 7, walls: 1 });
    for wrong in [
        AddedGrain {
            radius: 0.0,
            ..added(DVec3::ZERO)
        },
        AddedGrain {
            radius: 1e-200,
            ..added(DVec3::ZERO)
        },
        AddedGrain {
            material: 9,
            ..added(DVec3::ZERO)
        },
        AddedGrain {
            shape: Some(0),
            ..added(DVec3::ZERO)
        },
    ] {
        // The first is right, and is not added alone.
        let both = [added(DVec3::Z * 0.05), wrong];
        assert!(world.add_grains(&both).is_err());
    }
    assert_eq!(world.grains().state_hash(), before);
    assert_eq!(world.contacts().len(), contacts);
}

#[test]
fn grains_that_were_placed_for_another_definition_are_refused() {
    let (mut def, _) = filled_box();
    let placed = esker_world::check::place_grains(&def).unwrap();
    def.materials.push(def.materials[0].clone());
    def.packings[0].material = 1;
    let other = esker_world::check::place_grains(&def).unwrap();
    def.materials.pop();
    def.packings[0].material = 0;
    assert!(World::with_grains_of(&def, placed).is_ok());
    let refused = World::with_grains_of(&def, other).err().unwrap();
    assert_eq!(refused, esker_world::BuildError::OtherGrains);
}
