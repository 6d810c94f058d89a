//! From frames of a recording to pictures.

use std::str::FromStr;

use esker_record::{Frame, FramePartner, GrainField, RecordError, Recording};
use esker_render::{
    Bounds, Camera, ColorMap, Framing, Image, Legend, Line, Picture, Projection, Sphere, render,
};
use esker_study::grain_forms::{DrawnGrain, GrainForms, ShapedGrain};
use glam::DVec3;

use super::scenery::{Scenery, Shown};

/// What the colour of a grain shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Speed of the centre.
    Speed,
    /// Radius.
    Radius,
    /// Material.
    Material,
    /// Largest normal force of its contacts.
    Force,
    /// Height against gravity.
    Height,
    /// Aggregate that it is frozen in.
    Aggregate,
}

impl Color {
    /// All, in the order that they are told in.
    pub const ALL: [Color; 6] = [
        Color::Speed,
        Color::Radius,
        Color::Material,
        Color::Force,
        Color::Height,
        Color::Aggregate,
    ];

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Color::Speed => "speed",
            Color::Radius => "radius",
            Color::Material => "material",
            Color::Force => "force",
            Color::Height => "height",
            Color::Aggregate => "aggregate",
        }
    }

    /// What it shows, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Color::Speed => "Speed of the centre",
            Color::Radius => "Radius",
            Color::Material => "Material",
            Color::Force => "Largest normal force of its contacts",
            Color::Height => "Height against gravity",
            Color::Aggregate => "Whether it is free or frozen, and to which walls",
        }
    }
}

impl FromStr for Color {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Color::ALL.into_iter().find(|color| color.name() == name);
        found.ok_or_else(|| {
            let names = Color::ALL.map(Color::name).join(", ");
            format!("\"{name}\" is nothing that colours show: there are {names}")
        })
    }
}

