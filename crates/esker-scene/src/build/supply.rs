//! Where grains come from and go to: packings, emitters, sinks.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_geometry::{Pose, Region};
use esker_world::definition::{
    EmitterDef, PackingDef, Placement, Rate, SinkDef, SizeDistribution, Total,
};
use glam::{DQuat, DVec3};

use super::Builder;
use crate::csv::read_grains;
use crate::report::ProblemKind;
use crate::walk::Node;

impl Builder<'_, '_> {
    pub(super) fn packings(&mut self, root: &Node) -> Vec<PackingDef> {
        root.list("grains")
            .iter()
            .filter_map(|node| self.packing(node))
            .collect()
    }

    fn packing(&mut self, node: &Node) -> Option<PackingDef> {
        let material = self.material_of_grains(node);
        let placement = self.placement(node);
        Some(PackingDef {
            material: material?,
            velocity: node.vector("velocity")?,
            placement: placement?,
        })
    }

    fn placement(&mut self, node: &Node) -> Option<Placement> {
        let place = node.text("place")?;
        let count = node.integer("count").map(|count| count as usize);
        let count_is_faulty = count.is_none() && self.locations.has(&node.at("count"));
        if place == "csv" {
            return self.listed(node);
        }
        let sizes = self.sizes(node);
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

    fn listed(&mut self, node: &Node) -> Option<Placement> {
        let (name, bytes) = self.read_file(node, "file")?;
        match read_grains(&bytes, node.number("diameter")) {
            Ok(grains) => Some(Placement::Listed {
                grains: Arc::new(grains),
            }),
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

    /// Sizes in the scene are diameters, in the world radii.
    fn sizes(&mut self, node: &Node) -> Option<SizeDistribution> {
        if let Some(diameter) = node.number("diameter") {
            return Some(SizeDistribution::Fixed {
                radius: diameter / 2.0,
            });
        }
        let node = node.table("sizes")?;
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
        let node = owner.table("region")?;
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
        let sizes = self.sizes(node);
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
        Some(EmitterDef {
            name,
            material: material?,
            region: region?,
            rate,
            sizes: sizes?,
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
