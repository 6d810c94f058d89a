//! Writing a recording.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use esker_world::{StepReport, World};
use glam::DVec3;
use xxhash_rust::xxh3::Xxh3;

use crate::bytes::Plain;
use crate::error::RecordError;
use crate::frame::{Frame, LoadInterval};
use crate::hdf5::{Member, TableId, TableSpec, Writer};
use crate::header::{RecordingHeader, write_header};
use crate::joints::{JOINT_MEMBERS, JOINT_STATES, put_joint};
use crate::layout::{
    BLOCK_MEMBERS, CONTACTS, FRAME_MEMBERS, FRAMES, FrameRow, GRAINS, LOAD_MEMBERS, SCALAR_BLOCKS,
    SCALAR_TABLE, WALL_LOADS, WALL_STATES, contact_members, grain_members, put_contact, put_grains,
    put_wall, scalar_members, wall_members,
};
use crate::part::Part;
use crate::recording::{part_path, part_paths};
use crate::series::StepRows;

/// Rows per chunk of tables with one row per frame or step.
const TABLE_CHUNK_ROWS: u64 = 64;
/// Smallest and largest rows per chunk of grains and contacts.
const CHUNK_ROWS: [usize; 2] = [32, 16_384];
/// Scalars kept in memory at most until they are written without a frame.
pub(crate) const MOST_PENDING_ROWS: usize = 4096;

/// Writes a recording frame by frame. A frame is on the disk, and safe against
/// a kill, when [`Recorder::record_frame`] returns.
pub struct Recorder {
    header: RecordingHeader,
    writer: Writer,
    chunk_rows: u64,
    grains: Table,
    contacts: Option<Table>,
    walls: Table,
    /// Where there are joints.
    joints: Option<Table>,
    frames: Table,
    scalars: Table,
    wall_loads: Table,
    blocks: Table,
    probes: Vec<Table>,
    pending: StepRows,
    interval: LoadInterval,
}

/// How far a file of a recording belongs to a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingMark {
    /// Frames.
    pub frames: u64,
    /// Rows of scalars.
    pub scalar_rows: u64,
}

