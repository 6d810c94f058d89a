//! What a picture is of, and the camera that sees all of it.

use esker_record::{Frame, RecordingHeader};
use esker_render::{Bounds, Camera, Framing, Sphere};
use esker_study::grain_forms::{DrawnGrain, GrainForms, ShapedGrain};
use glam::DVec3;

use super::PictureError;
use super::scenery::{Scenery, Shown};

/// Frames that a common camera and colour range are chosen from.
const SAMPLES: usize = 5;
/// Share of grains at each end of an axis that a picture may leave out.
const TRIM: f64 = 0.01;

/// The few of many frames that stand for all of them.
pub fn sample(frames: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let stride = frames.len().div_ceil(SAMPLES).max(1);
    let last = frames.last().copied();
    frames.iter().copied().step_by(stride).chain(last)
}

/// What a picture of a frame must show.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The bulk of the grains, and walls of like size.
    pub bounds: Bounds,
    /// Indices of the walls that are shown as floors.
    pub floors: Vec<usize>,
    /// Middle of what stands on floors, m.
    pub middle: DVec3,
    /// How far floors reach from there, m.
    pub floor_radius: f64,
}

impl Subject {
    /// Of a frame, with these shapes of grains.
    pub fn new(header: &RecordingHeader, frame: &Frame, forms: &GrainForms, shown: &Shown) -> Self {
        let nothing = vec![0.0; frame.id.len()];
        let grains = shown_grains(forms, frame, &nothing, shown);
        let scenery = Scenery::new(header, frame, bulk(&grains), (shown, &[]));
        Subject {
            bounds: scenery.subject,
            floors: scenery.floor_walls,
            middle: scenery.middle,
            floor_radius: scenery.floor_radius,
        }
    }
}

/// The direction against gravity.
pub fn up(gravity: DVec3) -> DVec3 {
    (-gravity).try_normalize().unwrap_or(DVec3::Z)
}

/// Names of views.
pub const VIEWS: [&str; 4] = ["oblique", "front", "side", "top"];

/// Views along an axis, without perspective: they show a pile's profile.
const PLAIN_VIEWS: [&str; 3] = ["front", "side", "top"];

/// The camera of a view, by name or as a direction `x,y,z`, that sees a box and leaves room for a
/// legend at the right of a picture whose width is `aspect` times its height.
pub fn camera(
    header: &RecordingHeader,
    view: &str,
    aspect: f64,
    bounds: &Bounds,
) -> Result<Camera, PictureError> {
    let up = up(header.gravity);
    let mut framing = Framing {
        up,
        right_strip: Framing::LEGEND_STRIP,
        ..Framing::new(view_direction(view, up)?, aspect)
    };
    if PLAIN_VIEWS.contains(&view) {
        framing.fov_y = None;
    }
    Ok(framing.fit(bounds))
}

/// Direction from the eye into the scene.
fn view_direction(view: &str, up: DVec3) -> Result<DVec3, PictureError> {
    // "front" looks along y where z is up, and along −z where y is.
    let front = if up.z.abs() > 0.5 {
        DVec3::Y
    } else {
        DVec3::NEG_Z
    };
    let front = front.reject_from_normalized(up).normalize_or(DVec3::X);
    let side = up.cross(front);
    Ok(match view {
        "front" => front,
        "side" => side,
        "top" => -up,
        "oblique" => front + 0.35 * side - 0.35 * up,
        numbers => {
            let parts: Vec<f64> = numbers
                .split(',')
                .filter_map(|x| x.trim().parse().ok())
                .collect();
            match parts[..] {
                [x, y, z] if DVec3::new(x, y, z).length() > 0.0 => DVec3::new(x, y, z),
                _ => {
                    let view = view.to_owned();
                    return Err(PictureError::NoView { view });
                }
            }
        }
    })
}

/// The grains of a frame that are shown, with the values that their colours show.
pub(super) fn shown_grains(
    forms: &GrainForms,
    frame: &Frame,
    values: &[f64],
    shown: &Shown,
) -> Vec<DrawnGrain> {
    let grain = |i: usize| {
        let number = frame.shape.get(i).map_or(0, |&number| usize::from(number));
        let shape = number.checked_sub(1).map(|shape| ShapedGrain {
            shape,
            scale: frame.scale[i],
            orientation: frame.orientation[i],
        });
        let sphere = Sphere {
            centre: frame.position[i],
            radius: frame.radius[i],
            value: values[i],
            orientation: None,
        };
        forms.grain(sphere, shape)
    };
    (0..frame.id.len())
        .map(grain)
        .filter(|grain| shown.shows(grain.hull.centre))
        .collect()
}

/// Where most of the grains are.
pub(super) fn bulk(grains: &[DrawnGrain]) -> Bounds {
    let hulls: Vec<Sphere> = grains.iter().map(|grain| grain.hull).collect();
    Bounds::of_bulk(&hulls, TRIM)
}
