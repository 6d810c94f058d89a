//! One contact problem, solved with every solver: `cargo run --release -p esker --example
//! every_solver`.

use esker::contact::{BodyOperator, FrictionLaw, Measure};
use esker::solver::Stopping;
use esker::solver::registry::{compare, registry};
use esker::{LoadedScene, Simulation, Until};

const SCENE: &str = r#"
    duration = 0.3
    step = 1e-3
    material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
    pair = [{ materials = ["glass", "glass"], friction = 0.5 }]
    wall = [{ name = "cup", shape = "cylinder", radius = 0.03, length = 0.1, caps = true }]

    [[grains]]
    place = "lattice"
    count = 60
    diameter = 0.01
    region = { cylinder = { radius = 0.028, length = 0.09 } }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut simulation = Simulation::new(LoadedScene::parse(SCENE, "cup", ".")?)?;
    simulation.run(
        Until::time(0.3),
        || false,
        |_, _| Ok::<(), esker::Error>(()),
    )?;
    let problem = simulation.world_mut().problem_ahead()?;
    let stop = Stopping {
        law: FrictionLaw::Coulomb,
        measure: Measure::NaturalMap,
        tolerance: 1e-8,
        iterations: 1_000_000,
        seconds: Some(5.0),
    };
    let names: Vec<&str> = registry().iter().map(|entry| entry.name).collect();
    println!("{} contacts", problem.contacts.len());
    for report in compare(&names, &BodyOperator::new(&problem)?, &stop)? {
        println!(
            "{:24} {:14} natural map {:.1e} after {} iterations, {:.1} ms",
            report.solver,
            report.status.word(),
            report.residuals.natural_map,
            report.iterations,
            1e3 * report.seconds
        );
    }
    Ok(())
}
