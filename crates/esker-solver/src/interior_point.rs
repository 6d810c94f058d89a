//! Interior point method: Nesterov–Todd scaling and Mehrotra's predictor and
//! corrector, with the velocities of bodies as unknowns. The associated (convex) law
//! is its home; Coulomb's law is reached from there.
//!
//! A contact's dual cone `u_n ≥ Σ_g l_g |u_g|` is a sum of second-order cones, one per
//! group with `l_g > 0`. With a share `s_g` of the normal velocity for every group
//! after the first,
//!
//! ```text
//! y_1 = ((u_n − Σ s_g)/l_1, u_1),   y_g = (s_g/l_g, u_g),   y = B (u, s)      (1)
//! λ = (Bᵀ x)_u,  0 = (Bᵀ x)_s,   C ∋ x ⟂ y ∈ C.                              (2)
//! ```
//!
//! (A contact without any limit has the half line `y = u_n`.) With `W` the scaling
//! of [`crate::soc`], `E = W²`, and a right-hand side `δ` of the complementarity:
//!
//! ```text
//! dx = W δ − E dy,   dy = B (du, ds) − r_d,   r_d = y − B (u, s)
//! Bᵀ E B = [[K_uu, K_us], [K_su, K_ss]],  H = K_uu − K_us K_ss⁻¹ K_su
//! dλ = e − H du,  du = G dw + Σ dλ,  H' = (I + H Σ)⁻¹ H
//! (M + Gᵀ H' G) dw = −(M w − Gᵀ λ) + Gᵀ e'                                    (3)
//! ```
//!
//! `H'` stays well scaled however close `x` and `y` are to their cones, which is why
//! (3) reaches 1e-9 where the contact-space form `(W⁻² + W)` breaks down near 1e-5.
//! Problems without bodies have no (3): there `(I + H W) dλ = e` is solved.
//!
//! Coulomb's law puts De Saxcé's shift into the normal velocity,
//!
//! ```text
//! y_1 = ((u_n + Σ l_g |u_g|_ε − Σ s_g)/l_1, u_1),   |v|_ε = √(v² + ε²) − ε    (4)
//! ```
//!
//! and Newton's step takes its slope along: `dy = B' (du, ds) − r_d`, `H = Bᵀ E B'`
//! reduced as before, unsymmetric. (3) is then solved by GMRES with the factors of
//! the matrix without slope as preconditioner. The first iterations leave the shift
//! away: far from the central path its slope points anywhere. It enters when the
//! barrier has shrunk, where the convex problem is a good guide; a fixed point
//! around convex solves, the usual way, stalls near 1e-3. `ε` is the velocity that the
//! barrier leaves at a sticking contact, so that it vanishes with the barrier. There is
//! no proof of convergence: where the residual stops falling, semismooth Newton takes
//! over from the best impulses and the notes say so.

use crate::ContactSolver;
use crate::contact_cones::{Cones, MAX_CONE, MAX_SHARES};
use crate::linear::{BodyMatrix, Factor, Gmres, apply_body_matrix, axpy, dot, norm};
use crate::local::solve_small;
use crate::newton::Newton;
use crate::report::{Monitor, SolveReport, Status, Stopping};
use crate::scaling::Scaling as Metric;
use crate::soc::{self, Point, Scaling};
use esker_contact::cone::groups;
use esker_contact::{AssembledProblem, BodySpace, ContactOperator, FrictionLaw};

/// How the linear systems are solved where the problem has bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum InteriorLinear {
    /// Sparse Cholesky factorisation of (3).
    #[default]
    Cholesky,
    /// Conjugate gradients on (3), nothing assembled; the tolerance is relative and
    /// has to be 1e-5 or less.
    ConjugateGradient {
        /// Residual relative to the right-hand side.
        tolerance: f64,
    },
}

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InteriorPoint {
    /// Linear solver.
    pub linear: InteriorLinear,
    /// Fraction of the way to the boundary that a step may take.
    pub step_fraction: f64,
    /// Size of the starting point relative to the velocities without contacts.
    pub start: f64,
    /// Most iterations for one convex problem.
    pub iterations: usize,
    /// Barrier, relative to the first one, below which De Saxcé's shift enters
    /// (Coulomb's law only).
    pub shift_below: f64,
    /// Hands over to semismooth Newton where no further progress is made.
    pub polish: bool,
}

