//! A sphere on a mesh feels the curvature of the surface that the mesh stands for.

mod common;

use common::numbers;
use esker_geometry::{DVec3, OpenFaces, Side, Touch, TriangleMesh, TriangleSoup, WallShape};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

fn mesh(soup: TriangleSoup) -> WallShape {
    WallShape::Mesh(Arc::new(TriangleMesh::new(soup).unwrap()))
}

fn touches(shape: &WallShape, centre: DVec3, radius: f64) -> Vec<Touch> {
    let mut out = Vec::new();
    shape.touches(centre, radius, 1e-6 * radius, &mut out);
    out
}

/// A grid of `columns × rows` quadrilaterals through `at(column, row)`, each cut along the
/// diagonal that `cut` chooses.
fn grid(
    [columns, rows]: [u32; 2],
    at: impl Fn(u32, u32) -> DVec3,
    cut: impl Fn(u32, u32) -> bool,
) -> TriangleSoup {
    let mut soup = TriangleSoup::default();
    for j in 0..=rows {
        for i in 0..=columns {
            soup.vertices.push(at(i, j));
        }
    }
    for j in 0..rows {
        for i in 0..columns {
            let a = j * (columns + 1) + i;
            let (b, c, d) = (a + 1, a + columns + 2, a + columns + 1);
            soup.triangles.extend(if cut(i, j) {
                [[a, b, c], [a, c, d]]
            } else {
                [[a, b, d], [b, c, d]]
            });
        }
    }
    soup
}

const TUBE_RADIUS: f64 = 0.05;
const TUBE_LENGTH: f64 = 0.4;

/// The three ways to cut quadrilaterals.
fn cuts() -> [fn(u32, u32) -> bool; 3] {
    [|_, _| true, |_, _| false, |i, j| (i * 7 + j * 5) % 3 == 0]
}

fn tube(facets: u32, rings: u32, cut: fn(u32, u32) -> bool) -> WallShape {
    let at = |i: u32, j: u32| {
        let (sin, cos) = (TAU * f64::from(i % facets) / f64::from(facets)).sin_cos();
        let z = TUBE_LENGTH * (f64::from(j) / f64::from(rings) - 0.5);
        DVec3::new(TUBE_RADIUS * cos, TUBE_RADIUS * sin, z)
    };
    mesh(grid([facets, rings], at, cut))
}

#[test]
fn tube_has_the_curvature_of_the_analytic_one_on_facets_edges_and_vertices() {
    let radius = 0.02;
    for facets in [12, 13, 16, 24, 64, 127, 200] {
        for rings in [1, 2, 9] {
            for cut in cuts() {
                let shape = tube(facets, rings, cut);
                let step = PI / f64::from(facets);
                let apothem = TUBE_RADIUS * step.cos();
                for k in 0..2 * facets {
                    // Over the middle of a facet, over an edge; between rings and on them.
                    let angle = step * f64::from(k);
                    let is_edge = k % 2 == 0;
                    for z in [0.0, 0.03, TUBE_LENGTH / 9.0 * 0.5] {
                        let surface = if is_edge { TUBE_RADIUS } else { apothem };
                        let radial = DVec3::new(angle.cos(), angle.sin(), 0.0);
                        let outside = radial * (surface + 0.999 * radius) + DVec3::Z * z;
                        let got = touches(&shape, outside, radius);
                        assert_eq!(got.len(), 1);
                        let relative = got[0].curvature * TUBE_RADIUS;
                        assert!(
                            (relative - 1.0).abs() < 1e-9,
                            "{facets} outside: {relative}"
                        );

                        let inside = radial * (apothem - 0.999 * radius) + DVec3::Z * z;
                        let got = touches(&shape, inside, radius);
                        assert!(is_edge || !got.is_empty());
                        for touch in got {
                            let relative = touch.curvature * TUBE_RADIUS;
                            assert!((relative + 1.0).abs() < 1e-9, "{facets} inside: {relative}");
                        }
                    }
                }
            }
        }
    }
}

