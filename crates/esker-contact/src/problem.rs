//! The contact problem in body form: velocities of bodies and, per contact,
//! the geometry and the law. Nothing is assembled; `W` acts through gathers
//! and scatters of body velocities.
//!
//! Symbols follow the crate's equations (1)–(4). Contact rows act on
//! `(v_a, ω_a, v_b, ω_b)`, with `d_a = l_a n` and `d_b = −l_b n`:
//!
//! ```text
//! normal      [−n, 0, n, 0]
//! tangential  [−t, −d_a × t, t, d_b × t]   for every t ⟂ n
//! rolling     [0, −t, 0, t]                for every t ⟂ n
//! twisting    [0, −n, 0, n]
//! ```

use glam::DVec3;

/// Velocity and inverse inertia of one body: one cache line, because a sweep
/// gathers and scatters exactly this.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub struct BodyState {
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Inverse mass, 1/kg; zero for a body that contacts cannot move.
    pub inverse_mass: f64,
    /// Angular velocity, rad/s, world axes.
    pub spin: DVec3,
    /// Inverse of the isotropic moment of inertia, 1/(kg m²); zero locks rotation.
    pub inverse_inertia: f64,
}

/// One contact: geometry and law, constant during a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Indices of bodies `a` and `b` in [`ContactProblem::bodies`].
    pub bodies: [u32; 2],
    /// Unit normal from `a` to `b`.
    pub normal: DVec3,
    /// Distances `l_a`, `l_b` from the centres to the contact point, m.
    pub arms: [f64; 2],
    /// Coulomb friction coefficient µ.
    pub friction: f64,
    /// Rolling limit `µ_r r*`, m.
    pub rolling: f64,
    /// Twisting limit `µ_w r*`, m.
    pub twisting: f64,
    /// Normal compliance σ of (2), 1/kg.
    pub compliance: f64,
    /// Normal target velocity `b_n` of (2), m/s.
    pub target: f64,
}

/// Impulses of one contact, as seen by body `b` (body `a` gets the opposite).
///
/// Tangential parts are world vectors perpendicular to the normal: no tangent
/// basis has to be invented or carried from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impulse {
    /// Normal impulse `p ≥ 0`, N s.
    pub normal: f64,
    /// Friction impulse `p_t ⟂ n`, N s.
    pub friction: DVec3,
    /// Rolling impulse `p_r ⟂ n`, N m s.
    pub rolling: DVec3,
    /// Twisting impulse `p_w` about the normal, N m s.
    pub twisting: f64,
}

/// A contact problem in body form.
#[derive(Clone, Debug, Default)]
pub struct ContactProblem {
    /// Bodies with the velocities they would have without contacts (external
    /// forces included).
    pub bodies: Vec<BodyState>,
    /// All contacts, in sweep order.
    pub contacts: Vec<Contact>,
    /// Compliance of friction rows over the contact's own mobility, `Σ_t/S_t`:
    /// a regularisation, far below one.
    pub tangent_compliance: f64,
    /// Compliance of rolling and twisting rows over the contact's own mobility,
    /// `Σ_r/S_r`.
    pub rolling_compliance: f64,
}

impl Contact {
    /// Relative velocity at the contact point, `u`.
    #[inline]
    pub fn relative_velocity(&self, a: &BodyState, b: &BodyState) -> DVec3 {
        b.velocity - a.velocity - self.normal_cross_spin(a, b)
    }

    /// `ω_a × d_a − ω_b × d_b` with the arms along the normal.
    #[inline]
    fn normal_cross_spin(&self, a: &BodyState, b: &BodyState) -> DVec3 {
        (a.spin * self.arms[0] + b.spin * self.arms[1]).cross(self.normal)
    }

    /// `S_n = 1/m_a + 1/m_b`, 1/kg.
    #[inline]
    pub fn normal_mobility(&self, a: &BodyState, b: &BodyState) -> f64 {
        a.inverse_mass + b.inverse_mass
    }

    /// `S_t = S_n + l_a²/I_a + l_b²/I_b`, 1/kg.
    #[inline]
    pub fn tangent_mobility(&self, a: &BodyState, b: &BodyState) -> f64 {
        self.normal_mobility(a, b)
            + self.arms[0] * self.arms[0] * a.inverse_inertia
            + self.arms[1] * self.arms[1] * b.inverse_inertia
    }

    /// `S_r = 1/I_a + 1/I_b`, 1/(kg m²).
    #[inline]
    pub fn rolling_mobility(&self, a: &BodyState, b: &BodyState) -> f64 {
        a.inverse_inertia + b.inverse_inertia
    }

    /// Adds the velocity change `M⁻¹ Gᵀ λ` of an impulse at this contact.
    #[inline]
    pub fn apply(&self, impulse: &Impulse, a: &mut BodyState, b: &mut BodyState) {
        let push = self.normal * impulse.normal + impulse.friction;
        // d × p_t with d_a = l_a n and d_b = −l_b n: both bodies turn the same way.
        let lever = self.normal.cross(impulse.friction);
        let couple = impulse.rolling + self.normal * impulse.twisting;
        a.velocity -= push * a.inverse_mass;
        a.spin -= (lever * self.arms[0] + couple) * a.inverse_inertia;
        b.velocity += push * b.inverse_mass;
        b.spin -= (lever * self.arms[1] - couple) * b.inverse_inertia;
    }
}

impl Impulse {
    /// The same impulse scaled by a factor.
    #[inline]
    pub fn scaled(self, factor: f64) -> Self {
        Impulse {
            normal: self.normal * factor,
            friction: self.friction * factor,
            rolling: self.rolling * factor,
            twisting: self.twisting * factor,
        }
    }

