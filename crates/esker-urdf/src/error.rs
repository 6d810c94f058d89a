//! What is wrong with a description, and where.

use thiserror::Error;

/// A description that cannot be read or has no meaning.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {message}{}", advice.as_ref().map_or(String::new(), |a| format!("; {a}")))]
pub struct UrdfError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub advice: Option<String>,
}

impl UrdfError {
    /// The same with what would be right.
    pub(crate) fn advice(self, advice: impl Into<String>) -> Self {
        UrdfError {
            advice: Some(advice.into()),
            ..self
        }
    }
}
