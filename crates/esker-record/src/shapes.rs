//! Shapes of grains in the header of a recording, as plain tables that other
//! programs can draw grains with.

use std::sync::Arc;

use esker_geometry::{BodyShape, Clump, Polyhedron};
use glam::DVec3;
use xxhash_rust::xxh3::xxh3_64;

use crate::bytes::{Plain, bytes_of, put_list, put_text};
use crate::error::RecordError;
use crate::hdf5::{Number, Reader, Writer};

const GROUP: &str = "shapes";
const KIND: &str = "shapes/kind";
const SIZE: &str = "shapes/size";
const POINT: &str = "shapes/point";
const FIRST_POINT: &str = "shapes/first_point";
const TRIANGLE: &str = "shapes/triangle";
const FIRST_TRIANGLE: &str = "shapes/first_triangle";
const CHECKSUM: &str = "shapes/checksum";

/// The tables, as they are stored.
#[derive(Debug, Default, PartialEq)]
struct ShapeTables {
    /// Name of each shape's kind.
    kind: Vec<String>,
    /// Up to three lengths of each shape, m; zero where it has fewer.
    size: Vec<[f64; 3]>,
    /// Vertices of polyhedra, and centres and radii of spheres of clumps, m.
    point: Vec<[f64; 4]>,
    /// Where the points of each shape start, and the end.
    first_point: Vec<u64>,
    /// Corners of the triangles of polyhedra, counted from the shape's first point.
    triangle: Vec<[u32; 3]>,
    /// Where the triangles of each shape start, and the end.
    first_triangle: Vec<u64>,
}

/// Writes the shapes; nothing where there are none.
pub(crate) fn write_shapes(writer: &mut Writer, shapes: &[BodyShape]) -> Result<(), RecordError> {
    if shapes.is_empty() {
        return Ok(());
    }
    let tables = ShapeTables::of(shapes);
    writer.group(GROUP, "shapes of grains, each in its own frame")?;
    let kinds: Vec<&str> = tables.kind.iter().map(String::as_str).collect();
    writer.texts(
        KIND,
        &kinds,
        "kinds of shapes; shape number 1 of grains is the first",
    )?;
    let ends = [tables.first_point.len() as u64];
    let size = "semi-axes of an ellipsoid, half edges of a box, radius of a sphere, radius and \
                half length (of a capsule without its caps) along z of a capsule or cylinder";
    let point = "x, y, z and radius: vertices of polyhedra (radius 0), spheres of clumps";
    for (path, number, extents, bytes, about) in [
        (
            SIZE,
            Number::F64,
            &[tables.size.len() as u64, 3][..],
            bytes_of(tables.size.as_flattened()),
            ("m", size),
        ),
        (
            POINT,
            Number::F64,
            &[tables.point.len() as u64, 4],
            bytes_of(tables.point.as_flattened()),
            ("m", point),
        ),
        (
            FIRST_POINT,
            Number::U64,
            &ends,
            bytes_of(&tables.first_point),
            ("1", "first point of each shape, and the end"),
        ),
        (
            TRIANGLE,
            Number::U32,
            &[tables.triangle.len() as u64, 3],
            bytes_of(tables.triangle.as_flattened()),
            (
                "1",
                "surfaces of polyhedra: corners, counted from the shape's first point",
            ),
        ),
        (
            FIRST_TRIANGLE,
            Number::U64,
            &ends,
            bytes_of(&tables.first_triangle),
            ("1", "first triangle of each shape, and the end"),
        ),
        (
            CHECKSUM,
            Number::U64,
            &[],
            bytes_of(&[tables.checksum()]),
            ("1", "XXH3 of shapes/*"),
        ),
    ] {
        // HDF5 has no place for a constant without numbers.
        if !bytes.is_empty() {
            writer.constant(path, number, extents, &bytes, about)?;
        }
    }
    Ok(())
}

/// Reads and checks the shapes.
pub(crate) fn read_shapes(reader: &Reader) -> Result<Vec<BodyShape>, RecordError> {
    if !reader.has(KIND) {
        return Ok(Vec::new());
    }
    let damaged = |what: &str| RecordError::Damaged {
        path: reader.path().to_owned(),
        what: what.to_owned(),
    };
    let tables = ShapeTables {
        kind: reader.texts(KIND)?,
        size: rows(numbers(reader, SIZE, Number::F64)?),
        point: rows(numbers(reader, POINT, Number::F64)?),
        first_point: numbers(reader, FIRST_POINT, Number::U64)?,
        triangle: rows(numbers(reader, TRIANGLE, Number::U32)?),
        first_triangle: numbers(reader, FIRST_TRIANGLE, Number::U64)?,
    };
    let checksum: Vec<u64> = numbers(reader, CHECKSUM, Number::U64)?;
    if checksum != [tables.checksum()] {
        return Err(damaged("the checksum of shapes does not match"));
    }
    (0..tables.kind.len())
        .map(|index| tables.shape(index))
        .collect::<Option<_>>()
        .ok_or_else(|| damaged("shapes of grains contradict their tables"))
}

