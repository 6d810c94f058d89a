//! Contacts as the vector kernels read them: groups of [`LANES`] contacts,
//! each quantity one cache line.
//!
//! A 3-row contact takes 112 bytes, of which a sweep writes 40; rolling and
//! twisting rows add 56, of which 32 are written. Contacts of the general form
//! have 200 more, which are only read. What is the same for all
//! contacts of a law is kept once per law.

use esker_contact::{BodyState, Contact, ContactRows, Form, GeneralContact, Impulse, Spring};
use esker_parallel::{SharedSlice, Team, resize};
use glam::{DMat3, DVec3};

use crate::kernel::Work;
use crate::lanes::Quad;
use crate::plan::{LANES, SweepPlan};
use crate::sweep::{Diagonal, TangentCompliance};

/// What all contacts of one law share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Law {
    /// Coulomb friction coefficient µ.
    pub friction: f64,
    /// Whether there are rolling or twisting rows.
    pub rolls: bool,
    /// `4/(e h_s)`, 1/s (see `esker_contact::Stabilisation::bias_rate`).
    pub bias_rate: f64,
    /// Whether the compliance depends on the overlap.
    pub hertz: bool,
    /// Newton's coefficient of restitution e.
    pub restitution: f64,
    /// Approach speed above which an unloaded contact is an impact, m/s.
    pub impact_speed: f64,
    /// Whether contacts turn with their bodies (see `follow.rs`).
    pub follows: bool,
    /// Whether contacts have the general form.
    pub general: bool,
    /// Whether some of their bodies are locked along axes (see
    /// `esker_contact::GeneralContact::free`); of the general form alone.
    pub locks: bool,
}

/// One contact on its way into a group. Laws have what the parts of `contact`,
/// `spring` and `impact` share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Geometry and law.
    pub contact: Contact,
    /// Normal row of the sub-stepped way. Its `min_overlap` should be a
    /// 32-bit number: groups keep no more of it.
    pub spring: Spring,
    /// Speed at which the bodies are expected to close a gap at most within the
    /// step, m/s: how long an open contact may sleep. Infinite where not known.
    pub closing: f64,
    /// Impulse to start from.
    pub impulse: Impulse,
}

impl Row {
    /// A row of a whole step: `spring` is not looked at.
    pub fn whole(contact: Contact, impulse: Impulse) -> Self {
        Row {
            contact,
            spring: Spring::default(),
            closing: f64::INFINITY,
            impulse,
        }
    }

    /// Time from the start of the step for which the contact stays open, s; zero where it
    /// touches or is loaded.
    #[inline]
    pub fn open_time(&self) -> f64 {
        if self.spring.overlap < 0.0 && self.impulse.normal <= 0.0 {
            -self.spring.overlap / self.closing
        } else {
            0.0
        }
    }
}

/// Which rows a group holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// `spring` of a [`Row`]: normal rows follow the overlap.
    Substep,
    /// `contact.target` and `contact.compliance`: normal rows stay.
    Whole,
}

/// One cache line: a quantity of all contacts of a group.
pub(crate) type Line = [f64; LANES];

/// [`LANES`] contacts that share no body.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Group {
    /// Not written while contacts are swept: threads that prefetch read them of
    /// groups that others work on, who therefore borrow `rows` alone.
    pub(crate) bodies: [[u32; LANES]; 2],
    pub(crate) rows: Rows,
}

/// What a sweep reads and writes of the contacts of a [`Group`].
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Rows {
    pub(crate) normal: [Line; 3],
    /// Overlap, or the target `b_n` of a whole step.
    pub(crate) overlap: Line,
    pub(crate) arms: [Line; 2],
    pub(crate) inverse_tangent: [f32; LANES],
    /// `κ x` (see [`Spring::cap`]).
    pub(crate) cap: [f32; LANES],
    /// Compliance at unit overlap, or the compliance itself of a whole step.
    pub(crate) compliance: Line,
    pub(crate) min_overlap: [f32; LANES],
    /// `Y`, negative where rows return the restitution (see [`Spring::packed_damping`]).
    pub(crate) damping_factor: [f32; LANES],
    pub(crate) impulse: Line,
    pub(crate) friction: [Line; 3],
}

/// Rolling and twisting rows of a group.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct RollingGroup {
    pub(crate) rolling_limit: Line,
    pub(crate) twisting_limit: Line,
    pub(crate) inverse_rolling: Line,
    pub(crate) rolling: [Line; 3],
    pub(crate) twisting: Line,
}

