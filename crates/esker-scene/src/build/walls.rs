//! Walls: shapes, poses and motions.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Display;
use std::sync::Arc;

use esker_geometry::{
    Bumps, DrumShell, Face, OpenFaces, Outlet, Pose, Side, TriangleMesh, TriangleSoup, WallShape,
};
use esker_world::definition::{Motion, Presence, WallDef};
use glam::{DQuat, DVec3};

use super::Builder;
use crate::csv::{MotionTable, read_motion};
use crate::format::FACES;
use crate::report::ProblemKind;
use crate::walk::Node;

impl Builder<'_, '_> {
    pub(super) fn walls(
        &mut self,
        root: &Node,
        names: &mut BTreeMap<String, String>,
    ) -> Vec<WallDef> {
        let walls = root.list("wall").iter();
        walls.filter_map(|node| self.wall(node, names)).collect()
    }

    fn wall(&mut self, node: &Node, names: &mut BTreeMap<String, String>) -> Option<WallDef> {
        let name = self.unique_name(node, names);
        let material = self.material_of(node);
        let shape = self.shape(node);
        let motion = self.motion(node);
        let presence = self.presence(node);
        let pose = Pose {
            position: node.vector("position")?,
            orientation: orientation(node)?,
        };
        let surface_velocity = pose.orientation.conjugate() * node.vector("surface_velocity")?;
        Some(WallDef {
            name,
            shape: shape?,
            pose,
            material: material?,
            motion: motion?,
            surface_velocity,
            presence: presence?,
        })
    }

    fn shape(&mut self, node: &Node) -> Option<WallShape> {
        let side = match node.text("side") {
            Some("outside") => Side::Outside,
            _ => Side::Inside,
        };
        let open = self.open_faces(node)?;
        let shape = match node.text("shape")? {
            "box" => WallShape::Box {
                half_extents: node.vector("size")? / 2.0,
                side,
                open,
            },
            "cylinder" => WallShape::Cylinder {
                radius: node.number("radius")?,
                length: node.number("length")?,
                side,
                open,
            },
            "cone" => WallShape::Cone {
                radius_bottom: node.number("radius_bottom")?,
                radius_top: node.number("radius_top")?,
                length: node.number("length")?,
                side,
                open,
            },
            "drum" => WallShape::Mesh(Arc::new(self.drum(node)?)),
            "mesh" => WallShape::Mesh(Arc::new(self.mesh(node)?)),
            _ => WallShape::HalfSpace,
        };
        if let Err(error) = shape.validate() {
            self.report(ProblemKind::BadValue, &node.path, error.to_string());
            return None;
        }
        Some(shape)
    }

    /// Faces that are open: `open` says it, or for round walls `caps`.
    fn open_faces(&mut self, node: &Node) -> Option<OpenFaces> {
        let Some(names) = node.texts("open") else {
            let is_faulty = self.locations.has(&node.at("open"));
            let is_container = node.text("side") != Some("outside");
            let is_round = node.text("shape") != Some("box");
            let has_caps = node.boolean("caps").unwrap_or(false);
            let open = if is_container && is_round && !has_caps {
                OpenFaces::ENDS
            } else {
                OpenFaces::NONE
            };
            return (!is_faulty).then_some(open);
        };
        if self.locations.has(&node.at("caps")) {
            self.report(
                ProblemKind::Conflict,
                &node.at("caps"),
                "`caps` and `open` exclude one another",
            );
            return None;
        }
        let faces = FACES.iter().zip(Face::ALL);
        let named = faces.filter(|(name, _)| names.iter().any(|given| given == *name));
        Some(named.map(|(_, face)| face).collect())
    }

