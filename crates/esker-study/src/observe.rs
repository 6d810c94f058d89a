//! From a world to a snapshot that measures can read.

use esker_analysis::{ContactState, Partner, Snapshot};
use esker_world::World;
use esker_world::collide;

/// The state of a world, with the contacts that touch or carry load. Contact
/// geometry is that of the last step's start, forces those of its end.
pub fn snapshot(world: &World) -> Snapshot {
    let grains = &world.grains;
    let row_step = world.row_step();
    let contacts = world
        .contacts()
        .filter(|(c, p)| c.overlap > 0.0 || p.normal > 0.0)
        .map(|(c, p)| {
            let a = &grains.state[c.grain as usize];
            let (partner, velocity, spin) = match c.partner {
                collide::Partner::Grain(j) => {
                    let b = &grains.state[j as usize];
                    let lever = c.normal * -c.arms[1];
                    (
                        Partner::Grain(j as usize),
                        b.velocity + b.spin.cross(lever),
                        b.spin,
                    )
                }
                collide::Partner::Wall(w) => {
                    let wall = &world.walls[w as usize];
                    (
                        Partner::Wall(w as usize),
                        wall.surface_velocity_at(c.point, c.normal),
                        wall.twist.spin,
                    )
                }
            };
            let own = a.velocity + a.spin.cross(c.normal * c.arms[0]);
            ContactState {
                grain: c.grain as usize,
                partner,
                point: c.point,
                normal: c.normal,
                overlap: c.overlap,
                diameter: c.diameter(),
                normal_force: p.normal / row_step,
                friction_force: p.friction / row_step,
                torque: (p.rolling + c.normal * p.twisting) / row_step,
                relative_velocity: velocity - own,
                relative_spin: spin - a.spin,
                partner_velocity: velocity,
                friction: world.law_of(c).friction,
            }
        })
        .collect();
    Snapshot {
        time: world.time(),
        gravity: world.gravity(),
        positions: grains.position.clone(),
        radii: grains.radius.clone(),
        masses: Some(grains.mass.clone()),
        velocities: Some(grains.state.iter().map(|s| s.velocity).collect()),
        spins: Some(grains.state.iter().map(|s| s.spin).collect()),
        contacts: Some(contacts),
    }
}
