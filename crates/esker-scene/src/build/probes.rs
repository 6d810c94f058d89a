//! Probes: what is measured while a scene runs.

use std::collections::BTreeMap;

use esker_probe::{Class, DrumSection, Opening, OpeningShape, Path, ProbeDef, Quantity};
use esker_world::definition::WorldDef;
use glam::DVec3;

use super::Builder;
use crate::keys::list_of_words;
use crate::report::ProblemKind;
use crate::suggest::nearest;
use crate::walk::Node;

/// Rows of a probe unless the scene says otherwise.
const ROWS: f64 = 100.0;

/// Component of a unit vector along an axis from which on it goes along it.
const LEAST_ALONG: f64 = 1e-6;

/// What every joint and drive does, over the intervals between frames.
fn machine_probes(root: &Node, world: &WorldDef) -> Vec<ProbeDef> {
    let record = root.table("record");
    let every = record.and_then(|record| record.number("every"));
    let Some(every) = every.or(root.number("duration").map(|d| d / ROWS)) else {
        return Vec::new();
    };
    let probe = |kind: &str, name: &str, quantity| ProbeDef {
        name: format!(
            "{kind} {}",
            name.replace(|c: char| c == '/' || c.is_control(), "-")
        ),
        every,
        quantity,
    };
    let joints = world.joints.iter().enumerate();
    let joints = joints.map(|(joint, def)| probe("joint", &def.name, Quantity::Joint { joint }));
    let drives = world.drives.iter().enumerate();
    let drives = drives.map(|(drive, def)| {
        let at = def.coordinate;
        probe("drive", &def.name, Quantity::Drive { drive, at })
    });
    joints.chain(drives).collect()
}

impl Builder<'_, '_> {
    /// The probes; without a world (something of it is wrong) only what needs
    /// none of it is judged.
    pub(super) fn probes(&mut self, root: &Node, world: Option<&WorldDef>) -> Vec<ProbeDef> {
        let mut names = BTreeMap::new();
        let mut probes = Vec::new();
        for node in root.list("probe") {
            let name = self.unique_name(node, &mut names);
            self.judge_name(node, &name);
            let quantity = self.quantity(node, root, world);
            let duration = root.number("duration").map(|duration| duration / ROWS);
            let every = node.number("every").or(duration);
            if let (Some(quantity), Some(every)) = (quantity, every) {
                probes.push(ProbeDef {
                    name,
                    every,
                    quantity,
                });
            }
        }
        if let Some(world) = world {
            probes.extend(machine_probes(root, world));
        }
        probes
    }

