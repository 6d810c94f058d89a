//! The command line: one module per command under `commands`.

// First, because its macros replace those of the standard library.
#[macro_use]
mod standard_output;

mod arguments;
mod commands;
mod drawing;
mod output_file;
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
    Init(commands::init::Arguments),
    Import(commands::import::Arguments),
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
        Command::Init(arguments) => commands::init::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
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
    let printed = standard_output::finish();
    let code = result.unwrap_or_else(|error| {
        match error.downcast_ref::<esker_scene::SceneErrors>() {
            // Already told like a compiler would, place and advice included.
            Some(problems) => eprintln!("{problems}"),
            None => eprintln!("error: {}", in_words(&error)),
        }
        ExitCode::FAILURE
    });
    match printed {
        Ok(()) => code,
        Err(error) => {
            eprintln!("error: cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, each said once: some already tell theirs.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if words.is_empty() {
            words = cause;
        } else if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_that_is_told_already_is_not_told_again() {
        let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
        let told = cause.to_string();
        let error = esker_record::RecordError::Open {
            path: "x.h5".into(),
            source: cause,
        };
        let error = Err::<(), _>(error).context("no recording").unwrap_err();
        let words = in_words(&error);
        assert_eq!(words.matches(&told).count(), 1, "{words}");
        assert!(words.starts_with("no recording: cannot open"), "{words}");
    }
}
