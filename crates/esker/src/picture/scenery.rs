//! What stands around the grains in a picture: walls, floors, and what is cut away.

use std::str::FromStr;

use esker_geometry::TriangleSoup;
use esker_record::{Frame, RecordingHeader, walls_in_frame};
use esker_render::{Bounds, Floor, Triangle, Wall};
use glam::DVec3;

use super::PictureError;

/// Colour of walls, sRGB and opacity.
pub const WALL_COLOR: [f32; 4] = [0.45, 0.52, 0.60, 0.22];
/// Colour of floors, sRGB and opacity.
pub const FLOOR_COLOR: [f32; 4] = [0.55, 0.60, 0.66, 0.55];
/// A wall this many times larger than the bulk is not fitted into the picture.
const LARGE_WALL: f64 = 3.0;
/// Radius of a floor, in half diagonals of the grains on it.
const FLOOR_REACH: f64 = 2.0;

/// A half of space that is shown, written as `x<0.1` or `z > -2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    axis: usize,
    /// 1 where smaller coordinates are shown, −1 where greater ones are.
    sign: f64,
    limit: f64,
}

impl FromStr for Clip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("\"{text}\" is no half of space: write for example y<0.05 or z>0");
        let at = text.find(['<', '>']).ok_or_else(wanted)?;
        let axis = ["x", "y", "z"]
            .iter()
            .position(|axis| *axis == text[..at].trim());
        let limit = text[at + 1..].trim().parse::<f64>().ok();
        Ok(Clip {
            axis: axis.ok_or_else(wanted)?,
            sign: if &text[at..=at] == "<" { 1.0 } else { -1.0 },
            limit: limit.filter(|x| x.is_finite()).ok_or_else(wanted)?,
        })
    }
}

impl Clip {
    /// How far a point is inside, m.
    fn inside(&self, p: DVec3) -> f64 {
        self.sign * (self.limit - p[self.axis])
    }

    /// Whether a grain with this centre is shown.
    pub fn shows(&self, p: DVec3) -> bool {
        self.inside(p) >= 0.0
    }

    /// The part of a triangle that is shown, as triangles.
    fn cut(&self, triangle: Triangle) -> Vec<Triangle> {
        let corners = triangle.corners;
        let mut polygon: Vec<DVec3> = Vec::with_capacity(4);
        for i in 0..3 {
            let (a, b) = (corners[i], corners[(i + 1) % 3]);
            let (da, db) = (self.inside(a), self.inside(b));
            if da >= 0.0 {
                polygon.push(a);
            }
            if (da >= 0.0) != (db >= 0.0) {
                polygon.push(a.lerp(b, da / (da - db)));
            }
        }
        let fan = 1..polygon.len().saturating_sub(1).max(1);
        fan.map(|i| Triangle {
            corners: [polygon[0], polygon[i], polygon[i + 1]],
        })
        .collect()
    }
}

/// Which walls are shown, and how much of them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Names of walls that are left out.
    pub hidden: Vec<String>,
    /// All must show a point.
    pub clips: Vec<Clip>,
}

impl Shown {
    /// Refuses names that no wall has.
    pub fn check(&self, header: &RecordingHeader) -> Result<(), PictureError> {
        let names: Vec<&str> = header.walls.iter().map(|w| w.name.as_str()).collect();
        match self
            .hidden
            .iter()
            .find(|name| !names.contains(&name.as_str()))
        {
            Some(name) => Err(PictureError::NoWall {
                name: name.clone(),
                known: names.join(", "),
            }),
            None => Ok(()),
        }
    }

    /// Whether a grain with this centre is shown.
    pub fn shows(&self, centre: DVec3) -> bool {
        self.clips.iter().all(|clip| clip.shows(centre))
    }
}

/// Walls and floors of a picture.
pub(super) struct Scenery {
    pub walls: Vec<Wall>,
    pub floors: Vec<Floor>,
    /// What the picture must show: the bulk of the grains, and walls of like size.
    pub subject: Bounds,
    /// Indices of the walls that are floors.
    pub floor_walls: Vec<usize>,
    /// Middle of what stands on floors, m.
    pub middle: DVec3,
    /// How far floors reach from there, m.
    pub floor_radius: f64,
}

