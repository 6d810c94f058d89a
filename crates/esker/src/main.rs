//! The command line: one module per command under `commands`.

mod commands;
mod drawing;
mod probe_table;
mod run_folder;
mod scene_file;
mod scenery;
mod threads;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Sweeps jump about in arrays of many megabytes.
#[global_allocator]
static ALLOCATOR: esker_parallel::HugePages = esker_parallel::HugePages;

/// Simulates granular matter: ore, grain, sand, pills, and the machines that move it.
#[derive(Parser)]
#[command(version, about, propagate_version = true, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(commands::run::Arguments),
    Check(commands::check::Arguments),
    Bench(commands::bench::Arguments),
    Experiment(commands::experiment::Arguments),
    Solve(commands::solve::Arguments),
    Plan(commands::plan::Arguments),
    Info(commands::info::Arguments),
    Measure(commands::measure::Arguments),
    Export(commands::export::Arguments),
    Render(commands::render::Arguments),
    Report(commands::report::Arguments),
}

fn main() -> ExitCode {
    // `esker … | head` ends quietly, as other programs do.
    sigpipe::reset();
    let result = match CommandLine::parse().command {
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Experiment(arguments) => commands::experiment::run(&arguments),
        Command::Solve(arguments) => commands::solve::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Info(arguments) => commands::info::run(&arguments),
        Command::Measure(arguments) => commands::measure::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Render(arguments) => commands::render::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        match error.downcast_ref::<esker_scene::SceneErrors>() {
            // Already told like a compiler would, place and advice included.
            Some(problems) => eprintln!("{problems}"),
            None => eprintln!("error: {error:#}"),
        }
        ExitCode::FAILURE
    })
}
