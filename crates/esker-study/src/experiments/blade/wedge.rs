//! The passive wedge of soil mechanics.
//!
//! A wedge of depth `d` in front of a vertical plate of width `w`, which slides up a plane at the
//! angle `β`, and two quarter cones at its sides need (McKyes and Ali 1977)
//!
//! ```text
//! H = γ d r (w/2 + r/3) / (cot(β + φ) − tan δ),     r = d cot β,                  (1)
//! ```
//!
//! with the bulk weight `γ`, the friction angle `φ` of the bed, the friction angle `δ` between
//! bed and plate, and the `β` that makes `H` smallest. None of it is fitted: `γ` and `d` are those
//! of the settled bed, and `φ` comes from triaxial tests of such grains: a plate shears ever new
//! parts of a dense bed, whose angles go from the peak to that of the critical state.

use esker_analysis::packing::slab_fraction;
use esker_world::World;
use esker_world::definition::WorldDef;
use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::trench::{HALF_THICKNESS, Trench};
use crate::bench::{self, Prepared};
use crate::experiment::Case;
use crate::observe;

/// A settled bed as the estimate sees it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Ground {
    /// Bulk weight γ, N/m³.
    pub(super) weight: f64,
    /// Height of its surface, m: where its grains would end with the fraction of its middle.
    pub(super) surface: f64,
}

impl Ground {
    pub(super) fn case_name(trench: &Trench) -> String {
        format!("ground of {}", trench.name)
    }

    pub(super) fn case(trench: Trench, seed: u64) -> Case {
        Case::after(1, Ground::case_name(&trench), move |results| {
            let bed: Prepared = results.get(&trench.prepared_name(seed))?;
            let mut def = trench.definition(seed)?;
            bed.put_into(&mut def);
            Ok(Ground::of(&bench::build(&def)?, &def, &trench))
        })
    }

    pub(super) fn of(world: &World, def: &WorldDef, trench: &Trench) -> Self {
        let snapshot = observe::grains_alone(world);
        let area = (trench.reach[0] + trench.reach[1]) * trench.width
            - 2.0 * HALF_THICKNESS * trench.plate[0];
        // Above the plate's lower edge, below the loose grains on top.
        let layers = [trench.plate[1], 0.8 * trench.height];
        let fraction = slab_fraction(&snapshot, DVec3::Z, layers, area);
        let rows = 0..world.grains().count();
        let mass: f64 = rows.map(|i| world.grains().mass()[i]).sum();
        let density = fraction * def.materials[0].density;
        Ground {
            weight: density * world.gravity().length(),
            surface: mass / (density * area),
        }
    }

    /// Draft of a plate by (1), N.
    pub(super) fn wedge(&self, trench: &Trench, [friction, plate_friction]: [f64; 2]) -> f64 {
        let [width, clearance] = trench.plate;
        let depth = self.surface - clearance;
        let draft = |slip: f64| {
            let reach = depth / slip.tan();
            let resistance = 1.0 / (slip + friction).tan() - plate_friction.tan();
            let wedge = self.weight * depth * reach * (0.5 * width + reach / 3.0);
            if resistance > 0.0 {
                wedge / resistance
            } else {
                f64::INFINITY
            }
        };
        let angles = (50..1500).map(|k| 1e-3 * f64::from(k));
        angles.map(draft).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Size;
    use crate::experiments::blade::trench::narrow;

    /// `H = K γ d²/2` per width, with Rankine's `K` for a smooth plate.
    #[test]
    fn a_wide_wedge_has_the_coefficient_of_passive_earth_pressure() {
        let ground = Ground {
            weight: 1e4,
            surface: 0.15,
        };
        let mut trench = narrow(Size::Reduced);
        trench.plate = [1e4, 0.05];
        let per_width = |friction: f64| ground.wedge(&trench, [friction, 0.0]) / 1e4;
        let hydrostatic = 0.5 * 1e4 * 0.1 * 0.1;
        for friction in [0.2_f64, 0.35, 0.5] {
            let rankine = (1.0 + friction.sin()) / (1.0 - friction.sin());
            let found = per_width(friction) / hydrostatic;
            assert!((found / rankine - 1.0).abs() < 1e-3, "{found} {rankine}");
        }
    }
}
