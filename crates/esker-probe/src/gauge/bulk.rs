//! The bulk in a region: how much, how dense, how fast, under what stress.
//!
//! With sums over grains whose centre is in the region of volume `V`, over
//! contacts, and means over samples `⟨·⟩`:
//!
//! ```text
//! φ = ⟨Σ v_i⟩ / V             v_i: volume of the part of grain i inside  (1)
//! u = ⟨Σ m v⟩ / ⟨Σ m⟩                                                    (2)
//! T = ⟨Σ m |v'|²⟩ / 3⟨Σ m⟩,   v' = v − Σ m v / Σ m of the sample         (3)
//! σ = ⟨Σ s f ⊗ l + Σ m v' ⊗ v'⟩ / V     pressure is positive             (4)
//! ```
//!
//! `f` is the force of a contact on its partner, `l` the branch vector from the
//! grain's centre to the partner's (to the contact point at a wall), and `s` the
//! share of this line inside: a region that cuts contacts needs no correction,
//! and the stress of a column at rest is its load over its area wherever the
//! region is. Forces are those at the end of a step. Images across periodic
//! boundaries count as what they are images of.

use esker_geometry::Region;
use esker_world::World;
use esker_world::{Partner, Wanted};
use glam::{DMat3, DVec3};

use super::Gauge;
use crate::definition::Column;

const STRESS: &str = "stress, contacts and fluctuations, mean of samples; pressure is positive";
const VELOCITY: &str = "velocity of the mass, mean of samples";

pub(super) const COLUMNS: [Column; 14] = [
    Column::single(
        "grains",
        "1",
        "grains with their centre inside, mean of samples",
    ),
    Column::single("mass", "kg", "their mass, mean of samples"),
    Column::single(
        "packing",
        "1",
        "share of the volume that grains fill, mean of samples",
    ),
    Column::single("velocity_x", "m/s", VELOCITY),
    Column::single("velocity_y", "m/s", VELOCITY),
    Column::single("velocity_z", "m/s", VELOCITY),
    Column::single(
        "temperature",
        "m²/s²",
        "granular temperature: mean square of a component of the velocity fluctuation",
    ),
    Column::single("stress_xx", "Pa", STRESS),
    Column::single("stress_yy", "Pa", STRESS),
    Column::single("stress_zz", "Pa", STRESS),
    Column::single("stress_yz", "Pa", STRESS),
    Column::single("stress_xz", "Pa", STRESS),
    Column::single("stress_xy", "Pa", STRESS),
    Column::single("pressure", "Pa", "mean of the three normal stresses"),
];

/// Numbers of [`Sums`].
const NUMBERS: usize = 14;

/// Sums over samples: how many samples; grains, mass and volume of grains;
/// momentum; m |v'|²; and V times the stresses xx, yy, zz, yz, xz, xy.
type Sums = [f64; NUMBERS];

pub(super) struct Bulk {
    region: Region,
    samples: u32,
    sums: Sums,
}

impl Bulk {
    pub(super) fn new(region: Region, samples: u32) -> Self {
        Bulk {
            region,
            samples,
            sums: [0.0; NUMBERS],
        }
    }
}

impl Gauge for Bulk {
    fn reads(&self) -> Wanted {
        Wanted::Contacts
    }

