//! Contacts of spheres, ellipsoids, capsules and clumps with each other.

mod common;

use common::{numbers, rotation};
use esker_geometry::{
    BodyQuery, BodyShape, Clump, Conformity, ContactPoint, DQuat, DVec3, PlacedShape, Pose,
    body_contacts, sphere_sphere,
};
use glam::DMat3;
use proptest::prelude::*;
use std::f64::consts::TAU;
use std::sync::Arc;

fn contacts(a: &PlacedShape, b: &PlacedShape, margin: f64) -> Vec<ContactPoint> {
    let query = BodyQuery {
        margin,
        last_normal: None,
    };
    let mut out = Vec::new();
    body_contacts(a, b, &query, &mut out);
    out
}

fn parts(conformity: Conformity) -> (f64, f64) {
    match conformity {
        Conformity::Curved {
            radius,
            ellipse_factor,
        } => (radius, ellipse_factor),
        Conformity::Flat { .. } => panic!("smooth bodies are curved"),
    }
}

/// Support function and point of a placed smooth body about its centre.
fn support(body: &PlacedShape, n: DVec3) -> DVec3 {
    let local = body.rotation.transpose() * n;
    let s = match body.shape {
        BodyShape::Sphere { radius } => *radius * local,
        BodyShape::Ellipsoid { semi_axes } => {
            let u = *semi_axes * local;
            *semi_axes * u / u.length()
        }
        BodyShape::Capsule {
            radius,
            half_length,
        } => *radius * local + DVec3::Z * half_length.copysign(local.z),
        _ => panic!("no support function"),
    };
    body.scale * (body.rotation * s)
}

/// Bodies whose contact is known: `b` stands off the surface point of `a` with normal `n`.
fn place_apart<'a>(
    a: &'a BodyShape,
    b: &'a BodyShape,
    turns: [DQuat; 2],
    (n, gap): (DVec3, f64),
) -> (PlacedShape<'a>, PlacedShape<'a>, DVec3) {
    let first = PlacedShape::new(a, 1.0, Pose::new(DVec3::new(0.3, -0.2, 0.5), turns[0]));
    let mut second = PlacedShape::new(b, 1.0, Pose::new(DVec3::ZERO, turns[1]));
    let on_a = first.position + support(&first, n);
    second.position = on_a + gap * n + support(&second, n);
    (first, second, on_a + 0.5 * gap * n)
}

#[test]
fn ellipsoids_of_any_aspect_are_found_to_rounding() {
    let mut next = numbers(1);
    for (aspect, normal_tolerance) in [(2.0, 1e-13), (10.0, 1e-12), (30.0, 1e-11)] {
        let mut worst = [0.0_f64; 3];
        for k in 0..3000 {
            let mut axes = || {
                let middle = 1.0 + (aspect - 1.0) * next();
                let [a, b, c] = [1.0 / aspect, middle / aspect, 1.0];
                [[a, b, c], [c, a, b], [b, c, a]][(3.0 * next()) as usize]
            };
            let a = BodyShape::Ellipsoid {
                semi_axes: axes().into(),
            };
            let b = if k % 4 == 3 {
                BodyShape::Sphere { radius: 0.5 }
            } else {
                BodyShape::Ellipsoid {
                    semi_axes: axes().into(),
                }
            };
            let turns = match k % 3 {
                0 => [rotation(&mut next), rotation(&mut next)],
                1 => [DQuat::IDENTITY, DQuat::from_rotation_x(1e-9)],
                _ => [rotation(&mut next); 2],
            };
            let normal = match k % 5 {
                0 => turns[0] * DVec3::Z,
                1 => turns[1] * DVec3::NEG_X,
                _ => rotation(&mut next) * DVec3::X,
            };
            let gap = match k % 4 {
                0 => next(),
                1 => 1e-6,
                2 => -0.01 / aspect,
                _ => 0.05 * next(),
            };
            let (first, second, point) = place_apart(&a, &b, turns, (normal, gap));
            // The tips of thin ellipsoids are sharper than the overlap; another normal is nearer.
            if gap < 0.0 && !is_shallow(&first, &second, normal, -gap) {
                continue;
            }
            let found = contacts(&first, &second, 2.0);
            assert_eq!(found.len(), 1, "aspect {aspect}, case {k}");
            let errors = [
                (found[0].gap - gap).abs(),
                (found[0].normal - normal).length(),
                (found[0].point - point).length(),
            ];
            worst = std::array::from_fn(|i| worst[i].max(errors[i]));
            assert!(errors[0] < 1e-12, "aspect {aspect}, case {k}: {errors:?}");
        }
        println!("aspect {aspect}: {worst:?}");
        assert!(worst[0] < 1e-12);
        assert!(
            worst[1] < normal_tolerance && worst[2] < normal_tolerance,
            "{worst:?}"
        );
    }
}

