//! Reading a recording.
//!
//! Nothing in the file is trusted: the library checks its own structures, and
//! checksums of ours cover every number that is returned. A frame whose writing
//! was cut short by a kill is left out; damage anywhere else is an error.

use std::ops::Range;
use std::path::Path;

use esker_geometry::{Pose, TriangleSoup};
use glam::{DQuat, DVec3};

use crate::SceneIdentity;
use crate::bytes::Plain;
use crate::error::RecordError;
use crate::frame::{Frame, FrameWall};
use crate::hdf5::{Number, Reader};
use crate::layout::{
    GRAIN_ID, GrainField, Precision, RECORDING_FORMAT, RecordSettings, RecordingHeader, SCALARS,
    WallSurface, contact_specs, decode_contacts,
};
use crate::recorder::{
    BLOCK_COLUMNS, FRAME_COLUMNS, FrameBytes, FrameRow, WALL_COLUMNS, header_checksum,
    scalar_checksum,
};

/// An open recording.
pub struct Recording {
    reader: Reader,
    header: RecordingHeader,
    frames: Vec<FrameRow>,
    checksums: Vec<u64>,
    cut_short: bool,
}

/// Scalars of all steps.
#[derive(Clone, Debug, Default)]
pub struct Scalars {
    rows: Vec<[f64; SCALARS.len()]>,
}

impl Scalars {
    /// Steps recorded.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no step was recorded.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All scalars of one step, in the order of [`SCALARS`].
    pub fn row(&self, step: usize) -> [f64; SCALARS.len()] {
        self.rows[step]
    }

    /// One scalar over all steps; `None` when there is no such scalar.
    pub fn get(&self, name: &str) -> Option<Vec<f64>> {
        let column = SCALARS.iter().position(|s| s.name == name)?;
        Some(self.rows.iter().map(|row| row[column]).collect())
    }
}

