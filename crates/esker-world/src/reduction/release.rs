//! Who is set free, and which members the free grains of a step see.

use esker_geometry::{Aabb, Pose};
use glam::DVec3;

use super::balance::Wrench;
use super::members::{InternalContact, Members, Second, remembered};
use super::merge::touch_of;
use super::{Aggregates, ReductionTotals, Scales, gather};
use crate::World;
use crate::definition::Split;
use crate::grains::{FrozenGrain, Grains};
use crate::history::{Entry, NO_SLOT};
use crate::periodic::images;
use crate::reach::IMPACT_REACH_RADII;

/// Further layers that are set free with a member at most.
const MAX_LAYERS: u32 = 6;
/// Layers that are set free with a member that something hits.
const IMPACT_LAYERS: u32 = 2;
/// Layers around a contact with a wall that has changed, or around a member that is removed.
const CHANGE_LAYERS: u32 = 1;
/// Change of a contact with a wall that sets a member free: of the normal, rad, and of the
/// overlap, in diameters.
const TURNED: f64 = 0.014;
const CHANGED_OVERLAP: f64 = 0.002;
/// Angle by which gravity turns in the frame of a group before it is set free, rad.
const GRAVITY_TURNED: f64 = 0.1;
/// Share of grains that have come or gone since a group was set free for which it is again.
const GRAINS_CHANGED: f64 = 0.1;
/// Share of all grains by which those that move may have become more after a refresh that found
/// nothing.
const GROWN: f64 = 0.005;
/// The same as a share of those that moved before: what flows all the time flows more and less.
const FLUCTUATING: f64 = 0.1;
/// Share of all grains whose waking by imbalance in one step means that something is going on.
const MANY: f64 = 0.01;
/// Times of rest after which it is known what came of a refresh: forces that were stored while
/// grains slowed down give those that are set free a push, which has to die away.
const KNOWN_AFTER: f64 = 5.0;

impl Aggregates {
    /// Sets members free as the next step begins, or this one where it is just beginning.
    pub(super) fn release(
        &mut self,
        list: Vec<u32>,
        counter: impl FnOnce(&mut ReductionTotals) -> &mut u64,
    ) {
        *counter(&mut self.totals) += list.len() as u64;
        self.pending.release.extend(list);
    }

    /// Sets members free with so many layers around each.
    pub(super) fn release_with_layers(
        &mut self,
        seeds: &[(u32, u32)],
        counter: impl FnOnce(&mut ReductionTotals) -> &mut u64,
    ) {
        let list = self.members.with_layers(seeds);
        self.release(list, counter);
    }

    /// The members to set free, each once, in the order of their ids.
    fn take_pending(&mut self) -> Vec<u32> {
        let mut list = std::mem::take(&mut self.pending.release);
        for (group, whole) in (0..).zip(&mut self.pending.release_groups) {
            if std::mem::take(whole) {
                list.extend(self.members.of_group(group));
            }
        }
        self.members.sort_by_id(&mut list);
        list
    }
}

impl World {
    /// Takes copies of members out of the table, freezes and sets free whom the last step decided
    /// on.
    pub(crate) fn begin_reduction(&mut self) {
        let Some(mut aggregates) = self.aggregates.take() else {
            return;
        };
        self.grains.drop_held();
        aggregates.held.clear();
        let time = self.time();
        aggregates.groups.set_twists(time, self.step);
        aggregates.left_by_frozen.fill(Wrench::default());
        self.freeze_pending(&mut aggregates);
        self.release_pending(&mut aggregates);
        self.aggregates = Some(aggregates);
    }

    /// Sets free whom events of this step wake, and copies the members that free grains may meet
    /// in it into the table.
    pub(crate) fn hold_near_members(&mut self) {
        let Some(mut aggregates) = self.aggregates.take() else {
            return;
        };
        if !aggregates.members.is_empty() {
            let bodies = self.grains.len() - self.grains.count();
            let rows = self.grains.free_count() + bodies;
            aggregates.members.grid.prepare(rows);
            self.wake_by_sensors(&mut aggregates);
            self.wake_by_impacts(&mut aggregates);
            self.wake_by_approach(&mut aggregates);
            self.release_pending(&mut aggregates);
            self.hold_near(&mut aggregates);
        }
        let grains = &self.grains;
        let before = &mut aggregates.scratch.before;
        self.team
            .fill(before, grains.free_count(), |i| grains.state[i].velocity);
        self.aggregates = Some(aggregates);
    }

