//! What an experiment is judged by.
//!
//! A criterion compares one number with bounds that are fixed before the run.
//! It holds, fails, or differs from the paper by what a stated reason explains:
//! a reason covers a range of its own, and beyond it the criterion fails. A
//! number that is missing, not a number or infinite fails always, and so do
//! bounds that could not exclude anything.

use serde::Serialize;

/// How a criterion came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The value is within the bounds.
    Holds,
    /// It is not, but within the range of a known difference.
    Differs,
    /// Neither.
    Fails,
}

/// How an experiment came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Judgement {
    /// All criteria hold.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Some differ for known reasons, none fails.
    #[serde(rename = "differs: known reason")]
    Differs,
    /// Some fail, or there is nothing to judge by.
    #[serde(rename = "fails")]
    Fails,
}

impl Judgement {
    /// Of all criteria of an experiment.
    pub fn of(criteria: &[Criterion]) -> Self {
        let any = |status| criteria.iter().any(|c| c.status == status);
        if criteria.is_empty() || any(Status::Fails) {
            Judgement::Fails
        } else if any(Status::Differs) {
            Judgement::Differs
        } else {
            Judgement::Reproduced
        }
    }

    /// Its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Judgement::Reproduced => "reproduced",
            Judgement::Differs => "differs: known reason",
            Judgement::Fails => "fails",
        }
    }
}

/// Why a value is not where the paper has it, and how far that explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KnownDifference {
    /// Why.
    pub reason: String,
    /// Min value that it explains, if any.
    pub low: Option<f64>,
    /// Max value that it explains, if any.
    pub high: Option<f64>,
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// What.
    pub name: String,
    /// What was found.
    pub value: f64,
    /// Min value that passes, if any.
    pub low: Option<f64>,
    /// Max value that passes, if any.
    pub high: Option<f64>,
    /// What the paper has.
    pub paper: String,
    /// Where the bounds come from.
    pub basis: String,
    /// What is known about a value outside of the bounds.
    pub difference: Option<KnownDifference>,
    /// How it came out.
    pub status: Status,
}

impl Criterion {
    /// A value that must lie between two bounds.
    pub fn within(
        name: impl Into<String>,
        value: f64,
        [low, high]: [f64; 2],
        paper: impl Into<String>,
    ) -> Self {
        Criterion {
            name: name.into(),
            value,
            low: low.is_finite().then_some(low),
            high: high.is_finite().then_some(high),
            paper: paper.into(),
            basis: "the paper".into(),
            difference: None,
            status: if excludes_others(value, [low, high]) {
                Status::Holds
            } else {
                Status::Fails
            },
        }
    }

    /// A value that must not exceed a bound.
    pub fn at_most(
        name: impl Into<String>,
        value: f64,
        high: f64,
        paper: impl Into<String>,
    ) -> Self {
        Criterion::within(name, value, [f64::NEG_INFINITY, high], paper)
    }

    /// A value that must reach a bound.
    pub fn at_least(
        name: impl Into<String>,
        value: f64,
        low: f64,
        paper: impl Into<String>,
    ) -> Self {
        Criterion::within(name, value, [low, f64::INFINITY], paper)
    }

    /// Something that had to be there and is not.
    pub fn missing(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Criterion::within(name, f64::NAN, [f64::NAN; 2], "").because(reason)
    }

    /// The same with bounds that come from elsewhere than the paper's own numbers.
    pub fn because(self, basis: impl Into<String>) -> Self {
        Criterion {
            basis: basis.into(),
            ..self
        }
    }

    /// The same with a reason why the value may lie in another range.
    pub fn unless(self, [low, high]: [f64; 2], reason: impl Into<String>) -> Self {
        let explained = excludes_others(self.value, [low, high]);
        Criterion {
            status: match self.status {
                Status::Fails if explained => Status::Differs,
                status => status,
            },
            difference: Some(KnownDifference {
                reason: reason.into(),
                low: low.is_finite().then_some(low),
                high: high.is_finite().then_some(high),
            }),
            ..self
        }
    }
}

