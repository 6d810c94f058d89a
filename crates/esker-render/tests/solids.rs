//! Pictures of grains that are no spheres, compared with the geometry they show.

use esker_render::{
    Background, Camera, ColorMap, Form, Image, Picture, Projection, Solid, Sphere, render,
};
use glam::{DQuat, DVec3};

const SIZE: (u32, u32) = (200, 200);
const WHITE: [u8; 3] = [255; 3];
/// Pixels per m.
const SCALE: f64 = 50.0;

fn picture<'a>(solids: &'a [Solid<'a>]) -> Picture<'a> {
    let camera = Camera {
        eye: DVec3::new(0.0, -10.0, 0.0),
        target: DVec3::ZERO,
        up: DVec3::Z,
        projection: Projection::Orthographic { height: 4.0 },
    };
    Picture {
        solids,
        background: Background::WHITE,
        color_map: ColorMap::Categorical,
        ..Picture::new(camera, SIZE)
    }
}

fn solid(form: &Form, orientation: DQuat) -> Solid<'_> {
    Solid {
        form,
        centre: DVec3::ZERO,
        scale: 1.0,
        orientation,
        value: 0.0,
    }
}

/// Covered area, m².
fn area(image: &Image) -> f64 {
    let mut covered = 0;
    for y in 0..image.height() {
        covered += (0..image.width())
            .filter(|&x| image.pixel(x, y) != Some(WHITE))
            .count();
    }
    covered as f64 / (SCALE * SCALE)
}

#[test]
fn shadows_of_solids_have_the_area_of_their_projections() {
    let ellipsoid = Form::Ellipsoid {
        semi_axes: DVec3::new(0.5, 1.0, 1.4),
    };
    let capsule = Form::Capsule {
        radius: 0.4,
        half_length: 0.8,
    };
    let cylinder = Form::Cylinder {
        radius: 0.6,
        half_length: 0.9,
    };
    let cuboid = Form::cuboid(DVec3::new(0.5, 0.7, 1.1));
    let pi = std::f64::consts::PI;
    let tilt = DQuat::from_rotation_x(0.6);
    let (sin, cos) = 0.6_f64.sin_cos();
    for (name, form, orientation, expected) in [
        ("ellipsoid", &ellipsoid, DQuat::IDENTITY, pi * 0.5 * 1.4),
        ("capsule", &capsule, DQuat::IDENTITY, pi * 0.16 + 0.8 * 1.6),
        (
            "capsule end on",
            &capsule,
            DQuat::from_rotation_x(pi / 2.0),
            pi * 0.16,
        ),
        ("cylinder", &cylinder, DQuat::IDENTITY, 1.2 * 1.8),
        (
            "cylinder end on",
            &cylinder,
            DQuat::from_rotation_x(pi / 2.0),
            pi * 0.36,
        ),
        // Seen along y, a turn about x shows two faces.
        ("cuboid", &cuboid, tilt, 1.0 * (2.2 * cos + 1.4 * sin)),
    ] {
        let solids = [solid(form, orientation)];
        let found = area(&render(&picture(&solids)));
        // Half a pixel around the outline counts as covered.
        let rim = 2.0 * (pi * expected).sqrt() / SCALE;
        assert!(
            found > expected - 0.2 * rim && found < expected + rim,
            "{name}: {found} instead of {expected}"
        );
    }
}

#[test]
fn edges_are_dark_lines_and_faces_are_lit_by_their_direction() {
    let form = Form::cuboid(DVec3::new(1.0, 1.0, 1.0));
    let turn = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_4);
    let solids = [solid(&form, turn)];
    let image = render(&picture(&solids));
    let light = |x: u32, y: u32| {
        let pixel = image.pixel(x, y).expect("in the picture");
        pixel.iter().map(|&c| u32::from(c)).sum::<u32>()
    };
    // The edge that points to the eye runs across the middle of the picture.
    let (upper, edge, lower) = (
        light(100, 70),
        light(100, 100).min(light(100, 99)),
        light(100, 130),
    );
    assert!(
        edge < lower,
        "no line between the faces: {upper} {edge} {lower}"
    );
    assert!(lower < upper, "light comes from above: {upper} {lower}");
}

/// An ellipsoid with equal axes is a sphere, and looks like one.
#[test]
fn a_round_ellipsoid_looks_like_a_sphere() {
    let form = Form::Ellipsoid {
        semi_axes: DVec3::splat(0.5),
    };
    let solids = [Solid {
        scale: 2.0,
        ..solid(&form, DQuat::from_rotation_z(1.0))
    }];
    let spheres = [Sphere {
        centre: DVec3::ZERO,
        radius: 1.0,
        value: 0.0,
        orientation: None,
    }];
    let one = render(&picture(&solids));
    let other = render(&Picture {
        spheres: &spheres,
        ..picture(&[])
    });
    let mut different = 0;
    for y in 0..SIZE.1 {
        for x in 0..SIZE.0 {
            let [a, b] = [&one, &other].map(|image| image.pixel(x, y).expect("in the picture"));
            let near = a.iter().zip(b).all(|(&a, b)| a.abs_diff(b) <= 2);
            different += usize::from(!near);
        }
    }
    assert!(different < 20, "{different} pixels differ");
}