    /// Names of probes are names of tables in the recording.
    fn judge_name(&mut self, node: &Node, name: &str) {
        if name.chars().any(|c| c == '/' || c.is_control()) || name == "." {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.at("name"),
                    format!("`{}` cannot name a table", name.escape_debug()),
                )
                .expected("a name without `/` and control characters");
            self.push(finding);
        }
    }

    fn quantity(&mut self, node: &Node, root: &Node, world: Option<&WorldDef>) -> Option<Quantity> {
        match node.text("measure")? {
            "flow" => self.opening(node).map(Quantity::Flow),
            "bulk" => self.bulk(node),
            "wall" => self.wall_load(node, root),
            "mixing" => self.mixing(node),
            "front" => self.front(node, world?),
            "drum" => {
                let half = 0.5 * node.number("length")?;
                Some(Quantity::Drum {
                    section: DrumSection {
                        centre: node.vector("position")?,
                        axis: node.vector("axis").unwrap_or(DVec3::Y),
                        from_to: [-half, half],
                    },
                })
            }
            _ => self.profile(node, world?),
        }
    }

    fn opening(&mut self, node: &Node) -> Option<Opening> {
        let normal = node.vector("normal")?;
        let shape = match (node.number("radius"), node.numbers("size").as_deref()) {
            (Some(radius), _) => OpeningShape::Disc { radius },
            (None, Some(&[length, width])) if length > 0.0 && width > 0.0 => {
                let along = node.vector("along").unwrap_or(if normal.x.abs() < 0.9 {
                    DVec3::X
                } else {
                    DVec3::Y
                });
                let Some(along) = along.reject_from_normalized(normal).try_normalize() else {
                    self.report(
                        ProblemKind::BadValue,
                        &node.at("along"),
                        "`along` is the normal of the plane, not a direction in it",
                    );
                    return None;
                };
                OpeningShape::Rectangle {
                    size: [length, width],
                    along,
                }
            }
            (None, Some(_)) => {
                let finding = self
                    .finding(
                        ProblemKind::BadValue,
                        &node.at("size"),
                        "`size` is no rectangle",
                    )
                    .expected("two numbers greater than 0, in m");
                self.push(finding);
                return None;
            }
            (None, None) => OpeningShape::Plane,
        };
        Some(Opening {
            position: node.vector("position")?,
            normal,
            shape,
        })
    }

    fn bulk(&mut self, node: &Node) -> Option<Quantity> {
        let path = node.at("region");
        if !self.locations.has(&path) {
            let finding = self
                .finding(
                    ProblemKind::Missing,
                    &node.path,
                    "`region` is missing in `[[probe]]` with measure = \"bulk\"",
                )
                .expected("`region`: the part of space that is measured");
            self.push(finding);
            return None;
        }
        let region = self.region(node)?;
        if region.volume() <= 0.0 {
            let finding = self
                .finding(ProblemKind::BadValue, &path, "the region has no volume")
                .expected("a region with a volume: packing and stress are divided by it");
            self.push(finding);
            return None;
        }
        Some(Quantity::Bulk {
            region,
            samples: node.integer("samples")? as u32,
        })
    }

    fn wall_load(&mut self, node: &Node, root: &Node) -> Option<Quantity> {
        let name = node.text("wall")?;
        // Those of faulty walls too: what refers to them is not at fault.
        let walls = root.list("wall").iter();
        let names: Vec<&str> = walls
            .map(|wall| wall.text("name").unwrap_or(&wall.path))
            .collect();
        if let Some(wall) = names.iter().position(|known| *known == name) {
            return Some(Quantity::Wall { wall });
        }
        let mut finding = self.finding(
            ProblemKind::Reference,
            &node.at("wall"),
            format!("there is no wall \"{name}\""),
        );
        if !names.is_empty() {
            finding = finding.expected(list_of_words(&names, "or"));
        }
        if let Some(near) = nearest(name, names.iter().copied()) {
            finding = finding.advice(format!("did you mean \"{near}\"?"));
        }
        self.push(finding);
        None
    }

    fn mixing(&mut self, node: &Node) -> Option<Quantity> {
        let class = match (node.text("material"), node.number("larger_than")) {
            (Some(name), _) => {
                let name = name.to_owned();
                let material = self.material_named(&name, &node.at("material"))?;
                Class::Material(material as u16)
            }
            (None, diameter) => Class::LargerThan(diameter?),
        };
        let region = match self.locations.has(&node.at("region")) {
            true => Some(self.region(node)?),
            false => None,
        };
        Some(Quantity::Mixing {
            class,
            region,
            cell: node.number("cell")?,
            direction: node.vector("direction"),
        })
    }

    fn front(&mut self, node: &Node, world: &WorldDef) -> Option<Quantity> {
        let path = path(node)?;
        let axes = [DVec3::X, DVec3::Y, DVec3::Z];
        let goes_along = |axis: DVec3| match path {
            Path::Along { direction, .. } => direction.dot(axis).abs() > LEAST_ALONG,
            Path::Around { axis: own, .. } => own.cross(axis).length() > LEAST_ALONG,
        };
        let mut periodic = (0..3).filter(|&k| world.periodic[k].is_some());
        if let Some(axis) = periodic.find(|&k| goes_along(axes[k])) {
            let name = ["x", "y", "z"][axis];
            let key = match path {
                Path::Along { .. } => "direction",
                Path::Around { .. } => "axis",
            };
            let message = format!("the front moves along {name}, where the world is periodic");
            let finding = self
                .finding(ProblemKind::BadValue, &node.at(key), message)
                .expected("distances across the periodic axes: along them there is no farthest");
            self.push(finding);
            return None;
        }
        Some(Quantity::Front {
            path,
            share: node.number("share")?,
        })
    }

    fn profile(&mut self, node: &Node, world: &WorldDef) -> Option<Quantity> {
        let up = (-world.gravity).try_normalize().unwrap_or(DVec3::Z);
        let Some(direction) = node.vector("direction") else {
            if !self.locations.has(&node.at("direction")) {
                let finding = self
                    .finding(
                        ProblemKind::Missing,
                        &node.path,
                        "`direction` is missing in `[[probe]]` with measure = \"profile\"",
                    )
                    .expected("`direction`: where the line goes");
                self.push(finding);
            }
            return None;
        };
        if direction.reject_from_normalized(up).length() < 1e-6 {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.at("direction"),
                    "the line of the profile is upright",
                )
                .expected("a direction across gravity");
            self.push(finding);
            return None;
        }
        let (length, cells) = (node.number("length")?, node.integer("cells")? as u32);
        Some(Quantity::Profile {
            base: node.vector("position")?,
            direction,
            length,
            width: node.number("width").unwrap_or(length / f64::from(cells)),
            cells,
        })
    }
}

fn path(node: &Node) -> Option<Path> {
    let origin = node.vector("position")?;
    Some(match (node.vector("direction"), node.vector("axis")) {
        (Some(direction), _) => Path::Along { origin, direction },
        (None, axis) => Path::Around {
            origin,
            axis: axis?,
        },
    })
}