/// What a group of contacts of the general form has beside [`Group`], as
/// `esker_contact::GeneralContact` has it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct GeneralGroup {
    /// `B_a`, `B_b`, column by column.
    pub(crate) angular: [[Line; 9]; 2],
    /// `W n − n S_n`.
    pub(crate) coupling: [Line; 3],
    /// `u'`, or of a whole step `t u'`.
    pub(crate) rate: [Line; 3],
    /// `S_n`.
    pub(crate) mobility: Line,
}

/// What it has besides where it rolls: `C_a`, `C_b`, column by column.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct GeneralRollingGroup {
    pub(crate) angular_velocity: [[Line; 9]; 2],
}

/// What it has besides where bodies are locked: `P_a`, `P_b`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct GeneralLockedGroup {
    pub(crate) free: [[Line; 3]; 2],
}

/// How long the contacts of a group stay open for sure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Expected closing speed, m/s (see [`Row::closing`]).
    pub(crate) closing: [f32; LANES],
    /// Time from the start of the step, s; zero where a contact touches or is
    /// loaded.
    pub(crate) time: f64,
}

impl Default for Wait {
    fn default() -> Self {
        Wait {
            closing: [0.0; LANES],
            time: f64::INFINITY,
        }
    }
}

impl Wait {
    #[inline]
    fn set(&mut self, lane: usize, row: &Row) {
        self.closing[lane] = row.closing as f32;
        self.time = self.time.min(row.open_time());
    }
}

/// All contacts of a plan, packed.
#[derive(Clone, Debug, Default)]
pub struct PackedContacts {
    pub(crate) groups: Vec<Group>,
    /// One per group where some law rolls, else empty.
    pub(crate) rolling: Vec<RollingGroup>,
    /// One per group of substep rows, else empty.
    pub(crate) waits: Vec<Wait>,
    /// Of the groups of general form, in order.
    pub(crate) general: Vec<GeneralGroup>,
    /// One per general group where some general law rolls, else empty.
    pub(crate) general_rolling: Vec<GeneralRollingGroup>,
    /// One per general group where some law locks, else empty.
    pub(crate) general_locked: Vec<GeneralLockedGroup>,
    /// Index of each group in `general`; empty where no group is.
    pub(crate) general_of: Vec<u32>,
    pub(crate) laws: Vec<Law>,
    /// Bodies with copies, where the plan has any.
    pub(crate) all_bodies: Vec<BodyState>,
}

/// Bytes of one contact in groups, and of its rolling rows.
pub const BYTES_PER_CONTACT: [usize; 2] = [
    size_of::<Group>() / LANES,
    size_of::<RollingGroup>() / LANES,
];

/// Bytes that a sweep writes per contact, and per contact with rolling rows more.
pub const BYTES_WRITTEN_PER_CONTACT: [usize; 2] = [40, 32];

/// Bytes that a substep reads and writes per body once contacts are beyond the
/// caches: its velocities for the sweep, then for the substep's end together
/// with those before it and their sums.
pub const BYTES_PER_BODY: usize = 2 * size_of::<BodyState>()
    + size_of::<Quad>()
    + 2 * (size_of::<BodyState>() + 4 * size_of::<Quad>());

/// How rows become groups.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a> {
    /// Which rows there are.
    pub kind: RowKind,
    /// All laws, by the plan's index.
    pub laws: &'a [Law],
    /// Compliance of friction and rolling rows.
    pub compliance: TangentCompliance,
    /// General contacts, by the index in their rows.
    pub general: &'a [GeneralContact],
    /// `t` of the rows of a whole step (see `ContactProblem::time`), s.
    pub time: f64,
}

impl PackedContacts {
    /// Gives every group of general form its place.
    fn number_general_groups(&mut self, plan: &SweepPlan, laws: &[Law]) {
        let mut count = 0;
        self.general_of.clear();
        if laws.iter().any(|law| law.general) {
            self.general_of.extend(plan.laws.iter().map(|&law| {
                let own = count;
                count += u32::from(laws[law as usize].general);
                own
            }));
        }
        let length = |needed: bool| if needed { count as usize } else { 0 };
        let rolls = laws.iter().any(|law| law.general && law.rolls);
        let locks = laws.iter().any(|law| law.locks);
        resize(&mut self.general, count as usize);
        resize(&mut self.general_rolling, length(rolls));
        resize(&mut self.general_locked, length(locks));
    }

