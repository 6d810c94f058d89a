//! Whether the values of a definition are possible at all: every number in its
//! range, every index in its list, every name known. [`crate::World::new`]
//! accepts nothing else, so that no later stage has to ask. Whether the parts
//! fit together is the business of [`crate::check`].

use std::collections::BTreeSet;
use std::f64::consts::FRAC_PI_2;
use std::fmt::Display;

use esker_geometry::{BodyShape, Pose, Region, WallShape, principal_moments};
use esker_solver::by_name;
use glam::{DMat3, DVec3};

use crate::check::Problem;
use crate::definition::*;
use crate::grains::{GrainId, sphere_inertia};
use crate::packing::{count_estimate, sphere_mass};
use crate::periodic::MIN_DIAMETERS;

/// Most grains that packings may ask for together.
pub const MOST_GRAINS: usize = 100_000_000;
/// Most materials: laws are kept for every pair of them.
pub const MOST_MATERIALS: usize = 256;
/// By how much the square of a unit vector's length may differ from one.
const UNIT_TOLERANCE: f64 = 1e-6;

type Checked = Result<(), Problem>;

/// The first impossible value of a definition.
pub fn validate(def: &WorldDef) -> Checked {
    vector("gravity", def.gravity)?;
    positive("step", def.step)?;
    optional(def.accuracy, |x| positive("tolerance", x))?;
    optional(def.longest_step, |x| positive("longest_step", x))?;
    method(&def.method)?;
    contact(&def.contact)?;
    materials(&def.materials)?;
    pairs(def)?;
    shapes(def)?;
    for (i, def_of_wall) in def.walls.iter().enumerate() {
        wall(def, &format!("wall.{i}"), def_of_wall)?;
    }
    for (i, def_of_body) in def.bodies.iter().enumerate() {
        body(def, &format!("body.{i}"), def_of_body)?;
    }
    periodic(def)?;
    joints(def)?;
    held_surfaces(def)?;
    let grains = def.packings.iter().map(count_estimate);
    let count = grains.fold(0, usize::saturating_add);
    require(count <= MOST_GRAINS, "grains", || {
        (
            format!("the packings hold {count} grains"),
            format!("at most {MOST_GRAINS} are possible"),
        )
    })?;
    for (i, packing) in def.packings.iter().enumerate() {
        self::packing(def, &format!("grains.{i}"), packing)?;
    }
    let emitters = def.emitters.len();
    require(emitters < GrainId::SOURCES, "emitter", || {
        (
            format!("there are {emitters} emitters"),
            format!("at most {} are possible", GrainId::SOURCES - 1),
        )
    })?;
    for (i, emitter) in def.emitters.iter().enumerate() {
        self::emitter(def, &format!("emitter.{i}"), emitter)?;
    }
    for (i, sink) in def.sinks.iter().enumerate() {
        region(&format!("sink.{i}.region"), &sink.region)?;
    }
    for (i, sensor) in def.sensors.iter().enumerate() {
        region(&format!("sensor.{i}.region"), &sensor.region)?;
    }
    optional(def.reduction, |settings| reduction(def, settings))?;
    optional(def.bounds, |[min, max]| {
        require(max.cmpgt(min).all(), "bounds", || {
            (
                format!("{max} is not above {min} in every direction"),
                "give the lower corner first".into(),
            )
        })
    })
}

/// Whether there can be machines at all; what joints are made of is for `esker_machine` to say.
fn joints(def: &WorldDef) -> Checked {
    if def.joints.is_empty() {
        return Ok(());
    }
    require(
        !matches!(def.method, Method::Smooth(_)),
        "solver.method",
        || {
            (
                "smooth stepping does not know joints".into(),
                "take another method, or leave the joints out".into(),
            )
        },
    )?;
    let without_velocity =
        |m: &WholeStep| matches!(m.warm_start, WarmStart::HistoryWithoutVelocity { .. });
    let starts_apart = matches!(&def.method, Method::WholeStep(m) if without_velocity(m));
    require(!starts_apart, "solver.warm_start", || {
        (
            "impulses that do not act on velocities cannot act on machines".into(),
            "start from the history or cold, or leave the joints out".into(),
        )
    })?;
    require(def.periodic == [None; 3], "joint", || {
        (
            "a machine cannot cross the faces of a periodic world".into(),
            "leave the joints or the periodic boundaries out".into(),
        )
    })
}