impl Recording {
    /// Opens a recording, also one that is being written or was cut short.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let reader = Reader::open(path)?;
        let header = read_header(&reader)?;
        let (frames, checksums) = read_frame_table(&reader)?;
        let mut recording = Recording {
            reader,
            header,
            frames,
            checksums,
            cut_short: false,
        };
        recording.leave_out_unfinished_frame()?;
        Ok(recording)
    }

    /// What is known about the run.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// The frames.
    pub fn frames(&self) -> &[FrameRow] {
        &self.frames
    }

    /// Whether a frame was left out because its writing was cut short.
    pub fn was_cut_short(&self) -> bool {
        self.cut_short
    }

    /// The frame nearest to a time; `None` when there are no frames.
    pub fn nearest(&self, time: f64) -> Option<usize> {
        let distance = |i: &usize| (self.frames[*i].time - time).abs();
        (0..self.frames.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// A frame; panics when there is none of this index.
    pub fn frame(&self, index: usize) -> Result<Frame, RecordError> {
        let row = self.frames[index];
        let data = self.frame_bytes(index, &row)?;
        if data.checksum(&row) != self.checksums[index] {
            return Err(self.damaged(format!("the checksum of frame {index} does not match")));
        }
        let settings = &self.header.settings;
        let mut frame = Frame {
            step: row.step,
            time: row.time,
            id: data.grains[0].chunks_exact(8).map(u64::get).collect(),
            ..Default::default()
        };
        for (field, bytes) in settings.ordered_fields().zip(&data.grains[1..]) {
            field.decode(bytes, settings.precision, &mut frame);
        }
        if let Ok(columns) = <&[Vec<u8>; 10]>::try_from(data.contacts.as_slice()) {
            frame.contacts = decode_contacts(columns, settings.precision);
        }
        if let [position, orientation, force, torque] = data.walls.as_slice() {
            frame.walls = (0..self.header.walls.len())
                .map(|i| {
                    let vector = |column: &[u8]| DVec3::get(&column[24 * i..24 * (i + 1)]);
                    FrameWall {
                        pose: Pose::new(
                            vector(position),
                            DQuat::get(&orientation[32 * i..32 * (i + 1)]),
                        ),
                        force: vector(force),
                        torque: vector(torque),
                    }
                })
                .collect();
        }
        Ok(frame)
    }

    /// The scalars of all steps.
    pub fn scalars(&self) -> Result<Scalars, RecordError> {
        let ends = self.words(BLOCK_COLUMNS[0].0)?;
        let checksums = self.words(BLOCK_COLUMNS[1].0)?;
        let paths = SCALARS.map(|s| format!("scalars/{}", s.name));
        let mut available = u64::MAX;
        for path in &paths {
            available = available.min(self.reader.rows(path)?);
        }
        let blocks = ends.iter().take_while(|&&end| end <= available).count();
        let blocks = blocks.min(checksums.len());
        let count = ends[..blocks].last().copied().unwrap_or(0);
        let mut rows = vec![[0.0; SCALARS.len()]; count as usize];
        for (i, path) in paths.iter().enumerate() {
            let bytes = self.reader.read(path, Number::F64, &[], 0..count)?;
            for (row, value) in rows.iter_mut().zip(bytes.chunks_exact(8)) {
                row[i] = f64::get(value);
            }
        }
        let mut start = 0;
        for (block, (&end, &checksum)) in ends[..blocks].iter().zip(&checksums).enumerate() {
            let whole = rows.get(start..end as usize);
            if whole.map(scalar_checksum) != Some(checksum) {
                return Err(self.damaged(format!(
                    "the checksum of scalars {start}–{end} (block {block}) does not match"
                )));
            }
            start = end as usize;
        }
        Ok(Scalars { rows })
    }

    fn damaged(&self, what: String) -> RecordError {
        RecordError::Damaged {
            path: self.reader.path().to_owned(),
            what,
        }
    }

    fn words(&self, path: &str) -> Result<Vec<u64>, RecordError> {
        let bytes = self.reader.all(path, Number::U64)?;
        Ok(bytes.chunks_exact(8).map(u64::get).collect())
    }

    fn frame_bytes(&self, index: usize, row: &FrameRow) -> Result<FrameBytes, RecordError> {
        let rows = |first: u64, count: u64| -> Result<Range<u64>, RecordError> {
            let end = first.checked_add(count);
            let end = end.ok_or_else(|| self.damaged(format!("frame {index} has no end")))?;
            Ok(first..end)
        };
        let settings = &self.header.settings;
        let precision = settings.precision;
        let range = rows(row.first_grain, row.grains)?;
        let grains = std::iter::once(GRAIN_ID)
            .chain(settings.ordered_fields().map(|f| f.spec(precision)))
            .map(|s| self.reader.read(s.path, s.number, s.inner, range.clone()))
            .collect::<Result<_, _>>()?;
        let range = rows(row.first_contact, row.contacts)?;
        let contacts = if settings.contacts {
            contact_specs(precision)
                .iter()
                .map(|s| self.reader.read(s.path, s.number, s.inner, range.clone()))
                .collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        let count = self.header.walls.len() as u64;
        let range = index as u64..index as u64 + 1;
        let wall_columns = if count > 0 { &WALL_COLUMNS[..] } else { &[] };
        let walls = wall_columns
            .iter()
            .map(|(path, width, ..)| {
                self.reader
                    .read(path, Number::F64, &[count, *width], range.clone())
            })
            .collect::<Result<_, _>>()?;
        Ok(FrameBytes {
            grains,
            contacts,
            walls,
        })
    }

    /// A kill while a frame is published can leave its row in the table
    /// without the rows it refers to; only the last frame can be in that state.
    fn leave_out_unfinished_frame(&mut self) -> Result<(), RecordError> {
        let Some(last) = self.frames.len().checked_sub(1) else {
            return Ok(());
        };
        if self.frame(last).is_ok() {
            return Ok(());
        }
        self.cut_short = true;
        self.frames.pop();
        self.checksums.pop();
        match last.checked_sub(1) {
            Some(previous) => self.frame(previous).map(drop),
            None => Ok(()),
        }
    }
}

fn read_header(reader: &Reader) -> Result<RecordingHeader, RecordError> {
    let path = || reader.path().to_owned();
    if !reader.has("about/format") || !reader.has("integrity/header") {
        return Err(RecordError::Foreign { path: path() });
    }
    let damaged = |what: &str| RecordError::Damaged {
        path: path(),
        what: what.to_owned(),
    };
    let constant = |name: &str, number: Number| {
        let bytes = reader.all(name, number)?;
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
    let gravity = reader.all("about/gravity", Number::F64)?;
    if gravity.len() != DVec3::SIZE {
        return Err(damaged("about/gravity"));
    }
    let fields = text("about/fields")?;
    let header = RecordingHeader {
        name: text("about/name")?,
        scene: text("about/scene")?,
        identity: u128::from_str_radix(&text("about/identity")?, 16)
            .map(SceneIdentity)
            .map_err(|_| damaged("about/identity"))?,
        version: text("about/version")?,
        materials: names("about/materials")?,
        gravity: DVec3::get(&gravity),
        step: real("about/step")?,
        impulse_step: real("about/impulse_step")?,
        walls: read_surfaces(reader, names("walls/name")?)?,
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
    let checksum = constant("integrity/header", Number::U64).map(|b| u64::get(&b))?;
    if header_checksum(&header) == checksum {
        Ok(header)
    } else {
        Err(damaged("the checksum of its header does not match"))
    }
}

fn read_surfaces(reader: &Reader, names: Vec<String>) -> Result<Vec<WallSurface>, RecordError> {
    let numbers = |name: &str, number: Number| {
        if reader.has(name) {
            reader.all(name, number)
        } else {
            Ok(Vec::new())
        }
    };
    let words = |name: &str| -> Result<Vec<usize>, RecordError> {
        let bytes = reader.all(name, Number::U64)?;
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
    let first_vertex = words("walls/first_vertex")?;
    let first_triangle = words("walls/first_triangle")?;
    let wall = |index: usize, name: String| {
        let vertices = vertices.get(*first_vertex.get(index)?..*first_vertex.get(index + 1)?)?;
        let triangles =
            triangles.get(*first_triangle.get(index)?..*first_triangle.get(index + 1)?)?;
        let inside = |t: &[u32; 3]| t.iter().all(|&v| (v as usize) < vertices.len());
        triangles.iter().all(inside).then(|| WallSurface {
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

/// Rows of the frame table that all its columns have, and their checksums.
fn read_frame_table(reader: &Reader) -> Result<(Vec<FrameRow>, Vec<u64>), RecordError> {
    let columns = FRAME_COLUMNS
        .iter()
        .map(|(path, number, ..)| {
            let bytes = reader.all(path, *number)?;
            Ok(bytes.chunks_exact(8).map(u64::get).collect())
        })
        .collect::<Result<Vec<Vec<u64>>, RecordError>>()?;
    let count = columns.iter().map(Vec::len).min().unwrap_or(0);
    let rows = (0..count)
        .map(|i| FrameRow {
            step: columns[0][i],
            time: f64::from_bits(columns[1][i]),
            first_grain: columns[2][i],
            grains: columns[3][i],
            first_contact: columns[4][i],
            contacts: columns[5][i],
        })
        .collect();
    Ok((rows, columns[6][..count].to_vec()))
}
