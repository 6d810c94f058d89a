//! `esker plan`: what smooth and nonsmooth stepping would cost.

use clap::Args;
use esker_cost::{Cost, System, TableRow, UnitCosts};
use serde::Serialize;

use crate::exit_code::ExitCode;

/// Estimate steps, sweeps and computing time before writing a scene.
///
/// Uses the cost formulas of the literature; with --table, reproduces the
/// table that they were published with.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  esker plan --diameter 0.01 --young 1e7 --height 100 --width 15\n  \
                        esker plan --table\n  esker plan --diameter 0.02 --young 1e9 --height 30 \
                        --width 50 --inertial-number 0.1 --error 0.05 --json"
)]
pub struct Arguments {
    /// Print the published table, as printed and as computed
    #[arg(long)]
    table: bool,
    /// Grain diameter, m
    #[arg(long, default_value_t = 0.01, value_parser = positive)]
    diameter: f64,
    /// Young's modulus, Pa
    #[arg(long, default_value_t = 1e7, value_parser = positive)]
    young: f64,
    /// Poisson's ratio
    #[arg(long, default_value_t = 0.3, value_parser = poisson)]
    poisson: f64,
    /// Density of grains, kg/m³
    #[arg(long, default_value_t = 2500.0, value_parser = positive)]
    density: f64,
    /// Extent of the bed along gravity, in diameters
    #[arg(long, default_value_t = 20.0, value_parser = positive)]
    height: f64,
    /// Extent across, in diameters
    #[arg(long, default_value_t = 20.0, value_parser = positive)]
    width: f64,
    /// Number of grains; from height and width (square) if not given
    #[arg(long, value_parser = positive)]
    grains: Option<f64>,
    /// Contacts per grain
    #[arg(long, default_value_t = 3.0, value_parser = positive)]
    contacts: f64,
    /// Inertial number: 0 at rest, 0.1 in a dense flow, 1 in a gas
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    inertial_number: f64,
    /// Typical speed of impacts, m/s; from the inertial number if not given
    #[arg(long, value_parser = not_negative)]
    speed: Option<f64>,
    /// Accepted overlap, in diameters
    #[arg(long, default_value_t = 0.01, value_parser = positive)]
    error: f64,
    /// Seconds per contact and sweep on your machine
    #[arg(long, default_value_t = UnitCosts::OURS.sweep, value_parser = positive)]
    sweep_cost: f64,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

fn number(text: &str, allowed: impl Fn(f64) -> bool, what: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && allowed(x) => Ok(x),
        _ => Err(format!("needs {what}")),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |x| x > 0.0, "a number above zero")
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |x| x >= 0.0, "a number that is not negative")
}

fn poisson(text: &str) -> Result<f64, String> {
    number(
        text,
        |x| x > -1.0 && x < 0.5,
        "a number above -1 and below 0.5",
    )
}

/// The answer for one system.
#[derive(Serialize)]
struct Plan {
    system: System,
    cost: Cost,
    advice: Advice,
}

