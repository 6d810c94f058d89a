//! Meshes behave like the analytic walls they approximate.

mod common;

use common::numbers;
use esker_geometry::{
    DQuat, DVec3, OpenFaces, Pose, Side, Touch, TriangleMesh, TriangleSoup, WallShape,
};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

fn mesh(soup: TriangleSoup) -> WallShape {
    WallShape::Mesh(Arc::new(TriangleMesh::new(soup).unwrap()))
}

fn meshed(shape: &WallShape) -> WallShape {
    mesh(shape.triangulate(1.0))
}

fn touches(shape: &WallShape, centre: DVec3, radius: f64, margin: f64) -> Vec<Touch> {
    let mut out = Vec::new();
    shape.touches(centre, radius, margin, &mut out);
    out
}

/// A square of side 1 about the origin, cut into `2 n²` triangles, shaped by `height`.
fn sheet(n: u32, height: impl Fn(f64, f64) -> f64) -> TriangleSoup {
    let at = |k: u32| f64::from(k) / f64::from(n) - 0.5;
    let mut soup = TriangleSoup::default();
    for j in 0..=n {
        for i in 0..=n {
            let (x, y) = (at(i), at(j));
            soup.vertices.push(DVec3::new(x, y, height(x, y)));
        }
    }
    for j in 0..n {
        for i in 0..n {
            let a = j * (n + 1) + i;
            let (b, c, d) = (a + 1, a + n + 2, a + n + 1);
            soup.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    soup
}

/// One touch, equal to that of the half-space.
fn assert_like_half_space(shape: &WallShape, centre: DVec3, radius: f64, margin: f64) -> u32 {
    let plane = touches(&WallShape::HalfSpace, centre, radius, margin);
    let got = touches(shape, centre, radius, margin);
    assert_eq!(got.len(), plane.len(), "{centre}: {got:?}");
    for (got, plane) in got.iter().zip(&plane) {
        assert!(
            (got.normal - plane.normal).length() < 1e-14,
            "{centre}: {got:?}"
        );
        assert!(
            (got.overlap - plane.overlap).abs() < 1e-14,
            "{centre}: {got:?}"
        );
        assert!(
            (got.point - plane.point).length() < 1e-14,
            "{centre}: {got:?}"
        );
    }
    got.first().map_or(0, |touch| touch.feature)
}

#[test]
fn flat_mesh_is_a_plane_everywhere_with_one_key() {
    let plane = mesh(sheet(10, |_, _| 0.0));
    let mut next = numbers(1);
    for k in 0..1000 {
        let radius = 0.01 + 0.1 * next();
        let (mut x, mut y) = (0.78 * next() - 0.39, 0.78 * next() - 0.39);
        let snap = |v: f64| (v * 10.0).round() / 10.0;
        match k % 5 {
            0 => x = snap(x),                  // on an edge
            1 => (x, y) = (snap(x), snap(y)),  // on a vertex
            2 => y = x,                        // on diagonals
            3 => x = snap(x) + 1e-13 * next(), // nearly on an edge
            _ => {}
        }
        let z = radius * (1.05 - 0.9 * next());
        let feature = assert_like_half_space(&plane, DVec3::new(x, y, z), radius, 0.01 * radius);
        assert_eq!(feature, 0);
    }
}

#[test]
fn flat_mesh_turned_in_space_is_a_plane_from_both_sides() {
    let pose = Pose::new(
        DVec3::new(3.0, -2.0, 0.7),
        DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 1.1, -2.0),
    );
    for (is_rounded, tolerance) in [(false, 1e-12), (true, 3e-5)] {
        let mut soup = sheet(9, |_, _| 0.0);
        for vertex in &mut soup.vertices {
            *vertex = pose.to_world(*vertex);
            if is_rounded {
                // Single precision, as in a file.
                *vertex = vertex.as_vec3().as_dvec3();
            }
        }
        let plane = mesh(soup);
        let mut next = numbers(2);
        for k in 0..2000 {
            let side = if k % 2 == 0 { 1.0 } else { -1.0 };
            let radius = 0.02 + 0.2 * next();
            let (mut x, mut y) = (0.8 * next() - 0.4, 0.8 * next() - 0.4);
            // Up to rounding on edges, diagonals and vertices.
            let snap = |v: f64| ((v + 0.5) * 9.0).round() / 9.0 - 0.5;
            match k % 7 {
                0 => x = snap(x),
                1 => (x, y) = (snap(x), snap(y)),
                2 => y = x,
                _ => {}
            }
            let centre = pose.to_world(DVec3::new(x, y, side * 0.95 * radius));
            let out = touches(&plane, centre, radius, 0.02 * radius);
            assert_eq!(out.len(), 1, "{x} {y}: {out:?}");
            assert_eq!(out[0].feature, 0);
            assert!((out[0].normal + side * pose.rotate(DVec3::Z)).length() < tolerance);
            assert!((out[0].overlap - 0.05 * radius).abs() < tolerance);
        }
    }
}

#[test]
fn sphere_over_hundreds_of_triangles_touches_once() {
    let plane = mesh(sheet(150, |_, _| 0.0));
    let mut next = numbers(3);
    for _ in 0..50 {
        let centre = DVec3::new(0.2 * next() - 0.1, 0.2 * next() - 0.1, 0.25);
        assert_like_half_space(&plane, centre, 0.3, 0.01);
    }
}

#[test]
fn border_of_a_plate_is_an_edge_and_its_corner_a_vertex() {
    let plate = mesh(sheet(4, |_, _| 0.0));
    let edge = touches(&plate, DVec3::new(0.53, 0.1, 0.04), 0.06, 0.0);
    assert_eq!(edge.len(), 1);
    assert!((edge[0].normal - DVec3::new(-0.6, 0.0, -0.8)).length() < 1e-12);
    let further = touches(&plate, DVec3::new(0.53, 0.25, 0.04), 0.06, 0.0);
    assert_eq!(
        edge[0].feature, further[0].feature,
        "a straight border keeps its key"
    );
    let corner = touches(&plate, DVec3::new(0.52, 0.52, 0.01), 0.06, 0.0);
    assert_eq!(corner.len(), 1);
    assert!((corner[0].point - DVec3::new(0.5, 0.5, 0.0)).length() < 1e-12);
    assert_ne!(corner[0].feature, edge[0].feature);
}

#[test]
fn unmatched_vertices_in_a_plane_give_no_ghosts() {
    // A T-junction: the long edge on the left has two short ones on the right.
    let soup = TriangleSoup {
        vertices: vec![
            DVec3::new(-1.0, 0.0, 0.0),
            DVec3::new(0.0, -1.0, 0.0),
            DVec3::new(0.0, 1.0, 0.0),
            DVec3::ZERO,
            DVec3::new(1.0, 0.0, 0.0),
        ],
        triangles: vec![[0, 1, 2], [1, 4, 3], [3, 4, 2]],
    };
    let plane = mesh(soup);
    let mut next = numbers(4);
    for k in 0..500 {
        let x = if k % 4 == 0 { 0.0 } else { 0.4 * next() - 0.2 };
        assert_like_half_space(&plane, DVec3::new(x, 0.4 * next() - 0.2, 0.09), 0.1, 0.0);
    }
}

/// The touches of both walls agree, whatever their order.
fn assert_alike(one: &[Touch], two: &[Touch], tolerance: f64) {
    assert_eq!(one.len(), two.len(), "{one:?}\n{two:?}");
    for touch in one {
        let twin = two.iter().any(|other| {
            (touch.normal - other.normal).length() < tolerance
                && (touch.point - other.point).length() < tolerance
                && (touch.overlap - other.overlap).abs() < tolerance
        });
        assert!(twin, "{touch:?}\n{two:?}");
    }
}

#[test]
fn mesh_box_equals_the_analytic_box_inside_and_outside() {
    let half_extents = DVec3::new(0.5, 0.7, 0.9);
    let mut next = numbers(5);
    for side in [Side::Inside, Side::Outside] {
        let shape = WallShape::Box {
            half_extents,
            side,
            open: OpenFaces::NONE,
        };
        let triangles = meshed(&shape);
        let mut touched = 0;
        for _ in 0..20_000 {
            let scale = if side == Side::Inside { 1.999 } else { 2.4 };
            let centre = scale * half_extents * (DVec3::new(next(), next(), next()) - 0.5);
            let is_inside = centre.abs().cmplt(half_extents).all();
            if is_inside == (side == Side::Inside) {
                let analytic = touches(&shape, centre, 0.1, 0.01);
                assert_alike(&analytic, &touches(&triangles, centre, 0.1, 0.01), 1e-12);
                touched += analytic.len();
            }
        }
        assert!(touched > 2000);
    }
}

#[test]
fn sphere_in_a_mesh_tube_rests_like_in_the_analytic_one() {
    for open in [OpenFaces::ENDS, OpenFaces::NONE] {
        let (radius, length, side) = (1.0, 2.0, Side::Inside);
        let shape = WallShape::Cylinder {
            radius,
            length,
            side,
            open,
        };
        let triangles = meshed(&shape);
        let sagitta = 1.0 - (PI / 64.0).cos();
        let mut next = numbers(6);
        for k in 0..5000 {
            let grain = [0.02, 0.1, 0.3, 0.5][k % 4];
            // Every facet and every edge between facets comes by.
            let angle = if k % 3 == 0 {
                TAU * (k as f64) / 64.0
            } else {
                TAU * next()
            };
            let rho = 1.0 - 0.99 * grain - sagitta;
            let z = 0.9 * (next() - 0.5);
            let centre = DVec3::new(rho * angle.cos(), rho * angle.sin(), z);
            let analytic = touches(&shape, centre, grain, 0.1 * grain);
            let got = touches(&triangles, centre, grain, 0.1 * grain);
            assert_eq!(analytic.len(), 1);
            assert!((1..=2).contains(&got.len()), "{got:?}");
            let excess = got[0].overlap - analytic[0].overlap;
            assert!((-1e-12..=1.001 * sagitta).contains(&excess), "{excess}");
            // A facet is tilted against the tangent plane by the angle to its foot at most.
            let tilt = got[0].normal.angle_between(analytic[0].normal);
            assert!(tilt <= PI / 64.0 + 1e-9, "{tilt}");
        }
    }
}

#[test]
fn sphere_on_a_mesh_cylinder_touches_once() {
    let (radius, length, side) = (1.0, 2.0, Side::Outside);
    let shape = WallShape::Cylinder {
        radius,
        length,
        side,
        open: OpenFaces::NONE,
    };
    let triangles = meshed(&shape);
    let mut next = numbers(7);
    for _ in 0..5000 {
        let centre = 2.8 * (DVec3::new(next(), next(), next()) - 0.5);
        let analytic = touches(&shape, centre, 0.3, 0.0);
        let is_outside = centre.truncate().length() > 1.0 || centre.z.abs() > 1.0;
        if is_outside && analytic.first().is_some_and(|touch| touch.overlap > 2e-3) {
            let got = touches(&triangles, centre, 0.3, 0.0);
            assert_eq!(got.len(), 1, "{got:?}");
            assert!((got[0].overlap - analytic[0].overlap).abs() < 2e-3);
        }
    }
}

#[test]
fn finely_cut_hollows_give_one_touch_and_bowls_at_most_three() {
    // A dish of curvature radius 1; facets of the fine one differ by about 0.6 degrees.
    let dish = |x: f64, y: f64| 1.0 - (1.0 - x * x - y * y).sqrt();
    let mut next = numbers(8);
    for (n, most) in [(8, 3), (20, 3), (100, 3)] {
        let bowl = mesh(sheet(n, dish));
        for _ in 0..300 {
            let direction = DVec3::new(0.5 * next() - 0.25, 0.5 * next() - 0.25, -1.0).normalize();
            let centre = DVec3::Z + 0.82 * direction;
            let got = touches(&bowl, centre, 0.2, 0.001);
            assert!((1..=most).contains(&got.len()), "{n}: {got:?}");
        }
    }
    let trough = mesh(sheet(200, |x, _| 1.0 - (1.0 - x * x).sqrt()));
    for _ in 0..300 {
        let x = 0.6 * next() - 0.3;
        let centre = DVec3::Z + 0.81 * DVec3::new(x, 0.0, -1.0).normalize();
        assert_eq!(touches(&trough, centre, 0.2, 0.001).len(), 1);
    }
}

#[test]
fn ridge_gives_one_touch_and_valley_two() {
    let ridge = mesh(sheet(10, |x, _| -0.5 * x.abs()));
    let valley = mesh(sheet(10, |x, _| 0.5 * x.abs()));
    let slope = DVec3::new(0.5, 0.0, 1.0).normalize();
    let mut keys = Vec::new();
    for k in 0..50 {
        let y = 0.017 * f64::from(k) - 0.4;
        for tilt in [-0.4, -0.1, 0.0, 0.3] {
            let top = DVec3::new(0.0, y, 0.0) + 0.095 * DVec3::new(tilt, 0.0, 1.0).normalize();
            let got = touches(&ridge, top, 0.1, 0.0);
            assert_eq!(got.len(), 1, "{tilt}: {got:?}");
            assert!((got[0].overlap - 0.005).abs() < 1e-12);
            keys.push(got[0].feature);
        }
        // On the slope near the ridge: the face and not the edge.
        let got = touches(&ridge, DVec3::new(0.01, y, -0.005) + 0.08 * slope, 0.1, 0.0);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!((got[0].normal + slope).length() < 1e-12);

        let bottom = DVec3::new(0.0, y, 0.099 / slope.z);
        let got = touches(&valley, bottom, 0.1, 0.0);
        assert_eq!(got.len(), 2, "{got:?}");
        for touch in got {
            assert!((touch.overlap - 0.001).abs() < 1e-12);
            assert!((touch.normal.z + slope.z).abs() < 1e-12);
        }
    }
    keys.dedup();
    assert_eq!(keys.len(), 1, "a straight ridge keeps its key");
}

#[test]
fn centre_in_the_surface_is_pushed_to_the_side_of_the_normal() {
    let plane = mesh(sheet(3, |_, _| 0.0));
    let got = touches(&plane, DVec3::new(0.01, 0.02, 0.0), 0.1, 0.0);
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].normal, DVec3::NEG_Z);
    assert_eq!(got[0].overlap, 0.1);
}

/// Prints the time per query; run with `--ignored --nocapture`.
#[test]
#[ignore = "measures instead of checking"]
fn time_of_a_query() {
    for (n, radius) in [(10, 0.02), (100, 0.02), (300, 0.02), (300, 0.1)] {
        let bumpy = mesh(sheet(n, |x, y| 0.02 * (9.0 * x).sin() * (7.0 * y).cos()));
        let mut next = numbers(9);
        let centres: Vec<_> = (0..20_000)
            .map(|_| DVec3::new(next() - 0.5, next() - 0.5, 0.1 * (next() - 0.5)))
            .collect();
        let mut out = Vec::new();
        let start = std::time::Instant::now();
        let mut count = 0;
        for &centre in &centres {
            out.clear();
            bumpy.touches(centre, radius, 0.0, &mut out);
            count += out.len();
        }
        let time = start.elapsed().as_secs_f64() / centres.len() as f64;
        println!(
            "{} triangles, r = {radius}: {:.2} µs, {count}",
            2 * n * n,
            1e6 * time
        );
    }
}
