//! Scenes in which freezing grains at rest changes the result, or gains nothing, and thresholds
//! that freeze what is not at rest: said by `check`, never an error.

use std::collections::BTreeSet;

use esker_geometry::{Side, Touch, WallShape};
use esker_world::definition::{
    Motion, PairLaw, Placement, Reduction, SizeDistribution, Split, Trial, WallDef, WorldDef,
};
use glam::DVec3;

use crate::check::all_sizes;
use crate::notes::places;
use crate::scene::{Device, RunDef};

/// Cosine of the angle between the axis of a rotation and gravity below which what it carries turns
/// over.
const LEVEL_AXIS: f64 = 0.7;

/// Angle of all rotations of a wall during a run from which on grains flow on it, rad: beyond every
/// angle of repose.
const FLOWING_ANGLE: f64 = 0.87;

/// Relative displacement of opposite walls during a run that is shear, in diameters.
const SHEAR: f64 = 5.0;

/// Share of it in the second half of the run from which on it is no gate that opens.
const LASTING: f64 = 0.25;

/// Share of gravity along a periodic axis from which on grains may flow along it.
const INCLINED: f64 = 0.2;

/// Displacement by jitter, in diameters, over the coefficient of rolling resistance, below which
/// columns of a lattice were frozen before they buckled (beds of seven layers with coefficients of
/// 0.1 and 0.3: 0.3 stood, 0.5 fell; without rolling resistance all fell that had any jitter).
const STANDING: f64 = 0.4;

/// Spread of diameters over their mean from which on layers do not stand on each other.
const UNEQUAL: f64 = 0.13;

/// Distance of neighbours in a lattice that states none, in largest diameters.
const DEFAULT_SPACING: f64 = 1.02;

/// Layers of a lattice that are a column.
const LAYERS: f64 = 3.0;

/// Times at which motions are looked at.
const TIMES: usize = 400;

/// Places of grains from which the way down is followed, and most steps of it.
const WAYS: usize = 64;
const MOST_STEPS: usize = 4000;

/// All notes about `reduction`.
pub(crate) fn notes(world: &WorldDef, run: &RunDef) -> Vec<String> {
    let Some(settings) = world.reduction else {
        return match world.sensors.is_empty() {
            true => Vec::new(),
            false => {
                vec!["[[sensor]] has no effect without `reduction`: no grain is frozen".into()]
            }
        };
    };
    let mut notes = Vec::new();
    if run.device == Device::Gpu {
        notes.push(
            "reduction: a GPU gives the same results, but frozen grains leave it little to do, and it is asked in every \
             substep; while most grains are at rest the processor is faster"
                .into(),
        );
    }
    if let Split::Trial(_) = settings.split {
        notes.push(
            "reduction: method \"trial\" solves for all grains once more after every step, which takes longer than \
             simulating them; it is there to be compared with method \"balance\""
                .into(),
        );
    }
    notes.extend(thresholds(&settings));
    let walls = Walls::new(world, run.duration);
    notes.extend(walls.turning());
    notes.extend(walls.shearing());
    if flows_out(world, run.duration) {
        notes.push(
            "reduction: grains flow out through an opening; around the outlet of a hopper or silo the bed creeps, and \
             freezing holds it back: put a [[sensor]] where it flows, or compare with a run without `reduction`"
                .into(),
        );
    }
    notes.extend(walls.standing_lattices());
    if !world.walls.iter().any(|wall| walls.holds(wall)) {
        notes.push("reduction: no wall has friction, so that nothing can be frozen to one".into());
    }
    notes
}

