//! The residual of all contacts of a plan.
//!
//! Contacts are summed group by group, and groups exactly: who sums which groups, and in what
//! order, does not enter.

use esker_contact::ResidualSum;
use esker_parallel::{ExactSum, Team};

use crate::plan::SweepPlan;

/// Sums of the numbers of a [`ResidualSum`].
#[derive(Clone, Copy, Default)]
struct ResidualOfGroups {
    current: ExactSum,
    start: ExactSum,
    weight: ExactSum,
    carried: ExactSum,
    rounding: ExactSum,
}

impl ResidualOfGroups {
    fn add(&mut self, group: &ResidualSum) {
        self.current.add(group.current);
        self.start.add(group.start);
        self.weight.add(group.weight);
        self.carried.add(group.carried);
        self.rounding.add(group.rounding);
    }

    fn plus(self, other: &Self) -> Self {
        ResidualOfGroups {
            current: self.current.plus(&other.current),
            start: self.start.plus(&other.start),
            weight: self.weight.plus(&other.weight),
            carried: self.carried.plus(&other.carried),
            rounding: self.rounding.plus(&other.rounding),
        }
    }

    fn sum(&self) -> ResidualSum {
        ResidualSum {
            current: self.current.value(),
            start: self.start.value(),
            weight: self.weight.value(),
            carried: self.carried.value(),
            rounding: self.rounding.value(),
        }
    }
}

/// Sums a residual over all contacts: `add(sum, group, lane, descriptor)`.
pub(crate) fn residual_of(
    team: &mut Team,
    plan: &SweepPlan,
    add: impl Fn(&mut ResidualSum, usize, usize, usize) + Sync,
) -> f64 {
    let groups = team.fold(
        plan.group_count(),
        ResidualOfGroups::default(),
        |groups| {
            let mut sums = ResidualOfGroups::default();
            for g in groups {
                let mut sum = ResidualSum::default();
                for (lane, i) in (plan.groups[g]..plan.groups[g + 1]).enumerate() {
                    add(&mut sum, g, lane, i as usize);
                }
                sums.add(&sum);
            }
            sums
        },
        |a, b| a.plus(b),
    );
    groups.sum().relative()
}
