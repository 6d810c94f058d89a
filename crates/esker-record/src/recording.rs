//! Reading a recording.
//!
//! Nothing in the file is trusted: the library checks its own structures, and
//! checksums of ours cover every number that is returned. A frame whose writing
//! was cut short by a kill is left out; damage anywhere else is an error.

use std::path::Path;

use crate::bytes::{Malformed, Plain, Source};
use crate::error::RecordError;
use crate::frame::Frame;
use crate::hdf5::{Reader, row_size};
use crate::header::{RecordingHeader, read_header};
use crate::layout::{
    BLOCK_MEMBERS, CONTACTS, FRAME_MEMBERS, FRAMES, FrameRow, GRAINS, LOAD_MEMBERS, SCALAR_BLOCKS,
    SCALAR_TABLE, WALL_LOADS, WALL_STATES, contact_members, get_contact, get_grains, get_wall,
    grain_members, scalar_members, wall_members,
};
use crate::probes::ProbeRow;
use crate::recorder::{FrameBytes, block_checksum};
use crate::series::{Scalars, StepRows, UNKNOWN_LOAD, get_load};

/// An open recording.
pub struct Recording {
    reader: Reader,
    header: RecordingHeader,
    format: u32,
    frames: Vec<FrameRow>,
    cut_short: bool,
}

impl Recording {
    /// Opens a recording, also one that is being written or was cut short.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let reader = Reader::open(path)?;
        let (header, format) = read_header(&reader)?;
        let rows = reader.rows(FRAMES)?;
        let bytes = reader.read(FRAMES, row_size(&FRAME_MEMBERS), 0..rows)?;
        let mut source = Source::new(&bytes);
        let frames = (0..rows)
            .map(|_| FrameRow::get(&mut source))
            .collect::<Result<_, _>>()
            .map_err(|Malformed| RecordError::Damaged {
                path: path.to_owned(),
                what: "the table of frames is incomplete".into(),
            })?;
        let mut recording = Recording {
            reader,
            header,
            format,
            frames,
            cut_short: false,
        };
        recording.leave_out_unfinished_frame()?;
        Ok(recording)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.reader.path()
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
        Ok(frame)
    }

    /// The scalars and wall loads of all steps.
    pub fn scalars(&self) -> Result<Scalars, RecordError> {
        let available = self.reader.rows(SCALAR_TABLE)?;
        let blocks = self.reader.rows(SCALAR_BLOCKS)?;
        let blocks = self
            .reader
            .read(SCALAR_BLOCKS, row_size(&BLOCK_MEMBERS), 0..blocks)?;
        let size = row_size(&scalar_members());
        let walls = self.header.walls.len() as u64;
        let has_loads = self.format > 1;
        let available_loads = if has_loads {
            self.reader.rows(WALL_LOADS)?
        } else {
            0
        };
        let mut rows = StepRows::default();
        let mut start = 0;
        for block in blocks.chunks_exact(row_size(&BLOCK_MEMBERS)) {
            let (end, checksum) = (u64::get(&block[..8]), u64::get(&block[8..]));
            let last_load = end.saturating_mul(walls);
            if end > available || (has_loads && last_load > available_loads) {
                // Cut short while it was published.
                break;
            }
            let bytes = self.reader.read(SCALAR_TABLE, size, start..end)?;
            let loads = if has_loads {
                let range = start * walls..last_load;
                self.reader
                    .read(WALL_LOADS, row_size(&LOAD_MEMBERS), range)?
            } else {
                Vec::new()
            };
            if block_checksum(&bytes, &loads) != checksum {
                return Err(self.damaged(format!(
                    "the checksum of scalars {start}–{end} does not match"
                )));
            }
            let mut source = Source::new(&loads);
            for _ in start * walls..last_load {
                let load = if has_loads {
                    get_load(&mut source).map_err(|Malformed| {
                        self.damaged(format!("loads of steps {start}–{end} are incomplete"))
                    })?
                } else {
                    UNKNOWN_LOAD
                };
                rows.loads.push(load);
            }
            rows.scalars.extend(
                bytes
                    .chunks_exact(size)
                    .map(|row| std::array::from_fn(|i| f64::get(&row[8 * i..8 * (i + 1)]))),
            );
            start = end;
        }
        Ok(Scalars {
            rows,
            walls: self.header.walls.iter().map(|w| w.name.clone()).collect(),
        })
    }

    /// Rows of the probe with this index in the header, in their order; panics
    /// when there is none.
    pub fn probe_rows(&self, probe: usize) -> Result<Vec<ProbeRow>, RecordError> {
        let table = &self.header.probes[probe];
        let (path, size) = (table.path(), table.row_size());
        let bytes = self.reader.read(&path, size, 0..self.reader.rows(&path)?)?;
        let found: Vec<_> = bytes
            .chunks_exact(size)
            .map(|row| table.row(probe, row))
            .collect();
        // Rows at the end may have been cut short while they were published.
        let whole = found.iter().rposition(Result::is_ok).map_or(0, |i| i + 1);
        let rows = found.into_iter().take(whole).collect::<Result<_, _>>();
        rows.map_err(|Malformed| {
            self.damaged(format!("the checksum of a row of `{path}` does not match"))
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
        Ok(FrameBytes {
            grains: self.reader.read(
                GRAINS,
                row_size(&grain_members(settings)),
                rows(row.first_grain, row.grains)?,
            )?,
            contacts: if settings.contacts {
                self.reader.read(
                    CONTACTS,
                    row_size(&contact_members(settings.precision)),
                    rows(row.first_contact, row.contacts)?,
                )?
            } else {
                Vec::new()
            },
            walls: self.reader.read(
                WALL_STATES,
                row_size(wall_members(self.format)),
                rows(index as u64 * walls, walls)?,
            )?,
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
        match last.checked_sub(1) {
            Some(previous) => self.frame(previous).map(drop),
            None => Ok(()),
        }
    }
}
