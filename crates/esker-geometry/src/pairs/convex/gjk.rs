//! Distance of two convex bodies by the algorithm of Gilbert, Johnson and Keerthi.
//!
//! `v` is the point of the Minkowski difference `B − A` that is nearest to the origin, sought as the
//! nearest point of a simplex of support points. The newest point belongs to every simplex that is
//! nearer than the last one, so that eight of the fifteen parts of a tetrahedron are looked at.

use super::solid::Solid;
use glam::{DMat3, DVec3};

/// Polytopes end after a few iterations, curved bodies where `v` is as good as [`TOLERANCE`].
const MAX_ITERATIONS: usize = 48;

/// Part of `|v|²` that the bound on the distance may still lie below it.
const TOLERANCE: f64 = 1e-13;

/// Cores nearer than this part of the size of the difference are taken to overlap.
const TOUCHING: f64 = 1e-12;

/// Up to four points of `B − A`.
#[derive(Clone, Copy)]
pub(super) struct Simplex {
    pub points: [DVec3; 4],
    pub count: usize,
}

pub(super) enum Proximity {
    /// Unit vector from `a` to `b` along the shortest way between the cores.
    Apart(DVec3),
    /// The simplex contains the origin, or nearly touches it.
    Overlapping(Simplex),
}

/// The point of `B − A` that is farthest along a direction.
pub(super) fn difference_support(a: &Solid, b: &Solid, direction: DVec3) -> DVec3 {
    b.support(direction) - a.support(-direction)
}

/// Whether the cores overlap, and if not where they are nearest. `start` is a guess of the normal.
pub(super) fn proximity(a: &Solid, b: &Solid, start: DVec3) -> Proximity {
    let mut v = difference_support(a, b, -start);
    let mut simplex = Simplex {
        points: [v, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO],
        count: 1,
    };
    let mut size = v.length_squared();
    for _ in 0..MAX_ITERATIONS {
        let squared = v.length_squared();
        if squared <= TOUCHING * TOUCHING * size {
            return Proximity::Overlapping(simplex);
        }
        let new = difference_support(a, b, -v);
        size = size.max(new.length_squared());
        let is_known = simplex.points[..simplex.count].contains(&new);
        if is_known || squared - v.dot(new) <= TOLERANCE * squared {
            break;
        }
        let Some((nearest, part)) = nearest_part(&simplex, new) else {
            simplex.points[simplex.count.min(3)] = new;
            simplex.count = 4;
            return Proximity::Overlapping(simplex);
        };
        if nearest.length_squared() >= squared {
            break;
        }
        (v, simplex) = (nearest, part);
    }
    Proximity::Apart(v.normalize_or_zero())
}

/// The point nearest to the origin of the simplex with one more point, and the smallest part of it
/// with that point; `None` where the origin is within.
fn nearest_part(simplex: &Simplex, new: DVec3) -> Option<(DVec3, Simplex)> {
    let known = &simplex.points[..simplex.count];
    let mut best = (
        new,
        Simplex {
            points: [new; 4],
            count: 1,
        },
    );
    let mut try_part = |nearest: DVec3, others: &[DVec3]| {
        if nearest.length_squared() < best.0.length_squared() {
            let mut points = [new; 4];
            points[..others.len()].copy_from_slice(others);
            best = (
                nearest,
                Simplex {
                    points,
                    count: others.len() + 1,
                },
            );
        }
    };
    for (k, &one) in known.iter().enumerate() {
        let edge = one - new;
        let part = -new.dot(edge) / edge.length_squared();
        if (0.0..=1.0).contains(&part) {
            try_part(new + part * edge, &[one]);
        }
        for &two in &known[k + 1..] {
            if let Some(nearest) = nearest_in_triangle(new, one, two) {
                try_part(nearest, &[one, two]);
            }
        }
    }
    if let &[one, two, three] = known {
        let edges = DMat3::from_cols(one - new, two - new, three - new);
        let volume = edges.determinant();
        let size = edges.x_axis.length() * edges.y_axis.length() * edges.z_axis.length();
        if volume.abs() > 1e-14 * size {
            let parts = edges.inverse() * -new;
            if parts.min_element() >= 0.0 && parts.element_sum() <= 1.0 {
                return None;
            }
        }
    }
    Some(best)
}

/// The foot of the origin in a triangle, if it lies within.
fn nearest_in_triangle(a: DVec3, b: DVec3, c: DVec3) -> Option<DVec3> {
    let (u, v) = (b - a, c - a);
    let normal = u.cross(v);
    let squared = normal.length_squared();
    if squared <= 1e-28 * u.length_squared() * v.length_squared() {
        return None;
    }
    let along_u = (-a).cross(v).dot(normal) / squared;
    let along_v = u.cross(-a).dot(normal) / squared;
    let is_within = along_u >= 0.0 && along_v >= 0.0 && along_u + along_v <= 1.0;
    is_within.then(|| normal * (a.dot(normal) / squared))
}
