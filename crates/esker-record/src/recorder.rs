//! Writing a recording.

use std::fs;
use std::path::{Path, PathBuf};

use esker_world::{StepReport, World};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::SceneIdentity;
use crate::bytes::{Plain, put_list, put_text};
use crate::error::RecordError;
use crate::frame::Frame;
use crate::hdf5::{Column, ColumnId, Number, Writer};
use crate::layout::{
    FORMAT_NAME, GRAIN_ID, GrainField, Precision, RECORDING_FORMAT, RecordingHeader, SCALARS, Spec,
    contact_specs, encode_contacts,
};
use crate::recording::Recording;

/// Rows per chunk of the columns with one row per frame or step.
const TABLE_CHUNK_ROWS: u64 = 256;
/// Least and greatest rows per chunk of grains and contacts.
const CHUNK_ROWS: [usize; 2] = [64, 16_384];
/// Scalars kept in memory at most until they are written without a frame.
const MOST_PENDING_ROWS: usize = 4096;

/// Writes a recording frame by frame. A frame is on the disk, and safe against
/// a kill, when [`Recorder::record_frame`] returns.
pub struct Recorder {
    header: RecordingHeader,
    writer: Writer,
    chunk_rows: u64,
    grains: Rows,
    contacts: Option<Rows>,
    walls: Vec<ColumnId>,
    frames: Table,
    scalars: Table,
    blocks: Table,
    pending: Vec<[f64; SCALARS.len()]>,
}

/// Columns with many rows per frame.
struct Rows {
    columns: Vec<ColumnId>,
    end: u64,
}

/// Columns with one row per frame, step or block.
struct Table {
    columns: Vec<ColumnId>,
    rows: u64,
}

/// Columns with one row per frame: name, number, unit, meaning.
pub(crate) const FRAME_COLUMNS: [(&str, Number, &str, &str); 7] = [
    ("frames/step", Number::U64, "1", "steps done"),
    ("frames/time", Number::F64, "s", "time"),
    (
        "frames/first_grain",
        Number::U64,
        "1",
        "first row of the frame in grains/*",
    ),
    (
        "frames/grains",
        Number::U64,
        "1",
        "number of grains of the frame",
    ),
    (
        "frames/first_contact",
        Number::U64,
        "1",
        "first row of the frame in contacts/*",
    ),
    (
        "frames/contacts",
        Number::U64,
        "1",
        "number of recorded contacts of the frame",
    ),
    (
        "frames/checksum",
        Number::U64,
        "1",
        "XXH3 of the frame: row of this table, grains, contacts, walls",
    ),
];

/// Columns of wall states: name, numbers per wall, unit, meaning.
pub(crate) const WALL_COLUMNS: [(&str, u64, &str, &str); 4] = [
    (
        "walls/position",
        3,
        "m",
        "origin of each wall's frame, per frame",
    ),
    (
        "walls/orientation",
        4,
        "1",
        "unit quaternion (x, y, z, w) of each wall, per frame",
    ),
    (
        "walls/force",
        3,
        "N",
        "force of the grains on each wall in the last step, per frame",
    ),
    (
        "walls/torque",
        3,
        "N m",
        "torque of the grains about each wall's origin in the last step, per frame",
    ),
];

/// Columns of scalar blocks: name, meaning.
pub(crate) const BLOCK_COLUMNS: [(&str, &str); 2] = [
    (
        "integrity/scalar_rows",
        "rows of scalars/* up to the end of the block",
    ),
    (
        "integrity/scalar_checksum",
        "XXH3 of the block's scalars, row by row",
    ),
];

