//! Adaptive model reduction: grains at rest are frozen to the walls that they rest on, and cost
//! nothing until something wakes them.
//!
//! Walls that move as one are a group (`groups.rs`). Grains that are at rest with a group, and
//! whose contacts lead to it, become members of its aggregate (`members.rs`): they leave the table
//! of grains and move with the group. Members near free grains are copied into the table for a
//! step. Contacts see ghosts of them, as of walls.
//!
//! # Who is frozen
//!
//! A grain is at rest while its velocity and the velocity of its surface by rotation differ from
//! those of the group by less than `v_m`, and its acceleration by less than `a_m`. (A rotation about
//! the normal of its only contact does not count: without twisting resistance nothing stops it.) After a time `T`
//! of rest it is frozen if loaded contacts connect it, through members and others that are at
//! rest, to a wall of the group that friction holds it on. A step in which it becomes faster, slow
//! as it is, is none of rest where little more than two contacts carry it: a column that is about to
//! fall begins so. What more contacts hold may tremble, as a heap does under what falls on it.
//! Whoever touches anything else that moves, or is about to, stays free, and so do grains in
//! sensors, emitters and sinks.
//!
//! # Who is set free
//!
//! * Members that a free grain is about to hit, or slips on, at more than `v_c`: with two layers.
//! * Members that a wall, or a member of another group, meets which moves relative to theirs: with
//!   two layers (`approach.rs`).
//! * Members out of balance. With the forces of their internal contacts, which are known from the
//!   time they were frozen, and those of contacts with free grains, in a group of acceleration `a`,
//!
//!   ```text
//!   R = m (g − a) + Σ f,    S = m g + ½ Σ f_n,    |R| > ξ S                  (1)
//!   ```
//!
//!   with `⌊log₂ |R|/(ξ S)⌋` further layers, six at most. As neighbours are frozen and set free, `R`
//!   does not jump: errors add up until the test sees them.
//! * Members without a path of internal contacts to a wall that carries them.
//! * Members at a wall whose shape does not move with the group, such as a belt, where the contact
//!   has changed: with one layer.
//! * All members of a group, every `T_r`, as gravity has turned in its frame, as grains have come
//!   and gone (what they weigh, those deep below do not feel before), and where one of the walls
//!   appears, vanishes or changes its motion. A grain among frozen ones cannot fail; only
//!   together do they find out that they would move. Those that are still at rest are frozen
//!   again after `T`, with new forces. `T_r` doubles as long as hardly anybody moves then.
//!
//! With [`definition::Split::Trial`] the balance (1) and the times `T_r` give way to trial steps (`trial.rs`).
//!
//! What is decided at the end of a step happens as the next one begins: between two steps contacts
//! and grains belong together.

mod approach;
mod balance;
mod choice;
mod grid;
mod groups;
mod members;
mod merge;
mod release;
pub(crate) mod state;
#[cfg(test)]
mod tests;
mod trial;

use esker_contact::Impulse;
use esker_geometry::Pose;
use esker_parallel::Team;
use glam::DVec3;

use crate::World;
use crate::contact::ContactKey;
use crate::definition::{self, WorldDef};
use crate::grains::{FrozenGrain, GrainId, Grains};
use crate::history::Remembered;
use balance::Wrench;
use groups::Groups;
pub(crate) use members::Members;

/// What has happened to aggregates since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReductionTotals {
    /// Steps that are counted.
    pub steps: u64,
    /// Sum over steps of the share of grains that are frozen.
    pub level: f64,
    /// Grains frozen.
    pub merges: u64,
    /// Grains set free because something, a wall too, hit them or slipped on them.
    pub split_by_impact: u64,
    /// Because of their imbalance (1).
    pub split_by_imbalance: u64,
    /// Because nothing carried them any more, or a contact with a wall changed.
    pub split_by_support: u64,
    /// Because walls came, went or changed their motion, or somebody acted from outside.
    pub split_by_walls: u64,
    /// Because a sensor saw them.
    pub split_by_sensor: u64,
    /// To find out whether they still rest.
    pub refreshed: u64,
    /// Energy of motion relative to the walls that freezing took, J.
    pub energy_lost: f64,
    /// Momentum that freezing gave to the walls, N s.
    pub impulse_to_walls: DVec3,
    /// What walls got beyond the forces of contacts of frozen grains, which are as old as these
    /// are frozen, so that all that acts on these is in balance, N s.
    pub impulse_by_balance: DVec3,
    /// Weight of frozen grains over time, N s.
    pub frozen_weight: f64,
    /// Largest `|R|/(ξ S)` of (1) that set nobody free, and of all.
    pub largest_imbalance: f64,
}

