//! Which grains at rest are frozen: those that loaded contacts connect, through others at rest, to
//! walls and members that carry them.

use esker_geometry::Region;

use super::approach::{PUSHING, STILL};
use super::groups::Groups;
use super::merge::{WallFriction, sides};
use super::{Aggregates, Scratch, gather};
use crate::World;
use crate::contact::{ContactGeometry, Partner};
use crate::grains::{Grains, Rest};

/// What grains at rest may rest on.
struct Ground<'a> {
    aggregates: &'a Aggregates,
    grains: &'a Grains,
    friction: WallFriction<'a>,
    /// Where nobody is frozen.
    watched: &'a [Region],
    /// Speed of rest, m/s.
    speed: f64,
}

/// What a loaded contact says of who is carried.
#[derive(Clone, Copy)]
enum Link {
    /// Something that carries holds this row.
    Carried(u32),
    /// What carries one row carries the other.
    Together(u32, u32),
}

impl Ground<'_> {
    /// Whether a free grain is where nobody is frozen.
    fn is_watched(&self, row: usize) -> bool {
        let place = self.grains.position[row];
        self.watched.iter().any(|region| region.contains(place))
    }

    /// The row of a member's copy among all of them.
    fn held(&self, other: Partner) -> Option<usize> {
        let held = self.grains.held_rows();
        let row = other.row()? as usize;
        held.contains(&row).then(|| row - held.start)
    }

    /// Whether friction holds a row on a wall.
    fn is_held_on(&self, row: usize, wall: u32) -> bool {
        self.friction.at(self.grains.material[row], wall) > 0.0
    }

    /// Whether a grain at rest touches something that does not move as its group does.
    fn moves_otherwise(&self, row: usize, other: Partner, contact: &ContactGeometry) -> bool {
        let groups = &self.aggregates.groups;
        let own = self.grains.rest[row].group;
        match other {
            Partner::Grain(j) if (j as usize) < self.grains.free_count() => false,
            Partner::Grain(_) => match self.held(other) {
                Some(k) => {
                    let member = self.aggregates.held[k];
                    self.aggregates.members.get(member).group != own
                }
                // A body of its own.
                None => true,
            },
            Partner::Wall(w) => {
                let wall = &self.friction.walls[w as usize];
                let is_sphere = self.grains.shape_of(row).is_none();
                let slides = !groups.carries_shape(own, wall);
                if slides && !is_sphere {
                    return true;
                }
                if groups.of_wall(w as usize) == Some(own) {
                    return false;
                }
                let surface = wall.surface_velocity_at(contact.point, contact.normal);
                let relative = surface - groups.get(own).twist.at(contact.point);
                let rubs = relative.length() > STILL * self.speed && self.is_held_on(row, w);
                rubs || contact.normal.dot(relative).abs() > PUSHING * self.speed
            }
        }
    }

    /// What a loaded contact says if the rows that `of` says so of are frozen.
    fn add_links(
        &self,
        contact: &ContactGeometry,
        of: impl Fn(u32) -> bool,
        links: &mut Vec<Link>,
    ) {
        let group = |row: u32| self.grains.rest[row as usize].group;
        match contact.partner {
            Partner::Grain(j) if of(contact.grain) && of(j) => {
                if group(contact.grain) == group(j) {
                    links.push(Link::Together(contact.grain, j));
                }
            }
            Partner::Grain(_) => {
                let carried = sides(contact).filter(|(row, _)| of(*row));
                let carried = carried.filter(|(_, other)| self.held(*other).is_some());
                links.extend(carried.map(|(row, _)| Link::Carried(row)));
            }
            Partner::Wall(w) => {
                let row = contact.grain;
                let is_of_group = || self.aggregates.groups.of_wall(w as usize) == Some(group(row));
                if of(row) && is_of_group() && self.is_held_on(row as usize, w) {
                    links.push(Link::Carried(row));
                }
            }
        }
    }
}

