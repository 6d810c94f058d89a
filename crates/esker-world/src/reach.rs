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
//! between its cell and those around. A grain whose reach is more than half a
//! cell may meet grains of any cell; it takes its speed from the mean of all
//! cells and the largest deviation of a cell from it.
//!
//! The same cells say how strong the impacts on a grain can be:
//! as strong as the grains and walls around differ in velocity. In a bed at rest
//! one grain that still rolls then does not make all others look for more.
//!
//! Which pairs are found depends on these cells, so sums are integers: they are
//! the same in any order and on any number of threads.

use std::sync::atomic::{AtomicU64, Ordering};

use esker_geometry::SphereTouch;
use esker_parallel::{SharedSlice, Team, clear_and_reserve, resize};
use glam::DVec3;

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
const CELL_DIAMETERS: f64 = 3.0;
/// Cells along an axis, at most: what lies farther out joins the outermost.
const MOST_CELLS: f64 = 64.0;

/// How often bounds on velocity changes are passed on to the cells around.
const SPREAD_PASSES: usize = 3;
/// What is left of such a bound one cell farther.
const SPREAD_DECAY: f64 = 0.5;

/// Mean velocities of the grains, cell by cell; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct MeanVelocityField {
    origin: DVec3,
    edge: f64,
    size: [usize; 3],
    /// Whether grains are farther out than the cells, along each axis.
    is_cut: [bool; 3],
    /// Lower end and width, m, of periodic axes.
    periods: [Option<(f64, f64)>; 3],
    /// Cell of each grain.
    cell_of: Vec<u32>,
    sums: Sums,
    cells: Vec<Cell>,
    /// Room for the cells once they are compared.
    compared: Vec<Cell>,
    /// Room for the bound that is being spread, and for its largest value around
    /// each cell.
    around: [Vec<f64>; 2],
    mean: DVec3,
    /// Largest distance of a cell's velocity from the mean, m/s.
    deviation: f64,
    /// Largest speed of grains that may get beyond the cells around, m/s.
    far: f64,
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
    /// Whether it has grains.
    is_taken: bool,
    /// Mean velocity, m/s.
    velocity: DVec3,
    /// Largest distance of a grain's velocity from it, m/s.
    deviation: f64,
    /// Half of the largest difference to a cell around it, m/s.
    half_difference: f64,
    /// By [`Bound`], m/s.
    bounds: [f64; 2],
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
        mean_diameter: f64,
        reach: Reach,
        out: &mut Vec<f64>,
    ) {
        self.lay_cells(team, grains, mean_diameter);
        self.take_means(team, grains);
        self.far = self.take_deviations(team, grains, reach);
        self.compare_cells(team, walls, reach);
        let mut impact_reach = std::mem::take(&mut self.impact_reach);
        let field = &*self;
        let cell_of = |i: usize| &field.cells[field.cell_of[i] as usize];
        team.fill(&mut impact_reach, grains.len(), |i| {
            let motion = field.impact_motion(i, reach);
            motion.min(IMPACT_REACH_RADII * grains.radius[i])
        });
        team.fill(out, grains.len(), |i| {
            let (radius, velocity) = (grains.radius[i], grains.state[i].velocity);
            let cell = cell_of(i);
            let turning = grains.rotation_speed(i);
            let speed = velocity.distance(cell.velocity) + cell.half_difference + turning;
            let outer = grains.bounding_radius(i);
            let near = outer + reach.beyond_surface(radius, speed, impact_reach[i]);
            if near <= 0.5 * field.edge {
                return near;
            }
            let speed = speed.max(field.speed_among_all(velocity) + turning);
            outer + reach.beyond_surface(radius, speed, impact_reach[i])
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

    /// Says along which axes the last cells are neighbours of the first.
    pub(crate) fn set_periodic(&mut self, periodic: Option<Periodic>) {
        self.periods = std::array::from_fn(|axis| periodic?.range(axis));
    }

    /// How far impacts may move a grain within the step, m.
    #[inline]
    pub(crate) fn impact_motion(&self, grain: usize, reach: Reach) -> f64 {
        let difference = self.bound(grain, Bound::VelocityDifference);
        reach.step * (1.0 + reach.restitution) * difference.max(self.far)
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

    fn lay_cells(&mut self, team: &mut Team, grains: &Grains, mean_diameter: f64) {
        #[derive(Clone, Copy)]
        struct Extent(DVec3, DVec3, DVec3, f64);
        let nothing = Extent(
            DVec3::splat(f64::INFINITY),
            DVec3::splat(f64::NEG_INFINITY),
            DVec3::ZERO,
            f64::INFINITY,
        );
        let add =
            |a: Extent, b: &Extent| Extent(a.0.min(b.0), a.1.max(b.1), a.2 + b.2, a.3.min(b.3));
        let extent = team.fold(
            grains.len(),
            nothing,
            |range| {
                let radii = grains.radius[range.clone()].iter();
                let spheres = grains.position[range].iter().zip(radii);
                spheres.fold(nothing, |sum, (&x, &r)| add(sum, &Extent(x, x, x, r)))
            },
            add,
        );
        self.min_diameter = 2.0 * extent.3;
        let middle = extent.2 / grains.len().max(1) as f64;
        self.edge = CELL_DIAMETERS * mean_diameter;
        loop {
            let far = DVec3::splat(0.5 * MOST_CELLS * self.edge);
            self.origin = extent.0.max(middle - far);
            let top = extent.1.min(middle + far);
            self.is_cut =
                std::array::from_fn(|k| self.origin[k] > extent.0[k] || top[k] < extent.1[k]);
            self.size = ((top - self.origin) / self.edge)
                .to_array()
                .map(|n| n.clamp(0.0, MOST_CELLS) as usize + 1);
            let fits = self.lay_periodic_cells();
            // Not more cells than grains, or nearly so.
            if fits && self.size.iter().product::<usize>() <= grains.len() + 8 {
                break;
            }
            self.edge *= 2.0;
        }
        self.layers = self.edge / mean_diameter;
    }

    /// Lays cells from end to end of periodic axes, the last of them up to twice
    /// as wide; returns whether they are not too many.
    fn lay_periodic_cells(&mut self) -> bool {
        let mut fits = true;
        for axis in 0..3 {
            if let Some((low, width)) = self.periods[axis] {
                let cells = (width / self.edge).floor().max(1.0);
                fits &= cells <= MOST_CELLS;
                self.origin[axis] = low;
                self.size[axis] = cells.min(MOST_CELLS) as usize;
                self.is_cut[axis] = false;
            }
        }
        fits
    }

    /// Cells that are neighbours in space are neighbours here, or one.
    fn cell(&self, point: DVec3) -> u32 {
        let at = (point - self.origin) * (1.0 / self.edge);
        // `as` saturates and maps NaN to zero.
        let along = |k: usize| (at[k] as usize).min(self.size[k] - 1);
        ((along(2) * self.size[1] + along(1)) * self.size[0] + along(0)) as u32
    }

    /// Finds the mean velocity of every cell, and of all of them.
    fn take_means(&mut self, team: &mut Team, grains: &Grains) {
        let count = self.size.iter().product::<usize>();
        let mut cell_of = std::mem::take(&mut self.cell_of);
        team.fill(&mut cell_of, grains.len(), |i| {
            self.cell(grains.position[i])
        });
        let sums = self.sums.over_cells(team, &cell_of, count, |sum, i| {
            let v = grains.state[i].velocity / QUANTUM;
            sum.join(&Sum {
                velocity: [v.x as i64, v.y as i64, v.z as i64],
                count: 1,
                deviation: 0.0,
            });
        });
        clear_and_reserve(&mut self.cells, count);
        self.cells.extend(sums.iter().map(|sum| Cell {
            velocity: DVec3::from_array(sum.velocity.map(|v| v as f64))
                * (QUANTUM / sum.count.max(1) as f64),
            is_taken: sum.count > 0,
            ..Default::default()
        }));
        self.cell_of = cell_of;
        let taken = || self.cells.iter().filter(|cell| cell.is_taken);
        let whole: DVec3 = taken().map(|cell| cell.velocity).sum();
        self.mean = whole / (taken().count().max(1)) as f64;
        self.deviation = taken()
            .map(|cell| cell.velocity.distance(self.mean))
            .fold(0.0, f64::max);
    }

    /// Finds how far velocities are from those of their cells. Returns the
    /// largest speed of grains that may get beyond the cells around, m/s.
    fn take_deviations(&mut self, team: &mut Team, grains: &Grains, reach: Reach) -> f64 {
        let mut sums = std::mem::take(&mut self.sums);
        // Numbers that are not negative order as their bits do.
        let far = AtomicU64::new(0);
        let found = sums.over_cells(team, &self.cell_of, self.cells.len(), |sum, i| {
            let velocity = grains.state[i].velocity;
            let deviation = velocity.distance(self.cells[self.cell_of[i] as usize].velocity);
            sum.deviation = sum.deviation.max(deviation);
            if grains.radius[i] + reach.step * deviation > 0.5 * self.edge {
                let speed = self.speed_among_all(velocity);
                far.fetch_max(speed.to_bits(), Ordering::Relaxed);
            }
        });
        for (cell, sum) in self.cells.iter_mut().zip(found) {
            cell.deviation = sum.deviation;
        }
        self.sums = sums;
        f64::from_bits(far.into_inner())
    }

    /// Compares every cell with those around it and with the walls near it.
    fn compare_cells(&mut self, team: &mut Team, walls: &[Wall], reach: Reach) {
        let mut compared = std::mem::take(&mut self.compared);
        team.fill(&mut compared, self.cells.len(), |k| {
            let mut cell = self.cells[k];
            if cell.is_taken {
                let (difference, deviation) = self.around(k);
                let at_walls = self.speed_at_walls(k, deviation, walls, reach);
                cell.half_difference = 0.5 * difference;
                cell.bounds[Bound::VelocityDifference as usize] =
                    (difference + 2.0 * deviation).max(at_walls);
            }
            cell
        });
        self.compared = std::mem::replace(&mut self.cells, compared);
        self.spread(team, Bound::VelocityDifference);
    }

    /// Pushes pass through chains of touching grains far beyond a cell within a
    /// step, and weaken on their way: passes a bound on to the cells around.
    fn spread(&mut self, team: &mut Team, bound: Bound) {
        let [mut around, mut next] = std::mem::take(&mut self.around);
        for _ in 0..SPREAD_PASSES {
            let cells = &self.cells;
            team.fill(&mut around, cells.len(), |k| {
                cells[k].bounds[bound as usize]
            });
            // Largest along one axis after another: 9 cells instead of 27.
            for axis in 0..3 {
                team.fill(&mut next, cells.len(), |k| {
                    let beside = self.beside(axis, k);
                    beside.fold(0.0, |max, there| f64::max(max, around[there]))
                });
                std::mem::swap(&mut around, &mut next);
            }
            team.for_each_part(&mut self.cells, 1, |start, cells| {
                for (cell, around) in cells.iter_mut().zip(&around[start..]) {
                    if cell.is_taken {
                        let own = &mut cell.bounds[bound as usize];
                        *own = own.max(SPREAD_DECAY * around);
                    }
                }
            });
        }
        self.around = [around, next];
    }

    /// A cell and those beside it along an axis.
    #[inline]
    fn beside(&self, axis: usize, cell: usize) -> impl Iterator<Item = usize> + use<> {
        let stride: usize = self.size[..axis].iter().product();
        let n = self.size[axis];
        let k = cell / stride % n;
        let is_periodic = self.periods[axis].is_some();
        let before = match k.checked_sub(1) {
            Some(_) => Some(cell - stride),
            None => is_periodic.then_some(cell + (n - 1) * stride),
        };
        let after = if k + 1 < n {
            Some(cell + stride)
        } else {
            is_periodic.then_some(cell - k * stride)
        };
        before.into_iter().chain([cell]).chain(after)
    }

    /// Coordinates of a cell.
    fn coordinates(&self, cell: usize) -> [usize; 3] {
        let [nx, ny, _] = self.size;
        [cell % nx, cell / nx % ny, cell / (nx * ny)]
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
    fn neighbours(&self, cell: usize) -> impl Iterator<Item = &Cell> {
        let columns = self.beside(2, cell).flat_map(|k| self.beside(1, k));
        let cells = columns.flat_map(|k| self.beside(0, k));
        let cells = cells.map(|k| &self.cells[k]);
        cells.filter(|there| there.is_taken)
    }

    /// Largest speed at which grains of a cell can meet walls within the
    /// step, m/s.
    fn speed_at_walls(&self, cell: usize, deviation: f64, walls: &[Wall], reach: Reach) -> f64 {
        let at = self.coordinates(cell);
        let corner = DVec3::from_array(at.map(|k| k as f64)) * self.edge;
        let centre = self.origin + corner + 0.5 * self.edge;
        // The outermost cells may hold grains from anywhere beyond.
        let is_outermost =
            (0..3).any(|k| self.is_cut[k] && (at[k] == 0 || at[k] + 1 == self.size[k]));
        // The last cell of a periodic axis is wider than others.
        let is_wide = (0..3).any(|k| self.periods[k].is_some() && at[k] + 1 == self.size[k]);
        let half_diagonal = 0.5 * 3_f64.sqrt() * self.edge;
        let present = walls.iter().filter(|wall| wall.is_present);
        let speeds = present.map(|wall| {
            let turning = wall.twist.angular_velocity.length() * half_diagonal;
            let sliding = self.cells[cell].velocity.distance(wall.twist.at(centre));
            let speed = sliding + deviation + turning;
            let near = half_diagonal + 0.5 * self.edge + reach.step * speed;
            let local = wall.pose.to_local(centre);
            if !is_outermost && !is_wide && wall.shape.is_clear_of(local, near) {
                0.0
            } else {
                speed
            }
        });
        speeds.fold(0.0, f64::max)
    }
}

impl Sum {
    fn join(&mut self, other: &Sum) {
        for (sum, v) in self.velocity.iter_mut().zip(other.velocity) {
            // Any number serves where it overflows.
            *sum = sum.wrapping_add(v);
        }
        self.count += other.count;
        self.deviation = self.deviation.max(other.deviation);
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
    use esker_geometry::{BroadPhase, Pose, WallShape};

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
            let grain = NewGrain {
                position,
                velocity,
                radius: 0.004 + 0.002 * random.uniform(),
                angular_velocity: DVec3::ZERO,
                mass: 1e-3,
                material: 0,
                shape: None,
                orientation: glam::DQuat::IDENTITY,
            };
            grains.insert(grain, true);
        }
        grains
    }

    #[test]
    fn reaches_find_every_pair_that_can_meet() {
        let grains = crowd(5);
        for step in [1e-4, 2e-3, 1e-2] {
            for threads in [1, 3] {
                let team = &mut Team::new(threads);
                let reach = Reach {
                    margin: 0.05,
                    step,
                    fall: DVec3::NEG_Z * (9.81 * step),
                    restitution: 0.5,
                    cohesive_gap: 1e-3,
                    impact_chain: 1,
                };
                let mut radii = Vec::new();
                let mut field = MeanVelocityField::default();
                field.reach(team, (&grains, &[]), 0.01, reach, &mut radii);
                let find = |radii: &[f64], pairs: &mut Vec<[u32; 2]>| {
                    let found = &mut [Vec::new()];
                    let result = BroadPhase::default().search(
                        &mut Team::new(1),
                        (&grains.position, radii),
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
            margin: 0.05,
            step: 1e-2,
            fall: DVec3::NEG_Z * 0.1,
            restitution: 0.0,
            cohesive_gap: 0.0,
            impact_chain: 1,
        };
        for state in &mut grains.state {
            state.velocity = DVec3::new(3.0, -40.0, 7.0);
        }
        let mut radii = Vec::new();
        MeanVelocityField::default().reach(
            &mut Team::new(2),
            (&grains, &[]),
            0.01,
            reach,
            &mut radii,
        );
        for (radius, reached) in grains.radius.iter().zip(radii) {
            let at_rest = radius + reach.beyond_surface(*radius, 0.0, 0.0);
            assert!((reached / at_rest - 1.0).abs() < 1e-6);
        }
    }

    /// Grains that fall together have nothing to expect but from the floor.
    #[test]
    fn impacts_are_looked_for_near_walls() {
        let mut grains = Grains::default();
        let floor = Wall::new(
            &WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY),
            0.01,
        );
        for k in 0..8000_u32 {
            let place = |stride: u32| f64::from(k / stride % 20);
            grains.insert(
                NewGrain {
                    position: DVec3::new(place(1), place(20), place(400)) * 0.012 + 0.006,
                    velocity: DVec3::NEG_Z,
                    radius: 0.005,
                    angular_velocity: DVec3::ZERO,
                    mass: 1e-3,
                    material: 0,
                    shape: None,
                    orientation: glam::DQuat::IDENTITY,
                },
                true,
            );
        }
        let reach = Reach {
            margin: 0.05,
            step: 0.01,
            fall: DVec3::ZERO,
            restitution: 0.0,
            cohesive_gap: 0.0,
            impact_chain: 1,
        };
        let mut field = MeanVelocityField::default();
        let team = &mut Team::new(2);
        field.reach(team, (&grains, &[floor]), 0.01, reach, &mut Vec::new());
        for (impact_reach, at) in field.impact_reach.iter().zip(&grains.position) {
            if at.z < 0.01 + 2.0 * 0.01 {
                assert_eq!(*impact_reach, IMPACT_REACH_RADII * 0.005);
            } else if at.z > 0.15 {
                assert!(*impact_reach < 1e-6, "{impact_reach} at {at}");
            }
        }
    }
}
