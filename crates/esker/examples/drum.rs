//! A rotating drum in thirty lines: `cargo run --release -p esker --example drum -- out/my-drum`.
//! With a folder the run is recorded, for `esker render`, `measure` and `report`.

use esker::{Error, LoadedScene, Simulation, Until};

const SCENE: &str = r#"
    duration = 2.0
    step = 1e-3
    record.every = 0.05
    material.pellet = { density = 3700, young = 1e7, poisson = 0.3 }
    pair = [{ materials = ["pellet", "pellet"], friction = 0.5, rolling = 0.1, restitution = 0.2 }]

    [[wall]]
    name = "drum"
    shape = "cylinder"
    axis = [0, 1, 0]
    radius = 0.15
    length = 0.06
    caps = true
    motion = { type = "rotate", axis = [0, 1, 0], rate = 2.0 }

    [[grains]]
    place = "lattice"
    count = 400
    diameter = 0.012
    region = { cylinder = { axis = [0, 1, 0], radius = 0.148, length = 0.058 } }
"#;

fn main() -> Result<(), Error> {
    let mut simulation = Simulation::new(LoadedScene::parse(SCENE, "drum", ".")?)?;
    if let Some(folder) = std::env::args().nth(1) {
        simulation.record_to(folder, false)?;
    }
    simulation.run(
        Until::time(2.0),
        || false,
        |_, report| {
            if report.reached_multiple_of(0.25) {
                println!("{:.2} s: {} contacts", report.time, report.contacts);
            }
            Ok::<(), Error>(())
        },
    )?;
    println!("{}", simulation.finish()?);
    Ok(())
}
