//! The regularised normal row: an elastic, damped contact seen through one
//! implicit step (SPOOK stepping in impulse form).
//!
//! A contact with overlap `δ`, force law `f = k δ^(2e−1)` (`e = 5/4`: Hertz,
//! `e = 1`: linear) and damping time `τ`, stepped by `h`, becomes the row
//!
//! ```text
//! u_n + σ p ≥ b_n  ⟂  p ≥ 0,                                          (1)
//! Y   = 1 / (1 + 4 τ/h),                                              (2)
//! σ   = max( 4 Y / (h² k e) · max(δ, δ_min)^(2−2e),  σ_min ),         (3)
//! b_n = 4 Y δ / (e h) + Y u_n⁻        for δ > 0,                      (4)
//! b_n = δ / h                         for δ ≤ 0: may just close the gap. (5)
//! ```
//!
//! At rest (`u_n = 0`) this gives `p/h = k δ^(2e−1)` exactly while σ > σ_min.
//!
//! A whole step is long against many collisions: a contact that closes within
//! it ends far from the overlap `δ` at which (3) is evaluated, and `σ(δ_min)`
//! would let it sink in by `h σ p`, many static overlaps. There (3) is evaluated
//! at the overlap that the contact can reach within the step,
//!
//! ```text
//! max(δ, δ_min, min(δ̂, δ + y h u)),    y = (ω h)² − ¼ within 0 … 1,   (3')
//! ```
//!
//! with `δ̂` and `ω` of (6) and (7) and `u` the larger of `|u_n|` and the speed at
//! which the contact is expected to close. It is `δ` at rest and where the step
//! resolves the collision.
//!
//! # Damping belongs to the contact
//!
//! For `h → 0` the row is the law `f = k δ^(2e−2) (δ + c δ̇)` with `c = e τ`. The
//! damping that makes a collision return the restitution `e_r` is
//!
//! ```text
//! τ = α(e_r)/(e ω),    ω² = S_n k δ̂^(2e−2),                           (6)
//! √δ̂ = G (δ^(5/2) + 5/4 u_n²/(S_n k))^(1/5)       (Hertz)             (7)
//! ```
//!
//! with `δ̂` the largest overlap that the energy with which a collision began could
//! bring about (with the speed at which the contact is expected to close within the
//! step, where that is larger than its present one). `G` is what the collision has
//! taken of it so far. A collision of given restitution runs through one sequence
//! of states but for its scale, so that `G` follows from the share `q` of the energy
//! that is elastic now,
//!
//! ```text
//! G = 1 + g(e_r) √q (1.4 − 0.4 √q)     approaching,
//! G = 1 + g(e_r) (1 + 0.6 (1 − q))     parting.                        (7')
//! ```
//!
//! `δ̂`, and with it the damping, is then the same whenever it is looked at within a
//! collision, and it does not matter at which of its moments a step begins. (With
//! `G = 1` what a collision returns depends on that by 0.02.) `α` and `g` follow
//! from one integration of the collision (see [`Damping`]).
//! A contact whose `ω` a step of length `h` does not resolve is damped over
//! `n_s` whole steps `H` instead, with a smooth passage, and no contact less than
//! keeps it stiffer than the cap of (10), with `w = ω h`:
//!
//! ```text
//! τ ← max(τ, n_s H min(1, w⁴), min(n_s H, h κ w²/(4 (1 − κ w²)))).     (8)
//! ```
//!
//! (Whole steps are solved, and waves that are long against a step would survive
//! contacts that it does not resolve, but for what (8) takes of them. A passage at
//! `w = 4` instead was tried: it keeps the energy of a pushed row at steps more than
//! twice as long, but contacts that open within a step then gain energy.)
//!
//! # Collisions that substeps resolve
//!
//! Up to `ω h = 0.35` (0.2 of linear contacts) the rows of substeps themselves return the
//! restitution, for two corrections of what a substep does to a collision. Damping
//! acts with the velocity at the end of a substep, and by (5) linear contacts push before
//! they close; on average
//!
//! ```text
//! c = α/ω + β h                                                        (6')
//! ```
//!
//! makes up for both. And where in a substep contacts close decides how much of the law a
//! sum over substeps has, whose damping grows with the root of the overlap. So in the
//! substep in which a contact of Hertz's law closes, the row has means over the overlaps
//! `δ ± ½ h u_n⁻` that it goes through, of which those below zero give nothing: with
//! `q = ½ h |u_n⁻| > |δ|` and `a = δ + q`,
//!
//! ```text
//! √δ → a √a/(3 q),     δ → 3 a/5.                                      (3'')
//! ```
//!
//! What a collision returns then depends by less than 0.01 on where in a substep it
//! begins; without (3''), (6') and (7') by 0.04. (Damping by the mean of the velocities before and
//! after a substep needs no (6'), but where a contact is compressed far more than its step
//! began with, it returns all of the impact and chains of grains explode.)
//!
//! # Stiffness cap
//!
//! One sweep per substep with a full warm start is a discrete integrator of its
//! own. A mode of the contact network with eigenvalue `λ` of `G M⁻¹ Gᵀ` obeys,
//! with `ζ = z − 1`, `D = S_n + σ` and `C = 4 Y/e`,
//!
//! ```text
//! D ζ³ + [λ + σ + λ(1 − Y) + λ C] ζ² + λ[(1 − Y) + 2 C] ζ + λ C = 0,   (9)
//! ```
//!
//! and for long waves (`λ ≪ S_n`) it does not grow if and only if
//!
//! ```text
//! σ ≥ σ_min = κ S_n x,   x = h/(e τ),   κ ≥ 1.                         (10)
//! ```
//!
//! A capped contact is softer than its law: by `S_n f h² (1 + h/4τ)` of overlap
//! under a force `f`. For a whole step, which is solved and not swept once,
//! `κ = 0`.
//!
//! At the cap nothing is left of the damping of long waves: a chain of inelastic
//! grains rings as if it were elastic. Contacts that move faster than the
//! impact speed `v_i`, which carry no load that has to be exact, are therefore
//! capped lower, up to `κ (1 + ½ (1 − e_r)²)`.

