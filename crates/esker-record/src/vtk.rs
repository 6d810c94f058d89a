//! Export for ParaView: time series of poly data in VTKHDF, version 2.
//!
//! Every frame is a step with one part. The arrays of all steps lie one after
//! another, and `Steps` holds where each begins. Cells come in four kinds, of
//! which a series here uses one; the others are present and empty, because
//! the format asks for all of them.

use std::fs;
use std::path::{Path, PathBuf};

use esker_geometry::{BodyShape, Pose, TriangleSoup};
use glam::DVec3;

use crate::bytes::Plain;
use crate::error::RecordError;
use crate::frame::{Frame, FramePartner};
use crate::hdf5::{Number, TableId, Writer};
use crate::layout::GrainField;
use crate::recording::Recording;
use crate::tables::walls_in_frame;

/// What connects points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Vertex,
    Line,
    Triangle,
}

/// Kinds of cells in the order of the format's offset tables.
const KINDS: [&str; 4] = ["Vertices", "Lines", "Polygons", "Strips"];

impl Cell {
    fn kind(self) -> usize {
        match self {
            Cell::Vertex => 0,
            Cell::Line => 1,
            Cell::Triangle => 2,
        }
    }

    fn corners(self) -> i64 {
        self.kind() as i64 + 1
    }
}

/// An array of a series.
struct Array {
    name: &'static str,
    columns: Option<u64>,
}

/// One step of a series; cells take their corners in the order of `corners`,
/// or of the points themselves.
#[derive(Default)]
struct Step {
    points: Vec<DVec3>,
    corners: Option<Vec<i64>>,
    arrays: Vec<Vec<f64>>,
}

struct CellTables {
    count: TableId,
    ids: TableId,
    offsets: TableId,
    connectivity: TableId,
}

/// A time series on its way into a file.
struct Series {
    writer: Writer,
    cell: Cell,
    points: TableId,
    point_count: TableId,
    cells: Vec<CellTables>,
    arrays: Vec<TableId>,
    array_offsets: Vec<TableId>,
    values: TableId,
    parts: [TableId; 2],
    point_offsets: TableId,
    cell_offsets: [TableId; 2],
    steps: u64,
    points_done: u64,
    cells_done: u64,
}

impl Series {
    fn create(
        path: &Path,
        steps: usize,
        cell: Cell,
        arrays: &[Array],
    ) -> Result<Self, RecordError> {
        // Grains carry values at their points, lines and triangles per cell.
        let data = if cell == Cell::Vertex {
            "PointData"
        } else {
            "CellData"
        };
        let mut writer = Writer::create(path)?;
        writer.subgroup("/", "VTKHDF")?;
        writer.integers("/VTKHDF", "Version", &[2, 0])?;
        writer.word("/VTKHDF", "Type", "PolyData")?;
        for group in KINDS.iter().chain(&["PointData", "CellData", "Steps"]) {
            writer.subgroup("/VTKHDF", group)?;
        }
        for group in ["PointDataOffsets", "CellDataOffsets"] {
            writer.subgroup("/VTKHDF/Steps", group)?;
        }
        writer.integers("/VTKHDF/Steps", "NSteps", &[steps as i64])?;
        let mut array = |path: String, number, columns| {
            writer.array(&format!("VTKHDF/{path}"), number, columns)
        };
        let integer = Number::I64;
        let cells = KINDS
            .iter()
            .map(|kind| {
                Ok(CellTables {
                    count: array(format!("{kind}/NumberOfCells"), integer, None)?,
                    ids: array(format!("{kind}/NumberOfConnectivityIds"), integer, None)?,
                    offsets: array(format!("{kind}/Offsets"), integer, None)?,
                    connectivity: array(format!("{kind}/Connectivity"), integer, None)?,
                })
            })
            .collect::<Result<_, RecordError>>()?;
        let points = array("Points".into(), Number::F64, Some(3))?;
        let point_count = array("NumberOfPoints".into(), integer, None)?;
        let mut data_tables = Vec::new();
        let mut array_offsets = Vec::new();
        for Array { name, columns } in arrays {
            data_tables.push(array(format!("{data}/{name}"), Number::F64, *columns)?);
            array_offsets.push(array(format!("Steps/{data}Offsets/{name}"), integer, None)?);
        }
        let mut per_step = |name: &str, columns| array(format!("Steps/{name}"), integer, columns);
        let parts = [
            per_step("PartOffsets", None)?,
            per_step("NumberOfParts", None)?,
        ];
        let point_offsets = per_step("PointOffsets", None)?;
        let four = Some(KINDS.len() as u64);
        let cell_offsets = [
            per_step("CellOffsets", four)?,
            per_step("ConnectivityIdOffsets", four)?,
        ];
        let values = array("Steps/Values".into(), Number::F64, None)?;
        writer.start()?;
        Ok(Series {
            writer,
            cell,
            points,
            point_count,
            cells,
            arrays: data_tables,
            array_offsets,
            values,
            parts,
            point_offsets,
            cell_offsets,
            steps: 0,
            points_done: 0,
            cells_done: 0,
        })
    }

