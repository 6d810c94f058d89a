//! Drawing plates.

use esker_geometry::{BodyShape, OpenFaces, Side, WallShape};
use esker_machine::Signal;
use esker_plot::number;
use esker_world::definition::{Method, Motion, Solver, WallDef, WarmStart, WholeStep, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::MOBILISED;
use super::trench::{Trench, WIDE, narrow};
use crate::bench::{self, Prepared, Start};
use crate::experiment::{Case, Frame, Size};
use crate::frame;
use crate::results::StudyError;

/// How far the wide plate is drawn, m.
const TRAVEL: f64 = 35e-3;
/// Accuracy that is asked for where the program chooses the substeps.
const KEPT: f64 = 0.01;
/// Speed of the narrow plate, m/s: slower than that of the wide one, as the wedge has no inertia.
const SLOW: f64 = 0.15;

/// How the plate is moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mover {
    /// A jointed body with a motor.
    Motor,
    /// A wall with a given velocity.
    Wall,
}

/// What solves a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// With this many substeps.
    SubStepped(usize),
    /// With as many as keep [`KEPT`].
    Kept,
    /// The sweep over the whole step, until its residual is small.
    GaussSeidel,
    /// A solver of the registry.
    Named(&'static str),
}

impl Way {
    pub(super) fn name(self) -> String {
        match self {
            Way::SubStepped(n) => format!("n = {n}"),
            Way::Kept => format!("tolerance = {}%", 1e2 * KEPT),
            Way::GaussSeidel => "Gauss–Seidel".into(),
            Way::Named(name) => name.into(),
        }
    }

    pub(super) fn method(self) -> Method {
        let (solver, sweeps) = match self {
            Way::SubStepped(n) => return Start::SubStepped.method(n),
            Way::Kept => return Start::SubStepped.method(10),
            Way::GaussSeidel => (Solver::Sweep, 40_000),
            Way::Named(name) => (Solver::Named(name.into()), 200),
        };
        Method::WholeStep(WholeStep {
            solver,
            sweeps,
            tolerance: Some(1e-5),
            warm_start: WarmStart::FULL_HISTORY,
            ..Default::default()
        })
    }
}

/// A plate to draw.
#[derive(Clone, Copy)]
pub(super) struct Pull {
    pub(super) trench: Trench,
    pub(super) seed: u64,
    /// Step, s.
    pub(super) step: f64,
    pub(super) way: Way,
    pub(super) mover: Mover,
    /// Speed, m/s, and how far, m.
    pub(super) speed: f64,
    pub(super) travel: f64,
}

impl Pull {
    /// The wide plate as the scene has it.
    pub(super) fn wide(way: Way, seed: u64) -> Self {
        Pull {
            trench: WIDE,
            seed,
            step: 5e-3,
            way,
            mover: Mover::Motor,
            speed: 0.27,
            travel: TRAVEL,
        }
    }

    pub(super) fn narrow(size: Size, way: Way) -> Self {
        Pull {
            trench: narrow(size),
            speed: SLOW,
            travel: size.pick(0.6, 0.16),
            ..Pull::wide(way, 1)
        }
    }

    pub(super) fn name(&self) -> String {
        let mover = match self.mover {
            Mover::Motor => "",
            Mover::Wall => ", moved as a wall",
        };
        format!(
            "{}, h = {} ms, {}, seed {}, {} mm{mover}",
            self.trench.name,
            number(1e3 * self.step, 3),
            self.way.name(),
            self.seed,
            number(1e3 * self.travel, 3),
        )
    }

    pub(super) fn case(self) -> Case {
        Case::after(1, self.name(), move |results| {
            let bed = results.get(&self.trench.prepared_name(self.seed))?;
            self.drawn(&bed)
        })
    }

