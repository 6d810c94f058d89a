//! Writing a recording.

use std::fs;
use std::path::{Path, PathBuf};

use esker_world::{StepReport, World};
use xxhash_rust::xxh3::Xxh3;

use crate::SceneIdentity;
use crate::bytes::Plain;
use crate::error::RecordError;
use crate::frame::{Frame, LoadInterval};
use crate::hdf5::{Member, TableId, TableSpec, Writer};
use crate::header::{RECORDING_FORMAT, RecordingHeader, write_header};
use crate::layout::{
    BLOCK_MEMBERS, CONTACTS, FRAME_MEMBERS, FRAMES, FrameRow, GRAINS, LOAD_MEMBERS, RecordSettings,
    SCALAR_BLOCKS, SCALAR_TABLE, WALL_LOADS, WALL_STATES, contact_members, grain_members,
    put_contact, put_grains, put_wall, scalar_members, wall_members,
};
use crate::recording::Recording;
use crate::series::StepRows;

/// Rows per chunk of tables with one row per frame or step.
const TABLE_CHUNK_ROWS: u64 = 64;
/// Least and greatest rows per chunk of grains and contacts.
const CHUNK_ROWS: [usize; 2] = [32, 16_384];
/// Scalars kept in memory at most until they are written without a frame.
const MOST_PENDING_ROWS: usize = 4096;

/// Writes a recording frame by frame. A frame is on the disk, and safe against
/// a kill, when [`Recorder::record_frame`] returns.
pub struct Recorder {
    header: RecordingHeader,
    writer: Writer,
    chunk_rows: u64,
    grains: Table,
    contacts: Option<Table>,
    walls: Table,
    frames: Table,
    scalars: Table,
    wall_loads: Table,
    blocks: Table,
    probes: Vec<Table>,
    pending: StepRows,
    interval: LoadInterval,
}

/// A table and its end.
struct Table {
    id: TableId,
    rows: u64,
}

