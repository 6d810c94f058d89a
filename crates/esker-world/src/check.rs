//! Checks of a definition that need its grains and walls: what a parser alone
//! cannot see.

use esker_geometry::{
    BodyQuery, BodyShape, BroadPhase, PlacedShape, Pose, Touch, WallQuery, WallShape,
    body_contacts, sphere_sphere,
};
use esker_machine::MachineError;
use glam::DVec3;

use crate::definition::{WallDef, WorldDef};
use crate::grains::NewGrain;
use crate::machinery::Machinery;
use crate::packing::{self, PlacedGrain, PlacedGrains};
use crate::periodic::Periodic;
use crate::random::{RandomStream, Source};
use crate::validate::validate;

/// Something wrong with a definition.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{path}: {message}; {advice}")]
pub struct Problem {
    /// Where, in the words of a scene file, such as `emitter.0.region`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub advice: String,
}

/// Overlap at the start above which a definition is refused, in radii of the
/// smaller grain.
pub const MOST_INITIAL_OVERLAP: f64 = 0.2;
/// Points of an emitter's region that are tried against walls.
const EMITTER_SAMPLES: usize = 256;

/// Everything wrong with grains, walls and emitters taken together; where a
/// value is impossible, that alone.
pub fn find_problems(def: &WorldDef) -> Vec<Problem> {
    place_grains(def).err().unwrap_or_default()
}

/// The grains of a definition that [`find_problems`] finds nothing wrong with, for
/// [`crate::World::with_grains_of`]: placing them takes time.
pub fn place_grains(def: &WorldDef) -> Result<PlacedGrains, Vec<Problem>> {
    if let Err(impossible) = validate(def) {
        return Err(vec![impossible]);
    }
    let mut problems = Vec::new();
    let mut placed = PlacedGrains::default();
    for index in 0..def.packings.len() {
        match packing::place(def, index) {
            Ok(grains) => placed.add(index, grains),
            Err(error) => problems.push(Problem {
                path: format!("grains.{index}"),
                message: error.to_string(),
                advice: "enlarge the region, or ask for fewer or smaller grains".into(),
            }),
        }
    }
    let grains = &placed.grains;
    overlapping_grains(def, grains, Periodic::new(&def.periodic), &mut problems);
    grains_in_walls(def, grains, &mut problems);
    bodies_in_others(def, grains, &mut problems);
    emitters_in_walls(def, &mut problems);
    if problems.is_empty() {
        Ok(placed)
    } else {
        Err(problems)
    }
}

/// What is wrong with the machines of a definition: joints that do not meet, limits that do not hold
/// the start, drives of what cannot be driven.
pub fn machines(def: &WorldDef) -> Result<(), MachineError> {
    Machinery::new(def).map(|_| ())
}

/// Depth at the start above which a body of its own is refused, in radii of the ball that
/// holds it; of grains in it, in their radii, [`MOST_INITIAL_OVERLAP`].
const MOST_INITIAL_DEPTH: f64 = 0.01;

