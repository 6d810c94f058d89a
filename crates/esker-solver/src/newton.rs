//! Semismooth Newton inside a proximal-point loop: what solves the hard problems.
//!
//! Around a centre `c` the regularised problem
//!
//! ```text
//! u' = W λ + q + α D (λ − c),   D = diag W,                              (1)
//! ```
//!
//! has a nonsingular operator even where `W` is rank deficient. Newton solves
//! its equations `F(λ, u') = 0` (Alart–Curnier for Coulomb's law, the natural map for
//! the associated law, see [`crate::nonsmooth_map`]) with `ρ = S/(d (1 + α))`, a
//! nonmonotone line search on `‖D^½ F‖`, and a few Gauss–Seidel sweeps in front; the
//! solution is the next centre and `α` shrinks while that works. `S` well above one
//! is decisive: Newton then trusts velocities more than impulses when it decides
//! which contacts are open, stick or slide.

use crate::ContactSolver;
use crate::gauss_seidel::{GaussSeidel, Sweeps};
use crate::linear::axpy;
use crate::newton_system::NewtonSystem;
use crate::nonsmooth_map::{ContactMap, MapDerivatives, MapKind};
use crate::proximal::Proximal;
use crate::report::{Monitor, SolveReport, Status, Stopping};
use esker_contact::{ContactOperator, FrictionLaw};

/// Parameters of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Newton {
    /// Most Gauss–Seidel sweeps before the first step of a problem whose systems are
    /// solved in contact space.
    pub start_sweeps: usize,
    /// The same for body space: larger problems, where a sweep is cheap beside a step.
    pub start_sweeps_bodies: usize,
    /// Residual (unit-free measure) at which the sweeps before the first step end.
    pub start_residual: f64,
    /// Sweeps on each regularised problem before Newton.
    pub sweeps_per_centre: usize,
    /// `S`: how much larger than `1/d` the scale `ρ` of the equations is.
    pub scale: f64,
    /// Full steps in a row that may increase the merit before the line search
    /// takes over from the best iterate.
    pub watchdog: usize,
    /// The equation that stands for Coulomb's law.
    pub equation: MapKind,
    /// First `α` of (1).
    pub alpha: f64,
    /// Most Newton steps for one centre.
    pub steps_per_centre: usize,
    /// Centres without progress after which another attempt begins.
    pub idle_limit: usize,
    /// Attempts, each from the best impulses so far with another variant of the
    /// parameters.
    pub attempts: usize,
    /// The variant of the first attempt; 0 is the parameters as they stand.
    pub first_variant: usize,
}

impl Newton {
    /// The parameters that have no reason to be others.
    pub const STANDARD: Newton = Newton {
        start_sweeps: 400,
        start_sweeps_bodies: 10_000,
        start_residual: 1e-3,
        sweeps_per_centre: 50,
        scale: 100.0,
        watchdog: 0,
        equation: MapKind::AlartCurnier,
        alpha: 3e-4,
        steps_per_centre: 30,
        idle_limit: 8,
        attempts: 12,
        first_variant: 0,
    };

    /// The same for impulses that others have brought near: no sweeps in front.
    pub const FROM_A_START: Newton = Newton {
        start_sweeps: 0,
        start_sweeps_bodies: 0,
        ..Newton::STANDARD
    };
}

impl Default for Newton {
    fn default() -> Self {
        Newton::STANDARD
    }
}

/// Smallest and largest `α` ever used.
const ALPHA_RANGE: (f64, f64) = (1e-11, 1e2);

/// The equations of the regularised problem (1) at an iterate.
struct Equations<'a> {
    problem: &'a dyn ContactOperator,
    maps: Vec<ContactMap>,
    /// Diagonal of `D`, one entry per row.
    diagonal: Vec<f64>,
    roots: Vec<f64>,
}

/// Everything evaluated at an iterate.
struct Evaluation {
    velocity: Vec<f64>,
    f: Vec<f64>,
    merit: f64,
}

