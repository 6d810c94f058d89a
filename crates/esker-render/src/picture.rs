//! What a picture shows: plain data, with no knowledge of where it came from.

use glam::{DQuat, DVec3};

use crate::camera::Camera;
use crate::color::{ColorMap, Linear, from_srgb};
use crate::solids::Form;

/// A grain. Skipped when its centre or radius is not finite, or its radius is not positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Centre, m.
    pub centre: DVec3,
    /// Radius, m.
    pub radius: f64,
    /// The scalar shown as a colour; a neutral grey when it is not finite.
    pub value: f64,
    /// Rotation from the grain's own axes to the world's. When given, the grain wears a faint
    /// two-tone pattern of octants, so that its rotation can be seen.
    pub orientation: Option<DQuat>,
}

/// A grain that is no sphere, with its sharp edges as thin lines. Skipped when it is not finite or
/// its scale is not positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid<'a> {
    /// Its shape.
    pub form: &'a Form,
    /// Where the origin of the shape is, m.
    pub centre: DVec3,
    /// Factor on all lengths of the shape.
    pub scale: f64,
    /// Rotation from the shape's axes to the world's.
    pub orientation: DQuat,
    /// The scalar shown as a colour; a neutral grey when it is not finite.
    pub value: f64,
}

/// A triangle of a wall. Its front is the side from which the corners run counter-clockwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Corners, m.
    pub corners: [DVec3; 3],
}

/// A translucent surface. Sharp edges, open borders and the outline are drawn as thin lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    /// The surface. Neighbours are recognised by their common corners, so smooth surfaces are
    /// shaded smoothly whatever the order of the triangles.
    pub triangles: Vec<Triangle>,
    /// Red, green, blue (sRGB, 0 to 1) and opacity (0 invisible, 1 opaque).
    pub color: [f32; 4],
}

/// An unbounded plane. It is shown as a disc about `centre` that fades to nothing at `radius`,
/// and the grains throw their shadows on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Middle of what is shown, m.
    pub centre: DVec3,
    /// Normal.
    pub normal: DVec3,
    /// Where it ends, m.
    pub radius: f64,
    /// Red, green, blue (sRGB, 0 to 1) and opacity (0 invisible, 1 opaque).
    pub color: [f32; 4],
}

/// A round bar between two points, for example one contact of a force network. The caller makes
/// its radius grow with the value. Skipped when it is not finite or its radius is not positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// One end, m.
    pub from: DVec3,
    /// The other end, m.
    pub to: DVec3,
    /// Radius of the bar, m.
    pub radius: f64,
    /// The scalar shown as a colour, on the same scale as the grains'.
    pub value: f64,
}

/// The key to the colours: a bar with ticks, or named swatches for [`ColorMap::Categorical`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Legend {
    /// What the colours mean, with the unit: `"speed (m/s)"`.
    pub title: String,
    /// Names of the categories 0, 1, 2…; used with [`ColorMap::Categorical`] only.
    pub categories: Vec<String>,
}

impl Legend {
    /// A legend for a continuous scalar.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            categories: Vec::new(),
        }
    }
}

/// A vertical gradient behind everything, in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Colour of the topmost row.
    pub top: [u8; 3],
    /// Colour of the lowest row.
    pub bottom: [u8; 3],
}

impl Background {
    /// Plain white, for print.
    pub const WHITE: Self = Self::solid([255; 3]);
    /// Light grey-blue that darkens slightly downwards; the default.
    pub const STUDIO: Self = Self {
        top: [250, 251, 253],
        bottom: [221, 226, 233],
    };
    /// Near black, for slides.
    pub const NIGHT: Self = Self {
        top: [30, 34, 42],
        bottom: [14, 16, 21],
    };

    /// One colour everywhere.
    pub const fn solid(color: [u8; 3]) -> Self {
        Self {
            top: color,
            bottom: color,
        }
    }
}

/// Everything that [`crate::render`] needs. Start from [`Picture::new`] and set what differs.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// Grains.
    pub spheres: &'a [Sphere],
    /// Grains that are no spheres.
    pub solids: &'a [Solid<'a>],
    /// Opacity of the grains, 0 to 1. Below 1 the nearest grain lets the lines behind it show
    /// through, which is how a force network inside a packing becomes visible.
    pub sphere_opacity: f32,
    /// Containers and machines.
    pub walls: &'a [Wall],
    /// Unbounded planes.
    pub floors: &'a [Floor],
    /// Force chains.
    pub lines: &'a [Line],
    /// Where the picture is taken from.
    pub camera: Camera,
    /// Colours of the scalar.
    pub color_map: ColorMap,
    /// Colours of the first categories, sRGB, instead of those of [`ColorMap::Categorical`].
    pub palette: &'a [[u8; 3]],
    /// Values at the two ends of the colour map; values outside take the end colours. `None`
    /// takes the smallest and largest finite value of the grains and lines.
    pub range: Option<(f64, f64)>,
    /// Key to the colours, at the right edge.
    pub legend: Option<Legend>,
    /// Text in the lower left corner, for example `"t = 1.25 s"`.
    pub time_stamp: Option<String>,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// What is behind everything.
    pub background: Background,
}

impl Picture<'_> {
    /// An empty scene seen by `camera`, `size` pixels wide and high.
    pub fn new(camera: Camera, size: (u32, u32)) -> Self {
        Self {
            spheres: &[],
            solids: &[],
            sphere_opacity: 1.0,
            walls: &[],
            floors: &[],
            lines: &[],
            camera,
            color_map: ColorMap::Viridis,
            palette: &[],
            range: None,
            legend: None,
            time_stamp: None,
            size,
            background: Background::STUDIO,
        }
    }

    /// The colour of a value.
    pub(crate) fn color(&self, value: f64, range: (f64, f64)) -> Linear {
        let chosen = match self.color_map {
            ColorMap::Categorical if value >= 0.0 => self.palette.get(value.round() as usize),
            _ => None,
        };
        match chosen {
            Some(color) => from_srgb(*color),
            None => self.color_map.linear(value, range),
        }
    }

    /// The values at the two ends of the colour map: the given range if it is usable, else the
    /// extent of the finite values, else 0 to 1. The ends always differ.
    pub fn effective_range(&self) -> (f64, f64) {
        let values = || {
            let of_spheres = self.spheres.iter().map(|sphere| sphere.value);
            of_spheres
                .chain(self.solids.iter().map(|solid| solid.value))
                .chain(self.lines.iter().map(|line| line.value))
                .filter(|value| value.is_finite())
        };
        let (low, high) = match self.range {
            Some((low, high)) if low.is_finite() && high.is_finite() => (low, high),
            _ => (
                values().fold(f64::INFINITY, f64::min),
                values().fold(f64::NEG_INFINITY, f64::max),
            ),
        };
        if !(low.is_finite() && high.is_finite()) {
            (0.0, 1.0)
        } else if low == high {
            let half_width = if low == 0.0 { 0.5 } else { 0.1 * low.abs() };
            (low - half_width, low + half_width)
        } else {
            (low, high)
        }
    }
}