impl ReductionTotals {
    /// Mean share of grains that were frozen.
    pub fn mean_level(&self) -> f64 {
        if self.steps > 0 {
            self.level / self.steps as f64
        } else {
            0.0
        }
    }

    /// By how much contacts of frozen grains fall short of the mean balance of these, in units of
    /// their mean weight.
    pub fn mean_imbalance(&self) -> f64 {
        match self.frozen_weight > 0.0 {
            true => self.impulse_by_balance.length() / self.frozen_weight,
            false => 0.0,
        }
    }

    /// Grains set free, for whatever reason but to find out.
    pub fn splits(&self) -> u64 {
        self.split_by_impact
            + self.split_by_imbalance
            + self.split_by_support
            + self.split_by_walls
            + self.split_by_sensor
    }
}

/// A contact of frozen grains, as it was when the later of the two was frozen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredContact {
    /// Its name.
    pub key: ContactKey,
    /// Unit normal from the owner to the other.
    pub normal: DVec3,
    /// Where, m; of grains that are no spheres, on the sphere of equal volume.
    pub point: DVec3,
    /// Overlap of spheres, m; zero where it is not known: at walls that stay with them.
    pub overlap: f64,
    /// From the centre of the owner to the point along the normal, and from the point to the centre
    /// of the other, m; zero at a wall.
    pub arms: [f64; 2],
    /// Impulse of a substep.
    pub impulse: Impulse,
}

/// When a group is set free as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefreshClock {
    /// Time of the last one, s.
    pub last: f64,
    /// Factor on the time between two.
    pub growth: f64,
    /// Free grains that were not at rest when the last one began, until it is known what came of
    /// it.
    pub moving_before: Option<u64>,
    /// Gravity in the group's frame at the last one, m/s².
    pub gravity: DVec3,
    /// Grains of the world at the last one.
    pub grains: u64,
}

/// What a step has decided for the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pending {
    /// Rows of free grains to freeze, ascending.
    pub(crate) freeze: Vec<u32>,
    /// Members to set free; some may be listed twice.
    pub(crate) release: Vec<u32>,
    /// Groups all of whose members are set free.
    pub(crate) release_groups: Vec<bool>,
}

/// Aggregates at work.
pub(crate) struct Aggregates {
    settings: definition::Reduction,
    /// The world of trial steps, where there are some.
    trial: Option<Box<WorldDef>>,
    groups: Groups,
    pub(crate) members: Members,
    /// Width of the cells of the members' grid, m; zero before the first one.
    pub(crate) edge: f64,
    pub(crate) pending: Pending,
    pub(crate) clocks: Vec<RefreshClock>,
    pub(crate) totals: ReductionTotals,
    /// Members whose balance may have changed in the last step, as they say themselves; some are
    /// gone, and others in their places.
    pub(crate) doubtful: Vec<u32>,
    /// Members of which copies are in the table, row by row.
    held: Vec<u32>,
    /// Momentum relative to its walls that grains frozen as the step began left to each group.
    left_by_frozen: Vec<Wrench>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    /// Velocities of free grains as the step began, m/s.
    before: Vec<DVec3>,
    /// Whether a row cannot be frozen now.
    blocked: Vec<bool>,
    /// Union–find over rows: the parent of each, and of roots whether walls carry the set.
    parent: Vec<u32>,
    carried: Vec<bool>,
    /// What loads free grains.
    loads: Vec<Loads>,
}

/// The contacts that load a grain.
#[derive(Clone, Copy, Debug, Default)]
struct Loads {
    count: u32,
    /// Normal of one of them.
    normal: DVec3,
    /// Sum of their normal impulses, N s, and of the squares of these.
    sum: f64,
    squares: f64,
}

impl Loads {
    fn add(&mut self, normal: DVec3, impulse: f64) {
        self.count += 1;
        self.normal = normal;
        self.sum += impulse;
        self.squares += impulse * impulse;
    }

    /// How many they are, as if all carried the same: `(Σ p)²/Σ p²`.
    fn effective(&self) -> f64 {
        match self.count {
            0 => 0.0,
            _ => self.sum * self.sum / self.squares,
        }
    }
}

