//! How far from its surface a grain can meet something within a step.
//!
//! Two grains approach each other at `|v_i − v_j|` at most. A grain's own reach
//! must bound its part of that without knowing the other. In a flow
//! neighbours move together, so speeds are computed from the mean velocity `c`
//! of the grains around, cell by cell: for grains in cells A and B side by side
//!
//! ```text
//! |v_i − v_j| ≤ |v_i − c_A| + |v_j − c_B| + |c_A − c_B|,                 (1)
//! ```
//!
//! of which a grain takes its own term and half of the largest difference
//! between its cell and those around.
//!
//! Grains of cells that are not side by side are an edge `s` apart at least. Held
//! against the mean velocity `c` of all grains, one of two that meet all the same moves by
//! more than half of it,
//!
//! ```text
//! r_i + h |v_i − c| > s/2.                                               (2)
//! ```
//!
//! Who obeys (2) looks for both: the other one, if it does not, moves by `s/2` at most, and
//! by no more than the largest difference of a cell from `c` beside what it looks for itself.
//! (A grain used to be held against its own cell alone. One that is alone in its cell then
//! looked for nothing, and flew through a bed at a distance.)
//!
//! The same cells say how strong the impacts on a grain can be:
//! as strong as the grains and walls around differ in velocity. In a bed at rest
//! one grain that still rolls then does not make all others look for more. A grain that
//! obeys (2) may also hit whom it gets to: those of the cells that are no more than
//!
//! ```text
//! ⌈(r_i + h |v_i − c|) / s + 1/2⌉                                        (3)
//! ```
//!
//! from its own along any axis. (All grains were held to be hit by the fastest such grain
//! once. In a plant some always fall somewhere, and every grain of the drum looked for
//! walls 0.15 m away, and was taken for one that is thrown there.)
//!
//! Which pairs are found depends on these cells, so sums are integers: they are
//! the same in any order and on any number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_geometry::{Aabb, SphereTouch};
use esker_parallel::{
    CellKey, FARTHEST_CELL, SharedSlice, SparseCells, Team, cell_coordinate, clear_and_reserve,
    resize,
};
use glam::DVec3;

use crate::diameters::Diameters;
use crate::grains::{GrainId, Grains};
use crate::periodic::Periodic;
use crate::wall::Wall;

/// What decides how far grains reach.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Margin in diameters of the smaller grain.
    pub margin: f64,
    /// Step h, s.
    pub step: f64,
    /// Mean velocity that gravity gives within the step to a grain at rest, m/s.
    pub fall: DVec3,
    /// Largest coefficient of restitution of a pair of materials.
    pub restitution: f64,
    /// The longest gap at which a pair attracts, m. Every pair within it is
    /// found, and attraction moves grains by no more than it.
    pub cohesive_gap: f64,
    /// How many further impacts one after another are followed from the first.
    pub impact_chain: usize,
}

/// What the broad phase knows of a grain besides its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proxy {
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Radius, m.
    pub radius: f64,
    /// How far impacts may move it within the step, m, as far as is looked for.
    pub impact_reach: f64,
    /// Name.
    pub id: GrainId,
    /// Whether it is a sphere.
    pub is_sphere: bool,
}

impl Proxy {
    /// Of the grain with this dense index.
    #[inline]
    pub(crate) fn of(grains: &Grains, field: &MeanVelocityField, i: usize) -> Self {
        Proxy {
            velocity: grains.state[i].velocity,
            radius: grains.radius[i],
            impact_reach: field.impact_reach[i],
            id: grains.id[i],
            is_sphere: grains.shape_of(i).is_none(),
        }
    }
}

/// Impacts are looked for up to gaps of this many radii per grain.
pub(crate) const IMPACT_REACH_RADII: f64 = 0.35;

impl Reach {
    /// Largest mean speed at which a pair can close within the step, m/s,
    /// from its approach speed and normal: one of the two may fall towards the
    /// other, which is held.
    #[inline]
    pub fn closing_speed(&self, approach: f64, normal: DVec3) -> f64 {
        approach.max(0.0) + self.fall.dot(normal).abs()
    }

    /// Distance from its surface within which a grain of this speed can meet
    /// something: two grains' distances add up to what [`Reach::covers`] asks.
    #[inline]
    pub fn beyond_surface(&self, radius: f64, speed: f64, impact_reach: f64) -> f64 {
        let closing = self.step * (speed + self.fall.length());
        (self.margin * radius).max(closing + impact_reach) + 0.5 * self.cohesive_gap
    }

    /// A speed at which a sphere of this radius, or a smaller one, reaches no farther than
    /// `distance` from its centre, m/s.
    pub(crate) fn slow_enough(&self, radius: f64, distance: f64) -> f64 {
        let outer = (1.0 + self.margin + IMPACT_REACH_RADII) * radius + 0.5 * self.cohesive_gap;
        ((distance - outer) / self.step - self.fall.length()).max(0.0)
    }

