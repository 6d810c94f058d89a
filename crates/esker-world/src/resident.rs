//! What a device needs to know of a world whose grains stay there: records of numbers, laid out
//! as kernels read them.
//!
//! Only worlds of spheres among walls have them ([`World::resident_obstacle`] says why another has
//! not).

use std::sync::Arc;

use esker_contact::BodyState;
use esker_geometry::{Aabb, Face, OpenFaces, Side, TriangleMesh, WallShape};
use esker_parallel::Team;
use glam::{DQuat, DVec3};

use crate::World;
use crate::candidate::Candidate;
use crate::contact::Partner;
use crate::grains::Grains;
use crate::reach::{CELL_DIAMETERS, Reach};
use crate::step::SearchedContacts;
use crate::wall::Wall;

/// Rows of grains, one entry of each list per grain.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "as in `Grains`")]
pub struct GrainRows<'a> {
    pub position: &'a [DVec3],
    pub state: &'a [BodyState],
    pub orientation: &'a [DQuat],
    pub radius: &'a [f64],
    pub mass: &'a [f64],
    pub material: &'a [u16],
    grains: &'a Grains,
}

impl GrainRows<'_> {
    /// Number of grains.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Id of the grain in a row, as a number.
    pub fn id(&self, row: usize) -> u64 {
        self.grains.id[row].as_u64()
    }

    /// Its place in tables that outlast a change of rows.
    pub fn slot(&self, row: usize) -> u32 {
        self.grains.slot(row) as u32
    }
}

/// How far grains reach in a step; see `reach.rs`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "as in `Reach`")]
pub struct ReachRecord {
    pub margin: f64,
    pub step: f64,
    pub fall: [f64; 3],
    pub fall_length: f64,
    pub restitution: f64,
    pub cohesive_gap: f64,
}

/// Numbers that the search for contacts goes by.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct FindSettings {
    /// How far grains reach.
    pub reach: ReachRecord,
    /// Edge of the cells of the field of mean velocities, m.
    pub edge: f64,
    /// Its inverse, 1/m.
    pub cells_per_metre: f64,
    /// Layers of grains in a cell.
    pub layers: f64,
    /// Square of a speed at which even the largest grain stays near, m²/s².
    pub slow: f64,
    /// Diameter of the smallest grain, m.
    pub smallest: f64,
    /// Substeps of the step.
    pub substeps: f64,
}

/// A wall as kernels read it (`struct Wall` of `esker-gpu/kernels/grains.h`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "fields are documented in kernels/grains.h")]
pub struct WallRecord {
    pub kind: u32,
    pub is_container: u32,
    pub open: u32,
    pub is_present: u32,
    pub has_bounds: u32,
    pub material: u32,
    pub position: [f64; 3],
    pub orientation: [f64; 4],
    pub velocity: [f64; 3],
    pub angular_velocity: [f64; 3],
    pub centre: [f64; 3],
    pub belt: [f64; 3],
    pub lower: [f64; 3],
    pub upper: [f64; 3],
    pub half: [f64; 3],
    pub bottom: [f64; 2],
    pub top: [f64; 2],
    pub direction: [f64; 2],
    pub outward: [f64; 2],
    pub slant: f64,
    pub length: f64,
    pub mesh: u64,
}

/// A pair that may become a contact (`struct Candidate` of `esker-gpu/kernels/grains.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct CandidateRecord {
    /// Row of the grain, that with the smaller id of two.
    pub grain: u32,
    /// Whether the other is a wall.
    pub is_wall: u32,
    /// Row of the other grain, or index of the wall.
    pub partner: u32,
    /// See `Candidate::feature`.
    pub feature: u32,
    /// Unit normal from the grain to the other.
    pub normal: [f64; 3],
    /// Overlap, m.
    pub overlap: f64,
    /// Largest closing speed, m/s.
    pub approach: f64,
    /// Curvature of the wall, 1/m.
    pub curvature: f64,
}