impl Default for InteriorPoint {
    fn default() -> Self {
        InteriorPoint {
            linear: InteriorLinear::Cholesky,
            step_fraction: 0.99,
            start: 5.0,
            iterations: 100,
            shift_below: 1e-3,
            polish: true,
        }
    }
}

/// What one contact contributes to a Newton step.
#[derive(Clone, Copy, Debug, Default)]
struct Reduced {
    /// `K_ss⁻¹ K_su`, two rows of up to six.
    shares_by_velocity: [[f64; 6]; MAX_SHARES],
    /// `(K_us K_ss⁻¹)ᵀ`, likewise.
    velocity_by_shares: [[f64; 6]; MAX_SHARES],
    /// `K_ss⁻¹`.
    inverse: [[f64; MAX_SHARES]; MAX_SHARES],
}

/// The linear operator behind the velocities.
enum Space {
    Bodies(Box<(BodySpace, Option<BodyMatrix>)>),
    Contacts(Box<AssembledProblem>),
}

/// One convex solve.
struct Solve<'a> {
    method: &'a InteriorPoint,
    block: usize,
    cones: Vec<Cones>,
    space: Space,
    q: Vec<f64>,
    x: Vec<[Point; 3]>,
    y: Vec<[Point; 3]>,
    shares: Vec<[f64; MAX_SHARES]>,
    w: Vec<f64>,
    lambda: Vec<f64>,
    /// `H` and, in body space, `H'`, row-major per contact.
    h: Vec<f64>,
    reduced: Vec<Reduced>,
    /// Whether De Saxcé's shift is part of the equations now.
    shifted: bool,
    /// The shift per contact, and its derivative.
    shifts: Vec<f64>,
    slopes: Vec<[f64; 6]>,
    products: usize,
}

struct Direction {
    dw: Vec<f64>,
    dx: Vec<[Point; 3]>,
    dy: Vec<[Point; 3]>,
    ds: Vec<[f64; MAX_SHARES]>,
}

impl<'a> Solve<'a> {
    fn new(method: &'a InteriorPoint, problem: &dyn ContactOperator) -> Option<Self> {
        let block = problem.block();
        let cones: Vec<Cones> = (0..problem.contacts())
            .map(|c| Cones::new(block, &problem.limits(c)))
            .collect();
        let space = match problem.body_space() {
            Some(space) => {
                let matrix = match method.linear {
                    InteriorLinear::Cholesky => Some(BodyMatrix::new(&space)?),
                    InteriorLinear::ConjugateGradient { .. } => None,
                };
                Space::Bodies(Box::new((space, matrix)))
            }
            None => Space::Contacts(Box::new(problem.assemble())),
        };
        let dofs = match &space {
            Space::Bodies(parts) => parts.0.mass.len(),
            Space::Contacts(_) => 0,
        };
        let contacts = cones.len();
        Some(Solve {
            method,
            block,
            cones,
            space,
            q: problem.offset().to_vec(),
            x: vec![[[0.0; 3]; 3]; contacts],
            y: vec![[[0.0; 3]; 3]; contacts],
            shares: vec![[0.0; MAX_SHARES]; contacts],
            w: vec![0.0; dofs],
            lambda: vec![0.0; contacts * block],
            h: vec![0.0; contacts * block * block],
            reduced: vec![Reduced::default(); contacts],
            shifted: false,
            shifts: vec![0.0; contacts],
            slopes: vec![[0.0; 6]; contacts],
            products: 0,
        })
    }

