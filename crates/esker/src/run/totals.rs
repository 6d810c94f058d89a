//! Sums over the steps of a run, which a checkpoint carries on.

use esker_world::Wall;
use esker_world::{BodyId, Stage, StepReport, World, WorstContact};

use super::verdict::outside_of_containers;

/// Sums over the steps of a run and numbers of its last step. All are plain
/// numbers, so that a checkpoint can carry them on.
#[derive(Clone, Default)]
pub struct Totals {
    /// Time on the clock, s.
    pub wall: f64,
    pub(super) contacts: f64,
    pub(super) touching: f64,
    pub(super) mean_overlap: f64,
    pub(super) max_overlap: f64,
    pub(super) stages: [f64; Stage::ALL.len()],
    pub(super) contact_sweeps: f64,
    pub(super) unconverged: f64,
    pub(super) worst_overlap: f64,
    pub(super) worst_residual: f64,
    pub(super) residual_sum: f64,
    pub(super) residual_count: f64,
    pub(super) emitted: f64,
    pub(super) judged: f64,
    pub(super) mean_excess_sum: f64,
    pub(super) high_excess_sum: f64,
    pub(super) worst_high_excess: f64,
    pub(super) worst_travel: f64,
    pub(super) missed: f64,
    pub(super) missed_overlap: f64,
    pub(super) missed_walls: f64,
    pub(super) missed_creep: f64,
    pub(super) missed_travel: f64,
    pub(super) missed_residual: f64,
    pub(super) missed_forces: f64,
    pub(super) missed_joints: f64,
    /// Errors of the forces of tools where all of them was measured, weighted with the energy that
    /// these stored in contacts, and the weights, J.
    pub(super) tool_force_sum: f64,
    pub(super) tool_energy_sum: f64,
    pub(super) worst_joints: f64,
    pub(super) worst: Worst,
    pub(super) threads_sum: f64,
    pub(super) sweeps_sum: f64,
    pub(super) most_sweeps: f64,
    /// Shortest step, s; zero before the first.
    pub(super) shortest_step: f64,
    /// Grains that no closed container held at the start.
    pub(super) outside_at_start: f64,
    /// Most contacts at once with the outer side of each closed container.
    pub(super) most_outer_contacts: Vec<f64>,
}

/// The contact that was most in excess of its law, as numbers.
#[derive(Clone, Default)]
pub(super) struct Worst {
    pub(super) excess: f64,
    pub(super) overlap: f64,
    pub(super) time: f64,
    /// Id of the grain as a number: exact for grains of the start and of thirty emitters.
    pub(super) grain: f64,
    /// Id of the other grain, or the wall's place less one and negative.
    pub(super) other: f64,
}

impl Worst {
    fn keep(&mut self, found: &WorstContact, time: f64) {
        if found.excess > self.excess {
            *self = Worst {
                excess: found.excess,
                overlap: found.overlap,
                time,
                grain: found.grain.as_u64() as f64,
                other: match found.other {
                    BodyId::Grain(id) => id.as_u64() as f64,
                    BodyId::Wall(w) => -1.0 - f64::from(w),
                },
            };
        }
    }
}

/// How a checkpoint names [`Totals::most_outer_contacts`], before the wall's index.
const OUTER_CONTACTS: &str = "most_outer_contacts.";

/// Access to one number of [`Totals`].
type Number = fn(&mut Totals) -> &mut f64;

/// The numbers of [`Totals`] but for the stages, by the names they have in checkpoints.
const NUMBERS: [(&str, Number); 38] = [
    ("wall", |t| &mut t.wall),
    ("contacts", |t| &mut t.contacts),
    ("touching", |t| &mut t.touching),
    ("mean_overlap", |t| &mut t.mean_overlap),
    ("max_overlap", |t| &mut t.max_overlap),
    ("contact_sweeps", |t| &mut t.contact_sweeps),
    ("unconverged", |t| &mut t.unconverged),
    ("worst_overlap", |t| &mut t.worst_overlap),
    ("worst_residual", |t| &mut t.worst_residual),
    ("residual_sum", |t| &mut t.residual_sum),
    ("residual_count", |t| &mut t.residual_count),
    ("emitted", |t| &mut t.emitted),
    ("judged", |t| &mut t.judged),
    ("mean_excess_sum", |t| &mut t.mean_excess_sum),
    ("high_excess_sum", |t| &mut t.high_excess_sum),
    ("worst_high_excess", |t| &mut t.worst_high_excess),
    ("worst_travel", |t| &mut t.worst_travel),
    ("missed", |t| &mut t.missed),
    ("missed_overlap", |t| &mut t.missed_overlap),
    ("missed_walls", |t| &mut t.missed_walls),
    ("missed_creep", |t| &mut t.missed_creep),
    ("missed_travel", |t| &mut t.missed_travel),
    ("missed_residual", |t| &mut t.missed_residual),
    ("missed_forces", |t| &mut t.missed_forces),
    ("missed_joints", |t| &mut t.missed_joints),
    ("tool_force_sum", |t| &mut t.tool_force_sum),
    ("tool_energy_sum", |t| &mut t.tool_energy_sum),
    ("worst_joints", |t| &mut t.worst_joints),
    ("worst_contact_excess", |t| &mut t.worst.excess),
    ("worst_contact_overlap", |t| &mut t.worst.overlap),
    ("worst_contact_time", |t| &mut t.worst.time),
    ("worst_contact_grain", |t| &mut t.worst.grain),
    ("worst_contact_other", |t| &mut t.worst.other),
    ("threads_sum", |t| &mut t.threads_sum),
    ("sweeps_sum", |t| &mut t.sweeps_sum),
    ("most_sweeps", |t| &mut t.most_sweeps),
    ("shortest_step", |t| &mut t.shortest_step),
    ("outside_at_start", |t| &mut t.outside_at_start),
];

