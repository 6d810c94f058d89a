//! A step of a device from the chosen candidates on has the bits of the CPU: grains, what is
//! remembered of contacts, loads of walls, measures.

use std::path::Path;

use esker_gpu::resident::advance::{AdvanceInput, Advancer, SentCandidates};
use esker_gpu::resident::find::{Finder, HistoryAddress};
use esker_gpu::resident::grains::ResidentGrains;
use esker_gpu::resident::look::Looker;
use esker_gpu::resident::meshes::Meshes;
use esker_gpu::{Executor, Host};
use esker_solver::plan::MOST_FLAT;
use esker_world::resident_rows::numbers_of;
use esker_world::{StepErrors, StepReport, World};

fn world_after(scene: &str, steps: usize) -> World {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let scene = esker_scene::load(scenes.join(scene)).expect("a shipped scene is right");
    let mut world = World::new(&scene.world).expect("a shipped scene has a world");
    world.set_device_order(true);
    for _ in 0..steps {
        world.step().expect("a step");
    }
    world
}

/// A device with the grains of a world; contacts are found by the CPU.
struct Twin<E: Executor> {
    executor: E,
    grains: ResidentGrains<E>,
    finder: Finder<E>,
    advancer: Advancer<E>,
    candidates: SentCandidates<E>,
    looker: Looker<E>,
    meshes: Meshes<E>,
    rows: usize,
    impacts: usize,
    residuals: usize,
    is_flat: bool,
}

impl<E: Executor> Twin<E> {
    fn new(executor: E) -> Self {
        Twin {
            executor,
            grains: ResidentGrains::default(),
            finder: Finder::default(),
            advancer: Advancer::default(),
            candidates: SentCandidates::default(),
            looker: Looker::default(),
            meshes: Meshes::default(),
            rows: 0,
            impacts: 0,
            residuals: 0,
            is_flat: false,
        }
    }

    /// Makes a step on both.
    fn step(&mut self, world: &mut World, is_first: bool) {
        let mut numbers = None;
        let report = world
            .step_observed(|world| numbers = Some(self.step_on_device(world, is_first)))
            .expect("a step");
        let numbers = numbers.expect("a step of the device");
        assert_eq!(numbers.obstacle, 0);
        assert_eq!(numbers.contacts as usize, report.contacts);
        assert_eq!(
            numbers.touching as usize, report.touching,
            "contacts that touch"
        );
        assert_eq!(f64::from_bits(numbers.max_overlap), report.max_overlap);
        let mean = numbers.overlap_sum() / f64::from(numbers.touching.max(1));
        assert_eq!(mean.to_bits(), report.mean_overlap.to_bits());
        assert_eq!(self.advancer.impacts(), report.impacts, "impacts");
        self.impacts += report.impacts;
        self.rows += report.contacts;
        let tracked = self.advancer.tracked();
        let expected = world.tracked_impulses();
        assert_eq!(tracked.len(), expected.len());
        for (own, expected) in tracked.iter().zip(expected) {
            assert_eq!(
                own.impulse.map(f64::to_bits),
                numbers_of(expected).map(f64::to_bits)
            );
        }
        self.compare_looks(world, &report);
        let rows = world.grain_rows();
        let moved = self.grains.fetch(&mut self.executor).unwrap();
        for row in 0..rows.len() {
            assert_eq!(
                moved.position[row], rows.position[row],
                "position of row {row}"
            );
            assert_eq!(moved.state[row], rows.state[row], "state of row {row}");
            assert_eq!(moved.orientation[row], rows.orientation[row]);
        }
        let remembered = world.remembered();
        let entries = self.advancer.fetch_history(&mut self.executor).unwrap();
        assert_eq!(
            entries.len(),
            remembered.len(),
            "contacts that are remembered"
        );
        for (own, expected) in entries.iter().zip(&remembered) {
            assert_eq!((own.row, own.other), (expected.row, expected.other));
            assert_eq!(own.normal, expected.normal);
            assert_eq!(own.impulse, expected.impulse);
        }
    }