/// Whether grains at rest can be frozen.
fn reduction(def: &WorldDef, settings: Reduction) -> Checked {
    let Reduction {
        rest_speed,
        rest_acceleration,
        rest_time,
        impact_speed,
        imbalance,
        refresh_time,
        refresh_growth,
        split,
    } = settings;
    let positive_values = [
        ("rest_speed", rest_speed),
        ("rest_acceleration", rest_acceleration),
        ("rest_time", rest_time),
        ("impact_speed", impact_speed),
    ];
    for (key, value) in positive_values {
        positive(format!("reduction.{key}"), value)?;
    }
    if let Split::Trial(trial) = split {
        let Trial {
            sweeps,
            force,
            approach,
            separation,
            slip,
        } = trial;
        let values = [
            ("force", force),
            ("approach", approach),
            ("separation", separation),
            ("slip", slip),
        ];
        for (key, value) in values {
            positive(format!("reduction.trial_{key}"), value)?;
        }
        require(sweeps > 0, "reduction.trial_sweeps", || {
            (
                "a trial step without sweeps finds no forces".into(),
                "take 50, or more".into(),
            )
        })?;
        require(force < 1.0, "reduction.trial_force", || {
            (
                format!("no imbalance is above {force} of the forces"),
                "take less than 1; 0.15 is usual".into(),
            )
        })?;
    } else {
        for (key, value) in [("imbalance", imbalance), ("refresh_time", refresh_time)] {
            positive(format!("reduction.{key}"), value)?;
        }
        require(imbalance <= 1.0, "reduction.imbalance", || {
            (
                format!("an imbalance of {imbalance} is more than all that a grain carries"),
                "take at most 1; 0.4 is usual, 0.2 careful".into(),
            )
        })?;
        require(refresh_time > rest_time, "reduction.refresh_time", || {
            (
                format!(
                    "a refresh_time of {refresh_time} is not above the time of rest, {rest_time}"
                ),
                "grains would be set free before they are frozen: give a longer refresh_time"
                    .into(),
            )
        })?;
        require(refresh_growth >= 1.0, "reduction.refresh_growth", || {
            (
                format!("a growth of {refresh_growth} is below 1"),
                "1 leaves the refresh_time as it is".into(),
            )
        })?;
    }
    require(impact_speed > rest_speed, "reduction.impact_speed", || {
        (
            format!(
                "an impact speed of {impact_speed} is not above the speed of rest, {rest_speed}"
            ),
            "what grains at rest do must not set others free: give a greater impact_speed or a \
             smaller rest_speed"
                .into(),
        )
    })?;
    require(def.gravity != DVec3::ZERO, "reduction", || {
        (
            "without gravity nothing rests on walls, and no speed is small".into(),
            "leave `reduction` out, or give `gravity`".into(),
        )
    })?;
    require(
        !matches!(def.method, Method::Smooth(_)),
        "reduction",
        || {
            (
                "smooth stepping does not know frozen grains".into(),
                "take another solver.method, or leave `reduction` out".into(),
            )
        },
    )?;
    let grains = def.packings.iter().map(|p| p.material);
    let grains: BTreeSet<usize> = grains
        .chain(def.emitters.iter().map(|e| e.material))
        .collect();
    let attracts_grains = |pair: &PairDef| {
        attracts(pair.law.cohesion) && pair.materials.iter().any(|m| grains.contains(m))
    };
    require(!def.pairs.iter().any(attracts_grains), "reduction", || {
        (
            "grains that attract one another are held by more than the contacts whose balance tells \
             when to set them free: they would stay frozen where they fall"
                .into(),
            "leave `reduction` or `cohesion` out".into(),
        )
    })
}

