//! Exports as plain tables and surfaces.

use std::io::{self, Write};

use esker_geometry::TriangleSoup;

use crate::frame::Frame;
use crate::header::RecordingHeader;
use crate::layout::SCALARS;
use crate::recording::Scalars;

/// Writes scalars as CSV; units are in the names of columns.
pub fn write_scalars_csv(scalars: &Scalars, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = SCALARS
        .iter()
        .map(|s| match s.unit {
            "1" => s.name.to_owned(),
            unit => format!("{} ({unit})", s.name),
        })
        .collect();
    writeln!(out, "{}", names.join(","))?;
    for row in scalars.rows() {
        // The shortest text that reads back as the same number; an empty cell
        // where nothing was measured.
        let cells = row.map(|x| {
            if x.is_nan() {
                String::new()
            } else {
                x.to_string()
            }
        });
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// Surfaces of all walls as they stand in a frame, with their names.
pub fn walls_in_frame(header: &RecordingHeader, frame: &Frame) -> Vec<(String, TriangleSoup)> {
    let walls = header.walls.iter().zip(&frame.walls);
    walls
        .map(|(surface, wall)| {
            let mut soup = surface.surface.clone();
            soup.vertices
                .iter_mut()
                .for_each(|v| *v = wall.pose.to_world(*v));
            (surface.name.clone(), soup)
        })
        .collect()
}
