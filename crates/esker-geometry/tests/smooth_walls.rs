//! Contacts of ellipsoids, capsules and clumps with walls.

mod common;

use common::{numbers, rotation};
use esker_geometry::{
    BodyShape, Clump, Conformity, ContactPoint, DVec3, Face, OpenFaces, PlacedShape, Pose, Side,
    TriangleMesh, WallQuery, WallShape,
};
use glam::DVec2;
use std::f64::consts::TAU;
use std::sync::Arc;

fn contacts(wall: &WallShape, body: &PlacedShape, margin: f64) -> Vec<ContactPoint> {
    let mut out = Vec::new();
    wall.body_contacts(body, &WallQuery::within(margin), &mut out);
    out
}

fn boxed(side: Side, open: OpenFaces) -> WallShape {
    WallShape::Box {
        half_extents: DVec3::new(1.0, 0.8, 0.6),
        side,
        open,
    }
}

fn tube(side: Side, open: OpenFaces) -> WallShape {
    WallShape::Cylinder {
        radius: 0.9,
        length: 1.4,
        side,
        open,
    }
}

fn cone(side: Side, open: OpenFaces) -> WallShape {
    WallShape::Cone {
        radius_bottom: 0.5,
        radius_top: 1.1,
        length: 1.2,
        side,
        open,
    }
}

/// Every kind of wall, closed, with an opening, and solid.
fn walls() -> Vec<WallShape> {
    let top = OpenFaces::NONE.with(Face::Top);
    let corner = top.with(Face::Left);
    let mut walls = vec![WallShape::HalfSpace];
    for side in [Side::Inside, Side::Outside] {
        walls.extend([boxed, tube, cone].map(|make| make(side, OpenFaces::NONE)));
    }
    walls.extend([
        boxed(Side::Inside, top),
        boxed(Side::Inside, corner),
        tube(Side::Inside, top),
        tube(Side::Inside, OpenFaces::ENDS),
        cone(Side::Inside, top),
        cone(Side::Inside, OpenFaces::ENDS),
    ]);
    let meshed = |wall: WallShape| {
        WallShape::Mesh(Arc::new(TriangleMesh::new(wall.triangulate(2.0)).unwrap()))
    };
    walls.push(meshed(boxed(Side::Outside, OpenFaces::NONE)));
    walls.push(meshed(boxed(Side::Inside, corner)));
    walls.push(meshed(tube(Side::Inside, top)));
    walls.push(meshed(cone(Side::Outside, OpenFaces::NONE)));
    walls
}

/// Points of the surface, some 0.04 apart.
fn surface(wall: &WallShape) -> Vec<DVec3> {
    let mut points = Vec::new();
    let grid = |n: u32| (0..=n).map(move |k| 2.0 * f64::from(k) / f64::from(n) - 1.0);
    let mut ring = |[bottom, top]: [f64; 2], length: f64, is_closed: [bool; 2]| {
        for angle in (0..160).map(|k| TAU * f64::from(k) / 160.0) {
            let radial = DVec2::from_angle(angle);
            for t in grid(35) {
                let radius = bottom + (top - bottom) * 0.5 * (t + 1.0);
                points.push((radius * radial).extend(0.5 * length * t));
            }
            for (end, radius) in [bottom, top].into_iter().enumerate() {
                if is_closed[end] {
                    let z = [-0.5, 0.5][end] * length;
                    points.extend(grid(40).map(|t| (radius * 0.5 * (t + 1.0) * radial).extend(z)));
                }
            }
        }
    };
    match wall {
        WallShape::HalfSpace => {
            for x in grid(100) {
                points.extend(grid(100).map(|y| DVec3::new(2.5 * x, 2.5 * y, 0.0)));
            }
        }
        WallShape::Box {
            half_extents,
            side,
            open,
        } => {
            for axis in 0..3 {
                for upper in [false, true] {
                    if *side == Side::Inside && open.contains(Face::across(axis, upper)) {
                        continue;
                    }
                    for x in grid(40) {
                        for y in grid(40) {
                            let mut p = DVec3::ZERO;
                            p[axis] = if upper { 1.0 } else { -1.0 };
                            (p[(axis + 1) % 3], p[(axis + 2) % 3]) = (x, y);
                            points.push(p * *half_extents);
                        }
                    }
                }
            }
        }
        WallShape::Cylinder {
            radius,
            length,
            side,
            open,
        } => ring([*radius; 2], *length, closed_ends(*side, *open)),
        WallShape::Cone {
            radius_bottom,
            radius_top,
            length,
            side,
            open,
        } => ring(
            [*radius_bottom, *radius_top],
            *length,
            closed_ends(*side, *open),
        ),
        WallShape::Mesh(mesh) => {
            let soup = mesh.soup();
            for triangle in 0..soup.triangles.len() {
                let [a, b, c] = soup.corners(triangle);
                let n = ((b - a).length().max((c - a).length()) / 0.045).ceil() as u32;
                for i in 0..=n {
                    for j in 0..=n - i {
                        let (x, y) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
                        points.push(a + x * (b - a) + y * (c - a));
                    }
                }
            }
        }
    }
    points
}

