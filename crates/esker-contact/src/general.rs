//! What the rows of a contact see of two bodies and do to them.
//!
//! With `d_a`, `d_b` the vectors from the centres of mass to the contact point and
//! `I` a body's inertia in world axes, which is frozen over a step, the metric
//! angular velocity
//!
//! ```text
//! z = I^(1/2) ω                                                          (1)
//! ```
//!
//! makes every body's inverse inertia one: what is known of a body during a
//! solve stays one cache line, and changes of all masses by a factor stay what
//! they are for spheres. A contact brings the rest,
//!
//! ```text
//! B = I^(−1/2) [d]×,   C = I^(−1/2)     (of a sphere: [d]× and 1, z = ω)  (2)
//! u = P_b v_b − P_a v_a + B_bᵀ z_b − B_aᵀ z_a + t u',   w = C_b z_b − C_a z_a     (3)
//! ```
//!
//! and an impulse `f` with a torque impulse `τ` adds `B_b f + C_b τ` to `z_b` and
//! takes `B_a f + C_a τ` from `z_a`. A body that is locked along some world axes takes only
//! the part `P f` of an impulse, with the projection `P` on the others, and only `P v` of its
//! velocity counts (it has no other). The rate `u'` is what the relative velocity
//! gains by the motion of the contact point and the rotation of the normal while the
//! bodies move on; `t` counts from the pose that the geometry belongs to. The
//! response of `u` to `f` is
//!
//! ```text
//! W = P_a/m_a + P_b/m_b + B_aᵀ B_a + B_bᵀ B_b,   S_n = n·W n,  S_t = λ_max(W_tt). (4)
//! ```
//!
//! For spheres `B` follows from the normal and two arms (see [`crate::Contact`]):
//! the radial form, which needs no table.

use glam::{DMat3, DVec3};

use crate::problem::{BodyState, Contact, Impulse};

/// How a contact turns its bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Arms along the normal: spheres.
    #[default]
    Radial,
    /// The entry with this index in the problem's list of general contacts.
    General(u32),
}

/// The part of a general contact that spheres do not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneralContact {
    /// `B_a`, `B_b` of (2).
    pub angular: [DMat3; 2],
    /// `C_a`, `C_b` of (2); read only where there are rolling or twisting rows.
    pub angular_velocity: [DMat3; 2],
    /// Rate `u'` of (3), m/s².
    pub rate: DVec3,
    /// Diagonals of `P_a`, `P_b` of (4): one along world axes that a body is free to move along,
    /// zero along those that it is locked in.
    pub free: [DVec3; 2],
}

impl Default for GeneralContact {
    fn default() -> Self {
        GeneralContact {
            angular: [DMat3::ZERO; 2],
            angular_velocity: [DMat3::ZERO; 2],
            rate: DVec3::ZERO,
            free: [DVec3::ONE; 2],
        }
    }
}

impl GeneralContact {
    /// Whether a body is locked along an axis.
    #[inline]
    pub fn locks(&self) -> bool {
        self.free != [DVec3::ONE; 2]
    }
}

/// `[d]×`: `cross_matrix(d) * x` is `d × x`.
#[inline]
pub fn cross_matrix(d: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(0.0, d.z, -d.y),
        DVec3::new(-d.z, 0.0, d.x),
        DVec3::new(d.y, -d.x, 0.0),
    )
}

/// A contact with all that its rows need.
#[derive(Clone, Copy, Debug)]
pub struct ContactRows<'a> {
    /// Normal, law and normal row.
    pub contact: &'a Contact,
    general: Option<&'a GeneralContact>,
    time: f64,
}

impl<'a> ContactRows<'a> {
    #[inline]
    pub(crate) fn new(contact: &'a Contact, general: &'a [GeneralContact], time: f64) -> Self {
        ContactRows {
            contact,
            general: match contact.form {
                Form::Radial => None,
                Form::General(index) => Some(&general[index as usize]),
            },
            time,
        }
    }

