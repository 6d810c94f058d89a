//! Convex polygons in space: clipping, and the choice of four points out of many.

use glam::DVec3;
use smallvec::SmallVec;

/// A named point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub point: DVec3,
    /// Of a vertex within its body, or of a crossing of two edges within their pair.
    pub name: u32,
}

/// Corners in order. Faces with more corners than fit go to the heap.
pub(super) type Polygon = SmallVec<[Corner; 16]>;

/// Most points of one manifold.
pub(super) const MAX_POINTS: usize = 4;

/// Names below this are vertices of the incident body, names above its complement vertices of the
/// reference body, and those between are crossings.
const VERTICES: u32 = 1 << 24;

/// A name made of two, between those of vertices.
pub(super) fn mix(one: u32, two: u32) -> u32 {
    let bits = (u64::from(one) << 32 | u64::from(two)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    0x4000_0000 | (bits ^ bits >> 31) as u32 & 0x3fff_ffff
}

/// The name of the same point with the roles of the two bodies exchanged.
pub(super) fn exchanged(name: u32) -> u32 {
    if name < VERTICES || !name < VERTICES {
        !name
    } else {
        name
    }
}

/// Name of an edge from its ends, in either order.
pub(super) fn edge_name(one: u32, two: u32) -> u32 {
    mix(one.min(two), one.max(two))
}

/// Name of what lies on an edge of each of two bodies, however they are ordered.
pub(super) fn crossing(one: u32, two: u32) -> u32 {
    mix(one.min(two), one.max(two))
}

/// The edge that leaves a corner of a polygon that is being clipped.
#[derive(Clone, Copy)]
enum Side {
    /// Of the polygon itself, by name.
    Own(u32),
    /// Of the clipping polygon, by number.
    Clip(usize),
}

#[derive(Clone, Copy)]
struct ClipCorner {
    corner: Corner,
    side: Side,
}

/// The part of `polygon` within the prism over `window`, whose outward normal is `normal`.
///
/// Corners within `tolerance` of a side of the prism count as within, and a corner that does is not
/// cut off: whether two edges lie exactly on one another does not decide what corners are named.
/// Names: of the corner of either polygon, or of the crossing of two edges.
pub(super) fn clip(
    polygon: &[Corner],
    window: &[Corner],
    normal: DVec3,
    tolerance: f64,
) -> Polygon {
    let next = |list: &[Corner], k: usize| list[(k + 1) % list.len()];
    let mut kept: SmallVec<[ClipCorner; 16]> = (0..polygon.len())
        .map(|k| ClipCorner {
            corner: polygon[k],
            side: Side::Own(edge_name(polygon[k].name, next(polygon, k).name)),
        })
        .collect();
    let mut result: SmallVec<[ClipCorner; 16]> = SmallVec::new();
    for number in 0..window.len() {
        let (from, to) = (window[number], next(window, number));
        let outward = (to.point - from.point).cross(normal).normalize_or_zero();
        let height = |at: &ClipCorner| outward.dot(at.corner.point - from.point);
        let mut heights: SmallVec<[f64; 16]> = SmallVec::new();
        heights.extend(kept.iter().map(height));
        if heights.iter().all(|height| *height <= tolerance) {
            continue;
        }
        result.clear();
        for k in 0..kept.len() {
            let (here, there) = (kept[k], kept[(k + 1) % kept.len()]);
            let (low, high) = (heights[k], heights[(k + 1) % kept.len()]);
            let (is_in, goes_in) = (low <= tolerance, high <= tolerance);
            let cut = || {
                let part = low / (low - high);
                Corner {
                    point: here.corner.point.lerp(there.corner.point, part),
                    name: crossing_name(here.side, number, window),
                }
            };
            let clip_side = Side::Clip(number);
            match (is_in, goes_in) {
                (true, true) => result.push(here),
                (true, false) if low < -tolerance => {
                    let corner = cut();
                    let side = clip_side;
                    result.extend([here, ClipCorner { corner, side }]);
                }
                (true, false) => result.push(ClipCorner {
                    corner: here.corner,
                    side: clip_side,
                }),
                (false, true) if high < -tolerance => result.push(ClipCorner {
                    corner: cut(),
                    side: here.side,
                }),
                (false, _) => {}
            }
        }
        std::mem::swap(&mut kept, &mut result);
    }
    kept.into_iter().map(|at| at.corner).collect()
}

/// Name of the point where an edge crosses a side of the window.
fn crossing_name(side: Side, number: usize, window: &[Corner]) -> u32 {
    let count = window.len();
    match side {
        Side::Clip(other) if (other + 1) % count == number => !window[number].name,
        Side::Clip(other) if (number + 1) % count == other => !window[other].name,
        Side::Clip(other) => mix(window[other].name, window[number].name),
        Side::Own(edge) => {
            let next = window[(number + 1) % count].name;
            crossing(edge, edge_name(window[number].name, next))
        }
    }
}

/// The part of a segment within the prism over `window`; its ends keep their names.
pub(super) fn clip_segment(
    ends: [Corner; 2],
    window: &[Corner],
    normal: DVec3,
    tolerance: f64,
) -> Option<[Corner; 2]> {
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for number in 0..window.len() {
        let (from, to) = (window[number], window[(number + 1) % window.len()]);
        let outward = (to.point - from.point).cross(normal).normalize_or_zero();
        let heights = ends.map(|end| outward.dot(end.point - from.point));
        let is_out = heights.map(|height| height > tolerance);
        let part = heights[0] / (heights[0] - heights[1]);
        match is_out {
            [true, true] => return None,
            [true, false] => first = first.max(part),
            [false, true] => last = last.min(part),
            [false, false] => {}
        }
    }
    let at = |part: f64, name: u32| Corner {
        point: ends[0].point.lerp(ends[1].point, part),
        name,
    };
    (first <= last).then(|| [at(first, ends[0].name), at(last, ends[1].name)])
}

/// A corner with its distance from the other body.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub corner: Corner,
    pub gap: f64,
}

/// Keeps four points that span the contact: the deepest, the one farthest from it, and those with
/// the largest and smallest signed area over the line between them. Of points that are equal to
/// within `tolerance` the first is taken, so that rounding does not choose.
pub(super) fn reduce<A: smallvec::Array<Item = Candidate>>(
    points: &mut SmallVec<A>,
    normal: DVec3,
    tolerance: f64,
) {
    if points.len() <= MAX_POINTS {
        return;
    }
    let best = |measure: &dyn Fn(&Candidate) -> f64, slack: f64| {
        let mut best = (0, measure(&points[0]));
        for (index, point) in points.iter().enumerate().skip(1) {
            let value = measure(point);
            if value > best.1 + slack {
                best = (index, value);
            }
        }
        best
    };
    let (deepest, _) = best(&|point| -point.gap, tolerance);
    let origin = points[deepest].corner.point;
    let (farthest, distance) = best(&|point| point.corner.point.distance(origin), tolerance);
    let across = normal.cross(points[farthest].corner.point - origin);
    let area = |point: &Candidate| across.dot(point.corner.point - origin);
    let slack = tolerance * distance;
    let (left, most) = best(&area, slack);
    let (right, least) = best(&|point| -area(point), slack);
    let mut chosen: SmallVec<[usize; 4]> = SmallVec::new();
    chosen.extend([deepest, farthest]);
    for (index, area) in [(left, most), (right, least)] {
        if area > slack && !chosen.contains(&index) {
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    for (to, &from) in chosen.iter().enumerate() {
        points[to] = points[from];
    }
    points.truncate(chosen.len());
}