/// Thresholds far from their defaults.
fn thresholds(settings: &Reduction) -> Vec<String> {
    let default = Reduction::default();
    let longest = |r: &Reduction| r.refresh_time * r.refresh_growth;
    let moving = "grains are frozen while they move";
    let stays = "frozen grains stay frozen where they should move";
    let mut compared = vec![
        (
            "rest_speed",
            settings.rest_speed,
            default.rest_speed,
            4.0,
            moving,
        ),
        (
            "rest_acceleration",
            settings.rest_acceleration,
            default.rest_acceleration,
            4.0,
            moving,
        ),
        (
            "impact_speed",
            settings.impact_speed,
            default.impact_speed,
            4.0,
            "impacts do not set frozen grains free",
        ),
    ];
    match settings.split {
        Split::Balance => compared.extend([
            (
                "imbalance",
                settings.imbalance,
                default.imbalance,
                2.0,
                stays,
            ),
            (
                "refresh_time × refresh_growth",
                longest(settings),
                longest(&default),
                4.0,
                stays,
            ),
        ]),
        Split::Trial(trial) => {
            let default = Trial::default();
            compared.extend([
                ("trial_force", trial.force, default.force, 4.0, stays),
                (
                    "trial_approach",
                    trial.approach,
                    default.approach,
                    4.0,
                    stays,
                ),
                (
                    "trial_separation",
                    trial.separation,
                    default.separation,
                    4.0,
                    stays,
                ),
                ("trial_slip", trial.slip, default.slip, 4.0, stays),
            ]);
        }
    }
    let times = |ratio: f64| match ratio {
        ..10.0 => format!("{ratio:.1}"),
        ..1e4 => format!("{ratio:.0}"),
        _ => format!("{ratio:.0e}"),
    };
    let mut notes: Vec<String> = compared
        .into_iter()
        .filter(|(_, value, default, factor, _)| *value > factor * default)
        .map(|(key, value, default, _, why)| {
            format!(
                "reduction: {key} is {} times its default of {default}: {why}",
                times(value / default)
            )
        })
        .collect();
    if 4.0 * settings.rest_time < default.rest_time {
        notes.push(format!(
            "reduction: rest_time is {:.2} of its default of {}: grains that are slow for a moment are frozen",
            settings.rest_time / default.rest_time,
            default.rest_time
        ));
    }
    notes
}

/// Walls and what they do during a run.
struct Walls<'a> {
    world: &'a WorldDef,
    duration: f64,
    /// Materials of grains.
    grains: BTreeSet<usize>,
}

impl<'a> Walls<'a> {
    fn new(world: &'a WorldDef, duration: f64) -> Self {
        let grains = world.packings.iter().map(|p| p.material);
        let grains = grains.chain(world.emitters.iter().map(|e| e.material));
        Walls {
            world,
            duration,
            grains: grains.collect(),
        }
    }

    fn law(&self, a: usize, b: usize) -> PairLaw {
        let mut named = self.world.pairs.iter();
        let pair = named.find(|p| p.materials == [a, b] || p.materials == [b, a]);
        pair.map_or_else(PairLaw::default, |p| p.law)
    }

    /// Whether friction may hold a grain on a wall.
    fn holds(&self, wall: &WallDef) -> bool {
        let mut grains = self.grains.iter();
        grains.any(|&g| self.law(g, wall.material).friction > 0.0)
    }

