//! A half-filled drum: `cargo run --release -p esker-render --example half_filled_drum -- drum.png`.

mod packing;

use esker_render::{Framing, Legend, Picture, render};
use glam::DVec3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "drum.png".to_owned());
    let spheres = packing::half_filled_drum(5000);
    let walls = packing::drum_walls();
    let framing = Framing {
        right_strip: Framing::LEGEND_STRIP,
        margin: 0.07,
        ..Framing::new(DVec3::new(0.42, 1.0, -0.48), 4.0 / 3.0)
    };
    let corners = walls
        .iter()
        .flat_map(|wall| &wall.triangles)
        .flat_map(|triangle| triangle.corners);
    let picture = Picture {
        spheres: &spheres,
        walls: &walls,
        range: Some((0.0, 1.2)),
        legend: Some(Legend::new("speed (m/s)")),
        time_stamp: Some("t = 4.20 s    5 000 grains".to_owned()),
        ..Picture::new(
            framing.fit_balls(corners.map(|corner| (corner, 0.0))),
            (1280, 960),
        )
    };
    let start = std::time::Instant::now();
    let image = render(&picture);
    let drawn = start.elapsed();
    let bytes = image.encode_png()?;
    println!(
        "drawn in {:.0} ms, encoded in {:.0} ms ({} kB): {path}",
        drawn.as_secs_f64() * 1e3,
        (start.elapsed() - drawn).as_secs_f64() * 1e3,
        bytes.len() / 1000,
    );
    std::fs::write(path, bytes)?;
    Ok(())
}
