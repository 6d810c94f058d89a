//! Frozen grains: who they are, what they press on each other with, and what carries them.
//!
//! Contacts among frozen grains, and between them and walls, are internal: nobody solves them.
//! Their forces are kept as they were when the later of the two was frozen, in the frame of the
//! group. Every member has a path of internal contacts to a wall that carries it; one of them is
//! kept as a tree, so that only what hangs on a member has to be looked at when it leaves.

use std::sync::atomic::{AtomicU32, Ordering};

use esker_contact::Impulse;
use esker_geometry::{Aabb, Pose};
use esker_parallel::{ExactSum, Team};
use glam::{DMat3, DVec3};

use super::balance::Wrench;
use super::grid::{Grid, KeyMap, NONE};
use crate::contact::ContactKey;
use crate::drive::Twist;
use crate::grains::{FrozenGrain, GrainId};
use crate::history::Remembered;

/// A frozen grain. Places and vectors are in the frame of its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) grain: FrozenGrain,
    pub(crate) group: u8,
    /// Sum of the forces of internal contacts on it, N.
    pub(crate) force: DVec3,
    /// Sum of their normal forces, N.
    pub(crate) pressure: f64,
    /// Whether its balance may have changed in the last step.
    pub(super) is_doubtful: bool,
    /// Whether it touches a wall that its group slides along.
    is_sliding: bool,
    /// Whether it is one still: places of those that left are given to others.
    is_there: bool,
    support: Support,
    first_contact: u32,
    /// The search that met it last.
    mark: u32,
}

impl Member {
    /// Whether nothing carries it yet: all others hang on something.
    pub(crate) fn is_new(&self) -> bool {
        self.support == Support::None
    }
}

/// What the path to a wall begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Support {
    None,
    Wall,
    Member(u32),
}

/// The second body of an internal contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    Member(u32),
    /// A wall, and whether it carries what rests on it.
    Wall {
        wall: u32,
        carries: bool,
    },
}

/// A contact that nobody solves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InternalContact {
    pub(crate) key: ContactKey,
    /// Unit normal from the first body to the second.
    pub(crate) normal: DVec3,
    /// Forces and torques, N and N m.
    pub(crate) force: Impulse,
    /// Overlap when it became internal, m, where it may change: at walls that the group slides
    /// along.
    pub(crate) overlap: Option<f64>,
    pub(crate) first: u32,
    pub(crate) second: Second,
}

/// An internal contact in the lists of its members.
#[derive(Clone, Copy, Debug)]
struct Linked {
    contact: InternalContact,
    /// The next contact of each body.
    next: [u32; 2],
}

impl InternalContact {
    /// Force on the second body, N.
    fn on_second(&self) -> DVec3 {
        self.normal * self.force.normal + self.force.friction
    }

    fn other(&self, member: u32) -> Option<u32> {
        match self.second {
            Second::Member(second) if second == member => Some(self.first),
            Second::Member(second) => Some(second),
            Second::Wall { .. } => None,
        }
    }

    fn side(&self, member: u32) -> usize {
        usize::from(self.first != member)
    }
}

/// What internal contacts give to a wall, in the frame of the group: force, and torque about its
/// origin. Exact, so that it does not matter in which order contacts came and went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoredLoad {
    force: [ExactSum; 3],
    torque: [ExactSum; 3],
}

impl StoredLoad {
    fn add(&mut self, force: DVec3, torque: DVec3, sign: f64) {
        for axis in 0..3 {
            self.force[axis].add(sign * force[axis]);
            self.torque[axis].add(sign * torque[axis]);
        }
    }

    /// Force, N, and torque, N m.
    pub(crate) fn values(&self) -> [DVec3; 2] {
        [&self.force, &self.torque].map(|v| DVec3::from_array(v.map(|sum| sum.value())))
    }
}

/// Mass of a group's members, and its moments in the frame of the group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupMass {
    mass: ExactSum,
    moment: [ExactSum; 3],
    /// `Σ m x xᵀ`: xx, yy, zz, yz, zx, xy.
    second: [ExactSum; 6],
}

/// The members of a group as one body in the world.
pub(crate) struct GroupBody {
    /// kg.
    pub(crate) mass: f64,
    /// `Σ m x`, kg m.
    pub(crate) moment: DVec3,
    /// `Σ m x xᵀ`, kg m².
    second: DMat3,
}