    /// Points on the axes of their cones, sized by the problem.
    fn start(&mut self, mobility: f64) {
        // Rolling rows are in other units and follow from the lengths of their limits.
        let sliding: Vec<f64> = self
            .q
            .chunks_exact(self.block)
            .flat_map(|rows| rows.iter().take(3).copied())
            .collect();
        let speed = norm(&sliding) / (sliding.len().max(1) as f64).sqrt();
        let speed = if speed > 0.0 { speed } else { 1.0 };
        let impulse = self.method.start * speed / mobility;
        for (c, cones) in self.cones.iter().enumerate() {
            for k in 0..cones.number() {
                let length = cones.list[k].1 / cones.list[0].1;
                let length = if k == 0 { 1.0 } else { length };
                self.x[c][k] = [impulse * length, 0.0, 0.0];
                self.y[c][k] = [self.method.start * speed / length, 0.0, 0.0];
                if k > 0 {
                    self.shares[c][k - 1] = self.y[c][k][0] * cones.list[k].1;
                }
            }
        }
        self.w.fill(0.0);
        self.collect_impulses();
    }

    fn collect_impulses(&mut self) {
        let b = self.block;
        for (c, cones) in self.cones.iter().enumerate() {
            cones.impulses(&self.x[c], &mut self.lambda[c * b..(c + 1) * b]);
        }
    }

    /// `u` of the present `w` and `λ`.
    fn velocity(&mut self) -> Vec<f64> {
        self.products += 1;
        let mut u = vec![0.0; self.q.len()];
        match &self.space {
            Space::Bodies(parts) => {
                let space = &parts.0;
                space.gather(&self.w, &mut u);
                for i in 0..u.len() {
                    u[i] += space.compliance[i] * self.lambda[i];
                }
            }
            Space::Contacts(problem) => problem.product(&self.lambda, &mut u),
        }
        axpy(1.0, &self.q, &mut u);
        u
    }

    fn centrality(&self) -> f64 {
        let mut sum = 0.0;
        let mut count = 0;
        for (c, cones) in self.cones.iter().enumerate() {
            for k in 0..cones.number() {
                sum += soc::inner(&self.x[c][k], &self.y[c][k]);
                count += 1;
            }
        }
        sum / f64::from(count.max(1))
    }

    /// Reduces all contacts to `H` (or `H'`) and factorises; `None` on breakdown.
    fn factorise(&mut self, scalings: &[[Scaling; 3]]) -> Option<Option<Factor>> {
        let b = self.block;
        for (c, cones) in self.cones.iter().enumerate() {
            let h = &mut self.h[c * b * b..(c + 1) * b * b];
            self.reduced[c] = reduce(cones, &scalings[c], &self.slopes[c], h);
        }
        match &mut self.space {
            Space::Bodies(parts) => {
                let (space, matrix) = &mut **parts;
                for c in 0..self.cones.len() {
                    with_compliance(
                        &mut self.h[c * b * b..(c + 1) * b * b],
                        &space.compliance[c * b..(c + 1) * b],
                    );
                }
                if let Some(matrix) = matrix {
                    matrix.begin(&space.mass);
                    let mut symmetric = [0.0; 36];
                    for (c, cones) in self.cones.iter().enumerate() {
                        if self.shifted {
                            let h = &mut symmetric[..b * b];
                            reduce(cones, &scalings[c], &[0.0; 6], h);
                            with_compliance(h, &space.compliance[c * b..(c + 1) * b]);
                            matrix.add(space, c, h);
                        } else {
                            matrix.add(space, c, &self.h[c * b * b..(c + 1) * b * b]);
                        }
                    }
                    if !matrix.factorise() {
                        return None;
                    }
                }
                Some(None)
            }
            Space::Contacts(problem) => {
                let n = self.q.len();
                let mut triplets: Vec<(usize, usize, f64)> = (0..n).map(|i| (i, i, 1.0)).collect();
                for c in 0..self.cones.len() {
                    let h = &self.h[c * b * b..(c + 1) * b * b];
                    for (other, w) in problem.row(c) {
                        for i in 0..b {
                            for j in 0..b {
                                let value: f64 = (0..b).map(|l| h[i * b + l] * w[l * b + j]).sum();
                                triplets.push((c * b + i, other * b + j, value));
                            }
                        }
                    }
                }
                Some(Some(Factor::new(n, &triplets)?))
            }
        }
    }

