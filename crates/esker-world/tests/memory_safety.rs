//! A step small enough for Miri that goes through every `unsafe` block of the
//! portable code: broad phase, plan, packing, lanes, sweeps, history and the
//! team of threads. Miri looks for data races and uses of memory that are not
//! allowed; without it, the number of threads must not change a bit.

mod common;

use common::*;
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// A wall of grains two high and long enough for several blocks of one colour,
/// of three sizes; some hit the others from above.
fn row_of_grains(method: Method, law: PairLaw) -> WorldDef {
    let d = 2.0 * PELLET_RADIUS;
    let mut grains = Vec::new();
    for i in 0..LENGTH {
        let x = 0.999 * d * i as f64;
        grains.push(grain(DVec3::new(x, 0.0, 0.5 * d), PELLET_RADIUS));
        grains.push(grain(DVec3::new(x, 0.0, 1.499 * d), PELLET_RADIUS));
        if i % 4 == 0 {
            grains.push(ListedGrain {
                velocity: DVec3::new(0.1, 0.0, -1.0),
                ..grain(DVec3::new(x, 0.0, 2.3 * d), 0.25 * d)
            });
        }
    }
    let mut def = scene(pellet(), law, method, 2e-3);
    def.walls = vec![floor()];
    def.packings = vec![listed(grains)];
    def
}

/// Grains in a row: blocks are four diameters long.
const LENGTH: usize = if cfg!(miri) { 10 } else { 14 };
const STEPS: usize = if cfg!(miri) { 2 } else { 40 };

/// State after the steps, and how many contacts and impacts there were.
fn outcome(def: &WorldDef, set_threads: impl Fn(&mut World)) -> (u64, usize, usize) {
    let mut world = build(def);
    set_threads(&mut world);
    let (mut contacts, mut impacts) = (0, 0);
    for _ in 0..STEPS {
        let report = world.step().expect("the state stays finite");
        contacts += report.contacts;
        impacts += report.impacts;
    }
    (world.grains().state_hash(), contacts, impacts)
}

fn threads_share_memory_by_the_rules(method: Method, law: PairLaw) {
    let def = row_of_grains(method, law);
    // Miri takes minutes for a run, and watches memory rather than bits.
    let counts: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 3, 5] };
    let run = |&threads: &usize| outcome(&def, |world| world.set_threads(threads));
    let outcomes: Vec<_> = counts.iter().map(run).collect();
    let (_, contacts, impacts) = outcomes[0];
    assert!(
        contacts > 2 * LENGTH && impacts > 0,
        "{contacts}, {impacts}"
    );
    for (threads, outcome) in counts.iter().zip(&outcomes) {
        assert_eq!(*outcome, outcomes[0], "{threads} threads");
    }
}

fn rolling() -> PairLaw {
    PairLaw {
        friction: 0.5,
        rolling: 0.05,
        twisting: 0.02,
        restitution: 0.5,
        ..Default::default()
    }
}

fn sliding() -> PairLaw {
    PairLaw {
        rolling: 0.0,
        twisting: 0.0,
        ..rolling()
    }
}

#[test]
#[cfg_attr(miri, ignore = "rolling rows come on top of the same code")]
fn substeps_share_memory_by_the_rules() {
    threads_share_memory_by_the_rules(sub_stepped(2), sliding());
}

#[test]
fn substeps_with_rolling_share_memory_by_the_rules() {
    threads_share_memory_by_the_rules(sub_stepped(2), rolling());
}

#[test]
fn whole_steps_share_memory_by_the_rules() {
    let method = Method::WholeStep(WholeStep {
        sweeps: 2,
        impact_sweeps: 2,
        ..Default::default()
    });
    threads_share_memory_by_the_rules(method, rolling());
}

#[test]
#[cfg_attr(miri, ignore = "goes through no other code")]
fn a_few_grains_stay_on_one_thread() {
    let mut world = build(&row_of_grains(sub_stepped(2), sliding()));
    world.set_max_threads(8);
    for _ in 0..STEPS {
        let report = world.step().expect("the state stays finite");
        assert_eq!(report.threads, 1);
    }
}
