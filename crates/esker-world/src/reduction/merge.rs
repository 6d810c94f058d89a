//! Who is frozen.

use esker_contact::Impulse;
use esker_geometry::{Pose, Probe, Touch};
use glam::DVec3;

use super::balance::Wrench;
use super::groups::{Group, Groups};
use super::members::{InternalContact, Second};
use super::{Aggregates, Loads, Scales, gather};
use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::definition::Split;
use crate::grains::{FrozenGrain, GrainId, Rest};
use crate::history::{Entry, Remembered};
use crate::material::{ContactClass, PairTable};
use crate::wall::Wall;

/// Steps of rest at least before a grain is frozen.
const MIN_REST_STEPS: f64 = 2.0;
/// Width of the cells of the members' grid, in mean diameters.
pub(super) const CELL_DIAMETERS: f64 = 2.0;

/// Growth of a velocity in a step that is no rest. (To look at it in one of three short steps only
/// would freeze more of what is shaken, but columns stand then that should fall.)
const SPEEDING_UP: f64 = 1.02;
/// Velocity from which on it is noticed, as a share of the speed of rest: above what solves leave
/// in a bed at rest (one of 4,096 grains costs the same with 0.015), and low enough that columns
/// which are about to fall are not frozen before (with 0.04 eleven of eleven fell, with 0.06 nine).
const NOTICED: f64 = 0.04;
/// Contacts of equal load with fewer of which a grain may be about to fall: two hold it as a link of
/// a chain that can buckle. (Without this bound, of a heap under a stream of grains hardly anything
/// is frozen: 7 % of one of 1,800 grains, 32 % with it, while as many columns fall.)
const PRECARIOUS: f64 = 2.5;

/// What is at rest in a step.
struct RestTest<'a> {
    groups: &'a Groups,
    /// Speed, m/s.
    speed: f64,
    /// Change of velocity in the step, m/s.
    change: f64,
    /// Step h, s.
    step: f64,
    /// Whether a step in which a grain becomes faster is no rest.
    must_not_speed_up: bool,
}

/// A grain at the end of a step.
struct Motion {
    position: DVec3,
    radius: f64,
    velocity: DVec3,
    angular_velocity: DVec3,
    /// In the step, m/s.
    change: DVec3,
    loads: Loads,
}

impl Motion {
    /// A relative angular velocity without what nothing stops.
    fn braked(&self, spin: DVec3) -> DVec3 {
        match self.loads.count {
            1 => spin.reject_from_normalized(self.loads.normal),
            _ => spin,
        }
    }
}

impl RestTest<'_> {
    fn is_at_rest(&self, grain: &Motion, group: &Group) -> bool {
        let twist = &group.twist;
        let near = |a: DVec3, b: DVec3, bound: f64| a.distance_squared(b) <= bound * bound;
        near(grain.velocity, twist.at(grain.position), self.speed)
            && near(
                grain.braked(grain.angular_velocity - twist.angular_velocity) * grain.radius,
                DVec3::ZERO,
                self.speed,
            )
            && near(
                grain.change,
                group.acceleration(grain.position) * self.step,
                self.change,
            )
            && !self.speeds_up(grain, twist.at(grain.position))
    }

    /// Whether a grain that few contacts carry moves ever faster relative to a velocity, m/s: slow
    /// as it is, it may be about to fall. (Growth over several steps, or in two steps one after another, is no better
    /// sign of it: what is about to fall trembles, and its speed grows in one step of two.)
    fn speeds_up(&self, grain: &Motion, velocity: DVec3) -> bool {
        let now = grain.velocity.distance(velocity);
        let before = (grain.velocity - grain.change).distance(velocity);
        self.must_not_speed_up
            && now > SPEEDING_UP * before
            && now > NOTICED * self.speed
            && grain.loads.effective() < PRECARIOUS
    }

    /// How long a grain has been at rest that was so long before the step.
    fn next(&self, grain: &Motion, before: Rest) -> Rest {
        let is_at_rest = |group: u8| self.is_at_rest(grain, self.groups.get(group));
        if is_at_rest(before.group) {
            let steps = before.steps.saturating_add(1);
            return Rest { steps, ..before };
        }
        let other = (0..self.groups.len() as u8).find(|&group| is_at_rest(group));
        other.map_or(Rest { steps: 0, ..before }, |group| Rest {
            steps: 1,
            group,
        })
    }
}

/// Friction between grains and walls.
#[derive(Clone, Copy)]
pub(super) struct WallFriction<'a> {
    pub(super) walls: &'a [Wall],
    pairs: &'a PairTable,
}

impl<'a> WallFriction<'a> {
    pub(super) fn new(walls: &'a [Wall], pairs: &'a PairTable) -> Self {
        WallFriction { walls, pairs }
    }

    pub(super) fn at(&self, material: u16, wall: u32) -> f64 {
        let other = self.walls[wall as usize].material;
        let pair = self.pairs.index(material, other, ContactClass::Curved);
        self.pairs.at(pair).law.friction
    }

