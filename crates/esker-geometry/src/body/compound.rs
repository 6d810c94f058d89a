//! Convex parts that move as one.

use super::principal::principal_axes;
use super::{BodyShape, MassProperties, PlacedShape};
use crate::Pose;
use crate::pairs::{BodyQuery, body_contacts};
use glam::{DMat3, DQuat, DVec3};
use thiserror::Error;

/// How far rounding of given numbers may carry moments beyond the triangle inequality, relative.
const ROUNDING: f64 = 1e-6;

/// Shapes fixed to one body, about its centre of mass, in its principal axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compound {
    parts: Vec<(BodyShape, Pose)>,
    mass_properties: MassProperties,
    is_homogeneous: bool,
}

/// A compound that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CompoundError {
    /// There is nothing.
    #[error("a compound needs at least one part")]
    Empty,
    /// A compound of compounds: its parts can be given themselves.
    #[error("part {0} of the compound is a compound itself")]
    Nested(usize),
    /// No distribution of mass has this inertia.
    #[error(transparent)]
    Inertia(#[from] InertiaError),
}

/// An inertia that no body has.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum InertiaError {
    /// A principal moment is not positive, or not a number.
    #[error("principal moments of inertia must be positive, but one is {0} kg m²")]
    NotPositive(f64),
    /// One is greater than the two others together.
    #[error(
        "no body has the principal moments {}, {} and {} kg m²: none may be greater than the two others together",
        .0[0], .0[1], .0[2]
    )]
    Triangle([f64; 3]),
}

/// Principal moments of an inertia tensor (kg m²), and its axes as columns.
pub fn principal_moments(inertia: DMat3) -> Result<(DVec3, DMat3), InertiaError> {
    let (moments, axes) = principal_axes(inertia);
    let min = moments.min_element();
    if !(min > 0.0 && moments.is_finite()) {
        let culprit = moments.to_array().into_iter().find(|m| !m.is_finite());
        return Err(InertiaError::NotPositive(culprit.unwrap_or(min)));
    }
    let max = moments.max_element();
    if max > (moments.element_sum() - max) * (1.0 + ROUNDING) {
        return Err(InertiaError::Triangle(moments.to_array()));
    }
    Ok((moments, axes))
}

/// The inertia about the origin that a unit of mass at a point adds.
fn inertia_of_point(x: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(x * x.x, x * x.y, x * x.z);
    DMat3::from_diagonal(DVec3::splat(x.length_squared())) - outer
}

impl Compound {
    /// Parts of one density at these poses, and the pose of the body frame in the frame that they
    /// were given in (see [`super::Clump::new`]).
    ///
    /// Mass properties are the sums of those of the parts: exact where parts do not overlap (see
    /// [`Compound::deepest_overlap`]).
    pub fn new(parts: &[(BodyShape, Pose)]) -> Result<(Self, Pose), CompoundError> {
        check(parts)?;
        let volumes = || parts.iter().map(|(s, _)| s.mass_properties().volume);
        let volume: f64 = volumes().sum();
        let first = volumes().zip(parts).map(|(v, (_, p))| v * p.position);
        let centre = first.sum::<DVec3>() / volume;
        let mut inertia = DMat3::ZERO;
        for (shape, pose) in parts {
            let own = shape.mass_properties();
            let axes = DMat3::from_quat(pose.orientation);
            let about_itself = axes * DMat3::from_diagonal(own.inertia_per_mass) * axes.transpose();
            let moved = about_itself + inertia_of_point(pose.position - centre);
            inertia += moved * (own.volume / volume);
        }
        Self::about(parts, centre, inertia, true)
    }

    /// Parts with a given centre of mass (m) and inertia per mass about it (m²), in the frame that
    /// they are given in.
    pub fn with_inertia(
        parts: &[(BodyShape, Pose)],
        centre: DVec3,
        inertia_per_mass: DMat3,
    ) -> Result<(Self, Pose), CompoundError> {
        check(parts)?;
        Self::about(parts, centre, inertia_per_mass, false)
    }

    fn about(
        parts: &[(BodyShape, Pose)],
        centre: DVec3,
        inertia: DMat3,
        is_homogeneous: bool,
    ) -> Result<(Self, Pose), CompoundError> {
        let (moments, axes) = principal_moments(inertia)?;
        let frame = Pose::new(centre, DQuat::from_mat3(&axes).normalize());
        let local = |(shape, pose): &(BodyShape, Pose)| (shape.clone(), frame.inverse() * *pose);
        let volumes = parts.iter().map(|(s, _)| s.mass_properties().volume);
        let compound = Self {
            mass_properties: MassProperties {
                volume: volumes.sum(),
                inertia_per_mass: moments,
            },
            parts: parts.iter().map(local).collect(),
            is_homogeneous,
        };
        Ok((compound, frame))
    }

    /// Shapes and their poses in the body frame.
    pub fn parts(&self) -> &[(BodyShape, Pose)] {
        &self.parts
    }

    /// Whether mass properties are those of the parts, rather than given.
    pub fn is_homogeneous(&self) -> bool {
        self.is_homogeneous
    }