    /// Whether two grains may become a contact, with as much reach of impacts as is
    /// looked for; from their approach speed.
    #[inline]
    pub fn covers(&self, touch: &SphereTouch, approach: f64, [a, b]: [&Proxy; 2]) -> bool {
        let near = self.margin * 2.0 * a.radius.min(b.radius);
        let closing = self.step * self.closing_speed(approach, touch.normal);
        -touch.overlap < near.max(closing + a.impact_reach + b.impact_reach) + self.cohesive_gap
    }
}

/// Edge of the cells, in mean diameters.
pub(crate) const CELL_DIAMETERS: f64 = 3.0;
/// A cell and those around it.
const AROUND: usize = 27;
/// Grains that may get to cells farther away than this are taken to get anywhere.
const CELLS_FOLLOWED: f64 = 6.0;

/// How often bounds on velocity changes are passed on to the cells around.
const SPREAD_PASSES: usize = 3;
/// What is left of such a bound one cell farther.
const SPREAD_DECAY: f64 = 0.5;

/// Mean velocities of the grains, cell by cell; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct MeanVelocityField {
    edge: f64,
    /// Lower end and width, m, of periodic axes.
    periods: [Option<(f64, f64)>; 3],
    /// Cells along periodic axes.
    period_cells: [i32; 3],
    /// Cells with grains: zero, z, y, x.
    places: SparseCells,
    /// Cell of each grain.
    cell_of: Vec<u32>,
    around: Vec<Around>,
    sums: Sums,
    cells: Vec<Cell>,
    /// Room for the cells once they are compared.
    compared: Vec<Cell>,
    /// Room for the bound that is being spread.
    spread: [Vec<f64>; 2],
    /// Mean velocity of all grains, m/s.
    mean: DVec3,
    /// Largest distance of a cell's velocity from the mean, m/s.
    deviation: f64,
    /// Largest speed of grains that may get beyond the cells around, m/s.
    far: f64,
    /// Bits of the largest speed of such grains that may get to a cell, m/s.
    hit: Vec<AtomicU64>,
    /// The same of those that may get anywhere, m/s.
    hit_anywhere: f64,
    /// Square of a speed among all, m²/s², at which even the largest sphere does not.
    slow: f64,
    /// Layers of grains in a cell.
    layers: f64,
    /// Diameter of the smallest grain, m.
    min_diameter: f64,
    /// Largest motion within the step that no grain's own velocity gives, m.
    unexpected: f64,
    /// How far impacts may move each grain within the step, m, as far as is
    /// looked for.
    pub(crate) impact_reach: Vec<f64>,
}

/// Sum over the grains of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Velocities in units of [`QUANTUM`].
    velocity: [i64; 3],
    count: i64,
    /// Largest distance of a velocity from the cell's, m/s.
    deviation: f64,
    far: FarGrains,
}

/// Grains of a cell that may get beyond the cells around.
#[derive(Clone, Copy, Debug, Default)]
struct FarGrains {
    /// Largest speed among all, m/s; zero where there are none.
    speed: f64,
    /// Farthest that they reach, m.
    reach: f64,
}

/// One table of cells per worker.
#[derive(Debug, Default)]
struct Sums {
    tables: Vec<Sum>,
}

/// Unit of summed velocities, m/s. Any velocity near the mean serves.
const QUANTUM: f64 = 1.0 / (1 << 24) as f64;

/// What is known of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Mean velocity, m/s.
    velocity: DVec3,
    /// Largest distance of a grain's velocity from it, m/s.
    deviation: f64,
    far: FarGrains,
    /// Half of the largest difference to a cell around it, m/s.
    half_difference: f64,
    /// By [`Bound`], m/s.
    bounds: [f64; 2],
}

/// The cells with grains among a cell and those around it.
#[derive(Clone, Copy, Debug)]
struct Around {
    count: usize,
    cells: [u32; AROUND],
}

/// A bound on velocity changes in a cell.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Largest difference in velocity of grains here and around.
    VelocityDifference,
    /// Largest change by pushes through chains of grains.
    Push,
}

