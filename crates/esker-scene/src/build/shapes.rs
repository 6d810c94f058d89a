//! Shapes of grains that are no spheres, and of bodies of their own.

use std::sync::Arc;

use esker_geometry::{BodyShape, Clump, HullError, Polyhedron, Pose, TriangleSoup};
use esker_world::definition::{Orientation, ShapeUse, SizeDistribution};

use super::Builder;
use super::walls::rotation;
use crate::report::ProblemKind;
use crate::walk::Node;

/// Grains of a section: their shape, and sizes as radii of spheres of equal volume.
pub(super) struct Outlines {
    pub(super) shape: Option<ShapeUse>,
    pub(super) sizes: SizeDistribution,
}

impl Builder<'_, '_> {
    /// Shape and sizes of the grains of a section.
    pub(super) fn outlines(&mut self, node: &Node) -> Option<Outlines> {
        let Some(table) = node.table("shape") else {
            if self.locations.has(&node.at("shape")) {
                return None;
            }
            for key in ["scale", "scales", "rotation"] {
                if self.locations.has(&node.at(key)) {
                    let message = format!("`{key}` has a meaning only with `shape`");
                    self.report(ProblemKind::Conflict, &node.at(key), message);
                }
            }
            let sizes = self.sizes(node)?;
            return Some(Outlines { shape: None, sizes });
        };
        let (shape, pose) = self.body_shape(table)?;
        let turned = self.locations.has(&node.at("rotation"));
        let orientation = if turned {
            Orientation::Given(rotation(node)? * pose.orientation)
        } else {
            Orientation::Random
        };
        let sizes = self.scales(node)?.scaled(shape.volume_radius());
        self.shapes.push(shape);
        Some(Outlines {
            shape: Some(ShapeUse {
                shape: self.shapes.len() - 1,
                orientation,
            }),
            sizes,
        })
    }

    /// Factors on a shape, as a distribution of "radii".
    fn scales(&mut self, node: &Node) -> Option<SizeDistribution> {
        match node.table("scales") {
            Some(scales) => Some(self.distribution(scales)?.scaled(2.0)),
            None if self.locations.has(&node.at("scales")) => None,
            None if self.locations.has(&node.at("scale")) => Some(SizeDistribution::Fixed {
                radius: node.number("scale")?,
            }),
            None => Some(SizeDistribution::Fixed { radius: 1.0 }),
        }
    }

    /// A shape, and where its own frame is in the axes of the scene.
    pub(super) fn body_shape(&mut self, node: &Node) -> Option<(BodyShape, Pose)> {
        let centred = |shape| (shape, Pose::IDENTITY);
        let found = if let Some(semi_axes) = node.vector("ellipsoid") {
            centred(BodyShape::Ellipsoid { semi_axes })
        } else if let Some(edges) = node.vector("box") {
            centred(BodyShape::Box {
                half_edges: edges / 2.0,
            })
        } else if let Some(capsule) = node.table("capsule") {
            centred(BodyShape::Capsule {
                radius: capsule.number("radius")?,
                half_length: capsule.number("length")? / 2.0,
            })
        } else if let Some(cylinder) = node.table("cylinder") {
            centred(BodyShape::Cylinder {
                radius: cylinder.number("radius")?,
                half_length: cylinder.number("length")? / 2.0,
            })
        } else if let Some(polyhedron) = node.table("polyhedron") {
            self.polyhedron(polyhedron)?
        } else if self.locations.has(&node.at("clump")) {
            self.clump(node)?
        } else {
            return None;
        };
        if let Err(error) = found.0.validate() {
            self.report(ProblemKind::BadValue, &node.path, error.to_string());
            return None;
        }
        Some(found)
    }

    fn polyhedron(&mut self, node: &Node) -> Option<(BodyShape, Pose)> {
        let size = node.number("size")?;
        let (made, path) = if let Some(points) = node.vectors("points") {
            let points: Vec<_> = points.iter().map(|point| *point * size).collect();
            (Polyhedron::from_points(&points), node.at("points"))
        } else {
            let (name, bytes) = self.read_file(node, "file")?;
            let soup = TriangleSoup::from_bytes(&name, &bytes).map(|mut soup| {
                soup.vertices.iter_mut().for_each(|vertex| *vertex *= size);
                soup
            });
            let made = match soup {
                Ok(soup) if node.boolean("hull")? => Polyhedron::hull_of(&soup),
                Ok(soup) => Polyhedron::from_surface(&soup),
                Err(error) => Err(HullError::from(error)),
            };
            (made, node.at("file"))
        };
        match made {
            Ok((polyhedron, pose)) => Some((BodyShape::Polyhedron(Arc::new(polyhedron)), pose)),
            Err(error) => {
                self.report(ProblemKind::BadValue, &path, error.to_string());
                None
            }
        }
    }

    fn clump(&mut self, node: &Node) -> Option<(BodyShape, Pose)> {
        let spheres: Option<Vec<_>> = node
            .list("clump")
            .iter()
            .map(|sphere| Some((sphere.vector("position")?, sphere.number("radius")?)))
            .collect();
        match Clump::new(&spheres?) {
            Ok((clump, pose)) => Some((BodyShape::Clump(Arc::new(clump)), pose)),
            Err(error) => {
                self.report(ProblemKind::BadValue, &node.at("clump"), error.to_string());
                None
            }
        }
    }
}