    /// Sets all grains free between two steps: for whoever acts on the world from outside. The
    /// contacts of the last step are forgotten where there were any frozen.
    pub(crate) fn set_all_free(&mut self) {
        let Some(mut aggregates) = self.aggregates.take() else {
            return;
        };
        aggregates.pending.freeze.clear();
        if !aggregates.members.is_empty() {
            self.forget_contacts();
            self.grains.drop_held();
            aggregates.held.clear();
            aggregates.totals.split_by_walls += aggregates.members.len() as u64;
            aggregates.pending.release_groups.fill(true);
            self.release_pending(&mut aggregates);
        }
        self.aggregates = Some(aggregates);
    }

    /// Lets a wall carry nothing any more: it is led from outside.
    pub(crate) fn lead_without_aggregates(&mut self, wall: usize) {
        self.set_all_free();
        if let Some(aggregates) = &mut self.aggregates {
            aggregates.groups.release_wall(wall);
        }
    }

    /// Puts copies of members where they are at the end of the step.
    pub(crate) fn place_held(&mut self) {
        let Some(aggregates) = &self.aggregates else {
            return;
        };
        // The clock shows the start of the step.
        let time = self.time() + self.step;
        for (row, &member) in self.grains.held_rows().zip(&aggregates.held) {
            let pose = aggregates.pose_at(member, time);
            let twist = aggregates
                .groups
                .get(aggregates.members.get(member).group)
                .twist;
            self.grains.position[row] = pose.position;
            self.grains.orientation[row] = pose.orientation;
            let state = &mut self.grains.state[row];
            state.velocity = twist.at(pose.position);
            state.angular_velocity = twist.angular_velocity;
        }
    }

    /// Decides at the end of a step whom the next one freezes and sets free.
    pub(crate) fn decide_reduction(&mut self) {
        let tried = self.find_by_trial();
        let Some(mut aggregates) = self.aggregates.take() else {
            return;
        };
        let scales = self.reduction_scales(&aggregates);
        self.find_grains_at_rest(&mut aggregates, scales);
        self.test_wall_contacts(&mut aggregates);
        self.test_walls(&mut aggregates);
        match aggregates.settings.split {
            Split::Balance => {
                self.test_loads(&mut aggregates);
                self.refresh(&mut aggregates, scales);
            }
            Split::Trial(_) => {
                aggregates.forget_doubts();
                aggregates.release(tried, |totals| &mut totals.split_by_imbalance);
            }
        }
        let all = self.grains.free_count() + aggregates.members.len();
        let totals = &mut aggregates.totals;
        totals.steps += 1;
        totals.level += aggregates.members.len() as f64 / all.max(1) as f64;
        self.aggregates = Some(aggregates);
    }

    /// Puts members that are to be set free back into the table, and what nothing carries then.
    fn release_pending(&mut self, aggregates: &mut Aggregates) {
        let mut list = aggregates.take_pending();
        if list.is_empty() {
            return;
        }
        if list.len() < aggregates.members.len() {
            let fallen = aggregates.members.unsupported_without(&list);
            if !fallen.is_empty() {
                aggregates.totals.split_by_support += fallen.len() as u64;
                list.extend(fallen);
                aggregates.members.sort_by_id(&mut list);
            }
        }
        let is_whole = list.len() == aggregates.members.len();
        let (time, substep) = (self.time(), self.next_substep());
        let step = self.next_step_length();
        let mut freed = Vec::new();
        let of = &*aggregates;
        self.team.fill(&mut freed, list.len(), |k| {
            of.frozen_at(list[k], time, step)
        });
        for (grain, velocities) in &freed {
            self.grains.thaw(grain, *velocities);
        }
        let groups = &aggregates.groups;
        let remember = |members: &Members, contact: &InternalContact| {
            let owner = members.get(contact.first);
            let frame = groups.get(owner.group).frame(time);
            let other = match contact.second {
                Second::Member(second) => Some(members.get(second).grain.slot),
                Second::Wall { .. } => None,
            };
            Entry {
                contact: remembered(contact, &frame, substep),
                slot: owner.grain.slot,
                other_slot: other.unwrap_or(NO_SLOT),
            }
        };
        let entries;
        if is_whole {
            let members = &aggregates.members;
            entries = gather(&mut self.team, list.len(), |k, found| {
                let owned = members.contacts_owned_by(list[k]);
                found.extend(owned.into_iter().map(|contact| remember(members, contact)));
            });
            aggregates.members.remove_all();
            aggregates.doubtful.clear();
        } else {
            let (mut list_of_entries, mut touched) = (Vec::new(), Vec::new());
            let remember = |members: &Members, contact: &InternalContact| {
                list_of_entries.push(remember(members, contact));
            };
            aggregates.members.remove(&list, remember, &mut touched);
            list_of_entries.sort_unstable_by_key(|entry: &Entry| entry.contact.key);
            for &member in &touched {
                aggregates.doubt(member);
            }
            aggregates.members.sum_forces(&mut self.team, &touched);
            entries = list_of_entries;
        }
        self.history.extend(&self.grains, entries);
    }

