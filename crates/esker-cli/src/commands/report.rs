//! `esker report`: one self-contained HTML page about a run.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use esker_plot::{Axis, Plot, Series, escape, png_address};
use esker_record::{ProbeColumn, ProbeRow, Recording, Scalars};
use esker_world::{Stage, WallLoad};
use serde_json::Value;

use crate::exit_code::ExitCode;
use crate::run_folder::{open_recording, read_scalars};
use esker::picture::{Color, Drawing, Style};
use esker::{SUMMARY_FILE_NAME, output_file};

/// Write one HTML page with summary, plots, pictures and the scene of a run.
#[derive(Args)]
#[command(after_help = "Example:\n  esker report out/drum")]
pub struct Arguments {
    /// Folder of a run, or a recording
    run: PathBuf,
    /// Page to write [default: RUN/report.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const PICTURE_SIZE: (u32, u32) = (800, 600);

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#1c2430}\
h1{font-size:1.6em}h2{font-size:1.2em;margin-top:2em}\
table{border-collapse:collapse}td{padding:2px 16px 2px 0;vertical-align:top}td:first-child{color:#5a6675}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:16px}\
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:12px}\
figure{margin:0}img,svg{width:100%;height:auto}figcaption{color:#5a6675}\
svg text{font:12px system-ui,sans-serif;fill:#5a6675}svg .title{font-size:14px;fill:#1c2430}\
.grid{stroke:#e3e7ec}pre{background:#f4f6f8;padding:12px;overflow:auto;font-size:13px}";

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let recording = open_recording(&arguments.run)?;
    let path = match (&arguments.output, recording.path().parent()) {
        (Some(path), _) => path.clone(),
        (None, folder) => folder.unwrap_or(Path::new("")).join("report.html"),
    };
    let page = page(&recording, &reduction_of(recording.path()))?;
    output_file::write(&path, page.as_bytes())?;
    println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// A figure of a summary: its key, its words, factor and unit.
type Figure = (&'static str, &'static str, f64, &'static str);

/// Figures of `reduction` in `summary.json`.
const REDUCTION: [Figure; 11] = [
    (
        "frozen_contacts",
        "contacts among frozen grains and walls at the end",
        1.0,
        "",
    ),
    ("merges", "grains frozen, each counted every time", 1.0, ""),
    ("split_by_impact", "set free by impacts", 1.0, ""),
    (
        "split_by_imbalance",
        "set free by imbalance of forces",
        1.0,
        "",
    ),
    (
        "split_by_support",
        "set free by loss of contact with what carries them",
        1.0,
        "",
    ),
    ("split_by_walls", "set free by walls", 1.0, ""),
    ("split_by_sensor", "set free by sensors", 1.0, ""),
    ("refreshed", "set free by refreshes", 1.0, ""),
    ("energy_lost", "energy that freezing took", 1.0, " J"),
    (
        "mean_imbalance",
        "mean imbalance of forces on frozen grains, of their weight",
        100.0,
        " %",
    ),
    (
        "worst_imbalance",
        "worst imbalance, of the threshold",
        100.0,
        " %",
    ),
];

/// What the summary beside a recording says of frozen grains; nothing where there is none.
fn reduction_of(recording: &Path) -> Vec<(&'static str, String)> {
    let file = recording.with_file_name(SUMMARY_FILE_NAME);
    let summary: Value = std::fs::read(file)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let figures = REDUCTION.iter().filter_map(|&(key, words, factor, unit)| {
        let number = factor * summary["reduction"][key].as_f64()?;
        let text = match unit {
            "" => format!("{number:.0}"),
            _ => esker_plot::number(number, 3),
        };
        Some((words, text + unit))
    });
    figures.collect()
}

fn page(recording: &Recording, reduction: &[(&str, String)]) -> anyhow::Result<String> {
    let header = recording.header();
    let scalars = read_scalars(recording)?;
    let name = escape(&header.name);
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{name}</title><style>{STYLE}</style></head><body><h1>{name}</h1>"
    );
    page.push_str(&summary(recording, &scalars, reduction));
    page.push_str(&pictures(recording)?);
    page.push_str("<h2>Over time</h2><div class=\"plots\">");
    let probes = probe_plots(recording)?;
    let plots = plots(&scalars).into_iter().chain(load_plots(&scalars));
    for plot in probes.into_iter().chain(plots) {
        _ = write!(page, "<figure>{}</figure>", plot.svg());
    }
    _ = write!(
        page,
        "</div><h2>Scene</h2><pre>{}</pre></body></html>",
        escape(&header.scene)
    );
    Ok(page)
}

fn summary(recording: &Recording, scalars: &Scalars, reduction: &[(&str, String)]) -> String {
    let header = recording.header();
    let last = |name: &str| scalars.get(name).and_then(|list| list.last().copied());
    let sum = |name: &str| scalars.get(name).map(|list| list.iter().sum::<f64>());
    let worst = |name: &str| {
        let list = scalars.get(name).unwrap_or_default();
        list.into_iter().filter(|x| !x.is_nan()).reduce(f64::max)
    };
    let whole = |x: Option<f64>| x.map(|x| format!("{x:.0}"));
    let frozen = frozen_shares(scalars);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let touching = match frozen.is_empty() {
        true => "contacts touching at the end",
        false => "contacts of free grains touching at the end",
    };
    let wall: f64 = Stage::ALL
        .iter()
        .filter_map(|stage| sum(&format!("seconds_{}", stage.name())))
        .sum();
    let rows = [
        (
            "simulated time",
            last("time")
                .map(|t| format!("{t:.4} s in {} steps of {} s", scalars.len(), header.step)),
        ),
        ("time on the clock", Some(format!("{wall:.1} s in steps"))),
        ("grains at the end", whole(last("grains"))),
        ("grains emitted", whole(sum("emitted"))),
        ("grains removed by sinks", whole(sum("removed"))),
        ("grains lost", whole(sum("lost"))),
        (
            "grains frozen on average",
            (!frozen.is_empty()).then(|| percent(frozen.iter().sum::<f64>() / frozen.len() as f64)),
        ),
        (
            "grains frozen at the end",
            frozen.last().copied().map(percent),
        ),
        (touching, whole(last("touching"))),
        (
            "kinetic energy at the end",
            last("kinetic_energy").map(|e| format!("{e:.3e} J")),
        ),
        (
            "largest overlap",
            worst("max_overlap").map(|x| format!("{:.3} % of a diameter", 100.0 * x)),
        ),
        (
            "largest residual",
            worst("residual").map(|r| format!("{r:.2e}")),
        ),
        (
            "steps that missed the tolerance",
            sum("converged").map(|c| format!("{:.0}", scalars.len() as f64 - c)),
        ),
        (
            "frames recorded",
            Some(recording.frames().len().to_string()),
        ),
        ("program", Some(format!("esker {}", header.version))),
    ];
    let mut table = String::from("<table>");
    let rows = rows
        .iter()
        .filter_map(|(what, value)| Some((*what, value.as_ref()?)));
    let reduction = reduction.iter().map(|(what, value)| (*what, value));
    for (what, value) in rows.chain(reduction) {
        _ = write!(table, "<tr><td>{what}</td><td>{}</td></tr>", escape(value));
    }
    table + "</table>"
}

/// First, middle and last frame; nothing where the recording lacks what a
/// picture needs.
fn pictures(recording: &Recording) -> anyhow::Result<String> {
    let count = recording.frames().len();
    let mut frames: Vec<usize> = (count > 0)
        .then_some([0, count / 2, count.saturating_sub(1)])
        .into_iter()
        .flatten()
        .collect();
    frames.dedup();
    let fields = &recording.header().settings.fields;
    let has = |field| fields.contains(&field);
    use esker_record::GrainField::{Position, Radius, Velocity};
    if frames.is_empty() || !has(Position) || !has(Radius) {
        return Ok(String::new());
    }
    let color = match has(Velocity) {
        true => Color::Speed,
        false => Color::Height,
    };
    let style = Style::new(color, PICTURE_SIZE);
    let drawing = Drawing::new(recording, style, &frames)?;
    let mut html = String::from("<h2>Pictures</h2><div class=\"pictures\">");
    for index in frames {
        let picture = drawing.draw(index)?.encode_png()?;
        let time = recording.frames()[index].time;
        _ = write!(
            html,
            "<figure><img alt=\"t = {time:.3} s\" src=\"{}\">\
             <figcaption>t = {time:.3} s</figcaption></figure>",
            png_address(&picture)
        );
    }
    Ok(html + "</div>")
}

/// Points drawn per curve.
const MOST_POINTS: usize = 1500;

fn plots(scalars: &Scalars) -> Vec<Plot> {
    let times = scalars.get("time").unwrap_or_default();
    // More points than pixels cannot be told apart on a page.
    let stride = times.len().div_ceil(MOST_POINTS).max(1);
    let curve = |name: &str, scale: f64| {
        let points = times
            .iter()
            .zip(scalars.get(name).unwrap_or_default())
            .filter(|(_, y)| !y.is_nan())
            .step_by(stride)
            .map(|(&t, y)| [t, y * scale])
            .collect();
        Series::line(
            name.trim_start_matches("seconds_").replace('_', " "),
            points,
        )
    };
    let plot = |title: &str, y_label: &str, logarithmic, curves: Vec<Series>| {
        let y = if logarithmic {
            Axis::log(y_label)
        } else {
            Axis::linear(y_label)
        };
        curves
            .into_iter()
            .fold(Plot::new(title, Axis::linear("time (s)"), y), Plot::with)
    };
    let stages = Stage::ALL
        .iter()
        .map(|s| curve(&format!("seconds_{}", s.name()), 1e3));
    let frozen = (!frozen_shares(scalars).is_empty()).then(|| {
        plot(
            "Frozen grains",
            "share of grains (%)",
            false,
            vec![curve("frozen_share", 100.0)],
        )
    });
    let plots = [
        plot(
            "Kinetic energy",
            "energy (J)",
            true,
            vec![curve("kinetic_energy", 1.0)],
        ),
        plot(
            "Contacts",
            "number",
            false,
            vec![curve("contacts", 1.0), curve("touching", 1.0)],
        ),
        plot("Grains", "number", false, vec![curve("grains", 1.0)]),
        plot(
            "Overlap",
            "overlap (% of a diameter)",
            true,
            vec![curve("mean_overlap", 100.0), curve("max_overlap", 100.0)],
        ),
        plot(
            "Residual",
            "residual (1)",
            true,
            vec![curve("residual", 1.0)],
        ),
        plot(
            "Sweeps",
            "sweeps per step",
            false,
            vec![curve("sweeps", 1.0)],
        ),
        plot(
            "Time per stage",
            "time (ms per step)",
            true,
            stages.collect(),
        ),
    ];
    plots.into_iter().chain(frozen).collect()
}

/// Shares of frozen grains after each step; none where `reduction` was off or they were not
/// recorded.
fn frozen_shares(scalars: &Scalars) -> Vec<f64> {
    let mut shares = scalars.get("frozen_share").unwrap_or_default();
    shares.retain(|share| !share.is_nan());
    shares
}

/// A number of a load.
type LoadValue = fn(WallLoad) -> f64;

/// Loads of walls over time; power for walls with a drive only. A point is the
/// mean over its share of the steps: single steps of a flow scatter widely.
fn load_plots(scalars: &Scalars) -> Vec<Plot> {
    let times = scalars.get("time").unwrap_or_default();
    let loads: Vec<&[WallLoad]> = scalars.loads().collect();
    let stride = times.len().div_ceil(MOST_POINTS).max(1);
    let curve = |wall: usize, value: LoadValue| {
        let points = times.chunks(stride).zip(loads.chunks(stride));
        points
            .filter_map(|(times, loads)| {
                let value = value(mean_load(loads.iter().map(|loads| loads[wall])));
                value.is_finite().then_some([*times.last()?, value])
            })
            .collect::<Vec<_>>()
    };
    let quantities: [(&str, &str, LoadValue); 3] = [
        ("Force on walls", "force (N)", |load| load.force.length()),
        ("Torque on walls", "torque (N m)", |load| {
            load.torque.length()
        }),
        ("Power of drives", "power (W)", |load| load.power),
    ];
    let plots = quantities
        .into_iter()
        .filter_map(|(title, y_label, value)| {
            let names = scalars.walls().iter().enumerate();
            let curves: Vec<Series> = names
                .map(|(wall, name)| (name, curve(wall, value)))
                .filter(|(_, points)| points.iter().any(|[_, y]| *y != 0.0))
                .map(|(name, points)| Series::line(name.clone(), points))
                .collect();
            let empty = Plot::new(title, Axis::linear("time (s)"), Axis::linear(y_label));
            (!curves.is_empty()).then(|| curves.into_iter().fold(empty, Plot::with))
        });
    plots.collect()
}

/// Profiles drawn of a probe that measures one: equally spaced in time.
const PROFILES: usize = 5;

/// Rows of probes over time, one plot per probe and unit; of probes with many
/// numbers per row, some rows over space.
fn probe_plots(recording: &Recording) -> anyhow::Result<Vec<Plot>> {
    let mut plots = Vec::new();
    for (index, probe) in recording.header().probes.iter().enumerate() {
        let rows = recording.probe_rows(index)?;
        let stride = rows.len().div_ceil(MOST_POINTS).max(1);
        let mut first = 0;
        let mut by_unit: Vec<(&str, Vec<Series>)> = Vec::new();
        for column in &probe.columns {
            let range = first..first + column.width;
            first = range.end;
            if column.width > 1 {
                plots.push(profile_plot(&probe.name, column, &rows, range));
                continue;
            }
            let points = rows.iter().step_by(stride);
            let points = points
                .map(|row| [row.time, row.values[range.start]])
                .filter(|[_, y]| y.is_finite())
                .collect();
            let curve = Series::line(column.name.replace('_', " "), points);
            match by_unit.iter_mut().find(|(unit, _)| *unit == column.unit) {
                Some((_, curves)) => curves.push(curve),
                None => by_unit.push((&column.unit, vec![curve])),
            }
        }
        plots.extend(by_unit.into_iter().map(|(unit, curves)| {
            let label = match curves.as_slice() {
                [only] => format!("{} ({unit})", only.name),
                _ => format!("({unit})"),
            };
            let empty = Plot::new(&probe.name, Axis::linear("time (s)"), Axis::linear(label));
            curves.into_iter().fold(empty, Plot::with)
        }));
    }
    Ok(plots)
}

fn profile_plot(
    name: &str,
    column: &ProbeColumn,
    rows: &[ProbeRow],
    range: std::ops::Range<usize>,
) -> Plot {
    let y = format!("{} ({})", column.name, column.unit);
    let mut plot = Plot::new(name, Axis::linear("distance (m)"), Axis::linear(y));
    let stride = (rows.len().saturating_sub(1) as f64 / (PROFILES - 1) as f64).max(1.0);
    let chosen = (0..PROFILES).map(|i| (i as f64 * stride).round() as usize);
    for row in chosen.filter_map(|i| rows.get(i)) {
        let heights = row.values[range.clone()].iter().enumerate();
        let points = heights.map(|(i, height)| [column.place(i), *height]);
        let time = esker_plot::number(row.time, 3);
        plot = plot.with(Series::line(format!("{time} s"), points.collect()));
    }
    plot
}

fn mean_load(loads: impl ExactSizeIterator<Item = WallLoad>) -> WallLoad {
    let share = 1.0 / loads.len() as f64;
    loads.fold(WallLoad::default(), |mean, load| WallLoad {
        force: mean.force + load.force * share,
        torque: mean.torque + load.torque * share,
        power: mean.power + load.power * share,
    })
}
