//! A simulation that runs in a thread of its own while others look at it.
//!
//! The thread owns the simulation and does one thing after another: a step, a frame that somebody
//! asks for, the end. Whoever looks leaves a wish and waits for the frame; nobody who looks can hold
//! up the run for longer than a frame takes, and a browser that goes away is not noticed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use esker::record::{Frame, GrainField, LoadInterval, RecordSettings, RecordingHeader, Scalars};
use esker::world::StepReport;
use esker::{Simulation, Summary};

use crate::ViewError;
use crate::history::History;
use crate::source::Moment;

/// Bytes of frames that are kept to look back at.
const MOST_HISTORY: usize = 512 << 20;
/// Frames that are kept of a run whose scene does not say how often it is recorded.
const KEPT_OF_A_RUN: f64 = 200.0;
/// Steps whose scalars are kept; then every second of them is left out.
const MOST_SCALARS: usize = 200_000;
/// While it runs, a frame is made at most once in this time.
const BETWEEN_FRAMES: Duration = Duration::from_millis(25);
/// Time for steps after a frame, in times that the frame took: looking costs a fifth at most.
const RUNS_PER_SHOWN: u32 = 4;
/// Frames that were shown and are kept.
const MOST_RECENT: usize = 8;
/// How long a request waits for a frame that is newer than the one it has.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// Time over which the speed of a run is measured.
const SPEED_OVER: Duration = Duration::from_secs(1);

/// What a live run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveState {
    /// It steps.
    Running,
    /// It waits.
    Paused,
    /// It has reached its end.
    Finished,
    /// It was stopped before its end.
    Stopped,
    /// It cannot go on, and why.
    Failed(String),
}

impl LiveState {
    /// Its name, as pages know it.
    pub fn name(&self) -> &'static str {
        match self {
            LiveState::Running => "running",
            LiveState::Paused => "paused",
            LiveState::Finished => "finished",
            LiveState::Stopped => "stopped",
            LiveState::Failed(_) => "failed",
        }
    }

    fn is_over(&self) -> bool {
        !matches!(self, LiveState::Running | LiveState::Paused)
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Time, s.
    pub time: f64,
    /// Grains.
    pub grains: usize,
    /// Contacts of the last step.
    pub contacts: usize,
    /// Residual of the last step that measured one.
    pub residual: Option<f64>,
    /// Time that steps and their recording took, s.
    pub wall_seconds: f64,
    /// Simulated over real seconds, lately.
    pub speed: f64,
}

struct Shared {
    state: LiveState,
    /// Steps to make although paused.
    single_steps: u64,
    stop: bool,
    quit: bool,
    /// Whether somebody waits for a frame.
    wanted: bool,
    /// Frames that were shown lately, the newest last: whoever clicks on a grain saw it in one.
    recent: VecDeque<Arc<Frame>>,
    /// From when on the next frame may be made while it runs.
    next_frame: Instant,
    history: History,
    scalars: Scalars,
    progress: Progress,
    measured: (Instant, f64),
}

struct Desk {
    shared: Mutex<Shared>,
    changed: Condvar,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Shared)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

/// What the thread does next.
enum Task {
    Step,
    Show,
    Stop,
    Quit,
}

/// A simulation that runs and is looked at. It begins at once, recorded where it was told to
/// record, and ends with its thread when this is dropped.
pub struct LiveRun {
    header: Arc<RecordingHeader>,
    end: f64,
    folder: Option<String>,
    desk: Arc<Desk>,
    thread: Option<JoinHandle<Option<Summary>>>,
}

/// What live frames hold: everything.
fn settings_of(header: &RecordingHeader) -> RecordSettings {
    use GrainField::{
        Aggregate, AngularVelocity, Mass, Material, Orientation, Position, Radius, Scale, Shape,
        Velocity,
    };
    let mut fields = vec![
        Position,
        Velocity,
        Orientation,
        AngularVelocity,
        Radius,
        Material,
        Mass,
    ];
    if !header.shapes.is_empty() {
        fields.extend([Shape, Scale]);
    }
    let freezes = header.settings.fields.contains(&Aggregate);
    fields.extend(freezes.then_some(Aggregate));
    RecordSettings {
        fields,
        contacts: true,
        ..header.settings.clone()
    }
}

impl LiveRun {
    /// Starts a simulation, from where it is to the end of its scene.
    pub fn start(simulation: Simulation) -> Self {
        LiveRun::start_in(simulation, LiveState::Running)
    }

    /// Shows a simulation as it is, to be started later.
    pub fn start_paused(simulation: Simulation) -> Self {
        LiveRun::start_in(simulation, LiveState::Paused)
    }

