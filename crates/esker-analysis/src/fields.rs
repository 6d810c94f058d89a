//! Coarse-grained fields (Goldhirsch): smooth functions of space that obey the
//! balances of mass and momentum exactly, whatever the kernel.
//!
//! With a kernel `W` of integral one, grains `i` and contacts `c` whose branch
//! is the vector `l` from centre to centre (or from centre to wall):
//!
//! ```text
//! ρ(x)   = Σ m_i W(x − x_i)                                       kg/m³    (1)
//! v(x)   = Σ m_i v_i W(x − x_i) / ρ                               m/s      (2)
//! D(x)   = ½ (∇v + ∇vᵀ)                                           1/s      (3)
//! σ(x)   = Σ_c f ⊗ l ∫₀¹ W(x − x_a − s l) ds + Σ m_i v′ ⊗ v′ W    Pa       (4)
//! p      = tr σ / 3                                               Pa       (5)
//! γ̇      = √(tr DᵀD)                                              1/s      (6)
//! I      = γ̇ d √(ρ_g / p)                                         –        (7)
//! ```
//!
//! `f` is the force on body `b`, so compression is positive. The gradient in
//! (3) is that of the kernel, not of the grid. Equation (6) follows
//! Servin et al. 2014; for simple shear it is `1/√2` of the shear rate.

use std::f64::consts::PI;

use glam::{DMat3, DVec3};

use crate::{MissingField, Partner, Snapshot};

/// A kernel of integral one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// `exp(−|x|²/2w²)`, cut off at 4 w and normalised to match.
    Gaussian {
        /// Width w, m.
        width: f64,
    },
    /// Lucy's polynomial, `(1 + 3q)(1 − q)³` with `q = |x|/c`: zero beyond `c`.
    Lucy {
        /// Reach c, m.
        reach: f64,
    },
}

/// Where a Gaussian is cut off, in widths: the jump there enters gradients,
/// by 8 % at three widths and 0.6 % at four.
const CUT: f64 = 4.0;
/// Integral of the cut Gaussian of width 1 over that of the whole one:
/// `erf(4/√2) − √(2/π) 4 e^(−8)`.
const CUT_SHARE: f64 = 0.998_866_0;

impl Kernel {
    /// Distance beyond which it is zero, m.
    pub fn reach(&self) -> f64 {
        match *self {
            Kernel::Gaussian { width } => CUT * width,
            Kernel::Lucy { reach } => reach,
        }
    }

    /// Value at a squared distance, 1/m³.
    #[inline]
    pub fn value(&self, square: f64) -> f64 {
        match *self {
            Kernel::Gaussian { width } => {
                let norm = (2.0 * PI).powf(1.5) * width.powi(3) * CUT_SHARE;
                if square > (CUT * width).powi(2) {
                    0.0
                } else {
                    (-0.5 * square / (width * width)).exp() / norm
                }
            }
            Kernel::Lucy { reach } => {
                let q = square.sqrt() / reach;
                if q >= 1.0 {
                    0.0
                } else {
                    105.0 / (16.0 * PI * reach.powi(3)) * (1.0 + 3.0 * q) * (1.0 - q).powi(3)
                }
            }
        }
    }

    /// `W′(r)/r` at a squared distance, so that `∇W = x W′/r`, 1/m⁵.
    #[inline]
    fn slope_over_distance(&self, square: f64) -> f64 {
        match *self {
            Kernel::Gaussian { width } => -self.value(square) / (width * width),
            Kernel::Lucy { reach } => {
                let q = square.sqrt() / reach;
                if q >= 1.0 {
                    0.0
                } else {
                    // d/dq of (1 + 3q)(1 − q)³ is −12 q (1 − q)².
                    let scale = 105.0 / (16.0 * PI * reach.powi(5));
                    -12.0 * scale * (1.0 - q).powi(2)
                }
            }
        }
    }
}

/// Points in space at which fields are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The first point, m.
    pub origin: DVec3,
    /// Distance of neighbours, m.
    pub spacing: f64,
    /// Points along x, y and z.
    pub points: [usize; 3],
}

