//! Emitters and sinks.

use esker_geometry::{Aabb, BodyQuery, BodyShape, PlacedShape, Pose, Region, body_contacts};
use esker_parallel::ExactSum;
use glam::DVec3;

use crate::definition::{EmitterDef, Rate, SinkDef, Total, WorldDef};
use crate::grains::{GrainId, Grains, NewGrain};
use crate::known_rows::KnownRows;
use crate::outline::Outline;
use crate::packing::{Placed, sphere_mass};
use crate::periodic::Periodic;
use crate::random::{RandomStream, Source};

/// Random places tried per grain and step before the emitter waits for room.
const PLACES_TRIED: usize = 30;

/// A source of grains at work.
#[derive(Clone, Debug)]
pub struct Emitter {
    /// Its definition.
    pub def: EmitterDef,
    /// Where it has got to; what a checkpoint keeps.
    pub progress: EmitterProgress,
    /// Of the ids of its grains.
    source: usize,
    density: f64,
    outline: Outline,
    stream: RandomStream,
}

/// Where an emitter has got to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EmitterProgress {
    /// Grains given so far.
    pub emitted: u64,
    /// Mass given so far, kg.
    pub mass: f64,
    /// What is due: grains or kilograms, as the rate is given.
    pub due: f64,
    /// Radius of the next grain, m; zero when it is not drawn yet.
    pub next_radius: f64,
    /// Steps in which no room was found for a grain that was due.
    pub blocked_steps: u64,
    /// Position in its random stream.
    pub stream_position: u128,
}

impl Emitter {
    /// The emitter with this index in a definition, before its first grain.
    pub fn new(def: &WorldDef, index: usize) -> Self {
        let emitter = &def.emitters[index];
        Emitter {
            def: emitter.clone(),
            progress: EmitterProgress::default(),
            source: index + 1,
            density: def.materials[emitter.material].density,
            outline: Outline::new(&def.shapes, emitter.shape.as_ref()),
            stream: RandomStream::new(def.seed, Source::Emitter(index)),
        }
    }

    /// Continues from a checkpoint.
    pub fn restore(&mut self, progress: EmitterProgress) {
        self.progress = progress;
        self.stream.set_position(progress.stream_position);
    }

    /// Whether it will never give another grain.
    pub fn is_finished(&self, time: f64) -> bool {
        time > self.def.stop
            || match self.def.total {
                Total::Unlimited => false,
                Total::Number(n) => self.progress.emitted >= n,
                Total::Mass(total) => {
                    self.progress.next_radius > 0.0
                        && self.progress.mass + sphere_mass(self.density, self.progress.next_radius)
                            > total
                }
            }
    }

    /// Grains that should have appeared by `time` and found no room.
    pub fn owed(&self, time: f64) -> u64 {
        if self.progress.blocked_steps == 0 {
            return 0;
        }
        let grain = sphere_mass(self.density, self.def.sizes.mean_cube().cbrt());
        let active = (time.min(self.def.stop) - self.def.start).max(0.0);
        let EmitterProgress { emitted, mass, .. } = self.progress;
        let by_rate = match self.def.rate {
            Rate::Number(rate) => rate * active - emitted as f64,
            Rate::Mass(rate) => (rate * active - mass) / grain,
        };
        let by_total = match self.def.total {
            Total::Unlimited => f64::INFINITY,
            Total::Number(number) => number as f64 - emitted as f64,
            Total::Mass(total) => (total - mass) / grain,
        };
        by_rate.min(by_total).max(0.0) as u64
    }

    /// Whether a step of this length that starts at `time` may add grains.
    pub(crate) fn may_emit(&self, time: f64, step: f64) -> bool {
        if time + step <= self.def.start || self.is_finished(time) {
            return false;
        }
        let EmitterProgress {
            due, next_radius, ..
        } = self.progress;
        let (rate, price) = match self.def.rate {
            Rate::Number(rate) => (rate, 1.0),
            Rate::Mass(rate) => (rate, sphere_mass(self.density, next_radius)),
        };
        next_radius == 0.0 || due + rate * step >= price
    }