/// Whether an overlap is below a third of the smallest radius of relative curvature.
fn is_shallow(a: &PlacedShape, b: &PlacedShape, n: DVec3, overlap: f64) -> bool {
    let (x, y) = n.any_orthonormal_pair();
    let step = 1e-4;
    let smallest = (0..32).map(|k| {
        let t = x * (0.1 * f64::from(k)).cos() + y * (0.1 * f64::from(k)).sin();
        let turned = |s: f64| (n + s * step * t).normalize();
        let along = |body: &PlacedShape| {
            (support(body, turned(1.0)) - support(body, turned(-1.0))).dot(t) / (2.0 * step)
        };
        along(a) + along(b)
    });
    overlap < 0.3 * smallest.fold(f64::INFINITY, f64::min)
}

/// Deep in each other there can be several ways out; the one that is found is the shortest of those
/// near it.
#[test]
fn ellipsoids_deep_in_each_other_leave_along_a_shortest_way() {
    let mut next = numbers(4);
    for case in 0..1000 {
        let mut axes = || DVec3::new(0.1 + next(), 0.1 + next(), 0.1 + next());
        let shapes = [axes(), axes()].map(|semi_axes| BodyShape::Ellipsoid { semi_axes });
        let c = DVec3::new(next(), next(), next()) * if case % 2 == 0 { 0.1 } else { 0.5 };
        let a = PlacedShape::new(&shapes[0], 1.0, Pose::new(DVec3::ZERO, rotation(&mut next)));
        let b = PlacedShape::new(&shapes[1], 1.0, Pose::new(c, rotation(&mut next)));
        let gap = |n: DVec3| n.dot(c) - n.dot(support(&a, n)) - n.dot(support(&b, n));
        let found = contacts(&a, &b, 0.0);
        let Some(contact) = found.first() else {
            assert!(sampled_gap(&a, &b) > -1e-9, "case {case}: lost");
            continue;
        };
        assert!((gap(contact.normal) - contact.gap).abs() < 1e-12);
        let (x, y) = contact.normal.any_orthonormal_pair();
        for k in 0..16 {
            let (sin, cos) = (TAU / 16.0 * f64::from(k)).sin_cos();
            let near = (contact.normal + 1e-3 * (cos * x + sin * y)).normalize();
            assert!(gap(near) <= contact.gap + 1e-12, "case {case}: {contact:?}");
        }
    }
}

#[test]
fn last_normal_changes_the_way_and_not_the_result() {
    let mut next = numbers(2);
    for _ in 0..1000 {
        let mut axes = || DVec3::new(0.1 + next(), 0.1 + next(), 0.1 + next());
        let (a, b) = (
            BodyShape::Ellipsoid { semi_axes: axes() },
            BodyShape::Ellipsoid { semi_axes: axes() },
        );
        let turns = [rotation(&mut next), rotation(&mut next)];
        let n = rotation(&mut next) * DVec3::X;
        let (first, second, _) = place_apart(&a, &b, turns, (n, 0.1 * next()));
        let fresh = contacts(&first, &second, 1.0);
        let near = (n + 0.05 * (rotation(&mut next) * DVec3::X)).normalize();
        for last in [near, rotation(&mut next) * DVec3::X, -n] {
            let query = BodyQuery {
                margin: 1.0,
                last_normal: Some(last),
            };
            let mut out = Vec::new();
            body_contacts(&first, &second, &query, &mut out);
            assert_eq!(out.len(), 1);
            assert!((out[0].gap - fresh[0].gap).abs() < 1e-12);
            assert!((out[0].normal - fresh[0].normal).length() < 1e-10);
        }
    }
}

