//! What a scene may do but probably does not mean: said by `check`, never an
//! error.

use std::collections::BTreeSet;

use esker_geometry::{BodyShape, Region};
use esker_world::definition::{
    Cohesion, Method, PairDef, PairLaw, Placement, VectorOfTime, WallDef, WorldDef,
};
use glam::DVec3;

use crate::scene::{Device, DevicePrecision, RunDef, in_words};

/// Points of a region that are held against a wall.
const SAMPLES: usize = 256;

/// Grains that start or appear outside of closed containers.
pub(crate) fn wrong_sides(world: &WorldDef) -> Vec<String> {
    let mut warnings = Vec::new();
    for wall in &world.walls {
        if wall.shape.is_closed_container() && wall.presence.contains(0.0) {
            outside(world, wall, &mut warnings);
        }
    }
    warnings
}

/// Parts of bodies that count twice, and tables of forces that end before the run.
pub(crate) fn bodies(world: &WorldDef, duration: f64) -> Vec<String> {
    let mut notes = Vec::new();
    for body in &world.bodies {
        if let BodyShape::Compound(compound) = &body.shape
            && compound.is_homogeneous()
            && let Some(([i, j], depth)) = compound.deepest_overlap()
            && depth > NEGLIGIBLE_OVERLAP * compound.parts()[i].0.volume_radius()
        {
            notes.push(format!(
                "shapes {} and {} of body {:?} overlap by {} m: what they have in common counts twice in its mass and \
                 inertia; give `mass`, `centre` and `inertia` if that matters",
                i + 1,
                j + 1,
                body.name,
                round(depth)
            ));
        }
        if body.shape.is_surface() && !world.walls.is_empty() {
            notes.push(format!(
                "body {:?} is a mesh: grains and convex bodies touch it, walls and other meshes pass through it",
                body.name
            ));
        }
        for (key, force) in [("force", &body.force), ("torque", &body.torque)] {
            if let VectorOfTime::Table { times, .. } = force
                && let Some(end) = times.last()
                && *end < duration
            {
                notes.push(format!(
                    "{key}_table of body {:?} ends at {end} s, before the run: its last value stays",
                    body.name
                ));
            }
        }
    }
    notes
}

/// What computes a run that leaves it to the program, and results that are not those of double
/// precision, to the bit.
pub(crate) fn device(world: &WorldDef, run: &RunDef) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Device::Auto, Some(obstacle)) = (run.device, world.device_obstacle()) {
        notes.push(format!(
            "`device = \"auto\"`: the processor computes this scene: {}",
            in_words(obstacle)
        ));
    }
    if run.precision == DevicePrecision::Mixed {
        notes.push(match idle_precision(world, run) {
            Some(why) => format!("`precision = \"mixed\"` has no effect: {why}"),
            None => "`precision = \"mixed\"`: a GPU ends with bits of its own, not those of the processor"
                .into(),
        });
    }
    notes
}

/// Why no step of a run is made in mixed precision, whatever it states, as far as the scene tells:
/// substeps whose rows the processor makes are in double precision on a GPU, too.
pub(crate) fn idle_precision(world: &WorldDef, run: &RunDef) -> Option<&'static str> {
    let is_cohesive = |pair: &PairDef| pair.law.cohesion != Cohesion::None;
    let makes_substeps =
        matches!(&world.method, Method::SubStepped(m) if m.tolerance.is_none() && m.substeps > 1);
    [
        (
            run.device == Device::Cpu,
            "the processor computes in double precision",
        ),
        (
            world.device_obstacle().is_some(),
            "the processor computes this scene, in double precision",
        ),
        (
            world.reduction.is_some(),
            "with `reduction` a GPU computes substeps alone, in double precision",
        ),
        (
            world.pairs.iter().any(is_cohesive),
            "with `cohesion` a GPU computes substeps alone, in double precision",
        ),
        (
            world.periodic.iter().any(Option::is_some),
            "with a periodic axis a GPU computes substeps alone, in double precision",
        ),
        (
            world.energy_ledger,
            "with `record.energy` a GPU computes substeps alone, in double precision",
        ),
        (
            !makes_substeps,
            "with one substep or a `solver.tolerance` a GPU computes substeps alone, in double precision",
        ),
    ]
    .into_iter()
    .find_map(|(is_so, why)| is_so.then_some(why))
}

