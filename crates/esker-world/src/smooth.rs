//! Smooth stepping: contacts as explicit springs and dashpots, the way classic
//! discrete element codes work. Here to compare with, and where the collision
//! itself matters.
//!
//! Contacts are found once per step; then `n` substeps of `h_s = h/n` (or a
//! multiple of them, see (6)) by semi-implicit Euler, each with
//!
//! ```text
//! f_n = max(0, k δ^½ (δ + c δ̇))           (Hertz; linear: without δ^½)   (1)
//! f_t = disc(−k_t (ξ + c ξ̇), µ f_n),      ξ̇ = u_t                        (2)
//! τ_r = disc(−k_r (θ + c θ̇), µ_r r* f_n), θ̇ = relative angular velocity ⟂ n          (3)
//! τ_w = clamp(−k_r (φ + c φ̇), ± µ_w r* f_n)                              (4)
//! k_t = α ∂f_n/∂δ,   k_r = β k_t r*²                                     (5)
//! ```
//!
//! `c` is the damping time of the law, or what returns its restitution at the
//! overlap and speed of the substep (see `esker_contact::Damping`). A spring whose force is cut off is
//! shortened to the force it carries, so that sliding forgets. Gaps between
//! grains are exact in every substep; at walls the normal is kept over the
//! step and the gap follows the normal velocity. Impulses remember the elastic
//! part of (2)–(4) only: springs are recovered from them in the next step.
//!
//! Stable for
//!
//! ```text
//! h_s ≤ 0.2 √(m_eff / (∂f_n/∂δ))                                         (6)
//! ```
//!
//! at the largest overlap that the step's approach speeds can bring about. A
//! step that asks for shorter substeps than the method's takes a multiple of
//! their number: springs that are followed too coarsely never come to rest, or
//! gain energy without bound.

use esker_contact::{BodyState, Contact, Damping, EnergyLoss, Impulse, project_disc};
use esker_solver::substep::Accelerations;
use glam::DVec3;

use crate::contact::ContactGeometry;
use crate::definition::Smooth;
use crate::grains::Grains;
use crate::integrate;
use crate::material::PairTable;
use crate::periodic::Periodic;
use crate::wall::Wall;

/// Longest stable substep (6), s, of a contact with effective mass
/// `1/(1/m_a + 1/m_b)` (kg), Hertz stiffness `k` (N/m^(3/2)) and largest
/// overlap (m).
pub fn longest_substep(effective_mass: f64, stiffness: f64, overlap: f64) -> f64 {
    SUBSTEP_OF_PERIOD * (effective_mass / (1.5 * stiffness * overlap.sqrt())).sqrt()
}

/// Factor of (6): a tenth of where one contact alone becomes unstable, since a
/// grain has several.
const SUBSTEP_OF_PERIOD: f64 = 0.2;

/// Most substeps of a step, however stiff and fast its contacts are.
const MOST_SUBSTEPS: f64 = 1e6;

/// One contact with its springs.
#[derive(Clone, Copy, Debug)]
struct SmoothContact {
    bodies: [u32; 2],
    /// Whether body `b` is a grain, whose place is known in every substep.
    among_grains: bool,
    normal: DVec3,
    arms: [f64; 2],
    overlap: f64,
    stiffness: f64,
    hertz: bool,
    damping: Damping,
    /// `S_n`, 1/kg.
    mobility: f64,
    friction: f64,
    rolling: f64,
    twisting: f64,
    rolling_radius: f64,
    slip: DVec3,
    roll: DVec3,
    twist: f64,
}

/// Forces of one contact on body `b`.
struct ContactForce {
    force: DVec3,
    torque: DVec3,
    /// What is remembered, as forces.
    elastic: Impulse,
}

/// Scratch of smooth stepping.
#[derive(Debug, Default)]
pub(crate) struct SmoothStepper {
    contacts: Vec<SmoothContact>,
    force: Vec<DVec3>,
    torque: Vec<DVec3>,
    /// Impulses over the step of contacts with walls, in contact order.
    wall_impulses: Vec<Impulse>,
    /// Substeps of the last step.
    substeps: usize,
    /// `None` where nobody wants to know.
    losses: Option<Losses>,
}