    /// What a general contact has beside its normal and law.
    #[inline]
    pub fn general(&self) -> Option<&'a GeneralContact> {
        self.general
    }

    /// Diagonals of `P_a`, `P_b` of (4).
    #[inline]
    pub fn free(&self) -> [DVec3; 2] {
        self.general.map_or([DVec3::ONE; 2], |g| g.free)
    }

    /// Relative velocity at the contact point, `u` of (3), m/s.
    #[inline]
    pub fn relative_velocity(&self, a: &BodyState, b: &BodyState) -> DVec3 {
        match self.general {
            None => {
                let apart = b.velocity - a.velocity;
                let [l_a, l_b] = self.contact.arms;
                apart
                    - (a.angular_velocity * l_a + b.angular_velocity * l_b)
                        .cross(self.contact.normal)
            }
            Some(g) => {
                let [of_a, of_b] = [
                    g.angular[0].mul_transpose_vec3(a.angular_velocity),
                    g.angular[1].mul_transpose_vec3(b.angular_velocity),
                ];
                let apart = g.free[1] * b.velocity - g.free[0] * a.velocity;
                apart + (of_b - of_a) + g.rate * self.time
            }
        }
    }

    /// Its part along the normal, m/s.
    #[inline]
    pub fn normal_velocity(&self, a: &BodyState, b: &BodyState) -> f64 {
        match self.general {
            None => self.contact.normal.dot(b.velocity - a.velocity),
            Some(_) => self.contact.normal.dot(self.relative_velocity(a, b)),
        }
    }

    /// Relative angular velocity, `w` of (3), rad/s.
    #[inline]
    pub fn relative_angular_velocity(&self, a: &BodyState, b: &BodyState) -> DVec3 {
        match self.general {
            None => b.angular_velocity - a.angular_velocity,
            Some(g) => {
                g.angular_velocity[1] * b.angular_velocity
                    - g.angular_velocity[0] * a.angular_velocity
            }
        }
    }

    /// `W` of (4), 1/kg.
    pub fn effective_mass(&self, a: &BodyState, b: &BodyState) -> DMat3 {
        let [free_a, free_b] = self.free();
        let free = free_a * a.inverse_mass + free_b * b.inverse_mass;
        let free = DMat3::from_diagonal(free);
        let angular = match self.general {
            None => {
                let n = self.contact.normal;
                self.contact.arms.map(|l| cross_matrix(n * l))
            }
            Some(g) => g.angular,
        };
        let turning = |b: DMat3, inverse: f64| (b.transpose() * b) * inverse;
        free + turning(angular[0], a.inverse_inertia) + turning(angular[1], b.inverse_inertia)
    }

    /// `S_n` of (4), 1/kg.
    #[inline]
    pub fn normal_mobility(&self, a: &BodyState, b: &BodyState) -> f64 {
        match self.general {
            None => a.inverse_mass + b.inverse_mass,
            Some(g) => {
                let n = self.contact.normal;
                let along = |free: DVec3| (n * n).dot(free);
                along(g.free[0]) * a.inverse_mass
                    + along(g.free[1]) * b.inverse_mass
                    + (g.angular[0] * n).length_squared() * a.inverse_inertia
                    + (g.angular[1] * n).length_squared() * b.inverse_inertia
            }
        }
    }

    /// `S_t` of (4), 1/kg: the response along the tangent in which it is largest.
    #[inline]
    pub fn tangent_mobility(&self, a: &BodyState, b: &BodyState) -> f64 {
        match self.general {
            None => {
                let [l_a, l_b] = self.contact.arms;
                a.inverse_mass
                    + b.inverse_mass
                    + l_a * l_a * a.inverse_inertia
                    + l_b * l_b * b.inverse_inertia
            }
            Some(_) => largest_in_plane(self.effective_mass(a, b), self.contact.normal),
        }
    }

    /// `W n − n S_n`: velocity in the plane that a unit of normal impulse brings, 1/kg.
    pub fn coupling(&self, a: &BodyState, b: &BodyState) -> DVec3 {
        match self.general {
            None => DVec3::ZERO,
            Some(_) => {
                let response = self.effective_mass(a, b) * self.contact.normal;
                response - self.contact.normal * self.contact.normal.dot(response)
            }
        }
    }

    /// The largest response of the relative angular velocity to a torque impulse,
    /// 1/(kg m²): `1/I_a + 1/I_b` for spheres.
    #[inline]
    pub fn rolling_mobility(&self, a: &BodyState, b: &BodyState) -> f64 {
        match self.general {
            None => a.inverse_inertia + b.inverse_inertia,
            Some(g) => {
                let response = |c: DMat3, inverse: f64| (c * c.transpose()) * inverse;
                let sum = response(g.angular_velocity[0], a.inverse_inertia)
                    + response(g.angular_velocity[1], b.inverse_inertia);
                largest_eigenvalue(sum)
            }
        }
    }

    /// Adds the velocity change `M⁻¹ Gᵀ λ` of an impulse at this contact.
    #[inline]
    pub fn apply(&self, impulse: &Impulse, a: &mut BodyState, b: &mut BodyState) {
        let n = self.contact.normal;
        let linear = n * impulse.normal + impulse.friction;
        let torque = impulse.rolling + n * impulse.twisting;
        let [free_a, free_b] = self.free();
        a.velocity -= free_a * linear * a.inverse_mass;
        b.velocity += free_b * linear * b.inverse_mass;
        match self.general {
            None => {
                // d × p_t with d_a = l_a n and d_b = −l_b n: both bodies turn the same way.
                let [l_a, l_b] = self.contact.arms;
                let moment = n.cross(impulse.friction);
                a.angular_velocity -= (moment * l_a + torque) * a.inverse_inertia;
                b.angular_velocity -= (moment * l_b - torque) * b.inverse_inertia;
            }
            Some(g) => {
                let turn =
                    |k: usize| g.angular[k] * linear + g.angular_velocity[k].transpose() * torque;
                a.angular_velocity -= turn(0) * a.inverse_inertia;
                b.angular_velocity += turn(1) * b.inverse_inertia;
            }
        }
    }
}