impl Scenery {
    /// The walls of a frame around grains with these bounds. Unbounded planes are floors, and so
    /// are flat walls far larger than the grains' bounds (older recordings do not tell them apart).
    /// Bodies of their own have the colours of their materials.
    pub fn new(
        header: &RecordingHeader,
        frame: &Frame,
        grains: Bounds,
        (shown, palette): (&Shown, &[[u8; 3]]),
    ) -> Self {
        let mut scenery = Scenery {
            walls: Vec::new(),
            floors: Vec::new(),
            subject: grains,
            floor_walls: Vec::new(),
            middle: DVec3::ZERO,
            floor_radius: 0.0,
        };
        let mut planes = Vec::new();
        for (name, soup) in walls_in_frame(header, frame) {
            let number = header.walls.iter().position(|wall| wall.name == name);
            let known = number.map(|number| &header.walls[number]);
            let unbounded = known.is_some_and(|wall| wall.unbounded);
            let material = known.and_then(|wall| wall.body);
            let own = material.and_then(|m| palette.get(usize::from(m)));
            if shown.hidden.contains(&name) {
                continue;
            }
            let triangles = (0..soup.triangles.len()).map(|i| Triangle {
                corners: soup.corners(i),
            });
            let mut wall = Wall {
                triangles: triangles.collect(),
                color: own.map_or(WALL_COLOR, |&[r, g, b]| {
                    let [r, g, b] = [r, g, b].map(|x| f32::from(x) / 255.0);
                    [r, g, b, 1.0]
                }),
            };
            let bounds = Bounds::of_walls(std::slice::from_ref(&wall));
            let is_large = !grains.is_empty() && diagonal(&bounds) > LARGE_WALL * diagonal(&grains);
            match normal_of_square(&soup) {
                Some(normal) if unbounded || is_large => {
                    scenery.floor_walls.extend(number);
                    planes.push((soup.vertices[0], normal));
                }
                _ => {
                    for clip in &shown.clips {
                        let cut = wall.triangles.into_iter().flat_map(|t| clip.cut(t));
                        wall.triangles = cut.collect();
                    }
                    if !is_large {
                        let left = Bounds::of_walls(std::slice::from_ref(&wall));
                        scenery.subject = scenery.subject.union(&left);
                    }
                    scenery.walls.push(wall);
                }
            }
        }
        let above = if grains.is_empty() {
            scenery.subject
        } else {
            grains
        };
        let middle = 0.5 * (above.min + above.max);
        let radius = 0.5 * FLOOR_REACH * diagonal(&above);
        let floors = planes.into_iter().map(|(point, normal)| Floor {
            centre: middle - normal * normal.dot(middle - point),
            normal,
            radius,
            color: FLOOR_COLOR,
        });
        scenery.floors = floors.collect();
        (scenery.middle, scenery.floor_radius) = (middle, radius);
        scenery
    }
}

fn diagonal(bounds: &Bounds) -> f64 {
    (bounds.max - bounds.min).length()
}

/// The normal of a surface of two triangles in one plane: what planes are recorded as.
fn normal_of_square(soup: &TriangleSoup) -> Option<DVec3> {
    if soup.triangles.len() != 2 {
        return None;
    }
    let normal = |i: usize| {
        let [a, b, c] = soup.corners(i);
        (b - a).cross(c - a).try_normalize()
    };
    let (one, other) = (normal(0)?, normal(1)?);
    (one.dot(other) > 1.0 - 1e-9).then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_space_are_read_and_cut_triangles_exactly() {
        let clip: Clip = "x < 0.25".parse().unwrap();
        assert!(clip.shows(DVec3::ZERO) && !clip.shows(DVec3::X));
        let other: Clip = "z>-1".parse().unwrap();
        assert!(other.shows(DVec3::ZERO) && !other.shows(DVec3::Z * -2.0));
        for wrong in ["", "x", "w<1", "x<a", "x<nan", "1<x"] {
            assert!(wrong.parse::<Clip>().is_err(), "{wrong}");
        }
        let area = |t: &Triangle| {
            let [a, b, c] = t.corners;
            0.5 * (b - a).cross(c - a).length()
        };
        let whole = Triangle {
            corners: [DVec3::ZERO, DVec3::X, DVec3::Y],
        };
        let left: f64 = clip.cut(whole).iter().map(area).sum();
        assert!((left - (0.5 - 0.5 * 0.75 * 0.75)).abs() < 1e-12, "{left}");
        let gone: Clip = "x>2".parse().unwrap();
        assert!(gone.cut(whole).is_empty());
        let all: Clip = "x<2".parse().unwrap();
        assert_eq!(all.cut(whole), [whole]);
    }
}
