//! Turns the typed tree of [`crate::walk`] into a [`WorldDef`].
//!
//! Everything absent from the tree has been reported already, so a function
//! that lacks a value returns `None` and the piece is left out; the scene is
//! refused anyway. What is judged here is what one key alone cannot show:
//! names that refer to one another, files, and shapes.

mod bodies;
mod machines;
mod probes;
mod settings;
mod shapes;
mod supply;
mod walls;

use std::collections::BTreeMap;

use esker_geometry::BodyShape;
use esker_probe::ProbeDef;
use esker_world::definition::{Cohesion, Material, NormalLaw, PairDef, PairLaw, WorldDef};
use glam::DVec3;

use crate::color::parse_color;
use crate::estimate::LONGEST_DEFAULT_STEP;
use crate::files::Files;
use crate::keys::list_of_words;
use crate::report::{Finding, ProblemKind, Report};
use crate::scene::{CheckpointDef, Device, DevicePrecision, RecordDef, RunDef};
use crate::suggest::nearest;
use crate::walk::{Locations, Node};

/// Density of a material that has none: walls are never weighed.
const DENSITY_OF_WALLS: f64 = 1.0;
/// Surface tension of water at room temperature, N/m: what a liquid bridge has
/// where the scene does not say.
const WATER_SURFACE_TENSION: f64 = 0.072;

/// Accuracies that can be kept, in diameters.
const LEAST_ACCURACY: f64 = 1e-4;
const GREATEST_ACCURACY: f64 = 0.2;

/// What stands for any material in a `[[pair]]`.
const ANY_MATERIAL: &str = "*";

/// The pairs that a `[[pair]]` covers: two materials, `None` for any, which
/// comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Covered([Option<usize>; 2]);

impl Covered {
    fn new(a: Option<usize>, b: Option<usize>) -> Self {
        let key = |m: &Option<usize>| m.unwrap_or(usize::MAX);
        let mut materials = [a, b];
        materials.sort_unstable_by_key(key);
        Covered(materials)
    }

    fn covers(self, [a, b]: [usize; 2]) -> bool {
        let fits = |m: Option<usize>, material: usize| m.is_none_or(|m| m == material);
        let [m, n] = self.0;
        (fits(m, a) && fits(n, b)) || (fits(m, b) && fits(n, a))
    }

    /// How many materials it names.
    fn names(self) -> usize {
        self.0.iter().flatten().count()
    }
}

/// All parts of a scene but its name.
pub(crate) struct Parts {
    pub world: WorldDef,
    pub run: RunDef,
    pub material_colors: Vec<Option<[u8; 3]>>,
    pub probes: Vec<ProbeDef>,
    pub record: RecordDef,
    pub checkpoint: CheckpointDef,
    /// The section `grains.N` that each packing comes from.
    pub packing_sections: Vec<usize>,
}

/// Builds all parts; `None` only where something was reported.
pub(crate) fn build(
    root: &Node,
    locations: &Locations,
    files: &dyn Files,
    report: &mut Report<'_>,
) -> Option<Parts> {
    let mut builder = Builder {
        report,
        locations,
        files,
        materials: Vec::new(),
        has_density: Vec::new(),
        packing_sections: Vec::new(),
        shapes: Vec::new(),
    };
    let world = builder.world(root);
    let material_colors = builder.material_colors(root);
    let probes = builder.probes(root, world.as_ref());
    let packing_sections = builder.packing_sections;
    let record = settings::record(root);
    let checkpoint = settings::checkpoint(root);
    Some(Parts {
        world: world?,
        run: RunDef {
            duration: root.number("duration")?,
            device: root
                .text("device")
                .map_or(Some(Device::Cpu), Device::named)?,
            precision: DevicePrecision::named(root.text("precision")?)?,
        },
        material_colors,
        probes,
        record: record?,
        checkpoint: checkpoint?,
        packing_sections,
    })
}

struct Builder<'a, 't> {
    report: &'a mut Report<'t>,
    locations: &'a Locations,
    files: &'a dyn Files,
    materials: Vec<Material>,
    /// Whether the scene gives a density, per material.
    has_density: Vec<bool>,
    packing_sections: Vec<usize>,
    /// Shapes of grains that are no spheres, as they are found.
    shapes: Vec<BodyShape>,
}

