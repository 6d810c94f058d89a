//! Reading a recording: one file, or several where a run was continued without
//! the file that it had written.
//!
//! A run writes `recording.h5`. When that cannot be continued, because it was
//! lost or damaged, the run goes on in a part of its own,
//! `recording-from-step-1200.h5`, and all parts are read as one: each as far as
//! it is good and up to the start of the next.

use std::path::{Path, PathBuf};

use crate::error::RecordError;
use crate::frame::Frame;
use crate::header::RecordingHeader;
use crate::layout::{FrameRow, SCALARS};
use crate::part::Part;
use crate::probes::ProbeRow;
use crate::series::Scalars;

/// What stands between a recording's name and a part's first step.
const FROM_STEP: &str = "-from-step-";

/// An open recording.
pub struct Recording {
    path: PathBuf,
    /// Those that can be read, in the order of time, with the steps done before.
    parts: Vec<(u64, Part)>,
    frames: Vec<FrameRow>,
    /// Part of each frame, and its index there.
    places: Vec<(usize, usize)>,
    gaps: Vec<String>,
}

/// The file of the part of a recording that begins after so many steps.
pub fn part_path(recording: &Path, steps_done: u64) -> PathBuf {
    if steps_done == 0 {
        return recording.to_owned();
    }
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
    recording.with_file_name(format!("{stem}{FROM_STEP}{steps_done}.h5"))
}

/// The files of a recording with the steps done before each, in the order of
/// time. The first is listed whether it is there or not.
pub(crate) fn part_paths(recording: &Path) -> Vec<(u64, PathBuf)> {
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
    let prefix = format!("{stem}{FROM_STEP}");
    let first_step = |name: &str| -> Option<u64> {
        let digits = name.strip_prefix(&prefix)?.strip_suffix(".h5")?;
        digits.parse().ok().filter(|&step| step > 0)
    };
    let folder = match recording.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A folder that cannot be listed has the one file that was named.
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut parts: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| first_step(&entry.file_name().to_string_lossy()))
        .map(|step| (step, part_path(recording, step)))
        .collect();
    parts.push((0, recording.to_owned()));
    parts.sort_unstable();
    parts
}

impl Recording {
    /// Opens a recording with all its parts, also one that is being written or
    /// was cut short.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let (mut parts, mut errors) = (Vec::new(), Vec::new());
        for (start, path) in part_paths(path) {
            match Part::open(&path) {
                Ok(part) => parts.push((start, part)),
                Err(error) => errors.push(error),
            }
        }
        let Some((_, newest)) = parts.last() else {
            // The first file is always listed, so that there is an error.
            return Err(errors.swap_remove(0));
        };
        let mut gaps: Vec<String> = errors
            .iter()
            .map(|error| format!("{error}; it is left out"))
            .collect();
        let header = newest.header().clone();
        parts.retain(|(_, part)| {
            let belongs = part.header().continues_as(&header);
            if !belongs {
                gaps.push(format!(
                    "`{}` does not belong to the later parts; it is left out",
                    part.path().display()
                ));
            }
            belongs
        });
        let mut recording = Recording {
            path: path.to_owned(),
            parts,
            frames: Vec::new(),
            places: Vec::new(),
            gaps,
        };
        recording.list_frames();
        Ok(recording)
    }

    fn list_frames(&mut self) {
        for (index, (_, part)) in self.parts.iter().enumerate() {
            let end = self.end_of(index);
            for (i, frame) in part.frames().iter().enumerate() {
                if frame.step <= end {
                    self.frames.push(*frame);
                    self.places.push((index, i));
                }
            }
            if part.left_out() > 0 {
                self.gaps.push(format!(
                    "`{}` was cut short: {} of its frames cannot be read and are left out",
                    part.path().display(),
                    part.left_out()
                ));
            }
        }
    }

    /// The last step of a part: after it the next one begins.
    fn end_of(&self, part: usize) -> u64 {
        self.parts.get(part + 1).map_or(u64::MAX, |next| next.0)
    }

    fn newest(&self) -> &Part {
        // `open` keeps at least one, the one that the others are compared with.
        &self.parts[self.parts.len() - 1].1
    }

    /// The file, or the first of several.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All files that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|(_, part)| part.path())
    }

    /// What is known about the run.
    pub fn header(&self) -> &RecordingHeader {
        self.newest().header()
    }

    /// The frames.
    pub fn frames(&self) -> &[FrameRow] {
        &self.frames
    }

    /// What is missing of the run, in words: frames at the end of a file that
    /// cannot be read, files that cannot.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// The frame nearest to a time; `None` when there are no frames.
    pub fn nearest(&self, time: f64) -> Option<usize> {
        let distance = |i: &usize| (self.frames[*i].time - time).abs();
        (0..self.frames.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// A frame; panics when there is none of this index.
    pub fn frame(&self, index: usize) -> Result<Frame, RecordError> {
        let (part, index) = self.places[index];
        let part = &self.parts[part].1;
        let steps = (part.header().impulse_step, self.header().impulse_step);
        Ok(part.frame(index)?.rescaled(steps.0, steps.1))
    }

    /// The scalars and wall loads of all steps that can be read.
    pub fn scalars(&self) -> Result<Scalars, RecordError> {
        let mut scalars = Scalars::start(self.header());
        let step = SCALARS.iter().position(|s| s.name == "step");
        for (index, (_, part)) in self.parts.iter().enumerate() {
            let mut steps = part.steps()?;
            if index + 1 == self.parts.len() {
                // Damage of an earlier part is why there is a later one.
                steps = steps.undamaged()?;
            }
            scalars.is_complete &= !steps.cut;
            if let Some(column) = step {
                let end = self.end_of(index) as f64;
                let kept = steps
                    .rows
                    .scalars
                    .iter()
                    .take_while(|row| row[column] <= end);
                let kept = kept.count();
                steps.rows.truncate(kept, scalars.walls.len());
            }
            scalars.rows.append(&steps.rows);
        }
        Ok(scalars)
    }

    /// Rows of the probe with this index in the header, as far as they can be
    /// read, in their order; panics when there is none.
    pub fn probe_rows(&self, probe: usize) -> Result<Vec<ProbeRow>, RecordError> {
        let table = &self.header().probes[probe];
        let mut rows = Vec::new();
        for (index, (_, part)) in self.parts.iter().enumerate() {
            let end = self.end_of(index);
            let found = part.probe_rows(probe, table)?.into_iter();
            rows.extend(found.take_while(|row| row.step <= end));
        }
        Ok(rows)
    }
}
