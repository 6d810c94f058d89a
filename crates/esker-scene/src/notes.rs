//! What a scene may do but probably does not mean: said by `check`, never an
//! error.

use std::collections::BTreeSet;

use esker_geometry::{BodyShape, Region};
use esker_world::definition::{Motion, PairLaw, Placement, Split, VectorOfTime, WallDef, WorldDef};
use glam::DVec3;

use crate::scene::{Device, DevicePrecision, RunDef};

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

/// Results that are not those of double precision, to the bit.
pub(crate) fn precision(run: &RunDef) -> Vec<String> {
    let note = match (run.precision, run.device) {
        (DevicePrecision::Double, _) => return Vec::new(),
        (DevicePrecision::Mixed, Device::Cpu) => {
            "`precision = \"mixed\"` has no effect: the processor computes in double precision"
        }
        (DevicePrecision::Mixed, _) => {
            "`precision = \"mixed\"`: a GPU ends with bits of its own, not those of the processor"
        }
    };
    vec![note.to_owned()]
}

/// Scenes in which freezing grains at rest changes the result, or gains nothing.
pub(crate) fn reduction(world: &WorldDef, device: Device) -> Vec<String> {
    if world.reduction.is_none() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    if device == Device::Gpu {
        notes.push(
            "reduction: a GPU gives the same results, but frozen grains leave it little to do, and it is asked in every \
             substep; while most grains are at rest the processor is faster"
                .into(),
        );
    }
    let split = world.reduction.map(|reduction| reduction.split);
    if let Some(Split::Trial(_)) = split {
        notes.push(
            "reduction: method \"trial\" solves for all grains once more after every step, which takes longer than \
             simulating them; it is there to be compared with method \"balance\""
                .into(),
        );
    }
    let down = world.gravity.normalize_or_zero();
    let rolls_over = |wall: &&WallDef| match &wall.motion {
        Motion::Rotate { axis, rate, .. } => *rate != 0.0 && axis.dot(down).abs() < LEVEL_AXIS,
        _ => false,
    };
    if let Some(wall) = world.walls.iter().find(rolls_over) {
        notes.push(format!(
            "reduction: wall {:?} turns over, so that grains flow without end; freezing stops the creep of what turns with \
             it, which steepens the surface by 1 to 2°",
            wall.name
        ));
    }
    let is_fed = !world.emitters.is_empty();
    let has_belt = world
        .walls
        .iter()
        .any(|wall| wall.surface_velocity != DVec3::ZERO);
    if !world.sinks.is_empty() && !is_fed && !has_belt {
        notes.push(
            "reduction: grains flow out into a sink; around a hopper's or silo's outlet the bed creeps, and freezing \
             holds it back: put a [[sensor]] where it flows"
                .into(),
        );
    }
    if (0..3).any(|axis| world.periodic[axis].is_some()) {
        notes.push(
            "reduction: in a shear cell or another flow along a periodic axis the whole bed creeps, and freezing holds it \
             back; walls that move carry nothing in a periodic world"
                .into(),
        );
    }
    let grains = world.packings.iter().map(|p| p.material);
    let grains: BTreeSet<usize> = grains
        .chain(world.emitters.iter().map(|e| e.material))
        .collect();
    let law = |a: usize, b: usize| {
        let mut named = world.pairs.iter();
        let pair = named.find(|p| p.materials == [a, b] || p.materials == [b, a]);
        pair.map_or_else(PairLaw::default, |p| p.law)
    };
    let holds = |wall: &WallDef| grains.iter().any(|&g| law(g, wall.material).friction > 0.0);
    if !world.walls.iter().any(holds) {
        notes.push("reduction: no wall has friction, so that nothing can be frozen to one".into());
    }
    notes
}

/// Cosine of the angle between the axis of a rotation and gravity below which what it carries turns
/// over.
const LEVEL_AXIS: f64 = 0.7;

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
fn places(placement: &Placement) -> Vec<DVec3> {
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
fn sample(region: &Region) -> Vec<DVec3> {
    // Additive recurrence with powers of the plastic number's analogue in three dimensions.
    const STEPS: DVec3 = DVec3::new(
        0.819_172_513_396_164_4,
        0.671_043_606_703_789_2,
        0.549_700_477_901_997,
    );
    let share = |k: usize| (STEPS * (k as f64 + 0.5)).fract().to_array();
    (0..SAMPLES).map(|k| region.sample(share(k))).collect()
}