impl Builder<'_, '_> {
    fn world(&mut self, root: &Node) -> Option<WorldDef> {
        self.read_materials(root);
        let pairs = self.pairs(root);
        let mut names = BTreeMap::new();
        let walls = self.walls(root, &mut names);
        let bodies = self.bodies(root, &mut names);
        let machines = self.machines(root, &bodies);
        let (packings, sections) = self.packings(root);
        self.packing_sections = sections;
        let emitters = self.emitters(root);
        let sinks = self.sinks(root);
        let sensors = self.sensors(root);
        let periodic = self.periodic(root);
        let bounds = self.bounds(root);
        let accuracy = self.accuracy(root);
        let world = WorldDef {
            shapes: std::mem::take(&mut self.shapes),
            gravity: root.vector("gravity")?,
            step: match root.number("step") {
                Some(step) => step,
                None if self.locations.has("step") => return None,
                // Chosen when everything else is known.
                None => LONGEST_DEFAULT_STEP,
            },
            method: settings::method(root.table("solver")?, accuracy.is_some())?,
            accuracy,
            longest_step: None,
            contact: settings::contact(root.table("contact")?)?,
            rotation: root.boolean("rotation")?,
            seed: root.integer("seed")?,
            materials: self.materials.clone(),
            pairs,
            walls,
            bodies,
            joints: machines.joints,
            gears: machines.gears,
            drives: machines.drives,
            packings,
            emitters,
            sinks,
            periodic,
            bounds,
            energy_ledger: root.table("record")?.boolean("energy")?,
            reduction: settings::reduction(root),
            sensors,
        };
        self.judge_machines(root, &world);
        Some(world)
    }

