//! Rates of contacts against differences of the geometry itself.

mod common;

use common::{numbers, rotation};
use esker_geometry::{
    BodyQuery, BodyShape, ContactPoint, ContactRates, DQuat, DVec3, OpenFaces, PlacedShape, Pose,
    RigidMotion, Side, WallQuery, WallShape, body_contacts, contact_rates,
};

/// Step of the differences (s), for speeds and sizes of about one.
const STEP: f64 = 2e-4;

fn vector(next: &mut impl FnMut() -> f64) -> DVec3 {
    DVec3::new(2.0 * next() - 1.0, 2.0 * next() - 1.0, 2.0 * next() - 1.0)
}

fn motion(next: &mut impl FnMut() -> f64) -> RigidMotion {
    RigidMotion {
        velocity: vector(next),
        angular_velocity: 2.0 * vector(next),
    }
}

/// A pose after a time of uniform motion.
fn moved(pose: Pose, motion: &RigidMotion, time: f64) -> Pose {
    let turn = DQuat::from_scaled_axis(time * motion.angular_velocity);
    Pose::new(
        pose.position + time * motion.velocity,
        (turn * pose.orientation).normalize(),
    )
}

/// Gap and relative velocity of the two surfaces at their contact points, in world axes.
fn state(contact: &ContactPoint, a: (Pose, RigidMotion), b: (Pose, RigidMotion)) -> (f64, DVec3) {
    let half = 0.5 * contact.gap * contact.normal;
    let velocity = |(pose, motion): (Pose, RigidMotion), point: DVec3| {
        motion.velocity + motion.angular_velocity.cross(point - pose.position)
    };
    let (on_a, on_b) = (contact.point - half, contact.point + half);
    (contact.gap, velocity(b, on_b) - velocity(a, on_a))
}

/// Compares rates with differences over three times.
fn check(rates: ContactRates, normal: DVec3, states: [(f64, DVec3); 3], story: &str) {
    let second = (states[0].0 - 2.0 * states[1].0 + states[2].0) / (STEP * STEP);
    let scale = 1.0 + second.abs();
    assert!(
        (rates.normal - second).abs() < 3e-4 * scale,
        "{story}: {} but {second}",
        rates.normal
    );
    let change = (states[2].1 - states[0].1) / (2.0 * STEP);
    let change = change - change.dot(normal) * normal;
    assert!(
        (rates.tangential - change).length() < 1e-3 * (1.0 + change.length()),
        "{story}: {} but {change}",
        rates.tangential
    );
}

fn body(next: &mut impl FnMut() -> f64, k: i32, size: f64) -> BodyShape {
    if k % 3 == 0 {
        BodyShape::Sphere { radius: 0.7 * size }
    } else {
        let semi_axes = size * (0.6 + 0.4 * vector(next).abs());
        BodyShape::Ellipsoid { semi_axes }
    }
}

#[test]
fn rates_of_two_bodies_are_differences_of_the_gap_and_of_the_sliding_velocity() {
    let mut next = numbers(31);
    for k in 0..300 {
        let shapes = [body(&mut next, k, 1.0), body(&mut next, k / 3, 1.0)];
        let motions = [motion(&mut next), motion(&mut next)];
        let a = Pose::new(vector(&mut next), rotation(&mut next));
        let away = rotation(&mut next) * DVec3::X;
        let turn = rotation(&mut next);
        // The contact when the second body is this far away along a line, at one time.
        let contact = |distance: f64, time: f64| {
            let b = moved(
                Pose::new(a.position + distance * away, turn),
                &motions[1],
                time,
            );
            let a = moved(a, &motions[0], time);
            let placed = [
                PlacedShape::new(&shapes[0], 1.0, a),
                PlacedShape::new(&shapes[1], 1.1, b),
            ];
            let query = BodyQuery {
                margin: 10.0,
                last_normal: None,
            };
            let mut out = Vec::new();
            body_contacts(&placed[0], &placed[1], &query, &mut out);
            (out[0], a, b)
        };
        // Nearly touching: the contact point of the equations is on both surfaces.
        let mut distance = 3.0;
        for _ in 0..60 {
            distance -= contact(distance, 0.0).0.gap;
        }
        let (now, pose_a, pose_b) = contact(distance, 0.0);
        let placed = [
            PlacedShape::new(&shapes[0], 1.0, pose_a),
            PlacedShape::new(&shapes[1], 1.1, pose_b),
        ];
        let rates = contact_rates((&placed[0], &motions[0]), (&placed[1], &motions[1]), &now);
        let states = [-STEP, 0.0, STEP].map(|time| {
            let (contact, a, b) = contact(distance, time);
            state(&contact, (a, motions[0]), (b, motions[1]))
        });
        check(rates, now.normal, states, &format!("case {k}"));
    }
}

