//! The header of a recording: what is known before its first frame.

use esker_geometry::{BodyShape, TriangleSoup};
use glam::DVec3;
use xxhash_rust::xxh3::xxh3_64;

use crate::SceneIdentity;
use crate::bytes::{Malformed, Plain, bytes_of, put_list, put_text};
use crate::error::RecordError;
use crate::hdf5::{Number, Reader, Writer};
use crate::joints::{JointLabel, read_joints, write_joints};
use crate::layout::{GrainField, Precision, RecordSettings};
use crate::probes::{COLUMNS, GROUP, ProbeTable};
use crate::shapes::{read_shapes, write_shapes};

/// Newest version of the format. Older ones are read, and written where nothing
/// of a recording needs a newer one: earlier programs read those.
pub const RECORDING_FORMAT: u32 = JOINT_FORMAT;
/// First format with an origin.
const ORIGIN_FORMAT: u32 = 3;
/// First format with shapes of grains.
const SHAPE_FORMAT: u32 = 4;
/// First format with joints of machines.
const JOINT_FORMAT: u32 = 5;

/// Text of the root attribute `format`, by which people know a recording.
const FORMAT_NAME: &str = "Esker recording";

/// Surface of a wall in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct WallSurface {
    /// Name of the wall.
    pub name: String,
    /// Its triangles.
    pub surface: TriangleSoup,
    /// Whether they stand for a plane that has no end.
    pub unbounded: bool,
    /// Material of a body of its own; `None` for a wall.
    pub body: Option<u16>,
}

/// What is known about a recording before its first frame.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingHeader {
    /// Name of the scene.
    pub name: String,
    /// Text of the scene file.
    pub scene: String,
    /// Identity of the scene.
    pub identity: SceneIdentity,
    /// Version of the program.
    pub version: String,
    /// Names of materials, by index.
    pub materials: Vec<String>,
    /// Colours of materials in pictures, sRGB, where the scene chooses them.
    pub material_colors: Vec<Option<[u8; 3]>>,
    /// Gravity, m/s².
    pub gravity: DVec3,
    /// Time step, s.
    pub step: f64,
    /// Time that impulses of contacts belong to, s: forces are impulses divided by it.
    pub impulse_step: f64,
    /// Point that positions of grains and contacts are stored relative to, m, so
    /// that single precision tells grains apart also far from the scene's zero.
    /// Whoever reads frames gets places in the scene.
    pub origin: DVec3,
    /// Shapes of grains that are no spheres, by the index that grains carry. Where
    /// there are any, grains are recorded with shape, scale and orientation.
    pub shapes: Vec<BodyShape>,
    /// Walls, then bodies of their own: both have a name, a pose in every frame, and loads.
    pub walls: Vec<WallSurface>,
    /// Joints of machines: each has a place, loads and coordinates in every frame.
    pub joints: Vec<JointLabel>,
    /// What probes record; checked with their rows.
    pub probes: Vec<ProbeTable>,
    /// What is recorded.
    pub settings: RecordSettings,
}

impl RecordingHeader {
    /// Version of the format that a recording with this header has.
    pub fn format(&self) -> u32 {
        let of_shapes = [GrainField::Shape, GrainField::Scale];
        let has_shapes =
            !self.shapes.is_empty() || of_shapes.iter().any(|f| self.settings.fields.contains(f));
        if !self.joints.is_empty() {
            JOINT_FORMAT
        } else if has_shapes {
            SHAPE_FORMAT
        } else {
            ORIGIN_FORMAT
        }
    }

    /// Takes over what frames already written depend on.
    pub(crate) fn take_over(&mut self, old: &RecordingHeader) {
        self.settings = old.settings.clone();
        self.origin = old.origin;
        self.shapes = old.shapes.clone();
        self.walls = old.walls.clone();
        self.joints = old.joints.clone();
        self.step = old.step;
        self.impulse_step = old.impulse_step;
    }

