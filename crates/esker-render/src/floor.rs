//! Floors: unbounded planes, shown as discs that fade out and catch shadows.
//!
//! The ray of a sample meets the plane through `c` with normal `n` at the depth
//!
//! ```text
//! z = n·c / n·(u, v, 1)   in perspective,   z = n·(c − (u, v, 0)) / n_z   otherwise          (1)
//! ```
//!
//! and the floor there is as opaque as its distance `r` from `c` says: fully up to half of the
//! radius `R`, not at all beyond it. A floor seen from its edge is drawn as a line, and one seen
//! from behind not at all: it would hide what stands on it.

use glam::DVec3;

use crate::camera::View;
use crate::color::{Linear, decode, mix};
use crate::light::Light;
use crate::occlusion::ShadowMap;
use crate::picture::Floor;
use crate::visibility::{sample_x, sample_y};
use crate::walls::FragmentRow;

/// Share of the radius up to which a floor does not fade.
const CLEAR: f64 = 0.5;
/// Light that is left in full shadow.
const SHADE: f32 = 0.45;
/// Opacity that full shadow adds.
const SHADOW_OPACITY: f32 = 0.35;
/// Half width of the line that a floor is when seen from its edge, pixels.
const HALF_LINE: f64 = 0.8;
/// Cosine of the angle to the line of sight below which a floor is seen from its edge.
const EDGE_ON: f64 = 1e-3;

/// What a shader needs for the same floors.
pub(crate) fn constants() -> [(&'static str, f64); 5] {
    [
        ("FLOOR_CLEAR", CLEAR),
        ("FLOOR_HALF_LINE", HALF_LINE),
        ("FLOOR_EDGE_ON", EDGE_ON),
        ("FLOOR_SHADE", f64::from(SHADE)),
        ("FLOOR_SHADOW_OPACITY", f64::from(SHADOW_OPACITY)),
    ]
}

/// Floors in camera space.
pub(crate) struct FloorLayer {
    floors: Vec<Placed>,
}

struct Placed {
    centre: DVec3,
    normal: DVec3,
    radius: f64,
    color: Linear,
    opacity: f32,
}

impl FloorLayer {
    pub fn new(floors: &[Floor], view: &View) -> Self {
        let placed = floors.iter().filter_map(|floor| {
            let normal = view.turn(floor.normal).try_normalize()?;
            let [red, green, blue, alpha] = floor.color;
            let usable = floor.centre.is_finite() && floor.radius > 0.0 && alpha > 0.0;
            usable.then(|| Placed {
                centre: view.to_camera(floor.centre),
                normal,
                radius: floor.radius * view.scale,
                color: [red, green, blue].map(|x| decode(x.clamp(0.0, 1.0))),
                opacity: alpha.min(1.0),
            })
        });
        FloorLayer {
            floors: placed.collect(),
        }
    }

    /// Adds to `fragments` what the floors show in a sample row in front of the opaque things.
    pub fn draw_row(
        &self,
        row: usize,
        (view, light, shadows): (&View, &Light, &ShadowMap),
        opaque: &[f32],
        fragments: &mut FragmentRow,
    ) {
        for floor in &self.floors {
            for (column, solid) in opaque.iter().enumerate() {
                let (u, v) = (view.u(column as f64 + sample_x(row)), view.v(sample_y(row)));
                let Some((p, share)) = floor.at(view, u, v) else {
                    continue;
                };
                let nearness = view.nearness(p.z) as f32;
                if nearness <= *solid {
                    continue;
                }
                let towards_eye = view.towards_eye(u, v);
                if floor.normal.dot(towards_eye) < -EDGE_ON {
                    continue;
                }
                let lit = shadows.soft_lit_part(p, floor.normal);
                let (color, opacity) =
                    light.on_wall(floor.normal, towards_eye, floor.color, floor.opacity);
                let shaded = mix(color.map(|x| x * SHADE), color, lit);
                let opacity = (opacity + SHADOW_OPACITY * (1.0 - lit)) * share as f32;
                fragments.insert(column, nearness, shaded, opacity.min(1.0));
            }
        }
    }
}

impl Placed {
    /// The point seen at slopes `(u, v)`, eq. (1), and how much of the floor is left there.
    fn at(&self, view: &View, u: f64, v: f64) -> Option<(DVec3, f64)> {
        let p = if view.perspective {
            let ray = DVec3::new(u, v, 1.0);
            ray * (self.normal.dot(self.centre) / self.normal.dot(ray))
        } else {
            let start = DVec3::new(u, v, 0.0);
            let away = self.normal.dot(self.centre - start);
            if self.normal.z.abs() < EDGE_ON {
                let on_line = away.abs() < HALF_LINE * view.pixel;
                return on_line.then(|| self.faded(start.with_z(self.centre.z)))?;
            }
            start.with_z(away / self.normal.z)
        };
        let seen = p.is_finite() && (!view.perspective || p.z > View::NEAR);
        if seen { self.faded(p) } else { None }
    }

    fn faded(&self, p: DVec3) -> Option<(DVec3, f64)> {
        let beyond = (p.distance(self.centre) / self.radius - CLEAR) / (1.0 - CLEAR);
        let left = 1.0 - beyond.clamp(0.0, 1.0);
        let smooth = left * left * (3.0 - 2.0 * left);
        (smooth > 0.0).then_some((p, smooth))
    }
}