#[test]
fn ellipsoids_on_a_flat_or_sharp_pole_have_the_radii_of_hertz() {
    let semi_axes = DVec3::new(0.09, 0.05, 0.1);
    let body = BodyShape::Ellipsoid { semi_axes };
    // A sphere so large that it is a plane.
    let plane = BodyShape::Sphere { radius: 1e9 };
    for (axis, extent, radius, factor) in [
        (DVec3::Y, 0.05, 0.18, 1.0009),
        (DVec3::Z, 0.1, 0.045, 1.0287),
    ] {
        let a = PlacedShape::new(&body, 1.0, Pose::IDENTITY);
        let b = PlacedShape::new(&plane, 1.0, Pose::from_position((1e9 + extent) * axis));
        let found = contacts(&a, &b, 1e-3);
        let got = parts(found[0].conformity);
        assert!(
            (got.0 - radius).abs() < 1e-6 && (got.1 - factor).abs() < 4e-4,
            "{got:?}"
        );
    }
}

#[test]
fn sphere_is_an_ellipsoid_a_capsule_and_a_clump() {
    let (clump, _) = Clump::new(&[(DVec3::ZERO, 0.4)]).unwrap();
    let spheres = [
        BodyShape::Sphere { radius: 0.4 },
        BodyShape::Ellipsoid {
            semi_axes: DVec3::splat(0.4),
        },
        BodyShape::Capsule {
            radius: 0.4,
            half_length: 0.0,
        },
        BodyShape::Clump(Arc::new(clump)),
    ];
    let mut next = numbers(3);
    for _ in 0..100 {
        let turn = rotation(&mut next);
        let offset = (rotation(&mut next) * DVec3::X) * 2.5 * next();
        let at = DVec3::new(next(), next(), next());
        for a in &spheres {
            for b in &spheres {
                let a = PlacedShape::new(a, 1.5, Pose::new(at, turn));
                let b = PlacedShape::new(b, 2.0, Pose::new(at + offset, turn.conjugate()));
                let exact = sphere_sphere(a.position, 0.6, b.position, 0.8, 0.3);
                let found = contacts(&a, &b, 0.3);
                assert_eq!(found.len(), usize::from(exact.is_some()), "{offset}");
                for (got, exact) in found.iter().zip(&exact) {
                    assert!(
                        (got.gap + exact.overlap).abs() < 1e-13,
                        "{:?} {:?}",
                        a.shape,
                        b.shape
                    );
                    assert!((got.normal - exact.normal).length() < 1e-12);
                    assert!((got.point - exact.point).length() < 1e-12);
                    let (radius, factor) = parts(got.conformity);
                    assert!((radius - 0.6 * 0.8 / 1.4).abs() < 1e-9, "{radius}");
                    assert!((factor - 1.0).abs() < 1e-9, "{factor}");
                }
            }
        }
    }
}

