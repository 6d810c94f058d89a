//! Whether the parts of a scene fit together: what no single key shows, and
//! what must be refused before any grain is placed. Checks that need the
//! placed grains are in [`esker_world::check`].

use std::f64::consts::PI;

use esker_geometry::{Aabb, Region, Side, WallShape};
use esker_world::check::Problem;
use esker_world::definition::{EmitterDef, Placement, Rate, SizeDistribution, Total, WorldDef};
use esker_world::packing::{count_estimate, sphere_mass};

use crate::format::{MOST_GRAINS, MOST_STEPS};
use crate::scene::{Device, RunDef, in_words};

/// Share of solid above which no random packing of spheres exists (dense
/// random packings of equal spheres reach 0.64).
const DENSEST: f64 = 0.64;

/// Most cells that a lattice is laid over; beyond this filling it takes minutes.
const MOST_CELLS: f64 = 1e9;

/// Everything that does not fit together.
pub(crate) fn find_problems(world: &WorldDef, run: &RunDef) -> Vec<Problem> {
    let mut problems = Vec::new();
    steps(world, run, &mut problems);
    sources(world, run, &mut problems);
    for (index, packing) in world.packings.iter().enumerate() {
        let path = format!("grains.{index}");
        match &packing.placement {
            Placement::Lattice {
                region,
                spacing,
                sizes,
                ..
            } => {
                room_for_one(region, sizes, &path, &mut problems);
                let spacing = spacing.unwrap_or(2.0 * sizes.max());
                lattice(region, spacing, &path, &mut problems);
            }
            Placement::Random {
                region,
                count,
                sizes,
            } => {
                room_for_one(region, sizes, &path, &mut problems);
                density(region, *count, sizes, &path, &mut problems);
            }
            Placement::Packed {
                region,
                fraction,
                sizes,
            } => {
                room_for_one(region, sizes, &path, &mut problems);
                fraction_of_equal_grains(*fraction, sizes, &path, &mut problems);
            }
            Placement::Column { .. } | Placement::Listed { .. } => {}
        }
        if let (Some([min, max]), Some(bounds)) = (world.bounds, extent(&packing.placement))
            && !bounds.overlaps(&Aabb { min, max })
        {
            problems.push(problem(
                &path,
                "all grains are outside of `bounds` and would be lost at once",
                "enlarge `bounds`, or move the grains",
            ));
        }
    }
    containers(world, &mut problems);
    device(world, run, &mut problems);
    problems
}

/// A device that cannot compute the scene.
fn device(world: &WorldDef, run: &RunDef, problems: &mut Vec<Problem>) {
    if let (Device::Gpu, Some(obstacle)) = (run.device, world.device_obstacle()) {
        problems.push(problem(
            "device",
            format!("a GPU cannot compute this scene: {}", in_words(obstacle)),
            "leave `device` out, or write \"auto\", to compute it on the processor; `esker run --device cpu` does so, too",
        ));
    }
}

fn problem(path: &str, message: impl Into<String>, advice: impl Into<String>) -> Problem {
    Problem {
        path: path.to_string(),
        message: message.into(),
        advice: advice.into(),
    }
}

/// A run of too many steps.
pub(crate) fn steps(world: &WorldDef, run: &RunDef, problems: &mut Vec<Problem>) {
    let steps = run.duration / world.step;
    if !steps.is_finite() || steps > MOST_STEPS {
        problems.push(problem(
            "step",
            format!(
                "a run of {} s with steps of {} s has {steps:.1e} steps",
                run.duration, world.step
            ),
            format!("at most {MOST_STEPS:.0e} steps are accepted: check both for a slip"),
        ));
    }
}

/// How many grains an emitter gives within a time, by its own settings.
pub(crate) fn emitted(emitter: &EmitterDef, density: f64, duration: f64) -> f64 {
    let grain = density * 4.0 / 3.0 * PI * emitter.sizes.mean_cube();
    let rate = match emitter.rate {
        Rate::Number(rate) => rate,
        Rate::Mass(rate) => rate / grain,
    };
    let most = match emitter.total {
        Total::Unlimited => f64::INFINITY,
        Total::Number(number) => number as f64,
        Total::Mass(mass) => mass / grain,
    };
    let time = (emitter.stop.min(duration) - emitter.start).max(0.0);
    (rate * time).min(most)
}

fn sources(world: &WorldDef, run: &RunDef, problems: &mut Vec<Problem>) {
    if world.packings.is_empty() && world.emitters.is_empty() && world.bodies.is_empty() {
        problems.push(problem(
            "",
            "the scene has no grains, no emitter and no body",
            "add a [[grains]], an [[emitter]] or a [[body]] section",
        ));
    }
    let limit = MOST_GRAINS as f64;
    let advice = format!("at most {limit:.0e} grains are accepted");
    let mut total = 0.0;
    for (index, packing) in world.packings.iter().enumerate() {
        let count = count_estimate(packing) as f64;
        if count > limit {
            problems.push(problem(
                &format!("grains.{index}"),
                format!("this would place about {count:.1e} grains"),
                format!("{advice}: check the region and the size of grains, or give `count`"),
            ));
        }
        total += count;
    }
    for (index, emitter) in world.emitters.iter().enumerate() {
        let path = format!("emitter.{index}");
        let density = world.materials[emitter.material].density;
        let count = emitted(emitter, density, run.duration);
        if count > limit {
            problems.push(problem(
                &path,
                format!("this would give about {count:.1e} grains"),
                format!("{advice}: check `rate` and the size of grains, or give `total`"),
            ));
        }
        total += count;
        if let Total::Mass(mass) = emitter.total
            && mass < sphere_mass(density, emitter.sizes.min())
        {
            problems.push(problem(
                &format!("{path}.total"),
                format!("a total of {mass} kg is less than the mass of one grain"),
                "give a greater total",
            ));
        }
    }
    if total > limit && problems.is_empty() {
        problems.push(problem(
            "",
            format!("the scene would hold about {total:.1e} grains in all"),
            advice,
        ));
    }
}

