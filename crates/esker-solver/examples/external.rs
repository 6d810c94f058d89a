//! Runs solvers over a folder of FCLIB problem files and prints a table.
//!
//! `external FOLDER [SOLVER,SOLVER...] [TOLERANCE] [SECONDS]`

use esker_contact::ContactOperator;
use esker_record::fclib;
use esker_solver::{Stopping, registry, solve_by_name};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("name a folder of problem files")?;
    let names: Vec<String> = match arguments.get(1) {
        Some(list) if list != "all" => list.split(',').map(str::to_string).collect(),
        _ => registry().iter().map(|e| e.name.to_string()).collect(),
    };
    let tolerance = arguments.get(2).map_or(Ok(1e-8), |t| t.parse())?;
    let seconds = arguments.get(3).map_or(Ok(10.0), |t| t.parse())?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == "hdf5"));
    files.sort();
    println!("| problem | solver | status | e/‖q‖ | merit | iterations | products | seconds |");
    println!("|---|---|---|---|---|---|---|---|");
    for file in files {
        let problem = fclib::read_assembled(&file)?;
        let stop = Stopping {
            tolerance,
            seconds: Some(seconds),
            iterations: 10_000_000,
            ..Default::default()
        };
        let title = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for name in &names {
            let mut lambda = vec![0.0; problem.rows()];
            let report = solve_by_name(name, &problem, &mut lambda, &stop)?;
            println!(
                "| {title} | {name} | {} | {:.1e} | {:.1e} | {} | {} | {:.4} |",
                report.status.word(),
                report.residuals.natural_map,
                report.residuals.merit,
                report.iterations,
                report.products,
                report.seconds
            );
            if std::env::var_os("NOTES").is_some() {
                report.notes.iter().for_each(|note| println!("    {note}"));
            }
        }
    }
    Ok(())
}