    /// The step for complementarity right-hand sides `δ`.
    fn direction(
        &mut self,
        scalings: &[[Scaling; 3]],
        factor: Option<&Factor>,
        u: &[f64],
        delta: &[[Point; 3]],
    ) -> Option<Direction> {
        let b = self.block;
        let contacts = self.cones.len();
        let mut e = vec![0.0; contacts * b];
        let mut rd = vec![[[0.0; 3]; 3]; contacts];
        let mut pushed = vec![[[0.0; 3]; 3]; contacts];
        let mut share_rhs = vec![[0.0; MAX_SHARES]; contacts];
        for (c, cones) in self.cones.iter().enumerate() {
            let rows = c * b..(c + 1) * b;
            let mut exact = [[0.0; 3]; 3];
            let mut shifted = [0.0; 6];
            shifted[..b].copy_from_slice(&u[rows.clone()]);
            shifted[0] += self.shifts[c];
            cones.velocities(&shifted[..b], &self.shares[c], &mut exact);
            for k in 0..cones.number() {
                for i in 0..3 {
                    rd[c][k][i] = self.y[c][k][i] - exact[k][i];
                }
                // W δ + E r_d = W (δ + W r_d).
                let scaled = scalings[c][k].apply(&rd[c][k]);
                let sum = [0, 1, 2].map(|i| delta[c][k][i] + scaled[i]);
                pushed[c][k] = scalings[c][k].apply(&sum);
            }
            let mut own = [0.0; 6];
            let rest = cones.impulses(&self.x[c], &mut own[..b]);
            let h_s = cones.impulses(&pushed[c], &mut e[rows.clone()]);
            for l in 0..cones.shares() {
                share_rhs[c][l] = h_s[l] + rest[l];
            }
            for (j, e) in e[rows].iter_mut().enumerate() {
                for l in 0..cones.shares() {
                    *e -= self.reduced[c].velocity_by_shares[l][j] * share_rhs[c][l];
                }
            }
        }
        let (dw, du) = match &mut self.space {
            Space::Bodies(parts) => {
                let (space, matrix) = &**parts;
                // e' = (I + HΣ)⁻¹ e = e − H' Σ e.
                for c in 0..contacts {
                    let rows = c * b..(c + 1) * b;
                    let bent: Vec<f64> = rows.clone().map(|i| space.compliance[i] * e[i]).collect();
                    if bent.iter().any(|v| *v != 0.0) {
                        for i in 0..b {
                            let h = &self.h[(c * b + i) * b..(c * b + i + 1) * b];
                            e[c * b + i] -= dot(h, &bent);
                        }
                    }
                }
                let mut rhs = vec![0.0; self.w.len()];
                let total: Vec<f64> = e.iter().zip(&self.lambda).map(|(e, l)| e + l).collect();
                space.scatter_add(&total, &mut rhs);
                for ((rhs, w), m) in rhs.iter_mut().zip(&self.w).zip(&space.mass) {
                    *rhs -= m * w;
                }
                match matrix {
                    Some(matrix) if self.shifted => {
                        let (dw, iterations) = solve_unsymmetric(space, matrix, &self.h, &rhs);
                        self.products += iterations;
                        rhs = dw;
                    }
                    Some(matrix) => matrix.solve(&mut rhs),
                    None => {
                        let InteriorLinear::ConjugateGradient { tolerance } = self.method.linear
                        else {
                            return None;
                        };
                        self.products += conjugate_gradient(space, &self.h, &mut rhs, tolerance);
                    }
                }
                let mut du = vec![0.0; e.len()];
                space.gather(&rhs, &mut du);
                // dλ = e' − H' G dw, then du = G dw + Σ dλ.
                for c in 0..contacts {
                    let mut step = [0.0; 6];
                    for i in 0..b {
                        let h = &self.h[(c * b + i) * b..(c * b + i + 1) * b];
                        step[i] = e[c * b + i] - dot(h, &du[c * b..(c + 1) * b]);
                    }
                    for i in 0..b {
                        du[c * b + i] += space.compliance[c * b + i] * step[i];
                    }
                }
                (rhs, du)
            }
            Space::Contacts(problem) => {
                if !factor?.solve(&mut e) {
                    return None;
                }
                let mut du = vec![0.0; e.len()];
                problem.product(&e, &mut du);
                self.products += 1;
                (Vec::new(), du)
            }
        };
        let mut dx = vec![[[0.0; 3]; 3]; contacts];
        let mut dy = vec![[[0.0; 3]; 3]; contacts];
        let mut ds = vec![[0.0; MAX_SHARES]; contacts];
        for (c, cones) in self.cones.iter().enumerate() {
            let du = &du[c * b..(c + 1) * b];
            let reduced = &self.reduced[c];
            for l in 0..cones.shares() {
                ds[c][l] = (0..cones.shares())
                    .map(|k| reduced.inverse[l][k] * share_rhs[c][k])
                    .sum::<f64>()
                    - dot(&reduced.shares_by_velocity[l][..b], du);
            }
            let mut moved = [[0.0; 3]; 3];
            let mut shifted = [0.0; 6];
            shifted[..b].copy_from_slice(du);
            shifted[0] += dot(&self.slopes[c][..b], du);
            cones.velocities(&shifted[..b], &ds[c], &mut moved);
            for k in 0..cones.number() {
                let back = scalings[c][k].apply(&moved[k]);
                let back = scalings[c][k].apply(&back);
                for i in 0..3 {
                    dy[c][k][i] = moved[k][i] - rd[c][k][i];
                    dx[c][k][i] = pushed[c][k][i] - back[i];
                }
            }
        }
        Some(Direction { dw, dx, dy, ds })
    }

