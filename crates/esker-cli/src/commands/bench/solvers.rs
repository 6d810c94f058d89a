//! `esker bench solvers`: every solver on problems of others and of our own.
//!
//! A performance profile says for each solver which share of the problems it
//! solves within a factor τ of the fastest solver's time.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use esker_contact::{BodyOperator, ContactOperator, FrictionLaw, Measure};
use esker_plot::{Axis, Plot, Series};
use esker_solver::{SolveReport, Status, Stopping, compare, registry};
use esker_world::World;
use serde::Serialize;

use crate::exit_code::ExitCode;
use esker::output_file;
use esker::problem::with_problem;

/// Compare all solvers on contact problems.
#[derive(Args)]
#[command(
    after_help = "Example:\n  esker bench solvers --problems fclib/ -o report --time-limit 10"
)]
pub struct Arguments {
    /// Folder of problem files (FCLIB's layout or ours), besides our own scenes
    #[arg(long, value_name = "DIR")]
    problems: Option<PathBuf>,
    /// Folder for the report
    #[arg(short, long, value_name = "DIR", default_value = "out/bench-solvers")]
    output: PathBuf,
    /// Residual that counts as solved (natural map divided by the norm of q)
    #[arg(long = "tol", value_name = "T", default_value_t = 1e-8)]
    tolerance: f64,
    /// Most seconds per solver and problem
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    time_limit: f64,
    /// Only these solvers
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    solvers: Vec<String>,
    /// Print one JSON object per solver and problem
    #[arg(long)]
    json: bool,
}

/// Our own problems: a scene, and the steps after which its problem is taken.
const SCENES: [(&str, &str, u64); 4] = [
    (
        "column",
        include_str!("../../../../../scenes/column.toml"),
        100,
    ),
    ("silo", include_str!("../../../../../scenes/silo.toml"), 200),
    ("drum", include_str!("../../../../../scenes/drum.toml"), 200),
    (
        "pile",
        include_str!("../../../../../scenes/pile.toml"),
        2500,
    ),
];

/// How one solver did on one problem.
#[derive(Serialize)]
struct Outcome {
    problem: String,
    contacts: usize,
    solver: &'static str,
    status: &'static str,
    natural_map: f64,
    merit: f64,
    iterations: usize,
    products: usize,
    seconds: f64,
}

impl Outcome {
    fn new(problem: &str, contacts: usize, report: &SolveReport) -> Self {
        Outcome {
            problem: problem.to_owned(),
            contacts,
            solver: report.solver,
            status: report.status.word(),
            natural_map: report.residuals.natural_map,
            merit: report.residuals.merit,
            iterations: report.iterations,
            products: report.products,
            seconds: report.seconds,
        }
    }

    fn solved(&self) -> bool {
        self.status == Status::Converged.word()
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let all: Vec<&str> = registry().iter().map(|e| e.name).collect();
    let names: Vec<&str> = if arguments.solvers.is_empty() {
        all
    } else {
        arguments.solvers.iter().map(String::as_str).collect()
    };
    let stop = Stopping {
        law: FrictionLaw::Coulomb,
        measure: Measure::NaturalMap,
        tolerance: arguments.tolerance,
        iterations: usize::MAX,
        seconds: Some(arguments.time_limit),
    };
    let mut outcomes = Vec::new();
    let mut judge = |name: &str, problem: &dyn ContactOperator| -> anyhow::Result<()> {
        eprintln!("{name}: {} contacts", problem.contacts());
        let reports = compare(&names, problem, &stop)?;
        outcomes.extend(
            reports
                .iter()
                .map(|report| Outcome::new(name, problem.contacts(), report)),
        );
        Ok(())
    };
    if let Some(folder) = &arguments.problems {
        for path in problem_files(folder)? {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            with_problem(&path, |problem| judge(&name, problem))?;
        }
    }
    for (name, text, steps) in SCENES {
        let scene = esker_scene::parse(text, name, Path::new("scenes"))?;
        let mut world = World::new(&scene.world)?;
        for _ in 0..steps {
            world.step()?;
        }
        let problem = world.problem_ahead()?;
        judge(name, &BodyOperator::new(&problem)?)?;
    }
    std::fs::create_dir_all(&arguments.output)
        .with_context(|| format!("cannot create {}", arguments.output.display()))?;
    write_report(&arguments.output, &names, &outcomes)?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&outcomes)?);
    } else {
        print!("{}", table(&names, &outcomes));
        println!("report in {}", arguments.output.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn problem_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = folder
        .read_dir()
        .with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|e| e == "hdf5" || e == "h5" || e == "esker")
        })
        .collect();
    files.sort();
    Ok(files)
}

