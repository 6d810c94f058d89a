//! What a scene will cost, and whether its step and sweeps are fine enough.
//!
//! With `d` the mean diameter, `ε` the overlap accepted (in diameters), `g`
//! gravity and `v` the largest approach speed:
//!
//! ```text
//! h ≤ min(ε d / v, √(2 ε d / g))                                             (37)
//! h ≤ min(d √(2 ε) / v, √(2 ε d / g))                                        (38)
//! N = c₀ (1 + c₁ I) / ε · { w (1 − exp(−c₂ l / w))   w ≥ 5                    (41)
//!                         { c₂ l                     w < 5
//! n = max(10, h √(g N_eff / (ε d)))                                          (42)
//! ```
//!
//! with the bed's depth `l` and width `w` in diameters, the inertial number
//! `I`, `c₀ = 0.3`, `c₁ = 2`, `c₂ = 0.44`; (41) is for sweeps over a whole
//! step from a cold start, (42) for substeps, where `N_eff` is the part of the
//! depth whose weight is not carried by the walls: `w (1 − exp(−c₂ l / w)) / c₂`
//! or `l`. Run time is `steps · sweeps · contacts · K`.
//!
//! (37) is the bound for contacts that are noticed only when grains overlap.
//! Predicted contacts stop a grain before it does; what remains is the error of
//! contact normals that are kept for a step, `(v h)² / (2 d)`, hence (38): by
//! it a scene is judged, and both are shown.

use std::f64::consts::PI;
use std::fmt;

use esker_cost::{effective_depth, sweeps_needed};
use esker_geometry::{Aabb, Side, WallShape};
use esker_world::check::max_prescribed_speed;
use esker_world::definition::{
    Method, Motion, NormalLaw, Placement, SizeDistribution, WarmStart, WorldDef,
};
use esker_world::packing::{count_estimate, lattice_count};
use esker_world::{PairTable, longest_substep};
use glam::DVec3;
use serde::Serialize;

use crate::check::{all_sizes, emitted, extent};
use crate::notes::{bodies, device, unnamed_pairs, wrong_sides};
use crate::reduction_notes;
use crate::scene::Scene;
use crate::shape_cost::ContactCost;

/// Memory per grain and per contact, bytes: state, neighbours, warm start, scratch.
const BYTES_PER_GRAIN: f64 = 1000.0;
const BYTES_PER_CONTACT: f64 = 600.0;
/// Memory of the program itself, bytes.
const BYTES_BASE: f64 = 2e7;
/// Time per contact and sweep, s: with friction only, and with rolling or twisting too.
const K_FRICTION: f64 = 4e-8;
const K_ROLLING: f64 = 8e-8;
/// Share of solid in a settled bed.
const BED_DENSITY: f64 = 0.6;
/// Slope of a free pile.
const PILE_SLOPE: f64 = 0.5;
/// Inertial number assumed where something flows.
const INERTIAL_NUMBER: f64 = 0.1;
/// Lattices of up to so many grains are counted, place by place.
const COUNTED_EXACTLY: usize = 1_000_000;
/// Overlaps, in diameters, that advice is given for.
const TOLERANCES: [f64; 2] = [0.01, 0.05];

/// What a scene will cost, with advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Grains at the start.
    pub grains_at_start: u64,
    /// Grains at the end, if none is removed before.
    pub grains_at_end: u64,
    /// Contacts at the end.
    pub contacts: u64,
    /// Memory, bytes.
    pub memory: f64,
    /// Steps.
    pub steps: u64,
    /// Sweeps (or substeps) per step that the scene asks for; for springs, what
    /// the fastest collision asks for if that is more.
    pub sweeps: u64,
    /// Time per contact and sweep that the run time is computed with, s.
    pub seconds_per_contact_sweep: f64,
    /// Run time on one thread, s.
    pub run_time: f64,
    /// Largest approach speed expected, m/s.
    pub speed: f64,
    /// Depth of the bed in diameters.
    pub depth: f64,
    /// Width of the bed in diameters.
    pub width: f64,
    /// Advice for overlaps of 1 % and 5 % of a diameter; none where there are no grains.
    pub advice: Vec<Advice>,
    /// Where the scene's own settings are too coarse.
    pub warnings: Vec<String>,
    /// What the scene leaves to defaults.
    pub notes: Vec<String>,
}