/// The vertices of the middle of a square, each moved by up to `amount` of half a cell, on a
/// surface `at(u, v)` over `[-½, ½]²`.
fn irregular(n: u32, amount: f64, at: impl Fn(f64, f64) -> DVec3) -> TriangleSoup {
    let mut next = numbers(4);
    let shifts: Vec<[f64; 2]> = (0..(n + 1).pow(2))
        .map(|_| [next() - 0.5, next() - 0.5])
        .collect();
    let vertex = |i: u32, j: u32| {
        let [du, dv] = shifts[(j * (n + 1) + i) as usize];
        let along = |k: u32, shift: f64| (f64::from(k) + amount * shift) / f64::from(n) - 0.5;
        at(along(i, du), along(j, dv))
    };
    grid([n, n], vertex, |i, j| (i + j).is_multiple_of(2))
}

/// Curvatures that spheres of radius 0.01 on random places of the middle feel, above and below.
fn felt(shape: &WallShape, height: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut next = numbers(5);
    let mut felt = Vec::new();
    for k in 0..1000 {
        let (x, y) = (0.4 * (next() - 0.5), 0.4 * (next() - 0.5));
        let side = if k % 2 == 0 { 1.0 } else { -1.0 };
        let centre = DVec3::new(x, y, height(x, y) + side * 0.009);
        let found = touches(shape, centre, 0.01);
        felt.extend(found.iter().map(|touch| -side * touch.curvature));
    }
    assert!(felt.len() > 500);
    felt
}

#[test]
fn bowl_of_a_sphere_has_its_curvature_whatever_the_triangles() {
    let height = |x: f64, y: f64| -(1.0 - x * x - y * y).sqrt();
    for (n, amount) in [(8, 0.0), (8, 0.4), (40, 0.0), (40, 0.4), (150, 0.4)] {
        let bowl = mesh(irregular(n, amount, |u, v| DVec3::new(u, v, height(u, v))));
        for curvature in felt(&bowl, height) {
            assert!((curvature - 1.0).abs() < 1e-6, "{n} {amount}: {curvature}");
        }
    }
}

#[test]
fn irregular_trough_has_its_curvature_up_to_scatter() {
    let height = |x: f64, _: f64| -(1.0 - x * x).sqrt();
    let trough = |u: f64, v: f64| DVec3::new(u.sin(), v, -u.cos());
    for (amount, scatter) in [(0.0, 1e-9), (0.3, 0.02), (0.6, 0.1)] {
        for n in [16, 64, 128] {
            let felt = felt(&mesh(irregular(n, amount, trough)), height);
            let mean = felt.iter().sum::<f64>() / felt.len() as f64;
            let square = felt.iter().map(|c| (c - 1.0).powi(2)).sum::<f64>();
            let deviation = (square / felt.len() as f64).sqrt();
            assert!((mean - 1.0).abs() < 0.01, "{n} {amount}: mean {mean}");
            assert!(deviation < scatter, "{n} {amount}: scatter {deviation}");
        }
    }
}

#[test]
fn curvature_converges_to_that_of_the_surface_with_the_square_of_the_cells() {
    // Principal curvatures a and b at the origin, and their like with a saddle.
    for (a, b) in [(1.0, 0.4), (1.0, -0.4), (-1.0, 0.4), (0.3, -1.0)] {
        let error = |n: u32| {
            let at = |u: f64, v: f64| DVec3::new(u, v, 0.5 * (a * u * u + b * v * v));
            let shape = mesh(irregular(n, 0.0, at));
            let got = touches(&shape, DVec3::new(1e-4, 2e-4, 0.097), 0.1);
            let exact = -if f64::abs(a) > f64::abs(b) { a } else { b };
            (got[0].curvature - exact).abs()
        };
        let errors = [11, 33, 99].map(error);
        assert!(errors[0] < 0.05, "{errors:?}");
        assert!(errors[1] < errors[0] / 7.0, "{errors:?}");
        assert!(errors[2] < errors[1] / 7.0, "{errors:?}");
    }
}

