//! What is recorded after every step: scalars, and the load on every wall.

use esker_world::{StepReport, WallLoad, World};
use glam::DVec3;

use crate::bytes::{Malformed, Plain, Source};
use crate::header::RecordingHeader;
use crate::layout::{SCALARS, ScalarRow};
use crate::probes::ProbeRow;

/// Rows of consecutive steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepRows {
    pub(crate) scalars: Vec<ScalarRow>,
    /// Loads on all walls, step after step.
    pub(crate) loads: Vec<WallLoad>,
    /// Rows that probes completed in these steps, or before them.
    pub(crate) probes: Vec<ProbeRow>,
}

impl StepRows {
    /// Adds the step that was just made.
    pub(crate) fn push(&mut self, world: &World, report: &StepReport) {
        self.scalars.push(SCALARS.map(|s| (s.value)(world, report)));
        let table = world.table();
        self.loads
            .extend(table.named_rows().filter_map(|row| table.load(row)));
    }

    /// Adds the steps of another list.
    pub(crate) fn append(&mut self, other: &StepRows) {
        self.scalars.extend_from_slice(&other.scalars);
        self.loads.extend_from_slice(&other.loads);
        self.probes.extend_from_slice(&other.probes);
    }

    pub(crate) fn len(&self) -> usize {
        self.scalars.len()
    }

    /// Keeps the first steps only, of a world with so many walls.
    pub(crate) fn truncate(&mut self, steps: usize, walls: usize) {
        self.scalars.truncate(steps);
        self.loads.truncate(steps * walls);
    }

    pub(crate) fn clear(&mut self) {
        self.scalars.clear();
        self.loads.clear();
        self.probes.clear();
    }

    /// Scalars and loads as they are stored.
    pub(crate) fn bytes(&self) -> [Vec<u8>; 2] {
        let mut scalars = Vec::with_capacity(8 * SCALARS.len() * self.scalars.len());
        self.scalars
            .iter()
            .flatten()
            .for_each(|x| x.put(&mut scalars));
        let mut loads = Vec::new();
        self.loads
            .iter()
            .for_each(|load| put_load(&mut loads, load));
        [scalars, loads]
    }
}

/// Appends a load as tables hold it.
pub(crate) fn put_load(out: &mut Vec<u8>, load: &WallLoad) {
    load.force.put(out);
    load.torque.put(out);
    load.power.put(out);
}

/// Reads a load as tables hold it.
pub(crate) fn get_load(source: &mut Source<'_>) -> Result<WallLoad, Malformed> {
    Ok(WallLoad {
        force: source.get()?,
        torque: source.get()?,
        power: source.get()?,
    })
}

/// The load where it is not known: recordings of format 1 have none per step.
pub(crate) const UNKNOWN_LOAD: WallLoad = WallLoad {
    force: DVec3::NAN,
    torque: DVec3::NAN,
    power: f64::NAN,
};

/// What was recorded after every step.
#[derive(Clone, Debug, Default)]
pub struct Scalars {
    pub(crate) rows: StepRows,
    pub(crate) walls: Vec<String>,
    pub(crate) is_complete: bool,
}

impl Scalars {
    /// No steps yet, of a run with these walls and bodies.
    pub fn start(header: &RecordingHeader) -> Self {
        Scalars {
            rows: StepRows::default(),
            walls: header.walls.iter().map(|w| w.name.clone()).collect(),
            is_complete: true,
        }
    }

    /// Adds the step that was just made.
    pub fn push(&mut self, world: &World, report: &StepReport) {
        self.rows.push(world, report);
    }

    /// Leaves out every second step.
    pub fn thin(&mut self) {
        let walls = self.walls.len();
        let kept = (0..self.len()).step_by(2);
        let loads = |step: usize| self.rows.loads[step * walls..(step + 1) * walls].iter();
        self.rows.loads = kept.clone().flat_map(loads).copied().collect();
        self.rows.scalars = kept.map(|step| self.rows.scalars[step]).collect();
    }

    /// Steps recorded.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no step was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All scalars of every step, in the order of [`SCALARS`].
    pub fn rows(&self) -> &[ScalarRow] {
        &self.rows.scalars
    }

    /// One scalar over all steps; `None` when there is no such scalar.
    pub fn get(&self, name: &str) -> Option<Vec<f64>> {
        let column = SCALARS.iter().position(|s| s.name == name)?;
        Some(self.rows().iter().map(|row| row[column]).collect())
    }

    /// Names of the walls.
    pub fn walls(&self) -> &[String] {
        &self.walls
    }

    /// Mean loads over each step of all walls, step after step; not numbers
    /// where they were not recorded.
    pub fn loads(&self) -> impl Iterator<Item = &[WallLoad]> {
        // A world without walls has as many empty steps as it has steps.
        let walls = self.walls.len();
        (0..self.len()).map(move |step| &self.rows.loads[step * walls..(step + 1) * walls])
    }

    /// Whether nothing is missing at the end of a file.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}
