//! Reports: one self-contained HTML file per experiment, and an index.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use esker_plot::{escape, number};

use crate::bibliography;
use crate::criterion::{Criterion, Judgement, Reported, Status};
use crate::experiment::{About, Experiment, Figure, Frame, Table};
use crate::machine::Machine;
use crate::registry;
use crate::results::StudyError;
use crate::runner::Finished;

const STYLE: &str = "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
line-height:1.45;color:#222}table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid \
#ccc;padding:.25rem .6rem;text-align:right}th:first-child,td:first-child,.why{text-align:left}\
caption{text-align:left;font-weight:bold;padding:.3rem 0}.pass{color:#007a4d}.fail{color:#b00020;\
font-weight:bold}.differ{color:#8a5a00;font-weight:bold}pre{background:#f6f6f6;padding:1rem;overflow-x:auto}svg{max-width:100%;\
height:auto;margin:.4rem}figure{display:inline-block;margin:.4rem;max-width:46%}\
figure img{max-width:100%;display:block}figcaption{color:#555}.note{color:#555}";

/// Writes `DIR/NAME.html` and `DIR/NAME.json`, then the index; returns the
/// path of the page.
pub fn write(
    folder: &Path,
    experiment: &dyn Experiment,
    finished: &Finished,
) -> Result<PathBuf, StudyError> {
    let page = folder.join(format!("{}.html", finished.experiment));
    let json = folder.join(format!("{}.json", finished.experiment));
    let save = |path: &Path, text: String| {
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(path, text))
            .map_err(|source| StudyError::File {
                path: path.into(),
                source,
            })
    };
    let verdict =
        serde_json::to_string_pretty(&finished.verdict()).map_err(|source| StudyError::Form {
            case: finished.experiment.into(),
            source,
        })?;
    save(&json, verdict)?;
    save(&page, html(experiment, finished))?;
    save(&folder.join("index.html"), index(folder))?;
    Ok(page)
}

/// Where an experiment was published, with the whole reference.
fn source(about: About) -> String {
    match bibliography::of(about.paper) {
        Some(reference) => format!("{} ({reference})", about.paper),
        None => about.paper.to_owned(),
    }
}

/// The page of one experiment.
pub fn html(experiment: &dyn Experiment, finished: &Finished) -> String {
    let about = experiment.about();
    let machine = Machine::this();
    let mut out = head(about.name);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<p>{}</p><p class=\"note\">Published in: {}. Run at {} size in {} s of computing.</p>\
         <p class=\"{}\">{}</p>",
        escape(about.shows),
        escape(&source(about)),
        finished.size.name(),
        number(finished.seconds, 3),
        class(finished.judgement()),
        match finished.judgement() {
            Judgement::Reproduced => "Reproduced: all criteria hold.",
            Judgement::Differs => "Differs from the paper, for reasons that are known.",
            Judgement::Fails => "Fails: some criteria do not hold.",
        }
    );
    criteria_table(&mut out, &finished.outcome.criteria);
    differences_table(&mut out, &finished.outcome.criteria);
    reported_table(&mut out, &finished.outcome.reported);
    for figure in &finished.outcome.figures {
        match figure {
            Figure::Text(text) => {
                let _ = write!(out, "<p>{}</p>", escape(text));
            }
            Figure::Svg(svg) => out.push_str(svg),
            Figure::Table(table) => write_table(&mut out, table),
            Figure::Frame(frame) => write_frame(&mut out, frame),
        }
    }
    let _ = write!(
        out,
        "<h2>The scene</h2><p class=\"note\">Cases change sizes, methods and sweeps of this \
         scene.</p><pre>{}</pre><h2>The machine</h2><p>{}, {} cores, {}; esker {}.</p>\
         </body></html>",
        escape(experiment.scene()),
        escape(&machine.processor),
        machine.cores,
        escape(&machine.system),
        escape(&machine.version)
    );
    out
}

fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{0}</title><style>{STYLE}</style></head><body>\
         <h1>{0}</h1>",
        escape(title)
    )
}

/// The style of a judgement.
fn class(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Reproduced => "pass",
        Judgement::Differs => "differ",
        Judgement::Fails => "fail",
    }
}

fn bound(bound: Option<f64>) -> String {
    bound.map_or_else(String::new, |b| number(b, 4))
}

