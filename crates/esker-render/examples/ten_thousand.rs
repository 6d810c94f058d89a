//! Time to draw ten thousand grains in a translucent drum, 1280 × 960 pixels, on one core.

mod packing;

use esker_render::{Framing, Legend, Picture, render};
use glam::DVec3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spheres = packing::half_filled_drum(10_000);
    let walls = packing::drum_walls();
    let framing = Framing {
        right_strip: Framing::LEGEND_STRIP,
        ..Framing::new(DVec3::new(0.4, 1.0, -0.5), 4.0 / 3.0)
    };
    let corners = walls
        .iter()
        .flat_map(|wall| &wall.triangles)
        .flat_map(|triangle| triangle.corners);
    let picture = Picture {
        spheres: &spheres,
        walls: &walls,
        legend: Some(Legend::new("speed (m/s)")),
        ..Picture::new(
            framing.fit_balls(corners.map(|corner| (corner, 0.0))),
            (1280, 960),
        )
    };
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = std::time::Instant::now();
        let image = render(&picture);
        best = best.min(start.elapsed().as_secs_f64());
        if let Some(path) = std::env::args().nth(1) {
            std::fs::write(path, image.encode_png()?)?;
        }
    }
    println!(
        "10 000 grains, 1280 x 960 pixels, one core: {:.0} ms (best of 5)",
        best * 1e3
    );
    Ok(())
}
