//! Every experiment holds at reduced size, and says so in its report.

use esker_study::{Size, registry, report, runner};

fn holds(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let experiment = registry::find(name).unwrap();
    let options = runner::Options::new(folder.path().into(), Size::Reduced);
    let finished = runner::run(experiment, &options, &|_| {}).unwrap();
    let failing: Vec<_> = finished
        .outcome
        .criteria
        .iter()
        .filter(|c| !c.passed)
        .collect();
    assert!(failing.is_empty(), "{failing:#?}");
    let outcome = &finished.outcome;
    assert!(!outcome.criteria.is_empty());
    assert!(outcome.criteria.len() + outcome.reported.len() >= 3);
    let page = report::write(folder.path(), experiment, &finished).unwrap();
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("All criteria hold.") && html.contains("<table>"));
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
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["experiment"], name);
    assert_eq!(json["passed"], true);
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