/// What `look` finds at all indices below `length`, in their order, whatever the number of threads.
fn gather<T: Copy + Send>(
    team: &mut Team,
    length: usize,
    look: impl Fn(usize, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let parts = team.threads();
    let mut lists: Vec<Vec<T>> = vec![Vec::new(); parts];
    team.for_each_part(&mut lists, 1, |start, lists| {
        for (part, found) in (start..).zip(lists) {
            for k in length * part / parts..length * (part + 1) / parts {
                look(k, found);
            }
        }
    });
    match lists.len() {
        1 => lists.swap_remove(0),
        _ => lists.concat(),
    }
}

/// Speeds, times and lengths of a step that thresholds are measured in.
#[derive(Clone, Copy)]
struct Scales {
    /// `√(g d)`, m/s.
    speed: f64,
    /// `√(d/g)`, s.
    time: f64,
}

impl Aggregates {
    /// No aggregates yet; `None` where the definition does not want any.
    pub(crate) fn new(def: &WorldDef) -> Option<Self> {
        let settings = def.reduction?;
        let is_periodic = def.periodic.iter().any(Option::is_some);
        let groups = Groups::new(&def.walls, is_periodic);
        let clock = |group: &groups::Group| RefreshClock {
            last: 0.0,
            growth: 1.0,
            moving_before: None,
            gravity: group.frame(0.0).inverse_rotate(def.gravity),
            grains: 0,
        };
        Some(Aggregates {
            settings,
            trial: trial::definition(def, settings.split),
            members: Members::new(groups.len()),
            edge: 0.0,
            pending: Pending {
                release_groups: vec![false; groups.len()],
                ..Default::default()
            },
            clocks: groups.iter().map(clock).collect(),
            left_by_frozen: vec![Wrench::default(); groups.len()],
            groups,
            totals: ReductionTotals::default(),
            doubtful: Vec::new(),
            held: Vec::new(),
            scratch: Scratch::default(),
        })
    }

    /// Lets the balance of a member be looked at in the next step.
    fn doubt(&mut self, member: u32) {
        let of = self.members.get_mut(member);
        if !std::mem::replace(&mut of.is_doubtful, true) {
            self.doubtful.push(member);
        }
    }

    /// Lets nobody's balance be looked at because of what was before.
    fn forget_doubts(&mut self) {
        for member in self.doubtful.drain(..) {
            self.members.get_mut(member).is_doubtful = false;
        }
    }

    /// Members whose balance may have changed; some may be listed twice.
    fn doubtful(&self) -> impl Iterator<Item = u32> {
        let members = &self.members;
        let is_doubtful = |&m: &u32| members.is_there(m) && members.get(m).is_doubtful;
        self.doubtful.iter().copied().filter(is_doubtful)
    }

    /// A member with its pose in the world and its velocities at a time, in a step of this length
    /// that begins then: a world that was restored knows no other.
    fn frozen_at(&self, member: u32, time: f64, step: f64) -> (FrozenGrain, [DVec3; 2]) {
        let of = self.members.get(member);
        let pose = self.pose_at(member, time);
        let twist = self.groups.get(of.group).twist_over(time, step);
        let grain = FrozenGrain { pose, ..of.grain };
        (grain, [twist.at(pose.position), twist.angular_velocity])
    }

    /// Where a member is at a time.
    fn pose_at(&self, member: u32, time: f64) -> Pose {
        let member = self.members.get(member);
        let group = self.groups.get(member.group);
        group.in_world(time, &member.grain.pose)
    }
}

impl World {
    /// How many grains there are, frozen ones included.
    pub fn grain_count(&self) -> usize {
        self.grains.free_count() + self.frozen_count()
    }

    /// How many grains are frozen.
    pub fn frozen_count(&self) -> usize {
        self.aggregates.as_ref().map_or(0, |a| a.members.len())
    }

    /// Grains that the next step sets free, about.
    pub(crate) fn about_to_be_free(&self) -> usize {
        let aggregates = self.aggregates.as_ref();
        aggregates.map_or(0, |a| {
            let whole = (0..)
                .zip(&a.pending.release_groups)
                .filter(|(_, whole)| **whole);
            let whole = whole.map(|(group, _)| a.members.count_of(group));
            a.pending.release.len() + whole.sum::<usize>()
        })
    }

    /// What aggregates have done since the start, where there may be some.
    pub fn reduction(&self) -> Option<&ReductionTotals> {
        Some(&self.aggregates.as_ref()?.totals)
    }

    /// The aggregate of a grain: one more than the index of the group of walls that it is frozen
    /// to; zero where it is free.
    pub fn aggregate_of(&self, id: GrainId) -> u8 {
        let aggregates = self.aggregates.as_ref();
        let group = aggregates.and_then(|a| Some(a.members.get(a.members.find(id)?).group));
        group.map_or(0, |group| group + 1)
    }

    /// All grains, frozen ones too, then the bodies of their own. Where nothing is frozen these
    /// are [`World::grains`]; otherwise a table is made, in which frozen grains come after the
    /// free ones.
    pub fn all_grains(&self) -> std::borrow::Cow<'_, Grains> {
        let Some(aggregates) = self.aggregates.as_ref().filter(|a| !a.members.is_empty()) else {
            return std::borrow::Cow::Borrowed(&self.grains);
        };
        let mut grains = self.grains.clone();
        grains.drop_held();
        let (time, step) = (self.time(), self.next_step_length());
        for member in aggregates.members.in_id_order() {
            let (grain, velocities) = aggregates.frozen_at(member, time, step);
            grains.thaw(&grain, velocities);
        }
        std::borrow::Cow::Owned(grains)
    }

    /// All grains that may have moved in the last step, and perhaps others: those that are frozen
    /// to walls which stand still are left out. Rows are as in [`World::all_grains`], or
    /// [`World::grains`] itself where nothing moves frozen grains: then nothing is copied.
    pub fn grains_in_motion(&self) -> std::borrow::Cow<'_, Grains> {
        match self.carries_frozen_grains() {
            true => self.all_grains(),
            false => std::borrow::Cow::Borrowed(&self.grains),
        }
    }

    /// Whether walls that move carry frozen grains.
    fn carries_frozen_grains(&self) -> bool {
        self.aggregates.as_ref().is_some_and(|a| {
            let moves =
                |group: u8| !a.groups.get(group).is_still() && a.members.count_of(group) > 0;
            (0..a.groups.len() as u8).any(moves)
        })
    }

    /// Contacts among frozen grains, and between them and walls, in the order of their names:
    /// nobody solves them, and they are not among [`World::contacts`].
    pub fn stored_contacts(&self) -> Vec<StoredContact> {
        let Some(aggregates) = &self.aggregates else {
            return Vec::new();
        };
        let members = &aggregates.members;
        let (time, substep) = (self.time(), self.substep());
        let contacts = members.contacts_in_key_order().into_iter();
        let stored = contacts.map(|contact| {
            let first = members.get(contact.first);
            let frame = aggregates.groups.get(first.group).frame(time);
            let Remembered {
                key,
                normal,
                impulse,
            } = members::remembered(contact, &frame, substep);
            let centre = aggregates.pose_at(contact.first, time).position;
            let second = match contact.second {
                members::Second::Wall { .. } => None,
                members::Second::Member(second) => Some(second),
            };
            let overlap = second.map_or(contact.overlap.unwrap_or(0.0), |second| {
                let branch = aggregates.pose_at(second, time).position - centre;
                let branch = self.periodic.map_or(branch, |p| p.branch(branch));
                let radii = first.grain.radius + members.get(second).grain.radius;
                (radii - branch.length()).max(0.0)
            });
            let arm = |grain: &FrozenGrain| grain.radius - 0.5 * overlap;
            let own = arm(&first.grain);
            StoredContact {
                key,
                normal,
                point: centre + normal * own,
                overlap,
                arms: [own, second.map_or(0.0, |m| arm(&members.get(m).grain))],
                impulse,
            }
        });
        stored.collect()
    }

    /// Kinetic energies of frozen grains, J, without those that stand still.
    pub(crate) fn frozen_kinetic_energies(&self) -> impl Iterator<Item = f64> {
        let (time, step) = (self.time(), self.next_step_length());
        self.aggregates.iter().flat_map(move |aggregates| {
            let (groups, members) = (&aggregates.groups, &aggregates.members);
            let some_move = self.carries_frozen_grains();
            let all = some_move.then(|| members.all()).into_iter().flatten();
            let moving = all.filter(move |&m| !groups.get(members.get(m).group).is_still());
            moving.map(move |member| {
                let (grain, velocities) = aggregates.frozen_at(member, time, step);
                grain.kinetic_energy(velocities)
            })
        })
    }

    /// `Σ m x` of frozen grains at a time, kg m.
    pub(crate) fn frozen_moment_of_mass(&self, time: f64) -> DVec3 {
        let of_group = |aggregates: &Aggregates, group: u8| {
            let frame = aggregates.groups.get(group).frame(time);
            aggregates.members.mass_of_group(group).moment_in(&frame)
        };
        let aggregates = self.aggregates.as_ref();
        aggregates.map_or(DVec3::ZERO, |a| {
            (0..a.groups.len() as u8)
                .map(|group| of_group(a, group))
                .sum()
        })
    }

    /// The substep that what is remembered of contacts belongs to, s.
    fn next_substep(&self) -> f64 {
        self.next.substep(&self.clock, &self.method)
    }

    fn reduction_scales(&self, aggregates: &Aggregates) -> Scales {
        // Of all grains, where it is known: those that are left in the table may be others.
        let d = match aggregates.edge > 0.0 {
            true => aggregates.edge / merge::CELL_DIAMETERS,
            false => self.workspace.diameters.mean,
        };
        let g = self.gravity.length();
        Scales {
            speed: (g * d).sqrt(),
            time: (d / g).sqrt(),
        }
    }
}