/// All criteria but those that differ for a known reason.
fn criteria_table(out: &mut String, criteria: &[Criterion]) {
    out.push_str(
        "<table><caption>Criteria</caption><tr><th>what</th><th>found</th><th>from</th>\
         <th>to</th><th>paper</th><th class=\"why\">bounds from</th><th></th></tr>",
    );
    for c in criteria.iter().filter(|c| c.status != Status::Differs) {
        let holds = c.status == Status::Holds;
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"why\">{}</td>\
             <td class=\"{}\">{}</td></tr>",
            escape(&c.name),
            number(c.value, 4),
            bound(c.low),
            bound(c.high),
            escape(&c.paper),
            escape(&c.basis),
            if holds { "pass" } else { "fail" },
            if holds { "holds" } else { "FAILS" }
        );
    }
    out.push_str("</table>");
}

/// The criteria that differ for a known reason, in a section of their own.
fn differences_table(out: &mut String, criteria: &[Criterion]) {
    let differing = criteria.iter().filter(|c| c.status == Status::Differs);
    let rows: String = differing
        .filter_map(|c| c.difference.as_ref().map(|d| (c, d)))
        .map(|(c, d)| {
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}–{}</td><td>{}</td><td>{}–{}</td>\
                 <td class=\"why\">{}</td><td class=\"differ\">FAILS, reason known</td></tr>",
                escape(&c.name),
                number(c.value, 4),
                bound(c.low),
                bound(c.high),
                escape(&c.paper),
                bound(d.low),
                bound(d.high),
                escape(&d.reason)
            )
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<h2>Where we differ from the paper</h2><table><caption>Criteria that do not hold, for a \
         known reason</caption><tr><th>what</th><th>found</th><th>must be</th><th>paper</th>\
         <th>explained</th><th class=\"why\">reason</th><th></th></tr>{rows}</table>"
    );
}

fn reported_table(out: &mut String, reported: &[Reported]) {
    if reported.is_empty() {
        return;
    }
    out.push_str(
        "<table><caption>Reported, not judged</caption><tr><th>what</th><th>found</th>\
         <th>paper</th><th class=\"why\">why it is not judged</th></tr>",
    );
    for r in reported {
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"why\">{}</td></tr>",
            escape(&r.name),
            number(r.value, 4),
            escape(&r.paper),
            escape(&r.reason)
        );
    }
    out.push_str("</table>");
}

fn write_frame(out: &mut String, frame: &Frame) {
    let _ = write!(
        out,
        "<figure><img src=\"{}\" alt=\"{1}\"><figcaption>{1}</figcaption></figure>",
        frame.address,
        escape(&frame.caption)
    );
}

fn write_table(out: &mut String, table: &Table) {
    let _ = write!(
        out,
        "<table><caption>{}</caption><tr>",
        escape(&table.caption)
    );
    for head in &table.head {
        let _ = write!(out, "<th>{}</th>", escape(head));
    }
    out.push_str("</tr>");
    for row in &table.rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table>");
}

/// The index of all reports in a folder.
pub fn index(folder: &Path) -> String {
    let mut out = head("Esker: published experiments, reproduced");
    out.push_str(
        "<table><tr><th>experiment</th><th>paper</th><th>shows</th><th>verdict, criteria that hold</th>\
         <th>time (s)</th></tr>",
    );
    for experiment in registry::ALL {
        let about = experiment.about();
        let verdict: Option<serde_json::Value> =
            fs::read(folder.join(format!("{}.json", about.name)))
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let (name, held, seconds) = match &verdict {
            None => (escape(about.name), "not run yet".into(), String::new()),
            Some(v) => {
                let criteria = v["criteria"].as_array().map_or(&[][..], Vec::as_slice);
                let held = criteria.iter().filter(|c| c["status"] == "holds").count();
                let judgements = [Judgement::Reproduced, Judgement::Differs];
                let judgement = judgements
                    .into_iter()
                    .find(|j| v["verdict"] == j.name())
                    .unwrap_or(Judgement::Fails);
                (
                    format!("<a href=\"{0}.html\">{0}</a>", about.name),
                    format!(
                        "<span class=\"{}\">{}</span>, {held} of {}",
                        class(judgement),
                        judgement.name(),
                        criteria.len()
                    ),
                    number(v["seconds"].as_f64().unwrap_or(f64::NAN), 3),
                )
            }
        };
        let _ = write!(
            out,
            "<tr><td>{name}</td><td>{}</td><td>{}</td><td>{held}</td><td>{seconds}</td></tr>",
            escape(about.paper),
            escape(about.shows)
        );
    }
    out.push_str("</table></body></html>");
    out
}
