//! The scenes of the cookbook give the numbers that it states, reduced to
//! fewer and larger grains so that all of them take seconds.

use std::path::{Path, PathBuf};

use esker::probe::{Probes, Row};
use esker::scene::Scene;
use esker::world::World;

/// A scene of the cookbook with some of its text replaced.
fn scene(name: &str, changes: &[(&str, &str)]) -> Scene {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/cookbook");
    let path: PathBuf = folder.join(format!("{name}.toml"));
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no `{from}`");
        text = text.replace(from, to);
    }
    esker::scene::parse(&text, name, &folder).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A run with the rows of its probes.
struct Run {
    scene: Scene,
    world: World,
    probes: Probes,
    rows: Vec<Row>,
}

impl Run {
    fn new(scene: Scene) -> Self {
        let world = World::new(&scene.world).unwrap();
        let mut probes = Probes::new(&scene.probes, &world);
        Run {
            rows: probes.first_rows(&world),
            scene,
            world,
            probes,
        }
    }

    fn until(&mut self, time: f64) {
        while self.world.time() < time - 1e-9 {
            let report = self.world.step().unwrap();
            self.rows
                .extend(self.probes.after_step(&self.world, &report));
        }
    }

    /// Times and values of a column of a probe.
    fn series(&self, probe: &str, column: &str) -> Vec<[f64; 2]> {
        let mut probes = self.scene.probes.iter();
        let index = probes.position(|p| p.name == probe).unwrap();
        let columns = self.scene.probes[index].columns();
        let at = columns.iter().position(|c| c.name == column).unwrap();
        let rows = self.rows.iter().filter(|row| row.probe == index);
        rows.map(|row| [row.time, row.values[at]]).collect()
    }

    fn last(&self, probe: &str, column: &str) -> f64 {
        self.series(probe, column).last().unwrap()[1]
    }

