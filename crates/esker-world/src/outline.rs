//! The shape of grains as those see it who place them.

use esker_geometry::BodyShape;
use glam::DQuat;

use crate::definition::{Orientation, ShapeUse};
use crate::grains::GrainShape;
use crate::random::RandomStream;

/// The shape of the grains of a packing or an emitter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    /// `None` for spheres.
    shaped: Option<Shaped>,
}

#[derive(Clone, Debug)]
struct Shaped {
    index: usize,
    shape: BodyShape,
    orientation: Orientation,
    /// Radius of the sphere of equal volume, m.
    volume_radius: f64,
    /// Bounding radius over it.
    stretch: f64,
}

impl Outline {
    /// Of grains with a shape of this list, or of spheres.
    pub(crate) fn new(shapes: &[BodyShape], shape: Option<&ShapeUse>) -> Self {
        let shaped = shape.map(|ShapeUse { shape, orientation }| {
            let (index, shape) = (*shape, &shapes[*shape]);
            let volume_radius = shape.volume_radius();
            Shaped {
                index,
                shape: shape.clone(),
                orientation: orientation.clone(),
                volume_radius,
                stretch: shape.bounding_radius() / volume_radius,
            }
        });
        Outline { shaped }
    }

    /// Radius of the ball that holds a grain over the radius of the sphere of equal
    /// volume.
    pub(crate) fn stretch(&self) -> f64 {
        self.shaped.as_ref().map_or(1.0, |shaped| shaped.stretch)
    }

    /// Orientation of the next grain, with this number among those of a list.
    /// Spheres draw nothing.
    pub(crate) fn orientation(&self, number: usize, stream: &mut RandomStream) -> DQuat {
        match self.shaped.as_ref().map(|shaped| &shaped.orientation) {
            None => DQuat::IDENTITY,
            Some(Orientation::Given(orientation)) => *orientation,
            Some(Orientation::Listed(orientations)) => orientations[number],
            Some(Orientation::Random) => {
                // Shoemake's: uniform on the unit sphere of quaternions.
                let [u, v, w] = stream.uniform3();
                let (inner, outer) = ((1.0 - u).sqrt(), u.sqrt());
                let [(s1, c1), (s2, c2)] = [v, w].map(|x| (std::f64::consts::TAU * x).sin_cos());
                DQuat::from_xyzw(inner * s1, inner * c1, outer * s2, outer * c2)
            }
        }
    }

    /// What a grain with this radius of the sphere of equal volume, m, and this
    /// mass, kg, has of its shape.
    pub(crate) fn shape(&self, radius: f64, mass: f64) -> Option<GrainShape> {
        let shaped = self.shaped.as_ref()?;
        let scale = radius / shaped.volume_radius;
        Some(GrainShape::new(shaped.index, &shaped.shape, scale, mass))
    }
}
