//! Keeps a stated accuracy: judges every step by its errors and sets the sweeps
//! per step, and where it is free the step, to match.
//!
//! # What `tolerance = ε` promises
//!
//! To whoever reads overlaps, angles and forces off a run: at every step the mean
//! and the 99.9th percentile of the overlaps beyond the contact law stay below
//! `ε` diameters, between grains and on walls, loaded or not, also in impacts;
//! and grains that carry the energy move by less than `√(2 ε)` diameters per step
//! (a fourth of that in whole steps).
//! For forces (to 3 %) and angles (to 1.5°), whatever `ε` is, contacts that friction
//! can hold creep at less than 0.003 (median) of the speed `√(g d)` and the contact problem
//! is solved to a residual of 0.1 sub-stepped: of drums, silos and blades solved ever
//! better, forces and angles do not change below that. Steps that miss any of
//! it are counted and shown, by what they missed. The forces of tools (moving walls, and bodies
//! that joints hold) are not smaller than `1 − ε` of what the contact law makes them, and joints
//! gape by less than `ε` diameters.
//!
//! A whole step has one solve, and what that leaves undone is a slip that friction
//! answers. If the next one starts from all of its impulses, a bed at rest is
//! solved ever better and stays as it is, so that a residual of 0.01 will do. If
//! it starts from less, the same slip comes back in every step, always downwards:
//! the bed creeps, its walls take over weight until their friction is used up, and
//! the floor of a silo loses a tenth of its load and more. This takes a residual of 1e-4.
//!
//! # How
//!
//! [`crate::errors`] measures. Errors of the solve fall with the sweeps (or
//! substeps) `n`: what the stiffness cap adds as `1/n²`, what a truncated solve
//! leaves as `1/n`, so that with the largest error over its bound, `r`,
//!
//! ```text
//! n ← n (r/a)^q,     q = 1/2 sub-stepped, 1 for a whole step             (1)
//! ```
//!
//! at a look every few steps: contacts need some to follow. What needs none, the creep and the
//! violation of joints, raises substeps in the very step that misses it: a tool that sets a bed
//! in motion has come by half a diameter until the first look. Whole steps make `n`
//! sweeps at least, and more until their residual is right. The travel falls as
//! `h²` and is known before anything went wrong: the step is halved as often as
//! it asks for as soon as it does, and doubled at a look where it would stay well within its
//! bound. When the step changes, substeps change with it: their length stays.
//! Aims below the bounds leave room, a change per look is bounded, and nothing
//! is relaxed but well below its aim, so that it does not hunt.

use esker_solver::sweep::Stop;

use crate::World;
use crate::begin::Resolution;
use crate::check::Problem;
use crate::definition::{Method, WarmStart, WholeStep};
use crate::errors::StepErrors;
use crate::report::StepReport;
use crate::validate;

/// Steps between two looks: odd, so that every other look at least falls on a
/// time where a step of twice the length may begin.
const STEPS_PER_LOOK: u64 = 9;
/// Share of its bound that the largest error is aimed at.
const AIM: f64 = 0.7;
/// Share of its bound below which sweeps are lowered.
const IDLE: f64 = 0.35;
/// Share of the tolerance that travel may reach in whole steps: one implicit
/// solve damps all motion within it, where substeps follow.
const WHOLE_STEP_TRAVEL: f64 = 1.0 / 16.0;
/// Share of its bound which the travel of a doubled step must stay within.
const TRAVEL_IDLE: f64 = 0.5;
/// Bounds of the change of sweeps per look.
pub(crate) const CHANGE: [f64; 2] = [0.9, 1.6];
/// The largest change by what follows at once, which is known to be needed.
const CHANGE_AT_ONCE: f64 = 2.5;
/// Fewest sweeps that keep a flow right, and most that are tried.
const SWEEPS: [f64; 2] = [10.0, 2000.0];
/// Largest creep at which forces and angles are those of an exact solve.
const CREEP: f64 = 0.003;

/// The largest residual at which they are.
fn max_residual(method: &Method) -> f64 {
    match method {
        Method::SubStepped(_) | Method::Smooth(_) => 0.1,
        Method::WholeStep(m) if m.warm_start == WarmStart::FULL_HISTORY => 0.01,
        Method::WholeStep(_) => 1e-4,
    }
}

/// When the solve of a whole step stops.
pub(crate) fn whole_step_stop(method: &WholeStep, keeps_accuracy: bool) -> Stop {
    let WholeStep {
        sweeps, tolerance, ..
    } = *method;
    if !keeps_accuracy {
        return Stop {
            min_sweeps: 0,
            sweeps,
            tolerance,
        };
    }
    let needed = AIM * max_residual(&Method::WholeStep(method.clone()));
    Stop {
        min_sweeps: sweeps,
        sweeps: sweeps.max(SWEEPS[1] as usize),
        tolerance: Some(tolerance.map_or(needed, |t| t.min(needed))),
    }
}