    /// Mean of a column over a period.
    fn mean(&self, probe: &str, column: &str, [from, to]: [f64; 2]) -> f64 {
        let series = self.series(probe, column);
        let chosen = series.iter().filter(|[t, _]| (from..=to).contains(t));
        let values: Vec<f64> = chosen.map(|[_, value]| *value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn weight(&self) -> f64 {
        9.81 * self.world.grains().mass().iter().sum::<f64>()
    }
}

/// Aspect ratio and run-out over the radius of a collapsed column, one of several.
fn collapse(count: u32, seed: u32) -> [f64; 2] {
    const RADIUS: f64 = 0.04;
    let mut run = Run::new(scene(
        "column-collapse",
        &[
            ("duration", &format!("seed = {seed}\nduration")),
            ("count = 1750", &format!("count = {count}")),
            ("[0.0045, 0.0055]", "[0.006, 0.007]"),
            ("step = 2.5e-4", "step = 4e-4"),
        ],
    ));
    run.until(0.3);
    let grains = &run.world.grains();
    let height = grains.position().iter().map(|x| x.z).sum::<f64>() / grains.len() as f64;
    run.until(0.9);
    let front = run.last("run-out", "front");
    [2.0 * height / RADIUS, front / RADIUS - 1.0]
}

/// Lube and others (2004): 1.24 a for a < 1.7; the cookbook says 1.2 to 1.6.
#[test]
fn a_column_runs_out_by_its_height() {
    // The foremost of a few hundred grains scatter by some diameters.
    let columns = [1, 2, 3].map(|seed| collapse(750, seed));
    let [aspect, run_out] = [0, 1].map(|k| columns.map(|c| c[k]).iter().sum::<f64>() / 3.0);
    println!("a = {aspect:.2}: {:.2} a of {columns:?}", run_out / aspect);
    assert!((0.9..1.1).contains(&aspect), "{aspect}");
    assert!((1.2..1.6).contains(&(run_out / aspect)), "{columns:?}");
}

/// Before the base gives way it may carry anything; afterwards the wall carries
/// what friction allows.
#[test]
fn a_lowered_base_carries_a_part_of_the_weight() {
    let mut run = Run::new(scene(
        "janssen-silo",
        &[
            ("[0.0054, 0.0066]", "[0.0072, 0.0088]"),
            ("count = 1600", "count = 650"),
            ("times = [1.0, 1.3]", "times = [0.5, 0.8]"),
            ("substeps = 40", "substeps = 25"),
        ],
    ));
    run.until(1.2);
    let weight = run.weight();
    let load = |period| -run.mean("base", "force_z", period) / weight;
    let (before, after) = (load([0.4, 0.5]), load([1.1, 1.2]));
    println!("base carries {before:.3} before, {after:.3} after, of {weight:.2} N");
    let wall = -run.mean("tube", "force_z", [1.1, 1.2]) / weight;
    assert!((after + wall - 1.0).abs() < 0.01, "{after} {wall}");
    assert!((0.15..0.5).contains(&after), "{after}");
    assert!(before > after + 0.1, "{before} {after}");
}

#[test]
fn the_brazil_nut_rises() {
    let mut run = Run::new(scene(
        "brazil-nut",
        &[
            ("count = 900", "count = 400"),
            ("step = 5e-4", "step = 8e-4"),
            ("[0.0055, 0.0065]", "[0.0068, 0.0078]"),
            ("diameter = 0.02", "diameter = 0.024"),
            ("0.021], [0.03", "0.025], [0.03"),
        ],
    ));
    run.until(3.0);
    let series = run.series("nut", "segregation");
    let [start, end] = [series[0][1], series[series.len() - 1][1]];
    println!("segregation {start:.2} to {end:.2}");
    assert!(start < -0.99 && end > 0.3, "{start} {end}");
}

/// Beverloo's law with the constants of spheres. Five large grains across the
/// outlet flow less freely than the eight of the scene.
#[test]
fn the_hopper_empties_as_beverloo_says() {
    let diameter = 0.0075;
    let mut run = Run::new(scene(
        "hopper-belt",
        &[
            ("[0.0045, 0.0055]", "[0.007, 0.008]"),
            ("count = 5000", "count = 1450"),
        ],
    ));
    run.until(0.9);
    let flow = run.mean("outlet", "mass_flow", [0.6, 0.9]);
    let bulk_density = 0.58 * 1200.0;
    let opening: f64 = 0.04 - 1.4 * diameter;
    let law = 0.58 * bulk_density * 9.81_f64.sqrt() * opening.powf(2.5);
    println!("{flow:.3} kg/s of {law:.3} kg/s");
    assert!((0.65..1.15).contains(&(flow / law)), "{flow} {law}");
}

#[test]
fn the_mixer_mixes() {
    let mut run = Run::new(scene(
        "paddle-mixer",
        &[
            ("diameter = 0.006", "diameter = 0.008"),
            ("step = 5e-4", "step = 6e-4"),
        ],
    ));
    run.until(2.0);
    let series = run.series("mixing", "lacey");
    let [start, end] = [series[0][1], series[series.len() - 1][1]];
    println!("Lacey's index {start:.2} to {end:.2}");
    assert!(start < 0.2 && end > 0.6, "{start} {end}");
    assert!(run.mean("paddle", "power", [0.6, 2.0]) > 0.0);
}

#[test]
fn the_screw_carries_the_bulk_by_most_of_its_pitch() {
    let mut run = Run::new(scene(
        "screw-conveyor",
        &[
            ("diameter = 0.006", "diameter = 0.009"),
            ("step = 3e-4", "step = 6e-4"),
        ],
    ));
    run.until(1.2);
    let velocity = run.mean("bulk", "velocity_x", [0.7, 1.2]);
    let pitch_speed = 0.04;
    println!("{velocity:.4} m/s of {pitch_speed} m/s");
    assert!((0.5..1.0).contains(&(velocity / pitch_speed)), "{velocity}");
    assert!(run.mean("carried", "mass_flow", [0.7, 1.2]) > 0.0);
}

/// The shaft turns against the weight of the charge, whose centre of mass the flow keeps to one side:
/// in steady flow torque over weight is that lever arm.
#[test]
fn the_torque_of_the_drum_holds_the_lever_arm_of_its_charge() {
    let mut run = Run::new(scene(
        "rotating-drum",
        &[
            ("[0.011, 0.013]", "[0.016, 0.019]"),
            ("count = 1500", "count = 450"),
        ],
    ));
    run.until(1.5);
    let mass: f64 = run.world.grains().mass().iter().sum();
    let mut arms = Vec::new();
    for frame in 1..=50 {
        run.until(1.5 + 0.02 * f64::from(frame));
        let grains = run.world.grains();
        let places = grains.position().iter().zip(grains.mass());
        arms.push(places.map(|(x, m)| m * x.x).sum::<f64>() / mass);
    }
    let held = run.weight() * arms.iter().sum::<f64>() / arms.len() as f64;
    // Grains turn the shell back: their torque has the sign of the side that they are lifted to.
    let torque = run.mean("shaft", "torque_y", [1.55, 2.5]);
    println!("torque {torque:.3} N m, weight times arm {held:.3} N m");
    assert!(torque < -0.5, "{torque}");
    assert!((torque / held - 1.0).abs() < 0.05, "{torque} {held}");
}

/// What is fed lies on the belt as thick as its speed says, and the belt gives it the speed that it
/// lacks: load = feed/speed, power = feed × speed × (speed − that of the feed).
#[test]
fn a_belt_carries_its_feed_and_takes_the_power_that_speeds_it_up() {
    const FEED: f64 = 2.0;
    const SPEED: f64 = 0.8;
    const FED_AT: f64 = 0.5;
    let mut run = Run::new(scene(
        "belt-conveyor",
        &[
            ("[0.012, 0.018]", "[0.018, 0.024]"),
            ("step = 5e-4", "step = 8e-4"),
        ],
    ));
    run.until(3.6);
    let load = run.mean("load", "mass", [2.2, 3.6]) / 0.5;
    let power = run.mean("belt", "power", [2.2, 3.6]);
    println!("{load:.3} kg/m, {power:.3} W");
    assert!((load / (FEED / SPEED) - 1.0).abs() < 0.05, "{load}");
    let needed = FEED * SPEED * (SPEED - FED_AT);
    assert!((power / needed - 1.0).abs() < 0.1, "{power} {needed}");
}

/// It starts and ends at rest, so that its contacts have carried its weight on average: impacts are
/// in the loads.
#[test]
fn a_ball_that_falls_into_a_bed_stops_and_its_contacts_carry_its_weight_on_average() {
    let mut run = Run::new(scene(
        "impact",
        &[
            ("[0.0055, 0.0065]", "[0.0105, 0.0115]"),
            ("count = 6000", "count = 900"),
            ("step = 2.5e-4", "step = 5e-4"),
        ],
    ));
    let row = run.world.grains().count();
    let mass = run.world.grains().mass()[row];
    run.until(0.2);
    let grains = run.world.grains();
    let surface = 2.0 * grains.position()[..row].iter().map(|x| x.z).sum::<f64>() / row as f64;
    run.until(0.55);
    let force = run.world.bodies()[0].total_load.impulse.z / 0.55 / (9.81 * mass);
    let depth = surface - (run.world.grains().position()[row].z - 0.0127);
    println!("{:.1} mm deep, mean force {force:.4} weights", 1e3 * depth);
    assert!((force - 1.0).abs() < 0.01, "{force}");
    assert!((0.003..0.015).contains(&depth), "{depth}");
}