    fn write(&mut self, time: f64, step: &Step) -> Result<(), RecordError> {
        let row = self.steps;
        let corners = self.cell.corners();
        let points = step.points.len() as i64;
        let ids = step.corners.as_ref().map_or(points, |c| c.len() as i64);
        let count = ids / corners;
        let (points_done, cells_done) = (self.points_done, self.cells_done);
        let ids_done = cells_done * corners as u64;
        let used = self.cell.kind();
        let writer = &mut self.writer;
        let mut number = |table: TableId, row: u64, value: i64| {
            writer.write(table, row, &value.to_le_bytes()).map(drop)
        };
        for (kind, tables) in self.cells.iter().enumerate() {
            let here = |value: i64| if kind == used { value } else { 0 };
            number(tables.count, row, here(count))?;
            number(tables.ids, row, here(ids))?;
            if kind != used {
                // Zero cells have one offset: their end.
                number(tables.offsets, row, 0)?;
            }
        }
        number(self.point_count, row, points)?;
        number(self.parts[0], row, row as i64)?;
        number(self.parts[1], row, 1)?;
        number(self.point_offsets, row, points_done as i64)?;
        let first_value = if self.cell == Cell::Vertex {
            points_done
        } else {
            cells_done
        };
        for table in &self.array_offsets {
            number(*table, row, first_value as i64)?;
        }
        for (table, done) in self.cell_offsets.iter().zip([cells_done, ids_done]) {
            let mut offsets = [0; KINDS.len()];
            offsets[used] = done as i64;
            writer.write(*table, row, &bytes_of(offsets))?;
        }
        writer.write(self.values, row, &time.to_le_bytes())?;
        writer.write(
            self.points,
            points_done,
            &bytes_of(step.points.iter().copied()),
        )?;
        let tables = &self.cells[used];
        let offsets = (0..=count).map(|i| i * corners);
        // Every earlier step has one offset more than it has cells.
        writer.write(tables.offsets, cells_done + row, &bytes_of(offsets))?;
        let connectivity = match &step.corners {
            Some(corners) => bytes_of(corners.iter().copied()),
            None => bytes_of(0..points),
        };
        writer.write(tables.connectivity, ids_done, &connectivity)?;
        for (table, values) in self.arrays.iter().zip(&step.arrays) {
            writer.write(*table, first_value, &bytes_of(values.iter().copied()))?;
        }
        self.steps += 1;
        self.points_done += points as u64;
        self.cells_done += count as u64;
        Ok(())
    }
}

fn bytes_of<T: Plain>(values: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.into_iter().for_each(|v| v.put(&mut bytes));
    bytes
}

fn flat(vectors: &[DVec3]) -> Vec<f64> {
    vectors.iter().flat_map(|v| v.to_array()).collect()
}