/// Damping of a pair of materials: `α` of (6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Damping {
    /// From the coefficient of restitution.
    Restitution {
        /// `α`.
        alpha: f64,
        /// `β` of (6').
        lag: f64,
        /// `g` of (7'); zero where `δ̂` follows the energy of now.
        spent: f64,
    },
    /// The damping time `c` itself, s.
    Time(f64),
}

/// Restitutions that the damping of the normal law stays between: less would
/// hold overlaps for many oscillations, more leaves nothing that keeps contacts
/// from the stiffness cap. Impacts return what was asked for.
const LAW_RESTITUTION: [f64; 2] = [0.02, 0.98];

/// Polynomials in `L = −ln e_r` of `α/L`: fits, good to 0.15 % for e_r from
/// 0.01 to 1, of collisions integrated with a contact that cannot pull.
const HERTZ: [f64; 5] = [0.88482, 0.14798, 0.09274, -0.01077, 0.003381];
/// The same where `G = 1`.
const HERTZ_OF_NOW: [f64; 5] = [0.88482, 0.05691, 0.09270, -0.01327, 0.002475];
const LINEAR: [f64; 5] = [0.63668, 0.12798, 0.02238, 0.00089, 0.000667];
/// The polynomial of `g/L`, good to 1 % for e_r from 0.05 to 1: `1 + g` is the fifth root of
/// what share of the energy is left where the overlap is largest, inverted.
const SPENT: [f64; 5] = [0.1985, 0.0065, 0.0043, 0.0, 0.0];

