//! Shapes of grains as pictures show them.

use esker_geometry::BodyShape;
use esker_render::{Face, Form, Solid, Sphere};
use glam::{DQuat, DVec3};

/// What a grain of a shape is drawn as.
enum Look {
    Solid(Form),
    /// Centres in the shape's own frame and radii, m.
    Spheres(Vec<(DVec3, f64)>),
}

/// A grain on its way into a picture.
#[derive(Clone, Copy)]
pub struct DrawnGrain {
    /// A sphere that holds the grain, or the grain itself, with its colour.
    pub hull: Sphere,
    shape: Option<ShapedGrain>,
}

/// What a grain that is no sphere has beside its place.
#[derive(Clone, Copy)]
pub struct ShapedGrain {
    /// Index of its shape.
    pub shape: usize,
    /// Factor on the lengths of the shape.
    pub scale: f64,
    /// Rotation from the shape's axes.
    pub orientation: DQuat,
}

/// How grains of all shapes of a world or a recording look.
pub struct GrainForms {
    looks: Vec<(Look, f64)>,
}

impl GrainForms {
    /// Of these shapes.
    pub fn new(shapes: &[BodyShape]) -> Self {
        let looks = shapes.iter().map(|s| (look(s), s.bounding_radius()));
        GrainForms {
            looks: looks.collect(),
        }
    }

    /// A grain: the sphere of equal volume with its colour, and its shape.
    pub fn grain(&self, sphere: Sphere, shape: Option<ShapedGrain>) -> DrawnGrain {
        // A shape that is not known is drawn as the sphere.
        let shape = shape.filter(|s| s.shape < self.looks.len());
        let radius = shape.map_or(sphere.radius, |s| s.scale * self.looks[s.shape].1);
        DrawnGrain {
            hull: Sphere { radius, ..sphere },
            shape,
        }
    }

    /// What pictures draw: spheres, and other solids.
    pub fn drawn(&self, grains: &[DrawnGrain]) -> (Vec<Sphere>, Vec<Solid<'_>>) {
        let (mut spheres, mut solids) = (Vec::new(), Vec::new());
        for DrawnGrain { hull, shape } in grains {
            let Some(ShapedGrain {
                shape,
                scale,
                orientation,
            }) = *shape
            else {
                spheres.push(*hull);
                continue;
            };
            match &self.looks[shape].0 {
                Look::Solid(form) => solids.push(Solid {
                    form,
                    centre: hull.centre,
                    scale,
                    orientation,
                    value: hull.value,
                }),
                Look::Spheres(parts) => {
                    spheres.extend(parts.iter().map(|&(centre, radius)| Sphere {
                        centre: hull.centre + scale * (orientation * centre),
                        radius: scale * radius,
                        ..*hull
                    }));
                }
            }
        }
        (spheres, solids)
    }
}

fn look(shape: &BodyShape) -> Look {
    Look::Solid(match shape {
        BodyShape::Sphere { radius } => return Look::Spheres(vec![(DVec3::ZERO, *radius)]),
        BodyShape::Clump(clump) => return Look::Spheres(clump.spheres().to_vec()),
        // Grains have none; bodies of their own are drawn by their surface.
        BodyShape::Compound(_) | BodyShape::Mesh(_) => return Look::Spheres(Vec::new()),
        BodyShape::Ellipsoid { semi_axes } => Form::Ellipsoid {
            semi_axes: *semi_axes,
        },
        BodyShape::Capsule {
            radius,
            half_length,
        } => Form::Capsule {
            radius: *radius,
            half_length: *half_length,
        },
        BodyShape::Cylinder {
            radius,
            half_length,
        } => Form::Cylinder {
            radius: *radius,
            half_length: *half_length,
        },
        BodyShape::Box { half_edges } => Form::cuboid(*half_edges),
        BodyShape::Polyhedron(polyhedron) => Form::Polyhedron {
            faces: polyhedron
                .faces()
                .iter()
                .map(|face| Face {
                    normal: face.normal,
                    offset: face.offset,
                })
                .collect(),
            reach: shape.bounding_radius(),
        },
    })
}
