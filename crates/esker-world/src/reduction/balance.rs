//! What frozen grains give to the walls that carry them.
//!
//! Forces of internal contacts are those of the time when grains were frozen. Since then free grains
//! press otherwise, gravity has turned in the frame of the group, and whoever is frozen leaves
//! momentum. Members are one body with the walls of their group, and these take what is left of its
//! balance:
//!
//! ```text
//! F = Σ m (g − a) + Σ f + P/h                                                  (1)
//! ```
//!
//! with the forces f of free grains and bodies on members, and the momentum P, relative to the group,
//! of those that were frozen as the step began. Internal contacts give `Σ F_w` of it to the walls w;
//! what they lack, `ΔF = F − Σ F_w`, is shared in proportion to what walls carry of this kind,
//! `|F_w · ΔF|`. Torques about the centre of mass likewise. What walls give to grains is so, over any
//! time, what changes their momentum, frozen or not. (Impulses of contacts that turn with fast grains
//! within the step are taken along the normals of its start.)

use esker_geometry::Pose;
use glam::DVec3;

use super::members::StoredLoad;
use super::{Aggregates, ReductionTotals};
use crate::World;

/// A force, N, and a torque about a point, N m; or an impulse and an angular impulse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wrench {
    pub(super) force: DVec3,
    pub(super) torque: DVec3,
}

impl std::ops::AddAssign for Wrench {
    fn add_assign(&mut self, other: Self) {
        self.force += other.force;
        self.torque += other.torque;
    }
}

impl Wrench {
    /// Of a force, N, at a point, m, and a torque, about the origin.
    pub(super) fn at(point: DVec3, force: DVec3, torque: DVec3) -> Self {
        Wrench {
            force,
            torque: point.cross(force) + torque,
        }
    }

    /// What is stored in a frame, about the origin of the world.
    fn stored(load: &StoredLoad, frame: &Pose) -> Self {
        let [force, torque] = load.values().map(|v| frame.rotate(v));
        Wrench::at(frame.position, force, torque)
    }

    /// Torque about a point, m, of what is known about the origin.
    fn torque_about(&self, point: DVec3) -> DVec3 {
        self.torque - point.cross(self.force)
    }

    fn times(self, factor: f64) -> Self {
        Wrench {
            force: self.force * factor,
            torque: self.torque * factor,
        }
    }

    fn less(self, other: Self) -> Self {
        Wrench {
            force: self.force - other.force,
            torque: self.torque - other.torque,
        }
    }
}

/// What frozen grains give to a wall.
pub(crate) struct FrozenLoad {
    pub(crate) wall: usize,
    /// N.
    pub(crate) force: DVec3,
    /// About the origin of the wall's frame, N m.
    pub(crate) torque: DVec3,
}

impl World {
    /// What frozen grains gave to walls in the step that is just over.
    pub(crate) fn book_frozen_loads(&mut self) -> Vec<FrozenLoad> {
        let Some(mut aggregates) = self.aggregates.take() else {
            return Vec::new();
        };
        let mut totals = aggregates.totals;
        let loads = self.frozen_loads(&aggregates, &mut totals);
        aggregates.totals = totals;
        self.aggregates = Some(aggregates);
        loads
    }

