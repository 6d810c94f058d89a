//! `esker solve`: one contact problem, any solver.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use esker::problem::with_problem;
use esker_contact::{FrictionLaw, Measure};
use esker_plot::{Axis, Plot, Series};
use esker_solver::registry::{compare, registry};
use esker_solver::{SolveReport, Status, Stopping};
use serde::Serialize;

use crate::exit_code::ExitCode;
use esker::output_file;

/// Solve one contact problem and say how well.
#[derive(Args)]
#[command(after_help = "Examples:\n  esker solve RockPile_tob1.hdf5\n  \
    esker solve out/silo/problem-200.esker --solver all --tol 1e-6 --time-limit 5")]
pub struct Arguments {
    /// Problem file: FCLIB's HDF5 layout, or written by `esker run --dump-step`
    file: PathBuf,
    /// Solver by name, `auto` or `all`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    solver: String,
    /// Residual that counts as converged (natural map divided by the norm of q)
    #[arg(long = "tol", value_name = "T", default_value_t = 1e-8)]
    tolerance: f64,
    /// Most seconds per solver
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    time_limit: f64,
    /// Most iterations per solver
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    iterations: usize,
    /// The law of friction
    #[arg(long, value_enum, default_value_t = Law::Coulomb)]
    law: Law,
    /// Write the convergence plot (SVG) here
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object per solver
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Law {
    /// Signorini and Coulomb: what grains do
    Coulomb,
    /// The convex relaxation
    Associated,
}

/// What `--json` prints per solver.
#[derive(Serialize)]
struct Row<'a> {
    solver: &'a str,
    status: &'a str,
    natural_map: f64,
    siconos: f64,
    merit: f64,
    scaled: f64,
    cone_violation: f64,
    penetration: f64,
    energy: f64,
    iterations: usize,
    products: usize,
    seconds: f64,
    notes: &'a [String],
}

impl<'a> Row<'a> {
    fn new(report: &'a SolveReport) -> Self {
        let r = &report.residuals;
        Row {
            solver: report.solver,
            status: report.status.word(),
            natural_map: r.natural_map,
            siconos: r.siconos,
            merit: r.merit,
            scaled: r.scaled,
            cone_violation: r.cone_violation,
            penetration: r.penetration,
            energy: r.energy,
            iterations: report.iterations,
            products: report.products,
            seconds: report.seconds,
            notes: &report.notes,
        }
    }
}

/// Runs the command. Fails when no solver met the tolerance.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if !(arguments.tolerance > 0.0 && arguments.time_limit > 0.0) {
        bail!("--tol and --time-limit must be positive numbers");
    }
    let stop = Stopping {
        law: match arguments.law {
            Law::Coulomb => FrictionLaw::Coulomb,
            Law::Associated => FrictionLaw::Associated,
        },
        measure: Measure::NaturalMap,
        tolerance: arguments.tolerance,
        iterations: arguments.iterations,
        seconds: Some(arguments.time_limit),
    };
    let all: Vec<&str> = registry().iter().map(|entry| entry.name).collect();
    let names = if arguments.solver == "all" {
        all
    } else {
        vec![arguments.solver.as_str()]
    };
    let reports = with_problem(&arguments.file, |problem| {
        if !arguments.json {
            println!(
                "{}: {} contacts, {} rows each, tolerance {:.0e}",
                arguments.file.display(),
                problem.contacts(),
                problem.block(),
                arguments.tolerance
            );
        }
        anyhow::Ok(compare(&names, problem, &stop)?)
    })?;
    if arguments.json {
        let rows: Vec<Row> = reports.iter().map(Row::new).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print_table(&reports);
    }
    if let Some(plot) = &arguments.plot {
        let picture = convergence_plot(&arguments.file, &reports);
        output_file::write(plot, picture.as_bytes())?;
        if !arguments.json {
            println!("convergence plot: {}", plot.display());
        }
    }
    let solved = reports.iter().any(|r| r.status == Status::Converged);
    Ok(if solved {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print_table(reports: &[SolveReport]) {
    println!(
        "{:22} {:16} {:>11} {:>11} {:>11} {:>10} {:>10} {:>9}",
        "solver",
        "status",
        "natural map",
        "merit",
        "cone viol.",
        "iterations",
        "products",
        "seconds"
    );
    for report in reports {
        let r = &report.residuals;
        println!(
            "{:22} {:16} {:>11.2e} {:>11.2e} {:>11.2e} {:>10} {:>10} {:>9.4}",
            report.solver,
            report.status.word(),
            r.natural_map,
            r.merit,
            r.cone_violation,
            report.iterations,
            report.products,
            report.seconds
        );
        for note in &report.notes {
            println!("    {note}");
        }
    }
}

fn convergence_plot(problem: &Path, reports: &[SolveReport]) -> String {
    let name = problem.file_stem().unwrap_or_default().to_string_lossy();
    let plot = Plot::new(
        format!("Convergence on {name}"),
        Axis::log("products with W"),
        Axis::log("natural map / |q|"),
    );
    reports
        .iter()
        .map(|report| {
            let points = report
                .history
                .iter()
                .filter(|p| p.residual > 0.0 && p.residual.is_finite())
                .map(|p| [p.products.max(1) as f64, p.residual])
                .collect();
            Series::line(report.solver, points)
        })
        .fold(plot, Plot::with)
        .svg()
}
