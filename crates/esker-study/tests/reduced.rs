//! Every experiment is reproduced at reduced size, or differs for a known
//! reason, and says so in its report; and every one of its criteria can fail.

use std::collections::BTreeSet;

use esker_study::runner::Finished;
use esker_study::{Experiment, Judgement, Results, Size, Status, registry, report, runner};
use serde_json::Value;

fn holds(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let experiment = registry::find(name).unwrap();
    let options = runner::Options::new(folder.path().into(), Size::Reduced);
    let finished = runner::run(experiment, &options, &|_| {}).unwrap();
    let outcome = &finished.outcome;
    let failing: Vec<_> = outcome
        .criteria
        .iter()
        .filter(|c| c.status == Status::Fails)
        .collect();
    assert!(failing.is_empty(), "{failing:#?}");
    assert!(outcome.criteria.len() + outcome.reported.len() >= 3);
    let page = report::write(folder.path(), experiment, &finished).unwrap();
    let html = std::fs::read_to_string(page).unwrap();
    let differs = finished.judgement() == Judgement::Differs;
    assert_eq!(html.contains("Reproduced: all criteria hold."), !differs);
    assert_eq!(html.contains("Where we differ from the paper"), differs);
    // Pictures may spell anything.
    let mut text = html.split("data:image/png;base64,");
    let mut words = vec![text.next().unwrap()];
    words.extend(text.map(|rest| rest.split_once('"').unwrap().1));
    assert!(words.len() > 1 || !html.contains("<img"));
    let missing = words.iter().find(|part| part.contains("NaN"));
    assert!(missing.is_none(), "a number is missing in the report");
    let index = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(index.contains(&format!("{name}.html")));
    let json = std::fs::read(folder.path().join(format!("{name}.json"))).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["experiment"], name);
    assert_eq!(json["verdict"], finished.judgement().name());
    can_fail(experiment, &finished);
}

/// Judges results in which one case was changed.
fn judged_with(
    experiment: &dyn Experiment,
    results: &Results,
    (case, result): (&str, Option<Value>),
) -> esker_study::Outcome {
    let mut results = results.clone();
    results.remove(case);
    if let Some(result) = result {
        results.insert(case, result);
    }
    runner::judge(experiment, Size::Reduced, &results)
}

/// A case without its result, and one whose numbers are none, fail the
/// experiment; every criterion fails for some wrong result of a case.
fn can_fail(experiment: &dyn Experiment, finished: &Finished) {
    let mut unfailed: BTreeSet<&str> = finished
        .outcome
        .criteria
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    for case in experiment.cases(Size::Reduced) {
        let name = case.name.as_str();
        // States that other cases start from are judged by those.
        if name.starts_with("settled") || name.contains("prepared") {
            continue;
        }
        let result: Value = finished.results.get(name).unwrap();
        for wrong in [None, Some(changed(&result, &|_| f64::NAN))] {
            let outcome = judged_with(experiment, &finished.results, (name, wrong));
            assert_eq!(outcome.judgement(), Judgement::Fails, "{name}");
        }
        let wrong: [&dyn Fn(f64) -> f64; 6] = [
            &|_| 0.0,
            &|x| -x,
            &|x| 0.2 * x,
            &|x| 1.5 * x,
            &|x| 1e3 * x,
            &|x| x + 1.0,
        ];
        let numbers = wrong.into_iter().map(|change| changed(&result, change));
        for wrong in numbers.chain([filled(&result)]) {
            let wrong = Some(wrong);
            let outcome = judged_with(experiment, &finished.results, (name, wrong));
            for c in &outcome.criteria {
                if c.status == Status::Fails {
                    unfailed.remove(c.name.as_str());
                }
            }
        }
    }
    assert!(unfailed.is_empty(), "never fail: {unfailed:#?}");
}

/// A result with all its measured numbers changed; counts are kept.
fn changed(result: &Value, change: &dyn Fn(f64) -> f64) -> Value {
    mapped(result, &|value| match value {
        Value::Number(n) if n.is_f64() => Value::from(change(n.as_f64().unwrap())),
        other => other.clone(),
    })
}

/// A result with numbers where it has none.
fn filled(result: &Value) -> Value {
    mapped(result, &|value| match value {
        Value::Null => Value::from(0.1),
        other => other.clone(),
    })
}

fn mapped(result: &Value, leaf: &dyn Fn(&Value) -> Value) -> Value {
    match result {
        Value::Array(values) => values.iter().map(|v| mapped(v, leaf)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), mapped(value, leaf)))
            .collect(),
        value => leaf(value),
    }
}

#[test]
fn one_pellet_obeys_its_laws() {
    holds("verification");
}

#[test]
fn a_column_needs_the_published_sweeps() {
    holds("column");
}

#[test]
fn a_heap_stands_with_half_the_sweeps_when_warm_started() {
    holds("pile");
}

#[test]
fn a_drum_converges_faster_when_warm_started() {
    holds("drum");
}

#[test]
fn sweeps_saturate_in_a_silo() {
    holds("silo");
}

#[test]
fn a_heap_on_a_belt_has_its_angle_of_repose() {
    holds("repose");
}

#[test]
fn an_inclined_drum_flows_as_published() {
    holds("inclined-drum");
}

#[test]
fn smooth_and_nonsmooth_stepping_agree() {
    holds("smooth-vs-nonsmooth");
}

#[test]
fn a_silo_discharges_after_beverloo() {
    holds("beverloo");
}

#[test]
fn the_parallel_order_keeps_the_physics() {
    holds("parallel-physics");
}

#[test]
fn a_ball_goes_as_deep_into_a_bed_as_in_another_program() {
    holds("impact");
}

#[test]
fn long_steps_and_all_sizes_give_the_physics_of_short_steps() {
    holds("limits");
}

#[test]
fn random_packings_are_as_dense_as_published() {
    holds("packing");
}

#[test]
fn solvers_agree_in_a_drum_of_ellipsoids() {
    holds("ellipsoid-drum");
}

#[test]
fn a_triaxial_cell_has_one_critical_state() {
    holds("triaxial");
}

#[test]
fn a_blade_needs_the_force_that_its_bed_resists_with() {
    holds("blade");
}

#[test]
fn machines_move_and_touch_as_computed() {
    holds("machines");
}

#[test]
fn an_excavator_digs_with_the_forces_that_its_bed_resists_with() {
    holds("excavator");
}

#[test]
fn grains_at_rest_can_be_frozen() {
    holds("reduction");
}
