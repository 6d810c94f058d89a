//! The simulation.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use esker::geometry::Pose;
use esker::world::{AddedGrain, AppliedForce, World};
use esker::{Error, Until};
use glam::{DQuat, DVec3};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::Arrays;
use crate::bodies::{Bodies, Walls};
use crate::conversion::{any_vectors, grain_ids, most_threads, numbers, to_array, vector, vectors};
use crate::error::{of_intervention, of_library};
use crate::grains::{Contacts, Grains};
use crate::machines::{Drives, Joints};
use crate::report::StepReport;
use crate::scene::CheckedScene;

/// Time on the clock between two looks at signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Time on the clock between two lines of progress.
const BETWEEN_LINES: Duration = Duration::from_millis(250);

/// A scene on its way through time.
///
/// `Simulation(scene, threads=None, folder=None, overwrite=False)`: scene is an esker.Scene or the
/// path of a scene file. With a folder the run is recorded there, as by `esker run`. Use it as a
/// context manager, or call close(), to end a recording with its summary.
#[pyclass(frozen, module = "esker")]
pub struct Simulation {
    state: Mutex<Option<State>>,
    materials: Vec<String>,
}

/// What a simulation is while it is open.
pub struct State {
    pub simulation: esker::Simulation,
    pub arrays: Arrays,
    report: Option<StepReport>,
    /// Poses of walls at time zero, which drives are relative to.
    base: Vec<Pose>,
    /// Walls that callables of Python lead.
    drives: Vec<(usize, Py<PyAny>)>,
}

impl State {
    pub fn world(&self) -> &World {
        self.simulation.world()
    }
}

/// What ends a stretch of steps beside their end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stretch {
    /// One step.
    Step,
    /// The time for a look at signals.
    UntilLook,
}

impl Simulation {
    fn open(py: Python<'_>, simulation: esker::Simulation) -> PyResult<Self> {
        let mut simulation = simulation;
        let mut warnings = simulation.scene().warnings();
        warnings.extend(simulation.take_warnings());
        let module = py.import("warnings")?;
        for warning in warnings {
            module.call_method1("warn", (warning,))?;
        }
        let scene = simulation.scene().scene();
        let materials = scene.world.materials.iter();
        Ok(Simulation {
            materials: materials.map(|material| material.name.clone()).collect(),
            state: Mutex::new(Some(State {
                base: {
                    let walls = simulation.world().walls().iter();
                    walls.map(|wall| wall.pose_at(0.0)).collect()
                },
                simulation,
                arrays: Arrays::default(),
                report: None,
                drives: Vec::new(),
            })),
        })
    }

