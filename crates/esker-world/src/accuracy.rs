//! Keeps a stated accuracy: measures what is wrong with contacts and sets the
//! sweeps per step, and where it is free the step, to match.
//!
//! Two errors are measured, both in diameters and as means over loaded contacts:
//!
//! * the excess `e`: overlap beyond what the contact's own law gives for the
//!   force it carries. An exact solve has none. What the stiffness cap adds
//!   falls as `1/n²` with the substeps `n`, what a truncated solve adds as `1/n`
//!   with its sweeps, so that
//!
//!   ```text
//!   n ← n (e / a ε)^q,     q = 1/2 sub-stepped, 1 for a whole step         (1)
//!   ```
//!
//! * the turning `s`: normals are frozen over a step, while centres a distance `D`
//!   apart move by `v_t h` across the normal; the gap is then wrong by
//!
//!   ```text
//!   s = √(D² + (v_t h)²) − D ≈ (v_t h)²/(2 D).                             (2)
//!   ```
//!
//!   It falls as `h²`; a step is halved where `s` exceeds its share of the
//!   tolerance, and doubled where it would stay well within it.
//!
//! The stated error is `e + s`. Aims below the tolerance leave room; a change per
//! look is bounded, and nothing is relaxed but well below its aim, so that it
//! does not hunt. When the step changes, substeps change with it: their length,
//! and with it the excess, stays.

use crate::World;
use crate::begin::Resolution;
use crate::check::Problem;
use crate::collide::Partner;
use crate::definition::Method;
use crate::validate;

/// Steps between two looks: odd, so that every other look at least falls on a
/// time where a step of twice the length may begin.
const STEPS_PER_LOOK: u64 = 9;
/// Share of the tolerance that the excess is aimed at.
const AIM: f64 = 0.7;
/// Share of the tolerance below which sweeps are lowered.
const IDLE: f64 = 0.35;
/// Share of the tolerance that the turning of normals may take.
const TURNING: f64 = 0.25;
/// Part of that share which a doubled step must stay within; its turning is
/// four times that of the present one.
const TURNING_IDLE: f64 = 0.5;
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
        let excess = mean(self.contacts().filter_map(|(contact, impulse)| {
            let loaded = impulse.normal > 0.0 && contact.overlap > 0.0;
            loaded.then(|| {
                let pair = self.pair_of(contact);
                let stiffness = pair.stiffness(contact.elastic_radius);
                let lawful = pair.static_overlap(stiffness, impulse.normal / row_step);
                (contact.overlap - lawful).max(0.0) / contact.diameter()
            })
        }));
        excess.unwrap_or(0.0)
    }

    /// Mean error (2) of the gaps of loaded contacts between grains, in
    /// diameters, for the velocities at the end of the last step; `None` where
    /// there are none.
    pub fn turning_error(&self) -> Option<f64> {
        let states = &self.grains.state;
        mean(self.contacts().filter_map(|(contact, impulse)| {
            let Partner::Grain(j) = contact.partner else {
                return None;
            };
            (impulse.normal > 0.0).then(|| {
                let (a, b) = (&states[contact.grain as usize], &states[j as usize]);
                let apart = contact.arms[0] + contact.arms[1];
                let across = (b.velocity - a.velocity).reject_from_normalized(contact.normal);
                (apart.hypot(across.length() * self.step) - apart) / contact.diameter()
            })
        }))
    }

    /// Sets the sweeps (or substeps) of every step from the next one on.
    pub fn set_sweeps(&mut self, sweeps: usize) -> Result<(), Problem> {
        validate::sweeps("sweeps", sweeps)?;
        self.set_next_resolution(Resolution {
            sweeps,
            ..self.next
        });
        Ok(())
    }

    /// Looks at the errors every few steps and corrects step and sweeps of the
    /// next one; `None` when no accuracy was asked for or it was not looked at.
    pub(crate) fn keep_accuracy(&mut self) -> Option<f64> {
        let tolerance = self.accuracy?;
        if !self.steps_done.is_multiple_of(STEPS_PER_LOOK) {
            return None;
        }
        let (excess, turning) = (self.excess_overlap(), self.turning_error());
        let exponent = match self.method {
            Method::SubStepped(_) => 0.5,
            Method::WholeStep(_) => 1.0,
            // Springs are exact at any stable substep.
            Method::Smooth(_) => return Some(excess),
        };
        let mut next = self.next;
        if excess > AIM * tolerance || excess < IDLE * tolerance {
            let change = (excess / (AIM * tolerance)).powf(exponent);
            next.sweeps = bounded(next.sweeps as f64 * change.clamp(CHANGE[0], CHANGE[1]));
        }
        // Without a loaded contact nothing is known.
        if let (Some(longest), Some(turning)) = (self.longest_step, turning) {
            next = self.corrected(next, turning / (TURNING * tolerance), longest);
        }
        self.set_next_resolution(next);
        Some(excess + turning.unwrap_or(0.0))
    }

    /// Halves or doubles the step, from the turning over what it may be; the
    /// length of substeps stays about the same.
    fn corrected(&self, next: Resolution, turning: f64, longest: f64) -> Resolution {
        let shorter = turning > 1.0;
        let longer = 4.0 * turning < TURNING_IDLE && 2.0 * self.step <= longest;
        let level = next.level + i32::from(shorter) - i32::from(longer);
        if level == next.level || !self.clock.may_begin(level, self.steps_done) {
            return next;
        }
        let sweeps = match self.method {
            Method::WholeStep(_) => next.sweeps,
            Method::SubStepped(_) | Method::Smooth(_) => {
                bounded(next.sweeps as f64 * self.clock.step_at(level) / self.step)
            }
        };
        Resolution { level, sweeps }
    }
}

