//! Recording beside the simulation: a frame waits several times for the disk,
//! and the simulation need not.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use esker_world::{StepReport, World};

use crate::error::RecordError;
use crate::frame::{Frame, LoadInterval};
use crate::layout::RecordSettings;
use crate::probes::ProbeRow;
use crate::recorder::{MOST_PENDING_ROWS, Recorder, RecordingMark};
use crate::series::StepRows;

/// Frames that may wait in memory; a slower disk then slows the run.
const MOST_WAITING: usize = 4;

enum Job {
    Frame(Box<Frame>, StepRows),
    /// Rows of steps between two frames that lie far apart.
    Steps(StepRows),
    /// Write everything, then answer.
    Flush(StepRows, SyncSender<()>),
}

/// A [`Recorder`] that works in a thread of its own. A frame is safe against a
/// kill after the next [`BackgroundRecorder::flush`] at the latest.
pub struct BackgroundRecorder {
    settings: RecordSettings,
    impulse_step: f64,
    /// `None` only when the thread has ended.
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
    mark: RecordingMark,
    pending: StepRows,
    interval: LoadInterval,
}

impl BackgroundRecorder {
    /// Hands a recorder to a new thread.
    pub fn new(mut recorder: Recorder) -> Self {
        let (jobs, incoming) = sync_channel(MOST_WAITING);
        let mark = recorder.mark();
        let settings = recorder.header().settings.clone();
        let impulse_step = recorder.header().impulse_step;
        let interval = recorder.interval().clone();
        let thread = std::thread::spawn(move || {
            for job in incoming {
                match job {
                    Job::Frame(frame, steps) => {
                        recorder.add_steps(&steps)?;
                        recorder.record(&frame)?;
                    }
                    Job::Steps(steps) => recorder.add_steps(&steps)?,
                    Job::Flush(steps, done) => {
                        recorder.add_steps(&steps)?;
                        recorder.flush()?;
                        // Nobody waits when the other side is being dropped.
                        let _ = done.send(());
                    }
                }
            }
            recorder.finish()
        });
        BackgroundRecorder {
            settings,
            impulse_step,
            jobs: Some(jobs),
            thread: Some(thread),
            mark,
            pending: StepRows::default(),
            interval,
        }
    }

    /// How far the file belongs to the run so far, waiting frames included.
    pub fn mark(&self) -> RecordingMark {
        self.mark
    }

    /// Records the scalars of the step that was just made; they are written
    /// with the next frame or flush, or when there are many of them: a run that
    /// writes no frames for long does not keep its steps in memory. An error of
    /// an earlier frame shows here.
    pub fn record_step(&mut self, world: &World, report: &StepReport) -> Result<(), RecordError> {
        self.pending.push(world, report);
        self.mark.scalar_rows += 1;
        if self.pending.len() < MOST_PENDING_ROWS {
            return Ok(());
        }
        let steps = std::mem::take(&mut self.pending);
        self.send(Job::Steps(steps))
    }

    /// Records a row of a probe; it is written with the next frame or flush.
    pub fn record_probe(&mut self, row: ProbeRow) {
        self.pending.probes.push(row);
    }

    /// Records the world as a frame, and all scalars so far. An error of an
    /// earlier frame shows here.
    pub fn record_frame(&mut self, world: &World) -> Result<(), RecordError> {
        let frame = Frame::of(world, &self.settings, &self.interval);
        self.interval = LoadInterval::after(&frame);
        let frame = Box::new(frame.rescaled(world.substep(), self.impulse_step));
        let steps = std::mem::take(&mut self.pending);
        self.mark.frames += 1;
        self.send(Job::Frame(frame, steps))
    }

    /// Returns when everything recorded so far is on the disk.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        let (done, answer) = sync_channel(1);
        let steps = std::mem::take(&mut self.pending);
        self.send(Job::Flush(steps, done))?;
        match answer.recv() {
            Ok(()) => Ok(()),
            Err(_) => self.end(),
        }
    }

    /// Writes what is left and closes the file.
    pub fn finish(mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.end()
    }

    fn send(&mut self, job: Job) -> Result<(), RecordError> {
        match self.jobs.as_ref().map(|jobs| jobs.send(job)) {
            Some(Ok(())) => Ok(()),
            // The thread has ended early: it knows why.
            _ => self.end(),
        }
    }

    /// Waits for the end of the thread and returns what it says.
    fn end(&mut self) -> Result<(), RecordError> {
        self.jobs = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(RecordError::Stopped),
        }
    }
}

impl Drop for BackgroundRecorder {
    fn drop(&mut self) {
        // A run that fails keeps its frames; its own error is the one to show.
        if self.thread.is_some() {
            let _ = self.end();
        }
    }
}