impl GroupBody {
    /// `Σ m (g − a)`, and its torque about the origin, of a body that moves like this.
    pub(super) fn weight_and_inertia(&self, gravity: DVec3, twist: &Twist) -> Wrench {
        let (omega, centre) = (twist.angular_velocity, twist.centre);
        let about_centre = self.moment - centre * self.mass;
        let inertia = omega.cross(omega.cross(about_centre));
        // Σ m y yᵀ ω with y = x − c.
        let turned = self.second * omega
            - self.moment * centre.dot(omega)
            - centre * about_centre.dot(omega);
        Wrench {
            force: gravity * self.mass - inertia,
            torque: self.moment.cross(gravity) - centre.cross(inertia) - turned.cross(omega),
        }
    }
}

impl GroupMass {
    fn add(&mut self, grain: &FrozenGrain, sign: f64) {
        self.mass.add(sign * grain.mass);
        let x = grain.pose.position;
        for axis in 0..3 {
            self.moment[axis].add(sign * (grain.mass * x[axis]));
        }
        let products = [
            x.x * x.x,
            x.y * x.y,
            x.z * x.z,
            x.y * x.z,
            x.z * x.x,
            x.x * x.y,
        ];
        for (sum, product) in self.second.iter_mut().zip(products) {
            sum.add(sign * (grain.mass * product));
        }
    }

    /// The body in the world, with the group's frame there.
    pub(super) fn in_world(&self, frame: &Pose) -> GroupBody {
        let mass = self.mass.value();
        let own = DVec3::from_array(self.moment.map(|sum| sum.value()));
        let [xx, yy, zz, yz, zx, xy] = self.second.map(|sum| sum.value());
        let second = DMat3::from_cols_array(&[xx, xy, zx, xy, yy, yz, zx, yz, zz]);
        let axes = DMat3::from_quat(frame.orientation);
        let (turned, at) = (axes * own, frame.position);
        let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
        GroupBody {
            mass,
            moment: turned + at * mass,
            second: axes * second * axes.transpose()
                + outer(turned, at)
                + outer(at, turned)
                + outer(at, at) * mass,
        }
    }

    /// `Σ m x` in the world, kg m, with the group's frame there.
    pub(crate) fn moment_in(&self, frame: &Pose) -> DVec3 {
        let moment = DVec3::from_array(self.moment.map(|sum| sum.value()));
        frame.orientation * moment + frame.position * self.mass.value()
    }
}

/// Contacts of a member.
struct ContactsOf<'a> {
    members: &'a Members,
    member: u32,
    next: u32,
}

impl<'a> Iterator for ContactsOf<'a> {
    type Item = (u32, &'a InternalContact);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next;
        let Linked { contact, next } = self.members.contacts.get(at as usize)?;
        self.next = next[contact.side(self.member)];
        Some((at, contact))
    }
}

/// All frozen grains.
#[derive(Debug, Default)]
pub(crate) struct Members {
    members: Vec<Member>,
    vacant: Vec<u32>,
    contacts: Vec<Linked>,
    vacant_contacts: Vec<u32>,
    by_id: KeyMap<GrainId, u32>,
    /// By the slot of a grain; of those that are no members, anything.
    by_slot: Vec<u32>,
    /// Members per group.
    counts: Vec<usize>,
    masses: Vec<GroupMass>,
    /// By group and wall.
    loads: KeyMap<(u8, u32), StoredLoad>,
    pub(super) grid: Grid,
    /// Those that touch a wall which their group slides along.
    sliding: Vec<u32>,
    /// The present search; the next number marks those that hang on nothing.
    search: u32,
    /// The shared search that met a member last, by member.
    seen: Vec<AtomicU32>,
    /// Largest radius of a ball that holds a member, m.
    max_radius: f64,
    /// By material, whether there were members of it since there were none.
    materials: Vec<bool>,
}

