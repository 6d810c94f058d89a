//! Pages of the book: one Markdown file per experiment with its plots and pictures beside it, and
//! an index of all.
//!
//! A page holds nothing that differs from run to run or machine to machine but what an experiment
//! itself measures: no computing time, no name of a processor. Whoever repeats a run can compare
//! pages as text. The index is made from the pages that are there, so that experiments can be run
//! one at a time and on different machines.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use esker_plot::{number, png_bytes};
use serde::{Deserialize, Serialize};

use crate::bibliography;
use crate::criterion::{Criterion, Judgement, Reported, Status};
use crate::experiment::{About, Experiment, Figure, Size, Table};
use crate::registry;
use crate::results::StudyError;
use crate::runner::Finished;

/// What a page begins its hidden line with.
const NOTE_START: &str = "<!-- esker ";
const NOTE_END: &str = " -->";

/// What the index needs to know of a page; the page holds it in a line that readers do not see.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    size: String,
    verdict: String,
    held: usize,
    criteria: usize,
}

/// Writes `DIR/NAME.md` with its plots and pictures, then the index; returns the path of the page.
/// Plots and pictures of an earlier page of this experiment are removed.
pub fn write(
    folder: &Path,
    experiment: &dyn Experiment,
    finished: &Finished,
) -> Result<PathBuf, StudyError> {
    let page = Page::of(experiment, finished);
    let name = experiment.about().name;
    fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
    remove_figures(folder, name)?;
    for (file, bytes) in &page.files {
        save(&folder.join(file), bytes)?;
    }
    let path = folder.join(format!("{name}.md"));
    save(&path, page.text.as_bytes())?;
    save(&folder.join("index.md"), index(folder).as_bytes())?;
    Ok(path)
}

fn file_error(path: &Path, source: std::io::Error) -> StudyError {
    StudyError::File {
        path: path.into(),
        source,
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    fs::write(path, bytes).map_err(|source| file_error(path, source))
}

/// Removes `NAME-NUMBER.svg` and `NAME-NUMBER.png`.
fn remove_figures(folder: &Path, name: &str) -> Result<(), StudyError> {
    let is_figure = |file: &str| {
        let number = file
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'))
            .and_then(|rest| rest.strip_suffix(".svg").or(rest.strip_suffix(".png")));
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let entries = fs::read_dir(folder).map_err(|source| file_error(folder, source))?;
    for entry in entries {
        let path = entry.map_err(|source| file_error(folder, source))?.path();
        let file = path.file_name().and_then(|file| file.to_str());
        if file.is_some_and(is_figure) {
            fs::remove_file(&path).map_err(|source| file_error(&path, source))?;
        }
    }
    Ok(())
}

/// A page and the files that it shows.
struct Page {
    text: String,
    files: Vec<(String, Vec<u8>)>,
}

impl Page {
    fn of(experiment: &dyn Experiment, finished: &Finished) -> Self {
        let about = experiment.about();
        let mut page = Page {
            text: head(about, finished),
            files: Vec::new(),
        };
        let criteria = &finished.outcome.criteria;
        write_table(&mut page.text, &criteria_table(criteria));
        for table in [
            differences_table(criteria),
            reported_table(&finished.outcome.reported),
        ] {
            if !table.rows.is_empty() {
                write_table(&mut page.text, &table);
            }
        }
        for figure in &finished.outcome.figures {
            page.add(about.name, figure);
        }
        page
    }

    fn add(&mut self, name: &str, figure: &Figure) {
        match figure {
            Figure::Text(text) => self.paragraph(&escape(text)),
            Figure::Table(table) => write_table(&mut self.text, table),
            Figure::Svg(svg) => {
                let caption = format!("Plot {} of {name}", self.files.len() + 1);
                self.picture(name, "svg", svg.clone().into_bytes(), &caption);
            }
            Figure::Frame(frame) => match png_bytes(&frame.address) {
                Some(png) => {
                    let caption = escape(&frame.caption);
                    self.picture(name, "png", png, &caption);
                    self.paragraph(&format!("*{caption}*"));
                }
                None => self.paragraph(&escape(&frame.caption)),
            },
        }
    }

    fn paragraph(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "\n{text}\n");
    }

    fn picture(&mut self, name: &str, kind: &str, bytes: Vec<u8>, caption: &str) {
        let file = format!("{name}-{}.{kind}", self.files.len() + 1);
        self.paragraph(&format!("![{caption}]({file})"));
        self.files.push((file, bytes));
    }
}

fn head(about: About, finished: &Finished) -> String {
    let criteria = &finished.outcome.criteria;
    let judgement = finished.judgement();
    let note = Note {
        size: finished.size.name().into(),
        verdict: judgement.name().into(),
        held: count(criteria, Status::Holds),
        criteria: criteria.len(),
    };
    let source = match bibliography::of(about.paper) {
        Some(reference) => format!("Published in: {}. {reference}", about.paper),
        None => format!("Compared with: {}", about.paper),
    };
    let (size, option) = match finished.size {
        Size::Full => (
            format!(
                "full, about {} s of computing on one core",
                number(about.seconds_full, 2)
            ),
            " --full",
        ),
        Size::Reduced => (
            format!(
                "**reduced**, smaller or shorter than published, as the test suite runs it; the full \
                 size takes about {} s on one core",
                number(about.seconds_full, 2)
            ),
            "",
        ),
    };
    let differing = match count(criteria, Status::Differs) {
        0 => String::new(),
        n => format!(", {n} differ for a known reason"),
    };
    // Numbers of a note are finite: it is always JSON.
    let hidden = serde_json::to_string(&note).unwrap_or_default();
    format!(
        "# {name}\n\n{NOTE_START}{hidden}{NOTE_END}\n\n{shows}\n\n\
         - {source}\n\
         - Size of this run: {size}.\n\
         - **Verdict: {verdict}** ({held} of {all} criteria hold{differing}).\n\n\
         Made with `esker experiment {name}{option} --book`.\n",
        name = about.name,
        shows = escape(about.shows),
        source = escape(&source),
        verdict = judgement.name(),
        held = note.held,
        all = note.criteria,
    )
}

fn count(criteria: &[Criterion], status: Status) -> usize {
    criteria.iter().filter(|c| c.status == status).count()
}

/// Bounds as a reader writes them.
fn range(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low, 4), number(high, 4)),
        (Some(low), None) => format!("≥ {}", number(low, 4)),
        (None, Some(high)) => format!("≤ {}", number(high, 4)),
        (None, None) => String::new(),
    }
}

