//! Pictures compared with the geometry they show.

use esker_render::{
    Background, Bounds, Camera, ColorMap, Floor, Image, Line, Picture, Projection, Sphere,
    Triangle, Wall, render,
};
use glam::{DQuat, DVec3};

const SIZE: (u32, u32) = (320, 240);
const WHITE: [u8; 3] = [255; 3];

fn sphere(x: f64, y: f64, z: f64, radius: f64, value: f64) -> Sphere {
    Sphere {
        centre: DVec3::new(x, y, z),
        radius,
        value,
        orientation: None,
    }
}

fn camera(projection: Projection) -> Camera {
    Camera {
        eye: DVec3::new(0.0, -10.0, 0.0),
        target: DVec3::ZERO,
        up: DVec3::Z,
        projection,
    }
}

fn perspective() -> Camera {
    camera(Projection::Perspective { fov_y: 0.8 })
}

fn picture<'a>(spheres: &'a [Sphere], camera: Camera) -> Picture<'a> {
    Picture {
        spheres,
        background: Background::WHITE,
        color_map: ColorMap::Categorical,
        ..Picture::new(camera, SIZE)
    }
}

/// Box around everything that is not background between two columns: left, right, top, bottom.
fn mask_box(image: &Image, columns: std::ops::Range<u32>) -> [f64; 4] {
    let mut bounds = [
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    for y in 0..image.height() {
        for x in columns.clone() {
            if image.pixel(x, y) != Some(WHITE) {
                bounds[0] = bounds[0].min(f64::from(x));
                bounds[1] = bounds[1].max(f64::from(x + 1));
                bounds[2] = bounds[2].min(f64::from(y));
                bounds[3] = bounds[3].max(f64::from(y + 1));
            }
        }
    }
    bounds
}

fn mask_area(image: &Image, columns: std::ops::Range<u32>) -> usize {
    let inside = |x: u32, y: u32| image.pixel(x, y) != Some(WHITE);
    (0..image.height())
        .map(|y| columns.clone().filter(|&x| inside(x, y)).count())
        .sum()
}

/// Tangent rays in a plane through the eye: a sphere at lateral `a` and depth `z` appears between
/// the angles `atan(a/z) ± asin(r/√(a² + z²))`. Independent of the renderer's formulas.
fn tangents(a: f64, z: f64, radius: f64, pixels_per_slope: f64) -> (f64, f64) {
    let middle = a.atan2(z);
    let half = (radius / a.hypot(z)).asin();
    (
        (middle - half).tan() * pixels_per_slope,
        (middle + half).tan() * pixels_per_slope,
    )
}

#[test]
fn three_spheres_appear_where_perspective_puts_them_to_a_pixel() {
    // In separate columns; the outer ones are clearly elliptic.
    let spheres = [
        sphere(-4.0, 0.0, 0.0, 0.9, 0.0),
        sphere(0.0, 2.0, 0.0, 1.2, 1.0),
        sphere(3.4, -1.0, 0.0, 0.7, 2.0),
    ];
    let image = render(&picture(&spheres, perspective()));
    let scale = 120.0 / 0.4_f64.tan();
    for (ball, columns) in spheres.iter().zip([0..110, 110..215, 215..320]) {
        let (x, depth) = (ball.centre.x, ball.centre.y + 10.0);
        let (left, right) = tangents(x, depth, ball.radius, scale);
        let (low, high) = tangents(0.0, depth, ball.radius, scale);
        let seen = mask_box(&image, columns.clone());
        assert!((seen[0] - (160.0 + left)).abs() <= 1.0, "{seen:?} {left}");
        assert!((seen[1] - (160.0 + right)).abs() <= 1.0, "{seen:?} {right}");
        assert!((seen[2] - (120.0 - high)).abs() <= 1.0, "{seen:?} {high}");
        assert!((seen[3] - (120.0 - low)).abs() <= 1.0, "{seen:?} {low}");
        let ellipse = std::f64::consts::PI * 0.25 * (right - left) * (high - low);
        let area = mask_area(&image, columns) as f64;
        // The mask counts touched pixels: half a pixel more all around.
        assert!(
            (area - ellipse).abs() < 0.6 * std::f64::consts::PI * (right - left),
            "{area} {ellipse}"
        );
    }
}

#[test]
fn projected_centres_lie_in_the_middle_of_orthographic_discs() {
    let view = camera(Projection::Orthographic { height: 8.0 });
    let spheres = [
        sphere(-3.5, 0.0, 1.3, 0.8, 0.0),
        sphere(0.2, 5.0, -1.0, 1.1, 1.0),
        sphere(3.6, -4.0, 0.4, 0.6, 2.0),
    ];
    let image = render(&picture(&spheres, view));
    for (ball, columns) in spheres.iter().zip([0..100, 100..220, 220..320]) {
        let seen = mask_box(&image, columns);
        let middle = view.project(ball.centre, SIZE).unwrap();
        assert!((0.5 * (seen[0] + seen[1]) - middle.x).abs() <= 0.6);
        assert!((0.5 * (seen[2] + seen[3]) - middle.y).abs() <= 0.6);
        assert!((seen[1] - seen[0] - 2.0 * ball.radius * 30.0).abs() <= 1.5);
        assert!((middle.depth - (10.0 + ball.centre.y)).abs() < 1e-9);
    }
}

/// The category whose palette colour has the hue nearest to a shaded pixel's.
fn category_at(image: &Image, x: u32, y: u32) -> usize {
    let direction = |c: [u8; 3]| DVec3::from(c.map(|b| f64::from(b) + 1.0)).normalize();
    let seen = direction(image.pixel(x, y).unwrap());
    let likeness =
        |i: usize| seen.dot(direction(ColorMap::Categorical.color(i as f64, (0.0, 1.0))));
    (0..6)
        .max_by(|a, b| likeness(*a).total_cmp(&likeness(*b)))
        .unwrap()
}

#[test]
fn the_nearer_sphere_hides_the_farther_in_either_order_and_projection() {
    let near = sphere(0.0, -2.0, 0.0, 0.5, 0.0);
    let far = sphere(0.3, 1.0, 0.0, 1.5, 1.0);
    for view in [
        perspective(),
        camera(Projection::Orthographic { height: 6.0 }),
    ] {
        for spheres in [[near, far], [far, near]] {
            let image = render(&picture(&spheres, view));
            assert_eq!(category_at(&image, 160, 120), 0);
            assert_eq!(category_at(&image, 195, 120), 1);
        }
    }
}

fn pane(y: f64, color: [f32; 4]) -> Wall {
    let at = |x: f64, z: f64| DVec3::new(x, y, z);
    let [a, b, c, d] = [at(-8.0, -8.0), at(8.0, -8.0), at(8.0, 8.0), at(-8.0, 8.0)];
    Wall {
        triangles: vec![
            Triangle { corners: [a, b, c] },
            Triangle { corners: [a, c, d] },
        ],
        color,
    }
}

#[test]
fn a_translucent_wall_tints_what_is_behind_it_and_not_what_is_before_it() {
    let spheres = [sphere(0.0, 0.0, 0.0, 1.0, 0.0)];
    let red = [1.0, 0.0, 0.0, 0.5];
    let seen = |walls: &[Wall]| {
        let image = render(&Picture {
            walls,
            ..picture(&spheres, perspective())
        });
        (image.pixel(160, 120).unwrap(), image.pixel(40, 60).unwrap())
    };
    let (bare_ball, bare_ground) = seen(&[]);
    let (ball_behind, _) = seen(&[pane(-3.0, red)]);
    let (ball_before, ground) = seen(&[pane(3.0, red)]);
    assert_eq!(ball_before, bare_ball);
    assert!(ball_behind[0] > bare_ball[0] + 60 && ball_behind[2] < bare_ball[2]);
    assert!(ground[0] > 200 && ground[2] < bare_ground[2] - 40);
}

#[test]
fn an_opaque_wall_hides_and_an_invisible_one_does_not() {
    let spheres = [sphere(0.0, 0.0, 0.0, 1.0, 0.0)];
    let seen = |spheres: &[Sphere], wall: Wall| {
        let walls = [wall];
        render(&Picture {
            walls: &walls,
            ..picture(spheres, perspective())
        })
    };
    let opaque = pane(-3.0, [0.2, 0.8, 0.2, 1.0]);
    assert_eq!(seen(&spheres, opaque.clone()), seen(&[], opaque));
    let bare = render(&picture(&spheres, perspective()));
    // Its borders are in the picture.
    assert_eq!(seen(&spheres, pane(12.0, [0.2, 0.8, 0.2, 0.0])), bare);
    assert_ne!(seen(&spheres, pane(12.0, [0.2, 0.8, 0.2, 0.3])), bare);
}

#[test]
fn the_order_of_walls_in_the_list_does_not_matter() {
    let panes = [
        pane(-3.0, [1.0, 0.0, 0.0, 0.5]),
        pane(2.0, [0.0, 0.0, 1.0, 0.5]),
    ];
    let swapped = [panes[1].clone(), panes[0].clone()];
    let one = render(&Picture {
        walls: &panes,
        ..picture(&[], perspective())
    });
    let other = render(&Picture {
        walls: &swapped,
        ..picture(&[], perspective())
    });
    assert_eq!(one, other);
    let centre = one.pixel(160, 120).unwrap();
    assert!(
        centre[0] > centre[2],
        "the red pane is in front: {centre:?}"
    );
}

#[test]
fn a_bar_covers_its_projected_rectangle_and_ends_in_half_discs() {
    let view = camera(Projection::Orthographic { height: 8.0 });
    let lines = [Line {
        from: DVec3::new(-2.0, 0.0, 0.5),
        to: DVec3::new(2.0, 1.0, 0.5),
        radius: 0.4,
        value: 0.0,
    }];
    let image = render(&Picture {
        lines: &lines,
        ..picture(&[], view)
    });
    let seen = mask_box(&image, 0..320);
    let right = [
        160.0 - 72.0,
        160.0 + 72.0,
        120.0 - 15.0 - 12.0,
        120.0 - 15.0 + 12.0,
    ];
    assert!(
        seen.iter().zip(right).all(|(a, b)| (a - b).abs() <= 1.0),
        "{seen:?}"
    );
}

#[test]
fn ghostly_spheres_let_the_bars_behind_them_show() {
    let spheres = [sphere(0.0, 0.0, 0.0, 1.5, f64::NAN)];
    let lines = [Line {
        from: DVec3::new(-0.5, 0.0, 0.0),
        to: DVec3::new(0.5, 0.0, 0.0),
        radius: 0.2,
        value: 5.0,
    }];
    let with_opacity = |sphere_opacity: f32| {
        let image = render(&Picture {
            lines: &lines,
            sphere_opacity,
            ..picture(&spheres, perspective())
        });
        image.pixel(160, 120).unwrap()
    };
    let (solid, ghost, none) = (with_opacity(1.0), with_opacity(0.4), with_opacity(0.0));
    assert!(
        solid[0].abs_diff(solid[2]) < 8,
        "the solid grain is grey: {solid:?}"
    );
    assert!(
        ghost[0] > ghost[2] + 30,
        "the bar shines through: {ghost:?}"
    );
    assert!(none[0] > none[2] + 60);
}

#[test]
fn a_turned_grain_looks_different_only_when_it_wears_its_pattern() {
    let look = |orientation: Option<DQuat>| {
        let spheres = [Sphere {
            orientation,
            ..sphere(0.0, 0.0, 0.0, 1.5, 0.0)
        }];
        render(&picture(&spheres, perspective()))
    };
    let upright = look(Some(DQuat::IDENTITY));
    assert_ne!(upright, look(Some(DQuat::from_rotation_y(0.4))));
    assert_ne!(upright, look(None));
    // The octants map onto themselves after a half turn.
    let half_turn = look(Some(DQuat::from_axis_angle(DVec3::Y, std::f64::consts::PI)));
    let differing = upright.pixels().iter().zip(half_turn.pixels());
    let far_off = differing.filter(|(a, b)| a[1].abs_diff(b[1]) > 40).count();
    assert!(far_off < 30, "{far_off}");
}

#[test]
fn unusable_input_is_skipped_without_panic() {
    let nan = f64::NAN;
    let spheres = [
        sphere(nan, 0.0, 0.0, 1.0, 0.0),
        sphere(0.0, 0.0, 0.0, 0.0, 0.0),
        sphere(0.0, 0.0, 0.0, -1.0, 0.0),
        sphere(0.0, 0.0, 0.0, f64::INFINITY, nan),
        sphere(0.0, -10.0, 0.0, 2.0, 0.0),
        sphere(0.0, -50.0, 0.0, 2.0, 0.0),
    ];
    let lines = [
        Line {
            from: DVec3::NAN,
            to: DVec3::ZERO,
            radius: 1.0,
            value: 0.0,
        },
        Line {
            from: DVec3::ZERO,
            to: DVec3::X,
            radius: 0.0,
            value: 0.0,
        },
        Line {
            from: DVec3::Y * -60.0,
            to: DVec3::Y * -50.0,
            radius: 0.1,
            value: 0.0,
        },
    ];
    let walls = [Wall {
        triangles: vec![Triangle {
            corners: [DVec3::NAN; 3],
        }],
        color: [nan as f32; 4],
    }];
    let image = render(&Picture {
        lines: &lines,
        walls: &walls,
        ..picture(&spheres, perspective())
    });
    assert!(image.pixels().iter().all(|pixel| *pixel == WHITE));

    let eye_on_target = Camera {
        eye: DVec3::ZERO,
        ..perspective()
    };
    for view in [
        eye_on_target,
        camera(Projection::Perspective { fov_y: nan }),
    ] {
        assert!(
            render(&picture(&spheres, view))
                .pixels()
                .iter()
                .all(|pixel| *pixel == WHITE)
        );
    }
    for size in [(0, 0), (1, 1), (3, 0), (1, 200)] {
        let mut tiny = picture(&spheres, perspective());
        tiny.size = size;
        tiny.legend = Some(esker_render::Legend::new(
            "long title of a small picture (m/s)",
        ));
        tiny.time_stamp = Some("t".repeat(100));
        assert_eq!(render(&tiny).pixels().len(), (size.0 * size.1) as usize);
    }
}

/// A floor below one ball: shaded under the ball, plain beside it, gone beyond its radius, and a
/// line when it is seen from its edge.
#[test]
fn a_floor_catches_shadows_and_fades_out() {
    let spheres = [Sphere {
        centre: DVec3::Z,
        radius: 1.0,
        value: 0.0,
        orientation: None,
    }];
    let floors = [Floor {
        centre: DVec3::ZERO,
        normal: DVec3::Z,
        radius: 8.0,
        color: [0.5, 0.5, 0.5, 0.5],
    }];
    let seen = |eye: DVec3, floors: &[Floor], point: DVec3| {
        let camera = Camera {
            eye,
            target: DVec3::ZERO,
            up: DVec3::Z,
            projection: Projection::Orthographic { height: 24.0 },
        };
        let place = camera.project(point, (240, 240)).unwrap();
        let image = render(&Picture {
            floors,
            background: Background::WHITE,
            ..Picture {
                spheres: &spheres,
                ..Picture::new(camera, (240, 240))
            }
        });
        let [r, g, b] = image.pixels()[place.y as usize * 240 + place.x as usize];
        u32::from(r) + u32::from(g) + u32::from(b)
    };
    let above = DVec3::new(0.0, -20.0, 20.0);
    // The key light stands on the left: shadows fall to the right.
    let shadow = seen(above, &floors, DVec3::new(1.3, 0.6, 0.0));
    let beside = seen(above, &floors, DVec3::new(-2.5, 0.0, 0.0));
    let beyond = seen(above, &floors, DVec3::new(9.0, 0.0, 0.0));
    assert!(shadow + 60 < beside, "{shadow} {beside}");
    assert!(
        beside + 60 < beyond && beyond == 3 * 255,
        "{beside} {beyond}"
    );
    let level = DVec3::new(0.0, -20.0, 0.0);
    let line = seen(level, &floors, DVec3::new(3.0, 0.0, 0.0));
    assert!(
        line + 60 < seen(level, &floors, DVec3::new(3.0, 0.0, 1.0)),
        "{line}"
    );
    assert_eq!(seen(level, &[], DVec3::new(3.0, 0.0, 0.0)), 3 * 255);
    let below = DVec3::new(0.0, -20.0, -20.0);
    assert_eq!(seen(below, &floors, DVec3::new(-3.0, 0.0, 0.0)), 3 * 255);
}

/// Colours that are chosen for categories, and those of the map beyond them.
#[test]
fn categories_take_the_chosen_colours() {
    let color = |value: f64, palette: &[[u8; 3]]| {
        let spheres = [Sphere {
            centre: DVec3::ZERO,
            radius: 1.0,
            value,
            orientation: None,
        }];
        let image = render(&Picture {
            color_map: ColorMap::Categorical,
            palette,
            ..picture(&spheres, perspective())
        });
        let middle = image.pixels().len() / 2 + image.width() as usize / 2;
        image.pixels()[middle]
    };
    let [r, g, b] = color(1.0, &[[0, 0, 0], [255, 0, 0]]);
    assert!(r > 100 && g < 80 && b < 80, "{r} {g} {b}");
    assert_eq!(color(1.0, &[[9, 9, 9]]), color(1.0, &[]));
}

#[test]
fn walls_and_bars_that_pass_the_eye_are_clipped_and_not_mirrored() {
    let floor = Wall {
        triangles: vec![Triangle {
            corners: [
                DVec3::new(-50.0, 60.0, -1.0),
                DVec3::new(50.0, 60.0, -1.0),
                DVec3::new(0.0, -60.0, -1.0),
            ],
        }],
        color: [0.0, 0.0, 0.0, 0.8],
    };
    let lines = [Line {
        from: DVec3::new(0.0, -40.0, -1.0),
        to: DVec3::new(0.0, 40.0, -1.0),
        radius: 0.05,
        value: 0.0,
    }];
    let walls = [floor];
    let image = render(&Picture {
        walls: &walls,
        lines: &lines,
        ..picture(&[], perspective())
    });
    let seen = mask_box(&image, 0..320);
    assert!(
        seen[2] > 120.0 && seen[3] == 240.0,
        "all below the horizon: {seen:?}"
    );
}

#[test]
fn a_scene_looks_the_same_at_every_scale() {
    let look = |scale: f64| {
        let spheres: Vec<Sphere> = (0..27)
            .map(|i| {
                let p = DVec3::new(f64::from(i % 3), f64::from(i / 3 % 3), f64::from(i / 9));
                sphere(
                    p.x * scale,
                    p.y * scale,
                    p.z * scale,
                    0.5 * scale,
                    f64::from(i % 6),
                )
            })
            .collect();
        let view = Camera::fit(
            &Bounds::of_spheres(&spheres),
            DVec3::new(0.4, 1.0, -0.5),
            4.0 / 3.0,
        );
        render(&picture(&spheres, view))
    };
    let unit = look(1.0);
    for scale in [1e-12, 1e-4, 1e6] {
        let scaled = look(scale);
        let differing = unit.pixels().iter().zip(scaled.pixels());
        let count = differing
            .filter(|(a, b)| (0..3).any(|i| a[i].abs_diff(b[i]) > 24))
            .count();
        assert!(count < 100, "{scale}: {count} pixels differ");
    }
}