    /// Lattices whose columns are frozen before they buckle.
    fn standing_lattices(&self) -> Option<String> {
        let up = self.world.gravity.normalize_or_zero().abs();
        let packings = self.world.packings.iter().enumerate();
        let standing = packings.filter_map(|(index, packing)| {
            let Placement::Lattice {
                region,
                spacing,
                jitter,
                sizes,
                ..
            } = &packing.placement
            else {
                return None;
            };
            let (min, max) = (2.0 * sizes.min(), 2.0 * sizes.max());
            let mean = 0.5 * (min + max);
            let spacing = spacing.unwrap_or(DEFAULT_SPACING * max);
            let rolling = self.law(packing.material, packing.material).rolling;
            let displacement = jitter * (spacing - max) / mean;
            let layers = region.bounds().size().dot(up) / spacing;
            let stands = displacement <= STANDING * rolling
                && max - min < UNEQUAL * mean
                && layers >= LAYERS
                && packing.shape.is_none();
            stands.then_some((index, (max + 1.5 * STANDING * rolling * mean) / max))
        });
        let standing: Vec<(usize, f64)> = standing.collect();
        let (first, spacing) = *standing.first()?;
        let others = match standing.len() - 1 {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        Some(format!(
            "reduction: grains.{first}{others} is a lattice with little jitter: its columns may be frozen before they \
             buckle, and stand for ever; take a jitter of 1 with a spacing of {spacing:.2} diameters or more, or \
             place = \"packing\""
        ))
    }

    /// Walls that turn over, or past others.
    fn turning(&self) -> Option<String> {
        let down = self.world.gravity.normalize_or_zero();
        let walls = self.world.walls.iter();
        let turning: Vec<(&WallDef, DVec3)> = walls
            .filter_map(|wall| {
                let (axis, angle) = turned(&wall.motion, self.duration)?;
                (angle > FLOWING_ANGLE).then_some((wall, axis))
            })
            .collect();
        let is_level = |axis: DVec3| axis.dot(down).abs() < LEVEL_AXIS;
        if let Some((wall, _)) = turning.iter().find(|(_, axis)| is_level(*axis)) {
            return Some(format!(
                "reduction: wall {:?} turns over, so that grains flow without end; freezing stops the creep of what turns \
                 with it, which steepens the surface by 1 to 2°",
                wall.name
            ));
        }
        let passes_others = |wall: &WallDef| {
            let others = self.world.walls.iter();
            let mut others = others.filter(|other| other.motion != wall.motion);
            self.holds(wall) && others.any(|other| self.holds(other))
        };
        let (wall, _) = turning.iter().find(|(wall, _)| passes_others(wall))?;
        Some(format!(
            "reduction: wall {:?} turns about an upright axis past walls that do not, as in a mixer or an annular shear \
             cell: the whole bed creeps, and freezing holds it back",
            wall.name
        ))
    }

    /// Walls that shear what is between them, and flows along a periodic axis.
    fn shearing(&self) -> Option<String> {
        let world = self.world;
        let gravity = world.gravity.normalize_or_zero();
        let mut periodic = (0..3).filter(|&axis| world.periodic[axis].is_some());
        let moves =
            |wall: &WallDef| wall.motion != Motion::Still || wall.surface_velocity != DVec3::ZERO;
        let is_driven = world
            .walls
            .iter()
            .any(|wall| moves(wall) && self.holds(wall));
        if periodic.any(|axis| is_driven || gravity[axis].abs() > INCLINED) {
            return Some(
                "reduction: in a shear cell or another flow along a periodic axis the whole bed creeps, and freezing holds \
                 it back; walls that move carry nothing in a periodic world"
                    .into(),
            );
        }
        let least = SHEAR * self.mean_diameter();
        let walls = || world.walls.iter().filter(|wall| self.holds(wall));
        for (k, a) in walls().enumerate() {
            for b in walls().skip(k + 1) {
                let mut opposite = faces(a).into_iter().flat_map(|n| {
                    let other = faces(b).into_iter().map(move |m| (n, m));
                    other.collect::<Vec<_>>()
                });
                let gap = b.pose.position - a.pose.position;
                let shears = |(n, m): (DVec3, DVec3)| {
                    n.dot(m) < -0.9 && gap.dot(n) > 0.0 && self.lasting_slip(a, b, n) > least
                };
                if opposite.any(shears) {
                    return Some(format!(
                        "reduction: walls {:?} and {:?} move past one another and shear what is between them, as in a shear \
                         cell: the whole bed creeps, and freezing holds it back",
                        a.name, b.name
                    ));
                }
            }
        }
        None
    }

    fn mean_diameter(&self) -> f64 {
        let sizes: Vec<f64> = all_sizes(self.world).map(|(min, max)| min + max).collect();
        sizes.iter().sum::<f64>() / sizes.len().max(1) as f64
    }

    /// How far two walls slide past one another in a run, in the plane of this normal, if they still
    /// do in its second half, m.
    fn lasting_slip(&self, a: &WallDef, b: &WallDef, normal: DVec3) -> f64 {
        let place = |wall: &WallDef, time: f64| {
            let belt = wall.pose.orientation * wall.surface_velocity;
            wall.motion.pose(&wall.pose, time).position + belt * time
        };
        let apart = |k: usize| {
            let time = self.duration * k as f64 / TIMES as f64;
            (place(b, time) - place(a, time)).reject_from_normalized(normal)
        };
        let path = |range: std::ops::Range<usize>| -> f64 {
            range.map(|k| apart(k + 1).distance(apart(k))).sum()
        };
        let (first, second) = (path(0..TIMES / 2), path(TIMES / 2..TIMES));
        match second > LASTING * (first + second) {
            true => first + second,
            false => 0.0,
        }
    }
}

/// Outer normals of the flat faces of a wall that is a plane, or a plate: a solid box that is much
/// longer and wider than thick.
fn faces(wall: &WallDef) -> Vec<DVec3> {
    let outwards = |local: DVec3| wall.pose.orientation * local;
    match &wall.shape {
        WallShape::HalfSpace => vec![outwards(DVec3::Z)],
        // A belt carries on one face, and nothing is between the other and the floor.
        WallShape::Box {
            half_extents,
            side: Side::Outside,
            ..
        } if wall.surface_velocity == DVec3::ZERO => {
            let thin = (0..3).find(|&k| {
                let others = [(k + 1) % 3, (k + 2) % 3];
                others
                    .iter()
                    .all(|&o| half_extents[o] > 2.0 * half_extents[k])
            });
            let normal = thin.map(|k| outwards(DVec3::AXES[k]));
            normal.map_or_else(Vec::new, |n| vec![n, -n])
        }
        _ => Vec::new(),
    }
}

/// The axis of a motion and the angle of all its rotations, to and fro, in a time.
fn turned(motion: &Motion, duration: f64) -> Option<(DVec3, f64)> {
    match motion {
        Motion::Still | Motion::Translate { .. } | Motion::Oscillate { .. } => None,
        Motion::Rotate {
            axis,
            rate,
            start,
            stop,
            ..
        } => Some((*axis, rate.abs() * (stop.min(duration) - start).max(0.0))),
        Motion::Table { axis, .. } => {
            let angle = |k: usize| motion.offset(duration * k as f64 / TIMES as f64).angle;
            let path = (0..TIMES).map(|k| (angle(k + 1) - angle(k)).abs()).sum();
            Some((*axis, path))
        }
        Motion::During {
            motion,
            start,
            stop,
        } => turned(motion, (stop.min(duration) - start).max(0.0)),
        Motion::Together(motions) => {
            let all = motions.iter().filter_map(|motion| turned(motion, duration));
            all.max_by(|a, b| a.1.total_cmp(&b.1))
        }
    }
}

/// Where a grain comes to that falls straight down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landing {
    Sink,
    Belt,
    Wall,
    Nowhere,
}