/// What to do.
#[derive(Serialize)]
struct Advice {
    method: &'static str,
    step: f64,
    sweeps: u64,
    /// Seconds of computing per simulated second, one core.
    effort: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.table {
        show_table(arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = plan(arguments);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&plan)?);
    } else {
        show(&plan);
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &Arguments) -> Plan {
    let ours = UnitCosts::OURS;
    let scale = arguments.sweep_cost / ours.sweep;
    let unit = UnitCosts {
        sweep: arguments.sweep_cost,
        substep: ours.substep * scale,
        smooth: ours.smooth * scale,
    };
    let volume = std::f64::consts::PI / 6.0 * arguments.diameter.powi(3);
    let mut system = System {
        diameter: arguments.diameter,
        young: arguments.young,
        poisson: arguments.poisson,
        mass: arguments.density * volume,
        grains: arguments
            .grains
            .unwrap_or(arguments.height * arguments.width * arguments.width),
        contacts_per_grain: arguments.contacts,
        height: arguments.height,
        width: arguments.width,
        inertial_number: arguments.inertial_number,
        speed: 0.0,
        tolerance: arguments.error,
        longest_step: f64::MAX,
    };
    system.speed = arguments.speed.unwrap_or_else(|| system.speed_of_flow());
    let cost = system.cost(&unit);
    let ways = [
        (
            "substepped",
            cost.step_nonsmooth,
            cost.substeps,
            cost.effort_substepped,
        ),
        (
            "gauss-seidel",
            cost.step_nonsmooth,
            cost.sweeps_warm,
            cost.effort_warm,
        ),
        ("smooth", cost.step_smooth, 1.0, cost.effort_smooth),
    ];
    let (method, step, sweeps, effort) = ways
        .into_iter()
        .min_by(|a, b| a.3.total_cmp(&b.3))
        .unwrap_or(ways[0]);
    Plan {
        system,
        cost,
        advice: Advice {
            method,
            step,
            sweeps: sweeps.ceil() as u64,
            effort,
        },
    }
}

fn show(plan: &Plan) {
    let (s, c) = (&plan.system, &plan.cost);
    println!(
        "{:.0} grains of {} mm, {:.0} d high and {:.0} d wide, contacts at {:.2e} m/s, overlap up to {} %\n",
        s.grains,
        1e3 * s.diameter,
        s.height,
        s.width,
        s.speed,
        100.0 * s.tolerance
    );
    println!(
        "{:<28} {:>10} {:>12} {:>22}",
        "way", "step", "sweeps", "computing s per s"
    );
    let line = |name: &str, step: f64, sweeps: f64, effort: f64| {
        println!(
            "{name:<28} {:>7.3} ms {:>12.0} {:>22.3}",
            1e3 * step,
            sweeps.ceil(),
            effort
        );
    };
    line(
        "sub-stepped",
        c.step_nonsmooth,
        c.substeps,
        c.effort_substepped,
    );
    line(
        "whole step, warm",
        c.step_nonsmooth,
        c.sweeps_warm,
        c.effort_warm,
    );
    line(
        "whole step, cold",
        c.step_nonsmooth,
        c.sweeps,
        c.effort_nonsmooth,
    );
    line("smooth (springs)", c.step_smooth, 1.0, c.effort_smooth);
    println!(
        "\nadvice: {} with step = {:.2e} s and {} sweeps per step: {:.3} s of computing per simulated second on one core",
        plan.advice.method, plan.advice.step, plan.advice.sweeps, plan.advice.effort
    );
}

fn show_table(json: bool) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Row {
        #[serde(flatten)]
        row: TableRow,
        computed: Cost,
    }
    let rows: Vec<Row> = esker_cost::table()
        .into_iter()
        .map(|row| Row {
            row,
            computed: row.system.cost(&UnitCosts::PAPER),
        })
        .collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!("computed (printed in Servin et al. 2014, Table I)");
    println!(
        "{:>3} {:>8} {:>8} {:>16} {:>20} {:>20} {:>20} {:>20} {:>20}",
        "row",
        "d (mm)",
        "E (GPa)",
        "sweeps",
        "h_S (ms)",
        "h_N (ms)",
        "smooth s/s",
        "nonsmooth s/s",
        "ratio"
    );
    for Row { row, computed: c } in &rows {
        let found = [
            c.sweeps,
            1e3 * c.step_smooth,
            1e3 * c.step_nonsmooth,
            c.effort_smooth,
            c.effort_nonsmooth,
            c.ratio,
        ];
        print!(
            "{:>3} {:>8} {:>8}",
            row.row,
            1e3 * row.system.diameter,
            1e-9 * row.system.young
        );
        print!(" {:>16}", format!("{:.0} ({})", found[0], row.printed[0]));
        for (value, printed) in found.iter().zip(row.printed).skip(1) {
            print!(" {:>20}", format!("{value:.2e} ({printed})"));
        }
        println!();
    }
    Ok(())
}
