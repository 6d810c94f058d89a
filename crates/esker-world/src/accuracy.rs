//! Keeps a stated accuracy: measures how much too deep contacts are and sets
//! the sweeps per step to match.
//!
//! The excess of a loaded contact is its overlap beyond what its own law gives
//! for the force it carries, in diameters; an exact solve has none. With `e`
//! the mean excess and `ε` the tolerance,
//!
//! ```text
//! n ← n (e / a ε)^q,     q = 1/2 sub-stepped, 1 for a whole step           (1)
//! ```
//!
//! since what the stiffness cap adds falls as `1/n²` and what a truncated solve
//! adds as `1/n`. The aim `a < 1` leaves room; a change per look is bounded,
//! and sweeps are only lowered well below the aim, so that they do not hunt.

use crate::World;
use crate::definition::Method;

/// Steps between two looks.
const STEPS_PER_LOOK: u64 = 10;
/// Share of the tolerance that is aimed at.
const AIM: f64 = 0.7;
/// Share of the tolerance below which sweeps are lowered.
const IDLE: f64 = 0.35;
/// Bounds of the change per look.
const CHANGE: [f64; 2] = [0.9, 1.6];
/// Fewest sweeps that keep a flow right, and most that are tried.
const SWEEPS: [f64; 2] = [10.0, 2000.0];

impl World {
    /// The tolerance that is kept, in diameters, if any.
    pub fn accuracy(&self) -> Option<f64> {
        self.accuracy
    }

    /// Mean overlap of loaded contacts beyond what their law gives for their
    /// force, in diameters, at the end of the last step.
    pub fn excess_overlap(&self) -> f64 {
        let row_step = self.row_step();
        let (mut sum, mut count) = (0.0, 0_usize);
        for (contact, impulse) in self.contacts() {
            if impulse.normal <= 0.0 || contact.overlap <= 0.0 {
                continue;
            }
            let pair = self.pair_of(contact);
            let stiffness = pair.stiffness(contact.elastic_radius);
            let lawful = pair.static_overlap(stiffness, impulse.normal / row_step);
            sum += (contact.overlap - lawful).max(0.0) / contact.diameter;
            count += 1;
        }
        if count > 0 { sum / count as f64 } else { 0.0 }
    }

    /// Sets the sweeps (or substeps) of every step from now on. Impulses, those
    /// of the last step and those remembered for warm starting, are scaled to
    /// the new length of a row step: forces stay.
    pub fn set_sweeps(&mut self, sweeps: usize) {
        let before = self.row_step();
        match &mut self.method {
            Method::SubStepped(m) => m.substeps = sweeps.max(1),
            Method::WholeStep(m) => m.sweeps = sweeps.max(1),
            Method::Smooth(m) => m.substeps = sweeps.max(1),
        }
        let after = self.row_step();
        if after != before {
            self.history.scale(after / before);
            for impulse in &mut self.workspace.impulses {
                *impulse = impulse.scaled(after / before);
            }
        }
    }

    /// Looks at the excess every few steps and corrects the sweeps; `None`
    /// when no accuracy was asked for or it was not looked at.
    pub(crate) fn keep_accuracy(&mut self) -> Option<f64> {
        let tolerance = self.accuracy?;
        if !self.steps_done.is_multiple_of(STEPS_PER_LOOK) {
            return None;
        }
        let excess = self.excess_overlap();
        let exponent = match self.method {
            Method::SubStepped(_) => 0.5,
            Method::WholeStep(_) => 1.0,
            // Springs are exact at any stable substep.
            Method::Smooth(_) => return Some(excess),
        };
        if excess > AIM * tolerance || excess < IDLE * tolerance {
            let now = self.method.sweeps() as f64;
            let change = (excess / (AIM * tolerance)).powf(exponent);
            let next = (now * change.clamp(CHANGE[0], CHANGE[1])).round();
            self.set_sweeps(next.clamp(SWEEPS[0], SWEEPS[1]) as usize);
        }
        Some(excess)
    }
}

#[cfg(test)]
mod tests {
    use esker_geometry::{Pose, WallShape};
    use glam::DVec3;

    use super::*;
    use crate::definition::*;

    /// A stiff column whose height error is the cap's: `g h_s² N/d`.
    fn column(accuracy: Option<f64>, substeps: usize) -> WorldDef {
        WorldDef {
            step: 0.01,
            accuracy,
            method: Method::SubStepped(SubStepped {
                substeps,
                ..Default::default()
            }),
            contact: ContactSettings {
                margin: 0.5,
                ..Default::default()
            },
            rotation: false,
            materials: vec![Material {
                name: "steel".into(),
                density: 2500.0,
                young: 5e11,
                poisson: 0.3,
            }],
            walls: vec![WallDef {
                name: "floor".into(),
                shape: WallShape::HalfSpace,
                pose: Pose::IDENTITY,
                material: 0,
                motion: Motion::Still,
                surface_velocity: DVec3::ZERO,
            }],
            packings: vec![PackingDef {
                material: 0,
                velocity: DVec3::ZERO,
                placement: Placement::Column {
                    base: DVec3::ZERO,
                    direction: DVec3::Z,
                    count: 60,
                    gap: 0.0,
                    sizes: SizeDistribution::Fixed { radius: 5e-3 },
                },
            }],
            ..Default::default()
        }
    }

    fn run(world: &mut World, steps: usize) {
        for _ in 0..steps {
            world.step().unwrap();
        }
    }

    #[test]
    fn a_stated_accuracy_is_kept_with_no_more_sweeps_than_needed() {
        for (tolerance, substeps) in [(0.01, 10), (0.001, 10), (0.01, 200)] {
            let mut world = World::new(&column(Some(tolerance), substeps)).unwrap();
            run(&mut world, 600);
            let excess = world.excess_overlap();
            assert!(excess <= tolerance, "{tolerance}: {excess}");
            // The cap alone gives n = h √(g N/(ε d)); within a factor of two.
            let formula = 0.01 * (9.81 * 60.0 / (tolerance * 0.01)).sqrt();
            let ratio = world.method().sweeps() as f64 / formula;
            assert!((0.5..2.0).contains(&ratio), "{tolerance}: {ratio}");
        }
    }

    #[test]
    fn a_change_of_sweeps_does_not_shake_a_column_at_rest() {
        let mut world = World::new(&column(None, 50)).unwrap();
        run(&mut world, 400);
        world.set_sweeps(60);
        run(&mut world, 1);
        let speed = world.grains.state.iter().map(|s| s.velocity.length());
        assert!(speed.fold(0.0, f64::max) < 0.05);
    }

    #[test]
    fn a_restored_world_keeps_its_sweeps_and_continues_with_the_same_bits() {
        let def = column(Some(0.01), 10);
        let mut world = World::new(&def).unwrap();
        run(&mut world, 95);
        let mut restored = World::restore(&def, world.state()).unwrap();
        assert_ne!(world.method().sweeps(), 10);
        assert_eq!(restored.method().sweeps(), world.method().sweeps());
        run(&mut world, 40);
        run(&mut restored, 40);
        assert_eq!(world.grains.state_hash(), restored.grains.state_hash());
    }
}
