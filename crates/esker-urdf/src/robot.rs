//! A robot: links that joints connect to a tree.

use std::collections::HashMap;

use esker_geometry::Pose;
use glam::{DMat3, DVec3};
use roxmltree::Document;

use crate::error::UrdfError;
use crate::xml::{Element, at};

/// A robot.
#[derive(Clone, Debug)]
pub struct Robot {
    /// Its name.
    pub name: String,
    /// Its links, as listed.
    pub links: Vec<Link>,
    /// Its joints, as listed.
    pub joints: Vec<Joint>,
    /// Index of the link that is no joint's child.
    pub root: usize,
}

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Mass and inertia; a link without is a frame only.
    pub inertial: Option<Inertial>,
    /// What touches, in the frame of the link: its collision geometry or, where it has none, what is seen.
    pub shapes: Vec<Shape>,
}

/// Mass and inertia of a link, in its frame.
#[derive(Clone, Copy, Debug)]
pub struct Inertial {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass, m.
    pub centre: DVec3,
    /// Inertia about the centre of mass, kg m².
    pub inertia: DMat3,
}

/// A shape of a link.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Where it is in the link's frame.
    pub origin: Pose,
    /// What it is.
    pub geometry: Geometry,
}

/// Geometry of a shape, about its own origin; cylinders along z.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// By its edges, m.
    Box(DVec3),
    /// Radius and length, m.
    Cylinder(f64, f64),
    /// Radius and length of the straight part, m.
    Capsule(f64, f64),
    /// Radius, m.
    Sphere(f64),
    /// A mesh file as the description names it, and the factor on its coordinates.
    Mesh(String, f64),
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// What it lets the child do.
    pub kind: JointType,
    /// Index of the link that carries it.
    pub parent: usize,
    /// Index of the link that it carries.
    pub child: usize,
    /// Frame of the child in that of the parent where the joint is at zero.
    pub origin: Pose,
    /// Unit axis in the frame of the child.
    pub axis: DVec3,
    /// Smallest and largest coordinate, rad or m.
    pub limits: Option<[f64; 2]>,
    /// Largest force or torque of its motor, N or N m; zero where it has none.
    pub effort: f64,
    /// Viscous damping, N s/m or N m s/rad.
    pub damping: f64,
    /// Dry friction, N or N m.
    pub friction: f64,
    /// The joint that it follows.
    pub mimic: Option<Mimic>,
}

/// What a joint lets its child do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointType {
    /// Nothing.
    Fixed,
    /// Rotate about the axis.
    Revolute,
    /// Slide along the axis.
    Prismatic,
    /// Everything.
    Floating,
}

/// A joint that follows another: `multiplier x + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimic {
    /// Index of the other.
    pub joint: usize,
    /// Factor.
    pub multiplier: f64,
    /// Offset, rad or m.
    pub offset: f64,
}

