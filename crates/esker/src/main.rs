//! The command line: one module per command under `commands`.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
}

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Experiment(arguments) => commands::experiment::run(&arguments),
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
