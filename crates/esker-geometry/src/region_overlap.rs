//! How much of a line or a ball lies in a region.
//!
//! A ball in a box or a cylinder is cut into discs across the region's z axis.
//! The area of each disc inside is exact ((1), (2)); their sum over z is a
//! Gauss–Legendre quadrature in the angle `θ`, `z = z_c + r sin θ`, in which the
//! discs shrink smoothly at both poles:
//!
//! ```text
//! disc in the quadrant x ≤ a, y ≤ b:                                          (1)
//!   ab + s(a) + s(b) + πρ²/4        with s(t) = (t √(ρ² − t²) + ρ² asin(t/ρ))/2
//! disc in a disc: the lens of two circles                                     (2)
//! V = ∫ A(ρ = r cos θ) r cos θ dθ                                             (3)
//! ```

use std::f64::consts::{FRAC_PI_2, PI};

use glam::{DVec2, DVec3};

use crate::Region;

/// Nodes and weights of Gauss–Legendre quadrature on [−1, 1], positive half.
const GAUSS: [[f64; 2]; 8] = [
    [0.095_012_509_837_637_44, 0.189_450_610_455_068_5],
    [0.281_603_550_779_258_9, 0.182_603_415_044_923_6],
    [0.458_016_777_657_227_4, 0.169_156_519_395_002_5],
    [0.617_876_244_402_643_7, 0.149_595_988_816_576_7],
    [0.755_404_408_355_003, 0.124_628_971_255_533_9],
    [0.865_631_202_387_831_7, 0.095_158_511_682_492_78],
    [0.944_575_023_073_232_6, 0.062_253_523_938_647_89],
    [0.989_400_934_991_649_9, 0.027_152_459_411_754_1],
];

impl Region {
    /// Share of the straight line from `from` to `to` that lies inside.
    pub fn share_of_segment(&self, from: DVec3, to: DVec3) -> f64 {
        let mut inside = [0.0, 1.0];
        match *self {
            Region::Box { half_extents, pose } => {
                let (a, d) = (pose.to_local(from), pose.to_local(to) - pose.to_local(from));
                for k in 0..3 {
                    cut_to_slab(&mut inside, a[k], d[k], half_extents[k]);
                }
            }
            Region::Cylinder {
                radius,
                length,
                pose,
            } => {
                let (a, d) = (pose.to_local(from), pose.to_local(to) - pose.to_local(from));
                cut_to_slab(&mut inside, a.z, d.z, 0.5 * length);
                let (a, d) = (a.truncate(), d.truncate());
                let terms = [d.length_squared(), a.dot(d), a.length_squared()];
                cut_to_ball(&mut inside, terms, radius);
            }
            Region::Sphere { radius, pose } => {
                let (a, d) = (from - pose.position, to - from);
                let terms = [d.length_squared(), a.dot(d), a.length_squared()];
                cut_to_ball(&mut inside, terms, radius);
            }
        }
        (inside[1] - inside[0]).max(0.0)
    }

    /// Volume of the part of a ball that lies inside (m³).
    pub fn volume_of_ball(&self, centre: DVec3, radius: f64) -> f64 {
        let whole = 4.0 / 3.0 * PI * radius.powi(3);
        if self.shrunk(radius).is_some_and(|r| r.contains(centre)) {
            return whole;
        }
        if !self.bounds().inflated(radius).contains(centre) {
            return 0.0;
        }
        match *self {
            Region::Box { half_extents, pose } => {
                let c = pose.to_local(centre);
                let area = |rho: f64| {
                    let [low, high] = [-1.0, 1.0].map(|s| half_extents * s - c);
                    disc_below(rho, high.x, high.y)
                        - disc_below(rho, low.x, high.y)
                        - disc_below(rho, high.x, low.y)
                        + disc_below(rho, low.x, low.y)
                };
                sum_of_discs(c.z, radius, half_extents.z, area)
            }
            Region::Cylinder {
                radius: outer,
                length,
                pose,
            } => {
                let c = pose.to_local(centre);
                let distance = DVec2::new(c.x, c.y).length();
                sum_of_discs(c.z, radius, 0.5 * length, |rho| lens(distance, rho, outer))
            }
            Region::Sphere {
                radius: outer,
                pose,
            } => ball_in_ball(centre.distance(pose.position), radius, outer),
        }
    }
}

