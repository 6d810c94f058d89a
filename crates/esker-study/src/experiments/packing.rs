//! Random close packings of spheres and ellipsoids (Donev et al. 2004): grains
//! without friction settle on a floor, and the bulk of the bed is measured. Their
//! sizes differ by up to a tenth: equal spheres on a flat floor crystallise.
//!
//! The share of a slab that an ellipsoid fills is exact: an affine map takes it
//! to the unit ball, of which a plane at `t` from the centre cuts off
//! `(2 − 3t + t³)/4`, with `t` in units of the ellipsoid's extent
//! `√(Σ a_k² e_kz²)` along the normal.

use esker_geometry::{BodyShape, Region};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::Partner;
use esker_world::World;
use esker_world::definition::{Placement, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench;
use crate::criterion::{Criterion, Reported};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Packing;

const SCENE: &str = include_str!("../../../../scenes/experiments/packing.toml");
/// Diameter of the sphere that has the volume of a grain, m.
const DIAMETER: f64 = 0.01;
/// What is left out at the floor and at the surface, in diameters.
const BORDER: f64 = 3.0;

/// A kind of grains and what the literature has for it.
struct Kind {
    name: &'static str,
    /// Axes over the middle one.
    axes: [f64; 3],
    /// Packing fractions published.
    published: [f64; 2],
    /// Contacts per grain published.
    coordination: f64,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "spheres",
        axes: [1.0, 1.0, 1.0],
        published: [0.64, 0.64],
        coordination: 6.0,
    },
    Kind {
        name: "oblate, 1 : 1 : 0.5",
        axes: [1.0, 1.0, 0.5],
        published: [0.685, 0.70],
        coordination: 10.0,
    },
    Kind {
        name: "triaxial, 1.3 : 1 : 0.77",
        axes: [1.3, 1.0, 0.77],
        published: [0.735, 0.735],
        coordination: 11.5,
    },
];

/// How far a packing may be from what is published: beds differ by some 0.005,
/// and a protocol that is not infinitely slow jams below the densest state.
const TOLERANCE: f64 = 0.015;

/// A bed at rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Bed {
    /// Share of the bulk that grains fill.
    fraction: f64,
    /// Contacts per grain of the bulk.
    coordination: f64,
    /// Root mean square of the speeds, in √(g d).
    unrest: f64,
    /// Largest overlap, in diameters.
    overlap: f64,
    /// Height, m, and share of the slab of a diameter about it that is filled.
    profile: Vec<[f64; 2]>,
    frame: Frame,
}

fn seeds(size: Size) -> u64 {
    size.pick(3, 1)
}

fn world(size: Size, kind: &Kind, seed: u64) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.seed = seed;
    let [a, b, c] = kind.axes;
    if a == b && b == c {
        def.packings[0].shape = None;
    } else {
        def.shapes[0] = BodyShape::Ellipsoid {
            semi_axes: DVec3::from(kind.axes) * (0.5 * DIAMETER / (a * b * c).cbrt()),
        };
    }
    if size == Size::Reduced {
        let width = 0.055;
        for axis in &mut def.periodic[..2] {
            *axis = Some([0.0, width]);
        }
        if let Placement::Random { region, count, .. } = &mut def.packings[0].placement {
            *count = 340;
            if let Region::Box { half_extents, pose } = region {
                half_extents.x = 0.5 * width;
                half_extents.y = 0.5 * width;
                pose.position.x = 0.5 * width;
                pose.position.y = 0.5 * width;
            }
        }
    }
    Ok(def)
}

/// Share of a grain below a height, m.
fn share_below(world: &World, grain: usize, height: f64) -> f64 {
    let grains = world.grains();
    let extent = match grains.shape_of(grain) {
        None => grains.radius()[grain],
        Some(shape) => {
            let BodyShape::Ellipsoid { semi_axes } = world.shapes()[usize::from(shape.shape)]
            else {
                return f64::NAN;
            };
            let up = grains.orientation()[grain].inverse() * DVec3::Z;
            shape.scale * (semi_axes * up).length()
        }
    };
    let t = ((height - grains.position()[grain].z) / extent).clamp(-1.0, 1.0);
    0.25 * (2.0 + 3.0 * t - t * t * t)
}