    /// Whether a recording with this header can go on in a part with another
    /// one: the same scene, walls and quantities.
    pub(crate) fn continues_as(&self, next: &RecordingHeader) -> bool {
        let names = |header: &RecordingHeader| -> Vec<String> {
            header.walls.iter().map(|w| w.name.clone()).collect()
        };
        self.identity == next.identity
            && self.materials == next.materials
            && self.joints == next.joints
            && names(self) == names(next)
            && self.settings.fields == next.settings.fields
            && self.settings.contacts == next.settings.contacts
    }
}

/// Checksum of everything that [`write_header`] writes in this format.
pub(crate) fn header_checksum(header: &RecordingHeader, format: u32) -> u64 {
    let mut bytes = Vec::new();
    format.put(&mut bytes);
    for text in [&header.name, &header.scene, &header.version] {
        put_text(&mut bytes, text);
    }
    header.identity.0.put(&mut bytes);
    header
        .materials
        .iter()
        .for_each(|m| put_text(&mut bytes, m));
    header.gravity.put(&mut bytes);
    header.step.put(&mut bytes);
    header.impulse_step.put(&mut bytes);
    if format >= ORIGIN_FORMAT {
        header.origin.put(&mut bytes);
    }
    if format >= SHAPE_FORMAT {
        // What they are has a checksum of its own.
        (header.shapes.len() as u64).put(&mut bytes);
    }
    for wall in &header.walls {
        put_text(&mut bytes, &wall.name);
        put_list(&mut bytes, wall.surface.vertices.iter().copied());
        put_list(
            &mut bytes,
            wall.surface
                .triangles
                .iter()
                .flatten()
                .copied()
                .collect::<Vec<_>>()
                .into_iter(),
        );
    }
    header.joints.iter().for_each(|joint| joint.put(&mut bytes));
    let settings = &header.settings;
    put_text(&mut bytes, &field_names(header));
    settings.compression.put(&mut bytes);
    u8::from(settings.contacts).put(&mut bytes);
    (settings.precision.number().size() as u8).put(&mut bytes);
    xxh3_64(&bytes)
}

/// Which walls have no end; files of before do not say.
const UNBOUNDED: &str = "walls/unbounded";
/// Which surfaces are those of bodies of their own; only where there are any.
const BODY: &str = "walls/body";
/// Where colours of materials are; files of before have none.
const MATERIAL_COLORS: &str = "about/material_colors";

/// Checksum of what pictures need besides: files of before have none of it.
const APPEARANCE_CHECKSUM: &str = "about/appearance_checksum";

fn appearance_checksum(header: &RecordingHeader) -> u64 {
    let mut bytes = Vec::new();
    for color in &header.material_colors {
        put_text(&mut bytes, &color_text(color));
    }
    for wall in &header.walls {
        u8::from(wall.unbounded).put(&mut bytes);
    }
    body_codes(header)
        .iter()
        .for_each(|code| code.put(&mut bytes));
    xxh3_64(&bytes)
}

/// One more than the material of each body of its own, zero for walls; empty where there are
/// walls alone.
fn body_codes(header: &RecordingHeader) -> Vec<u16> {
    let codes = header.walls.iter().map(|w| w.body.map_or(0, |m| m + 1));
    let codes: Vec<u16> = codes.collect();
    if codes.iter().all(|&code| code == 0) {
        return Vec::new();
    }
    codes
}

/// A colour as it is stored: `#rrggbb`, or nothing.
fn color_text(color: &Option<[u8; 3]>) -> String {
    color.map_or_else(String::new, |[r, g, b]| format!("#{r:02x}{g:02x}{b:02x}"))
}

fn color(text: &str) -> Option<[u8; 3]> {
    let number = u32::from_str_radix(text.strip_prefix('#')?, 16).ok()?;
    Some([16, 8, 0].map(|shift| (number >> shift) as u8))
}

/// Names of the recorded fields, separated by spaces.
fn field_names(header: &RecordingHeader) -> String {
    let fields = header.settings.ordered_fields();
    fields.map(GrainField::name).collect::<Vec<_>>().join(" ")
}

