//! Measures of a granular state, taken from a recording.
//!
//! ```no_run
//! use esker::measure::{Measure, Measured};
//! use esker::record::Recording;
//!
//! let recording = Recording::open("out/pile/recording.h5".as_ref())?;
//! let measured = Measured::new(&recording)?;
//! for number in measured.moment(0)?.take(Measure::Pile, &Default::default())? {
//!     println!("{}: {:?} {}", number.key, number.value, number.unit);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::collections::HashMap;
use std::str::FromStr;

use esker_analysis::orientation::nematic_order;
use esker_analysis::series::statistics;
use esker_analysis::surface::{self, HeightMap, pile_height};
use esker_analysis::{ContactState, MissingField, Partner, Snapshot, network, repose};
use esker_geometry::BodyShape;
use esker_record::{
    Frame, FramePartner, ProbeRow, ProbeTable, RecordError, Recording, RecordingHeader, Scalars,
};
use esker_world::WallLoad;
use glam::DVec3;

use crate::probe_table;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Height, and angle of a pile about its centre.
    Pile,
    /// Angle of the bed in a drum, from its centre of mass.
    Drum,
    /// Speeds.
    Motion,
    /// Overlaps of contacts.
    Overlap,
    /// Coordination and forces between grains.
    Network,
    /// Loads of walls.
    Walls,
    /// Order of the longest axes of grains.
    Orientation,
    /// Rows of the scene's probes.
    Probes,
}

impl Measure {
    /// All, in the order that they are told in.
    pub const ALL: [Measure; 8] = [
        Measure::Pile,
        Measure::Drum,
        Measure::Motion,
        Measure::Overlap,
        Measure::Network,
        Measure::Walls,
        Measure::Orientation,
        Measure::Probes,
    ];

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Pile => "pile",
            Measure::Drum => "drum",
            Measure::Motion => "motion",
            Measure::Overlap => "overlap",
            Measure::Network => "network",
            Measure::Walls => "walls",
            Measure::Orientation => "orientation",
            Measure::Probes => "probes",
        }
    }

    /// What it gives, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Measure::Pile => "Height, and angle of a pile about its centre",
            Measure::Drum => "Angle of the bed in a drum, from its centre of mass",
            Measure::Motion => "Speeds",
            Measure::Overlap => "Overlaps of contacts",
            Measure::Network => "Coordination and forces between grains",
            Measure::Walls => {
                "Force, torque and power of walls: means since the frame before, and the largest \
                 force of a step"
            }
            Measure::Orientation => {
                "Order of the longest axes of grains that have one, and their mean direction"
            }
            Measure::Probes => {
                "Rows of the scene's probes: the last one up to the time, or with --csv all of them"
            }
        }
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Measure::ALL.into_iter().find(|m| m.name() == name);
        found.ok_or_else(|| {
            let names = Measure::ALL.map(Measure::name).join(", ");
            format!("\"{name}\" is no measure: there are {names}")
        })
    }
}

/// A number with its key and unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its name, a word.
    pub key: Cow<'static, str>,
    /// `None` where there is nothing to measure.
    pub value: Option<f64>,
    /// Its unit; empty where it has none.
    pub unit: Cow<'static, str>,
}

impl Number {
    /// Key and unit as one word.
    pub fn column(&self) -> String {
        let key = &self.key;
        match self.unit.as_ref() {
            "" => key.clone().into_owned(),
            "°" => format!("{key}_deg"),
            unit => format!("{key}_{}", unit.replace('/', "_per_").replace(' ', "_")),
        }
    }
}

/// Key of a pile's angle, which has none where the surface does not fall.
pub const PILE_ANGLE: &str = "pile_angle";

/// A drum: its axis, and a point on it, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drum {
    /// Direction of the axis.
    pub axis: DVec3,
    /// A point on it, m.
    pub centre: DVec3,
}

impl Default for Drum {
    /// A drum about the y axis.
    fn default() -> Self {
        Drum {
            axis: DVec3::Y,
            centre: DVec3::ZERO,
        }
    }
}

/// Why something cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The recording cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The recording lacks what is needed.
    #[error(transparent)]
    Missing(#[from] MissingField),
}

/// A recording with its time series, which measures of frames need, too.
pub struct Measured<'a> {
    recording: &'a Recording,
    scalars: Scalars,
    /// By probe.
    probes: Vec<Vec<ProbeRow>>,
}

impl<'a> Measured<'a> {
    /// Reads the time series.
    pub fn new(recording: &'a Recording) -> Result<Self, RecordError> {
        Ok(Measured {
            recording,
            scalars: recording.scalars()?,
            probes: probe_table::read(recording)?,
        })
    }

