//! A robot as a scene.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use esker_geometry::Pose;
use glam::{DQuat, DVec3};

use crate::robot::{Geometry, Joint, JointType, Link, Mimic, Robot, Shape};

/// What holds the root of a robot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The ground.
    #[default]
    Fixed,
    /// Nothing.
    Floating,
}

/// A scene and what there is to say of it.
#[derive(Clone, Debug)]
pub struct SceneText {
    /// The scene, in TOML.
    pub text: String,
    /// What was left out or assumed.
    pub notes: Vec<String>,
}

/// What moves a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Nothing.
    Ground,
    /// The body of the link with this index.
    Body(usize),
}

/// A robot where its joints stand at the start.
struct Placed<'a> {
    robot: &'a Robot,
    /// Frames of links in the world.
    frames: Vec<Pose>,
    /// What links without mass belong to: their parent.
    owners: Vec<Owner>,
    /// Coordinates of joints.
    coordinates: Vec<f64>,
}

/// Writes a scene with a robot; `mesh_file` gives the name that a mesh file of the description has for
/// the scene.
pub fn write_scene(
    robot: &Robot,
    base: Base,
    mesh_file: &dyn Fn(&str) -> String,
) -> Result<SceneText, String> {
    let placed = place(robot, base)?;
    let mut notes = Vec::new();
    let mut text = String::new();
    placed
        .write(base, mesh_file, &mut text, &mut notes)
        .expect("text can be written to memory");
    Ok(SceneText { text, notes })
}

/// Places links with all joints at zero, or at the limit next to it.
fn place(robot: &Robot, base: Base) -> Result<Placed<'_>, String> {
    let start = |joint: &Joint| {
        let [lower, upper] = joint.limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        0.0_f64.clamp(lower, upper)
    };
    let mut coordinates: Vec<f64> = robot.joints.iter().map(start).collect();
    for (j, joint) in robot.joints.iter().enumerate() {
        if let Some(Mimic {
            joint: other,
            multiplier,
            offset,
        }) = joint.mimic
        {
            coordinates[j] = multiplier * start(&robot.joints[other]) + offset;
        }
    }
    let mut placed = Placed {
        robot,
        frames: vec![Pose::IDENTITY; robot.links.len()],
        owners: vec![Owner::Ground; robot.links.len()],
        coordinates,
    };
    let has_mass = |link: usize| robot.links[link].inertial.is_some();
    if has_mass(robot.root) {
        placed.owners[robot.root] = Owner::Body(robot.root);
    } else if base == Base::Floating {
        return Err(format!(
            "link \"{}\", the root, has no <inertial>: a robot without mass cannot float",
            robot.links[robot.root].name
        ));
    }
    let mut next = vec![robot.root];
    while let Some(parent) = next.pop() {
        for (j, joint) in robot.joints.iter().enumerate() {
            if joint.parent != parent {
                continue;
            }
            let child = joint.child;
            placed.frames[child] = placed.frames[parent] * joint.origin * placed.motion(j);
            placed.owners[child] = if has_mass(child) {
                Owner::Body(child)
            } else if joint.kind == JointType::Fixed {
                placed.owners[parent]
            } else {
                return Err(format!(
                    "link \"{}\", which joint \"{}\" moves, has no <inertial>: give it a mass and an inertia",
                    robot.links[child].name, joint.name
                ));
            };
            next.push(child);
        }
    }
    Ok(placed)
}