/// Writes the header of a recording.
pub(crate) fn write_header(
    writer: &mut Writer,
    header: &RecordingHeader,
) -> Result<(), RecordError> {
    writer.attribute("/", "format", FORMAT_NAME)?;
    writer.group("about", "what was simulated, by what")?;
    writer.group("walls", "surfaces of walls, each in its own frame")?;
    let settings = &header.settings;
    let identity = header.identity.to_string();
    let fields = field_names(header);
    for (path, text, meaning) in [
        ("about/name", header.name.as_str(), "name of the scene"),
        ("about/scene", &header.scene, "text of the scene file"),
        (
            "about/version",
            &header.version,
            "version of Esker that wrote this",
        ),
        (
            "about/identity",
            &identity,
            "hash of the scene and the files it uses",
        ),
        ("about/fields", &fields, "recorded quantities of grains"),
    ] {
        writer.texts(path, &[text], meaning)?;
    }
    let names = |list: Vec<&str>, path, meaning, writer: &mut Writer| {
        if list.is_empty() {
            return Ok(());
        }
        writer.texts(path, &list, meaning)
    };
    let materials = header.materials.iter().map(String::as_str).collect();
    names(materials, "about/materials", "names of materials", writer)?;
    let colors: Vec<String> = header.material_colors.iter().map(color_text).collect();
    let colors = colors.iter().map(String::as_str).collect();
    let meaning = "colours of materials in pictures, empty: none chosen";
    names(colors, MATERIAL_COLORS, meaning, writer)?;
    let walls = header.walls.iter().map(|w| w.name.as_str()).collect();
    names(walls, "walls/name", "names of walls", writer)?;

    let bits = (8 * settings.precision.number().size()) as u8;
    for (path, number, extents, bytes, about) in [
        (
            "about/format",
            Number::U32,
            &[][..],
            header.format().to_le_bytes().to_vec(),
            ("1", "version of this format"),
        ),
        (
            "about/gravity",
            Number::F64,
            &[3],
            bytes_of(&[header.gravity]),
            ("m/s²", "gravity"),
        ),
        (
            "about/origin",
            Number::F64,
            &[3],
            bytes_of(&[header.origin]),
            (
                "m",
                "add this to positions of grains and to points of contacts",
            ),
        ),
        (
            "about/step",
            Number::F64,
            &[],
            bytes_of(&[header.step]),
            ("s", "time step"),
        ),
        (
            "about/impulse_step",
            Number::F64,
            &[],
            bytes_of(&[header.impulse_step]),
            ("s", "time that impulses of contacts belong to"),
        ),
        (
            "about/precision",
            Number::U8,
            &[],
            vec![bits],
            ("bit", "precision of grains and contacts"),
        ),
        (
            "about/compression",
            Number::U8,
            &[],
            vec![settings.compression],
            ("1", "deflate level"),
        ),
        (
            "about/contacts",
            Number::U8,
            &[],
            vec![u8::from(settings.contacts)],
            ("1", "1 where contacts are recorded"),
        ),
        (
            "about/checksum",
            Number::U64,
            &[],
            header_checksum(header, header.format())
                .to_le_bytes()
                .to_vec(),
            ("1", "XXH3 of about/* and of the walls' surfaces"),
        ),
        (
            APPEARANCE_CHECKSUM,
            Number::U64,
            &[],
            appearance_checksum(header).to_le_bytes().to_vec(),
            (
                "1",
                "XXH3 of about/material_colors, walls/unbounded and walls/body",
            ),
        ),
    ] {
        writer.constant(path, number, extents, &bytes, about)?;
    }
    write_surfaces(writer, header)?;
    write_shapes(writer, &header.shapes)?;
    write_joints(writer, &header.joints)?;
    let lines: Vec<String> = header.probes.iter().flat_map(ProbeTable::lines).collect();
    if lines.is_empty() {
        return Ok(());
    }
    writer.group(GROUP, "rows of probes, one table each")?;
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let meaning = "probe, column, unit, numbers per row, their distance in m, meaning";
    writer.texts(COLUMNS, &lines, meaning)
}

