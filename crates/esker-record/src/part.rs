//! Reading one file of a recording.
//!
//! Nothing in the file is trusted: the library checks its own structures, and
//! checksums of ours cover every number that is returned. What cannot be read at
//! the end, because of a kill or because the file was cut, is left out; damage
//! anywhere else is an error.

use std::ops::Range;
use std::path::Path;

use esker_world::WallLoad;

use crate::bytes::{Malformed, Plain, Source};
use crate::error::RecordError;
use crate::frame::Frame;
use crate::hdf5::{Member, Reader, row_size};
use crate::header::{RecordingHeader, read_header};
use crate::joints::{JOINT_MEMBERS, JOINT_STATES, get_joint};
use crate::layout::{
    BLOCK_MEMBERS, CONTACTS, FRAME_MEMBERS, FRAMES, FrameRow, GRAINS, LOAD_MEMBERS, SCALAR_BLOCKS,
    SCALAR_TABLE, WALL_LOADS, WALL_STATES, contact_members, get_contact, get_grains, get_wall,
    grain_members, scalar_members, wall_members,
};
use crate::probes::{ProbeRow, ProbeTable};
use crate::recorder::{FrameBytes, block_checksum};
use crate::series::{StepRows, UNKNOWN_LOAD, get_load};

/// Rows of a table that are read at once where not all can be.
const ROWS_AT_ONCE: u64 = 64;

/// An open file of a recording.
pub(crate) struct Part {
    reader: Reader,
    header: RecordingHeader,
    format: u32,
    frames: Vec<FrameRow>,
    left_out: u64,
}

/// Steps of a file as far as they can be read.
pub(crate) struct PartSteps {
    pub(crate) rows: StepRows,
    /// Whether the end is missing.
    pub(crate) cut: bool,
    /// What ends them, where good ones follow it.
    pub(crate) damage: Option<RecordError>,
}