#[test]
fn rates_at_walls_that_move_are_differences_too() {
    let tube = |side, radius_top: f64| WallShape::Cone {
        radius_bottom: 1.0,
        radius_top,
        length: 6.0,
        side,
        open: OpenFaces::ENDS,
    };
    let walls = [
        WallShape::HalfSpace,
        WallShape::Box {
            half_extents: DVec3::new(1.0, 4.0, 4.0),
            side: Side::Inside,
            open: OpenFaces::NONE,
        },
        WallShape::Cylinder {
            radius: 1.0,
            length: 6.0,
            side: Side::Inside,
            open: OpenFaces::ENDS,
        },
        tube(Side::Inside, 1.5),
    ];
    let mut next = numbers(32);
    for (index, wall) in walls.iter().enumerate() {
        let mut checked = 0;
        for k in 0..150 {
            let shape = body(&mut next, k, 0.4);
            let motions = [motion(&mut next), motion(&mut next)];
            let wall_pose = Pose::new(vector(&mut next), rotation(&mut next));
            let local = Pose::new(
                0.3 * vector(&mut next) + 0.5 * DVec3::Z,
                rotation(&mut next),
            );
            let start = Pose::new(
                wall_pose.to_world(local.position),
                wall_pose.orientation * local.orientation,
            );
            // In the wall's frame at one time, the contact with about this normal, or the nearest.
            let contact = |time: f64, normal: Option<DVec3>| {
                let (body, wall_pose) = (
                    moved(start, &motions[0], time),
                    moved(wall_pose, &motions[1], time),
                );
                let local = Pose::new(
                    wall_pose.to_local(body.position),
                    wall_pose.orientation.conjugate() * body.orientation,
                );
                let placed = PlacedShape::new(&shape, 1.0, local);
                let mut out = Vec::new();
                wall.body_contacts(&placed, &WallQuery::within(3.0), &mut out);
                let rank = |c: &ContactPoint| normal.map_or(c.gap, |n| c.normal.distance(n));
                let first = |a: &&ContactPoint, b: &&ContactPoint| rank(a).total_cmp(&rank(b));
                let found = *out.iter().min_by(first).unwrap();
                (found, body, wall_pose)
            };
            let (now, _, _) = contact(0.0, None);
            let to_local = |v: DVec3| wall_pose.inverse_rotate(v);
            let local_motion = |m: &RigidMotion| RigidMotion {
                velocity: to_local(m.velocity),
                angular_velocity: to_local(m.angular_velocity),
            };
            let placed = PlacedShape::new(&shape, 1.0, local);
            let rates = wall.contact_rates(
                (&placed, &local_motion(&motions[0])),
                &local_motion(&motions[1]),
                &now,
            );
            let states = [-STEP, 0.0, STEP].map(|time| {
                let (found, body, wall_pose) = contact(time, Some(now.normal));
                let surface = found.point - 0.5 * found.gap * found.normal;
                // The body's point on either body: as if they touched there.
                let touching = ContactPoint {
                    point: wall_pose.to_world(surface),
                    normal: wall_pose.rotate(found.normal),
                    gap: 0.0,
                    ..found
                };
                let (_, sliding) = state(&touching, (body, motions[0]), (wall_pose, motions[1]));
                (found.gap, sliding)
            });
            let rates = ContactRates {
                normal: rates.normal,
                tangential: wall_pose.rotate(rates.tangential),
            };
            let normal = wall_pose.rotate(now.normal);
            // Where two maxima merge the contact leaps.
            let ahead = contact(STEP, Some(now.normal)).0.normal;
            if ahead.distance(now.normal) > 0.01 {
                continue;
            }
            checked += 1;
            check(
                rates,
                normal,
                states,
                &format!("wall {index}, case {k}: {now:?}"),
            );
        }
        assert!(checked > 120, "wall {index}: {checked}");
    }
}
