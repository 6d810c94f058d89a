//! The seam between the step of a world and what computes its substeps.
//!
//! A back end takes the contacts of a step (`upload`), takes its bodies through all substeps
//! (`advance`) and gives back what contacts ended with (`download`). Where its memory is, and
//! who else works on the same step, is its own affair. What all back ends have in common is
//! the order of a [`SweepPlan`]: colour after colour, in a colour block by block in any order,
//! in a block group by group. With the same arithmetic of a row that order decides every
//! bit.
//!
//! Several processes may share a step. Blocks of one colour share no body, so each sweeps its
//! own, and between two colours whoever needs a body gets what the last to touch it left:
//! [`Exchange::after_colour`]. Everything that is done body by body each process does for
//! itself with the same bits.

use esker_contact::{BodyState, GeneralContact, Impulse};
use esker_parallel::Team;
use glam::DVec3;

use crate::device::DeviceError;
pub use crate::impact_changes::VelocityChange;
use crate::jointed::Jointed;
use crate::packed::{Law, Row};
use crate::plan::SweepPlan;
use crate::substep::Accelerations;
use crate::sweep::TangentCompliance;

/// What contacts of a step have in common.
#[derive(Clone, Copy, Debug)]
pub struct SubstepProblem<'a> {
    /// Order of the sweep.
    pub plan: &'a SweepPlan,
    /// Laws, by the plan's index.
    pub laws: &'a [Law],
    /// Compliance of friction and rolling rows.
    pub compliance: TangentCompliance,
    /// What contacts of the general form have beside their rows.
    pub general: &'a [GeneralContact],
}

/// A step of substeps.
#[derive(Clone, Copy, Debug)]
pub struct SubstepRun<'a> {
    /// How many substeps.
    pub substeps: usize,
    /// Length `h_s` of each, s.
    pub step: f64,
    /// Acceleration of every body with a finite mass, m/s².
    pub gravity: DVec3,
    /// What accelerates bodies besides, to the last movable one.
    pub accelerations: Accelerations<'a>,
    /// Contacts whose impulses over the step are wanted, as places of the plan's
    /// order, ascending: those with walls ([`SweepPlan::fixed`]), or more.
    pub tracked: &'a [u32],
    /// Bodies that contacts can move; those after them belong to one contact each.
    pub movable: usize,
    /// Substeps that open contacts may stay without a look at most.
    pub longest_sleep: f64,
}

/// What computes the substeps of a step. `row(i)` is the contact at place `i` of the plan's
/// order wherever it is asked for. What fails is a device; the step is then lost, and no part
/// of it can be used.
pub trait SubstepBackend {
    /// Takes the contacts of a step, between these bodies.
    fn upload(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<(), DeviceError>;

    /// Takes bodies from their velocities at the start of the step to those at its end, and
    /// those that are `jointed` too. Returns the number of impact rows.
    fn advance<E: Exchange>(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &mut [BodyState],
        run: SubstepRun<'_>,
        partners: Partners<'_, '_, E>,
    ) -> Result<usize, DeviceError>;

    /// Residual of the last substep's rows (see [`esker_contact::ResidualSum`]). Impact rows
    /// are exact and belong to what had to be solved alone.
    fn residual(
        &mut self,
        team: &mut Team,
        problem: SubstepProblem<'_>,
        bodies: &[BodyState],
        run: SubstepRun<'_>,
        row: impl Fn(usize) -> Row + Sync,
    ) -> Result<f64, DeviceError>;

    /// Ends the step: replaces `impulses` by those that the next step starts from, one per
    /// contact in the plan's order, without those of impacts.
    fn download(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        impulses: &mut Vec<Impulse>,
    ) -> Result<(), DeviceError>;

    /// Sums of a body's velocities and angular velocities, `Σ v` and `Σ ω`, over the substeps:
    /// times `h_s` what it moved.
    fn moved(&self, body: usize) -> [DVec3; 2];

    /// Impulses over the whole step, impacts included: one sum per contact of
    /// [`SubstepRun::tracked`], in its order.
    fn impulse_sums(&self) -> &[Impulse];
}

/// Who takes part in a step besides contacts and bodies.
pub struct Partners<'a, 'b, E> {
    /// Bodies that joints move.
    pub jointed: Option<Jointed<'b>>,
    /// Other processes.
    pub exchange: &'a E,
}

impl<'b> Partners<'static, 'b, Alone> {
    /// Joints at most.
    pub fn alone(jointed: Option<Jointed<'b>>) -> Self {
        Partners {
            jointed,
            exchange: &Alone,
        }
    }
}

/// What passes velocities on between processes that share a step.
pub trait Exchange: Sync {
    /// Whether there is anybody: if not, no thread waits for it.
    const IS_NEEDED: bool = true;

    /// Called when all own blocks of a colour are swept, also where there are none, and before
    /// any of the next: in the warm start of a step and in every substep.
    fn after_colour(&self, colour: usize, state: &mut dyn SubstepState);
}

/// One process has all blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Exchange for Alone {
    const IS_NEEDED: bool = false;

    fn after_colour(&self, _colour: usize, _state: &mut dyn SubstepState) {}
}

/// What processes exchange of bodies within a substep. Bodies are those that the plan's
/// contacts act on, copies of large ones among them.
pub trait SubstepState {
    /// Velocity and angular velocity now.
    fn velocity(&self, body: usize) -> [DVec3; 2];

    /// Sets them.
    fn set_velocity(&mut self, body: usize, velocity: [DVec3; 2]);

    /// What impacts have changed of them in this substep; `None` of a body without impacts.
    fn impact_change(&self, body: usize) -> Option<VelocityChange>;

    /// Sets that.
    fn set_impact_change(&mut self, body: usize, change: VelocityChange);
}