impl Members {
    /// No members of so many groups.
    pub(crate) fn new(groups: usize) -> Self {
        Members {
            counts: vec![0; groups],
            masses: vec![GroupMass::default(); groups],
            ..Default::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// How many a group has.
    pub(crate) fn count_of(&self, group: u8) -> usize {
        self.counts[group as usize]
    }

    pub(crate) fn mass_of_group(&self, group: u8) -> &GroupMass {
        &self.masses[group as usize]
    }

    /// Largest radius of a ball that holds a member, m.
    pub(crate) fn max_radius(&self) -> f64 {
        self.max_radius
    }

    /// Whether there may be members of a material.
    pub(super) fn may_be_of(&self, material: u16) -> bool {
        self.materials.get(material as usize) == Some(&true)
    }

    pub(crate) fn get(&self, member: u32) -> &Member {
        &self.members[member as usize]
    }

    pub(crate) fn get_mut(&mut self, member: u32) -> &mut Member {
        &mut self.members[member as usize]
    }

    pub(crate) fn find(&self, id: GrainId) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The member that a grain with this slot is.
    pub(crate) fn find_at(&self, slot: u32, id: GrainId) -> Option<u32> {
        let index = *self.by_slot.get(slot as usize)?;
        let member = self.members.get(index as usize)?;
        (member.is_there && member.grain.id == id).then_some(index)
    }

    /// Whether a place is a member's, and not empty.
    pub(crate) fn is_there(&self, member: u32) -> bool {
        self.get(member).is_there
    }

    /// All members, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = u32> {
        let indexed = (0..).zip(&self.members);
        indexed
            .filter(|(_, member)| member.is_there)
            .map(|(index, _)| index)
    }

    /// All members in the order of their ids.
    pub(crate) fn in_id_order(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.all().collect();
        self.sort_by_id(&mut all);
        all
    }

    /// Puts members into the order of their ids.
    pub(crate) fn sort_by_id(&self, list: &mut Vec<u32>) {
        // Ids beside what they sort: most of the time would go into looking them up.
        let keyed = list.iter().map(|&m| (self.get(m).grain.id, m));
        let mut keyed: Vec<(GrainId, u32)> = keyed.collect();
        keyed.sort_unstable();
        keyed.dedup();
        list.clear();
        list.extend(keyed.into_iter().map(|(_, m)| m));
    }

    /// Members of a group, in no order.
    pub(crate) fn of_group(&self, group: u8) -> impl Iterator<Item = u32> {
        self.all().filter(move |&m| self.get(m).group == group)
    }

    /// Members that touch a wall which their group slides along.
    pub(crate) fn sliding(&self) -> impl Iterator<Item = u32> {
        self.sliding.iter().copied()
    }

    /// All internal contacts in the order of their keys.
    pub(crate) fn contacts_in_key_order(&self) -> Vec<&InternalContact> {
        let owners = self.in_id_order().into_iter();
        owners
            .flat_map(|owner| self.contacts_owned_by(owner))
            .collect()
    }

    /// The contacts of which a member is the first body, in the order of their keys.
    pub(super) fn contacts_owned_by(&self, owner: u32) -> Vec<&InternalContact> {
        let contacts = self.contacts_of(owner).map(|(_, contact)| contact);
        let mut owned: Vec<_> = contacts.filter(|contact| contact.first == owner).collect();
        owned.sort_unstable_by_key(|contact| contact.key);
        owned
    }

    /// What internal contacts give to walls: group, wall and load.
    pub(crate) fn stored_loads(&self) -> impl Iterator<Item = (u8, u32, &StoredLoad)> {
        let loads = self.loads.iter();
        loads.map(|(&(group, wall), load)| (group, wall, load))
    }

    fn contacts_of(&self, member: u32) -> ContactsOf<'_> {
        ContactsOf {
            members: self,
            member,
            next: self.get(member).first_contact,
        }
    }

    /// Internal contacts of a member with walls.
    pub(crate) fn wall_contacts(
        &self,
        member: u32,
    ) -> impl Iterator<Item = (u32, &InternalContact)> {
        let contacts = self.contacts_of(member).map(|(_, contact)| contact);
        contacts.filter_map(|contact| match contact.second {
            Second::Wall { wall, .. } => Some((wall, contact)),
            Second::Member(_) => None,
        })
    }

