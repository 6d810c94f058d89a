//! Joints, gears and drives.

use std::collections::BTreeMap;

use esker_machine::{
    BodyPose, Coordinate, CoordinateLaw, DriveDef, DriveKind, Elasticity, GearDef, JointCoordinate,
    JointDef, JointKind, MachineError, Signal,
};
use esker_world::definition::{BodyDef, WorldDef};
use glam::DVec3;

use super::Builder;
use crate::csv::{ValueTable, read_values};
use crate::format::{COORDINATES, GROUND};
use crate::keys::list_of_words;
use crate::report::ProblemKind;
use crate::suggest::nearest;
use crate::walk::Node;

/// Joints, gears and drives of a scene.
#[derive(Default)]
pub(super) struct MachineParts {
    pub joints: Vec<JointDef>,
    pub gears: Vec<GearDef>,
    pub drives: Vec<DriveDef>,
}

/// Joints that can be driven, by name.
#[derive(Default)]
struct Joints {
    defs: Vec<JointDef>,
    /// Names of joints that are there but faulty, which is reported already.
    faulty: Vec<String>,
}

/// Bodies as joints see them.
struct Bodies<'a> {
    defs: &'a [BodyDef],
    /// Centres of mass and principal axes.
    poses: Vec<BodyPose>,
}

impl Builder<'_, '_> {
    pub(super) fn machines(&mut self, root: &Node, bodies: &[BodyDef]) -> MachineParts {
        // Where bodies are missing, names of bodies say nothing.
        if bodies.len() < root.list("body").len() {
            return MachineParts::default();
        }
        let poses = bodies.iter().map(|body| {
            let centre = body.centre();
            BodyPose {
                position: centre.position,
                orientation: centre.orientation,
            }
        });
        let bodies = Bodies {
            defs: bodies,
            poses: poses.collect(),
        };
        let mut names = BTreeMap::new();
        let is_gear = |node: &&Node| node.text("kind") == Some("gear");
        let nodes = root.list("joint");
        let mut joints = Joints::default();
        for node in nodes.iter().filter(|node| !is_gear(node)) {
            let name = self.unique_name(node, &mut names);
            match self.joint(node, name.clone(), &bodies) {
                Some(joint) => joints.defs.push(joint),
                None => joints.faulty.push(name),
            }
        }
        let (mut gears, mut drives) = (Vec::new(), Vec::new());
        for node in nodes.iter().filter(is_gear) {
            let name = self.unique_name(node, &mut names);
            gears.extend(self.gear(node, name, &joints));
        }
        let mut names = BTreeMap::new();
        for node in root.list("drive") {
            let name = self.unique_name(node, &mut names);
            let duration = root.number("duration");
            drives.extend(self.drive(node, name, &joints, duration));
        }
        MachineParts {
            joints: joints.defs,
            gears,
            drives,
        }
    }