/// Writes grains, walls and contacts of all frames as files that ParaView
/// opens; returns their paths. Show spheres as point Gaussians or glyphs scaled
/// by `radius`; the surfaces of all other grains are in a file of their own.
pub fn export_vtk(recording: &Recording, dir: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let settings = &recording.header().settings;
    if !settings.fields.contains(&GrainField::Position) {
        return Err(RecordError::NoPositions {
            path: recording.path().to_owned(),
        });
    }
    let fields: Vec<GrainField> = settings.ordered_fields().collect();
    let mut paths = vec![export(
        recording,
        &dir.join("grains.vtkhdf"),
        Cell::Vertex,
        &grain_arrays(&fields),
        |frame| grain_step(frame, &fields),
    )?];
    let shapes = &recording.header().shapes;
    if !shapes.is_empty() {
        let surfaces: Vec<TriangleSoup> = shapes.iter().map(BodyShape::triangulate).collect();
        let shown: Vec<GrainField> = fields
            .iter()
            .copied()
            .filter(|field| SURFACE_FIELDS.contains(field))
            .collect();
        paths.push(export(
            recording,
            &dir.join("surfaces.vtkhdf"),
            Cell::Triangle,
            &grain_arrays(&shown),
            |frame| surface_step(frame, &surfaces, &shown),
        )?);
    }
    if !recording.header().walls.is_empty() {
        let arrays = [Array {
            name: "wall",
            columns: None,
        }];
        paths.push(export(
            recording,
            &dir.join("walls.vtkhdf"),
            Cell::Triangle,
            &arrays,
            |frame| wall_step(recording, frame),
        )?);
    }
    if settings.contacts {
        let step = recording.header().impulse_step;
        let path = dir.join("contacts.vtkhdf");
        paths.push(export(
            recording,
            &path,
            Cell::Line,
            &CONTACT_ARRAYS,
            |frame| contact_step(frame, step),
        )?);
    }
    Ok(paths)
}

