//! Where grains come from and go to: packings, emitters, sinks.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_geometry::{Pose, Region};
use esker_world::definition::{
    EmitterDef, Orientation, PackingDef, Placement, Rate, SensorDef, ShapeUse, SinkDef,
    SizeDistribution, Total,
};
use glam::{DQuat, DVec3};

use super::Builder;
use super::shapes::Outlines;
use crate::csv::read_grains;
use crate::files::GrainList;
use crate::report::ProblemKind;
use crate::walk::Node;

impl Builder<'_, '_> {
    /// Packings, and the section that each comes from: grains listed one by one
    /// are a packing per material and shape.
    pub(super) fn packings(&mut self, root: &Node) -> (Vec<PackingDef>, Vec<usize>) {
        let (mut packings, mut sections) = (Vec::new(), Vec::new());
        for (section, node) in root.list("grains").iter().enumerate() {
            let found = match node.text("place") {
                Some("csv" | "run") => self.listed_packings(node).unwrap_or_default(),
                _ => self.packing(node).into_iter().collect(),
            };
            sections.extend(std::iter::repeat_n(section, found.len()));
            packings.extend(found);
        }
        (packings, sections)
    }

    fn packing(&mut self, node: &Node) -> Option<PackingDef> {
        let material = self.material_of_grains(node);
        let outlines = self.outlines(node);
        let (shape, sizes) = match outlines {
            Some(outlines) => (outlines.shape, Some(outlines.sizes)),
            None => (None, None),
        };
        let placement = self.placement(node, sizes);
        Some(PackingDef {
            shape,
            material: material?,
            velocity: node.vector("velocity")?,
            placement: placement?,
        })
    }

    fn placement(&mut self, node: &Node, sizes: Option<SizeDistribution>) -> Option<Placement> {
        let place = node.text("place")?;
        let count = node.integer("count").map(|count| count as usize);
        let count_is_faulty = count.is_none() && self.locations.has(&node.at("count"));
        match place {
            "lattice" => {
                let region = self.region(node)?;
                Some(Placement::Lattice {
                    region,
                    spacing: node.number("spacing"),
                    jitter: node.number("jitter")?,
                    count,
                    sizes: sizes?,
                })
            }
            "packing" => {
                let region = self.region(node)?;
                Some(Placement::Packed {
                    region,
                    fraction: node.number("fraction")?,
                    sizes: sizes?,
                })
            }
            _ if count.is_none() => {
                if !count_is_faulty {
                    let finding = self
                        .finding(
                            ProblemKind::Missing,
                            &node.path,
                            format!("`count` is missing in `[[grains]]` with place = \"{place}\""),
                        )
                        .expected("`count`: a whole number, at least 1");
                    self.push(finding);
                }
                None
            }
            "random" => {
                let region = self.region(node)?;
                Some(Placement::Random {
                    region,
                    count: count?,
                    sizes: sizes?,
                })
            }
            _ => Some(Placement::Column {
                base: node.vector("base")?,
                direction: node.vector("direction")?,
                count: count?,
                gap: node.number("gap")?,
                sizes: sizes?,
            }),
        }
    }

    /// Grains listed by a file or an earlier run, one packing per material
    /// and shape.
    fn listed_packings(&mut self, node: &Node) -> Option<Vec<PackingDef>> {
        let list = match node.text("place")? {
            "run" => self.run_grains(node)?,
            _ => self.csv_grains(node)?,
        };
        let velocity = node.vector("velocity")?;
        let is_named = !list.materials.is_empty() && !self.locations.has(&node.at("material"));
        // Grains of one packing share material and shape.
        let mut packings: BTreeMap<_, (Vec<_>, Vec<_>)> = BTreeMap::new();
        for (i, grain) in list.grains.iter().enumerate() {
            let material = match is_named {
                true => Some(*list.material.get(i)?),
                false => None,
            };
            let shape = list.shape.get(i).copied().flatten();
            let packing = (material, shape.map(|shape| shape.index));
            let (grains, orientations) = packings.entry(packing).or_default();
            grains.push(*grain);
            orientations.extend(shape.map(|shape| shape.orientation));
        }
        let first_shape = self.shapes.len();
        self.shapes.extend(list.shapes);
        let mut found = Vec::new();
        for ((material, shape), (grains, orientations)) in packings {
            let material = match material {
                None => self.material_of_grains(node)?,
                Some(material) => {
                    let name = list.materials.get(usize::from(material))?;
                    let material = self.material_named(name, &node.at("file"))?;
                    self.require_density(material);
                    material
                }
            };
            found.push(PackingDef {
                shape: shape.map(|index| ShapeUse {
                    shape: first_shape + index,
                    orientation: Orientation::Listed(Arc::new(orientations)),
                }),
                material,
                velocity,
                placement: Placement::Listed {
                    grains: Arc::new(grains),
                },
            });
        }
        Some(found)
    }