    /// Scalars of all steps.
    pub fn scalars(&self) -> &Scalars {
        &self.scalars
    }

    /// Rows of all probes, by probe.
    pub fn probes(&self) -> &[Vec<ProbeRow>] {
        &self.probes
    }

    /// The frame with this index; panics when there is none.
    pub fn moment(&self, index: usize) -> Result<Moment<'_>, MeasureError> {
        Moment::new(self, index)
    }
}

/// What is measured: the grains at one moment, and the loads of the steps since
/// the frame before.
pub struct Moment<'a> {
    snapshot: Snapshot,
    /// Longest axes of the grains that have one; `None` where all are spheres.
    axes: Option<Vec<DVec3>>,
    walls: Vec<WallState<'a>>,
    probes: Vec<ProbeState<'a>>,
}

/// The last row of a probe up to one moment.
struct ProbeState<'a> {
    table: &'a ProbeTable,
    /// Empty where there is none yet.
    values: &'a [f64],
}

/// A wall at one moment.
struct WallState<'a> {
    name: &'a str,
    /// Mean since the frame before.
    load: WallLoad,
    /// Largest mean force of a step since the frame before, N; not a number
    /// where steps have no loads.
    max_force: f64,
}

impl<'a> Moment<'a> {
    fn new(series: &'a Measured<'_>, index: usize) -> Result<Self, MeasureError> {
        let (recording, scalars) = (series.recording, &series.scalars);
        let (header, frame) = (recording.header(), recording.frame(index)?);
        let before = index.checked_sub(1).map(|i| recording.frames()[i].step);
        let steps = before.unwrap_or(0)..frame.step;
        let numbers = scalars.get("step").unwrap_or_default();
        let first = numbers.partition_point(|&step| step <= steps.start as f64);
        let end = numbers.partition_point(|&step| step <= steps.end as f64);
        let walls = header.walls.iter().zip(&frame.walls).enumerate();
        let walls = walls
            .map(|(w, (surface, wall))| {
                let loads = scalars.loads().skip(first).take(end - first);
                WallState {
                    name: &surface.name,
                    load: wall.load,
                    max_force: loads
                        .map(|loads| loads[w].force.length())
                        .fold(f64::NAN, f64::max),
                }
            })
            .collect();
        let probes = header.probes.iter().zip(&series.probes);
        let probes = probes.map(|(table, rows)| {
            let end = rows.partition_point(|row| row.step <= frame.step);
            let row = rows[..end].last();
            ProbeState {
                table,
                values: row.map_or(&[], |row| &row.values),
            }
        });
        Ok(Moment {
            snapshot: snapshot(header, &frame)?,
            axes: (!header.shapes.is_empty()).then(|| long_axes(&header.shapes, &frame)),
            walls,
            probes: probes.collect(),
        })
    }

    /// The grains.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Takes a measure; nothing of orientations where all grains are spheres.
    pub fn take(&self, measure: Measure, drum: &Drum) -> Result<Vec<Number>, MissingField> {
        let snapshot = &self.snapshot;
        let some = |x: f64| (x.is_finite() && !snapshot.is_empty()).then_some(x);
        let numbers = match measure {
            Measure::Pile => {
                let floor = lowest(snapshot);
                // The height needs no masses: where they are unknown, only the
                // angle is left out.
                let angle = pile_angle(snapshot, floor).unwrap_or(None);
                vec![
                    ("height", some(pile_height(snapshot, floor, 1.0)), "m"),
                    (PILE_ANGLE, angle.map(f64::to_degrees), "°"),
                ]
            }
            Measure::Drum => {
                let angle = repose::centre_of_mass_angle(snapshot, drum.axis, drum.centre)?;
                vec![("drum_angle", some(angle.to_degrees()), "°")]
            }
            Measure::Motion => {
                let velocities = snapshot.velocities()?;
                let speeds: Vec<f64> = velocities.iter().map(|v| v.length()).collect();
                let count = speeds.len().max(1) as f64;
                let mean = velocities.iter().sum::<DVec3>() / count;
                let squares: f64 = velocities.iter().map(|v| v.distance_squared(mean)).sum();
                vec![
                    (
                        "mean_speed",
                        some(speeds.iter().sum::<f64>() / count),
                        "m/s",
                    ),
                    ("max_speed", speeds.iter().copied().reduce(f64::max), "m/s"),
                    ("speed_fluctuation", some((squares / count).sqrt()), "m/s"),
                ]
            }
            Measure::Overlap => {
                let contacts = snapshot.contacts()?.iter().filter(|c| c.overlap > 0.0);
                let overlaps: Vec<f64> = contacts.map(|c| c.overlap / c.diameter).collect();
                let max = overlaps.iter().copied().reduce(f64::max);
                let mean = max.map(|_| statistics(&overlaps).mean);
                vec![
                    ("touching_contacts", Some(overlaps.len() as f64), ""),
                    ("mean_overlap_of_diameter", mean, ""),
                    ("max_overlap_of_diameter", max, ""),
                ]
            }
            Measure::Network => {
                let network = network::statistics(snapshot)?;
                vec![
                    ("coordination", Some(network.coordination), ""),
                    (
                        "coordination_without_rattlers",
                        Some(network.coordination_without_rattlers),
                        "",
                    ),
                    ("rattlers", Some(network.rattlers), ""),
                    ("mean_force", Some(network.mean_force), "N"),
                    ("strong_share", Some(network.strong_share), ""),
                    ("strong_load", Some(network.strong_load), ""),
                ]
            }
            Measure::Orientation => match &self.axes {
                None => Vec::new(),
                Some(axes) => {
                    let found = nematic_order(axes);
                    let along = |axis: DVec3| found.map(|found| found.director.dot(axis));
                    vec![
                        ("long_grains", Some(axes.len() as f64), ""),
                        ("nematic_order", found.map(|found| found.order), ""),
                        ("director_x", along(DVec3::X), ""),
                        ("director_y", along(DVec3::Y), ""),
                        ("director_z", along(DVec3::Z), ""),
                    ]
                }
            },
            Measure::Walls => return Ok(self.walls.iter().flat_map(loads).collect()),
            Measure::Probes => return Ok(self.probes.iter().flat_map(probe_numbers).collect()),
        };
        let own = |(key, value, unit)| Number {
            key: Cow::Borrowed(key),
            value,
            unit: Cow::Borrowed(unit),
        };
        Ok(numbers.into_iter().map(own).collect())
    }
}