impl Grid {
    /// A grid that covers `low`–`high`, with points half a spacing inside.
    pub fn covering(low: DVec3, high: DVec3, spacing: f64) -> Self {
        let span = (high - low) / spacing;
        Grid {
            origin: low + DVec3::splat(0.5 * spacing),
            spacing,
            points: span.to_array().map(|n| n.ceil().max(1.0) as usize),
        }
    }

    /// How many points.
    pub fn len(&self) -> usize {
        self.points.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Point with this index, x fastest, m.
    pub fn point(&self, index: usize) -> DVec3 {
        let [nx, ny, _] = self.points;
        let place = [index % nx, index / nx % ny, index / (nx * ny)];
        self.origin + DVec3::from_array(place.map(|k| k as f64)) * self.spacing
    }

    /// Calls `f(index, offset)` for the points within `reach` of `x`; the
    /// offset is from `x` to the point.
    fn near(&self, x: DVec3, reach: f64, mut f: impl FnMut(usize, DVec3)) {
        let local = (x - self.origin) / self.spacing;
        let cells = reach / self.spacing;
        let range = |k: usize| {
            let low = (local[k] - cells).ceil().max(0.0) as usize;
            let high = (local[k] + cells).floor();
            low..if high < 0.0 {
                low
            } else {
                (high as usize + 1).min(self.points[k]).max(low)
            }
        };
        let [nx, ny, _] = self.points;
        for k in range(2) {
            for j in range(1) {
                for i in range(0) {
                    let place = DVec3::new(i as f64, j as f64, k as f64);
                    let offset = (place - local) * self.spacing;
                    if offset.length_squared() <= reach * reach {
                        f((k * ny + j) * nx + i, offset);
                    }
                }
            }
        }
    }
}

/// Coarse-grained fields, one entry per grid point.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// Where.
    pub grid: Grid,
    /// Mass density (1), kg/m³.
    pub density: Vec<f64>,
    /// Velocity (2), m/s; zero where there is no mass.
    pub velocity: Vec<DVec3>,
    /// Strain rate (3), 1/s.
    pub strain_rate: Vec<DMat3>,
    /// Stress (4), Pa, compression positive.
    pub stress: Vec<DMat3>,
}

/// Points of the line integral in (4), per branch.
const BRANCH_POINTS: usize = 5;

impl Fields {
    /// Fields of a snapshot with velocities and contacts.
    pub fn new(snapshot: &Snapshot, grid: Grid, kernel: Kernel) -> Result<Self, MissingField> {
        let mut fields = Fields::kinematic(snapshot, grid, kernel)?;
        fields.add_kinetic_stress(snapshot, kernel)?;
        fields.add_contact_stress(snapshot, kernel)?;
        Ok(fields)
    }

    /// Density, velocity and strain rate only: needs no contacts.
    pub fn kinematic(
        snapshot: &Snapshot,
        grid: Grid,
        kernel: Kernel,
    ) -> Result<Self, MissingField> {
        let velocities = snapshot.velocities()?;
        let count = grid.len();
        let mut density = vec![0.0; count];
        let mut momentum = vec![DVec3::ZERO; count];
        let mut density_gradient = vec![DVec3::ZERO; count];
        let mut momentum_gradient = vec![DMat3::ZERO; count];
        for ((x, &m), &v) in snapshot
            .positions
            .iter()
            .zip(snapshot.masses()?)
            .zip(velocities)
        {
            grid.near(*x, kernel.reach(), |p, offset| {
                let square = offset.length_squared();
                let weight = m * kernel.value(square);
                let slope = offset * (m * kernel.slope_over_distance(square));
                density[p] += weight;
                momentum[p] += v * weight;
                density_gradient[p] += slope;
                momentum_gradient[p] += outer(v, slope);
            });
        }
        let mut velocity = vec![DVec3::ZERO; count];
        let mut strain_rate = vec![DMat3::ZERO; count];
        for p in (0..count).filter(|&p| density[p] > 0.0) {
            velocity[p] = momentum[p] / density[p];
            let gradient = (momentum_gradient[p] - outer(velocity[p], density_gradient[p]))
                * (1.0 / density[p]);
            strain_rate[p] = (gradient + gradient.transpose()) * 0.5;
        }
        Ok(Fields {
            grid,
            density,
            velocity,
            strain_rate,
            stress: vec![DMat3::ZERO; count],
        })
    }

