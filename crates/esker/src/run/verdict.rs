//! What a run thinks of itself: good, doubtful or wrong, with what, where and
//! what to do.

use esker_world::World;
use serde::Serialize;

/// Mean overlap at the end that makes a run doubtful, and wrong, in diameters:
/// grains that overlap by a tenth are no grains any more.
const OVERLAP: [f64; 2] = [0.05, 0.1];
/// The same for the 99.9th percentile of overlaps beyond the contact law, as a
/// mean over the run.
const EXCESS: [f64; 2] = [0.02, 0.05];
/// Way of the grains that carry the energy in one step, in diameters, in the
/// worst step: contacts are found once per step.
const WAY: [f64; 2] = [0.5, 2.0];
/// Mean residual: at 0.1 forces and angles have stopped to change, at 1 nothing
/// is solved.
const RESIDUAL: [f64; 2] = [0.2, 0.6];
/// Share by which the forces of tools are too small: an estimate, which is up to twice as high as it
/// should be where many grains arrive at once.
const TOOL_FORCE: [f64; 2] = [0.03, 0.4];
/// Largest violation of a joint, in diameters.
const JOINTS: [f64; 2] = [0.05, 0.5];
/// Looks at the residual that a mean needs: of the first steps it says nothing.
const LOOKS: u64 = 10;
/// Largest overlap ever, in diameters.
const LARGEST: [f64; 2] = [0.2, 0.5];
/// Share of steps that missed a tolerance or a stated accuracy.
const MISSED: [f64; 2] = [0.1, 0.5];
/// Share of the energy that went through the ledger and is unaccounted for.
const ENERGY: [f64; 2] = [0.05, 0.25];

/// Mean imbalance of forces on frozen grains, over their weight. Walls get the balance all the same,
/// so that it makes no run wrong.
const FROZEN_IMBALANCE: [f64; 2] = [0.1, f64::INFINITY];

/// How far a run can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing speaks against it.
    Good,
    /// Something may be off.
    Doubtful,
    /// Do not use it.
    Wrong,
}

/// One thing that speaks against a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub grade: Grade,
    /// What, and where.
    pub what: String,
    /// What to do.
    pub advice: String,
}

/// The verdict; field names are keys of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// As bad as the worst finding.
    pub grade: Grade,
    /// All that speaks against the run.
    pub findings: Vec<Finding>,
}

/// What a run is judged by.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// Mean overlap at the end, in diameters.
    pub mean_overlap: f64,
    /// 99.9th percentile of the excess, mean over the steps that were looked at.
    pub high_excess: f64,
    /// The worst contact in words, where there is one.
    pub worst_contact: Option<String>,
    /// Worst travel, see [`esker_world::StepErrors::travel`].
    pub worst_travel: f64,
    /// Largest overlap ever, in diameters.
    pub worst_overlap: f64,
    /// Mean residual, and how often it was measured.
    pub residual: Option<(f64, u64)>,
    /// Share by which the forces of tools are too small, where there are tools.
    pub tool_force: Option<f64>,
    /// Largest violation of a joint, in diameters.
    pub joints: f64,
    /// Share of steps that missed the solver's tolerance.
    pub unconverged: f64,
    /// Share of steps that missed the stated accuracy, and what they missed.
    pub missed: Option<(f64, String)>,
    /// Imbalance of the energy ledger over its throughput, where there is one.
    pub energy_error: Option<f64>,
    /// Mean imbalance of forces on frozen grains over their weight, where grains may be frozen.
    pub frozen_imbalance: Option<f64>,
    /// Grains that left closed containers, and the containers' names.
    pub escaped: Option<(u64, String)>,
}

