//! Periodic boundaries: a box that continues itself on the other side.
//!
//! Grains stay in the box: who leaves it enters at the opposite face. Two grains
//! touch across a face as the nearest images of one another do, with the branch
//! vector
//!
//! ```text
//! b_k − L_k round(b_k / L_k),                                            (1)
//! ```
//!
//! and as contacts need normals and radii only, nobody but those who look for
//! pairs or measure distances knows. Pairs are looked for among the grains and
//! images of those near a face. Of two images that see one another, one has a
//! shift whose first number that is not zero is positive: only those are made, so
//! that every pair is found once.

use esker_parallel::{SharedSlice, Team};
use glam::DVec3;

use crate::grains::Grains;

/// Smallest width of a periodic box, in diameters of the largest grain: its grains
/// must not meet the same neighbour on two sides.
pub const MIN_DIAMETERS: f64 = 4.0;

/// A box with periodic faces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Periodic {
    /// Lower corner, m; zero along other axes.
    low: DVec3,
    /// Width, m; infinite along axes that are not periodic.
    width: DVec3,
}

/// A grain seen across a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Image {
    /// Index of the grain.
    pub(crate) source: u32,
    /// Where it is seen, m.
    pub(crate) position: DVec3,
}

/// A place, and where else it is seen in a periodic world.
pub(crate) fn images(periodic: Option<&Periodic>, place: DVec3) -> impl Iterator<Item = DVec3> {
    let around = periodic.into_iter().flat_map(move |p| p.seen_at(place));
    std::iter::once(place).chain(around)
}

impl Periodic {
    /// The box of a definition; `None` where no axis is periodic.
    pub(crate) fn new(ranges: &[Option<[f64; 2]>; 3]) -> Option<Self> {
        let low = DVec3::from_array(ranges.map(|range| range.map_or(0.0, |[low, _]| low)));
        let width = ranges.map(|range| range.map_or(f64::INFINITY, |[low, high]| high - low));
        ranges.iter().any(Option::is_some).then_some(Periodic {
            low,
            width: DVec3::from_array(width),
        })
    }

    /// Lower end and width along an axis, m, if it is periodic.
    pub(crate) fn range(&self, axis: usize) -> Option<(f64, f64)> {
        let width = self.width[axis];
        width.is_finite().then_some((self.low[axis], width))
    }

    /// The same place in the box.
    pub(crate) fn wrapped(&self, mut place: DVec3) -> DVec3 {
        for axis in 0..3 {
            if let Some((low, width)) = self.range(axis) {
                let turns = ((place[axis] - low) / width).floor();
                // Most are inside: their numbers stay as they are.
                if turns != 0.0 {
                    let inside = place[axis] - turns * width;
                    // Rounding may leave it just outside.
                    place[axis] = if inside < low + width {
                        inside.max(low)
                    } else {
                        low
                    };
                }
            }
        }
        place
    }

    /// The shortest branch vector between images (1), m.
    pub(crate) fn branch(&self, mut branch: DVec3) -> DVec3 {
        for axis in 0..3 {
            if let Some((_, width)) = self.range(axis) {
                branch[axis] -= width * (branch[axis] / width).round();
            }
        }
        branch
    }

    /// The image of a place that is nearest to another place, m.
    pub(crate) fn nearest_image(&self, mut place: DVec3, to: DVec3) -> DVec3 {
        for axis in 0..3 {
            if let Some((_, width)) = self.range(axis) {
                let turns = ((place[axis] - to[axis]) / width).round();
                // Most are near: their numbers stay as they are.
                if turns != 0.0 {
                    place[axis] -= turns * width;
                }
            }
        }
        place
    }

    /// Whether a branch vector is the one of the nearest images; of two that
    /// are equally long one is.
    pub(crate) fn is_nearest(&self, branch: DVec3) -> bool {
        (0..3).all(|axis| {
            self.range(axis)
                .is_none_or(|(_, width)| (-0.5 * width..0.5 * width).contains(&branch[axis]))
        })
    }

    /// Puts every grain into the box.
    pub(crate) fn wrap(&self, team: &mut Team, grains: &mut Grains) {
        let count = grains.len();
        let positions = SharedSlice::new(&mut grains.position);
        team.run(|worker| {
            for i in worker.part_of(count, 1) {
                // SAFETY: the parts of different workers are disjoint.
                unsafe {
                    let position = positions.at(i);
                    *position = self.wrapped(*position);
                }
            }
        });
    }

    /// Shifts of images, in widths, of which the opposite is not made.
    fn shifts(&self) -> impl Iterator<Item = DVec3> {
        let steps = |axis: usize| match self.range(axis) {
            Some(_) => -1..=1,
            None => 0..=0,
        };
        let (y, z) = (steps(1), steps(2));
        let all = steps(0).flat_map(move |i| {
            let z = z.clone();
            y.clone()
                .flat_map(move |j| z.clone().map(move |k| [i, j, k]))
        });
        all.filter(|shift| *shift > [0, 0, 0])
            .map(|shift| DVec3::from_array(shift.map(f64::from)))
    }