impl PartSteps {
    /// Refuses what is damaged before good steps.
    pub(crate) fn undamaged(self) -> Result<Self, RecordError> {
        match self.damage {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

impl Part {
    /// Opens a file, also one that is being written or was cut short.
    pub(crate) fn open(path: &Path) -> Result<Self, RecordError> {
        let reader = Reader::open(path)?;
        let (header, format) = read_header(&reader)?;
        let frames = read_start(&reader, FRAMES, &FRAME_MEMBERS)?
            .chunks_exact(row_size(&FRAME_MEMBERS))
            .map(|row| FrameRow::get(&mut Source::new(row)))
            .collect::<Result<_, _>>()
            .map_err(|Malformed| RecordError::Damaged {
                path: path.to_owned(),
                what: "the table of frames is incomplete".into(),
            })?;
        let mut part = Part {
            reader,
            header,
            format,
            frames,
            left_out: 0,
        };
        part.leave_out_bad_end();
        part.left_out = part.reader.rows(FRAMES)? - part.frames.len() as u64;
        Ok(part)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        self.reader.path()
    }

    /// What is known about the run.
    pub(crate) fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// The frames that can be read.
    pub(crate) fn frames(&self) -> &[FrameRow] {
        &self.frames
    }

    /// Frames at the end that cannot be read.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// A frame; panics when there is none of this index.
    pub(crate) fn frame(&self, index: usize) -> Result<Frame, RecordError> {
        let row = self.frames[index];
        let data = self.frame_bytes(index, &row)?;
        if data.checksum(&row) != row.checksum {
            return Err(self.damaged(format!("the checksum of frame {index} does not match")));
        }
        self.decode(&row, &data)
            .map_err(|Malformed| self.damaged(format!("frame {index} is incomplete")))
    }

    fn decode(&self, row: &FrameRow, data: &FrameBytes) -> Result<Frame, Malformed> {
        let settings = &self.header.settings;
        let mut frame = Frame {
            step: row.step,
            time: row.time,
            ..Default::default()
        };
        get_grains(
            &mut Source::new(&data.grains),
            row.grains,
            &mut frame,
            settings,
        )?;
        let mut source = Source::new(&data.contacts);
        frame.contacts = (0..row.contacts)
            .map(|_| get_contact(&mut source, settings.precision))
            .collect::<Result<_, _>>()?;
        let mut source = Source::new(&data.walls);
        frame.walls = (0..self.header.walls.len())
            .map(|_| get_wall(&mut source, self.format))
            .collect::<Result<_, _>>()?;
        let mut source = Source::new(&data.joints);
        frame.joints = (0..self.header.joints.len())
            .map(|_| get_joint(&mut source))
            .collect::<Result<_, _>>()?;
        Ok(frame.shifted(self.header.origin))
    }

    /// The scalars and wall loads of all steps, as far as they are good.
    pub(crate) fn steps(&self) -> Result<PartSteps, RecordError> {
        let blocks = read_start(&self.reader, SCALAR_BLOCKS, &BLOCK_MEMBERS)?;
        let mut start = 0;
        let blocks: Vec<StepBlock> = blocks
            .chunks_exact(row_size(&BLOCK_MEMBERS))
            .map(|bytes| {
                let end = u64::get(&bytes[..8]);
                let block = StepBlock {
                    rows: start..end,
                    checksum: u64::get(&bytes[8..]),
                };
                start = end;
                block
            })
            .collect();
        let mut rows = StepRows::default();
        for (index, block) in blocks.iter().enumerate() {
            match self.read_block(block) {
                Ok(steps) => rows.append(&steps),
                Err(error) => {
                    let mut later = blocks[index + 1..].iter();
                    let goes_on = later.any(|later| self.read_block(later).is_ok());
                    return Ok(PartSteps {
                        rows,
                        cut: true,
                        damage: goes_on.then_some(error),
                    });
                }
            }
        }
        let cut = (blocks.len() as u64) < self.reader.rows(SCALAR_BLOCKS)?;
        Ok(PartSteps {
            rows,
            cut,
            damage: None,
        })
    }

    /// Rows of a probe as far as they are good, in their order, by the index that
    /// it has in the run; none where the file has no such probe. Damage before
    /// good ones is an error.
    pub(crate) fn probe_rows(
        &self,
        probe: usize,
        table: &ProbeTable,
    ) -> Result<Vec<ProbeRow>, RecordError> {
        if !self.header.probes.contains(table) {
            return Ok(Vec::new());
        }
        let (path, size) = (table.path(), table.row_size());
        let bytes = read_start(&self.reader, &path, &table.members())?;
        let found: Vec<_> = bytes
            .chunks_exact(size)
            .map(|row| table.row(probe, row))
            .collect();
        // Rows at the end may have been cut short while they were published.
        let good = found.iter().rposition(Result::is_ok).map_or(0, |i| i + 1);
        let rows = found.into_iter().take(good).collect::<Result<_, _>>();
        rows.map_err(|Malformed| {
            self.damaged(format!("the checksum of a row of `{path}` does not match"))
        })
    }

    fn read_block(&self, block: &StepBlock) -> Result<StepRows, RecordError> {
        let Range { start, end } = block.rows;
        let size = self.reader.row_size(SCALAR_TABLE)?;
        if size % 8 != 0 || size > row_size(&scalar_members()) {
            return Err(self.damaged(format!("its scalars have {size} bytes per row")));
        }
        let walls = self.header.walls.len() as u64;
        let range = start.saturating_mul(walls)..end.saturating_mul(walls);
        // Older files lack the last scalars.
        let members = &scalar_members()[..size / 8];
        let bytes = self.reader.read(SCALAR_TABLE, members, start..end)?;
        let has_loads = self.format > 1;
        let load_bytes = if has_loads {
            self.reader.read(WALL_LOADS, &LOAD_MEMBERS, range.clone())?
        } else {
            Vec::new()
        };
        if block_checksum(&bytes, &load_bytes) != block.checksum {
            return Err(self.damaged(format!(
                "the checksum of scalars {start}–{end} does not match"
            )));
        }
        let mut source = Source::new(&load_bytes);
        let mut load = || match has_loads {
            true => get_load(&mut source),
            false => Ok(UNKNOWN_LOAD),
        };
        let loads: Result<Vec<WallLoad>, Malformed> = range.map(|_| load()).collect();
        Ok(StepRows {
            scalars: bytes
                .chunks_exact(size)
                .map(|row| {
                    let number = |i: usize| row.get(8 * i..8 * (i + 1));
                    std::array::from_fn(|i| number(i).map_or(f64::NAN, f64::get))
                })
                .collect(),
            loads: loads.map_err(|Malformed| {
                self.damaged(format!("loads of steps {start}–{end} are incomplete"))
            })?,
            probes: Vec::new(),
        })
    }

    fn damaged(&self, what: String) -> RecordError {
        RecordError::Damaged {
            path: self.reader.path().to_owned(),
            what,
        }
    }

    fn frame_bytes(&self, index: usize, row: &FrameRow) -> Result<FrameBytes, RecordError> {
        let rows = |first: u64, count: u64| match first.checked_add(count) {
            Some(end) => Ok(first..end),
            None => Err(self.damaged(format!("frame {index} has no end"))),
        };
        let settings = &self.header.settings;
        let walls = self.header.walls.len() as u64;
        let joints = self.header.joints.len() as u64;
        Ok(FrameBytes {
            grains: self.reader.read(
                GRAINS,
                &grain_members(settings),
                rows(row.first_grain, row.grains)?,
            )?,
            contacts: if settings.contacts {
                self.reader.read(
                    CONTACTS,
                    &contact_members(settings.precision),
                    rows(row.first_contact, row.contacts)?,
                )?
            } else {
                Vec::new()
            },
            walls: self.reader.read(
                WALL_STATES,
                wall_members(self.format),
                rows(index as u64 * walls, walls)?,
            )?,
            joints: match joints {
                0 => Vec::new(),
                _ => {
                    let range = rows(index as u64 * joints, joints)?;
                    self.reader.read(JOINT_STATES, &JOINT_MEMBERS, range)?
                }
            },
        })
    }

    /// Leaves out the frames at the end that cannot be read. A kill while a
    /// frame is published can leave its row in the table without the rows it
    /// refers to; a file that was cut lacks more.
    fn leave_out_bad_end(&mut self) {
        let is_good = |index: usize| self.frame(index).is_ok();
        let good = match self.frames.len() {
            0 => 0,
            count if is_good(count - 1) => count,
            count if count > 1 && is_good(count - 2) => count - 1,
            count => (0..count).find(|&i| !is_good(i)).unwrap_or(count),
        };
        self.frames.truncate(good);
    }
}

/// A stretch of steps with a checksum of its own.
struct StepBlock {
    rows: Range<u64>,
    checksum: u64,
}

/// Rows of a table; where it cannot be read as a whole, those at its start.
fn read_start(reader: &Reader, path: &str, members: &[Member]) -> Result<Vec<u8>, RecordError> {
    let rows = reader.rows(path)?;
    if let Ok(bytes) = reader.read(path, members, 0..rows) {
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    for start in (0..rows).step_by(ROWS_AT_ONCE as usize) {
        match reader.read(path, members, start..rows.min(start + ROWS_AT_ONCE)) {
            Ok(more) => bytes.extend(more),
            Err(_) => break,
        }
    }
    Ok(bytes)
}
