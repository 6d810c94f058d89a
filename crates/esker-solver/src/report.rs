//! When a solver stops, and what it says afterwards.

use esker_contact::{
    ContactOperator, FrictionLaw, Judge, Measure, ProblemError, Residuals, validate,
};
use std::time::Instant;

/// What a solver is asked to reach, and how much it may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// The law to solve.
    pub law: FrictionLaw,
    /// The measure that decides.
    pub measure: Measure,
    /// Value of the measure that counts as converged; 1e-3 is rough, 1e-8 tight.
    pub tolerance: f64,
    /// Most iterations, in the solver's own unit (sweeps, Newton steps, ...).
    pub iterations: usize,
    /// Most seconds; results that end by this limit depend on the machine.
    pub seconds: Option<f64>,
}

impl Default for Stopping {
    fn default() -> Self {
        Stopping {
            law: FrictionLaw::Coulomb,
            measure: Measure::NaturalMap,
            tolerance: 1e-6,
            iterations: 100_000,
            seconds: None,
        }
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The measure is at or below the tolerance.
    Converged,
    /// The iteration limit came first.
    IterationLimit,
    /// The time limit came first.
    TimeLimit,
    /// The solver stopped by itself because it no longer made progress.
    Stalled,
    /// The problem or an iterate is not a number, or a factorisation broke down.
    Failed,
}

impl Status {
    /// A word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::IterationLimit => "iteration limit",
            Status::TimeLimit => "time limit",
            Status::Stalled => "stalled",
            Status::Failed => "failed",
        }
    }
}

/// One point of a convergence history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Iterations so far.
    pub iteration: usize,
    /// Products with `W` so far; a Gauss–Seidel sweep counts as one.
    pub products: usize,
    /// Seconds since the solve began.
    pub seconds: f64,
    /// The measure.
    pub residual: f64,
}

/// What a solver did.
#[derive(Clone, Debug)]
pub struct SolveReport {
    /// Name of the solver in the registry.
    pub solver: &'static str,
    /// How it ended.
    pub status: Status,
    /// Iterations in the solver's own unit.
    pub iterations: usize,
    /// Products with `W`; a Gauss–Seidel sweep counts as one.
    pub products: usize,
    /// Seconds of wall time.
    pub seconds: f64,
    /// Residuals of the returned impulses, in every measure.
    pub residuals: Residuals,
    /// The measure over the iterations.
    pub history: Vec<Progress>,
    /// What the solver decided on the way, in words.
    pub notes: Vec<String>,
}

impl SolveReport {
    /// A report of an input that no solver can work on.
    fn refused(solver: &'static str, error: &ProblemError) -> Self {
        let nan = f64::NAN;
        SolveReport {
            solver,
            status: Status::Failed,
            iterations: 0,
            products: 0,
            seconds: 0.0,
            residuals: Residuals {
                natural_map: nan,
                siconos: nan,
                merit: nan,
                scaled: nan,
                cone_violation: nan,
                penetration: nan,
                energy: nan,
                complementarity: nan,
            },
            history: Vec::new(),
            notes: vec![error.to_string()],
        }
    }
}

/// Watches a solve: counts, measures, keeps the best iterate and decides when to stop.
pub struct Monitor<'a> {
    /// The problem.
    pub problem: &'a dyn ContactOperator,
    /// The request.
    pub stop: &'a Stopping,
    judge: Judge,
    solver: &'static str,
    started: Instant,
    products: usize,
    iterations: usize,
    history: Vec<Progress>,
    notes: Vec<String>,
    best: Vec<f64>,
    best_residual: f64,
    velocity: Vec<f64>,
}

impl<'a> Monitor<'a> {
    /// Checks the input and measures the start.
    ///
    /// # Errors
    /// The finished report where there is nothing to solve: no contacts, a start
    /// that already meets the tolerance, or an input that is not a problem.
    pub fn begin(
        solver: &'static str,
        problem: &'a dyn ContactOperator,
        lambda: &mut [f64],
        stop: &'a Stopping,
    ) -> Result<Self, Box<SolveReport>> {
        if let Err(error) = validate(problem, lambda) {
            return Err(Box::new(SolveReport::refused(solver, &error)));
        }
        let mut monitor = Monitor {
            problem,
            stop,
            judge: Judge::new(problem, stop.law),
            solver,
            started: Instant::now(),
            products: 0,
            iterations: 0,
            history: Vec::new(),
            notes: Vec::new(),
            best: lambda.to_vec(),
            best_residual: f64::INFINITY,
            velocity: vec![0.0; lambda.len()],
        };
        match monitor.observe(lambda) {
            Some(status @ (Status::Converged | Status::Failed)) => {
                Err(Box::new(monitor.finish(status, lambda)))
            }
            _ => Ok(monitor),
        }
    }

    /// Scales and residuals of the problem.
    pub fn judge(&self) -> &Judge {
        &self.judge
    }