impl Recorder {
    /// Starts a recording; `expected_grains` sizes its chunks.
    pub fn create(
        path: &Path,
        header: RecordingHeader,
        expected_grains: usize,
    ) -> Result<Self, RecordError> {
        let mut writer = Writer::create(path)?;
        write_header(&mut writer, &header)?;
        let [least, most] = CHUNK_ROWS;
        let chunk_rows = expected_grains.clamp(least, most) as u64;
        let settings = &header.settings;
        let precision = settings.precision;
        let many = |spec: &Spec| Column {
            path: spec.path,
            number: spec.number,
            inner: spec.inner,
            chunk_rows,
            compression: settings.compression,
            unit: spec.unit,
            meaning: spec.meaning,
        };
        let fields: Vec<Spec> = settings
            .ordered_fields()
            .map(|f| f.spec(precision))
            .collect();
        let grains = std::iter::once(&GRAIN_ID)
            .chain(&fields)
            .map(|spec| writer.column(&many(spec)))
            .collect::<Result<_, _>>()?;
        let contacts = if settings.contacts {
            let columns = contact_specs(precision)
                .iter()
                .map(|spec| writer.column(&many(spec)))
                .collect::<Result<_, _>>()?;
            Some(Rows { columns, end: 0 })
        } else {
            None
        };
        let table = |path, number, unit, meaning| Column {
            path,
            number,
            inner: &[],
            chunk_rows: TABLE_CHUNK_ROWS,
            compression: 0,
            unit,
            meaning,
        };
        let mut walls = Vec::new();
        if !header.walls.is_empty() {
            for (path, width, unit, meaning) in WALL_COLUMNS {
                walls.push(writer.column(&Column {
                    inner: &[header.walls.len() as u64, width],
                    chunk_rows: (TABLE_CHUNK_ROWS / header.walls.len() as u64).max(1),
                    ..table(path, Number::F64, unit, meaning)
                })?);
            }
        }
        let scalar_paths = SCALARS.map(|s| format!("scalars/{}", s.name));
        let scalars = scalar_paths
            .iter()
            .zip(SCALARS)
            .map(|(path, s)| writer.column(&table(path, Number::F64, s.unit, s.meaning)))
            .collect::<Result<_, _>>()?;
        // Tables come last: their new rows are published after what they refer to.
        let blocks = BLOCK_COLUMNS
            .iter()
            .map(|(path, meaning)| writer.column(&table(path, Number::U64, "1", meaning)))
            .collect::<Result<_, _>>()?;
        let frames = FRAME_COLUMNS
            .iter()
            .map(|(path, number, unit, meaning)| {
                writer.column(&table(path, *number, unit, meaning))
            })
            .collect::<Result<_, _>>()?;
        writer.start()?;
        let table = |columns| Table { columns, rows: 0 };
        Ok(Recorder {
            header,
            writer,
            chunk_rows,
            grains: Rows {
                columns: grains,
                end: 0,
            },
            contacts,
            walls,
            frames: table(frames),
            scalars: table(scalars),
            blocks: table(blocks),
            pending: Vec::new(),
        })
    }

    /// Continues a recording after its first `frames` frames and `scalar_rows`
    /// rows of scalars; what follows them is cut off. They are copied to a new
    /// file that takes the old one's place when it is complete: a kill at any
    /// moment leaves one that can be read.
    pub fn resume(
        path: &Path,
        identity: SceneIdentity,
        frames: u64,
        scalar_rows: u64,
    ) -> Result<Self, RecordError> {
        let old = Recording::open(path)?;
        if old.header().identity != identity {
            return Err(RecordError::OtherScene {
                path: path.to_owned(),
            });
        }
        let scalars = old.scalars()?;
        let found = old.frames().len() as u64;
        if found < frames || (scalars.len() as u64) < scalar_rows {
            return Err(RecordError::TooShort {
                path: path.to_owned(),
                found,
                expected: frames,
            });
        }
        let kept = &old.frames()[..frames as usize];
        let expected_grains = kept.iter().map(|f| f.grains as usize).max().unwrap_or(0);
        let partial = partial_path(path);
        let mut new = Recorder::create(&partial, old.header().clone(), expected_grains)?;
        for index in 0..kept.len() {
            new.write_frame(&old.frame(index)?)?;
        }
        for row in 0..scalar_rows as usize {
            new.add_scalars(scalars.row(row))?;
        }
        new.flush()?;
        fs::rename(&partial, path).map_err(|e| RecordError::Write {
            path: path.to_owned(),
            why: e.to_string(),
        })?;
        Ok(new)
    }

    /// Frames written so far.
    pub fn frames(&self) -> u64 {
        self.frames.rows
    }

    /// Rows of scalars recorded so far, those not yet written included.
    pub fn scalar_rows(&self) -> u64 {
        self.scalars.rows + self.pending.len() as u64
    }

    /// What is recorded.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// Records the scalars of the step that was just made. They are written
    /// with the next frame or flush.
    pub fn record_step(&mut self, world: &World, report: &StepReport) -> Result<(), RecordError> {
        self.add_scalars(SCALARS.map(|s| (s.value)(world, report)))
    }

