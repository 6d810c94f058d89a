//! Volume and moments of a union of balls.
//!
//! A slice of the union at height `z` is a union of discs. By Green's theorem its moments are
//! integrals over the arcs of its outline, those parts of each circle that lie in no other disc:
//!
//! ```text
//! ∫ x^m y^n dA = 1/(m+1) ∮ x^(m+1) y^n dy.                               (1)
//! ```
//!
//! The integrand in `z` is smooth between the heights where balls and circles of intersection
//! begin and end, and has at most roots there, which `z = mid − half cos πt` makes smooth. Each
//! such interval is halved until Gauss' rule agrees with itself to [`TOLERANCE`].

use glam::{DMat3, DVec2, DVec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Relative error of volume and second moments that ends the subdivision.
pub(super) const TOLERANCE: f64 = 1e-10;
/// Halvings of an interval at most.
const MAX_DEPTH: u32 = 12;
/// Points of Gauss' rule: exact to rounding for moments of a quarter of a circle.
const GAUSS_POINTS: usize = 10;

/// Volume, first moments and second moments about the origin of the balls' coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    /// Volume (m³).
    pub volume: f64,
    /// `∫ x dV` (m⁴).
    pub first: DVec3,
    /// `∫ x xᵀ dV` (m⁵).
    pub second: DMat3,
}

impl Moments {
    const ZERO: Self = Self {
        volume: 0.0,
        first: DVec3::ZERO,
        second: DMat3::ZERO,
    };

    fn add(&mut self, other: &Self, weight: f64) {
        self.volume += weight * other.volume;
        self.first += weight * other.first;
        self.second += weight * other.second;
    }

    /// Largest relative difference, with `size` the extent of the body (m).
    fn difference(&self, other: &Self, scale: f64, size: f64) -> f64 {
        let second = self.second - other.second;
        let second = [second.x_axis, second.y_axis, second.z_axis];
        let second = second.iter().fold(0.0, |m, c| c.abs().max_element().max(m));
        let volume = (self.volume - other.volume).abs();
        let first = (self.first - other.first).abs().max_element();
        volume.max(first / size).max(second / (size * size)) / scale
    }

    fn of_ball(centre: DVec3, radius: f64) -> Self {
        let volume = 4.0 / 3.0 * PI * radius.powi(3);
        let outer = DMat3::from_cols(centre * centre.x, centre * centre.y, centre * centre.z);
        let own = DMat3::from_diagonal(DVec3::splat(radius * radius / 5.0));
        Self {
            volume,
            first: volume * centre,
            second: volume * (outer + own),
        }
    }

    /// Of the union of these balls. Where none overlaps another this is the plain sum.
    pub(super) fn of_union(balls: &[(DVec3, f64)]) -> Self {
        // About the middle of the balls, so that no digits are lost far from the origin.
        let middle = balls.iter().map(|b| b.0).sum::<DVec3>() / balls.len() as f64;
        let local: Vec<(DVec3, f64)> = balls.iter().map(|b| (b.0 - middle, b.1)).collect();
        let overlaps = |k: usize| {
            let (centre, radius) = local[k];
            let mut others = local[..k].iter();
            others.any(|&(c, r)| c.distance(centre) < r + radius)
        };
        if (0..local.len()).any(overlaps) {
            return Integral::new(&local).run().moved(middle);
        }
        let mut sum = Self::ZERO;
        for (centre, radius) in local {
            sum.add(&Self::of_ball(centre, radius), 1.0);
        }
        sum.moved(middle)
    }

    /// About an origin that lies at `-offset` of the present one.
    fn moved(&self, offset: DVec3) -> Self {
        let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
        Self {
            volume: self.volume,
            first: self.first + self.volume * offset,
            second: self.second
                + outer(self.first, offset)
                + outer(offset, self.first)
                + self.volume * outer(offset, offset),
        }
    }

    /// About the centroid: its place, and the second moments there.
    pub(super) fn central(&self) -> (DVec3, DMat3) {
        let centroid = self.first / self.volume;
        (centroid, self.moved(-centroid).second)
    }
}

struct Integral<'a> {
    balls: &'a [(DVec3, f64)],
    gauss: [(f64, f64); GAUSS_POINTS],
    /// Extent (m) and its cube, which errors are measured by.
    size: f64,
    discs: Vec<(DVec2, f64)>,
    covered: Vec<(f64, f64)>,
}

impl<'a> Integral<'a> {
    fn new(balls: &'a [(DVec3, f64)]) -> Self {
        let size = balls.iter().fold(0.0, |m, b| (b.0.length() + b.1).max(m));
        Self {
            balls,
            gauss: gauss_rule(),
            size,
            discs: Vec::new(),
            covered: Vec::new(),
        }
    }