/// Where the energy goes, substep by substep.
#[derive(Debug, Default)]
struct Losses {
    sum: EnergyLoss,
    /// Impulses of the substep, one per contact.
    impulses: Vec<Impulse>,
    before: Vec<BodyState>,
}

/// What the stepper reads of the world.
pub(crate) struct Scene<'a> {
    pub(crate) contacts: &'a [ContactGeometry],
    pub(crate) pairs: &'a PairTable,
    pub(crate) walls: &'a [Wall],
    pub(crate) gravity: DVec3,
    /// Accelerations of the grains beside gravity.
    pub(crate) accelerations: Accelerations<'a>,
    pub(crate) periodic: Option<Periodic>,
    /// Longest substep, s: h/n. Remembered impulses are forces times this.
    pub(crate) step: f64,
}

/// Length of a substep and of the time that remembered impulses belong to, s.
#[derive(Clone, Copy)]
struct Substep {
    length: f64,
    memory: f64,
}

impl SmoothStepper {
    /// Advances grains by all substeps. `bodies` are the grains' states
    /// followed by one ghost per wall contact, in contact order; `impulses`
    /// holds what was remembered and receives what is to be remembered.
    pub(crate) fn advance(
        &mut self,
        method: &Smooth,
        scene: &Scene<'_>,
        grains: &mut Grains,
        bodies: &mut [BodyState],
        impulses: &mut [Impulse],
    ) {
        self.prepare(method, scene, (grains, bodies), impulses);
        let count = grains.len();
        self.wall_impulses.clear();
        self.wall_impulses
            .resize(bodies.len() - count, Impulse::default());
        if let Some(losses) = &mut self.losses {
            losses.sum = EnergyLoss::default();
        }
        let parts = self.parts_of_substep(method, scene, bodies);
        self.substeps = method.substeps * parts;
        let step = Substep {
            length: scene.step / parts as f64,
            memory: scene.step,
        };
        for substep in 0..self.substeps {
            if substep > 0 {
                self.follow(scene.periodic, step.length, &grains.position, bodies);
            }
            self.sum_forces(method, step, bodies, impulses);
            if let Some(losses) = &mut self.losses {
                losses.before.clear();
                losses.before.extend_from_slice(bodies);
            }
            for (i, body) in bodies[..count].iter_mut().enumerate() {
                let mut total = self.force[i] * body.inverse_mass + scene.gravity;
                if let Some(acceleration) = scene.accelerations.of(i) {
                    total += acceleration.linear;
                }
                body.velocity += total * step.length;
                body.angular_velocity += self.torque[i] * (body.inverse_inertia * step.length);
            }
            if let Some(losses) = &mut self.losses {
                losses.add_substep(&self.contacts, bodies);
            }
            for (i, body) in bodies[..count].iter().enumerate() {
                let (x, q) = (&mut grains.position[i], &mut grains.orientation[i]);
                let (velocity, angular_velocity) = (body.velocity, body.angular_velocity);
                integrate::advance(x, q, velocity * step.length, angular_velocity * step.length);
            }
        }
        grains.state.copy_from_slice(&bodies[..count]);
    }

    /// Impulses over the last step of contacts with walls, in contact order.
    pub(crate) fn wall_impulses(&self) -> &[Impulse] {
        &self.wall_impulses
    }

    /// Substeps of the last step.
    pub(crate) fn substeps(&self) -> usize {
        self.substeps
    }

    /// Into how many equal parts a substep of the method is cut, so that each
    /// is stable (6).
    fn parts_of_substep(&self, method: &Smooth, scene: &Scene<'_>, bodies: &[BodyState]) -> usize {
        let squares = self
            .contacts
            .iter()
            .zip(scene.contacts)
            .map(|(contact, c)| {
                let [a, b] = contact.bodies.map(|i| &bodies[i as usize]);
                let approach = contact.normal.dot(a.velocity - b.velocity);
                contact.slope_over_mass(approach.abs().max(c.closing_speed))
            });
        let stiffest = squares.fold(0.0, f64::max);
        let parts = (scene.step * stiffest.sqrt() / SUBSTEP_OF_PERIOD).ceil();
        let most = (MOST_SUBSTEPS / method.substeps as f64).max(1.0);
        parts.clamp(1.0, most) as usize
    }

