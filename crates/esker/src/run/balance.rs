//! What walls and bodies carried and gave over a run, and the energy ledger.

use esker_plot::number;
use esker_world::Wall;
use esker_world::definition::Motion;
use esker_world::{EnergyLedger, World};
use glam::DVec3;
use serde::Serialize;

/// Loads on one wall over a run; field names are keys of `summary.json`.
#[derive(Serialize)]
pub struct WallSummary {
    name: String,
    /// Mean force of the grains, N.
    force: [f64; 3],
    /// Mean torque of the grains about the origin of the wall's frame, N m.
    torque: [f64; 3],
    /// Mean power of the drive, W.
    power: f64,
    /// Work of the drive on the grains, J.
    work: f64,
    /// Most contacts at once in which a closed container held grains from outside.
    most_outer_contacts: u64,
    #[serde(skip)]
    is_driven: bool,
}

/// A body of its own over a run; field names are keys of `summary.json`.
#[derive(Serialize)]
pub struct BodySummary {
    name: String,
    /// Where the origin of its frame is at the end, m.
    position: [f64; 3],
    /// Unit quaternion (x, y, z, w) of its frame at the end.
    orientation: [f64; 4],
    /// Velocity of its centre of mass at the end, m/s.
    velocity: [f64; 3],
    /// Angular velocity at the end, rad/s.
    angular_velocity: [f64; 3],
    /// Mean force of its contacts, N.
    force: [f64; 3],
    /// Mean torque of its contacts about the origin of its frame, N m.
    torque: [f64; 3],
}

impl BodySummary {
    pub fn new(world: &World, body: usize) -> Self {
        let (pose, [velocity, angular_velocity]) =
            (world.body_pose(body), world.body_velocity(body));
        let mean = world.bodies()[body].total_load.mean(world.time());
        BodySummary {
            name: world.bodies()[body].name.clone(),
            position: pose.position.to_array(),
            orientation: pose.orientation.to_array(),
            velocity: velocity.to_array(),
            angular_velocity: angular_velocity.to_array(),
            force: mean.force.to_array(),
            torque: mean.torque.to_array(),
        }
    }
}

impl WallSummary {
    pub fn new(wall: &Wall, time: f64, most_outer_contacts: u64) -> Self {
        let mean = wall.total_load.mean(time);
        WallSummary {
            name: wall.name.clone(),
            force: mean.force.to_array(),
            torque: mean.torque.to_array(),
            power: mean.power,
            work: wall.total_load.work,
            most_outer_contacts,
            is_driven: wall.motion != Motion::Still || wall.surface_velocity != DVec3::ZERO,
        }
    }

    /// A warning where grains met the outer side of a closed container.
    pub fn warning(&self) -> Option<String> {
        (self.most_outer_contacts > 0).then(|| {
            format!(
                "  WARNING     up to {} grains at once touched the closed wall {} from outside; \
                 open a face to let grains in, or say side = \"outside\" for a solid",
                self.most_outer_contacts, self.name
            )
        })
    }

    /// A line about the drive; `None` for a wall without one.
    pub fn line(&self) -> Option<String> {
        self.is_driven.then(|| {
            format!(
                "  drive       {}: {} J, {} W on average",
                self.name,
                number(self.work, 4),
                number(self.power, 4)
            )
        })
    }
}

/// What machines did over a run; field names are keys of `summary.json`.
#[derive(Serialize)]
pub struct MachineSummary {
    joints: Vec<JointSummary>,
    drives: Vec<DriveSummary>,
    /// Substeps in which joints and drives could not be solved together.
    unsolved: u64,
}

#[derive(Serialize)]
struct JointSummary {
    name: String,
    /// Largest distance of its anchors, m, and largest angle between its axes, rad.
    max_gap: f64,
    max_tilt: f64,
    /// Mean force on its second body, N.
    force: [f64; 3],
}

#[derive(Serialize)]
struct DriveSummary {
    name: String,
    /// Mean force or torque, N or N m.
    force: f64,
    /// Mean power, W.
    power: f64,
    /// Work, J.
    work: f64,
}

