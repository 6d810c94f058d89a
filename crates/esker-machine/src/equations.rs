//! The rows of a machine: what joints, gears, limits, friction and drives ask of its velocities.

use glam::DVec3;

use crate::body::{Spatial, WorldMass};
use crate::definition::{DriveKind, Elasticity};
use crate::joint::JointRow;
use crate::machine::{Drive, IMMOVABLE, Joint, Machine, RowSource};
use crate::row::Row;

impl Machine {
    /// Sets all rows for the present poses and `v°`.
    pub(crate) fn set_rows(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        let mut at = 0;
        for joint in &self.joints {
            let placed = joint.placed(&self.poses);
            placed.rows(joint.kind, joint.angle(&self.axes), |of_joint| {
                let mut row = Row::default();
                self.connect(&mut row, joint, &of_joint.jacobian, 1.0);
                row.reaction = reaction(&of_joint, placed.arms[1]);
                row.violation = of_joint.violation;
                let Elasticity {
                    compliance,
                    damping,
                } = joint.elasticity(of_joint.part);
                let law = if compliance > 0.0 {
                    self.rigid().yielding(compliance, damping * compliance)
                } else {
                    self.rigid()
                };
                law.set(&mut row, 0.0, (&self.masses, &self.given));
                rows[at] = row;
                at += 1;
            });
        }
        for (row, source) in rows.iter_mut().zip(&self.sources).skip(at) {
            *row = self.row_of(*source);
        }
        self.rows = rows;
    }

    /// The row of anything but a joint itself.
    fn row_of(&self, source: RowSource) -> Row {
        let mut row = Row::default();
        let state = (&self.masses[..], &self.given[..]);
        match source {
            RowSource::Joint(_) => unreachable!("rows of joints are set together"),
            RowSource::Gear(g) => {
                let gear = &self.gears[g];
                self.connect_axis(&mut row, gear.axes[0], 1.0);
                self.connect_axis(&mut row, gear.axes[1], -gear.ratio);
                row.violation = gear.violation(&self.axes);
                self.rigid().set(&mut row, 0.0, state);
            }
            RowSource::Limit(k, side) => {
                let axis = &self.axes[k];
                let sign = if side == 0 { 1.0 } else { -1.0 };
                self.connect_axis(&mut row, k, sign);
                row.violation = sign * (axis.value - axis.limits[side]);
                self.held().set(&mut row, 0.0, state);
                row.bounds = [0.0, f64::INFINITY];
                // A limit may be reached, not crossed; beyond it, it recovers as a joint does. Unlike
                // a joint's its target has no part of v°: a body that hits it would keep a ninth of its speed.
                let share = if row.violation > 0.0 { 1.0 } else { 4.0 / 9.0 };
                row.target = -share * row.violation / self.step;
            }
            RowSource::Friction(k) => {
                self.connect_axis(&mut row, k, 1.0);
                self.held().set(&mut row, 0.0, state);
                let bound = self.axes[k].friction * self.step;
                (row.target, row.bounds) = (0.0, [-bound, bound]);
            }
            RowSource::Drive(d) => self.set_drive_row(&mut row, &self.drives[d]),
        }
        row
    }

    fn set_drive_row(&self, row: &mut Row, drive: &Drive) {
        let (h, state) = (self.step, (&self.masses[..], &self.given[..]));
        let at = |time: f64| drive.def.signal.at(time, drive.external);
        self.connect_axis(row, drive.axis, 1.0);
        let middle = at(self.time + 0.5 * h);
        match drive.def.kind {
            DriveKind::VelocityMotor => {
                self.held().set(row, 0.0, state);
                row.target = middle;
            }
            DriveKind::PositionServo { stiffness, damping } => {
                let (from, to) = (at(self.time), at(self.time + h));
                row.violation = self.axes[drive.axis].value - from;
                let law = self.held().yielding(stiffness.recip(), damping / stiffness);
                law.set(row, (to - from) / h, state);
            }
            DriveKind::Force => {
                row.set_responses(&self.masses);
            }
            DriveKind::DampedForce { damping } => {
                row.set_responses(&self.masses);
                row.target = middle / damping;
                row.sigma = (damping * h).recip();
            }
        }
        let limit = drive.def.force_limit.unwrap_or(f64::INFINITY) * h;
        row.bounds = [-limit, limit];
        if drive.def.kind == DriveKind::Force {
            row.bounds = [(middle * h).clamp(-limit, limit); 2];
        }
    }

