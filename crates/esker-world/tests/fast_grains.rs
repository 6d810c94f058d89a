//! Closed walls hold grains that cross them many times per step.

mod common;

use common::*;
use esker_geometry::{OpenFaces, Pose, Side, WallShape};
use esker_world::definition::*;
use glam::DVec3;

/// Grains of 10 mm at this speed in all directions, within `radius` of the origin.
fn burst(count: usize, radius: f64, speed: f64) -> PackingDef {
    // Points spread over the sphere along a golden spiral.
    let golden = std::f64::consts::PI * (3.0 - 5_f64.sqrt());
    let grains = (0..count).map(|k| {
        let share = (k as f64 + 0.5) / count as f64;
        let (z, angle) = (1.0 - 2.0 * share, golden * k as f64);
        let ring = (1.0 - z * z).sqrt();
        let direction = DVec3::new(ring * angle.cos(), ring * angle.sin(), z);
        // Across their places, so that they meet walls at all angles.
        let velocity = DVec3::new(direction.y, direction.z, direction.x) * speed;
        ListedGrain {
            velocity,
            ..grain(direction * radius, 0.005)
        }
    });
    listed(grains.collect())
}

/// A closed frustum between heights of ±0.2 m with these radii.
struct Drum {
    name: &'static str,
    radii: [f64; 2],
}

impl Drum {
    fn shape(&self) -> WallShape {
        let (length, side, open) = (0.4, Side::Inside, OpenFaces::NONE);
        let [radius_bottom, radius_top] = self.radii;
        if radius_bottom == radius_top {
            let radius = radius_top;
            return WallShape::Cylinder {
                radius,
                length,
                side,
                open,
            };
        }
        WallShape::Cone {
            radius_bottom,
            radius_top,
            length,
            side,
            open,
        }
    }

    /// Whether a centre is in the drum.
    fn holds(&self, centre: DVec3) -> bool {
        let height = (centre.z + 0.2) / 0.4;
        let radius = self.radii[0] + (self.radii[1] - self.radii[0]) * height;
        (0.0..=1.0).contains(&height) && centre.truncate().length() < radius
    }
}

/// A grain slides along the frozen tangent plane of a curved wall within a
/// step: at 50 m/s it left a cylinder in one.
#[test]
fn round_walls_hold_grains_at_fifty_metres_per_second() {
    for restitution in [0.0, 0.9] {
        for drum in [
            Drum {
                name: "cylinder",
                radii: [0.15; 2],
            },
            Drum {
                name: "cone",
                radii: [0.1, 0.25],
            },
        ] {
            let law = PairLaw {
                restitution,
                friction: 0.3,
                ..Default::default()
            };
            let mut def = scene(material(2500.0, 5e7, 0.3), law, Method::default(), 5e-3);
            def.walls = vec![wall(drum.shape(), Pose::IDENTITY)];
            def.packings = vec![burst(300, 0.08, 50.0)];
            let mut world = build(&def);
            run(&mut world, 0.5);
            let out = world
                .grains()
                .position()
                .iter()
                .filter(|x| !drum.holds(**x));
            assert_eq!(
                out.count(),
                0,
                "grains that left the {}, restitution {restitution}",
                drum.name
            );
        }
    }
}

/// A grain that is alone in its cell has nobody to differ from in velocity there. It used to
/// look for nothing then, and was found in the middle of a bed that it had seen in no step.
#[test]
fn a_lone_grain_meets_a_bed_at_a_distance_within_one_step() {
    let d = 0.01;
    for gap in [1.0, 3.0, 5.0, 7.0, 9.0] {
        let mut def = scene(pellet(), PairLaw::default(), sub_stepped(25), 5e-3);
        def.gravity = DVec3::ZERO;
        let bed = (0..500_i32).map(|k| {
            let place = |stride: i32, n: i32| f64::from(k / stride % n) - 0.5 * f64::from(n - 1);
            let cell = DVec3::new(place(1, 10), place(10, 10), place(100, 5) - 2.0);
            grain(cell * (1.001 * d), 0.5 * d)
        });
        let bullet = ListedGrain {
            velocity: DVec3::NEG_Z * 20.0,
            ..grain(DVec3::Z * (1.0 + gap) * d, 0.5 * d)
        };
        def.packings = vec![listed(bed.chain([bullet]).collect())];
        let mut world = build(&def);
        let impacts = world.step().unwrap().impacts;
        assert!(impacts > 0, "{gap} diameters away");
        let overlap = world.step().unwrap().max_overlap;
        assert!(overlap < 0.3, "{overlap} from {gap} diameters away");
    }
}