/// Whether a law has any force of attraction.
fn attracts(cohesion: Cohesion) -> bool {
    match cohesion {
        Cohesion::None => false,
        Cohesion::Force(force) => force > 0.0,
        Cohesion::Energy(energy) => energy > 0.0,
        Cohesion::Liquid {
            volume,
            surface_tension,
            ..
        } => volume > 0.0 && surface_tension > 0.0,
    }
}

/// Whether steps can have so many sweeps.
pub(crate) fn sweeps(path: &str, count: usize) -> Checked {
    require(count > 0, path, || {
        (
            "a step without sweeps lets grains fall through one another".into(),
            "at least one is needed".into(),
        )
    })
}

fn method(method: &Method) -> Checked {
    match method {
        Method::SubStepped(m) => {
            sweeps("solver.substeps", m.substeps)?;
            not_negative("solver.stiffness_cap", m.stiffness_cap)?;
            optional(m.tolerance, |x| positive("solver.tolerance", x))
        }
        Method::WholeStep(m) => {
            sweeps("solver.sweeps", m.sweeps)?;
            optional(m.tolerance, |x| positive("solver.tolerance", x))?;
            if let Solver::Named(name) = &m.solver {
                by_name(name).map_err(|unknown| Problem {
                    path: "solver.method".into(),
                    message: format!("there is no solver {name:?}"),
                    advice: format!("known are {}", unknown.known),
                })?;
            }
            match m.warm_start {
                WarmStart::Cold | WarmStart::Model => Ok(()),
                WarmStart::History { factor }
                | WarmStart::HistoryOfNormals { factor }
                | WarmStart::HistoryWithoutVelocity { factor } => {
                    not_negative("solver.warm_factor", factor)
                }
            }
        }
        Method::Smooth(m) => {
            sweeps("solver.substeps", m.substeps)?;
            not_negative("solver.tangential_stiffness", m.tangential_stiffness)?;
            not_negative("solver.rolling_stiffness", m.rolling_stiffness)
        }
    }
}

fn contact(settings: &ContactSettings) -> Checked {
    for (path, value) in [
        ("contact.damping_steps", settings.damping_steps),
        ("contact.margin", settings.margin),
        ("contact.friction_compliance", settings.friction_compliance),
        ("contact.rolling_compliance", settings.rolling_compliance),
    ] {
        not_negative(path, value)?;
    }
    // An infinite speed makes no contact an impact.
    optional(settings.impact_speed, |speed| {
        require(speed >= 0.0, "contact.impact_speed", || {
            (
                format!("{speed} m/s is no speed"),
                "it must be at least zero".into(),
            )
        })
    })
}

fn materials(materials: &[Material]) -> Checked {
    require(materials.len() <= MOST_MATERIALS, "material", || {
        (
            format!("there are {} materials", materials.len()),
            format!("at most {MOST_MATERIALS} are possible"),
        )
    })?;
    for material in materials {
        let path = format!("material.{}", material.name);
        positive(format_args!("{path}.young"), material.young)?;
        let nu = material.poisson;
        require(
            nu > -1.0 && nu <= 0.5,
            format_args!("{path}.poisson"),
            || {
                (
                    format!("{nu} is no Poisson's ratio"),
                    "it must be greater than -1 and at most 0.5".into(),
                )
            },
        )?;
    }
    Ok(())
}

fn pairs(def: &WorldDef) -> Checked {
    let mut seen = BTreeSet::new();
    for (i, PairDef { materials, law }) in def.pairs.iter().enumerate() {
        let path = format!("pair.{i}");
        for &index in materials {
            material(def, format_args!("{path}.materials"), index)?;
        }
        let [a, b] = *materials;
        require(seen.insert((a.min(b), a.max(b))), &path, || {
            (
                format!("materials {a} and {b} have a law already"),
                "give one law for every two materials".into(),
            )
        })?;
        for (key, value) in [
            ("friction", law.friction),
            ("rolling", law.rolling),
            ("twisting", law.twisting),
            ("damping", law.damping),
        ] {
            not_negative(format_args!("{path}.{key}"), value)?;
        }
        share(format_args!("{path}.restitution"), law.restitution)?;
        if let NormalLaw::Linear { stiffness } = law.normal {
            positive(format_args!("{path}.stiffness"), stiffness)?;
        }
        cohesion(&format!("{path}.cohesion"), law.cohesion)?;
    }
    Ok(())
}