#[test]
fn parallel_capsules_touch_in_two_points_and_crossed_ones_in_one() {
    let capsule = BodyShape::Capsule {
        radius: 0.1,
        half_length: 0.5,
    };
    let pose = |offset: DVec3, turn: DQuat| Pose::new(offset, turn);
    let a = PlacedShape::new(&capsule, 1.0, Pose::IDENTITY);
    let at = DVec3::new(0.19, 0.0, 0.3);
    let beside = PlacedShape::new(&capsule, 1.0, pose(at, DQuat::IDENTITY));
    let found = contacts(&a, &beside, 0.01);
    assert_eq!(found.len(), 2);
    for (point, z) in found.iter().zip([-0.2, 0.5]) {
        assert!((point.gap + 0.01).abs() < 1e-14);
        assert!((point.normal - DVec3::X).length() < 1e-14);
        assert!((point.point - DVec3::new(0.095, 0.0, z)).length() < 1e-14);
        // r* = 0.05 over half a length of 0.35.
        let (radius, factor) = parts(point.conformity);
        assert!((radius - (0.05_f64 * 0.35).sqrt()).abs() < 1e-12 && factor == 1.0);
    }
    assert_ne!(found[0].feature, found[1].feature);
    // Leaning over, the same two points carry it; the upper one opens.
    let lean = DQuat::from_rotation_y(0.01);
    let found = contacts(&a, &PlacedShape::new(&capsule, 1.0, pose(at, lean)), 0.02);
    assert_eq!(found.len(), 2);
    assert!(found[1].gap - found[0].gap > 0.005);
    let crossed = PlacedShape::new(&capsule, 1.0, pose(at, DQuat::from_rotation_x(0.5)));
    let found = contacts(&a, &crossed, 0.01);
    assert_eq!(found.len(), 1);
    assert!((found[0].gap + 0.01).abs() < 1e-14);
    let end_to_end = PlacedShape::new(&capsule, 1.0, pose(1.19 * DVec3::Z, DQuat::IDENTITY));
    let found = contacts(&a, &end_to_end, 0.01);
    assert_eq!(found.len(), 1);
    assert!((found[0].normal - DVec3::Z).length() < 1e-14);
    assert!((parts(found[0].conformity).0 - 0.05).abs() < 1e-12);
}

#[test]
fn clumps_touch_sphere_by_sphere_under_names_of_their_own() {
    let (clump, pose) = Clump::new(&[(DVec3::ZERO, 0.3), (DVec3::X, 0.3)]).unwrap();
    let shape = BodyShape::Clump(Arc::new(clump));
    let a = PlacedShape::new(&shape, 1.0, pose);
    let raised = Pose::new(pose.position + 0.59 * DVec3::Y, pose.orientation);
    let b = PlacedShape::new(&shape, 1.0, raised);
    let found = contacts(&a, &b, 0.01);
    assert_eq!(found.len(), 2);
    for (point, x) in found.iter().zip([0.0, 1.0]) {
        assert!((point.point - DVec3::new(x, 0.295, 0.0)).length() < 1e-12);
        assert!((point.gap + 0.01).abs() < 1e-12);
    }
    assert_ne!(found[0].feature, found[1].feature);
}

fn any_shape() -> impl Strategy<Value = BodyShape> {
    let size = || 0.05..1.0_f64;
    prop_oneof![
        size().prop_map(|radius| BodyShape::Sphere { radius }),
        [size(), size(), size()].prop_map(|axes| BodyShape::Ellipsoid {
            semi_axes: axes.into()
        }),
        (size(), 0.0..1.5).prop_map(|(radius, half_length)| BodyShape::Capsule {
            radius,
            half_length
        }),
        prop::collection::vec(([-0.5..0.5, -0.5..0.5, -0.5..0.5_f64], size()), 1..4).prop_map(
            |spheres| {
                let spheres: Vec<_> = spheres.iter().map(|(c, r)| (DVec3::from(*c), *r)).collect();
                BodyShape::Clump(Arc::new(Clump::new(&spheres).unwrap().0))
            }
        ),
    ]
}

fn any_turn() -> impl Strategy<Value = DQuat> {
    [-1.0..1.0_f64, -1.0..1.0, -1.0..1.0, -1.0..1.0].prop_map(|[x, y, z, w]| {
        let q = glam::DVec4::new(x, y, z, w);
        DQuat::from_vec4(q.try_normalize().unwrap_or(glam::DVec4::W))
    })
}

