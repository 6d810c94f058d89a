//! From frames of a recording to pictures.

use esker_record::{Frame, RecordError, Recording};
use esker_render::{Bounds, Camera, Image, Legend, Line, Picture, Projection, render};
use esker_study::grain_forms::GrainForms;
use glam::DVec3;

use super::chains::{Chain, chains, mean_radius};
use super::color::{Color, color_range, palette, values};
use super::scenery::{Scenery, Shown};
use super::subject::{Subject, bulk, camera, sample, shown_grains};

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
    /// No grain was ever frozen.
    #[error(
        "the recording holds no aggregates of frozen grains: its scene has no `reduction = \"on\"`"
    )]
    NoAggregates,
    /// Contacts are not in the recording.
    #[error("the recording holds no contacts; set contacts = true in [record] of the scene")]
    NoContacts,
    /// Joints are not in the recording.
    #[error("the recording holds no joints: the scene has none, or an earlier version ran it")]
    NoJoints,
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
    /// Whether joints of machines are drawn.
    pub joints: bool,
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
            joints: false,
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

/// Opacity of grains around force chains.
pub const GHOST: f32 = 0.25;
/// Radius of the thickest chain, in mean grain radii.
pub const THICKEST_CHAIN: f64 = 0.5;

impl<'a> Drawing<'a> {
    /// Chooses camera and colours from a sample of `frames`.
    pub fn new(
        recording: &'a Recording,
        style: Style,
        frames: &[usize],
    ) -> Result<Self, PictureError> {
        let header = recording.header();
        style.color.check(&header.settings)?;
        if style.chains && !header.settings.contacts {
            return Err(PictureError::NoContacts);
        }
        if style.joints && header.joints.is_empty() {
            return Err(PictureError::NoJoints);
        }
        style.shown.check(header)?;
        let palette = palette(header, &style.material_colors)?;
        let forms = GrainForms::new(&header.shapes);
        let mut bounds = Bounds::EMPTY;
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for index in sample(frames) {
            let frame = recording.frame(index)?;
            let subject = Subject::new(header, &frame, &forms, &style.shown);
            bounds = bounds.union(&subject.bounds);
            let values = values(header, &frame, style.color);
            let shown = frame.position.iter().zip(values);
            let shown = shown.filter(|(centre, _)| style.shown.shows(**centre));
            let (low, high) = color_range(shown.map(|(_, value)| value).collect());
            range = (range.0.min(low), range.1.max(high));
        }
        let aspect = f64::from(style.size.0) / f64::from(style.size.1);
        let mut camera = camera(header, &style.view, aspect, &bounds)?;
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
        let values = values(self.recording.header(), &frame, self.style.color);
        let grains = shown_grains(&self.forms, &frame, &values, shown);
        let mut scenery = {
            let look = (shown, &self.palette[..]);
            Scenery::new(self.recording.header(), &frame, bulk(&grains), look)
        };
        if self.style.joints {
            scenery.show_joints(self.recording.header(), &frame, shown);
        }
        let (spheres, solids) = self.forms.drawn(&grains);
        let lines = if self.style.chains {
            self.chains(&frame)
        } else {
            Vec::new()
        };
        let color = self.style.color;
        Ok(render(&Picture {
            spheres: &spheres,
            solids: &solids,
            sphere_opacity: if self.style.chains { GHOST } else { 1.0 },
            walls: &scenery.walls,
            floors: &scenery.floors,
            lines: &lines,
            color_map: color.map(),
            palette: &self.palette,
            range: Some(self.range),
            legend: Some(Legend {
                title: color.title().to_owned(),
                categories: color.categories(self.recording.header(), &frame),
            }),
            time_stamp: Some(format!("t = {:.3} s", frame.time)),
            ..Picture::new(self.camera, self.style.size)
        }))
    }

    /// Bars between centres whose section grows with the normal force.
    fn chains(&self, frame: &Frame) -> Vec<Line> {
        let thickest = THICKEST_CHAIN * mean_radius(frame);
        let chains: Vec<Chain> = chains(self.recording.header(), frame).collect();
        let max = chains.iter().map(|chain| chain.force).fold(0.0, f64::max);
        let shown = |chain: &&Chain| chain.ends.iter().all(|p| self.style.shown.shows(*p));
        let bars = chains.iter().filter(shown).map(|chain| Line {
            from: chain.ends[0],
            to: chain.ends[1],
            radius: thickest * (chain.force / max).sqrt(),
            value: chain.force,
        });
        bars.collect()
    }
}

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