/// Bodies of their own that reach into walls, other bodies or grains.
fn bodies_in_others(def: &WorldDef, grains: &[PlacedGrain], problems: &mut Vec<Problem>) {
    let periodic = Periodic::new(&def.periodic);
    let rows: Vec<NewGrain> = def.bodies.iter().map(|body| body.row(0)).collect();
    let placed = |k: usize| {
        let row = &rows[k];
        PlacedShape::new(
            &def.bodies[k].shape,
            1.0,
            Pose::new(row.position, row.orientation),
        )
    };
    // The second one at its image next to the first.
    let beside = |one: &PlacedShape<'_>, other: PlacedShape<'_>| {
        let branch = other.position - one.position;
        let branch = periodic.map_or(branch, |p| p.branch(branch));
        let mut found = Vec::new();
        let other = PlacedShape {
            position: one.position + branch,
            ..other
        };
        body_contacts(one, &other, &BodyQuery::default(), &mut found);
        found.iter().map(|contact| -contact.gap).fold(0.0, f64::max)
    };
    for (k, body) in def.bodies.iter().enumerate() {
        let own = placed(k);
        let most = MOST_INITIAL_DEPTH * own.bounding_radius();
        let mut report = |depth: f64, what: String, advice: &str| {
            problems.push(Problem {
                path: format!("body.{k}"),
                message: format!(
                    "body \"{}\" reaches {:.3} mm into {what} at the start",
                    body.name,
                    1e3 * depth
                ),
                advice: advice.into(),
            });
        };
        for wall in def.walls.iter().filter(|w| w.presence.contains(0.0)) {
            let local = Pose::new(own.position, rows[k].orientation);
            let body = PlacedShape::new(own.shape, 1.0, wall.pose.inverse() * local);
            let depth = deepest_in_wall(wall, &body);
            if depth > most {
                let what = format!("wall \"{}\"", wall.name);
                report(depth, what, "move the body or the wall");
            }
        }
        for (j, other) in def.bodies.iter().enumerate().take(k) {
            if def.pass_each_other([j, k]) {
                continue;
            }
            let depth = beside(&own, placed(j));
            if depth > most {
                let what = format!("body \"{}\"", other.name);
                report(depth, what, "move one of the two");
            }
        }
        let mut inside = (0_usize, 0.0, DVec3::ZERO);
        for grain in grains {
            let (shape, scale) = grain.shape(def);
            let place = Pose::new(grain.grain.position, grain.grain.orientation);
            let depth = beside(&own, PlacedShape::new(&shape, scale, place));
            if depth > MOST_INITIAL_OVERLAP * grain.grain.radius {
                inside.0 += 1;
                if depth > inside.1 {
                    (inside.1, inside.2) = (depth, grain.grain.position);
                }
            }
        }
        if inside.0 > 0 {
            let what = format!("{} grains (the deepest near {})", inside.0, point(inside.2));
            report(inside.1, what, "place grains around the body, or move it");
        }
    }
}

impl PlacedGrain {
    /// Radius of the ball that holds it, m.
    fn bounding_radius(&self) -> f64 {
        let shape = self.grain.shape;
        shape.map_or(self.grain.radius, |shape| shape.bounding_radius)
    }

    /// Its shape in the list of a definition, and its scale.
    fn shape(&self, def: &WorldDef) -> (BodyShape, f64) {
        match self.grain.shape {
            Some(shape) => (def.shapes[shape.shape as usize].clone(), shape.scale),
            None => (
                BodyShape::Sphere {
                    radius: self.grain.radius,
                },
                1.0,
            ),
        }
    }
}

/// Overlap of two grains at these places, m; nothing where they do not touch.
fn overlap(def: &WorldDef, grains: [&PlacedGrain; 2], places: [DVec3; 2]) -> Option<f64> {
    let [a, b] = grains.map(|grain| &grain.grain);
    if a.shape.is_none() && b.shape.is_none() {
        let touch = sphere_sphere(places[0], a.radius, places[1], b.radius, 0.0)?;
        return Some(touch.overlap);
    }
    let [(one, one_scale), (other, other_scale)] = grains.map(|grain| grain.shape(def));
    let query = BodyQuery {
        margin: 0.0,
        last_normal: None,
    };
    let mut found = Vec::new();
    body_contacts(
        &PlacedShape::new(&one, one_scale, Pose::new(places[0], a.orientation)),
        &PlacedShape::new(&other, other_scale, Pose::new(places[1], b.orientation)),
        &query,
        &mut found,
    );
    found.iter().map(|contact| -contact.gap).reduce(f64::max)
}