    /// Adds a grain, whose pose is in the frame of the group; cells of the grid are as wide as
    /// `edge`, m, from the first one on.
    pub(crate) fn add(&mut self, grain: FrozenGrain, group: u8, edge: f64) -> u32 {
        if self.is_empty() {
            self.clear(edge);
        }
        let member = Member {
            grain,
            group,
            force: DVec3::ZERO,
            pressure: 0.0,
            is_doubtful: false,
            is_sliding: false,
            is_there: true,
            support: Support::None,
            first_contact: NONE,
            mark: 0,
        };
        let index = match self.vacant.pop() {
            Some(index) => {
                self.members[index as usize] = member;
                index
            }
            None => {
                self.members.push(member);
                self.members.len() as u32 - 1
            }
        };
        self.by_id.insert(grain.id, index);
        let slot = grain.slot as usize;
        if self.by_slot.len() <= slot {
            self.by_slot.resize(slot + 1, NONE);
        }
        self.by_slot[slot] = index;
        self.grid.insert(index, group, grain.pose.position);
        self.counts[group as usize] += 1;
        self.masses[group as usize].add(&grain, 1.0);
        self.max_radius = self.max_radius.max(grain.bounding_radius());
        let material = grain.material as usize;
        if self.materials.len() <= material {
            self.materials.resize(material + 1, false);
        }
        self.materials[material] = true;
        index
    }

    fn clear(&mut self, edge: f64) {
        self.members.clear();
        self.vacant.clear();
        self.contacts.clear();
        self.vacant_contacts.clear();
        self.by_id.clear();
        self.counts.fill(0);
        self.masses.fill(GroupMass::default());
        self.loads.clear();
        self.sliding.clear();
        self.grid.clear(edge);
        self.seen.clear();
        self.search = 0;
        self.max_radius = 0.0;
        self.materials.clear();
    }

    /// Adds a contact between members, or of a member with a wall. Forces on the members are
    /// summed by [`Members::sum_forces`].
    pub(crate) fn add_contact(&mut self, contact: InternalContact) {
        let bodies = match contact.second {
            Second::Member(second) => [Some(contact.first), Some(second)],
            Second::Wall { .. } => [Some(contact.first), None],
        };
        let heads = bodies.map(|body| body.map_or(NONE, |m| self.get(m).first_contact));
        let linked = Linked {
            contact,
            next: heads,
        };
        let index = match self.vacant_contacts.pop() {
            Some(index) => {
                self.contacts[index as usize] = linked;
                index
            }
            None => {
                self.contacts.push(linked);
                self.contacts.len() as u32 - 1
            }
        };
        for member in bodies.into_iter().flatten() {
            self.get_mut(member).first_contact = index;
        }
        self.book_load(&contact, 1.0);
        if contact.overlap.is_some() {
            let first = self.get_mut(contact.first);
            if !std::mem::replace(&mut first.is_sliding, true) {
                self.sliding.push(contact.first);
            }
        }
    }

    fn book_load(&mut self, contact: &InternalContact, sign: f64) {
        let Second::Wall { wall, .. } = contact.second else {
            return;
        };
        let Member { grain, group, .. } = *self.get(contact.first);
        let force = contact.on_second();
        let point = grain.pose.position + contact.normal * grain.radius;
        let moment = contact.normal * contact.force.twisting + contact.force.rolling;
        let load = self.loads.entry((group, wall)).or_default();
        load.add(force, point.cross(force) + moment, sign);
    }

    /// Sums the forces of internal contacts on these members, in the order of the contacts' keys:
    /// in whatever order they came.
    pub(crate) fn sum_forces(&mut self, team: &mut Team, list: &[u32]) {
        let mut sums = Vec::new();
        team.fill(&mut sums, list.len(), |k| self.force_on(list[k]));
        for (&member, sum) in list.iter().zip(sums) {
            let member = self.get_mut(member);
            (member.force, member.pressure) = sum;
        }
    }

    /// Sum of the forces of internal contacts on a member, and of their normal forces, N.
    fn force_on(&self, member: u32) -> (DVec3, f64) {
        // Hardly anybody has more: a list would have to be allocated.
        const FEW: usize = 16;
        let mut few = [(ContactKey::default(), NONE); FEW];
        let mut count = 0;
        for (at, contact) in self.contacts_of(member) {
            if let Some(place) = few.get_mut(count) {
                *place = (contact.key, at);
            }
            count += 1;
        }
        let mut many = Vec::new();
        let in_order = match few.get_mut(..count) {
            Some(few) => few,
            None => {
                let contacts = self.contacts_of(member);
                many.extend(contacts.map(|(at, contact)| (contact.key, at)));
                &mut many[..]
            }
        };
        in_order.sort_unstable_by_key(|(key, _)| *key);
        let (mut force, mut pressure) = (DVec3::ZERO, 0.0);
        for &(_, at) in &*in_order {
            let contact = &self.contacts[at as usize].contact;
            let sign = [-1.0, 1.0][contact.side(member)];
            force += contact.on_second() * sign;
            pressure += contact.force.normal;
        }
        (force, pressure)
    }

