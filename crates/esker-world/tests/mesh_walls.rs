//! A mesh behaves like the analytic wall that it stands for.

mod common;

use std::f64::consts::TAU;
use std::sync::Arc;

use common::*;
use esker_geometry::{OpenFaces, Pose, Side, TriangleMesh, TriangleSoup, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::{DQuat, DVec3};

/// The plane z = 0 over [-1, 1]², in `n × n` squares of two triangles each.
fn flat_mesh(n: usize) -> WallShape {
    let at = |i: usize| 2.0 * i as f64 / n as f64 - 1.0;
    let vertices = (0..(n + 1) * (n + 1))
        .map(|k| DVec3::new(at(k % (n + 1)), at(k / (n + 1)), 0.0))
        .collect();
    let triangles = (0..n * n)
        .flat_map(|k| {
            let corner = (k / n * (n + 1) + k % n) as u32;
            let (right, up) = (corner + 1, corner + n as u32 + 1);
            [[corner, right, up + 1], [corner, up + 1, up]]
        })
        .collect();
    mesh(TriangleSoup {
        vertices,
        triangles,
    })
}

fn mesh(soup: TriangleSoup) -> WallShape {
    WallShape::Mesh(Arc::new(TriangleMesh::new(soup).expect("a sound mesh")))
}

const FRICTION: f64 = 0.4;

fn rough(method: Method) -> WorldDef {
    let law = PairLaw {
        friction: FRICTION,
        rolling: 0.05,
        ..Default::default()
    };
    scene(pellet(), law, method, 5e-3)
}

/// A pellet thrown along the wall slides, then rolls over dozens of internal
/// edges, through corners of triangles too (the path runs along a diagonal).
fn thrown_over(shape: WallShape, direction: DVec3, method: Method) -> World {
    let mut def = rough(method);
    def.walls = vec![wall(shape, Pose::IDENTITY)];
    let mut pellet = grain(DVec3::new(-0.5, -0.5, PELLET_RADIUS), PELLET_RADIUS);
    pellet.velocity = direction * 1.5;
    def.packings = vec![listed(vec![pellet])];
    World::new(&def).expect("a sound world")
}

#[test]
fn a_sphere_over_internal_edges_moves_as_on_a_plane() {
    for method in [
        Method::SubStepped(SubStepped::default()),
        Method::WholeStep(WholeStep::default()),
    ] {
        for direction in [
            DVec3::X,
            DVec3::new(1.0, 1.0, 0.0).normalize(),
            DVec3::new(0.9, 0.2, 0.0).normalize(),
        ] {
            let mut plane = thrown_over(WallShape::HalfSpace, direction, method.clone());
            let mut flat = thrown_over(flat_mesh(40), direction, method.clone());
            for _ in 0..150 {
                plane.step().unwrap();
                let report = flat.step().unwrap();
                assert!(report.contacts <= 1, "doubled contact at {} s", report.time);
                let distance = plane.grains().position()[0].distance(flat.grains().position()[0]);
                assert!(distance < 1e-10, "off by {distance} m at {} s", report.time);
                let angular_velocities = plane.grains().state()[0]
                    .angular_velocity
                    .distance(flat.grains().state()[0].angular_velocity);
                assert!(
                    angular_velocities < 1e-7,
                    "angular velocity off by {angular_velocities} rad/s at {} s",
                    report.time
                );
            }
            assert!(flat.grains().position()[0].distance(DVec3::new(-0.5, -0.5, 0.0)) > 0.4);
        }
    }
}

/// A tube about the z axis with an edge at the azimuth zero.
fn mesh_tube(radius: f64, length: f64, facets: u32) -> WallShape {
    let vertices = (0..2 * facets)
        .map(|k| {
            let (sin, cos) = (TAU * f64::from(k / 2) / f64::from(facets)).sin_cos();
            let z = if k % 2 == 0 { -0.5 } else { 0.5 } * length;
            DVec3::new(radius * cos, radius * sin, z)
        })
        .collect();
    let triangles = (0..facets)
        .flat_map(|i| {
            let (a, b) = (2 * i, (2 * i + 2) % (2 * facets));
            [[a, a + 1, b], [b, a + 1, b + 1]]
        })
        .collect();
    mesh(TriangleSoup {
        vertices,
        triangles,
    })
}

/// Turns the z axis of a tube to -y, after a turn about it.
fn lying(turn: f64) -> Pose {
    Pose {
        position: DVec3::ZERO,
        orientation: DQuat::from_rotation_x(0.25 * TAU) * DQuat::from_rotation_z(turn),
    }
}

fn tube(radius: f64, length: f64) -> WallShape {
    WallShape::Cylinder {
        radius,
        length,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    }
}

/// A pellet that rolls to and fro without resistance is a pendulum with the
/// period `2π √(7 (R − r)/(5 g))`, in a mesh as in the analytic tube: edges
/// that it rolls over must neither brake nor throw it.
#[test]
fn a_sphere_swings_in_a_mesh_tube_with_the_period_of_rolling() {
    let (radius, length) = (0.05, 0.2);
    let arm = radius - PELLET_RADIUS;
    let expected = TAU * (7.0 * arm / (5.0 * G)).sqrt();
    for (name, shape) in [
        ("analytic", tube(radius, length)),
        ("mesh", mesh_tube(radius, length, 128)),
    ] {
        let law = PairLaw {
            friction: 0.8,
            ..Default::default()
        };
        let mut def = scene(
            pellet(),
            law,
            Method::SubStepped(SubStepped::default()),
            // On a curved wall grains move along tangents within a step, an error
            // of second order in it.
            1e-4,
        );
        def.walls = vec![wall(shape, lying(0.0))];
        let angle: f64 = 0.3;
        let place = DVec3::new(angle.sin(), 0.0, -angle.cos()) * arm;
        def.packings = vec![listed(vec![grain(place, PELLET_RADIUS)])];
        let mut world = World::new(&def).expect("a sound world");
        let (mut crossings, mut last) = (Vec::new(), place.x);
        while crossings.len() < 5 {
            let time = world.step().unwrap().time;
            assert!(time < 10.0 * expected, "{name}: it does not swing");
            let x = world.grains().position()[0].x;
            if x * last < 0.0 {
                crossings.push(time);
            }
            last = x;
        }
        let period = 0.5 * (crossings[4] - crossings[0]);
        // A swing of 0.3 rad is 0.6 % longer than a small one.
        assert!(
            relative(period, 1.006 * expected) < 0.01,
            "{name}: {period} s"
        );
        // Two periods later it comes nearly as far as it started.
        let mut farthest = 0.0_f64;
        while world.time() < crossings[4] + 0.5 * period {
            world.step().unwrap();
            farthest = farthest.max(world.grains().position()[0].x.abs());
        }
        let reached = farthest / place.x;
        // Every edge of a polygon takes a little from what rolls over it.
        let low = if name == "mesh" { 0.8 } else { 0.95 };
        assert!((low..1.01).contains(&reached), "{name}: {reached}");
    }
}

/// A pellet let go in a lying tube rolls down and comes to rest at the bottom,
/// as deep as in the analytic tube up to the facets' sagitta.
#[test]
fn a_sphere_in_a_mesh_tube_rests_as_in_the_analytic_one() {
    let (radius, length, facets) = (0.05, 0.2, 128);
    let settle = |shape: WallShape| {
        let mut def = rough(Method::SubStepped(SubStepped::default()));
        def.walls = vec![wall(shape, lying(0.0))];
        def.packings = vec![listed(vec![grain(
            DVec3::new(0.02, 0.0, -0.035),
            PELLET_RADIUS,
        )])];
        let mut world = World::new(&def).expect("a sound world");
        let touches = (0..600)
            .map(|_| world.step().unwrap().contacts)
            .max()
            .unwrap();
        (
            world.grains().position()[0],
            world.grains().state()[0].velocity.length(),
            touches,
        )
    };
    let (analytic, _, _) = settle(tube(radius, length));
    let (meshed, speed, touches) = settle(mesh_tube(radius, length, facets));
    let sagitta = radius * (1.0 - (0.5 * TAU / facets as f64).cos());
    assert!(touches <= 2, "{touches} contacts at once");
    assert!(speed < 1e-4, "still moving at {speed} m/s");
    let depth = |x: DVec3| x.x.hypot(x.z);
    assert!((depth(analytic) - depth(meshed)).abs() < 2.0 * sagitta);
    // Rolling resistance lets it rest anywhere below its angle of 0.05 rad.
    for place in [analytic, meshed] {
        assert!(
            place.x.abs() < 0.06 * (radius - PELLET_RADIUS) + sagitta * 10.0,
            "rests at {place}"
        );
    }
}

/// Where a sphere rolls along a lying tube, and what it rolls on.
struct Track {
    side: Side,
    /// Turn of the tube about its axis, rad.
    turn: f64,
    /// Height of the sphere's centre, m.
    height: f64,
    /// Distance of the contacts from the sphere's axis of rotation, m.
    lever: f64,
}

/// Rolling resistance grows with the effective radius r* = 1 / (1/r + κ): five
/// thirds of r inside this tube, five sevenths on it. Facets once counted as
/// flat there.
#[test]
fn rolling_resistance_in_and_on_a_mesh_tube_is_that_of_the_analytic_one() {
    let (radius, length, grain_radius) = (0.05, 0.4, 0.02);
    let (speed, steps) = (0.5, 40);
    // What a sphere that rolls along the axis loses of its speed.
    let loss = |shape: WallShape, track: &Track, method: Method| {
        let mut def = rough(method);
        def.walls = vec![wall(shape, lying(track.turn))];
        let mut ball = grain(DVec3::new(0.0, -0.1, track.height), grain_radius);
        ball.velocity = DVec3::Y * speed;
        ball.angular_velocity = DVec3::NEG_X * speed / track.lever;
        def.packings = vec![listed(vec![ball])];
        let mut world = World::new(&def).expect("a sound world");
        for _ in 0..steps {
            assert!(world.step().unwrap().contacts > 0);
        }
        speed - world.grains().state()[0].velocity.y
    };
    let on = |side, turn, surface: f64| Track {
        side,
        turn,
        height: match side {
            Side::Inside => grain_radius - surface,
            Side::Outside => surface + grain_radius,
        },
        lever: grain_radius,
    };
    for method in [
        Method::SubStepped(SubStepped::default()),
        Method::WholeStep(WholeStep::default()),
    ] {
        let mut losses = Vec::new();
        for side in [Side::Inside, Side::Outside] {
            let tube = WallShape::Cylinder {
                radius,
                length,
                side,
                open: OpenFaces::ENDS,
            };
            let analytic = loss(tube, &on(side, 0.0, radius), method.clone());
            losses.push(analytic);
            // Multiples of four: a facet or an edge at the bottom and the top.
            for facets in [12, 24, 64, 200] {
                let half = 0.5 * TAU / f64::from(facets);
                let apothem = radius * half.cos();
                let over_edge = match side {
                    Side::Outside => on(side, 0.0, radius),
                    // Two facets hold the sphere from below.
                    Side::Inside => Track {
                        height: (grain_radius - apothem) / half.cos(),
                        lever: grain_radius * half.cos(),
                        ..on(side, 0.0, radius)
                    },
                };
                for track in [on(side, half, apothem), over_edge] {
                    let shape = mesh_tube(radius, length, facets);
                    let ratio = loss(shape, &track, method.clone()) / analytic;
                    // In a groove the weight presses more and the angular velocity counts more;
                    // friction across it can carry part of the weight.
                    let cos = track.lever / grain_radius;
                    let expected = 1.4 / (cos + 0.4 / cos);
                    let wedged = FRICTION * cos.acos().tan();
                    assert!(
                        (ratio / expected - 1.0).abs() < 0.01 + wedged,
                        "{:?}, {facets} facets, turn {}: {ratio} for {expected}",
                        track.side,
                        track.turn
                    );
                }
            }
        }
        let ratio = losses[0] / losses[1];
        assert!((ratio - 7.0 / 3.0).abs() < 0.1, "analytic ratio {ratio}");
    }
}
