//! Vertical columns of grains: how many sweeps a truncated Gauss–Seidel needs,
//! what it loses in height, and what sub-stepping loses.

mod common;

use common::*;
use esker_world::definition::*;
use glam::DVec3;

struct Column {
    material: Material,
    law: PairLaw,
    radius: f64,
    count: usize,
    step: f64,
    contact: ContactSettings,
}

impl Column {
    /// Soft pellets at h = 5 ms.
    fn soft(count: usize) -> Self {
        Column {
            material: pellet(),
            law: smooth(),
            radius: PELLET_RADIUS,
            count,
            step: 5e-3,
            contact: ContactSettings {
                margin: 1e-3 / (2.0 * PELLET_RADIUS),
                ..Default::default()
            },
        }
    }

    /// Grains as hard as steel, d = 10 mm.
    fn stiff(count: usize) -> Self {
        Column {
            material: material(2500.0, 5e11, 0.3),
            radius: 5e-3,
            step: 1e-2,
            contact: ContactSettings {
                margin: 0.1,
                ..Default::default()
            },
            ..Column::soft(count)
        }
    }

    /// Height at rest: every contact carries the weight above it.
    fn static_height(&self) -> f64 {
        let weight = sphere_mass(self.material.density, self.radius) * G;
        let overlap = |force: f64, effective_radius: f64| match self.law.normal {
            NormalLaw::Hertz => {
                (force / hertz_stiffness(&self.material, effective_radius)).powf(2.0 / 3.0)
            }
            NormalLaw::Linear { stiffness } => force / stiffness,
        };
        let lost: f64 = (1..=self.count)
            .map(|above| {
                let at_floor = above == self.count;
                overlap(
                    above as f64 * weight,
                    if at_floor {
                        self.radius
                    } else {
                        0.5 * self.radius
                    },
                )
            })
            .sum();
        2.0 * self.radius * self.count as f64 - lost
    }

    /// Heights over the static height, step by step over `seconds`, of which
    /// those of the last `share` are returned.
    fn heights(&self, method: Method, seconds: f64, share: f64) -> Vec<f64> {
        // The reference's numbers for truncated sweeps are those of a sweep
        // from the bottom up.
        let plain = matches!(method, Method::WholeStep(_));
        let overlap = 1e-6;
        let mut def = scene(self.material.clone(), self.law, method, self.step);
        def.contact = self.contact.clone();
        def.rotation = false;
        def.walls = vec![floor()];
        def.packings = vec![PackingDef {
            shape: None,
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Column {
                base: -DVec3::Z * overlap,
                direction: DVec3::Z,
                count: self.count,
                gap: -overlap,
                sizes: SizeDistribution::Fixed {
                    radius: self.radius,
                },
            },
        }];
        let mut world = build(&def);
        world.set_plain_order(plain);
        run(&mut world, seconds * (1.0 - share));
        let steps = (seconds * share / self.step).round() as usize;
        let expected = self.static_height();
        (0..steps)
            .map(|_| {
                world.step().expect("the state stays finite");
                let top = world
                    .grains()
                    .position()
                    .iter()
                    .map(|x| x.z)
                    .fold(0.0, f64::max);
                (top + self.radius) / expected
            })
            .collect()
    }

    fn worst_error(&self, method: Method, seconds: f64, share: f64) -> f64 {
        self.heights(method, seconds, share)
            .iter()
            .map(|h| (h - 1.0).abs())
            .fold(0.0, f64::max)
    }
}

/// Fewest sweeps of a cold start for a height within a tolerance, at h = 5 ms:
/// (tolerance, [(grains, sweeps)]).
const COLD_SWEEPS: [(f64, &[(usize, usize)]); 3] = [
    (1e-3, &[(5, 20), (10, 49), (25, 116), (50, 183)]),
    (1e-2, &[(5, 7), (10, 16), (25, 38), (50, 67), (100, 116)]),
    (5e-2, &[(5, 2), (10, 5), (25, 11), (50, 22), (100, 45)]),
];