impl MachineSummary {
    /// `None` where there are no machines.
    pub fn new(world: &World) -> Option<Self> {
        let machines = world.machines();
        let per_second = world.time().recip();
        let joints = machines.joint_names().enumerate().map(|(j, name)| {
            let totals = machines.joint(j);
            JointSummary {
                name: name.to_owned(),
                max_gap: totals.max_violation.distance,
                max_tilt: totals.max_violation.angle,
                force: (totals.impulse.linear * per_second).to_array(),
            }
        });
        let drives = machines.drive_names().enumerate().map(|(d, name)| {
            let totals = machines.drive(d);
            DriveSummary {
                name: name.to_owned(),
                force: totals.impulse * per_second,
                power: totals.work * per_second,
                work: totals.work,
            }
        });
        (!machines.is_empty()).then(|| MachineSummary {
            joints: joints.collect(),
            drives: drives.collect(),
            unsolved: machines.troubles().unsolved,
        })
    }

    /// What the summary says of joints and drives.
    pub fn lines(&self) -> Vec<String> {
        let widest = self
            .joints
            .iter()
            .max_by(|a, b| a.max_gap.total_cmp(&b.max_gap));
        let mut lines: Vec<String> = widest
            .map(|joint| {
                let gap = number(1e3 * joint.max_gap, 2);
                format!(
                    "  joints      anchors at most {gap} mm apart (\"{}\")",
                    joint.name
                )
            })
            .into_iter()
            .collect();
        if self.unsolved > 0 {
            let unsolved = self.unsolved;
            lines.push(format!(
                "              {unsolved} substeps could not be solved"
            ));
        }
        lines.extend(self.drives.iter().map(|drive| {
            format!(
                "  drive       {}: {} J, {} W on average",
                drive.name,
                number(drive.work, 4),
                number(drive.power, 4)
            )
        }));
        lines
    }
}

/// The energy ledger of a run, J; field names are keys of `summary.json`.
#[derive(Serialize)]
pub struct EnergySummary {
    drives: f64,
    gravity: f64,
    cohesion: f64,
    emitted: f64,
    removed: f64,
    friction: f64,
    rolling: f64,
    impact: f64,
    damping: f64,
    joints: f64,
    kinetic_change: f64,
    stored_change: f64,
    /// What came, less what went and what is there.
    imbalance: f64,
    throughput: f64,
    /// Imbalance over throughput.
    error: f64,
}

impl EnergySummary {
    /// Imbalance over throughput.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// `None` where the scene does not ask for a ledger.
    pub fn new(world: &World) -> Option<Self> {
        let ledger: &EnergyLedger = world.energy()?;
        let kinetic = world.kinetic_energy();
        let (imbalance, throughput) = (ledger.imbalance(kinetic), ledger.throughput(kinetic));
        Some(EnergySummary {
            drives: ledger.drives,
            gravity: ledger.gravity,
            cohesion: ledger.cohesion,
            emitted: ledger.emitted,
            removed: ledger.removed,
            friction: ledger.friction,
            rolling: ledger.rolling,
            impact: ledger.impact,
            damping: ledger.damping,
            joints: ledger.joints,
            kinetic_change: kinetic - ledger.initial_kinetic,
            stored_change: ledger.stored - ledger.initial_stored,
            imbalance,
            throughput,
            error: if throughput > 0.0 {
                imbalance / throughput
            } else {
                0.0
            },
        })
    }

    /// The ledger in three lines.
    pub fn lines(&self) -> [String; 3] {
        let list = |terms: &[(&str, f64)]| {
            let terms = terms.iter().filter(|(_, energy)| *energy != 0.0);
            let terms: Vec<String> = terms
                .map(|(name, x)| format!("{name} {}", number(*x, 4)))
                .collect();
            terms.join(", ")
        };
        let came = list(&[
            ("drives", self.drives),
            ("gravity", self.gravity),
            ("cohesion", self.cohesion.max(0.0)),
            ("emitted", self.emitted),
        ]);
        let went = list(&[
            ("friction", self.friction),
            ("rolling", self.rolling),
            ("impact", self.impact),
            ("damping", self.damping),
            ("joints", self.joints),
            ("cohesion", (-self.cohesion).max(0.0)),
            ("removed", self.removed),
        ]);
        [
            format!("  ledger (J)  from {came}"),
            format!("              to {went}"),
            format!(
                "              change: kinetic {}, stored {}; closes to {:.2} % of {}",
                number(self.kinetic_change, 4),
                number(self.stored_change, 4),
                100.0 * self.error.abs(),
                number(self.throughput, 4)
            ),
        ]
    }
}