    /// Finds what carries these members, which are new. Returns those that nothing carries.
    pub(crate) fn support(&mut self, new: &[u32]) -> Vec<u32> {
        self.begin_search();
        for &member in new {
            self.get_mut(member).mark = self.search + 1;
        }
        self.attach(new)
    }

    /// These members and those around them, up to so many contacts away from each.
    pub(crate) fn with_layers(&mut self, seeds: &[(u32, u32)]) -> Vec<u32> {
        self.begin_search();
        // By layers still to go, the widest first: every member is met with most of them.
        let mut front: Vec<Vec<u32>> = Vec::new();
        for &(member, layers) in seeds {
            let layers = layers as usize;
            if front.len() <= layers {
                front.resize_with(layers + 1, Vec::new);
            }
            front[layers].push(member);
        }
        let mut all = Vec::new();
        for layers in (0..front.len()).rev() {
            for member in std::mem::take(&mut front[layers]) {
                if !self.mark(member) {
                    continue;
                }
                all.push(member);
                if let Some(next) = layers.checked_sub(1) {
                    let around = self
                        .contacts_of(member)
                        .filter_map(|(_, c)| c.other(member));
                    front[next].extend(around);
                }
            }
        }
        all
    }

    /// Members that nothing would carry if these were not there, beside them.
    pub(crate) fn unsupported_without(&mut self, leaving: &[u32]) -> Vec<u32> {
        self.begin_search();
        // Everything whose path to a wall goes through those that leave.
        let mut hanging = Vec::new();
        let mut stack: Vec<u32> = leaving.to_vec();
        for &member in leaving {
            self.mark(member);
        }
        while let Some(member) = stack.pop() {
            let around: Vec<u32> = self
                .contacts_of(member)
                .filter_map(|(_, contact)| contact.other(member))
                .collect();
            for other in around {
                let hangs = self.get(other).support == Support::Member(member);
                if hangs && self.mark(other) {
                    self.get_mut(other).mark = self.search + 1;
                    hanging.push(other);
                    stack.push(other);
                }
            }
        }
        for &member in leaving {
            self.get_mut(member).support = Support::None;
        }
        self.attach(&hanging)
    }

    /// Lets these members, which hang on nothing, hang on walls, or on others that are not marked.
    /// Returns those that cannot.
    fn attach(&mut self, list: &[u32]) -> Vec<u32> {
        let (met, waiting) = (self.search, self.search + 1);
        let mut attached: Vec<u32> = Vec::new();
        for &member in list {
            let support = self.contacts_of(member).find_map(|(_, contact)| {
                match (contact.second, contact.other(member)) {
                    (Second::Wall { carries: true, .. }, _) => Some(Support::Wall),
                    (_, Some(other)) if self.get(other).mark < met => Some(Support::Member(other)),
                    _ => None,
                }
            });
            self.get_mut(member).support = support.unwrap_or(Support::None);
            if support.is_some() {
                attached.push(member);
            }
        }
        for &member in &attached {
            self.get_mut(member).mark = met;
        }
        let mut at = 0;
        let mut around: Vec<u32> = Vec::new();
        while let Some(&member) = attached.get(at) {
            at += 1;
            around.clear();
            let others = self.contacts_of(member);
            let others = others.filter_map(|(_, contact)| contact.other(member));
            around.extend(others.filter(|&other| self.get(other).mark == waiting));
            for &other in &around {
                let of = self.get_mut(other);
                if of.mark == waiting {
                    (of.mark, of.support) = (met, Support::Member(member));
                    attached.push(other);
                }
            }
        }
        let is_waiting = |m: &u32| self.get(*m).mark == waiting;
        list.iter().copied().filter(is_waiting).collect()
    }

    /// Begins a search that threads share; its number.
    pub(super) fn begin_shared_search(&mut self) -> u32 {
        self.begin_search();
        let places = self.members.len();
        self.seen.resize_with(places, AtomicU32::default);
        self.search
    }

