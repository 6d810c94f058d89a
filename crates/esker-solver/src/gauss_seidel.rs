//! Projected Gauss–Seidel: one contact after the other, each with the newest
//! velocities of all others.
//!
//! ```text
//! for every contact c:   u_c = (W λ + q)_c
//!                        y   = local solution for u_c(y) = u_c + W_cc (y − λ_c)   (1)
//!                        λ_c ← λ_c + ω (y − λ_c), then into the cone              (2)
//! ```
//!
//! The first iterations are the best of all methods here; later the error of a
//! chain of `n` contacts falls like `exp(−k/n²)`. A fixed one-directional order can
//! end in a limit cycle for Coulomb's law; alternating the direction does not.

use crate::local::{LocalProblem, LocalSolver};
use crate::report::{Monitor, SolveReport, Status, Stopping};
use crate::{ContactSolver, random};
use esker_contact::cone::MAX_BLOCK;
use esker_contact::{ContactOperator, FrictionLaw, Mobility, Sweeper};

/// The order of contacts within a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SweepOrder {
    /// As the problem lists them, always.
    Natural,
    /// Forward and backward in turn.
    #[default]
    Symmetric,
    /// A new permutation for every sweep, from this key.
    Random(u64),
}

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussSeidel {
    /// How one contact is solved.
    pub local: LocalSolver,
    /// `ω` of (2): 1 is plain, up to 1.5 can help, 2 is too much.
    pub relaxation: f64,
    /// Order of contacts.
    pub order: SweepOrder,
    /// Sweeps between two measurements of the residual.
    pub check_every: usize,
}

impl Default for GaussSeidel {
    fn default() -> Self {
        GaussSeidel {
            local: LocalSolver::Exact,
            relaxation: 1.0,
            order: SweepOrder::Symmetric,
            check_every: 10,
        }
    }
}

impl GaussSeidel {
    /// Sweeps for methods that use many of them as a part: the clamp has the same fixed
    /// points as exact local solutions and costs a third.
    pub fn as_part() -> Self {
        GaussSeidel {
            local: LocalSolver::Clamp,
            ..Default::default()
        }
    }
}

/// Sweeps over a problem: the state that other methods build upon.
pub struct Sweeps<'a> {
    problem: &'a dyn ContactOperator,
    law: FrictionLaw,
    method: GaussSeidel,
    sweeper: Box<dyn Sweeper + 'a>,
    blocks: Vec<f64>,
    mobilities: Vec<Mobility>,
    lambda: Vec<f64>,
    order: Vec<u32>,
    count: usize,
}

impl<'a> Sweeps<'a> {
    /// Prepares sweeps that start from the given impulses.
    pub fn new(
        problem: &'a dyn ContactOperator,
        law: FrictionLaw,
        method: GaussSeidel,
        lambda: &[f64],
    ) -> Self {
        let size = problem.block() * problem.block();
        let mut blocks = vec![0.0; problem.contacts() * size];
        for (contact, block) in blocks.chunks_exact_mut(size).enumerate() {
            problem.diagonal_block(contact, block);
        }
        let mut sweeps = Sweeps {
            problem,
            law,
            method,
            sweeper: problem.sweeper(),
            blocks,
            mobilities: esker_contact::mobilities(problem),
            lambda: lambda.to_vec(),
            order: (0..problem.contacts() as u32).collect(),
            count: 0,
        };
        sweeps.sweeper.reset(lambda);
        sweeps
    }

    /// Continues from other impulses.
    pub fn reset(&mut self, lambda: &[f64]) {
        self.lambda.copy_from_slice(lambda);
        self.sweeper.reset(lambda);
    }

    /// The present impulses.
    pub fn lambda(&self) -> &[f64] {
        &self.lambda
    }

    /// One sweep over all contacts.
    pub fn sweep(&mut self) {
        match self.method.order {
            SweepOrder::Natural => (0..self.order.len()).for_each(|c| self.relax(c)),
            SweepOrder::Symmetric if self.count.is_multiple_of(2) => {
                (0..self.order.len()).for_each(|c| self.relax(c));
            }
            SweepOrder::Symmetric => (0..self.order.len()).rev().for_each(|c| self.relax(c)),
            SweepOrder::Random(key) => {
                random::shuffle(&mut self.order, key ^ (self.count as u64) << 20);
                (0..self.order.len()).for_each(|k| self.relax(self.order[k] as usize));
            }
        }
        self.count += 1;
    }

    #[inline]
    fn relax(&mut self, contact: usize) {
        let n = self.problem.block();
        let mut u = [0.0; MAX_BLOCK];
        let mut y = [0.0; MAX_BLOCK];
        let (u, y) = (&mut u[..n], &mut y[..n]);
        let x = &mut self.lambda[contact * n..(contact + 1) * n];
        self.sweeper.velocity(contact, u);
        // An open contact that stays open: the commonest case, nothing to solve.
        if u[0] >= 0.0 && x.iter().all(|v| *v == 0.0) {
            let min = match self.law {
                FrictionLaw::Coulomb => 0.0,
                FrictionLaw::Associated => self.problem.limits(contact).de_saxce_shift(u),
            };
            if u[0] >= min {
                return;
            }
        }
        y.copy_from_slice(x);
        let local = LocalProblem {
            matrix: &self.blocks[contact * n * n..(contact + 1) * n * n],
            mobility: self.mobilities[contact],
            limits: self.problem.limits(contact),
            law: self.law,
        };
        local.solve(self.method.local, y, u);
        if self.method.relaxation != 1.0 {
            for (y, x) in y.iter_mut().zip(x.iter()) {
                *y = x + self.method.relaxation * (*y - x);
            }
            let stretch = (local.mobility.rolling / local.mobility.sliding).sqrt();
            y.iter_mut().skip(3).for_each(|v| *v *= stretch);
            local.limits.stretched(stretch).project(y);
            y.iter_mut().skip(3).for_each(|v| *v /= stretch);
        }
        for i in 0..n {
            u[i] = y[i] - x[i];
            x[i] = y[i];
        }
        self.sweeper.add(contact, u);
    }
}

impl ContactSolver for GaussSeidel {
    fn name(&self) -> &'static str {
        "gauss-seidel"
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
        let mut sweeps = Sweeps::new(problem, stop.law, *self, lambda);
        let status = run(&mut monitor, &mut sweeps, self.check_every, stop.iterations);
        monitor.finish(status, lambda)
    }
}

/// Sweeps under a monitor until it stops them or `limit` further sweeps are done.
pub(crate) fn run(
    monitor: &mut Monitor,
    sweeps: &mut Sweeps,
    check_every: usize,
    limit: usize,
) -> Status {
    let mut done = 0;
    while done < limit {
        let batch = check_every.max(1).min(limit - done);
        (0..batch).for_each(|_| sweeps.sweep());
        done += batch;
        monitor.count_iterations(batch);
        monitor.count_products(batch);
        if let Some(status) = monitor.observe(sweeps.lambda()) {
            return status;
        }
    }
    Status::IterationLimit
}