impl Verdict {
    /// Judges a run.
    pub(super) fn new(evidence: &Evidence) -> Self {
        let mut findings = Vec::new();
        let mut judge =
            |value: f64, [doubtful, wrong]: [f64; 2], what: &dyn Fn() -> [String; 2]| {
                // Not a number is wrong, too.
                let grade = if value.is_nan() || value > wrong {
                    Grade::Wrong
                } else if value > doubtful {
                    Grade::Doubtful
                } else {
                    return;
                };
                let [what, advice] = what();
                findings.push(Finding {
                    grade,
                    what,
                    advice,
                });
            };
        let worst = || match &evidence.worst_contact {
            Some(worst) => format!("; worst: {worst}"),
            None => String::new(),
        };
        let e = evidence;
        judge(e.mean_overlap - e.high_excess, OVERLAP, &|| {
            [
                format!(
                    "grains overlap by {:.1} % of a diameter on average, as their contact law says",
                    100.0 * e.mean_overlap
                ),
                "they are too soft for their load: check `young` (in Pa) and the density".into(),
            ]
        });
        judge(e.high_excess, EXCESS, &|| {
            [
                format!(
                    "a thousandth of the contacts overlaps by {:.1} % of a diameter more than the \
                     contact law says{}",
                    100.0 * e.high_excess,
                    worst()
                ),
                "take a shorter `step`, more substeps or sweeps, or state `tolerance = \"1%\"`"
                    .into(),
            ]
        });
        let way = (2.0 * e.worst_travel).sqrt();
        judge(way, WAY, &|| {
            [
                format!("grains moved by {way:.2} diameters in one step"),
                format!(
                    "contacts are found once per step: make it {:.0} times shorter",
                    (way / 0.1).ceil()
                ),
            ]
        });
        judge(e.worst_overlap, LARGEST, &|| {
            [
                format!(
                    "two bodies overlapped by {:.0} % of a diameter at one time",
                    100.0 * e.worst_overlap
                ),
                "take a shorter `step`, or state `tolerance = \"1%\"`".into(),
            ]
        });
        if let Some((residual, _)) = e.residual.filter(|&(_, looks)| looks >= LOOKS) {
            judge(residual, RESIDUAL, &|| {
                [
                    format!(
                        "contacts are solved to a residual of {residual:.2} only (1: not at all)"
                    ),
                    "more substeps or sweeps, or a shorter `step`".into(),
                ]
            });
        }
        judge(e.tool_force.unwrap_or(0.0), TOOL_FORCE, &|| {
            [
                format!(
                    "forces of moving walls and machines are about {:.0} % too small: contacts \
                     yield more than their law says, or lag behind their load",
                    100.0 * e.tool_force.unwrap_or(0.0)
                ),
                "more substeps or sweeps, or state `tolerance = \"1%\"`".into(),
            ]
        });
        judge(e.joints, JOINTS, &|| {
            [
                format!(
                    "joints gaped by up to {:.0} % of a mean diameter",
                    100.0 * e.joints
                ),
                "more substeps, or a shorter `step`".into(),
            ]
        });
        judge(e.unconverged, MISSED, &|| {
            [
                format!(
                    "{:.0} % of the steps missed the solver's tolerance",
                    100.0 * e.unconverged
                ),
                "more `sweeps`, a shorter `step` or another `method`".into(),
            ]
        });
        if let Some((share, reasons)) = &e.missed {
            judge(*share, MISSED, &|| {
                [
                    format!(
                        "{:.0} % of the steps missed the stated accuracy ({reasons})",
                        100.0 * share
                    ),
                    "leave `step` to the program, or accept a larger `tolerance`".into(),
                ]
            });
        }
        judge(e.energy_error.unwrap_or(0.0).abs(), ENERGY, &|| {
            [
                format!(
                    "{:.0} % of the energy is unaccounted for",
                    100.0 * e.energy_error.unwrap_or(0.0).abs()
                ),
                "a shorter `step`".into(),
            ]
        });
        judge(e.frozen_imbalance.unwrap_or(0.0), FROZEN_IMBALANCE, &|| {
            [
                    format!(
                        "forces on frozen grains are out of balance by {:.0} % of their weight on average: grains were frozen that were not at rest",
                        100.0 * e.frozen_imbalance.unwrap_or(0.0)
                    ),
                    "leave the thresholds of `reduction` at their defaults or lower them, or compare with a run without `reduction`"
                        .into(),
                ]
        });
        if let Some((count, walls)) = &e.escaped {
            judge(*count as f64, [0.0, 0.0], &|| {
                [
                    format!("{count} grains left the closed walls ({walls})"),
                    "a shorter `step`: something was faster, heavier or harder pressed than it \
                     resolves"
                        .into(),
                ]
            });
        }
        Verdict {
            grade: findings
                .iter()
                .map(|f| f.grade)
                .max()
                .unwrap_or(Grade::Good),
            findings,
        }
    }