/// What of a stated accuracy a step missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Overlaps beyond the law: mean, or 99.9th percentile between grains.
    pub overlap: bool,
    /// Overlaps beyond the law on walls.
    pub walls: bool,
    /// Creep.
    pub creep: bool,
    /// Travel: the step is too long for the speeds.
    pub travel: bool,
    /// Residual of the solve.
    pub residual: bool,
    /// Forces of tools.
    pub forces: bool,
    /// Violation of joints.
    pub joints: bool,
}

impl Missed {
    /// Whether anything was.
    pub fn any(&self) -> bool {
        let solved = !(self.overlap || self.walls || self.creep || self.residual);
        !solved || self.travel || self.forces || self.joints
    }
}

/// Errors over their bounds.
#[derive(Clone, Copy, Debug)]
struct Ratios {
    overlap: f64,
    walls: f64,
    creep: f64,
    travel: f64,
    residual: f64,
    forces: f64,
    /// As they would be with fewer substeps.
    relaxed_forces: f64,
    joints: f64,
}

impl Ratios {
    fn new(errors: &StepErrors, tolerance: f64, max_residual: f64) -> Self {
        Ratios {
            overlap: errors.mean_excess.max(errors.grain_excess) / tolerance,
            walls: errors.wall_excess / tolerance,
            creep: errors.creep / CREEP,
            travel: errors.travel / tolerance,
            residual: errors.residual.unwrap_or(0.0) / max_residual,
            forces: errors.tool_force() / tolerance,
            relaxed_forces: errors.relaxed_tool_force() / tolerance,
            joints: errors.joints / tolerance,
        }
    }

    fn missed(&self) -> Missed {
        Missed {
            overlap: self.overlap > 1.0,
            walls: self.walls > 1.0,
            creep: self.creep > 1.0,
            travel: self.travel > 1.0,
            residual: self.residual > 1.0,
            forces: self.forces > 1.0,
            joints: self.joints > 1.0,
        }
    }

    /// The largest of those that more sweeps lower, but for the residual.
    fn of_solve(&self) -> f64 {
        let of_contacts = self.overlap.max(self.walls).max(self.creep);
        of_contacts.max(self.forces)
    }

    /// The largest of those that follow substeps at once, at a look and else. Creep fluctuates,
    /// and counts between looks where it is missed.
    fn at_once(&self, is_look: bool) -> f64 {
        let counts = is_look || self.creep > 1.0;
        let creep = if counts { self.creep } else { 0.0 };
        creep.max(self.joints).max(self.residual)
    }
}