impl<'a> Equations<'a> {
    fn new(problem: &'a dyn ContactOperator, kind: MapKind) -> Self {
        let block = problem.block();
        let mobilities = esker_contact::mobilities(problem);
        let diagonal: Vec<f64> = mobilities
            .iter()
            .flat_map(|d| (0..block).map(|row| d.row(row)))
            .collect();
        let maps = mobilities
            .iter()
            .enumerate()
            .map(|(contact, d)| ContactMap {
                kind,
                limits: problem.limits(contact),
                normal_scale: 1.0 / d.sliding,
                tangent_scale: 1.0 / d.sliding,
                rolling_scale: 1.0 / d.rolling,
            })
            .collect();
        Equations {
            problem,
            maps,
            roots: diagonal.iter().map(|d| d.sqrt()).collect(),
            diagonal,
        }
    }

    fn map(&self, contact: usize, scale: f64) -> ContactMap {
        let map = self.maps[contact];
        ContactMap {
            normal_scale: map.normal_scale * scale,
            tangent_scale: map.tangent_scale * scale,
            rolling_scale: map.rolling_scale * scale,
            ..map
        }
    }

    /// `u' = W x + q + αD(x − c)`, `F` and its norm.
    fn evaluate(
        &self,
        monitor: &mut Monitor,
        x: &[f64],
        centre: &[f64],
        alpha: f64,
        scale: f64,
    ) -> Evaluation {
        let mut velocity = vec![0.0; x.len()];
        monitor.velocity(x, &mut velocity);
        for i in 0..x.len() {
            velocity[i] += alpha * self.diagonal[i] * (x[i] - centre[i]);
        }
        let block = self.problem.block();
        let mut f = vec![0.0; x.len()];
        for (contact, out) in f.chunks_exact_mut(block).enumerate() {
            let rows = contact * block..(contact + 1) * block;
            self.map(contact, scale)
                .evaluate(&x[rows.clone()], &velocity[rows], out, None);
        }
        let merit = f
            .iter()
            .zip(&self.roots)
            .map(|(f, root)| (f * root) * (f * root))
            .sum::<f64>()
            .sqrt();
        Evaluation { velocity, f, merit }
    }

    fn derivatives(&self, x: &[f64], velocity: &[f64], scale: f64) -> Vec<MapDerivatives> {
        let block = self.problem.block();
        let mut unused = [0.0; esker_contact::cone::MAX_BLOCK];
        (0..self.maps.len())
            .map(|contact| {
                let rows = contact * block..(contact + 1) * block;
                let mut d = MapDerivatives::default();
                self.map(contact, scale).evaluate(
                    &x[rows.clone()],
                    &velocity[rows],
                    &mut unused[..block],
                    Some(&mut d),
                );
                d
            })
            .collect()
    }
}

/// The centre of a regularised problem.
struct Centre<'a> {
    impulses: &'a [f64],
    alpha: f64,
    /// `‖D^½ F‖` there.
    merit: f64,
}

/// How well Newton gets on with a regularised problem. A larger `α` is cheaper than
/// patience: a problem that suits Newton takes a handful of nearly full steps.
#[derive(Default)]
struct Pace {
    short_steps: usize,
    steps_since_best: usize,
}

impl Pace {
    fn take(&mut self, length: f64, better: bool) {
        self.short_steps += usize::from(length < 0.1);
        self.steps_since_best = if better { 0 } else { self.steps_since_best + 1 };
    }

    /// True when the problem is better given up; `gain` is the best merit relative
    /// to the first.
    fn is_lost(&self, steps: usize, gain: f64) -> bool {
        self.short_steps >= 2 || self.steps_since_best >= 5 || (steps >= 5 && gain > 0.5)
    }
}

/// How Newton on one regularised problem ended.
#[derive(Default)]
struct Inner {
    converged: bool,
    steps: usize,
    stop: Option<Status>,
}

