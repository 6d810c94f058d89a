//! Recordings as files: frames and time series as arrays.

use std::path::PathBuf;
use std::sync::Mutex;

use esker::measure::{Drum, Measure, Measured};
use esker::picture::{Clip, Color, Drawing, Shown, Style};
use esker::record::{Frame, Recording};
use esker::recording_path;
use glam::DVec3;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::contact_arrays;
use crate::conversion::{to_array, to_rows};
use crate::error::{SimulationError, of_measure, of_picture, of_record};

/// Largest and smallest side of a picture, pixels.
const SIDES: std::ops::RangeInclusive<u32> = 16..=8192;

/// An open recording.
#[pyclass(frozen, module = "esker")]
pub struct RecordingFile {
    path: PathBuf,
    recording: Mutex<Recording>,
}

impl RecordingFile {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Recording) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let recording = self
                .recording
                .lock()
                .map_err(|_| PyRuntimeError::new_err("the recording is broken: open it again"))?;
            work(&recording)
        })
    }

    fn frame_of(&self, py: Python<'_>, index: usize) -> PyResult<Frame> {
        self.with(py, |recording| {
            check_index(recording, index)?;
            recording.frame(index).map_err(of_record)
        })
    }
}

fn check_index(recording: &Recording, index: usize) -> PyResult<()> {
    let frames = recording.frames().len();
    match index < frames {
        true => Ok(()),
        false => Err(PyIndexError::new_err(format!(
            "there is no frame {index}: the recording has {frames}"
        ))),
    }
}