    /// The longest step, at most 1, that keeps all points in their cones.
    fn step_length(&self, direction: &Direction, fraction: f64) -> f64 {
        let mut length = f64::INFINITY;
        for (c, cones) in self.cones.iter().enumerate() {
            for k in 0..cones.number() {
                length = length
                    .min(soc::distance(&self.x[c][k], &direction.dx[c][k]))
                    .min(soc::distance(&self.y[c][k], &direction.dy[c][k]));
            }
        }
        (fraction * length).min(1.0)
    }

    /// The shift of (4) and its slope at the velocities `u`.
    fn update_shifts(&mut self, u: &[f64]) {
        let b = self.block;
        let impulses: f64 = self.x.iter().map(|x| x[0][0]).sum();
        let round = self.centrality() * self.x.len() as f64 / impulses;
        for (c, cones) in self.cones.iter().enumerate() {
            let rows = &u[c * b..(c + 1) * b];
            self.shifts[c] = 0.0;
            self.slopes[c] = [0.0; 6];
            for &(g, limit) in &cones.list[..cones.count] {
                let (start, end) = groups(b)[g];
                let speed = norm(&rows[start..end]).hypot(round);
                self.shifts[c] += limit * (speed - round);
                // Conjugate gradients need a symmetric matrix: there the shift lags.
                if self.method.linear == InteriorLinear::Cholesky {
                    for i in start..end {
                        self.slopes[c][i] = limit * rows[i] / speed;
                    }
                }
            }
        }
    }

