//! Bodies of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_geometry::{
    BodyMesh, BodyMeshError, BodyShape, Compound, CompoundError, InertiaError, Pose,
};
use esker_world::definition::{BodyDef, Locks, VectorOfTime};
use glam::{DMat3, DVec3};

use super::Builder;
use super::walls::rotation;
use crate::format::LOCKS;
use crate::report::ProblemKind;
use crate::walk::Node;

/// Shape and mass of a body.
struct Matter {
    shape: BodyShape,
    mass: f64,
    moments: DVec3,
    /// Pose of the body's frame in the frame of the shape.
    frame: Pose,
}

impl Builder<'_, '_> {
    pub(super) fn bodies(
        &mut self,
        root: &Node,
        names: &mut BTreeMap<String, String>,
    ) -> Vec<BodyDef> {
        let bodies = root.list("body").iter();
        bodies.filter_map(|node| self.body(node, names)).collect()
    }

    fn body(&mut self, node: &Node, names: &mut BTreeMap<String, String>) -> Option<BodyDef> {
        let name = self.unique_name(node, names);
        let material = self.material_of(node);
        let parts = self.parts(node);
        let locks = locks(node);
        let force = self.vector_of_time(node, "force", "force_table");
        let torque = self.vector_of_time(node, "torque", "torque_table");
        let (material, parts) = (material?, parts?);
        let matter = self.matter(node, material, &parts)?;
        Some(BodyDef {
            name,
            shape: matter.shape,
            mass: matter.mass,
            moments: matter.moments,
            frame: matter.frame,
            pose: Pose::new(node.vector("position")?, rotation(node)?),
            velocity: node.vector("velocity")?,
            angular_velocity: node.vector("angular_velocity")?,
            material,
            locks,
            group: node.text("group").map(str::to_owned),
            force: force?,
            torque: torque?,
        })
    }

    /// Shapes and where they are in the body's frame.
    fn parts(&mut self, node: &Node) -> Option<Vec<(BodyShape, Pose)>> {
        let nodes = node.list("shape");
        let parts: Vec<Option<(BodyShape, Pose)>> = nodes
            .iter()
            .map(|part| {
                let (shape, own) = if let Some(radius) = part.number("sphere") {
                    (BodyShape::Sphere { radius }, Pose::IDENTITY)
                } else if let Some(mesh) = part.table("mesh") {
                    self.body_mesh(node, mesh)?
                } else {
                    self.body_shape(part)?
                };
                let place = Pose::new(part.vector("position")?, rotation(part)?);
                Some((shape, place * own))
            })
            .collect();
        if parts.is_empty() && !self.locations.has(&node.at("shape")) {
            return None;
        }
        if parts.is_empty() {
            let message = "a body needs at least one shape";
            self.report(ProblemKind::Missing, &node.at("shape"), message);
            return None;
        }
        parts.into_iter().collect()
    }

    /// A surface of triangles and where its own frame is. One that encloses no volume needs all
    /// that would follow from it.
    fn body_mesh(&mut self, body: &Node, node: &Node) -> Option<(BodyShape, Pose)> {
        let (name, soup) = self.surface(node, "body")?;
        let (mesh, pose) = match BodyMesh::closed(&soup) {
            Ok(closed) => closed,
            Err(BodyMeshError::Mesh(error)) => {
                return self.usable_surface(node, (&name, "body"), Err(error));
            }
            Err(error) => {
                let given = |key: &&str| self.locations.has(&body.at(key));
                let needed = ["mass", "centre", "inertia"];
                if !needed.iter().all(given) {
                    let message = format!("\"{name}\": {error}");
                    let finding = self
                        .finding(ProblemKind::Missing, &node.at("file"), message)
                        .expected(
                            "a closed surface that is wound counter-clockwise seen from outside",
                        )
                        .advice("close it, or give `mass`, `centre` and `inertia` of the body");
                    self.push(finding);
                    return None;
                }
                let hollow = BodyMesh::hollow(&soup);
                let hollow = self.usable_surface(node, (&name, "body"), hollow)?;
                (hollow, Pose::IDENTITY)
            }
        };
        Some((BodyShape::Mesh(Arc::new(mesh)), pose))
    }

