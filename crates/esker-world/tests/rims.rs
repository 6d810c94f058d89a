//! Grains at the rims of open walls.

mod common;

use common::{build, grain, listed, material, scene, wall};
use esker_geometry::{BodyShape, OpenFaces, Pose, Side, WallShape};
use esker_world::definition::*;
use glam::{DQuat, DVec3};
use std::f64::consts::{FRAC_PI_2, PI};

/// Boxes pour over both rims of a short turning tube. Where an edge of a box straddled the rim no
/// contact held it, and it overlapped by 45 % of a diameter before a corner met the mantle.
#[test]
fn boxes_tip_over_the_rims_of_a_turning_tube_without_sinking_in() {
    let mut def = scene(
        material(1200.0, 1e7, 0.3),
        PairLaw {
            friction: 0.5,
            restitution: 0.2,
            ..Default::default()
        },
        Method::default(),
        1e-3,
    );
    let shape = BodyShape::Box {
        half_edges: DVec3::new(0.008, 0.006, 0.01),
    };
    let tube = WallShape::Cylinder {
        radius: 0.15,
        length: 0.12,
        side: Side::Inside,
        open: OpenFaces::ENDS,
    };
    let about_y = DQuat::from_rotation_x(-FRAC_PI_2);
    def.walls = vec![WallDef {
        motion: Motion::Rotate {
            axis: DVec3::Y,
            centre: DVec3::ZERO,
            rate: PI,
            start: 0.0,
            stop: f64::INFINITY,
        },
        ..wall(tube, Pose::new(DVec3::ZERO, about_y))
    }];
    let place = |k: usize| DVec3::new((k % 5) as f64, (k / 5 % 4) as f64, (k / 20) as f64);
    let radius = shape.volume_radius();
    let first = DVec3::new(-0.06, -0.05, -0.08);
    let boxes = (0..90).map(|k| grain(first + 0.03 * place(k), radius));
    def.packings = vec![PackingDef {
        shape: Some(ShapeUse {
            shape: 0,
            orientation: Orientation::Random,
        }),
        ..listed(boxes.collect())
    }];
    def.bounds = Some([DVec3::splat(-0.3), DVec3::splat(0.3)]);
    def.shapes = vec![shape];
    for (seed, step) in [(3, 1e-3), (6, 5e-4), (7, 5e-4)] {
        (def.seed, def.step) = (seed, step);
        let mut world = build(&def);
        let mut worst = (0.0, 0.0);
        while world.time() < 0.4 {
            let report = world.step().expect("a step");
            if report.max_overlap > worst.0 {
                worst = (report.max_overlap, report.time);
            }
        }
        let over_rims = |x: &&DVec3| x.y.abs() > 0.06;
        let out =
            world.grains().position().iter().filter(over_rims).count() + world.lost() as usize;
        assert!(out > 10, "{out} went over the rims");
        assert!(worst.0 < 0.03, "{} at {} s", worst.0, worst.1);
    }
}