    /// Wakes members that something fast is about to hit, or slips on.
    fn wake_by_impacts(&mut self, aggregates: &mut Aggregates) {
        let bound = aggregates.settings.impact_speed * self.reduction_scales(aggregates).speed;
        let (time, reach) = (self.time(), self.reach());
        let (grains, free) = (&self.grains, self.grains.free_count());
        let (step, periodic) = (self.step, self.periodic);
        let (groups, members) = (&aggregates.groups, &aggregates.members);
        let look_around = |row: usize, hit: &mut Vec<(u32, u32)>| {
            let (state, radius) = (&grains.state[row], grains.bounding_radius(row));
            let is_body = row >= grains.count();
            for (group, of) in (0..).zip(groups.iter()) {
                if members.count_of(group) == 0 {
                    continue;
                }
                let x = grains.position[row];
                let relative = state.velocity - of.twist.at(x);
                let spin = state.angular_velocity - of.twist.angular_velocity;
                let speed = relative.length() + radius * spin.length();
                if speed <= bound {
                    continue;
                }
                let frame = of.frame(time);
                let way = radius + members.max_radius() + step * speed;
                for image in images(periodic.as_ref(), x) {
                    if is_body {
                        let beyond = way - radius;
                        let bounds = box_in(&frame, grains, (row, image), beyond);
                        members.grid.within_box(group, bounds, |member| {
                            let grain = &members.get(member).grain;
                            let place = frame.to_world(grain.pose.position);
                            let nearest = grains.nearest_in_box(row, image, place);
                            let nearest = nearest.unwrap_or(place);
                            // Of the body's point there, to the member.
                            let relative = relative + spin.cross(nearest - image);
                            let branch = place - nearest;
                            // Within the box anything may be about to touch.
                            let closing = match branch.try_normalize() {
                                Some(normal) => relative.dot(normal),
                                None => relative.length(),
                            };
                            let gap = branch.length() - grain.bounding_radius();
                            let slips = gap < reach.cohesive_gap && relative.length() > bound;
                            if slips || closing > bound && gap < step * closing {
                                hit.push((member, IMPACT_LAYERS));
                            }
                        });
                        continue;
                    }
                    let around = (frame.to_local(image), way);
                    members.grid.within(group, around, |member| {
                        let grain = &members.get(member).grain;
                        let branch = frame.to_world(grain.pose.position) - image;
                        let normal = branch.normalize_or_zero();
                        let gap = branch.length() - radius - grain.bounding_radius();
                        let closing = relative.dot(normal);
                        let hits = closing > bound && gap < step * closing;
                        let surface = relative + spin.cross(normal) * radius;
                        let slip = (surface - normal * closing).length();
                        if hits || gap < reach.cohesive_gap && slip > bound {
                            hit.push((member, IMPACT_LAYERS));
                        }
                    });
                }
            }
        };
        let bodies = grains.len() - grains.count();
        let hit = gather(&mut self.team, free + bodies, |k, found| {
            look_around(row_of(grains, k), found);
        });
        aggregates.release_with_layers(&hit, |totals| &mut totals.split_by_impact);
    }