/// Cuts the parameters of `a + t d` to those with `|a + t d| ≤ half`.
fn cut_to_slab(inside: &mut [f64; 2], a: f64, d: f64, half: f64) {
    if d == 0.0 {
        if a.abs() > half {
            inside[1] = inside[0];
        }
        return;
    }
    let (t, u) = ((-half - a) / d, (half - a) / d);
    *inside = [inside[0].max(t.min(u)), inside[1].min(t.max(u))];
}

/// Cuts the parameters of `a + t d` to those within a radius of the origin, by
/// the products d·d, a·d and a·a.
fn cut_to_ball(inside: &mut [f64; 2], [dd, ad, aa]: [f64; 3], radius: f64) {
    let c = aa - radius * radius;
    let root = ad * ad - dd * c;
    if dd == 0.0 || root <= 0.0 {
        if c > 0.0 || root < 0.0 {
            inside[1] = inside[0];
        }
        return;
    }
    let root = root.sqrt();
    *inside = [
        inside[0].max((-ad - root) / dd),
        inside[1].min((-ad + root) / dd),
    ];
}

/// Quadrature (3) over the discs of a ball at height `z` between ±`half`.
fn sum_of_discs(z: f64, radius: f64, half: f64, area: impl Fn(f64) -> f64) -> f64 {
    let angle = |level: f64| ((level - z) / radius).clamp(-1.0, 1.0).asin();
    let (low, high) = (angle(-half), angle(half));
    let (middle, reach) = (0.5 * (low + high), 0.5 * (high - low));
    let disc = |theta: f64| area(radius * theta.cos()) * radius * theta.cos();
    let pairs = GAUSS.iter();
    reach
        * pairs
            .map(|[node, weight]| {
                weight * (disc(middle + reach * node) + disc(middle - reach * node))
            })
            .sum::<f64>()
}

/// Area of a disc about the origin that has `x ≤ a` and `y ≤ b`, equation (1).
fn disc_below(rho: f64, a: f64, b: f64) -> f64 {
    if a <= -rho || b <= -rho || rho <= 0.0 {
        return 0.0;
    }
    let (a, b) = (a.min(rho), b.min(rho));
    let s = |t: f64| {
        let t = t.clamp(-rho, rho);
        0.5 * (t * (rho * rho - t * t).max(0.0).sqrt() + rho * rho * (t / rho).asin())
    };
    if a * a + b * b <= rho * rho {
        return a * b + s(a) + s(b) + 0.25 * PI * rho * rho;
    }
    // The corner is outside: what is left are whole caps.
    let below = |t: f64| 2.0 * s(t) + 0.5 * PI * rho * rho;
    match (a >= 0.0, b >= 0.0) {
        (true, true) => below(a) + below(b) - PI * rho * rho,
        (false, true) => below(a),
        (true, false) => below(b),
        (false, false) => 0.0,
    }
}

/// Common area of two discs whose centres are `distance` apart, equation (2).
fn lens(distance: f64, a: f64, b: f64) -> f64 {
    if distance >= a + b {
        return 0.0;
    }
    if distance <= (a - b).abs() {
        return PI * a.min(b).powi(2);
    }
    let sector = |r: f64, other: f64| {
        let x = (distance * distance + r * r - other * other) / (2.0 * distance);
        let angle = FRAC_PI_2 - (x / r).clamp(-1.0, 1.0).asin();
        r * r * angle - x * (r * r - x * x).max(0.0).sqrt()
    };
    sector(a, b) + sector(b, a)
}