    /// How many grains a step of this length may add at most.
    pub(crate) fn most_due(&self, step: f64) -> usize {
        let EmitterProgress {
            due, next_radius, ..
        } = self.progress;
        let smallest = match next_radius {
            0.0 => self.def.sizes.min(),
            next => next.min(self.def.sizes.min()),
        };
        let most = match self.def.rate {
            Rate::Number(rate) => due + rate * step,
            Rate::Mass(rate) => (due + rate * step) / sphere_mass(self.density, smallest),
        };
        most as usize + 1
    }

    /// Radius of the largest ball that holds one of its grains, m.
    pub(crate) fn largest(&self) -> f64 {
        self.def.sizes.max() * self.outline.stretch()
    }

    /// The box of what it has to know to find room, m, where no grain is larger than `largest`.
    pub(crate) fn surroundings(&self, largest: f64) -> Aabb {
        surroundings(&self.def.region, self.largest(), largest)
    }

    /// Adds the grains that are due in the step that starts at `time`.
    pub(crate) fn emit(
        &mut self,
        period: EmissionStep<'_>,
        grains: &mut Grains,
        rows: &mut KnownRows,
    ) -> usize {
        let EmissionStep {
            time,
            step,
            rotates,
            periodic,
            ..
        } = period;
        if time + step <= self.def.start || self.is_finished(time) {
            return 0;
        }
        let (rate, by_mass) = match self.def.rate {
            Rate::Number(rate) => (rate, false),
            Rate::Mass(rate) => (rate, true),
        };
        self.progress.due += rate * step;
        let mut near: Option<Placed> = None;
        let mut count = 0;
        loop {
            if self.progress.next_radius == 0.0 {
                self.progress.next_radius = self.def.sizes.draw(&mut self.stream);
            }
            let radius = self.progress.next_radius;
            let mass = sphere_mass(self.density, radius);
            let price = if by_mass { mass } else { 1.0 };
            if self.progress.due < price || self.is_finished(time) {
                break;
            }
            let outline = &self.outline;
            let room = radius * outline.stretch();
            let Some(region) = self.def.region.shrunk(room) else {
                break;
            };
            let near = near.get_or_insert_with(|| {
                let radius = self.def.sizes.max() * outline.stretch();
                grains_near(&self.def.region, (grains, rows), radius, period)
            });
            let place = (0..PLACES_TRIED)
                .map(|_| region.sample(self.stream.uniform3()))
                .find(|&x| near.is_free(x, room) && period.is_clear_of_bodies(grains, x, room));
            let Some(position) = place else {
                // Wait for room, but do not save up a burst.
                self.progress.blocked_steps += 1;
                self.progress.due = self.progress.due.min(price + rate * step);
                break;
            };
            near.add(position, room);
            let seen_at = periodic.iter().flat_map(|p| p.seen_at(position));
            seen_at.for_each(|x| near.add(x, room));
            let position = periodic.map_or(position, |p| p.wrapped(position));
            rows.add(grains.count());
            grains.insert_as(
                GrainId::new(self.source, self.progress.emitted),
                NewGrain {
                    position,
                    velocity: self.def.velocity,
                    angular_velocity: DVec3::ZERO,
                    orientation: outline.orientation(0, &mut self.stream),
                    radius,
                    mass,
                    material: self.def.material as u16,
                    shape: outline.shape(radius, mass),
                },
                rotates,
            );
            self.progress.due -= price;
            self.progress.emitted += 1;
            self.progress.mass += mass;
            self.progress.next_radius = 0.0;
            count += 1;
        }
        self.progress.stream_position = self.stream.position();
        count
    }
}