impl Totals {
    /// Before the first step.
    pub fn of_start(world: &World) -> Self {
        Totals {
            outside_at_start: outside_of_containers(world).map_or(0.0, |(count, _)| count as f64),
            ..Default::default()
        }
    }

    /// Adds one step of a world.
    pub fn add(&mut self, report: &StepReport, walls: &[Wall]) {
        self.most_outer_contacts.resize(walls.len(), 0.0);
        for (most, wall) in self.most_outer_contacts.iter_mut().zip(walls) {
            *most = most.max(wall.outer_contacts as f64);
        }
        for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
            *sum += report.times.get(stage).as_secs_f64();
        }
        self.contacts = report.contacts as f64;
        self.touching = report.touching as f64;
        self.mean_overlap = report.mean_overlap;
        self.max_overlap = report.max_overlap;
        self.contact_sweeps += report.contacts as f64 * report.sweeps as f64;
        self.unconverged += f64::from(u8::from(!report.converged));
        self.worst_overlap = self.worst_overlap.max(report.max_overlap);
        self.emitted += report.emitted as f64;
        self.threads_sum += report.threads as f64;
        self.sweeps_sum += report.sweeps as f64;
        self.most_sweeps = self.most_sweeps.max(report.sweeps as f64);
        if self.shortest_step == 0.0 || report.step_length < self.shortest_step {
            self.shortest_step = report.step_length;
        }
        if let Some(errors) = &report.errors {
            let high = errors.grain_excess.max(errors.wall_excess);
            self.judged += 1.0;
            self.mean_excess_sum += errors.mean_excess;
            self.high_excess_sum += high;
            self.worst_high_excess = self.worst_high_excess.max(high);
            self.worst_travel = self.worst_travel.max(errors.travel);
            self.worst_joints = self.worst_joints.max(errors.joints);
            if errors.residual.is_some() {
                let energy = errors.stored_share * errors.stored_energy;
                self.tool_force_sum += energy * errors.tool_force();
                self.tool_energy_sum += energy;
            }
            if let Some(worst) = &errors.worst {
                self.worst.keep(worst, report.time);
            }
        }
        let missed = &report.missed;
        for (count, missed) in [
            (&mut self.missed, missed.any()),
            (&mut self.missed_overlap, missed.overlap),
            (&mut self.missed_walls, missed.walls),
            (&mut self.missed_creep, missed.creep),
            (&mut self.missed_travel, missed.travel),
            (&mut self.missed_residual, missed.residual),
            (&mut self.missed_forces, missed.forces),
            (&mut self.missed_joints, missed.joints),
        ] {
            *count += f64::from(u8::from(missed));
        }
        if let Some(residual) = report.residual {
            self.worst_residual = self.worst_residual.max(residual);
            self.residual_sum += residual;
            self.residual_count += 1.0;
        }
    }

    /// All numbers with their names, for a checkpoint.
    pub fn to_tally(&self) -> Vec<(String, f64)> {
        let mut totals = self.clone();
        let numbers = NUMBERS
            .iter()
            .map(|(name, number)| ((*name).to_owned(), *number(&mut totals)));
        let stages = Stage::ALL.iter().zip(self.stages);
        let walls = self.most_outer_contacts.iter().enumerate();
        numbers
            .chain(walls.map(|(k, most)| (format!("{OUTER_CONTACTS}{k}"), *most)))
            .chain(stages.map(|(stage, seconds)| (stage.name().to_owned(), seconds)))
            .collect()
    }

    /// The numbers that a checkpoint holds; zero where it lacks one.
    pub fn from_tally(tally: &[(String, f64)]) -> Self {
        let mut totals = Totals::default();
        for (name, value) in tally {
            if let Some((_, number)) = NUMBERS.iter().find(|(known, _)| known == name) {
                *number(&mut totals) = *value;
            } else if let Some(i) = Stage::ALL.iter().position(|stage| stage.name() == name) {
                totals.stages[i] = *value;
            } else if let Some(wall) = name.strip_prefix(OUTER_CONTACTS)
                && wall.parse() == Ok(totals.most_outer_contacts.len())
            {
                totals.most_outer_contacts.push(*value);
            }
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_survive_a_checkpoint() {
        let mut totals = Totals::default();
        for (i, (_, number)) in NUMBERS.iter().enumerate() {
            *number(&mut totals) = 1.0 + i as f64;
        }
        totals.stages = std::array::from_fn(|i| 100.0 + i as f64);
        totals.most_outer_contacts = vec![0.0, 7.0];
        let tally = totals.to_tally();
        assert_eq!(Totals::from_tally(&tally).to_tally(), tally);
        assert_eq!(tally.len(), NUMBERS.len() + Stage::ALL.len() + 2);
    }
}
