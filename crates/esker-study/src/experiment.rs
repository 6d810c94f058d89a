//! What an experiment is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::results::{Results, StudyError};

/// How large an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// As the paper, or as near as the machine allows.
    Full,
    /// Small enough for a test suite; shows the same effects.
    Reduced,
}

impl Size {
    /// Its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Size::Full => "full",
            Size::Reduced => "reduced",
        }
    }

    /// One of two values.
    pub fn pick<T>(self, full: T, reduced: T) -> T {
        match self {
            Size::Full => full,
            Size::Reduced => reduced,
        }
    }
}

/// What an experiment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct About {
    /// Name on the command line.
    pub name: &'static str,
    /// Where the published result is.
    pub paper: &'static str,
    /// What it shows, in one sentence.
    pub shows: &'static str,
    /// Run time at full size on one core, s, as measured on a 2.5 GHz server core.
    pub seconds_full: f64,
    /// The same at reduced size.
    pub seconds_reduced: f64,
}

type Job = Box<dyn Fn(&Results) -> Result<Value, StudyError> + Send + Sync>;

/// One independent part of an experiment. Its name holds all its parameters:
/// two cases with the same name give the same result.
pub struct Case {
    /// Unique within the experiment.
    pub name: String,
    /// Cases of a stage see the results of all earlier stages.
    pub stage: usize,
    pub(crate) job: Job,
}

impl Case {
    /// A case of the first stage.
    pub fn new<T: Serialize>(
        name: impl Into<String>,
        job: impl Fn() -> Result<T, StudyError> + Send + Sync + 'static,
    ) -> Self {
        Case::after(0, name, move |_| job())
    }

    /// A case that needs results of stages before `stage`.
    pub fn after<T: Serialize>(
        stage: usize,
        name: impl Into<String>,
        job: impl Fn(&Results) -> Result<T, StudyError> + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        let case = name.clone();
        Case {
            name,
            stage,
            job: Box::new(move |results| {
                serde_json::to_value(job(results)?).map_err(|source| StudyError::Form {
                    case: case.clone(),
                    source,
                })
            }),
        }
    }
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// What.
    pub name: String,
    /// What was found.
    pub value: f64,
    /// Least value that passes, if any.
    pub low: Option<f64>,
    /// Greatest value that passes, if any.
    pub high: Option<f64>,
    /// What the paper has.
    pub paper: String,
    /// Where the bounds come from.
    pub basis: String,
    /// Whether the value is within the bounds.
    pub passed: bool,
}

/// A value beside the paper's that is not judged: its size or set-up cannot
/// show the paper's number, or we could not reproduce it.
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
            // A value that is not a number passes nothing.
            passed: (low..=high).contains(&value),
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

    /// The same with bounds that come from elsewhere than the paper's own numbers.
    pub fn because(self, basis: impl Into<String>) -> Self {
        Criterion {
            basis: basis.into(),
            ..self
        }
    }
}

/// A table of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        Table {
            caption: caption.into(),
            head: head.iter().map(|h| h.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A paragraph.
    Text(String),
    /// An `<svg>` element.
    Svg(String),
    /// A table.
    Table(Table),
    /// A rendered picture.
    Frame(Frame),
}

/// A rendered picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// What it shows.
    pub caption: String,
    /// A PNG file as a `data:` address.
    pub address: String,
}

/// What came out of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What had to hold.
    pub criteria: Vec<Criterion>,
    /// What is shown beside the paper's without being judged.
    pub reported: Vec<Reported>,
    /// The report's body.
    pub figures: Vec<Figure>,
}

impl Outcome {
    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.figures.push(Figure::Text(text.into()));
    }

    /// Adds an `<svg>` element.
    pub fn svg(&mut self, svg: String) {
        self.figures.push(Figure::Svg(svg));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.figures.push(Figure::Table(table));
    }

    /// Adds a rendered picture.
    pub fn frame(&mut self, frame: Frame) {
        self.figures.push(Figure::Frame(frame));
    }

    /// Adds a value that is not judged.
    pub fn report(&mut self, reported: Reported) {
        self.reported.push(reported);
    }

    /// Adds a criterion.
    pub fn require(&mut self, criterion: Criterion) {
        self.criteria.push(criterion);
    }
}

/// A published result, and how to reproduce it.
pub trait Experiment: Sync {
    /// What it is.
    fn about(&self) -> About;

    /// The scene that its worlds are made from.
    fn scene(&self) -> &'static str;

    /// Its cases. Names must be unique.
    fn cases(&self, size: Size) -> Vec<Case>;

    /// Judges the results of all cases.
    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_pass_inside_their_bounds_only_and_never_for_nan() {
        assert!(Criterion::within("a", 1.0, [0.5, 1.0], "").passed);
        assert!(!Criterion::within("a", 1.01, [0.5, 1.0], "").passed);
        assert!(Criterion::at_most("a", -5.0, 1.0, "").passed);
        assert!(!Criterion::at_least("a", f64::NAN, 1.0, "").passed);
        let json = serde_json::to_value(Criterion::at_most("a", 1.0, 2.0, "3")).unwrap();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 7);
        assert_eq!(json["basis"], "the paper");
        assert!(json["low"].is_null() && json["high"] == 2.0);
    }
}