fn cohesion(path: &str, law: Cohesion) -> Checked {
    match law {
        Cohesion::None => Ok(()),
        Cohesion::Force(force) => not_negative(format_args!("{path}.force"), force),
        Cohesion::Energy(energy) => not_negative(format_args!("{path}.energy"), energy),
        Cohesion::Liquid {
            volume,
            surface_tension,
            contact_angle,
        } => {
            not_negative(format_args!("{path}.liquid"), volume)?;
            not_negative(format_args!("{path}.surface_tension"), surface_tension)?;
            number(
                format_args!("{path}.contact_angle"),
                contact_angle,
                (0.0..=FRAC_PI_2).contains(&contact_angle),
                "from zero to π/2",
            )
        }
    }
}

fn wall(def: &WorldDef, path: &str, wall: &WallDef) -> Checked {
    wall.shape.validate().map_err(|error| Problem {
        path: path.into(),
        message: error.to_string(),
        advice: "give the shape a size".into(),
    })?;
    pose(path, &wall.pose)?;
    material(def, format_args!("{path}.material"), wall.material)?;
    vector(
        format_args!("{path}.surface_velocity"),
        wall.surface_velocity,
    )?;
    period(path, wall.presence.from, wall.presence.until)?;
    motion_at(&format!("{path}.motion"), &wall.motion)
}

fn motion_at(path: &str, motion: &Motion) -> Checked {
    match motion {
        Motion::Still => Ok(()),
        Motion::Translate {
            velocity,
            start,
            stop,
        } => {
            vector(format_args!("{path}.velocity"), *velocity)?;
            period(path, *start, *stop)
        }
        Motion::Rotate {
            axis,
            centre,
            rate,
            start,
            stop,
        } => {
            unit(format_args!("{path}.axis"), *axis)?;
            vector(format_args!("{path}.centre"), *centre)?;
            finite(format_args!("{path}.rate"), *rate)?;
            period(path, *start, *stop)
        }
        Motion::Oscillate {
            direction,
            amplitude,
            frequency,
            phase,
        } => {
            unit(format_args!("{path}.direction"), *direction)?;
            finite(format_args!("{path}.amplitude"), *amplitude)?;
            finite(format_args!("{path}.frequency"), *frequency)?;
            finite(format_args!("{path}.phase"), *phase)
        }
        Motion::Table {
            times,
            displacements,
            angles,
            axis,
            centre,
        } => {
            let rows = times.len();
            let equal = displacements.len() == rows && angles.len() == rows;
            require(rows > 0 && equal, path, || {
                let [x, a] = [displacements.len(), angles.len()];
                (
                    format!("the table has {rows} times, {x} displacements and {a} angles"),
                    "give one displacement and one angle for every time".into(),
                )
            })?;
            let increasing = times.windows(2).all(|pair| pair[0] < pair[1]);
            let possible = increasing && times.iter().all(|t| t.is_finite());
            require(possible, format_args!("{path}.times"), || {
                (
                    "the times do not increase".into(),
                    "give finite times, each after the one before".into(),
                )
            })?;
            for (displacement, angle) in displacements.iter().zip(angles) {
                vector(format_args!("{path}.displacements"), *displacement)?;
                finite(format_args!("{path}.angles"), *angle)?;
            }
            unit(format_args!("{path}.axis"), *axis)?;
            vector(format_args!("{path}.centre"), *centre)
        }
        Motion::During {
            motion: inner,
            start,
            stop,
        } => {
            period(path, *start, *stop)?;
            motion_at(path, inner)
        }
        Motion::Together(motions) => {
            let mut parts = motions.iter().enumerate();
            parts.try_for_each(|(k, part)| motion_at(&format!("{path}.{k}"), part))
        }
    }
}