/// A name as a part of a key.
fn key_of_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    name.chars().map(plain).collect()
}

/// Numbers of a probe; keys start with its name.
fn probe_numbers(probe: &ProbeState<'_>) -> Vec<Number> {
    let name = key_of_name(&probe.table.name);
    let mut values = probe.values.iter();
    let mut numbers = Vec::new();
    for column in &probe.table.columns {
        for i in 0..column.width {
            let key = match column.width {
                1 => format!("{name}_{}", column.name),
                _ => format!("{name}_{}_{i}", column.name),
            };
            let known = values.next().copied().filter(|x| x.is_finite());
            let unit = match column.unit.as_str() {
                "1" => Cow::Borrowed(""),
                unit => Cow::Owned(unit.to_owned()),
            };
            numbers.push(Number {
                key: Cow::Owned(key),
                value: known,
                unit,
            });
        }
    }
    numbers
}

/// Load of a wall; keys start with its name.
fn loads(wall: &WallState<'_>) -> [Number; 8] {
    let name = key_of_name(wall.name);
    let WallLoad {
        force,
        torque,
        power,
    } = wall.load;
    [
        ("force_x", force.x, "N"),
        ("force_y", force.y, "N"),
        ("force_z", force.z, "N"),
        ("max_force", wall.max_force, "N"),
        ("torque_x", torque.x, "N m"),
        ("torque_y", torque.y, "N m"),
        ("torque_z", torque.z, "N m"),
        ("power", power, "W"),
    ]
    .map(|(what, value, unit)| Number {
        key: Cow::Owned(format!("{name}_{what}")),
        value: value.is_finite().then_some(value),
        unit: Cow::Borrowed(unit),
    })
}

/// How much the two smallest moments of inertia of a long body differ at least.
const LONG: f64 = 1.01;

/// Longest axes of the grains that have one, in world axes.
fn long_axes(shapes: &[BodyShape], frame: &Frame) -> Vec<DVec3> {
    let of_shapes: Vec<Option<DVec3>> = shapes.iter().map(long_axis).collect();
    let grains = frame.shape.iter().zip(&frame.orientation);
    grains
        .filter_map(|(&number, orientation)| {
            let index = usize::from(number).checked_sub(1)?;
            let axis = (*of_shapes.get(index)?)?;
            Some((*orientation * axis).normalize_or(axis))
        })
        .collect()
}

/// The axis about which a body turns most easily, in its own frame; `None` where
/// two are alike, as in a sphere, a cube or a tablet.
fn long_axis(shape: &BodyShape) -> Option<DVec3> {
    let inertia = shape.mass_properties().inertia_per_mass;
    let mut axes = [
        (inertia.x, DVec3::X),
        (inertia.y, DVec3::Y),
        (inertia.z, DVec3::Z),
    ];
    axes.sort_by(|a, b| a.0.total_cmp(&b.0));
    (axes[1].0 > LONG * axes[0].0).then_some(axes[0].1)
}