/// All criteria but those that differ for a known reason.
fn criteria_table(criteria: &[Criterion]) -> Table {
    let mut table = Table::new(
        "Criteria",
        &[
            "what",
            "found",
            "must be",
            "reference",
            "bounds from",
            "verdict",
        ],
    );
    for c in criteria.iter().filter(|c| c.status != Status::Differs) {
        let verdict = match c.status {
            Status::Holds => "holds",
            _ => "FAILS",
        };
        table.row([
            c.name.clone(),
            number(c.value, 4),
            range(c.low, c.high),
            c.paper.clone(),
            c.basis.clone(),
            verdict.into(),
        ]);
    }
    table
}

/// The criteria that do not hold for a known reason.
fn differences_table(criteria: &[Criterion]) -> Table {
    let mut table = Table::new(
        "Where the result differs from the reference, and why",
        &[
            "what",
            "found",
            "must be",
            "reference",
            "explained",
            "reason",
        ],
    );
    for c in criteria.iter().filter(|c| c.status == Status::Differs) {
        if let Some(d) = &c.difference {
            table.row([
                c.name.clone(),
                number(c.value, 4),
                range(c.low, c.high),
                c.paper.clone(),
                range(d.low, d.high),
                d.reason.clone(),
            ]);
        }
    }
    table
}

fn reported_table(reported: &[Reported]) -> Table {
    let mut table = Table::new(
        "Reported, not judged",
        &["what", "found", "reference", "why it is not judged"],
    );
    for r in reported {
        table.row([
            r.name.clone(),
            number(r.value, 4),
            r.paper.clone(),
            r.reason.clone(),
        ]);
    }
    table
}

fn write_table(out: &mut String, table: &Table) {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let _ = write!(
        out,
        "\n**{}**\n\n{}{}\n",
        escape(&table.caption),
        line(&table.head),
        "| --- ".repeat(table.head.len()) + "|"
    );
    for row in &table.rows {
        out.push_str(&line(row));
    }
}

/// Text that Markdown shows as it is, also in a cell of a table.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '|' | '*' | '_' | '[' | ']' | '<' | '>' | '~' | '`' | '$'
        ) {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}

/// The index of all pages in a folder.
pub fn index(folder: &Path) -> String {
    let mut out = String::from(INDEX_HEAD);
    for experiment in registry::ALL {
        let about = experiment.about();
        let page = fs::read_to_string(folder.join(format!("{}.md", about.name)));
        let [name, size, verdict, held] = match page.ok().as_deref().and_then(note) {
            Some(note) => [
                format!("[{0}]({0}.md)", about.name),
                note.size,
                note.verdict,
                format!("{} of {}", note.held, note.criteria),
            ],
            None => {
                let none = String::from("–");
                [about.name.into(), none.clone(), "not run yet".into(), none]
            }
        };
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {size} | {verdict} | {held} |",
            escape(about.paper),
            escape(about.shows)
        );
    }
    out
}