    /// The shell of a drum.
    fn drum(&mut self, node: &Node) -> Option<TriangleMesh> {
        let bumps = match node.table("bumps") {
            Some(bumps) => Some(Bumps {
                width: bumps.number("width")?,
                height: two_of(bumps, "height")?,
                density: bumps.number("density")?,
            }),
            None => None,
        };
        let outlet = match node.table("outlet") {
            Some(outlet) => Some(Outlet {
                length: outlet.number("length")?,
                gaps: outlet.integer("gaps")? as usize,
                width: two_of(outlet, "width")?,
                turns: outlet.number("turns")?,
            }),
            None => None,
        };
        let shell = DrumShell {
            radius: node.number("radius")?,
            length: node.number("length")?,
            bumps,
            outlet,
        };
        let mesh = shell.triangles().map_err(|error| error.to_string());
        let mesh = mesh.and_then(|soup| TriangleMesh::new(soup).map_err(|error| error.to_string()));
        mesh.map_err(|error| self.report(ProblemKind::BadValue, &node.path, error))
            .ok()
    }

    fn mesh(&mut self, node: &Node) -> Option<TriangleMesh> {
        let (name, soup) = self.surface(node, "wall")?;
        let mesh = TriangleMesh::new(soup);
        self.usable_surface(node, (&name, "wall"), mesh)
    }

    /// Name and triangles of the file of a mesh, which is used as the surface of something.
    pub(super) fn surface(&mut self, node: &Node, used_as: &str) -> Option<(String, TriangleSoup)> {
        let (name, bytes) = self.read_file(node, "file")?;
        let scale = node.number("scale")?;
        let soup = TriangleSoup::from_bytes(&name, &bytes).map(|mut soup| {
            soup.vertices.iter_mut().for_each(|vertex| *vertex *= scale);
            soup
        });
        let soup = self.usable_surface(node, (&name, used_as), soup)?;
        Some((name, soup))
    }

    /// What was made of the file of a mesh.
    pub(super) fn usable_surface<T, E: Display>(
        &mut self,
        node: &Node,
        (name, used_as): (&str, &str),
        made: Result<T, E>,
    ) -> Option<T> {
        let refuse = |error: E| {
            let message = format!("\"{name}\" cannot be used as a {used_as}: {error}");
            let finding = self
                .finding(ProblemKind::File, &node.at("file"), message)
                .expected("a mesh of triangles (.stl or .obj)");
            self.push(finding);
        };
        made.map_err(refuse).ok()
    }

    /// `Some(Still)` where the wall has no motion, `None` where it is faulty.
    fn motion(&mut self, wall: &Node) -> Option<Motion> {
        let nodes = wall.list("motion");
        let motions: Vec<Option<Motion>> = nodes
            .iter()
            .map(|node| self.one_motion(wall, node))
            .collect();
        let mut motions = motions.into_iter().collect::<Option<Vec<_>>>()?;
        match motions.len() {
            0 => (!self.locations.has(&wall.at("motion"))).then_some(Motion::Still),
            1 => motions.pop(),
            _ => Some(Motion::Together(motions)),
        }
    }

    fn one_motion(&mut self, wall: &Node, node: &Node) -> Option<Motion> {
        let centre = || node.vector("centre").or_else(|| wall.vector("position"));
        let (start, stop) = self.period(node)?;
        let motion = match node.text("type")? {
            "translate" => {
                return Some(Motion::Translate {
                    velocity: node.vector("velocity")?,
                    start,
                    stop,
                });
            }
            "rotate" => {
                let rate = node.number("rate");
                let rate = rate.or_else(|| Some(node.number("rpm")? * TAU / 60.0))?;
                return Some(Motion::Rotate {
                    axis: node.vector("axis")?,
                    centre: centre()?,
                    rate,
                    start,
                    stop,
                });
            }
            "oscillate" => Motion::Oscillate {
                direction: node.vector("direction")?,
                amplitude: node.number("amplitude")?,
                frequency: node.number("frequency")?,
                phase: node.number("phase")?,
            },
            _ => {
                let table = match node.text("file") {
                    Some(_) => self.motion_file(node)?,
                    None => self.motion_rows(node)?,
                };
                Motion::Table {
                    times: table.times,
                    displacements: table.displacements,
                    angles: table.angles,
                    axis: node.vector("axis")?,
                    centre: centre()?,
                }
            }
        };
        if (start, stop) == (0.0, f64::INFINITY) {
            return Some(motion);
        }
        Some(Motion::During {
            motion: Box::new(motion),
            start,
            stop,
        })
    }