    /// Packs the rows of a plan; `row(i)` is the contact at place `i` of the
    /// plan's order.
    pub fn pack(
        &mut self,
        team: &mut Team,
        plan: &SweepPlan,
        packing: Packing<'_>,
        bodies: &[BodyState],
        row: impl Fn(usize) -> Row + Sync,
    ) {
        self.laws.clear();
        self.laws.extend_from_slice(packing.laws);
        let groups = plan.group_count();
        let rolls = packing.laws.iter().any(|l| l.rolls);
        let substeps = packing.kind == RowKind::Substep;
        let length = |used: bool| if used { groups } else { 0 };
        resize(&mut self.rolling, length(rolls));
        resize(&mut self.waits, length(substeps));
        self.number_general_groups(plan, packing.laws);
        let bodies = if plan.copies.is_empty() {
            bodies
        } else {
            plan.copies.expand(team, bodies, &mut self.all_bodies);
            &self.all_bodies
        };
        let general_of = &self.general_of;
        let general_groups = SharedSlice::new(&mut self.general);
        let general_rolling = SharedSlice::new(&mut self.general_rolling);
        let general_locked = SharedSlice::new(&mut self.general_locked);
        let rolling_groups = SharedSlice::new(&mut self.rolling);
        let waits = SharedSlice::new(&mut self.waits);
        resize(&mut self.groups, groups);
        let all_groups = SharedSlice::new(&mut self.groups);
        let pack_group = |g: usize| {
            // In its place: a group is too large to be carried there.
            // SAFETY: this is called once per group.
            let group = unsafe { all_groups.at(g) };
            *group = Group::default();
            let mut rolling = RollingGroup::default();
            let mut wait = Wait::default();
            let law = &packing.laws[plan.laws[g] as usize];
            let mut general = law.general.then(GeneralGroup::default);
            let mut general_angular_velocities =
                (law.general && law.rolls).then(GeneralRollingGroup::default);
            let mut locked = law.locks.then(GeneralLockedGroup::default);
            for (lane, i) in (plan.groups[g]..plan.groups[g + 1]).enumerate() {
                let mut row = row(i as usize);
                row.contact.bodies = plan.copies.acted_on(i as usize, row.contact.bodies);
                group.set(lane, &row, packing, bodies);
                wait.set(lane, &row);
                if rolls {
                    let rows = row.contact.rows(packing.general, 0.0);
                    let diagonal = Diagonal::of(rows, bodies, packing.compliance);
                    rolling.set(lane, &row, &diagonal);
                }
                if let Some(general) = &mut general {
                    general.set(lane, &row.contact, packing, bodies);
                }
                if let Some(angular_velocities) = &mut general_angular_velocities {
                    angular_velocities.set(lane, &row.contact, packing);
                }
                if let Some(locked) = &mut locked {
                    locked.set(lane, &row.contact, packing);
                }
            }
            group.make_idle((plan.groups[g + 1] - plan.groups[g]) as usize);
            // SAFETY: as above.
            unsafe {
                if rolls {
                    *rolling_groups.at(g) = rolling;
                }
                if substeps {
                    *waits.at(g) = wait;
                }
                if let Some(general) = general {
                    *general_groups.at(general_of[g] as usize) = general;
                }
                if let Some(angular_velocities) = general_angular_velocities {
                    *general_rolling.at(general_of[g] as usize) = angular_velocities;
                }
                if let Some(locked) = locked {
                    *general_locked.at(general_of[g] as usize) = locked;
                }
            }
        };
        team.run(|worker| worker.part_of(groups, 1).for_each(pack_group));
    }

    /// Copies the impulses out, in the plan's order.
    pub fn impulses(&self, team: &mut Team, plan: &SweepPlan, out: &mut Vec<Impulse>) {
        out.resize(plan.contacts(), Impulse::default());
        let shared = SharedSlice::new(out);
        team.run(|worker| {
            for g in worker.part_of(plan.group_count(), 1) {
                let range = plan.groups[g] as usize..plan.groups[g + 1] as usize;
                // SAFETY: groups are disjoint ranges of contacts.
                let out = unsafe { shared.part(range) };
                for (lane, impulse) in out.iter_mut().enumerate() {
                    *impulse = self.impulse(g, lane);
                }
            }
        });
    }

    /// Impulse of one contact.
    pub fn impulse(&self, group: usize, lane: usize) -> Impulse {
        impulse_in(&self.groups[group].rows, self.rolling.get(group), lane)
    }