/// Problems in the order in which they were solved.
fn problems(outcomes: &[Outcome]) -> Vec<(&str, usize)> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for outcome in outcomes {
        if names
            .last()
            .is_none_or(|(name, _)| *name != outcome.problem)
        {
            names.push((&outcome.problem, outcome.contacts));
        }
    }
    names
}

/// Seconds per problem and solver, residual in brackets where unsolved; the
/// fastest is starred.
fn table(names: &[&str], outcomes: &[Outcome]) -> String {
    let mut text = format!("| problem | contacts | {} |\n|---|---|", names.join(" | "));
    text.push_str(&"---|".repeat(names.len()));
    text.push('\n');
    for (problem, contacts) in problems(outcomes) {
        _ = write!(text, "| {problem} | {contacts} |");
        let best = fastest(outcomes, problem);
        for name in names {
            let found = outcomes
                .iter()
                .find(|o| o.problem == problem && o.solver == *name);
            _ = match found {
                Some(o) if o.solved() => {
                    let star = if best == Some(o.seconds) { " *" } else { "" };
                    write!(text, " {:.2e} s{star} |", o.seconds)
                }
                Some(o) => write!(text, " ({:.0e}) |", o.natural_map),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    text
}

fn fastest(outcomes: &[Outcome], problem: &str) -> Option<f64> {
    outcomes
        .iter()
        .filter(|o| o.problem == problem && o.solved())
        .map(|o| o.seconds)
        .min_by(f64::total_cmp)
}

fn performance_profile(names: &[&str], outcomes: &[Outcome]) -> String {
    let problems = problems(outcomes);
    let plot = Plot::new(
        "Performance profile",
        Axis::log("time / fastest solver's time"),
        Axis::linear("share of problems solved").within(0.0, 1.0),
    );
    names
        .iter()
        .map(|name| {
            let mut ratios: Vec<f64> = outcomes
                .iter()
                .filter(|o| o.solver == *name && o.solved())
                .filter_map(|o| Some(o.seconds / fastest(outcomes, &o.problem)?))
                .collect();
            ratios.sort_by(f64::total_cmp);
            let points = ratios
                .iter()
                .enumerate()
                .map(|(i, &ratio)| [ratio.max(1.0), (i + 1) as f64 / problems.len() as f64])
                .collect();
            Series::line(*name, points).with_points()
        })
        .fold(plot, Plot::with)
        .svg()
}

fn write_report(folder: &Path, names: &[&str], outcomes: &[Outcome]) -> anyhow::Result<()> {
    let write = |name: &str, text: String| output_file::write(&folder.join(name), text.as_bytes());
    let mut summary = String::from("# Contact solvers compared\n\n");
    summary.push_str(
        "Seconds to the tolerance, one thread, from zero impulses; in brackets the residual where it was missed; \
         a star marks the fastest.\n\n",
    );
    summary.push_str(&table(names, outcomes));
    summary.push_str("\nWins (fastest on a problem) and problems solved:\n\n");
    let count = problems(outcomes).len();
    for name in names {
        let own = || outcomes.iter().filter(|o| o.solver == *name && o.solved());
        let wins = own()
            .filter(|o| fastest(outcomes, &o.problem) == Some(o.seconds))
            .count();
        _ = writeln!(
            summary,
            "- {name}: {wins} wins, {} of {count} solved",
            own().count()
        );
    }
    write("solvers.md", summary)?;
    write("profile.svg", performance_profile(names, outcomes))?;
    Ok(write(
        "outcomes.json",
        serde_json::to_string_pretty(outcomes)?,
    )?)
}