impl Newton {
    /// Newton on the regularised problem; leaves the best iterate in `x`.
    fn solve_centre(
        &self,
        monitor: &mut Monitor,
        equations: &Equations,
        system: &mut NewtonSystem,
        x: &mut Vec<f64>,
        centre: &[f64],
        alpha: f64,
    ) -> Inner {
        const MEMORY: usize = 5;
        let scale = self.scale / (1.0 + alpha);
        let extra: Vec<f64> = equations.diagonal.iter().map(|d| alpha * d).collect();
        let target = 0.1
            * equations
                .evaluate(monitor, centre, centre, alpha, scale)
                .merit;
        let mut now = equations.evaluate(monitor, x, centre, alpha, scale);
        let start = now.merit;
        let mut recent = vec![now.merit];
        let mut best = (now.merit, x.clone());
        let mut steps = 0;
        let mut adrift = 0;
        let mut pace = Pace::default();
        let mut stop = None;
        while now.merit > target && steps < self.steps_per_centre {
            if pace.is_lost(steps, best.0 / start) {
                break;
            }
            let derivatives = equations.derivatives(x, &now.velocity, scale);
            let Some(step) = system.step(&derivatives, &extra, &now.f) else {
                break;
            };
            steps += 1;
            monitor.count_iterations(1);
            let bound = recent
                .iter()
                .rev()
                .take(MEMORY)
                .fold(0.0_f64, |m, v| m.max(*v));
            let mut length = 1.0;
            let accepted = loop {
                let mut trial = x.clone();
                axpy(length, &step, &mut trial);
                let next = equations.evaluate(monitor, &trial, centre, alpha, scale);
                if next.merit <= bound * (1.0 - 1e-3 * length) {
                    adrift = 0;
                    break Some((trial, next));
                }
                if adrift < self.watchdog && next.merit < 1e3 * best.0 {
                    adrift += 1;
                    break Some((trial, next));
                }
                length *= 0.5;
                if length < 1.0 / 200.0 {
                    break None;
                }
            };
            let Some((trial, next)) = accepted else {
                if adrift == 0 || adrift > self.watchdog {
                    break;
                }
                // Drifted and lost: once more from the best iterate, by line search only.
                adrift = self.watchdog + 1;
                x.clone_from(&best.1);
                now = equations.evaluate(monitor, x, centre, alpha, scale);
                continue;
            };
            *x = trial;
            now = next;
            recent.push(now.merit);
            pace.take(length, now.merit < best.0);
            if now.merit < best.0 {
                best = (now.merit, x.clone());
            }
            stop = monitor.observe(x);
            if stop.is_some() {
                break;
            }
        }
        let converged = best.0 <= target;
        *x = best.1;
        Inner {
            converged,
            steps,
            stop,
        }
    }

    /// The parameters of an attempt: factors on `S`, `α` and sweeps, and the watchdog.
    fn variant(&self, attempt: usize) -> Newton {
        const FACTORS: [(f64, f64, usize, usize); 6] = [
            (1.0, 1.0, 1, 0),
            (1.0, 30.0, 8, 0),
            (0.1, 30.0, 4, 3),
            (1.0, 30.0, 0, 3),
            (1.0, 3e-3, 0, 0),
            (10.0, 1.0, 1, 0),
        ];
        let (scale, alpha, sweeps, watchdog) = FACTORS[attempt % FACTORS.len()];
        Newton {
            scale: self.scale * scale,
            alpha: self.alpha * alpha,
            sweeps_per_centre: self.sweeps_per_centre * sweeps,
            watchdog: self.watchdog.max(watchdog),
            ..*self
        }
    }

    /// Attempts one after the other until the monitor stops them.
    ///
    /// Where one combination of `S` and `α` runs into a corner, the next often
    /// walks out of it: small `α` without sweeps is nearly plain Newton, large `α`
    /// with sweeps moves far, and a watchdog jumps over small ridges.
    fn attempts(
        &self,
        monitor: &mut Monitor,
        system: &mut NewtonSystem,
        law: FrictionLaw,
    ) -> Status {
        let equations = Equations::new(
            monitor.problem,
            match law {
                FrictionLaw::Coulomb => self.equation,
                FrictionLaw::Associated => MapKind::NaturalMap(law),
            },
        );
        for attempt in self.first_variant..self.first_variant + self.attempts.max(1) {
            let variant = self.variant(attempt);
            let before = monitor.iterations();
            let status = variant.proximal_loop(monitor, law, &equations, system);
            monitor.note(format!(
                "attempt {} with S = {}, α = {:.0e}: {} Newton steps, residual {:.1e}, {} inner iterations in all",
                attempt + 1,
                variant.scale,
                variant.alpha,
                monitor.iterations() - before,
                monitor.best_residual(),
                system.iterations()
            ));
            if status != Status::Stalled {
                return status;
            }
        }
        Status::Stalled
    }