const INDEX_HEAD: &str = "\
# Validation

Every page below was written by the program from one run of one experiment: published ones, and some whose answer is
known from theory. Bounds are fixed before a run. A criterion *holds*, *fails*, or *differs* within a range that a stated
reason explains; a number that is missing fails. *Reproduced* means that all criteria hold.

```sh
esker experiment                            # lists them with their computing times
esker experiment column --full -o results   # runs one, and writes results/column.html
```

At *reduced* size, as the test suite runs them, experiments are smaller or shorter than published and show the same
effects, partly within wider bounds.

| experiment | follows | shows | size | verdict | criteria that hold |
| --- | --- | --- | --- | --- | --- |
";

/// What a page says about itself.
fn note(page: &str) -> Option<Note> {
    let line = page.lines().find_map(|line| {
        line.strip_prefix(NOTE_START)
            .and_then(|rest| rest.strip_suffix(NOTE_END))
    })?;
    let note: Note = serde_json::from_str(line).ok()?;
    let known = [Judgement::Reproduced, Judgement::Differs, Judgement::Fails];
    known
        .iter()
        .any(|j| j.name() == note.verdict)
        .then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Case, Frame, Outcome};
    use crate::results::Results;

    struct Fall;

    impl Experiment for Fall {
        fn about(&self) -> About {
            About {
                name: "column",
                paper: "Wang et al. 2016, Fig. 2",
                shows: "A | stays a |, and a*b no emphasis.",
                seconds_full: 100.0,
                seconds_reduced: 1.0,
            }
        }

        fn scene(&self) -> &'static str {
            ""
        }

        fn cases(&self, _: Size) -> Vec<Case> {
            Vec::new()
        }

        fn judge(&self, _: Size, _: &Results) -> Result<Outcome, StudyError> {
            Ok(Outcome::default())
        }
    }

    fn finished(size: Size, plots: usize) -> Finished {
        let mut outcome = Outcome::default();
        outcome.require(Criterion::within("g", 9.8, [9.7, 9.9], "9.81"));
        outcome.require(
            Criterion::at_most("time", 2.0, 1.0, "1").unless([1.5, 2.5], "air | has none"),
        );
        outcome.report(Reported::new("noise", 0.1, "–", "not in it"));
        for _ in 0..plots {
            outcome.svg("<svg>plot</svg>".into());
        }
        outcome.frame(Frame {
            caption: "a ball".into(),
            address: esker_plot::png_address(b"png bytes"),
        });
        Finished {
            experiment: "column",
            size,
            outcome,
            results: Results::default(),
            seconds: 12.345,
        }
    }

    #[test]
    fn a_page_has_size_verdict_tables_and_files_and_nothing_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), &Fall, &finished(Size::Reduced, 2)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for part in [
            "**reduced**",
            "**Verdict: differs: known reason** (1 of 2 criteria hold, 1 differ for a known reason)",
            "| g | 9.8 | 9.7 to 9.9 | 9.81 | the paper | holds |",
            "| time | 2 | ≤ 1 | 1 | 1.5 to 2.5 | air \\| has none |",
            "| noise | 0.1 | – | not in it |",
            "(column-2.svg)",
            "(column-3.png)",
            "a\\*b",
        ] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(!text.contains("12.3"), "{text}");
        let png = fs::read(folder.path().join("column-3.png")).unwrap();
        assert_eq!(png, b"png bytes");
    }

    #[test]
    fn a_page_that_is_written_again_leaves_no_old_figures_and_renews_its_line_of_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("column-wide-1.svg");
        fs::write(&other, "of another experiment").unwrap();
        write(folder.path(), &Fall, &finished(Size::Reduced, 3)).unwrap();
        write(folder.path(), &Fall, &finished(Size::Full, 0)).unwrap();
        assert!(!folder.path().join("column-3.svg").exists());
        assert!(folder.path().join("column-1.png").exists());
        assert!(other.exists());
        let index = fs::read_to_string(folder.path().join("index.md")).unwrap();
        let line = index.lines().find(|l| l.contains("(column.md)")).unwrap();
        assert!(
            line.ends_with("| full | differs: known reason | 1 of 2 |"),
            "{line}"
        );
        let unknown = index.lines().filter(|l| l.contains("not run yet")).count();
        assert_eq!(unknown, registry::ALL.len() - 1);
    }
}
