//! The projected Gauss–Seidel sweep in body form, one contact after another.
//!
//! For each contact, with `u`, `ω` the current relative velocity and angular velocity and
//! `D_x = S_x + Σ_x` the diagonal of its rows:
//!
//! ```text
//! p   ← max(0, p − (u_n + σ p − b_n)/D_n)                               (1)
//! p_t ← disc(p_t − (u_t + Σ_t p_t)/D_t, µ p)                            (2)
//! p_r ← disc(p_r − (ω_t + Σ_r p_r)/D_r, µ_r r* p)                       (3)
//! p_w ← clamp(p_w − (ω_n + Σ_r p_w)/D_r, ± µ_w r* p)                    (4)
//! ```
//!
//! each followed by its velocity change. Contacts of the general form (see
//! `esker_contact::GeneralContact`) have the same rows, with `S_t` the largest
//! response in the contact plane; there the change of `p` also changes `u_t`, by the
//! coupling `W n − n S_n`. The fixed point is the
//! Signorini–Coulomb law. This scalar sweep is the reference that faster ones
//! are tested against.

use esker_contact::{
    BodyState, ContactProblem, ContactRows, Impulse, ResidualSum, RowCompliance, project_disc,
    single,
};
use glam::DVec3;

/// Inverse diagonals of the rows that do not change during a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diagonal {
    /// `S_n`, 1/kg: the normal compliance is added per sweep.
    pub normal_mobility: f64,
    /// `1/D_t`, kg, as a number of 32 bits: packed contacts keep no more of it.
    /// Where a sweep ends does not depend on it.
    pub inverse_tangent: f64,
    /// `1/D_r`, kg m²; zero without rolling rows.
    pub inverse_rolling: f64,
    /// Velocity in the contact plane per normal impulse, 1/kg; zero for spheres.
    pub coupling: DVec3,
}

impl Diagonal {
    /// The diagonals of one contact.
    #[inline]
    pub fn of(rows: ContactRows<'_>, bodies: &[BodyState], compliance: TangentCompliance) -> Self {
        let [a, b] = rows.contact.bodies.map(|i| &bodies[i as usize]);
        Diagonal {
            normal_mobility: rows.normal_mobility(a, b),
            inverse_tangent: Diagonal::inverse_tangent_of(rows, [a, b], compliance),
            inverse_rolling: inverse(rows.rolling_mobility(a, b) * (1.0 + compliance.rolling)),
            coupling: rows.coupling(a, b),
        }
    }

    /// `inverse_tangent` alone.
    #[inline]
    pub fn inverse_tangent_of(
        rows: ContactRows<'_>,
        [a, b]: [&BodyState; 2],
        compliance: TangentCompliance,
    ) -> f64 {
        single(inverse(
            rows.tangent_mobility(a, b) * (1.0 + compliance.friction),
        ))
    }
}

/// One over a positive number, else zero.
#[inline]
fn inverse(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

/// Compliances of the friction and rolling rows over the contact's own
/// mobilities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TangentCompliance {
    /// `Σ_t/S_t`.
    pub friction: f64,
    /// `Σ_r/S_r`.
    pub rolling: f64,
}

impl TangentCompliance {
    /// `1 − Σ_t/D_t`: what is left of a friction impulse per sweep where
    /// nothing moves.
    #[inline]
    pub fn friction_factor(&self) -> f64 {
        1.0 / (1.0 + self.friction)
    }

    /// The same of rolling and twisting impulses.
    #[inline]
    pub fn rolling_factor(&self) -> f64 {
        1.0 / (1.0 + self.rolling)
    }
}

