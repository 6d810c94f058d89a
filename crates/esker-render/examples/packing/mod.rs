//! A drum about the y axis, half full of grains of two sizes, made without any physics: random
//! centres are pushed apart and drawn down a slope until they touch.

use std::f64::consts::TAU;

use esker_render::{Sphere, Triangle, Wall};
use glam::DVec3;

/// Inner radius of the drum, m.
pub const RADIUS: f64 = 0.5;
/// Length of the drum, m.
pub const LENGTH: f64 = 0.5;
/// Angle of the free surface, rad.
const SLOPE: f64 = 0.5;
/// Speed of the drum's wall, m/s.
const WALL_SPEED: f64 = 0.35;
/// Part of the bed's volume that grains fill.
const DENSITY: f64 = 0.60;

/// Uniform numbers from 0 to 1, the same on every machine.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// `count` grains coloured by the speed of a rolling bed, in m/s.
pub fn half_filled_drum(count: usize) -> Vec<Sphere> {
    let mut random = Random(7);
    let bed = 0.5 * std::f64::consts::PI * RADIUS * RADIUS * LENGTH;
    // Half of the grains are 0.75 times as large as the others: mean cube (1 + 0.75³)/2.
    let large = (DENSITY * bed / (count as f64 * 4.189 * 0.711)).cbrt();
    let mut spheres: Vec<Sphere> = (0..count)
        .map(|i| {
            let angle = SLOPE - TAU / 2.0 * (0.02 + 0.96 * random.next());
            let from_axis = RADIUS * 0.97 * random.next().sqrt();
            Sphere {
                centre: DVec3::new(
                    from_axis * angle.cos(),
                    LENGTH * (random.next() - 0.5),
                    from_axis * angle.sin(),
                ),
                radius: if i % 2 == 0 { large } else { 0.75 * large },
                value: 0.0,
                orientation: None,
            }
        })
        .collect();
    for round in 0..220 {
        let pull = if round < 170 { 0.01 } else { 0.002 };
        relax(&mut spheres, large, pull * large);
    }
    let normal = DVec3::new(-SLOPE.sin(), 0.0, SLOPE.cos());
    let along = DVec3::new(SLOPE.cos(), 0.0, SLOPE.sin());
    let mut heights: Vec<f64> = spheres.iter().map(|s| s.centre.dot(normal)).collect();
    heights.sort_by(f64::total_cmp);
    let surface = heights[heights.len() * 985 / 1000];
    for sphere in &mut spheres {
        let (s, depth) = (
            sphere.centre.dot(along),
            surface - sphere.centre.dot(normal),
        );
        let turning = WALL_SPEED * sphere.centre.with_y(0.0).length() / RADIUS;
        let chord = 1.0 - (s / RADIUS).powi(2);
        let flowing = 1.15 * chord.max(0.0) * (-(depth.max(0.0) / (6.0 * large)).powi(2)).exp();
        sphere.value = turning.max(flowing) * (0.92 + 0.16 * random.next());
    }
    spheres
}

/// Moves every grain by `pull` down the slope, then pairs apart and strays back into the drum.
fn relax(spheres: &mut [Sphere], large: f64, pull: f64) {
    let down = DVec3::new(SLOPE.sin(), 0.0, -SLOPE.cos());
    let cell = 2.0 * large;
    let cells = (2.0 * RADIUS / cell) as usize + 3;
    let place = |p: DVec3| {
        let index = ((p + RADIUS) / cell)
            .floor()
            .clamp(DVec3::ZERO, DVec3::splat((cells - 3) as f64));
        (
            index.x as usize + 1,
            index.y as usize + 1,
            index.z as usize + 1,
        )
    };
    let mut grid: Vec<Vec<usize>> = vec![Vec::new(); cells * cells * cells];
    let flat = |(x, y, z): (usize, usize, usize)| (x * cells + y) * cells + z;
    for (i, sphere) in spheres.iter_mut().enumerate() {
        sphere.centre += down * pull;
        grid[flat(place(sphere.centre))].push(i);
    }
    for i in 0..spheres.len() {
        let (x, y, z) = place(spheres[i].centre);
        for dx in 0..3 {
            for dy in 0..3 {
                for dz in 0..3 {
                    for &j in &grid[flat((x + dx - 1, y + dy - 1, z + dz - 1))] {
                        if j <= i {
                            continue;
                        }
                        let apart = spheres[j].centre - spheres[i].centre;
                        let distance = apart.length().max(1e-12);
                        let overlap = spheres[i].radius + spheres[j].radius - distance;
                        if overlap > 0.0 {
                            let step = apart * (0.5 * overlap / distance);
                            spheres[i].centre -= step;
                            spheres[j].centre += step;
                        }
                    }
                }
            }
        }
    }
    for sphere in spheres {
        let limit = 0.5 * LENGTH - sphere.radius;
        sphere.centre.y = sphere.centre.y.clamp(-limit, limit);
        let across = sphere.centre.with_y(0.0);
        let farthest = RADIUS - sphere.radius;
        if across.length() > farthest {
            sphere.centre = (across.normalize() * farthest).with_y(sphere.centre.y);
        }
    }
}

/// The drum's shell and its two end plates, front faces outwards.
pub fn drum_walls() -> Vec<Wall> {
    const SIDES: usize = 96;
    let rim = |i: usize, y: f64| {
        let (sin, cos) = (TAU * i as f64 / SIDES as f64).sin_cos();
        // The flats, not the edges, of the polygon touch the grains.
        let outer = RADIUS / (0.5 * TAU / SIDES as f64).cos();
        DVec3::new(outer * cos, y, outer * sin)
    };
    let (front, back) = (-0.5 * LENGTH, 0.5 * LENGTH);
    let mut shell = Vec::new();
    let mut plates = Vec::new();
    for i in 0..SIDES {
        let [a, b, c, d] = [
            rim(i, front),
            rim(i + 1, front),
            rim(i + 1, back),
            rim(i, back),
        ];
        shell.push(Triangle { corners: [a, c, b] });
        shell.push(Triangle { corners: [a, d, c] });
        plates.push(Triangle {
            corners: [DVec3::Y * front, a, b],
        });
        plates.push(Triangle {
            corners: [DVec3::Y * back, c, d],
        });
    }
    vec![
        Wall {
            triangles: shell,
            color: [0.42, 0.55, 0.70, 0.20],
        },
        Wall {
            triangles: plates,
            color: [0.55, 0.66, 0.80, 0.07],
        },
    ]
}