    /// Whether steps find out where the energy goes.
    pub(crate) fn measure_losses(&mut self, measure: bool) {
        if measure != self.losses.is_some() {
            self.losses = measure.then(Losses::default);
        }
    }

    /// Energy that contacts took in the last step; zero where not measured.
    /// Springs of friction and rolling count as friction and rolling.
    pub(crate) fn losses(&self) -> EnergyLoss {
        let losses = self.losses.as_ref();
        losses.map_or_else(EnergyLoss::default, |losses| losses.sum)
    }

    fn prepare(
        &mut self,
        method: &Smooth,
        scene: &Scene<'_>,
        (grains, bodies): (&Grains, &[BodyState]),
        impulses: &[Impulse],
    ) {
        self.force.resize(grains.len(), DVec3::ZERO);
        self.torque.resize(grains.len(), DVec3::ZERO);
        self.contacts.clear();
        let mut ghost = grains.len() as u32;
        for (c, impulse) in scene.contacts.iter().zip(impulses) {
            let body = c.partner.row().unwrap_or_else(|| {
                ghost += 1;
                ghost - 1
            });
            let other = c.partner.material(grains, scene.walls);
            let pair = scene.pairs.get(grains.material[c.grain as usize], other);
            let mut contact = SmoothContact {
                bodies: [c.grain, body],
                among_grains: c.partner.row().is_some(),
                normal: c.normal,
                arms: c.arms,
                overlap: c.overlap,
                stiffness: pair.stiffness(c.elastic_radius),
                hertz: pair.is_hertz(),
                damping: pair.damping(),
                mobility: bodies[c.grain as usize].inverse_mass
                    + bodies[body as usize].inverse_mass,
                friction: pair.law.friction,
                rolling: pair.law.rolling * c.rolling_radius,
                twisting: pair.law.twisting * c.rolling_radius,
                rolling_radius: c.rolling_radius,
                slip: DVec3::ZERO,
                roll: DVec3::ZERO,
                twist: 0.0,
            };
            let (k_t, k_r) = contact.tangent_stiffness(method);
            if k_t > 0.0 && impulse.normal > 0.0 {
                contact.slip = -impulse.friction / (scene.step * k_t);
                contact.roll = -impulse.rolling / (scene.step * k_r);
                contact.twist = -impulse.twisting / (scene.step * k_r);
            }
            self.contacts.push(contact);
        }
    }

    /// Brings the geometry of all contacts to the present.
    fn follow(
        &mut self,
        periodic: Option<Periodic>,
        step: f64,
        positions: &[DVec3],
        bodies: &[BodyState],
    ) {
        let branch = |i: usize, j: usize| {
            let branch = positions[j] - positions[i];
            periodic.map_or(branch, |p| p.branch(branch))
        };
        for contact in &mut self.contacts {
            let [a, b] = contact.bodies.map(|i| i as usize);
            contact.follow(branch, &bodies[a], &bodies[b], step);
        }
    }