    /// Wakes members that moving groups have carried into a region where nobody is frozen, or out
    /// of the bounds.
    fn wake_by_sensors(&self, aggregates: &mut Aggregates) {
        let time = self.time();
        let members = &aggregates.members;
        let mut seen: Vec<(u32, u32)> = Vec::new();
        for (group, of) in (0..).zip(aggregates.groups.iter()) {
            if of.is_still() || members.count_of(group) == 0 {
                continue;
            }
            let frame = of.frame(time);
            let place = |member: u32| frame.to_world(members.get(member).grain.pose.position);
            for region in &self.watched {
                let bounds = region.bounds();
                let centre = frame.to_local(bounds.min.midpoint(bounds.max));
                let around = (centre, 0.5 * bounds.min.distance(bounds.max));
                members.grid.within(group, around, |member| {
                    if region.contains(place(member)) {
                        seen.push((member, CHANGE_LAYERS));
                    }
                });
            }
            if self.bounds.is_some() {
                let lost = members.of_group(group).filter(|&m| self.is_lost(place(m)));
                seen.extend(lost.map(|member| (member, CHANGE_LAYERS)));
            }
        }
        aggregates.release_with_layers(&seen, |totals| &mut totals.split_by_sensor);
    }

    /// Copies the members that free grains and bodies may meet in the step into the table.
    fn hold_near(&mut self, aggregates: &mut Aggregates) {
        let mut held = self.near_members(aggregates);
        // Those whose balance may have changed are tested, even if nobody is near any more.
        held.extend(aggregates.doubtful());
        // In the order of ids, however they were found.
        aggregates.members.sort_by_id(&mut held);
        let (time, step, periodic) = (self.time(), self.step, self.periodic);
        let mut copies = Vec::new();
        self.team.fill(&mut copies, held.len(), |k| {
            let (mut grain, mut velocities) = aggregates.frozen_at(held[k], time, step);
            let to = aggregates.pose_at(held[k], time + step).position;
            velocities[0] = (to - grain.pose.position) / step;
            if let Some(periodic) = periodic {
                grain.pose.position = periodic.wrapped(grain.pose.position);
            }
            (grain, velocities)
        });
        for (grain, velocities) in &copies {
            self.grains.hold(grain, *velocities);
        }
        aggregates.held = held;
    }

    /// Members that free grains and bodies may meet in the step, each once, in no order.
    fn near_members(&mut self, aggregates: &mut Aggregates) -> Vec<u32> {
        let (time, reach) = (self.time(), self.reach());
        let Aggregates {
            groups, members, ..
        } = aggregates;
        // No impact moves a member.
        let radii = 1.0 + 2.0 * reach.margin;
        let search = members.begin_shared_search();
        let (grains, free, periodic) = (&self.grains, self.grains.free_count(), self.periodic);
        let bodies = grains.len() - grains.count();
        // Anew where somebody was set free.
        members.grid.prepare(free + bodies);
        let frames: Vec<Pose> = groups.iter().map(|group| group.frame(time)).collect();
        let look_around = |row: usize, found: &mut Vec<u32>| {
            let (state, radius) = (&grains.state[row], grains.radius[row]);
            let x = grains.position[row];
            for ((group, of), frame) in (0..).zip(groups.iter()).zip(&frames) {
                if members.count_of(group) == 0 {
                    continue;
                }
                let speed = state.velocity.distance(of.twist.at(x)) + grains.rotation_speed(row);
                let beyond = reach.beyond_surface(radius, speed, IMPACT_REACH_RADII * radius);
                let beyond = beyond + 0.5 * reach.cohesive_gap;
                for image in images(periodic.as_ref(), x) {
                    if row >= grains.count() {
                        let farthest = beyond + radii * members.max_radius();
                        let bounds = box_in(frame, grains, (row, image), farthest);
                        let is_near = |grain: &FrozenGrain| {
                            let place = frame.to_world(grain.pose.position);
                            let near = beyond + radii * grain.bounding_radius();
                            grains.distance_from_box(row, image, place) <= near
                        };
                        members.find_within_box(group, bounds, is_near, (search, found));
                        continue;
                    }
                    let way = grains.bounding_radius(row) + beyond;
                    let around = (frame.to_local(image), way, radii);
                    members.find_within(group, around, (search, found));
                }
            }
        };
        gather(&mut self.team, free + bodies, |k, found| {
            look_around(row_of(grains, k), found);
        })
    }

