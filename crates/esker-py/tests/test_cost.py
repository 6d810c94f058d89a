"""What arrays cost. Times are not judged here: `python crates/esker-py/tests/cost.py` measures them."""

import esker


def test_an_array_is_made_once_per_state(simulation: esker.Simulation) -> None:
    first = simulation.grains.velocity
    assert all(simulation.grains.velocity is first for _ in range(10))
    simulation.set_velocity([0], [0, 0, 1])
    second = simulation.grains.velocity
    assert second is not first and second[0, 2] == 1.0 and first[0, 2] == 0.0
