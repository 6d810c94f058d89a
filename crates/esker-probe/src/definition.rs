//! What is to be measured, as plain data.

use esker_analysis::drum::DrumSection;
use esker_geometry::Region;
use esker_machine::JointCoordinate;
use glam::DVec3;

use crate::gauge;

/// One probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeDef {
    /// Its name; unique.
    pub name: String,
    /// Time between rows, s.
    pub every: f64,
    /// What it measures.
    pub quantity: Quantity,
}

impl ProbeDef {
    /// The columns of its rows.
    pub fn columns(&self) -> Vec<Column> {
        gauge::columns(&self.quantity)
    }
}

/// What a probe measures.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Mass that crosses a plane or an opening in it.
    Flow(Opening),
    /// Mass, packing fraction, velocity, granular temperature and stress in a region.
    Bulk {
        /// The region.
        region: Region,
        /// Samples per row.
        samples: u32,
    },
    /// Force, torque and power of a wall.
    Wall {
        /// Its index.
        wall: usize,
    },
    /// A joint of a machine: its coordinates, what it carries and how well it holds.
    Joint {
        /// Its index.
        joint: usize,
    },
    /// A drive of a machine: its coordinate, force or torque, and power.
    Drive {
        /// Its index.
        drive: usize,
        /// What it drives.
        at: JointCoordinate,
    },
    /// Lacey's mixing index and the segregation index of a class of grains.
    Mixing {
        /// The class.
        class: Class,
        /// Which grains count, by their centres; `None`: all.
        region: Option<Region>,
        /// Edge of the cubic cells that are the samples, m.
        cell: f64,
        /// Unit direction along which segregation is measured; `None`: upwards.
        direction: Option<DVec3>,
    },
    /// Position of a front.
    Front {
        /// How far a point is along the way.
        path: Path,
        /// Share of the mass that lies behind the front.
        share: f64,
    },
    /// Angle of the bed, transport and surface velocities in a section of a drum.
    Drum {
        /// The section.
        section: DrumSection,
    },
    /// Height of the upper surface along a line.
    Profile {
        /// Start of the line, m; heights are measured from here.
        base: DVec3,
        /// Unit direction of the line; its part against gravity does not count.
        direction: DVec3,
        /// Length of the line, m.
        length: f64,
        /// Width over which heights are averaged, m.
        width: f64,
        /// Number of heights.
        cells: u32,
    },
}

/// A plane, or a part of it, that grains cross.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opening {
    /// Its middle, m.
    pub position: DVec3,
    /// Unit normal: flow along it is positive.
    pub normal: DVec3,
    /// Which part of the plane counts.
    pub shape: OpeningShape,
}

/// Part of a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OpeningShape {
    /// All of it.
    Plane,
    /// A disc.
    Disc {
        /// Radius, m.
        radius: f64,
    },
    /// A rectangle.
    Rectangle {
        /// Edge lengths along and across, m.
        size: [f64; 2],
        /// Unit direction of the first edge, in the plane.
        along: DVec3,
    },
}

/// One of two classes of grains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// Grains of the material with this index.
    Material(u16),
    /// Grains with a greater diameter, m.
    LargerThan(f64),
}

/// How far a point is along a way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Path {
    /// Along a unit direction.
    Along {
        /// Where the distance is zero, m.
        origin: DVec3,
        /// The direction.
        direction: DVec3,
    },
    /// Away from an axis.
    Around {
        /// A point of the axis, m.
        origin: DVec3,
        /// Unit direction of the axis.
        axis: DVec3,
    },
}

/// A column of a probe's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit; `1` for none.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Numbers per row.
    pub width: usize,
    /// Distance of neighbouring numbers in space, m; zero for a single one.
    pub spacing: f64,
}

impl Column {
    pub(crate) const fn single(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
    ) -> Self {
        Column {
            name,
            unit,
            meaning,
            width: 1,
            spacing: 0.0,
        }
    }
}