    fn matter(
        &mut self,
        node: &Node,
        material: usize,
        parts: &[(BodyShape, Pose)],
    ) -> Option<Matter> {
        let volume: f64 = parts.iter().map(|(s, _)| s.mass_properties().volume).sum();
        let mass = match (node.number("mass"), node.number("density")) {
            (Some(mass), _) => mass,
            (None, Some(density)) => density * volume,
            (None, None) => {
                self.require_density(material);
                self.materials[material].density * volume
            }
        };
        let centre = node.vector("centre");
        let inertia = self.inertia(node)?;
        let made = match (inertia, centre) {
            (None, Some(_)) => {
                let message = "`centre` is given without `inertia`";
                let finding = self
                    .finding(ProblemKind::Missing, &node.at("centre"), message)
                    .expected("both, or none of them: then they follow from the shapes");
                self.push(finding);
                return None;
            }
            (None, None) => match parts {
                [(shape, pose)] => Ok((shape.clone(), *pose)),
                _ => Compound::new(parts).map(as_shape),
            },
            (Some(inertia), centre) => {
                let centre = centre.map_or_else(|| centre_of(parts, volume), Ok);
                let inertia = inertia * mass.recip();
                centre.and_then(|centre| match parts {
                    [(BodyShape::Mesh(mesh), pose)] => mesh
                        .with_inertia(*pose, centre, inertia)
                        .map(|(mesh, pose)| (BodyShape::Mesh(Arc::new(mesh)), pose))
                        .map_err(CompoundError::from),
                    _ => Compound::with_inertia(parts, centre, inertia).map(as_shape),
                })
            }
        };
        match made {
            Ok((shape, pose)) => Some(Matter {
                moments: shape.mass_properties().inertia_per_mass * mass,
                shape,
                mass,
                frame: pose.inverse(),
            }),
            Err(CompoundError::Inertia(error)) => {
                let finding = self
                    .finding(
                        ProblemKind::BadValue,
                        &node.at("inertia"),
                        of_mass(error, mass).to_string(),
                    )
                    .expected(
                        "the moments of inertia of a body, about its centre of mass, in kg m²",
                    )
                    .advice("leave `inertia` out: it follows from the shapes and the mass");
                self.push(finding);
                None
            }
            Err(error) => {
                self.report(ProblemKind::BadValue, &node.at("shape"), error.to_string());
                None
            }
        }
    }

    /// The given inertia; the outer `None` where it is faulty.
    fn inertia(&mut self, node: &Node) -> Option<Option<DMat3>> {
        let path = node.at("inertia");
        let Some(numbers) = node.numbers("inertia") else {
            return (!self.locations.has(&path)).then_some(None);
        };
        let (diagonal, [xy, xz, yz]) = match *numbers {
            [xx, yy, zz] => ([xx, yy, zz], [0.0; 3]),
            [xx, yy, zz, xy, xz, yz] => ([xx, yy, zz], [xy, xz, yz]),
            _ => {
                let message = format!("`inertia` has {} numbers", numbers.len());
                let finding = self
                    .finding(ProblemKind::BadValue, &path, message)
                    .expected("[xx, yy, zz], or [xx, yy, zz, xy, xz, yz]");
                self.push(finding);
                return None;
            }
        };
        let [xx, yy, zz] = diagonal;
        Some(Some(DMat3::from_cols_array(&[
            xx, xy, xz, xy, yy, yz, xz, yz, zz,
        ])))
    }

    /// A constant, a table, or nothing.
    fn vector_of_time(&mut self, node: &Node, key: &str, table: &str) -> Option<VectorOfTime> {
        let is_faulty = |builder: &Self, key: &str| builder.locations.has(&node.at(key));
        if let Some(value) = node.vector(key) {
            return Some(VectorOfTime::Constant(value));
        }
        let Some(rows) = node.table(table) else {
            let faulty = is_faulty(self, key) || is_faulty(self, table);
            return (!faulty).then(VectorOfTime::default);
        };
        let (times, values) = (
            rows.numbers("times")?.to_vec(),
            rows.vectors("values")?.to_vec(),
        );
        self.judge_times(rows, &times, values.len())?;
        Some(VectorOfTime::Table { times, values })
    }

    /// Reports a table whose times do not increase or do not go with its values.
    pub(super) fn judge_times(&mut self, rows: &Node, times: &[f64], values: usize) -> Option<()> {
        let message = if times.is_empty() {
            "`times` is empty".to_string()
        } else if times.len() != values {
            format!("{} times and {values} values", times.len())
        } else if let Some(row) = times.windows(2).position(|pair| pair[1] <= pair[0]) {
            format!(
                "`times` does not increase: {} comes after {}",
                times[row + 1],
                times[row]
            )
        } else {
            return Some(());
        };
        let finding = self
            .finding(ProblemKind::BadValue, &rows.at("times"), message)
            .expected("increasing times, and one value for each");
        self.push(finding);
        None
    }
}

fn as_shape((compound, pose): (Compound, Pose)) -> (BodyShape, Pose) {
    (BodyShape::Compound(Arc::new(compound)), pose)
}

/// Centre of mass of homogeneous parts.
fn centre_of(parts: &[(BodyShape, Pose)], volume: f64) -> Result<DVec3, CompoundError> {
    let moments = parts
        .iter()
        .map(|(shape, pose)| pose.position * shape.mass_properties().volume);
    Ok(moments.sum::<DVec3>() / volume)
}

/// What is wrong with moments per mass, of a body with this mass.
fn of_mass(error: InertiaError, mass: f64) -> InertiaError {
    match error {
        InertiaError::NotPositive(moment) => InertiaError::NotPositive(moment * mass),
        InertiaError::Triangle(moments) => InertiaError::Triangle(moments.map(|m| m * mass)),
    }
}

/// What the body is locked in.
fn locks(node: &Node) -> Locks {
    let names = node.texts("locked").unwrap_or_default();
    let is_locked = |k: usize| names.iter().any(|name| name == LOCKS[k]);
    Locks {
        translation: [0, 1, 2].map(is_locked),
        rotation: [3, 4, 5].map(is_locked),
    }
}