    fn joint(&mut self, node: &Node, name: String, bodies: &Bodies<'_>) -> Option<JointDef> {
        let sides = self.sides(node, bodies.defs);
        let kind = node.text("kind")?;
        let anchor = node.vector("anchor");
        let axis = node.vector("axis").or_else(|| {
            let given = self.locations.has(&node.at("axis"));
            (!given).then_some(DVec3::Z)
        });
        let in_bodies = node.text("frame")? == "body";
        let sides = sides?;
        // From the frame that things of one side are given in to world axes.
        let frame = |side: usize| {
            let body = sides[side].filter(|_| in_bodies);
            body.map_or(esker_geometry::Pose::IDENTITY, |b| bodies.defs[b].pose)
        };
        let (anchor, axis) = (frame(0).to_world(anchor?), frame(0).rotate(axis?));
        let pose = |side: usize| sides[side].map_or(BodyPose::IDENTITY, |b| bodies.poses[b]);
        let given = |key: &str| self.locations.has(&node.at(key));
        let second = match node.vector("second_anchor") {
            Some(local) => frame(1).to_world(local),
            None if given("second_anchor") => return None,
            None => anchor,
        };
        let kind = match kind {
            "fixed" => JointKind::Fixed,
            "revolute" => JointKind::Revolute,
            "prismatic" => JointKind::Prismatic,
            "cylindrical" => JointKind::Cylindrical,
            "ball" => JointKind::Ball,
            "universal" => JointKind::Universal,
            "screw" => JointKind::Screw {
                pitch: self.not_zero(node, "pitch")?,
            },
            _ => JointKind::Distance {
                length: self.length(node, anchor.distance(second))?,
            },
        };
        let mut joint = JointDef::at(name, kind, sides, (anchor, axis), &bodies.poses);
        joint.frames[1].anchor = pose(1).to_local(second);
        if kind == JointKind::Universal {
            let second_axis = frame(1).rotate(node.vector("second_axis")?);
            let inverse = pose(1).orientation.conjugate();
            joint.frames[1].axis = inverse * second_axis;
            joint.frames[1].reference = inverse * second_axis.any_orthogonal_vector();
        }
        joint.linear = self.elasticity(node, "compliance", "damping")?;
        joint.angular = self.elasticity(node, "angular_compliance", "angular_damping")?;
        joint.angle = law(node, "angle_limits", "friction_torque");
        joint.slide = law(node, "slide_limits", "friction_force");
        Some(joint)
    }

    /// The two bodies of a joint.
    fn sides(&mut self, node: &Node, bodies: &[BodyDef]) -> Option<[Option<usize>; 2]> {
        let path = node.at("bodies");
        let names = node.texts("bodies")?;
        let mut found = [None; 2];
        for (side, name) in found.iter_mut().zip(&names) {
            *side = self.body_named(name, &path, bodies)?;
        }
        if found[0] == found[1] {
            let finding = self
                .finding(
                    ProblemKind::Conflict,
                    &path,
                    format!("the joint joins \"{}\" with itself", names[0]),
                )
                .expected("two different bodies, or one and \"ground\"");
            self.push(finding);
            return None;
        }
        Some(found)
    }

    /// A body, or the ground.
    fn body_named(&mut self, name: &str, path: &str, bodies: &[BodyDef]) -> Option<Option<usize>> {
        let found = bodies.iter().position(|body| body.name == name);
        if name == GROUND {
            if let Some(body) = found {
                let finding = self
                    .finding(
                        ProblemKind::Conflict,
                        &format!("body.{body}.name"),
                        "joints call what does not move \"ground\"",
                    )
                    .advice("give the body another name");
                self.push(finding);
                return None;
            }
            return Some(None);
        }
        if found.is_none() {
            let names: Vec<&str> = bodies.iter().map(|body| body.name.as_str()).collect();
            let all: Vec<&str> = names.iter().copied().chain([GROUND]).collect();
            let finding = self
                .finding(
                    ProblemKind::Reference,
                    path,
                    format!("there is no body \"{name}\""),
                )
                .expected(list_of_words(&all, "or"));
            let finding = match nearest(name, all.iter().copied()) {
                Some(near) => finding.advice(format!("did you mean \"{near}\"?")),
                None => finding.advice(format!("add a [[body]] with name = \"{name}\"")),
            };
            self.push(finding);
        }
        found.map(Some)
    }

    /// Length of a distance joint.
    fn length(&mut self, node: &Node, at_start: f64) -> Option<f64> {
        match node.number("length") {
            Some(length) => Some(length),
            None if self.locations.has(&node.at("length")) => None,
            None if at_start > 0.0 => Some(at_start),
            None => {
                let message = "the anchors of a distance joint are at one place";
                let finding = self
                    .finding(ProblemKind::Missing, &node.path, message)
                    .expected("a `second_anchor` that differs from `anchor`, or a `length`");
                self.push(finding);
                None
            }
        }
    }

    fn not_zero(&mut self, node: &Node, key: &str) -> Option<f64> {
        let value = node.number(key)?;
        if value == 0.0 {
            let message = format!("`{key}` is zero");
            let finding = self
                .finding(ProblemKind::BadValue, &node.at(key), message)
                .expected("a number other than zero");
            self.push(finding);
            return None;
        }
        Some(value)
    }

