//! The portfolio: what a user gets who asks for an accuracy instead of a method.
//!
//! 1. First-order iterations, while they are on course for the tolerance: nothing is
//!    cheaper for easy problems and rough tolerances. Sweeps for Coulomb's law,
//!    accelerated gradient for the associated one.
//! 2. A second-order method: semismooth Newton in its proximal loop for Coulomb's
//!    law, interior point for the associated one.
//! 3. While that stalls, rounds of accelerated gradient, growing longer, each followed
//!    by Newton with another variant of its parameters. First-order and second-order
//!    methods fail on different problems, and each is a good start for the other.
//!    Rounds go on from the best impulses so far and from the very start in turn:
//!    Coulomb problems have corners where the residual is small but no path leads
//!    on, and the best impulses may sit in one.
//!
//! Everything it does is in the notes of its report.

use crate::ContactSolver;
use crate::accelerated_gradient::AcceleratedGradient;
use crate::gauss_seidel::{GaussSeidel, Sweeps};
use crate::interior_point::InteriorPoint;
use crate::newton::Newton;
use crate::report::{Monitor, SolveReport, Status, Stopping};
use esker_contact::{ContactOperator, FrictionLaw};

/// Parameters of the portfolio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auto {
    /// Most sweeps, or iterations of accelerated gradient, before the second-order method has its turn.
    pub sweeps: usize,
    /// Rounds of step 3 before it gives up, where no time limit ends it.
    pub rounds: usize,
    /// Iterations of accelerated gradient in the first round.
    pub first_round: usize,
}

impl Default for Auto {
    fn default() -> Self {
        Auto {
            sweeps: 300,
            rounds: 12,
            first_round: 500,
        }
    }
}

impl Auto {
    /// Step 1. Ends when the observed rate would need more than as many sweeps
    /// again as were allowed.
    fn sweep(&self, monitor: &mut Monitor, start: &[f64]) -> Option<Status> {
        const BATCH: usize = 20;
        let stop = monitor.stop;
        let mut sweeps = Sweeps::new(monitor.problem, stop.law, GaussSeidel::default(), start);
        let mut done = 0;
        let mut last = monitor.last_residual();
        let mut reason = "the sweep limit";
        while done < self.sweeps {
            (0..BATCH).for_each(|_| sweeps.sweep());
            done += BATCH;
            monitor.count_iterations(BATCH);
            monitor.count_products(BATCH);
            if let Some(status) = monitor.observe(sweeps.lambda()) {
                monitor.note(format!("{done} sweeps sufficed"));
                return Some(status);
            }
            let now = monitor.last_residual();
            let rate = (last / now).ln() / BATCH as f64;
            let needed = (now / stop.tolerance).ln() / rate.max(1e-300);
            // The first batches still smooth: their rate says little.
            if done >= 3 * BATCH && needed > (self.sweeps - done) as f64 {
                reason = "too slow for the tolerance";
                break;
            }
            last = now;
        }
        monitor.note(format!(
            "{done} sweeps, residual {:.1e}: {reason}",
            monitor.best_residual()
        ));
        None
    }

    /// Runs a method from `x` with the time that is left. Turns are bounded by
    /// iterations, never by shares of the time: the path does not depend on the machine.
    fn delegate(
        monitor: &mut Monitor,
        solver: &dyn ContactSolver,
        x: &mut [f64],
        iterations: usize,
    ) -> Option<Status> {
        let left = monitor.stop.seconds.map(|limit| limit - monitor.seconds());
        if left.is_some_and(|left| left <= 0.0) {
            return Some(Status::TimeLimit);
        }
        let stop = Stopping {
            iterations: iterations
                .min(monitor.stop.iterations - monitor.iterations().min(monitor.stop.iterations)),
            seconds: left,
            ..*monitor.stop
        };
        if stop.iterations == 0 {
            return Some(Status::IterationLimit);
        }
        let report = solver.solve(monitor.problem, x, &stop);
        monitor.absorb(&report, x);
        match report.status {
            Status::Converged => Some(Status::Converged),
            _ if monitor.out_of_time() => Some(Status::TimeLimit),
            _ => None,
        }
    }

    fn rounds(&self, monitor: &mut Monitor, start: &[f64]) -> Status {
        let newton = Newton {
            start_sweeps: 0,
            attempts: 1,
            ..Default::default()
        };
        let mut x = monitor.best().to_vec();
        let associated = monitor.stop.law == FrictionLaw::Associated;
        let interior = InteriorPoint {
            polish: false,
            ..Default::default()
        };
        let second_order: &dyn ContactSolver = if associated { &interior } else { &newton };
        if let Some(status) = Self::delegate(monitor, second_order, &mut x, usize::MAX) {
            return status;
        }
        for round in 0..self.rounds {
            let afresh = round % 2 == 1;
            x.copy_from_slice(if afresh { start } else { monitor.best() });
            let gradient = AcceleratedGradient::default();
            let iterations = self.first_round << round.min(12);
            if let Some(status) = Self::delegate(monitor, &gradient, &mut x, iterations) {
                return status;
            }
            let variant = Newton {
                first_variant: round / 2 + 1,
                ..newton
            };
            if let Some(status) = Self::delegate(monitor, &variant, &mut x, usize::MAX) {
                return status;
            }
        }
        Status::Stalled
    }
}

impl ContactSolver for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn solve(
        &self,
        problem: &dyn ContactOperator,
        lambda: &mut [f64],
        stop: &Stopping,
    ) -> SolveReport {
        let mut monitor = match Monitor::begin(self.name(), problem, lambda, stop) {
            Ok(monitor) => monitor,
            Err(report) => return *report,
        };
        let first = match stop.law {
            FrictionLaw::Coulomb => self.sweep(&mut monitor, lambda),
            FrictionLaw::Associated => {
                let mut x = lambda.to_vec();
                let gradient = AcceleratedGradient::default();
                Self::delegate(&mut monitor, &gradient, &mut x, self.sweeps)
            }
        };
        let status = first.unwrap_or_else(|| self.rounds(&mut monitor, lambda));
        monitor.finish(status, lambda)
    }
}
