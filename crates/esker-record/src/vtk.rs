//! Export for ParaView: time series of poly data in VTKHDF, version 2.
//!
//! Every frame is a step with one part. The arrays of all steps lie one after
//! another, and `Steps` holds where each begins: a step whose cells or values are those
//! of the step before points to them, and nothing is written twice. Cells come in four kinds, of
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
use crate::joints::FrameJoint;
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
    number: Number,
}

impl Array {
    /// Real numbers in full precision.
    const fn full(name: &'static str, columns: Option<u64>) -> Self {
        Array {
            name,
            columns,
            number: Number::F64,
        }
    }

    /// The same in half of the space.
    fn halved(self) -> Self {
        Array {
            number: Number::F32,
            ..self
        }
    }
}

/// One step of a series; cells take their corners in the order of `corners`,
/// or of the points themselves.
#[derive(Default)]
struct Step {
    points: Vec<DVec3>,
    corners: Option<Vec<i64>>,
    arrays: Vec<Vec<f64>>,
}

/// A table of numbers of a series.
#[derive(Clone, Copy)]
struct Values {
    table: TableId,
    /// Where each step finds its own.
    offsets: TableId,
    number: Number,
    /// Numbers per row.
    columns: usize,
}

/// Cells or values that a later step may point to.
struct Written<T> {
    what: T,
    at: u64,
}

/// The cells of a part.
#[derive(PartialEq)]
struct Topology {
    points: usize,
    corners: Option<Vec<i64>>,
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
    /// Kind of the points' numbers.
    point_number: Number,
    cells: Vec<CellTables>,
    arrays: Vec<Values>,
    values: TableId,
    parts: [TableId; 2],
    point_offsets: TableId,
    cell_offsets: [TableId; 2],
    steps: u64,
    points_done: u64,
    /// Rows written of each array.
    rows_done: Vec<u64>,
    /// Parts and cells before that of the last step, and their cells.
    parts_done: u64,
    cells_done: u64,
    last_part: Option<Written<Topology>>,
    last_values: Vec<Option<Written<Vec<f64>>>>,
}

impl Series {
    fn create(
        path: &Path,
        steps: usize,
        (cell, point_number): (Cell, Number),
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
        let points = array("Points".into(), point_number, Some(3))?;
        let point_count = array("NumberOfPoints".into(), integer, None)?;
        let mut data_tables = Vec::new();
        for &Array {
            name,
            columns,
            number,
        } in arrays
        {
            data_tables.push(Values {
                table: array(format!("{data}/{name}"), number, columns)?,
                offsets: array(format!("Steps/{data}Offsets/{name}"), integer, None)?,
                number,
                columns: columns.unwrap_or(1) as usize,
            });
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
            point_number,
            cells,
            rows_done: vec![0; data_tables.len()],
            last_values: data_tables.iter().map(|_| None).collect(),
            arrays: data_tables,
            values,
            parts,
            point_offsets,
            cell_offsets,
            steps: 0,
            points_done: 0,
            parts_done: 0,
            cells_done: 0,
            last_part: None,
        })
    }

    fn write(&mut self, time: f64, step: Step) -> Result<(), RecordError> {
        let row = self.steps;
        let points = encode(
            self.point_number,
            step.points.iter().flat_map(|p| p.to_array()),
        );
        let topology = Topology {
            points: step.points.len(),
            corners: step.corners,
        };
        let part = self.write_part(topology)?;
        let (cells, corners) = (part.at, self.cell.corners() as u64);
        let writer = &mut self.writer;
        let mut number = |table: TableId, value: u64| {
            writer
                .write(table, row, &(value as i64).to_le_bytes())
                .map(drop)
        };
        number(self.parts[0], part.what)?;
        number(self.parts[1], 1)?;
        number(self.point_offsets, self.points_done)?;
        for (table, done) in self.cell_offsets.iter().zip([cells, cells * corners]) {
            let mut offsets = [0; KINDS.len()];
            offsets[self.cell.kind()] = done as i64;
            writer.write(*table, row, &bytes_of(offsets))?;
        }
        writer.write(self.values, row, &time.to_le_bytes())?;
        writer.write(self.points, self.points_done, &points)?;
        for (k, values) in step.arrays.into_iter().enumerate() {
            self.write_values(k, values)?;
        }
        self.steps += 1;
        self.points_done += step.points.len() as u64;
        Ok(())
    }

    /// The part with these cells, and the first of them: that of the step before where it is
    /// the same.
    fn write_part(&mut self, topology: Topology) -> Result<Written<u64>, RecordError> {
        let (part, cells) = (self.parts_done, self.cells_done);
        if let Some(last) = &self.last_part
            && last.what == topology
        {
            return Ok(Written {
                what: part - 1,
                at: last.at,
            });
        }
        let (corners, used) = (self.cell.corners(), self.cell.kind());
        let points = topology.points as i64;
        let ids = topology.corners.as_ref().map_or(points, |c| c.len() as i64);
        let count = ids / corners;
        let writer = &mut self.writer;
        let mut number =
            |table: TableId, value: i64| writer.write(table, part, &value.to_le_bytes()).map(drop);
        for (kind, tables) in self.cells.iter().enumerate() {
            let here = |value: i64| if kind == used { value } else { 0 };
            number(tables.count, here(count))?;
            number(tables.ids, here(ids))?;
            if kind != used {
                // Zero cells have one offset: their end.
                number(tables.offsets, 0)?;
            }
        }
        number(self.point_count, points)?;
        let tables = &self.cells[used];
        let offsets = (0..=count).map(|i| i * corners);
        // Every earlier part has one offset more than it has cells.
        writer.write(tables.offsets, cells + part, &bytes_of(offsets))?;
        let connectivity = match &topology.corners {
            Some(corners) => bytes_of(corners.iter().copied()),
            None => bytes_of(0..points),
        };
        writer.write(tables.connectivity, cells * corners as u64, &connectivity)?;
        self.parts_done += 1;
        self.cells_done += count as u64;
        self.last_part = Some(Written {
            what: topology,
            at: cells,
        });
        Ok(Written {
            what: part,
            at: cells,
        })
    }

    /// Values of an array in the step; those of the step before where they are the same.
    fn write_values(&mut self, k: usize, values: Vec<f64>) -> Result<(), RecordError> {
        let array = self.arrays[k];
        let at = match &self.last_values[k] {
            Some(last) if last.what == values => last.at,
            _ => {
                let at = self.rows_done[k];
                let bytes = encode(array.number, values.iter().copied());
                self.writer.write(array.table, at, &bytes)?;
                self.rows_done[k] += (values.len() / array.columns) as u64;
                self.last_values[k] = Some(Written { what: values, at });
                at
            }
        };
        let at = (at as i64).to_le_bytes();
        self.writer.write(array.offsets, self.steps, &at).map(drop)
    }
}