/// Volume of the grains between two heights over that of the slab.
fn fraction(world: &World, [low, high]: [f64; 2], area: f64) -> f64 {
    let grains = world.grains();
    let volume: f64 = (0..grains.len())
        .map(|i| {
            let whole = std::f64::consts::PI / 6.0 * (2.0 * grains.radius()[i]).powi(3);
            whole * (share_below(world, i, high) - share_below(world, i, low))
        })
        .sum();
    volume / (area * (high - low))
}

/// Contacts per grain with its centre between two heights.
fn coordination(world: &World, [low, high]: [f64; 2]) -> f64 {
    let is_inside: Vec<bool> = world
        .grains()
        .position()
        .iter()
        .map(|x| (low..high).contains(&x.z))
        .collect();
    let mut ends = 0;
    for (contact, _) in world.contacts().filter(|(c, _)| c.overlap > 0.0) {
        ends += usize::from(is_inside[contact.grain as usize]);
        if let Partner::Grain(j) = contact.partner {
            ends += usize::from(is_inside[j as usize]);
        }
    }
    ends as f64 / is_inside.iter().filter(|inside| **inside).count() as f64
}

fn bed(size: Size, kind: &Kind, seed: u64) -> Result<Bed, StudyError> {
    let def = world(size, kind, seed)?;
    let mut world = bench::build(&def)?;
    let mut overlap = f64::NAN;
    bench::run(&mut world, size.pick(2.0, 0.9), |_, report| {
        overlap = report.max_overlap;
    })?;
    let width = |axis: usize| def.periodic[axis].map_or(f64::NAN, |[low, high]| high - low);
    let area = width(0) * width(1);
    let mut heights: Vec<f64> = world.grains().position().iter().map(|x| x.z).collect();
    heights.sort_unstable_by(f64::total_cmp);
    let top = heights[heights.len() * 49 / 50];
    let bulk = [BORDER * DIAMETER, top - BORDER * DIAMETER];
    let squares: f64 = world
        .grains()
        .state()
        .iter()
        .map(|s| s.velocity.length_squared())
        .sum();
    let layers = (top / DIAMETER) as usize + 2;
    let profile = (0..2 * layers)
        .map(|k| {
            let low = 0.5 * k as f64 * DIAMETER;
            let slab = [low, low + DIAMETER];
            [low + 0.5 * DIAMETER, fraction(&world, slab, area)]
        })
        .collect();
    let scaled: Vec<f64> = world
        .grains()
        .position()
        .iter()
        .map(|x| x.z / DIAMETER)
        .collect();
    let shot = frame::Shot {
        caption: kind.name,
        direction: DVec3::new(0.5, 1.0, -0.35),
        legend: "height (d)",
        values: &scaled,
        range: [0.0, top / DIAMETER],
    };
    Ok(Bed {
        fraction: fraction(&world, bulk, area),
        coordination: coordination(&world, bulk),
        unrest: (squares / world.grains().len() as f64).sqrt()
            / (def.gravity.length() * DIAMETER).sqrt(),
        overlap,
        profile,
        frame: frame::draw(&world, &shot)?,
    })
}

fn case_name(kind: &Kind, seed: u64, size: Size) -> String {
    format!("{}, seed {seed}, {}", kind.name, size.name())
}