    pub(super) fn drawn(&self, bed: &Prepared) -> Result<Drawn, StudyError> {
        let mut def = self.trench.definition(self.seed)?;
        bed.put_into(&mut def);
        def.step = self.step;
        def.method = self.way.method();
        def.accuracy = (self.way == Way::Kept).then_some(KEPT);
        def.drives[0].signal = Signal::Constant(self.speed);
        if self.mover == Mover::Wall {
            make_wall(&mut def, self.speed);
        }
        let mut world = bench::build(&def)?;
        let mut drawn = Drawn::default();
        let (mut motor, mut missed, mut steps, mut sweeps) = (0.0, 0, 0, 0);
        let mut said = Vec::new();
        bench::run(&mut world, self.travel / self.speed, |world, report| {
            let [travel, draft, impulse] = match self.mover {
                Mover::Motor => [
                    world.body_pose(0).position.x,
                    world.bodies()[0].load.force.x,
                    world.drive(0).impulse,
                ],
                Mover::Wall => {
                    let plate = &world.walls()[1];
                    [plate.pose.position.x, plate.load.force.x, 0.0]
                }
            };
            let pull = (impulse - motor) / report.step_length;
            drawn.curve.push([travel, -draft, pull]);
            motor = impulse;
            steps += 1;
            missed += usize::from(!report.converged);
            sweeps += report.sweeps;
            let is_mobilised = (MOBILISED[0]..MOBILISED[1]).contains(&travel);
            let is_look = report.residual.is_some();
            if let Some(errors) = report.errors.filter(|_| is_mobilised && is_look) {
                said.push(errors.tool_force());
            }
        })?;
        drawn.missed = missed as f64 / steps as f64;
        drawn.sweeps = sweeps as f64 / steps as f64;
        let said_sum = said.iter().sum::<f64>();
        drawn.said = (!said.is_empty()).then(|| said_sum / said.len() as f64);
        let caption = format!("{}, {}", self.trench.name, self.way.name());
        drawn.frame = frame::draw_speeds(&world, &caption, DVec3::new(0.3, 1.0, -0.5), self.speed)?;
        Ok(drawn)
    }
}

/// Takes the machine away and puts a moving wall in its place.
pub(super) fn make_wall(def: &mut WorldDef, speed: f64) {
    let body = def.bodies.remove(0);
    def.joints.clear();
    def.drives.clear();
    if let BodyShape::Box { half_edges } = body.shape {
        let shape = WallShape::Box {
            half_extents: half_edges,
            side: Side::Outside,
            open: OpenFaces::NONE,
        };
        def.walls.push(WallDef {
            material: body.material,
            motion: Motion::Translate {
                velocity: DVec3::X * speed,
                start: 0.0,
                stop: f64::INFINITY,
            },
            ..WallDef::new(body.name, shape, body.pose)
        });
    }
}

/// A plate that was drawn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Drawn {
    /// Travel (m), force of the grains on the plate and force of the motor (N), per step.
    pub(super) curve: Vec<[f64; 3]>,
    /// Share of the steps that missed the tolerance of their solver.
    pub(super) missed: f64,
    /// Mean number of sweeps.
    pub(super) sweeps: f64,
    /// By which share the program says that the draft is too small while it grows; `None` where
    /// it did not look.
    pub(super) said: Option<f64>,
    pub(super) frame: Frame,
}

impl Drawn {
    /// Mean of a column over a part of the travel; NaN where there is none.
    pub(super) fn mean(&self, column: usize, [from, to]: [f64; 2]) -> f64 {
        let rows = self.curve.iter().filter(|r| r[0] > from && r[0] <= to);
        let (sum, count) = rows.fold((0.0, 0.0), |(s, n), row| (s + row[column], n + 1.0));
        sum / count
    }

    /// Draft over travel (mm), in means over parts of this length, m.
    pub(super) fn smoothed(&self, part: f64) -> Vec<[f64; 2]> {
        let last = self.curve.last().map_or(0.0, |row| row[0]);
        let parts = (last / part).round() as usize;
        let within = |k: usize| [k as f64 * part, (k + 1) as f64 * part];
        (0..parts)
            .map(|k| [1e3 * (k as f64 + 0.5) * part, self.mean(1, within(k))])
            .filter(|point| point[1].is_finite())
            .collect()
    }
}