fn periodic(def: &WorldDef) -> Checked {
    let diameter = 2.0 * max_radius(def);
    for (axis, range) in def.periodic.iter().enumerate() {
        let Some([low, high]) = *range else { continue };
        let path = format!("periodic.{}", ["x", "y", "z"][axis]);
        finite(&path, low)?;
        finite(&path, high)?;
        let min = MIN_DIAMETERS * diameter;
        require(high - low >= min && high > low, &path, || {
            (
                format!(
                    "the periodic box is {} m wide, from {low} m to {high} m",
                    high - low
                ),
                format!(
                    "make it at least {MIN_DIAMETERS} diameters of the largest grain wide: {min} m"
                ),
            )
        })?;
        for (k, wall) in def.walls.iter().enumerate() {
            require(
                fits_period(wall, axis, [low, high], diameter),
                format_args!("wall.{k}"),
                || {
                    (
                        format!("the wall \"{}\" does not continue itself across the ends of `{path}`", wall.name),
                        "make it parallel to this axis and longer than the box by a diameter at both ends (planes, \
                         boxes, cylinders), or keep it a diameter away from both"
                            .into(),
                    )
                },
            )?;
        }
    }
    Ok(())
}

/// Whether a wall at time zero is the same in every period along an axis, or
/// in the middle of one.
fn fits_period(wall: &WallDef, axis: usize, [low, high]: [f64; 2], diameter: f64) -> bool {
    let local = wall.pose.orientation.conjugate() * DVec3::AXES[axis];
    const PARALLEL: f64 = 1.0 - 1e-9;
    let is_along_z = local.z.abs() > PARALLEL;
    let is_uniform = match wall.shape {
        WallShape::HalfSpace => return local.z.abs() < 1e-9,
        WallShape::Box { .. } => is_along_z || local.x.abs() > PARALLEL || local.y.abs() > PARALLEL,
        WallShape::Cylinder { .. } => is_along_z,
        WallShape::Cone { .. } | WallShape::Mesh(_) => false,
    };
    let Some(bounds) = wall.shape.bounds() else {
        return false;
    };
    let bounds = bounds.transformed(&wall.pose);
    let [from, to] = [bounds.min[axis], bounds.max[axis]];
    let is_longer = from <= low - diameter && to >= high + diameter;
    let is_inside = from >= low + diameter && to <= high - diameter;
    is_inside || (is_uniform && is_longer)
}

/// Largest radius of the grains of a definition, m.
fn max_radius(def: &WorldDef) -> f64 {
    let packings = def.packings.iter().map(|packing| match &packing.placement {
        Placement::Lattice { sizes, .. }
        | Placement::Random { sizes, .. }
        | Placement::Packed { sizes, .. }
        | Placement::Column { sizes, .. } => sizes.max(),
        Placement::Listed { grains } => grains.iter().map(|g| g.radius).fold(0.0, f64::max),
    });
    let emitters = def.emitters.iter().map(|emitter| emitter.sizes.max());
    packings.chain(emitters).fold(0.0, f64::max)
}

/// Shapes of grains that are no spheres.
fn shapes(def: &WorldDef) -> Checked {
    for (i, shape) in def.shapes.iter().enumerate() {
        shape.validate().map_err(|error| Problem {
            path: format!("shapes[{i}]"),
            message: error.to_string(),
            advice: "give the shape a volume".into(),
        })?;
        let is_of_bodies = matches!(shape, BodyShape::Compound(_) | BodyShape::Mesh(_));
        require(!is_of_bodies, format_args!("shapes[{i}]"), || {
            (
                "grains cannot have the shape of a compound or of a mesh".into(),
                "take a clump or a polyhedron for grains, or a body of its own".into(),
            )
        })?;
    }
    let is_smooth = matches!(def.method, Method::Smooth(_));
    let has_none = def.shapes.is_empty() && def.bodies.is_empty();
    require(!is_smooth || has_none, "solver.method", || {
        (
            "smooth stepping knows spheres alone".into(),
            "step bodies and grains of other shapes with the method \"substepped\"".into(),
        )
    })?;
    let count = def.shapes.len() + def.bodies.len();
    require(count < u16::MAX as usize, "shapes", || {
        (
            format!("{count} shapes are too many"),
            format!("at most {} can be told apart", u16::MAX - 1),
        )
    })
}