/// `β` of (6') from `α` and `L`: fits of collisions in substeps, from all moments of one.
fn lag(alpha: f64, l: f64, hertz: bool) -> f64 {
    if hertz {
        0.11 * alpha * alpha
    } else {
        -0.36 * alpha / (1.0 + 0.45 * l)
    }
}

impl Damping {
    /// The damping that returns a restitution.
    pub fn of_restitution(restitution: f64, hertz: bool) -> Self {
        let l = -restitution
            .clamp(LAW_RESTITUTION[0], LAW_RESTITUTION[1])
            .ln();
        let fit = |c: [f64; 5]| l * c.iter().rev().fold(0.0, |sum, c| sum * l + c);
        let (alpha, spent) = if !hertz {
            (fit(LINEAR), 0.0)
        } else if restitution > MIN_LAW_RESTITUTION {
            (fit(HERTZ), fit(SPENT))
        } else {
            (fit(HERTZ_OF_NOW), 0.0)
        };
        Damping::Restitution {
            alpha,
            lag: lag(alpha, l, hertz),
            spent,
        }
    }

    /// Damping time `c`, s, at the frequency `ω` of (6), rad/s.
    #[inline]
    pub fn time(&self, frequency: f64) -> f64 {
        match *self {
            Damping::Restitution { alpha, .. } => alpha / frequency,
            Damping::Time(c) => c,
        }
    }

    /// `β` of (6').
    #[inline]
    fn lag(&self) -> f64 {
        match *self {
            Damping::Restitution { lag, .. } => lag,
            Damping::Time(_) => 0.0,
        }
    }

    /// Damping time `c`, s, of a contact at rest, with `ω` of its overlap alone.
    #[inline]
    pub fn time_at_rest(&self, frequency: f64) -> f64 {
        match *self {
            Damping::Restitution { alpha, spent, .. } => alpha / (frequency * (1.0 + spent).sqrt()),
            Damping::Time(c) => c,
        }
    }

    /// `√δ̂` of (7), m^(1/2), of Hertz's law, from the overlap, the normal velocity and
    /// `S_n k`.
    #[inline]
    pub fn root_of_max_overlap(&self, overlap: f64, normal_velocity: f64, linear: f64) -> f64 {
        let energy = CollisionEnergy::of(overlap, normal_velocity, linear);
        energy.root_of_max_overlap()
            * self.spent_factor(energy.elastic_share(), normal_velocity > 0.0)
    }

    /// `G` of (7'), from the elastic share of the energy.
    #[inline]
    fn spent_factor(&self, elastic_share: f64, is_parting: bool) -> f64 {
        match *self {
            Damping::Restitution { spent, .. } if spent > 0.0 => {
                let passed = if is_parting {
                    1.0 + 0.6 * (1.0 - elastic_share)
                } else {
                    let root = elastic_share.sqrt();
                    root * (1.4 - 0.4 * root)
                };
                1.0 + spent * passed
            }
            _ => 1.0,
        }
    }
}

/// Energy of a contact after Hertz, in the units of (7), m^(5/2).
struct CollisionEnergy {
    elastic: f64,
    total: f64,
}

impl CollisionEnergy {
    #[inline]
    fn of(overlap: f64, speed: f64, linear: f64) -> Self {
        let elastic = overlap * overlap * overlap.sqrt();
        CollisionEnergy {
            elastic,
            total: elastic + 1.25 * (speed * speed / linear),
        }
    }

    /// `√δ̂` of (7) but for `G`.
    #[inline]
    fn root_of_max_overlap(&self) -> f64 {
        fifth_root(self.total)
    }

    /// Of nothing, nothing is elastic: contacts may just touch, and not move.
    #[inline]
    fn elastic_share(&self) -> f64 {
        self.elastic / self.total.max(f64::MIN_POSITIVE)
    }
}