impl MeanVelocityField {
    /// Replaces `out` by the radii within which grains can meet something, and
    /// sets the reach of impacts.
    pub(crate) fn reach(
        &mut self,
        team: &mut Team,
        (grains, walls): (&Grains, &[Wall]),
        diameters: Diameters,
        reach: Reach,
        out: &mut Vec<f64>,
    ) {
        self.lay_cells(team, grains, diameters);
        self.slow = reach
            .slow_enough(0.5 * diameters.max, 0.5 * self.edge)
            .powi(2);
        self.take_means(team, grains);
        self.take_deviations(team, grains, reach);
        self.find_hit(team);
        self.compare_cells(team, walls, reach);
        let mut impact_reach = std::mem::take(&mut self.impact_reach);
        let field = &*self;
        let cell_of = |i: usize| &field.cells[field.cell_of[i] as usize];
        let frozen = grains.held_rows();
        team.fill(&mut impact_reach, grains.len(), |i| {
            if frozen.contains(&i) {
                return 0.0;
            }
            let motion = field.impact_motion(i, reach);
            motion.min(IMPACT_REACH_RADII * grains.radius[i])
        });
        team.fill(out, grains.len(), |i| {
            let (radius, velocity) = (grains.radius[i], grains.state[i].velocity);
            let cell = cell_of(i);
            let turning = grains.rotation_speed(i);
            let speed = velocity.distance(cell.velocity) + cell.half_difference + turning;
            let outer = grains.bounding_radius(i);
            // Where nobody is fast, all are near.
            if field.far == 0.0 || field.stays_near(grains, i, reach) {
                return outer + reach.beyond_surface(radius, speed, impact_reach[i]);
            }
            let of_others = field.deviation.min(0.5 * field.edge / reach.step);
            let far = velocity.distance(field.mean) + of_others + turning;
            outer + reach.beyond_surface(radius, speed.max(far), impact_reach[i])
        });
        self.impact_reach = impact_reach;
        let difference = self
            .cells
            .iter()
            .map(|c| c.bounds[Bound::VelocityDifference as usize]);
        // A push through a chain can throw off its end with twice its speed.
        let speed = 2.0 * difference.fold(self.far, f64::max) + reach.fall.length();
        self.unexpected = reach.step * speed + reach.cohesive_gap;
    }

    /// Replaces `out` by the boxes in which bodies of their own can meet something, one of each:
    /// their balls, whose `reaches` these are, hold much more.
    ///
    /// A pair is wanted where the gap between the box of one and the ball of the other is below
    /// what both reach beyond their balls (see `near.rs`); speeds of others, which the reach of a
    /// ball has a limit for, are added in full.
    pub(crate) fn boxes_of_bodies(
        &self,
        grains: &Grains,
        reaches: &[f64],
        reach: Reach,
        out: &mut Vec<Aabb>,
    ) {
        out.clear();
        out.extend((grains.count()..grains.len()).map(|row| {
            let beyond = reaches[row] - grains.bounding_radius(row);
            let unlimited = reach.step * self.deviation;
            grains.box_of_body(row).inflated(beyond + unlimited)
        }));
    }

    /// Says along which axes the last cells are neighbours of the first.
    pub(crate) fn set_periodic(&mut self, periodic: Option<Periodic>) {
        self.periods = std::array::from_fn(|axis| periodic?.range(axis));
    }

    /// How far impacts may move a grain within the step, m.
    #[inline]
    pub(crate) fn impact_motion(&self, grain: usize, reach: Reach) -> f64 {
        let difference = self.bound(grain, Bound::VelocityDifference);
        reach.step * (1.0 + reach.restitution) * difference
    }

    /// How far grains may move within the step by pushes that their velocities
    /// do not show, in diameters of the smallest one.
    pub(crate) fn unexpected_motion(&self) -> f64 {
        self.unexpected / self.min_diameter
    }

    /// Sets how far pushes pass through chains of grains beyond the impacts
    /// that are followed one by one, from the velocity changes by the impacts of
    /// each grain, m/s.
    ///
    /// Such a push comes from many grains at once: where a layer of a cell's
    /// grains is impacted with some speed, all of them may get it, and through
    /// them the grains of the cells around. One grain that bounces among others
    /// at rest shares its momentum with them.
    pub(crate) fn spread_pushes(&mut self, team: &mut Team, change: impl Fn(usize) -> f64 + Sync) {
        let mut sums = std::mem::take(&mut self.sums);
        let found = sums.over_cells(team, &self.cell_of, self.cells.len(), |sum, i| {
            sum.velocity[0] += (change(i) / QUANTUM) as i64;
            sum.count += 1;
        });
        for (cell, sum) in self.cells.iter_mut().zip(found) {
            let mean = sum.velocity[0] as f64 * (QUANTUM / sum.count.max(1) as f64);
            cell.bounds[Bound::Push as usize] = self.layers * mean;
        }
        self.sums = sums;
        self.spread(team, Bound::Push);
    }

    /// How far pushes through chains may move a grain within the step, m.
    #[inline]
    pub(crate) fn push_motion(&self, grain: u32, reach: Reach) -> f64 {
        reach.step * self.bound(grain as usize, Bound::Push)
    }

