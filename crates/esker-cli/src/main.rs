//! The program `esker`.

use std::process::ExitCode;

/// Sweeps jump about in arrays of many megabytes.
#[global_allocator]
static ALLOCATOR: esker_parallel::HugePages = esker_parallel::HugePages;

fn main() -> ExitCode {
    ExitCode::from(esker_cli::main_with(std::env::args_os()).number())
}