/// Stabilisation parameters: what the rows of one pair of materials share in a
/// step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stabilisation {
    /// Step `h` of the row, s.
    pub step: f64,
    /// Whole step `H`, s.
    pub whole_step: f64,
    /// Whether the law is Hertz's; else linear.
    pub hertz: bool,
    /// Damping.
    pub damping: Damping,
    /// Whole steps `n_s` over which contacts are damped that are not resolved.
    pub damping_steps: f64,
    /// Stiffness cap κ; zero for none.
    pub cap: f64,
    /// Coefficient of restitution of impacts.
    pub restitution: f64,
    /// Approach speed above which a contact is an impact, m/s.
    pub impact_speed: f64,
}

/// How much lower contacts in motion are capped where they are perfectly inelastic.
const CAP_IN_MOTION: f64 = 0.5;
/// The highest κ of contacts at the cap `κ` with this restitution.
pub fn highest_cap(cap: f64, restitution: f64) -> f64 {
    cap * (1.0 + raise_of_cap(restitution))
}

/// By what share κ is raised in motion.
#[inline]
pub fn raise_of_cap(restitution: f64) -> f64 {
    let loss = 1.0 - restitution;
    CAP_IN_MOTION * loss * loss
}

/// Phase `ω h` up to which the law itself returns the restitution to 0.01, so
/// that a collision needs no impact row: in substeps after Hertz, in linear ones, whose
/// damping sets in at once, and in whole steps.
const RESOLVED_PHASE: [f64; 3] = [0.35, 0.2, 0.1];
/// Phase `ω h` up to which the row of a whole step follows a collision in which
/// other contacts take part better than an impact does: above it (8) damps over
/// whole steps.
const FOLLOWED_PHASE: f64 = 1.0;
/// Restitution below which a collision is an impact however short the step is.
const MIN_LAW_RESTITUTION: f64 = 0.05;

/// What tells one contact's row from another's of the same pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactState {
    /// Overlap `δ`, m; negative for a gap.
    pub overlap: f64,
    /// Stiffness `k`, N/m^(3/2) or N/m.
    pub stiffness: f64,
    /// `δ_min`, m.
    pub min_overlap: f64,
    /// `S_n`, 1/kg.
    pub mobility: f64,
    /// `u_n` at the start of the step, m/s.
    pub normal_velocity: f64,
    /// Speed at which the bodies are expected to close within the step, m/s.
    pub closing_speed: f64,
}

impl Stabilisation {
    /// Exponent `e` of the constraint.
    #[inline]
    pub fn exponent(&self) -> f64 {
        if self.hertz { 1.25 } else { 1.0 }
    }

    /// The phase up to which a collision needs no impact row.
    #[inline]
    pub fn resolved_phase(&self) -> f64 {
        RESOLVED_PHASE[match (self.is_whole_step(), self.hertz) {
            (false, true) => 0,
            (false, false) => 1,
            (true, _) => 2,
        }]
    }

    /// The phase up to which rows follow a collision, so that its damping has to be the
    /// same throughout.
    #[inline]
    pub fn followed_phase(&self) -> f64 {
        if self.is_whole_step() {
            FOLLOWED_PHASE
        } else {
            self.resolved_phase()
        }
    }

    /// Whether the row is that of a whole step.
    #[inline]
    pub fn is_whole_step(&self) -> bool {
        self.step == self.whole_step
    }

    /// κ of a contact that moves at `u_n`.
    #[inline]
    fn cap_in_motion(&self, normal_velocity: f64) -> f64 {
        let square = normal_velocity * normal_velocity;
        let still = self.impact_speed * self.impact_speed + f64::MIN_POSITIVE;
        self.cap * (1.0 + raise_of_cap(self.restitution) * square / (square + still))
    }

    /// `4/(e h)`, 1/s: the bias rate of (4) over `Y`.
    #[inline]
    pub fn bias_rate(&self) -> f64 {
        4.0 / (self.exponent() * self.step)
    }