fn bounded(sweeps: f64) -> usize {
    sweeps.round().clamp(SWEEPS[0], SWEEPS[1]) as usize
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(s, n), v| (s + v, n + 1));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use esker_geometry::{OpenFaces, Pose, WallShape};
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
                presence: Presence::ALWAYS,
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

    /// A drum turning so fast that its grains cascade.
    fn drum(step: f64) -> WorldDef {
        let across = glam::DQuat::from_rotation_arc(DVec3::Z, DVec3::Y);
        let mut def = column(Some(0.005), 20);
        def.step = step;
        def.longest_step = Some(0.02);
        def.rotation = true;
        def.materials[0].young = 1e7;
        def.pairs = vec![PairDef {
            materials: [0, 0],
            law: PairLaw {
                friction: 0.5,
                ..Default::default()
            },
        }];
        def.walls[0].shape = WallShape::Cylinder {
            radius: 0.06,
            length: 0.031,
            side: esker_geometry::Side::Inside,
            open: OpenFaces::NONE,
        };
        def.walls[0].pose = Pose::new(DVec3::ZERO, across);
        def.walls[0].motion = Motion::Rotate {
            axis: DVec3::Y,
            centre: DVec3::ZERO,
            rate: 6.0,
            start: 0.0,
            stop: f64::INFINITY,
        };
        def.packings[0].placement = Placement::Lattice {
            region: esker_geometry::Region::Cylinder {
                radius: 0.058,
                length: 0.031,
                pose: Pose::new(DVec3::ZERO, across),
            },
            spacing: None,
            jitter: 1.0,
            count: Some(120),
            sizes: SizeDistribution::Fixed { radius: 5e-3 },
        };
        def
    }

    #[test]
    fn a_step_that_is_too_coarse_for_a_flow_is_shortened() {
        let mut world = World::new(&drum(0.016)).unwrap();
        run(&mut world, 400);
        assert!(world.step_length() < 0.016);
        // On average over a while, since avalanches come and go.
        let (mut sum, mut looks) = (0.0, 0.0);
        for _ in 0..600 {
            if let Some(error) = world.step().unwrap().excess_overlap {
                sum += error;
                looks += 1.0;
            }
        }
        assert!(sum / looks <= 0.005, "{}", sum / looks);
    }

    #[test]
    fn a_step_that_is_too_fine_is_lengthened_as_far_as_allowed() {
        // A column sinks upright: its normals do not turn.
        for (longest, expected) in [(None, 0.001), (Some(0.0085), 0.008), (Some(0.007), 0.004)] {
            let mut def = column(Some(0.01), 10);
            def.step = 0.001;
            def.longest_step = longest;
            let mut world = World::new(&def).unwrap();
            run(&mut world, 600);
            assert_eq!(world.step_length(), expected);
            assert!(world.excess_overlap() <= 0.01);
        }
    }

    #[test]
    fn a_world_restored_after_changes_of_its_step_continues_with_the_same_bits() {
        let def = drum(0.016);
        let mut world = World::new(&def).unwrap();
        run(&mut world, 125);
        assert_ne!(world.step_length(), 0.016);
        let mut restored = World::restore(&def, world.state()).unwrap();
        assert_eq!(restored.time(), world.time());
        assert_eq!(restored.step_length(), world.step_length());
        run(&mut world, 40);
        run(&mut restored, 40);
        assert_eq!(world.grains.state_hash(), restored.grains.state_hash());
        assert_eq!(restored.time(), world.time());
    }

    #[test]
    fn a_change_of_sweeps_does_not_shake_a_column_at_rest() {
        let mut world = World::new(&column(None, 50)).unwrap();
        run(&mut world, 400);
        world.set_sweeps(60).unwrap();
        run(&mut world, 1);
        let speed = world.grains.state.iter().map(|s| s.velocity.length());
        assert!(speed.fold(0.0, f64::max) < 0.05);
    }

    #[test]
    fn a_restored_world_keeps_its_sweeps_and_continues_with_the_same_bits() {
        let def = column(Some(0.01), 10);
        let mut kept = World::new(&def).unwrap();
        run(&mut kept, 95);
        // Set by hand, and not yet taken up by a step.
        let by_hand = column(None, 10);
        let mut set = World::new(&by_hand).unwrap();
        run(&mut set, 95);
        set.set_sweeps(17).unwrap();
        for (def, mut world) in [(def, kept), (by_hand, set)] {
            let mut restored = World::restore(&def, world.state()).unwrap();
            run(&mut world, 40);
            run(&mut restored, 40);
            assert_ne!(world.method().sweeps(), 10);
            assert_eq!(restored.state(), world.state());
        }
    }
}