    /// A bound in the cell of a grain, m/s.
    #[inline]
    fn bound(&self, grain: usize, bound: Bound) -> f64 {
        self.cells[self.cell_of[grain] as usize].bounds[bound as usize]
    }

    /// Largest distance of a velocity from that of any cell, m/s.
    fn speed_among_all(&self, velocity: DVec3) -> f64 {
        velocity.distance(self.mean) + self.deviation
    }

    /// Whether a grain does not obey (2).
    #[inline(always)]
    fn stays_near(&self, grains: &Grains, i: usize, reach: Reach) -> bool {
        let square = grains.state[i].velocity.distance_squared(self.mean);
        let is_slow = square < self.slow && grains.shape_of(i).is_none();
        is_slow || self.reach_among_all(square.sqrt(), grains, i, reach) <= 0.5 * self.edge
    }

    /// How far a grain of this speed among all, m/s, reaches from its centre, m.
    fn reach_among_all(&self, speed: f64, grains: &Grains, i: usize, reach: Reach) -> f64 {
        let radius = grains.radius[i];
        let speed = speed + grains.rotation_speed(i);
        let beyond = reach.beyond_surface(radius, speed, IMPACT_REACH_RADII * radius);
        grains.bounding_radius(i) + beyond
    }

    /// Lays the cells and finds those that grains are in.
    fn lay_cells(&mut self, team: &mut Team, grains: &Grains, diameters: Diameters) {
        self.min_diameter = diameters.min;
        self.edge = CELL_DIAMETERS * diameters.mean;
        self.layers = CELL_DIAMETERS;
        let edge = self.edge;
        // The last of a periodic axis is up to twice as wide.
        self.period_cells = self.periods.map(|period| {
            let cells = period.map_or(0.0, |(_, width)| (width / edge).clamp(1.0, FAR_CELLS));
            cells as i32
        });
        let mut places = std::mem::take(&mut self.places);
        let mut cell_of = std::mem::take(&mut self.cell_of);
        places.number(team, grains.len(), &mut cell_of, |i| {
            self.key(grains.position[i])
        });
        (self.places, self.cell_of) = (places, cell_of);
        self.find_neighbours(team);
    }

    /// The cell of a point. Cells that are neighbours in space are neighbours here, or one.
    #[inline]
    fn key(&self, point: DVec3) -> CellKey {
        let cells_per_metre = 1.0 / self.edge;
        let along = |axis: usize| match self.periods[axis] {
            None => cell_coordinate(point[axis] * cells_per_metre),
            Some((low, _)) => {
                let cell = cell_coordinate((point[axis] - low) * cells_per_metre);
                cell.clamp(0, self.period_cells[axis] - 1)
            }
        };
        [0, along(2), along(1), along(0)]
    }

    /// Lists the cells with grains around every cell.
    fn find_neighbours(&mut self, team: &mut Team) {
        let keys = self.places.keys();
        let nothing = Around {
            count: 0,
            cells: [0; AROUND],
        };
        clear_and_reserve(&mut self.around, keys.len());
        self.around.resize(keys.len(), nothing);
        let around = SharedSlice::new(&mut self.around);
        let beside = |axis: usize, k: i32| beside(k, self.period_cells[axis]);
        team.run(|worker| {
            // Cells come in order, and so do the starts of the nine rows around them.
            let mut cursors = [0; 9];
            for cell in worker.part_of(keys.len(), 1) {
                // SAFETY: parts of workers are disjoint.
                let around = unsafe { around.at(cell) };
                let [_, z, y, x] = keys[cell];
                let rows = beside(2, z).flat_map(|z| beside(1, y).map(move |y| (z, y)));
                for ((z, y), cursor) in rows.zip(&mut cursors) {
                    for x in beside(0, x) {
                        *cursor = seek(keys, *cursor, [0, z, y, x]);
                        if keys.get(*cursor) == Some(&[0, z, y, x]) {
                            around.cells[around.count] = *cursor as u32;
                            around.count += 1;
                        }
                    }
                }
            }
        });
    }

    /// Finds the mean velocity of every cell, and of all grains.
    fn take_means(&mut self, team: &mut Team, grains: &Grains) {
        let count = self.places.keys().len();
        let sums = self.sums.over_cells(team, &self.cell_of, count, |sum, i| {
            let v = grains.state[i].velocity / QUANTUM;
            sum.join(&Sum {
                velocity: [v.x as i64, v.y as i64, v.z as i64],
                count: 1,
                ..Default::default()
            });
        });
        clear_and_reserve(&mut self.cells, count);
        self.cells.extend(sums.iter().map(|sum| Cell {
            velocity: sum.mean_velocity(),
            ..Default::default()
        }));
        let mut whole = Sum::default();
        for sum in sums {
            whole.join(sum);
        }
        self.mean = whole.mean_velocity();
        self.deviation = self
            .cells
            .iter()
            .map(|cell| cell.velocity.distance(self.mean))
            .fold(0.0, f64::max);
    }

