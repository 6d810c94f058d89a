//! The cones of one contact for the interior point method: equations (1) and (2) of
//! [`crate::interior_point`], the maps `B` and `Bᵀ`.

use crate::soc::Point;
use esker_contact::ConeLimits;
use esker_contact::cone::groups;

/// Most cone entries of a contact: 3 + 3 + 2.
pub(crate) const MAX_CONE: usize = 8;
/// Most extra unknowns `s` of a contact.
pub(crate) const MAX_SHARES: usize = 2;

/// The cones of one contact: `(group, limit)` in order; empty for the half line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cones {
    /// `(group, limit)` of every cone.
    pub list: [(usize, f64); 3],
    /// How many of them there are.
    pub count: usize,
}

impl Cones {
    /// The cones of a contact with `block` rows.
    pub fn new(block: usize, limits: &ConeLimits) -> Self {
        let mut cones = Cones::default();
        for g in 0..groups(block).len() {
            if limits.of(g) > 0.0 {
                cones.list[cones.count] = (g, limits.of(g));
                cones.count += 1;
            }
        }
        cones
    }

    /// Number of second-order cones.
    pub fn number(&self) -> usize {
        self.count.max(1)
    }

    /// Number of shares `s`.
    pub fn shares(&self) -> usize {
        self.count.saturating_sub(1)
    }

    /// `B (u, s)`.
    pub fn velocities(&self, u: &[f64], s: &[f64; MAX_SHARES], y: &mut [Point; 3]) {
        if self.count == 0 {
            y[0] = [u[0], 0.0, 0.0];
            return;
        }
        let taken: f64 = s[..self.shares()].iter().sum();
        for (k, &(g, limit)) in self.list[..self.count].iter().enumerate() {
            let share = if k == 0 { u[0] - taken } else { s[k - 1] };
            let (start, end) = groups(u.len())[g];
            y[k] = [
                share / limit,
                u[start],
                if end > start + 1 { u[start + 1] } else { 0.0 },
            ];
        }
    }

    /// `Bᵀ x`: impulses and the stationarity of the shares.
    pub fn impulses(&self, x: &[Point; 3], lambda: &mut [f64]) -> [f64; MAX_SHARES] {
        lambda.fill(0.0);
        let mut rest = [0.0; MAX_SHARES];
        if self.count == 0 {
            lambda[0] = x[0][0];
            return rest;
        }
        lambda[0] = x[0][0] / self.list[0].1;
        for (k, &(g, limit)) in self.list[..self.count].iter().enumerate() {
            let (start, end) = groups(lambda.len())[g];
            lambda[start] = x[k][1];
            if end > start + 1 {
                lambda[start + 1] = x[k][2];
            }
            if k > 0 {
                rest[k - 1] = x[k][0] / limit - lambda[0];
            }
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `⟨B(u, s), x⟩ = ⟨(u, s), Bᵀx⟩` for every kind of contact.
    #[test]
    fn impulses_are_the_transpose_of_velocities() {
        let full = ConeLimits {
            friction: 0.5,
            rolling: 0.2,
            twisting: 0.1,
        };
        let x = [[1.3, 0.2, -0.4], [0.7, -0.3, 0.5], [0.9, 0.6, 0.0]];
        let u = [0.4, -0.7, 0.3, 0.8, -0.2, 0.1];
        let s = [0.35, -0.15];
        for (block, limits) in [
            (1, full),
            (2, full),
            (3, full),
            (3, ConeLimits::default()),
            (6, full),
            (
                6,
                ConeLimits {
                    rolling: 0.0,
                    ..full
                },
            ),
        ] {
            let cones = Cones::new(block, &limits);
            let (mut y, mut lambda) = ([[0.0; 3]; 3], [0.0; 6]);
            cones.velocities(&u[..block], &s, &mut y);
            let rest = cones.impulses(&x, &mut lambda[..block]);
            let left: f64 = (0..cones.number())
                .map(|k| crate::soc::inner(&y[k], &x[k]))
                .sum();
            let right: f64 = (0..block).map(|i| u[i] * lambda[i]).sum::<f64>()
                + (0..cones.shares()).map(|l| s[l] * rest[l]).sum::<f64>();
            assert!((left - right).abs() < 1e-14, "{block} rows, {limits:?}");
        }
    }
}
