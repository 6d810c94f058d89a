//! A run that is stopped and resumed, between any two steps and on any number
//! of threads, is the run that was never stopped, bit for bit.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::Partner;
use esker_world::definition::*;
use esker_world::{StepReport, World};
use glam::DVec3;

const THREADS: [usize; 4] = [1, 2, 3, 7];

/// Half of the edge of the box, m.
const HALF: f64 = 0.06;

fn boxed(low: [f64; 3], high: [f64; 3]) -> Region {
    let (low, high) = (DVec3::from(low), DVec3::from(high));
    Region::Box {
        half_extents: 0.5 * (high - low),
        pose: Pose::from_position(0.5 * (low + high)),
    }
}

fn block(half_extents: DVec3, position: DVec3, motion: Motion) -> WallDef {
    let shape = WallShape::Box {
        half_extents,
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    WallDef {
        motion,
        surface_velocity: DVec3::X * 0.1,
        ..wall(shape, Pose::from_position(position))
    }
}

/// A box of grains with a floor that shakes, a paddle that turns, a ram that
/// follows a table, a spout that pours grains of another material, a sink in
/// a corner and an open side to fall out of.
fn mill(method: Method, step: f64) -> WorldDef {
    let mut def = scene(
        material(2500.0, 1e7, 0.3),
        PairLaw {
            friction: 0.4,
            rolling: 0.02,
            restitution: 0.3,
            damping: 1e-4,
            ..Default::default()
        },
        method,
        step,
    );
    def.energy_ledger = true;
    def.materials.push(material(4000.0, 3e7, 0.2));
    let floor = WallDef {
        motion: Motion::Oscillate {
            direction: DVec3::Z,
            amplitude: 1.5e-3,
            frequency: 20.0,
            phase: 0.3,
        },
        ..floor()
    };
    let paddle = block(
        DVec3::new(0.04, 0.004, 0.006),
        DVec3::Z * 0.012,
        Motion::Rotate {
            axis: DVec3::Z,
            centre: DVec3::ZERO,
            rate: 12.0,
            start: 0.02,
            stop: 0.25,
        },
    );
    let ram = block(
        DVec3::new(0.006, HALF, 0.02),
        DVec3::new(-HALF, 0.0, 0.02),
        Motion::Table {
            times: vec![0.0, 0.05, 0.15, 0.2],
            displacements: vec![
                DVec3::ZERO,
                DVec3::ZERO,
                DVec3::X * 0.02,
                DVec3::new(0.02, 0.0, 0.01),
            ],
            angles: vec![0.0, 0.0, 0.1, 0.1],
            axis: DVec3::Y,
            centre: DVec3::X * -HALF,
        },
    );
    def.walls = vec![floor, paddle, ram];
    def.packings = vec![PackingDef {
        shape: None,
        material: 0,
        velocity: DVec3::new(0.1, 0.0, -0.2),
        placement: Placement::Lattice {
            region: boxed([-0.05, -HALF, 0.02], [HALF, HALF, 0.1]),
            spacing: None,
            jitter: 0.5,
            count: Some(150),
            sizes: SizeDistribution::Uniform {
                min: 4e-3,
                max: 6e-3,
            },
        },
    }];
    def.emitters = vec![EmitterDef {
        shape: None,
        name: "spout".into(),
        material: 1,
        region: boxed([-0.03, -0.03, 0.06], [0.03, 0.03, 0.09]),
        rate: Rate::Mass(0.8),
        sizes: SizeDistribution::Normal {
            mean: 4e-3,
            deviation: 5e-4,
            min: 3e-3,
            max: 5e-3,
        },
        velocity: DVec3::Z * -0.5,
        total: Total::Unlimited,
        start: 0.03,
        stop: 0.2,
    }];
    def.sinks = vec![SinkDef {
        name: "corner".into(),
        region: boxed([0.02, 0.02, -0.01], [0.1, 0.1, 0.01]),
    }];
    def.bounds = Some([DVec3::new(-0.1, -0.055, -0.1), DVec3::splat(0.2)]);
    def
}

/// The same with a stated accuracy: steps are halved and doubled.
fn accurate_mill(method: Method) -> WorldDef {
    WorldDef {
        accuracy: Some(0.01),
        longest_step: Some(8e-3),
        ..mill(method, 2e-3)
    }
}

/// What happened in a run, to be sure that it was one worth resuming.
#[derive(Default)]
struct Events {
    shorter: usize,
    longer: usize,
    emitted: usize,
    removed: usize,
    lost: usize,
    /// Steps in which each wall carried load.
    loaded: Vec<usize>,
}

impl Events {
    fn note(&mut self, world: &World, report: &StepReport, before: f64) {
        self.shorter += usize::from(report.step_length < before);
        self.longer += usize::from(report.step_length > before);
        self.emitted += report.emitted;
        self.removed += report.removed;
        self.lost += report.lost;
        self.loaded.resize(world.walls().len(), 0);
        for (count, wall) in self.loaded.iter_mut().zip(world.walls()) {
            *count += usize::from(wall.load.force != DVec3::ZERO);
        }
    }

    fn assert_complete(&self) {
        assert!(self.emitted > 20 && self.removed > 5 && self.lost > 5);
        assert!(self.loaded.iter().all(|&n| n > 10), "{:?}", self.loaded);
    }
}

/// What a step says, but for the time that it took and the threads that took it.
fn result(report: StepReport) -> StepReport {
    StepReport {
        times: Default::default(),
        threads: 0,
        ..report
    }
}

/// Runs a world, and beside it one that is saved and restored before every
/// step, on a changing number of threads.
fn resume_before_every_step(def: &WorldDef, steps: usize) -> Events {
    let mut world = build(def);
    let mut resumed = build(def);
    let mut events = Events::default();
    for step in 0..steps {
        let before = world.step_length();
        let saved = resumed.state();
        resumed = World::restore(def, saved.clone()).unwrap();
        assert_eq!(resumed.state(), saved, "step {step}");
        resumed.set_threads(THREADS[step % THREADS.len()]);
        let report = world.step().unwrap();
        assert_eq!(
            result(resumed.step().unwrap()),
            result(report),
            "step {step}"
        );
        assert!(resumed.state() == world.state(), "step {step}");
        events.note(&world, &report, before);
    }
    events
}

#[test]
fn a_sub_stepped_run_resumes_at_every_step_while_its_step_changes() {
    let events = resume_before_every_step(&accurate_mill(sub_stepped(15)), 600);
    events.assert_complete();
    assert!(events.shorter > 0 && events.longer > 0);
}

#[test]
fn a_whole_step_run_resumes_at_every_step_while_its_step_changes() {
    let events = resume_before_every_step(&accurate_mill(whole_step(30, history(0.85))), 1400);
    events.assert_complete();
    assert!(events.shorter > 0 && events.longer > 0);
}

#[test]
fn a_smooth_run_resumes_at_every_step() {
    let method = Method::Smooth(Smooth {
        substeps: 40,
        ..Default::default()
    });
    resume_before_every_step(&mill(method, 1e-3), 240).assert_complete();
}

/// Ten thousand grains are sorted in memory every 64 steps; the order is part
/// of what is saved.
#[test]
fn a_run_whose_grains_are_sorted_in_memory_resumes_around_the_sorting() {
    let mut def = accurate_mill(sub_stepped(10));
    def.longest_step = Some(4e-3);
    def.bounds = None;
    def.walls.push(wall(
        WallShape::Box {
            half_extents: DVec3::new(0.15, 0.15, 1.0),
            side: Side::Inside,
            open: OpenFaces::NONE,
        },
        Pose::IDENTITY,
    ));
    if let Placement::Lattice { region, count, .. } = &mut def.packings[0].placement {
        *region = boxed([-0.13, -0.15, 0.1], [0.15, 0.15, 0.4]);
        *count = Some(10_000);
    }
    let mut world = build(&def);
    let (mut saved, mut sorted) = (None, 0);
    for step in 0..=130_usize {
        let near_sorting = matches!(step % 64, 0..=2 | 61..);
        saved = near_sorting.then(|| saved.unwrap_or_else(|| world.state()));
        let first = world.grains().id()[..100].to_vec();
        world.step().unwrap();
        sorted += usize::from(first != world.grains().id()[..100]);
        if let Some(state) = &mut saved {
            let mut resumed = World::restore(&def, state.clone()).unwrap();
            resumed.set_threads(THREADS[step % THREADS.len()]);
            resumed.step().unwrap();
            *state = resumed.state();
            assert!(*state == world.state(), "step {step}");
        }
    }
    assert!(world.grains().len() > 9000 && sorted >= 3);
}

/// Sinks once took grains while the contacts of the step still named them by
/// dense index: accuracy, observers and equations read another grain's data.
#[test]
fn contacts_name_the_grains_that_are_there_after_a_sink_took_some() {
    for method in [sub_stepped(15), whole_step(30, history(0.85))] {
        let mut world = build(&mill(method, 2e-3));
        let mut removed = 0;
        for _ in 0..150 {
            let report = world.step().unwrap();
            removed += report.removed + report.lost;
            assert_eq!(report.grains, world.grains().len());
            for (contact, _) in world.contacts() {
                let id = |i: u32| world.grains().id()[i as usize];
                assert_eq!(contact.key.owner, id(contact.grain));
                match contact.partner {
                    Partner::Grain(j) => assert_eq!(contact.key.other, id(j).as_u64()),
                    Partner::Wall(w) => assert_eq!(contact.key.wall_index(), Some(w)),
                }
            }
        }
        assert!(removed > 20, "{removed}");
    }
}

/// Grains are neither gained nor lost on the books.
#[test]
fn every_grain_is_there_or_was_counted_out() {
    let mut world = build(&mill(sub_stepped(10), 2e-3));
    let mut present = world.grains().len();
    for _ in 0..150 {
        let report = world.step().unwrap();
        present = present + report.emitted - report.removed - report.lost;
        assert_eq!(present, world.grains().len());
    }
}

/// The equations of a step stay what they were until the next begins, also
/// where a wall that turns carries its belt along.
#[test]
fn the_last_problem_has_the_wall_velocities_of_its_step() {
    let mut world = build(&mill(sub_stepped(10), 2e-3));
    let mut seen = 0;
    for _ in 0..100 {
        let turned = world.walls()[1].pose;
        world.step().unwrap();
        let paddle = &world.walls()[1];
        assert_eq!(
            paddle.pose,
            paddle
                .motion
                .pose(&Pose::from_position(DVec3::Z * 0.012), world.time())
        );
        let belt = turned.orientation * paddle.surface_velocity;
        for (contact, _) in world.contacts() {
            if contact.partner == Partner::Wall(1) {
                let n = contact.normal;
                let expected = paddle.twist.at(contact.point) + belt - n * n.dot(belt);
                let found = paddle.surface_velocity_at(contact.point, n);
                assert!(found.distance(expected) < 1e-12);
                seen += 1;
            }
        }
    }
    assert!(seen > 10);
}
