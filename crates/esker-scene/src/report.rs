//! Problems of a scene: where they are, what is wrong, what would be right.
//!
//! A scene is read to its end whatever is wrong with it, so that one look
//! shows everything. [`SceneErrors`] prints in the manner of rustc and needs
//! no terminal.

use std::fmt;
use std::ops::Range;

/// What sort of mistake a [`SceneError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The text is not TOML.
    Syntax,
    /// A key that the format does not know.
    UnknownKey,
    /// A value of another type than the key wants.
    WrongType,
    /// A value outside of what the key allows.
    BadValue,
    /// A required key is not there.
    Missing,
    /// Keys that exclude one another, or a name given twice.
    Conflict,
    /// A name that refers to nothing.
    Reference,
    /// A file that cannot be read, or whose content is wrong.
    File,
    /// The parts are right but do not fit together.
    Physics,
}

/// One problem, with its place in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneError {
    /// The sort of mistake.
    pub kind: ProblemKind,
    /// The scene file, as it was named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The whole source line.
    pub source_line: String,
    /// How many characters of the line are at fault.
    pub width: usize,
    /// The offending value or key as it stands in the source.
    pub value: String,
    /// What is wrong.
    pub message: String,
    /// What was expected, where that is not plain from the message.
    pub expected: Option<String>,
    /// What to do about it.
    pub advice: Option<String>,
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, "{gutter}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.source_line)?;
        // Tabs are repeated so that the caret stands under its text whatever the tab width.
        let indent: String = self
            .source_line
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let carets = "^".repeat(self.width.max(1));
        match &self.expected {
            Some(expected) => writeln!(f, "{gutter} | {indent}{carets} expected {expected}")?,
            None => writeln!(f, "{gutter} | {indent}{carets}")?,
        }
        if let Some(advice) = &self.advice {
            writeln!(f, "{gutter} = help: {advice}")?;
        }
        Ok(())
    }
}

/// Everything wrong with a scene, in the order of the file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct SceneErrors {
    /// The scene file, as it was named by the caller.
    pub file: String,
    /// The problems; never empty.
    pub problems: Vec<SceneError>,
}

impl fmt::Display for SceneErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        match self.problems.len() {
            1 => write!(f, "{}: 1 problem", self.file),
            n => write!(f, "{}: {n} problems", self.file),
        }
    }
}

/// A problem before its place is worked out.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub kind: ProblemKind,
    pub span: Range<usize>,
    pub message: String,
    pub expected: Option<String>,
    pub advice: Option<String>,
}

impl Finding {
    pub fn new(kind: ProblemKind, span: Range<usize>, message: impl Into<String>) -> Self {
        Finding {
            kind,
            span,
            message: message.into(),
            expected: None,
            advice: None,
        }
    }

    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    pub fn advice(mut self, text: impl Into<String>) -> Self {
        self.advice = Some(text.into());
        self
    }
}

/// Collects findings over one source text.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    file: &'a str,
    text: &'a str,
    findings: Vec<Finding>,
}

impl<'a> Report<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Report {
            file,
            text,
            findings: Vec::new(),
        }
    }

    pub fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The source at a span, shortened to something that fits into a sentence.
    pub fn snippet(&self, span: &Range<usize>) -> String {
        const LONGEST: usize = 40;
        let text = self.text.get(span.clone()).unwrap_or("");
        let line = text.lines().next().unwrap_or("");
        if line.chars().count() > LONGEST || line.len() < text.len() {
            let start: String = line.chars().take(LONGEST).collect();
            format!("{start}…")
        } else {
            line.to_string()
        }
    }

    /// Keeps only what is certain in spite of syntax errors: a damaged text may
    /// well lack keys or refer to nothing without the author's doing, and one
    /// line at fault should be named once.
    pub fn drop_consequences_of_syntax_errors(&mut self) {
        let line_of = |span: &Range<usize>| locate(self.text, span.start).0;
        let damaged: Vec<usize> = self
            .findings
            .iter()
            .filter(|f| f.kind == ProblemKind::Syntax)
            .map(|f| line_of(&f.span))
            .collect();
        let kept = |f: &Finding| match f.kind {
            ProblemKind::Syntax => true,
            ProblemKind::UnknownKey | ProblemKind::WrongType | ProblemKind::BadValue => {
                !damaged.contains(&line_of(&f.span))
            }
            _ => false,
        };
        let keep: Vec<bool> = self.findings.iter().map(kept).collect();
        let mut keep = keep.into_iter();
        self.findings.retain(|_| keep.next().unwrap_or(true));
    }

    /// All findings with their places, in the order of the file.
    pub fn into_errors(self) -> SceneErrors {
        let mut findings = self.findings.clone();
        findings.sort_by_key(|f| f.span.start);
        let problems = findings.into_iter().map(|f| self.place(f)).collect();
        SceneErrors {
            file: self.file.to_string(),
            problems,
        }
    }

    fn place(&self, finding: Finding) -> SceneError {
        let (line, column, source_line) = locate(self.text, finding.span.start);
        let value = self.snippet(&finding.span);
        let rest = source_line.chars().count() + 1 - column.min(source_line.chars().count() + 1);
        let width = self
            .text
            .get(finding.span.clone())
            .and_then(|text| text.lines().next())
            .map_or(1, |text| text.chars().count())
            .clamp(1, rest.max(1));
        SceneError {
            kind: finding.kind,
            file: self.file.to_string(),
            line,
            column,
            source_line: source_line.to_string(),
            width,
            value,
            message: finding.message,
            expected: finding.expected,
            advice: finding.advice,
        }
    }
}

/// Line and column (both from 1, in characters) of a byte offset, and the line's text.
fn locate(text: &str, offset: usize) -> (usize, usize, &str) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let column = text[start..offset].chars().count() + 1;
    let end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    (line, column, text[start..end].trim_end_matches('\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_offending_text() {
        let text = "a = 1\n\tb = ö7 # c\n";
        let start = text.find("ö7").unwrap();
        let mut report = Report::new("s.toml", text);
        report.push(
            Finding::new(ProblemKind::BadValue, start..start + 3, "bad")
                .expected("a number")
                .advice("try 7"),
        );
        let shown = report.into_errors().to_string();
        let expected = "error: bad\n --> s.toml:2:6\n  |\n2 | \tb = ö7 # c\n  | \t    ^^ expected a number\n  = help: try 7\n\ns.toml: 1 problem";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_place_beyond_the_text_is_its_end() {
        assert_eq!(locate("ab\ncd", 99), (2, 3, "cd"));
        assert_eq!(locate("", 5), (1, 1, ""));
        assert_eq!(locate("ab\r\ncd", 1), (1, 2, "ab"));
    }
}