/// Updates (1)–(4) of one contact, with normal target `b_n` and compliance `σ`.
#[inline]
pub fn relax(
    rows: ContactRows<'_>,
    diagonal: &Diagonal,
    normal: (f64, f64),
    compliance: TangentCompliance,
    bodies: (&mut BodyState, &mut BodyState),
    impulse: &mut Impulse,
) {
    if rows.general().is_some() {
        return relax_general(rows, diagonal, normal, compliance, bodies, impulse);
    }
    let contact = rows.contact;
    let (a, b) = bodies;
    let n = contact.normal;
    let (target, sigma) = normal;
    let (mut va, mut vb, mut wa, mut wb) = (
        a.velocity,
        b.velocity,
        a.angular_velocity,
        b.angular_velocity,
    );

    let mobility = diagonal.normal_mobility + sigma;
    let u_n = n.dot(vb - va);
    let p = (impulse.normal - (u_n + sigma * impulse.normal - target) / mobility).max(0.0);
    let linear_impulse = n * (p - impulse.normal);
    impulse.normal = p;
    va -= linear_impulse * a.inverse_mass;
    vb += linear_impulse * b.inverse_mass;

    if contact.friction > 0.0 {
        let u = vb - va - (wa * contact.arms[0] + wb * contact.arms[1]).cross(n);
        let u_t = u - n * n.dot(u);
        let wanted =
            impulse.friction * compliance.friction_factor() - u_t * diagonal.inverse_tangent;
        let friction = project_disc(wanted, contact.friction * p);
        let change = friction - impulse.friction;
        impulse.friction = friction;
        va -= change * a.inverse_mass;
        vb += change * b.inverse_mass;
        let moment = n.cross(change);
        wa -= moment * (contact.arms[0] * a.inverse_inertia);
        wb -= moment * (contact.arms[1] * b.inverse_inertia);
    }

    if contact.rolling > 0.0 || contact.twisting > 0.0 {
        let angular_velocity = wb - wa;
        let omega_n = n.dot(angular_velocity);
        let omega_t = angular_velocity - n * omega_n;
        let factor = compliance.rolling_factor();
        let wanted = impulse.rolling * factor - omega_t * diagonal.inverse_rolling;
        let rolling = project_disc(wanted, contact.rolling * p);
        let limit = contact.twisting * p;
        let twisting =
            (impulse.twisting * factor - omega_n * diagonal.inverse_rolling).clamp(-limit, limit);
        let torque_impulse = rolling - impulse.rolling + n * (twisting - impulse.twisting);
        impulse.rolling = rolling;
        impulse.twisting = twisting;
        wa -= torque_impulse * a.inverse_inertia;
        wb += torque_impulse * b.inverse_inertia;
    }

    a.velocity = va;
    a.angular_velocity = wa;
    b.velocity = vb;
    b.angular_velocity = wb;
}

/// [`relax`] of a contact of the general form.
fn relax_general(
    rows: ContactRows<'_>,
    diagonal: &Diagonal,
    (target, sigma): (f64, f64),
    compliance: TangentCompliance,
    (a, b): (&mut BodyState, &mut BodyState),
    impulse: &mut Impulse,
) {
    let contact = rows.contact;
    let n = contact.normal;
    let u = rows.relative_velocity(a, b);
    let u_n = n.dot(u);
    let mobility = diagonal.normal_mobility + sigma;
    let p = (impulse.normal - (u_n + sigma * impulse.normal - target) / mobility).max(0.0);
    let mut change = Impulse {
        normal: p - impulse.normal,
        ..Default::default()
    };
    if contact.friction > 0.0 {
        let u_t = u - n * u_n + diagonal.coupling * change.normal;
        let wanted =
            impulse.friction * compliance.friction_factor() - u_t * diagonal.inverse_tangent;
        change.friction = project_disc(wanted, contact.friction * p) - impulse.friction;
    }
    rows.apply(&change, a, b);
    *impulse = impulse.plus(&change);
    impulse.normal = p;
    if contact.rolling > 0.0 || contact.twisting > 0.0 {
        let angular_velocity = rows.relative_angular_velocity(a, b);
        let omega_n = n.dot(angular_velocity);
        let factor = compliance.rolling_factor();
        let wanted =
            impulse.rolling * factor - (angular_velocity - n * omega_n) * diagonal.inverse_rolling;
        let limit = contact.twisting * p;
        let twisting = impulse.twisting * factor - omega_n * diagonal.inverse_rolling;
        let change = Impulse {
            rolling: project_disc(wanted, contact.rolling * p) - impulse.rolling,
            twisting: twisting.clamp(-limit, limit) - impulse.twisting,
            ..Default::default()
        };
        rows.apply(&change, a, b);
        *impulse = impulse.plus(&change);
    }
}

/// When a whole-step solve stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Sweeps that are made in any case.
    pub min_sweeps: usize,
    /// Most sweeps.
    pub sweeps: usize,
    /// Residual at which it stops early (see [`ResidualSum`]); `None`: never.
    pub tolerance: Option<f64>,
}

/// What a whole-step solve reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SweepReport {
    /// Sweeps done.
    pub sweeps: usize,
    /// Residual at the end.
    pub residual: f64,
    /// Whether the tolerance was met (true where there was none).
    pub converged: bool,
}

/// Whole-step projected Gauss–Seidel; scratch is kept between solves.
#[derive(Clone, Debug, Default)]
pub struct GaussSeidel {
    diagonals: Vec<Diagonal>,
}

/// Sweeps between two looks at the residual, which costs about one sweep.
pub(crate) const SWEEPS_PER_CHECK: usize = 10;