    /// Records the world as a frame, and all scalars so far.
    pub fn record_frame(&mut self, world: &World) -> Result<(), RecordError> {
        self.record(&Frame::of(world, &self.header.settings))
    }

    /// Records a frame, and all scalars so far.
    pub fn record(&mut self, frame: &Frame) -> Result<(), RecordError> {
        self.write_frame(frame)?;
        self.flush()
    }

    /// Writes all scalars so far; returns when everything is on the disk.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.write_pending()?;
        self.writer.flush()
    }

    /// Writes what is left and closes the file.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.writer.close()
    }

    fn add_scalars(&mut self, row: [f64; SCALARS.len()]) -> Result<(), RecordError> {
        self.pending.push(row);
        if self.pending.len() < MOST_PENDING_ROWS {
            return Ok(());
        }
        self.flush()
    }

    fn write_pending(&mut self) -> Result<(), RecordError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let first = self.scalars.rows;
        let end = first + self.pending.len() as u64;
        for (i, column) in self.scalars.columns.iter().enumerate() {
            let mut bytes = Vec::with_capacity(8 * self.pending.len());
            self.pending.iter().for_each(|row| row[i].put(&mut bytes));
            self.writer.write(*column, first, &bytes, end)?;
        }
        let checksum = scalar_checksum(&self.pending);
        let block = self.blocks.rows;
        for (column, value) in self.blocks.columns.iter().zip([end, checksum]) {
            self.writer
                .write(*column, block, &value.to_le_bytes(), block + 1)?;
        }
        self.blocks.rows += 1;
        self.scalars.rows = end;
        self.pending.clear();
        Ok(())
    }

    /// First row of the next frame in columns that end at `end`: the next
    /// chunk where chunks are compressed.
    fn next_row(&self, end: u64) -> u64 {
        if self.header.settings.compression > 0 {
            end.next_multiple_of(self.chunk_rows)
        } else {
            end
        }
    }

    fn write_frame(&mut self, frame: &Frame) -> Result<(), RecordError> {
        let settings = &self.header.settings;
        let precision = settings.precision;
        let first_grain = self.next_row(self.grains.end);
        let first_contact = self.next_row(self.contacts.as_ref().map_or(0, |c| c.end));
        let (grains, contacts) = (frame.id.len() as u64, frame.contacts.len() as u64);
        let row = FrameRow {
            step: frame.step,
            time: frame.time,
            first_grain,
            grains,
            first_contact,
            contacts,
        };
        let data = FrameBytes::of(
            frame,
            settings.ordered_fields(),
            settings.contacts,
            precision,
        );
        let writer = &mut self.writer;
        let end = first_grain + grains;
        for (column, bytes) in self.grains.columns.iter().zip(&data.grains) {
            writer.write(*column, first_grain, bytes, end)?;
        }
        self.grains.end = end;
        if let Some(rows) = &mut self.contacts {
            rows.end = first_contact + contacts;
            for (column, bytes) in rows.columns.iter().zip(&data.contacts) {
                writer.write(*column, first_contact, bytes, rows.end)?;
            }
        }
        let index = self.frames.rows;
        for (column, bytes) in self.walls.iter().zip(&data.walls) {
            writer.write(*column, index, bytes, index + 1)?;
        }
        let checksum = data.checksum(&row);
        for (column, value) in self.frames.columns.iter().zip(row.words(checksum)) {
            writer.write(*column, index, &value.to_le_bytes(), index + 1)?;
        }
        self.frames.rows += 1;
        Ok(())
    }
}

/// A row of the table of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRow {
    /// Steps done.
    pub step: u64,
    /// Time, s.
    pub time: f64,
    /// First row in the columns of grains.
    pub first_grain: u64,
    /// Number of grains.
    pub grains: u64,
    /// First row in the columns of contacts.
    pub first_contact: u64,
    /// Number of contacts.
    pub contacts: u64,
}

impl FrameRow {
    /// The values of [`FRAME_COLUMNS`] as they are stored.
    pub(crate) fn words(&self, checksum: u64) -> [u64; FRAME_COLUMNS.len()] {
        [
            self.step,
            self.time.to_bits(),
            self.first_grain,
            self.grains,
            self.first_contact,
            self.contacts,
            checksum,
        ]
    }
}