impl Placed<'_> {
    /// Motion of a joint's child from where the joint is at zero.
    fn motion(&self, joint: usize) -> Pose {
        let (x, joint) = (self.coordinates[joint], &self.robot.joints[joint]);
        match joint.kind {
            JointType::Revolute => Pose::new(DVec3::ZERO, DQuat::from_axis_angle(joint.axis, x)),
            JointType::Prismatic => Pose::from_position(joint.axis * x),
            JointType::Fixed | JointType::Floating => Pose::IDENTITY,
        }
    }

    /// Name of a body; "ground" is taken.
    fn name(&self, owner: Owner) -> String {
        match owner {
            Owner::Ground => "ground".to_string(),
            Owner::Body(link) => match self.robot.links[link].name.as_str() {
                "ground" => "ground link".to_string(),
                name => name.to_string(),
            },
        }
    }

    fn write(
        &self,
        base: Base,
        mesh_file: &dyn Fn(&str) -> String,
        out: &mut String,
        notes: &mut Vec<String>,
    ) -> fmt::Result {
        let robot = self.robot;
        writeln!(
            out,
            "# The robot {}, from its URDF description.",
            one_line(&robot.name)
        )?;
        writeln!(out, "name = {}", quoted(&robot.name))?;
        writeln!(out, "duration = 5.0\nrecord.every = 0.05\n")?;
        writeln!(out, "[material.robot]\nyoung = 1e9\npoisson = 0.3\n")?;
        writeln!(out, "[[pair]]\nmaterials = [\"*\", \"*\"]\nfriction = 0.5")?;
        for (l, link) in robot.links.iter().enumerate() {
            self.write_body(l, link, mesh_file, out, notes)?;
        }
        if let Owner::Body(root) = self.owners[robot.root]
            && base == Base::Fixed
        {
            let anchor = vector(self.frames[root].position);
            let name = self.free_name("base");
            writeln!(
                out,
                "\n[[joint]]\nname = {}\nkind = \"fixed\"",
                quoted(&name)
            )?;
            let body = quoted(&self.name(Owner::Body(root)));
            writeln!(out, "bodies = [\"ground\", {body}]\nanchor = {anchor}")?;
        }
        for j in 0..robot.joints.len() {
            self.write_joint(j, out, notes)?;
        }
        for j in 0..robot.joints.len() {
            self.write_drives(j, out)?;
        }
        Ok(())
    }

    /// A name that no joint has.
    fn free_name(&self, wanted: &str) -> String {
        let taken: BTreeSet<&str> = self.robot.joints.iter().map(|j| j.name.as_str()).collect();
        let mut name = wanted.to_string();
        while taken.contains(name.as_str()) {
            name.push('_');
        }
        name
    }

    fn write_body(
        &self,
        l: usize,
        link: &Link,
        mesh_file: &dyn Fn(&str) -> String,
        out: &mut String,
        notes: &mut Vec<String>,
    ) -> fmt::Result {
        let owner = self.owners[l];
        if owner == Owner::Ground && !link.shapes.is_empty() {
            notes.push(format!(
                "link {:?} does not move, and its shapes are left out: add them as [[wall]]",
                link.name
            ));
        }
        let (Owner::Body(own), Some(inertial)) = (owner, &link.inertial) else {
            return Ok(());
        };
        let frame = self.frames[l];
        writeln!(out, "\n[[body]]\nname = {}", quoted(&self.name(owner)))?;
        writeln!(out, "position = {}", vector(frame.position))?;
        if let Some(turn) = rotation(frame.orientation) {
            writeln!(out, "rotation = {turn}")?;
        }
        writeln!(out, "mass = {}", number(inertial.mass))?;
        writeln!(out, "centre = {}", vector(inertial.centre))?;
        let i = &inertial.inertia;
        let entries = [
            i.x_axis.x, i.y_axis.y, i.z_axis.z, i.y_axis.x, i.z_axis.x, i.z_axis.y,
        ];
        writeln!(out, "inertia = {}", list(entries))?;
        writeln!(out, "shape = [")?;
        let mut count = 0;
        for (other, part) in self.robot.links.iter().enumerate() {
            if self.owners[other] == Owner::Body(own) {
                for shape in &part.shapes {
                    let place = frame.inverse() * self.frames[other] * shape.origin;
                    writeln!(out, "    {},", shape_text(shape, place, mesh_file))?;
                    count += 1;
                }
            }
        }
        if count == 0 {
            let smallest = entries[..3].iter().copied().fold(f64::INFINITY, f64::min);
            let radius = (2.5 * smallest / inertial.mass).sqrt();
            let (r, centre) = (number(radius), vector(inertial.centre));
            writeln!(out, "    {{ sphere = {r}, position = {centre} }},")?;
            notes.push(format!(
                "link {:?} has no geometry: it is a sphere of radius {radius:.3} m, as its inertia says",
                link.name
            ));
        }
        writeln!(out, "]")
    }

    fn write_joint(&self, j: usize, out: &mut String, notes: &mut Vec<String>) -> fmt::Result {
        let joint = &self.robot.joints[j];
        let sides = [self.owners[joint.parent], self.owners[joint.child]];
        if sides[0] == sides[1] {
            return Ok(());
        }
        let frame = self.frames[joint.child];
        let (kind, coordinate) = match joint.kind {
            JointType::Floating => {
                notes.push(format!(
                    "joint {:?} is floating: its child moves freely",
                    joint.name
                ));
                return Ok(());
            }
            JointType::Fixed => ("fixed", None),
            JointType::Revolute => ("revolute", Some(("angle", "torque"))),
            JointType::Prismatic => ("prismatic", Some(("slide", "force"))),
        };
        writeln!(
            out,
            "\n[[joint]]\nname = {}\nkind = \"{kind}\"",
            quoted(&joint.name)
        )?;
        let [a, b] = sides.map(|side| quoted(&self.name(side)));
        writeln!(
            out,
            "bodies = [{a}, {b}]\nanchor = {}",
            vector(frame.position)
        )?;
        if let Some((coordinate, force)) = coordinate {
            writeln!(out, "axis = {}", vector(frame.rotate(joint.axis)))?;
            if let Some(limits) = joint.limits {
                let from_start = limits.map(|limit| limit - self.coordinates[j]);
                writeln!(out, "{coordinate}_limits = {}", list(from_start))?;
            }
            if joint.friction > 0.0 {
                writeln!(out, "friction_{force} = {}", number(joint.friction))?;
            }
        }
        if let Some(mimic) = joint.mimic {
            let gear = quoted(&self.free_name(&format!("{} gear", joint.name)));
            let (own, other) = (&joint.name, &self.robot.joints[mimic.joint].name);
            writeln!(out, "\n[[joint]]\nname = {gear}\nkind = \"gear\"")?;
            writeln!(out, "joints = [{}, {}]", quoted(own), quoted(other))?;
            writeln!(out, "ratio = {}", number(mimic.multiplier))?;
        }
        Ok(())
    }

    fn write_drives(&self, j: usize, out: &mut String) -> fmt::Result {
        let joint = &self.robot.joints[j];
        if !matches!(joint.kind, JointType::Revolute | JointType::Prismatic) {
            return Ok(());
        }
        let name = |what: &str| quoted(&format!("{} {what}", joint.name));
        let of = quoted(&joint.name);
        if joint.damping > 0.0 {
            let (name, damping) = (name("damper"), number(joint.damping));
            writeln!(out, "\n[[drive]]\nname = {name}\njoint = {of}")?;
            writeln!(
                out,
                "kind = \"damped-force\"\nvalue = 0.0\ndamping = {damping}"
            )?;
        }
        if joint.effort > 0.0 && joint.mimic.is_none() {
            let (name, limit) = (name("motor"), number(joint.effort));
            writeln!(out, "\n[[drive]]\nname = {name}\njoint = {of}")?;
            writeln!(out, "kind = \"motor\"\nvalue = 0.0\nlimit = {limit}")?;
        }
        Ok(())
    }
}