    /// Spring and damper; rigid where no compliance is given.
    fn elasticity(&mut self, node: &Node, key: &str, damping: &str) -> Option<Elasticity> {
        let elasticity = Elasticity {
            compliance: node.number(key).unwrap_or(0.0),
            damping: node.number(damping).unwrap_or(0.0),
        };
        if elasticity.compliance == 0.0 && elasticity.damping > 0.0 {
            let message = format!("`{damping}` of a joint that is rigid");
            let finding = self
                .finding(ProblemKind::Missing, &node.at(damping), message)
                .expected(format!("`{key}` too: the inverse of a stiffness"))
                .advice("for friction in the direction of motion see `friction_force` and `friction_torque`");
            self.push(finding);
            return None;
        }
        Some(elasticity)
    }

    fn gear(&mut self, node: &Node, name: String, joints: &Joints) -> Option<GearDef> {
        let path = node.at("joints");
        let names = node.texts("joints")?;
        let words = self.coordinate_words(node)?;
        let mut coordinates = Vec::new();
        for (side, name) in names.iter().enumerate() {
            let word = words.as_ref().map(|words| words[side].as_str());
            let key = if word.is_some() {
                "coordinates"
            } else {
                "joints"
            };
            coordinates.push(self.coordinate(name, &path, (word, &node.at(key)), joints));
        }
        let ratio = self.not_zero(node, "ratio");
        let coordinates = [coordinates[0]?, coordinates[1]?];
        if coordinates[0] == coordinates[1] {
            let message = "the gear joins a coordinate with itself";
            let finding = self
                .finding(ProblemKind::Conflict, &path, message)
                .expected("coordinates of two joints");
            self.push(finding);
            return None;
        }
        Some(GearDef {
            name,
            coordinates,
            ratio: ratio?,
        })
    }