    fn frozen_loads(
        &self,
        aggregates: &Aggregates,
        totals: &mut ReductionTotals,
    ) -> Vec<FrozenLoad> {
        // Contacts are those of the start of the step.
        let time = self.time() - self.step;
        let given = self.given_to_groups(aggregates);
        let mut stored: Vec<(u8, usize, Wrench)> = Vec::new();
        for (group, wall, load) in aggregates.members.stored_loads() {
            if aggregates.members.count_of(group) > 0 {
                let frame = aggregates.groups.get(group).frame(time);
                stored.push((group, wall as usize, Wrench::stored(load, &frame)));
            }
        }
        stored.sort_unstable_by_key(|&(group, wall, _)| (group, wall));
        let mut loads = Vec::with_capacity(stored.len());
        for of_group in stored.chunk_by(|a, b| a.0 == b.0) {
            let index = of_group[0].0;
            let group = aggregates.groups.get(index);
            let masses = aggregates.members.mass_of_group(index);
            let body = masses.in_world(&group.frame(time));
            let mut whole = body.weight_and_inertia(self.gravity, &group.twist);
            whole += given[index as usize];
            let carried: Vec<Wrench> = of_group.iter().map(|(.., load)| *load).collect();
            let mut lacking = whole;
            for load in &carried {
                lacking = lacking.less(*load);
            }
            totals.impulse_by_balance += lacking.force * self.step;
            totals.frozen_weight += body.mass * self.gravity.length() * self.step;
            let centre = body.moment / body.mass;
            let lacking_torque = lacking.torque_about(centre);
            let forces: Vec<DVec3> = carried.iter().map(|load| load.force).collect();
            let of_torques = carried.iter().map(|load| load.torque_about(centre));
            let torques: Vec<DVec3> = of_torques.collect();
            let [of_force, of_torque] = [
                shares(&forces, lacking.force),
                shares(&torques, lacking_torque),
            ];
            for (k, (_, wall, load)) in of_group.iter().enumerate() {
                let force = lacking.force * of_force[k];
                let mut load = *load;
                load += Wrench::at(centre, force, lacking_torque * of_torque[k]);
                loads.push(FrozenLoad {
                    wall: *wall,
                    force: load.force,
                    torque: load.torque_about(self.walls[*wall].pose.position),
                });
            }
        }
        loads
    }

    /// What free grains and bodies, and grains as they were frozen, gave to the members of each
    /// group over the step, about the origin of the world.
    fn given_to_groups(&self, aggregates: &Aggregates) -> Vec<Wrench> {
        let per_step = 1.0 / self.step;
        let left = aggregates.left_by_frozen.iter();
        let mut given: Vec<Wrench> = left.map(|left| left.times(per_step)).collect();
        let (work, held) = (&self.workspace, self.grains.held_rows());
        for (&i, impulse) in work.tracked.iter().zip(&work.tracked_impulses) {
            let contact = &work.contacts[i as usize];
            let rows = [Some(contact.grain), contact.partner.row()];
            for (row, sign) in rows.into_iter().zip([-1.0, 1.0]) {
                let copy = row.and_then(|row| (row as usize).checked_sub(held.start));
                let Some(&member) = copy.and_then(|k| aggregates.held.get(k)) else {
                    continue;
                };
                let force = contact.normal * impulse.normal + impulse.friction;
                let torque = contact.normal * impulse.twisting + impulse.rolling;
                let on_member = Wrench::at(contact.point, force, torque).times(sign * per_step);
                given[aggregates.members.get(member).group as usize] += on_member;
            }
        }
        given
    }
}

/// How a vector is shared by those that carry these: in proportion to what they carry of its
/// kind, or of anything where nobody does.
fn shares(carried: &[DVec3], vector: DVec3) -> Vec<f64> {
    let along = carried.iter().map(|own| own.dot(vector).abs());
    let mut shares: Vec<f64> = along.collect();
    if shares.iter().sum::<f64>() == 0.0 {
        shares = carried.iter().map(|own| own.length()).collect();
    }
    let sum: f64 = shares.iter().sum();
    let even = 1.0 / carried.len() as f64;
    let share = |own: &f64| if sum > 0.0 { own / sum } else { even };
    shares.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_carry_of_a_kind_carry_more_of_it() {
        let carried = [DVec3::Z * 3.0, DVec3::new(5.0, 0.0, 1.0), DVec3::X];
        assert_eq!(shares(&carried, DVec3::NEG_Z), [0.75, 0.25, 0.0]);
        assert_eq!(shares(&[DVec3::X, DVec3::X * 3.0], DVec3::Y), [0.25, 0.75]);
        assert_eq!(shares(&[DVec3::ZERO; 2], DVec3::Y), [0.5, 0.5]);
    }
}