impl ShapeTables {
    fn of(shapes: &[BodyShape]) -> Self {
        let mut tables = ShapeTables {
            first_point: vec![0],
            first_triangle: vec![0],
            ..Default::default()
        };
        for shape in shapes {
            tables.push(shape);
        }
        tables
    }

    fn push(&mut self, shape: &BodyShape) {
        let mut size = DVec3::ZERO;
        let kind = match shape {
            BodyShape::Sphere { radius } => {
                size.x = *radius;
                "sphere"
            }
            BodyShape::Ellipsoid { semi_axes } => {
                size = *semi_axes;
                "ellipsoid"
            }
            BodyShape::Capsule {
                radius,
                half_length,
            } => {
                size = DVec3::new(*radius, *half_length, 0.0);
                "capsule"
            }
            BodyShape::Cylinder {
                radius,
                half_length,
            } => {
                size = DVec3::new(*radius, *half_length, 0.0);
                "cylinder"
            }
            BodyShape::Box { half_edges } => {
                size = *half_edges;
                "box"
            }
            BodyShape::Polyhedron(polyhedron) => {
                let points = polyhedron.vertices().iter();
                self.point.extend(points.map(|v| [v.x, v.y, v.z, 0.0]));
                self.triangle.extend(polyhedron.triangles());
                "polyhedron"
            }
            BodyShape::Clump(clump) => {
                let spheres = clump.spheres().iter();
                self.point
                    .extend(spheres.map(|(c, radius)| [c.x, c.y, c.z, *radius]));
                "clump"
            }
            // Of bodies of their own, which have a surface (see `RecordingHeader::walls`).
            BodyShape::Compound(_) => "compound",
            BodyShape::Mesh(_) => "mesh",
        };
        self.kind.push(kind.to_owned());
        self.size.push(size.to_array());
        self.first_point.push(self.point.len() as u64);
        self.first_triangle.push(self.triangle.len() as u64);
    }

    /// A shape of the tables; `None` where they describe none.
    fn shape(&self, index: usize) -> Option<BodyShape> {
        let [x, y, z] = *self.size.get(index)?;
        let end = |i: usize| usize::try_from(*self.first_point.get(i)?).ok();
        let points = self.point.get(end(index)?..end(index + 1)?)?;
        let shape = match self.kind[index].as_str() {
            "sphere" => BodyShape::Sphere { radius: x },
            "ellipsoid" => BodyShape::Ellipsoid {
                semi_axes: DVec3::new(x, y, z),
            },
            "capsule" => BodyShape::Capsule {
                radius: x,
                half_length: y,
            },
            "cylinder" => BodyShape::Cylinder {
                radius: x,
                half_length: y,
            },
            "box" => BodyShape::Box {
                half_edges: DVec3::new(x, y, z),
            },
            "polyhedron" => {
                let vertices: Vec<DVec3> = points.iter().map(place).collect();
                BodyShape::Polyhedron(Arc::new(Polyhedron::in_body_frame(&vertices).ok()?))
            }
            "clump" => {
                let spheres: Vec<_> = points.iter().map(|p| (place(p), p[3])).collect();
                BodyShape::Clump(Arc::new(Clump::in_body_frame(&spheres).ok()?))
            }
            _ => return None,
        };
        shape.validate().is_ok().then_some(shape)
    }

    fn checksum(&self) -> u64 {
        let mut bytes = Vec::new();
        self.kind.iter().for_each(|kind| put_text(&mut bytes, kind));
        put_list(&mut bytes, self.size.as_flattened().iter().copied());
        put_list(&mut bytes, self.point.as_flattened().iter().copied());
        put_list(&mut bytes, self.first_point.iter().copied());
        put_list(&mut bytes, self.triangle.as_flattened().iter().copied());
        put_list(&mut bytes, self.first_triangle.iter().copied());
        xxh3_64(&bytes)
    }
}

fn place([x, y, z, _]: &[f64; 4]) -> DVec3 {
    DVec3::new(*x, *y, *z)
}

/// The numbers of a constant; none where it is not there.
fn numbers<T: Plain>(reader: &Reader, path: &str, number: Number) -> Result<Vec<T>, RecordError> {
    if !reader.has(path) {
        return Ok(Vec::new());
    }
    let bytes = reader.constant(path, number)?;
    Ok(bytes.chunks_exact(T::SIZE).map(T::get).collect())
}

fn rows<T: Copy, const N: usize>(numbers: Vec<T>) -> Vec<[T; N]> {
    numbers.as_chunks::<N>().0.to_vec()
}