#[test]
fn cone_and_capped_cylinder_agree_with_the_analytic_ones() {
    let (radius_bottom, radius_top, length) = (0.5, 1.5, 2.0);
    for side in [Side::Inside, Side::Outside] {
        let open = OpenFaces::NONE;
        let cone = WallShape::Cone {
            radius_bottom,
            radius_top,
            length,
            side,
            open,
        };
        let cylinder = WallShape::Cylinder {
            radius: 1.0,
            length,
            side,
            open,
        };
        // A plane facet of a cone has the curvature of its middle.
        for (shape, tolerance) in [(cone, 0.06), (cylinder, 1e-9)] {
            let meshed = mesh(shape.triangulate(1.0));
            let mut next = numbers(6);
            let mut compared = 0;
            for _ in 0..20_000 {
                let scale = if side == Side::Inside { 2.0 } else { 3.2 };
                let centre = scale * (DVec3::new(next(), next(), next()) - 0.5);
                let radius = 0.2;
                let (exact, got) = (
                    touches(&shape, centre, radius),
                    touches(&meshed, centre, radius),
                );
                let ([exact], [got]) = (exact.as_slice(), got.as_slice()) else {
                    continue;
                };
                let is_alike = exact.normal.angle_between(got.normal) < 0.06;
                let is_sound = exact.overlap < radius && got.overlap < radius;
                if is_alike && is_sound && exact.point.z.abs() < 0.1 {
                    let relative = got.curvature / exact.curvature;
                    assert!((relative - 1.0).abs() < tolerance, "{exact:?}\n{got:?}");
                    compared += 1;
                }
            }
            assert!(compared > 50, "{compared} compared");
        }
    }
}

#[test]
fn planes_and_sharp_edges_have_none() {
    let mut next = numbers(7);
    let plate = mesh(irregular(12, 0.6, |u, v| DVec3::new(u, v, 0.0)));
    let steps = mesh(irregular(10, 0.0, |u, v| DVec3::new(u, v, u.abs())));
    let half_extents = DVec3::splat(0.5);
    let side = Side::Outside;
    let cube = mesh(
        WallShape::Box {
            half_extents,
            side,
            open: OpenFaces::NONE,
        }
        .triangulate(0.0),
    );
    for shape in [plate, steps, cube] {
        let mut touched = 0;
        for _ in 0..3000 {
            let centre = 1.4 * (DVec3::new(next(), next(), next()) - 0.5);
            for touch in touches(&shape, centre, 0.1) {
                assert_eq!(touch.curvature, 0.0, "{touch:?}");
                touched += 1;
            }
        }
        assert!(touched > 300);
    }
}

#[test]
fn wide_floor_feels_next_to_nothing_of_a_ramp_and_winding_does_not_matter() {
    let ramp = |u: f64, v: f64| DVec3::new(u, v, 0.3 * (u - 0.3).max(0.0));
    let floor = mesh(irregular(10, 0.0, ramp));
    let out = touches(&floor, DVec3::new(0.29, 0.0, 0.0099), 0.01);
    assert_eq!(out.len(), 1);
    assert!((out[0].curvature * 0.01).abs() < 2e-3, "{out:?}");

    let cut = |i: u32, j: u32| (i + j).is_multiple_of(2);
    let at = |i: u32, j: u32| {
        let angle = TAU * f64::from(i % 24) / 24.0;
        DVec3::new(angle.cos(), angle.sin(), f64::from(j))
    };
    let mut soup = grid([24, 3], at, cut);
    for triangle in soup.triangles.iter_mut().step_by(3) {
        triangle.swap(0, 1);
    }
    let mixed = mesh(soup);
    for k in 0..48 {
        let angle = PI / 24.0 * f64::from(k);
        let radial = DVec3::new(angle.cos(), angle.sin(), 0.0);
        for (distance, expected) in [(1.29, 1.0), (0.7, -1.0)] {
            for z in [0.4, 1.0, 1.7] {
                let out = touches(&mixed, distance * radial + z * DVec3::Z, 0.3);
                assert!(!out.is_empty());
                for touch in out {
                    assert!((touch.curvature - expected).abs() < 1e-9, "{touch:?}");
                }
            }
        }
    }
}