    /// The words of `coordinates`; the outer `None` where they are faulty.
    fn coordinate_words(&mut self, node: &Node) -> Option<Option<Vec<String>>> {
        let path = node.at("coordinates");
        let Some(words) = node.texts("coordinates") else {
            return (!self.locations.has(&path)).then_some(None);
        };
        let known = |word: &String| COORDINATES.contains(&word.as_str());
        if let Some(word) = words.iter().find(|word| !known(word)) {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &path,
                    format!("\"{word}\" is no coordinate"),
                )
                .expected(list_of_words(COORDINATES, "or"));
            self.push(finding);
            return None;
        }
        Some(Some(words))
    }

    /// A coordinate of a joint: that of this name, or its only one.
    fn coordinate(
        &mut self,
        name: &str,
        path: &str,
        (word, word_path): (Option<&str>, &str),
        joints: &Joints,
    ) -> Option<JointCoordinate> {
        let Some(joint) = joints.defs.iter().position(|joint| joint.name == name) else {
            if joints.faulty.iter().any(|faulty| faulty == name) {
                return None;
            }
            let defs = joints.defs.iter();
            let names: Vec<&str> = defs.map(|joint| joint.name.as_str()).collect();
            let finding = self
                .finding(
                    ProblemKind::Reference,
                    path,
                    format!("there is no joint \"{name}\" that could be driven"),
                )
                .expected(list_of_words(&names, "or"));
            let finding = match nearest(name, names.iter().copied()) {
                Some(near) => finding.advice(format!("did you mean \"{near}\"?")),
                None => finding.advice("gears are no such joints: drive one of theirs"),
            };
            self.push(finding);
            return None;
        };
        let kind = joints.defs[joint].kind;
        let has: Vec<Coordinate> = Coordinate::ALL
            .into_iter()
            .filter(|coordinate| kind.has(*coordinate))
            .collect();
        let wanted = match word {
            Some(word) => has.iter().copied().find(|c| c.name() == word),
            None => has.first().copied().filter(|_| has.len() == 1),
        };
        let Some(coordinate) = wanted else {
            let what = word.map_or_else(
                || match has.len() {
                    0 => format!("a {} joint has no coordinate", kind.name()),
                    _ => format!(
                        "a {} joint has two coordinates, \"angle\" and \"slide\"",
                        kind.name()
                    ),
                },
                |word| format!("a {} joint has no {word}", kind.name()),
            );
            let names: Vec<&str> = has.iter().map(|c| c.name()).collect();
            let finding = self.finding(
                ProblemKind::Reference,
                word_path,
                format!("\"{name}\": {what}"),
            );
            let finding = match names.as_slice() {
                [] => finding.expected(
                    "a joint that turns or slides: revolute, prismatic, cylindrical or screw",
                ),
                names => finding.expected(list_of_words(names, "or")),
            };
            self.push(finding);
            return None;
        };
        Some(JointCoordinate { joint, coordinate })
    }

    fn drive(
        &mut self,
        node: &Node,
        name: String,
        joints: &Joints,
        duration: Option<f64>,
    ) -> Option<DriveDef> {
        let signal = self.signal(node, duration);
        let word = node.text("coordinate");
        if word.is_none() && self.locations.has(&node.at("coordinate")) {
            return None;
        }
        let word_path = node.at(if word.is_some() {
            "coordinate"
        } else {
            "joint"
        });
        let joint = node.text("joint")?;
        let coordinate = self.coordinate(joint, &node.at("joint"), (word, &word_path), joints);
        let kind = match node.text("kind")? {
            "motor" => DriveKind::VelocityMotor,
            "servo" => DriveKind::PositionServo {
                stiffness: node.number("stiffness")?,
                damping: node.number("damping")?,
            },
            "force" => DriveKind::Force,
            _ => DriveKind::DampedForce {
                damping: node.number("damping")?,
            },
        };
        let force_limit = node.number("limit");
        let limit_path = node.at("limit");
        if kind == DriveKind::VelocityMotor && force_limit.is_none() {
            if !self.locations.has(&limit_path) {
                let finding = self
                    .finding(
                        ProblemKind::Missing,
                        &node.path,
                        format!("motor \"{name}\" has no `limit`"),
                    )
                    .expected("`limit`: the largest force, N, or torque, N m, that it has")
                    .advice("without one it would push through whatever cannot move");
                self.push(finding);
            }
            return None;
        }
        if let DriveKind::DampedForce { damping: 0.0 } = kind {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.at("damping"),
                    "`damping` is zero",
                )
                .advice("take kind = \"force\"");
            self.push(finding);
            return None;
        }
        Some(DriveDef {
            name,
            coordinate: coordinate?,
            kind,
            signal: signal?,
            force_limit,
        })
    }

    /// The value of a drive over time.
    fn signal(&mut self, node: &Node, duration: Option<f64>) -> Option<Signal> {
        if let Some(value) = node.number("value") {
            return Some(Signal::Constant(value));
        }
        if let Some(value) = node.number("external") {
            return Some(Signal::External(value));
        }
        if let Some(sine) = node.table("sine") {
            return Some(Signal::Sine {
                mean: sine.number("mean")?,
                amplitude: sine.number("amplitude")?,
                frequency: sine.number("frequency")?,
                phase: sine.number("phase")?,
            });
        }
        self.value_table(node.table("table")?, duration)
    }

    /// Values over time, from the scene or from a file.
    fn value_table(&mut self, rows: &Node, duration: Option<f64>) -> Option<Signal> {
        // Where the table ends, in words and in the scene.
        let (times, values, place, key) = match rows.text("file") {
            Some(name) => {
                let table = self.value_file(rows)?;
                let place = format!("\"{name}\", line {}: ", table.last_line);
                (table.times, table.values, place, "file")
            }
            None => {
                let (times, values) = self.value_rows(rows)?;
                (times, values, String::new(), "times")
            }
        };
        if let (Some(&end), Some(duration)) = (times.last(), duration)
            && end < duration
        {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &rows.at(key),
                    format!(
                        "{place}the table ends at {end} s, before the run does at {duration} s"
                    ),
                )
                .expected(format!("a last time of at least {duration} s"))
                .advice("repeat the last value at the end of the run if the drive is to keep it");
            self.push(finding);
            return None;
        }
        Some(Signal::Table { times, values })
    }

    fn value_file(&mut self, rows: &Node) -> Option<ValueTable> {
        if self.locations.has(&rows.at("values")) {
            self.report(
                ProblemKind::Conflict,
                &rows.at("values"),
                "`values` and `file` exclude one another",
            );
        }
        let (name, bytes) = self.read_file(rows, "file")?;
        match read_values(&bytes) {
            Ok(table) => Some(table),
            Err(error) => {
                self.report(
                    ProblemKind::File,
                    &rows.at("file"),
                    format!("\"{name}\", {error}"),
                );
                None
            }
        }
    }

    fn value_rows(&mut self, rows: &Node) -> Option<(Vec<f64>, Vec<f64>)> {
        let times = rows.numbers("times")?;
        if !self.locations.has(&rows.at("values")) {
            let finding = self
                .finding(
                    ProblemKind::Missing,
                    &rows.at("times"),
                    "the table has times but no values",
                )
                .expected("`values` beside `times`");
            self.push(finding);
        }
        let values = rows.numbers("values")?;
        self.judge_times(rows, &times, values.len())?;
        Some((times, values))
    }

    /// Reports a machine that cannot be built.
    pub(super) fn judge_machines(&mut self, root: &Node, world: &WorldDef) {
        // Others come first: a machine of which parts are missing says nothing.
        if !self.report.is_empty() {
            return;
        }
        let Err(error) = esker_world::check::machines(world) else {
            return;
        };
        let (key, advice) = match &error {
            MachineError::Apart {
                joint,
                distance,
                max_distance,
                ..
            } if distance <= max_distance => {
                let mut joints = world.joints.iter();
                let is_universal =
                    joints.any(|j| j.name == *joint && j.kind == JointKind::Universal);
                match is_universal {
                    true => (
                        "second_axis",
                        "the two axes of a universal joint are at right angles at the start",
                    ),
                    false => (
                        "axis",
                        "axes must align at the start: turn the bodies, or correct the joint",
                    ),
                }
            }
            MachineError::Apart { .. } => (
                "anchor",
                "anchors must meet and axes align at the start: move the bodies, or correct the joint",
            ),
            MachineError::CannotAssemble { .. } => (
                "anchor",
                "joints contradict one another: check lengths and anchors along the loop, or take one of them out",
            ),
            MachineError::OutsideLimits { coordinate, .. } if *coordinate == "angle" => (
                "angle_limits",
                "coordinates are zero where the scene starts: limits must hold zero",
            ),
            MachineError::OutsideLimits { .. } => (
                "slide_limits",
                "coordinates are zero where the scene starts: limits must hold zero",
            ),
            MachineError::NothingToMove { .. } => {
                ("bodies", "unlock one of the bodies, or leave the joint out")
            }
            _ => ("", "correct this part of the machine"),
        };
        let named = |node: &&Node| {
            let name = node.text("name");
            error.part().is_some_and(|part| name == Some(part))
        };
        let nodes = root.list("joint").iter().chain(root.list("drive"));
        let path = nodes
            .filter(named)
            .map(|node| node.at(key))
            .next()
            .unwrap_or_else(|| "joint".to_string());
        let finding = self
            .finding(ProblemKind::Physics, &path, error.to_string())
            .advice(advice);
        self.push(finding);
    }
}

/// Limits and friction of a coordinate.
fn law(node: &Node, limits: &str, friction: &str) -> CoordinateLaw {
    let limits = node.numbers(limits);
    CoordinateLaw {
        limits: limits.map_or(CoordinateLaw::FREE.limits, |ends| [ends[0], ends[1]]),
        friction: node.number(friction).unwrap_or(0.0),
    }
}
