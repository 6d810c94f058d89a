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
//!
//! That is the radial form, of contacts between spheres. Contacts of bodies of
//! other shapes have the general form of [`crate::GeneralContact`].

use glam::DVec3;

use crate::general::{ContactRows, Form, GeneralContact};

/// Velocity and inverse inertia of one body: one cache line, because a sweep
/// gathers and scatters exactly this.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub struct BodyState {
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec3,
    /// Inverse mass, 1/kg; zero for a body that contacts cannot move.
    pub inverse_mass: f64,
    /// Angular velocity, rad/s, world axes; of a body whose inertia is not
    /// isotropic its metric angular velocity (see [`crate::GeneralContact`]).
    pub angular_velocity: DVec3,
    /// Inverse of the isotropic moment of inertia, 1/(kg m²), or one for a
    /// metric angular velocity; zero locks rotation.
    pub inverse_inertia: f64,
}

/// One contact: geometry and law, constant during a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Indices of bodies `a` and `b` in [`ContactProblem::bodies`].
    pub bodies: [u32; 2],
    /// Unit normal from `a` to `b`.
    pub normal: DVec3,
    /// Distances `l_a`, `l_b` from the centres to the contact point along the
    /// normal, m.
    pub arms: [f64; 2],
    /// How the contact turns its bodies.
    pub form: Form,
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
    /// What contacts of the general form have beside [`Contact`].
    pub general: Vec<GeneralContact>,
    /// Time between the pose at which the geometry of general contacts was
    /// taken and the end of the rows' step, s.
    pub time: f64,
    /// Compliance of friction rows over the contact's own mobility, `Σ_t/S_t`:
    /// a regularisation, far below one.
    pub tangent_compliance: f64,
    /// Compliance of rolling and twisting rows over the contact's own mobility,
    /// `Σ_r/S_r`.
    pub rolling_compliance: f64,
}

impl Contact {
    /// A radial contact without a law: its geometry alone.
    pub fn frictionless(bodies: [u32; 2], normal: DVec3, arms: [f64; 2]) -> Self {
        Contact {
            bodies,
            normal,
            arms,
            form: Form::Radial,
            friction: 0.0,
            rolling: 0.0,
            twisting: 0.0,
            compliance: 0.0,
            target: 0.0,
        }
    }

    /// The rows of a contact of the radial form.
    #[inline]
    pub fn radial(&self) -> ContactRows<'_> {
        self.rows(&[], 0.0)
    }

    /// The rows of the contact, with the general contacts of its problem, at
    /// this time (see [`ContactProblem::time`]).
    #[inline]
    pub fn rows<'a>(&'a self, general: &'a [GeneralContact], time: f64) -> ContactRows<'a> {
        ContactRows::new(self, general, time)
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

    /// The rows of a contact.
    #[inline]
    pub fn rows(&self, contact: usize) -> ContactRows<'_> {
        self.contacts[contact].rows(&self.general, self.time)
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
