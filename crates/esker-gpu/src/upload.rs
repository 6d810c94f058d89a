//! Contacts on their way to a device: block by block in the order of levels.
//!
//! `unsafe`: threads fill the staging memory of blocks, each those of its own.

use std::ops::Range;

use esker_contact::{BodyState, Impulse};
use esker_parallel::SharedSlice;
use esker_solver::backend::SubstepProblem;
use esker_solver::packed::Row;
use esker_solver::plan::LANES;
use esker_solver::sweep::{Diagonal, TangentCompliance};

use crate::arrays::ContactArrays;
use crate::layout::{BlockRecord, EMPTY_PLACE};
use crate::levels::LevelOrder;
use crate::memory::{DeviceMemory, shared};

/// What a thread needs to put the contacts of a block in order.
#[derive(Debug, Default)]
pub(crate) struct BlockScratch {
    pub(crate) rows: Vec<Row>,
    pub(crate) bodies: Vec<[u32; 2]>,
    pub(crate) levels: LevelOrder,
    /// Of the blocks that were ordered.
    pub(crate) most_bodies: u32,
}

/// Arrays of the contacts' memory as threads share them.
pub(crate) struct SharedContacts<'a> {
    pub(crate) block: SharedSlice<'a, BlockRecord>,
    pub(crate) level: SharedSlice<'a, u32>,
    pub(crate) body_list: SharedSlice<'a, u32>,
    pub(crate) open_time: SharedSlice<'a, f64>,
    pub(crate) last_body: SharedSlice<'a, u32>,
    pub(crate) contact_bodies: SharedSlice<'a, u32>,
    pub(crate) group: SharedSlice<'a, u32>,
    pub(crate) law: SharedSlice<'a, u16>,
    /// Compliance, normal, overlap, arms, impulse, friction.
    pub(crate) rows: [SharedSlice<'a, f64>; 11],
    /// Inverse tangent, cap, smallest overlap, damping factor, closing speed.
    pub(crate) singles: [SharedSlice<'a, f32>; 5],
    /// Limits of rolling and twisting, inverse rolling, rolling, twisting.
    pub(crate) rolling: [SharedSlice<'a, f64>; 7],
}

impl<'a> SharedContacts<'a> {
    pub(crate) fn new<M: DeviceMemory>(memory: &'a mut M, arrays: &ContactArrays) -> Self {
        let a = arrays;
        let memory = &*memory;
        // SAFETY: a layout's arrays are apart, and the memory is borrowed alone.
        unsafe {
            SharedContacts {
                block: shared(memory, a.block),
                level: shared(memory, a.level),
                body_list: shared(memory, a.body_list),
                open_time: shared(memory, a.open_time),
                last_body: shared(memory, a.last_body),
                contact_bodies: shared(memory, a.contact_bodies),
                group: shared(memory, a.group),
                law: shared(memory, a.law),
                rows: [
                    a.compliance,
                    a.normal[0],
                    a.normal[1],
                    a.normal[2],
                    a.overlap,
                    a.arms[0],
                    a.arms[1],
                    a.impulse,
                    a.friction[0],
                    a.friction[1],
                    a.friction[2],
                ]
                .map(|array| shared(memory, array)),
                singles: [
                    a.inverse_tangent,
                    a.cap,
                    a.min_overlap,
                    a.damping_factor,
                    a.closing,
                ]
                .map(|array| shared(memory, array)),
                rolling: [
                    a.rolling_limit,
                    a.twisting_limit,
                    a.inverse_rolling,
                    a.rolling[0],
                    a.rolling[1],
                    a.rolling[2],
                    a.twisting,
                ]
                .map(|array| shared(memory, array)),
            }
        }
    }

    /// Writes a contact to its place.
    ///
    /// # Safety
    /// Nobody else touches this place.
    pub(crate) unsafe fn set(
        &self,
        place: usize,
        row: &Row,
        bodies: &[BodyState],
        with: TangentCompliance,
    ) {
        let (contact, spring) = (&row.contact, &row.spring);
        let rows = contact.radial();
        let pair = contact.bodies.map(|body| &bodies[body as usize]);
        let inverse_tangent = Diagonal::inverse_tangent_of(rows, pair, with);
        let is_loaded = row.impulse.normal > 0.0;
        let given = if is_loaded {
            row.impulse
        } else {
            Impulse::default()
        };
        let (n, t) = (contact.normal, given.friction);
        let values = [
            spring.unit_compliance,
            n.x,
            n.y,
            n.z,
            spring.overlap,
            contact.arms[0],
            contact.arms[1],
            given.normal,
            t.x,
            t.y,
            t.z,
        ];
        let singles = [
            inverse_tangent as f32,
            spring.cap as f32,
            spring.min_overlap as f32,
            spring.packed_damping(),
            row.closing as f32,
        ];
        // SAFETY: passed on to the caller.
        unsafe {
            for (array, value) in self.rows.iter().zip(values) {
                *array.at(place) = value;
            }
            for (array, value) in self.singles.iter().zip(singles) {
                *array.at(place) = value;
            }
            if !self.rolling[0].is_empty() {
                let diagonal = Diagonal::of(rows, bodies, with);
                let r = given.rolling;
                let values = [
                    contact.rolling,
                    contact.twisting,
                    diagonal.inverse_rolling,
                    r.x,
                    r.y,
                    r.z,
                    given.twisting,
                ];
                for (array, value) in self.rolling.iter().zip(values) {
                    *array.at(place) = value;
                }
            }
        }
    }
}

/// What blocks are uploaded from.
pub(crate) struct Blocks<'a> {
    pub(crate) problem: SubstepProblem<'a>,
    /// Bodies that contacts act on, copies among them.
    pub(crate) bodies: &'a [BodyState],
    pub(crate) row: &'a (dyn Fn(usize) -> Row + Sync),
    /// Bodies that fit into the memory of a thread block.
    pub(crate) fitting: usize,
}

impl Blocks<'_> {
    /// Writes groups of a flat plan, whose rows are in `scratch`, each to places of its own.
    ///
    /// # Safety
    /// Nobody else touches what belongs to these groups.
    unsafe fn write_groups(
        &self,
        groups: Range<usize>,
        out: &SharedContacts<'_>,
        places: SharedSlice<'_, u32>,
        scratch: &BlockScratch,
    ) {
        let plan = self.problem.plan;
        let first = plan.groups[groups.start] as usize;
        for group in groups {
            let members = plan.groups[group] as usize..plan.groups[group + 1] as usize;
            let rows = &scratch.rows[members.start - first..members.end - first];
            let open_time = rows
                .iter()
                .map(Row::open_time)
                .fold(f64::INFINITY, f64::min);
            let bodies = rows.iter().flat_map(|row| row.contact.bodies);
            // SAFETY: passed on to the caller.
            unsafe {
                *out.open_time.at(group) = open_time;
                *out.last_body.at(group) = bodies.fold(0, u32::max);
                out.law
                    .part(LANES * group..LANES * (group + 1))
                    .fill(EMPTY_PLACE);
                for (lane, row) in rows.iter().enumerate() {
                    let place = LANES * group + lane;
                    *places.at(members.start + lane) = place as u32;
                    *out.law.at(place) = plan.laws[group];
                    out.contact_bodies
                        .part(2 * place..2 * place + 2)
                        .copy_from_slice(&row.contact.bodies);
                    out.set(place, row, self.bodies, self.problem.compliance);
                }
            }
        }
    }

    /// Orders one block and writes it.
    ///
    /// # Safety
    /// Nobody else touches what belongs to this block.
    pub(crate) unsafe fn write(
        &self,
        block: usize,
        out: &SharedContacts<'_>,
        places: SharedSlice<'_, u32>,
        scratch: &mut BlockScratch,
    ) {
        let plan = self.problem.plan;
        let groups = plan.blocks[block] as usize..plan.blocks[block + 1] as usize;
        let [first, end] = [groups.start, groups.end].map(|g| plan.groups[g] as usize);
        scratch.rows.clear();
        scratch.rows.extend((first..end).map(|i| {
            let mut row = (self.row)(i);
            row.contact.bodies = plan.copies.acted_on(i, row.contact.bodies);
            row
        }));
        if plan.is_flat {
            // SAFETY: passed on to the caller.
            unsafe { self.write_groups(groups, out, places, scratch) };
            return;
        }
        scratch.bodies.clear();
        scratch
            .bodies
            .extend(scratch.rows.iter().map(|row| row.contact.bodies));
        scratch.levels.order(&scratch.bodies);
        let levels = &scratch.levels;
        let body_count = levels.bodies.len();
        let fits = body_count <= self.fitting;
        let record = BlockRecord {
            contacts: [first as u32, end as u32],
            bodies: [2 * first as u32, if fits { body_count as u32 } else { 0 }],
            groups: [groups.start as u32, groups.end as u32],
        };
        if fits {
            scratch.most_bodies = scratch.most_bodies.max(body_count as u32);
        }
        // SAFETY: these ranges are the block's own; the rest is passed on to the caller.
        unsafe {
            *out.block.at(block) = record;
            out.body_list
                .part(2 * first..2 * first + body_count)
                .copy_from_slice(&levels.bodies);
            for group in groups {
                let members = plan.groups[group] as usize..plan.groups[group + 1] as usize;
                let (mut open_time, mut last_body) = (f64::INFINITY, 0);
                for i in members {
                    let row = &scratch.rows[i - first];
                    open_time = open_time.min(row.open_time());
                    last_body = row.contact.bodies.into_iter().fold(last_body, u32::max);
                    let place = first + levels.places[i - first] as usize;
                    *places.at(i) = place as u32;
                    *out.level.at(place) = levels.level_of[i - first];
                    *out.group.at(place) = group as u32;
                    *out.law.at(place) = plan.laws[group];
                    let named = if fits {
                        levels.indices[i - first]
                    } else {
                        row.contact.bodies
                    };
                    out.contact_bodies
                        .part(2 * place..2 * place + 2)
                        .copy_from_slice(&named);
                    out.set(place, row, self.bodies, self.problem.compliance);
                }
                *out.open_time.at(group) = open_time;
                *out.last_body.at(group) = last_body;
            }
        }
    }
}