    fn sample(&mut self, world: &World) {
        let grains = &*world.all_grains();
        let near = self.region.bounds();
        let (mut count, mut mass, mut volume) = (0.0, 0.0, 0.0);
        let mut momentum = DVec3::ZERO;
        let mut inside = Vec::new();
        let places = grains.position()[..grains.count()].iter();
        for (i, (&x, &r)) in places.zip(grains.radius()).enumerate() {
            for x in world.images(x) {
                if near.distance_squared(x) > r * r {
                    continue;
                }
                volume += self.region.volume_of_ball(x, r);
                if self.region.contains(x) {
                    count += 1.0;
                    mass += grains.mass()[i];
                    momentum += grains.state()[i].velocity * grains.mass()[i];
                    inside.push(i);
                }
            }
        }
        let mean = if mass > 0.0 {
            momentum / mass
        } else {
            DVec3::ZERO
        };
        let mut stress = DMat3::ZERO;
        for i in inside {
            let fluctuation = grains.state()[i].velocity - mean;
            stress += outer(fluctuation * grains.mass()[i], fluctuation);
        }
        let fluctuations = stress.x_axis.x + stress.y_axis.y + stress.z_axis.z;
        stress += self.contact_stress(world);
        let [x, y, z] = [stress.x_axis, stress.y_axis, stress.z_axis];
        let sample = [
            1.0,
            count,
            mass,
            volume,
            momentum.x,
            momentum.y,
            momentum.z,
            fluctuations,
            x.x,
            y.y,
            z.z,
            0.5 * (y.z + z.y),
            0.5 * (x.z + z.x),
            0.5 * (x.y + y.x),
        ];
        for (sum, value) in self.sums.iter_mut().zip(sample) {
            *sum += value;
        }
    }

    fn samples_per_row(&self) -> f64 {
        f64::from(self.samples)
    }

    fn close(&mut self, _world: &World, _length: f64) -> Vec<f64> {
        let [
            samples,
            count,
            mass,
            volume,
            px,
            py,
            pz,
            square,
            stresses @ ..,
        ] = self.sums;
        self.sums = [0.0; NUMBERS];
        let space = self.region.volume();
        let stresses = stresses.map(|s| s / (samples * space));
        let pressure = (stresses[0] + stresses[1] + stresses[2]) / 3.0;
        // Without grains there is no velocity: zero over zero is not a number.
        let mut row = vec![
            count / samples,
            mass / samples,
            volume / (samples * space),
            px / mass,
            py / mass,
            pz / mass,
            square / (3.0 * mass),
        ];
        row.extend(stresses);
        row.push(pressure);
        row
    }

    fn state(&self) -> Vec<f64> {
        self.sums.to_vec()
    }

    fn restore(&mut self, state: &[f64]) -> bool {
        Sums::try_from(state).is_ok_and(|sums| {
            self.sums = sums;
            true
        })
    }
}

impl Bulk {
    /// Σ s f ⊗ l over contacts, J: those that were solved, and those of frozen grains.
    fn contact_stress(&self, world: &World) -> DMat3 {
        let mut stress = DMat3::ZERO;
        let mut add = |branch: Branch, normal: f64, friction: DVec3| {
            let force = (branch.normal * normal + friction) / world.substep();
            if force != DVec3::ZERO {
                stress += self.share_of_branch(world, branch, force);
            }
        };
        for (contact, impulse) in world.contacts() {
            let beyond = match contact.partner {
                Partner::Grain(_) => contact.arms[1],
                Partner::Wall(_) => 0.0,
            };
            let branch = Branch {
                point: contact.point,
                normal: contact.normal,
                arms: [contact.arms[0], beyond],
            };
            add(branch, impulse.normal, impulse.friction);
        }
        for contact in world.stored_contacts() {
            let branch = Branch {
                point: contact.point,
                normal: contact.normal,
                arms: contact.arms,
            };
            add(branch, contact.impulse.normal, contact.impulse.friction);
        }
        stress
    }

    /// s f ⊗ l of a contact and its images, J.
    fn share_of_branch(&self, world: &World, branch: Branch, force: DVec3) -> DMat3 {
        let Branch {
            point,
            normal,
            arms,
        } = branch;
        let near = self.region.bounds();
        let reach = arms[0].max(arms[1]);
        let mut stress = DMat3::ZERO;
        for point in world.images(point) {
            if near.distance_squared(point) > reach * reach {
                continue;
            }
            let (from, to) = (point - normal * arms[0], point + normal * arms[1]);
            let share = self.region.share_of_segment(from, to);
            if share > 0.0 {
                stress += outer(force * share, to - from);
            }
        }
        stress
    }
}

/// The line from the centre of a grain over a contact point to the centre of its partner.
struct Branch {
    point: DVec3,
    normal: DVec3,
    /// On both sides of the point, m.
    arms: [f64; 2],
}

/// `a ⊗ b`: rows are the components of `a`.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