    /// One predictor–corrector iteration; false when it cannot go on.
    fn iterate(&mut self) -> bool {
        let contacts = self.cones.len();
        let mut scalings = vec![[Scaling::default(); 3]; contacts];
        let mut middle = vec![[[0.0; 3]; 3]; contacts];
        let mut delta = vec![[[0.0; 3]; 3]; contacts];
        for (c, cones) in self.cones.iter().enumerate() {
            for k in 0..cones.number() {
                scalings[c][k] = Scaling::new(&self.x[c][k], &self.y[c][k]);
                middle[c][k] = scalings[c][k].apply(&self.y[c][k]);
                delta[c][k] = middle[c][k].map(|v| -v);
            }
        }
        let u = self.velocity();
        if self.shifted {
            self.update_shifts(&u);
        }
        let Some(factor) = self.factorise(&scalings) else {
            return false;
        };
        let now = self.centrality();
        let Some(predictor) = self.direction(&scalings, factor.as_ref(), &u, &delta) else {
            return false;
        };
        let reach = self.step_length(&predictor, 1.0);
        let mut after = 0.0;
        let mut count = 0;
        for (c, cones) in self.cones.iter().enumerate() {
            for k in 0..cones.number() {
                let x = [0, 1, 2].map(|i| self.x[c][k][i] + reach * predictor.dx[c][k][i]);
                let y = [0, 1, 2].map(|i| self.y[c][k][i] + reach * predictor.dy[c][k][i]);
                after += soc::inner(&x, &y);
                count += 1;
            }
        }
        let after = after / f64::from(count.max(1));
        let sigma = (after / now).powi(3).clamp(1e-8, 1.0);
        for (c, cones) in self.cones.iter().enumerate() {
            for k in 0..cones.number() {
                let l = &middle[c][k];
                let second = soc::jordan(
                    &scalings[c][k].apply_inverse(&predictor.dx[c][k]),
                    &scalings[c][k].apply(&predictor.dy[c][k]),
                );
                let square = soc::jordan(l, l);
                let mut rhs = [0, 1, 2].map(|i| -square[i] - second[i]);
                rhs[0] += sigma * now;
                delta[c][k] = soc::jordan_solve(l, &rhs);
            }
        }
        let Some(direction) = self.direction(&scalings, factor.as_ref(), &u, &delta) else {
            return false;
        };
        let length = self.step_length(&direction, self.method.step_fraction);
        if !(length > 1e-7) {
            return false;
        }
        axpy(length, &direction.dw, &mut self.w);
        for (c, cones) in self.cones.iter().enumerate() {
            for l in 0..cones.shares() {
                self.shares[c][l] += length * direction.ds[c][l];
            }
            for k in 0..cones.number() {
                for i in 0..3 {
                    self.x[c][k][i] += length * direction.dx[c][k][i];
                    self.y[c][k][i] += length * direction.dy[c][k][i];
                }
            }
        }
        self.collect_impulses();
        self.lambda.iter().all(|v| v.is_finite())
    }
}

