//! The same settled box in Esker and in Rapier: time and overlap, side by side.
//!
//! Esker fills a box with 4,096 spheres of 10 mm and lets them come to rest.
//! Every way of stepping then starts from these positions with all velocities
//! zero, takes [`SETTLING`] steps of 5 ms to find its own rest, and is timed
//! over [`TIMED`] more, on one thread: the smallest processor time of a step.
//! Overlaps are measured from the positions, by the same code for all.
//!
//! Rapier is shown in two ways: as fast as it gets, and sub-stepped with the
//! contact softness that leaves the smallest overlap among those of
//! [`FREQUENCIES`] and [`DAMPING_RATIOS`].

#[path = "../../../crates/esker-cli/src/commands/bench/bed.rs"]
#[allow(dead_code)] // Benchmarks of Esker alone use more of it.
mod bed;

use bed::{BOX_GRAINS, DIAMETER, RowCount, STEP, SettledBox, WIDTH, sub_stepped};
use cpu_time::ThreadTime;
use esker_geometry::BroadPhase;
use esker_world::World;
use esker_world::definition::{Method, WholeStep};
use glam::DVec3;
use rapier3d::prelude::{
    CCDSolver, ColliderBuilder, ColliderSet, DefaultBroadPhase, FrictionModel, ImpulseJointSet,
    IntegrationParameters, IslandManager, MultibodyJointSet, NarrowPhase, PhysicsPipeline,
    RigidBodyBuilder, RigidBodyHandle, RigidBodySet, SharedShape, SpringCoefficients, Vector,
};

/// Sweeps per step, in every way of stepping.
const SWEEPS: usize = 50;
/// Steps before the clock starts.
const SETTLING: usize = 100;
/// Steps that are timed.
const TIMED: usize = 30;
const FRICTION: f32 = 0.5;
const DENSITY: f32 = 2500.0;
const GRAVITY: f32 = 9.81;

/// Something that steps the box.
trait Stepper {
    fn step(&mut self) -> anyhow::Result<()>;
    /// Centres now, m.
    fn positions(&self) -> Vec<DVec3>;
    /// Contacts that a sweep goes through.
    fn contacts(&self) -> usize;
}

struct Esker {
    world: World,
    contacts: usize,
}

impl Stepper for Esker {
    fn step(&mut self) -> anyhow::Result<()> {
        self.contacts = self.world.step()?.contacts;
        Ok(())
    }

    fn positions(&self) -> Vec<DVec3> {
        self.world.grains().position().to_vec()
    }

    fn contacts(&self) -> usize {
        self.contacts
    }
}

/// Everything that Rapier's `step` asks for.
struct Rapier {
    parameters: IntegrationParameters,
    pipeline: PhysicsPipeline,
    islands: IslandManager,
    broad_phase: DefaultBroadPhase,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    ccd: CCDSolver,
    grains: Vec<RigidBodyHandle>,
}

impl Rapier {
    fn new(positions: &[DVec3], parameters: IntegrationParameters) -> Self {
        let mut bodies = RigidBodySet::new();
        let mut colliders = ColliderSet::new();
        let grains = positions.iter().map(|x| {
            let body = RigidBodyBuilder::dynamic()
                .translation(single(*x))
                .can_sleep(false);
            let handle = bodies.insert(body);
            let ball = ColliderBuilder::ball(0.5 * DIAMETER as f32)
                .friction(FRICTION)
                .density(DENSITY);
            colliders.insert_with_parent(ball, handle, &mut bodies);
            handle
        });
        let grains = grains.collect();
        let far = DVec3::new(WIDTH, WIDTH, 0.0);
        let planes = [
            (DVec3::ZERO, DVec3::Z),
            (DVec3::ZERO, DVec3::X),
            (DVec3::ZERO, DVec3::Y),
            (far, -DVec3::X),
            (far, -DVec3::Y),
        ];
        for (point, normal) in planes {
            let plane = ColliderBuilder::new(SharedShape::halfspace(single(normal)))
                .translation(single(point))
                .friction(FRICTION);
            colliders.insert(plane);
        }
        Rapier {
            parameters,
            pipeline: PhysicsPipeline::new(),
            islands: IslandManager::new(),
            broad_phase: DefaultBroadPhase::new(),
            narrow_phase: NarrowPhase::new(),
            bodies,
            colliders,
            impulse_joints: ImpulseJointSet::new(),
            multibody_joints: MultibodyJointSet::new(),
            ccd: CCDSolver::new(),
            grains,
        }
    }
}

impl Stepper for Rapier {
    fn step(&mut self) -> anyhow::Result<()> {
        self.pipeline.step(
            Vector::new(0.0, 0.0, -GRAVITY),
            &self.parameters,
            &mut self.islands,
            &mut self.broad_phase,
            &mut self.narrow_phase,
            &mut self.bodies,
            &mut self.colliders,
            &mut self.impulse_joints,
            &mut self.multibody_joints,
            &mut self.ccd,
            &(),
            &(),
        );
        Ok(())
    }

    fn positions(&self) -> Vec<DVec3> {
        let place = |handle: &RigidBodyHandle| {
            let x = self.bodies[*handle].translation();
            DVec3::new(x.x.into(), x.y.into(), x.z.into())
        };
        self.grains.iter().map(place).collect()
    }

    fn contacts(&self) -> usize {
        let pairs = self.narrow_phase.contact_pairs();
        let manifolds = pairs.flat_map(|pair| &pair.manifolds);
        manifolds.map(|m| m.data.solver_contacts.len()).sum()
    }
}

fn single(x: DVec3) -> Vector {
    Vector::new(x.x as f32, x.y as f32, x.z as f32)
}

