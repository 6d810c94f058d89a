//! `esker view`: looks at a recording, or at a scene while it runs, in a browser.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{anyhow, bail};
use clap::Args;
use esker::{LoadedScene, Simulation};
use esker_view::{LiveRun, LiveState, Options, RecordedRun, Server, Source, ViewError};

use super::run::advised;
use crate::exit_code::ExitCode;
use crate::stop_signal::StopSignal;
use crate::threads::most_threads;

/// Look at a run in a browser: one that is recorded, or one that goes on.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker view out/drum                           a recording, finished or still growing\n  esker view scenes/drum.toml                   runs the scene and shows it live\n  esker view scenes/drum.toml -o out/drum       the same, recorded as `esker run` does\n  esker view out/drum --no-open --port 8080     for another machine: ssh -L 8080:127.0.0.1:8080\n\n\
    The page is part of the program and is served to this machine alone, at an address with a \
    random token. Ctrl-C ends it."
)]
pub struct Arguments {
    /// Folder of a run, a recording (.h5), or a scene (.toml)
    what: PathBuf,
    /// Port to listen on [default: one that is free]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// Address to listen on; 0.0.0.0 lets others in who know the token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
    /// Record a scene to this folder while it runs [default: it is not recorded]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace an existing folder
    #[arg(long, requires = "output")]
    force: bool,
    /// Begin a scene with a pause
    #[arg(long)]
    paused: bool,
    /// Threads that a scene uses at most [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let stop = StopSignal::listen()?;
    let source = source(arguments)?;
    let options = Options {
        bind: arguments.bind,
        port: arguments.port,
    };
    let server = Server::bind(source, options).map_err(|error| match error {
        ViewError::PortInUse { .. } => anyhow!(
            "{error}; choose another one with --port, or leave it out and a free one is taken"
        ),
        error => error.into(),
    })?;
    let address = server.address();
    println!("{address}");
    crate::standard_output::flush();
    eprintln!("Ctrl-C ends it");
    if !arguments.no_open && !open_in_browser(&address) {
        eprintln!("note: no browser could be started; open the address above");
    }
    let shown = server.serve(|| stop.exit_code().is_some())?;
    match shown {
        Some(Source::Live(live)) => end_of_run(live),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Ends a live run and says what it came to.
fn end_of_run(live: LiveRun) -> anyhow::Result<ExitCode> {
    let state = live.state();
    let summary = live.finish();
    if let LiveState::Failed(why) = state {
        bail!("{why}");
    }
    if let Some(summary) = summary {
        println!("{summary}");
    }
    Ok(ExitCode::SUCCESS)
}

/// What is to be shown.
fn source(arguments: &Arguments) -> anyhow::Result<Source> {
    let what = &arguments.what;
    if is_scene(what) {
        return Ok(Source::Live(start(arguments)?));
    }
    if arguments.output.is_some() || arguments.paused || arguments.threads.is_some() {
        bail!(
            "--output, --paused and --threads are for scenes, and {} is a recording",
            what.display()
        );
    }
    let recorded = RecordedRun::open(what).map_err(|error| {
        anyhow!(
            "{} is neither a scene (.toml) nor a run with a recording: {error}",
            what.display()
        )
    })?;
    for gap in recorded.gaps() {
        eprintln!("warning: {gap}");
    }
    Ok(Source::Recorded(recorded))
}

fn is_scene(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) && !path.is_dir()
}

/// Loads a scene and starts it.
fn start(arguments: &Arguments) -> anyhow::Result<LiveRun> {
    let scene = LoadedScene::load(&arguments.what)?;
    for warning in scene.warnings() {
        eprintln!("warning: {warning}");
    }
    let mut simulation = Simulation::new(scene)?;
    if let Some(folder) = &arguments.output {
        simulation
            .record_to(folder, arguments.force)
            .map_err(advised)?;
    }
    for warning in simulation.take_warnings() {
        eprintln!("warning: {warning}");
    }
    let threads = most_threads(arguments.threads.map(usize::from));
    simulation.world_mut().set_max_threads(threads);
    Ok(match arguments.paused {
        true => LiveRun::start_paused(simulation),
        false => LiveRun::start(simulation),
    })
}

/// Asks the system to show an address; whether there was something to ask.
fn open_in_browser(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/c", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // Collected when it ends, which may be with the browser.
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