    /// Damping factor `Y` of (2), a number of 32 bits: packed contacts keep no more
    /// of it.
    #[inline]
    fn damping_factor(&self, damping_time: f64) -> f64 {
        single(1.0 / (1.0 + 4.0 * damping_time / self.step))
    }

    /// With what all rows of the pair share computed once.
    pub fn law(self) -> SpringLaw {
        let unresolved_time = self.damping_steps * self.whole_step;
        let max_time = self.damping.time(1.0 / self.step);
        SpringLaw {
            bias_rate: self.bias_rate(),
            unresolved_time,
            unresolved_factor: self.damping_factor(unresolved_time),
            is_slow_above_step: !self.is_whole_step()
                && max_time <= self.exponent() * unresolved_time,
            returns_restitution: matches!(self.damping, Damping::Restitution { .. })
                && self.restitution > MIN_LAW_RESTITUTION
                && self.restitution <= LAW_RESTITUTION[1],
            resolved_square: self.resolved_phase().powi(2),
            followed_square: self.followed_phase().powi(2),
            stabilisation: self,
        }
    }
}

/// What makes the rows of one pair of materials in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringLaw {
    /// What they follow from.
    pub stabilisation: Stabilisation,
    /// `4/(e h)`, 1/s.
    pub bias_rate: f64,
    /// `n_s H`, s.
    pub unresolved_time: f64,
    /// `Y` of that time.
    pub unresolved_factor: f64,
    /// Whether (8) gives `n_s H` to every contact with `ω h ≥ 1`, whatever its speed.
    pub is_slow_above_step: bool,
    /// Whether rows can return the restitution by themselves.
    pub returns_restitution: bool,
    /// Square of [`Stabilisation::resolved_phase`].
    pub resolved_square: f64,
    /// Square of [`Stabilisation::followed_phase`].
    pub followed_square: f64,
}

/// How a contact is damped.
struct DampedRow {
    time: f64,
    /// `Y`.
    factor: f64,
    /// See [`Spring::min_overlap`].
    secant_overlap: f64,
    is_resolved: bool,
    followed_time: f64,
}

impl SpringLaw {
    /// The row of a contact. `Y` and `x` are numbers of 32 bits: packed
    /// contacts keep no more of them.
    #[inline]
    pub fn spring(&self, state: ContactState) -> Spring {
        let ContactState {
            overlap,
            stiffness,
            min_overlap,
            mobility,
            normal_velocity,
            ..
        } = state;
        let law = &self.stabilisation;
        let (h, e) = (law.step, law.exponent());
        let linear = mobility * stiffness;
        let min_square = if law.hertz {
            linear * overlap.max(min_overlap).sqrt()
        } else {
            linear
        };
        let damped = if self.is_slow_above_step && min_square * h * h >= 1.0 {
            // Most contacts of a bed at rest need no roots.
            self.unresolved_row(min_overlap)
        } else {
            self.damp(state, linear)
        };
        let bias_rate = self.bias_rate * damped.factor;
        Spring {
            overlap,
            unit_compliance: bias_rate / (h * stiffness),
            min_overlap: damped.secant_overlap,
            cap: single(law.cap_in_motion(normal_velocity) * h / (e * damped.time)),
            mobility,
            bias_rate,
            damping_factor: damped.factor,
            hertz: law.hertz,
            is_resolved: damped.is_resolved,
            followed_time: damped.followed_time,
        }
    }