fn closed_ends(side: Side, open: OpenFaces) -> [bool; 2] {
    [Face::Bottom, Face::Top].map(|face| side == Side::Outside || !open.contains(face))
}

/// Signed distance of a point from a convex body; for ellipsoids inside only the sign is right.
fn distance(body: &PlacedShape, point: DVec3) -> f64 {
    let local = (body.rotation.transpose() * (point - body.position)) / body.scale;
    let distance = match body.shape {
        BodyShape::Ellipsoid { semi_axes } => to_ellipsoid(*semi_axes, local),
        BodyShape::Capsule {
            radius,
            half_length,
        } => {
            let nearest = local.z.clamp(-half_length, *half_length) * DVec3::Z;
            local.distance(nearest) - radius
        }
        BodyShape::Clump(clump) => {
            let spheres = clump.spheres().iter().map(|s| local.distance(s.0) - s.1);
            spheres.fold(f64::INFINITY, f64::min)
        }
        _ => panic!("not asked"),
    };
    body.scale * distance
}

/// Whether a point is certainly farther than this: the plane across the way to it is.
fn is_farther(body: &PlacedShape, point: DVec3, limit: f64) -> bool {
    let BodyShape::Ellipsoid { semi_axes } = body.shape else {
        return false;
    };
    let offset = point - body.position;
    let length = offset.length();
    let extent = (body.scale * *semi_axes * (body.rotation.transpose() * offset)).length();
    length - extent / length > limit
}

/// Nearest point `r² x/(r² + t)` with `t` from bisection.
fn to_ellipsoid(r: DVec3, x: DVec3) -> f64 {
    if (x / r).length_squared() < 1.0 {
        return -1.0;
    }
    let (mut low, mut high) = (0.0, r.max_element() * x.length());
    for _ in 0..40 {
        let t = 0.5 * (low + high);
        if (r * x / (r * r + t)).length_squared() > 1.0 {
            low = t;
        } else {
            high = t;
        }
    }
    x.distance(r * r * x / (r * r + low))
}

fn support_point(body: &PlacedShape, n: DVec3) -> Option<DVec3> {
    let local = body.rotation.transpose() * n;
    match body.shape {
        BodyShape::Ellipsoid { semi_axes } => {
            let u = *semi_axes * local;
            let s = *semi_axes * u / u.length();
            Some(body.position + body.scale * (body.rotation * s))
        }
        _ => None,
    }
}

fn bodies() -> Vec<BodyShape> {
    let clump = [
        (DVec3::ZERO, 0.12),
        (0.15 * DVec3::X, 0.1),
        (0.2 * DVec3::Y, 0.09),
    ];
    vec![
        BodyShape::Ellipsoid {
            semi_axes: DVec3::new(0.3, 0.15, 0.2),
        },
        BodyShape::Ellipsoid {
            semi_axes: DVec3::new(0.08, 0.08, 0.5),
        },
        BodyShape::Ellipsoid {
            semi_axes: DVec3::new(0.35, 0.35, 0.07),
        },
        BodyShape::Capsule {
            radius: 0.1,
            half_length: 0.35,
        },
        BodyShape::Clump(Arc::new(Clump::new(&clump).unwrap().0)),
    ]
}

fn is_solid(wall: &WallShape) -> bool {
    match wall {
        WallShape::Box { side, .. }
        | WallShape::Cylinder { side, .. }
        | WallShape::Cone { side, .. } => *side == Side::Outside,
        WallShape::HalfSpace | WallShape::Mesh(_) => false,
    }
}

