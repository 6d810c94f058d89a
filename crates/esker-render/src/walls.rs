//! Walls: from triangles to shaded, depth-sorted fragments of one sample row.
//!
//! Smooth surfaces ([`crate::surface`]) are shaded smoothly; sharp edges, open borders and the
//! outline (where a smooth surface turns away from the eye) are drawn as thin dark lines.
//!
//! On the picture everything is a triangle over which `n` (nearness) and `w·normal` are affine
//! (`w = n` in perspective, 1 otherwise), so a fragment costs four multiply-adds per channel.

use glam::DVec3;

use crate::camera::View;
use crate::color::{Linear, decode, mix};
use crate::light::Light;
use crate::picture::Wall;
use crate::surface::{Side, Surface};
use crate::visibility::{SAMPLES, sample_x, sample_y};

/// Opacity of the back of a surface relative to its front.
const BACK_OPACITY: f32 = 0.55;
/// Edges win over the surfaces they lie on by this nearness, in camera units.
const EDGE_LIFT: f64 = 3e-4;

/// What a shader needs for the same walls.
pub(crate) fn constants() -> [(&'static str, f64); 2] {
    [
        ("BACK_OPACITY", f64::from(BACK_OPACITY)),
        ("EDGE_LIFT", EDGE_LIFT),
    ]
}

/// Something with an affine nearness over a triangle of the picture.
struct ScreenTriangle {
    /// Corners in pixels.
    corners: [(f64, f64); 3],
    nearness: Affine,
    paint: Paint,
}

enum Paint {
    Surface {
        /// Camera-space normal times the interpolation weight.
        normal: [Affine; 3],
        color: Linear,
        opacity: f32,
    },
    Edge {
        color: Linear,
        opacity: f32,
    },
}

/// `at_origin + per_x x + per_y y` with `x`, `y` in pixels.
#[derive(Clone, Copy)]
struct Affine {
    at_origin: f64,
    per_x: f64,
    per_y: f64,
}

impl Affine {
    /// The function with the given values at three corners; `None` if they are in line.
    fn through(corners: &[(f64, f64); 3], values: [f64; 3]) -> Option<Self> {
        let [(x0, y0), (x1, y1), (x2, y2)] = *corners;
        let (ax, ay, bx, by) = (x1 - x0, y1 - y0, x2 - x0, y2 - y0);
        let area = ax * by - ay * bx;
        if area.abs() < 1e-9 || !area.is_finite() {
            return None;
        }
        let (a, b) = (values[1] - values[0], values[2] - values[0]);
        let per_x = (a * by - b * ay) / area;
        let per_y = (b * ax - a * bx) / area;
        Some(Self {
            at_origin: values[0] - per_x * x0 - per_y * y0,
            per_x,
            per_y,
        })
    }

    fn at(&self, x: f64, y: f64) -> f64 {
        self.at_origin + self.per_x * x + self.per_y * y
    }
}

/// All walls of a picture, ready to be drawn row by row.
pub(crate) struct WallLayer {
    triangles: Vec<ScreenTriangle>,
    /// Triangles that touch each pixel row.
    of_pixel_row: Vec<Vec<u32>>,
}

/// One translucent layer of one sample.
pub(crate) struct Fragment {
    nearness: f32,
    color: Linear,
    opacity: f32,
    /// Next nearer fragment of the same sample.
    nearer: u32,
}

const END: u32 = u32::MAX;

/// The translucent layers of one sample row: per sample a chain ordered from far to near, so the
/// blending is exact whatever the order and the intersections of the surfaces.
pub(crate) struct FragmentRow {
    farthest: Vec<u32>,
    fragments: Vec<Fragment>,
}

impl FragmentRow {
    pub fn new(width: usize) -> Self {
        Self {
            farthest: vec![END; width],
            fragments: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        self.farthest.fill(END);
        self.fragments.clear();
    }

    pub fn insert(&mut self, column: usize, nearness: f32, color: Linear, opacity: f32) {
        let mut before = END;
        let mut after = self.farthest[column];
        while after != END && self.fragments[after as usize].nearness < nearness {
            before = after;
            after = self.fragments[after as usize].nearer;
        }
        let new = self.fragments.len() as u32;
        self.fragments.push(Fragment {
            nearness,
            color,
            opacity,
            nearer: after,
        });
        match before {
            END => self.farthest[column] = new,
            before => self.fragments[before as usize].nearer = new,
        }
    }

    /// `base` seen through all layers of a sample.
    pub fn over(&self, column: usize, base: Linear) -> Linear {
        let mut color = base;
        let mut next = self.farthest[column];
        while next != END {
            let fragment = &self.fragments[next as usize];
            color = mix(color, fragment.color, fragment.opacity);
            next = fragment.nearer;
        }
        color
    }
}

impl WallLayer {
    /// `edge_width` in pixels.
    pub fn new(walls: &[Wall], view: &View, size: (u32, u32), edge_width: f64) -> Self {
        let mut layer = Self {
            triangles: Vec::new(),
            of_pixel_row: vec![Vec::new(); size.1 as usize],
        };
        for wall in walls {
            layer.add_wall(wall, view, edge_width);
        }
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        for (index, triangle) in layer.triangles.iter().enumerate() {
            let extent = |pick: fn(&(f64, f64)) -> f64| {
                let values = || triangle.corners.iter().map(pick);
                (
                    values().fold(f64::INFINITY, f64::min),
                    values().fold(f64::NEG_INFINITY, f64::max),
                )
            };
            let (left, right) = extent(|corner| corner.0);
            let (top, bottom) = extent(|corner| corner.1);
            if right < 0.0 || left > width || bottom < 0.0 || top > height {
                continue;
            }
            let last = (bottom.min(height - 1.0)) as usize;
            for row in &mut layer.of_pixel_row[top.max(0.0) as usize..=last] {
                row.push(index as u32);
            }
        }
        layer
    }

    /// Adds to `fragments` what the walls show in a sample row in front of the opaque things.
    pub fn draw_row(
        &self,
        row: usize,
        light: &Light,
        view: &View,
        opaque: &[f32],
        fragments: &mut FragmentRow,
    ) {
        let y = sample_y(row);
        for &index in &self.of_pixel_row[row / SAMPLES] {
            let triangle = &self.triangles[index as usize];
            let Some((left, right)) = span(&triangle.corners, y) else {
                continue;
            };
            // Half-open: a sample on a common edge belongs to one triangle only.
            let first = (left - sample_x(row)).ceil().max(0.0) as usize;
            let end = ((right - sample_x(row)).ceil().max(0.0) as usize).min(opaque.len());
            for (column, solid) in opaque.iter().enumerate().take(end).skip(first) {
                let x = column as f64 + sample_x(row);
                let nearness = triangle.nearness.at(x, y) as f32;
                if nearness <= *solid {
                    continue;
                }
                let (color, opacity) = match &triangle.paint {
                    Paint::Edge { color, opacity } => (*color, *opacity),
                    Paint::Surface {
                        normal,
                        color,
                        opacity,
                    } => {
                        let normal = DVec3::from_array(normal.map(|n| n.at(x, y)));
                        let towards_eye = view.towards_eye(view.u(x), view.v(y));
                        light.on_wall(normal.normalize_or_zero(), towards_eye, *color, *opacity)
                    }
                };
                fragments.insert(column, nearness, color, opacity);
            }
        }
    }

    fn add_wall(&mut self, wall: &Wall, view: &View, edge_width: f64) {
        let [red, green, blue, alpha] = wall.color.map(|x| {
            if x.is_finite() {
                x.clamp(0.0, 1.0)
            } else {
                0.5
            }
        });
        if alpha == 0.0 {
            return;
        }
        let surface = in_camera_space(wall, view);
        let color = [red, green, blue].map(decode);
        for (face, corners) in surface.faces.iter().enumerate() {
            let seen_from_front = faces_eye(&surface, face, view);
            let opacity = if seen_from_front || alpha == 1.0 {
                alpha
            } else {
                BACK_OPACITY * alpha
            };
            let normals = surface.corner_normals(face);
            let corners: Vec<(DVec3, DVec3)> = corners
                .iter()
                .zip(normals)
                .map(|(&corner, normal)| (surface.points[corner], normal))
                .collect();
            for [one, two, three] in in_front(view, &corners) {
                self.add_surface(view, [one, two, three], color, opacity);
            }
        }
        let line_color = color.map(|x| 0.12 * x);
        let line_opacity = (0.25 + alpha).min(0.85);
        for edge in lines(&surface, view) {
            let ends = edge.ends.map(|end| surface.points[end]);
            let opacity = if edge.seen_from_front {
                line_opacity
            } else {
                0.6 * line_opacity
            };
            self.add_edge(view, ends, edge_width, line_color, opacity);
        }
    }

    fn add_surface(
        &mut self,
        view: &View,
        corners: [(DVec3, DVec3); 3],
        color: Linear,
        opacity: f32,
    ) {
        let places = corners.map(|(p, _)| {
            let (u, v) = view.slopes(p);
            (view.pixel_x(u), view.pixel_y(v))
        });
        let nearness = corners.map(|(p, _)| view.nearness(p.z));
        let weight = |i: usize| if view.perspective { nearness[i] } else { 1.0 };
        let component = |axis: usize| {
            let values = std::array::from_fn(|i| corners[i].1[axis] * weight(i));
            Affine::through(&places, values)
        };
        let (Some(nearness), Some(x), Some(y), Some(z)) = (
            Affine::through(&places, nearness),
            component(0),
            component(1),
            component(2),
        ) else {
            return;
        };
        self.triangles.push(ScreenTriangle {
            corners: places,
            nearness,
            paint: Paint::Surface {
                normal: [x, y, z],
                color,
                opacity,
            },
        });
    }

    fn add_edge(
        &mut self,
        view: &View,
        [from, to]: [DVec3; 2],
        width: f64,
        color: Linear,
        opacity: f32,
    ) {
        let (mut from, mut to) = (from, to);
        if view.perspective {
            if from.z < View::NEAR && to.z < View::NEAR {
                return;
            }
            let cut = from + (to - from) * ((View::NEAR - from.z) / (to.z - from.z));
            if from.z < View::NEAR {
                from = cut;
            } else if to.z < View::NEAR {
                to = cut;
            }
        }
        let place = |p: DVec3| {
            let (u, v) = view.slopes(p);
            (view.pixel_x(u), view.pixel_y(v))
        };
        let ((x0, y0), (x1, y1)) = (place(from), place(to));
        let length = (x1 - x0).hypot(y1 - y0);
        if !(length > 1e-6 && length.is_finite()) {
            return;
        }
        let (dx, dy) = (
            -(y1 - y0) / length * 0.5 * width,
            (x1 - x0) / length * 0.5 * width,
        );
        let quad = [
            (x0 + dx, y0 + dy),
            (x0 - dx, y0 - dy),
            (x1 - dx, y1 - dy),
            (x1 + dx, y1 + dy),
        ];
        let lift =
            |p: DVec3| view.nearness(p.z - EDGE_LIFT * if view.perspective { p.z } else { 1.0 });
        let nearness = [lift(from), lift(from), lift(to), lift(to)];
        for [i, j, k] in [[0, 1, 2], [0, 2, 3]] {
            let corners = [quad[i], quad[j], quad[k]];
            if let Some(nearness) =
                Affine::through(&corners, [nearness[i], nearness[j], nearness[k]])
            {
                self.triangles.push(ScreenTriangle {
                    corners,
                    nearness,
                    paint: Paint::Edge { color, opacity },
                });
            }
        }
    }
}

/// Where the row `y` enters and leaves a triangle.
fn span(corners: &[(f64, f64); 3], y: f64) -> Option<(f64, f64)> {
    let mut crossings = [0.0; 2];
    let mut found = 0;
    for i in 0..3 {
        let (mut a, mut b) = (corners[i], corners[(i + 1) % 3]);
        // The same order for both triangles at an edge gives them the same crossing, bit for bit.
        if (a.1, a.0) > (b.1, b.0) {
            std::mem::swap(&mut a, &mut b);
        }
        if a.1 <= y && y < b.1 && found < 2 {
            crossings[found] = a.0 + (b.0 - a.0) * ((y - a.1) / (b.1 - a.1));
            found += 1;
        }
    }
    (found == 2).then(|| {
        (
            crossings[0].min(crossings[1]),
            crossings[0].max(crossings[1]),
        )
    })
}

/// The part of a triangle (point, normal) in front of the eye, as triangles.
fn in_front(view: &View, corners: &[(DVec3, DVec3)]) -> Vec<[(DVec3, DVec3); 3]> {
    let mut polygon = Vec::with_capacity(4);
    for i in 0..corners.len() {
        let (here, next) = (corners[i], corners[(i + 1) % corners.len()]);
        let inside = |p: DVec3| !view.perspective || p.z >= View::NEAR;
        if inside(here.0) {
            polygon.push(here);
        }
        if inside(here.0) != inside(next.0) {
            let t = (View::NEAR - here.0.z) / (next.0.z - here.0.z);
            polygon.push((here.0.lerp(next.0, t), here.1.lerp(next.1, t)));
        }
    }
    (2..polygon.len())
        .map(|i| [polygon[0], polygon[i - 1], polygon[i]])
        .collect()
}

/// An edge to be drawn.
struct Line {
    ends: [usize; 2],
    seen_from_front: bool,
}

/// A wall's surface in camera space.
fn in_camera_space(wall: &Wall, view: &View) -> Surface {
    let mut surface = Surface::new(&wall.triangles);
    for point in &mut surface.points {
        *point = view.to_camera(*point);
    }
    for normal in &mut surface.normals {
        *normal = view.turn(*normal);
    }
    surface
}

fn faces_eye(surface: &Surface, face: usize, view: &View) -> bool {
    let corner = surface.points[surface.faces[face][0]];
    let towards_eye = if view.perspective {
        -corner
    } else {
        DVec3::NEG_Z
    };
    surface.normals[face].dot(towards_eye) > 0.0
}

/// Edges worth a line: open, sharp, common to three or more faces, or on the outline.
fn lines(surface: &Surface, view: &View) -> Vec<Line> {
    let faces_eye = |side: &Side| faces_eye(surface, side.face, view);
    let sides = surface.sides();
    let edges = sides.chunk_by(|one, other| one.ends == other.ends);
    edges
        .filter_map(|edge| {
            let drawn = match surface.smooth_neighbours(edge) {
                Some([one, other]) => {
                    (faces_eye(one) == faces_eye(other)) == (one.forward == other.forward)
                }
                None => true,
            };
            drawn.then(|| Line {
                ends: edge[0].ends,
                seen_from_front: edge.iter().any(faces_eye),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::{Camera, Projection};
    use crate::picture::Triangle;

    fn view() -> View {
        let camera = Camera {
            eye: DVec3::new(3.0, -5.0, 2.5),
            target: DVec3::splat(0.5),
            up: DVec3::Z,
            projection: Projection::Perspective { fov_y: 0.5 },
        };
        View::new(&camera, (64, 48)).unwrap()
    }

    fn cube() -> Wall {
        let mut triangles = Vec::new();
        for axis in 0..3 {
            for side in [0.0, 1.0] {
                let at = |s: f64, t: f64| {
                    let mut p = DVec3::splat(side);
                    p[(axis + 1) % 3] = s;
                    p[(axis + 2) % 3] = t;
                    p
                };
                let [a, b, c, d] = [at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)];
                triangles.push(Triangle { corners: [a, b, c] });
                triangles.push(Triangle { corners: [a, c, d] });
            }
        }
        Wall {
            triangles,
            color: [0.5, 0.5, 0.5, 0.3],
        }
    }

    #[test]
    fn a_cube_of_triangles_shows_its_twelve_edges_and_no_diagonal() {
        let surface = in_camera_space(&cube(), &view());
        assert_eq!(surface.points.len(), 8);
        assert_eq!(lines(&surface, &view()).len(), 12);
    }

    #[test]
    fn degenerate_and_infinite_triangles_are_left_out() {
        let mut wall = cube();
        wall.triangles.push(Triangle {
            corners: [DVec3::ZERO; 3],
        });
        wall.triangles.push(Triangle {
            corners: [DVec3::NAN, DVec3::ZERO, DVec3::ONE],
        });
        assert_eq!(in_camera_space(&wall, &view()).faces.len(), 12);
        let nothing = Wall {
            triangles: Vec::new(),
            color: [f32::NAN; 4],
        };
        assert!(
            WallLayer::new(&[nothing], &view(), (64, 48), 1.0)
                .triangles
                .is_empty()
        );
    }

    #[test]
    fn samples_on_a_common_edge_belong_to_exactly_one_triangle() {
        let (a, b, c, d) = ((0.0, 0.0), (10.0, 0.3), (9.7, 10.0), (0.4, 9.9));
        for step in 1..90 {
            let y = 0.35 + 0.1 * f64::from(step);
            let (left, right) = (span(&[a, c, d], y), span(&[a, b, c], y));
            if let (Some(left), Some(right)) = (left, right) {
                assert_eq!(left.1, right.0);
            }
        }
    }

    #[test]
    fn layers_blend_from_far_to_near_whatever_the_order_of_insertion() {
        let (red, green) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let mut one = FragmentRow::new(1);
        one.insert(0, 0.2, red, 0.5);
        one.insert(0, 0.4, green, 0.5);
        let mut other = FragmentRow::new(1);
        other.insert(0, 0.4, green, 0.5);
        other.insert(0, 0.2, red, 0.5);
        assert_eq!(one.over(0, [0.0; 3]), [0.25, 0.5, 0.0]);
        assert_eq!(other.over(0, [0.0; 3]), [0.25, 0.5, 0.0]);
    }
}