    fn add_kinetic_stress(
        &mut self,
        snapshot: &Snapshot,
        kernel: Kernel,
    ) -> Result<(), MissingField> {
        let velocities = snapshot.velocities()?;
        for ((x, &m), &v) in snapshot
            .positions
            .iter()
            .zip(snapshot.masses()?)
            .zip(velocities)
        {
            let (velocity, stress) = (&self.velocity, &mut self.stress);
            self.grid.near(*x, kernel.reach(), |p, offset| {
                let fluctuation = v - velocity[p];
                let weight = m * kernel.value(offset.length_squared());
                stress[p] += outer(fluctuation, fluctuation) * weight;
            });
        }
        Ok(())
    }

    fn add_contact_stress(
        &mut self,
        snapshot: &Snapshot,
        kernel: Kernel,
    ) -> Result<(), MissingField> {
        for contact in snapshot.contacts()? {
            let start = snapshot.positions[contact.grain];
            let branch = match contact.partner {
                // Not from the places of the two: they may touch across a boundary.
                Partner::Grain(_) => contact.normal * (contact.diameter - contact.overlap),
                Partner::Wall(_) => contact.point - start,
            };
            let product = outer(contact.force(), branch) * (1.0 / BRANCH_POINTS as f64);
            for k in 0..BRANCH_POINTS {
                let at = start + branch * ((k as f64 + 0.5) / BRANCH_POINTS as f64);
                let stress = &mut self.stress;
                self.grid.near(at, kernel.reach(), |p, offset| {
                    stress[p] += product * kernel.value(offset.length_squared());
                });
            }
        }
        Ok(())
    }

    /// Pressure (5), Pa.
    pub fn pressure(&self, point: usize) -> f64 {
        let s = &self.stress[point];
        (s.x_axis.x + s.y_axis.y + s.z_axis.z) / 3.0
    }

    /// Norm of the strain rate (6), 1/s.
    pub fn shear_rate(&self, point: usize) -> f64 {
        let d = &self.strain_rate[point];
        let squares = [d.x_axis, d.y_axis, d.z_axis].map(DVec3::length_squared);
        squares.iter().sum::<f64>().sqrt()
    }

    /// Inertial number (7) for grains of this diameter (m) and density
    /// (kg/m³); zero where there is no pressure.
    pub fn inertial_number(&self, point: usize, diameter: f64, grain_density: f64) -> f64 {
        let pressure = self.pressure(point);
        if pressure > 0.0 {
            self.shear_rate(point) * diameter * (grain_density / pressure).sqrt()
        } else {
            0.0
        }
    }

    /// Mass on the grid, kg: the sum of densities times the volume per point.
    pub fn mass(&self) -> f64 {
        self.density.iter().sum::<f64>() * self.grid.spacing.powi(3)
    }
}

