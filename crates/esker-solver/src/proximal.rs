//! A problem with a proximal term: `u = W λ + q + α D (λ − c)`.

use esker_contact::{AssembledProblem, ConeLimits, ContactOperator, Sweeper};

/// The regularised problem as an operator of its own.
pub struct Proximal<'a> {
    problem: &'a dyn ContactOperator,
    /// `α D`, one entry per row.
    extra: Vec<f64>,
    offset: Vec<f64>,
}

impl<'a> Proximal<'a> {
    /// Adds `α D (λ − c)`; `diagonal` is `D`.
    pub fn new(
        problem: &'a dyn ContactOperator,
        diagonal: &[f64],
        alpha: f64,
        centre: &[f64],
    ) -> Self {
        let extra: Vec<f64> = diagonal.iter().map(|d| alpha * d).collect();
        let offset = problem
            .offset()
            .iter()
            .zip(&extra)
            .zip(centre)
            .map(|((q, e), c)| q - e * c)
            .collect();
        Proximal {
            problem,
            extra,
            offset,
        }
    }
}

impl ContactOperator for Proximal<'_> {
    fn contacts(&self) -> usize {
        self.problem.contacts()
    }

    fn block(&self) -> usize {
        self.problem.block()
    }

    fn limits(&self, contact: usize) -> ConeLimits {
        self.problem.limits(contact)
    }

    fn offset(&self) -> &[f64] {
        &self.offset
    }

    fn product(&self, lambda: &[f64], u: &mut [f64]) {
        self.problem.product(lambda, u);
        for ((u, e), x) in u.iter_mut().zip(&self.extra).zip(lambda) {
            *u += e * x;
        }
    }

    fn diagonal_block(&self, contact: usize, out: &mut [f64]) {
        self.problem.diagonal_block(contact, out);
        let n = self.block();
        for i in 0..n {
            out[i * n + i] += self.extra[contact * n + i];
        }
    }

    fn sweeper<'b>(&'b self) -> Box<dyn Sweeper + 'b> {
        Box::new(ProximalSweeper {
            owner: self,
            inner: self.problem.sweeper(),
            lambda: vec![0.0; self.rows()],
        })
    }

    fn assemble(&self) -> AssembledProblem {
        let mut assembled = self.problem.assemble();
        let n = assembled.block;
        for contact in 0..assembled.limits.len() {
            for k in assembled.row_starts[contact]..assembled.row_starts[contact + 1] {
                if assembled.columns[k] as usize == contact {
                    for i in 0..n {
                        assembled.values[k * n * n + i * n + i] += self.extra[contact * n + i];
                    }
                }
            }
        }
        assembled.offset.copy_from_slice(&self.offset);
        assembled
    }
}

struct ProximalSweeper<'a> {
    owner: &'a Proximal<'a>,
    inner: Box<dyn Sweeper + 'a>,
    lambda: Vec<f64>,
}

impl Sweeper for ProximalSweeper<'_> {
    fn reset(&mut self, lambda: &[f64]) {
        self.lambda.copy_from_slice(lambda);
        self.inner.reset(lambda);
    }

    #[inline]
    fn velocity(&self, contact: usize, u: &mut [f64]) {
        self.inner.velocity(contact, u);
        let first = contact * u.len();
        let q = self.owner.problem.offset();
        for (i, u) in u.iter_mut().enumerate() {
            let row = first + i;
            *u += self.owner.extra[row] * self.lambda[row] + self.owner.offset[row] - q[row];
        }
    }

    #[inline]
    fn add(&mut self, contact: usize, delta: &[f64]) {
        self.inner.add(contact, delta);
        for (x, d) in self.lambda[contact * delta.len()..].iter_mut().zip(delta) {
            *x += d;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_contact::SparseMatrix;

    #[test]
    fn every_view_of_the_regularised_problem_agrees() {
        let triplets = [
            (0, 0, 2.0),
            (1, 1, 3.0),
            (2, 2, 1.0),
            (3, 3, 4.0),
            (0, 2, 0.5),
            (2, 0, 0.5),
        ];
        let base = AssembledProblem::from_sparse(
            2,
            &SparseMatrix::from_triplets(4, 4, &triplets),
            vec![-1.0, 0.5, 0.25, 2.0],
            vec![ConeLimits::coulomb(0.5); 2],
        )
        .expect("valid");
        let centre = [1.0, 2.0, 3.0, 4.0];
        let problem = Proximal::new(&base, &[1.0, 2.0, 3.0, 4.0], 0.1, &centre);
        let x = [0.3, -0.2, 0.7, 0.1];
        let (mut u, mut other, mut plain) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        problem.product(&x, &mut u);
        problem.assemble().product(&x, &mut other);
        base.product(&x, &mut plain);
        let mut sweeper = problem.sweeper();
        sweeper.reset(&x);
        for contact in 0..2 {
            let mut swept = [0.0; 2];
            sweeper.velocity(contact, &mut swept);
            for i in 0..2 {
                let row = contact * 2 + i;
                let d = [1.0, 2.0, 3.0, 4.0][row];
                let expected = plain[row] + base.offset[row] + 0.1 * d * (x[row] - centre[row]);
                assert!((u[row] + problem.offset()[row] - expected).abs() < 1e-14);
                assert!((other[row] - u[row]).abs() < 1e-14);
                assert!((swept[i] - expected).abs() < 1e-14);
            }
        }
    }
}