#[pymethods]
impl RecordingFile {
    /// Opens the recording of a run's folder, or a file.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let path = recording_path(&path);
        let recording = py.detach(|| Recording::open(&path)).map_err(of_record)?;
        Ok(RecordingFile {
            path,
            recording: Mutex::new(recording),
        })
    }

    /// Looks again at a recording that is being written. What was read before stays where the
    /// file has vanished.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let path = &self.path;
        let opened = py.detach(|| Recording::open(path)).map_err(of_record)?;
        let mut recording = self
            .recording
            .lock()
            .map_err(|_| PyRuntimeError::new_err("the recording is broken: open it again"))?;
        *recording = opened;
        Ok(())
    }

    /// Its file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// What is known before the first frame.
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let header = self.with(py, |recording| Ok(recording.header().clone()))?;
        let dict = PyDict::new(py);
        dict.set_item("name", header.name)?;
        dict.set_item("scene", header.scene)?;
        dict.set_item("version", header.version)?;
        dict.set_item("materials", header.materials)?;
        dict.set_item("gravity", header.gravity.to_array())?;
        dict.set_item("step", header.step)?;
        let walls: Vec<String> = header.walls.into_iter().map(|wall| wall.name).collect();
        dict.set_item("walls", walls)?;
        let probes = header.probes.iter().map(|probe| probe.name.clone());
        dict.set_item("probes", probes.collect::<Vec<String>>())?;
        dict.set_item("has_contacts", header.settings.contacts)?;
        Ok(dict)
    }

    /// What is missing of the run, in words.
    fn gaps(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |recording| Ok(recording.gaps().to_vec()))
    }

    /// Steps, times and numbers of grains of all frames.
    fn frames<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.with(py, |recording| {
            let rows = recording.frames().iter();
            Ok(rows
                .map(|row| (row.step, row.time, row.grains))
                .collect::<Vec<_>>())
        })?;
        let dict = PyDict::new(py);
        dict.set_item("step", to_array(py, rows.iter().map(|r| r.0).collect())?)?;
        dict.set_item("time", to_array(py, rows.iter().map(|r| r.1).collect())?)?;
        dict.set_item("grains", to_array(py, rows.iter().map(|r| r.2).collect())?)?;
        Ok(dict)
    }

    /// A frame as arrays, without those of fields that were not recorded.
    fn frame<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let frame = self.frame_of(py, index)?;
        let impulse_step = self.with(py, |recording| Ok(recording.header().impulse_step))?;
        frame_arrays(py, &frame, impulse_step)
    }

    /// Scalars of all steps, by name.
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let series = self.with(py, |recording| {
            let scalars = recording.scalars().map_err(of_record)?;
            let names = esker::record::SCALARS.iter().map(|scalar| scalar.name);
            Ok(names
                .filter_map(|name| Some((name, scalars.get(name)?)))
                .collect::<Vec<_>>())
        })?;
        let dict = PyDict::new(py);
        for (name, values) in series {
            dict.set_item(name, to_array(py, values)?)?;
        }
        Ok(dict)
    }

    /// Loads of a wall or body in all steps: time, force, torque, power.
    fn wall_loads<'py>(&self, py: Python<'py>, wall: &str) -> PyResult<Bound<'py, PyDict>> {
        let wall = wall.to_owned();
        let (times, loads) = self.with(py, |recording| {
            let scalars = recording.scalars().map_err(of_record)?;
            let place = scalars.walls().iter().position(|name| *name == wall);
            let place = place.ok_or_else(|| {
                let known = scalars.walls().join(", ");
                PyValueError::new_err(format!("there is no wall \"{wall}\"; there are: {known}"))
            })?;
            let loads: Vec<_> = scalars.loads().map(|loads| loads[place]).collect();
            Ok((scalars.get("time").unwrap_or_default(), loads))
        })?;
        let dict = PyDict::new(py);
        dict.set_item("time", to_array(py, times)?)?;
        dict.set_item(
            "force",
            to_rows(py, loads.iter().map(|l| l.force.to_array()))?,
        )?;
        dict.set_item(
            "torque",
            to_rows(py, loads.iter().map(|l| l.torque.to_array()))?,
        )?;
        dict.set_item(
            "power",
            to_array(py, loads.iter().map(|l| l.power).collect())?,
        )?;
        Ok(dict)
    }

    /// Rows of a probe: time, and its columns by name.
    fn probe<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let name = name.to_owned();
        let (columns, rows) = self.with(py, |recording| {
            let probes = &recording.header().probes;
            let place = probes.iter().position(|probe| probe.name == name);
            let place = place.ok_or_else(|| {
                let known: Vec<&str> = probes.iter().map(|p| p.name.as_str()).collect();
                let known = known.join(", ");
                PyValueError::new_err(format!("there is no probe \"{name}\"; there are: {known}"))
            })?;
            let rows = recording.probe_rows(place).map_err(of_record)?;
            Ok((probes[place].columns.clone(), rows))
        })?;
        let dict = PyDict::new(py);
        dict.set_item("time", to_array(py, rows.iter().map(|r| r.time).collect())?)?;
        let mut first = 0;
        for column in columns {
            let places = first..first + column.width;
            let part = |row: &esker::record::ProbeRow| row.values[places.clone()].to_vec();
            let values = to_array(py, rows.iter().flat_map(part).collect::<Vec<f64>>())?;
            match column.width {
                1 => dict.set_item(column.name, values)?,
                width => {
                    let table = values.call_method1("reshape", (rows.len(), width))?;
                    dict.set_item(column.name, table)?;
                }
            }
            first += column.width;
        }
        Ok(dict)
    }

    /// The frame nearest to a time, s.
    fn nearest(&self, py: Python<'_>, time: f64) -> PyResult<usize> {
        let nearest = self.with(py, |recording| Ok(recording.nearest(time)))?;
        nearest.ok_or_else(|| SimulationError::new_err("the recording has no frames yet"))
    }

    /// Takes measures of a frame: numbers by key with unit, None where there is nothing to
    /// measure.
    fn measure<'py>(
        &self,
        py: Python<'py>,
        measures: Vec<String>,
        index: usize,
        drum: ([f64; 3], [f64; 3]),
    ) -> PyResult<Bound<'py, PyDict>> {
        let measures: Vec<Measure> = measures
            .iter()
            .map(|name| name.parse().map_err(PyValueError::new_err))
            .collect::<PyResult<_>>()?;
        let axis = DVec3::from_array(drum.0).try_normalize();
        let drum = Drum {
            axis: axis.ok_or_else(|| PyValueError::new_err("axis must not be zero"))?,
            centre: DVec3::from_array(drum.1),
        };
        let numbers = self.with(py, |recording| {
            check_index(recording, index)?;
            let measured = Measured::new(recording).map_err(of_record)?;
            let moment = measured.moment(index).map_err(of_measure)?;
            let mut numbers = Vec::new();
            for measure in measures {
                let taken = moment.take(measure, &drum);
                numbers.extend(taken.map_err(|missing| of_measure(missing.into()))?);
            }
            Ok(numbers)
        })?;
        let dict = PyDict::new(py);
        for number in numbers {
            dict.set_item(number.column(), number.value)?;
        }
        Ok(dict)
    }

    /// A picture of a frame as PNG.
    #[pyo3(signature = (index, *, color, view, size, range, zoom, focus, clip, hide, chains, joints))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python function")]
    fn render<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        color: &str,
        view: String,
        size: (u32, u32),
        range: Option<(f64, f64)>,
        zoom: f64,
        focus: Option<[f64; 3]>,
        clip: Vec<String>,
        hide: Vec<String>,
        chains: bool,
        joints: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let color: Color = color.parse().map_err(PyValueError::new_err)?;
        if ![size.0, size.1].iter().all(|side| SIDES.contains(side)) {
            return Err(PyValueError::new_err("size must be 16 to 8192 pixels each"));
        }
        if !(zoom.is_finite() && zoom > 0.0) {
            return Err(PyValueError::new_err("zoom must be greater than 0"));
        }
        let clips = clip.iter().map(|half| half.parse::<Clip>());
        let style = Style {
            // Bars and grains share one colour scale.
            color: if chains { Color::Force } else { color },
            chains,
            joints,
            view,
            range: range.map(|(low, high)| [low, high]),
            zoom,
            focus: focus.map(DVec3::from_array),
            shown: Shown {
                hidden: hide,
                clips: clips
                    .collect::<Result<_, _>>()
                    .map_err(PyValueError::new_err)?,
            },
            ..Style::new(color, size)
        };
        let png = self.with(py, |recording| {
            check_index(recording, index)?;
            let drawing = Drawing::new(recording, style, &[index]).map_err(of_picture)?;
            let image = drawing.draw(index).map_err(of_picture)?;
            image
                .encode_png()
                .map_err(|error| PyValueError::new_err(error.to_string()))
        })?;
        Ok(PyBytes::new(py, &png))
    }
}

