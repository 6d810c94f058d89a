//! Rendered pictures of worlds, for reports.

use esker_geometry::{Pose, TriangleSoup};
use esker_render::{Bounds, Framing, Legend, Picture, Sphere, Triangle, Wall, render};
use esker_world::World;
use glam::DVec3;

use crate::bench::failed;
use crate::experiment::Frame;
use crate::grain_forms::{DrawnGrain, GrainForms, ShapedGrain};
use crate::results::StudyError;

const SIZE: (u32, u32) = (480, 360);
const WALL_COLOR: [f32; 4] = [0.45, 0.52, 0.60, 0.22];
const BODY_COLOR: [f32; 4] = [0.85, 0.50, 0.15, 1.0];
/// Share of grains at each end of an axis that a picture may leave out.
const TRIM: f64 = 0.005;
/// A wall this many times larger than the bulk of grains is not shown.
const LARGE_WALL: f64 = 4.0;

/// What a picture shows.
pub(crate) struct Shot<'a> {
    /// Caption in the report.
    pub caption: &'a str,
    /// Direction of sight, from the eye into the scene.
    pub direction: DVec3,
    /// What the colours mean.
    pub legend: &'a str,
    /// A colour value per grain, in the order of the world's grains; more are not read.
    pub values: &'a [f64],
    /// Values at the two ends of the colours.
    pub range: [f64; 2],
}

/// Draws a world.
pub(crate) fn draw(world: &World, shot: &Shot) -> Result<Frame, StudyError> {
    let grains = world.all_grains();
    let forms = GrainForms::new(world.shapes());
    let drawn: Vec<DrawnGrain> = (0..grains.count())
        .map(|i| {
            let sphere = Sphere {
                centre: grains.position()[i],
                radius: grains.radius()[i],
                value: shot.values[i],
                orientation: None,
            };
            let shape = grains.shape_of(i).map(|shape| ShapedGrain {
                shape: usize::from(shape.shape),
                scale: shape.scale,
                orientation: grains.orientation()[i],
            });
            forms.grain(sphere, shape)
        })
        .collect();
    let hulls: Vec<Sphere> = drawn.iter().map(|grain| grain.hull).collect();
    let bulk = Bounds::of_bulk(&hulls, TRIM);
    let (spheres, solids) = forms.drawn(&drawn);
    let size = (bulk.max - bulk.min).length();
    let mut walls: Vec<Wall> = world
        .walls()
        .iter()
        .map(|wall| {
            let soup = wall.shape.triangulate(0.7 * size);
            surface(&soup, wall.pose, WALL_COLOR)
        })
        .filter(|wall| {
            let bounds = Bounds::of_walls(std::slice::from_ref(wall));
            (bounds.max - bounds.min).length() < LARGE_WALL * size
        })
        .collect();
    walls.extend((0..world.bodies().len()).map(|body| {
        let row = grains.count() + body;
        let centre = Pose::new(grains.position()[row], grains.orientation()[row]);
        surface(&world.body_shape(body).triangulate(), centre, BODY_COLOR)
    }));
    let framing = Framing {
        up: -world.gravity().normalize_or(DVec3::NEG_Z),
        right_strip: Framing::LEGEND_STRIP,
        ..Framing::new(shot.direction, f64::from(SIZE.0) / f64::from(SIZE.1))
    };
    let camera = framing.fit(&bulk.union(&Bounds::of_walls(&walls)));
    let picture = Picture {
        spheres: &spheres,
        solids: &solids,
        walls: &walls,
        range: Some((shot.range[0], shot.range[1])),
        legend: Some(Legend::new(shot.legend)),
        time_stamp: Some(format!("t = {:.2} s", world.time())),
        ..Picture::new(camera, SIZE)
    };
    let png = render(&picture)
        .encode_png()
        .map_err(|e| failed("picture", e))?;
    Ok(Frame {
        caption: shot.caption.into(),
        address: esker_plot::png_address(&png),
    })
}

/// A surface at a place.
fn surface(soup: &TriangleSoup, pose: Pose, color: [f32; 4]) -> Wall {
    let triangles = (0..soup.triangles.len()).map(|i| Triangle {
        corners: soup.corners(i).map(|x| pose.to_world(x)),
    });
    Wall {
        triangles: triangles.collect(),
        color,
    }
}

/// Draws a world coloured by speed up to `max`, m/s.
pub(crate) fn draw_speeds(
    world: &World,
    caption: &str,
    direction: DVec3,
    max: f64,
) -> Result<Frame, StudyError> {
    let grains = world.all_grains();
    let states = grains.state();
    let values: Vec<f64> = states.iter().map(|s| s.velocity.length()).collect();
    draw(
        world,
        &Shot {
            caption,
            direction,
            legend: "speed (m/s)",
            values: &values,
            range: [0.0, max],
        },
    )
}