fn room_for_one(
    region: &Region,
    sizes: &SizeDistribution,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    if region.shrunk(sizes.max()).is_none() {
        problems.push(problem(
            &format!("{path}.region"),
            format!(
                "no grain of diameter {} m fits into the region",
                2.0 * sizes.max()
            ),
            "enlarge the region: it holds whole grains",
        ));
    }
}

/// A region that fills little of its bounding box is searched cell by cell all
/// the same: its lattice must not be endless even where it holds few grains.
fn lattice(region: &Region, spacing: f64, path: &str, problems: &mut Vec<Problem>) {
    let box_volume = region.bounds().size().element_product();
    let cells = box_volume / spacing.powi(3);
    if cells > MOST_CELLS && region.volume() < 0.1 * box_volume {
        problems.push(problem(
            &format!("{path}.region"),
            format!("the lattice over this region has {cells:.1e} cells"),
            "align the region's axis with x, y or z, or place fewer grains",
        ));
    }
}

fn density(
    region: &Region,
    count: usize,
    sizes: &SizeDistribution,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let solid = count as f64 * 4.0 / 3.0 * PI * sizes.mean_cube();
    let share = solid / region.volume();
    if share > DENSEST {
        problems.push(problem(
            &format!("{path}.count"),
            format!(
                "{count} grains would fill {:.0} % of the region",
                100.0 * share
            ),
            "random places are found up to about 30 %: enlarge the region, \
             or use place = \"lattice\"",
        ));
    }
}

/// What no relaxation has to try.
fn fraction_of_equal_grains(
    fraction: f64,
    sizes: &SizeDistribution,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    if fraction > DENSEST && sizes.min() == sizes.max() {
        problems.push(problem(
            &format!("{path}.fraction"),
            format!(
                "a fraction of {fraction} is beyond random close packing of equal grains, {DENSEST}"
            ),
            "give a smaller fraction, or use place = \"lattice\"",
        ));
    }
}

/// Containers in which not even the smallest grain of the scene has room.
fn containers(world: &WorldDef, problems: &mut Vec<Problem>) {
    let min = all_sizes(world).map(|(min, _)| min);
    let min = min.fold(f64::INFINITY, f64::min);
    for (index, wall) in world.walls.iter().enumerate() {
        let room = match &wall.shape {
            WallShape::Box {
                half_extents,
                side: Side::Inside,
                ..
            } => half_extents.min_element(),
            WallShape::Cylinder {
                radius,
                side: Side::Inside,
                ..
            } => *radius,
            WallShape::Cone {
                radius_bottom,
                radius_top,
                side: Side::Inside,
                ..
            } => radius_bottom.max(*radius_top),
            _ => continue,
        };
        if room < min && min.is_finite() {
            problems.push(problem(
                &format!("wall.{index}"),
                format!(
                    "the wall \"{}\" is too small: {} m across inside, the smallest grain {} m",
                    wall.name,
                    2.0 * room,
                    2.0 * min
                ),
                "enlarge it, or say side = \"outside\"",
            ));
        }
    }
}

/// Smallest and largest radius of each source, m.
pub(crate) fn all_sizes(world: &WorldDef) -> impl Iterator<Item = (f64, f64)> {
    let packings = world.packings.iter().map(|p| match &p.placement {
        Placement::Lattice { sizes, .. }
        | Placement::Random { sizes, .. }
        | Placement::Packed { sizes, .. }
        | Placement::Column { sizes, .. } => (sizes.min(), sizes.max()),
        Placement::Listed { grains } => grains
            .iter()
            .fold((f64::INFINITY, 0.0), |(min, max), grain| {
                (grain.radius.min(min), grain.radius.max(max))
            }),
    });
    let emitters = world
        .emitters
        .iter()
        .map(|e| (e.sizes.min(), e.sizes.max()));
    let bodies = world.bodies.iter().map(|body| {
        let radius = body.shape.volume_radius();
        (radius, radius)
    });
    packings.chain(emitters).chain(bodies)
}

/// A box around the grains of a placement; `None`: there are none.
pub(crate) fn extent(placement: &Placement) -> Option<Aabb> {
    match placement {
        Placement::Lattice { region, .. }
        | Placement::Random { region, .. }
        | Placement::Packed { region, .. } => Some(region.bounds()),
        Placement::Column {
            base,
            direction,
            count,
            gap,
            sizes,
        } => {
            let top = *base + *direction * (*count as f64 * (2.0 * sizes.max() + gap));
            Some(Aabb {
                min: base.min(top) - sizes.max(),
                max: base.max(top) + sizes.max(),
            })
        }
        Placement::Listed { grains } => {
            let mut boxes = grains.iter().map(|grain| Aabb {
                min: grain.position - grain.radius,
                max: grain.position + grain.radius,
            });
            let first = boxes.next()?;
            Some(boxes.fold(first, Aabb::union))
        }
    }
}