    fn sum_forces(
        &mut self,
        method: &Smooth,
        step: Substep,
        bodies: &[BodyState],
        impulses: &mut [Impulse],
    ) {
        self.force.fill(DVec3::ZERO);
        self.torque.fill(DVec3::ZERO);
        if let Some(losses) = &mut self.losses {
            losses.impulses.clear();
            losses
                .impulses
                .resize(self.contacts.len(), Impulse::default());
        }
        let count = self.force.len();
        for (k, (contact, impulse)) in self.contacts.iter_mut().zip(impulses).enumerate() {
            let [a, b] = contact.bodies.map(|i| i as usize);
            let Some(found) = contact.force(method, &bodies[a], &bodies[b], step.length) else {
                *impulse = Impulse::default();
                continue;
            };
            *impulse = found.elastic.scaled(step.memory);
            let moment = contact.normal.cross(found.force);
            self.force[a] -= found.force;
            self.torque[a] -= moment * contact.arms[0] + found.torque;
            if contact.among_grains {
                self.force[b] += found.force;
                self.torque[b] += found.torque - moment * contact.arms[1];
            } else {
                let sum = &mut self.wall_impulses[b - count];
                *sum = sum.plus(&found.impulse(contact.normal, step.length));
            }
            if let Some(losses) = &mut self.losses {
                losses.impulses[k] = found.impulse(contact.normal, step.length);
            }
        }
    }
}

impl ContactForce {
    /// What the force gives to body `b` over a substep.
    fn impulse(&self, normal: DVec3, step: f64) -> Impulse {
        let (force, torque) = (self.force * step, self.torque * step);
        Impulse {
            normal: normal.dot(force),
            friction: in_plane(force, normal),
            rolling: in_plane(torque, normal),
            twisting: normal.dot(torque),
        }
    }
}

impl Losses {
    /// Adds the losses of the substep whose forces have just changed the
    /// velocities.
    fn add_substep(&mut self, contacts: &[SmoothContact], bodies: &[BodyState]) {
        for (contact, impulse) in contacts.iter().zip(&self.impulses) {
            let pair = contact.bodies.map(|i| i as usize);
            let before = pair.map(|i| &self.before[i]);
            let after = pair.map(|i| &bodies[i]);
            let geometry = Contact::frictionless(contact.bodies, contact.normal, contact.arms);
            let loss = EnergyLoss::of(geometry.radial(), impulse, before, after);
            self.sum = self.sum.plus(&loss);
        }
    }
}

impl SmoothContact {
    /// `∂f_n/∂δ` scaled to the stiffnesses (5), N/m and N m.
    fn tangent_stiffness(&self, method: &Smooth) -> (f64, f64) {
        let slope = if self.hertz {
            1.5 * self.stiffness * self.overlap.max(0.0).sqrt()
        } else {
            self.stiffness
        };
        let k_t = method.tangential_stiffness * slope;
        let k_r = method.rolling_stiffness * k_t * self.rolling_radius * self.rolling_radius;
        (k_t, k_r)
    }

    /// `S_n k √δ̂` (linear: `S_n k`), 1/s², at the overlap `δ̂` that the normal
    /// velocity can bring about.
    fn secant_over_mass(&self, normal_velocity: f64) -> f64 {
        let linear = self.mobility * self.stiffness;
        if self.hertz {
            let overlap = self.overlap.max(0.0);
            linear
                * self
                    .damping
                    .root_of_max_overlap(overlap, normal_velocity, linear)
        } else {
            linear
        }
    }

    /// `∂f_n/∂δ / m_eff` there, 1/s².
    fn slope_over_mass(&self, normal_velocity: f64) -> f64 {
        let slope_of_secant = if self.hertz { 1.5 } else { 1.0 };
        slope_of_secant * self.secant_over_mass(normal_velocity)
    }

    /// Damping time `c` at the present overlap and normal velocity, s.
    fn damping_time(&self, normal_velocity: f64) -> f64 {
        let frequency = self.secant_over_mass(normal_velocity).sqrt();
        self.damping.time(frequency)
    }

    /// Brings the geometry to the present.
    fn follow(
        &mut self,
        branch: impl Fn(usize, usize) -> DVec3,
        a: &BodyState,
        b: &BodyState,
        step: f64,
    ) {
        if self.among_grains {
            let [i, j] = self.bodies.map(|i| i as usize);
            let branch = branch(i, j);
            let distance = branch.length();
            let reach = self.arms[0] + self.arms[1] + self.overlap;
            if distance > 0.0 {
                self.normal = branch / distance;
            }
            let overlap = reach - distance;
            let shift = 0.5 * (self.overlap - overlap);
            self.arms = self.arms.map(|l| l + shift);
            self.overlap = overlap;
        } else {
            let closing = -self.normal.dot(b.velocity - a.velocity) * step;
            self.overlap += closing;
            self.arms[0] -= 0.5 * closing;
        }
    }

