//! How many sweeps an error needs: ladders of runs with more and more sweeps.

/// Sweeps and the error with them, sweeps rising.
pub(crate) type Ladder = [[f64; 2]];

/// Sweeps from which on the error stays within a tolerance, interpolated
/// between the logarithms of the rungs; `None` when even the last rung does not.
pub(crate) fn needed(ladder: &Ladder, tolerance: f64) -> Option<f64> {
    let Some(failing) = ladder.iter().rposition(|r| !within(r[1], tolerance)) else {
        return ladder.first().map(|r| r[0]);
    };
    let (&[n0, e0], &[n1, e1]) = (&ladder[failing], ladder.get(failing + 1)?);
    // An error of zero has no logarithm; nothing finer than this matters.
    let e1 = e1.abs().max(1e-3 * tolerance);
    let part = (e0.abs() / tolerance).ln() / (e0.abs() / e1).ln();
    Some(n0 * (n1 / n0).powf(part.clamp(0.0, 1.0)))
}

/// How many times fewer sweeps `better` needs than `worse`. Where the worse
/// ladder ends too soon, its last rung stands for more: a lower bound. NaN
/// when the better one never gets there or a rung of the worse one is missing.
pub(crate) fn gain(worse: &Ladder, better: &Ladder, tolerance: f64) -> f64 {
    if worse.iter().any(|r| r[1].is_nan()) {
        return f64::NAN;
    }
    let last = worse.last().map_or(f64::NAN, |r| r[0]);
    let slow = needed(worse, tolerance).unwrap_or(last);
    needed(better, tolerance).map_or(f64::NAN, |fast| slow / fast)
}

/// Sweeps at which a value that rises with sweeps reaches a target,
/// interpolated over their logarithm; the last rung, a lower bound, where it
/// does not, and the first, an upper bound, where it is above at once. NaN
/// where the target or a rung is missing.
pub(crate) fn reaching(ladder: &Ladder, target: f64) -> f64 {
    if target.is_nan() || ladder.iter().any(|r| r[1].is_nan()) {
        return f64::NAN;
    }
    let Some(first) = ladder.iter().position(|r| r[1] >= target) else {
        return ladder.last().map_or(f64::NAN, |r| r[0]);
    };
    let [n1, v1] = ladder[first];
    let Some([n0, v0]) = first.checked_sub(1).map(|i| ladder[i]) else {
        return n1;
    };
    n0 * (n1 / n0).powf((target - v0) / (v1 - v0))
}

fn within(error: f64, tolerance: f64) -> bool {
    error.abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_sweeps_are_interpolated_between_logarithms_and_hold_from_there_on() {
        // The error falls as 1/sweeps: 0.05 is crossed at 20.
        let ladder = [[5.0, 0.2], [10.0, 0.1], [40.0, 0.025]];
        assert!((needed(&ladder, 0.05).unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(needed(&ladder[2..], 0.05), Some(40.0));
        assert_eq!(needed(&ladder[..2], 0.05), None);
        assert_eq!(needed(&[[1.0, f64::NAN]], 0.05), None);
        // A lucky rung in between does not count.
        let ladder = [[5.0, 0.01], [10.0, 0.1], [40.0, 0.025]];
        assert!(needed(&ladder, 0.05).unwrap() > 10.0);
    }

    #[test]
    fn a_rising_value_reaches_its_target_between_rungs() {
        let ladder = [[10.0, 20.0], [40.0, 30.0]];
        assert!((reaching(&ladder, 25.0) - 20.0).abs() < 1e-9);
        assert_eq!(reaching(&ladder, 35.0), 40.0);
        assert_eq!(reaching(&ladder, 10.0), 10.0);
        assert!(reaching(&ladder, f64::NAN).is_nan());
        assert!(reaching(&[[10.0, f64::NAN], [40.0, 30.0]], 25.0).is_nan());
    }

    #[test]
    fn a_gain_is_a_ratio_of_needed_sweeps() {
        let cold = [[10.0, 0.2], [100.0, 0.02]];
        let warm = [[5.0, 0.1], [50.0, 0.01]];
        assert!((gain(&cold, &warm, 0.05) - 4.0).abs() < 1e-6);
        // At least 10 over what the better one needs.
        assert!((gain(&cold[..1], &warm, 0.05) - 1.0).abs() < 1e-6);
        assert!(gain(&cold, &warm[..1], 0.05).is_nan());
        // A broken run is no proof that the other is better.
        assert!(gain(&[[10.0, 0.2], [100.0, f64::NAN]], &warm, 0.05).is_nan());
    }
}