#[test]
fn a_cold_start_needs_as_many_sweeps_as_the_reference_within_15_percent() {
    for (tolerance, columns) in COLD_SWEEPS {
        for &(count, sweeps) in columns {
            let error = |share: f64, round: fn(f64) -> f64| {
                let sweeps = round(sweeps as f64 * share) as usize;
                let method = whole_step(sweeps, WarmStart::Cold);
                Column::soft(count).worst_error(method, 5.0, 0.2)
            };
            let (fewer, more) = (error(0.85, f64::floor), error(1.15, f64::ceil));
            assert!(
                fewer > tolerance && more <= tolerance,
                "{count} grains to {tolerance}: {fewer:.2e} and {more:.2e} around {sweeps} sweeps"
            );
        }
    }
}

#[test]
fn history_needs_at_most_six_tenths_of_the_cold_sweeps() {
    for (tolerance, columns) in &COLD_SWEEPS[..2] {
        for &(count, sweeps) in columns.iter().filter(|c| c.0 >= 10) {
            let method = whole_step((0.6 * sweeps as f64) as usize, history(0.85));
            let error = Column::soft(count).worst_error(method, 5.0, 0.2);
            assert!(
                error <= *tolerance,
                "{count} grains to {tolerance}: {error:.2e} at 0.6 · {sweeps} sweeps"
            );
        }
    }
}

fn mean_height(column: &Column) -> f64 {
    let heights = column.heights(whole_step(100, WarmStart::Cold), 20.0, 0.2);
    heights.iter().sum::<f64>() / heights.len() as f64
}

#[test]
fn truncated_sweeps_shorten_stiff_columns_as_the_reference_does() {
    for (count, expected) in [(20, 0.9806), (40, 0.9496), (100, 0.8648)] {
        let height = mean_height(&Column::stiff(count));
        assert!((height - expected).abs() < 5e-4, "{count}: {height:.4}");
    }
}

/// With long damping the loss grows as 1 + 4 n_s. At 100 grains the foot of the
/// column is squeezed below half a diameter per grain: grains two apart touch,
/// which a chain of neighbours (height 0.627) does not know, and hold it up.
#[test]
fn long_damping_shortens_stiff_columns_as_the_reference_does() {
    for (count, expected) in [(20, 0.9466), (40, 0.8612), (100, 0.6623)] {
        let mut column = Column::stiff(count);
        column.law.normal = NormalLaw::Linear { stiffness: 1e9 };
        column.contact.damping_steps = 7.5;
        let height = mean_height(&column);
        assert!((height - expected).abs() < 5e-4, "{count}: {height:.4}");
    }
}

#[test]
fn sub_stepping_holds_stiff_columns_up() {
    for (count, substeps, bound) in [(100, 100, 1.2e-3), (100, 25, 2e-2), (25, 25, 5e-3)] {
        let error = Column::stiff(count).worst_error(sub_stepped(substeps), 6.0, 0.2);
        assert!(
            error <= bound,
            "{count} grains, {substeps} substeps: {error:.2e}"
        );
        // The price of the stiffness cap: κ g h_s² N/d.
        let column = Column::stiff(count);
        let expected =
            G * (column.step / substeps as f64).powi(2) * count as f64 / (2.0 * column.radius);
        assert!(
            relative(error, expected) < 0.03,
            "{error:.3e} for {expected:.3e}"
        );
    }
}

/// Where the cap is not active the height is that of the law, once the column
/// has come to rest: damping the pairs damps its slowest mode but little.
#[test]
fn sub_stepping_leaves_soft_columns_their_height() {
    for count in [25, 100] {
        let error = Column::soft(count).worst_error(sub_stepped(25), 18.0, 0.1);
        assert!(error <= 1e-5, "{count} grains: {error:.1e}");
    }
}