/// A recording that goes on.
pub struct Continued {
    /// What writes it.
    pub recorder: Recorder,
    /// Why the file could not be continued, where that is so, and the new part.
    pub lost: Option<(RecordError, PathBuf)>,
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
        mut header: RecordingHeader,
        expected_grains: usize,
    ) -> Result<Self, RecordError> {
        if !header.shapes.is_empty() {
            header.settings.add_shapes();
        }
        let mut writer = Writer::create(path)?;
        write_header(&mut writer, &header)?;
        let [min, most] = CHUNK_ROWS;
        let chunk_rows = expected_grains.clamp(min, most) as u64;
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
            wall_members(header.format()),
            "poses and loads of all walls, frame after frame",
            false,
        )?;
        let joints = if header.joints.is_empty() {
            None
        } else {
            let meaning = "places, coordinates and loads of all joints, frame after frame";
            Some(table(JOINT_STATES, &JOINT_MEMBERS, meaning, false)?)
        };
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
            joints,
            frames,
            scalars,
            wall_loads,
            blocks,
            probes,
            pending: StepRows::default(),
            interval: LoadInterval::default(),
        })
    }

    /// Continues the recording of a run that a checkpoint restored to `world`.
    ///
    /// What the file holds beyond the checkpoint is cut off. A file that is
    /// lost, or damaged before the checkpoint's place in it, stays as it is, and
    /// a new part is begun (see [`part_path`]).
    ///
    /// `header` is that of the scene as it is now; the quantities recorded stay
    /// those of the file.
    pub fn continue_run(
        recording: &Path,
        header: RecordingHeader,
        mark: RecordingMark,
        world: &World,
    ) -> Result<Continued, RecordError> {
        let steps_done = world.steps_done();
        let (parts, later): (Vec<_>, Vec<_>) = part_paths(recording)
            .into_iter()
            .partition(|(start, _)| *start <= steps_done);
        // They are of a past that is being replaced.
        for (_, path) in later {
            fs::remove_file(&path).map_err(|e| write_error(&path, &e))?;
        }
        let first = (0, recording.to_owned());
        let (start, path) = parts.last().unwrap_or(&first);
        let old = Part::open(path);
        let mut header = header;
        if let Ok(old) = &old {
            if old.header().identity != header.identity {
                return Err(RecordError::OtherScene { path: path.clone() });
            }
            header.take_over(old.header());
        }
        // A part that begins here holds nothing yet that belongs to the run, and
        // the mark is one in the part before.
        let begins_here = *start > 0 && *start == steps_done;
        let resumed = match old {
            Ok(_) if begins_here => Err(None),
            Ok(old) => {
                let end = (mark, steps_done);
                Recorder::resume_part(path, &old, &header, end).map_err(Some)
            }
            Err(error) => Err(Some(error)),
        };
        let (mut recorder, lost) = match resumed {
            Ok(recorder) => (recorder, None),
            Err(Some(error)) if !error.is_loss() => return Err(error),
            Err(lost) => {
                let path = part_path(recording, steps_done);
                let recorder = Recorder::create(&path, header, world.grain_count())?;
                (recorder, lost.map(|error| (error, path)))
            }
        };
        if recorder.frames() == 0 {
            recorder.interval = LoadInterval::from_now(world);
        }
        Ok(Continued { recorder, lost })
    }

    /// Continues a file after its first frames and rows of scalars; what
    /// follows them is cut off. They are copied to a new file that takes the old
    /// one's place when it is complete: a kill at any moment leaves one that can
    /// be read.
    fn resume_part(
        path: &Path,
        old: &Part,
        header: &RecordingHeader,
        (mark, steps_done): (RecordingMark, u64),
    ) -> Result<Self, RecordError> {
        let mut steps = old.steps()?.undamaged()?.rows;
        let found = old.frames().len() as u64;
        if found < mark.frames || (steps.len() as u64) < mark.scalar_rows {
            return Err(RecordError::TooShort {
                path: path.to_owned(),
                found,
                expected: mark.frames,
            });
        }
        let kept = &old.frames()[..mark.frames as usize];
        let expected_grains = kept.iter().map(|f| f.grains as usize).max().unwrap_or(0);
        let partial = partial_path(path);
        let mut new = Recorder::create(&partial, header.clone(), expected_grains)?;
        for index in 0..kept.len() {
            new.write_frame(&old.frame(index)?)?;
        }
        steps.truncate(mark.scalar_rows as usize, header.walls.len());
        for (probe, table) in header.probes.iter().enumerate() {
            let rows = old.probe_rows(probe, table)?.into_iter();
            steps
                .probes
                .extend(rows.filter(|row| row.step <= steps_done));
        }
        new.add_steps(&steps)?;
        new.flush()?;
        fs::rename(&partial, path).map_err(|e| write_error(path, &e))?;
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

    /// How far the file belongs to the run so far, rows not yet written included.
    pub fn mark(&self) -> RecordingMark {
        RecordingMark {
            frames: self.frames(),
            scalar_rows: self.scalar_rows(),
        }
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
        self.record(&frame.rescaled(world.substep(), self.header.impulse_step))
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
        let data = match self.header.origin {
            DVec3::ZERO => FrameBytes::of(frame, &self.header),
            origin => FrameBytes::of(&frame.clone().shifted(-origin), &self.header),
        };
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
        if let Some(joints) = &mut self.joints {
            joints.append(writer, &data.joints)?;
        }
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
    pub(crate) joints: Vec<u8>,
}

impl FrameBytes {
    fn of(frame: &Frame, header: &RecordingHeader) -> Self {
        let settings = &header.settings;
        let (mut contacts, mut walls, mut joints) = (Vec::new(), Vec::new(), Vec::new());
        for contact in &frame.contacts {
            put_contact(&mut contacts, contact, settings.precision);
        }
        frame.walls.iter().for_each(|w| put_wall(&mut walls, w));
        // A recording that was begun without joints goes on without.
        let recorded = frame.joints.iter().take(header.joints.len());
        recorded.for_each(|joint| put_joint(&mut joints, joint));
        FrameBytes {
            grains: put_grains(frame, settings),
            contacts,
            walls,
            joints,
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
        let tables = [&self.grains, &self.contacts, &self.walls, &self.joints];
        for part in [&bytes].into_iter().chain(tables) {
            hash.update(part);
        }
        hash.digest()
    }
}

fn write_error(path: &Path, error: &io::Error) -> RecordError {
    RecordError::Write {
        path: path.to_owned(),
        why: error.to_string(),
    }
}

fn partial_path(path: &Path) -> PathBuf {
    path.with_extension("h5.partial")
}
