//! The regularised normal row: an elastic, damped contact seen through one
//! implicit step (SPOOK stepping in impulse form).
//!
//! A contact with overlap `δ`, force law `f = k δ^(2e−1)` (`e = 5/4`: Hertz,
//! `e = 1`: linear) and damping time `τ`, stepped by `h`, becomes the row
//!
//! ```text
//! u_n + σ p ≥ b_n  ⟂  p ≥ 0,                                          (1)
//! Y   = 1 / (1 + 4 τ/h),                                              (2)
//! σ   = max( 4 Y / (h² k e) · max(δ, δ_min)^(2−2e),  σ_min ),         (3)
//! b_n = 4 Y δ / (e h) + Y u_n⁻        for δ > 0,                      (4)
//! b_n = δ / h                         for δ ≤ 0: may just close the gap. (5)
//! ```
//!
//! At rest (`u_n = 0`) this gives `p/h = k δ^(2e−1)` exactly while σ > σ_min.
//! `σ_min` is the stiffness cap of sub-stepping, zero for a whole step.

/// Constants of (2)–(4) that depend on the step and the damping alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepping {
    /// Step `h` of the row, s.
    pub step: f64,
    /// Share `Y` of the approach velocity that survives the step.
    pub keep: f64,
    /// Rate `4 Y/(e h)` at which overlap is pushed out, 1/s.
    pub push: f64,
    /// Exponent `e` of the constraint, 5/4 or 1.
    pub exponent: f64,
    /// Damping time `τ`, s.
    pub damping_time: f64,
}

impl Stepping {
    /// Constants for a step `h`, exponent `e` and damping time `τ`.
    pub fn new(step: f64, exponent: f64, damping_time: f64) -> Self {
        let keep = 1.0 / (1.0 + 4.0 * damping_time / step);
        Stepping {
            step,
            keep,
            push: 4.0 * keep / (exponent * step),
            exponent,
            damping_time,
        }
    }

    /// The row of a contact with this overlap, stiffness `k` and mobility
    /// `S_n`. `least_overlap` is `δ_min`; `cap` is κ, zero for no cap.
    pub fn spring(
        &self,
        overlap: f64,
        stiffness: f64,
        least_overlap: f64,
        mobility: f64,
        cap: f64,
    ) -> Spring {
        Spring {
            overlap,
            softness: self.push / (self.step * stiffness),
            least_overlap,
            least_compliance: cap * mobility * self.step / (self.exponent * self.damping_time),
            push: self.push,
            keep: self.keep,
            hertz: self.exponent > 1.0,
        }
    }
}

/// The normal row of one contact: everything of (1)–(5) but the velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Overlap `δ`, m; negative for a gap.
    pub overlap: f64,
    /// `4 Y/(h² k e)`: the compliance at unit overlap.
    pub softness: f64,
    /// `δ_min`, m: below it the compliance no longer grows.
    pub least_overlap: f64,
    /// `σ_min`, 1/kg.
    pub least_compliance: f64,
    /// See [`Stepping::push`].
    pub push: f64,
    /// See [`Stepping::keep`].
    pub keep: f64,
    /// Whether the compliance depends on the overlap.
    pub hertz: bool,
}

impl Spring {
    /// The compliance σ of (3), 1/kg.
    #[inline]
    pub fn compliance(&self) -> f64 {
        let softness = if self.hertz {
            self.softness / self.overlap.max(self.least_overlap).sqrt()
        } else {
            self.softness
        };
        softness.max(self.least_compliance)
    }

    /// The target `b_n` of (4) or (5), m/s, for a normal velocity `u_n⁻`
    /// at the start of a step of length `step`.
    #[inline]
    pub fn target(&self, normal_velocity: f64, step: f64) -> f64 {
        if self.overlap > 0.0 {
            self.push * self.overlap + self.keep * normal_velocity
        } else {
            self.overlap / step
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contact at rest carries the force of its law, whatever the step.
    #[test]
    fn static_force_follows_the_law_for_every_step() {
        let (k, overlap) = (3.4e5, 2.5e-5);
        for step in [1e-2, 5e-3, 1e-3, 1e-5] {
            for (exponent, force) in [(1.25, k * f64::powf(overlap, 1.5)), (1.0, k * overlap)] {
                let spring =
                    Stepping::new(step, exponent, 2.0 * step).spring(overlap, k, 1e-9, 1.0, 0.0);
                let impulse = spring.target(0.0, step) / spring.compliance();
                assert!((impulse / step / force - 1.0).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_gap_may_close_but_not_more() {
        let spring = Stepping::new(1e-2, 1.25, 2e-2).spring(-1e-4, 1e5, 1e-9, 1.0, 0.0);
        assert_eq!(spring.target(-3.0, 1e-2), -1e-2);
    }
}
