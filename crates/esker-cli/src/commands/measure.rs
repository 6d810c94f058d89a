//! `esker measure`: measures of a granular state, taken from a recording.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use esker::measure::{Drum, Measure, Measured, Moment, Number, PILE_ANGLE};
use esker::probe_table;
use glam::DVec3;
use serde_json::{Map, Value, json};

use crate::arguments::time;
use crate::exit_code::ExitCode;
use crate::run_folder::{open_recording, warn_of_lost_scalars};

/// Measure the grains of a recording: pile, drum, motion, overlaps, forces, walls, orientations, probes.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker measure out/pile\n  esker measure out/drum drum motion --csv\n  esker measure out/hopper probes --csv"
)]
pub struct Arguments {
    /// Folder of a run, or a recording
    run: PathBuf,
    /// What to measure [default: all but `drum`, as far as was recorded]
    #[arg(value_name = "MEASURE", value_parser = measure())]
    measures: Vec<Measure>,
    /// Time of the frame, s [default: the last]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<f64>,
    /// All frames, as CSV
    #[arg(long, conflicts_with_all = ["at", "json"])]
    csv: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Axis of the drum: x, y or z
    #[arg(long, value_name = "AXIS", default_value = "y")]
    axis: Axis,
    /// A point on the axis of the drum, m [default: the origin]
    #[arg(long, value_name = "X,Y,Z", value_parser = super::parse_point, allow_hyphen_values = true)]
    centre: Option<DVec3>,
}

fn measure() -> impl TypedValueParser<Value = Measure> {
    let names = Measure::ALL.map(|m| PossibleValue::new(m.name()).help(m.meaning()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Measure>())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Axis {
    X,
    Y,
    Z,
}

impl Arguments {
    fn drum(&self) -> Drum {
        Drum {
            axis: match self.axis {
                Axis::X => DVec3::X,
                Axis::Y => DVec3::Y,
                Axis::Z => DVec3::Z,
            },
            centre: self.centre.unwrap_or(DVec3::ZERO),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let recording = open_recording(&arguments.run)?;
    let frames = recording.frames().len();
    let measured = Measured::new(&recording)?;
    warn_of_lost_scalars(measured.scalars());
    let last = frames
        .checked_sub(1)
        .context("the recording has no frames yet")?;
    let tables = &recording.header().probes;
    if arguments.measures.contains(&Measure::Probes) && tables.is_empty() {
        bail!("the scene of this run has no probes: add a [[probe]] and run it again");
    }
    let has_shapes = !recording.header().shapes.is_empty();
    if arguments.measures.contains(&Measure::Orientation) && !has_shapes {
        bail!("the grains of this run are spheres, which have no longest axis");
    }
    if arguments.csv && arguments.measures == [Measure::Probes] {
        println!("{}", probe_table::header(tables));
        for line in probe_table::lines(tables, measured.probes()) {
            println!("{line}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.csv {
        let chosen = chosen(arguments, &measured.moment(0)?);
        for index in 0..frames {
            let moment = measured.moment(index)?;
            let numbers = numbers(arguments, &chosen, &moment)?;
            if index == 0 {
                let keys = numbers.iter().map(Number::column);
                println!("time_s,{}", keys.collect::<Vec<_>>().join(","));
            }
            let values = numbers
                .iter()
                .map(|n| n.value.map_or(String::new(), |x| x.to_string()));
            let time = moment.snapshot().time;
            println!("{time},{}", values.collect::<Vec<_>>().join(","));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let index = arguments.at.and_then(|time| recording.nearest(time));
    let moment = measured.moment(index.unwrap_or(last))?;
    let chosen = chosen(arguments, &moment);
    let numbers = numbers(arguments, &chosen, &moment)?;
    let snapshot = moment.snapshot();
    if arguments.json {
        let values = numbers
            .iter()
            .map(|number| (number.column(), json!(number.value)));
        let mut map: Map<String, Value> = values.collect();
        map.insert("time_s".into(), json!(snapshot.time));
        println!("{}", serde_json::to_string_pretty(&map)?);
    } else {
        println!("{} grains at {:.4} s", snapshot.len(), snapshot.time);
        for Number { key, value, unit } in numbers {
            let value = match value {
                Some(value) => format!("{} {unit}", esker_plot::number(value, 4)),
                None if key == PILE_ANGLE && snapshot.masses().is_ok() => "no slope".to_owned(),
                None => "–".to_owned(),
            };
            println!("  {:<32} {value}", key.replace('_', " "));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The measures asked for, or all that can be taken; says which cannot.
fn chosen(arguments: &Arguments, moment: &Moment<'_>) -> Vec<Measure> {
    let mut chosen = arguments.measures.clone();
    if chosen.is_empty() {
        // A drum is one only if the user says so.
        let all = Measure::ALL.into_iter();
        for measure in all.filter(|m| *m != Measure::Drum) {
            match moment.take(measure, &arguments.drum()) {
                Ok(_) => chosen.push(measure),
                Err(missing) => eprintln!("{} left out: {missing}", measure.name()),
            }
        }
    }
    if let (true, Err(missing)) = (chosen.contains(&Measure::Pile), moment.snapshot().masses()) {
        eprintln!("angle of the pile left out: {missing}");
    }
    chosen
}

fn numbers(
    arguments: &Arguments,
    chosen: &[Measure],
    moment: &Moment<'_>,
) -> anyhow::Result<Vec<Number>> {
    let mut numbers = Vec::new();
    for &measure in chosen {
        let taken = moment.take(measure, &arguments.drum());
        numbers.extend(taken.with_context(|| measure.name())?);
    }
    Ok(numbers)
}