/// Settings that keep overlaps below a tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Overlap accepted, in diameters.
    pub tolerance: f64,
    /// Largest step, s, by (38): contacts are predicted.
    pub step: f64,
    /// Largest step, s, by (37): on the safe side for the fastest impacts.
    pub step_safe: f64,
    /// Fewest sweeps for the scene's step solved as a whole from a cold start, by (41).
    pub sweeps: u64,
    /// Fewest substeps for the scene's step, by (42); for springs, which choose
    /// them themselves, what they will take.
    pub substeps: u64,
}

/// Estimates a scene; `measured_k` is a time per contact and sweep measured on
/// this machine, s.
pub fn estimate(scene: &Scene, measured_k: Option<f64>) -> Estimate {
    let world = &scene.world;
    let steps = scene.steps();
    // Grains at the start, and given until the end.
    let packings = world.packings.iter().enumerate().map(|(i, packing)| {
        let cost = ContactCost::of(world, packing.shape.as_ref());
        (count(world, i), 0.0, cost)
    });
    let emitters = world.emitters.iter().map(|e| {
        let density = world.materials[e.material].density;
        let cost = ContactCost::of(world, e.shape.as_ref());
        (0.0, emitted(e, density, scene.run.duration), cost)
    });
    let sources: Vec<(f64, f64, ContactCost)> = packings.chain(emitters).collect();
    let at_start: f64 = sources.iter().map(|(start, _, _)| start).sum();
    let given: f64 = sources.iter().map(|(_, given, _)| given).sum();
    let at_end = at_start + given;
    let bed = Bed::of(scene, at_start, given);
    let springs = substeps_of_springs(world, &bed);
    let sweeps = springs.unwrap_or(world.method.sweeps() as u64);
    let k = measured_k.unwrap_or_else(|| if rolls(world) { K_ROLLING } else { K_FRICTION });
    let contacts: f64 = sources
        .iter()
        .map(|(start, given, cost)| (start + given) * cost.per_grain)
        .sum();
    let time_of_step: f64 = sources
        .iter()
        .map(|(start, given, cost)| (start + 0.5 * given) * cost.of_step(sweeps as f64))
        .sum();
    let advice = TOLERANCES.map(|tolerance| {
        let advice = bed.advice(tolerance, world);
        let substeps = springs.unwrap_or(advice.substeps);
        Advice { substeps, ..advice }
    });
    let warnings = [warnings(world, &bed, &advice[1]), wrong_sides(world)].concat();
    let has_grains = at_end > 0.0;
    Estimate {
        grains_at_start: at_start as u64,
        grains_at_end: at_end as u64,
        contacts: contacts as u64,
        memory: BYTES_BASE + BYTES_PER_GRAIN * at_end + BYTES_PER_CONTACT * contacts,
        steps,
        sweeps,
        seconds_per_contact_sweep: k,
        run_time: steps as f64 * time_of_step * k,
        speed: bed.max_speed(),
        depth: bed.depth,
        width: bed.width,
        warnings,
        notes: [
            unnamed_pairs(world),
            bodies(world, scene.run.duration),
            reduction_notes::notes(world, &scene.run),
            device(world, &scene.run),
        ]
        .concat(),
        advice: if has_grains {
            advice.into()
        } else {
            Vec::new()
        },
    }
}

