//! Whole steps with any solver of the registry, and contact problems for use
//! outside a run.

use esker_contact::{
    AssembledProblem, BodyOperator, BodyState, ContactOperator, ContactProblem, FrictionLaw,
    Impulse, Measure, ProblemError,
};
use esker_solver::sweep::{Stop, SweepReport};
use esker_solver::{Status, Stopping, UnknownSolver, by_name};

use crate::World;
use crate::definition::{Method, WholeStep};
use crate::machinery::Machinery;
use crate::step::StepError;

/// Contacts of machines at most of which a problem is written.
const MOST_COUPLED: usize = 1500;

/// Tolerance where a scene sets none: general solvers work towards one.
const DEFAULT_TOLERANCE: f64 = 1e-6;

/// Why a general solver cannot begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// No solver has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownSolver),
    /// What was assembled is no contact problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Contacts with machines are no problem of bodies alone.
    #[error("contacts with machines are no problem of bodies alone: take `coupled_problem_ahead`")]
    Machines,
    /// All contacts of a machine are coupled with each other.
    #[error(
        "machines have {contacts} contacts, and a problem in which each is coupled with each \
         takes too much space above {MOST_COUPLED}"
    )]
    TooManyCoupled {
        /// How many.
        contacts: usize,
    },
}

/// Solves `problem`, with the rows of machines, with the method of a name from the impulses given;
/// `velocities` become those after the step, but for those of ghosts of machines.
pub(crate) fn solve(
    name: &str,
    (problem, machinery): (&ContactProblem, &Machinery),
    stop: Stop,
    impulses: &mut Vec<Impulse>,
    velocities: &mut Vec<BodyState>,
) -> Result<SweepReport, SolveError> {
    let solver = by_name(name)?;
    let operator = BodyOperator::new(problem)?;
    let mut lambda = operator.to_local(impulses);
    let stopping = Stopping {
        law: FrictionLaw::Coulomb,
        // The measure in which runs report their residual.
        measure: Measure::Scaled,
        tolerance: stop.tolerance.unwrap_or(DEFAULT_TOLERANCE),
        iterations: stop.sweeps,
        seconds: None,
    };
    let report = if machinery.is_empty() {
        solver.solve(&operator, &mut lambda, &stopping)
    } else {
        let coupled = machinery.couple(problem)?;
        let of_contacts = lambda.len();
        lambda.resize(coupled.rows(), 0.0);
        let report = solver.solve(&coupled, &mut lambda, &stopping);
        lambda.truncate(of_contacts);
        report
    };
    impulses.clone_from(&operator.to_impulses(&lambda));
    velocities.clone_from(&operator.velocities(&lambda));
    Ok(SweepReport {
        sweeps: report.products,
        residual: report.residuals.scaled,
        converged: report.status == Status::Converged,
    })
}

impl World {
    /// The contact problem that a whole step from the present state would
    /// solve in its main stage, without the impacts before it and with exactly
    /// the grains that are there now. The state, and what is known of the last
    /// step, does not change.
    pub fn problem_ahead(&mut self) -> Result<ContactProblem, StepError> {
        if !self.machinery.is_empty() {
            return Err(self.cannot_solve(SolveError::Machines));
        }
        self.with_problem_ahead(|_, problem| Ok(problem))
    }

    /// The same together with the rows of the machines, as a problem of impulses alone: rows of
    /// machines with bounds come after the contacts, a limit as a contact without friction and a
    /// motor as friction under a constant load.
    pub fn coupled_problem_ahead(&mut self) -> Result<AssembledProblem, StepError> {
        self.with_problem_ahead(|machinery, problem| {
            let contacts = machinery.contacts();
            if contacts > MOST_COUPLED {
                return Err(SolveError::TooManyCoupled { contacts });
            }
            Ok(machinery.couple(&problem)?.assemble())
        })
    }