/// `H` of one contact (row-major) and what its shares need; `slope` is the derivative
/// of De Saxcé's shift with respect to the rows of `u`.
fn reduce(cones: &Cones, scalings: &[Scaling; 3], slope: &[f64; 6], h: &mut [f64]) -> Reduced {
    let b = h.len().isqrt();
    let shares = cones.shares();
    let size = b + shares;
    // Bᵀ E B' over (u, s), cone by cone.
    let mut k = [0.0; MAX_CONE * MAX_CONE];
    for (i, scaling) in scalings[..cones.number()].iter().enumerate() {
        let e = scaling.square();
        // Columns of B for this cone: head, and its one or two tail rows.
        let mut head = [0.0; MAX_CONE];
        let mut tails = [usize::MAX; 2];
        if cones.count == 0 {
            head[0] = 1.0;
        } else {
            let (g, limit) = cones.list[i];
            if i == 0 {
                head[0] = 1.0 / limit;
                head[b..size].fill(-1.0 / limit);
            } else {
                head[b + i - 1] = 1.0 / limit;
            }
            let (start, end) = groups(b)[g];
            tails[0] = start;
            if end > start + 1 {
                tails[1] = start + 1;
            }
        }
        // B' also has the slope of the shift, through the normal velocity.
        let mut moved = head;
        if i == 0 {
            for (m, s) in moved[..b].iter_mut().zip(slope) {
                *m += head[0] * s;
            }
        }
        let tails = || {
            tails
                .iter()
                .enumerate()
                .filter(|(_, row)| **row != usize::MAX)
        };
        for p in 0..size {
            for r in 0..size {
                k[p * size + r] += head[p] * e[0] * moved[r];
            }
            for (t, &row) in tails() {
                k[p * size + row] += head[p] * e[t + 1];
                k[row * size + p] += e[t + 1] * moved[p];
            }
        }
        for (t, &row) in tails() {
            for (t2, &other) in tails() {
                k[row * size + other] += e[(t + 1) * 3 + t2 + 1];
            }
        }
    }
    let mut reduced = Reduced::default();
    let at = |i: usize, j: usize| k[i * size + j];
    match shares {
        0 => {}
        1 => reduced.inverse[0][0] = 1.0 / at(b, b),
        _ => {
            let det = at(b, b) * at(b + 1, b + 1) - at(b, b + 1) * at(b + 1, b);
            reduced.inverse = [
                [at(b + 1, b + 1) / det, -at(b, b + 1) / det],
                [-at(b + 1, b) / det, at(b, b) / det],
            ];
        }
    }
    for l in 0..shares {
        for j in 0..b {
            for m in 0..shares {
                reduced.shares_by_velocity[l][j] += reduced.inverse[l][m] * at(b + m, j);
                reduced.velocity_by_shares[l][j] += at(j, b + m) * reduced.inverse[m][l];
            }
        }
    }
    for i in 0..b {
        for j in 0..b {
            let eliminated: f64 = (0..shares)
                .map(|l| at(i, b + l) * reduced.shares_by_velocity[l][j])
                .sum();
            h[i * b + j] = at(i, j) - eliminated;
        }
    }
    reduced
}

/// Solves (3) with an unsymmetric `H'` by GMRES, preconditioned with the factors of
/// the matrix without the slope of the shift.
fn solve_unsymmetric(
    space: &BodySpace,
    matrix: &BodyMatrix,
    h: &[f64],
    rhs: &[f64],
) -> (Vec<f64>, usize) {
    let gmres = Gmres {
        limit: 150,
        tolerance: 1e-6,
    };
    let mut u = vec![0.0; space.compliance.len()];
    gmres.solve(
        rhs,
        |x, out| apply_body_matrix(space, h, x, &mut u, out),
        |v| matrix.solve(v),
    )
}

/// `H ← (I + H Σ)⁻¹ H` for a diagonal `Σ`; symmetric like `H`.
fn with_compliance(h: &mut [f64], sigma: &[f64]) {
    let b = sigma.len();
    if sigma.iter().all(|s| *s == 0.0) {
        return;
    }
    let mut result = [0.0; 36];
    for j in 0..b {
        let mut system = [0.0; 36];
        let mut column = [0.0; 6];
        for i in 0..b {
            for k in 0..b {
                system[i * b + k] = h[i * b + k] * sigma[k] + if i == k { 1.0 } else { 0.0 };
            }
            column[i] = h[i * b + j];
        }
        // I + HΣ is similar to a symmetric matrix not below I: never singular.
        solve_small(&mut system[..b * b], &mut column[..b]);
        for i in 0..b {
            result[i * b + j] = column[i];
        }
    }
    h.copy_from_slice(&result[..b * b]);
}

