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
pub(super) type Polygon = SmallVec<[Corner; 12]>;

/// Most points of one manifold.
pub(super) const MAX_POINTS: usize = 4;

/// A name made of two.
///
/// Names within a pair: vertices of `b` by their number, vertices of `a` by its complement, and what
/// is made of two names between them, so that the three never meet.
pub(super) fn mix(one: u32, two: u32) -> u32 {
    let bits = (u64::from(one) << 32 | u64::from(two)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    0x4000_0000 | (bits ^ bits >> 31) as u32 & 0x3fff_ffff
}

/// Name of an edge from its ends, in either order.
pub(super) fn edge_name([one, two]: [u32; 2]) -> u32 {
    mix(one.min(two), one.max(two))
}

/// Name of what lies on a feature of `a` and a feature of `b`.
pub(super) fn crossing(of_a: u32, of_b: u32) -> u32 {
    mix(of_a, of_b)
}

/// A face that other faces are clipped to.
pub(super) struct Window<'a> {
    pub corners: &'a [Corner],
    /// Outward unit normal.
    pub normal: DVec3,
    /// Corners within this of a side of the prism over the face count as within, and are not cut
    /// off: whether two edges lie exactly on one another does not decide what corners are named (m).
    pub tolerance: f64,
    /// Whether it is a face of `a`.
    pub is_of_a: bool,
    /// The names of a part of a larger face.
    pub plate: Option<&'a Plate>,
}

/// A flat piece of a wall that goes on beyond some of its sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plate {
    /// Three or four, counter-clockwise seen from the body.
    pub corners: [Corner; 4],
    pub count: usize,
    /// Unit normal on the side of the body.
    pub normal: DVec3,
    /// Name of the side from each corner to the next.
    pub sides: [u32; 4],
    /// Sides over which the wall does not go on.
    pub is_ridge: [bool; 4],
    /// Corners that are corners of the wall.
    pub is_corner: [bool; 4],
}

impl Plate {
    pub fn corners(&self) -> &[Corner] {
        &self.corners[..self.count]
    }
}

/// Name of points that lie within a larger face.
pub(super) const WITHIN: u32 = 1 << 29;

impl Window<'_> {
    fn next(&self, number: usize) -> &Corner {
        &self.corners[if number + 1 == self.corners.len() {
            0
        } else {
            number + 1
        }]
    }

    /// Side `number` as a point and an outward unit vector.
    fn side(&self, number: usize) -> (DVec3, DVec3) {
        let from = self.corners[number].point;
        let outward = (self.next(number).point - from).cross(self.normal);
        (from, outward.normalize_or_zero())
    }

    /// Name of a vertex of the polygon that is clipped.
    fn own_vertex(&self, name: u32) -> u32 {
        if self.is_of_a { name } else { !name }
    }

    /// Name of the point where an edge crosses a side.
    fn crossing(&self, side: Side, number: usize) -> u32 {
        let count = self.corners.len();
        let vertex = |number: usize| {
            if self.plate.is_some_and(|plate| !plate.is_corner[number]) {
                return WITHIN;
            }
            let name = self.corners[number].name;
            if self.is_of_a { !name } else { name }
        };
        match side {
            Side::Clip(other) if (other + 1) % count == number => vertex(number),
            Side::Clip(other) if (number + 1) % count == other => vertex(other),
            Side::Clip(other) => mix(vertex(other), vertex(number)),
            Side::Own(ends) => {
                let own = edge_name(ends);
                let window = match self.plate {
                    Some(plate) if !plate.is_ridge[number] => return WITHIN,
                    Some(plate) => plate.sides[number],
                    None => edge_name([self.corners[number].name, self.next(number).name]),
                };
                let [of_a, of_b] = if self.is_of_a {
                    [window, own]
                } else {
                    [own, window]
                };
                crossing(of_a, of_b)
            }
        }
    }
}

/// The edge that leaves a corner of a polygon that is being clipped.
#[derive(Clone, Copy)]
enum Side {
    /// Of the polygon itself, by the names of its ends.
    Own([u32; 2]),
    /// Of the window, by number.
    Clip(usize),
}

#[derive(Clone, Copy)]
struct ClipCorner {
    corner: Corner,
    side: Side,
    /// Over the side of the window that cuts (m).
    height: f64,
}

