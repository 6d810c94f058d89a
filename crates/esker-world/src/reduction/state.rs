//! Aggregates as plain data, and back.

use esker_contact::Impulse;
use esker_geometry::Pose;
use glam::{DQuat, DVec3};

use super::members::{InternalContact, Second};
use super::{Aggregates, Pending, ReductionTotals, RefreshClock};
use crate::World;
use crate::contact::ContactKey;
use crate::grains::{FrozenGrain, GrainId, Rest};
use crate::state::{GrainState, RestoreError};

/// A frozen grain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrozenState {
    /// The grain as it is now.
    pub grain: GrainState,
    /// Its centre in the frame of its group, m.
    pub position: DVec3,
    /// Its orientation there, a unit quaternion.
    pub orientation: DQuat,
    /// Its group of walls.
    pub group: u8,
}

/// A contact of frozen grains, in the frame of their group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InternalState {
    /// Its name.
    pub key: ContactKey,
    /// Its normal.
    pub normal: DVec3,
    /// Forces and torques, N and N m.
    pub force: Impulse,
    /// Overlap when it became internal, m, where the group slides along its wall.
    pub overlap: Option<f64>,
}

/// Everything about aggregates that changes while a world runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AggregatesState {
    /// Width of the cells in which frozen grains are found, m; zero before the first one.
    pub edge: f64,
    /// How long free grains have been at rest, in the order in which they are stored.
    pub rest: Vec<Rest>,
    /// Frozen grains in the order of ids.
    pub frozen: Vec<FrozenState>,
    /// Their contacts in the order of keys.
    pub contacts: Vec<InternalState>,
    /// Frozen grains whose balance may have changed in the last step.
    pub doubtful: Vec<GrainId>,
    /// Free grains that the next step freezes, by their place, ascending.
    pub freeze: Vec<u32>,
    /// Frozen grains that the next step sets free.
    pub release: Vec<GrainId>,
    /// Whether the next step sets all of a group free, by group.
    pub release_groups: Vec<bool>,
    /// When groups are set free as a whole.
    pub clocks: Vec<RefreshClock>,
    /// What happened so far.
    pub totals: ReductionTotals,
}

impl World {
    /// The state of aggregates, where there may be some.
    pub(crate) fn aggregates_state(&self) -> Option<AggregatesState> {
        let aggregates = self.aggregates.as_ref()?;
        let members = &aggregates.members;
        let frozen = |m: u32| {
            let of = members.get(m);
            let (grain, velocities) = aggregates.frozen_at(m, self.time(), self.next_step_length());
            FrozenState {
                grain: state_of(&grain, velocities),
                position: of.grain.pose.position,
                orientation: of.grain.pose.orientation,
                group: of.group,
            }
        };
        let contacts = members.contacts_in_key_order().into_iter();
        let id = |m: u32| members.get(m).grain.id;
        let mut doubtful: Vec<GrainId> = aggregates.doubtful().map(id).collect();
        doubtful.sort_unstable();
        doubtful.dedup();
        Some(AggregatesState {
            edge: aggregates.edge,
            rest: self.grains.rest[..self.grains.free_count()].to_vec(),
            frozen: members.in_id_order().into_iter().map(frozen).collect(),
            contacts: contacts
                .map(|contact| InternalState {
                    key: contact.key,
                    normal: contact.normal,
                    force: contact.force,
                    overlap: contact.overlap,
                })
                .collect(),
            doubtful,
            freeze: aggregates.pending.freeze.clone(),
            release: aggregates.pending.release.iter().map(|&m| id(m)).collect(),
            release_groups: aggregates.pending.release_groups.clone(),
            clocks: aggregates.clocks.clone(),
            totals: aggregates.totals,
        })
    }

