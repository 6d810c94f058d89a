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
}

fn main() -> ExitCode {
    let result: anyhow::Result<()> = match CommandLine::parse().command {
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