/// The worst overlap per pair of packings.
fn overlapping_grains(
    def: &WorldDef,
    grains: &[PlacedGrain],
    periodic: Option<Periodic>,
    problems: &mut Vec<Problem>,
) {
    let wrapped = |x: DVec3| periodic.map_or(x, |p| p.wrapped(x));
    let mut centres: Vec<DVec3> = grains.iter().map(|g| wrapped(g.grain.position)).collect();
    let mut radii: Vec<f64> = grains.iter().map(PlacedGrain::bounding_radius).collect();
    let mut images = Vec::new();
    if let Some(periodic) = periodic {
        periodic.list_images(&centres, &radii, &mut images);
        centres.extend(images.iter().map(|image| image.position));
        let sources = images.iter().map(|image| image.source as usize);
        radii.extend(sources.map(|source| grains[source].bounding_radius()));
    }
    let source = |i: usize| match i.checked_sub(grains.len()) {
        Some(k) => images[k].source as usize,
        None => i,
    };
    let mut pairs = Vec::new();
    if let Err(crowd) = BroadPhase::default().find_pairs(&centres, &radii, &mut pairs) {
        problems.push(Problem {
            path: format!("grains.{}", grains[source(crowd.sphere as usize)].packing),
            message: crowd.to_string(),
            advice: "give every grain a place of its own".into(),
        });
        return;
    }
    let mut worst = std::collections::BTreeMap::new();
    for [i, j] in pairs.into_iter().map(|p| p.map(|k| k as usize)) {
        // Two images are seen once more where they are grains.
        if i.min(j) >= grains.len() {
            continue;
        }
        let both = [i, j].map(|k| &grains[source(k)]);
        let Some(depth) = overlap(def, both, [centres[i], centres[j]]) else {
            continue;
        };
        let share = depth / both[0].grain.radius.min(both[1].grain.radius);
        if share > MOST_INITIAL_OVERLAP {
            let packings = both.map(|grain| grain.packing);
            let (low, high) = (packings[0].min(packings[1]), packings[0].max(packings[1]));
            let entry = worst.entry((low, high)).or_insert((0.0, 0_usize, i, j));
            entry.1 += 1;
            if share > entry.0 {
                (entry.0, entry.2, entry.3) = (share, i, j);
            }
        }
    }
    for ((first, second), (share, count, i, j)) in worst {
        let with = if first == second {
            String::new()
        } else {
            format!(" with those of grains.{second}")
        };
        problems.push(Problem {
            path: format!("grains.{first}"),
            message: format!(
                "{count} pairs of grains overlap{with} at the start; the worst by {:.0} % of the smaller radius, \
                 near {} and {}",
                100.0 * share,
                point(centres[i]),
                point(centres[j])
            ),
            advice: format!(
                "overlaps up to {:.0} % are accepted: move the grains apart",
                100.0 * MOST_INITIAL_OVERLAP
            ),
        });
    }
}

fn grains_in_walls(def: &WorldDef, grains: &[PlacedGrain], problems: &mut Vec<Problem>) {
    let mut touches = Vec::new();
    let mut worst = std::collections::BTreeMap::new();
    for placed in grains {
        let NewGrain {
            position, radius, ..
        } = placed.grain;
        let walls = def.walls.iter().enumerate();
        for (w, wall) in walls.filter(|(_, wall)| wall.presence.contains(0.0)) {
            let depth = match placed.grain.shape {
                None => deepest(wall, position, radius, &mut touches),
                Some(_) => deepest_of_body(def, wall, placed),
            };
            let share = depth / radius;
            if share > MOST_INITIAL_OVERLAP {
                let entry = worst
                    .entry((placed.packing, w))
                    .or_insert((0.0, 0_usize, position));
                entry.1 += 1;
                if share > entry.0 {
                    (entry.0, entry.2) = (share, position);
                }
            }
        }
    }
    for ((packing, w), (share, count, position)) in worst {
        problems.push(Problem {
            path: format!("grains.{packing}"),
            message: format!(
                "{count} grains reach into wall \"{}\" at the start; the worst by {:.0} % of its radius, near {}",
                def.walls[w].name,
                100.0 * share,
                point(position)
            ),
            advice: "move the grains or the wall".into(),
        });
    }
}

