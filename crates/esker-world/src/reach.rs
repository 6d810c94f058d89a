//! How far from its surface a grain can meet something within a step.
//!
//! Two grains approach each other at `|v_i − v_j|` at most. A grain's own reach
//! must bound its part of that without knowing the other. In a flow
//! neighbours move together, so speeds are reckoned from the mean velocity `c`
//! of the grains around, cell by cell: for grains in cells A and B side by side
//!
//! ```text
//! |v_i − v_j| ≤ |v_i − c_A| + |v_j − c_B| + |c_A − c_B|,                 (1)
//! ```
//!
//! of which a grain takes its own term and half of the greatest difference
//! between its cell and those around. A grain whose reach is more than half a
//! cell may meet grains of any cell; it takes its speed from the mean of all
//! cells and the greatest deviation of a cell from it.
//!
//! Means serve as a bound only: they may be rounded in any way without a change
//! in what is found.

use std::ops::Range;

use esker_geometry::SphereTouch;
use esker_parallel::{SharedSlice, Team, make_room};
use glam::DVec3;

use crate::grains::{GrainId, Grains};

/// What decides how far grains reach.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Margin in diameters of the smaller grain.
    pub margin: f64,
    /// Step h, s.
    pub step: f64,
    /// Mean velocity that gravity gives within the step to a grain at rest, m/s.
    pub fall: DVec3,
    /// Greatest coefficient of restitution of a pair of materials.
    pub restitution: f64,
    /// Greatest speed of a grain, m/s.
    pub greatest_speed: f64,
}

/// What the broad phase knows of a grain besides its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mover {
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Radius, m.
    pub radius: f64,
    /// Name.
    pub id: GrainId,
}

impl Mover {
    /// Of the grain with this dense index.
    #[inline]
    pub fn of(grains: &Grains, i: usize) -> Self {
        Mover {
            velocity: grains.state[i].velocity,
            radius: grains.radius[i],
            id: grains.id[i],
        }
    }
}

/// Agitation is looked for up to gaps of this many radii per grain.
const AGITATED_RADII: f64 = 0.35;

impl Reach {
    /// Greatest speed among the grains, m/s.
    pub fn greatest_speed(team: &mut Team, grains: &Grains) -> f64 {
        let squares = |range: Range<usize>| {
            let states = grains.state[range].iter();
            states.fold(0.0, |max, s| f64::max(max, s.velocity.length_squared()))
        };
        team.fold(grains.len(), 0.0, squares, |a: f64, b| a.max(*b))
            .sqrt()
    }

    /// Greatest mean speed at which a pair can close within the step, m/s,
    /// from its approach speed and normal: one of the two may fall towards the
    /// other, which is held.
    #[inline]
    pub fn closing_speed(&self, approach: f64, normal: DVec3) -> f64 {
        approach.max(0.0) + self.fall.dot(normal).abs()
    }

    /// Distance from its surface within which a grain of this speed can meet
    /// something: two grains' distances add up to what [`Reach::covers`] asks.
    #[inline]
    pub fn beyond_surface(&self, radius: f64, speed: f64) -> f64 {
        let closing = self.step * (speed + self.fall.length());
        (self.margin * radius).max(closing + self.agitated(radius))
    }

    /// Whether two grains may become a contact, with as much agitation as is
    /// looked for; from their approach speed and radii.
    #[inline]
    pub fn covers(&self, touch: &SphereTouch, approach: f64, [ra, rb]: [f64; 2]) -> bool {
        let agitated = self.agitated(ra) + self.agitated(rb);
        let near = self.margin * 2.0 * ra.min(rb);
        let closing = self.step * self.closing_speed(approach, touch.normal);
        -touch.overlap < near.max(closing + agitated)
    }

    /// Agitation of a grain that is looked for, as the way that it adds, m.
    #[inline]
    fn agitated(&self, radius: f64) -> f64 {
        (self.step * self.greatest_speed).min(AGITATED_RADII * radius)
    }
}

/// Edge of the cells, in mean diameters.
const CELL_DIAMETERS: f64 = 3.0;
/// Cells along an axis, at most: what lies farther out joins the outermost.
const MOST_CELLS: f64 = 64.0;

/// Mean velocities of the grains, cell by cell; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Drift {
    origin: DVec3,
    edge: f64,
    size: [usize; 3],
    /// One table of cells per worker.
    sums: Vec<Sum>,
    cells: Vec<Cell>,
    mean: DVec3,
    /// Greatest distance of a cell's velocity from the mean, m/s.
    deviation: f64,
}

/// Sum of velocities.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    velocity: DVec3,
    count: f64,
}

/// A cell that has grains.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    velocity: DVec3,
    /// Half of the greatest difference to a cell around it, m/s.
    half_difference: f64,
}

impl Drift {
    /// Replaces `out` by the radii within which grains can meet something.
    pub(crate) fn reach(
        &mut self,
        team: &mut Team,
        grains: &Grains,
        mean_diameter: f64,
        reach: Reach,
        out: &mut Vec<f64>,
    ) {
        self.lay_cells(team, grains, mean_diameter);
        self.take_means(team, grains);
        self.compare_cells();
        let drift = &*self;
        team.fill(out, grains.len(), |i| {
            let (radius, velocity) = (grains.radius[i], grains.state[i].velocity);
            let cell = &drift.cells[drift.cell(grains.position[i])];
            let speed = velocity.distance(cell.velocity) + cell.half_difference;
            let near = radius + reach.beyond_surface(radius, speed);
            if near <= 0.5 * drift.edge {
                return near;
            }
            let speed_of_all = velocity.distance(drift.mean) + drift.deviation;
            radius + reach.beyond_surface(radius, speed.max(speed_of_all))
        });
    }