    /// `u ← W λ + q`, counted.
    pub fn velocity(&mut self, lambda: &[f64], u: &mut [f64]) {
        self.products += 1;
        self.problem.product(lambda, u);
        for (u, q) in u.iter_mut().zip(self.problem.offset()) {
            *u += q;
        }
    }

    /// Counts products that were done elsewhere.
    pub fn count_products(&mut self, products: usize) {
        self.products += products;
    }

    /// Counts iterations of the solver.
    pub fn count_iterations(&mut self, iterations: usize) {
        self.iterations += iterations;
    }

    /// Iterations so far.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Seconds so far.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// True when the time is over.
    pub fn out_of_time(&self) -> bool {
        self.stop
            .seconds
            .is_some_and(|limit| self.seconds() > limit)
    }

    /// The smallest residual so far.
    pub fn best_residual(&self) -> f64 {
        self.best_residual
    }

    /// The impulses with the smallest residual so far.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// Says in words what was decided.
    pub fn note(&mut self, words: impl Into<String>) {
        self.notes.push(words.into());
    }

    /// Measures an iterate; the product it takes is the judge's and not counted.
    pub fn observe(&mut self, lambda: &[f64]) -> Option<Status> {
        let mut u = std::mem::take(&mut self.velocity);
        self.problem.product(lambda, &mut u);
        for (u, q) in u.iter_mut().zip(self.problem.offset()) {
            *u += q;
        }
        let verdict = self.observe_with(lambda, &u);
        self.velocity = u;
        verdict
    }

    /// Measures an iterate whose velocity `u = W λ + q` is known.
    pub fn observe_with(&mut self, lambda: &[f64], u: &[f64]) -> Option<Status> {
        let residual = self
            .judge
            .measure(self.problem, lambda, u, self.stop.measure);
        self.history.push(Progress {
            iteration: self.iterations,
            products: self.products,
            seconds: self.seconds(),
            residual,
        });
        if residual < self.best_residual {
            self.best_residual = residual;
            self.best.copy_from_slice(lambda);
        }
        if residual <= self.stop.tolerance {
            Some(Status::Converged)
        } else if !residual.is_finite() {
            Some(Status::Failed)
        } else if self.iterations >= self.stop.iterations {
            Some(Status::IterationLimit)
        } else if self.out_of_time() {
            Some(Status::TimeLimit)
        } else {
            None
        }
    }

    /// The unit-free residual of an iterate, whatever the request measures.
    pub fn scaled_residual(&mut self, lambda: &[f64]) -> f64 {
        let mut u = std::mem::take(&mut self.velocity);
        self.problem.product(lambda, &mut u);
        for (u, q) in u.iter_mut().zip(self.problem.offset()) {
            *u += q;
        }
        let residual = self
            .judge
            .measure(self.problem, lambda, &u, Measure::Scaled);
        self.velocity = u;
        residual
    }

    /// The residual of the last observation.
    pub fn last_residual(&self) -> f64 {
        self.history.last().map_or(f64::INFINITY, |p| p.residual)
    }

    /// Returns the best impulses and everything that is known about them.
    pub fn finish(mut self, status: Status, lambda: &mut [f64]) -> SolveReport {
        if self.best_residual.is_finite() {
            lambda.copy_from_slice(&self.best);
        }
        let mut u = std::mem::take(&mut self.velocity);
        self.problem.product(lambda, &mut u);
        for (u, q) in u.iter_mut().zip(self.problem.offset()) {
            *u += q;
        }
        let converged = self.best_residual <= self.stop.tolerance;
        SolveReport {
            solver: self.solver,
            status: match (converged, status) {
                (true, _) => Status::Converged,
                (false, Status::Converged) => Status::Stalled,
                (false, other) => other,
            },
            iterations: self.iterations,
            products: self.products,
            seconds: self.seconds(),
            residuals: self.judge.judge(self.problem, lambda, &u),
            history: self.history,
            notes: self.notes,
        }
    }

    /// Takes over the work of a solver that was used as a part: its counts,
    /// history and best iterate. `lambda` is what that solver returned.
    pub fn absorb(&mut self, part: &SolveReport, lambda: &[f64]) {
        let offset = self.seconds() - part.seconds;
        self.history.extend(part.history.iter().map(|p| Progress {
            iteration: self.iterations + p.iteration,
            products: self.products + p.products,
            seconds: offset + p.seconds,
            residual: p.residual,
        }));
        self.iterations += part.iterations;
        self.products += part.products;
        self.notes.push(format!(
            "{}: {} after {} iterations, {:.3} s",
            part.solver,
            part.status.word(),
            part.iterations,
            part.seconds
        ));
        self.notes
            .extend(part.notes.iter().map(|n| format!("{}: {n}", part.solver)));
        let residual = part.residuals.get(self.stop.measure);
        if residual < self.best_residual {
            self.best_residual = residual;
            self.best.copy_from_slice(lambda);
        }
    }
}