/// Sets the step (unless it is given) and the sweeps of a scene so that its
/// overlaps stay below a tolerance, by (38), (41) and (42).
pub fn choose(scene: &mut Scene, tolerance: f64) {
    let grains: f64 = (0..scene.world.packings.len())
        .map(|i| count(&scene.world, i))
        .sum();
    let given = scene.world.emitters.len() as f64;
    if grains + given == 0.0 {
        // Nothing can overlap: the defaults will do.
        if !scene.step_is_given {
            scene.world.step = default_step(scene);
        }
        return;
    }
    let bed = Bed::of(scene, grains, given);
    if !scene.step_is_given {
        let step = bed.advice(tolerance, &scene.world).step;
        if step.is_finite() {
            // A grain that sets off falls by less than this share of its diameter.
            let fall = match scene.world.method {
                Method::SubStepped(_) | Method::Smooth(_) => 0.1,
                Method::WholeStep(_) => tolerance,
            };
            let longest = (2.0 * fall * bed.diameter / bed.gravity)
                .sqrt()
                .min(LONGEST_CHOSEN_STEP);
            let duration = scene.run.duration;
            let groups = (duration / (LONGEST_GROUP * step.min(longest)))
                .ceil()
                .max(1.0);
            scene.world.step = duration / (LONGEST_GROUP * groups);
            scene.world.longest_step = Some(longest);
        }
    }
    let advice = bed.advice(tolerance, &scene.world);
    match &mut scene.world.method {
        Method::SubStepped(m) => m.substeps = advice.substeps as usize,
        Method::WholeStep(m) => m.sweeps = advice.sweeps as usize,
        Method::Smooth(_) => {}
    }
}

/// A chosen step is lengthened up to so many times while running. The duration
/// is a whole number of these longest steps, so that every run ends with it.
const LONGEST_GROUP: f64 = 8.0;

/// Longest step that is chosen for a scene, s: drives must be followed too.
const LONGEST_CHOSEN_STEP: f64 = 0.02;

/// Longest step of a scene that gives none, s.
pub const LONGEST_DEFAULT_STEP: f64 = 5e-3;
/// Way of a grain in such a step, in diameters of the smallest one: contacts
/// are found once per step.
const DEFAULT_WAY: f64 = 0.1;

/// The step of a scene that gives none, s: at the largest speed that is to be
/// expected, and in free fall from rest, grains move a tenth of the smallest
/// diameter in it. A round number, whatever the duration is, so that a run that
/// is made longer goes on as it began.
pub fn default_step(scene: &Scene) -> f64 {
    let bed = Bed::of(scene, 1.0, 0.0);
    let radii = all_sizes(&scene.world).map(|(min, _)| min);
    let way = DEFAULT_WAY * 2.0 * radii.fold(f64::INFINITY, f64::min);
    let longest = (way / bed.max_speed())
        .min((2.0 * way / bed.gravity).sqrt())
        .min(LONGEST_DEFAULT_STEP);
    round_down(longest)
}

/// The largest round number that is not greater: steps of it meet round times.
fn round_down(number: f64) -> f64 {
    const ROUND: [f64; 6] = [8.0, 5.0, 4.0, 2.5, 2.0, 1.0];
    let power = number.log10().floor() as i32;
    // Decimal text, so that 4e-4 is what a scene would say.
    let candidates = ROUND.map(|digits| format!("{digits}e{power}").parse().unwrap_or(0.0));
    let fits = |round: &f64| *round <= number * (1.0 + 1e-12);
    candidates.into_iter().find(fits).unwrap_or(number)
}

fn count(world: &WorldDef, index: usize) -> f64 {
    let estimate = count_estimate(&world.packings[index]);
    let exact = (estimate <= COUNTED_EXACTLY).then(|| lattice_count(world, index));
    exact.flatten().unwrap_or(estimate) as f64
}

fn rolls(world: &WorldDef) -> bool {
    world
        .pairs
        .iter()
        .any(|pair| pair.law.rolling > 0.0 || pair.law.twisting > 0.0)
}