/// Whether grains flow out of a container into a sink below it, or onto a belt.
fn flows_out(world: &WorldDef, duration: f64) -> bool {
    let Some(down) = world.gravity.try_normalize() else {
        return false;
    };
    if world.sinks.is_empty() {
        return false;
    }
    let from = |places: Vec<DVec3>, radius: f64| -> Vec<Landing> {
        let stride = places.len().div_ceil(WAYS).max(1);
        let chosen = places.into_iter().step_by(stride);
        chosen
            .map(|place| landing(world, duration, (place, radius), down))
            .collect()
    };
    let packings = world.packings.iter().map(|packing| {
        let radius = radius_of(&packing.placement);
        (from(places(&packing.placement), radius), true)
    });
    let emitters = world.emitters.iter().map(|emitter| {
        let places = crate::notes::sample(&emitter.region);
        (from(places, emitter.sizes.min()), false)
    });
    packings.chain(emitters).any(|(landings, lies)| {
        let some = |landing| landings.contains(&landing);
        // A bed above an opening lies beside it too, and one on a belt does not.
        some(Landing::Sink) || lies && some(Landing::Belt) && some(Landing::Wall)
    })
}

fn radius_of(placement: &Placement) -> f64 {
    let min = |sizes: &SizeDistribution| sizes.min();
    match placement {
        Placement::Lattice { sizes, .. }
        | Placement::Random { sizes, .. }
        | Placement::Packed { sizes, .. }
        | Placement::Column { sizes, .. } => min(sizes),
        Placement::Listed { grains } => {
            let radii = grains.iter().map(|grain| grain.radius);
            radii.fold(f64::INFINITY, f64::min)
        }
    }
}

/// Follows the way down of a grain past gates: walls that are not there at the end of the run, or
/// somewhere else.
fn landing(
    world: &WorldDef,
    duration: f64,
    (mut place, radius): (DVec3, f64),
    down: DVec3,
) -> Landing {
    let is_gate = |wall: &&WallDef| {
        let displacement = wall.motion.offset(duration).displacement;
        !wall.presence.contains(duration) || displacement.length() > radius
    };
    let walls: Vec<&WallDef> = world.walls.iter().filter(|wall| !is_gate(wall)).collect();
    let mut touches: Vec<Touch> = Vec::new();
    for _ in 0..MOST_STEPS {
        if world.sinks.iter().any(|sink| sink.region.contains(place)) {
            return Landing::Sink;
        }
        for wall in &walls {
            touches.clear();
            let local = wall.pose.to_local(place);
            wall.shape.touches(local, radius, 0.0, &mut touches);
            let below = wall.pose.orientation.conjugate() * down;
            // A vertical wall beside it does not hold it.
            if touches
                .iter()
                .any(|touch| touch.normal.dot(below).abs() > 0.1)
            {
                return match wall.surface_velocity == DVec3::ZERO {
                    true => Landing::Wall,
                    false => Landing::Belt,
                };
            }
        }
        place += down * radius;
    }
    Landing::Nowhere
}