    /// Puts frozen grains back where they were. Those in `frozen` have left the table for it, in
    /// the order of the state.
    pub(crate) fn restore_aggregates(
        &mut self,
        state: AggregatesState,
        frozen: Vec<FrozenGrain>,
    ) -> Result<(), RestoreError> {
        let Some(mut aggregates) = self.aggregates.take() else {
            let what = "frozen grain: the scene has no reduction";
            return match state.frozen.is_empty() {
                true => Ok(()),
                false => Err(RestoreError::Value { what }),
            };
        };
        let groups = aggregates.groups.len();
        let free = self.grains.free_count();
        let checks = [
            ("number of groups", state.clocks.len() == groups),
            ("number of groups", state.release_groups.len() == groups),
            ("time of rest", state.rest.len() == free),
            (
                "group of a grain at rest",
                state
                    .rest
                    .iter()
                    .all(|rest| (rest.group as usize) < groups.max(1)),
            ),
            (
                "place of a frozen grain",
                state
                    .frozen
                    .iter()
                    .all(|f| f.position.is_finite() && f.orientation.is_finite()),
            ),
            (
                "group of a frozen grain",
                state.frozen.iter().all(|f| (f.group as usize) < groups),
            ),
            (
                "width of cells",
                state.edge.is_finite() && (state.edge > 0.0 || state.frozen.is_empty()),
            ),
            (
                "grain to freeze",
                state.freeze.is_sorted() && state.freeze.iter().all(|&row| (row as usize) < free),
            ),
            (
                "force of a frozen contact",
                state.contacts.iter().all(is_finite),
            ),
        ];
        if let Some((what, _)) = checks.into_iter().find(|(_, right)| !right) {
            return Err(RestoreError::Value { what });
        }
        self.grains.rest[..free].copy_from_slice(&state.rest);
        aggregates.edge = state.edge;
        let members = state.frozen.iter().zip(frozen).map(|(of, grain)| {
            let pose = Pose::new(of.position, of.orientation);
            let grain = FrozenGrain { pose, ..grain };
            aggregates.members.add(grain, of.group, state.edge)
        });
        let members: Vec<u32> = members.collect();
        for contact in &state.contacts {
            let new = self.internal_contact(&aggregates, contact)?;
            aggregates.members.add_contact(new);
        }
        aggregates.members.sum_forces(&mut self.team, &members);
        if !aggregates.members.support(&members).is_empty() {
            return Err(RestoreError::Value {
                what: "frozen grain: nothing carries it",
            });
        }
        let found = |ids: &[GrainId]| -> Vec<u32> {
            let found = ids.iter().filter_map(|&id| aggregates.members.find(id));
            found.collect()
        };
        let (doubtful, release) = (found(&state.doubtful), found(&state.release));
        for member in doubtful {
            aggregates.doubt(member);
        }
        aggregates.pending = Pending {
            freeze: state.freeze,
            release,
            release_groups: state.release_groups,
        };
        aggregates.clocks = state.clocks;
        aggregates.totals = state.totals;
        aggregates.groups.set_twists(self.time(), self.step);
        self.aggregates = Some(aggregates);
        Ok(())
    }

    fn internal_contact(
        &self,
        aggregates: &Aggregates,
        contact: &InternalState,
    ) -> Result<InternalContact, RestoreError> {
        let find = |id: GrainId| {
            let member = aggregates.members.find(id);
            member.ok_or(RestoreError::Contact { id })
        };
        let first = find(contact.key.owner)?;
        let of = aggregates.members.get(first);
        let second = match contact.key.wall_index() {
            None => Second::Member(find(GrainId::from_u64(contact.key.other))?),
            Some(wall) if (wall as usize) < self.walls.len() => Second::Wall {
                wall,
                carries: self.carries(aggregates, of.group, &of.grain, wall),
            },
            Some(_) => {
                let id = contact.key.owner;
                return Err(RestoreError::Contact { id });
            }
        };
        Ok(InternalContact {
            key: contact.key,
            normal: contact.normal,
            force: contact.force,
            overlap: contact.overlap,
            first,
            second,
        })
    }
}

fn is_finite(contact: &InternalState) -> bool {
    let force = &contact.force;
    let vectors = [contact.normal, force.friction, force.rolling];
    let numbers = [force.normal, force.twisting];
    vectors.iter().all(|v| v.is_finite()) && numbers.iter().all(|x| x.is_finite())
}

fn state_of(grain: &FrozenGrain, [velocity, angular_velocity]: [DVec3; 2]) -> GrainState {
    GrainState {
        id: grain.id,
        position: grain.pose.position,
        orientation: grain.pose.orientation,
        velocity,
        angular_velocity,
        radius: grain.radius,
        mass: grain.mass,
        material: grain.material,
        shape: grain.shape.map_or(0, |shape| shape.shape + 1),
    }
}
