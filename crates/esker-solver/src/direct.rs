//! Direct pivoting for small problems: the reference that iterative methods are
//! tested against.
//!
//! Every contact has a state (open, or for each tangential group stick or slip). For
//! fixed states the law is a smooth system of equations,
//!
//! ```text
//! open   λ = 0
//! stick  u_g = 0
//! slip   λ_g |u_g| + l_g λ_n u_g = 0     (friction at its limit, against the slip)
//! closed u_n = 0  (Coulomb)  or  u_n = Σ_slip l_g |u_g|  (associated),        (1)
//! ```
//!
//! solved by Newton's method to rounding. The states are then checked against the law
//! and the first contact that contradicts its state is pivoted to the state that its
//! values ask for (smallest index, so that ties cannot cycle for monotone problems); a
//! set of states that was tried before sends the search to the next combination in
//! lexicographic order. Nothing is accepted on trust: only impulses whose natural map
//! is at the tolerance count as converged, and a problem whose combinations are
//! exhausted is reported as failed. The number of combinations is exponential, hence
//! [`Direct::contacts`].
//!
//! Newton starts from the solution of a semismooth Newton run, and the first states are
//! those of that run: for nearly every problem no pivot is needed, and the method
//! serves as an independent check with its own equations.

use crate::ContactSolver;
use crate::linear::Factor;
use crate::newton::Newton;
use crate::report::{Monitor, SolveReport, Status, Stopping};
use esker_contact::cone::{MAX_GROUPS, group_norm, groups};
use esker_contact::{AssembledProblem, ContactOperator, FrictionLaw};
use std::collections::BTreeSet;

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direct {
    /// Most contacts that are attempted.
    pub contacts: usize,
    /// Most pivots.
    pub pivots: usize,
}

impl Default for Direct {
    fn default() -> Self {
        Direct {
            contacts: 200,
            pivots: 5000,
        }
    }
}

/// State of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Open,
    /// Closed; true for every group that slips.
    Closed([bool; MAX_GROUPS]),
}

struct Pivoting<'a> {
    problem: &'a AssembledProblem,
    law: FrictionLaw,
    diagonal: Vec<f64>,
    speed: f64,
}

impl Pivoting<'_> {
    fn velocity(&self, x: &[f64]) -> Vec<f64> {
        let mut u = vec![0.0; x.len()];
        self.problem.product(x, &mut u);
        for (u, q) in u.iter_mut().zip(&self.problem.offset) {
            *u += q;
        }
        u
    }

    /// The state that the values of a contact ask for.
    fn wanted(&self, contact: usize, x: &[f64], u: &[f64]) -> State {
        let b = self.problem.block;
        let rows = contact * b..(contact + 1) * b;
        let (x, u) = (&x[rows.clone()], &u[rows]);
        let d = self.diagonal[contact];
        let limits = &self.problem.limits[contact];
        let shift = match self.law {
            FrictionLaw::Coulomb => 0.0,
            FrictionLaw::Associated => limits.de_saxce_shift(u),
        };
        if x[0] * d <= u[0] - shift {
            return State::Open;
        }
        let mut slip = [false; MAX_GROUPS];
        for (g, &group) in groups(b).iter().enumerate() {
            // z = λ − u/d outside its disc: the group slips.
            let z: Vec<f64> = (group.0..group.1).map(|i| x[i] - u[i] / d).collect();
            let norm = z.iter().map(|v| v * v).sum::<f64>().sqrt();
            slip[g] = norm > limits.of(g) * x[0].max(0.0);
        }
        State::Closed(slip)
    }

    /// Newton on (1) for fixed states; the equations of a contact are scaled to
    /// velocities.
    fn solve(&self, states: &[State], x: &mut [f64]) -> bool {
        const STEPS: usize = 30;
        let b = self.problem.block;
        for _ in 0..STEPS {
            let u = self.velocity(x);
            let mut triplets = Vec::new();
            let mut rhs = vec![0.0; x.len()];
            for (c, state) in states.iter().enumerate() {
                let first = c * b;
                let d = self.diagonal[c];
                let limits = &self.problem.limits[c];
                // ∂equation/∂u and ∂equation/∂λ of this contact's rows.
                let mut by_u = [[0.0; 6]; 6];
                let mut by_x = [[0.0; 6]; 6];
                let (xc, uc) = (&x[first..first + b], &u[first..first + b]);
                match state {
                    State::Open => {
                        for i in 0..b {
                            rhs[first + i] = d * xc[i];
                            by_x[i][i] = d;
                        }
                    }
                    State::Closed(slip) => {
                        rhs[first] = uc[0];
                        by_u[0][0] = 1.0;
                        for (g, &(start, end)) in groups(b).iter().enumerate() {
                            let norm = group_norm(uc, (start, end));
                            let limit = limits.of(g);
                            if !slip[g] {
                                for i in start..end {
                                    rhs[first + i] = uc[i];
                                    by_u[i][i] = 1.0;
                                }
                                continue;
                            }
                            let along = |i: usize| if norm > 0.0 { uc[i] / norm } else { 0.0 };
                            if self.law == FrictionLaw::Associated {
                                rhs[first] -= limit * norm;
                                (start..end).for_each(|i| by_u[0][i] = -limit * along(i));
                            }
                            // Divided by the impulse, so that it is a velocity.
                            let scale = 1.0 / xc[0].abs().max(self.speed / d);
                            for i in start..end {
                                rhs[first + i] = scale * (xc[i] * norm + limit * xc[0] * uc[i]);
                                by_x[i][i] = scale * norm;
                                by_x[i][0] = scale * limit * uc[i];
                                by_u[i][i] = scale * limit * xc[0];
                                for j in start..end {
                                    by_u[i][j] += scale * xc[i] * along(j);
                                }
                            }
                        }
                    }
                }
                for (other, w) in self.problem.row(c) {
                    for i in 0..b {
                        for j in 0..b {
                            let mut value: f64 = (0..b).map(|k| by_u[i][k] * w[k * b + j]).sum();
                            if other == c {
                                value += by_x[i][j];
                            }
                            triplets.push((first + i, other * b + j, value));
                        }
                    }
                }
            }
            let size = rhs.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            if size <= 1e-14 * self.speed {
                return true;
            }
            // A rank-deficient W leaves impulses undetermined: a tiny addition picks one.
            for (row, d) in (0..x.len()).map(|i| (i, self.diagonal[i / b])) {
                triplets.push((row, row, 1e-13 * d));
            }
            let Some(factor) = Factor::new(x.len(), &triplets) else {
                return false;
            };
            if !factor.solve(&mut rhs) {
                return false;
            }
            for (x, step) in x.iter_mut().zip(&rhs) {
                *x -= step;
            }
            let stepped = rhs
                .iter()
                .enumerate()
                .fold(0.0_f64, |m, (i, v)| m.max(v.abs() * self.diagonal[i / b]));
            if stepped <= 1e-15 * self.speed {
                return true;
            }
        }
        true
    }

    /// The next combination in lexicographic order, as an odometer.
    fn advance(&self, states: &mut [State]) -> bool {
        let count = groups(self.problem.block).len();
        for state in states.iter_mut() {
            let number = match *state {
                State::Open => 0,
                State::Closed(slip) => {
                    1 + (0..count).map(|g| usize::from(slip[g]) << g).sum::<usize>()
                }
            };
            let next = number + 1;
            if next <= 1 << count {
                let mut slip = [false; MAX_GROUPS];
                (0..count).for_each(|g| slip[g] = (next - 1) >> g & 1 == 1);
                *state = State::Closed(slip);
                return true;
            }
            *state = State::Open;
        }
        false
    }
}