/// Solves (3) in place by conjugate gradients with the diagonal as preconditioner;
/// returns the iterations.
fn conjugate_gradient(space: &BodySpace, h: &[f64], rhs: &mut [f64], tolerance: f64) -> usize {
    let b = space.block;
    let contacts = space.starts.len() - 1;
    let mut diagonal = space.mass.clone();
    for c in 0..contacts {
        let dofs = space.dofs_of(c);
        let g = space.entries_of(c);
        for (k, &dof) in dofs.iter().enumerate() {
            for i in 0..b {
                for j in 0..b {
                    let value = h[(c * b + i) * b + j];
                    diagonal[dof as usize] += g[i * dofs.len() + k] * value * g[j * dofs.len() + k];
                }
            }
        }
    }
    let n = rhs.len();
    let mut x = vec![0.0; n];
    let mut r = rhs.to_vec();
    let mut z: Vec<f64> = r.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut p = z.clone();
    let mut rz = dot(&r, &z);
    let target = tolerance * norm(&r);
    let mut u = vec![0.0; contacts * b];
    let mut kp = vec![0.0; n];
    let mut iterations = 0;
    while iterations < 5000 && norm(&r) > target {
        apply_body_matrix(space, h, &p, &mut u, &mut kp);
        let alpha = rz / dot(&p, &kp);
        axpy(alpha, &p, &mut x);
        axpy(-alpha, &kp, &mut r);
        for i in 0..n {
            z[i] = r[i] / diagonal[i];
        }
        let next = dot(&r, &z);
        let beta = next / rz;
        rz = next;
        for i in 0..n {
            p[i] = z[i] + beta * p[i];
        }
        iterations += 1;
    }
    rhs.copy_from_slice(&x);
    iterations
}

impl InteriorPoint {
    /// Iterates from the central start until the monitor stops it or nothing is gained.
    fn run(&self, monitor: &mut Monitor, solve: &mut Solve) -> Status {
        /// Iterations without a lower residual, once the final law is in place.
        const PATIENCE: usize = 3;
        let problem = monitor.problem;
        let coulomb = monitor.stop.law == FrictionLaw::Coulomb;
        let mobilities = monitor.judge().mobilities();
        let mean =
            mobilities.iter().map(|d| d.sliding).sum::<f64>() / mobilities.len().max(1) as f64;
        solve.start(mean);
        let first = solve.centrality();
        let scaling = Metric::new(problem);
        let mut impulses = solve.lambda.clone();
        let mut lowest = f64::INFINITY;
        let mut idle = 0;
        for _ in 0..self.iterations {
            let products = solve.products;
            solve.shifted |= coulomb && solve.centrality() < self.shift_below * first;
            if !solve.iterate() {
                break;
            }
            monitor.count_iterations(1);
            monitor.count_products(solve.products - products);
            impulses.copy_from_slice(&solve.lambda);
            scaling.project(problem, &mut impulses);
            if let Some(status) = monitor.observe(&impulses) {
                return status;
            }
            if coulomb && solve.shifted {
                idle += 1;
                if monitor.last_residual() < 0.9 * lowest {
                    lowest = monitor.last_residual();
                    idle = 0;
                }
                if idle >= PATIENCE {
                    break;
                }
            }
            if solve.centrality() < 1e-22 * first {
                break;
            }
        }
        Status::Stalled
    }
}

impl ContactSolver for InteriorPoint {
    fn name(&self) -> &'static str {
        match self.linear {
            InteriorLinear::Cholesky => "interior-point",
            InteriorLinear::ConjugateGradient { .. } => "interior-point-cg",
        }
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
        let Some(mut solve) = Solve::new(self, problem) else {
            monitor.note("the pattern of the system could not be analysed");
            return monitor.finish(Status::Failed, lambda);
        };
        let status = self.run(&mut monitor, &mut solve);
        if status == Status::Stalled && self.polish {
            let newton = Newton::FROM_A_START;
            let request = Stopping {
                iterations: stop.iterations.saturating_sub(monitor.iterations()),
                seconds: stop.seconds.map(|limit| limit - monitor.seconds()),
                ..*stop
            };
            let mut x = monitor.best().to_vec();
            let report = newton.solve(problem, &mut x, &request);
            monitor.absorb(&report, &x);
            return monitor.finish(report.status, lambda);
        }
        monitor.finish(status, lambda)
    }
}