    /// The two parts that overlap most, and how deep (m). What they have in common counts twice in
    /// the mass properties of parts.
    pub fn deepest_overlap(&self) -> Option<([usize; 2], f64)> {
        let placed = |k: usize| {
            let (shape, pose) = &self.parts[k];
            PlacedShape::new(shape, 1.0, *pose)
        };
        let mut points = Vec::new();
        let mut deepest: Option<([usize; 2], f64)> = None;
        for i in 0..self.parts.len() {
            for j in i + 1..self.parts.len() {
                points.clear();
                body_contacts(&placed(i), &placed(j), &BodyQuery::default(), &mut points);
                let depth = points.iter().map(|p| -p.gap).fold(0.0, f64::max);
                if depth > deepest.map_or(0.0, |d| d.1) {
                    deepest = Some(([i, j], depth));
                }
            }
        }
        deepest
    }

    pub(super) fn mass_properties(&self) -> MassProperties {
        self.mass_properties
    }

    /// Largest value of a part.
    pub(super) fn max_of(&self, value: impl Fn(&BodyShape, &Pose) -> f64) -> f64 {
        let values = self.parts.iter().map(|(shape, pose)| value(shape, pose));
        values.fold(0.0, f64::max)
    }
}

fn check(parts: &[(BodyShape, Pose)]) -> Result<(), CompoundError> {
    if parts.is_empty() {
        return Err(CompoundError::Empty);
    }
    let is_nested = |(shape, _): &(BodyShape, Pose)| matches!(shape, BodyShape::Compound(_));
    match parts.iter().position(is_nested) {
        Some(index) => Err(CompoundError::Nested(index + 1)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuboid(edges: [f64; 3]) -> BodyShape {
        BodyShape::Box {
            half_edges: DVec3::from(edges) / 2.0,
        }
    }

    /// A box cut in three, one piece of it turned, has the mass properties of the whole.
    #[test]
    fn parts_of_a_box_have_its_mass_properties() {
        let whole = cuboid([0.6, 0.2, 0.3]).mass_properties();
        let turned = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2);
        let turn = Pose::new(DVec3::new(3.0, -1.0, 2.0), DQuat::from_rotation_x(0.7));
        let at = |x: f64| Pose::from_position(x * DVec3::X);
        let parts = [
            (cuboid([0.25, 0.2, 0.3]), at(-0.175)),
            // 0.1 wide and 0.2 deep once it is turned.
            (cuboid([0.2, 0.1, 0.3]), Pose::new(DVec3::ZERO, turned)),
            (cuboid([0.25, 0.2, 0.3]), at(0.175)),
        ];
        let parts = parts.map(|(shape, pose)| (shape, turn * pose));
        let (compound, frame) = Compound::new(&parts).unwrap();
        assert!(frame.position.distance(turn.position) < 1e-14);
        let got = compound.mass_properties();
        assert!((got.volume / whole.volume - 1.0).abs() < 1e-14);
        // The order of principal axes is a matter of choice.
        let sorted = |v: DVec3| {
            let mut v = v.to_array();
            v.sort_by(f64::total_cmp);
            v
        };
        let (got, whole) = (sorted(got.inertia_per_mass), sorted(whole.inertia_per_mass));
        for (a, b) in got.iter().zip(whole) {
            assert!((a / b - 1.0).abs() < 1e-12, "{got:?} {whole:?}");
        }
        for ((_, local), (_, given)) in compound.parts().iter().zip(&parts) {
            assert!((frame * *local).position.distance(given.position) < 1e-14);
        }
        let depth = compound.deepest_overlap().map_or(0.0, |d| d.1);
        assert!(depth < 1e-12, "{depth}");
    }

    #[test]
    fn overlapping_parts_are_named_with_their_depth() {
        let parts = [0.0, 0.5, 0.45].map(|x| (cuboid([0.2; 3]), Pose::from_position(x * DVec3::X)));
        let (compound, _) = Compound::new(&parts).unwrap();
        let (pair, depth) = compound.deepest_overlap().unwrap();
        assert_eq!(pair, [1, 2]);
        assert!((depth - 0.15).abs() < 1e-12, "{depth}");
    }

    #[test]
    fn impossible_inertia_is_refused() {
        let of = |m: [f64; 3]| principal_moments(DMat3::from_diagonal(DVec3::from(m)));
        assert!(of([1.0, 2.0, 3.0]).is_ok());
        assert_eq!(
            of([1.0, 2.0, 3.1]),
            Err(InertiaError::Triangle([1.0, 2.0, 3.1]))
        );
        assert_eq!(of([1.0, 0.0, 1.0]), Err(InertiaError::NotPositive(0.0)));
        assert!(
            matches!(of([1.0, f64::NAN, 1.0]), Err(InertiaError::NotPositive(x)) if x.is_nan())
        );
        // Off the diagonal: positive entries, negative moment.
        let products = DMat3::from_cols_array(&[1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(
            matches!(principal_moments(products), Err(InertiaError::NotPositive(m)) if m < 0.0)
        );
    }

    #[test]
    fn given_inertia_moves_the_frame_to_the_given_centre() {
        let parts = [(cuboid([0.2; 3]), Pose::IDENTITY)];
        let inertia = DMat3::from_diagonal(DVec3::new(0.02, 0.03, 0.04));
        let (compound, frame) = Compound::with_inertia(&parts, 0.05 * DVec3::Z, inertia).unwrap();
        assert!(!compound.is_homogeneous());
        assert!(frame.position.distance(0.05 * DVec3::Z) < 1e-15);
        assert!(compound.parts()[0].1.position.distance(-0.05 * DVec3::Z) < 1e-15);
        assert!(
            compound
                .mass_properties()
                .inertia_per_mass
                .distance(DVec3::new(0.02, 0.03, 0.04))
                < 1e-15
        );
    }
}