    /// Whether nothing of the materials of which `is_there` says so rubs on a wall.
    pub(super) fn is_smooth(&self, wall: u32, is_there: impl Fn(u16) -> bool) -> bool {
        let materials = 0..self.pairs.materials() as u16;
        let mut there = materials.filter(|&material| is_there(material));
        there.all(|material| self.at(material, wall) == 0.0)
    }

    /// Whether it holds a grain of a group on a wall of it.
    fn carries(&self, aggregates: &Aggregates, group: u8, grain: &FrozenGrain, wall: u32) -> bool {
        aggregates.groups.of_wall(wall as usize) == Some(group)
            && self.at(grain.material, wall) > 0.0
    }
}

/// Members whose contacts are still those of free grains.
struct NewMembers<'a> {
    aggregates: &'a Aggregates,
    friction: WallFriction<'a>,
    /// Time, s.
    time: f64,
    /// Substep that what is remembered belongs to, s.
    substep: f64,
}

impl NewMembers<'_> {
    /// A remembered contact as an internal one, if it is one now.
    fn internal_of(&self, entry: &Entry) -> Option<InternalContact> {
        let aggregates = self.aggregates;
        let members = &aggregates.members;
        let Entry {
            contact: entry,
            slot,
            other_slot,
        } = entry;
        let first = members.find_at(*slot, entry.key.owner)?;
        let of_first = members.get(first);
        let group = aggregates.groups.get(of_first.group);
        if entry.impulse.normal <= 0.0 {
            return None;
        }
        let (second, overlap) = match entry.key.wall_index() {
            Some(wall) => {
                if !of_first.is_new() {
                    return None;
                }
                let at = &self.friction.walls[wall as usize];
                let slides = !aggregates.groups.carries_shape(of_first.group, at);
                let grain = &of_first.grain;
                let carries = self
                    .friction
                    .carries(aggregates, of_first.group, grain, wall);
                let overlap = slides.then(|| {
                    let pose = group.in_world(self.time, &grain.pose);
                    let touch = touch_of(at, &pose, grain.radius, entry, &mut Vec::new());
                    touch.map_or(0.0, |touch| touch.overlap)
                });
                (Second::Wall { wall, carries }, overlap)
            }
            None => {
                let other = GrainId::from_u64(entry.key.other);
                let second = members.find_at(*other_slot, other)?;
                let of_second = members.get(second);
                let is_one_new = of_first.is_new() || of_second.is_new();
                if !is_one_new || of_second.group != of_first.group {
                    return None;
                }
                (Second::Member(second), None)
            }
        };
        let frame = group.frame(self.time);
        let turned = |v: DVec3| frame.inverse_rotate(v);
        let impulse = entry.impulse.scaled(1.0 / self.substep);
        Some(InternalContact {
            key: entry.key,
            normal: turned(entry.normal),
            force: Impulse {
                friction: turned(impulse.friction),
                rolling: turned(impulse.rolling),
                ..impulse
            },
            overlap,
            first,
            second,
        })
    }
}

impl World {
    /// Freezes the grains that the last step decided on.
    pub(super) fn freeze_pending(&mut self, aggregates: &mut Aggregates) {
        let mut rows = std::mem::take(&mut aggregates.pending.freeze);
        if rows.is_empty() {
            return;
        }
        let time = self.time();
        if aggregates.edge == 0.0 {
            aggregates.edge = CELL_DIAMETERS * self.grains.diameters(&mut self.team).mean;
        }
        let mut new = Vec::with_capacity(rows.len());
        // From the last on: the last grain takes the place of one that leaves.
        for row in rows.drain(..).rev() {
            let row = row as usize;
            let (state, group) = (self.grains.state[row], self.grains.rest[row].group);
            let grain = self.grains.freeze(row);
            let of = aggregates.groups.get(group);
            let place = grain.pose.position;
            let relative = state.velocity - of.twist.at(place);
            let spin = state.angular_velocity - of.twist.angular_velocity;
            let turning = grain.angular_momentum(spin);
            let totals = &mut aggregates.totals;
            totals.merges += 1;
            let lost = 0.5 * (grain.mass * relative.length_squared() + spin.dot(turning));
            totals.energy_lost += lost;
            if let Some(ledger) = &mut self.energy {
                ledger.damping += lost;
            }
            totals.impulse_to_walls += relative * grain.mass;
            aggregates.left_by_frozen[group as usize] +=
                Wrench::at(place, relative * grain.mass, turning);
            let pose = of.in_frame(time, &grain.pose);
            let frozen = FrozenGrain { pose, ..grain };
            new.push(aggregates.members.add(frozen, group, aggregates.edge));
        }
        aggregates.pending.freeze = rows;
        self.make_contacts_internal(aggregates, &new);
        let unsupported = aggregates.members.support(&new);
        aggregates.release(unsupported, |totals| &mut totals.split_by_support);
    }