/// The step in which grains are emitted.
#[derive(Clone, Copy)]
pub(crate) struct EmissionStep<'a> {
    /// Its start, s.
    pub(crate) time: f64,
    /// Its length, s.
    pub(crate) step: f64,
    /// Whether grains rotate.
    pub(crate) rotates: bool,
    /// Periodic boundaries.
    pub(crate) periodic: Option<Periodic>,
    /// Shapes of all rows.
    pub(crate) shapes: &'a [BodyShape],
    /// No grain that is there or may come is held by a ball of a larger radius, m.
    pub(crate) largest: f64,
}

impl EmissionStep<'_> {
    /// Whether a ball of this radius, m, touches no body of its own: those are much larger than
    /// grains, and the balls that hold them hold much that is free.
    fn is_clear_of_bodies(&self, grains: &Grains, x: DVec3, radius: f64) -> bool {
        let ball = BodyShape::Sphere { radius };
        let mut points = Vec::new();
        (grains.count()..grains.len()).all(|i| {
            let branch = x - grains.position[i];
            let branch = self.periodic.map_or(branch, |p| p.branch(branch));
            let Some(own) = grains.shape_of(i) else {
                return true;
            };
            if branch.length() > own.bounding_radius + radius {
                return true;
            }
            let pose = Pose::new(DVec3::ZERO, grains.orientation[i]);
            let body = PlacedShape::new(&self.shapes[own.shape as usize], own.scale, pose);
            let ball = PlacedShape::new(&ball, 1.0, Pose::from_position(branch));
            points.clear();
            body_contacts(&body, &ball, &BodyQuery::default(), &mut points);
            points.is_empty()
        })
    }
}

/// The box beyond which no grain of up to the radius `largest` overlaps one of up to `radius`, m,
/// in a region.
fn surroundings(region: &Region, radius: f64, largest: f64) -> Aabb {
    let bounds = region.bounds();
    let reach = DVec3::splat(radius.max(largest) + radius);
    Aabb::new(bounds.min - reach, bounds.max + reach)
}

/// Grains near a region, images across periodic boundaries included.
fn grains_near(
    region: &Region,
    (grains, rows): (&Grains, &KnownRows),
    radius: f64,
    period: EmissionStep<'_>,
) -> Placed {
    let near_by = surroundings(region, radius, period.largest);
    let mut near = Placed::new(2.0 * period.largest.max(radius));
    for i in rows.of(grains.count()) {
        let x = grains.position[i];
        let seen_at = period.periodic.iter().flat_map(|p| p.seen_at(x));
        for x in std::iter::once(x).chain(seen_at) {
            if x.cmpge(near_by.min).all() && x.cmple(near_by.max).all() {
                near.add(x, grains.bounding_radius(i));
            }
        }
    }
    near
}

/// A region that removes grains.
#[derive(Clone, Debug)]
pub struct Sink {
    /// Its definition.
    pub def: SinkDef,
    /// What it took so far, each time something was taken.
    pub taken: Vec<Taken>,
}

/// State of a sink's counters at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// Time, s.
    pub time: f64,
    /// Grains removed since the start.
    pub number: u64,
    /// Mass removed since the start, kg.
    pub mass: f64,
}

impl Sink {
    /// A sink that has taken nothing.
    pub fn new(def: &SinkDef) -> Self {
        Sink {
            def: def.clone(),
            taken: Vec::new(),
        }
    }

    /// Totals now.
    pub fn total(&self) -> Taken {
        self.taken.last().copied().unwrap_or_default()
    }

    /// Removes the grains inside; returns how many.
    pub(crate) fn take(&mut self, time: f64, grains: &mut Grains, rows: &mut KnownRows) -> usize {
        let mut total = self.total();
        let before = total.number;
        // The order in which grains are stored does not enter.
        let mut mass = ExactSum::default();
        let mut next = rows.before(grains.count());
        while let Some(i) = next {
            if self.def.region.contains(grains.position[i]) {
                total.number += 1;
                mass.add(grains.mass[i]);
                grains.remove(i);
                rows.remove(i, grains.count());
            }
            next = rows.before(i);
        }
        total.mass += mass.value();
        if total.number > before {
            self.taken.push(Taken { time, ..total });
        }
        (total.number - before) as usize
    }
}