/// Rapier as quick as it gets: all sweeps in one step, its own softness.
fn fastest() -> IntegrationParameters {
    IntegrationParameters {
        dt: STEP as f32,
        length_unit: DIAMETER as f32,
        num_solver_iterations: 1,
        num_internal_pgs_iterations: SWEEPS,
        num_internal_stabilization_iterations: 1,
        friction_model: FrictionModel::Simplified,
        ..Default::default()
    }
}

/// Rapier with a substep per sweep, contacts this stiff (Hz), and no overlap
/// allowed on purpose.
fn sub_stepped_rapier(frequency: f32, damping_ratio: f32) -> IntegrationParameters {
    IntegrationParameters {
        num_solver_iterations: SWEEPS,
        num_internal_pgs_iterations: 1,
        normalized_allowed_linear_error: 0.0,
        contact_softness: SpringCoefficients::new(frequency, damping_ratio),
        friction_model: FrictionModel::Coulomb,
        ..fastest()
    }
}

/// Natural frequencies that are tried, Hz: Rapier's own is 30.
const FREQUENCIES: [f32; 4] = [30.0, 120.0, 480.0, 1920.0];
/// Damping ratios that are tried: Rapier's own is 5.
const DAMPING_RATIOS: [f32; 2] = [1.0, 5.0];

/// The sub-stepped Rapier that leaves the smallest overlap.
fn best_rapier(positions: &[DVec3]) -> anyhow::Result<Outcome> {
    let mut best: Option<Outcome> = None;
    for frequency in FREQUENCIES {
        for damping_ratio in DAMPING_RATIOS {
            let parameters = sub_stepped_rapier(frequency, damping_ratio);
            let name = format!("rapier, sub-stepped (f32), {frequency} Hz, {damping_ratio}");
            let outcome = measure(name, &mut Rapier::new(positions, parameters))?;
            if best
                .as_ref()
                .is_none_or(|b| outcome.mean_overlap < b.mean_overlap)
            {
                best = Some(outcome);
            }
        }
    }
    best.ok_or_else(|| anyhow::anyhow!("no softness to try"))
}

/// One line of the table.
struct Outcome {
    name: String,
    seconds_per_step: f64,
    contacts: usize,
    mean_overlap: f64,
    greatest_overlap: f64,
}

impl Outcome {
    fn seconds_per_contact_sweep(&self) -> f64 {
        self.seconds_per_step / (self.contacts * SWEEPS) as f64
    }
}

fn measure(name: impl Into<String>, stepper: &mut dyn Stepper) -> anyhow::Result<Outcome> {
    for _ in 0..SETTLING {
        stepper.step()?;
    }
    let mut best = f64::INFINITY;
    for _ in 0..TIMED {
        let start = ThreadTime::now();
        stepper.step()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let [mean_overlap, greatest_overlap] = overlaps(&stepper.positions());
    Ok(Outcome {
        name: name.into(),
        seconds_per_step: best,
        contacts: stepper.contacts(),
        mean_overlap,
        greatest_overlap,
    })
}

/// Mean and largest overlap of the spheres that overlap, in diameters.
fn overlaps(positions: &[DVec3]) -> [f64; 2] {
    let mut pairs = Vec::new();
    let reach = vec![0.5 * DIAMETER; positions.len()];
    if BroadPhase::new()
        .find_pairs(positions, &reach, &mut pairs)
        .is_err()
    {
        return [f64::NAN; 2];
    }
    let overlap = |[i, j]: &[u32; 2]| {
        1.0 - positions[*i as usize].distance(positions[*j as usize]) / DIAMETER
    };
    let (sum, greatest) = pairs
        .iter()
        .map(overlap)
        .fold((0.0, 0.0), |(sum, max), x| (sum + x, f64::max(max, x)));
    [sum / pairs.len().max(1) as f64, greatest]
}

fn main() -> anyhow::Result<()> {
    let settled = SettledBox::prepare(1)?;
    let esker = |method: Method| -> anyhow::Result<Esker> {
        let world = settled.bed(BOX_GRAINS, RowCount::Three, method)?;
        Ok(Esker { world, contacts: 0 })
    };
    let positions = esker(sub_stepped(SWEEPS))?.positions();
    println!(
        "{} spheres of {} mm, friction {FRICTION}, steps of {} ms, {SWEEPS} sweeps, one thread\n",
        positions.len(),
        DIAMETER * 1e3,
        STEP * 1e3
    );
    let whole = Method::WholeStep(WholeStep {
        sweeps: SWEEPS,
        ..Default::default()
    });
    let outcomes = [
        measure("esker, sub-stepped (f64)", &mut esker(sub_stepped(SWEEPS))?)?,
        measure("esker, whole step (f64)", &mut esker(whole)?)?,
        measure(
            "rapier, fastest (f32)",
            &mut Rapier::new(&positions, fastest()),
        )?,
        best_rapier(&positions)?,
    ];
    println!(
        "{:42} {:>9} {:>9} {:>17} {:>13} {:>13} {:>11} {:>13}",
        "",
        "contacts",
        "per step",
        "per contact-sweep",
        "mean overlap",
        "max overlap",
        "time ratio",
        "overlap ratio"
    );
    let first = &outcomes[0];
    for o in &outcomes {
        println!(
            "{:42} {:9} {:6.2} ms {:14.1} ns {:11.2e} d {:11.2e} d {:11.2} {:13.2}",
            o.name,
            o.contacts,
            o.seconds_per_step * 1e3,
            o.seconds_per_contact_sweep() * 1e9,
            o.mean_overlap,
            o.greatest_overlap,
            o.seconds_per_contact_sweep() / first.seconds_per_contact_sweep(),
            o.mean_overlap / first.mean_overlap,
        );
    }
    println!("\nratios are to the first line");
    Ok(())
}