impl ContactSolver for Direct {
    fn name(&self) -> &'static str {
        "direct"
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
        if problem.contacts() > self.contacts {
            monitor.note(format!(
                "{} contacts: direct pivoting stops at {}",
                problem.contacts(),
                self.contacts
            ));
            return monitor.finish(Status::Failed, lambda);
        }
        let mut x = lambda.to_vec();
        let start = Newton::default().solve(problem, &mut x, stop);
        monitor.note(format!(
            "start: Newton {}, {:.1e}",
            start.status.word(),
            start.residuals.get(stop.measure)
        ));
        let assembled = problem.assemble();
        let pivoting = Pivoting {
            problem: &assembled,
            law: stop.law,
            diagonal: esker_contact::mobilities(problem)
                .iter()
                .map(|d| d.sliding)
                .collect(),
            speed: problem.offset().iter().fold(0.0_f64, |m, v| m.max(v.abs())),
        };
        let mut status = monitor.observe(&x);
        let start = x.clone();
        let u = pivoting.velocity(&x);
        let mut states: Vec<State> = (0..problem.contacts())
            .map(|c| pivoting.wanted(c, &x, &u))
            .collect();
        let mut tried = BTreeSet::new();
        for _ in 0..self.pivots {
            monitor.count_iterations(1);
            tried.insert(states.clone());
            x.copy_from_slice(&start);
            let solved = pivoting.solve(&states, &mut x);
            if solved && x.iter().all(|v| v.is_finite()) {
                match monitor.observe(&x) {
                    Some(Status::Failed) | None => {}
                    ended => {
                        status = ended;
                        break;
                    }
                }
            }
            if status == Some(Status::Converged) {
                // The start was already certified; its own equations only polish it.
                break;
            }
            let u = pivoting.velocity(&x);
            let pivot = (0..states.len())
                .map(|c| (c, pivoting.wanted(c, &x, &u)))
                .find(|(c, wanted)| *wanted != states[*c]);
            if let (Some((c, wanted)), true) = (pivot, solved) {
                states[c] = wanted;
            }
            while tried.contains(&states) {
                if !pivoting.advance(&mut states) {
                    break;
                }
            }
            if tried.contains(&states) || monitor.out_of_time() {
                break;
            }
        }
        let status = status.unwrap_or(Status::Failed);
        monitor.finish(status, lambda)
    }
}