/// Reads a description.
pub fn read(text: &str) -> Result<Robot, UrdfError> {
    let document = Document::parse(text)
        .map_err(|error| at(error.pos(), format!("not valid XML: {error}")))?;
    let robot = Element(document.root_element());
    let tag = robot.0.tag_name().name();
    if tag != "robot" {
        let error = robot.error(format!("the document is a <{tag}>, not a <robot>"));
        return Err(error.advice("give a URDF file; expand xacro files first"));
    }
    let links = named(robot, "link")?;
    let joints = named(robot, "joint")?;
    if links.is_empty() {
        return Err(robot.error("the robot has no <link>"));
    }
    let index = |list: &[(String, Element<'_, '_>)]| -> HashMap<String, usize> {
        let names = list.iter().enumerate();
        names.map(|(i, (name, _))| (name.clone(), i)).collect()
    };
    let (of_link, of_joint) = (index(&links), index(&joints));
    let read_link = |(name, element): &(String, Element<'_, '_>)| link(name.clone(), *element);
    let read_joint = |(name, element): &(String, Element<'_, '_>)| {
        joint(name.clone(), *element, &of_link, &of_joint)
    };
    let all_joints: Vec<Joint> = joints.iter().map(read_joint).collect::<Result<_, _>>()?;
    let mut carried: Vec<Option<usize>> = vec![None; links.len()];
    for (j, joint) in all_joints.iter().enumerate() {
        if let Some(first) = carried[joint.child].replace(j) {
            let error = joints[j].1.error(format!(
                "link \"{}\" is carried by joint \"{}\" already",
                links[joint.child].0, all_joints[first].name
            ));
            return Err(error.advice("a link has one parent: URDF has no closed loops"));
        }
    }
    let mut roots = (0..links.len()).filter(|&l| carried[l].is_none());
    let Some(root) = roots.next() else {
        return Err(robot.error("the joints form a ring: no link is the root"));
    };
    if let Some(other) = roots.next() {
        let (name, element) = &links[other];
        let error = element.error(format!(
            "no joint carries link \"{name}\", nor \"{}\"",
            links[root].0
        ));
        return Err(error.advice("connect all links by joints to one tree"));
    }
    for (l, (name, element)) in links.iter().enumerate() {
        let mut at = l;
        let steps = (0..=links.len()).find(|_| match carried[at] {
            Some(joint) => {
                at = all_joints[joint].parent;
                false
            }
            None => true,
        });
        if steps.is_none() {
            return Err(element.error(format!("link \"{name}\" is carried by itself, in a ring")));
        }
    }
    Ok(Robot {
        name: robot.0.attribute("name").unwrap_or("robot").to_string(),
        links: links.iter().map(read_link).collect::<Result<_, _>>()?,
        joints: all_joints,
        root,
    })
}

/// Elements of a kind with their names, which differ.
fn named<'a, 'd>(
    robot: Element<'a, 'd>,
    tag: &'static str,
) -> Result<Vec<(String, Element<'a, 'd>)>, UrdfError> {
    let mut list: Vec<(String, Element<'a, 'd>)> = Vec::new();
    for element in robot.all(tag) {
        let name = element.text("name")?;
        if list.iter().any(|(known, _)| known == name) {
            return Err(element.error(format!("there are two <{tag}> with the name \"{name}\"")));
        }
        list.push((name.to_string(), element));
    }
    Ok(list)
}

fn link(name: String, element: Element<'_, '_>) -> Result<Link, UrdfError> {
    let shapes_of = |tag: &'static str| -> Result<Vec<Shape>, UrdfError> {
        element.all(tag).map(shape).collect()
    };
    let collision = shapes_of("collision")?;
    Ok(Link {
        name,
        inertial: element.first("inertial").map(inertial).transpose()?,
        shapes: if collision.is_empty() {
            shapes_of("visual")?
        } else {
            collision
        },
    })
}

fn inertial(element: Element<'_, '_>) -> Result<Inertial, UrdfError> {
    let origin = element.origin()?;
    let tensor = element.child("inertia")?;
    let [xx, yy, zz] = [
        tensor.positive("ixx")?,
        tensor.positive("iyy")?,
        tensor.positive("izz")?,
    ];
    let [xy, xz, yz] = [
        tensor.number_or("ixy", 0.0)?,
        tensor.number_or("ixz", 0.0)?,
        tensor.number_or("iyz", 0.0)?,
    ];
    let own = DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz]);
    let turn = DMat3::from_quat(origin.orientation);
    Ok(Inertial {
        mass: element.child("mass")?.positive("value")?,
        centre: origin.position,
        inertia: turn * own * turn.transpose(),
    })
}