    /// Gives a row the geometry that its contact has now and the spring that it
    /// is swept with: velocities have changed since both were assembled.
    pub(crate) fn bring_up_to_date(&self, row: &mut Row, group: usize, lane: usize) {
        let g = &self.groups[group].rows;
        row.contact.normal = vector(&g.normal, lane);
        row.contact.arms = g.arms.map(|a| a[lane]);
        let spring = &mut row.spring;
        spring.overlap = g.overlap[lane];
        spring.unit_compliance = g.compliance[lane];
        spring.cap = f64::from(g.cap[lane]);
        spring.set_packed_damping(g.damping_factor[lane]);
    }
}

/// Calls `with` with the geometry of one packed contact; laws and rows do not
/// enter, and neither do rates.
///
/// # Safety
/// Nobody writes to the group.
pub(crate) unsafe fn with_rows<T>(
    work: &Work<'_>,
    group: usize,
    lane: usize,
    with: impl FnOnce(ContactRows<'_>) -> T,
) -> T {
    // SAFETY: passed on to the caller.
    let Group { bodies, rows: g } = unsafe { &*work.groups.add(group) };
    let is_general = work.laws[work.group_laws[group] as usize].general;
    let contact = Contact {
        form: if is_general {
            Form::General(0)
        } else {
            Form::Radial
        },
        ..Contact::frictionless(
            bodies.map(|b| b[lane]),
            vector(&g.normal, lane),
            g.arms.map(|a| a[lane]),
        )
    };
    if !is_general {
        return with(contact.radial());
    }
    let index = work.general_of[group] as usize;
    let Law { rolls, locks, .. } = work.laws[work.group_laws[group] as usize];
    // SAFETY: every group of a general law has its part, and one of a law that
    // rolls or locks the other one too.
    let general = unsafe {
        GeneralContact {
            angular: matrices(&(*work.general.add(index)).angular, lane),
            angular_velocity: if rolls {
                matrices(&(*work.general_rolling.add(index)).angular_velocity, lane)
            } else {
                [DMat3::ZERO; 2]
            },
            rate: DVec3::ZERO,
            free: if locks {
                let free = &(*work.general_locked.add(index)).free;
                [0, 1].map(|side| vector(&free[side], lane))
            } else {
                [DVec3::ONE; 2]
            },
        }
    };
    with(contact.rows(&[general], 0.0))
}

/// Sets the impulse of one contact to zero.
pub(crate) fn clear_slot(rows: &mut Rows, rolling: Option<&mut RollingGroup>, lane: usize) {
    rows.impulse[lane] = 0.0;
    set_vector(&mut rows.friction, lane, DVec3::ZERO);
    if let Some(r) = rolling {
        set_vector(&mut r.rolling, lane, DVec3::ZERO);
        r.twisting[lane] = 0.0;
    }
}

pub(crate) fn impulse_in(rows: &Rows, rolling: Option<&RollingGroup>, lane: usize) -> Impulse {
    Impulse {
        normal: rows.impulse[lane],
        friction: vector(&rows.friction, lane),
        rolling: rolling.map_or(DVec3::ZERO, |r| vector(&r.rolling, lane)),
        twisting: rolling.map_or(0.0, |r| r.twisting[lane]),
    }
}

pub(crate) fn vector(lines: &[Line; 3], lane: usize) -> DVec3 {
    DVec3::from_array(lines.map(|l| l[lane]))
}

fn matrices(lines: &[[Line; 9]; 2], lane: usize) -> [DMat3; 2] {
    lines
        .each_ref()
        .map(|matrix| DMat3::from_cols_array(&matrix.map(|l| l[lane])))
}

fn set_matrices(lines: &mut [[Line; 9]; 2], lane: usize, values: &[DMat3; 2]) {
    for (lines, value) in lines.iter_mut().zip(values) {
        for (line, x) in lines.iter_mut().zip(value.to_cols_array()) {
            line[lane] = x;
        }
    }
}

pub(crate) fn set_vector(lines: &mut [Line; 3], lane: usize, value: DVec3) {
    for (line, x) in lines.iter_mut().zip(value.to_array()) {
        line[lane] = x;
    }
}

impl Group {
    /// Lines at its beginning that a look at a sleeping group reads: bodies, normals and
    /// overlaps.
    pub(crate) const LOOKED_AT: usize = std::mem::offset_of!(Group, rows.arms) / size_of::<Line>();

    #[inline(always)]
    fn set(&mut self, lane: usize, row: &Row, packing: Packing<'_>, bodies: &[BodyState]) {
        let contact = &row.contact;
        let [a, b] = contact.bodies.map(|i| i as usize);
        // What the kernels' unchecked gathers rely on.
        assert!(a < bodies.len() && b < bodies.len() && a != b);
        for (indices, body) in self.bodies.iter_mut().zip(contact.bodies) {
            indices[lane] = body;
        }
        self.rows.set(lane, row, packing, bodies);
    }

    /// Lanes from `active` on: a gap of a metre that never closes between the
    /// bodies of the first lane, which are read but not written.
    fn make_idle(&mut self, active: usize) {
        for lane in active..LANES {
            for indices in &mut self.bodies {
                indices[lane] = indices[0];
            }
            self.rows.make_idle(lane);
        }
    }
}

impl Rows {
    #[inline(always)]
    fn set(&mut self, lane: usize, row: &Row, packing: Packing<'_>, bodies: &[BodyState]) {
        let contact = &row.contact;
        set_vector(&mut self.normal, lane, contact.normal);
        for (arms, arm) in self.arms.iter_mut().zip(contact.arms) {
            arms[lane] = arm;
        }
        let rows = contact.rows(packing.general, 0.0);
        let pair = contact.bodies.map(|i| &bodies[i as usize]);
        self.inverse_tangent[lane] =
            Diagonal::inverse_tangent_of(rows, pair, packing.compliance) as f32;
        match packing.kind {
            RowKind::Substep => {
                let spring = &row.spring;
                self.compliance[lane] = spring.unit_compliance;
                self.overlap[lane] = spring.overlap;
                self.min_overlap[lane] = spring.min_overlap as f32;
                self.cap[lane] = spring.cap as f32;
                self.damping_factor[lane] = spring.packed_damping();
            }
            RowKind::Whole => {
                self.compliance[lane] = contact.compliance;
                self.overlap[lane] = contact.target;
            }
        }
        // Kernels take it for granted that an unloaded contact has no friction.
        if row.impulse.normal > 0.0 {
            self.impulse[lane] = row.impulse.normal;
            set_vector(&mut self.friction, lane, row.impulse.friction);
        }
    }

    fn make_idle(&mut self, lane: usize) {
        self.normal[0][lane] = 1.0;
        self.arms[0][lane] = 1.0;
        self.compliance[lane] = 1.0;
        self.overlap[lane] = -1.0;
        self.min_overlap[lane] = 1.0;
    }
}

impl GeneralGroup {
    fn set(&mut self, lane: usize, contact: &Contact, packing: Packing<'_>, bodies: &[BodyState]) {
        let rows = contact.rows(packing.general, 0.0);
        let general = rows
            .general()
            .expect("a contact of a general law has the general form");
        let [a, b] = contact.bodies.map(|i| &bodies[i as usize]);
        set_matrices(&mut self.angular, lane, &general.angular);
        set_vector(&mut self.coupling, lane, rows.coupling(a, b));
        let time = match packing.kind {
            RowKind::Substep => 1.0,
            RowKind::Whole => packing.time,
        };
        set_vector(&mut self.rate, lane, general.rate * time);
        self.mobility[lane] = rows.normal_mobility(a, b);
    }
}

impl GeneralRollingGroup {
    fn set(&mut self, lane: usize, contact: &Contact, packing: Packing<'_>) {
        let rows = contact.rows(packing.general, 0.0);
        let general = rows
            .general()
            .expect("a contact of a general law has the general form");
        set_matrices(&mut self.angular_velocity, lane, &general.angular_velocity);
    }
}

impl GeneralLockedGroup {
    fn set(&mut self, lane: usize, contact: &Contact, packing: Packing<'_>) {
        let free = contact.rows(packing.general, 0.0).free();
        for (lines, free) in self.free.iter_mut().zip(free) {
            set_vector(lines, lane, free);
        }
    }
}

impl RollingGroup {
    #[inline]
    fn set(&mut self, lane: usize, row: &Row, diagonal: &Diagonal) {
        self.rolling_limit[lane] = row.contact.rolling;
        self.twisting_limit[lane] = row.contact.twisting;
        self.inverse_rolling[lane] = diagonal.inverse_rolling;
        if row.impulse.normal > 0.0 {
            set_vector(&mut self.rolling, lane, row.impulse.rolling);
            self.twisting[lane] = row.impulse.twisting;
        }
    }
}