fn shape_text(shape: &Shape, place: Pose, mesh_file: &dyn Fn(&str) -> String) -> String {
    let mut text = match &shape.geometry {
        Geometry::Box(size) => format!("{{ box = {}", vector(*size)),
        Geometry::Sphere(radius) => format!("{{ sphere = {}", number(*radius)),
        Geometry::Cylinder(radius, length) => round("cylinder", *radius, *length),
        Geometry::Capsule(radius, length) => round("capsule", *radius, *length),
        Geometry::Mesh(file, scale) => format!(
            "{{ polyhedron = {{ file = {}, size = {}, hull = true }}",
            quoted(&mesh_file(file)),
            number(*scale)
        ),
    };
    if place.position != DVec3::ZERO {
        text += &format!(", position = {}", vector(place.position));
    }
    if let Some(turn) = rotation(place.orientation) {
        text += &format!(", rotation = {turn}");
    }
    text + " }"
}

fn round(kind: &str, radius: f64, length: f64) -> String {
    let (radius, length) = (number(radius), number(length));
    format!("{{ {kind} = {{ radius = {radius}, length = {length} }}")
}

/// A rotation as scenes have it; none where nothing is turned.
fn rotation(orientation: DQuat) -> Option<String> {
    let turn = orientation.to_scaled_axis();
    let axis = turn.try_normalize()?;
    let radians = number(turn.length());
    Some(format!(
        "{{ axis = {}, radians = {radians} }}",
        vector(axis)
    ))
}

fn vector(v: DVec3) -> String {
    list(v.to_array())
}

/// Numbers that belong together: what is rounding beside the largest is zero.
fn list<const N: usize>(numbers: [f64; N]) -> String {
    let largest = numbers.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let clean = |x: f64| if x.abs() < 1e-14 * largest { 0.0 } else { x };
    format!("[{}]", numbers.map(|x| number(clean(x))).join(", "))
}

/// A number to fifteen digits: what comes after them is rounding.
fn number(x: f64) -> String {
    let rounded: f64 = format!("{x:.14e}").parse().unwrap_or(x);
    format!("{:?}", rounded + 0.0)
}

fn quoted(text: &str) -> String {
    toml::Value::String(one_line(text)).to_string()
}

/// Without line breaks, which names in comments and tables must not have.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
