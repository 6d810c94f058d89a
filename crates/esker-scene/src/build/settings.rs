//! Settings that need no judgement beyond their own keys.

use esker_world::definition::{
    ContactSettings, Method, Reduction, Smooth, Solver, Split, SubStepped, Trial, WarmStart,
    WholeStep,
};

use crate::scene::{CheckpointDef, Field, Precision, RecordDef};
use crate::walk::Node;

/// Time on the clock between checkpoints unless the scene says otherwise, s.
const CHECKPOINT_EVERY_WALL: f64 = 600.0;

/// Share of the last step's impulses that a solve starts from unless the scene says
/// otherwise, where no accuracy is kept.
const WARM_FACTOR: f64 = 0.85;

/// The way to advance of a scene that keeps an accuracy or not.
pub(super) fn method(node: &Node, keeps_accuracy: bool) -> Option<Method> {
    let tolerance = node.number("tolerance");
    Some(match node.text("method")? {
        "substepped" => Method::SubStepped(SubStepped {
            substeps: node.integer("substeps")? as usize,
            stiffness_cap: node.number("stiffness_cap")?,
            tolerance,
        }),
        "smooth" => Method::Smooth(Smooth {
            substeps: node.integer("substeps")? as usize,
            ..Default::default()
        }),
        whole_step => Method::WholeStep(WholeStep {
            solver: match whole_step {
                "gauss-seidel" => Solver::Sweep,
                name => Solver::Named(name.into()),
            },
            sweeps: node.integer("sweeps")? as usize,
            tolerance,
            warm_start: match node.text("warm_start")? {
                "cold" => WarmStart::Cold,
                "model" => WarmStart::Model,
                _ => match node.number("warm_factor") {
                    Some(factor) => WarmStart::History { factor },
                    None if keeps_accuracy => WarmStart::FULL_HISTORY,
                    None => WarmStart::History {
                        factor: WARM_FACTOR,
                    },
                },
            },
            impact_sweeps: node.integer("impact_sweeps")? as usize,
        }),
    })
}

/// When grains at rest are frozen, where they are.
pub(super) fn reduction(root: &Node) -> Option<Reduction> {
    let node = root.table("reduction")?;
    let rest = Reduction {
        rest_speed: node.number("rest_speed")?,
        rest_acceleration: node.number("rest_acceleration")?,
        rest_time: node.number("rest_time")?,
        impact_speed: node.number("impact_speed")?,
        ..Default::default()
    };
    Some(match node.text("method")? {
        "trial" => Reduction {
            split: Split::Trial(Trial {
                sweeps: node.integer("trial_sweeps")? as usize,
                force: node.number("trial_force")?,
                approach: node.number("trial_approach")?,
                separation: node.number("trial_separation")?,
                slip: node.number("trial_slip")?,
            }),
            ..rest
        },
        _ => Reduction {
            imbalance: node.number("imbalance")?,
            refresh_time: node.number("refresh_time")?,
            refresh_growth: node.number("refresh_growth")?,
            ..rest
        },
    })
}

pub(super) fn contact(node: &Node) -> Option<ContactSettings> {
    Some(ContactSettings {
        damping_steps: node.number("damping_steps")?,
        margin: node.number("margin")?,
        friction_compliance: node.number("friction_compliance")?,
        rolling_compliance: node.number("rolling_compliance")?,
        impact_speed: node.number("impact_speed"),
    })
}

pub(super) fn record(root: &Node) -> Option<RecordDef> {
    let node = root.table("record")?;
    Some(RecordDef {
        every: node.number("every"),
        fields: node
            .texts("fields")?
            .iter()
            .filter_map(|name| Field::named(name))
            .collect(),
        precision: match node.text("precision")? {
            "double" => Precision::Double,
            _ => Precision::Single,
        },
        compression: node.integer("compression")? as u8,
        contacts: node.boolean("contacts")?,
    })
}

pub(super) fn checkpoint(root: &Node) -> Option<CheckpointDef> {
    let node = root.table("checkpoint")?;
    Some(match (node.number("every"), node.number("every_wall")) {
        (Some(seconds), _) => CheckpointDef::EverySimulated(seconds),
        (None, Some(seconds)) => CheckpointDef::EveryWall(seconds),
        (None, None) => CheckpointDef::EveryWall(CHECKPOINT_EVERY_WALL),
    })
}