    /// Works with the simulation if it is open and nobody else does.
    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        let mut state = self.lock()?;
        let state = state.as_mut();
        work(state.ok_or_else(|| PyValueError::new_err("the simulation is closed"))?)
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "the simulation is running in another thread",
            )),
            // A step that panicked leaves a state that nobody should go on with.
            Err(TryLockError::Poisoned(_)) => Err(PyRuntimeError::new_err(
                "the simulation is broken: an earlier call ended in the middle of a step",
            )),
        }
    }

    /// Changes the world between two steps.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut World) -> Result<T, esker::world::InterventionError>,
    ) -> PyResult<T> {
        self.with(|state| {
            let result = change(state.simulation.world_mut()).map_err(of_intervention)?;
            state.arrays.forget();
            Ok(result)
        })
    }

    /// Makes some steps without the interpreter. Returns whether the end is reached.
    fn stretch(&self, py: Python<'_>, until: Until, stretch: Stretch) -> PyResult<bool> {
        self.with(|state| {
            let State {
                simulation,
                arrays,
                report,
                ..
            } = state;
            let work = || {
                let start = Instant::now();
                let last = Cell::new(None);
                let stop = || {
                    let is_late = stretch == Stretch::Step || start.elapsed() > BETWEEN_LOOKS;
                    last.get().is_some() && is_late
                };
                let reached = simulation.run(until, stop, |_, report| {
                    last.set(Some(*report));
                    Ok::<(), Error>(())
                });
                (reached, last.get())
            };
            let (reached, last) = py.detach(work);
            if let Some(last) = last {
                arrays.forget();
                *report = Some(StepReport::from(&last));
            }
            reached.map_err(of_library)
        })
    }

    /// Steps to an end, with everything that Python does between steps. Returns whether the end
    /// is reached: it is not where the callback returns False.
    fn advance(
        slf: &Bound<'_, Self>,
        until: Until,
        (progress, callback): (bool, Option<&Bound<'_, PyAny>>),
    ) -> PyResult<bool> {
        let py = slf.py();
        let this = slf.get();
        let mut line = Instant::now();
        loop {
            if let Err(signal) = py.check_signals() {
                // A run that is recorded goes on from here.
                this.with(|state| match state.simulation.folder() {
                    Some(_) => state.simulation.checkpoint().map_err(of_library),
                    None => Ok(()),
                })?;
                return Err(signal);
            }
            if this.with(|state| Ok(until.is_reached(state.world())))? {
                return Ok(true);
            }
            let is_led = this.lead_walls(py)?;
            let stretch = match callback.is_some() || is_led {
                true => Stretch::Step,
                false => Stretch::UntilLook,
            };
            let reached = this.stretch(py, until, stretch)?;
            if progress && (reached || line.elapsed() > BETWEEN_LINES) {
                line = Instant::now();
                this.show_progress(py, until, reached)?;
            }
            if let Some(callback) = callback {
                let answer = callback.call1((slf,))?;
                if !answer.is_none() && !answer.is_truthy()? {
                    return Ok(reached);
                }
            }
            if reached {
                return Ok(true);
            }
        }
    }

    /// Asks the callables where their walls are to be. Returns whether there are any.
    fn lead_walls(&self, py: Python<'_>) -> PyResult<bool> {
        let (drives, time) = self.with(|state| {
            let drives = state.drives.iter();
            let drives: Vec<_> = drives.map(|(w, f)| (*w, f.clone_ref(py))).collect();
            let world = state.world();
            Ok((drives, world.time() + world.next_step_length()))
        })?;
        for (wall, drive) in &drives {
            let offset = offset(drive.bind(py), time)?;
            self.with(|state| {
                let pose = moved(&state.base[*wall], offset);
                let world = state.simulation.world_mut();
                world.move_wall(*wall, pose).map_err(of_intervention)
            })?;
        }
        Ok(!drives.is_empty())
    }

    fn show_progress(&self, py: Python<'_>, until: Until, reached: bool) -> PyResult<()> {
        let line = self.with(|state| {
            let world = state.world();
            let done = match until.steps {
                u64::MAX => format!("{:.3} of {:.3} s", world.time(), until.time),
                steps => format!("step {} of {steps}", world.steps_done()),
            };
            let contacts = state.report.as_ref().map_or(0, StepReport::contacts);
            let grains = world.grain_count();
            Ok(format!("\r{done}, {grains} grains, {contacts} contacts   "))
        })?;
        let stderr = py.import("sys")?.getattr("stderr")?;
        let end = if reached { "\n" } else { "" };
        stderr.call_method1("write", (format!("{line}{end}"),))?;
        stderr.call_method0("flush")?;
        Ok(())
    }

    /// Gives a wall to a callable, or back to nobody.
    pub fn set_drive(&self, py: Python<'_>, wall: usize, drive: Option<Py<PyAny>>) -> PyResult<()> {
        let now = self.with(|state| Ok(state.world().time()))?;
        let offset = match &drive {
            Some(drive) => Some(offset(drive.bind(py), now)?),
            None => None,
        };
        self.with(|state| {
            state.drives.retain(|(led, _)| *led != wall);
            if let (Some(drive), Some(offset)) = (drive, offset) {
                let pose = moved(&state.base[wall], offset);
                let world = state.simulation.world_mut();
                world.place_wall(wall, pose).map_err(of_intervention)?;
                state.drives.push((wall, drive));
            }
            Ok(())
        })
    }
}