    /// When a wall is there.
    fn presence(&mut self, wall: &Node) -> Option<Presence> {
        let from = wall.number("from")?;
        let path = wall.at("until");
        let until = match wall.number("until") {
            Some(until) => until,
            None if self.locations.has(&path) => return None,
            None => f64::INFINITY,
        };
        if until <= from {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &path,
                    format!("the wall vanishes at {until} s, before it appears at {from} s"),
                )
                .expected(format!("a time after {from} s"));
            self.push(finding);
            return None;
        }
        Some(Presence { from, until })
    }

    fn motion_file(&mut self, node: &Node) -> Option<MotionTable> {
        for key in ["displacements", "angles"] {
            if self.locations.has(&node.at(key)) {
                self.report(
                    ProblemKind::Conflict,
                    &node.at(key),
                    format!("`{key}` and `file` exclude one another"),
                );
            }
        }
        let (name, bytes) = self.read_file(node, "file")?;
        match read_motion(&bytes) {
            Ok(table) => Some(table),
            Err(error) => {
                self.report(
                    ProblemKind::File,
                    &node.at("file"),
                    format!("\"{name}\", {error}"),
                );
                None
            }
        }
    }

    fn motion_rows(&mut self, node: &Node) -> Option<MotionTable> {
        let times = node.numbers("times")?;
        if times.len() < 2 {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.at("times"),
                    "a motion table needs at least two times",
                )
                .expected("two or more increasing times");
            self.push(finding);
            return None;
        }
        if let Some(row) = times.windows(2).position(|pair| pair[1] <= pair[0]) {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.at("times"),
                    format!(
                        "`times` does not increase: {} comes after {}",
                        times[row + 1],
                        times[row]
                    ),
                )
                .expected("increasing times");
            self.push(finding);
            return None;
        }
        let displacements = node.vectors("displacements");
        let angles = node.numbers("angles");
        let lengths = [
            ("displacements", displacements.as_ref().map(Vec::len)),
            ("angles", angles.as_ref().map(Vec::len)),
        ];
        for (key, length) in lengths {
            if let Some(length) = length.filter(|length| *length != times.len()) {
                let finding = self
                    .finding(
                        ProblemKind::BadValue,
                        &node.at(key),
                        format!("`{key}` has {length} rows, `times` has {}", times.len()),
                    )
                    .expected("one row per time");
                self.push(finding);
                return None;
            }
        }
        if !["displacements", "angles"]
            .map(|key| self.locations.has(&node.at(key)))
            .contains(&true)
        {
            let finding = self
                .finding(
                    ProblemKind::Missing,
                    &node.at("times"),
                    "the motion table has times but no motion",
                )
                .expected("`displacements` or `angles` beside `times`");
            self.push(finding);
            return None;
        }
        Some(MotionTable {
            displacements: displacements.unwrap_or_else(|| vec![DVec3::ZERO; times.len()]),
            angles: angles.unwrap_or_else(|| vec![0.0; times.len()]),
            times,
        })
    }
}

/// How the shape's frame is turned: local z along the normal or the axis.
fn orientation(node: &Node) -> Option<DQuat> {
    if let Some(direction) = node.vector("normal").or_else(|| node.vector("axis")) {
        return Some(DQuat::from_rotation_arc(DVec3::Z, direction));
    }
    rotation(node)
}

/// The `rotation` of a section; none where it is left out.
pub(super) fn rotation(node: &Node) -> Option<DQuat> {
    let Some(rotation) = node.table("rotation") else {
        return Some(DQuat::IDENTITY);
    };
    let degrees = rotation.number("degrees").map(f64::to_radians);
    let angle = degrees.or_else(|| rotation.number("radians"))?;
    Some(DQuat::from_axis_angle(rotation.vector("axis")?, angle))
}

/// The smallest and the largest of an interval.
fn two_of(node: &Node, key: &str) -> Option<[f64; 2]> {
    let numbers = node.numbers(key)?;
    Some([*numbers.first()?, *numbers.get(1)?])
}