/// Where grains may leave a world, and where others may come.
#[derive(Clone, Debug, Default)]
pub struct Exits {
    /// The bounds, lower and upper corner, m.
    pub bounds: Option<[DVec3; 2]>,
    /// Boxes that hold the sinks, lower and upper corners, m.
    pub sinks: Vec<[DVec3; 2]>,
    /// Boxes that hold all that emitters have to know, lower and upper corners, m.
    pub emitters: Vec<[DVec3; 2]>,
}

/// A grain that may leave or is near an emitter (`struct Listed` of
/// `esker-gpu/kernels/measures.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct BorderGrain {
    /// Its centre, m.
    pub position: [f64; 3],
    /// Its row.
    pub row: u32,
    /// Not used.
    pub unused: u32,
}

/// What has become of the rows of grains since the last step.
#[derive(Clone, Debug, Default)]
pub struct RowChanges {
    /// Rows that have another grain than before, and the row that it had.
    pub moved: Vec<[u32; 2]>,
    /// Rows, as they were, of grains that are gone.
    pub gone: Vec<u32>,
    /// Rows from this one on are of grains that have come.
    pub kept: usize,
}

/// A contact that the last step left, as far as the search for contacts asks.
#[derive(Clone, Copy, Debug)]
pub struct HeldContact {
    /// Row of its owner.
    pub row: u32,
    /// The other one (`ContactKey::other`).
    pub other: u64,
}

impl From<Reach> for ReachRecord {
    fn from(reach: Reach) -> Self {
        ReachRecord {
            margin: reach.margin,
            step: reach.step,
            fall: reach.fall.to_array(),
            fall_length: reach.fall.length(),
            restitution: reach.restitution,
            cohesive_gap: reach.cohesive_gap,
        }
    }
}

impl From<&Candidate> for CandidateRecord {
    fn from(candidate: &Candidate) -> Self {
        let (is_wall, partner) = match candidate.partner {
            Partner::Grain(j) => (0, j),
            Partner::Wall(w) => (1, w),
        };
        CandidateRecord {
            grain: candidate.grain,
            is_wall,
            partner,
            feature: candidate.feature,
            normal: candidate.normal.to_array(),
            overlap: candidate.overlap,
            approach: candidate.approach,
            curvature: candidate.detail.as_curvature(),
        }
    }
}

const HALF_SPACE: u32 = 0;
const BOX: u32 = 1;
const FRUSTUM: u32 = 2;
const MESH: u32 = 3;

/// The faces of a wall that are open, a bit each.
fn open_bits(open: OpenFaces) -> u32 {
    let bits = Face::ALL.into_iter().enumerate();
    bits.map(|(k, face)| u32::from(open.contains(face)) << k)
        .sum()
}

impl WallRecord {
    /// That of a wall.
    fn of(wall: &Wall) -> Self {
        let mut record = WallRecord {
            is_present: wall.is_present.into(),
            material: wall.material.into(),
            position: wall.pose.position.to_array(),
            orientation: wall.pose.orientation.to_array(),
            velocity: wall.twist.velocity.to_array(),
            angular_velocity: wall.twist.angular_velocity.to_array(),
            centre: wall.twist.centre.to_array(),
            belt: wall.belt().to_array(),
            ..Default::default()
        };
        if let Some(bounds) = wall.local_bounds() {
            record.has_bounds = 1;
            record.lower = bounds.min.to_array();
            record.upper = bounds.max.to_array();
        }
        let (side, open) = match wall.shape {
            WallShape::HalfSpace => {
                record.kind = HALF_SPACE;
                return record;
            }
            WallShape::Mesh(_) => {
                record.kind = MESH;
                return record;
            }
            WallShape::Box {
                half_extents,
                side,
                open,
            } => {
                record.kind = BOX;
                record.half = half_extents.to_array();
                (side, open)
            }
            WallShape::Cylinder {
                length, side, open, ..
            }
            | WallShape::Cone {
                length, side, open, ..
            } => {
                let mantle = wall.shape.mantle().expect("a round wall has a mantle");
                record.kind = FRUSTUM;
                record.length = length;
                record.bottom = mantle.bottom.to_array();
                record.top = mantle.top.to_array();
                record.direction = mantle.direction.to_array();
                record.outward = mantle.outward.to_array();
                record.slant = mantle.slant;
                (side, open)
            }
        };
        record.is_container = (side == Side::Inside).into();
        record.open = open_bits(open);
        record
    }
}