    /// The sum of two impulses of one contact.
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        Impulse {
            normal: self.normal + other.normal,
            friction: self.friction + other.friction,
            rolling: self.rolling + other.rolling,
            twisting: self.twisting + other.twisting,
        }
    }

    /// The impulse with its tangential parts projected onto the plane of a new normal.
    #[inline]
    pub fn in_plane_of(self, normal: DVec3) -> Self {
        let flatten = |x: DVec3| x - normal * normal.dot(x);
        Impulse {
            friction: flatten(self.friction),
            rolling: flatten(self.rolling),
            ..self
        }
    }
}

impl ContactProblem {
    /// True when some contact has rolling or twisting rows.
    pub fn has_rolling(&self) -> bool {
        self.contacts
            .iter()
            .any(|c| c.rolling > 0.0 || c.twisting > 0.0)
    }

    /// The two bodies of a contact, both writable.
    ///
    /// # Panics
    /// When the contact joins a body to itself or names a body that is not there.
    #[inline]
    pub fn bodies_of<'a>(
        bodies: &'a mut [BodyState],
        contact: &Contact,
    ) -> (&'a mut BodyState, &'a mut BodyState) {
        let [a, b] = bodies
            .get_disjoint_mut([contact.bodies[0] as usize, contact.bodies[1] as usize])
            .expect("a contact joins two different bodies of its problem");
        (a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(seed: f64, inverse_mass: f64, inverse_inertia: f64) -> BodyState {
        BodyState {
            velocity: DVec3::new(seed, -2.0 * seed, 0.3),
            inverse_mass,
            spin: DVec3::new(0.7, seed, -seed),
            inverse_inertia,
        }
    }

    fn oblique_contact() -> Contact {
        Contact {
            bodies: [0, 1],
            normal: DVec3::new(1.0, 2.0, -2.0) / 3.0,
            arms: [0.3, 0.7],
            friction: 0.5,
            rolling: 0.1,
            twisting: 0.05,
            compliance: 0.0,
            target: 0.0,
        }
    }

    /// Power of an impulse computed at the contact equals the work on the
    /// bodies: the scatter is the transpose of the gather.
    #[test]
    fn apply_is_the_transpose_of_relative_velocity() {
        let contact = oblique_contact();
        let (a, b) = (body(1.0, 2.0, 30.0), body(-0.4, 0.5, 7.0));
        let tangent = contact.normal.cross(DVec3::X).normalize();
        let impulse = Impulse {
            normal: 1.3,
            friction: tangent * 0.4,
            rolling: tangent * -0.2,
            twisting: 0.1,
        };
        let (mut a1, mut b1) = (a, b);
        contact.apply(&impulse, &mut a1, &mut b1);
        let work = |s: &BodyState, e: &BodyState| {
            (e.velocity - s.velocity).dot(s.velocity) / s.inverse_mass
                + (e.spin - s.spin).dot(s.spin) / s.inverse_inertia
        };
        let u = contact.relative_velocity(&a, &b);
        let w = b.spin - a.spin;
        let power = u.dot(contact.normal * impulse.normal + impulse.friction)
            + w.dot(impulse.rolling + contact.normal * impulse.twisting);
        assert!((work(&a, &a1) + work(&b, &b1) - power).abs() < 1e-12);
    }

    /// With arms that add up to the centre distance, an impulse changes
    /// neither momentum nor angular momentum of the pair.
    #[test]
    fn an_impulse_conserves_momentum_and_angular_momentum() {
        let contact = oblique_contact();
        let (mut a, mut b) = (body(1.0, 2.0, 30.0), body(-0.4, 0.5, 7.0));
        let centre_b = contact.normal * (contact.arms[0] + contact.arms[1]);
        let momentum = |a: &BodyState, b: &BodyState| {
            a.velocity / a.inverse_mass + b.velocity / b.inverse_mass
        };
        let angular = |a: &BodyState, b: &BodyState| {
            a.spin / a.inverse_inertia
                + b.spin / b.inverse_inertia
                + centre_b.cross(b.velocity / b.inverse_mass)
        };
        let before = (momentum(&a, &b), angular(&a, &b));
        let tangent = contact.normal.cross(DVec3::Y).normalize();
        let impulse = Impulse {
            normal: 2.0,
            friction: tangent,
            rolling: tangent * 0.5,
            twisting: -0.3,
        };
        contact.apply(&impulse, &mut a, &mut b);
        assert!((momentum(&a, &b) - before.0).length() < 1e-13);
        assert!((angular(&a, &b) - before.1).length() < 1e-13);
    }

    #[test]
    fn mobilities_are_the_diagonal_of_the_delassus_matrix() {
        let contact = oblique_contact();
        let still = |m, i| BodyState {
            inverse_mass: m,
            inverse_inertia: i,
            ..Default::default()
        };
        let tangent = contact.normal.cross(DVec3::X).normalize();
        let response = |impulse: Impulse| {
            let (mut a, mut b) = (still(2.0, 30.0), still(0.5, 7.0));
            contact.apply(&impulse, &mut a, &mut b);
            (contact.relative_velocity(&a, &b), b.spin - a.spin)
        };
        let (a, b) = (still(2.0, 30.0), still(0.5, 7.0));
        let (u, _) = response(Impulse {
            normal: 1.0,
            ..Default::default()
        });
        assert!((u.dot(contact.normal) - contact.normal_mobility(&a, &b)).abs() < 1e-13);
        let (u, _) = response(Impulse {
            friction: tangent,
            ..Default::default()
        });
        assert!((u.dot(tangent) - contact.tangent_mobility(&a, &b)).abs() < 1e-12);
        let (_, w) = response(Impulse {
            rolling: tangent,
            ..Default::default()
        });
        assert!((w.dot(tangent) - contact.rolling_mobility(&a, &b)).abs() < 1e-12);
    }
}
