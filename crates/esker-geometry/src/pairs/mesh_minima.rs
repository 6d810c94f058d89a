//! Local minima of a body's distance to a mesh, and which of them are contacts.
//!
//! Minima are thinned, deepest first. A minimum is dropped when it
//! - has the direction of one already kept to within [`MERGE_ANGLE`];
//! - lies on or behind the plane of a face already kept: the body meets it only inside the
//!   overlap with that face (an L-shaped plate, a T-junction, the far side of a thin plate);
//! - is within [`SMOOTH_ANGLE`] of two kept ones and in their plane, or of three.

use glam::DVec3;

/// Directions nearer than this are one touch: cos 1°.
const MERGE_ANGLE: f64 = 0.999_847_695_156_391_3;

/// Directions nearer than this belong to one smooth surface: cos 20°.
const SMOOTH_ANGLE: f64 = 0.939_692_620_785_908_4;

/// A direction nearer than this to the plane of two others adds nothing to them: sin 2°.
const IN_PLANE: f64 = 0.034_899_496_702_500_97;

/// How far in front of a touched face a point must lie to be touched too, in sizes of the body.
const COVER_DEPTH: f64 = 1e-4;

/// Only so many minima, the nearest, are looked at.
const MAX_MINIMA: usize = 32;

/// A local minimum of the distance.
#[derive(Clone, Copy)]
pub(super) struct Minimum {
    /// Unit vector from the body to the surface.
    pub normal: DVec3,
    /// Of the surface's tangent plane from the centre (m).
    pub distance: f64,
    /// From the body to the surface (m).
    pub gap: f64,
    /// Of the surface, seen from the centre (1/m).
    pub curvature: f64,
    pub feature: u32,
    pub is_face: bool,
}

/// The nearest minima in ascending order of gaps, one per feature.
pub(super) struct Minima {
    items: [Minimum; MAX_MINIMA],
    count: usize,
}

impl Minima {
    pub fn new() -> Self {
        let blank = Minimum {
            normal: DVec3::ZERO,
            distance: f64::INFINITY,
            gap: f64::INFINITY,
            curvature: 0.0,
            feature: 0,
            is_face: false,
        };
        Self {
            items: [blank; MAX_MINIMA],
            count: 0,
        }
    }

    pub fn insert(&mut self, new: Minimum) {
        // The feature breaks ties, so that the order does not depend on that of the triangles.
        let rank = |item: &Minimum| (item.gap, item.feature);
        let same = |item: &Minimum| item.feature == new.feature;
        if let Some(known) = self.items[..self.count].iter().position(same) {
            if rank(&self.items[known]) <= rank(&new) {
                return;
            }
            self.items.copy_within(known + 1..self.count, known);
            self.count -= 1;
        }
        let at = self.items[..self.count].partition_point(|item| rank(item) < rank(&new));
        if at == MAX_MINIMA {
            return;
        }
        self.count = (self.count + 1).min(MAX_MINIMA);
        self.items.copy_within(at..self.count - 1, at + 1);
        self.items[at] = new;
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Minimum> {
        self.items[..self.count].iter()
    }

    /// Calls `keep` with those that the module's documentation keeps, of a body of this size (m);
    /// `point` is where a minimum is, from the centre (m).
    pub fn keep_independent(
        &self,
        size: f64,
        point: impl Fn(&Minimum) -> DVec3,
        mut keep: impl FnMut(&Minimum),
    ) {
        let minima = &self.items[..self.count];
        let mut kept = [0; MAX_MINIMA];
        let mut count = 0;
        for (index, new) in minima.iter().enumerate() {
            let kept_minima = || kept[..count].iter().map(|&k: &usize| &minima[k]);
            let point = point(new);
            let is_covered = kept_minima().any(|known| {
                let lead = known.distance - point.dot(known.normal);
                new.normal.dot(known.normal) > MERGE_ANGLE
                    || (known.is_face && lead <= COVER_DEPTH * size)
            });
            if is_covered {
                continue;
            }
            let mut alike =
                kept_minima().filter(|known| new.normal.dot(known.normal) > SMOOTH_ANGLE);
            let is_redundant = match (alike.next(), alike.next(), alike.next()) {
                (_, _, Some(_)) => true,
                (Some(one), Some(two), None) => {
                    let across = one.normal.cross(two.normal).normalize_or_zero();
                    new.normal.dot(across).abs() < IN_PLANE
                }
                _ => false,
            };
            if !is_redundant {
                kept[count] = index;
                count += 1;
                keep(new);
            }
        }
    }
}