/// The larger eigenvalue of a symmetric matrix restricted to the plane across a
/// unit vector.
fn largest_in_plane(matrix: DMat3, normal: DVec3) -> f64 {
    let t = normal.any_orthonormal_vector();
    let s = normal.cross(t);
    let (xx, xy, yy) = (t.dot(matrix * t), t.dot(matrix * s), s.dot(matrix * s));
    0.5 * (xx + yy) + (0.25 * (xx - yy).powi(2) + xy * xy).sqrt()
}

/// The largest eigenvalue of a symmetric, positive matrix, by its characteristic
/// polynomial.
fn largest_eigenvalue(m: DMat3) -> f64 {
    let mean = (m.x_axis.x + m.y_axis.y + m.z_axis.z) / 3.0;
    let shifted = m - DMat3::from_diagonal(DVec3::splat(mean));
    let [x, y, z] = [shifted.x_axis, shifted.y_axis, shifted.z_axis];
    let p = ((x.length_squared() + y.length_squared() + z.length_squared()) / 6.0).sqrt();
    if p <= f64::EPSILON * mean.abs() {
        return mean;
    }
    let half = 0.5 * shifted.determinant() / (p * p * p);
    mean + 2.0 * p * (half.clamp(-1.0, 1.0).acos() / 3.0).cos()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two bodies in motion and an oblique contact with rolling rows.
    pub(crate) fn oblique_contact() -> (Contact, [BodyState; 2]) {
        let body = |seed: f64, inverse_mass, inverse_inertia| BodyState {
            velocity: DVec3::new(seed, -2.0 * seed, 0.3),
            inverse_mass,
            angular_velocity: DVec3::new(0.7, seed, -seed),
            inverse_inertia,
        };
        let contact = Contact {
            bodies: [0, 1],
            normal: DVec3::new(1.0, 2.0, -2.0) / 3.0,
            arms: [0.3, 0.7],
            form: Form::Radial,
            friction: 0.5,
            rolling: 0.1,
            twisting: 0.05,
            compliance: 0.0,
            target: 0.0,
        };
        (contact, [body(1.0, 2.0, 30.0), body(-0.4, 0.5, 7.0)])
    }

    /// An impulse of all rows of a contact.
    pub(crate) fn impulse_at(contact: &Contact) -> Impulse {
        let tangent = contact.normal.cross(DVec3::X).normalize();
        Impulse {
            normal: 1.3,
            friction: tangent * 0.4,
            rolling: tangent * -0.2,
            twisting: 0.1,
        }
    }

    /// The contact above between bodies with inertia tensors, in metric form.
    pub(crate) fn general_contact() -> (Contact, GeneralContact, [BodyState; 2]) {
        let (contact, mut bodies) = oblique_contact();
        let roots = [
            DMat3::from_cols_array(&[5.0, 1.0, -0.5, 1.0, 6.0, 0.3, -0.5, 0.3, 4.0]),
            DMat3::from_cols_array(&[2.0, 0.4, 0.1, 0.4, 3.0, -0.6, 0.1, -0.6, 2.5]),
        ];
        let arms = [DVec3::new(0.1, 0.3, -0.2), DVec3::new(-0.5, 0.2, 0.4)];
        for body in &mut bodies {
            body.inverse_inertia = 1.0;
        }
        let general = GeneralContact {
            angular: [0, 1].map(|k| roots[k] * cross_matrix(arms[k])),
            angular_velocity: roots,
            rate: DVec3::ZERO,
            free: [DVec3::ONE, DVec3::new(1.0, 0.0, 1.0)],
        };
        let contact = Contact {
            form: Form::General(0),
            ..contact
        };
        (contact, general, bodies)
    }

    fn both_forms() -> [(Contact, Vec<GeneralContact>, [BodyState; 2]); 2] {
        let (contact, bodies) = oblique_contact();
        let (other, general, others) = general_contact();
        [
            (contact, Vec::new(), bodies),
            (other, vec![general], others),
        ]
    }

    /// Power of an impulse computed at the contact equals the work on the
    /// bodies: the scatter is the transpose of the gather.
    #[test]
    fn apply_is_the_transpose_of_the_relative_velocities() {
        for (contact, general, [a, b]) in both_forms() {
            let rows = contact.rows(&general, 0.0);
            let impulse = impulse_at(&contact);
            let (mut a1, mut b1) = (a, b);
            rows.apply(&impulse, &mut a1, &mut b1);
            let work = |s: &BodyState, e: &BodyState| {
                (e.velocity - s.velocity).dot(s.velocity) / s.inverse_mass
                    + (e.angular_velocity - s.angular_velocity).dot(s.angular_velocity)
                        / s.inverse_inertia
            };
            let u = rows.relative_velocity(&a, &b);
            let power = u.dot(contact.normal * impulse.normal + impulse.friction)
                + rows
                    .relative_angular_velocity(&a, &b)
                    .dot(impulse.rolling + contact.normal * impulse.twisting);
            assert!((work(&a, &a1) + work(&b, &b1) - power).abs() < 1e-12);
        }
    }

    /// With arms that add up to the centre distance, an impulse changes
    /// neither momentum nor angular momentum of a pair of spheres.
    #[test]
    fn an_impulse_conserves_momentum_and_angular_momentum() {
        let (contact, [mut a, mut b]) = oblique_contact();
        let centre_b = contact.normal * (contact.arms[0] + contact.arms[1]);
        let momentum = |a: &BodyState, b: &BodyState| {
            a.velocity / a.inverse_mass + b.velocity / b.inverse_mass
        };
        let angular = |a: &BodyState, b: &BodyState| {
            a.angular_velocity / a.inverse_inertia
                + b.angular_velocity / b.inverse_inertia
                + centre_b.cross(b.velocity / b.inverse_mass)
        };
        let before = (momentum(&a, &b), angular(&a, &b));
        contact
            .radial()
            .apply(&impulse_at(&contact), &mut a, &mut b);
        assert!((momentum(&a, &b) - before.0).length() < 1e-13);
        assert!((angular(&a, &b) - before.1).length() < 1e-13);
    }

    #[test]
    fn mobilities_are_the_response_to_unit_impulses() {
        for (contact, general, [a, b]) in both_forms() {
            let rows = contact.rows(&general, 0.0);
            let [mut a, mut b] = [a, b];
            (
                a.velocity,
                a.angular_velocity,
                b.velocity,
                b.angular_velocity,
            ) = Default::default();
            let response = |impulse: Impulse| {
                let (mut a, mut b) = (a, b);
                rows.apply(&impulse, &mut a, &mut b);
                (
                    rows.relative_velocity(&a, &b),
                    rows.relative_angular_velocity(&a, &b),
                )
            };
            let n = contact.normal;
            let (u, _) = response(Impulse {
                normal: 1.0,
                ..Default::default()
            });
            assert!((u.dot(n) - rows.normal_mobility(&a, &b)).abs() < 1e-13);
            assert!((u - n * n.dot(u) - rows.coupling(&a, &b)).length() < 1e-13);
            let t = n.any_orthonormal_vector();
            let (mut sliding, mut rolling) = (0.0_f64, 0.0_f64);
            for k in 0..1000 {
                let (sin, cos) = (std::f64::consts::PI * f64::from(k) / 1000.0).sin_cos();
                let tangent = t * cos + n.cross(t) * sin;
                let (u, _) = response(Impulse {
                    friction: tangent,
                    ..Default::default()
                });
                sliding = sliding.max(u.dot(tangent));
                for axis in [tangent, n] {
                    let (_, w) = response(Impulse {
                        rolling: axis,
                        ..Default::default()
                    });
                    rolling = rolling.max(w.dot(axis));
                }
            }
            let bound = rows.tangent_mobility(&a, &b);
            assert!(sliding <= bound * (1.0 + 1e-12) && sliding > bound * (1.0 - 1e-4));
            // The largest response may be to a torque about an axis of neither kind.
            assert!(rolling <= rows.rolling_mobility(&a, &b) * (1.0 + 1e-12));
        }
    }

    /// A sphere in the general form is a sphere.
    #[test]
    fn both_forms_of_a_sphere_agree() {
        let (radial, [mut a, mut b]) = oblique_contact();
        let n = radial.normal;
        let general = [GeneralContact {
            angular: [
                cross_matrix(n * radial.arms[0]),
                cross_matrix(n * -radial.arms[1]),
            ],
            angular_velocity: [DMat3::IDENTITY; 2],
            ..Default::default()
        }];
        let other = Contact {
            form: Form::General(0),
            ..radial
        };
        let (one, two) = (radial.radial(), other.rows(&general, 0.0));
        assert!((one.relative_velocity(&a, &b) - two.relative_velocity(&a, &b)).length() < 1e-14);
        assert!((one.tangent_mobility(&a, &b) - two.tangent_mobility(&a, &b)).abs() < 1e-12);
        assert!((one.rolling_mobility(&a, &b) - two.rolling_mobility(&a, &b)).abs() < 1e-12);
        let (mut a2, mut b2) = (a, b);
        let impulse = impulse_at(&radial);
        one.apply(&impulse, &mut a, &mut b);
        two.apply(&impulse, &mut a2, &mut b2);
        assert!(
            (a.angular_velocity - a2.angular_velocity).length()
                + (b.angular_velocity - b2.angular_velocity).length()
                < 1e-13
        );
    }

    #[test]
    fn the_largest_eigenvalue_is_one_of_the_matrix() {
        let m = DMat3::from_cols_array(&[5.0, 1.0, -0.5, 1.0, 6.0, 0.3, -0.5, 0.3, 4.0]);
        let largest = largest_eigenvalue(m);
        let rest = m - DMat3::from_diagonal(DVec3::splat(largest));
        assert!(rest.determinant().abs() < 1e-12);
        assert!(
            (0..200)
                .fold(DVec3::ONE, |x, _| (m * x).normalize())
                .dot(DVec3::ONE)
                > 0.0
        );
        let power = (0..500).fold(DVec3::ONE, |x, _| (m * x).normalize());
        assert!((power.dot(m * power) - largest).abs() < 1e-12);
        assert_eq!(largest_eigenvalue(DMat3::IDENTITY * 3.0), 3.0);
    }
}
