//! Files of the repository that are made by code stay what the code makes.
//!
//! `ESKER_WRITE=1 cargo test -p esker-scene --test generated_files` renews them.

use std::f64::consts::TAU;
use std::path::PathBuf;
use std::sync::Arc;

use esker_geometry::{Aabb, BodyShape, Polyhedron, TriangleMesh, TriangleSoup};
use glam::DVec3;

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn assert_current(path: &str, content: &[u8]) {
    let file = repository(path);
    if std::env::var_os("ESKER_WRITE").is_some() {
        std::fs::write(&file, content).unwrap();
    }
    let found = std::fs::read(&file).unwrap_or_default();
    assert!(
        found == content,
        "{path} is out of date: run with ESKER_WRITE=1"
    );
}

#[test]
fn the_reference_page_is_what_the_tables_of_keys_say() {
    assert_current(
        "docs/src/scene-format.md",
        esker_scene::reference().as_bytes(),
    );
}

/// The drum's inner surface, mm: a circle with eight straight-sided lifters,
/// drawn out along y. Triangles face the axis.
fn lifter_drum() -> TriangleSoup {
    const RADIUS: f64 = 250.0;
    const LIFTER_HEIGHT: f64 = 30.0;
    const LIFTER_WIDTH: f64 = 24.0;
    const LIFTERS: usize = 8;
    const ARC_SEGMENTS: usize = 12;
    const HALF_LENGTH: f64 = 50.0;

    let half_angle = (0.5 * LIFTER_WIDTH / RADIUS).asin();
    let mut outline = Vec::new();
    for lifter in 0..LIFTERS {
        let middle = TAU * lifter as f64 / LIFTERS as f64;
        let (sin, cos) = middle.sin_cos();
        // The lifter's top, in the frame that points along its middle.
        let top = RADIUS * half_angle.cos() - LIFTER_HEIGHT;
        for side in [-0.5, 0.5] {
            let across = side * LIFTER_WIDTH;
            outline.push([top * cos - across * sin, top * sin + across * cos]);
        }
        let span = TAU / LIFTERS as f64 - 2.0 * half_angle;
        for i in 0..=ARC_SEGMENTS {
            let angle = middle + half_angle + span * i as f64 / ARC_SEGMENTS as f64;
            outline.push([RADIUS * angle.cos(), RADIUS * angle.sin()]);
        }
    }

    let mut soup = TriangleSoup::default();
    for [x, z] in &outline {
        soup.vertices.push(DVec3::new(*x, -HALF_LENGTH, *z));
        soup.vertices.push(DVec3::new(*x, HALF_LENGTH, *z));
    }
    let count = outline.len() as u32;
    for i in 0..count {
        let (a, b) = (2 * i, 2 * ((i + 1) % count));
        soup.triangles.push([a, b, a + 1]);
        soup.triangles.push([b, b + 1, a + 1]);
    }
    soup
}

#[test]
fn the_lifter_drum_is_what_its_dimensions_say() {
    let soup = lifter_drum();
    let on_shell = |corner: &DVec3| (corner.x.hypot(corner.z) - 250.0).abs() < 1e-9;
    let mut arcs = 0;
    for index in 0..soup.triangles.len() {
        let corners = soup.corners(index);
        if corners.iter().all(on_shell) {
            let [a, b, c] = corners;
            let normal = (b - a).cross(c - a);
            let outward = DVec3::new(a.x + b.x + c.x, 0.0, a.z + b.z + c.z);
            assert!(normal.dot(outward) < 0.0, "triangle {index} faces outwards");
            arcs += 1;
        }
    }
    assert_eq!(arcs, 2 * 12 * 8);
    // Neighbours that agree on the sides make the rest face inwards too.
    let mesh = TriangleMesh::new(soup.clone()).unwrap();
    assert_eq!(mesh.dropped_triangles(), 0);
    let mut bytes = Vec::new();
    soup.write_stl_binary(&mut bytes).unwrap();
    assert!(bytes.len() < 200_000);
    assert_current("scenes/meshes/lifter-drum.stl", &bytes);
}