    fn run(&mut self) -> Moments {
        let breaks = self.breaks();
        let largest = self.balls.iter().fold(0.0, |m, b| b.1.max(m));
        // The union holds at least its largest ball.
        let scale = 4.0 / 3.0 * PI * f64::powi(largest, 3);
        let mut sum = Moments::ZERO;
        for pair in breaks.windows(2) {
            if pair[1] > pair[0] {
                sum.add(&self.adaptive((pair[0], pair[1]), scale), 1.0);
            }
        }
        sum
    }

    /// Heights where balls, and the circles in which two of them meet, begin and end.
    fn breaks(&self) -> Vec<f64> {
        let mut breaks = Vec::new();
        for (k, &(c, r)) in self.balls.iter().enumerate() {
            breaks.extend([c.z - r, c.z + r]);
            for &(d, s) in &self.balls[..k] {
                let axis = d - c;
                let distance = axis.length();
                if distance < r + s && distance > (r - s).abs() {
                    let along = 0.5 * (distance + (r * r - s * s) / distance);
                    let radius = (r * r - along * along).max(0.0).sqrt();
                    let up = axis.z / distance;
                    let half = radius * (1.0 - up * up).max(0.0).sqrt();
                    breaks.extend([c.z + along * up - half, c.z + along * up + half]);
                }
            }
        }
        breaks.sort_by(f64::total_cmp);
        breaks
    }

    /// Over one interval, in the variable `t` of `z = mid − half cos πt`.
    fn adaptive(&mut self, ends: (f64, f64), scale: f64) -> Moments {
        let mut sum = Moments::ZERO;
        let mut waiting = vec![((0.0, 1.0), self.rule(ends, (0.0, 1.0)), 0)];
        while let Some(((a, b), whole, depth)) = waiting.pop() {
            let middle = 0.5 * (a + b);
            let halves = [(a, middle), (middle, b)].map(|half| (half, self.rule(ends, half)));
            let mut refined = halves[0].1;
            refined.add(&halves[1].1, 1.0);
            if depth >= MAX_DEPTH || refined.difference(&whole, scale, self.size) < TOLERANCE {
                sum.add(&refined, 1.0);
            } else {
                waiting.extend(halves.map(|(half, value)| (half, value, depth + 1)));
            }
        }
        sum
    }

    fn rule(&mut self, (bottom, top): (f64, f64), (a, b): (f64, f64)) -> Moments {
        let (mid, half) = (0.5 * (bottom + top), 0.5 * (top - bottom));
        let mut sum = Moments::ZERO;
        for (node, weight) in self.gauss {
            let t = 0.5 * (a + b) + 0.5 * (b - a) * node;
            let (sin, cos) = (PI * t).sin_cos();
            let slice = self.slice(mid - half * cos);
            sum.add(&slice, weight * 0.5 * (b - a) * half * PI * sin);
        }
        sum
    }

    /// Moments per height of the union's slice.
    fn slice(&mut self, z: f64) -> Moments {
        self.discs.clear();
        for &(c, r) in self.balls {
            let squared = (r - (z - c.z)) * (r + (z - c.z));
            if squared > 0.0 {
                self.discs.push((c.truncate(), squared.sqrt()));
            }
        }
        let mut sum = Moments::ZERO;
        for index in 0..self.discs.len() {
            self.find_covered(index);
            let (centre, radius) = self.discs[index];
            let mut from = -PI;
            for k in 0..=self.covered.len() {
                let (start, end) = self.covered.get(k).copied().unwrap_or((PI, PI));
                if start > from {
                    sum.add(&self.arc(centre, radius, (from, start), z), 1.0);
                }
                from = from.max(end);
            }
        }
        sum
    }

    /// Intervals of azimuth, sorted, in which the disc's circle lies in another disc.
    fn find_covered(&mut self, index: usize) {
        self.covered.clear();
        let (centre, radius) = self.discs[index];
        for (other, &(c, r)) in self.discs.iter().enumerate() {
            let offset = c - centre;
            let distance = offset.length();
            if other == index || distance >= radius + r {
                continue;
            }
            if distance <= (r - radius).abs() {
                // One disc holds the other; of equal ones the first stays.
                if r > radius || (r == radius && other < index) {
                    self.covered.push((-PI, PI));
                }
                continue;
            }
            let cos = (distance * distance + radius * radius - r * r) / (2.0 * distance * radius);
            let half = cos.clamp(-1.0, 1.0).acos();
            let azimuth = offset.to_angle();
            let (from, to) = (azimuth - half, azimuth + half);
            self.covered.push((from.max(-PI), to.min(PI)));
            if from < -PI {
                self.covered.push((from + TAU, PI));
            }
            if to > PI {
                self.covered.push((-PI, to - TAU));
            }
        }
        self.covered.sort_by(|a, b| a.0.total_cmp(&b.0));
    }