fn export(
    recording: &Recording,
    path: &Path,
    cell: Cell,
    arrays: &[Array],
    step: impl Fn(&Frame) -> Step,
) -> Result<PathBuf, RecordError> {
    let count = recording.frames().len();
    // Beside its place until it is complete: a full disk leaves no half file.
    let partial = path.with_extension("vtkhdf.partial");
    let write = || {
        let mut series = Series::create(&partial, count, cell, arrays)?;
        for index in 0..count {
            let frame = recording.frame(index)?;
            series.write(frame.time, &step(&frame))?;
        }
        series.writer.close()?;
        fs::rename(&partial, path).map_err(|error| RecordError::Write {
            path: path.to_owned(),
            why: error.to_string(),
        })
    };
    let written = write();
    if written.is_err() {
        // Best effort: the first error is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    written.map(|()| path.to_owned())
}

fn grain_arrays(fields: &[GrainField]) -> Vec<Array> {
    let array = |name, columns| Array { name, columns };
    let others = fields.iter().filter_map(|field| match field {
        GrainField::Position => None,
        GrainField::Velocity | GrainField::AngularVelocity => Some(array(field.name(), Some(3))),
        GrainField::Orientation => Some(array(field.name(), Some(4))),
        GrainField::Radius
        | GrainField::Material
        | GrainField::Mass
        | GrainField::Shape
        | GrainField::Scale => Some(array(field.name(), None)),
    });
    std::iter::once(array("id", None)).chain(others).collect()
}

fn grain_step(frame: &Frame, fields: &[GrainField]) -> Step {
    let others = fields.iter().filter_map(|field| match field {
        GrainField::Position => None,
        GrainField::Velocity => Some(flat(&frame.velocity)),
        GrainField::AngularVelocity => Some(flat(&frame.angular_velocity)),
        GrainField::Orientation => Some(
            frame
                .orientation
                .iter()
                .flat_map(|q| q.to_array())
                .collect(),
        ),
        GrainField::Radius => Some(frame.radius.clone()),
        GrainField::Material => Some(frame.material.iter().map(|&m| f64::from(m)).collect()),
        GrainField::Mass => Some(frame.mass.clone()),
        GrainField::Shape => Some(frame.shape.iter().map(|&s| f64::from(s)).collect()),
        GrainField::Scale => Some(frame.scale.clone()),
    });
    let ids = frame.id.iter().map(|&id| id as f64).collect();
    Step {
        points: frame.position.clone(),
        corners: None,
        arrays: std::iter::once(ids).chain(others).collect(),
    }
}

/// What triangles of a grain carry; more would be many times the size of the grains.
const SURFACE_FIELDS: [GrainField; 3] = [
    GrainField::Velocity,
    GrainField::Material,
    GrainField::Shape,
];

/// Surfaces of grains that are no spheres, with the values of their grains.
fn surface_step(frame: &Frame, surfaces: &[TriangleSoup], fields: &[GrainField]) -> Step {
    let grains = grain_step(frame, fields);
    let mut step = Step {
        arrays: vec![Vec::new(); grains.arrays.len()],
        ..Step::default()
    };
    let mut corners = Vec::new();
    for (i, &number) in frame.shape.iter().enumerate() {
        let surface = usize::from(number).checked_sub(1);
        let Some(soup) = surface.and_then(|index| surfaces.get(index)) else {
            continue;
        };
        let pose = Pose::new(frame.position[i], frame.orientation[i]);
        let first = step.points.len() as i64;
        let vertices = soup.vertices.iter();
        step.points
            .extend(vertices.map(|&vertex| pose.to_world(frame.scale[i] * vertex)));
        let triangles = soup.triangles.iter().flatten();
        corners.extend(triangles.map(|&corner| first + i64::from(corner)));
        for (of_triangles, of_grains) in step.arrays.iter_mut().zip(&grains.arrays) {
            let columns = of_grains.len() / frame.id.len();
            let values = &of_grains[columns * i..columns * (i + 1)];
            for _ in &soup.triangles {
                of_triangles.extend(values);
            }
        }
    }
    step.corners = Some(corners);
    step
}

fn wall_step(recording: &Recording, frame: &Frame) -> Step {
    let mut step = Step::default();
    let (mut corners, mut walls) = (Vec::new(), Vec::new());
    let names = || recording.header().walls.iter().map(|wall| &wall.name);
    for (name, soup) in &walls_in_frame(recording.header(), frame) {
        let index = names().position(|known| known == name).unwrap_or(0);
        let first = step.points.len() as i64;
        step.points.extend(&soup.vertices);
        corners.extend(
            soup.triangles
                .iter()
                .flatten()
                .map(|&i| first + i64::from(i)),
        );
        walls.extend(std::iter::repeat_n(index as f64, soup.triangles.len()));
    }
    step.corners = Some(corners);
    step.arrays = vec![walls];
    step
}

const CONTACT_ARRAYS: [Array; 5] = [
    Array {
        name: "normal_force",
        columns: None,
    },
    Array {
        name: "friction_force",
        columns: Some(3),
    },
    Array {
        name: "rolling_torque",
        columns: Some(3),
    },
    Array {
        name: "overlap",
        columns: None,
    },
    Array {
        name: "is_wall",
        columns: None,
    },
];

/// Contacts as lines.
fn contact_step(frame: &Frame, impulse_step: f64) -> Step {
    let mut step = Step::default();
    let mut arrays = vec![Vec::new(); CONTACT_ARRAYS.len()];
    for contact in &frame.contacts {
        let is_wall = f64::from(u8::from(matches!(contact.partner, FramePartner::Wall(_))));
        step.points.extend(frame.contact_ends(contact));
        arrays[0].push(contact.normal_impulse / impulse_step);
        arrays[1].extend((contact.friction_impulse / impulse_step).to_array());
        arrays[2].extend((contact.rolling_impulse / impulse_step).to_array());
        arrays[3].push(contact.overlap);
        arrays[4].push(is_wall);
    }
    step.arrays = arrays;
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// A mirrored, misplaced or unscaled surface would miss the grain's corners.
    #[test]
    fn surfaces_of_grains_lie_where_the_grains_are() {
        let half_edges = DVec3::new(1.0, 2.0, 3.0);
        let surfaces = [BodyShape::Box { half_edges }.triangulate()];
        let orientation = DQuat::from_rotation_x(0.3) * DQuat::from_rotation_z(1.1);
        let frame = Frame {
            id: vec![7, 8],
            position: vec![DVec3::ZERO, DVec3::Y * 5.0],
            velocity: vec![DVec3::ZERO, DVec3::new(1.0, 2.0, 3.0)],
            orientation: vec![DQuat::IDENTITY, orientation],
            shape: vec![0, 1],
            scale: vec![1.0, 0.5],
            ..Frame::default()
        };
        let step = surface_step(&frame, &surfaces, &[GrainField::Velocity]);
        assert_eq!(step.points.len(), 8);
        let corner = DVec3::Y * 5.0 + orientation * (0.5 * half_edges);
        let distances = step.points.iter().map(|p| p.distance(corner));
        assert!(distances.fold(f64::INFINITY, f64::min) < 1e-12);
        assert_eq!(step.corners.unwrap().len(), 36);
        assert_eq!(step.arrays[0], [8.0; 12]);
        assert_eq!(step.arrays[1], [1.0, 2.0, 3.0].repeat(12));
    }
}