    fn start_in(simulation: Simulation, state: LiveState) -> Self {
        let mut header = simulation.recording_header();
        header.settings = settings_of(&header);
        let header = Arc::new(header);
        let end = simulation.end_of_scene().time;
        let every = simulation.scene().scene().record.every;
        let runner = Runner {
            every: every.unwrap_or(end / KEPT_OF_A_RUN),
            impulse_step: header.impulse_step,
            interval: LoadInterval::from_now(simulation.world()),
            header: Arc::clone(&header),
            simulation,
        };
        let newest = Arc::new(runner.frame());
        let mut history = History::new(MOST_HISTORY);
        history.wants_next();
        history.push(Arc::clone(&newest));
        let world = runner.simulation.world();
        let progress = Progress {
            step: world.steps_done(),
            time: world.time(),
            grains: world.grain_count(),
            ..Progress::default()
        };
        let desk = Arc::new(Desk {
            shared: Mutex::new(Shared {
                state,
                single_steps: 0,
                stop: false,
                quit: false,
                wanted: false,
                recent: VecDeque::from([newest]),
                next_frame: Instant::now(),
                history,
                scalars: Scalars::start(&header),
                measured: (Instant::now(), progress.time),
                progress,
            }),
            changed: Condvar::new(),
        });
        let folder = runner.simulation.folder().map(|f| f.display().to_string());
        let thread = {
            let desk = Arc::clone(&desk);
            std::thread::spawn(move || runner.work(&desk))
        };
        LiveRun {
            header,
            end,
            folder,
            desk,
            thread: Some(thread),
        }
    }

    /// What it does.
    pub fn state(&self) -> LiveState {
        self.desk.lock().state.clone()
    }

    /// Holds it after the step that it is in.
    pub fn pause(&self) {
        self.desk.change(|shared| {
            if shared.state == LiveState::Running {
                shared.state = LiveState::Paused;
            }
        });
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.desk.change(|shared| {
            if shared.state == LiveState::Paused {
                shared.state = LiveState::Running;
                shared.single_steps = 0;
                shared.measured = (Instant::now(), shared.progress.time);
            }
        });
    }

    /// Pauses it, and makes so many steps.
    pub fn step(&self, steps: u64) {
        self.desk.change(|shared| {
            if !shared.state.is_over() {
                shared.state = LiveState::Paused;
                shared.single_steps = shared.single_steps.saturating_add(steps);
            }
        });
    }

    /// Ends it. What it has recorded is kept, with a checkpoint to continue from.
    pub fn stop(&self) {
        self.desk.change(|shared| shared.stop = true);
    }

    /// Ends it, waits for it, and says what it came to; `None` if it failed.
    pub fn finish(mut self) -> Option<Summary> {
        self.desk.change(|shared| {
            shared.stop = true;
            shared.quit = true;
        });
        let thread = self.thread.take()?;
        // A panic in the thread has been told already.
        thread.join().ok().flatten()
    }

    pub(crate) fn header(&self) -> Arc<RecordingHeader> {
        Arc::clone(&self.header)
    }

    /// Time of the end, s.
    pub(crate) fn end(&self) -> f64 {
        self.end
    }

    /// Where it records to.
    pub(crate) fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    pub(crate) fn progress(&self) -> Progress {
        self.desk.lock().progress
    }

    pub(crate) fn moments(&self) -> Vec<Moment> {
        self.desk.lock().history.moments()
    }

    /// Reads the scalars so far; the run waits meanwhile.
    pub(crate) fn with_scalars<T>(&self, read: impl FnOnce(&Scalars) -> T) -> T {
        read(&self.desk.lock().scalars)
    }

    pub(crate) fn frame(&self, step: u64) -> Result<Arc<Frame>, ViewError> {
        let shared = self.desk.lock();
        let recent = shared.recent.iter().rfind(|frame| frame.step == step);
        let kept = recent.cloned().or_else(|| shared.history.get(step));
        kept.ok_or(ViewError::NoFrame { step })
    }