/// Common volume of two balls whose centres are `distance` apart.
fn ball_in_ball(distance: f64, a: f64, b: f64) -> f64 {
    if distance >= a + b {
        return 0.0;
    }
    let smaller = a.min(b);
    if distance <= (a - b).abs() {
        return 4.0 / 3.0 * PI * smaller.powi(3);
    }
    let deep = a + b - distance;
    let term = distance * distance + 2.0 * distance * (a + b) - 3.0 * (a - b).powi(2);
    PI * deep * deep * term / (12.0 * distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pose;
    use glam::DQuat;

    fn pose() -> Pose {
        Pose {
            position: DVec3::new(0.4, -0.2, 0.1),
            orientation: DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 0.8),
        }
    }

    fn regions() -> [Region; 3] {
        [
            Region::Box {
                half_extents: DVec3::new(0.5, 0.7, 0.9),
                pose: pose(),
            },
            Region::Cylinder {
                radius: 0.6,
                length: 1.4,
                pose: pose(),
            },
            Region::Sphere {
                radius: 0.8,
                pose: pose(),
            },
        ]
    }

    /// Balls of all places and sizes, against counting points.
    #[test]
    fn a_balls_volume_inside_is_what_counting_points_says() {
        let n = 60;
        let at = |i: usize| 2.0 * (i as f64 + 0.5) / n as f64 - 1.0;
        for region in regions() {
            for (place, radius) in [
                (DVec3::new(0.1, 0.0, 0.0), 0.3),
                (DVec3::new(0.5, 0.3, 0.2), 0.4),
                (DVec3::new(-0.4, 0.6, 0.6), 0.5),
                (DVec3::new(0.0, 0.1, 0.8), 0.45),
                (DVec3::ZERO, 1.1),
            ] {
                let centre = pose().to_world(place);
                let points = (0..n * n * n)
                    .map(|i| DVec3::new(at(i % n), at(i / n % n), at(i / n / n)))
                    .filter(|p| p.length_squared() < 1.0)
                    .filter(|p| region.contains(centre + *p * radius));
                let counted = points.count() as f64 * (2.0 * radius / n as f64).powi(3);
                let found = region.volume_of_ball(centre, radius);
                let whole = 4.0 / 3.0 * PI * radius.powi(3);
                assert!(
                    (found - counted).abs() < 4e-3 * whole,
                    "{region:?} {place} {radius}: {found} for {counted}"
                );
            }
        }
    }

    #[test]
    fn half_a_ball_at_a_face_is_half_its_volume() {
        let region = regions()[0];
        let centre = pose().to_world(DVec3::new(0.5, 0.1, 0.0));
        let half = region.volume_of_ball(centre, 0.2);
        assert!((half / (2.0 / 3.0 * PI * 0.008) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_lines_share_inside_is_what_counting_points_says() {
        let n = 10_000;
        for region in regions() {
            for (a, b) in [
                (DVec3::new(-2.0, 0.1, 0.2), DVec3::new(2.0, -0.1, 0.0)),
                (DVec3::new(0.1, 0.0, 0.0), DVec3::new(0.3, 0.2, -0.3)),
                (DVec3::new(0.0, 0.0, 0.0), DVec3::new(0.0, 0.0, 3.0)),
                (DVec3::new(2.0, 2.0, 2.0), DVec3::new(3.0, 2.0, 2.0)),
            ] {
                let (from, to) = (pose().to_world(a), pose().to_world(b));
                let inside =
                    (0..n).filter(|&i| region.contains(from.lerp(to, (i as f64 + 0.5) / n as f64)));
                let counted = inside.count() as f64 / n as f64;
                let found = region.share_of_segment(from, to);
                assert!((found - counted).abs() < 3e-4, "{region:?} {a} {b}");
            }
        }
    }
}
