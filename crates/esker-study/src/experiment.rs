//! What an experiment is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::criterion::{Criterion, Judgement, Reported};
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

    /// How the experiment came out.
    pub fn judgement(&self) -> Judgement {
        Judgement::of(&self.criteria)
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