    /// What is now. Where only what comes after a step is of interest, it is waited for, but not
    /// for ever.
    pub(crate) fn newest(&self, after: Option<u64>) -> Result<Arc<Frame>, ViewError> {
        let start = Instant::now();
        let mut shared = self.desk.lock();
        loop {
            let newest = shared.recent.back().cloned().ok_or(ViewError::NoFrames)?;
            let is_new = after.is_none_or(|after| newest.step > after);
            let is_now = newest.step == shared.progress.step;
            let waited = start.elapsed();
            if is_new && (is_now || waited > BETWEEN_FRAMES) {
                return Ok(newest);
            }
            let Some(left) = LONGEST_WAIT.checked_sub(waited) else {
                return Ok(newest);
            };
            if !is_now {
                shared.wanted = true;
                self.desk.changed.notify_all();
            }
            let waited = self.desk.changed.wait_timeout(shared, left);
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        self.desk.change(|shared| shared.quit = true);
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been told already.
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct Runner {
    simulation: Simulation,
    header: Arc<RecordingHeader>,
    /// Time between two frames that are kept, s.
    every: f64,
    impulse_step: f64,
    /// Loads of frames are means since the history's last one.
    interval: LoadInterval,
}

impl Runner {
    fn frame(&self) -> Frame {
        let world = self.simulation.world();
        let frame = Frame::of(world, &self.header.settings, &self.interval);
        frame.rescaled(world.substep(), self.impulse_step)
    }

    fn work(mut self, desk: &Desk) -> Option<Summary> {
        let mut summary = None;
        loop {
            match next_task(desk) {
                Task::Quit => return summary,
                Task::Show => {
                    let start = Instant::now();
                    let frame = Arc::new(self.frame());
                    let pause = BETWEEN_FRAMES.max(start.elapsed() * RUNS_PER_SHOWN);
                    desk.change(|shared| {
                        if shared.recent.len() >= MOST_RECENT {
                            shared.recent.pop_front();
                        }
                        shared.recent.push_back(frame);
                        shared.next_frame = Instant::now() + pause;
                    });
                }
                Task::Step => match self.simulation.step() {
                    Ok(report) => {
                        self.after_step(desk, &report);
                        if self
                            .simulation
                            .end_of_scene()
                            .is_reached(self.simulation.world())
                        {
                            summary = self.end(desk, LiveState::Finished);
                        }
                    }
                    Err(error) => {
                        let failed = LiveState::Failed(error.to_string());
                        desk.change(|shared| shared.state = failed);
                    }
                },
                Task::Stop => summary = self.end(desk, LiveState::Stopped),
            }
        }
    }

    fn after_step(&mut self, desk: &Desk, report: &StepReport) {
        let is_due = report.reached_multiple_of(self.every);
        let keeps = is_due && desk.lock().history.wants_next();
        let kept = keeps.then(|| Arc::new(self.frame()));
        if let Some(frame) = &kept {
            self.interval = LoadInterval::after(frame);
        }
        let world = self.simulation.world();
        let wall_seconds = self.simulation.wall_seconds();
        desk.change(|shared| {
            shared.single_steps = shared.single_steps.saturating_sub(1);
            shared.scalars.push(world, report);
            if shared.scalars.len() > MOST_SCALARS {
                shared.scalars.thin();
            }
            if let Some(frame) = kept {
                shared.history.push(frame);
            }
            let progress = &mut shared.progress;
            progress.step = report.step;
            progress.time = report.time;
            progress.grains = report.grains;
            progress.contacts = report.contacts;
            progress.residual = report.residual.or(progress.residual);
            progress.wall_seconds = wall_seconds;
            let (since, then) = shared.measured;
            let elapsed = since.elapsed();
            if elapsed >= SPEED_OVER || progress.speed == 0.0 {
                progress.speed = (report.time - then) / elapsed.as_secs_f64().max(1e-9);
            }
            if elapsed >= SPEED_OVER {
                shared.measured = (Instant::now(), report.time);
            }
        });
    }

    fn end(&mut self, desk: &Desk, state: LiveState) -> Option<Summary> {
        let finished = self.simulation.finish();
        let (state, summary) = match finished {
            Ok(summary) => (state, Some(summary)),
            Err(error) => (LiveState::Failed(error.to_string()), None),
        };
        desk.change(|shared| shared.state = state);
        summary
    }
}

/// Waits for something to do.
fn next_task(desk: &Desk) -> Task {
    let mut shared = desk.lock();
    loop {
        let steps = match shared.state {
            LiveState::Running => true,
            LiveState::Paused => shared.single_steps > 0,
            _ => false,
        };
        if shared.stop && !shared.state.is_over() {
            return Task::Stop;
        }
        if shared.quit {
            return Task::Quit;
        }
        // While it runs, frames must not take all the time.
        if shared.wanted && (!steps || Instant::now() >= shared.next_frame) {
            shared.wanted = false;
            return Task::Show;
        }
        if steps {
            return Task::Step;
        }
        shared = desk
            .changed
            .wait(shared)
            .unwrap_or_else(PoisonError::into_inner);
    }
}