/// What a drive answers: a displacement, m, and a rotation vector, rad.
fn offset(drive: &Bound<'_, PyAny>, time: f64) -> PyResult<[DVec3; 2]> {
    let answer = drive.call1((time,))?;
    let what = "the displacement that a wall's drive returns";
    if let Ok((displacement, rotation)) = answer.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
        let turned = vector(&rotation, "the rotation vector that a wall's drive returns")?;
        return Ok([vector(&displacement, what)?, turned]);
    }
    Ok([vector(&answer, what)?, DVec3::ZERO])
}

/// A pose after a displacement and a rotation about its origin.
fn moved(base: &Pose, [displacement, rotation]: [DVec3; 2]) -> Pose {
    let turned = DQuat::from_scaled_axis(rotation) * base.orientation;
    Pose {
        position: base.position + displacement,
        orientation: turned.normalize(),
    }
}

/// A scene, however it is given.
fn checked_scene<'py>(scene: &Bound<'py, PyAny>) -> PyResult<Bound<'py, CheckedScene>> {
    let py = scene.py();
    if let Ok(scene) = scene.cast::<CheckedScene>() {
        return Ok(scene.clone());
    }
    if scene.hasattr("check")? {
        return Ok(scene.call_method0("check")?.cast_into::<CheckedScene>()?);
    }
    let path: PathBuf = scene.extract().map_err(|_| {
        let kind = scene.get_type();
        PyTypeError::new_err(format!(
            "scene must be an esker.Scene or the path of a scene file, not {kind}"
        ))
    })?;
    let class = py.get_type::<CheckedScene>();
    Ok(class.call_method1("load", (path,))?.cast_into()?)
}

