//! The problem files of others, in `../shared/benchmarks/contact-problems` seen
//! from the workspace; skipped aloud where that folder is missing, and failing there in
//! CI.

use esker_contact::ContactOperator;
use esker_record::fclib;
use std::io::Write;
use std::path::Path;

/// Says that nothing is tested, past the test harness, which swallows what
/// passing tests print. In CI that is a failure.
fn skip() {
    assert!(
        std::env::var_os("CI").is_none(),
        "the external problems are not here"
    );
    let message = b"SKIPPED: the external problems are not here\n";
    std::io::stderr()
        .write_all(message)
        .expect("it can be said");
}

#[test]
fn every_external_problem_is_read_with_its_published_size() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/benchmarks/contact-problems");
    if !folder.is_dir() {
        skip();
        return;
    }
    for (name, contacts, block) in [
        ("Box_Stacks-i0035-31-0", 31, 3),
        ("Capsules-i97-269", 216, 3),
        ("Confeti-ex03-Fc3D-SBM", 54, 3),
        ("LMGC_GlobalFrictionContactProblem00046", 9, 3),
        ("RockPile_tob1", 463, 3),
        ("Spheres-i099-356-679", 356, 3),
        ("fc2d_granularflowonwall_02020_00213", 2020, 2),
        ("local_problem_test", 48, 3),
    ] {
        let problem = fclib::read_assembled(&folder.join(name).with_extension("hdf5"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (problem.contacts(), problem.block()),
            (contacts, block),
            "{name}"
        );
    }
}