    /// Equations (6) to (8) and (3'); `linear` is `S_n k`.
    fn damp(&self, state: ContactState, linear: f64) -> DampedRow {
        let ContactState {
            overlap,
            min_overlap,
            normal_velocity,
            closing_speed,
            ..
        } = state;
        let law = &self.stabilisation;
        let (h, e, unresolved) = (law.step, law.exponent(), self.unresolved_time);
        let mut secant_overlap = min_overlap;
        let mut square = linear;
        if law.hertz {
            let speed = normal_velocity.abs().max(closing_speed);
            let overlap = overlap.max(min_overlap);
            let energy = CollisionEnergy::of(overlap, speed, linear);
            let mut root = energy.root_of_max_overlap();
            if linear * root * h * h <= self.followed_square {
                let is_parting = normal_velocity > 0.0 && normal_velocity >= closing_speed;
                root *= law.damping.spent_factor(energy.elastic_share(), is_parting);
            }
            square *= root;
            if law.is_whole_step() {
                let unresolved = (square * h * h - 0.25).clamp(0.0, 1.0);
                let ahead = (root * root).min(state.overlap + h * speed * unresolved);
                secant_overlap = min_overlap.max(ahead);
            }
        }
        let phase_square = square * h * h;
        if self.is_slow_above_step && phase_square >= 1.0 {
            return DampedRow {
                secant_overlap,
                ..self.unresolved_row(min_overlap)
            };
        }
        let frequency = square.sqrt();
        let may_be_resolved = self.returns_restitution && phase_square <= self.resolved_square;
        let lag = if may_be_resolved {
            law.damping.lag() * h
        } else {
            0.0
        };
        let physical = (law.damping.time(frequency) + lag) / e;
        let capped = law.cap * phase_square;
        let uncapped = 0.25 * h * capped / (1.0 - capped).max(f64::MIN_POSITIVE);
        let floor =
            (unresolved * (phase_square * phase_square).min(1.0)).max(uncapped.min(unresolved));
        let time = physical.max(floor);
        let is_followed = law.is_whole_step() && phase_square <= self.followed_square;
        DampedRow {
            time,
            factor: law.damping_factor(time),
            secant_overlap,
            is_resolved: may_be_resolved && physical >= floor,
            followed_time: if is_followed && self.returns_restitution {
                std::f64::consts::PI / frequency
            } else {
                0.0
            },
        }
    }

    /// A contact that is damped over whole steps.
    #[inline]
    fn unresolved_row(&self, min_overlap: f64) -> DampedRow {
        DampedRow {
            time: self.unresolved_time,
            factor: self.unresolved_factor,
            secant_overlap: min_overlap,
            is_resolved: false,
            followed_time: 0.0,
        }
    }
}

/// A number as 32 bits hold it.
#[inline]
pub fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Fifth root of a positive number, to 1e-4: a library's power takes longer
/// than a whole sweep.
#[inline]
fn fifth_root(x: f64) -> f64 {
    // A fifth of the exponent, and the offset that makes 1 nearly 1.
    let guess = f64::from_bits(x.to_bits() / 5 + 0x3325_d5ca_53e1_7666);
    let newton = |g: f64| {
        let square = g * g;
        g - 0.2 * (g - x / (square * square))
    };
    newton(newton(guess))
}

/// The normal row of one contact: everything of (1)–(5) but the velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spring {
    /// Overlap `δ`, m; negative for a gap.
    pub overlap: f64,
    /// `4 Y/(h² k e)`: the compliance at unit overlap.
    pub unit_compliance: f64,
    /// `δ_min`, or what (3') has instead, m: below it the compliance no longer grows.
    pub min_overlap: f64,
    /// `κ x` of (10).
    pub cap: f64,
    /// `S_n`, 1/kg.
    pub mobility: f64,
    /// `4 Y/(e h)`, 1/s.
    pub bias_rate: f64,
    /// `Y`.
    pub damping_factor: f64,
    /// Whether the compliance depends on the overlap.
    pub hertz: bool,
    /// Whether the step is so short that the row itself returns the
    /// restitution: no impact row is due, and (3'') holds.
    pub is_resolved: bool,
    /// How long the collision lasts, s, where it lasts so long that other
    /// contacts can take part and the row follows it; else zero.
    pub followed_time: f64,
}

