//! Velocities in which the mass of a machine is one, its joints included.
//!
//! With the rows `G` without bounds, their regularisation `Σ` and right-hand sides `q`, the
//! velocities of a substep under the impulses `P` are
//!
//! ```text
//! v = A (M v_free + Gᵀ Σ⁻¹ q + P),    A⁻¹ = M + Gᵀ Σ⁻¹ G = R Rᵀ            (1)
//! y = Rᵀ v,    v = R⁻ᵀ y                                                    (2)
//! ```
//!
//! In `y` a machine is a body with `6 n` degrees of freedom, each of mass one. Solvers that know
//! nothing of joints take it into a common problem with contacts; rows with bounds come beside
//! the contacts.

use crate::body::Spatial;
use crate::dense::Cholesky;
use crate::machine::Machine;
use glam::DVec3;

/// A machine in velocities `y` of (2), since [`Machine::begin_substep`].
#[derive(Clone, Debug)]
pub struct Generalised {
    /// `v` of (1) without impulses, per body of [`Machine::bodies`].
    pub velocities: Vec<Spatial>,
    /// `R⁻ᵀ`: for every degree of freedom the velocities of the bodies at unit `y`.
    pub modes: Vec<Vec<Spatial>>,
}

impl Generalised {
    /// `J R⁻ᵀ` of a row with these parts of its Jacobian, by body.
    pub fn row(&self, jacobian: &[(usize, Spatial)]) -> Vec<f64> {
        let along = |mode: &Vec<Spatial>| jacobian.iter().map(|&(b, j)| j.dot(mode[b])).sum();
        self.modes.iter().map(along).collect()
    }
}

impl Machine {
    /// The machine in generalised velocities. Rigid rows need a regularisation of 1e-6 or more
    /// ([`crate::Machines::set_regularisation`]): the condition of (1) is its inverse.
    pub fn generalised(&self) -> Generalised {
        let (rows, _) = self.rows();
        let count = self.bodies().len();
        let size = 6 * count;
        let mut factor = Cholesky::default();
        factor.resize(size);
        // Axes in which a body is locked have the mass one.
        let masses: Vec<DVec3> = self
            .masses
            .iter()
            .map(|mass| {
                mass.inverse_mass
                    .map(|m| if m > 0.0 { m.recip() } else { 1.0 })
            })
            .collect();
        let momentum_of = |b: usize, velocity: Spatial| {
            let angular = self.masses[b].inertia * velocity.angular;
            Spatial::new(masses[b] * velocity.linear, angular)
        };
        let mut momentum = vec![Spatial::ZERO; count];
        for (b, (mass, free)) in self.masses.iter().zip(self.free_velocities()).enumerate() {
            for (k, own) in masses[b].to_array().into_iter().enumerate() {
                *factor.entry(6 * b + k, 6 * b + k) = own;
                for j in 0..=k {
                    *factor.entry(6 * b + 3 + k, 6 * b + 3 + j) = mass.inertia.col(j)[k];
                }
            }
            momentum[b] = momentum_of(b, *free);
        }
        // Without the parts along axes that a body is locked in.
        let free_part =
            |b: usize, jacobian: Spatial| momentum_of(b, self.masses[b].velocity_of(jacobian));
        for row in rows {
            let parts = row.entries().iter();
            let parts: Vec<(usize, Spatial)> = parts
                .map(|entry| (entry.body, free_part(entry.body, entry.jacobian)))
                .collect();
            for &(a, first) in &parts {
                momentum[a] += first * (row.target / row.sigma);
                for &(b, second) in &parts {
                    for i in 0..6 {
                        for j in 0..6 {
                            let (i, j, value) = (
                                6 * a + i,
                                6 * b + j,
                                first.component(i) * second.component(j) / row.sigma,
                            );
                            if j <= i {
                                *factor.entry(i, j) += value;
                            }
                        }
                    }
                }
            }
        }
        factor.factorise(f64::MIN_POSITIVE);
        let spatial = |b: usize, x: &[f64]| {
            let part = |k: usize| DVec3::from_slice(&x[6 * b + k..6 * b + k + 3]);
            // Nothing moves along locked axes.
            let momentum = momentum_of(b, Spatial::new(part(0), part(3)));
            self.masses[b].velocity_of(momentum)
        };
        let by_body = |x: &[f64]| (0..count).map(|b| spatial(b, x)).collect::<Vec<_>>();
        let mut velocity: Vec<f64> = (0..size)
            .map(|i| momentum[i / 6].component(i % 6))
            .collect();
        factor.solve(&mut velocity);
        let modes = (0..size)
            .map(|i| {
                let mut mode = vec![0.0; size];
                mode[i] = 1.0;
                factor.solve_upper(&mut mode);
                by_body(&mode)
            })
            .collect();
        Generalised {
            velocities: by_body(&velocity),
            modes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Assembly, BodyPose, BodyProperties, JointDef, JointKind, MachineDef, Machines, Substep,
    };
    use glam::{DQuat, DVec3};

    /// A double pendulum: `R⁻ᵀ R⁻¹` is the articulated inverse mass, and velocities without
    /// impulses are those of the direct solve.
    #[test]
    fn modes_make_the_articulated_inverse_mass() {
        let bodies = [1.0, 2.0].map(|m| BodyProperties::new(m, DVec3::new(0.1, 0.2, 0.25) * m));
        let turn = DQuat::from_rotation_y(0.4);
        let mut poses = [0.5, 1.5].map(|x| BodyPose {
            position: DVec3::X * x,
            orientation: turn,
        });
        let hinge = |k: usize, bodies| {
            let at = (DVec3::X * k as f64, DVec3::Y);
            JointDef::at(
                format!("hinge {k}"),
                JointKind::Revolute,
                bodies,
                at,
                &poses,
            )
        };
        let joints = [hinge(0, [None, Some(0)]), hinge(1, [Some(0), Some(1)])];
        let def = MachineDef {
            bodies: &bodies,
            joints: &joints,
            gears: &[],
            drives: &[],
        };
        let mut machines = Machines::new(&def, &mut poses, Assembly::default()).unwrap();
        machines.set_regularisation(1e-6);
        let spinning = Spatial::new(DVec3::Z * -0.4, DVec3::Y * 0.8);
        machines.begin_substep(&Substep {
            length: 1e-3,
            time: 0.0,
            poses: &poses,
            velocities: &[spinning, spinning * 0.3],
            forces: &[Spatial::new(DVec3::Z * -9.81, DVec3::ZERO); 2],
        });
        let generalised = machines.machines()[0].generalised();
        let mut expected = [Spatial::ZERO; 2];
        machines.solve(&[Spatial::ZERO; 2], &mut expected);
        for (v, e) in generalised.velocities.iter().zip(expected) {
            assert!((*v - e).dot(*v - e).sqrt() < 1e-8, "{v:?} {e:?}");
        }
        let push = Spatial::new(DVec3::new(0.3, -0.2, 0.5), DVec3::new(0.1, 0.7, -0.2));
        let response = generalised
            .modes
            .iter()
            .fold(Spatial::ZERO, |sum, mode| sum + mode[1] * mode[1].dot(push));
        let articulated = machines.articulated_inverse_mass(1).apply(push);
        let error = response - articulated;
        assert!(
            error.dot(error).sqrt() < 1e-8,
            "{response:?} {articulated:?}"
        );
    }
}