/// `a ⊗ b`, the matrix with entries `a_i b_j`.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{bare_contact, equal_grains};

    const KERNELS: [Kernel; 2] = [Kernel::Gaussian { width: 1.0 }, Kernel::Lucy { reach: 3.0 }];

    fn lattice(count: i32) -> Vec<DVec3> {
        (0..count)
            .flat_map(|i| (0..count).flat_map(move |j| (0..count).map(move |k| (i, j, k))))
            .map(|(i, j, k)| DVec3::new(i as f64, j as f64, k as f64))
            .collect()
    }

    #[test]
    fn mass_on_the_grid_is_the_mass_of_the_grains() {
        let mut snapshot = equal_grains(lattice(3), 0.4);
        snapshot.positions[5] += DVec3::new(0.31, -0.17, 0.05);
        snapshot.velocities = Some(vec![DVec3::ZERO; snapshot.len()]);
        for kernel in KERNELS {
            let grid = Grid::covering(DVec3::splat(-4.0), DVec3::splat(6.0), 0.4);
            let fields = Fields::kinematic(&snapshot, grid, kernel).unwrap();
            let error = (fields.mass() / snapshot.mass().unwrap() - 1.0).abs();
            assert!(error < 2e-3, "{kernel:?}: {error}");
        }
    }

    #[test]
    fn simple_shear_gives_its_rate_inside_and_rigid_rotation_none() {
        let mut snapshot = equal_grains(lattice(13), 0.5);
        let middle = Grid {
            origin: DVec3::splat(6.0),
            spacing: 0.3,
            points: [2, 2, 2],
        };
        for kernel in KERNELS {
            let shear = |x: &DVec3| DVec3::X * (3.0 * x.z);
            snapshot.velocities = Some(snapshot.positions.iter().map(shear).collect());
            let fields = Fields::kinematic(&snapshot, middle, kernel).unwrap();
            let turn = |x: &DVec3| DVec3::new(0.3, -0.2, 0.9).cross(*x);
            snapshot.velocities = Some(snapshot.positions.iter().map(turn).collect());
            let rigid = Fields::kinematic(&snapshot, middle, kernel).unwrap();
            for p in 0..middle.len() {
                let rate = fields.shear_rate(p) * 2_f64.sqrt();
                assert!((rate / 3.0 - 1.0).abs() < 0.03, "{kernel:?}: {rate}");
                assert!((fields.strain_rate[p].x_axis.z - 1.5).abs() < 0.05);
                assert!(rigid.shear_rate(p) < 0.02);
            }
        }
    }

    /// A lattice of grains pressed by a force `f` per bond has the stress
    /// `f / a²` along each axis, with `a` the lattice constant.
    #[test]
    fn a_pressed_lattice_has_force_per_cell_face_as_stress() {
        let count = 13;
        let mut snapshot = equal_grains(lattice(count), 0.5);
        snapshot.velocities = Some(vec![DVec3::ZERO; snapshot.len()]);
        let index = |x: DVec3| ((x.x as i32 * count + x.y as i32) * count + x.z as i32) as usize;
        let mut contacts = Vec::new();
        for (a, x) in snapshot.positions.iter().enumerate() {
            for (axis, force) in [(DVec3::X, 2.0), (DVec3::Y, 3.0), (DVec3::Z, 7.0)] {
                let b = *x + axis;
                if b.max_element() < count as f64 {
                    let mut contact = bare_contact(a, Partner::Grain(index(b)), axis);
                    contact.normal_force = force;
                    contacts.push(contact);
                }
            }
        }
        snapshot.contacts = Some(contacts);
        let grid = Grid {
            origin: DVec3::splat(6.2),
            spacing: 1.0,
            points: [1, 1, 1],
        };
        for kernel in KERNELS {
            let fields = Fields::new(&snapshot, grid, kernel).unwrap();
            let s = fields.stress[0];
            let found = [s.x_axis.x, s.y_axis.y, s.z_axis.z];
            for (value, expected) in found.into_iter().zip([2.0, 3.0, 7.0]) {
                assert!((value / expected - 1.0).abs() < 0.03, "{kernel:?}: {value}");
            }
            assert!((fields.pressure(0) - 4.0).abs() < 0.1);
        }
    }

    #[test]
    fn inertial_number_follows_its_definition() {
        let fields = Fields {
            grid: Grid {
                origin: DVec3::ZERO,
                spacing: 1.0,
                points: [1, 1, 1],
            },
            density: vec![1.0],
            velocity: vec![DVec3::ZERO],
            strain_rate: vec![DMat3::from_diagonal(DVec3::new(3.0, 4.0, 0.0))],
            stress: vec![DMat3::from_diagonal(DVec3::splat(100.0))],
        };
        let number = fields.inertial_number(0, 0.01, 2500.0);
        assert!((number - 5.0 * 0.01 * 5.0).abs() < 1e-12);
    }

    #[test]
    fn stress_without_contacts_says_what_is_missing() {
        let mut snapshot = equal_grains(vec![DVec3::ZERO], 0.5);
        snapshot.velocities = Some(vec![DVec3::ZERO]);
        let grid = Grid::covering(DVec3::ZERO, DVec3::ONE, 0.5);
        let error = Fields::new(&snapshot, grid, KERNELS[0]).unwrap_err();
        assert_eq!(error.field, "contacts");
    }
}