/// Substeps per step that smooth stepping will take where the bed's fastest
/// collision happens; `None` for other methods.
fn substeps_of_springs(world: &WorldDef, bed: &Bed) -> Option<u64> {
    let Method::Smooth(method) = &world.method else {
        return None;
    };
    let grains = world.packings.iter().map(|p| p.material);
    let materials: Vec<usize> = grains
        .chain(world.emitters.iter().map(|e| e.material))
        .collect();
    let pairs = PairTable::new(&world.materials, &world.pairs);
    let mut shortest = f64::INFINITY;
    for &a in &materials {
        let mass = world.materials[a].density * PI / 6.0 * bed.diameter.powi(3);
        // Against a grain, and against a flat wall.
        let walls = world.walls.iter().map(|w| (w.material, 1.0, 1.0));
        for (b, mass_share, radius_share) in materials.iter().map(|&b| (b, 0.5, 0.5)).chain(walls) {
            let pair = pairs.get(a as u16, b as u16);
            let stiffness = pair.stiffness(radius_share * 0.5 * bed.diameter);
            let effective_mass = mass_share * mass;
            let energy = effective_mass * bed.speed * bed.speed;
            let substep = match pair.law.normal {
                NormalLaw::Hertz => {
                    // ½ m v² = ⅖ k δ^(5/2)
                    let overlap = (1.25 * energy / stiffness).powf(0.4);
                    longest_substep(effective_mass, stiffness, overlap)
                }
                // The slope of a linear law is that of Hertz at 1.5 √δ = 1.
                NormalLaw::Linear { .. } => longest_substep(effective_mass, stiffness, 1.0 / 2.25),
            };
            shortest = shortest.min(substep);
        }
    }
    let parts = (world.step / (method.substeps as f64 * shortest))
        .ceil()
        .max(1.0);
    Some((method.substeps as f64 * parts) as u64)
}

/// How far a grain should move in a step at most, in diameters: contacts are
/// found once per step.
const MAX_MOVED: f64 = 0.1;
/// The same for grains that settle at the start.
const MAX_SETTLED: f64 = 1.0;

/// Overlap under the bed's own weight from which on grains count as too soft,
/// in diameters.
const SOFT: f64 = 0.05;

