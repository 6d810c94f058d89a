//! Results of cases, and what can go wrong with them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a study could not be done.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A case's world could not be built.
    #[error("case `{case}`: {reason}")]
    Case {
        /// Name of the case.
        case: String,
        /// Why.
        reason: String,
    },
    /// A measure needs what the world was not asked for.
    #[error(transparent)]
    Missing(#[from] esker_analysis::MissingField),
    /// Cases were asked for of which there is none.
    #[error("no case has `{text}` in its name; there are:\n  {}", cases.join("\n  "))]
    NoSuchCase {
        /// What was asked for.
        text: String,
        /// Names of all cases.
        cases: Vec<String>,
    },
    /// A judgement asked for a case that was not run.
    #[error("there is no result of case `{0}`")]
    NoResult(String),
    /// A stored result does not have the form that its case gives.
    #[error(
        "the result of case `{case}` cannot be read (null is a number that is not finite): {source}"
    )]
    Form {
        /// Name of the case.
        case: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Results of finished cases, by name.
#[derive(Clone, Debug, Default)]
pub struct Results(BTreeMap<String, Value>);

impl Results {
    /// Adds or replaces the result of a case.
    pub fn insert(&mut self, case: &str, result: Value) {
        self.0.insert(case.into(), result);
    }

    /// Takes the result of a case away.
    pub fn remove(&mut self, case: &str) -> Option<Value> {
        self.0.remove(case)
    }

    /// Whether a case has a result.
    pub fn has(&self, case: &str) -> bool {
        self.0.contains_key(case)
    }

    /// The result of a case.
    pub fn get<T: DeserializeOwned>(&self, case: &str) -> Result<T, StudyError> {
        let value = self
            .0
            .get(case)
            .ok_or_else(|| StudyError::NoResult(case.into()))?;
        T::deserialize(value).map_err(|source| StudyError::Form {
            case: case.into(),
            source,
        })
    }
}
