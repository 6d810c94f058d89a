//! The residual of all contacts of a plan.
//!
//! Contacts are summed group by group, and groups exactly: who sums which groups, and in what
//! order, does not enter.

use esker_contact::ResidualSum;
use esker_parallel::{ExactSum, Team};

use crate::plan::SweepPlan;

/// Sums a residual over all contacts: `add(sum, group, lane, descriptor)`.
pub(crate) fn residual_of(
    team: &mut Team,
    plan: &SweepPlan,
    add: impl Fn(&mut ResidualSum, usize, usize, usize) + Sync,
) -> f64 {
    let sums = team.reduce(plan.group_count(), |sums: &mut [ExactSum; 5], g| {
        let mut group = ResidualSum::default();
        for (lane, i) in (plan.groups[g]..plan.groups[g + 1]).enumerate() {
            add(&mut group, g, lane, i as usize);
        }
        let ResidualSum {
            current,
            start,
            weight,
            carried,
            rounding,
        } = group;
        for (sum, x) in sums
            .iter_mut()
            .zip([current, start, weight, carried, rounding])
        {
            sum.add(x);
        }
    });
    let [current, start, weight, carried, rounding] = sums.map(|sum| sum.value());
    let whole = ResidualSum {
        current,
        start,
        weight,
        carried,
        rounding,
    };
    whole.relative()
}