/// Bodies that would fall out of the world.
fn held_surfaces(def: &WorldDef) -> Checked {
    (0..def.bodies.len()).try_for_each(|i| {
        let is_loose = def.bodies[i].shape.is_surface() && !def.is_jointed(i);
        require(!is_loose, format_args!("body.{i}.shape"), || {
            (
                "nothing holds the body: walls do not touch one that is a mesh".into(),
                "hold it by a joint, or build it of convex shapes".into(),
            )
        })
    })
}

/// A body of its own.
fn body(def: &WorldDef, path: &str, body: &BodyDef) -> Checked {
    body.shape.validate().map_err(|error| Problem {
        path: format!("{path}.shape"),
        message: error.to_string(),
        advice: "give the shape a volume".into(),
    })?;
    positive(format_args!("{path}.mass"), body.mass)?;
    principal_moments(DMat3::from_diagonal(body.moments)).map_err(|error| Problem {
        path: format!("{path}.inertia"),
        message: error.to_string(),
        advice: "check units (kg m²), or leave `inertia` out: it follows from the shape".into(),
    })?;
    pose(path, &body.frame)?;
    pose(path, &body.pose)?;
    vector(format_args!("{path}.velocity"), body.velocity)?;
    vector(
        format_args!("{path}.angular_velocity"),
        body.angular_velocity,
    )?;
    material(def, format_args!("{path}.material"), body.material)?;
    for (key, motion, free) in [
        ("velocity", body.velocity, body.locks.free_translation()),
        (
            "angular_velocity",
            body.angular_velocity,
            body.locks.free_rotation(),
        ),
    ] {
        require(
            motion * free == motion,
            format_args!("{path}.{key}"),
            || {
                (
                    format!("{motion} has a part along a locked axis"),
                    "set it to zero along axes that `locked` names".into(),
                )
            },
        )?;
    }
    vector_of_time(&format!("{path}.force"), &body.force)?;
    vector_of_time(&format!("{path}.torque"), &body.torque)
}

fn vector_of_time(path: &str, value: &VectorOfTime) -> Checked {
    match value {
        VectorOfTime::Constant(value) => vector(path, *value),
        VectorOfTime::Table { times, values } => {
            let fits = !times.is_empty() && times.len() == values.len();
            let rises = times.is_sorted_by(|a, b| a < b) && times.iter().all(|t| t.is_finite());
            require(fits && rises, path, || {
                (
                    format!(
                        "{} times and {} values are no table",
                        times.len(),
                        values.len()
                    ),
                    "give one value for each time, and times that increase".into(),
                )
            })?;
            values.iter().try_for_each(|value| vector(path, *value))
        }
    }
}

/// The shape of grains of which `listed` are listed one by one.
fn shape_use(def: &WorldDef, path: &str, shape: Option<&ShapeUse>, listed: usize) -> Checked {
    let Some(ShapeUse { shape, orientation }) = shape else {
        return Ok(());
    };
    require(*shape < def.shapes.len(), format!("{path}.shape"), || {
        (
            format!("there is no shape {shape}"),
            format!("there are {}", def.shapes.len()),
        )
    })?;
    let orientations = match orientation {
        Orientation::Random => &[][..],
        Orientation::Given(q) => std::slice::from_ref(q),
        Orientation::Listed(list) => {
            require(list.len() == listed, format!("{path}.orientation"), || {
                (
                    format!("{} orientations for {listed} listed grains", list.len()),
                    "list one for each, or take Random or Given".into(),
                )
            })?;
            list
        }
    };
    let is_turn = orientations
        .iter()
        .all(|q| q.is_finite() && q.is_normalized());
    require(is_turn, format!("{path}.orientation"), || {
        ("this is no unit quaternion".into(), "normalise it".into())
    })
}