fn write_surfaces(writer: &mut Writer, header: &RecordingHeader) -> Result<(), RecordError> {
    let mut first = [vec![0_u64], vec![0_u64]];
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for wall in &header.walls {
        wall.surface
            .vertices
            .iter()
            .for_each(|v| v.put(&mut vertices));
        wall.surface
            .triangles
            .iter()
            .flatten()
            .for_each(|i| i.put(&mut triangles));
        first[0].push(first[0].last().copied().unwrap_or(0) + wall.surface.vertices.len() as u64);
        first[1].push(first[1].last().copied().unwrap_or(0) + wall.surface.triangles.len() as u64);
    }
    let ends = first[0].len() as u64;
    let rows = |size: usize, bytes: &[u8]| [(bytes.len() / size) as u64, 3];
    let vertex_extents = rows(24, &vertices);
    let triangle_extents = rows(12, &triangles);
    let unbounded: Vec<u8> = header.walls.iter().map(|w| u8::from(w.unbounded)).collect();
    let bodies = body_codes(header);
    for (path, number, extents, bytes, about) in [
        (
            BODY,
            Number::U16,
            &[bodies.len() as u64][..],
            bytes_of(&bodies),
            (
                "1",
                "0 for a wall, one more than the material's index for a body of its own",
            ),
        ),
        (
            UNBOUNDED,
            Number::U8,
            &[unbounded.len() as u64][..],
            unbounded,
            ("1", "1 where a surface stands for a plane that has no end"),
        ),
        (
            "walls/first_vertex",
            Number::U64,
            &[ends],
            bytes_of(&first[0]),
            ("1", "first vertex of each wall, and the end"),
        ),
        (
            "walls/first_triangle",
            Number::U64,
            &[ends],
            bytes_of(&first[1]),
            ("1", "first triangle of each wall, and the end"),
        ),
        (
            "walls/vertex",
            Number::F64,
            &vertex_extents,
            vertices,
            ("m", "vertices in the wall's own frame"),
        ),
        (
            "walls/triangle",
            Number::U32,
            &triangle_extents,
            triangles,
            ("1", "corners, counted from the wall's first vertex"),
        ),
    ] {
        // HDF5 has no place for a constant without numbers.
        if !bytes.is_empty() {
            writer.constant(path, number, extents, &bytes, about)?;
        }
    }
    Ok(())
}

/// Reads and checks the header of a recording; returns its format too.
pub(crate) fn read_header(reader: &Reader) -> Result<(RecordingHeader, u32), RecordError> {
    let path = || reader.path().to_owned();
    if !reader.has("about/format") || !reader.has("about/checksum") {
        return Err(RecordError::Foreign { path: path() });
    }
    let damaged = |what: &str| RecordError::Damaged {
        path: path(),
        what: what.to_owned(),
    };
    let constant = |name: &str, number: Number| {
        let bytes = reader.constant(name, number)?;
        if bytes.len() == number.size() {
            Ok(bytes)
        } else {
            Err(damaged(name))
        }
    };
    let real = |name: &str| constant(name, Number::F64).map(|b| f64::get(&b));
    let byte = |name: &str| constant(name, Number::U8).map(|b| b[0]);
    let text = |name: &str| {
        let mut texts = reader.texts(name)?;
        texts.pop().ok_or_else(|| damaged(name))
    };
    let names = |name: &str| {
        if reader.has(name) {
            reader.texts(name)
        } else {
            Ok(Vec::new())
        }
    };
    let format = constant("about/format", Number::U32).map(|b| u32::get(&b))?;
    if format > RECORDING_FORMAT {
        return Err(RecordError::TooNew {
            path: path(),
            format,
            newest: RECORDING_FORMAT,
        });
    }
    let vector = |name: &str| {
        let bytes = reader.constant(name, Number::F64)?;
        match bytes.len() {
            DVec3::SIZE => Ok(DVec3::get(&bytes)),
            _ => Err(damaged(name)),
        }
    };
    let fields = text("about/fields")?;
    let header = RecordingHeader {
        name: text("about/name")?,
        scene: text("about/scene")?,
        identity: u128::from_str_radix(&text("about/identity")?, 16)
            .map(SceneIdentity)
            .map_err(|_| damaged("about/identity"))?,
        version: text("about/version")?,
        materials: names("about/materials")?,
        material_colors: names(MATERIAL_COLORS)?.iter().map(|c| color(c)).collect(),
        gravity: vector("about/gravity")?,
        step: real("about/step")?,
        impulse_step: real("about/impulse_step")?,
        origin: match format {
            ORIGIN_FORMAT.. => vector("about/origin")?,
            _ => DVec3::ZERO,
        },
        shapes: read_shapes(reader)?,
        walls: read_surfaces(reader, names("walls/name")?)?,
        joints: read_joints(reader)?,
        probes: ProbeTable::from_lines(&names(COLUMNS)?).map_err(|Malformed| damaged(COLUMNS))?,
        settings: RecordSettings {
            fields: GrainField::ALL
                .into_iter()
                .filter(|f| fields.split(' ').any(|name| name == f.name()))
                .collect(),
            precision: match byte("about/precision")? {
                32 => Precision::Single,
                64 => Precision::Double,
                _ => return Err(damaged("about/precision")),
            },
            compression: byte("about/compression")?,
            contacts: byte("about/contacts")? == 1,
        },
    };
    if !header.shapes.is_empty() && !header.settings.has_shapes() {
        return Err(damaged("it has shapes, but grains without them"));
    }
    if reader.has(APPEARANCE_CHECKSUM) {
        let checksum = constant(APPEARANCE_CHECKSUM, Number::U64).map(|b| u64::get(&b))?;
        if appearance_checksum(&header) != checksum {
            return Err(damaged("the checksum of colours and planes does not match"));
        }
    }
    let checksum = constant("about/checksum", Number::U64).map(|b| u64::get(&b))?;
    if header_checksum(&header, format) == checksum {
        Ok((header, format))
    } else {
        Err(damaged("the checksum of its header does not match"))
    }
}