    /// Finds how far velocities are from those of their cells, and which grains may get beyond
    /// the cells around.
    fn take_deviations(&mut self, team: &mut Team, grains: &Grains, reach: Reach) {
        let mut sums = std::mem::take(&mut self.sums);
        let found = sums.over_cells(team, &self.cell_of, self.cells.len(), |sum, i| {
            let velocity = grains.state[i].velocity;
            let deviation = velocity.distance(self.cells[self.cell_of[i] as usize].velocity);
            sum.deviation = sum.deviation.max(deviation);
            if !self.stays_near(grains, i, reach) {
                let apart = velocity.distance(self.mean);
                sum.far.join(FarGrains {
                    speed: self.speed_among_all(velocity),
                    reach: self.reach_among_all(apart, grains, i, reach),
                });
            }
        });
        for (cell, sum) in self.cells.iter_mut().zip(found) {
            cell.deviation = sum.deviation;
            cell.far = sum.far;
        }
        self.sums = sums;
        let speeds = self.cells.iter().map(|cell| cell.far.speed);
        self.far = speeds.fold(0.0, f64::max);
    }

    /// Finds for every cell the largest speed of grains that (3) says may get there.
    fn find_hit(&mut self, team: &mut Team) {
        self.hit.clear();
        self.hit.resize_with(self.cells.len(), AtomicU64::default);
        self.hit_anywhere = 0.0;
        if self.far == 0.0 {
            return;
        }
        let field = &*self;
        let far_cells = (0..field.cells.len()).filter(|&k| field.cells[k].far.speed > 0.0);
        let anywhere = far_cells.filter(|&k| field.cells_within_reach(k).is_none());
        let hit_anywhere = anywhere
            .map(|k| field.cells[k].far.speed)
            .fold(0.0, f64::max);
        team.run(|worker| {
            for k in worker.part_of(field.cells.len(), 1) {
                let speed = field.cells[k].far.speed;
                if speed > 0.0
                    && let Some(away) = field.cells_within_reach(k)
                {
                    field.for_each_within(k, away, |cell| {
                        // Numbers that are not negative order as their bits do.
                        field.hit[cell].fetch_max(speed.to_bits(), Ordering::Relaxed);
                    });
                }
            }
        });
        self.hit_anywhere = hit_anywhere;
    }

    /// How many cells away far grains of a cell may get, by (3); `None` where those are not
    /// gone through.
    fn cells_within_reach(&self, cell: usize) -> Option<i32> {
        let away = (self.cells[cell].far.reach / self.edge + 0.5).ceil();
        // Beyond the outermost cells they may be anywhere.
        let is_outermost = self.places.keys()[cell]
            .iter()
            .any(|k| k.abs() == FARTHEST_CELL);
        (away <= CELLS_FOLLOWED && !is_outermost).then_some(away as i32)
    }

    /// Calls `visit` with the cells that have grains and are so many cells away at most.
    fn for_each_within(&self, cell: usize, away: i32, mut visit: impl FnMut(usize)) {
        let keys = self.places.keys();
        let [_, z, y, x] = keys[cell];
        let along = |axis: usize, k: i32| within(k, away, self.period_cells[axis]);
        for z in along(2, z).into_iter().flatten() {
            for y in along(1, y).into_iter().flatten() {
                for x in along(0, x) {
                    let [start, end] = [x.start, x.end].map(|x| [0, z, y, x]);
                    let first = keys.partition_point(|key| *key < start);
                    let row = keys[first..].iter().take_while(|key| **key < end);
                    (first..first + row.count()).for_each(&mut visit);
                }
            }
        }
    }

    /// Compares every cell with those around it and with the walls near it.
    fn compare_cells(&mut self, team: &mut Team, walls: &[Wall], reach: Reach) {
        let mut compared = std::mem::take(&mut self.compared);
        team.fill(&mut compared, self.cells.len(), |k| {
            let mut cell = self.cells[k];
            let (difference, deviation) = self.around(k);
            let at_walls = self.speed_at_walls(k, deviation, walls, reach);
            let hit = f64::from_bits(self.hit[k].load(Ordering::Relaxed)).max(self.hit_anywhere);
            cell.half_difference = 0.5 * difference;
            cell.bounds[Bound::VelocityDifference as usize] =
                (difference + 2.0 * deviation).max(at_walls).max(hit);
            cell
        });
        self.compared = std::mem::replace(&mut self.cells, compared);
        self.spread(team, Bound::VelocityDifference);
    }