    fn lay_cells(&mut self, team: &mut Team, grains: &Grains, mean_diameter: f64) {
        #[derive(Clone, Copy)]
        struct Extent(DVec3, DVec3, DVec3);
        let nothing = Extent(
            DVec3::splat(f64::INFINITY),
            DVec3::splat(f64::NEG_INFINITY),
            DVec3::ZERO,
        );
        let add = |a: Extent, b: &Extent| Extent(a.0.min(b.0), a.1.max(b.1), a.2 + b.2);
        let extent = team.fold(
            grains.len(),
            nothing,
            |range| {
                let points = grains.position[range].iter();
                points.fold(nothing, |sum, &x| add(sum, &Extent(x, x, x)))
            },
            add,
        );
        let middle = extent.2 / grains.len().max(1) as f64;
        self.edge = CELL_DIAMETERS * mean_diameter;
        loop {
            let far = DVec3::splat(0.5 * MOST_CELLS * self.edge);
            self.origin = extent.0.max(middle - far);
            let top = extent.1.min(middle + far);
            self.size = ((top - self.origin) / self.edge)
                .to_array()
                .map(|n| n.clamp(0.0, MOST_CELLS) as usize + 1);
            // Not more cells than grains, or nearly so.
            if self.size.iter().product::<usize>() <= grains.len() + 8 {
                break;
            }
            self.edge *= 2.0;
        }
    }

    /// Cells that are neighbours in space are neighbours here, or one.
    fn cell(&self, point: DVec3) -> usize {
        let at = (point - self.origin) / self.edge;
        // `as` saturates and maps NaN to zero.
        let [x, y, z] = [0, 1, 2].map(|k| (at[k] as usize).min(self.size[k] - 1));
        (z * self.size[1] + y) * self.size[0] + x
    }

    fn take_means(&mut self, team: &mut Team, grains: &Grains) {
        let cells = self.size.iter().product::<usize>();
        let mut sums = std::mem::take(&mut self.sums);
        make_room(&mut sums, cells * team.threads());
        sums.resize(cells * team.threads(), Sum::default());
        let tables = SharedSlice::new(&mut sums);
        team.run(|worker| {
            let own = worker.index * cells..(worker.index + 1) * cells;
            // SAFETY: every worker has a table of its own.
            let own = unsafe { tables.part(own) };
            for i in worker.part_of(grains.len(), 1) {
                let sum = &mut own[self.cell(grains.position[i])];
                sum.velocity += grains.state[i].velocity;
                sum.count += 1.0;
            }
        });
        let (first, others) = sums.split_at_mut(cells);
        for other in others.chunks(cells) {
            for (sum, part) in first.iter_mut().zip(other) {
                sum.velocity += part.velocity;
                sum.count += part.count;
            }
        }
        make_room(&mut self.cells, cells);
        self.cells.extend(first.iter().map(|sum| Cell {
            velocity: sum.velocity / sum.count.max(1.0),
            half_difference: 0.0,
        }));
        let taken = || first.iter().zip(&self.cells).filter(|(s, _)| s.count > 0.0);
        let whole: DVec3 = taken().map(|(_, cell)| cell.velocity).sum();
        self.mean = whole / (taken().count().max(1)) as f64;
        self.deviation = taken()
            .map(|(_, cell)| cell.velocity.distance(self.mean))
            .fold(0.0, f64::max);
        self.sums = sums;
    }

    fn compare_cells(&mut self) {
        let [nx, ny, nz] = self.size;
        let around = |k: usize, n: usize| k.saturating_sub(1)..(k + 2).min(n);
        let is_taken = |k: usize| self.sums[k].count > 0.0;
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    let here = (z * ny + y) * nx + x;
                    if !is_taken(here) {
                        continue;
                    }
                    let own = self.cells[here].velocity;
                    let mut greatest = 0.0;
                    for z in around(z, nz) {
                        for y in around(y, ny) {
                            for x in around(x, nx) {
                                let there = (z * ny + y) * nx + x;
                                if is_taken(there) {
                                    let difference = own.distance(self.cells[there].velocity);
                                    greatest = f64::max(greatest, difference);
                                }
                            }
                        }
                    }
                    self.cells[here].half_difference = 0.5 * greatest;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grains::NewGrain;
    use crate::random::{RandomStream, Source};
    use esker_geometry::BroadPhase;

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
                spin: DVec3::ZERO,
                mass: 1e-3,
                material: 0,
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
                    greatest_speed: Reach::greatest_speed(team, &grains),
                };
                let mut radii = Vec::new();
                Drift::default().reach(team, &grains, 0.01, reach, &mut radii);
                let find = |radii: &[f64], pairs: &mut Vec<[u32; 2]>| {
                    let found = &mut [Vec::new()];
                    let result = BroadPhase::default().search(
                        &mut Team::new(1),
                        (&grains.position, radii),
                        |i| Mover::of(&grains, i),
                        found,
                        |[a, b]| {
                            let radii = [a.tag.radius, b.tag.radius];
                            let touch = SphereTouch::of(a.centre, radii[0], b.centre, radii[1]);
                            let approach = touch.normal.dot(a.tag.velocity - b.tag.velocity);
                            let pair = [a.index.min(b.index), a.index.max(b.index)];
                            (pair, reach.covers(&touch, approach, radii))
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
            greatest_speed: 0.0,
        };
        for state in &mut grains.state {
            state.velocity = DVec3::new(3.0, -40.0, 7.0);
        }
        let mut radii = Vec::new();
        Drift::default().reach(&mut Team::new(2), &grains, 0.01, reach, &mut radii);
        for (radius, reached) in grains.radius.iter().zip(radii) {
            let at_rest = radius + reach.beyond_surface(*radius, 0.0);
            assert!((reached / at_rest - 1.0).abs() < 1e-9);
        }
    }
}