    /// Adds the Jacobian of a joint to a row.
    fn connect(&self, row: &mut Row, joint: &Joint, jacobian: &[Spatial; 2], factor: f64) {
        for (body, jacobian) in joint.bodies.iter().zip(jacobian) {
            if let Some(b) = *body {
                let properties = &self.properties[b];
                let free = Spatial::new(
                    jacobian.linear * properties.free_translation,
                    jacobian.angular * properties.free_rotation,
                );
                row.add(b, free * factor);
            }
        }
    }

    /// Adds the Jacobian of a coordinate to a row.
    fn connect_axis(&self, row: &mut Row, axis: usize, factor: f64) {
        let axis = &self.axes[axis];
        self.connect(row, &self.joints[axis.joint], &axis.jacobian, factor);
        let [_, jacobian] = axis.jacobian;
        row.reaction = Spatial::new(
            jacobian.linear,
            jacobian.angular - axis.arm.cross(jacobian.linear),
        ) * factor;
    }

    fn rigid(&self) -> RowLaw {
        RowLaw {
            compliance: 0.0,
            damping_time: 2.0 * self.step,
            step: self.step,
            regularisation: self.regularisation,
        }
    }

    /// Of rows that may be bounded: they are not redundant for long, and must not creep at rest.
    fn held(&self) -> RowLaw {
        RowLaw {
            regularisation: self.held_regularisation,
            ..self.rigid()
        }
    }
}

/// What unit impulse of a row of a joint puts on the second body, about its anchor.
fn reaction(row: &JointRow, arm: DVec3) -> Spatial {
    let [_, Spatial { linear, angular }] = row.jacobian;
    Spatial::new(linear, angular - arm.cross(linear))
}

/// How a row yields: compliance `ε`, damping time `τ`.
///
/// ```text
/// J v + Σ λ = −(4/h) Y g + Y (J v° − ẋ) + ẋ,    Y = 1/(1 + 4 τ/h),
/// Σ = max(4 ε Y/h², ρ J M⁻¹ Jᵀ)                                           (1)
/// ```
///
/// with the velocity `ẋ` of what the violation `g` is measured from. A rigid row has `τ = 2 h`.
#[derive(Clone, Copy, Debug)]
struct RowLaw {
    compliance: f64,
    damping_time: f64,
    step: f64,
    regularisation: f64,
}

impl RowLaw {
    /// The same row with a compliance (m/N) and a damping time (s).
    fn yielding(self, compliance: f64, damping_time: f64) -> Self {
        RowLaw {
            compliance,
            damping_time,
            ..self
        }
    }

    /// Completes a row that has a Jacobian and a violation; it has no bounds then.
    fn set(self, row: &mut Row, rate: f64, (masses, start): (&[WorldMass], &[Spatial])) {
        let h = self.step;
        let mobility = row.set_responses(masses);
        let y = (1.0 + 4.0 * self.damping_time / h).recip();
        let sigma = (4.0 * self.compliance * y / (h * h)).max(self.regularisation * mobility);
        row.sigma = if sigma > 0.0 { sigma } else { IMMOVABLE };
        row.target = y * (row.velocity(start) - rate - 4.0 * row.violation / h) + rate;
        row.bounds = [f64::NEG_INFINITY, f64::INFINITY];
    }
}
