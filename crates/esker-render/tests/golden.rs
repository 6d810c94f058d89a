//! Small pictures compared with stored ones. After a wanted change, look at the new pictures that
//! `ESKER_UPDATE_GOLDEN=1 cargo test -p esker-render --test golden` writes to `tests/golden`.

use std::path::PathBuf;

use esker_render::{
    Background, ColorMap, Framing, Image, Legend, Line, Picture, Sphere, Triangle, Wall, render,
};
use glam::{DQuat, DVec3};

/// Largest mean difference of a colour component; rounding on other machines stays far below.
const MEAN_TOLERANCE: f64 = 0.4;
/// Largest part of the pixels that may differ by more than 16 of 255 in a component.
const OUTLIERS: f64 = 0.003;

fn golden_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn assert_like_golden(name: &str, image: &Image) {
    let path = golden_path(name);
    if std::env::var_os("ESKER_UPDATE_GOLDEN").is_some() {
        let bytes = image.encode_png().unwrap();
        assert!(
            bytes.len() <= 30_000,
            "{name} has {} bytes: make it smaller",
            bytes.len()
        );
        std::fs::write(&path, bytes).unwrap();
        return;
    }
    let file = std::fs::File::open(&path).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .unwrap();
    let mut stored = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut stored).unwrap();
    assert_eq!(
        (info.width, info.height),
        (image.width(), image.height()),
        "{name}"
    );
    let differences: Vec<u8> = image
        .pixels()
        .as_flattened()
        .iter()
        .zip(&stored)
        .map(|(new, old)| new.abs_diff(*old))
        .collect();
    let mean = differences.iter().map(|d| f64::from(*d)).sum::<f64>() / differences.len() as f64;
    let outliers = differences
        .chunks_exact(3)
        .filter(|d| d.iter().any(|d| *d > 16))
        .count();
    let part = outliers as f64 / image.pixels().len() as f64;
    assert!(
        mean <= MEAN_TOLERANCE && part <= OUTLIERS,
        "{name}: mean difference {mean:.3} of 255, {outliers} pixels far off",
    );
}

/// A staggered block of grains of two sizes.
fn block() -> Vec<Sphere> {
    (0..75)
        .map(|i| {
            let (x, y, z) = (f64::from(i % 5), f64::from(i / 5 % 5), f64::from(i / 25));
            Sphere {
                centre: DVec3::new(x + 0.5 * (z % 2.0), y + 0.5 * (z % 2.0), 0.75 * z),
                radius: if i % 3 == 0 { 0.4 } else { 0.5 },
                value: 0.1 * x + 0.05 * z * y,
                orientation: (i % 4 == 0).then(|| DQuat::from_rotation_x(0.3 * f64::from(i))),
            }
        })
        .collect()
}

/// An open box around the block.
fn tray() -> Wall {
    let (low, high) = (DVec3::new(-0.6, -0.6, -0.6), DVec3::new(5.2, 5.2, 1.6));
    let corner = |x: bool, y: bool, z: bool| DVec3::select(glam::BVec3::new(x, y, z), high, low);
    let (t, f) = (true, false);
    let faces = [
        [
            corner(f, f, f),
            corner(t, f, f),
            corner(t, t, f),
            corner(f, t, f),
        ],
        [
            corner(f, f, f),
            corner(t, f, f),
            corner(t, f, t),
            corner(f, f, t),
        ],
        [
            corner(f, t, f),
            corner(t, t, f),
            corner(t, t, t),
            corner(f, t, t),
        ],
        [
            corner(f, f, f),
            corner(f, t, f),
            corner(f, t, t),
            corner(f, f, t),
        ],
        [
            corner(t, f, f),
            corner(t, t, f),
            corner(t, t, t),
            corner(t, f, t),
        ],
    ];
    let triangles = faces.iter().flat_map(|[a, b, c, d]| {
        [
            Triangle {
                corners: [*a, *b, *c],
            },
            Triangle {
                corners: [*a, *c, *d],
            },
        ]
    });
    Wall {
        triangles: triangles.collect(),
        color: [0.4, 0.5, 0.7, 0.25],
    }
}

fn framing() -> Framing {
    Framing {
        right_strip: Framing::LEGEND_STRIP,
        ..Framing::new(DVec3::new(0.5, 1.0, -0.7), 4.0 / 3.0)
    }
}

#[test]
fn grains_in_a_tray_with_legend_and_time_look_as_stored() {
    let (spheres, walls) = (block(), [tray()]);
    let camera = framing().fit_balls(spheres.iter().map(|s| (s.centre, s.radius + 0.3)));
    let picture = Picture {
        spheres: &spheres,
        walls: &walls,
        legend: Some(Legend::new("speed (m/s)")),
        time_stamp: Some("t = 1.25 s".to_owned()),
        ..Picture::new(camera, (200, 150))
    };
    assert_like_golden("tray.png", &render(&picture));
}

#[test]
fn bars_through_ghostly_grains_look_as_stored() {
    let spheres: Vec<Sphere> = block()
        .into_iter()
        .map(|s| Sphere {
            value: f64::NAN,
            ..s
        })
        .collect();
    let lines: Vec<Line> = spheres
        .windows(2)
        .filter(|pair| pair[0].centre.distance(pair[1].centre) < 1.1)
        .enumerate()
        .map(|(i, pair)| Line {
            from: pair[0].centre,
            to: pair[1].centre,
            radius: 0.05 + 0.01 * (i % 7) as f64,
            value: (i % 7) as f64,
        })
        .collect();
    let framing = Framing {
        fov_y: None,
        ..framing()
    };
    let picture = Picture {
        spheres: &spheres,
        sphere_opacity: 0.3,
        lines: &lines,
        color_map: ColorMap::Cividis,
        legend: Some(Legend::new("force (µN)")),
        background: Background::NIGHT,
        ..Picture::new(
            framing.fit_balls(spheres.iter().map(|s| (s.centre, s.radius))),
            (200, 150),
        )
    };
    assert_like_golden("chains.png", &render(&picture));
}

#[test]
fn the_whole_font_looks_as_stored() {
    let camera = framing().fit_balls([]);
    let categories = (0..8).map(|i| format!("no. {i}")).collect();
    let mut picture = Picture {
        color_map: ColorMap::Categorical,
        legend: Some(Legend {
            title: "material".to_owned(),
            categories,
        }),
        background: Background::WHITE,
        ..Picture::new(camera, (560, 420))
    };
    let lines = [
        " !\"#$%&'()*+,-./0123456789:;<=>?@",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`",
        "abcdefghijklmnopqrstuvwxyz{|}~µ°²³·×",
    ];
    let mut pixels = Vec::new();
    for line in lines {
        picture.time_stamp = Some(line.to_owned());
        pixels.push(render(&picture));
    }
    for (image, name) in
        pixels
            .iter()
            .zip(["font_signs.png", "font_capitals.png", "font_small.png"])
    {
        assert_like_golden(name, image);
    }
}

#[test]
fn stored_pictures_are_small() {
    for entry in std::fs::read_dir(golden_path("")).unwrap() {
        let entry = entry.unwrap();
        assert!(
            entry.metadata().unwrap().len() <= 30_000,
            "{:?}",
            entry.path()
        );
    }
}