impl Experiment for Packing {
    fn about(&self) -> About {
        About {
            name: "packing",
            paper: "Donev et al. 2004, Figs. 1 and 3",
            shows: "Random close packings: spheres fill 0.64 of space, flat ellipsoids 0.69, \
                    ellipsoids of three different axes 0.73.",
            seconds_full: 420.0,
            seconds_reduced: 10.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for kind in &KINDS {
            for seed in 1..=seeds(size) {
                cases.push(Case::new(case_name(kind, seed, size), move || {
                    bed(size, kind, seed)
                }));
            }
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        let mut plot = Plot::new(
            "Packing fraction over height",
            Axis::linear("height (m)"),
            Axis::linear("share filled by grains"),
        );
        let mut table = Table::new(
            "Random close packings",
            &[
                "grains",
                "fraction",
                "published",
                "contacts per grain",
                "published",
                "overlap (d)",
            ],
        );
        let mut fractions = Vec::new();
        for kind in &KINDS {
            let beds: Vec<Bed> = (1..=seeds(size))
                .map(|seed| results.get(&case_name(kind, seed, size)))
                .collect::<Result<_, _>>()?;
            let mean = |of: fn(&Bed) -> f64| beds.iter().map(of).sum::<f64>() / beds.len() as f64;
            let fraction = mean(|bed| bed.fraction);
            fractions.push(fraction);
            plot.series
                .push(Series::line(kind.name, beds[0].profile.clone()));
            let [low, high] = kind.published;
            let published = if low == high {
                format!("{low}")
            } else {
                format!("{low}–{high}")
            };
            table.row([
                kind.name.into(),
                number(fraction, 4),
                published.clone(),
                number(mean(|bed| bed.coordination), 3),
                number(kind.coordination, 3),
                number(mean(|bed| bed.overlap), 2),
            ]);
            outcome.require(
                Criterion::within(
                    format!("{}: fraction filled", kind.name),
                    fraction,
                    [low - TOLERANCE, high + TOLERANCE],
                    published,
                )
                .because("the literature, and the scatter of beds and protocols"),
            );
            outcome.require(
                Criterion::at_most(
                    format!("{}: root mean square speed, √(g d)", kind.name),
                    mean(|bed| bed.unrest),
                    0.1,
                    "0",
                )
                .because("a bed that still flows is no packing"),
            );
            outcome.report(Reported::new(
                format!("{}: contacts per grain", kind.name),
                mean(|bed| bed.coordination),
                number(kind.coordination, 3),
                "grains that carry nothing count here, and contacts that barely touch",
            ));
            outcome.frame(beds[0].frame.clone());
        }
        for (k, [low, high]) in [[0, 1], [1, 2]].into_iter().enumerate() {
            outcome.require(
                Criterion::at_least(
                    format!("{} denser than {} by", KINDS[high].name, KINDS[low].name),
                    fractions[high] - fractions[low],
                    [0.02, 0.01][k],
                    number(KINDS[high].published[0] - KINDS[low].published[1], 2),
                )
                .because("the order of the published fractions, a third to a half of the distance"),
            );
        }
        outcome.svg(plot.svg());
        outcome.table(table);
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bed of one ellipsoid: the shares of slabs against sums over points.
    #[test]
    fn the_share_of_a_turned_ellipsoid_below_a_height_is_exact() {
        let def = world(Size::Reduced, &KINDS[2], 3).unwrap();
        let world = bench::build(&def).unwrap();
        let shape = world.grains().shape_of(0).unwrap();
        let BodyShape::Ellipsoid { semi_axes } = world.shapes()[0] else {
            panic!("the scene has ellipsoids");
        };
        let (turn, centre) = (
            world.grains().orientation()[0],
            world.grains().position()[0],
        );
        let height = centre.z + 0.002;
        let n = 60;
        let (mut all, mut below) = (0, 0);
        let at = |k: usize| (k as f64 + 0.5) / n as f64 * 2.0 - 1.0;
        for (i, j, k) in (0..n * n * n).map(|m| (m % n, m / n % n, m / n / n)) {
            let x = DVec3::new(at(i), at(j), at(k));
            if x.length_squared() <= 1.0 {
                all += 1;
                let z = centre.z + shape.scale * (turn * (semi_axes * x)).z;
                below += usize::from(z < height);
            }
        }
        let counted = f64::from(below as u32) / f64::from(all);
        let share = share_below(&world, 0, height);
        assert!((share - counted).abs() < 2e-3, "{share} {counted}");
        assert!(share > 0.6 && share < 0.95);
    }
}
