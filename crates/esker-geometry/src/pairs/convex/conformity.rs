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

/// Ratio of principal curvatures up to which `Φ` is known.
const MAX_RATIO: f64 = 1000.0;

/// Least half length of a line contact, in radii.
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
    Some(match line {
        Some(line) => {
            let half_length = 0.5 * line[0].point.distance(line[1].point);
            line_contact(curvature, half_length, body.rounding)
        }
        None => curved(curvature),
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
    let rounding = a.rounding.max(b.rounding);
    Some(line_contact(curvature, half_length, rounding))
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

/// A line with one curvature; the round end of a capsule is at least as stiff as its sphere.
fn line_contact(curvature: DMat3, half_length: f64, rounding: f64) -> Conformity {
    let radius = trace(&curvature).recip();
    let least = rounding.min(radius).max(MIN_LENGTH * radius);
    Conformity::Curved {
        radius: (radius * half_length.max(least)).sqrt(),
        ellipse_factor: 1.0,
    }
}

/// Hertz's ellipse from the sum of the curvatures in the contact plane:
/// `R = (κ₁ κ₂)^(-1/2)`, `Φ = 1 + 0.02157 x² − 6.33e-4 x³ + 8.78e-5 x⁴`, `x = ln (κ₁/κ₂)`.
fn curved(curvature: DMat3) -> Conformity {
    let mean = 0.5 * trace(&curvature);
    let squares = trace(&(curvature * curvature));
    // Half the difference of the two: κ₁² + κ₂² = 2 (mean² + difference²).
    let difference = (0.5 * squares - mean * mean).max(0.0).sqrt();
    let greatest = mean + difference;
    let least = (mean - difference).max(greatest / MAX_RATIO);
    let x = (greatest / least).ln();
    let x = if x < 1e-7 { 0.0 } else { x };
    Conformity::Curved {
        radius: (greatest * least).sqrt().recip(),
        ellipse_factor: 1.0 + x * x * (0.021_57 + x * (-6.33e-4 + x * 8.78e-5)),
    }
}