    /// The accuracy to keep, in diameters, from text such as `1%`.
    fn accuracy(&mut self, root: &Node) -> Option<f64> {
        let text = root.text("tolerance")?;
        let percent = text.trim().strip_suffix('%').map(str::trim);
        let share = percent
            .and_then(|p| p.parse::<f64>().ok())
            .map(|p| 0.01 * p);
        let fits = share.filter(|s| (LEAST_ACCURACY..=GREATEST_ACCURACY).contains(s));
        if fits.is_none() {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    "tolerance",
                    format!("`{text}` is no accuracy that can be kept"),
                )
                .expected("a percentage of a grain diameter from \"0.01%\" to \"20%\"")
                .advice("write for example tolerance = \"1%\"");
            self.push(finding);
        }
        fits
    }

    fn report(&mut self, kind: ProblemKind, path: &str, message: impl Into<String>) {
        self.push(self.finding(kind, path, message));
    }

    fn finding(&self, kind: ProblemKind, path: &str, message: impl Into<String>) -> Finding {
        Finding::new(kind, self.locations.find(path), message)
    }

    fn push(&mut self, finding: Finding) {
        self.report.push(finding);
    }

    fn read_materials(&mut self, root: &Node) {
        let materials = root.named("material");
        if materials.is_empty() && self.locations.has("material") {
            self.report(
                ProblemKind::Missing,
                "material",
                "the scene has no material",
            );
        }
        for (name, node) in materials {
            // A material with a faulty number is kept: what refers to it is not at fault.
            self.materials.push(Material {
                name: name.clone(),
                density: node.number("density").unwrap_or(DENSITY_OF_WALLS),
                young: node.number("young").unwrap_or(1.0),
                poisson: node.number("poisson").unwrap_or(0.0),
            });
            self.has_density
                .push(self.locations.has(&node.at("density")));
        }
    }

    fn material_colors(&mut self, root: &Node) -> Vec<Option<[u8; 3]>> {
        let mut colors = Vec::new();
        for (_, node) in root.named("material") {
            let read = node.text("color").map(parse_color).transpose();
            colors.push(read.unwrap_or_else(|wanted| {
                self.report(ProblemKind::BadValue, &node.at("color"), wanted);
                None
            }));
        }
        colors
    }

    fn material_named(&mut self, name: &str, path: &str) -> Option<usize> {
        let found = self.materials.iter().position(|m| m.name == name);
        if found.is_none() {
            let names: Vec<&str> = self.materials.iter().map(|m| m.name.as_str()).collect();
            let mut finding = self
                .finding(
                    ProblemKind::Reference,
                    path,
                    format!("there is no material \"{name}\""),
                )
                .expected(list_of_words(&names, "or"));
            finding = match nearest(name, names.iter().copied()) {
                Some(near) => finding.advice(format!("did you mean \"{near}\"?")),
                None => finding.advice(format!("add a section [material.{name}]")),
            };
            self.push(finding);
        }
        found
    }

    /// The material of a wall, packing or emitter.
    fn material_of(&mut self, node: &Node) -> Option<usize> {
        let path = node.at("material");
        match node.text("material") {
            Some(name) => self.material_named(name, &path),
            // Given but faulty: reported by the walk.
            None if self.locations.has(&path) => None,
            None if self.materials.len() == 1 => Some(0),
            None => {
                let names: Vec<&str> = self.materials.iter().map(|m| m.name.as_str()).collect();
                let finding = self
                    .finding(ProblemKind::Missing, &node.path, "`material` is missing")
                    .expected(format!("one of {}", list_of_words(&names, "or")))
                    .advice("it may be left out only where the scene has just one material");
                self.push(finding);
                None
            }
        }
    }

    /// The material of grains, which need a density.
    fn material_of_grains(&mut self, node: &Node) -> Option<usize> {
        let material = self.material_of(node)?;
        self.require_density(material);
        Some(material)
    }

    /// Reports, once, a material of grains that has no density.
    fn require_density(&mut self, material: usize) {
        if !self.has_density[material] {
            let name = self.materials[material].name.clone();
            let finding = self
                .finding(
                    ProblemKind::Missing,
                    &format!("material.{name}"),
                    format!("grains or bodies are made of \"{name}\", which has no `density`"),
                )
                .expected("`density`: a number greater than 0, in kg/m³");
            self.push(finding);
            self.has_density[material] = true;
        }
    }

    /// The laws of all pairs that the scene names, wildcards resolved.
    fn pairs(&mut self, root: &Node) -> Vec<PairDef> {
        let mut seen: BTreeMap<Covered, String> = BTreeMap::new();
        let mut laws: Vec<(Covered, PairLaw)> = Vec::new();
        for node in root.list("pair") {
            let Some((covered, law)) = self.pair(node) else {
                continue;
            };
            if let Some(first) = seen.get(&covered) {
                let finding = self
                    .finding(
                        ProblemKind::Conflict,
                        &node.at("materials"),
                        format!("this pair has a law already, at `{first}`"),
                    )
                    .advice("keep one [[pair]] for these two materials");
                self.push(finding);
            } else {
                seen.insert(covered, node.path.clone());
                laws.push((covered, law));
            }
        }
        self.check_ambiguous_pairs(&seen);
        let count = self.materials.len();
        let pairs = (0..count).flat_map(|a| (a..count).map(move |b| [a, b]));
        pairs
            .filter_map(|materials| {
                let covering = laws.iter().filter(|(c, _)| c.covers(materials));
                let (_, law) = covering.max_by_key(|(c, _)| c.names())?;
                Some(PairDef {
                    materials,
                    law: *law,
                })
            })
            .collect()
    }

    /// `["a", "*"]` and `["b", "*"]` both cover a and b: their own pair must
    /// say which law holds, unless it has one.
    fn check_ambiguous_pairs(&mut self, seen: &BTreeMap<Covered, String>) {
        let single = |c: &Covered| match c.0 {
            [Some(a), None] => Some(a),
            _ => None,
        };
        let singles: Vec<(usize, &String)> = seen
            .iter()
            .filter_map(|(c, path)| Some((single(c)?, path)))
            .collect();
        for (k, (a, first)) in singles.iter().enumerate() {
            for (b, second) in &singles[k + 1..] {
                if seen.contains_key(&Covered::new(Some(*a), Some(*b))) {
                    continue;
                }
                let [a, b] = [*a, *b].map(|m| self.materials[m].name.clone());
                let finding = self
                    .finding(
                        ProblemKind::Conflict,
                        &format!("{second}.materials"),
                        format!(
                            "\"{a}\" and \"{b}\" are covered by two laws, here and at `{first}`"
                        ),
                    )
                    .advice(format!(
                        "add a [[pair]] with materials = [\"{a}\", \"{b}\"]"
                    ));
                self.push(finding);
            }
        }
    }

    fn pair(&mut self, node: &Node) -> Option<(Covered, PairLaw)> {
        let path = node.at("materials");
        let names = node.texts("materials")?;
        let mut material = |name: &String| match name.as_str() {
            ANY_MATERIAL => Some(None),
            name => self.material_named(name, &path).map(Some),
        };
        let indices: Vec<Option<Option<usize>>> = names.iter().map(&mut material).collect();
        let &[Some(a), Some(b)] = indices.as_slice() else {
            return None;
        };
        let normal = match node.text("law")? {
            "linear" => NormalLaw::Linear {
                stiffness: node.number("stiffness")?,
            },
            _ => NormalLaw::Hertz,
        };
        let law = PairLaw {
            normal,
            friction: node.number("friction")?,
            rolling: node.number("rolling")?,
            twisting: node.number("twisting")?,
            rolling_of_shapes: node.boolean("rolling_of_shapes")?,
            restitution: node.number("restitution")?,
            damping: node.number("damping")?,
            cohesion: match node.table("cohesion") {
                Some(node) => self.cohesion(node)?,
                None => Cohesion::None,
            },
        };
        Some((Covered::new(a, b), law))
    }

    fn cohesion(&mut self, node: &Node) -> Option<Cohesion> {
        if let Some(volume) = node.number("liquid") {
            return Some(Cohesion::Liquid {
                volume,
                surface_tension: node
                    .number("surface_tension")
                    .unwrap_or(WATER_SURFACE_TENSION),
                contact_angle: node.number("contact_angle").unwrap_or(0.0).to_radians(),
            });
        }
        for key in ["surface_tension", "contact_angle"] {
            if node.number(key).is_some() {
                self.report(
                    ProblemKind::Conflict,
                    &node.at(key),
                    format!("`{key}` has a meaning only with `liquid`"),
                );
            }
        }
        let force = node.number("force").map(Cohesion::Force);
        force.or_else(|| node.number("energy").map(Cohesion::Energy))
    }

    fn periodic(&mut self, root: &Node) -> [Option<[f64; 2]>; 3] {
        let Some(node) = root.table("periodic") else {
            return [None; 3];
        };
        ["x", "y", "z"].map(|axis| {
            let ends = node.numbers(axis)?;
            Some([ends[0], ends[1]])
        })
    }

    fn bounds(&mut self, root: &Node) -> Option<[DVec3; 2]> {
        let node = root.table("bounds")?;
        let (min, max) = (node.vector("min")?, node.vector("max")?);
        if !max.cmpgt(min).all() {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.at("max"),
                    "`bounds` is no box: `max` is not above `min` in every direction",
                )
                .expected("each number of `max` greater than that of `min`");
            self.push(finding);
            return None;
        }
        Some([min, max])
    }

    /// The name of a wall, emitter, sink or probe; its path where it has none.
    fn unique_name(&mut self, node: &Node, seen: &mut BTreeMap<String, String>) -> String {
        let name = node.text("name").unwrap_or(&node.path).to_string();
        if let Some(first) = seen.get(&name) {
            let finding = self
                .finding(
                    ProblemKind::Conflict,
                    &node.at("name"),
                    format!("the name \"{name}\" is taken already, by `{first}`"),
                )
                .advice("names must be unique among walls and bodies, among joints, among drives, among emitters, among sinks, among sensors and among probes");
            self.push(finding);
        } else {
            seen.insert(name.clone(), node.path.clone());
        }
        name
    }

    /// The start and end of something that acts for a time.
    fn period(&mut self, node: &Node) -> Option<(f64, f64)> {
        let start = node.number("start")?;
        let path = node.at("stop");
        let stop = match node.number("stop") {
            Some(stop) => stop,
            None if self.locations.has(&path) => return None,
            None => f64::INFINITY,
        };
        if stop <= start {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &path,
                    format!("`stop` = {stop} s does not come after `start` = {start} s"),
                )
                .expected(format!("a time after {start} s"));
            self.push(finding);
            return None;
        }
        Some((start, stop))
    }

    /// The content of a file that a key names.
    fn read_file(&mut self, node: &Node, key: &str) -> Option<(String, Vec<u8>)> {
        let name = node.text(key)?.to_string();
        match self.files.read(&name) {
            Ok(bytes) => Some((name, bytes)),
            Err(error) => {
                let finding = self
                    .finding(
                        ProblemKind::File,
                        &node.at(key),
                        format!("cannot read \"{name}\": {error}"),
                    )
                    .expected("the path of a file, relative to the scene file");
                self.push(finding);
                None
            }
        }
    }
}
