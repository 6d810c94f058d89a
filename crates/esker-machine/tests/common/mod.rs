//! What tests of machines share.
#![allow(dead_code)]

use esker_machine::rig::{Plan, Rig};

/// A rig of a plan that is right.
pub fn build(plan: &Plan, step: f64) -> Rig {
    plan.build(step).unwrap()
}

/// The value lies within a share of what is expected.
pub fn assert_close(what: &str, value: f64, expected: f64, share: f64) {
    assert!(
        (value / expected - 1.0).abs() <= share,
        "{what}: {value:.6e}, expected {expected:.6e} within {share}"
    );
}