/// How deep a grain that is no sphere reaches into a wall at the start, m.
fn deepest_of_body(def: &WorldDef, wall: &WallDef, placed: &PlacedGrain) -> f64 {
    let (shape, scale) = placed.shape(def);
    let local = Pose::new(
        wall.pose.to_local(placed.grain.position),
        wall.pose.orientation.inverse() * placed.grain.orientation,
    );
    deepest_in_wall(wall, &PlacedShape::new(&shape, scale, local))
}

/// How deep a body that is placed in the frame of a wall reaches into it, m.
fn deepest_in_wall(wall: &WallDef, body: &PlacedShape<'_>) -> f64 {
    let mut found = Vec::new();
    wall.shape
        .body_contacts(body, &WallQuery::within(0.0), &mut found);
    found.iter().map(|contact| -contact.gap).fold(0.0, f64::max)
}

fn emitters_in_walls(def: &WorldDef, problems: &mut Vec<Problem>) {
    let mut touches = Vec::new();
    for (index, emitter) in def.emitters.iter().enumerate() {
        let radius = emitter.sizes.max();
        let path = format!("emitter.{index}.region");
        let Some(region) = emitter.region.shrunk(radius) else {
            problems.push(Problem {
                path,
                message: format!(
                    "no grain of diameter {} m fits into the emitter's region",
                    2.0 * radius
                ),
                advice: "enlarge the region: it holds whole grains".into(),
            });
            continue;
        };
        let mut stream = RandomStream::new(def.seed, Source::Check(index));
        let present = |wall: &&WallDef| wall.presence.contains(emitter.start);
        for wall in def.walls.iter().filter(present) {
            let hits = (0..EMITTER_SAMPLES)
                .map(|_| region.sample(stream.uniform3()))
                .filter(|&x| deepest(wall, x, radius, &mut touches) > MOST_INITIAL_OVERLAP * radius)
                .count();
            if hits > 0 {
                problems.push(Problem {
                    path: path.clone(),
                    message: format!(
                        "the emitter's region reaches into wall \"{}\" ({:.0} % of its places)",
                        wall.name,
                        100.0 * hits as f64 / EMITTER_SAMPLES as f64
                    ),
                    advice: "move or shrink the region, so that new grains are clear of walls"
                        .into(),
                });
            }
        }
    }
}

/// Deepest overlap of a sphere with a wall at time zero, m; zero without contact.
fn deepest(wall: &WallDef, centre: DVec3, radius: f64, touches: &mut Vec<Touch>) -> f64 {
    touches.clear();
    wall.shape
        .touches(wall.pose.to_local(centre), radius, 0.0, touches);
    touches.iter().map(|t| t.overlap).fold(0.0, f64::max)
}

fn point(x: DVec3) -> String {
    format!("({:.4}, {:.4}, {:.4})", x.x, x.y, x.z)
}

/// The fastest that anything prescribed moves, m/s: emitted and initial grains,
/// moving walls and belts, bodies of their own.
pub fn max_prescribed_speed(def: &WorldDef) -> f64 {
    let grains = def.packings.iter().map(|p| p.velocity.length());
    let emitters = def.emitters.iter().map(|e| e.velocity.length());
    let walls = def.walls.iter().map(|w| {
        let mut points = match w.shape {
            WallShape::HalfSpace => Vec::new(),
            _ => w.shape.triangulate(0.0).vertices,
        };
        for point in &mut points {
            *point = w.pose.to_world(*point);
        }
        w.surface_velocity.length() + w.motion.max_speed(&points)
    });
    let bodies = def.bodies.iter().map(|b| b.velocity.length());
    let moving = grains.chain(emitters).chain(walls).chain(bodies);
    moving.fold(0.0, f64::max)
}
