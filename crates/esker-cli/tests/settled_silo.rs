//! True Coulomb friction in a settled silo, solved to 1e-8: where sweeps alone stall.

use esker_contact::{BodyOperator, ContactOperator};
use esker_solver::{Status, Stopping, solve_by_name};
use esker_world::World;
use std::path::Path;

#[test]
fn a_settled_silo_is_solved_to_1e_8_by_every_second_order_method() {
    let text = include_str!("../../../scenes/silo.toml").replace("count = 1000", "count = 250");
    let scene = esker_scene::parse(&text, "silo", Path::new("scenes")).expect("valid");
    let mut world = World::new(&scene.world).expect("valid");
    for _ in 0..250 {
        world.step().expect("no failure");
    }
    let problem = world.problem_ahead().expect("a problem");
    let operator = BodyOperator::new(&problem).expect("valid");
    assert!(operator.contacts() > 600);
    let stop = Stopping {
        tolerance: 1e-8,
        iterations: 20_000,
        ..Default::default()
    };
    for name in ["newton", "interior-point", "auto"] {
        let mut impulses = vec![0.0; operator.rows()];
        let report = solve_by_name(name, &operator, &mut impulses, &stop).expect("known");
        assert_eq!(report.status, Status::Converged, "{name}: {report:#?}");
        assert!(report.residuals.natural_map <= 1e-8);
    }
}