impl Spring {
    /// The target `b_n`, m/s, and the compliance σ, 1/kg, for a normal velocity `u_n⁻` at
    /// the start of a step of length `step`: (3) to (5), or (3'').
    #[inline]
    pub fn row(&self, normal_velocity: f64, step: f64) -> (f64, f64) {
        let half = -0.5 * step * normal_velocity;
        let (overlap, compliance) = if self.closes_within(half) {
            let reached = self.overlap + half;
            let root = reached.max(self.min_overlap).sqrt() * (reached / (3.0 * half));
            (CLOSING_OVERLAP * reached, self.compliance_at(root))
        } else {
            (self.overlap, self.compliance())
        };
        let target = if overlap > 0.0 {
            self.bias_rate * overlap + self.damping_factor * normal_velocity
        } else {
            overlap / step
        };
        (target, compliance)
    }

    /// Whether (3'') holds, with `q`.
    #[inline]
    fn closes_within(&self, half: f64) -> bool {
        self.is_resolved && self.hertz && half > self.overlap.abs()
    }

    /// `Y` in 32 bits, negative where the row returns the restitution by itself.
    #[inline]
    pub fn packed_damping(&self) -> f32 {
        let factor = self.damping_factor as f32;
        if self.is_resolved { -factor } else { factor }
    }

    /// Takes what [`Spring::packed_damping`] gave.
    #[inline]
    pub fn set_packed_damping(&mut self, factor: f32) {
        self.damping_factor = f64::from(factor).abs();
        self.is_resolved = factor < 0.0;
    }

    /// The compliance σ of (3), 1/kg.
    #[inline]
    pub fn compliance(&self) -> f64 {
        self.compliance_at(if self.hertz {
            self.overlap.max(self.min_overlap).sqrt()
        } else {
            1.0
        })
    }

    #[inline]
    fn compliance_at(&self, root: f64) -> f64 {
        (self.unit_compliance / root).max(self.cap * self.mobility)
    }
}