/// Numbers in one of the two precisions.
fn encode(number: Number, values: impl Iterator<Item = f64>) -> Vec<u8> {
    match number {
        Number::F32 => bytes_of(values.map(|x| x as f32)),
        _ => bytes_of(values),
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

/// Writes grains, walls, contacts and joints of all frames as files that ParaView
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
        (Cell::Vertex, Number::F64),
        &grain_arrays(&fields),
        |frame| grain_step(frame, &fields),
    )?];
    let shapes = &recording.header().shapes;
    if !shapes.is_empty() {
        let triangulate = |shape: &BodyShape| shape.triangulate_with(SURFACE_FACETS);
        let surfaces: Vec<TriangleSoup> = shapes.iter().map(triangulate).collect();
        let shown: Vec<GrainField> = fields
            .iter()
            .copied()
            .filter(|field| SURFACE_FIELDS.contains(field))
            .collect();
        // Far from the origin half of the digits would not do.
        let is_near = recording.header().origin == DVec3::ZERO;
        let number = if is_near { Number::F32 } else { Number::F64 };
        let arrays: Vec<Array> = grain_arrays(&shown)
            .into_iter()
            .map(|array| match array.name {
                "id" => array,
                _ => array.halved(),
            })
            .collect();
        paths.push(export(
            recording,
            &dir.join("surfaces.vtkhdf"),
            (Cell::Triangle, number),
            &arrays,
            |frame| surface_step(frame, &surfaces, &shown),
        )?);
    }
    if !recording.header().walls.is_empty() {
        let arrays = [Array::full("wall", None)];
        paths.push(export(
            recording,
            &dir.join("walls.vtkhdf"),
            (Cell::Triangle, Number::F64),
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
            (Cell::Line, Number::F64),
            &CONTACT_ARRAYS,
            |frame| contact_step(frame, step),
        )?);
    }
    if !recording.header().joints.is_empty() {
        paths.push(export(
            recording,
            &dir.join("joints.vtkhdf"),
            (Cell::Vertex, Number::F64),
            &JOINT_ARRAYS,
            joint_step,
        )?);
    }
    Ok(paths)
}

fn export(
    recording: &Recording,
    path: &Path,
    cell: (Cell, Number),
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
            series.write(frame.time, step(&frame))?;
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
    let array = Array::full;
    let others = fields.iter().filter_map(|field| match field {
        GrainField::Position => None,
        GrainField::Velocity | GrainField::AngularVelocity => Some(array(field.name(), Some(3))),
        GrainField::Orientation => Some(array(field.name(), Some(4))),
        GrainField::Radius
        | GrainField::Material
        | GrainField::Mass
        | GrainField::Shape
        | GrainField::Scale
        | GrainField::Aggregate => Some(array(field.name(), None)),
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
        GrainField::Aggregate => Some(frame.aggregate.iter().map(|&a| f64::from(a)).collect()),
    });
    let ids = frame.id.iter().map(|&id| id as f64).collect();
    Step {
        points: frame.position.clone(),
        corners: None,
        arrays: std::iter::once(ids).chain(others).collect(),
    }
}