fn read_surfaces(reader: &Reader, names: Vec<String>) -> Result<Vec<WallSurface>, RecordError> {
    let numbers = |name: &str, number: Number| {
        if reader.has(name) {
            reader.constant(name, number)
        } else {
            Ok(Vec::new())
        }
    };
    let words = |name: &str| -> Result<Vec<usize>, RecordError> {
        let bytes = reader.constant(name, Number::U64)?;
        Ok(bytes
            .chunks_exact(8)
            .map(|b| u64::get(b) as usize)
            .collect())
    };
    let vertices = numbers("walls/vertex", Number::F64)?;
    let vertices: Vec<DVec3> = vertices.chunks_exact(DVec3::SIZE).map(DVec3::get).collect();
    let triangles = numbers("walls/triangle", Number::U32)?;
    let triangles: Vec<[u32; 3]> = triangles
        .chunks_exact(12)
        .map(|b| std::array::from_fn(|i| u32::get(&b[4 * i..4 * (i + 1)])))
        .collect();
    let unbounded = numbers(UNBOUNDED, Number::U8)?;
    let bodies = numbers(BODY, Number::U16)?;
    let body = |index: usize| {
        let code = bodies.get(2 * index..2 * index + 2).map_or(0, u16::get);
        code.checked_sub(1)
    };
    let first_vertex = words("walls/first_vertex")?;
    let first_triangle = words("walls/first_triangle")?;
    let wall = |index: usize, name: String| {
        let vertices = vertices.get(*first_vertex.get(index)?..*first_vertex.get(index + 1)?)?;
        let triangles =
            triangles.get(*first_triangle.get(index)?..*first_triangle.get(index + 1)?)?;
        let inside = |t: &[u32; 3]| t.iter().all(|&v| (v as usize) < vertices.len());
        triangles.iter().all(inside).then(|| WallSurface {
            unbounded: unbounded.get(index) == Some(&1),
            body: body(index),
            name,
            surface: TriangleSoup {
                vertices: vertices.to_vec(),
                triangles: triangles.to_vec(),
            },
        })
    };
    let found: Option<Vec<_>> = names
        .into_iter()
        .enumerate()
        .map(|(i, n)| wall(i, n))
        .collect();
    found.ok_or_else(|| RecordError::Damaged {
        path: reader.path().to_owned(),
        what: "surfaces of walls contradict their table".into(),
    })
}