/// Largest `n·c − h_a − h_b` over many directions, refined about the best: the gap, from below.
fn sampled_gap(a: &PlacedShape, b: &PlacedShape) -> f64 {
    let c = b.position - a.position;
    let value = |n: DVec3| n.dot(c) - n.dot(support(a, n)) - n.dot(support(b, n));
    let count = 1000;
    let spiral = |k: i32| {
        let z = 1.0 - (2.0 * f64::from(k) + 1.0) / f64::from(count);
        let (sin, cos) = (f64::from(k) * 2.399_963_229_728_653).sin_cos();
        (1.0 - z * z).sqrt() * DVec3::new(cos, sin, 0.0) + z * DVec3::Z
    };
    let better = |x: DVec3, y: DVec3| if value(y) > value(x) { y } else { x };
    let mut best = (0..count).map(spiral).fold(DVec3::X, better);
    let crossed = a.rotation.z_axis.cross(b.rotation.z_axis);
    for n in [crossed, -crossed] {
        best = better(best, n.normalize_or(best));
    }
    for level in 0..24 {
        let (x, y) = best.any_orthonormal_pair();
        for k in 0..24 {
            let (sin, cos) = (0.2618 * f64::from(k)).sin_cos();
            let step = 0.1 * 0.7_f64.powi(level) * (cos * x + sin * y);
            let next = best + step;
            best = better(best, next.normalize());
            // The support function of a capsule has a ridge across its axis.
            for axis in [a.rotation.z_axis, b.rotation.z_axis] {
                let across = next - next.dot(axis) * axis;
                best = better(best, across.normalize_or(best));
            }
        }
    }
    value(best)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contacts_are_finite_symmetric_and_never_lost(
        shapes in (any_shape(), any_shape()),
        turns in (any_turn(), any_turn()),
        offset in [-1.5..1.5_f64, -1.5..1.5, -1.5..1.5],
        margin in 0.0..0.5_f64,
    ) {
        let (a, b) = (
            PlacedShape::new(&shapes.0, 1.0, Pose::new(DVec3::ONE, turns.0)),
            PlacedShape::new(&shapes.1, 1.2, Pose::new(DVec3::ONE + DVec3::from(offset), turns.1)),
        );
        let found = contacts(&a, &b, margin);
        for point in &found {
            prop_assert!(point.point.is_finite() && point.gap.is_finite());
            prop_assert!((point.normal.length() - 1.0).abs() < 1e-12);
            prop_assert!(point.gap < margin);
            let (radius, factor) = parts(point.conformity);
            prop_assert!(radius > 0.0 && radius.is_finite() && factor >= 1.0);
        }
        let mut swapped = contacts(&b, &a, margin);
        prop_assert_eq!(swapped.len(), found.len());
        // Apart, the answer is unique; of bodies deep in each other any normal is as good.
        let deepest = found.iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
        if deepest > 0.0 {
            for point in &found {
                let distance = |other: &ContactPoint| (other.point - point.point).length();
                swapped.sort_by(|p, q| distance(p).total_cmp(&distance(q)));
                prop_assert!(distance(&swapped[0]) < 1e-7, "{:?} {:?}", point, swapped);
                prop_assert!((swapped[0].normal + point.normal).length() < 1e-7);
                prop_assert!((swapped[0].gap - point.gap).abs() < 1e-12);
            }
        }
        let is_clump = |shape: &BodyShape| matches!(shape, BodyShape::Clump(_));
        if !is_clump(&shapes.0) && !is_clump(&shapes.1) {
            let bound = sampled_gap(&a, &b);
            if bound > 0.0 {
                let near = bound < margin - 1e-3;
                prop_assert!(!near || !found.is_empty(), "lost at {bound}");
                prop_assert!(bound < margin || found.is_empty(), "seen at {bound}");
                prop_assert!(found.is_empty() || (deepest - bound).abs() < 1e-3);
            } else {
                prop_assert!(!found.is_empty(), "lost at {bound}");
                prop_assert!(deepest < 1e-3);
            }
        }
    }

    #[test]
    fn nothing_finite_comes_of_nothing_and_nothing_panics(
        shapes in (any_shape(), any_shape()),
        turn in any_turn(),
    ) {
        // Coincident centres, and centres that are no numbers.
        let a = PlacedShape::new(&shapes.0, 1.0, Pose::new(DVec3::ONE, turn));
        for position in [DVec3::ONE, DVec3::NAN, DVec3::INFINITY, DVec3::splat(1e200)] {
            let b = PlacedShape { shape: &shapes.1, scale: 1.0, position, rotation: DMat3::IDENTITY };
            for point in contacts(&a, &b, 0.1) {
                prop_assert!(point.point.is_finite() && point.gap.is_finite());
                prop_assert!((point.normal.length() - 1.0).abs() < 1e-12);
            }
        }
    }
}