/// Overlap of the softest pair at the bottom of the bed, in diameters, and the
/// pair's names.
fn softest_pair<'a>(world: &'a WorldDef, bed: &Bed) -> Option<(f64, [&'a str; 2])> {
    let table = PairTable::new(&world.materials, &world.pairs);
    let of_packings = world.packings.iter().map(|p| p.material);
    let grains = of_packings.chain(world.emitters.iter().map(|e| e.material));
    let mut softest: Option<(f64, [&'a str; 2])> = None;
    for a in grains {
        let others = world.walls.iter().map(|w| w.material);
        for b in others.chain([a]) {
            let pair = table.get(a as u16, b as u16);
            let stiffness = pair.stiffness(0.25 * bed.diameter);
            let depth = effective_depth(bed.depth, bed.width) * bed.diameter;
            let weight = BED_DENSITY * world.materials[a].density * bed.gravity * depth;
            let pressed = pair.static_overlap(stiffness, weight * bed.diameter * bed.diameter);
            let overlap = pressed / bed.diameter;
            if softest.is_none_or(|(most, _)| overlap > most) {
                softest = Some((overlap, [a, b].map(|m| world.materials[m].name.as_str())));
            }
        }
    }
    softest
}

fn warnings(world: &WorldDef, bed: &Bed, coarse: &Advice) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((overlap, [a, b])) = softest_pair(world, bed).filter(|(most, _)| *most > SOFT) {
        warnings.push(format!(
            "\"{a}\" and \"{b}\" are too soft: the weight of a bed {:.0} diameters deep presses them into one \
             another by {:.0} % of a diameter; check `young` (in Pa: 70 GPa is 7e10)",
            bed.depth,
            100.0 * overlap
        ));
    }
    if world.packings.is_empty() && world.emitters.is_empty() {
        // No grains fall, and no bed is deep.
        return warnings;
    }
    let percent = 100.0 * coarse.tolerance;
    let moved = |speed: f64| speed * world.step / bed.diameter;
    let fall = (2.0 * coarse.tolerance * bed.diameter / bed.gravity).sqrt();
    // Grains that settle together meet slowly: they may move farther.
    let (speed, most) = if moved(bed.settling) > MAX_SETTLED {
        (bed.max_speed(), MAX_SETTLED)
    } else {
        (bed.speed, MAX_MOVED)
    };
    if moved(speed) > most {
        warnings.push(format!(
            "step = {:.2e} s is coarse: contacts are found once per step, and at {speed:.2} m/s a grain moves {:.2} of its diameter in it; up to {:.2e} s it is a tenth",
            world.step,
            moved(speed),
            MAX_MOVED * bed.diameter / speed
        ));
    } else if world.step > fall {
        warnings.push(format!(
            "step = {:.2e} s is coarse: falling grains overlap by less than {percent} % of a diameter only up to {fall:.2e} s",
            world.step
        ));
    }
    match &world.method {
        Method::SubStepped(m) if (m.substeps as u64) < coarse.substeps => {
            warnings.push(format!(
                "substeps = {} is coarse: overlaps of {percent} % in a bed {:.0} diameters deep ask for {}",
                m.substeps, bed.depth, coarse.substeps
            ));
        }
        Method::WholeStep(m) => {
            // Warm starting saves sweeps: a factor of two to three was measured.
            let needed = match m.warm_start {
                WarmStart::History { .. } | WarmStart::Model => coarse.sweeps.div_ceil(2),
                _ => coarse.sweeps,
            };
            if (m.sweeps as u64) < needed {
                warnings.push(format!(
                    "sweeps = {} is coarse: overlaps of {percent} % in a bed {:.0} diameters deep ask for {needed}",
                    m.sweeps, bed.depth
                ));
            }
        }
        Method::SubStepped(_) | Method::Smooth(_) => {}
    }
    warnings
}

/// The bed that a scene's grains will make.
#[derive(Clone, Copy, Debug)]
struct Bed {
    /// Mean diameter, m.
    diameter: f64,
    /// Depth in diameters.
    depth: f64,
    /// Width in diameters.
    width: f64,
    /// Largest approach speed that drives and free falls give, m/s.
    speed: f64,
    /// Largest speed while placed grains settle, m/s.
    settling: f64,
    /// Gravity, m/s².
    gravity: f64,
    /// Whether anything keeps it flowing.
    flows: bool,
}

impl Bed {
    fn of(scene: &Scene, at_start: f64, given: f64) -> Bed {
        let world = &scene.world;
        let gravity = world.gravity.length();
        let axis = vertical_axis(world.gravity);
        let domain = Domain::of(world, axis);
        let (solid, number) = solid_volume(world, at_start, scene.run.duration);
        let diameter = (6.0 / PI * solid / number.max(1.0))
            .cbrt()
            .max(f64::MIN_POSITIVE);
        let (depth, width) = match column(world) {
            Some(count) if given == 0.0 => (count, 1.0),
            _ => domain.bed(solid / BED_DENSITY, diameter),
        };
        let fall = (2.0 * gravity * domain.drop(world)).sqrt();
        let settling = (2.0 * gravity * domain.settling(world, depth * diameter)).sqrt();
        Bed {
            diameter,
            depth,
            width,
            speed: max_prescribed_speed(world).max(fall),
            settling,
            gravity,
            flows: flows(world),
        }
    }

    fn max_speed(&self) -> f64 {
        self.speed.max(self.settling)
    }

    fn advice(&self, tolerance: f64, world: &WorldDef) -> Advice {
        let overlap = tolerance * self.diameter;
        // Without speed or gravity the bounds are infinite: any step will do.
        let speed = self.max_speed();
        let impact = overlap / speed;
        let kept_normals = (2.0 * tolerance).sqrt() * self.diameter / speed;
        let fall = (2.0 * overlap / self.gravity).sqrt();
        let inertia = if self.flows { INERTIAL_NUMBER } else { 0.0 };
        let sweeps = sweeps_needed(tolerance, self.depth, self.width, inertia);
        let stack = effective_depth(self.depth, self.width);
        let substeps = world.step * (self.gravity * stack / overlap).sqrt();
        Advice {
            tolerance,
            step: kept_normals.min(fall),
            step_safe: impact.min(fall),
            sweeps: sweeps.ceil().max(1.0) as u64,
            substeps: substeps.ceil().max(10.0) as u64,
        }
    }
}

fn flows(world: &WorldDef) -> bool {
    let moves = |wall: &esker_world::definition::WallDef| {
        wall.motion != Motion::Still || wall.surface_velocity != DVec3::ZERO
    };
    !world.emitters.is_empty() || !world.sinks.is_empty() || world.walls.iter().any(moves)
}

/// The number of grains of the tallest column, where a scene has nothing but columns.
fn column(world: &WorldDef) -> Option<f64> {
    let mut tallest = None;
    for packing in &world.packings {
        match &packing.placement {
            Placement::Column { count, .. } => {
                tallest = Some((*count as f64).max(tallest.unwrap_or(0.0)));
            }
            _ => return None,
        }
    }
    tallest
}

/// Volume of all grains, m³, and their number.
fn solid_volume(world: &WorldDef, at_start: f64, duration: f64) -> (f64, f64) {
    let ball = |sizes: &SizeDistribution| 4.0 / 3.0 * PI * sizes.mean_cube();
    let mut solid = 0.0;
    for packing in &world.packings {
        solid += match &packing.placement {
            Placement::Lattice { sizes, .. } if world.packings.len() == 1 => at_start * ball(sizes),
            Placement::Lattice { sizes, .. }
            | Placement::Random { sizes, .. }
            | Placement::Packed { sizes, .. }
            | Placement::Column { sizes, .. } => count_estimate(packing) as f64 * ball(sizes),
            Placement::Listed { grains } => grains
                .iter()
                .map(|grain| 4.0 / 3.0 * PI * grain.radius.powi(3))
                .sum(),
        };
    }
    let mut number = at_start;
    for emitter in &world.emitters {
        let given = emitted(emitter, world.materials[emitter.material].density, duration);
        solid += given * ball(&emitter.sizes);
        number += given;
    }
    (solid, number)
}

/// The coordinate axis nearest to gravity's direction, with the sign of "up".
fn vertical_axis(gravity: DVec3) -> (usize, f64) {
    let index = (0..3)
        .max_by(|&a, &b| gravity[a].abs().total_cmp(&gravity[b].abs()))
        .unwrap_or(2);
    (index, if gravity[index] > 0.0 { -1.0 } else { 1.0 })
}

/// The room of two containers together. Along an axis on which one lies within
/// the other (a shell between end walls) it is what both leave, else what
/// they enclose together (a bin above its cone).
fn join(a: Aabb, b: Aabb) -> Aabb {
    let (mut room, common) = (a.union(b), Aabb::new(a.min.max(b.min), a.max.min(b.max)));
    for i in 0..3 {
        if common.size()[i] > 0.5 * a.size()[i].min(b.size()[i]) {
            room.min[i] = common.min[i];
            room.max[i] = common.max[i];
        }
    }
    room
}

/// The room that walls leave to grains; infinite where no wall is.
struct Domain {
    room: Aabb,
    /// The lowest place that any wall reaches, as a height along "up", m.
    lowest_wall: f64,
    axis: usize,
    up: f64,
}

impl Domain {
    fn of(world: &WorldDef, (axis, up): (usize, f64)) -> Domain {
        let mut room: Option<Aabb> = None;
        let mut holds = |bounds: Aabb| {
            room = Some(room.map_or(bounds, |room| join(room, bounds)));
        };
        // As walls that are meshes.
        let surfaces = || {
            let bodies = world.bodies.iter().filter(|body| body.shape.is_surface());
            bodies.map(|body| body.shape.bounding_box().transformed(&body.centre()))
        };
        surfaces().for_each(&mut holds);
        for wall in &world.walls {
            let contains = match &wall.shape {
                WallShape::HalfSpace => false,
                WallShape::Box { side, .. }
                | WallShape::Cylinder { side, .. }
                | WallShape::Cone { side, .. } => *side == Side::Inside,
                WallShape::Mesh(_) => true,
            };
            if let (true, Some(local)) = (contains, wall.shape.bounds()) {
                holds(local.transformed(&wall.pose));
            }
        }
        let mut room = room.unwrap_or(Aabb {
            min: DVec3::NEG_INFINITY,
            max: DVec3::INFINITY,
        });
        for wall in &world.walls {
            if !matches!(wall.shape, WallShape::HalfSpace) {
                continue;
            }
            let normal = wall.pose.orientation * DVec3::Z;
            for i in 0..3 {
                if normal[i] > 0.7 {
                    room.min[i] = room.min[i].max(wall.pose.position[i]);
                } else if normal[i] < -0.7 {
                    room.max[i] = room.max[i].min(wall.pose.position[i]);
                }
            }
        }
        if let Some([min, max]) = world.bounds {
            room.min = room.min.max(min);
            room.max = room.max.min(max);
        }
        let lowest_wall = world
            .walls
            .iter()
            .filter_map(|wall| Some(wall.shape.bounds()?.transformed(&wall.pose)))
            .chain(surfaces())
            .map(|bounds| (up * bounds.min[axis]).min(up * bounds.max[axis]))
            .fold(f64::INFINITY, f64::min);
        Domain {
            room,
            lowest_wall,
            axis,
            up,
        }
    }

    /// Height of the lowest place that grains can fall to; infinitely low
    /// where there is nothing at all.
    fn floor(&self) -> f64 {
        let end = if self.up > 0.0 {
            self.room.min
        } else {
            self.room.max
        };
        let floor = self.up * end[self.axis];
        if floor.is_finite() {
            floor
        } else {
            self.lowest_wall
        }
    }

    /// Depth and width, in diameters, of a bed with this volume (m³).
    fn bed(&self, volume: f64, diameter: f64) -> (f64, f64) {
        let size = self.room.size();
        let (a, b) = (size[(self.axis + 1) % 3], size[(self.axis + 2) % 3]);
        // A cone of slope s: V = π r³ s / 3.
        let pile_radius = (3.0 * volume / (PI * PILE_SLOPE)).cbrt();
        let (a, b) = (a.min(2.0 * pile_radius), b.min(2.0 * pile_radius));
        let width = a.min(b).max(diameter);
        let free = !size[self.axis].is_finite() || size.max_element() >= 2.0 * pile_radius;
        let depth = if free && width >= 2.0 * pile_radius {
            PILE_SLOPE * pile_radius
        } else {
            (volume / (a * b).max(diameter * diameter)).min(size[self.axis].max(diameter))
        };
        ((depth / diameter).max(1.0), width / diameter)
    }

    /// The largest height, m, that grains fall freely: emitted ones from the
    /// top of their region to the floor, placed ones from their lowest place.
    fn drop(&self, world: &WorldDef) -> f64 {
        let placed = world
            .packings
            .iter()
            .filter_map(|packing| Some(self.ends(extent(&packing.placement)?).0));
        let emitted = world
            .emitters
            .iter()
            .map(|emitter| self.ends(emitter.region.bounds()).1);
        self.max_above(self.floor(), placed.chain(emitted))
    }

    /// The largest height, m, by which placed grains settle: from the highest
    /// place to the surface of a bed of this height, m.
    fn settling(&self, world: &WorldDef, bed_height: f64) -> f64 {
        let tops = world.packings.iter().filter_map(|packing| {
            let (low, high) = self.ends(extent(&packing.placement)?);
            Some(low + filled_share(&packing.placement) * (high - low))
        });
        self.max_above(self.floor() + bed_height, tops)
    }

    fn max_above(&self, level: f64, heights: impl Iterator<Item = f64>) -> f64 {
        if level.is_finite() {
            heights.map(|height| height - level).fold(0.0, f64::max)
        } else {
            0.0
        }
    }

    /// Lowest and largest height of bounds, m.
    fn ends(&self, bounds: Aabb) -> (f64, f64) {
        let (a, b) = (
            self.up * bounds.min[self.axis],
            self.up * bounds.max[self.axis],
        );
        (a.min(b), a.max(b))
    }
}

/// Share of its region's height that a placement fills: a lattice with a count
/// fills from the bottom. Nothing of one that may stand already, as a column.
fn filled_share(placement: &Placement) -> f64 {
    match placement {
        Placement::Lattice {
            region,
            spacing,
            count: Some(count),
            sizes,
            ..
        } => {
            let spacing = spacing.unwrap_or(2.0 * sizes.max());
            (*count as f64 * spacing.powi(3) / region.volume()).min(1.0)
        }
        Placement::Lattice { .. } | Placement::Random { .. } | Placement::Packed { .. } => 1.0,
        Placement::Column { .. } | Placement::Listed { .. } => 0.0,
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.grains_at_end == self.grains_at_start {
            writeln!(f, "grains      {}", self.grains_at_start)?;
        } else {
            writeln!(
                f,
                "grains      {} at the start, up to {} at the end",
                self.grains_at_start, self.grains_at_end
            )?;
        }
        writeln!(f, "contacts    about {}", self.contacts)?;
        writeln!(f, "memory      about {}", bytes(self.memory))?;
        writeln!(f, "steps       {} of {} sweeps", self.steps, self.sweeps)?;
        writeln!(
            f,
            "run time    {} (at {:.1e} s per contact and sweep)",
            duration(self.run_time),
            self.seconds_per_contact_sweep
        )?;
        if self.grains_at_end > 0 {
            writeln!(
                f,
                "bed         about {:.0} diameters deep, {:.0} wide; fastest {:.2} m/s",
                self.depth, self.width, self.speed
            )?;
        }
        for advice in &self.advice {
            writeln!(
                f,
                "overlap {:>2.0} % step up to {:.1e} s ({:.1e} s for the fastest impacts); {} substeps, or {} sweeps from cold",
                100.0 * advice.tolerance,
                advice.step,
                advice.step_safe,
                advice.substeps,
                advice.sweeps
            )?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

fn bytes(bytes: f64) -> String {
    if bytes >= 1e9 {
        format!("{:.1} GB", bytes / 1e9)
    } else {
        format!("{:.0} MB", bytes / 1e6)
    }
}

fn duration(seconds: f64) -> String {
    if seconds < 1.0 {
        "less than a second".to_string()
    } else if seconds < 120.0 {
        format!("about {seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("about {:.0} min", seconds / 60.0)
    } else {
        format!("about {:.1} h", seconds / 3600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values of the formula, as published for three beds.
    #[test]
    fn sweeps_match_the_published_beds() {
        assert!((sweeps_needed(0.05, 10.0, 6.0, 0.0) - 18.7).abs() < 0.1);
        assert!((sweeps_needed(0.01, 100.0, 15.0, 0.1) - 511.0).abs() < 1.0);
        assert!((sweeps_needed(0.01, 1000.0, 1.0, 0.0) - 13200.0).abs() < 1.0);
    }

    #[test]
    fn a_wide_bed_weighs_with_its_whole_depth() {
        let wide = effective_depth(20.0, 1e6);
        assert!((wide / 20.0 - 1.0).abs() < 1e-3);
        assert_eq!(effective_depth(20.0, f64::INFINITY), 20.0);
    }
}
