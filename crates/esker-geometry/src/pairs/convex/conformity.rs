//! How stiff a point of contact is: curvatures where a round surface meets something, a length
//! where two flat or sharp ones do.
//!
//! A sharp edge or corner counts as flat, as it does for spheres, so that a contact that rolls over
//! an edge keeps its stiffness. A line of a round surface (a capsule's or cylinder's side) that meets
//! a face or another parallel line has two points, each with `R = √(r* ℓ)`, `ℓ` half of the length that
//! touches; where it meets something sharp, the curvature it lacks counts as its own.

use super::polygon::Corner;
use super::solid::Solid;
use crate::manifold::Conformity;
use glam::{DMat3, DVec3};

/// Smallest half length of a line contact, in radii.
const MIN_LENGTH: f64 = 1e-3;

/// Flat against flat: half of the effective radius of the balls of equal volume.
pub(super) fn flat(a: &Solid, b: &Solid) -> Conformity {
    if b.is_wall {
        return flat_at_wall(a);
    }
    let (one, two) = (a.equivalent_radius(), b.equivalent_radius());
    Conformity::Flat {
        length: 0.5 * one * two / (one + two),
    }
}

/// Flat against a wall.
pub(super) fn flat_at_wall(body: &Solid) -> Conformity {
    Conformity::Flat {
        length: 0.5 * body.equivalent_radius(),
    }
}

/// A round body on a face: `line` is what of its line lies over the face. `None` where the body is
/// not round there.
pub(super) fn on_face(
    body: &Solid,
    direction: DVec3,
    line: Option<&[Corner; 2]>,
) -> Option<Conformity> {
    let curvature = body.curvature(direction, line)?;
    let Some(line) = line else {
        return Some(curved(curvature));
    };
    let along = line[1].point - line[0].point;
    let half_length = 0.5 * along.length();
    Some(if body.rounding > 0.0 {
        // From lying to standing on an end the change is gradual.
        let sine = along.normalize_or_zero().dot(direction);
        Conformity::of_line_end(body.rounding, half_length, sine)
    } else {
        line_contact(curvature, half_length)
    })
}

/// Two lines side by side.
pub(super) fn along_lines(
    a: &Solid,
    b: &Solid,
    normal: DVec3,
    [one, two]: [&[Corner; 2]; 2],
    half_length: f64,
) -> Option<Conformity> {
    let curvature = match [
        a.curvature(normal, Some(one)),
        b.curvature(-normal, Some(two)),
    ] {
        [Some(one), Some(two)] => one + two,
        [one, two] => one.or(two)?,
    };
    Some(line_contact(curvature, half_length))
}

/// A single point.
pub(super) fn of_point(
    a: &Solid,
    b: &Solid,
    normal: DVec3,
    line_a: Option<&[Corner; 2]>,
    line_b: Option<&[Corner; 2]>,
) -> Conformity {
    match [a.curvature(normal, line_a), b.curvature(-normal, line_b)] {
        [None, None] => flat(a, b),
        [Some(one), Some(two)] => curved(one + two),
        [one, two] => {
            let line = line_a
                .filter(|_| one.is_some())
                .or(line_b.filter(|_| two.is_some()));
            let curvature = one.or(two).unwrap_or(DMat3::ZERO);
            match line {
                Some(_) => Conformity::Curved {
                    radius: trace(&curvature).recip(),
                    ellipse_factor: 1.0,
                },
                None => curved(curvature),
            }
        }
    }
}

fn trace(matrix: &DMat3) -> f64 {
    matrix.x_axis.x + matrix.y_axis.y + matrix.z_axis.z
}

/// A line with one curvature.
fn line_contact(curvature: DMat3, half_length: f64) -> Conformity {
    let radius = trace(&curvature).recip();
    Conformity::Curved {
        radius: (radius * half_length.max(MIN_LENGTH * radius)).sqrt(),
        ellipse_factor: 1.0,
    }
}

/// Hertz's ellipse from the sum of the curvatures in the contact plane.
fn curved(curvature: DMat3) -> Conformity {
    let trace = trace(&curvature);
    let squares = self::trace(&(curvature * curvature));
    Conformity::from_curvature(trace, 0.5 * (trace * trace - squares))
}
