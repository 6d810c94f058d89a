//! What is shown: a recording, or a run that goes on.

use std::sync::Arc;

use esker::picture::{Color, GrainForms, Shown, Subject, color_range, sample, values};
use esker::record::{Frame, RecordingHeader, Scalars};
use esker::render::Bounds;

use crate::{LiveRun, RecordedRun, ViewError};

/// When a frame is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Steps done.
    pub step: u64,
    /// Time, s.
    pub time: f64,
}

/// What a page shows.
pub enum Source {
    /// A recording, finished or growing.
    Recorded(RecordedRun),
    /// A simulation that runs here.
    Live(LiveRun),
}

impl Source {
    pub(crate) fn header(&self) -> Arc<RecordingHeader> {
        match self {
            Source::Recorded(run) => run.header(),
            Source::Live(run) => run.header(),
        }
    }

    pub(crate) fn live(&self) -> Result<&LiveRun, ViewError> {
        match self {
            Source::Recorded(_) => Err(ViewError::NotLive),
            Source::Live(run) => Ok(run),
        }
    }

    /// The frames that can be asked for, in the order of time. What is now comes besides, in a
    /// live run.
    pub(crate) fn moments(&self) -> Vec<Moment> {
        match self {
            Source::Recorded(run) => run.moments(),
            Source::Live(run) => run.moments(),
        }
    }

    /// The frame after so many steps.
    pub(crate) fn frame(&self, step: u64) -> Result<Arc<Frame>, ViewError> {
        match self {
            Source::Recorded(run) => run.frame(step),
            Source::Live(run) => run.frame(step),
        }
    }

    /// What is newest.
    pub(crate) fn newest(&self) -> Result<Arc<Frame>, ViewError> {
        match self {
            Source::Recorded(run) => {
                let last = run.moments().last().copied().ok_or(ViewError::NoFrames)?;
                run.frame(last.step)
            }
            Source::Live(run) => run.newest(None),
        }
    }

    /// Reads the scalars of all steps.
    pub(crate) fn with_scalars<T>(&self, read: impl FnOnce(&Scalars) -> T) -> Result<T, ViewError> {
        match self {
            Source::Recorded(run) => Ok(read(&*run.scalars()?)),
            Source::Live(run) => Ok(run.with_scalars(read)),
        }
    }

    /// Frames that stand for the whole run, for a view and colours that suit all of it.
    fn samples(&self) -> Result<Vec<Arc<Frame>>, ViewError> {
        let steps: Vec<u64> = self.moments().iter().map(|moment| moment.step).collect();
        let places: Vec<usize> = (0..steps.len()).collect();
        let mut frames = Vec::new();
        for place in sample(&places) {
            match self.frame(steps[place]) {
                // A live run thins out its past now and then.
                Err(ViewError::NoFrame { .. }) => {}
                frame => frames.push(frame?),
            }
        }
        if frames.is_empty() || self.live().is_ok() {
            frames.push(self.newest()?);
        }
        Ok(frames)
    }

    /// What a view of one frame must show, or of the whole run.
    pub(crate) fn subject(&self, step: Option<u64>) -> Result<Subject, ViewError> {
        let header = self.header();
        let forms = GrainForms::new(&header.shapes);
        let frames = match step {
            Some(step) => vec![self.frame(step)?],
            None => self.samples()?,
        };
        let subjects = frames.iter().map(|frame| {
            Color::Radius.check(&header.settings)?;
            Ok(Subject::new(&header, frame, &forms, &Shown::default()))
        });
        let subjects: Vec<Subject> = subjects.collect::<Result<_, ViewError>>()?;
        let bounds = subjects
            .iter()
            .fold(Bounds::EMPTY, |all, subject| all.union(&subject.bounds));
        // Floors suit what stands on them at the end.
        let last = subjects
            .into_iter()
            .next_back()
            .ok_or(ViewError::NoFrames)?;
        Ok(Subject { bounds, ..last })
    }

    /// Values that colours span over the whole run.
    pub(crate) fn color_range(&self, color: Color) -> Result<(f64, f64), ViewError> {
        let header = self.header();
        color.check(&header.settings)?;
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for frame in self.samples()? {
            let (low, high) = color_range(values(&header, &frame, color));
            range = (range.0.min(low), range.1.max(high));
        }
        Ok(range)
    }
}