    /// Pushes pass through chains of touching grains far beyond a cell within a
    /// step, and weaken on their way: passes a bound on to the cells around.
    fn spread(&mut self, team: &mut Team, bound: Bound) {
        let [mut from, mut to] = std::mem::take(&mut self.spread);
        from.clear();
        from.extend(self.cells.iter().map(|cell| cell.bounds[bound as usize]));
        for _ in 0..SPREAD_PASSES {
            team.fill(&mut to, from.len(), |k| {
                let around = &self.around[k];
                let mut max = 0.0;
                for &there in &around.cells[..around.count] {
                    let bound = from[there as usize];
                    max = if bound > max { bound } else { max };
                }
                from[k].max(SPREAD_DECAY * max)
            });
            std::mem::swap(&mut from, &mut to);
        }
        for (cell, spread) in self.cells.iter_mut().zip(&from) {
            cell.bounds[bound as usize] = *spread;
        }
        self.spread = [from, to];
    }

    /// Largest difference of a cell's velocity to one around it, and largest
    /// deviation of a grain's from its cell's in all of them, m/s.
    fn around(&self, cell: usize) -> (f64, f64) {
        let own = self.cells[cell].velocity;
        let (mut difference, mut deviation) = (0.0, 0.0);
        for there in self.neighbours(cell) {
            difference = f64::max(difference, own.distance(there.velocity));
            deviation = f64::max(deviation, there.deviation);
        }
        (difference, deviation)
    }

    /// A cell and those around it that have grains.
    #[inline]
    fn neighbours(&self, cell: usize) -> impl Iterator<Item = &Cell> {
        let around = &self.around[cell];
        let cells = around.cells[..around.count].iter();
        cells.map(|&k| &self.cells[k as usize])
    }

    /// Largest speed at which grains of a cell can meet walls within the
    /// step, m/s.
    fn speed_at_walls(&self, cell: usize, deviation: f64, walls: &[Wall], reach: Reach) -> f64 {
        let [_, z, y, x] = self.places.keys()[cell];
        let at = [x, y, z];
        let low = DVec3::from_array(self.periods.map(|period| period.map_or(0.0, |p| p.0)));
        let centre = low + (DVec3::from_array(at.map(f64::from)) + 0.5) * self.edge;
        // Grains may be anywhere beyond the outermost cells, and the last cell of a
        // periodic axis is wider than others.
        let is_wide = (0..3).any(|k| match self.periods[k] {
            None => at[k].abs() == FARTHEST_CELL,
            Some(_) => at[k] + 1 == self.period_cells[k],
        });
        let half_diagonal = 0.5 * 3_f64.sqrt() * self.edge;
        let present = walls.iter().filter(|wall| wall.is_present);
        let speeds = present.map(|wall| {
            let turning = wall.twist.angular_velocity.length() * half_diagonal;
            let sliding = self.cells[cell].velocity.distance(wall.twist.at(centre));
            let speed = sliding + deviation + turning;
            let near = half_diagonal + 0.5 * self.edge + reach.step * speed;
            let local = wall.pose.to_local(centre);
            if !is_wide && wall.shape.is_clear_of(local, near) {
                0.0
            } else {
                speed
            }
        });
        speeds.fold(0.0, f64::max)
    }
}

/// Coordinates that cells along a periodic axis may have.
const FAR_CELLS: f64 = FARTHEST_CELL as f64;

/// A coordinate of a cell and those beside it, along an axis of so many cells if that is
/// periodic; of few cells some come twice.
fn beside(k: i32, period: i32) -> impl Iterator<Item = i32> + Clone {
    (k - 1..=k + 1).map(move |k| if period > 0 { k.rem_euclid(period) } else { k })
}

/// Coordinates up to so many cells away, along an axis of so many cells if that is periodic.
fn within(k: i32, away: i32, period: i32) -> [Range<i32>; 2] {
    const NONE: Range<i32> = 0..0;
    let (low, end) = (k - away, k + away + 1);
    if period == 0 {
        [low..end, NONE]
    } else if end - low >= period {
        [0..period, NONE]
    } else if low < 0 {
        [0..end, low + period..period]
    } else if end > period {
        [0..end - period, low..period]
    } else {
        [low..end, NONE]
    }
}

/// The first of ascending keys that is not below another; most look for one a little behind
/// the `last` found.
#[inline]
fn seek(keys: &[CellKey], last: usize, key: CellKey) -> usize {
    if last > 0 && keys[last - 1] >= key {
        return keys[..last].partition_point(|k| *k < key);
    }
    let (near, rest) = keys[last..].split_at(NEAR_KEYS.min(keys.len() - last));
    match near.iter().position(|k| *k >= key) {
        Some(ahead) => last + ahead,
        None => last + near.len() + rest.partition_point(|k| *k < key),
    }
}

/// Keys that are looked at one by one.
const NEAR_KEYS: usize = 8;

