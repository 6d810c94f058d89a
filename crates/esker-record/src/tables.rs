//! Exports as plain tables and surfaces.

use std::io::{self, Write};

use esker_geometry::TriangleSoup;
use esker_world::WallLoad;
use glam::{DQuat, DVec3};

use crate::frame::Frame;
use crate::header::RecordingHeader;
use crate::layout::SCALARS;
use crate::series::Scalars;

/// Writes scalars and loads of walls as CSV; units are in the names of columns,
/// and those of loads start with the wall's name.
pub fn write_scalars_csv(scalars: &Scalars, out: &mut impl Write) -> io::Result<()> {
    let mut names: Vec<String> = SCALARS
        .iter()
        .map(|s| match s.unit {
            "1" => s.name.to_owned(),
            unit => format!("{} ({unit})", s.name),
        })
        .collect();
    for wall in scalars.walls() {
        names.extend(LOADS.map(|load| cell_of_name(&format!("{wall} {load}"))));
    }
    writeln!(out, "{}", names.join(","))?;
    for (row, loads) in scalars.rows().iter().zip(scalars.loads()) {
        // The shortest text that reads back as the same number; an empty cell
        // where nothing was measured.
        let cell = |x: f64| match x.is_nan() {
            true => String::new(),
            false => x.to_string(),
        };
        let loads = loads.iter().flat_map(|load| {
            let WallLoad {
                force,
                torque,
                power,
            } = load;
            let vectors = [force.to_array(), torque.to_array()];
            let numbers = vectors.into_iter().flatten().chain([*power]);
            numbers.collect::<Vec<_>>()
        });
        let cells: Vec<String> = row.iter().copied().chain(loads).map(cell).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// Writes the grains of a frame as CSV, as far as they were recorded: places,
/// sizes, velocities, angular velocities, materials, and shapes where there are
/// any. Scenes read spheres back, and refuse the columns of shapes.
pub fn write_grains_csv(
    header: &RecordingHeader,
    frame: &Frame,
    out: &mut impl Write,
) -> io::Result<()> {
    let vector = |names: &'static str, list: &[DVec3]| {
        let cells = |v: &DVec3| format!("{},{},{}", v.x, v.y, v.z);
        (names, list.iter().map(cells).collect::<Vec<_>>())
    };
    let material = |index: u16| {
        let name = header.materials.get(usize::from(index));
        name.map_or_else(String::new, |name| cell_of_name(name))
    };
    let materials: Vec<String> = match header.materials.as_slice() {
        _ if !frame.material.is_empty() => frame.material.iter().map(|&m| material(m)).collect(),
        [_] => vec![material(0); frame.id.len()],
        _ => Vec::new(),
    };
    let turn = |q: &DQuat| format!("{},{},{},{}", q.x, q.y, q.z, q.w);
    let orientations = match frame.shape.is_empty() {
        true => Vec::new(),
        false => frame.orientation.iter().map(turn).collect(),
    };
    let columns = [
        ("id", frame.id.iter().map(u64::to_string).collect()),
        vector("x,y,z", &frame.position),
        ("radius", frame.radius.iter().map(f64::to_string).collect()),
        vector("vx,vy,vz", &frame.velocity),
        vector("wx,wy,wz", &frame.angular_velocity),
        ("material", materials),
        ("shape", frame.shape.iter().map(u16::to_string).collect()),
        ("scale", frame.scale.iter().map(f64::to_string).collect()),
        ("qx,qy,qz,qw", orientations),
    ];
    let there = columns.iter().filter(|(_, cells)| !cells.is_empty());
    let names: Vec<&str> = there.clone().map(|(name, _)| *name).collect();
    writeln!(out, "{}", names.join(","))?;
    for i in 0..frame.id.len() {
        let cells: Vec<&str> = there.clone().map(|(_, cells)| cells[i].as_str()).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// Writes what the joints of a recording are as CSV: the numbers by which `joints.vtkhdf` knows
/// them, names, kinds and drives.
pub fn write_joints_csv(header: &RecordingHeader, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "joint,name,kind,drives")?;
    for (index, joint) in header.joints.iter().enumerate() {
        let [name, kind, drives] =
            [&joint.name, &joint.kind, &joint.drives].map(|text| cell_of_name(text));
        writeln!(out, "{index},{name},{kind},{drives}")?;
    }
    Ok(())
}

/// Columns of a wall's load.
const LOADS: [&str; 7] = [
    "force_x (N)",
    "force_y (N)",
    "force_z (N)",
    "torque_x (N m)",
    "torque_y (N m)",
    "torque_z (N m)",
    "power (W)",
];

/// A name as a cell: in quotes where it holds what separates cells.
fn cell_of_name(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

/// Surfaces of all walls that are there in a frame, as they stand, with their names.
pub fn walls_in_frame(header: &RecordingHeader, frame: &Frame) -> Vec<(String, TriangleSoup)> {
    let walls = header.walls.iter().zip(&frame.walls);
    let present = walls.filter(|(_, wall)| wall.pose.position.is_finite());
    present
        .map(|(surface, wall)| {
            let mut soup = surface.surface.clone();
            soup.vertices
                .iter_mut()
                .for_each(|v| *v = wall.pose.to_world(*v));
            (surface.name.clone(), soup)
        })
        .collect()
}