impl World {
    /// Decides which grains of those that have been at rest for so many steps, slower than
    /// `speed`, m/s, are frozen.
    pub(super) fn choose_frozen(&mut self, aggregates: &mut Aggregates, steps: u16, speed: f64) {
        let free = self.grains.free_count();
        self.take_first_groups(&aggregates.groups, steps, speed);
        let mut scratch = std::mem::take(&mut aggregates.scratch);
        let ground = Ground {
            aggregates,
            grains: &self.grains,
            friction: WallFriction::new(&self.walls, &self.pairs),
            watched: &self.watched,
            speed,
        };
        let approaching = self.approaching(aggregates);
        let work = &self.workspace;
        let is_loaded = |i: usize| work.impulses[i].normal > 0.0;
        self.team.fill(&mut scratch.blocked, free, |row| {
            let is_moving = ground.grains.rest[row].steps < steps;
            let grain = (ground.grains, row);
            is_moving
                || ground.is_watched(row)
                || approaching.meet(grain, aggregates, ground.friction)
        });
        let blocked = &scratch.blocked;
        let is_open = |row: u32| blocked.get(row as usize).is_some_and(|blocked| !blocked);
        let count = work.contacts.len();
        let moved = gather(&mut self.team, count, |i, moved: &mut Vec<u32>| {
            let contact = &work.contacts[i];
            let open = sides(contact).filter(|(row, _)| is_open(*row) && is_loaded(i));
            let moved_by = |(row, other): &(u32, Partner)| {
                ground.moves_otherwise(*row as usize, *other, contact)
            };
            moved.extend(open.filter(moved_by).map(|(row, _)| row));
        });
        for row in moved {
            scratch.blocked[row as usize] = true;
        }
        let blocked = &scratch.blocked;
        let is_open = |row: u32| blocked.get(row as usize).is_some_and(|blocked| !blocked);
        let links = gather(&mut self.team, count, |i, links| {
            let contact = &work.contacts[i];
            if sides(contact).any(|(row, _)| is_open(row)) && is_loaded(i) {
                ground.add_links(contact, is_open, links);
            }
        });
        scratch.carried.clear();
        scratch.carried.resize(free, false);
        scratch.parent.clear();
        scratch.parent.extend(0..free as u32);
        for link in links {
            match link {
                Link::Carried(row) => scratch.carried[row as usize] = true,
                Link::Together(a, b) => unite(&mut scratch.parent, a, b),
            }
        }
        for row in 0..free as u32 {
            if scratch.carried[row as usize] {
                let root = find(&mut scratch.parent, row);
                scratch.carried[root as usize] = true;
            }
        }
        aggregates.pending.freeze.clear();
        for row in 0..free as u32 {
            let root = find(&mut scratch.parent, row);
            if !scratch.blocked[row as usize] && scratch.carried[root as usize] {
                aggregates.pending.freeze.push(row);
            }
        }
        self.try_next_groups(&aggregates.groups, &mut scratch, speed);
        aggregates.scratch = scratch;
    }

    /// Lets grains that have been at rest for just so many steps be of the first group that stands
    /// still relative to theirs: a wall that pushed some of them and stopped is at rest with what
    /// all of them lie on, and contacts between groups are never stored.
    fn take_first_groups(&mut self, groups: &Groups, steps: u16, speed: f64) {
        for row in 0..self.grains.free_count() {
            let Rest { steps: own, group } = self.grains.rest[row];
            if own == steps && groups.len() > 1 {
                let still = groups.still_with(group, self.grains.position[row], STILL * speed);
                self.grains.rest[row].group = still.min().unwrap_or(group);
            }
        }
    }

    /// Lets grains at rest that nothing of their group carries try the next one that stands still
    /// relative to it.
    fn try_next_groups(&mut self, groups: &Groups, scratch: &mut Scratch, speed: f64) {
        for row in 0..scratch.blocked.len() {
            if groups.len() < 2 || scratch.blocked[row] {
                continue;
            }
            let root = find(&mut scratch.parent, row as u32);
            if !scratch.carried[root as usize] {
                let group = self.grains.rest[row].group;
                let mut still = groups.still_with(group, self.grains.position[row], STILL * speed);
                self.grains.rest[row].group = still.next().unwrap_or(group);
            }
        }
    }
}

/// The root of a row's set; paths are halved on the way.
fn find(parent: &mut [u32], mut row: u32) -> u32 {
    while parent[row as usize] != row {
        let above = parent[parent[row as usize] as usize];
        parent[row as usize] = above;
        row = above;
    }
    row
}

/// Makes two sets one.
fn unite(parent: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(parent, a), find(parent, b));
    let (low, high) = (a.min(b), a.max(b));
    parent[high as usize] = low;
}