    /// Sweeps over the regularised problem from `x`; forgotten where they make the
    /// equations much worse.
    fn sweep_regularised(
        &self,
        monitor: &mut Monitor,
        equations: &Equations,
        law: FrictionLaw,
        centre: &Centre,
        count: usize,
        x: &mut [f64],
    ) {
        if count == 0 {
            return;
        }
        let (impulses, alpha) = (centre.impulses, centre.alpha);
        let shifted = Proximal::new(equations.problem, &equations.diagonal, alpha, impulses);
        let mut sweeps = Sweeps::new(&shifted, law, GaussSeidel::as_part(), x);
        (0..count).for_each(|_| sweeps.sweep());
        monitor.count_products(count);
        let scale = self.scale / (1.0 + alpha);
        let swept = equations.evaluate(monitor, sweeps.lambda(), impulses, alpha, scale);
        if swept.merit <= 2.0 * centre.merit {
            x.copy_from_slice(sweeps.lambda());
        }
    }

    /// The proximal loop, from the monitor's best iterate.
    fn proximal_loop(
        &self,
        monitor: &mut Monitor,
        law: FrictionLaw,
        equations: &Equations,
        system: &mut NewtonSystem,
    ) -> Status {
        let mut centre = monitor.best().to_vec();
        let mut alpha = self.alpha;
        let mut idle = 0;
        // After a failure α shrinks by no more than this.
        let mut caution = 0.0_f64;
        loop {
            let before = monitor.best_residual();
            let mut x = centre.clone();
            let plain = |monitor: &mut Monitor, x: &[f64]| {
                equations.evaluate(monitor, x, x, 0.0, self.scale).merit
            };
            let centre_merit = plain(monitor, &centre);
            // In body space a sweep is cheap beside a step.
            let factor = match system {
                NewtonSystem::Contacts(_) => 1,
                NewtonSystem::Bodies(_) => 4,
            };
            self.sweep_regularised(
                monitor,
                equations,
                law,
                &Centre {
                    impulses: &centre,
                    alpha,
                    merit: centre_merit,
                },
                self.sweeps_per_centre * factor,
                &mut x,
            );
            let inner = self.solve_centre(monitor, equations, system, &mut x, &centre, alpha);
            if let Some(status) = inner.stop.or_else(|| monitor.observe(&x)) {
                return status;
            }
            if inner.converged {
                centre = x;
                alpha *= match inner.steps {
                    0..=3 => caution.max(0.1),
                    4..=6 => caution.max(0.3),
                    7..=12 => 0.8,
                    _ => 1.5,
                };
                caution = 0.0;
            } else {
                caution = 0.5;
                if plain(monitor, &x) < 0.3 * centre_merit {
                    centre = x;
                }
                alpha *= 4.0;
            }
            alpha = alpha.clamp(ALPHA_RANGE.0, ALPHA_RANGE.1);
            idle = if monitor.best_residual() < 0.9 * before {
                0
            } else {
                idle + 1
            };
            if idle >= self.idle_limit {
                return Status::Stalled;
            }
        }
    }
}

impl ContactSolver for Newton {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn solve(
        &self,
        problem: &dyn ContactOperator,
        lambda: &mut [f64],
        stop: &Stopping,
    ) -> SolveReport {
        let mut monitor = match Monitor::begin(self.name(), problem, lambda, stop) {
            Ok(monitor) => monitor,
            Err(report) => return *report,
        };
        let mut system = NewtonSystem::new(problem);
        let limit = match system {
            NewtonSystem::Contacts(_) => self.start_sweeps,
            NewtonSystem::Bodies(_) => self.start_sweeps_bodies,
        };
        let mut sweeps = Sweeps::new(problem, stop.law, GaussSeidel::as_part(), lambda);
        let mut swept = 0;
        let mut status = None;
        while swept < limit && status.is_none() {
            let batch = 20.min(limit - swept);
            (0..batch).for_each(|_| sweeps.sweep());
            swept += batch;
            monitor.count_products(batch);
            status = monitor.observe(sweeps.lambda());
            if monitor.scaled_residual(sweeps.lambda()) <= self.start_residual {
                break;
            }
        }
        monitor.note(format!("{swept} sweeps before the first Newton step"));
        let status = status.unwrap_or_else(|| self.attempts(&mut monitor, &mut system, stop.law));
        monitor.finish(status, lambda)
    }
}