/// Facets around a round grain: the sagitta is 3.4 % of the radius, which smooth shading hides.
const SURFACE_FACETS: u32 = 12;

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
    Array::full("normal_force", None),
    Array::full("friction_force", Some(3)),
    Array::full("rolling_torque", Some(3)),
    Array::full("overlap", None),
    Array::full("is_wall", None),
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

const JOINT_ARRAYS: [Array; 11] = [
    Array::full("joint", None),
    Array::full("axis", Some(3)),
    Array::full("angle", None),
    Array::full("slide", None),
    Array::full("force", Some(3)),
    Array::full("torque", Some(3)),
    Array::full("drive_force", None),
    Array::full("drive_torque", None),
    Array::full("power", None),
    Array::full("gap", None),
    Array::full("tilt", None),
];

/// Joints as points: their anchors on the second bodies, on which they act.
fn joint_step(frame: &Frame) -> Step {
    let joints = &frame.joints;
    // Programs that show numbers cannot tell that there is none.
    let column = |value: fn(&FrameJoint) -> f64| joints.iter().map(value).collect::<Vec<_>>();
    let vectors =
        |value: fn(&FrameJoint) -> DVec3| flat(&joints.iter().map(value).collect::<Vec<_>>());
    Step {
        points: joints.iter().map(|joint| joint.anchors[1]).collect(),
        corners: None,
        arrays: vec![
            (0..joints.len()).map(|index| index as f64).collect(),
            vectors(|joint| joint.axis.unwrap_or_default()),
            column(|joint| joint.angle.unwrap_or(0.0)),
            column(|joint| joint.slide.unwrap_or(0.0)),
            vectors(|joint| joint.load.force),
            vectors(|joint| joint.load.torque),
            column(|joint| joint.load.drive_force),
            column(|joint| joint.load.drive_torque),
            column(|joint| joint.load.power),
            column(|joint| joint.gap),
            column(|joint| joint.tilt),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::Reader;
    use glam::DQuat;

    /// Surfaces of 300 pills once took 500 MB, most of it the same in every frame.
    #[test]
    fn cells_and_values_that_stay_are_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("moving.vtkhdf");
        let arrays = [Array::full("id", None), Array::full("speed", None).halved()];
        let cell = (Cell::Triangle, Number::F32);
        let mut series = Series::create(&path, 3, cell, &arrays).unwrap();
        let step = |corners: &[i64], points: usize, ids: &[f64], speed: f64| Step {
            points: vec![DVec3::X * speed; points],
            corners: Some(corners.to_vec()),
            arrays: vec![ids.to_vec(), vec![speed; ids.len()]],
        };
        let (two, one) = ([0, 1, 2, 2, 1, 3], [0, 1, 2]);
        series.write(0.0, step(&two, 4, &[7.0, 7.0], 1.0)).unwrap();
        series.write(1.0, step(&two, 4, &[7.0, 7.0], 2.0)).unwrap();
        series.write(2.0, step(&one, 3, &[8.0], 3.0)).unwrap();
        series.writer.close().unwrap();
        let reader = Reader::open(&path).unwrap();
        let integers = |name: &str| -> Vec<i64> {
            let bytes = reader.constant(&format!("VTKHDF/{name}"), Number::I64);
            bytes.unwrap().chunks_exact(8).map(i64::get).collect()
        };
        assert_eq!(integers("Steps/PartOffsets"), [0, 0, 1]);
        assert_eq!(integers("Steps/PointOffsets"), [0, 4, 8]);
        assert_eq!(integers("NumberOfPoints"), [4, 3]);
        assert_eq!(integers("Polygons/NumberOfCells"), [2, 1]);
        assert_eq!(integers("Polygons/Connectivity"), [&two[..], &one].concat());
        assert_eq!(integers("Polygons/Offsets"), [0, 3, 6, 0, 3]);
        assert_eq!(
            integers("Steps/CellOffsets"),
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]
        );
        assert_eq!(integers("Steps/ConnectivityIdOffsets")[10], 6);
        assert_eq!(integers("Steps/CellDataOffsets/id"), [0, 0, 2]);
        assert_eq!(integers("Steps/CellDataOffsets/speed"), [0, 2, 4]);
        let points = reader.constant("VTKHDF/Points", Number::F32).unwrap();
        assert_eq!(points.len(), 12 * 11);
    }

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
