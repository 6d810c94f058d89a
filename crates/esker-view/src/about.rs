//! What a page needs to know once: names, colours, the numbers of the light, what can be plotted.

use esker::geometry::BodyShape;
use esker::picture::{
    Color, FLOOR_COLOR, GHOST, JOINT_BAR, JOINT_COLORS, JOINTED_GHOST, PictureError,
    THICKEST_CHAIN, VIEWS, WALL_COLOR, palette, up,
};
use esker::record::{Frame, RecordingHeader};
use esker::render::{Background, ColorMap, look};
use serde_json::{Value, json};

use crate::{Source, ViewError, series};

/// Colours of a continuous map that are sent.
const MAP_SAMPLES: usize = 256;
/// Categories whose colours are sent.
const CATEGORIES: usize = 64;

/// Everything, as JSON.
pub fn about(source: &Source) -> Result<Value, ViewError> {
    let header = source.header();
    let materials = palette(&header, &[])?;
    let walls: Vec<Value> = header
        .walls
        .iter()
        .map(|wall| {
            let own = wall.body.and_then(|m| materials.get(usize::from(m)));
            let color = own.map_or(WALL_COLOR, |&[r, g, b]| {
                let [r, g, b] = [r, g, b].map(|x| f32::from(x) / 255.0);
                [r, g, b, 1.0]
            });
            json!({ "name": wall.name, "color": color, "body": wall.body.is_some() })
        })
        .collect();
    Ok(json!({
        "name": header.name,
        "version": env!("CARGO_PKG_VERSION"),
        "live": source.live().is_ok(),
        "up": up(header.gravity).to_array(),
        "views": VIEWS,
        "colors": colors(&header),
        "maps": {
            "viridis": samples(ColorMap::Viridis),
            "cividis": samples(ColorMap::Cividis),
            "categorical": categories(&materials),
        },
        "look": constants(),
        "background": { "top": Background::STUDIO.top, "bottom": Background::STUDIO.bottom },
        "floor": FLOOR_COLOR,
        "ghost": GHOST,
        "chain_width": THICKEST_CHAIN,
        "has_contacts": header.settings.contacts,
        "no_joints": header.joints.is_empty().then(|| PictureError::NoJoints.to_string()),
        "joint": { "colors": JOINT_COLORS, "bar": JOINT_BAR, "ghost": JOINTED_GHOST },
        "materials": header.materials,
        "walls": walls,
        "shapes": header.shapes.iter().map(shape).collect::<Vec<_>>(),
        "series": series::list(&header),
    }))
}

/// What colours can show, and why some cannot.
fn colors(header: &RecordingHeader) -> Vec<Value> {
    let color = |color: Color| {
        json!({
            "name": color.name(),
            "meaning": color.meaning(),
            "title": color.title(),
            "map": match color.map() {
                ColorMap::Viridis => "viridis",
                ColorMap::Cividis => "cividis",
                ColorMap::Categorical => "categorical",
            },
            "categories": color.categories(header, &Frame::default()),
            "missing": color.check(&header.settings).err().map(|why| why.to_string()),
        })
    };
    Color::ALL.into_iter().map(color).collect()
}

fn samples(map: ColorMap) -> Vec<[u8; 3]> {
    let last = (MAP_SAMPLES - 1) as f64;
    (0..MAP_SAMPLES)
        .map(|i| map.color(i as f64, (0.0, last)))
        .collect()
}

fn categories(materials: &[[u8; 3]]) -> Vec<[u8; 3]> {
    let own = |i: usize| ColorMap::Categorical.color(i as f64, (0.0, 1.0));
    (0..CATEGORIES)
        .map(|i| materials.get(i).copied().unwrap_or_else(|| own(i)))
        .collect()
}

fn constants() -> Value {
    let constants = look::constants().into_iter();
    let named = constants.map(|(name, value)| (name.to_owned(), json!(value)));
    Value::Object(named.collect())
}

fn shape(shape: &BodyShape) -> Value {
    let spheres: Vec<[f64; 4]> = match shape {
        BodyShape::Sphere { radius } => vec![[0.0, 0.0, 0.0, *radius]],
        BodyShape::Clump(clump) => {
            let spheres = clump.spheres().iter();
            spheres.map(|(c, r)| [c.x, c.y, c.z, *r]).collect()
        }
        _ => Vec::new(),
    };
    json!({ "bounding_radius": shape.bounding_radius(), "spheres": spheres })
}