/// Why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// A field is not in the recording.
    #[error(
        "the recording does not hold the field \"{field}\"; add it to [record] fields of the scene"
    )]
    NoField {
        /// Its name.
        field: &'static str,
    },
    /// Contacts are not in the recording.
    #[error("the recording holds no contacts; set contacts = true in [record] of the scene")]
    NoContacts,
    /// A wall to hide is not there.
    #[error("there is no wall \"{name}\" to hide; there are: {known}")]
    NoWall {
        /// Its name.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// A material to colour is not there.
    #[error("there is no material \"{name}\"; there are: {known}")]
    NoMaterial {
        /// Its name.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// A view is not known.
    #[error("\"{view}\" is no view: use front, side, top, oblique or a direction x,y,z")]
    NoView {
        /// What was asked for.
        view: String,
    },
    /// The recording cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// What a picture shows and from where.
#[derive(Clone, Debug)]
pub struct Style {
    /// What colours show.
    pub color: Color,
    /// Whether contacts are drawn as bars.
    pub chains: bool,
    /// Viewing direction in words or as `x,y,z`.
    pub view: String,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Values at the ends of the colours; `None`: those of the grains.
    pub range: Option<[f64; 2]>,
    /// Magnification.
    pub zoom: f64,
    /// Point in the middle of the picture; `None`: all is in it.
    pub focus: Option<DVec3>,
    /// Walls that are left out, and what is cut away.
    pub shown: Shown,
    /// Colours of materials by name, before those of the scene.
    pub material_colors: Vec<(String, [u8; 3])>,
}

impl Style {
    /// A picture of everything in these colours.
    pub fn new(color: Color, size: (u32, u32)) -> Self {
        Style {
            color,
            chains: false,
            view: "oblique".into(),
            size,
            range: None,
            zoom: 1.0,
            focus: None,
            shown: Shown::default(),
            material_colors: Vec::new(),
        }
    }
}

/// A view that is the same for all frames of a recording.
pub struct Drawing<'a> {
    recording: &'a Recording,
    style: Style,
    forms: GrainForms,
    camera: Camera,
    range: (f64, f64),
    palette: Vec<[u8; 3]>,
}

/// Frames that a common camera and colour range are chosen from.
const SAMPLES: usize = 5;
/// Share of grains at each end of an axis that a picture may leave out.
const TRIM: f64 = 0.01;
/// Share of grains whose values the colours span.
const COLORED_SHARE: f64 = 0.995;
/// Opacity of grains around force chains.
const GHOST: f32 = 0.25;
/// Radius of the thickest chain, in mean grain radii.
const THICKEST_CHAIN: f64 = 0.5;

impl<'a> Drawing<'a> {
    /// Chooses camera and colours from a sample of `frames`.
    pub fn new(
        recording: &'a Recording,
        style: Style,
        frames: &[usize],
    ) -> Result<Self, PictureError> {
        check_fields(recording, &style)?;
        style.shown.check(recording.header())?;
        let palette = palette(recording, &style)?;
        let forms = GrainForms::new(&recording.header().shapes);
        let up = up(recording.header().gravity);
        let direction = view_direction(&style.view, up)?;
        let mut bounds = Bounds::EMPTY;
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let stride = frames.len().div_ceil(SAMPLES).max(1);
        let last = frames.last().copied();
        for index in frames.iter().copied().step_by(stride).chain(last) {
            let frame = recording.frame(index)?;
            let values = values(recording, &frame, style.color);
            let grains = shown_grains(&forms, &frame, &values, &style.shown);
            let bulk = bulk(&grains);
            let scenery = Scenery::new(recording.header(), &frame, bulk, (&style.shown, &[]));
            bounds = bounds.union(&scenery.subject);
            let (low, high) = color_range(&grains);
            range = (range.0.min(low), range.1.max(high));
        }
        let mut framing = Framing {
            up,
            right_strip: Framing::LEGEND_STRIP,
            ..Framing::new(direction, f64::from(style.size.0) / f64::from(style.size.1))
        };
        if PLAIN_VIEWS.contains(&style.view.as_str()) {
            framing.fov_y = None;
        }
        let mut camera = framing.fit(&bounds);
        if let Some(focus) = style.focus {
            camera.eye += focus - camera.target;
            camera.target = focus;
        }
        camera.projection = magnified(camera.projection, style.zoom);
        if let Some([low, high]) = style.range {
            range = (low, high);
        }
        Ok(Drawing {
            recording,
            style,
            forms,
            camera,
            range,
            palette,
        })
    }

    /// Draws a frame.
    pub fn draw(&self, index: usize) -> Result<Image, PictureError> {
        let frame = self.recording.frame(index)?;
        let shown = &self.style.shown;
        let values = values(self.recording, &frame, self.style.color);
        let grains = shown_grains(&self.forms, &frame, &values, shown);
        let scenery = {
            let look = (shown, &self.palette[..]);
            Scenery::new(self.recording.header(), &frame, bulk(&grains), look)
        };
        let (spheres, solids) = self.forms.drawn(&grains);
        let lines = if self.style.chains {
            self.chains(&frame)
        } else {
            Vec::new()
        };
        let (title, color_map, categories) = match self.style.color {
            Color::Speed => ("speed (m/s)", ColorMap::Viridis, Vec::new()),
            Color::Radius => ("radius (m)", ColorMap::Viridis, Vec::new()),
            Color::Force => ("normal force (N)", ColorMap::Viridis, Vec::new()),
            Color::Height => ("height (m)", ColorMap::Cividis, Vec::new()),
            Color::Aggregate => {
                let most = frame.aggregate.iter().copied().max().unwrap_or(0).max(1);
                let frozen = (1..=most).map(|group| format!("frozen {group}"));
                let names = std::iter::once("free".to_owned()).chain(frozen).collect();
                ("aggregate", ColorMap::Categorical, names)
            }
            Color::Material => {
                let names = self.recording.header().materials.clone();
                ("material", ColorMap::Categorical, names)
            }
        };
        Ok(render(&Picture {
            spheres: &spheres,
            solids: &solids,
            sphere_opacity: if self.style.chains { GHOST } else { 1.0 },
            walls: &scenery.walls,
            floors: &scenery.floors,
            lines: &lines,
            color_map,
            palette: &self.palette,
            range: Some(self.range),
            legend: Some(Legend {
                title: title.to_owned(),
                categories,
            }),
            time_stamp: Some(format!("t = {:.3} s", frame.time)),
            ..Picture::new(self.camera, self.style.size)
        }))
    }

    /// Bars between centres whose section grows with the normal force; contacts that no grain
    /// takes part in have none.
    fn chains(&self, frame: &Frame) -> Vec<Line> {
        let step = self.recording.header().impulse_step;
        let mean = frame.radius.iter().sum::<f64>() / frame.radius.len().max(1) as f64;
        let of_grains = || {
            let contacts = frame.contacts.iter();
            contacts.filter(|contact| contact.owning_body().is_none())
        };
        let forces = of_grains().map(|c| c.normal_impulse / step);
        let max = forces.fold(0.0, f64::max);
        let bars = of_grains().map(|contact| {
            let force = contact.normal_impulse / step;
            let [from, to] = frame.contact_ends(contact);
            Line {
                from,
                to,
                radius: THICKEST_CHAIN * mean * (force / max).sqrt(),
                value: force,
            }
        });
        let shown = |bar: &Line| {
            [bar.from, bar.to]
                .iter()
                .all(|p| self.style.shown.shows(*p))
        };
        bars.filter(|bar| bar.value > 0.0 && shown(bar)).collect()
    }
}

/// Refuses what the recording does not hold.
fn check_fields(recording: &Recording, style: &Style) -> Result<(), PictureError> {
    let settings = &recording.header().settings;
    let mut needed = vec![GrainField::Position, GrainField::Radius];
    match style.color {
        Color::Speed => needed.push(GrainField::Velocity),
        Color::Material => needed.push(GrainField::Material),
        Color::Aggregate => needed.push(GrainField::Aggregate),
        Color::Radius | Color::Force | Color::Height => {}
    }
    if let Some(field) = needed.iter().find(|f| !settings.fields.contains(f)) {
        let field = field.name();
        return Err(PictureError::NoField { field });
    }
    if (style.chains || style.color == Color::Force) && !settings.contacts {
        return Err(PictureError::NoContacts);
    }
    Ok(())
}

fn up(gravity: DVec3) -> DVec3 {
    (-gravity).try_normalize().unwrap_or(DVec3::Z)
}

/// Views along an axis, without perspective: they show a pile's profile.
const PLAIN_VIEWS: [&str; 3] = ["front", "side", "top"];

fn magnified(projection: Projection, zoom: f64) -> Projection {
    match projection {
        Projection::Perspective { fov_y } => Projection::Perspective {
            fov_y: 2.0 * ((0.5 * fov_y).tan() / zoom).atan(),
        },
        Projection::Orthographic { height } => Projection::Orthographic {
            height: height / zoom,
        },
    }
}

/// Colours of all materials: chosen on the command line, in the scene, or by their order.
fn palette(recording: &Recording, style: &Style) -> Result<Vec<[u8; 3]>, PictureError> {
    let header = recording.header();
    let names = &header.materials;
    for (name, _) in &style.material_colors {
        if !names.contains(name) {
            return Err(PictureError::NoMaterial {
                name: name.clone(),
                known: names.join(", "),
            });
        }
    }
    let of_scene = |i: usize| header.material_colors.get(i).copied().flatten();
    let colors = names.iter().enumerate().map(|(i, name)| {
        let chosen = style.material_colors.iter().rev().find(|(n, _)| n == name);
        let chosen = chosen.map(|(_, color)| *color).or_else(|| of_scene(i));
        chosen.unwrap_or_else(|| ColorMap::Categorical.color(i as f64, (0.0, 1.0)))
    });
    Ok(colors.collect())
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
fn shown_grains(
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
fn bulk(grains: &[DrawnGrain]) -> Bounds {
    let hulls: Vec<Sphere> = grains.iter().map(|grain| grain.hull).collect();
    Bounds::of_bulk(&hulls, TRIM)
}

/// What the colours of grains show.
fn values(recording: &Recording, frame: &Frame, color: Color) -> Vec<f64> {
    let header = recording.header();
    let up = up(header.gravity);
    let mut force = Vec::new();
    if color == Color::Force {
        force = vec![0.0_f64; frame.id.len()];
        for contact in &frame.contacts {
            let partner = match contact.partner {
                FramePartner::Grain(id) => Some(id),
                FramePartner::Wall(_) => None,
            };
            for id in [Some(contact.grain), partner].into_iter().flatten() {
                if let Some(i) = frame.index_of(id) {
                    force[i] = force[i].max(contact.normal_impulse / header.impulse_step);
                }
            }
        }
    }
    (0..frame.id.len())
        .map(|i| match color {
            Color::Speed => frame.velocity[i].length(),
            Color::Radius => frame.radius[i],
            Color::Material => f64::from(frame.material[i]),
            Color::Height => frame.position[i].dot(up),
            Color::Aggregate => f64::from(frame.aggregate[i]),
            Color::Force => force[i],
        })
        .collect()
}

/// Values that the colours span: all but the highest few, so that one grain in
/// free fall does not turn all others dark.
fn color_range(grains: &[DrawnGrain]) -> (f64, f64) {
    let mut values: Vec<f64> = grains.iter().map(|grain| grain.hull.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    let highest = (COLORED_SHARE * (values.len().saturating_sub(1)) as f64).ceil() as usize;
    match (values.first(), values.get(highest)) {
        (Some(&low), Some(&high)) => (low, high),
        _ => (f64::INFINITY, f64::NEG_INFINITY),
    }
}