    /// Equation (1) over one arc, in pieces of a quarter at most.
    fn arc(&self, centre: DVec2, radius: f64, (from, to): (f64, f64), z: f64) -> Moments {
        let pieces = ((to - from) / FRAC_PI_2).ceil().max(1.0);
        let step = (to - from) / pieces;
        let mut sum = Moments::ZERO;
        for piece in 0..pieces as u32 {
            let middle = from + (f64::from(piece) + 0.5) * step;
            for (node, weight) in self.gauss {
                let direction = DVec2::from_angle(middle + 0.5 * step * node);
                let p = centre + radius * direction;
                let dy = 0.5 * step * weight * radius * direction.x;
                let (area, x, xx) = (p.x * dy, 0.5 * p.x * p.x * dy, p.x.powi(3) / 3.0 * dy);
                let (y, yy, xy) = (area * p.y, area * p.y * p.y, x * p.y);
                let (xz, yz, zz) = (x * z, y * z, area * z * z);
                sum.volume += area;
                sum.first += DVec3::new(x, y, area * z);
                sum.second += DMat3::from_cols(
                    DVec3::new(xx, xy, xz),
                    DVec3::new(xy, yy, yz),
                    DVec3::new(xz, yz, zz),
                );
            }
        }
        sum
    }
}

/// Nodes and weights of Gauss' rule on (−1, 1), by Newton on the Legendre polynomial.
fn gauss_rule() -> [(f64, f64); GAUSS_POINTS] {
    let n = GAUSS_POINTS as f64;
    std::array::from_fn(|k| {
        let mut x = (PI * (k as f64 + 0.75) / (n + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..20 {
            let (mut previous, mut value) = (1.0, x);
            for degree in 2..=GAUSS_POINTS {
                let d = degree as f64;
                let next = ((2.0 * d - 1.0) * x * value - (d - 1.0) * previous) / d;
                (previous, value) = (value, next);
            }
            slope = n * (x * value - previous) / (x * x - 1.0);
            x -= value / slope;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::quasi_random;
    use super::*;

    #[test]
    fn two_overlapping_balls_have_the_volume_of_two_caps() {
        let (r, d) = (1.0_f64, 0.6);
        for axis in [DVec3::Z, DVec3::X, DVec3::new(1.0, 2.0, -2.0) / 3.0] {
            let far = DVec3::new(5.0, -7.0, 3.0);
            let moments = Moments::of_union(&[(far, r), (far + d * axis, r)]);
            // Each ball less the cap of height r − d/2.
            let height = r - 0.5 * d;
            let cap = PI * height * height * (3.0 * r - height) / 3.0;
            let exact = 2.0 * (4.0 / 3.0 * PI - cap);
            assert!((moments.volume / exact - 1.0).abs() < 1e-10, "{axis}");
            let (centroid, second) = moments.central();
            assert!((centroid - far - 0.5 * d * axis).length() < 1e-10);
            // About the axis: ∫ ρ² dV = 2 · π/2 ∫ (r² − t²)² dt from −r to d/2.
            let integral = |t: f64| t - 2.0 / 3.0 * t.powi(3) + t.powi(5) / 5.0;
            let polar = PI * (integral(0.5 * d) - integral(-1.0));
            let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
            let about_axis = trace - axis.dot(second * axis);
            assert!((about_axis / polar - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn balls_that_hold_or_equal_others_count_once() {
        let ball = (DVec3::new(0.1, 0.2, 0.3), 1.0);
        let inner = (DVec3::new(0.2, 0.2, 0.3), 0.5);
        let one = Moments::of_union(&[ball]);
        for balls in [
            vec![ball, ball],
            vec![inner, ball, inner],
            vec![ball, inner],
        ] {
            let union = Moments::of_union(&balls);
            assert!(union.difference(&one, one.volume, 1.0) < 1e-10, "{balls:?}");
        }
    }

    #[test]
    fn union_of_many_agrees_with_counted_points() {
        let balls = [
            (DVec3::new(0.0, 0.0, 0.0), 1.0),
            (DVec3::new(1.1, 0.2, 0.1), 0.7),
            (DVec3::new(0.3, 0.9, 0.4), 0.6),
            (DVec3::new(0.5, 0.6, -0.7), 0.8),
        ];
        let union = Moments::of_union(&balls);
        let count = 1_000_000;
        let mut counted = Moments::ZERO;
        for k in 0..count {
            let p = 2.0 * quasi_random(k);
            if balls.iter().any(|b| b.0.distance(p) < b.1) {
                let point = DMat3::from_cols(p * p.x, p * p.y, p * p.z);
                let here = Moments {
                    volume: 1.0,
                    first: p,
                    second: point,
                };
                counted.add(&here, 64.0 / f64::from(count));
            }
        }
        let difference = union.difference(&counted, union.volume, 1.0);
        assert!(difference < 1e-3, "{difference}");
    }
}