    /// All other places around the box where a place is seen.
    pub(crate) fn seen_at(&self, place: DVec3) -> impl Iterator<Item = DVec3> {
        let width = self.finite_width();
        let shifts = self.shifts().flat_map(|shift| [shift, -shift]);
        shifts.map(move |shift| place + shift * width)
    }

    /// Width, m; zero along axes that are not periodic.
    fn finite_width(&self) -> DVec3 {
        self.width.map(|w| if w.is_finite() { w } else { 0.0 })
    }

    /// Replaces `images` by all that a sphere in the box can be near to, for
    /// spheres with these reaches, m.
    pub(crate) fn list_images(&self, centres: &[DVec3], reaches: &[f64], images: &mut Vec<Image>) {
        images.clear();
        let widest = reaches.iter().copied().fold(0.0, f64::max);
        let width = self.finite_width();
        for shift in self.shifts() {
            for (source, (centre, reach)) in centres.iter().zip(reaches).enumerate() {
                let position = *centre + shift * width;
                if self.is_near(position, reach + widest) {
                    images.push(Image {
                        source: source as u32,
                        position,
                    });
                }
            }
        }
    }

    /// Whether a point is in the box or not farther from it than this, m.
    fn is_near(&self, point: DVec3, distance: f64) -> bool {
        (0..3).all(|axis| {
            self.range(axis).is_none_or(|(low, width)| {
                point[axis] > low - distance && point[axis] < low + width + distance
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomStream, Source};
    use esker_geometry::BroadPhase;

    fn slab() -> Periodic {
        Periodic::new(&[Some([-0.5, 0.5]), None, Some([2.0, 3.5])]).expect("two axes")
    }

    #[test]
    fn places_are_wrapped_into_the_box() {
        let inside = DVec3::new(0.2, 77.0, 2.1);
        assert_eq!(slab().wrapped(inside), inside);
        let outside = inside + DVec3::new(3.0, 0.0, -1.5 * 4.0);
        assert!(slab().wrapped(outside).distance(inside) < 1e-12);
        for edge in [0.5, 0.5 - 1e-17, -0.5 - 1e-17] {
            let x = slab().wrapped(DVec3::new(edge, 0.0, 2.0)).x;
            assert!((-0.5..0.5).contains(&x), "{edge} becomes {x}");
        }
    }

    #[test]
    fn branches_are_those_of_the_nearest_images() {
        let branch = slab().branch(DVec3::new(0.9, 0.9, -1.4));
        assert!(branch.distance(DVec3::new(-0.1, 0.9, 0.1)) < 1e-12);
        assert!(slab().is_nearest(branch));
        assert!(!slab().is_nearest(DVec3::new(0.9, 0.0, 0.0)));
    }

    /// Every near pair once, whichever of the images see one another.
    #[test]
    fn images_find_every_pair_once() {
        for ranges in [
            [Some([0.0, 1.0]), None, None],
            [Some([0.0, 1.0]), Some([0.0, 1.0]), None],
            [Some([0.0, 1.0]), Some([0.0, 1.0]), Some([0.0, 1.0])],
        ] {
            let periodic = Periodic::new(&ranges).expect("periodic");
            let mut stream = RandomStream::new(4, Source::Packing(0));
            let centres: Vec<DVec3> = (0..400).map(|_| stream.uniform3().into()).collect();
            let reaches: Vec<f64> = (0..400).map(|_| 0.02 + 0.05 * stream.uniform()).collect();
            let mut images = Vec::new();
            periodic.list_images(&centres, &reaches, &mut images);
            let source = |i: u32| match images.get((i as usize).wrapping_sub(centres.len())) {
                Some(image) => image.source,
                None => i,
            };
            let seen = images.iter().map(|image| image.position);
            let all: Vec<DVec3> = centres.iter().copied().chain(seen).collect();
            let all_reaches: Vec<f64> = (0..all.len() as u32)
                .map(|i| reaches[source(i) as usize])
                .collect();
            let mut pairs = Vec::new();
            let result = BroadPhase::default().find_pairs(&all, &all_reaches, &mut pairs);
            result.expect("no crowd");
            let is_real = |i: u32| (i as usize) < centres.len();
            let mut found: Vec<[u32; 2]> = pairs
                .into_iter()
                .filter(|[i, j]| is_real(*i) || is_real(*j))
                .map(|[i, j]| [source(i).min(source(j)), source(i).max(source(j))])
                .collect();
            found.sort_unstable();
            let mut expected = Vec::new();
            for i in 0..centres.len() {
                for j in i + 1..centres.len() {
                    let branch = periodic.branch(centres[j] - centres[i]);
                    if branch.length() < reaches[i] + reaches[j] {
                        expected.push([i as u32, j as u32]);
                    }
                }
            }
            assert!(expected.len() > 100, "{}", expected.len());
            assert_eq!(found, expected);
        }
    }
}
