//! The command line: one module per command under `commands`.
//!
//! The program `esker` is [`main_with`] and nothing else, so that others can offer the same
//! commands.

// First, because its macros replace those of the standard library.
#[macro_use]
mod standard_output;

mod arguments;
mod commands;
mod exit_code;
mod run_folder;
mod stop_signal;
mod threads;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

pub use exit_code::ExitCode;

/// Simulates granular matter: ore, grain, sand, pills, and the machines that move it.
#[derive(Parser)]
#[command(
    name = "esker",
    version,
    about,
    propagate_version = true,
    max_term_width = 100
)]
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
    View(commands::view::Arguments),
    Report(commands::report::Arguments),
}

/// Runs the program with these arguments, of which the first is its name. It is the process
/// that ends with it: signals are taken over, and results go to standard output.
pub fn main_with<I, T>(arguments: I) -> ExitCode
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    // `esker … | head` ends quietly, as other programs do.
    sigpipe::reset();
    let line = match CommandLine::try_parse_from(arguments) {
        Ok(line) => line,
        Err(error) => {
            // Where even this cannot be printed, the code is all that can be told.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1));
        }
    };
    let result = match line.command {
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
        Command::View(arguments) => commands::view::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
    };
    let printed = standard_output::finish();
    let code = result.unwrap_or_else(|error| {
        match problems_of_scene(&error) {
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

fn problems_of_scene(error: &anyhow::Error) -> Option<&esker_scene::SceneErrors> {
    match error.downcast_ref::<esker::Error>() {
        Some(esker::Error::Scene(problems)) => Some(problems),
        _ => error.downcast_ref(),
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
