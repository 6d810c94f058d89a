//! What freezing grains at rest did in a run.

use esker_world::definition::{Reduction, Split};
use esker_world::{StoredContact, World};
use serde::Serialize;

/// What freezing grains at rest did.
#[derive(Serialize)]
pub(super) struct ReductionSummary {
    /// Share of grains that were frozen, mean over steps and at the end.
    mean_level: f64,
    level: f64,
    /// Contacts among frozen grains, and of these with walls, at the end: they are not among those
    /// that a step solves.
    frozen_contacts: usize,
    /// Grains frozen, each as often as it was, and set free: by cause, and to find out whether they
    /// still rest.
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
    /// Largest imbalance of forces on a frozen grain that was left, over what sets it free; trial
    /// steps do not measure it.
    worst_imbalance: Option<f64>,
    /// What thresholds of speed, m/s, and time, s, are multiplied by: `√(g d)` and `√(d/g)` with the
    /// mean diameter `d`.
    speed_scale: f64,
    time_scale: f64,
    /// Overlaps of contacts among frozen grains at the end, in diameters: sum and how many.
    #[serde(skip)]
    overlaps: (f64, f64),
}

/// Sum of overlaps in diameters, and how many there are.
fn overlaps_of(contacts: &[StoredContact]) -> (f64, f64) {
    let touching = contacts.iter().filter(|contact| contact.overlap > 0.0);
    touching.fold((0.0, 0.0), |(sum, count), contact| {
        let diameter = contact.arms[0] + contact.arms[1] + contact.overlap;
        (sum + contact.overlap / diameter, count + 1.0)
    })
}

impl ReductionSummary {
    /// `None` where nothing may be frozen.
    pub(super) fn new(world: &World, settings: Option<Reduction>) -> Option<Self> {
        let totals = world.reduction()?;
        let is_trial = matches!(settings?.split, Split::Trial(_));
        let all = world.all_grains();
        let radii = &all.radius()[..all.count()];
        let diameter = 2.0 * radii.iter().sum::<f64>() / radii.len().max(1) as f64;
        let gravity = world.gravity().length();
        let stored = world.stored_contacts();
        Some(ReductionSummary {
            mean_level: totals.mean_level(),
            level: world.frozen_count() as f64 / world.grain_count().max(1) as f64,
            frozen_contacts: stored.len(),
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
            worst_imbalance: (!is_trial).then_some(totals.largest_imbalance),
            speed_scale: (gravity * diameter).sqrt(),
            time_scale: (diameter / gravity).sqrt(),
            overlaps: overlaps_of(&stored),
        })
    }

    /// Mean imbalance of forces on frozen grains, over their weight.
    pub(super) fn imbalance(&self) -> f64 {
        self.mean_imbalance
    }

    /// Mean overlap of all contacts that touch, in diameters, by that of so many contacts of free
    /// grains: where most grains are frozen the few that are free are those that something loads.
    pub(super) fn mean_overlap(&self, of_free: f64, touching: f64) -> f64 {
        let (sum, count) = self.overlaps;
        match touching + count > 0.0 {
            true => (of_free * touching + sum) / (touching + count),
            false => 0.0,
        }
    }

    /// Contacts among frozen grains and walls at the end, which no step solves.
    pub(super) fn contacts(&self) -> usize {
        self.frozen_contacts
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let causes = [
            (self.split_by_impact, "impacts"),
            (self.split_by_imbalance, "imbalance of forces"),
            (
                self.split_by_support,
                "loss of contact with what carries them",
            ),
            (
                self.split_by_walls,
                "walls that appear, vanish or change their motion",
            ),
            (self.split_by_sensor, "sensors"),
            (
                self.refreshed,
                "refreshes, to test whether they are still at rest",
            ),
        ];
        let causes = causes.iter().filter(|(count, _)| *count > 0);
        let causes: Vec<String> = causes.map(|(n, cause)| format!("{n} by {cause}")).collect();
        let causes = match causes.is_empty() {
            true => "none".to_owned(),
            false => causes.join(", "),
        };
        let worst = self.worst_imbalance.map_or_else(String::new, |worst| {
            format!(", worst imbalance {:.0} % of the threshold", 100.0 * worst)
        });
        vec![
            format!(
                "  reduction   {:.1} % of grains frozen on average, {:.1} % at the end",
                100.0 * self.mean_level,
                100.0 * self.level,
            ),
            format!(
                "              frozen: {} grains, each counted every time; set free: {causes}",
                self.merges
            ),
            format!(
                "              freezing took {:.2e} J; forces on frozen grains out of balance by {:.2} % of their weight on average{worst}",
                self.energy_lost,
                100.0 * self.mean_imbalance,
            ),
            format!(
                "              thresholds are in units of √(g d) = {:.3} m/s and √(d/g) = {:.4} s",
                self.speed_scale, self.time_scale
            ),
        ]
    }
}
