//! What a device measures of a step that is looked at closely: sums that errors and the residual
//! follow from.

use esker_contact::ResidualSum;
use esker_parallel::ExactSum;

use crate::World;
use crate::errors::{ErrorTotals, LEFT_OUT, MEDIAN, RELAXED, STICKING, StepErrors, WorstContact};
use crate::report::StepReport;
use crate::table::BodyId;

/// Numbers that a look goes by.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookSettings {
    /// Whether the residual is wanted.
    pub with_residual: bool,
    /// Substeps over what is left of them where they are relaxed.
    pub relaxed: f64,
    /// Share of the friction bound below which a contact should stick.
    pub sticking: f64,
    /// Shares of excess between grains, of that on walls, and of slip that are exceeded.
    pub shares: [f64; 3],
}

/// What it came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookTotals {
    /// Sums of a `ResidualSum`, where that is wanted: current, start, weight, carried, rounding.
    pub residual: Option<[ExactSum; 5]>,
    /// Contacts that touch at the end of the step.
    pub touching: usize,
    /// Sum of their excess.
    pub excess: ExactSum,
    /// Work of loads, softened, relaxed, exponent, stored.
    pub load: [ExactSum; 5],
    /// Excess between grains and on walls, and slip, that the shares exceed.
    pub percentiles: [f32; 3],
    /// `Σ m v³`, `Σ m v²`.
    pub travel: [ExactSum; 2],
    /// The contact with the largest excess.
    pub worst: Option<WorstRecord>,
}

/// A contact by the rows of its bodies.
#[derive(Clone, Copy, Debug)]
pub struct WorstRecord {
    /// Row of the grain.
    pub grain: u32,
    /// Whether the other is a wall.
    pub is_wall: bool,
    /// Row of the other grain, or index of the wall.
    pub partner: u32,
    /// Overlap, in diameters.
    pub overlap: f64,
    /// Excess.
    pub excess: f32,
}

impl World {
    /// What a look goes by.
    pub fn look_settings(&self, with_residual: bool) -> LookSettings {
        LookSettings {
            with_residual,
            relaxed: RELAXED,
            sticking: STICKING,
            shares: [LEFT_OUT, LEFT_OUT, MEDIAN],
        }
    }

    /// Errors of the last step, but for the forces of tools, from what a device measured.
    pub fn errors_of_look(&mut self, totals: &LookTotals) -> StepErrors {
        self.workspace.diameters = self.grains.diameters(&mut self.team);
        let ids = &self.grains.id;
        let worst = totals.worst.map(|worst| WorstContact {
            grain: ids[worst.grain as usize],
            other: match worst.is_wall {
                false => BodyId::Grain(ids[worst.partner as usize]),
                true => BodyId::Wall(worst.partner),
            },
            overlap: worst.overlap,
            excess: f64::from(worst.excess),
        });
        let errors = self.errors_of(&ErrorTotals {
            touching: totals.touching,
            excess: totals.excess,
            load: totals.load,
            percentiles: totals.percentiles,
            travel: totals.travel,
            worst,
        });
        let residual = totals.residual.map(|sums| {
            let [current, start, weight, carried, rounding] = sums.map(|sum| sum.value());
            let sum = ResidualSum {
                current,
                start,
                weight,
                carried,
                rounding,
            };
            sum.relative()
        });
        StepErrors { residual, ..errors }
    }

    /// Judges a step that a device made and looked at: its report gets residual and errors, and
    /// the next step its resolution.
    pub(crate) fn judge_look(&mut self, totals: &LookTotals, report: &mut StepReport) {
        let errors = self.errors_of_look(totals);
        report.residual = errors.residual;
        self.judge_by(errors, report);
    }
}
