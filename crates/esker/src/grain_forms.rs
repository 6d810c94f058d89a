//! Shapes of grains as pictures show them.

use esker_geometry::BodyShape;
use esker_record::Frame;
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
    /// Index of its shape, its scale and its orientation, where it is no sphere.
    shape: Option<(usize, f64, DQuat)>,
}

/// How grains of all shapes of a recording look.
pub struct GrainForms {
    looks: Vec<(Look, f64)>,
}

impl GrainForms {
    /// Of the shapes of a recording's header.
    pub fn new(shapes: &[BodyShape]) -> Self {
        let looks = shapes.iter().map(|s| (look(s), s.bounding_radius()));
        GrainForms {
            looks: looks.collect(),
        }
    }

    /// A grain of a frame, with the value that its colour shows.
    pub fn grain(&self, frame: &Frame, i: usize, value: f64) -> DrawnGrain {
        let number = frame.shape.get(i).map_or(0, |&number| usize::from(number));
        let index = number.checked_sub(1);
        // What a recording does not explain is drawn as the sphere of equal volume.
        let shape = index.filter(|&index| index < self.looks.len());
        let shape = shape.map(|index| (index, frame.scale[i], frame.orientation[i]));
        let radius = match shape {
            Some((index, scale, _)) => scale * self.looks[index].1,
            None => frame.radius[i],
        };
        DrawnGrain {
            hull: Sphere {
                centre: frame.position[i],
                radius,
                value,
                orientation: None,
            },
            shape,
        }
    }

    /// What pictures draw: spheres, and other solids.
    pub fn drawn(&self, grains: &[DrawnGrain]) -> (Vec<Sphere>, Vec<Solid<'_>>) {
        let (mut spheres, mut solids) = (Vec::new(), Vec::new());
        for DrawnGrain { hull, shape } in grains {
            let Some((index, scale, orientation)) = *shape else {
                spheres.push(*hull);
                continue;
            };
            match &self.looks[index].0 {
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
        BodyShape::Compound(_) => return Look::Spheres(Vec::new()),
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