/// The body's distance to every point of the wall is at least the smallest gap, and there are
/// points that near: nothing in reach is lost and nothing is made up.
#[test]
fn smallest_gap_is_the_distance_to_the_nearest_point_of_the_wall() {
    let bodies = bodies();
    let mut next = numbers(11);
    for (index, wall) in walls().iter().enumerate() {
        let points = surface(wall);
        let mut seen = 0;
        for case in 0..100 {
            let shape = &bodies[case % bodies.len()];
            let at = 1.5 * DVec3::new(2.0 * next() - 1.0, 2.0 * next() - 1.0, 2.0 * next() - 1.0);
            let at = if index == 0 {
                DVec3::new(at.x, at.y, at.z.abs())
            } else {
                at
            };
            let body = PlacedShape::new(shape, 1.0, Pose::new(at, rotation(&mut next)));
            let sampled = points.iter().fold(f64::INFINITY, |best, &point| {
                if is_farther(&body, point, best) {
                    return best;
                }
                best.min(distance(&body, point))
            });
            if sampled < 1e-3 || (is_solid(wall) && wall.encloses(at)) {
                continue;
            }
            let margin = 0.4;
            let found = contacts(wall, &body, margin);
            let smallest = found.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            let story = || format!("wall {index}, case {case}, {body:?}: {sampled} but {found:?}");
            if sampled < margin {
                seen += 1;
                assert!(smallest <= sampled + 1e-9, "lost: {}", story());
                assert!(smallest > sampled - 0.04, "made up: {}", story());
            } else {
                assert!(smallest > margin - 0.04, "made up: {}", story());
            }
            for contact in &found {
                assert!(contact.gap < margin);
                assert!((contact.normal.length() - 1.0).abs() < 1e-12);
                let (half, n) = (0.5 * contact.gap, contact.normal);
                let on_body = contact.point - half * n;
                assert!(distance(&body, on_body - 1e-7 * n) < 0.0, "{}", story());
                if let Some(support) = support_point(&body, n) {
                    assert!((on_body - support).length() < 1e-8, "{}", story());
                }
            }
            let mut names: Vec<u32> = found.iter().map(|c| c.feature).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), found.len(), "{}", story());
        }
        assert!(seen > 12, "wall {index}: {seen}");
    }
}

#[test]
fn sphere_is_an_ellipsoid_a_capsule_and_a_clump_at_every_wall() {
    let (clump, _) = Clump::new(&[(DVec3::ZERO, 0.1)]).unwrap();
    let same = [
        BodyShape::Ellipsoid {
            semi_axes: DVec3::splat(0.1),
        },
        BodyShape::Capsule {
            radius: 0.1,
            half_length: 0.0,
        },
        BodyShape::Clump(Arc::new(clump)),
    ];
    let sphere = BodyShape::Sphere { radius: 0.1 };
    let mut next = numbers(12);
    for (index, wall) in walls().iter().enumerate() {
        let mut seen = 0;
        for case in 0..2000 {
            let at = 1.4 * DVec3::new(2.0 * next() - 1.0, 2.0 * next() - 1.0, 2.0 * next() - 1.0);
            let turn = rotation(&mut next);
            let last = [None, Some(Side::Inside), Some(Side::Outside)][case % 3];
            let query = WallQuery {
                margin: 0.05,
                motion: if case % 7 == 0 { 0.5 } else { 0.0 },
                last_side: &|| last,
            };
            let look = |shape| {
                let mut out = Vec::new();
                let body = PlacedShape::new(shape, 1.5, Pose::new(at, turn));
                wall.body_contacts(&body, &query, &mut out);
                out.sort_by(|a: &ContactPoint, b| a.gap.total_cmp(&b.gap));
                out
            };
            let exact = look(&sphere);
            seen += exact.len();
            for shape in &same {
                let got = look(shape);
                let story = format!("wall {index} at {at}: {exact:?} but {shape:?} {got:?}");
                assert_eq!(got.len(), exact.len(), "{story}");
                for exact in &exact {
                    let is_same = |got: &&ContactPoint| {
                        (got.gap - exact.gap).abs() < 1e-12
                            && (got.normal - exact.normal).length() < 1e-9
                            && (got.point - exact.point).length() < 1e-9
                    };
                    let got = got.iter().find(is_same);
                    assert!(got.is_some(), "{story}");
                    let side = wall.side_of_body(shape, got.unwrap().feature);
                    assert_eq!(side, wall.side_of(exact.feature), "{story}");
                }
            }
        }
        assert!(seen > 200, "wall {index}: {seen}");
    }
}