impl Sum {
    fn mean_velocity(&self) -> DVec3 {
        DVec3::from_array(self.velocity.map(|v| v as f64)) * (QUANTUM / self.count.max(1) as f64)
    }

    fn join(&mut self, other: &Sum) {
        for (sum, v) in self.velocity.iter_mut().zip(other.velocity) {
            // Any number serves where it overflows.
            *sum = sum.wrapping_add(v);
        }
        self.count += other.count;
        self.deviation = self.deviation.max(other.deviation);
        self.far.join(other.far);
    }
}

impl FarGrains {
    fn join(&mut self, other: FarGrains) {
        self.speed = self.speed.max(other.speed);
        self.reach = self.reach.max(other.reach);
    }
}

impl Sums {
    /// Sums over the grains of each of `count` cells.
    fn over_cells(
        &mut self,
        team: &mut Team,
        cell_of: &[u32],
        count: usize,
        add: impl Fn(&mut Sum, usize) + Sync,
    ) -> &[Sum] {
        resize(&mut self.tables, count * team.threads());
        let tables = SharedSlice::new(&mut self.tables);
        team.run(|worker| {
            let own = worker.index * count..(worker.index + 1) * count;
            // SAFETY: every worker has a table of its own.
            let own = unsafe { tables.part(own) };
            own.fill(Sum::default());
            for i in worker.part_of(cell_of.len(), 1) {
                add(&mut own[cell_of[i] as usize], i);
            }
            worker.wait_for_all();
            for cell in worker.part_of(count, 1) {
                for table in 1..worker.count {
                    // SAFETY: parts of cells are disjoint, and so are tables.
                    unsafe { tables.at(cell).join(tables.at(table * count + cell)) };
                }
            }
        });
        &self.tables[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::WallDef;
    use crate::grains::NewGrain;
    use crate::random::{RandomStream, Source};
    use esker_geometry::{BroadPhase, Crowd, Pose, WallShape};

    /// Steps of 10 ms without gravity.
    const LONG_STEPS: Reach = Reach {
        margin: 0.05,
        step: 0.01,
        fall: DVec3::ZERO,
        restitution: 0.0,
        cohesive_gap: 0.0,
        impact_chain: 1,
    };

    fn add(grains: &mut Grains, radius: f64, position: DVec3, velocity: DVec3) {
        let grain = NewGrain {
            position,
            velocity,
            radius,
            angular_velocity: DVec3::ZERO,
            mass: 1e-3,
            material: 0,
            shape: None,
            orientation: glam::DQuat::IDENTITY,
        };
        grains.insert(grain, true);
    }

    /// A cube of grains with a fifth of a diameter between them.
    fn lattice(velocity: DVec3) -> Grains {
        let mut grains = Grains::default();
        for k in 0..8000_u32 {
            let place = |stride: u32| f64::from(k / stride % 20);
            let place = DVec3::new(place(1), place(20), place(400)) * 0.012 + 0.006;
            add(&mut grains, 0.005, place, velocity);
        }
        grains
    }

    /// A stream that turns, a crowd at rest and a few fast strays.
    fn crowd(seed: u64) -> Grains {
        let random = &mut RandomStream::new(seed, Source::Packing(0));
        let mut grains = Grains::default();
        for k in 0..3000 {
            let mut number = || 2.0 * random.uniform() - 1.0;
            let place = DVec3::new(number(), number(), number()) * 0.12;
            let noise = DVec3::new(number(), number(), number());
            let (position, velocity) = match k % 100 {
                0 => (place * 40.0, noise * 20.0),
                1..=40 => (place + DVec3::X * 0.5, noise * 0.05),
                _ => (place, DVec3::new(-place.y, place.x, 0.0) * 30.0 + noise),
            };
            let radius = 0.004 + 0.002 * random.uniform();
            add(&mut grains, radius, position, velocity);
        }
        grains
    }

    #[test]
    fn reaches_find_every_pair_that_can_meet() {
        let mut grains = crowd(5);
        for step in [1e-4, 2e-3, 1e-2] {
            for threads in [1, 3] {
                let team = &mut Team::new(threads);
                let reach = Reach {
                    step,
                    fall: DVec3::NEG_Z * (9.81 * step),
                    restitution: 0.5,
                    cohesive_gap: 1e-3,
                    ..LONG_STEPS
                };
                let mut radii = Vec::new();
                let mut field = MeanVelocityField::default();
                let diameters = grains.diameters(team);
                field.reach(team, (&grains, &[]), diameters, reach, &mut radii);
                let find = |radii: &[f64], pairs: &mut Vec<[u32; 2]>| {
                    let found = &mut [Vec::new()];
                    let result = BroadPhase::default().search(
                        &mut Team::new(1),
                        Crowd::new(&grains.position, radii),
                        |i| Proxy::of(&grains, &field, i),
                        found,
                        |[a, b]| {
                            let radii = [a.user_data.radius, b.user_data.radius];
                            let touch = SphereTouch::of(a.centre, radii[0], b.centre, radii[1]);
                            let approach = touch
                                .normal
                                .dot(a.user_data.velocity - b.user_data.velocity);
                            let pair = [a.index.min(b.index), a.index.max(b.index)];
                            (
                                pair,
                                reach.covers(&touch, approach, [a.user_data, b.user_data]),
                            )
                        },
                    );
                    result.unwrap();
                    [*pairs] = std::mem::take(found);
                    pairs.sort_unstable();
                };
                let (mut all, mut found) = (Vec::new(), Vec::new());
                find(&vec![20.0; grains.len()], &mut all);
                find(&radii, &mut found);
                assert!(all.len() > 1000);
                assert!(found == all, "{} of {} pairs", found.len(), all.len());
            }
        }
    }

    /// Grains that move together need not look far, however fast they are.
    #[test]
    fn a_common_velocity_does_not_widen_the_reach() {
        let mut grains = crowd(6);
        let reach = Reach {
            fall: DVec3::NEG_Z * 0.1,
            ..LONG_STEPS
        };
        for state in &mut grains.state {
            state.velocity = DVec3::new(3.0, -40.0, 7.0);
        }
        let mut radii = Vec::new();
        let team = &mut Team::new(2);
        let diameters = grains.diameters(team);
        MeanVelocityField::default().reach(team, (&grains, &[]), diameters, reach, &mut radii);
        for (radius, reached) in grains.radius.iter().zip(radii) {
            let at_rest = radius + reach.beyond_surface(*radius, 0.0, 0.0);
            assert!((reached / at_rest - 1.0).abs() < 1e-6);
        }
    }

    /// One grain that fell from high up used to make all others look for walls as if it hit them.
    #[test]
    fn only_grains_in_its_way_expect_to_be_hit_by_a_fast_one() {
        let mut grains = lattice(DVec3::ZERO);
        let fast = DVec3::new(0.02, 0.12, 0.3);
        add(&mut grains, 0.005, fast, DVec3::new(0.0, 0.0, -9.0));
        let reach = LONG_STEPS;
        let periodic = [[None; 3], [None, Some((0.0, 0.24)), None]];
        for periods in periodic {
            let mut field = MeanVelocityField {
                periods,
                ..Default::default()
            };
            let team = &mut Team::new(2);
            let diameters = grains.diameters(team);
            field.reach(team, (&grains, &[]), diameters, reach, &mut Vec::new());
            let motions = (0..grains.count()).map(|i| field.impact_motion(i, reach));
            for (motion, at) in motions.zip(&grains.position) {
                let aside = (*at - fast).truncate().length();
                if aside < 0.01 && at.z > fast.z - 0.1 {
                    assert!(motion > 0.08, "{motion} at {at}");
                } else if at.z < fast.z - 0.22 {
                    assert!(motion < 1e-6, "{motion} at {at}");
                }
            }
        }
    }

    /// Copies of frozen grains were looked for as far away as what an impact can throw.
    #[test]
    fn no_impact_moves_a_frozen_grain() {
        let mut grains = crowd(7);
        for row in [2900, 1500, 70] {
            let frozen = grains.freeze(row);
            grains.hold(&frozen, [DVec3::ZERO; 2]);
        }
        let reach = Reach {
            restitution: 0.5,
            ..LONG_STEPS
        };
        let mut field = MeanVelocityField::default();
        let team = &mut Team::new(2);
        let diameters = grains.diameters(team);
        field.reach(team, (&grains, &[]), diameters, reach, &mut Vec::new());
        let (free, frozen) = field.impact_reach.split_at(grains.free_count());
        assert_eq!(frozen, [0.0; 3]);
        assert!(free.iter().all(|&reach| reach > 0.0));
    }

    /// Grains that fall together have nothing to expect but from the floor.
    #[test]
    fn impacts_are_looked_for_near_walls() {
        let mut grains = lattice(DVec3::NEG_Z);
        let floor = Wall::new(
            &WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY),
            0.01,
        );
        let reach = LONG_STEPS;
        let mut field = MeanVelocityField::default();
        let team = &mut Team::new(2);
        let diameters = grains.diameters(team);
        field.reach(team, (&grains, &[floor]), diameters, reach, &mut Vec::new());
        for (impact_reach, at) in field.impact_reach.iter().zip(&grains.position) {
            if at.z < 0.01 + 2.0 * 0.01 {
                assert_eq!(*impact_reach, IMPACT_REACH_RADII * 0.005);
            } else if at.z > 0.15 {
                assert!(*impact_reach < 1e-6, "{impact_reach} at {at}");
            }
        }
    }
}