    /// Laws (1)–(4); `None` where the bodies do not touch.
    fn force(
        &mut self,
        method: &Smooth,
        a: &BodyState,
        b: &BodyState,
        step: f64,
    ) -> Option<ContactForce> {
        if self.overlap <= 0.0 {
            (self.slip, self.roll, self.twist) = (DVec3::ZERO, DVec3::ZERO, 0.0);
            return None;
        }
        let n = self.normal;
        let angular_velocities =
            a.angular_velocity * self.arms[0] + b.angular_velocity * self.arms[1];
        let u = b.velocity - a.velocity - angular_velocities.cross(n);
        let u_n = n.dot(u);
        let u_t = u - n * u_n;
        let secant = if self.hertz {
            self.stiffness * self.overlap.sqrt()
        } else {
            self.stiffness
        };
        let damping = self.damping_time(u_n);
        let f_n = (secant * (self.overlap - damping * u_n)).max(0.0);
        let (k_t, k_r) = self.tangent_stiffness(method);
        self.slip = in_plane(self.slip, n) + u_t * step;
        let friction = spring(&mut self.slip, u_t, k_t, damping, self.friction * f_n);
        let angular_velocity = b.angular_velocity - a.angular_velocity;
        let omega_n = n.dot(angular_velocity);
        let omega_t = angular_velocity - n * omega_n;
        self.roll = in_plane(self.roll, n) + omega_t * step;
        let rolling = spring(&mut self.roll, omega_t, k_r, damping, self.rolling * f_n);
        let mut twist = n * (self.twist + omega_n * step);
        let limit = self.twisting * f_n;
        let twisting = spring(&mut twist, n * omega_n, k_r, damping, limit);
        self.twist = twist.dot(n);
        Some(ContactForce {
            force: n * f_n + friction,
            torque: rolling + twisting,
            elastic: Impulse {
                normal: f_n,
                friction: self.slip * -k_t,
                rolling: self.roll * -k_r,
                twisting: self.twist * -k_r,
            },
        })
    }
}

/// `x` without its part along the unit vector `n`.
fn in_plane(x: DVec3, n: DVec3) -> DVec3 {
    x - n * n.dot(x)
}

/// Force of a damped spring with a limit; the spring is shortened to what it
/// may carry.
fn spring(length: &mut DVec3, rate: DVec3, stiffness: f64, damping: f64, limit: f64) -> DVec3 {
    if stiffness <= 0.0 || limit <= 0.0 {
        *length = DVec3::ZERO;
        return DVec3::ZERO;
    }
    *length = -project_disc(*length * -stiffness, limit) / stiffness;
    project_disc((*length + rate * damping) * -stiffness, limit)
}

#[cfg(test)]
mod tests {
    use esker_geometry::{Pose, WallShape};

    use super::*;
    use crate::World;
    use crate::definition::*;

