//! Contacts are found once per step: grains that are stopped in mid-step must
//! have been predicted to meet those that follow.

use esker_geometry::{Pose, Region, WallShape};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

/// A lattice with wide gaps falls on a floor, layer after layer being stopped
/// in mid-step. With contacts predicted from the pairs' own velocities alone,
/// grains overlapped by 40 % of a diameter here.
#[test]
fn a_lattice_dropped_on_a_floor_does_not_fall_into_itself() {
    let sizes = SizeDistribution::Mixture {
        radii: vec![5e-3, 6.5e-3],
        shares: vec![1.0, 1.0],
        by_mass: false,
    };
    let region = Region::Box {
        half_extents: DVec3::new(0.03, 0.03, 0.12),
        pose: Pose::from_position(DVec3::new(0.0, 0.0, 0.13)),
    };
    for method in [
        Method::SubStepped(SubStepped::default()),
        Method::WholeStep(WholeStep::default()),
    ] {
        let mut world = World::new(&WorldDef {
            method,
            materials: vec![Material {
                name: "ore".into(),
                density: 3700.0,
                young: 6e6,
                poisson: 0.25,
            }],
            walls: vec![WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY)],
            packings: vec![PackingDef {
                shape: None,
                material: 0,
                velocity: DVec3::new(0.0, 0.0, -0.3),
                placement: Placement::Lattice {
                    region,
                    spacing: Some(0.0135),
                    jitter: 0.5,
                    count: None,
                    sizes: sizes.clone(),
                },
            }],
            ..Default::default()
        })
        .unwrap();
        assert!(world.grains().len() > 200);
        let worst = (0..40)
            .map(|_| world.step().unwrap().max_overlap)
            .fold(0.0, f64::max);
        assert!(
            worst < 0.05,
            "overlap of {worst} diameters with {:?}",
            world.method()
        );
    }
}
