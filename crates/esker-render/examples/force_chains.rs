//! Bars through ghostly grains, and grains whose pattern shows their rotation:
//! `cargo run --release -p esker-render --example force_chains -- chains.png spin.png`.

mod packing;

use esker_render::{Background, ColorMap, Framing, Legend, Line, Picture, Sphere, render};
use glam::{DQuat, DVec3};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(1);
    let chains_path = paths.next().unwrap_or_else(|| "chains.png".to_owned());
    let angular_velocity_path = paths.next().unwrap_or_else(|| "spin.png".to_owned());
    let mut random = packing::Random(3);
    let spheres = packing::half_filled_drum(700);
    let framing = Framing {
        right_strip: Framing::LEGEND_STRIP,
        ..Framing::new(DVec3::new(0.25, 1.0, -0.3), 4.0 / 3.0)
    };
    let camera = framing.fit_balls(spheres.iter().map(|s| (s.centre, s.radius)));

    let mut lines = Vec::new();
    for (i, one) in spheres.iter().enumerate() {
        for other in &spheres[..i] {
            let reach = 1.02 * (one.radius + other.radius);
            if one.centre.distance(other.centre) < reach {
                let force = -random.next().ln() * (0.3 - one.centre.z) * 4.0;
                lines.push(Line {
                    from: one.centre,
                    to: other.centre,
                    radius: 0.11 * one.radius * force.max(0.0).sqrt(),
                    value: force,
                });
            }
        }
    }
    let ghosts: Vec<Sphere> = spheres
        .iter()
        .map(|s| Sphere {
            value: f64::NAN,
            ..*s
        })
        .collect();
    let chains = Picture {
        spheres: &ghosts,
        sphere_opacity: 0.22,
        lines: &lines,
        color_map: ColorMap::Cividis,
        range: Some((0.0, 8.0)),
        legend: Some(Legend::new("normal force (N)")),
        background: Background::NIGHT,
        ..Picture::new(camera, (960, 720))
    };
    std::fs::write(chains_path, render(&chains).encode_png()?)?;

    let turned: Vec<Sphere> = spheres
        .iter()
        .map(|s| {
            let axis = DVec3::new(random.next(), random.next(), random.next()) - 0.5;
            let turn = DQuat::from_axis_angle(axis.normalize_or(DVec3::Z), 6.0 * random.next());
            let value = if s.radius > spheres[1].radius {
                1.0
            } else {
                0.0
            };
            Sphere {
                orientation: Some(turn),
                value,
                ..*s
            }
        })
        .collect();
    let walls = packing::drum_walls();
    let angular_velocity = Picture {
        spheres: &turned,
        walls: &walls,
        color_map: ColorMap::Categorical,
        legend: Some(Legend {
            title: "material".to_owned(),
            categories: vec!["glass".to_owned(), "gravel".to_owned()],
        }),
        time_stamp: Some(
            "t = 0.10 s   d = 250 µm   25 °C   g/cm³  m²  a·b (0123456789)".to_owned(),
        ),
        ..Picture::new(camera, (960, 720))
    };
    std::fs::write(
        angular_velocity_path,
        render(&angular_velocity).encode_png()?,
    )?;
    Ok(())
}
