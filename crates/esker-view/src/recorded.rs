//! A recording on disk, which may still be growing, or vanish.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use esker::record::{Frame, Recording, RecordingHeader, Scalars};
use esker::recording_path;

use crate::ViewError;
use crate::source::Moment;

/// How long what is known of a file is believed.
const BELIEVED: Duration = Duration::from_millis(400);

/// The recording of a run, opened again whenever it has grown.
pub struct RecordedRun {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    recording: Arc<Recording>,
    header: Arc<RecordingHeader>,
    stamp: Stamp,
    looked: Instant,
    scalars: Option<(Stamp, Arc<Scalars>)>,
    /// The frame read last: colours and panels ask for the same one several times.
    last_frame: Option<Arc<Frame>>,
    /// Why the recording cannot be read any more.
    problem: Option<String>,
}

/// What changes when files grow: their sizes and times, and the time of their folder.
type Stamp = Vec<Option<(u64, SystemTime)>>;

fn stamp(recording: &Recording) -> Stamp {
    let folder = recording
        .path()
        .parent()
        .filter(|p| !p.as_os_str().is_empty());
    let paths = recording.files().chain(folder);
    paths
        .map(|path| {
            let about = path.metadata().ok()?;
            Some((about.len(), about.modified().ok()?))
        })
        .collect()
}

impl RecordedRun {
    /// Opens the recording of a run's folder, or a recording itself.
    pub fn open(run: &Path) -> Result<Self, ViewError> {
        let path = recording_path(run);
        let recording = Recording::open(&path)?;
        let state = State {
            stamp: stamp(&recording),
            header: Arc::new(recording.header().clone()),
            recording: Arc::new(recording),
            looked: Instant::now(),
            scalars: None,
            last_frame: None,
            problem: None,
        };
        Ok(RecordedRun {
            path,
            state: Mutex::new(state),
        })
    }

    /// What is missing of it, in words.
    pub fn gaps(&self) -> Vec<String> {
        self.state().recording.gaps().to_vec()
    }

    pub(crate) fn header(&self) -> Arc<RecordingHeader> {
        Arc::clone(&self.state().header)
    }

    /// Why the recording cannot be read any more, if so.
    pub(crate) fn problem(&self) -> Option<String> {
        self.refresh();
        self.state().problem.clone()
    }

    pub(crate) fn moments(&self) -> Vec<Moment> {
        let recording = self.refresh();
        let frames = recording.frames().iter();
        frames
            .map(|frame| Moment {
                step: frame.step,
                time: frame.time,
            })
            .collect()
    }

    pub(crate) fn frame(&self, step: u64) -> Result<Arc<Frame>, ViewError> {
        if let Some(frame) = &self.state().last_frame
            && frame.step == step
        {
            return Ok(Arc::clone(frame));
        }
        let find = |recording: &Recording| {
            let mut frames = recording.frames().iter();
            frames.position(|frame| frame.step == step)
        };
        let mut recording = Arc::clone(&self.state().recording);
        let mut place = find(&recording);
        if place.is_none() {
            recording = self.refresh();
            place = find(&recording);
        }
        // The file is read without the lock: others need not wait for it.
        let place = place.ok_or(ViewError::NoFrame { step })?;
        let frame = Arc::new(recording.frame(place)?);
        self.state().last_frame = Some(Arc::clone(&frame));
        Ok(frame)
    }

    pub(crate) fn scalars(&self) -> Result<Arc<Scalars>, ViewError> {
        let recording = self.refresh();
        let now = self.state().stamp.clone();
        if let Some((then, scalars)) = &self.state().scalars
            && *then == now
        {
            return Ok(Arc::clone(scalars));
        }
        let scalars = Arc::new(recording.scalars()?);
        self.state().scalars = Some((now, Arc::clone(&scalars)));
        Ok(scalars)
    }

    /// The recording as it is now; as it was, where it cannot be read any more.
    fn refresh(&self) -> Arc<Recording> {
        let mut state = self.state();
        if state.looked.elapsed() < BELIEVED {
            return Arc::clone(&state.recording);
        }
        state.looked = Instant::now();
        let now = stamp(&state.recording);
        let is_missing = now.iter().any(Option::is_none);
        if now != state.stamp || is_missing || state.problem.is_some() {
            match Recording::open(&self.path) {
                Ok(recording) => {
                    state.stamp = stamp(&recording);
                    state.header = Arc::new(recording.header().clone());
                    state.recording = Arc::new(recording);
                    state.last_frame = None;
                    state.problem = None;
                }
                Err(error) => state.problem = Some(error.to_string()),
            }
        }
        Arc::clone(&state.recording)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