impl World {
    /// The tolerance that is kept, in diameters, if any.
    pub fn accuracy(&self) -> Option<f64> {
        self.accuracy
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

    /// Whether the step that is made now is looked at closely: its residual is
    /// measured, and sweeps are corrected by it.
    pub(crate) fn looks(&self) -> bool {
        (self.steps_done + 1).is_multiple_of(STEPS_PER_LOOK)
    }

    /// Whether the last step was looked at closely.
    pub(crate) fn looked(&self) -> bool {
        self.steps_done.is_multiple_of(STEPS_PER_LOOK)
    }

    /// Judges a finished step, `steps_done` included, and corrects the
    /// resolution of the next one where an accuracy is kept.
    pub(crate) fn judge(&mut self, report: &mut StepReport) {
        let is_look = self.looked();
        if self.accuracy.is_none() && !is_look {
            return;
        }
        let errors = self.errors();
        self.judge_by(errors, report);
    }

    /// The same by errors that are known, but for the residual and the forces of tools.
    pub(crate) fn judge_by(&mut self, mut errors: StepErrors, report: &mut StepReport) {
        let is_look = self.looked();
        errors.residual = report.residual;
        self.tool_work
            .follow(self.work_of_tools(), errors.stored_energy);
        errors.stored_share = self.tool_work.stored_share();
        report.errors = Some(errors);
        let Some(tolerance) = self.accuracy else {
            return;
        };
        let mut ratios = Ratios::new(&errors, tolerance, max_residual(&self.method));
        match self.method {
            Method::SubStepped(_) => {}
            Method::WholeStep(_) => ratios.travel /= WHOLE_STEP_TRAVEL,
            // Springs obey their law at any stable substep, and slip to load.
            Method::Smooth(_) => {
                (ratios.overlap, ratios.walls, ratios.creep) = (0.0, 0.0, 0.0);
                ratios.forces = 0.0;
            }
        }
        report.missed = ratios.missed();
        let next = self.corrected_step(self.corrected_sweeps(ratios, is_look), ratios, is_look);
        self.set_next_resolution(next);
    }

    /// Sweeps by (1), at a look; sooner by [`Ratios::at_once`].
    fn corrected_sweeps(&self, ratios: Ratios, is_look: bool) -> Resolution {
        let at_once = ratios.at_once(is_look);
        let [error, change] = match self.method {
            Method::SubStepped(_) => {
                let change = |error: f64, most| (error / AIM).sqrt().min(most);
                let followed = if is_look { ratios.of_solve() } else { IDLE };
                [
                    followed.max(at_once),
                    change(followed, CHANGE[1]).max(change(at_once, CHANGE_AT_ONCE)),
                ]
            }
            // The solve itself sees to the residual.
            Method::WholeStep(_) if is_look => {
                let error = ratios.of_solve();
                [error, (error / AIM).min(CHANGE[1])]
            }
            Method::WholeStep(_) | Method::Smooth(_) => return self.next,
        };
        let is_idle = error < IDLE && ratios.relaxed_forces <= AIM;
        if !is_idle && error <= AIM {
            return self.next;
        }
        Resolution {
            sweeps: bounded(self.next.sweeps as f64 * change.max(CHANGE[0])),
            ..self.next
        }
    }

    /// Halves the step as often as the travel asks for, or doubles it at a look.
    fn corrected_step(&self, next: Resolution, ratios: Ratios, is_look: bool) -> Resolution {
        let Some(longest) = self.longest_step else {
            return next;
        };
        // (2) of `errors`, and what joints gape: a fourth for each halving.
        let ratio = match self.method {
            Method::WholeStep(_) => ratios.travel.max(ratios.joints),
            Method::SubStepped(_) | Method::Smooth(_) => ratios.travel,
        };
        let halvings = (0.5 * ratio.log2()).ceil().max(0.0) as i32;
        let longer = is_look
            && 4.0 * ratio < TRAVEL_IDLE
            && 2.0 * self.step <= longest
            && self.clock.may_begin(next.level - 1, self.steps_done);
        let level = self.clock.within(next.level + halvings - i32::from(longer));
        if level == next.level {
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
            walls: vec![WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY)],
            packings: vec![PackingDef {
                shape: None,
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
            let errors = world.errors();
            assert!(errors.grain_excess <= tolerance, "{tolerance}: {errors:?}");
            // The cap adds S_n f h_s² to the lowest contact's overlap, 2 g N h_s²;
            // within a factor of two.
            let formula = 0.01 * (2.0 * 9.81 * 60.0 / (tolerance * 0.01)).sqrt();
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
        // Avalanches come and go.
        let missed = (0..600).filter(|_| world.step().unwrap().missed.any());
        let missed = missed.count();
        assert!(missed <= 60, "{missed} of 600 steps");
    }

    /// Few sweeps leave small overlaps but a bed that creeps, with too low an angle.
    #[test]
    fn a_truncated_solve_is_not_called_accurate_and_gets_more_sweeps() {
        let mut def = drum(0.005);
        def.longest_step = None;
        let method = WholeStep {
            sweeps: 10,
            warm_start: WarmStart::FULL_HISTORY,
            ..Default::default()
        };
        def.method = Method::WholeStep(method.clone());
        let truncated = WorldDef {
            accuracy: None,
            ..def.clone()
        };
        let mut world = World::new(&truncated).unwrap();
        run(&mut world, 200);
        let residuals: Vec<f64> = (0..90)
            .filter_map(|_| world.step().unwrap().residual)
            .collect();
        let bound = max_residual(&world.method);
        let misses = residuals.iter().filter(|r| **r > bound).count();
        assert!(misses > 45, "{misses} of {} steps", residuals.len());
        let mut world = World::new(&def).unwrap();
        run(&mut world, 200);
        for _ in 0..90 {
            let report = world.step().unwrap();
            assert!(report.residual.unwrap() <= bound, "{report:?}");
            assert!(!report.missed.residual);
        }
    }

    #[test]
    fn a_residual_that_is_out_of_reach_is_missed() {
        let mut def = drum(0.005);
        def.longest_step = None;
        def.method = Method::WholeStep(WholeStep {
            warm_start: WarmStart::Cold,
            ..Default::default()
        });
        let mut world = World::new(&def).unwrap();
        let reports: Vec<_> = (0..60).map(|_| world.step().unwrap()).collect();
        assert!(reports.iter().any(|r| r.missed.residual));
        for report in reports.iter().filter(|r| r.missed.residual) {
            assert_eq!(report.sweeps, SWEEPS[1] as usize);
        }
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
            assert!(world.errors().grain_excess <= 0.01);
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
