//! A frame as bytes that a browser hands to the graphics card as they are.
//!
//! Everything is little-endian. `docs/src/view.md` has the layout for others that want to read it.
//!
//! Positions are given in single precision relative to the mean of all centres, which is given in
//! double: a scene may lie anywhere. Grains are ordered by shape, spheres first, and by id among
//! those of one shape, so that each shape is one call to draw.

use esker::picture::{
    Chain, Color, JointMark, chains, color_range, joint_marks, mean_radius, values,
};
use esker::record::{Frame, RecordingHeader};
use glam::{DQuat, DVec3};

/// First four bytes: `ESKF`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"ESKF");
/// Version of the layout.
pub const VERSION: u32 = 1;
/// Index of a picked grain that is not in the frame.
pub const ABSENT: u32 = u32::MAX;

/// What of a frame is shown.
pub struct Wanted<'a> {
    /// What colours show.
    pub color: Color,
    /// Whether force chains are shown.
    pub chains: bool,
    /// Whether joints of machines are shown.
    pub joints: bool,
    /// Ids of grains whose places in the frame are asked for.
    pub picked: &'a [u64],
}

/// Rows of a frame in the order in which they are sent.
pub fn order(frame: &Frame) -> Vec<usize> {
    let mut order: Vec<usize> = (0..frame.id.len()).collect();
    if frame.shape.iter().any(|&shape| shape != 0) {
        order.sort_by_key(|&i| frame.shape[i]);
    }
    order
}

/// The bytes of a frame. It must hold what [`Color::check`] asks for.
pub fn encode(header: &RecordingHeader, frame: &Frame, wanted: &Wanted<'_>) -> Vec<u8> {
    let order = order(frame);
    let values = values(header, frame, wanted.color);
    let shape = |row: usize| frame.shape.get(row).copied().unwrap_or(0);
    let spheres = order.partition_point(|&row| shape(row) == 0);
    let origin = mean(&frame.position);
    let chains: Vec<Chain> = match wanted.chains {
        true => chains(header, frame).collect(),
        false => Vec::new(),
    };
    let joints: Vec<JointMark> = match wanted.joints {
        true => joint_marks(header, frame),
        false => Vec::new(),
    };
    let max_force = chains.iter().map(|chain| chain.force).fold(0.0, f64::max);
    let groups: Vec<&[usize]> = order[spheres..]
        .chunk_by(|&one, &other| shape(one) == shape(other))
        .collect();
    let (low, high) = color_range(values.clone());
    let size = 112
        + 20 * order.len()
        + 16 * (order.len() - spheres)
        + 12 * groups.len()
        + 28 * chains.len()
        + 28 * frame.walls.len()
        + 44 * joints.len()
        + 4 * wanted.picked.len();
    let mut out = Bytes(Vec::with_capacity(size));
    out.u32(MAGIC);
    out.u32(VERSION);
    out.0.extend(frame.step.to_le_bytes());
    out.f64s([frame.time, origin.x, origin.y, origin.z]);
    out.f64s([low, high, mean_radius(frame), max_force]);
    for count in [
        order.len(),
        spheres,
        groups.len(),
        chains.len(),
        frame.walls.len(),
        wanted.picked.len(),
        joints.len(),
        0,
    ] {
        out.u32(count as u32);
    }
    for &row in &order {
        let length = match shape(row) {
            0 => frame.radius[row],
            _ => frame.scale[row],
        };
        out.point(frame.position[row] - origin);
        out.f32(length);
    }
    for &row in &order {
        out.f32(values[row]);
    }
    for &row in &order[spheres..] {
        out.rotation(frame.orientation[row]);
    }
    let mut first = spheres;
    for group in groups {
        for number in [usize::from(shape(group[0])) - 1, first, group.len()] {
            out.u32(number as u32);
        }
        first += group.len();
    }
    for chain in &chains {
        chain.ends.iter().for_each(|end| out.point(*end - origin));
        out.f32(chain.force);
    }
    for wall in &frame.walls {
        out.point(wall.pose.position - origin);
        out.rotation(wall.pose.orientation);
    }
    for joint in &joints {
        out.point(joint.anchor - origin);
        out.f32(joint.ball);
        // No bar: no numbers.
        let bar = joint.bar.unwrap_or([DVec3::NAN; 2]);
        bar.iter().for_each(|end| out.point(*end - origin));
        out.f32(f64::from(u8::from(joint.is_driven)));
    }
    for &id in wanted.picked {
        let row = frame.index_of(id);
        let place = row.and_then(|row| order.iter().position(|&other| other == row));
        out.u32(place.map_or(ABSENT, |place| place as u32));
    }
    out.0
}

/// Mean of points; zero of none.
fn mean(points: &[DVec3]) -> DVec3 {
    let sum = points.iter().fold(DVec3::ZERO, |sum, p| sum + *p);
    let mean = sum / points.len().max(1) as f64;
    if mean.is_finite() { mean } else { DVec3::ZERO }
}

/// Little-endian bytes.
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    pub fn f32(&mut self, number: f64) {
        self.0.extend((number as f32).to_le_bytes());
    }

    fn f64s(&mut self, numbers: [f64; 4]) {
        self.0
            .extend(numbers.into_iter().flat_map(f64::to_le_bytes));
    }

    pub fn point(&mut self, p: DVec3) {
        p.to_array().into_iter().for_each(|x| self.f32(x));
    }

    pub fn rotation(&mut self, q: DQuat) {
        q.to_array().into_iter().for_each(|x| self.f32(x));
    }
}