/// The arrays of a frame.
fn frame_arrays<'py>(
    py: Python<'py>,
    frame: &Frame,
    impulse_step: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("step", frame.step)?;
    dict.set_item("time", frame.time)?;
    dict.set_item("id", to_array(py, frame.id.clone())?)?;
    for (name, vectors) in [
        ("position", &frame.position),
        ("velocity", &frame.velocity),
        ("angular_velocity", &frame.angular_velocity),
    ] {
        if vectors.len() == frame.id.len() {
            dict.set_item(name, to_rows(py, vectors.iter().map(|v| v.to_array()))?)?;
        }
    }
    if frame.orientation.len() == frame.id.len() {
        let turned = frame.orientation.iter().map(|q| q.to_array());
        dict.set_item("orientation", to_rows(py, turned)?)?;
    }
    for (name, numbers) in [("radius", &frame.radius), ("mass", &frame.mass)] {
        if numbers.len() == frame.id.len() {
            dict.set_item(name, to_array(py, numbers.clone())?)?;
        }
    }
    if frame.material.len() == frame.id.len() {
        dict.set_item("material", to_array(py, frame.material.clone())?)?;
    }
    let contacts = contact_arrays(py, &frame.contacts, impulse_step)?;
    dict.set_item("contacts", contacts)?;
    Ok(dict)
}
