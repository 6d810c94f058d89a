//! How far the forces are off with which tools press: moving walls, and bodies that joints hold.
//!
//! The stiffness cap lets contacts yield more than their law says: by a part `x` of the overlap
//! `δ` under the force `f`, over all contacts by
//!
//! ```text
//! r = Σ f x / Σ f δ.                                                           (1)
//! ```
//!
//! Where a tool compresses grains that cannot give way, its force follows from how far it has
//! come, and is too small by the share `s = 1 − (1 − r)^q`, with `f ∝ δ^q`. A solve that is cut
//! short lags behind: a sweep passes a load on to the next few contacts only, and of what a
//! substep has to take up it leaves the share `R`, the residual, to those after it. Where grains
//! flow around a tool, its force is what friction and weight make it, however stiff contacts are
//! and whenever they took up their load. What tells the two apart is where the work of tools
//! goes. Of an increment `dW = dE + dD`, stored in contacts and dissipated, the first part
//! changes with stiffness and lag, so that the force is too small by about
//!
//! ```text
//! (s + R) dE/dW.                                                               (2)
//! ```
//!
//! The share `dE/dW` is a mean over the work done last, some [`MEMORY`] times what is stored:
//! it stays as it is while a tool rests, and fluctuations of a flow cancel.
//!
//! Measured with the wide plate of the experiment `blade` at 0.27 m/s, steps of 5 ms, means of 24
//! beds while the force grows; what is missing to the force with 100 substeps (to 0.01), and (2):
//!
//! | substeps | `s` | `R` | `dE/dW` | missing | (2) |
//! | --- | --- | --- | --- | --- | --- |
//! | 10 | 0.37 | 1.00 | 0.11 | 0.16 | 0.15 |
//! | 10, with a fourth of the cap | 0.07 | 1.00 | 0.09 | 0.12 | 0.10 |
//! | 100, with 100 times the cap | 0.36 | 0.09 | 0.11 | 0.05 | 0.05 |
//! | 17 | 0.01 | 0.63 | 0.09 | 0.05 | 0.06 |
//! | 25 | 0.00 | 0.32 | 0.09 | 0.04 | 0.03 |
//! | 50 | 0.00 | 0.13 | 0.09 | 0.00 | 0.01 |
//!
//! The cap sets in at once: of contacts whose frequency a substep `h` resolves, `κ (ω h)² ≤ 1`,
//! none is softer than its law, and above a part `1 − 1/κ (ω h)²` of the overlap is beyond it. So before
//! substeps are made longer, it is computed what that would leave.

/// Work after which its share is forgotten, in units of the energy stored in contacts.
const MEMORY: f64 = 30.0;

/// What became of the work of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ToolWork {
    /// Work of all tools on the grains since the start, J.
    pub total: f64,
    /// Energy stored in contacts, J.
    pub stored: f64,
    /// Recent work in either direction, J.
    pub recent: f64,
    /// What of it was stored in contacts, or came from there, J.
    pub recently_stored: f64,
}

impl ToolWork {
    /// Goes on to these totals, see [`ToolWork::total`] and [`ToolWork::stored`].
    pub(crate) fn follow(&mut self, total: f64, stored: f64) {
        let (work, gain) = (total - self.total, stored - self.stored);
        (self.total, self.stored) = (total, stored);
        if work == 0.0 {
            return;
        }
        let kept = (-work.abs() / (MEMORY * stored)).exp();
        self.recent = kept * self.recent + work.abs();
        self.recently_stored = kept * self.recently_stored + gain * work.signum();
    }

    /// Share `dE/dW` of (2), 0 to 1.
    pub fn stored_share(&self) -> f64 {
        if self.recent > 0.0 {
            (self.recently_stored / self.recent).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_stores_the_work_and_gives_it_back() {
        let mut work = ToolWork::default();
        assert_eq!(work.stored_share(), 0.0);
        let compressed = (0..=50).chain((20..50).rev()).chain(20..=40);
        for k in compressed {
            let energy = f64::from(k).powf(2.5);
            work.follow(energy, energy);
            assert!(k == 0 || (work.stored_share() - 1.0).abs() < 1e-12);
        }
        // At rest nothing is forgotten.
        work.follow(work.total, work.stored);
        assert!((work.stored_share() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_flow_dissipates_it() {
        let mut work = ToolWork::default();
        for k in 0..1000 {
            let fluctuating = 1.0 + 0.1 * f64::from(k % 7);
            work.follow(0.5 * f64::from(k), fluctuating);
        }
        assert!(work.stored_share() < 0.02, "{}", work.stored_share());
    }

    #[test]
    fn loads_that_no_tool_brought_do_not_count() {
        let mut work = ToolWork::default();
        work.follow(0.0, 10.0);
        work.follow(0.0, 20.0);
        assert_eq!(work.stored_share(), 0.0);
    }
}