/// Level of the lowest point of a grain, m.
fn lowest(snapshot: &Snapshot) -> f64 {
    let up = snapshot.up();
    let bottoms = snapshot.positions.iter().zip(&snapshot.radii);
    bottoms
        .map(|(x, r)| x.dot(up) - r)
        .fold(f64::INFINITY, f64::min)
}

/// Angle of a cone about the centre of mass, rad; `None` where the surface does
/// not fall from there.
fn pile_angle(snapshot: &Snapshot, floor: f64) -> Result<Option<f64>, MissingField> {
    let count = snapshot.len();
    if count == 0 {
        return Ok(None);
    }
    let up = snapshot.up();
    let u = up.any_orthonormal_vector();
    let frame = surface::Frame {
        origin: snapshot.centre_of_mass()?.reject_from(up),
        u,
        v: up.cross(u),
        up,
    };
    let places = snapshot.positions.iter().map(|x| *x - frame.origin);
    let reach = places
        .map(|d| d.dot(frame.u).abs().max(d.dot(frame.v).abs()))
        .fold(0.0, f64::max);
    let diameter = 2.0 * snapshot.radii.iter().sum::<f64>() / count as f64;
    let map = HeightMap::new(snapshot, frame, [-reach; 2], [reach; 2], diameter);
    let falls = repose::falls_from(&map, [0.0; 2], floor, diameter);
    let angle = repose::cone_angle(&map, [0.0; 2], floor);
    Ok(angle.filter(|_| falls))
}

/// A frame as the measures want it.
fn snapshot(header: &RecordingHeader, frame: &Frame) -> Result<Snapshot, MissingField> {
    let count = frame.id.len();
    let known = |length: usize| length == count;
    if !known(frame.position.len()) || !known(frame.radius.len()) {
        return Err(MissingField {
            field: "positions and radii",
            advice: "fields = [\"position\", \"radius\"]",
        });
    }
    let index: HashMap<u64, usize> = frame
        .id
        .iter()
        .enumerate()
        .map(|(i, id)| (*id, i))
        .collect();
    let contacts = header.settings.contacts.then(|| {
        let contacts = frame.contacts.iter();
        contacts
            .filter_map(|c| contact(header, frame, &index, c))
            .collect()
    });
    let field = |values: &Vec<DVec3>| known(values.len()).then(|| values.clone());
    Ok(Snapshot {
        time: frame.time,
        gravity: header.gravity,
        positions: frame.position.clone(),
        radii: frame.radius.clone(),
        masses: known(frame.mass.len()).then(|| frame.mass.clone()),
        velocities: field(&frame.velocity),
        angular_velocities: field(&frame.angular_velocity),
        contacts,
    })
}

/// A contact; `None` where a grain has left since. Velocities and friction
/// coefficients are not recorded with contacts and stay zero.
fn contact(
    header: &RecordingHeader,
    frame: &Frame,
    index: &HashMap<u64, usize>,
    c: &esker_record::FrameContact,
) -> Option<ContactState> {
    let grain = *index.get(&c.grain)?;
    let (partner, diameter) = match c.partner {
        FramePartner::Grain(id) => {
            let other = *index.get(&id)?;
            let sum = frame.radius[grain] + frame.radius[other];
            (Partner::Grain(other), sum)
        }
        FramePartner::Wall(wall) => (Partner::Wall(wall as usize), 2.0 * frame.radius[grain]),
    };
    let per_second = 1.0 / header.impulse_step;
    Some(ContactState {
        grain,
        partner,
        point: c.point,
        normal: c.normal,
        overlap: c.overlap,
        diameter,
        normal_force: c.normal_impulse * per_second,
        friction_force: c.friction_impulse * per_second,
        torque: (c.rolling_impulse + c.normal * c.twisting_impulse) * per_second,
        relative_velocity: DVec3::ZERO,
        relative_angular_velocity: DVec3::ZERO,
        partner_velocity: DVec3::ZERO,
        friction: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn long_axes_turn_with_their_grains_and_tablets_have_none() {
        let shapes = [
            BodyShape::Capsule {
                radius: 1.0,
                half_length: 2.0,
            },
            BodyShape::Ellipsoid {
                semi_axes: DVec3::new(2.0, 2.0, 1.0),
            },
        ];
        let orientation = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
        let frame = Frame {
            shape: vec![0, 1, 2],
            orientation: vec![orientation; 3],
            ..Frame::default()
        };
        let axes = long_axes(&shapes, &frame);
        assert_eq!(axes.len(), 1);
        assert!((axes[0].y.abs() - 1.0).abs() < 1e-12, "{axes:?}");
    }
}