    /// Whether the run must not be used.
    pub fn is_wrong(&self) -> bool {
        self.grade == Grade::Wrong
    }

    /// Lines for people.
    pub fn lines(&self) -> Vec<String> {
        let (grade, rest) = match self.grade {
            Grade::Good => ("good", "nothing speaks against this run"),
            Grade::Doubtful => ("doubtful", "look at this before you use it"),
            Grade::Wrong => ("WRONG", "do not use this run"),
        };
        let mut lines = vec![format!("  verdict     {grade}: {rest}")];
        for finding in &self.findings {
            lines.push(format!("              - {}", finding.what));
            lines.push(format!("                {}", finding.advice));
        }
        lines
    }
}

/// Grains that no closed container of a world holds, and the names of these
/// containers; `None` where there is none.
pub(super) fn outside_of_containers(world: &World) -> Option<(u64, String)> {
    let closed: Vec<_> = world
        .walls()
        .iter()
        .filter(|wall| wall.shape.is_closed_container())
        .collect();
    if closed.is_empty() {
        return None;
    }
    let is_outside = |x: &&glam::DVec3| {
        let mut walls = closed.iter();
        !walls.any(|wall| wall.shape.encloses(wall.pose.to_local(**x)))
    };
    let all = world.all_grains();
    let grains = all.position()[..all.count()].iter();
    let count = grains.filter(is_outside).count();
    let names: Vec<&str> = closed.iter().map(|wall| wall.name.as_str()).collect();
    Some((count as u64, names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grade(evidence: Evidence) -> Grade {
        Verdict::new(&evidence).grade
    }

    #[test]
    fn a_run_is_as_bad_as_the_worst_that_is_found() {
        assert_eq!(grade(Evidence::default()), Grade::Good);
        let soft = Evidence {
            mean_overlap: 0.07,
            ..Default::default()
        };
        assert_eq!(grade(soft.clone()), Grade::Doubtful);
        let squeezed = Evidence {
            mean_overlap: 0.99,
            ..Default::default()
        };
        assert_eq!(grade(squeezed), Grade::Wrong);
        let both = Evidence {
            high_excess: 0.08,
            ..soft
        };
        let verdict = Verdict::new(&both);
        assert!(verdict.is_wrong());
        assert!(verdict.lines().join("\n").contains("tolerance"));
    }

    #[test]
    fn what_is_not_a_number_is_wrong() {
        let lost = Evidence {
            residual: Some((f64::NAN, LOOKS)),
            ..Default::default()
        };
        assert_eq!(grade(lost), Grade::Wrong);
    }

    #[test]
    fn forces_on_frozen_grains_that_do_not_balance_are_doubtful() {
        let imbalance = |share: f64| Evidence {
            frozen_imbalance: Some(share),
            ..Default::default()
        };
        assert_eq!(grade(imbalance(0.03)), Grade::Good);
        let verdict = Verdict::new(&imbalance(0.5568));
        assert_eq!(verdict.grade, Grade::Doubtful);
        let lines = verdict.lines().join("\n");
        assert!(
            lines.contains("56 %") && lines.contains("thresholds"),
            "{lines}"
        );
        assert_eq!(grade(imbalance(f64::NAN)), Grade::Wrong);
    }

    #[test]
    fn a_single_grain_that_left_closed_walls_is_wrong() {
        let escaped = Evidence {
            escaped: Some((1, "bin".into())),
            ..Default::default()
        };
        let verdict = Verdict::new(&escaped);
        assert!(verdict.is_wrong() && verdict.lines()[1].contains("bin"));
    }
}