/// The end that is asked for.
fn end(state: &State, (time, steps): (Option<f64>, Option<u64>)) -> PyResult<Until> {
    if time.is_some_and(f64::is_nan) {
        return Err(PyValueError::new_err("until must be a time in seconds"));
    }
    let done = state.world().steps_done();
    Ok(match (time, steps) {
        (None, None) => state.simulation.end_of_scene(),
        (time, steps) => Until {
            time: time.unwrap_or(f64::INFINITY),
            steps: steps.map_or(u64::MAX, |steps| done.saturating_add(steps)),
        },
    })
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scene, threads=None, *, folder=None, overwrite=false))]
    fn new(
        scene: &Bound<'_, PyAny>,
        threads: Option<usize>,
        folder: Option<PathBuf>,
        overwrite: bool,
    ) -> PyResult<Self> {
        let py = scene.py();
        let most = most_threads(threads)?;
        let scene = checked_scene(scene)?.get().0.clone();
        let work = || {
            let mut simulation = esker::Simulation::new(scene)?;
            simulation.world_mut().set_max_threads(most);
            if let Some(folder) = folder {
                simulation.record_to(folder, overwrite)?;
            }
            Ok(simulation)
        };
        Simulation::open(py, py.detach(work).map_err(of_library)?)
    }

    /// Goes on with the run that a folder holds, from its newest checkpoint, with the same bits
    /// as if it had never stopped.
    #[staticmethod]
    #[pyo3(signature = (scene, folder, threads=None))]
    fn resume(scene: &Bound<'_, PyAny>, folder: PathBuf, threads: Option<usize>) -> PyResult<Self> {
        let py = scene.py();
        let most = most_threads(threads)?;
        let scene = checked_scene(scene)?.get().0.clone();
        let work = || {
            let mut simulation = esker::Simulation::resume(scene, folder)?;
            simulation.world_mut().set_max_threads(most);
            Ok(simulation)
        };
        Simulation::open(py, py.detach(work).map_err(of_library)?)
    }

    /// Makes n steps.
    #[pyo3(signature = (n=1))]
    fn step(slf: &Bound<'_, Self>, n: u64) -> PyResult<()> {
        let until = slf.get().with(|state| end(state, (None, Some(n))))?;
        Simulation::advance(slf, until, (false, None)).map(|_| ())
    }

    /// Steps until a time (s), for so many steps, or to the end of the scene. Returns whether
    /// that was reached: `callback(simulation)` is called after every step and ends the run when
    /// it returns False. The interpreter is free meanwhile; Ctrl-C ends the run after a step, with
    /// a checkpoint where it is recorded.
    #[pyo3(signature = (until=None, *, steps=None, progress=false, callback=None))]
    fn run(
        slf: &Bound<'_, Self>,
        until: Option<f64>,
        steps: Option<u64>,
        progress: bool,
        callback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let until = slf.get().with(|state| end(state, (until, steps)))?;
        Simulation::advance(slf, until, (progress, callback))
    }

    /// Records from now on to a folder, as `esker run` does.
    #[pyo3(signature = (folder, *, overwrite=false))]
    fn record_to(&self, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        self.with(|state| {
            let recorded = state.simulation.record_to(folder, overwrite);
            recorded.map_err(of_library)
        })
    }

    /// Saves a checkpoint now; the simulation must be recorded.
    fn checkpoint(&self) -> PyResult<()> {
        self.with(|state| state.simulation.checkpoint().map_err(of_library))
    }

    /// What the run has come to so far, with the keys of `summary.json`.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = self.with(|state| Ok(state.simulation.summary().to_json()))?;
        py.import("json")?.call_method1("loads", (json,))
    }

    /// Ends the recording, if there is one, with a checkpoint and a summary, and frees the
    /// memory. Arrays that were taken stay as they are.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let state = self.lock()?.take();
        match state {
            None => Ok(()),
            Some(mut state) => {
                let simulation = &mut state.simulation;
                let finished = py.detach(|| simulation.finish().map(|_| ()));
                finished.map_err(of_library)
            }
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        Ok(self.lock()?.is_none())
    }

    /// Time, s.
    #[getter]
    fn time(&self) -> PyResult<f64> {
        self.with(|state| Ok(state.world().time()))
    }

    /// Steps done since the start of the scene.
    #[getter]
    fn steps(&self) -> PyResult<u64> {
        self.with(|state| Ok(state.world().steps_done()))
    }

    /// What the last step did; None before the first.
    #[getter]
    fn report(&self) -> PyResult<Option<StepReport>> {
        self.with(|state| Ok(state.report.clone()))
    }

    /// A hash of all positions, orientations and velocities: that of `esker run`.
    #[getter]
    fn state_hash(&self) -> PyResult<String> {
        self.with(|state| Ok(format!("{:016x}", state.world().all_grains().state_hash())))
    }

    /// Kinetic energy of all grains and bodies, J.
    #[getter]
    fn kinetic_energy(&self) -> PyResult<f64> {
        self.with(|state| Ok(state.world().kinetic_energy()))
    }

    /// Folder that the run is recorded to; None where it is not.
    #[getter]
    fn folder(&self) -> PyResult<Option<PathBuf>> {
        self.with(|state| Ok(state.simulation.folder().map(PathBuf::from)))
    }

    /// Names of materials, by the index that grains carry.
    #[getter]
    fn materials(&self) -> Vec<String> {
        self.materials.clone()
    }

    /// The grains.
    #[getter]
    fn grains(slf: Bound<'_, Self>) -> Grains {
        Grains(slf.unbind())
    }

    /// Contacts of the last step that touch or carry load.
    #[getter]
    fn contacts(slf: Bound<'_, Self>) -> Contacts {
        Contacts(slf.unbind())
    }

    /// The walls, by name.
    #[getter]
    fn walls(slf: Bound<'_, Self>) -> Walls {
        Walls(slf.unbind())
    }

    /// Bodies of their own, by name.
    #[getter]
    fn bodies(slf: Bound<'_, Self>) -> Bodies {
        Bodies(slf.unbind())
    }

    /// Joints between bodies, by name.
    #[getter]
    fn joints(slf: Bound<'_, Self>) -> Joints {
        Joints(slf.unbind())
    }

    /// Drives of joints, by name.
    #[getter]
    fn drives(slf: Bound<'_, Self>) -> Drives {
        Drives(slf.unbind())
    }

    /// Rows of probes that the last step completed: name and values in their order.
    #[getter]
    fn probe_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|state| {
            let rows = PyDict::new(py);
            let probes = &state.simulation.scene().scene().probes;
            for row in state.simulation.probe_rows() {
                let values = to_array(py, row.values.clone())?;
                rows.set_item(&probes[row.probe].name, values)?;
            }
            Ok(rows)
        })
    }

    /// Adds spheres and returns their ids. position: (n, 3), m; radius, velocity (m/s) and
    /// angular_velocity (rad/s): one for each or one for all; material: its name.
    #[pyo3(signature = (position, radius, *, material=None, velocity=None, angular_velocity=None))]
    fn add_grains<'py>(
        &self,
        position: &Bound<'py, PyAny>,
        radius: &Bound<'py, PyAny>,
        material: Option<&str>,
        velocity: Option<&Bound<'py, PyAny>>,
        angular_velocity: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let positions = any_vectors(position, "position")?;
        let count = positions.len();
        let radii = numbers(radius, "radius", count)?;
        let or_zero = |value: Option<&Bound<'py, PyAny>>, what: &str| match value {
            Some(value) => vectors(value, what, count),
            None => Ok(vec![DVec3::ZERO; count]),
        };
        let velocities = or_zero(velocity, "velocity")?;
        let angular_velocities = or_zero(angular_velocity, "angular_velocity")?;
        let material = match material {
            None => 0,
            Some(name) => self.material_named(name)?,
        };
        let grains: Vec<AddedGrain> = (0..count)
            .map(|i| AddedGrain {
                position: positions[i],
                velocity: velocities[i],
                angular_velocity: angular_velocities[i],
                orientation: DQuat::IDENTITY,
                radius: radii[i],
                material,
                shape: None,
            })
            .collect();
        let ids = self.change(|world| world.add_grains(&grains))?;
        let ids = ids.iter().map(|id| id.as_u64()).collect();
        Ok(to_array::<u64>(position.py(), ids)?.into_any())
    }

    /// Takes grains away.
    #[pyo3(name = "remove_grains")]
    fn remove(&self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let named = grain_ids(ids)?;
        self.change(|world| world.remove_grains(&named))
    }

    /// Sets velocities of grains, m/s: one for each id or one for all.
    #[pyo3(name = "set_velocity")]
    fn set_velocities(&self, ids: &Bound<'_, PyAny>, velocity: &Bound<'_, PyAny>) -> PyResult<()> {
        let named = grain_ids(ids)?;
        let velocities = vectors(velocity, "velocity", named.len())?;
        self.change(|world| world.set_velocities(&named, &velocities))
    }

    /// Sets angular velocities of grains, rad/s: one for each id or one for all.
    #[pyo3(name = "set_angular_velocity")]
    fn set_angular_velocities(
        &self,
        ids: &Bound<'_, PyAny>,
        velocity: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let named = grain_ids(ids)?;
        let velocities = vectors(velocity, "velocity", named.len())?;
        self.change(|world| world.set_angular_velocities(&named, &velocities))
    }

    /// Lets forces (N) and torques (N m) act on grains over the next step, in place of those
    /// that were to: one for each id or one for all. Ask again before every step.
    #[pyo3(signature = (ids, force, torque=None))]
    fn apply_force(
        &self,
        ids: &Bound<'_, PyAny>,
        force: &Bound<'_, PyAny>,
        torque: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let named = grain_ids(ids)?;
        let forces = vectors(force, "force", named.len())?;
        let torques = match torque {
            Some(torque) => vectors(torque, "torque", named.len())?,
            None => vec![DVec3::ZERO; named.len()],
        };
        let applied: Vec<AppliedForce> = (0..named.len())
            .map(|i| AppliedForce {
                grain: named[i],
                force: forces[i],
                torque: torques[i],
            })
            .collect();
        self.change(|world| world.apply_forces(&applied))
    }

    fn __repr__(&self) -> String {
        let words = self.with(|state| {
            let (scene, world) = (state.simulation.scene().scene(), state.world());
            Ok(format!(
                "<Simulation {} at {:.6} s: {} grains>",
                scene.name,
                world.time(),
                world.grain_count()
            ))
        });
        words.unwrap_or_else(|_| "<Simulation, closed or running>".to_owned())
    }
}

impl Simulation {
    fn material_named(&self, name: &str) -> PyResult<usize> {
        let found = self.materials.iter().position(|known| known == name);
        found.ok_or_else(|| {
            PyKeyError::new_err(format!(
                "there is no material \"{name}\"; there are: {}",
                self.materials.join(", ")
            ))
        })
    }
}