impl GaussSeidel {
    /// Solves `problem` from the given impulses; `bodies` become the
    /// velocities after the step.
    pub fn solve(
        &mut self,
        problem: &ContactProblem,
        impulses: &mut [Impulse],
        bodies: &mut Vec<BodyState>,
        stop: Stop,
    ) -> SweepReport {
        let compliance = TangentCompliance {
            friction: problem.tangent_compliance,
            rolling: problem.rolling_compliance,
        };
        self.diagonals.clear();
        self.diagonals.extend(
            (0..problem.contacts.len())
                .map(|i| Diagonal::of(problem.rows(i), &problem.bodies, compliance)),
        );
        bodies.clone_from(&problem.bodies);
        for (i, impulse) in impulses.iter().enumerate() {
            if impulse.normal > 0.0 {
                let (a, b) = ContactProblem::bodies_of(bodies, &problem.contacts[i]);
                problem.rows(i).apply(impulse, a, b);
            }
        }
        let mut report = SweepReport::default();
        while report.sweeps < stop.sweeps {
            for (i, (diagonal, impulse)) in
                self.diagonals.iter().zip(impulses.iter_mut()).enumerate()
            {
                let contact = &problem.contacts[i];
                let pair = ContactProblem::bodies_of(bodies, contact);
                let normal = (contact.target, contact.compliance);
                relax(problem.rows(i), diagonal, normal, compliance, pair, impulse);
            }
            report.sweeps += 1;
            if let Some(tolerance) = stop.tolerance
                && report.sweeps % SWEEPS_PER_CHECK == 0
                && report.sweeps >= stop.min_sweeps
                && residual(problem, impulses, bodies) <= tolerance
            {
                break;
            }
        }
        report.residual = residual(problem, impulses, bodies);
        report.converged = stop.tolerance.is_none_or(|t| report.residual <= t);
        report
    }
}

/// Residual of impulses and the velocities that they produce.
pub fn residual(problem: &ContactProblem, impulses: &[Impulse], bodies: &[BodyState]) -> f64 {
    let mut sum = ResidualSum::default();
    for (i, (contact, impulse)) in problem.contacts.iter().zip(impulses).enumerate() {
        let [a, b] = contact.bodies.map(|i| i as usize);
        let compliance = RowCompliance {
            normal: contact.compliance,
            tangent: problem.tangent_compliance,
            rolling: problem.rolling_compliance,
        };
        sum.add(
            problem.rows(i),
            contact.target,
            compliance,
            [&bodies[a], &bodies[b]],
            [&problem.bodies[a], &problem.bodies[b]],
            impulse,
        );
    }
    sum.relative()
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_contact::Contact;

    /// A sphere pressed into a corner of three planes: the solution is known.
    fn corner() -> ContactProblem {
        let sphere = BodyState {
            velocity: DVec3::new(-1.0, -2.0, -3.0),
            inverse_mass: 2.0,
            angular_velocity: DVec3::ZERO,
            inverse_inertia: 0.0,
        };
        let contacts = [DVec3::X, DVec3::Y, DVec3::Z]
            .into_iter()
            .enumerate()
            .map(|(i, axis)| Contact::frictionless([0, i as u32 + 1], -axis, [0.1, 0.0]))
            .collect();
        ContactProblem {
            bodies: vec![
                sphere,
                BodyState::default(),
                BodyState::default(),
                BodyState::default(),
            ],
            contacts,
            tangent_compliance: 1e-9,
            rolling_compliance: 1e-9,
            ..Default::default()
        }
    }

    #[test]
    fn a_corner_stops_a_sphere_with_the_impulse_it_had() {
        let problem = corner();
        let mut impulses = vec![Impulse::default(); 3];
        let mut bodies = Vec::new();
        let report = GaussSeidel::default().solve(
            &problem,
            &mut impulses,
            &mut bodies,
            Stop {
                min_sweeps: 0,
                sweeps: 50,
                tolerance: Some(1e-12),
            },
        );
        assert!(report.converged && report.sweeps == SWEEPS_PER_CHECK);
        assert!(bodies[0].velocity.length() < 1e-14);
        for (impulse, expected) in impulses.iter().zip([0.5, 1.0, 1.5]) {
            assert!((impulse.normal - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn residual_is_one_at_zero_and_a_missed_tolerance_is_reported() {
        let problem = corner();
        let zero = vec![Impulse::default(); 3];
        assert!((residual(&problem, &zero, &problem.bodies) - 1.0).abs() < 1e-15);
        let mut impulses = zero;
        let report = GaussSeidel::default().solve(
            &problem,
            &mut impulses,
            &mut Vec::new(),
            Stop {
                min_sweeps: 0,
                sweeps: 0,
                tolerance: Some(1e-3),
            },
        );
        assert!(!report.converged);
    }
}