/// The part of `polygon` within the prism over the window, with corners named within the pair.
pub(super) fn clip(polygon: &[Corner], window: &Window) -> Polygon {
    // Two buffers take turns; they are too large to be moved.
    let mut buffers: [SmallVec<[ClipCorner; 12]>; 2] = [SmallVec::new(), SmallVec::new()];
    let [kept, result] = &mut buffers;
    let (mut kept, mut result) = (kept, result);
    for (k, &corner) in polygon.iter().enumerate() {
        let next = polygon[if k + 1 == polygon.len() { 0 } else { k + 1 }].name;
        kept.push(ClipCorner {
            corner: Corner {
                name: window.own_vertex(corner.name),
                ..corner
            },
            side: Side::Own([corner.name, next]),
            height: 0.0,
        });
    }
    let tolerance = window.tolerance;
    for number in 0..window.corners.len() {
        let (origin, outward) = window.side(number);
        let mut is_cut = false;
        for at in kept.iter_mut() {
            at.height = outward.dot(at.corner.point - origin);
            is_cut |= at.height > tolerance;
        }
        if !is_cut {
            continue;
        }
        result.clear();
        for k in 0..kept.len() {
            let (here, there) = (kept[k], kept[if k + 1 == kept.len() { 0 } else { k + 1 }]);
            let (low, high) = (here.height, there.height);
            let cut = |side: Side| ClipCorner {
                corner: Corner {
                    point: here
                        .corner
                        .point
                        .lerp(there.corner.point, low / (low - high)),
                    name: window.crossing(here.side, number),
                },
                side,
                height: 0.0,
            };
            match (low <= tolerance, high <= tolerance) {
                (true, true) => result.push(here),
                (true, false) if low < -tolerance => {
                    result.push(here);
                    result.push(cut(Side::Clip(number)));
                }
                (true, false) => result.push(ClipCorner {
                    side: Side::Clip(number),
                    ..here
                }),
                (false, true) if high < -tolerance => result.push(cut(here.side)),
                (false, _) => {}
            }
        }
        std::mem::swap(&mut kept, &mut result);
    }
    kept.iter().map(|at| at.corner).collect()
}

/// The part of a segment within the prism over the window; its ends keep their names.
pub(super) fn clip_segment(ends: [Corner; 2], window: &Window) -> Option<[Corner; 2]> {
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for number in 0..window.corners.len() {
        let (origin, outward) = window.side(number);
        let heights = ends.map(|end| outward.dot(end.point - origin));
        let part = heights[0] / (heights[0] - heights[1]);
        match heights.map(|height| height > window.tolerance) {
            [true, true] => return None,
            [true, false] => first = first.max(part),
            [false, true] => last = last.min(part),
            [false, false] => {}
        }
    }
    let at = |part: f64, name: u32| Corner {
        point: ends[0].point.lerp(ends[1].point, part),
        name: window.own_vertex(name),
    };
    (first <= last).then(|| [at(first, ends[0].name), at(last, ends[1].name)])
}

/// The point of a segment that is nearest to another.
pub(super) fn nearest_on_segment(ends: &[Corner; 2], point: DVec3) -> DVec3 {
    let along = ends[1].point - ends[0].point;
    let part = along.dot(point - ends[0].point) / along.length_squared();
    ends[0].point + part.clamp(0.0, 1.0) * along
}

/// The points of two segments that are nearest to one another.
pub(super) fn nearest_on_segments(one: &[Corner; 2], two: &[Corner; 2]) -> [DVec3; 2] {
    let (u, v) = (one[1].point - one[0].point, two[1].point - two[0].point);
    let between = one[0].point - two[0].point;
    let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
    let (ub, vb) = (u.dot(between), v.dot(between));
    let determinant = uu * vv - uv * uv;
    let along_u = if determinant > 0.0 {
        ((uv * vb - vv * ub) / determinant).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let at_two = nearest_on_segment(two, one[0].point + along_u * u);
    [nearest_on_segment(one, at_two), at_two]
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
    let (right, min) = best(&|point| -area(point), slack);
    let mut chosen: SmallVec<[usize; 4]> = SmallVec::new();
    chosen.extend([deepest, farthest]);
    for (index, area) in [(left, most), (right, min)] {
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