    /// Moves what is remembered of contacts between members of which one is new, and of new ones
    /// with walls, to the aggregates.
    fn make_contacts_internal(&mut self, aggregates: &mut Aggregates, new: &[u32]) {
        let (time, substep) = (self.time(), self.next_substep());
        let friction = WallFriction::new(&self.walls, &self.pairs);
        let newly = NewMembers {
            aggregates,
            friction,
            time,
            substep,
        };
        let entries = self.history.entries_with_slots();
        // Who is new has no support yet.
        let internal = gather(&mut self.team, entries.len(), |i, found| {
            found.extend(newly.internal_of(&entries[i]));
        });
        // Whoever is set free again remembers it anew: nothing is remembered twice.
        let mut moved = internal.iter().map(|contact| contact.key).peekable();
        self.history
            .forget(|entry| moved.next_if_eq(&entry.key).is_some());
        let mut touched: Vec<u32> = new.to_vec();
        for contact in internal {
            touched.push(contact.first);
            if let Second::Member(second) = contact.second {
                touched.push(second);
            }
            aggregates.members.add_contact(contact);
        }
        touched.sort_unstable();
        touched.dedup();
        aggregates.members.sum_forces(&mut self.team, &touched);
    }

    /// Whether friction holds a grain of a group on a wall of it.
    pub(super) fn carries(
        &self,
        aggregates: &Aggregates,
        group: u8,
        grain: &FrozenGrain,
        wall: u32,
    ) -> bool {
        WallFriction::new(&self.walls, &self.pairs).carries(aggregates, group, grain, wall)
    }

    /// Counts how long grains have been at rest, and decides who is frozen.
    pub(super) fn find_grains_at_rest(&mut self, aggregates: &mut Aggregates, scales: Scales) {
        if aggregates.groups.len() == 0 {
            return;
        }
        let settings = aggregates.settings;
        let test = RestTest {
            groups: &aggregates.groups,
            speed: settings.rest_speed * scales.speed,
            change: settings.rest_acceleration * self.gravity.length() * self.step,
            step: self.step,
            must_not_speed_up: settings.split == Split::Balance,
        };
        let free = self.grains.free_count();
        let mut loads = std::mem::take(&mut aggregates.scratch.loads);
        self.find_loads(&mut loads);
        let mut rest = std::mem::take(&mut self.grains.rest);
        let (grains, before) = (&self.grains, &aggregates.scratch.before);
        self.team
            .for_each_part(&mut rest[..free], 1, |start, part| {
                for (i, rest) in (start..).zip(part) {
                    let state = &grains.state[i];
                    let motion = Motion {
                        position: grains.position[i],
                        radius: grains.bounding_radius(i),
                        velocity: state.velocity,
                        angular_velocity: state.angular_velocity,
                        change: state.velocity - before[i],
                        loads: loads[i],
                    };
                    *rest = test.next(&motion, *rest);
                }
            });
        self.grains.rest = rest;
        aggregates.scratch.loads = loads;
        let steps = (settings.rest_time * scales.time / self.step).ceil();
        let steps = steps.clamp(MIN_REST_STEPS, f64::from(u16::MAX)) as u16;
        self.choose_frozen(aggregates, steps, settings.rest_speed * scales.speed);
    }

    /// Finds what loads each free grain.
    fn find_loads(&self, out: &mut Vec<Loads>) {
        let free = self.grains.free_count();
        out.clear();
        out.resize(free, Loads::default());
        for (contact, impulse) in self.contacts() {
            if impulse.normal <= 0.0 {
                continue;
            }
            for (row, _) in sides(contact) {
                if let Some(loads) = out.get_mut(row as usize) {
                    loads.add(contact.normal, impulse.normal);
                }
            }
        }
    }
}

/// A contact from either side: the row, and what it touches.
pub(super) fn sides(contact: &ContactGeometry) -> impl Iterator<Item = (u32, Partner)> {
    let own = (contact.grain, contact.partner);
    let other = contact.partner.row();
    std::iter::once(own).chain(other.map(|row| (row, Partner::Grain(contact.grain))))
}

/// The touch of a sphere with a wall that a remembered contact was.
pub(super) fn touch_of(
    wall: &Wall,
    pose: &Pose,
    radius: f64,
    contact: &Remembered,
    touches: &mut Vec<Touch>,
) -> Option<Touch> {
    touches.clear();
    let feature = contact.key.wall_feature();
    let side = wall.side_of(feature, None);
    wall.shape.touches_of(
        &Probe {
            centre: wall.pose.to_local(pose.position),
            radius,
            margin: radius,
            motion: 0.0,
            last_side: &|| side,
        },
        touches,
    );
    let along = |touch: &Touch| wall.pose.rotate(touch.normal).dot(contact.normal);
    let same = touches.iter().filter(|touch| touch.feature == feature);
    same.copied().max_by(|a, b| along(a).total_cmp(&along(b)))
}
