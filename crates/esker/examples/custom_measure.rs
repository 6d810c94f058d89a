//! A measure of one's own while a simulation runs: the granular temperature of a bed that comes
//! to rest, and how long that takes. `cargo run --release -p esker --example custom_measure`.

use esker::world::World;
use esker::{Error, LoadedScene, Simulation, Until};
use glam::DVec3;

const SCENE: &str = r#"
    duration = 1.0
    step = 5e-4
    material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
    pair = [{ materials = ["glass", "glass"], friction = 0.4, restitution = 0.8 }]
    wall = [{ name = "bin", shape = "box", size = [0.1, 0.1, 0.2] }]

    [[grains]]
    place = "lattice"
    count = 500
    diameter = 0.008
    region = { box = [[-0.045, -0.045, -0.095], [0.045, 0.045, 0.095]] }
"#;

/// A third of the mean square of velocities about their mean, m²/s².
fn granular_temperature(world: &World) -> f64 {
    let grains = world.grains();
    let velocities = || grains.state()[..grains.count()].iter().map(|s| s.velocity);
    let count = grains.count() as f64;
    let mean = velocities().sum::<DVec3>() / count;
    velocities().map(|v| v.distance_squared(mean)).sum::<f64>() / (3.0 * count)
}

fn main() -> Result<(), Error> {
    let mut simulation = Simulation::new(LoadedScene::parse(SCENE, "bin", ".")?)?;
    let (mut hottest, mut calm) = ((0.0, 0.0), None);
    simulation.run(
        Until::time(1.0),
        || false,
        |simulation, report| {
            let temperature = granular_temperature(simulation.world());
            if temperature > hottest.1 {
                (hottest, calm) = ((report.time, temperature), None);
            } else if calm.is_none() && temperature < 0.01 * hottest.1 {
                calm = Some(report.time);
            }
            Ok::<(), Error>(())
        },
    )?;
    println!("hottest at {:.3} s: {:.2e} m²/s²", hottest.0, hottest.1);
    match calm {
        Some(time) => println!("a hundredth of that {:.3} s later", time - hottest.0),
        None => println!("still above a hundredth of that at the end"),
    }
    Ok(())
}