/// Overlap of parts that says nothing, in radii of spheres of equal volume: rounding.
const NEGLIGIBLE_OVERLAP: f64 = 1e-6;

/// Three digits.
fn round(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

/// Pairs of materials that can touch and have no law of their own.
pub(crate) fn unnamed_pairs(world: &WorldDef) -> Vec<String> {
    let of_packings = world.packings.iter().map(|p| p.material);
    let of_emitters = world.emitters.iter().map(|e| e.material);
    let of_bodies = world.bodies.iter().map(|b| b.material);
    let movable = of_packings.chain(of_emitters).chain(of_bodies);
    let grains: BTreeSet<usize> = movable.collect();
    let others = world.walls.iter().map(|w| w.material);
    let others: BTreeSet<usize> = others.chain(grains.iter().copied()).collect();
    let touching: BTreeSet<[usize; 2]> = grains
        .iter()
        .flat_map(|&a| others.iter().map(move |&b| [a.min(b), a.max(b)]))
        .collect();
    let is_named = |pair: &[usize; 2]| {
        let mut named = world.pairs.iter().map(|p| p.materials);
        named.any(|[a, b]| [a.min(b), a.max(b)] == *pair)
    };
    let default = PairLaw::default();
    let unnamed = touching.into_iter().filter(|pair| !is_named(pair));
    unnamed
        .map(|pair| {
            let [a, b] = pair.map(|m| &world.materials[m].name);
            format!(
                "\"{a}\" and \"{b}\" can touch but no [[pair]] names them: friction {} and restitution {} are \
                 assumed; materials = [\"*\", \"*\"] gives a law to all others",
                default.friction, default.restitution
            )
        })
        .collect()
}

/// Grains that start or appear outside of a closed container: they meet its
/// outer side, and never get in.
fn outside(world: &WorldDef, wall: &WallDef, warnings: &mut Vec<String>) {
    let share_outside = |places: &[DVec3]| {
        let is_out = |x: &&DVec3| !wall.shape.encloses(wall.pose.to_local(**x));
        places.iter().filter(is_out).count() as f64 / places.len().max(1) as f64
    };
    let packings = world.packings.iter().enumerate();
    let packings = packings.map(|(k, packing)| {
        let places = places(&packing.placement);
        (format!("grains.{k}"), "start", places)
    });
    let emitters = world.emitters.iter();
    let emitters = emitters.map(|e| (format!("emitter {:?}", e.name), "appear", sample(&e.region)));
    for (source, verb, places) in packings.chain(emitters) {
        let share = share_outside(&places);
        if share > 0.0 {
            warnings.push(format!(
                "{:.0} % of the places of {source} are outside of the closed wall {:?}: grains that {verb} there \
                 meet its outer side and stay out; open a face (open = [\"top\"]) to let them in, or say \
                 side = \"outside\" for a solid",
                (100.0 * share).max(1.0),
                wall.name
            ));
        }
    }
}

/// Places of grains, or points spread over where they will be.
pub(crate) fn places(placement: &Placement) -> Vec<DVec3> {
    match placement {
        Placement::Lattice { region, .. }
        | Placement::Random { region, .. }
        | Placement::Packed { region, .. } => sample(region),
        Placement::Column {
            base,
            direction,
            count,
            gap,
            sizes,
        } => {
            let length = *count as f64 * (2.0 * sizes.max() + gap);
            [0.0, 0.5, 1.0]
                .map(|share| *base + *direction * (share * length))
                .to_vec()
        }
        Placement::Listed { grains } => grains.iter().map(|grain| grain.position).collect(),
    }
}

/// Points spread evenly over a region.
pub(crate) fn sample(region: &Region) -> Vec<DVec3> {
    // Additive recurrence with powers of the plastic number's analogue in three dimensions.
    const STEPS: DVec3 = DVec3::new(
        0.819_172_513_396_164_4,
        0.671_043_606_703_789_2,
        0.549_700_477_901_997,
    );
    let share = |k: usize| (STEPS * (k as f64 + 0.5)).fract().to_array();
    (0..SAMPLES).map(|k| region.sample(share(k))).collect()
}
