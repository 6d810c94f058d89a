//! Contacts sleep by bounds on how fast they can close, and are woken where
//! grains leave what was assumed: every bound is held against the way that its
//! grains really went, and no grains meet unpredicted.

mod common;

use std::collections::BTreeSet;

use common::*;
use esker_world::Partner;
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// What a run of a world says about its bounds.
#[derive(Debug, Default)]
struct Bounds {
    /// Open contacts that were looked at.
    seen: usize,
    /// Open contacts that closed by more than a tenth of their bound: bounds
    /// that are far too high would make every test pass.
    close: usize,
    /// Farthest that grains closed beyond their bound in a step, diameters.
    beyond: f64,
    /// Deepest overlap of grains that did, diameters: they were woken in time.
    overlap: f64,
    /// Deepest overlap of two grains whose contact was not predicted, diameters.
    unpredicted: f64,
}

/// Steps a world and compares after every step.
fn compare(world: &mut World, steps: usize) -> Bounds {
    let mut found = Bounds::default();
    for _ in 0..steps {
        world.step().unwrap();
        let h = world.step_length();
        let grains = world.grains();
        let mut predicted = BTreeSet::new();
        for (contact, _) in world.contacts() {
            let Partner::Grain(j) = contact.partner else {
                continue;
            };
            predicted.insert([contact.grain.min(j), contact.grain.max(j)]);
            let ends = [contact.grain, j].map(|k| grains.position()[k as usize]);
            let overlap = contact.diameter() - ends[0].distance(ends[1]);
            if contact.overlap < 0.0 {
                found.seen += 1;
                let closing = (overlap - contact.overlap) / h;
                found.close += usize::from(closing > 0.1 * contact.closing_speed);
                let beyond = (closing - contact.closing_speed) * h / contact.diameter();
                found.beyond = found.beyond.max(beyond);
                if beyond > 0.0 {
                    found.overlap = found.overlap.max(overlap / contact.diameter());
                }
            }
        }
        for i in 0..grains.len() {
            for j in 0..i {
                let reach = grains.radius()[i] + grains.radius()[j];
                let overlap = reach - grains.position()[i].distance(grains.position()[j]);
                if overlap > 0.0 && !predicted.contains(&[j as u32, i as u32]) {
                    found.unpredicted = found.unpredicted.max(overlap / reach);
                }
            }
        }
    }
    found
}

const SUBSTEPS: usize = 25;
/// Of the grains of the bed, m.
const DIAMETER: f64 = 0.01;

/// A loose bed of 10 mm grains that a fast, heavy ball hits from above.
fn impacted_bed(step: f64, speed: f64) -> World {
    let law = PairLaw {
        friction: 0.3,
        restitution: 0.5,
        ..Default::default()
    };
    let mut def = scene(material(2500.0, 1e8, 0.2), law, sub_stepped(SUBSTEPS), step);
    let mut grains = Vec::new();
    let mut jitter = 0.37_f64;
    for k in 0..7 * 7 * 5 {
        let (x, y, z) = (k % 7, k / 7 % 7, k / 49);
        jitter = (jitter * 997.0).fract();
        let place = DVec3::new(x as f64, y as f64, z as f64) * 0.0104;
        grains.push(grain(
            place + DVec3::new(jitter, -jitter, 0.5) * 3e-4 + DVec3::Z * 0.005,
            5e-3,
        ));
    }
    grains.push(ListedGrain {
        velocity: -DVec3::Z * speed,
        ..grain(DVec3::new(0.031, 0.031, 0.08), 0.015)
    });
    def.packings = vec![listed(grains)];
    def.walls = vec![floor()];
    build(&def)
}

#[test]
fn contacts_that_close_faster_than_their_bounds_are_woken_and_none_is_unpredicted() {
    for (step, speed) in [(1e-3, 1.0), (1e-3, 5.0), (2e-4, 5.0), (5e-3, 1.0)] {
        let mut world = impacted_bed(step, speed);
        let found = compare(&mut world, (0.06 / step) as usize);
        assert!(
            found.seen > 1000 && found.close > 20,
            "{step} {speed}: {found:?}"
        );
        assert!(found.beyond <= 0.1, "{step} {speed}: {found:?}");
        // A contact that is pushed unexpectedly sleeps for two substeps at most, and its law
        // takes a hundredth of a diameter.
        let asleep = 2.0 * speed * step / (SUBSTEPS as f64 * DIAMETER);
        assert!(found.overlap <= asleep + 0.01, "{step} {speed}: {found:?}");
        assert!(found.unpredicted <= 0.001, "{step} {speed}: {found:?}");
    }
}

/// Contacts of a lattice with gaps of 0.08 diameters, at rest but for the grains
/// that `moves` names by their place, which approach their neighbours above.
fn contacts_of_lattice(moves: impl Fn([usize; 3]) -> bool) -> usize {
    let law = PairLaw::default();
    let mut def = scene(material(2500.0, 1e8, 0.2), law, sub_stepped(25), 5e-3);
    def.gravity = DVec3::ZERO;
    let places = (0..1000).map(|k| [k % 10, k / 10 % 10, k / 100]);
    let grains = places.map(|place| ListedGrain {
        velocity: DVec3::Z * if moves(place) { 0.25 } else { 0.0 },
        ..grain(DVec3::from_array(place.map(|x| x as f64)) * 0.0108, 5e-3)
    });
    def.packings = vec![listed(grains.collect())];
    build(&def).step().unwrap().contacts
}

/// One grain that bounces in a bed at rest made thousands around it look for
/// contacts twice as far.
#[test]
fn contacts_are_looked_for_farther_where_layers_are_pushed_not_where_one_grain_moves() {
    let one = contacts_of_lattice(|place| place == [5, 5, 5]);
    assert!((1..100).contains(&one), "{one}");
    let layer = contacts_of_lattice(|[_, _, z]| z == 0);
    assert!(layer > 1000, "{layer}");
}