/// Whether a body sticks through a wall: some of its points are in it.
fn is_pierced(body: &PlacedShape, surface: &[DVec3]) -> bool {
    let is_in = |point: &DVec3| !is_farther(body, *point, 0.0) && distance(body, *point) < 0.0;
    surface.iter().any(is_in)
}

/// A body that is pushed on along the normal of its contact keeps it, with the overlap it gained.
#[test]
fn contacts_go_on_when_gaps_close() {
    let bodies = bodies();
    let mut next = numbers(13);
    for (index, wall) in walls().iter().enumerate() {
        let points = surface(wall);
        let mut seen = 0;
        for case in 0..400 {
            let shape = &bodies[case % 4];
            let at = 1.5 * DVec3::new(2.0 * next() - 1.0, 2.0 * next() - 1.0, 2.0 * next() - 1.0);
            let body = PlacedShape::new(shape, 1.0, Pose::new(at, rotation(&mut next)));
            if is_pierced(&body, &points) {
                continue;
            }
            let found = contacts(wall, &body, 0.3);
            let nearest = found.iter().min_by(|a, b| a.gap.total_cmp(&b.gap));
            let Some(before) = nearest.filter(|contact| contact.gap > 0.0) else {
                continue;
            };
            seen += 1;
            for overlap in [1e-9, 1e-5, 1e-3] {
                let pushed = PlacedShape {
                    position: at + (before.gap + overlap) * before.normal,
                    ..body
                };
                let found = contacts(wall, &pushed, 0.0);
                let is_same = |contact: &&ContactPoint| {
                    (contact.gap + overlap).abs() < 1e-12
                        && (contact.normal - before.normal).length() < 1e-6
                };
                let after = found.iter().find(is_same);
                let story = || format!("wall {index}, case {case}: {before:?} but {found:?}");
                assert!(after.is_some(), "{}", story());
                // Nothing else is met by so little.
                let deepest = found.iter().map(|c| c.gap).fold(0.0, f64::min);
                assert!(deepest > -3.0 * overlap, "{}", story());
            }
        }
        assert!(seen > 30, "wall {index}: {seen}");
    }
}