    /// Wakes members by their imbalance (1).
    fn test_loads(&mut self, aggregates: &mut Aggregates) {
        let (held, substep) = (self.grains.held_rows(), self.substep());
        let mut active = vec![(DVec3::ZERO, 0.0); held.len()];
        let work = &self.workspace;
        for &i in &work.collider.plan.fixed {
            let (contact, impulse) = (&work.contacts[i as usize], &work.impulses[i as usize]);
            let given = contact.normal * impulse.normal + impulse.friction;
            let rows = [Some(contact.grain), contact.partner.row()];
            for (row, sign) in rows.into_iter().zip([-1.0, 1.0]) {
                let place = row.and_then(|row| (row as usize).checked_sub(held.start));
                if let Some(sum) = place.and_then(|k| active.get_mut(k)) {
                    sum.0 += given * (sign / substep);
                    sum.1 += impulse.normal / substep;
                }
            }
        }
        let (time, gravity) = (self.time(), self.gravity);
        let imbalance_of = |k: usize| {
            let of = aggregates.members.get(aggregates.held[k]);
            let group = aggregates.groups.get(of.group);
            let frame = group.frame(time);
            let place = frame.to_world(of.grain.pose.position);
            let mass = of.grain.mass;
            let (force, pressure) = active[k];
            let internal = frame.rotate(of.force);
            let weight = (gravity - group.acceleration(place)) * mass;
            let imbalance = (weight + internal + force).length();
            let carried = mass * gravity.length() + 0.5 * (of.pressure + pressure);
            let is_asked = pressure > 0.0 || of.is_doubtful;
            is_asked.then(|| imbalance / (aggregates.settings.imbalance * carried))
        };
        let mut ratios = Vec::new();
        self.team.fill(&mut ratios, held.len(), imbalance_of);
        aggregates.forget_doubts();
        let mut seeds: Vec<(u32, u32)> = Vec::new();
        let held = std::mem::take(&mut aggregates.held);
        for (k, &member) in held.iter().enumerate() {
            if active[k].1 > 0.0 {
                aggregates.doubt(member);
            }
            let Some(ratio) = ratios[k] else {
                continue;
            };
            if ratio > 1.0 {
                seeds.push((member, (ratio.log2() as u32).min(MAX_LAYERS)));
            } else {
                let largest = &mut aggregates.totals.largest_imbalance;
                *largest = largest.max(ratio);
            }
        }
        let woken = seeds.len();
        aggregates.held = held;
        if seeds.is_empty() {
            return;
        }
        let all = self.grains.free_count() + aggregates.members.len();
        if woken as f64 > MANY * all as f64 {
            // While a refresh is not known to have come to nothing, some wake and are frozen anew.
            let clocks = aggregates.clocks.iter_mut();
            for clock in clocks.filter(|clock| clock.moving_before.is_none()) {
                clock.growth = 1.0;
            }
        }
        aggregates.release_with_layers(&seeds, |totals| &mut totals.split_by_imbalance);
    }

    /// Wakes members whose contact with a wall that the group slides along has changed.
    fn test_wall_contacts(&mut self, aggregates: &mut Aggregates) {
        let time = self.time();
        let mut seeds: Vec<(u32, u32)> = Vec::new();
        let mut touches = Vec::new();
        for member in aggregates.members.sliding() {
            let of = aggregates.members.get(member);
            let group = aggregates.groups.get(of.group);
            let frame = group.frame(time);
            let pose = group.in_world(time, &of.grain.pose);
            let radius = of.grain.radius;
            let has_changed = aggregates
                .members
                .wall_contacts(member)
                .any(|(w, contact)| {
                    let Some(before) = contact.overlap else {
                        return false;
                    };
                    let wall = &self.walls[w as usize];
                    let entry = remembered(contact, &frame, 1.0);
                    let touch = touch_of(wall, &pose, radius, &entry, &mut touches);
                    touch.is_none_or(|touch| {
                        let normal = wall.pose.rotate(touch.normal);
                        normal.angle_between(entry.normal) > TURNED
                            || (touch.overlap - before).abs() > CHANGED_OVERLAP * 2.0 * radius
                    })
                });
            if has_changed {
                seeds.push((member, CHANGE_LAYERS));
            }
        }
        aggregates.release_with_layers(&seeds, |totals| &mut totals.split_by_support);
    }

