//! From a world to a snapshot that measures can read.

use std::collections::BTreeMap;

use esker_analysis::{ContactState, Partner, Snapshot};
use esker_world::{GrainId, World};

/// The state of a world, with the contacts that touch or carry load. Contact
/// geometry is that of the last step's start, forces those of its end.
pub fn snapshot(world: &World) -> Snapshot {
    let grains = world.all_grains();
    let places: BTreeMap<GrainId, usize> = (0..).zip(grains.id()).map(|(i, id)| (*id, i)).collect();
    // Contacts know rows of the world's own table.
    let place = |row: u32| places[&world.grains().id()[row as usize]];
    let substep = world.substep();
    let contacts = world
        .contacts()
        .filter(|(c, p)| c.overlap > 0.0 || p.normal > 0.0)
        .map(|(c, p)| {
            let a = &world.grains().state()[c.grain as usize];
            let (partner, velocity, angular_velocity) = match c.partner {
                esker_world::Partner::Grain(j) => {
                    let b = &world.grains().state()[j as usize];
                    let arm_vector = c.normal * -c.arms[1];
                    (
                        Partner::Grain(place(j)),
                        b.velocity + b.angular_velocity.cross(arm_vector),
                        b.angular_velocity,
                    )
                }
                esker_world::Partner::Wall(w) => {
                    let wall = &world.walls()[w as usize];
                    (
                        Partner::Wall(w as usize),
                        wall.surface_velocity_at(c.point, c.normal),
                        wall.twist.angular_velocity,
                    )
                }
            };
            let own = a.velocity + a.angular_velocity.cross(c.normal * c.arms[0]);
            ContactState {
                grain: place(c.grain),
                partner,
                point: c.point,
                normal: c.normal,
                overlap: c.overlap,
                diameter: c.diameter(),
                normal_force: p.normal / substep,
                friction_force: p.friction / substep,
                torque: (p.rolling + c.normal * p.twisting) / substep,
                relative_velocity: velocity - own,
                relative_angular_velocity: angular_velocity - a.angular_velocity,
                partner_velocity: velocity,
                friction: world.law_of(c).friction,
            }
        })
        .collect();
    Snapshot {
        contacts: Some(contacts),
        ..self::grains(world)
    }
}

/// Grains of a world without their contacts.
pub fn grains(world: &World) -> Snapshot {
    let grains = world.all_grains();
    Snapshot {
        time: world.time(),
        gravity: world.gravity(),
        positions: grains.position().to_vec(),
        radii: grains.radius().to_vec(),
        masses: Some(grains.mass().to_vec()),
        velocities: Some(grains.state().iter().map(|s| s.velocity).collect()),
        angular_velocities: Some(grains.state().iter().map(|s| s.angular_velocity).collect()),
        contacts: None,
    }
}

/// Places, sizes and velocities of the grains of a world, without bodies of their own, which are no
/// part of a bed, and without contacts.
pub fn grains_alone(world: &World) -> Snapshot {
    let grains = world.all_grains();
    let count = grains.count();
    let states = &grains.state()[..count];
    Snapshot {
        time: world.time(),
        gravity: world.gravity(),
        positions: grains.position()[..count].to_vec(),
        radii: grains.radius()[..count].to_vec(),
        masses: Some(grains.mass()[..count].to_vec()),
        velocities: Some(states.iter().map(|s| s.velocity).collect()),
        angular_velocities: Some(states.iter().map(|s| s.angular_velocity).collect()),
        contacts: None,
    }
}