/// Overlap of (3'') over `a`.
pub const CLOSING_OVERLAP: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    fn stabilisation(step: f64, hertz: bool) -> Stabilisation {
        Stabilisation {
            step,
            whole_step: step,
            hertz,
            damping: Damping::of_restitution(0.3, hertz),
            damping_steps: 2.0,
            cap: 0.0,
            restitution: 0.3,
            impact_speed: 0.0,
        }
    }

    /// A contact at rest carries the force of its law, whatever the step.
    #[test]
    fn static_force_follows_the_law_for_every_step() {
        let (k, overlap) = (3.4e5, 2.5e-5);
        for step in [1e-2, 5e-3, 1e-3, 1e-5] {
            for (hertz, force) in [(true, k * f64::powf(overlap, 1.5)), (false, k * overlap)] {
                let spring = stabilisation(step, hertz).law().spring(ContactState {
                    overlap,
                    stiffness: k,
                    min_overlap: 1e-9,
                    mobility: 1.0,
                    normal_velocity: 0.0,
                    closing_speed: 0.0,
                });
                let (target, compliance) = spring.row(0.0, step);
                let impulse = target / compliance;
                assert!((impulse / step / force - 1.0).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_gap_may_close_but_not_more() {
        let spring = stabilisation(1e-2, true).law().spring(ContactState {
            overlap: -1e-4,
            stiffness: 1e5,
            min_overlap: 1e-9,
            mobility: 1.0,
            normal_velocity: -3.0,
            closing_speed: 3.0,
        });
        assert_eq!(spring.row(-3.0, 1e-2).0, -1e-2);
    }

    /// Where nothing overlaps and nothing moves, nothing is divided by nothing.
    #[test]
    fn a_contact_that_just_touches_has_a_number_for_its_frequency() {
        for restitution in [0.0, 0.3, 0.9] {
            let root =
                Damping::of_restitution(restitution, true).root_of_max_overlap(0.0, 0.0, 1e9);
            assert!(root >= 0.0, "{root}");
        }
    }

    #[test]
    fn fifth_roots_are_good_to_a_ten_thousandth() {
        for k in -2900..2900 {
            let x = 10_f64.powf(f64::from(k) * 0.1);
            let root = fifth_root(x);
            assert!((root / x.powf(0.2) - 1.0).abs() < 1e-4, "{x}: {root}");
        }
    }

    /// The law (6), (7), integrated in short explicit steps, returns the
    /// restitution that its damping was made for, whatever the speed.
    #[test]
    fn a_collision_under_the_law_returns_its_restitution() {
        for hertz in [true, false] {
            for restitution in [0.95, 0.8, 0.5, 0.3, 0.1, 0.05, 0.02] {
                let damping = Damping::of_restitution(restitution, hertz);
                for (speed, stiffness, mobility) in [(1.0_f64, 1.0_f64, 1.0_f64), (30.0, 1e7, 0.2)]
                {
                    let linear = mobility * stiffness;
                    let scale = if hertz {
                        damping.root_of_max_overlap(0.0, -speed, linear)
                    } else {
                        1.0
                    };
                    let step = 2e-4 / (linear * scale).sqrt();
                    let (mut overlap, mut velocity) = (0.0_f64, speed);
                    let returned = loop {
                        overlap += 0.5 * step * velocity;
                        let secant = if hertz { overlap.max(0.0).sqrt() } else { 1.0 };
                        let scale = if hertz {
                            damping.root_of_max_overlap(overlap.max(0.0), -velocity, linear)
                        } else {
                            1.0
                        };
                        let c = damping.time((linear * scale).sqrt());
                        let force = secant * (overlap + c * velocity);
                        if overlap <= 0.0 || (velocity < 0.0 && force <= 0.0) {
                            break -velocity / speed;
                        }
                        velocity -= step * linear * force.max(0.0);
                        overlap += 0.5 * step * velocity;
                    };
                    assert!(
                        (returned - restitution).abs() < 2e-3,
                        "{hertz} {restitution} {speed}: {returned}"
                    );
                }
            }
        }
    }

    /// `|z| − 1` of the oscillating root of (9), with `S_n = h = 1`, `y = τ/h` and
    /// a compliance in units of the cap: Newton's method in the complex plane.
    fn growth(sigma_over_cap: f64, y: f64, lambda: f64) -> f64 {
        let (e, factor) = (1.25, 1.0 / (1.0 + 4.0 * y));
        let (sigma, c) = (sigma_over_cap / (e * y), 4.0 * factor / e);
        let coefficients = [
            1.0 + sigma,
            lambda + sigma + lambda * (1.0 - factor) + lambda * c,
            lambda * ((1.0 - factor) + 2.0 * c),
            lambda * c,
        ];
        type Complex = [f64; 2];
        let times = |a: Complex, b: Complex| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
        let plus = |a: Complex, b: Complex| [a[0] + b[0], a[1] + b[1]];
        let over = |a: Complex, b: Complex| {
            let square = b[0] * b[0] + b[1] * b[1];
            times(a, [b[0] / square, -b[1] / square])
        };
        let mut root: Complex = [0.0, (lambda * c / sigma).sqrt()];
        for _ in 0..100 {
            let (mut value, mut slope) = ([0.0; 2], [0.0; 2]);
            for x in coefficients {
                slope = plus(times(slope, root), value);
                value = plus(times(value, root), [x, 0.0]);
            }
            let change = over(value, slope);
            root = [root[0] - change[0], root[1] - change[1]];
        }
        (1.0 + root[0]).hypot(root[1]) - 1.0
    }

    #[test]
    fn the_stiffness_cap_is_the_border_of_stability_of_long_waves() {
        for y in [0.1, 0.5, 2.0, 50.0] {
            for lambda in [1e-4, 1e-3, 1e-2] {
                assert!(growth(1.02, y, lambda) < 0.0, "{y} {lambda}");
            }
            assert!(growth(0.98, y, 1e-4) > 0.0, "{y}");
        }
    }
}