    /// Adds the members of a group to a list that nobody has met in this shared search and that
    /// are within a distance, m, plus so many of their own radii.
    pub(super) fn find_within(
        &self,
        group: u8,
        (centre, distance, radii): (DVec3, f64, f64),
        (search, out): (u32, &mut Vec<u32>),
    ) {
        let farthest = distance + radii * self.max_radius();
        self.grid.within(group, (centre, farthest), |member| {
            if self.was_met(member, search) {
                return;
            }
            let grain = &self.get(member).grain;
            let near = distance + radii * grain.bounding_radius();
            let is_near = grain.pose.position.distance_squared(centre) <= near * near;
            if is_near && self.is_first_met(member, search) {
                out.push(member);
            }
        });
    }

    /// The same with those in a box for which `is_near` says so.
    pub(super) fn find_within_box(
        &self,
        group: u8,
        bounds: Aabb,
        is_near: impl Fn(&FrozenGrain) -> bool,
        (search, out): (u32, &mut Vec<u32>),
    ) {
        self.grid.within_box(group, bounds, |member| {
            if is_near(&self.get(member).grain) && self.is_first_met(member, search) {
                out.push(member);
            }
        });
    }

    /// Whether a shared search has met a member: most have been, and a look spares others more.
    fn was_met(&self, member: u32, search: u32) -> bool {
        self.seen[member as usize].load(Ordering::Relaxed) == search
    }

    /// Whether a shared search meets a member for the first time.
    fn is_first_met(&self, member: u32, search: u32) -> bool {
        let seen = &self.seen[member as usize];
        !self.was_met(member, search) && seen.swap(search, Ordering::Relaxed) != search
    }

    pub(super) fn begin_search(&mut self) {
        self.search += 2;
    }

    /// Marks a member as met; false where it was before in this search.
    fn mark(&mut self, member: u32) -> bool {
        let now = self.search;
        let mark = &mut self.get_mut(member).mark;
        let is_new = *mark < now;
        if is_new {
            *mark = now;
        }
        is_new
    }

    /// Takes members out, with the contacts that they had as what was remembered of them.
    /// Forces on those that stay are to be summed anew: they are listed in `touched`.
    pub(crate) fn remove(
        &mut self,
        list: &[u32],
        mut remember: impl FnMut(&Members, &InternalContact),
        touched: &mut Vec<u32>,
    ) {
        let mut has_slid = false;
        for &member in list {
            let mut next = self.get(member).first_contact;
            while next != NONE {
                let at = next;
                let Linked { contact, next: of } = self.contacts[at as usize];
                next = of[contact.side(member)];
                self.book_load(&contact, -1.0);
                remember(self, &contact);
                if let Some(other) = contact.other(member) {
                    self.unlink(other, at);
                    touched.push(other);
                }
                self.vacant_contacts.push(at);
            }
            let of = self.get_mut(member);
            of.first_contact = NONE;
            of.is_there = false;
            has_slid |= of.is_sliding;
            let Member { grain, group, .. } = *of;
            self.grid.remove(member, group, grain.pose.position);
            self.by_id.remove(&grain.id);
            self.counts[group as usize] -= 1;
            self.masses[group as usize].add(&grain, -1.0);
            self.vacant.push(member);
        }
        touched.retain(|&m| self.is_there(m));
        touched.sort_unstable();
        touched.dedup();
        if has_slid {
            let Members {
                sliding, members, ..
            } = self;
            sliding.retain(|&m| members[m as usize].is_there);
        }
    }

    /// Takes all members and contacts out.
    pub(crate) fn remove_all(&mut self) {
        self.clear(self.grid.edge());
    }

    /// Takes a contact out of the list of one of its members.
    fn unlink(&mut self, member: u32, contact: u32) {
        let gone = &self.contacts[contact as usize];
        let after = gone.next[gone.contact.side(member)];
        let first = self.get(member).first_contact;
        if first == contact {
            self.get_mut(member).first_contact = after;
            return;
        }
        let mut at = first;
        while at != NONE {
            let here = &mut self.contacts[at as usize];
            let next = &mut here.next[here.contact.side(member)];
            if *next == contact {
                *next = after;
                return;
            }
            at = *next;
        }
    }
}

/// An internal contact as it is remembered in a step of this length, with the group's frame there.
pub(crate) fn remembered(contact: &InternalContact, frame: &Pose, substep: f64) -> Remembered {
    let turned = |v: DVec3| frame.orientation * v;
    let force = contact.force;
    Remembered {
        key: contact.key,
        normal: turned(contact.normal),
        impulse: Impulse {
            normal: force.normal,
            friction: turned(force.friction),
            rolling: turned(force.rolling),
            twisting: force.twisting,
        }
        .scaled(substep),
    }
}