/// Whether a finite value is within bounds that another value could miss.
fn excludes_others(value: f64, [low, high]: [f64; 2]) -> bool {
    value.is_finite() && (low.is_finite() || high.is_finite()) && (low..=high).contains(&value)
}

/// A value beside the paper's that is not judged: its size or set-up cannot
/// show the paper's number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reported {
    /// What.
    pub name: String,
    /// What was found.
    pub value: f64,
    /// What the paper has.
    pub paper: String,
    /// Why it is not judged.
    pub reason: String,
}

impl Reported {
    /// A value, the paper's, and why they are not compared.
    pub fn new(
        name: impl Into<String>,
        value: f64,
        paper: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Reported {
            name: name.into(),
            value,
            paper: paper.into(),
            reason: reason.into(),
        }
    }
}

/// The max of errors; NaN where there are none or one of them is NaN.
pub(crate) fn max_or_nan(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors
        .into_iter()
        .reduce(|a, b| if a.is_nan() || a > b { a } else { b })
        .unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_hold_inside_their_bounds_only() {
        assert_eq!(
            Criterion::within("a", 1.0, [0.5, 1.0], "").status,
            Status::Holds
        );
        assert_eq!(
            Criterion::within("a", 1.01, [0.5, 1.0], "").status,
            Status::Fails
        );
        assert_eq!(Criterion::at_most("a", -5.0, 1.0, "").status, Status::Holds);
        let json = serde_json::to_value(Criterion::at_most("a", 1.0, 2.0, "3")).unwrap();
        assert_eq!(json["basis"], "the paper");
        assert_eq!(json["status"], "holds");
        assert!(json["low"].is_null() && json["high"] == 2.0);
    }

    #[test]
    fn what_is_missing_or_not_finite_fails_whatever_the_bounds_and_reasons() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for criterion in [
                Criterion::at_least("a", value, 1.0, ""),
                Criterion::at_most("a", value, 1.0, ""),
                Criterion::within("a", value, [0.0, 1.0], "").unless([-9e9, 9e9], "known"),
            ] {
                assert_eq!(criterion.status, Status::Fails, "{criterion:?}");
            }
        }
        assert_eq!(Criterion::missing("a", "it broke").status, Status::Fails);
    }

    #[test]
    fn bounds_that_exclude_nothing_or_are_unknown_are_not_met() {
        let all = [f64::NEG_INFINITY, f64::INFINITY];
        assert_eq!(Criterion::within("a", 1.0, all, "").status, Status::Fails);
        assert_eq!(
            Criterion::at_most("a", 1.0, f64::NAN, "").status,
            Status::Fails
        );
        let excused = Criterion::at_most("a", 2.0, 1.0, "").unless(all, "known");
        assert_eq!(excused.status, Status::Fails);
    }

    #[test]
    fn a_known_reason_explains_its_own_range_and_no_more() {
        let judge = |value| {
            Criterion::within("angle", value, [48.0, 50.0], "48–50")
                .unless([36.0, 39.0], "smooth end walls")
        };
        assert_eq!(judge(49.0).status, Status::Holds);
        assert_eq!(judge(37.0).status, Status::Differs);
        assert_eq!(judge(42.0).status, Status::Fails);
        assert_eq!(Judgement::of(&[judge(49.0)]), Judgement::Reproduced);
        assert_eq!(
            Judgement::of(&[judge(49.0), judge(37.0)]),
            Judgement::Differs
        );
        assert_eq!(Judgement::of(&[judge(37.0), judge(42.0)]), Judgement::Fails);
        assert_eq!(Judgement::of(&[]), Judgement::Fails);
        let json = serde_json::to_value(Judgement::Differs).unwrap();
        assert_eq!(json, Judgement::Differs.name());
    }

    #[test]
    fn the_worst_of_errors_is_nan_where_one_is_or_none_is_there() {
        assert_eq!(max_or_nan([0.1, 0.3, 0.2]), 0.3);
        assert!(max_or_nan([0.1, f64::NAN, 0.2]).is_nan());
        assert!(max_or_nan([f64::NAN, 0.2]).is_nan());
        assert!(max_or_nan([]).is_nan());
    }
}