impl Table {
    fn append(&mut self, writer: &mut Writer, bytes: &[u8]) -> Result<(), RecordError> {
        self.rows += writer.write(self.id, self.rows, bytes)?;
        Ok(())
    }
}

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
        let mut table = |path: &str, members: &[Member<'_>], meaning, many: bool| {
            let id = writer.table(&TableSpec {
                path,
                members,
                chunk_rows: if many { chunk_rows } else { TABLE_CHUNK_ROWS },
                compression: if many { settings.compression } else { 0 },
                meaning,
            })?;
            Ok(Table { id, rows: 0 })
        };
        let grains = table(
            GRAINS,
            &grain_members(settings),
            "grains of all frames; a frame has the rows first_grain to first_grain + grains",
            true,
        )?;
        let contacts = if settings.contacts {
            Some(table(
                CONTACTS,
                &contact_members(settings.precision),
                "contacts of all frames; a frame has the rows first_contact to first_contact + contacts",
                true,
            )?)
        } else {
            None
        };
        let walls = table(
            WALL_STATES,
            wall_members(RECORDING_FORMAT),
            "poses and loads of all walls, frame after frame",
            false,
        )?;
        let scalars = table(SCALAR_TABLE, &scalar_members(), "one row per step", false)?;
        let wall_loads = table(
            WALL_LOADS,
            &LOAD_MEMBERS,
            "one row per step and wall: all walls of the first step, of the second, …",
            false,
        )?;
        let probes = header
            .probes
            .iter()
            .map(|probe| table(&probe.path(), &probe.members(), "rows of a probe", false))
            .collect::<Result<_, _>>()?;
        // Tables come last whose new rows refer to rows of the others.
        let blocks = table(
            SCALAR_BLOCKS,
            &BLOCK_MEMBERS,
            "checksums by which damage of scalars and wall_loads is found",
            false,
        )?;
        let frames = table(FRAMES, &FRAME_MEMBERS, "one row per frame", false)?;
        writer.start()?;
        Ok(Recorder {
            header,
            writer,
            chunk_rows,
            grains,
            contacts,
            walls,
            frames,
            scalars,
            wall_loads,
            blocks,
            probes,
            pending: StepRows::default(),
            interval: LoadInterval::default(),
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
        let mut scalars = old.scalars()?;
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
        scalars.truncate(scalar_rows as usize);
        let last_step = scalars.get("step").and_then(|steps| steps.last().copied());
        for probe in 0..old.header().probes.len() {
            let rows = old.probe_rows(probe)?.into_iter();
            let kept = rows.filter(|row| row.step as f64 <= last_step.unwrap_or(0.0));
            new.pending.probes.extend(kept);
        }
        new.add_steps(&scalars.rows)?;
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
        self.pending.push(world, report);
        self.flush_if_many()
    }

    /// Records the world as a frame, and all scalars so far.
    pub fn record_frame(&mut self, world: &World) -> Result<(), RecordError> {
        let frame = Frame::of(world, &self.header.settings, &self.interval);
        self.record(&frame.rescaled(world.row_step(), self.header.impulse_step))
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

    /// Where the interval of the next frame's mean loads starts: at the last one.
    pub(crate) fn interval(&self) -> &LoadInterval {
        &self.interval
    }

    /// Adds rows of steps, to be written with the next frame or flush.
    pub(crate) fn add_steps(&mut self, rows: &StepRows) -> Result<(), RecordError> {
        self.pending.append(rows);
        self.flush_if_many()
    }

    fn flush_if_many(&mut self) -> Result<(), RecordError> {
        if self.pending.len() < MOST_PENDING_ROWS {
            return Ok(());
        }
        self.flush()
    }

    fn write_pending(&mut self) -> Result<(), RecordError> {
        for row in std::mem::take(&mut self.pending.probes) {
            let probe = self.header.probes.get(row.probe);
            let (Some(probe), Some(table)) = (probe, self.probes.get_mut(row.probe)) else {
                return Err(RecordError::NoProbe { index: row.probe });
            };
            table.append(&mut self.writer, &probe.bytes(&row))?;
        }
        if self.pending.len() == 0 {
            return Ok(());
        }
        let [scalars, loads] = self.pending.bytes();
        self.scalars.append(&mut self.writer, &scalars)?;
        self.wall_loads.append(&mut self.writer, &loads)?;
        let mut block = Vec::new();
        self.scalars.rows.put(&mut block);
        block_checksum(&scalars, &loads).put(&mut block);
        self.blocks.append(&mut self.writer, &block)?;
        self.pending.clear();
        Ok(())
    }

    /// First row of the next frame in a table that ends at `end`: the next
    /// chunk where chunks are compressed.
    fn next_row(&self, end: u64) -> u64 {
        if self.header.settings.compression > 0 {
            end.next_multiple_of(self.chunk_rows)
        } else {
            end
        }
    }

    fn write_frame(&mut self, frame: &Frame) -> Result<(), RecordError> {
        let data = FrameBytes::of(frame, &self.header.settings);
        let mut row = FrameRow {
            step: frame.step,
            time: frame.time,
            first_grain: self.next_row(self.grains.rows),
            grains: frame.id.len() as u64,
            first_contact: self.next_row(self.contacts.as_ref().map_or(0, |c| c.rows)),
            contacts: frame.contacts.len() as u64,
            checksum: 0,
        };
        row.checksum = data.checksum(&row);
        let writer = &mut self.writer;
        self.grains.rows = row.first_grain;
        self.grains.append(writer, &data.grains)?;
        if let Some(contacts) = &mut self.contacts {
            contacts.rows = row.first_contact;
            contacts.append(writer, &data.contacts)?;
        }
        self.walls.append(writer, &data.walls)?;
        let mut bytes = Vec::new();
        row.put(&mut bytes);
        self.interval = LoadInterval::after(frame);
        self.frames.append(writer, &bytes)
    }
}

/// Checksum of a block of steps: scalars, then loads of walls.
pub(crate) fn block_checksum(scalars: &[u8], loads: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(scalars);
    hash.update(loads);
    hash.digest()
}

/// Everything of a frame as it is stored.
pub(crate) struct FrameBytes {
    pub(crate) grains: Vec<u8>,
    pub(crate) contacts: Vec<u8>,
    pub(crate) walls: Vec<u8>,
}

impl FrameBytes {
    fn of(frame: &Frame, settings: &RecordSettings) -> Self {
        let (mut contacts, mut walls) = (Vec::new(), Vec::new());
        for contact in &frame.contacts {
            put_contact(&mut contacts, contact, settings.precision);
        }
        frame.walls.iter().for_each(|w| put_wall(&mut walls, w));
        FrameBytes {
            grains: put_grains(frame, settings),
            contacts,
            walls,
        }
    }

    /// Checksum of the frame and its row, but for the checksum in it.
    pub(crate) fn checksum(&self, row: &FrameRow) -> u64 {
        let mut bytes = Vec::new();
        FrameRow {
            checksum: 0,
            ..*row
        }
        .put(&mut bytes);
        let mut hash = Xxh3::new();
        for part in [&bytes, &self.grains, &self.contacts, &self.walls] {
            hash.update(part);
        }
        hash.digest()
    }
}

fn partial_path(path: &Path) -> PathBuf {
    path.with_extension("h5.partial")
}
