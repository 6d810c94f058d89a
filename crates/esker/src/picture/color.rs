//! What colours of grains show.

use std::str::FromStr;

use esker_record::{Frame, FramePartner, GrainField, RecordSettings, RecordingHeader};
use esker_render::ColorMap;
use esker_world::GrainId;

use super::PictureError;
use super::subject::up;

/// What the colour of a grain shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Magnitude of the angular velocity.
    AngularVelocity,
    /// Grains and walls that it touches.
    Coordination,
    /// Number among the grains of its source.
    Id,
    /// Aggregate that it is frozen in.
    Aggregate,
}

impl Color {
    /// All, in the order that they are told in.
    pub const ALL: [Color; 9] = [
        Color::Speed,
        Color::Radius,
        Color::Material,
        Color::Force,
        Color::Height,
        Color::AngularVelocity,
        Color::Coordination,
        Color::Id,
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
            Color::AngularVelocity => "angular-velocity",
            Color::Coordination => "coordination",
            Color::Id => "id",
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
            Color::AngularVelocity => "Magnitude of the angular velocity",
            Color::Coordination => "Contacts with grains and walls that touch",
            Color::Id => "Number of the grain among those of its source",
            Color::Aggregate => "Whether it is free or frozen, and to which walls",
        }
    }

    /// Title of its legend, with the unit.
    pub fn title(self) -> &'static str {
        match self {
            Color::Speed => "speed (m/s)",
            Color::Radius => "radius (m)",
            Color::Material => "material",
            Color::Force => "normal force (N)",
            Color::Height => "height (m)",
            Color::AngularVelocity => "rotation (rad/s)",
            Color::Coordination => "contacts",
            Color::Id => "number",
            Color::Aggregate => "aggregate",
        }
    }

    /// The colours.
    pub fn map(self) -> ColorMap {
        match self {
            Color::Height => ColorMap::Cividis,
            Color::Material | Color::Aggregate => ColorMap::Categorical,
            _ => ColorMap::Viridis,
        }
    }

    /// Names of categories, where it has such.
    pub fn categories(self, header: &RecordingHeader, frame: &Frame) -> Vec<String> {
        match self {
            Color::Material => header.materials.clone(),
            Color::Aggregate => {
                let most = frame.aggregate.iter().copied().max().unwrap_or(0).max(1);
                let frozen = (1..=most).map(|group| format!("frozen {group}"));
                std::iter::once("free".to_owned()).chain(frozen).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it is found from contacts.
    pub fn needs_contacts(self) -> bool {
        matches!(self, Color::Force | Color::Coordination)
    }

    /// Refuses what a recording with these settings does not hold.
    pub fn check(self, settings: &RecordSettings) -> Result<(), PictureError> {
        let own = match self {
            Color::Speed => Some(GrainField::Velocity),
            Color::Material => Some(GrainField::Material),
            Color::AngularVelocity => Some(GrainField::AngularVelocity),
            Color::Aggregate => Some(GrainField::Aggregate),
            Color::Radius | Color::Force | Color::Height | Color::Coordination | Color::Id => None,
        };
        let needed = [Some(GrainField::Position), Some(GrainField::Radius), own];
        let mut needed = needed.into_iter().flatten();
        if let Some(field) = needed.find(|f| !settings.fields.contains(f)) {
            // Runs record aggregates by themselves where grains may be frozen.
            return Err(match field {
                GrainField::Aggregate => PictureError::NoAggregates,
                field => PictureError::NoField {
                    field: field.name(),
                },
            });
        }
        if self.needs_contacts() && !settings.contacts {
            return Err(PictureError::NoContacts);
        }
        Ok(())
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

/// What the colours of the grains of a frame show, one number each. The frame must hold what
/// [`Color::check`] asks for.
pub fn values(header: &RecordingHeader, frame: &Frame, color: Color) -> Vec<f64> {
    let up = up(header.gravity);
    let of_contacts = match color {
        Color::Force => over_contacts(frame, |largest, contact| {
            largest.max(contact.normal_impulse / header.impulse_step)
        }),
        Color::Coordination => over_contacts(frame, |count, contact| {
            count + f64::from(u8::from(contact.overlap > 0.0))
        }),
        _ => Vec::new(),
    };
    (0..frame.id.len())
        .map(|i| match color {
            Color::Speed => frame.velocity[i].length(),
            Color::Radius => frame.radius[i],
            Color::Material => f64::from(frame.material[i]),
            Color::Height => frame.position[i].dot(up),
            Color::AngularVelocity => frame.angular_velocity[i].length(),
            Color::Aggregate => f64::from(frame.aggregate[i]),
            Color::Id => GrainId::from_u64(frame.id[i]).serial() as f64,
            Color::Force | Color::Coordination => of_contacts[i],
        })
        .collect()
}

/// Folds the contacts of every grain into a number, from zero.
fn over_contacts(frame: &Frame, add: impl Fn(f64, &esker_record::FrameContact) -> f64) -> Vec<f64> {
    let mut values = vec![0.0_f64; frame.id.len()];
    for contact in &frame.contacts {
        let partner = match contact.partner {
            FramePartner::Grain(id) => Some(id),
            FramePartner::Wall(_) => None,
        };
        for id in [Some(contact.grain), partner].into_iter().flatten() {
            if let Some(i) = frame.index_of(id) {
                values[i] = add(values[i], contact);
            }
        }
    }
    values
}

/// Share of grains whose values the colours span.
const COLORED_SHARE: f64 = 0.995;

/// Values that the colours span: all but the highest few, so that one grain in
/// free fall does not turn all others dark. Of nothing, from infinity to its negative.
pub fn color_range(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let highest = (COLORED_SHARE * (values.len().saturating_sub(1)) as f64).ceil() as usize;
    match (values.first(), values.get(highest)) {
        (Some(&low), Some(&high)) => (low, high),
        _ => (f64::INFINITY, f64::NEG_INFINITY),
    }
}

/// Colours of all materials: chosen by name, in the scene, or by their order.
pub fn palette(
    header: &RecordingHeader,
    chosen: &[(String, [u8; 3])],
) -> Result<Vec<[u8; 3]>, PictureError> {
    let names = &header.materials;
    for (name, _) in chosen {
        if !names.contains(name) {
            return Err(PictureError::NoMaterial {
                name: name.clone(),
                known: names.join(", "),
            });
        }
    }
    let of_scene = |i: usize| header.material_colors.get(i).copied().flatten();
    let colors = names.iter().enumerate().map(|(i, name)| {
        let chosen = chosen.iter().rev().find(|(n, _)| n == name);
        let chosen = chosen.map(|(_, color)| *color).or_else(|| of_scene(i));
        chosen.unwrap_or_else(|| ColorMap::Categorical.color(i as f64, (0.0, 1.0)))
    });
    Ok(colors.collect())
}