fn packing(def: &WorldDef, path: &str, packing: &PackingDef) -> Checked {
    let density = material_of_grains(def, path, packing.material)?;
    let listed = match &packing.placement {
        Placement::Listed { grains } => grains.len(),
        _ => 0,
    };
    shape_use(def, path, packing.shape.as_ref(), listed)?;
    vector(format_args!("{path}.velocity"), packing.velocity)?;
    match &packing.placement {
        Placement::Lattice {
            region: place,
            spacing,
            jitter,
            sizes: radii,
            ..
        } => {
            region(&format!("{path}.region"), place)?;
            optional(*spacing, |x| positive(format_args!("{path}.spacing"), x))?;
            share(format_args!("{path}.jitter"), *jitter)?;
            sizes(path, radii, density)
        }
        Placement::Random {
            region: place,
            sizes: radii,
            ..
        } => {
            region(&format!("{path}.region"), place)?;
            sizes(path, radii, density)
        }
        Placement::Packed {
            region: place,
            fraction,
            sizes: radii,
        } => {
            region(&format!("{path}.region"), place)?;
            share(format_args!("{path}.fraction"), *fraction)?;
            sizes(path, radii, density)
        }
        Placement::Column {
            base,
            direction,
            gap,
            sizes: radii,
            ..
        } => {
            vector(format_args!("{path}.base"), *base)?;
            unit(format_args!("{path}.direction"), *direction)?;
            finite(format_args!("{path}.gap"), *gap)?;
            sizes(path, radii, density)
        }
        Placement::Listed { grains } => {
            for (i, grain) in grains.iter().enumerate() {
                vector(format_args!("{path}.{i}.position"), grain.position)?;
                vector(format_args!("{path}.{i}.velocity"), grain.velocity)?;
                vector(
                    format_args!("{path}.{i}.angular_velocity"),
                    grain.angular_velocity,
                )?;
                radius(format_args!("{path}.{i}.radius"), grain.radius, density)?;
            }
            Ok(())
        }
    }
}

fn emitter(def: &WorldDef, path: &str, emitter: &EmitterDef) -> Checked {
    let density = material_of_grains(def, path, emitter.material)?;
    shape_use(def, path, emitter.shape.as_ref(), 0)?;
    region(&format!("{path}.region"), &emitter.region)?;
    let (Rate::Number(rate) | Rate::Mass(rate)) = emitter.rate;
    not_negative(format_args!("{path}.rate"), rate)?;
    sizes(path, &emitter.sizes, density)?;
    vector(format_args!("{path}.velocity"), emitter.velocity)?;
    if let Total::Mass(mass) = emitter.total {
        not_negative(format_args!("{path}.total"), mass)?;
    }
    period(path, emitter.start, emitter.stop)
}

fn sizes(path: &str, sizes: &SizeDistribution, density: f64) -> Checked {
    let path = format!("{path}.sizes");
    let (min, max) = (sizes.min(), sizes.max());
    require(min <= max, &path, || {
        (
            format!("no radius lies between {min} m and {max} m"),
            "give the smaller one first".into(),
        )
    })?;
    radius(&path, min, density)?;
    radius(&path, max, density)?;
    match sizes {
        SizeDistribution::Fixed { .. } | SizeDistribution::Uniform { .. } => Ok(()),
        SizeDistribution::Normal {
            mean: centre,
            deviation,
            ..
        }
        | SizeDistribution::LogNormal {
            median: centre,
            deviation,
            ..
        } => {
            positive(&path, *centre)?;
            not_negative(&path, *deviation)
        }
        SizeDistribution::Mixture { radii, shares, .. } => {
            for r in radii {
                radius(&path, *r, density)?;
            }
            for weight in shares {
                not_negative(format_args!("{path}.share"), *weight)?;
            }
            let sum: f64 = shares.iter().sum();
            let possible = radii.len() == shares.len() && sum > 0.0;
            require(possible, &path, || {
                let [r, s] = [radii.len(), shares.len()];
                (
                    format!("{r} radii have {s} shares of {sum} together"),
                    "give every radius a share, not all of them zero".into(),
                )
            })
        }
    }
}