    fn csv_grains(&mut self, node: &Node) -> Option<GrainList> {
        let (name, bytes) = self.read_file(node, "file")?;
        let list = read_grains(&bytes, node.number("diameter"));
        list.map_err(|error| {
            let message = format!("\"{name}\", {error}");
            self.report(ProblemKind::File, &node.at("file"), message);
        })
        .ok()
    }

    /// Grains of an earlier run, as far as they are wanted.
    fn run_grains(&mut self, node: &Node) -> Option<GrainList> {
        let name = node.text("file")?.to_string();
        let at = node.number("at");
        if at.is_none() && self.locations.has(&node.at("at")) {
            return None;
        }
        let within = match node.table("within") {
            Some(table) => Some(self.checked_region(table)?),
            None if self.locations.has(&node.at("within")) => return None,
            None => None,
        };
        let keeps_velocities = node.text("velocities")? == "keep";
        let mut list = match self.files.grains_of_run(&name, at) {
            Ok(list) => list,
            Err(error) => {
                let finding = self
                    .finding(ProblemKind::File, &node.at("file"), error.to_string())
                    .expected(
                        "the folder of a run, a recording (.h5) or a checkpoint (.esker), \
                         relative to the scene file",
                    );
                self.push(finding);
                return None;
            }
        };
        if keeps_velocities && !list.has_velocities {
            let finding = self
                .finding(
                    ProblemKind::File,
                    &node.at("file"),
                    format!("\"{name}\" has no velocities"),
                )
                .advice("say velocities = \"zero\", or take a checkpoint of the run");
            self.push(finding);
            return None;
        }
        if !keeps_velocities {
            for grain in &mut list.grains {
                (grain.velocity, grain.angular_velocity) = (DVec3::ZERO, DVec3::ZERO);
            }
        }
        if let Some(region) = within {
            list.keep(|grain| region.contains(grain.position));
        }
        if list.grains.is_empty() {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.path,
                    format!("no grain of \"{name}\" is there to begin with"),
                )
                .advice("choose another time with `at`, or a larger region with `within`");
            self.push(finding);
            return None;
        }
        Some(list)
    }

    /// Sizes in the scene are diameters, in the world radii.
    pub(super) fn sizes(&mut self, node: &Node) -> Option<SizeDistribution> {
        if let Some(diameter) = node.number("diameter") {
            return Some(SizeDistribution::Fixed {
                radius: diameter / 2.0,
            });
        }
        self.distribution(node.table("sizes")?)
    }

    /// A distribution of diameters.
    pub(super) fn distribution(&mut self, node: &Node) -> Option<SizeDistribution> {
        let by = node.text("by");
        if by.is_some() && node.list("mixture").is_empty() {
            self.report(
                ProblemKind::Conflict,
                &node.at("by"),
                "`by` has a meaning only with `mixture`",
            );
        }
        if let Some(ends) = node.numbers("uniform") {
            return Some(SizeDistribution::Uniform {
                min: ends[0] / 2.0,
                max: ends[1] / 2.0,
            });
        }
        if let Some(normal) = node.table("normal") {
            let (mean, deviation) = (normal.number("mean")?, normal.number("deviation")?);
            let ends = [mean - 3.0 * deviation, mean + 3.0 * deviation];
            let [min, max] = self.cut_offs(normal, mean, ends)?;
            return Some(SizeDistribution::Normal {
                mean: mean / 2.0,
                deviation: deviation / 2.0,
                min: min / 2.0,
                max: max / 2.0,
            });
        }
        if let Some(normal) = node.table("lognormal") {
            let (median, deviation) = (normal.number("median")?, normal.number("deviation")?);
            let spread = (3.0 * deviation).exp();
            let [min, max] = self.cut_offs(normal, median, [median / spread, median * spread])?;
            return Some(SizeDistribution::LogNormal {
                median: median / 2.0,
                deviation,
                min: min / 2.0,
                max: max / 2.0,
            });
        }
        self.mixture(node)
    }

    fn mixture(&mut self, node: &Node) -> Option<SizeDistribution> {
        let parts = node.list("mixture");
        if parts.is_empty() {
            if self.locations.has(&node.at("mixture")) {
                let finding = self
                    .finding(
                        ProblemKind::BadValue,
                        &node.at("mixture"),
                        "the mixture is empty",
                    )
                    .expected("a list of { diameter, share }");
                self.push(finding);
            }
            return None;
        }
        let diameters: Option<Vec<f64>> = parts.iter().map(|p| p.number("diameter")).collect();
        let shares: Option<Vec<f64>> = parts.iter().map(|p| p.number("share")).collect();
        Some(SizeDistribution::Mixture {
            radii: diameters?.into_iter().map(|d| d / 2.0).collect(),
            shares: shares?,
            by_mass: node.text("by") == Some("mass"),
        })
    }

    /// The ends of a cut-off distribution of diameters around its centre.
    fn cut_offs(&mut self, node: &Node, centre: f64, default: [f64; 2]) -> Option<[f64; 2]> {
        let given = ["min", "max"].map(|key| node.number(key));
        let min = given[0].unwrap_or(default[0]);
        let max = given[1].unwrap_or(default[1]);
        let order = min <= centre && centre <= max && max.is_finite();
        if min > 0.0 && order {
            return Some([min, max]);
        }
        let finding = self
            .finding(
                ProblemKind::BadValue,
                &node.path,
                format!("diameters from {min} m to {max} m around {centre} m make no sense"),
            )
            .expected("0 < `min` ≤ the centre ≤ `max`")
            .advice("give `min` and `max`, or a smaller `deviation`");
        self.push(finding);
        None
    }

    pub(super) fn region(&mut self, owner: &Node) -> Option<Region> {
        self.checked_region(owner.table("region")?)
    }

    fn checked_region(&mut self, node: &Node) -> Option<Region> {
        let region = region(node)?;
        let size = region.bounds().size();
        // A flat box is fine as a place for centres (a layer, an emitter's
        // mouth); a region without any extent is not.
        if !size.is_finite() || size.max_element() <= 0.0 {
            let finding = self
                .finding(
                    ProblemKind::BadValue,
                    &node.path,
                    "the region is a single point or infinite",
                )
                .expected("a region with some extent");
            self.push(finding);
            return None;
        }
        Some(region)
    }

    pub(super) fn emitters(&mut self, root: &Node) -> Vec<EmitterDef> {
        let mut names = BTreeMap::new();
        root.list("emitter")
            .iter()
            .filter_map(|node| self.emitter(node, &mut names))
            .collect()
    }

    fn emitter(&mut self, node: &Node, names: &mut BTreeMap<String, String>) -> Option<EmitterDef> {
        let name = self.unique_name(node, names);
        let material = self.material_of_grains(node);
        let region = self.region(node);
        let outlines = self.outlines(node);
        let period = self.period(node);
        let rate = node.table("rate")?;
        let rate = rate
            .number("number")
            .map(Rate::Number)
            .or_else(|| rate.number("mass").map(Rate::Mass))?;
        let total = match node.table("total") {
            None if self.locations.has(&node.at("total")) => return None,
            None => Total::Unlimited,
            Some(total) => total
                .integer("number")
                .map(Total::Number)
                .or_else(|| total.number("mass").map(Total::Mass))?,
        };
        let (start, stop) = period?;
        let Outlines { shape, sizes } = outlines?;
        Some(EmitterDef {
            shape,
            name,
            material: material?,
            region: region?,
            rate,
            sizes,
            velocity: node.vector("velocity")?,
            total,
            start,
            stop,
        })
    }

    pub(super) fn sinks(&mut self, root: &Node) -> Vec<SinkDef> {
        let mut names = BTreeMap::new();
        root.list("sink")
            .iter()
            .filter_map(|node| {
                let name = self.unique_name(node, &mut names);
                let region = self.region(node)?;
                Some(SinkDef { name, region })
            })
            .collect()
    }

    pub(super) fn sensors(&mut self, root: &Node) -> Vec<SensorDef> {
        let mut names = BTreeMap::new();
        let sensors = root.list("sensor").iter().filter_map(|node| {
            let name = self.unique_name(node, &mut names);
            let region = self.region(node)?;
            Some(SensorDef { name, region })
        });
        sensors.collect()
    }
}

fn region(node: &Node) -> Option<Region> {
    if let Some(corners) = node.vectors("box") {
        let &[min, max] = corners.as_slice() else {
            return None;
        };
        return Some(Region::Box {
            half_extents: (max - min) / 2.0,
            pose: Pose::from_position(min.midpoint(max)),
        });
    }
    if let Some(cylinder) = node.table("cylinder") {
        return Some(Region::Cylinder {
            radius: cylinder.number("radius")?,
            length: cylinder.number("length")?,
            pose: Pose::new(
                cylinder.vector("position")?,
                DQuat::from_rotation_arc(DVec3::Z, cylinder.vector("axis")?),
            ),
        });
    }
    let sphere = node.table("sphere")?;
    Some(Region::Sphere {
        radius: sphere.number("radius")?,
        pose: Pose::from_position(sphere.vector("position")?),
    })
}