    fn pellets(law: PairLaw, grains: Vec<ListedGrain>, step: f64, substeps: usize) -> World {
        let pellet = Material {
            name: "pellet".into(),
            density: 3700.0,
            young: 6e6,
            poisson: 0.25,
        };
        World::new(&WorldDef {
            step,
            method: Method::Smooth(Smooth {
                substeps,
                ..Default::default()
            }),
            materials: vec![pellet],
            pairs: vec![PairDef {
                materials: [0, 0],
                law,
            }],
            walls: vec![WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY)],
            packings: vec![PackingDef {
                shape: None,
                material: 0,
                velocity: DVec3::ZERO,
                placement: Placement::Listed {
                    grains: std::sync::Arc::new(grains),
                },
            }],
            ..Default::default()
        })
        .unwrap()
    }

    fn grain(height: f64, velocity: DVec3) -> ListedGrain {
        ListedGrain {
            position: DVec3::Z * height,
            radius: 6.5e-3,
            velocity,
            angular_velocity: DVec3::ZERO,
        }
    }

    /// Rebound speed and depth of the viscoelastic law, known from an
    /// integration of (1) alone with a step of 1 µs.
    #[test]
    fn a_bounce_has_the_rebound_and_depth_of_its_law() {
        for (damping, rebound, depth) in [(1e-4, 0.866_91, 4.0789e-4), (1e-3, 0.326_39, 2.8219e-4)]
        {
            let law = PairLaw {
                damping,
                ..Default::default()
            };
            let mut world = pellets(law, vec![grain(6.5e-3, DVec3::Z * -0.5)], 1e-4, 100);
            world.gravity = DVec3::ZERO;
            let mut deepest: f64 = 0.0;
            for _ in 0..400 {
                world.step().unwrap();
                deepest = deepest.max(6.5e-3 - world.grains.position[0].z);
                if world.grains.position[0].z > 6.5e-3 {
                    break;
                }
            }
            let found = world.grains.state[0].velocity.z / 0.5;
            assert!((found - rebound).abs() < 4e-3, "rebound {found}");
            assert!((deepest / depth - 1.0).abs() < 2e-2, "depth {deepest}");
        }
    }

    #[test]
    fn a_resting_grain_sinks_by_the_static_overlap() {
        let law = PairLaw {
            damping: 1e-3,
            ..Default::default()
        };
        let mut world = pellets(law, vec![grain(6.5e-3, DVec3::ZERO)], 1e-3, 40);
        for _ in 0..400 {
            world.step().unwrap();
        }
        let sunk = 6.5e-3 - world.grains.position[0].z;
        // (m g / k)^(2/3), as for every other way to step.
        assert!((sunk / 2.451_523e-5 - 1.0).abs() < 1e-3, "{sunk}");
    }

    /// Sliding, then rolling without slip at 5/7 of the first speed.
    #[test]
    fn a_sliding_grain_ends_rolling_at_five_sevenths_of_its_speed() {
        let law = PairLaw {
            friction: 0.3,
            damping: 1e-3,
            ..Default::default()
        };
        let start = grain(6.5e-3 - 2.45e-5, DVec3::X * 0.2);
        let mut world = pellets(law, vec![start], 1e-3, 40);
        for _ in 0..300 {
            world.step().unwrap();
        }
        let state = &world.grains.state[0];
        assert!((state.velocity.x / (0.2 * 5.0 / 7.0) - 1.0).abs() < 5e-3);
        assert!((state.angular_velocity.y * 6.5e-3 / state.velocity.x - 1.0).abs() < 1e-2);
    }

    #[test]
    fn two_grains_keep_their_momentum_and_angular_momentum() {
        let law = PairLaw {
            friction: 0.5,
            rolling: 0.1,
            damping: 1e-3,
            ..Default::default()
        };
        let mut second = grain(1.0, DVec3::new(0.1, 0.0, -0.3));
        second.position += DVec3::new(3e-3, 0.0, 13e-3);
        second.angular_velocity = DVec3::new(0.0, 20.0, 3.0);
        let mut world = pellets(law, vec![grain(1.0, DVec3::ZERO), second], 1e-4, 20);
        world.gravity = DVec3::ZERO;
        let momenta = |world: &World| {
            let g = &world.grains;
            let mut sums = [DVec3::ZERO; 2];
            for i in 0..2 {
                let s = &g.state[i];
                sums[0] += s.velocity * g.mass[i];
                sums[1] += g.position[i].cross(s.velocity) * g.mass[i]
                    + s.angular_velocity / s.inverse_inertia;
            }
            sums
        };
        let before = momenta(&world);
        let energy = world.grains.kinetic_energy();
        for _ in 0..200 {
            world.step().unwrap();
        }
        let after = momenta(&world);
        assert!(
            world.grains.kinetic_energy() < 0.95 * energy,
            "they never met"
        );
        assert!((after[0] - before[0]).length() < 1e-12 * before[0].length());
        assert!((after[1] - before[1]).length() < 1e-9 * before[1].length());
    }
}