/// A rock, m: the hull of points on a spiral about an ellipsoid, some farther out than others.
#[test]
fn the_rock_is_convex_and_of_its_size() {
    const COUNT: u32 = 20;
    let point = |k: u32| {
        let share = (f64::from(k) + 0.5) / f64::from(COUNT);
        let height = 1.0 - 2.0 * share;
        let (sin, cos) = (2.399_963 * f64::from(k)).sin_cos();
        let across = (1.0 - height * height).sqrt();
        let swell = 1.0 + 0.15 * (5.0 * f64::from(k)).sin();
        swell * DVec3::new(across * cos, across * sin, height) * DVec3::new(0.055, 0.045, 0.038)
    };
    let points: Vec<DVec3> = (0..COUNT).map(point).collect();
    let (rock, _) = Polyhedron::from_points(&points).unwrap();
    let soup = BodyShape::Polyhedron(Arc::new(rock)).triangulate();
    assert!(Polyhedron::from_surface(&soup).is_ok());
    let size = Aabb::of_points(soup.vertices.iter().copied()).size();
    assert!(
        size.max_element() < 0.125 && size.min_element() > 0.06,
        "{size}"
    );
    assert_mesh("scenes/meshes/rock.stl", &soup);
}

/// Adds a surface over a grid of points: `point(i, j)` for `i` to `rows` and
/// `j` to `columns`.
fn add_grid(soup: &mut TriangleSoup, [rows, columns]: [u32; 2], point: impl Fn(u32, u32) -> DVec3) {
    let first = soup.vertices.len() as u32;
    let at = |i: u32, j: u32| first + i * (columns + 1) + j;
    for i in 0..=rows {
        for j in 0..=columns {
            soup.vertices.push(point(i, j));
        }
    }
    for i in 0..rows {
        for j in 0..columns {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)];
            soup.triangles.push([a, b, c]);
            soup.triangles.push([b, d, c]);
        }
    }
}

fn assert_mesh(path: &str, soup: &TriangleSoup) {
    let mesh = TriangleMesh::new(soup.clone()).unwrap();
    assert_eq!(mesh.dropped_triangles(), 0);
    let mut bytes = Vec::new();
    soup.write_stl_binary(&mut bytes).unwrap();
    assert_current(path, &bytes);
}

/// A bin, mm: a tube of radius 50 on a flat floor at z = 0 with an outlet of radius 20.
#[test]
fn the_flat_hopper_is_what_its_dimensions_say() {
    const AROUND: u32 = 48;
    let outline = [[20.0, 0.0], [50.0, 0.0], [50.0, 220.0]];
    let mut soup = TriangleSoup::default();
    add_grid(&mut soup, [AROUND, outline.len() as u32 - 1], |i, j| {
        let (sin, cos) = (TAU * f64::from(i % AROUND) / f64::from(AROUND)).sin_cos();
        let [radius, z] = outline[j as usize];
        DVec3::new(radius * cos, radius * sin, z)
    });
    assert_mesh("scenes/meshes/flat-hopper.stl", &soup);
}

/// Two flat blades about the y axis, mm: from radius 5 to 70, 90 wide.
#[test]
fn the_paddle_is_what_its_dimensions_say() {
    let mut soup = TriangleSoup::default();
    for side in [-1.0, 1.0] {
        add_grid(&mut soup, [1, 1], |i, j| {
            let radius = if i == 0 { 5.0 } else { 70.0 };
            let y = if j == 0 { -45.0 } else { 45.0 };
            DVec3::new(side * radius, y, 0.0)
        });
    }
    assert_mesh("scenes/meshes/paddle.stl", &soup);
}

/// A screw along the x axis, mm: a blade from radius 4 to 28 with a pitch of 40,
/// six turns.
#[test]
fn the_screw_is_what_its_dimensions_say() {
    const PER_TURN: u32 = 24;
    const TURNS: u32 = 6;
    let mut soup = TriangleSoup::default();
    add_grid(&mut soup, [PER_TURN * TURNS, 1], |i, j| {
        let turns = f64::from(i) / f64::from(PER_TURN);
        let (sin, cos) = (TAU * turns).sin_cos();
        let radius = if j == 0 { 4.0 } else { 28.0 };
        DVec3::new(40.0 * turns, radius * cos, radius * sin)
    });
    assert_mesh("scenes/meshes/screw.stl", &soup);
}