fn shape(element: Element<'_, '_>) -> Result<Shape, UrdfError> {
    let geometry = element.child("geometry")?;
    let mut kinds = geometry.0.children().filter(|node| node.is_element());
    let Some(kind) = kinds.next().map(Element) else {
        return Err(geometry.error("<geometry> is empty"));
    };
    let geometry = match kind.0.tag_name().name() {
        "box" => {
            let size = kind.vector_or("size", DVec3::ZERO)?;
            if size.min_element() <= 0.0 {
                return Err(kind.error("the `size` of a <box> must be three positive numbers"));
            }
            Geometry::Box(size)
        }
        "cylinder" => Geometry::Cylinder(kind.positive("radius")?, kind.positive("length")?),
        "capsule" => Geometry::Capsule(kind.positive("radius")?, kind.positive("length")?),
        "sphere" => Geometry::Sphere(kind.positive("radius")?),
        "mesh" => {
            let scale = kind.vector_or("scale", DVec3::ONE)?;
            if !(scale.x > 0.0 && scale == DVec3::splat(scale.x)) {
                let error = kind.error(format!("the `scale` of a mesh is {scale}"));
                return Err(
                    error.advice("only one positive factor for all axes is known: scale the file")
                );
            }
            Geometry::Mesh(kind.text("filename")?.to_string(), scale.x)
        }
        other => {
            let error = kind.error(format!("<{other}> is no geometry that is known"));
            return Err(error.advice("there are box, cylinder, capsule, sphere and mesh"));
        }
    };
    Ok(Shape {
        origin: element.origin()?,
        geometry,
    })
}

fn joint(
    name: String,
    element: Element<'_, '_>,
    links: &HashMap<String, usize>,
    joints: &HashMap<String, usize>,
) -> Result<Joint, UrdfError> {
    let end = |tag: &'static str| {
        let end = element.child(tag)?;
        let link = end.text("link")?;
        let missing = || end.error(format!("there is no link \"{link}\""));
        links.get(link).copied().ok_or_else(missing)
    };
    let word = element.text("type")?;
    let kind = match word {
        "fixed" => JointType::Fixed,
        "revolute" | "continuous" => JointType::Revolute,
        "prismatic" => JointType::Prismatic,
        "floating" => JointType::Floating,
        other => {
            let error = element.error(format!("joints of type \"{other}\" are not known"));
            return Err(error.advice(
                "there are fixed, revolute, continuous, prismatic and floating; a planar joint is two prismatic ones and a revolute one",
            ));
        }
    };
    let moves = matches!(kind, JointType::Revolute | JointType::Prismatic);
    let axis = match element.first("axis").filter(|_| moves) {
        None => DVec3::X,
        Some(axis) => {
            let direction = axis.vector_or("xyz", DVec3::X)?;
            direction
                .try_normalize()
                .ok_or_else(|| axis.error(format!("the axis of joint \"{name}\" has no length")))?
        }
    };
    let limit = element.first("limit").filter(|_| moves);
    let limits = match limit {
        Some(limit) if word != "continuous" => {
            let [lower, upper] = [
                limit.number_or("lower", 0.0)?,
                limit.number_or("upper", 0.0)?,
            ];
            if lower > upper {
                let message = format!("the lower limit {lower} is above the upper {upper}");
                return Err(limit.error(message));
            }
            Some([lower, upper])
        }
        None if moves && word != "continuous" => {
            let error = element.error(format!("joint \"{name}\" has no <limit>"));
            return Err(error
                .advice("a revolute or prismatic joint must have one; \"continuous\" has none"));
        }
        _ => None,
    };
    let dynamics = |key: &str| {
        let dynamics = element.first("dynamics").filter(|_| moves);
        let value = dynamics.map_or(Ok(0.0), |d| d.number_or(key, 0.0))?;
        if value < 0.0 {
            return Err(element.error(format!("`{key}` of joint \"{name}\" is negative")));
        }
        Ok(value)
    };
    let mimic = element.first("mimic").map(|mimic| {
        let other = mimic.text("joint")?;
        let missing = || mimic.error(format!("there is no other joint \"{other}\" to follow"));
        let joint = joints
            .get(other)
            .filter(|_| other != name)
            .ok_or_else(missing)?;
        Ok(Mimic {
            joint: *joint,
            multiplier: mimic.number_or("multiplier", 1.0)?,
            offset: mimic.number_or("offset", 0.0)?,
        })
    });
    Ok(Joint {
        kind,
        parent: end("parent")?,
        child: end("child")?,
        origin: element.origin()?,
        axis,
        limits,
        effort: limit
            .map_or(Ok(0.0), |limit| limit.number_or("effort", 0.0))?
            .max(0.0),
        damping: dynamics("damping")?,
        friction: dynamics("friction")?,
        mimic: mimic.transpose()?,
        name,
    })
}
