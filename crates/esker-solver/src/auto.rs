//! The portfolio: what a user gets who asks for an accuracy instead of a method.
//!
//! 1. First-order iterations, while they are on course for the tolerance: nothing is
//!    cheaper for easy problems and rough tolerances. Sweeps for Coulomb's law,
//!    accelerated gradient for the associated one.
//! 2. Second-order methods. The associated law: interior point. Coulomb's law:
//!    semismooth Newton in its proximal loop, then the interior point method and Newton
//!    from where that ended. The interior point method goes first where there are bodies
//!    and many contacts, since there its iterations are cheap and it needs no good start.
//! 3. Where Newton stalls, repair of the cluster that carries the error
//!    ([`crate::cluster`]), then Newton again.
//! 4. While those stall, rounds of first-order iterations, growing longer, each followed
//!    by Newton with other variants of its parameters. First-order and second-order
//!    methods fail on different problems, and each is a good start for the other.
//!    Rounds go on from the best impulses so far (accelerated gradient) and from the
//!    very start (sweeps) in turn: Coulomb problems have corners where the residual is
//!    small but no path leads on, and the best impulses may sit in one.
//!
//! Everything it does is in the notes of its report.

use crate::ContactSolver;
use crate::accelerated_gradient::AcceleratedGradient;
use crate::cluster;
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
    /// Most repairs in a row; each has to lower the residual.
    pub repairs: usize,
    /// Rounds of step 4 before it gives up, where no time limit ends it.
    pub rounds: usize,
    /// First-order iterations in the first round; each further one has twice as many.
    pub first_round: usize,
}

/// Newton as a part of the portfolio: others have made the start.
const NEWTON: Newton = Newton {
    attempts: 1,
    ..Newton::FROM_A_START
};

impl Default for Auto {
    fn default() -> Self {
        Auto {
            sweeps: 300,
            repairs: 12,
            rounds: 12,
            first_round: 400,
        }
    }
}

impl Auto {
    /// Step 1. Ends when the observed rate would need more than as many sweeps
    /// again as were allowed.
    fn sweep(&self, monitor: &mut Monitor, start: &[f64]) -> Option<Status> {
        const BATCH: usize = 20;
        let stop = monitor.stop;
        let mut sweeps = Sweeps::new(monitor.problem, stop.law, GaussSeidel::as_part(), start);
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

    /// Step 2; `None` where all of it stalled.
    fn second_order(&self, monitor: &mut Monitor) -> Option<Status> {
        /// Contacts from which a factorisation in body space beats many sweeps.
        const MANY: usize = 100;
        let problem = monitor.problem;
        let variants = Newton {
            attempts: 3,
            ..NEWTON
        };
        let interior = InteriorPoint {
            polish: false,
            ..Default::default()
        };
        let bodies = problem.contacts() >= MANY && problem.body_space().is_some();
        // Each from where the one before it ended, which need not be the best.
        let mut x = monitor.best().to_vec();
        let coulomb = monitor.stop.law == FrictionLaw::Coulomb;
        if coulomb && !bodies {
            let newton = Newton {
                start_sweeps: 100,
                ..NEWTON
            };
            let verdict = Self::delegate(monitor, &newton, &mut x, usize::MAX)
                .or_else(|| self.repair(monitor));
            if verdict.is_some() {
                return verdict;
            }
        }
        Self::delegate(monitor, &interior, &mut x, usize::MAX).or_else(|| {
            coulomb
                .then(|| {
                    Self::delegate(monitor, &variants, &mut x, usize::MAX)
                        .or_else(|| self.repair(monitor))
                })
                .flatten()
        })
    }

    /// Step 3, from the best impulses, while it helps.
    fn repair(&self, monitor: &mut Monitor) -> Option<Status> {
        let whole = monitor.problem.assemble();
        for _ in 0..self.repairs {
            let before = monitor.best_residual();
            let mut x = monitor.best().to_vec();
            if !cluster::repair(monitor, &whole, &mut x) {
                return None;
            }
            let verdict = monitor
                .observe(&x)
                .or_else(|| Self::delegate(monitor, &NEWTON, &mut x, usize::MAX));
            if verdict.is_some() {
                return verdict;
            }
            if monitor.best_residual() > 0.9 * before {
                return None;
            }
        }
        None
    }

    /// Step 4.
    fn rounds(&self, monitor: &mut Monitor, start: &[f64]) -> Status {
        let sweeps = GaussSeidel::as_part();
        let gradient = AcceleratedGradient::default();
        for round in 0..self.rounds {
            let afresh = round % 2 == 0;
            let (mut x, first_order): (_, &dyn ContactSolver) = if afresh {
                (start.to_vec(), &sweeps)
            } else {
                (monitor.best().to_vec(), &gradient)
            };
            let iterations = self.first_round << round.min(12);
            if let Some(status) = Self::delegate(monitor, first_order, &mut x, iterations) {
                return status;
            }
            let variants = Newton {
                first_variant: 3 * (round / 2),
                attempts: 3,
                ..NEWTON
            };
            if let Some(status) = Self::delegate(monitor, &variants, &mut x, usize::MAX)
                .or_else(|| self.repair(monitor))
            {
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
        let status = first
            .or_else(|| self.second_order(&mut monitor))
            .unwrap_or_else(|| self.rounds(&mut monitor, lambda));
        monitor.finish(status, lambda)
    }
}