/// Everything of a frame as it is stored, column by column.
pub(crate) struct FrameBytes {
    pub(crate) grains: Vec<Vec<u8>>,
    pub(crate) contacts: Vec<Vec<u8>>,
    pub(crate) walls: Vec<Vec<u8>>,
}

impl FrameBytes {
    fn of(
        frame: &Frame,
        fields: impl Iterator<Item = GrainField>,
        contacts: bool,
        precision: Precision,
    ) -> Self {
        let mut ids = Vec::new();
        frame.id.iter().for_each(|id| id.put(&mut ids));
        let mut grains = vec![ids];
        grains.extend(fields.map(|field| field.encode(frame, precision)));
        let mut walls = vec![
            Vec::new();
            if frame.walls.is_empty() {
                0
            } else {
                WALL_COLUMNS.len()
            }
        ];
        for wall in &frame.walls {
            wall.pose.position.put(&mut walls[0]);
            wall.pose.orientation.put(&mut walls[1]);
            wall.force.put(&mut walls[2]);
            wall.torque.put(&mut walls[3]);
        }
        FrameBytes {
            grains,
            contacts: if contacts {
                encode_contacts(&frame.contacts, precision).to_vec()
            } else {
                Vec::new()
            },
            walls,
        }
    }

    pub(crate) fn checksum(&self, row: &FrameRow) -> u64 {
        let mut hash = Xxh3::new();
        for word in row.words(0) {
            hash.update(&word.to_le_bytes());
        }
        for column in self.grains.iter().chain(&self.contacts).chain(&self.walls) {
            hash.update(column);
        }
        hash.digest()
    }
}

/// Checksum of rows of scalars.
pub(crate) fn scalar_checksum(rows: &[[f64; SCALARS.len()]]) -> u64 {
    let mut hash = Xxh3::new();
    for value in rows.iter().flatten() {
        hash.update(&value.to_bits().to_le_bytes());
    }
    hash.digest()
}

/// Checksum of everything that [`write_header`] writes.
pub(crate) fn header_checksum(header: &RecordingHeader) -> u64 {
    let mut bytes = Vec::new();
    RECORDING_FORMAT.put(&mut bytes);
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
    let settings = &header.settings;
    put_text(&mut bytes, &field_names(header));
    settings.compression.put(&mut bytes);
    u8::from(settings.contacts).put(&mut bytes);
    (settings.precision.number().size() as u8).put(&mut bytes);
    xxh3_64(&bytes)
}

/// Names of the recorded fields, separated by spaces.
fn field_names(header: &RecordingHeader) -> String {
    let fields = header.settings.ordered_fields();
    fields.map(GrainField::name).collect::<Vec<_>>().join(" ")
}

fn write_header(writer: &mut Writer, header: &RecordingHeader) -> Result<(), RecordError> {
    writer.attribute("/", "format", FORMAT_NAME)?;
    for (group, meaning) in [
        ("about", "what was simulated, by what"),
        (
            "walls",
            "surfaces of walls, each in its own frame, and their motion",
        ),
        (
            "grains",
            "grains of all frames; see frames/first_grain and frames/grains",
        ),
        (
            "contacts",
            "contacts of all frames; see frames/first_contact and frames/contacts",
        ),
        ("frames", "one row per frame"),
        ("scalars", "one row per step"),
        ("integrity", "checksums by which damage is found"),
    ] {
        writer.group(group, meaning)?;
    }
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
    let walls = header.walls.iter().map(|w| w.name.as_str()).collect();
    names(walls, "walls/name", "names of walls", writer)?;

    let bits = (8 * settings.precision.number().size()) as u8;
    for (path, number, extents, bytes, about) in [
        (
            "about/format",
            Number::U32,
            &[][..],
            RECORDING_FORMAT.to_le_bytes().to_vec(),
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
            "integrity/header",
            Number::U64,
            &[],
            header_checksum(header).to_le_bytes().to_vec(),
            ("1", "XXH3 of about/* and of the walls' surfaces"),
        ),
    ] {
        writer.constant(path, number, extents, &bytes, about)?;
    }
    write_surfaces(writer, header)
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
    for (path, number, extents, bytes, about) in [
        (
            "walls/first_vertex",
            Number::U64,
            &[ends][..],
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

fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|v| v.put(&mut bytes));
    bytes
}

fn partial_path(path: &Path) -> PathBuf {
    path.with_extension("h5.partial")
}