impl World {
    /// Rows of its grains.
    pub fn grain_rows(&self) -> GrainRows<'_> {
        let grains = &self.grains;
        GrainRows {
            position: &grains.position,
            state: &grains.state,
            orientation: &grains.orientation,
            radius: &grains.radius,
            mass: &grains.mass,
            material: &grains.material,
            grains,
        }
    }

    /// Its walls as they are in the step; where meshes are is for the device to say.
    pub fn wall_records(&self) -> Vec<WallRecord> {
        self.walls.iter().map(WallRecord::of).collect()
    }

    /// Meshes of its walls, one by one.
    pub fn wall_meshes(&self) -> impl Iterator<Item = Option<&Arc<TriangleMesh>>> {
        self.walls.iter().map(|wall| match &wall.shape {
            WallShape::Mesh(mesh) => Some(mesh),
            _ => None,
        })
    }

    /// Where grains may leave, and come.
    pub fn exits(&mut self) -> Exits {
        let widened = |Aabb { min, max }: Aabb| {
            // More than rounding moves an edge.
            let slack = (max - min) * 1e-9 + (min.abs() + max.abs()) * 1e-12;
            [min - slack, max + slack]
        };
        let (largest, time) = (self.largest_radius(), self.time());
        let emitters = self.emitters.iter().filter(|e| !e.is_finished(time));
        Exits {
            bounds: self.bounds,
            sinks: self
                .sinks
                .iter()
                .map(|sink| widened(sink.def.region.bounds()))
                .collect(),
            emitters: emitters.map(|e| widened(e.surroundings(largest))).collect(),
        }
    }

    /// What the search for contacts goes by.
    pub fn find_settings(&mut self) -> FindSettings {
        let diameters = self.grains.diameters(&mut self.team);
        let edge = CELL_DIAMETERS * diameters.mean;
        let reach = self.reach();
        FindSettings {
            reach: reach.into(),
            edge,
            cells_per_metre: 1.0 / edge,
            layers: CELL_DIAMETERS,
            slow: reach.slow_enough(0.5 * diameters.max, 0.5 * edge).powi(2),
            smallest: diameters.min,
            substeps: self.method.sweeps() as f64,
        }
    }

    /// Contacts of the last step that carried load.
    pub fn held_contacts(&self) -> Vec<HeldContact> {
        let mut rows = vec![u32::MAX; self.grains.slots()];
        for row in 0..self.grains.len() {
            rows[self.grains.slot(row)] = row as u32;
        }
        let entries = self.history.entries_with_slots().iter();
        let known = entries.filter_map(|entry| {
            let row = rows[entry.slot as usize];
            let key = entry.contact.key;
            let is_there = row != u32::MAX && self.grains.id[row as usize] == key.owner;
            is_there.then_some(HeldContact {
                row,
                other: key.other,
            })
        });
        known.collect()
    }

    /// What stages `find_pairs` and `collide` choose from the present state, in no order, how
    /// far grains reach, and how many substeps an open contact may sleep. Only scratch changes.
    pub fn choose_candidates(&mut self) -> Result<FoundCandidates, crate::StepError> {
        let substeps = self.method.sweeps();
        let SearchedContacts {
            parts,
            reaches,
            longest_sleep,
        } = self.search_contacts(substeps)?;
        Ok(FoundCandidates {
            chosen: parts.iter().flatten().map(CandidateRecord::from).collect(),
            reaches: reaches.to_vec(),
            longest_sleep,
        })
    }

    /// The threads of the world.
    pub fn team_mut(&mut self) -> &mut Team {
        &mut self.team
    }
}

/// See [`World::choose_candidates`].
#[derive(Clone, Debug)]
pub struct FoundCandidates {
    /// Pairs that become contacts.
    pub chosen: Vec<CandidateRecord>,
    /// Radii within which grains can meet something, m.
    pub reaches: Vec<f64>,
    /// Substeps that an open contact may sleep.
    pub longest_sleep: f64,
}