    /// Wakes everybody where a wall appears, vanishes or changes its motion.
    fn test_walls(&mut self, aggregates: &mut Aggregates) {
        if aggregates.members.is_empty() {
            return;
        }
        let (time, step) = (self.time(), self.next_step_length());
        let changes = |wall: &crate::wall::Wall| wall.is_present != wall.is_present_in(time, step);
        let is_changed = self.walls.iter().any(changes);
        for group in 0..aggregates.groups.len() as u8 {
            let count = aggregates.members.count_of(group);
            if count > 0 && (is_changed || !aggregates.groups.is_steady(group, time, step)) {
                aggregates.totals.split_by_walls += count as u64;
                aggregates.pending.release_groups[group as usize] = true;
                aggregates.clocks[group as usize].growth = 1.0;
            }
        }
    }

    /// Sets whole groups free from time to time.
    fn refresh(&mut self, aggregates: &mut Aggregates, scales: Scales) {
        let time = self.time();
        let free = self.grains.free_count();
        let Aggregates {
            groups,
            members,
            clocks,
            pending,
            totals,
            settings,
            ..
        } = aggregates;
        let all = free + members.len();
        let speed = settings.rest_speed * scales.speed;
        let moves = |row: &usize| {
            let group = groups.get(self.grains.rest[*row].group);
            let own = group.twist.at(self.grains.position[*row]);
            self.grains.state[*row].velocity.distance(own) > speed
        };
        // Few steps want to know.
        let count_moving = || (0..free).filter(moves).count() as u64;
        for (group, clock) in clocks.iter_mut().enumerate() {
            let count = members.count_of(group as u8);
            let frame = groups.get(group as u8).frame(time);
            let gravity = frame.inverse_rotate(self.gravity);
            if count == 0 && clock.moving_before.is_none() {
                // It begins with the first member.
                clock.last = time;
                clock.gravity = gravity;
                clock.grains = all as u64;
                continue;
            }
            let known = clock.last + KNOWN_AFTER * settings.rest_time * scales.time;
            if let Some(before) = clock.moving_before.filter(|_| time >= known) {
                let slack = GROWN * all as f64 + FLUCTUATING * before as f64;
                let has_grown = count_moving() > before + slack as u64;
                clock.growth = if has_grown {
                    1.0
                } else {
                    (2.0 * clock.growth).min(settings.refresh_growth)
                };
                clock.moving_before = None;
            }
            let is_due = time - clock.last >= settings.refresh_time * scales.time * clock.growth;
            let has_turned = gravity.angle_between(clock.gravity) > GRAVITY_TURNED;
            let change = clock.grains.abs_diff(all as u64) as f64;
            let has_changed = change > GRAINS_CHANGED * all as f64;
            if (is_due || has_turned || has_changed) && count > 0 && !pending.release_groups[group]
            {
                totals.refreshed += count as u64;
                pending.release_groups[group] = true;
                clock.moving_before = Some(count_moving());
                clock.last = time;
                clock.gravity = gravity;
                clock.grains = all as u64;
            }
        }
    }

    fn is_lost(&self, place: DVec3) -> bool {
        let bounds = self.bounds;
        bounds.is_some_and(|[low, high]| place.cmplt(low).any() || place.cmpgt(high).any())
    }
}

/// The box in a frame that holds all places within a distance, m, of the box of a body of its
/// own, which may be long and flat, at an image of it.
fn box_in(frame: &Pose, grains: &Grains, (row, image): (usize, DVec3), distance: f64) -> Aabb {
    let Aabb { min, max } = grains.box_of_body(row).inflated(distance);
    let moved = image - grains.position[row];
    Aabb::new(min + moved, max + moved).transformed(&frame.inverse())
}

/// The row of free grain `k`, or of a body of its own, which come after the copies of members.
fn row_of(grains: &Grains, k: usize) -> usize {
    let free = grains.free_count();
    if k < free {
        k
    } else {
        grains.count() + k - free
    }
}