/// A radius that gives a grain a mass and an inertia to divide by.
fn radius(path: impl Display, radius: f64, density: f64) -> Checked {
    positive(&path, radius)?;
    let mass = sphere_mass(density, radius);
    let light = sphere_inertia(mass, radius);
    require(mass.is_normal() && light.is_normal(), path, || {
        (
            format!("a grain of radius {radius} m has a mass of {mass} kg"),
            "lengths are in m".into(),
        )
    })
}

fn region(path: &str, region: &Region) -> Checked {
    let (lengths, place) = match *region {
        Region::Box { half_extents, pose } => (half_extents, pose),
        Region::Cylinder {
            radius,
            length,
            pose,
        } => (DVec3::new(radius, radius, length), pose),
        Region::Sphere { radius, pose } => (DVec3::splat(radius), pose),
    };
    for length in lengths.to_array() {
        not_negative(path, length)?;
    }
    pose(path, &place)
}

fn pose(path: &str, pose: &Pose) -> Checked {
    vector(format_args!("{path}.position"), pose.position)?;
    let length = pose.orientation.length_squared();
    require((length - 1.0).abs() <= UNIT_TOLERANCE, path, || {
        (
            format!("the orientation {} is no rotation", pose.orientation),
            "give a unit quaternion".into(),
        )
    })
}

fn period(path: &str, start: f64, stop: f64) -> Checked {
    finite(format_args!("{path}.start"), start)?;
    require(stop >= start, format_args!("{path}.stop"), || {
        (
            format!("{stop} s does not come after {start} s"),
            "stop after the start, or never: at infinity".into(),
        )
    })
}

fn material(def: &WorldDef, path: impl Display, index: usize) -> Checked {
    let count = def.materials.len();
    require(index < count, path, || {
        (
            format!("there is no material {index}"),
            format!("there are {count} materials, counted from 0"),
        )
    })
}

/// The density of the material of grains, kg/m³.
fn material_of_grains(def: &WorldDef, path: &str, index: usize) -> Result<f64, Problem> {
    material(def, format_args!("{path}.material"), index)?;
    let Material { name, density, .. } = &def.materials[index];
    positive(format_args!("material.{name}.density"), *density)?;
    Ok(*density)
}

fn positive(path: impl Display, x: f64) -> Checked {
    number(path, x, x > 0.0 && x.is_finite(), "greater than zero")
}

fn not_negative(path: impl Display, x: f64) -> Checked {
    number(path, x, x >= 0.0 && x.is_finite(), "at least zero")
}

fn share(path: impl Display, x: f64) -> Checked {
    number(path, x, (0.0..=1.0).contains(&x), "from zero to one")
}

fn finite(path: impl Display, x: f64) -> Checked {
    number(path, x, x.is_finite(), "of any size")
}

fn number(path: impl Display, x: f64, possible: bool, range: &str) -> Checked {
    require(possible, path, || {
        (
            format!("{x} is not possible"),
            format!("give a finite number {range}"),
        )
    })
}

fn vector(path: impl Display, x: DVec3) -> Checked {
    require(x.is_finite(), path, || {
        (
            format!("{x} is not finite"),
            "give three finite numbers".into(),
        )
    })
}

fn unit(path: impl Display, direction: DVec3) -> Checked {
    let length = direction.length_squared();
    require((length - 1.0).abs() <= UNIT_TOLERANCE, path, || {
        (
            format!("{direction} is no direction"),
            "give a vector of length one".into(),
        )
    })
}

fn optional<T>(value: Option<T>, check: impl FnOnce(T) -> Checked) -> Checked {
    value.map_or(Ok(()), check)
}

/// An error with message and advice where something does not hold.
fn require(holds: bool, path: impl Display, words: impl FnOnce() -> (String, String)) -> Checked {
    if holds {
        return Ok(());
    }
    let (message, advice) = words();
    Err(Problem {
        path: path.to_string(),
        message,
        advice,
    })
}