    /// Errors of the step, and its residual where the CPU has one.
    fn compare_looks(&mut self, world: &mut World, report: &StepReport) {
        let size = (world.grain_rows().len(), report.contacts);
        let settings = world.look_settings(true);
        let looked = self
            .looker
            .look(&mut self.executor, &self.advancer, settings, size);
        let errors = world.errors_of_look(&looked.unwrap());
        let expected = world.errors();
        let residual = report.residual.or(errors.residual);
        assert_eq!(
            errors,
            StepErrors {
                residual,
                ..expected
            }
        );
        self.residuals += usize::from(report.residual.is_some_and(|r| r > 0.0));
    }

    fn step_on_device(
        &mut self,
        world: &mut World,
        is_first: bool,
    ) -> esker_gpu::resident::advance::AdvanceNumbers {
        let found = world.choose_candidates().expect("a search");
        let settings = world.advance_settings();
        let executor = &mut self.executor;
        if is_first {
            self.grains.send(executor, world.grain_rows()).unwrap();
        }
        let walls = self.meshes.wall_records(executor, world).unwrap();
        let find = world.find_settings();
        self.finder
            .send(
                executor,
                &self.grains,
                &walls,
                find,
                HistoryAddress::default(),
            )
            .unwrap();
        let at = self.finder.found();
        let input = AdvanceInput {
            settings: &settings,
            grains: at.grains,
            grain_count: world.grain_rows().len(),
            walls: at.walls,
            chosen: self.candidates.send(executor, &found.chosen).unwrap(),
            candidates: found.chosen.len(),
            longest_sleep: found.longest_sleep,
        };
        if is_first {
            let remembered = world.remembered();
            self.advancer
                .send_history(executor, &input, &remembered)
                .unwrap();
        }
        self.advancer.advance(executor, &input).unwrap()
    }
}

/// Steps in a row, with everything but the candidates staying on the device. Worlds whose grains
/// come and go begin anew in every step.
fn compare<E: Executor>(executor: E, mut world: World, steps: usize, is_steady: bool) -> Twin<E> {
    let mut twin = Twin::new(executor);
    for k in 0..steps {
        twin.step(&mut world, k == 0 || !is_steady);
    }
    twin.is_flat = world.last_problem().plan.is_flat;
    assert!(
        twin.rows > 10 && twin.residuals > 0,
        "there is something to compare"
    );
    twin
}

/// In both orders of devices: by colours of all of space, and by blocks.
fn compare_on_all(make: impl Fn() -> World, steps: usize, is_steady: bool) {
    for most_flat in [MOST_FLAT, 0] {
        let world = || {
            let mut world = make();
            world.set_most_flat(most_flat);
            world
        };
        let twin = compare(Host::default(), world(), steps, is_steady);
        println!("{} contacts, {} impacts", twin.rows, twin.impacts);
        assert_eq!(twin.is_flat, most_flat > 0);
        #[cfg(feature = "cuda")]
        if let Ok(cuda) = esker_gpu::Cuda::new(0) {
            compare(cuda, world(), steps, is_steady);
        }
    }
}

#[test]
fn steps_of_a_drum_are_those_of_the_cpu() {
    compare_on_all(|| world_after("drum.toml", 0), 12, true);
    compare_on_all(|| world_after("drum.toml", 150), 12, true);
}

#[test]
fn steps_of_a_pile_are_those_of_the_cpu() {
    compare_on_all(|| world_after("pile.toml", 600), 6, false);
}

#[test]
fn steps_of_a_hopper_are_those_of_the_cpu() {
    compare_on_all(|| world_after("hopper.toml", 150), 6, false);
}

#[test]
fn steps_of_a_silo_are_those_of_the_cpu() {
    compare_on_all(|| world_after("silo.toml", 100), 9, false);
}

#[test]
fn steps_of_a_conveyor_are_those_of_the_cpu() {
    compare_on_all(|| world_after("conveyor.toml", 400), 6, false);
}