    fn cannot_solve(&self, source: SolveError) -> StepError {
        StepError::Solve {
            step: self.steps_done + 1,
            source,
        }
    }

    fn with_problem_ahead<T>(
        &mut self,
        make: impl FnOnce(&Machinery, ContactProblem) -> Result<T, SolveError>,
    ) -> Result<T, StepError> {
        let whole_step = Method::WholeStep(WholeStep::default());
        let method = std::mem::replace(&mut self.method, whole_step);
        let next_step = self.next_step_length();
        let step = std::mem::replace(&mut self.step, next_step);
        let workspace = std::mem::take(&mut self.workspace);
        let walls = self.walls.clone();
        self.set_wall_velocities();
        let problem = self.whole_step_problem();
        let made = problem.map(|problem| make(&self.machinery, problem));
        (self.method, self.step) = (method, step);
        (self.workspace, self.walls) = (workspace, walls);
        made?.map_err(|source| self.cannot_solve(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::*;
    use esker_geometry::{OpenFaces, Pose, Region, WallShape};
    use glam::DVec3;

    fn heap(method: Method) -> World {
        World::new(&WorldDef {
            step: 2e-3,
            method,
            materials: vec![Material {
                name: "glass".into(),
                density: 2500.0,
                young: 5e7,
                poisson: 0.3,
            }],
            walls: vec![WallDef::new(
                "box",
                WallShape::Box {
                    half_extents: DVec3::new(0.025, 0.025, 0.2),
                    side: esker_geometry::Side::Inside,
                    open: OpenFaces::NONE,
                },
                Pose::IDENTITY,
            )],
            packings: vec![PackingDef {
                shape: None,
                material: 0,
                velocity: DVec3::ZERO,
                placement: Placement::Random {
                    region: Region::Box {
                        half_extents: DVec3::new(0.025, 0.025, 0.1),
                        pose: Pose::from_position(DVec3::new(0.0, 0.0, -0.1)),
                    },
                    count: 60,
                    sizes: SizeDistribution::Fixed { radius: 5e-3 },
                },
            }],
            ..Default::default()
        })
        .unwrap()
    }

    /// A general solver inside a run meets its tolerance and holds the heap up
    /// like the sweep does.
    #[test]
    fn a_run_with_a_general_solver_meets_its_tolerance() {
        let mut world = heap(Method::WholeStep(WholeStep {
            solver: Solver::Named("newton".into()),
            sweeps: 10_000,
            tolerance: Some(1e-6),
            ..Default::default()
        }));
        let mut swept = heap(Method::WholeStep(WholeStep {
            sweeps: 2000,
            tolerance: Some(1e-4),
            ..Default::default()
        }));
        let mut missed = 0;
        for _ in 0..150 {
            let report = world.step().unwrap();
            missed += usize::from(!report.converged);
            assert!(!report.converged || report.residual.unwrap() <= 1e-6);
            swept.step().unwrap();
        }
        assert!(missed <= 3, "{missed} of 150 steps missed 1e-6");
        let height = |w: &World| w.grains.position.iter().map(|x| x.z).sum::<f64>() / 60.0;
        assert!((height(&world) - height(&swept)).abs() < 2e-3);
        assert!(world.grains.kinetic_energy() < 1e-4);
    }

    #[test]
    fn looking_at_the_problem_ahead_changes_nothing() {
        let contacts = |world: &World| -> Vec<_> {
            let found = world.contacts();
            found.map(|(c, p)| (c.key, c.overlap, *p)).collect()
        };
        let mut looked = heap(Method::default());
        let mut left_alone = heap(Method::default());
        for _ in 0..60 {
            looked.step().unwrap();
            left_alone.step().unwrap();
            assert!(looked.problem_ahead().is_ok());
            assert_eq!(contacts(&looked), contacts(&left_alone));
        }
        assert!(looked.problem_ahead().unwrap().contacts.len() > 60);
        assert_eq!(looked.grains.state_hash(), left_alone.grains.state_hash());
    }
}
