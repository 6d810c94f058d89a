//! What freezing grains at rest did in a run.

use esker_world::World;
use serde::Serialize;

/// What freezing grains at rest did.
#[derive(Serialize)]
pub(super) struct ReductionSummary {
    /// Share of grains that were frozen, mean over steps and at the end.
    mean_level: f64,
    level: f64,
    /// Grains frozen, and set free: by cause, and to find out whether they still rest.
    merges: u64,
    split_by_impact: u64,
    split_by_imbalance: u64,
    split_by_support: u64,
    split_by_walls: u64,
    split_by_sensor: u64,
    refreshed: u64,
    /// Energy that freezing took, J.
    energy_lost: f64,
    /// Momentum that freezing gave to walls, N s.
    impulse_to_walls: [f64; 3],
    /// By how much the forces of contacts of frozen grains fall short of the mean balance of these,
    /// in units of their weight: walls got it beside them.
    mean_imbalance: f64,
    /// Largest imbalance of forces on a frozen grain that was left, over what sets it free.
    worst_imbalance: f64,
}

impl ReductionSummary {
    /// `None` where nothing may be frozen.
    pub(super) fn new(world: &World) -> Option<Self> {
        let totals = world.reduction()?;
        Some(ReductionSummary {
            mean_level: totals.mean_level(),
            level: world.frozen_count() as f64 / world.grain_count().max(1) as f64,
            merges: totals.merges,
            split_by_impact: totals.split_by_impact,
            split_by_imbalance: totals.split_by_imbalance,
            split_by_support: totals.split_by_support,
            split_by_walls: totals.split_by_walls,
            split_by_sensor: totals.split_by_sensor,
            refreshed: totals.refreshed,
            energy_lost: totals.energy_lost,
            impulse_to_walls: totals.impulse_to_walls.to_array(),
            mean_imbalance: totals.mean_imbalance(),
            worst_imbalance: totals.largest_imbalance,
        })
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let causes = [
            (self.split_by_impact, "impact"),
            (self.split_by_imbalance, "imbalance"),
            (self.split_by_support, "lost support"),
            (self.split_by_walls, "walls"),
            (self.split_by_sensor, "sensors"),
            (self.refreshed, "refresh"),
        ];
        let causes = causes.iter().filter(|(count, _)| *count > 0);
        let causes: Vec<String> = causes.map(|(n, cause)| format!("{cause} {n}")).collect();
        let causes = match causes.is_empty() {
            true => "none set free".to_owned(),
            false => format!("set free by {}", causes.join(", ")),
        };
        vec![
            format!(
                "  reduction   {:.1} % of grains frozen on average, {:.1} % at the end; frozen {} times, {causes}",
                100.0 * self.mean_level,
                100.0 * self.level,
                self.merges
            ),
            format!(
                "              freezing took {:.2e} J; forces of frozen grains out of balance by {:.2} % of their weight, by at most {:.2} of what sets one free",
                self.energy_lost,
                100.0 * self.mean_imbalance,
                self.worst_imbalance
            ),
        ]
    }
}