/// Both ends of a body that is longer than the tube is round touch it, and a scan finds no third.
#[test]
fn long_bodies_in_a_tube_have_all_their_maxima() {
    let wall = WallShape::Cylinder {
        radius: 1.0,
        length: 20.0,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    let mut next = numbers(14);
    let (mut twice, mut missed) = (0, 0);
    for _ in 0..2500 {
        let semi_axes = DVec3::new(0.3 + 0.6 * next(), 0.02 + 0.3 * next(), 0.1 + 0.8 * next());
        let shape = BodyShape::Ellipsoid { semi_axes };
        let at = DVec3::new(0.3 * next(), 0.3 * next(), next());
        let body = PlacedShape::new(&shape, 1.0, Pose::new(at, rotation(&mut next)));
        let found = contacts(&wall, &body, 3.0);
        let depth = |angle: f64| {
            let n = DVec2::from_angle(angle).extend(0.0);
            n.dot(support_point(&body, n).unwrap())
        };
        let count = 2000;
        let scan: Vec<f64> = (0..count)
            .map(|k| depth(TAU * f64::from(k) / f64::from(count)))
            .collect();
        let maxima: Vec<usize> = (0..scan.len())
            .filter(|&k| {
                let before = scan[(k + scan.len() - 1) % scan.len()];
                scan[k] > before && scan[k] >= scan[(k + 1) % scan.len()]
            })
            .collect();
        twice += usize::from(maxima.len() == 2);
        for &k in &maxima {
            let n = DVec2::from_angle(TAU * k as f64 / f64::from(count)).extend(0.0);
            let is_found = |c: &ContactPoint| c.normal.distance(n) < 0.01;
            missed += usize::from(!found.iter().any(is_found));
        }
        let deepest = found.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
        let scanned = scan.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        assert!(deepest <= 1.0 - scanned + 1e-12 && deepest > 1.0 - scanned - 1e-5);
    }
    assert!(twice > 500, "{twice} with two maxima");
    assert_eq!(missed, 0);
}

#[test]
fn bodies_that_are_nowhere_touch_nothing_and_deep_ones_touch_finitely() {
    let mut next = numbers(15);
    for wall in walls() {
        for shape in bodies() {
            for position in [
                DVec3::NAN,
                DVec3::INFINITY,
                DVec3::splat(1e150),
                DVec3::ZERO,
            ] {
                let pose = Pose::new(position, rotation(&mut next));
                for contact in contacts(&wall, &PlacedShape::new(&shape, 1.0, pose), 0.1) {
                    assert!(
                        contact.normal.is_finite() && contact.gap.is_finite(),
                        "{contact:?}"
                    );
                    assert!(contact.point.is_finite(), "{contact:?}");
                }
            }
            for _ in 0..50 {
                let at = DVec3::new(next(), next(), next()) - 0.5;
                let body = PlacedShape::new(&shape, 3.0, Pose::new(at, rotation(&mut next)));
                for contact in contacts(&wall, &body, 0.1) {
                    assert!((contact.normal.length() - 1.0).abs() < 1e-12);
                    assert!(contact.gap.is_finite() && contact.point.is_finite());
                    let Conformity::Curved {
                        radius,
                        ellipse_factor,
                    } = contact.conformity
                    else {
                        panic!("smooth bodies are curved");
                    };
                    assert!(radius > 0.0 && radius.is_finite() && ellipse_factor >= 1.0);
                }
            }
        }
    }
}

#[test]
fn ellipsoids_on_a_plane_have_the_radii_of_hertz() {
    let shape = BodyShape::Ellipsoid {
        semi_axes: DVec3::new(0.09, 0.05, 0.1),
    };
    let quarter = esker_geometry::DQuat::from_rotation_x(0.25 * TAU);
    for (turn, height, radius, factor) in [
        (quarter, 0.05, 0.18, 1.0009),
        (esker_geometry::DQuat::IDENTITY, 0.1, 0.045, 1.0287),
    ] {
        let pose = Pose::new(DVec3::new(3.0, 2.0, height), turn);
        let found = contacts(
            &WallShape::HalfSpace,
            &PlacedShape::new(&shape, 1.0, pose),
            1e-9,
        );
        let Conformity::Curved {
            radius: got,
            ellipse_factor,
        } = found[0].conformity
        else {
            panic!("curved");
        };
        assert!((got - radius).abs() < 1e-12 && (ellipse_factor - factor).abs() < 4e-4);
    }
}

#[test]
fn capsule_lies_on_two_points_and_stands_on_one() {
    let shape = BodyShape::Capsule {
        radius: 0.1,
        half_length: 0.4,
    };
    let quarter = esker_geometry::DQuat::from_rotation_y(0.25 * TAU);
    let lying = Pose::new(DVec3::new(0.0, 0.0, 0.0999), quarter);
    let found = contacts(
        &WallShape::HalfSpace,
        &PlacedShape::new(&shape, 1.0, lying),
        0.01,
    );
    assert_eq!(found.len(), 2);
    for contact in &found {
        assert!((contact.gap + 1e-4).abs() < 1e-14);
        assert!((contact.point.x.abs() - 0.4).abs() < 1e-12);
        let Conformity::Curved { radius, .. } = contact.conformity else {
            panic!("curved");
        };
        assert!((radius - (0.1_f64 * 0.4).sqrt()).abs() < 1e-9);
    }
    let standing = Pose::from_position(DVec3::new(0.0, 0.0, 0.4999));
    let found = contacts(
        &WallShape::HalfSpace,
        &PlacedShape::new(&shape, 1.0, standing),
        0.01,
    );
    assert_eq!(found.len(), 1);
    let Conformity::Curved { radius, .. } = found[0].conformity else {
        panic!("curved");
    };
    assert!((radius - 0.1).abs() < 1e-12);
    // Across a block narrower than itself it rests on both edges, though a little tilted.
    let block = WallShape::Box {
        half_extents: DVec3::new(0.2, 1.0, 0.1),
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    for tilt in [0.0, 0.01, -0.01] {
        let turn = esker_geometry::DQuat::from_rotation_y(0.25 * TAU + tilt);
        let across = Pose::new(DVec3::new(0.0, 0.0, 0.2), turn);
        let found = contacts(&block, &PlacedShape::new(&shape, 1.0, across), 0.01);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|c| (c.point.x.abs() - 0.2).abs() < 0.01));
    }
}
