"""Simulations in Python are those of the command line, and cannot be broken from there."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import esker

from conftest import BOX


def test_the_hash_is_that_of_the_command_line(scene: esker.Scene, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "box.toml"
    path.write_text(BOX)
    command = [sys.executable, "-m", "esker", "run", str(path), "-o", str(tmp_path / "cli"), "--json"]
    output = subprocess.run(command, capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    simulation = esker.Simulation(scene, threads=1)
    assert simulation.run()
    assert simulation.state_hash == json.loads(output.stdout)["state_hash"]
    assert simulation.summary()["state_hash"] == simulation.state_hash


def test_steps_and_ends(simulation: esker.Simulation) -> None:
    nothing = simulation.report
    assert nothing is None
    simulation.step()
    simulation.step(4)
    assert simulation.steps == 5
    assert simulation.time == pytest.approx(5e-3)
    assert simulation.run(until=0.02) and simulation.steps == 20
    assert simulation.run(steps=3) and simulation.steps == 23
    report = simulation.report
    assert report is not None and report.step == 23 and report.grains == 60
    assert simulation.run() and simulation.time == pytest.approx(0.2)
    assert simulation.run(until=0.1), "an end that is past is reached"
    assert simulation.steps == 200
    with pytest.raises(ValueError):
        simulation.run(until=float("nan"))
    with pytest.raises(TypeError):
        simulation.run(until="soon")  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        simulation.step(-1)


def test_arrays_are_read_only_snapshots(simulation: esker.Simulation) -> None:
    grains = simulation.grains
    before = grains.position
    assert before.shape == (60, 3) and before.dtype == np.float64
    assert grains.position is before, "the same array until something changes"
    assert np.array_equal(grains.id, np.arange(60))
    assert grains.velocity.shape == grains.angular_velocity.shape == (60, 3)
    assert grains.orientation.shape == (60, 4)
    assert np.allclose(grains.radius, 0.005)
    assert np.allclose(grains.mass, 2500 * np.pi / 6 * 0.01**3)
    assert [simulation.materials[i] for i in set(grains.material)] == ["glass"]
    assert not grains.shape.any()
    with pytest.raises(ValueError, match="read-only"):
        before[0, 0] = 1.0
    kept = before.copy()
    simulation.step(50)
    assert np.array_equal(before, kept), "a snapshot does not change"
    after = grains.position
    assert after is not before and after[:, 2].mean() < before[:, 2].mean()
    simulation.close()
    assert np.array_equal(before, kept), "and outlives its simulation"


def test_contacts_carry_the_weight(simulation: esker.Simulation) -> None:
    simulation.run(until=0.2)
    simulation.run(until=1.0)
    contacts = simulation.contacts
    at_wall = contacts.wall >= 0
    assert len(contacts) == len(contacts.overlap) == len(contacts.grain)
    assert np.array_equal(at_wall, contacts.partner < 0)
    assert np.allclose(np.linalg.norm(contacts.normal, axis=1), 1.0)
    force = contacts.normal_force[at_wall, None] * contacts.normal[at_wall]
    force = (force + contacts.friction_force[at_wall]).sum(axis=0)
    weight = simulation.grains.mass.sum() * 9.81
    assert force[2] == pytest.approx(-weight, rel=0.05)
    assert simulation.walls["bin"].force[2] == pytest.approx(-weight, rel=0.05)
    assert contacts.point.shape == (len(contacts), 3)


def test_grains_come_go_and_are_pushed(simulation: esker.Simulation) -> None:
    simulation.step(10)
    ids = simulation.add_grains(
        [[0.0, 0.0, 0.05], [0.02, 0.0, 0.05]], 0.003, material="steel", velocity=[0, 0, -1]
    )
    assert list(ids) == [60, 61] and len(simulation.grains) == 62
    assert simulation.grains.material[-1] == simulation.materials.index("steel")
    assert np.array_equal(simulation.grains.velocity[-2:], [[0, 0, -1]] * 2)
    simulation.remove_grains(ids[0])
    simulation.remove_grains([3, 4])
    assert len(simulation.grains) == 59 and 3 not in simulation.grains.id
    simulation.set_velocity([0, 1], [[1, 0, 0], [0, 1, 0]])
    simulation.set_angular_velocity([0], [0, 0, 5])
    assert np.array_equal(simulation.grains.velocity[:2], [[1, 0, 0], [0, 1, 0]])
    assert np.array_equal(simulation.grains.angular_velocity[0], [0, 0, 5])
    mass = simulation.grains.mass[-1]
    before = simulation.grains.velocity[-1]
    simulation.apply_force(ids[1], mass * np.array([100.0, 0, 0]))
    simulation.step()
    assert (simulation.grains.velocity[-1] - before)[0] == pytest.approx(0.1)


def test_what_cannot_be_is_refused(simulation: esker.Simulation) -> None:
    before = simulation.state_hash
    with pytest.raises(KeyError, match="grain 999"):
        simulation.remove_grains([999])
    with pytest.raises(KeyError, match="glass, steel"):
        simulation.add_grains([[0, 0, 0]], 0.01, material="cheese")
    with pytest.raises(ValueError, match="radius"):
        simulation.add_grains([[0, 0, 0]], -0.01)
    with pytest.raises(ValueError, match="finite"):
        simulation.set_velocity([0], [np.nan, 0, 0])
    for wrong in ("fast", [1, 2], [[1, 2, 3]] * 3, None, [1j, 0, 0]):
        with pytest.raises(TypeError):
            simulation.set_velocity([0, 1], wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        simulation.remove_grains([0.5])
    with pytest.raises(TypeError):
        simulation.remove_grains([[0, 1]])
    with pytest.raises(KeyError):
        simulation.remove_grains([-1])
    simulation.remove_grains([])
    with pytest.raises(KeyError, match="bin"):
        simulation.walls["lid"]
    with pytest.raises(KeyError):
        simulation.bodies["arm"]
    with pytest.raises(ValueError, match="at least 1"):
        esker.Simulation(BOX_SCENE, threads=0)
    esker.Simulation(BOX_SCENE, threads=10**9).step()
    with pytest.raises(esker.SimulationError, match="record"):
        simulation.checkpoint()
    assert simulation.state_hash == before


BOX_SCENE = esker.Scene.from_text(BOX)


CART = """
step = 1e-3
duration = 1.0
gravity = [0, 0, 0]
material.steel = { density = 8000, young = 1e9 }
[[body]]
name = "cart"
shape = { box = [0.2, 0.1, 0.1] }
mass = 2
[[joint]]
name = "rail"
kind = "prismatic"
bodies = ["ground", "cart"]
anchor = [0, 0, 0]
axis = [1, 0, 0]
[[drive]]
name = "push"
joint = "rail"
kind = "force"
external = 4
"""


def test_a_drive_is_set_while_the_scene_runs() -> None:
    simulation = esker.Simulation(esker.Scene.from_text(CART))
    rail, push = simulation.joints["rail"], simulation.drives["push"]
    assert list(simulation.drives) == ["push"] and "rail" in simulation.joints
    simulation.step(100)
    assert simulation.bodies["cart"].velocity[0] == pytest.approx(0.2)
    push.set(-12.0)
    simulation.step(100)
    assert simulation.bodies["cart"].velocity[0] == pytest.approx(-0.4)
    assert push.impulse == pytest.approx(0.4 - 1.2)
    assert push.work == pytest.approx(0.5 * 2 * 0.4**2, rel=0.02)
    assert rail.slide == pytest.approx(0.01 + 0.02 - 0.03, abs=1e-3)
    assert rail.angle is None and rail.gap < 1e-9
    with pytest.raises(ValueError, match="finite"):
        push.set(float("nan"))
    with pytest.raises(KeyError, match="push"):
        simulation.drives["pull"]
    fixed = esker.Simulation(esker.Scene.from_text(CART.replace("external = 4", "value = 4")))
    with pytest.raises(ValueError, match="external = 0"):
        fixed.drives["push"].set(1.0)


def test_a_callable_leads_a_wall() -> None:
    scene = esker.Scene.from_text(BOX.replace('shape = "box"', 'shape = "box"\nside = "inside"'))
    simulation = esker.Simulation(scene)
    times: list[float] = []

    def shake(time: float) -> list[float]:
        times.append(time)
        return [0.002 * np.sin(100 * time), 0.0, 0.0]

    wall = simulation.walls["bin"]
    wall.drive(shake)
    simulation.step(20)
    assert times == pytest.approx([0.0] + [1e-3 * k for k in range(1, 21)])
    assert wall.position[0] == pytest.approx(0.002 * np.sin(2.0))
    expected = 2.0 * (np.sin(2.0) - np.sin(1.9))
    assert wall.velocity[0] == pytest.approx(expected, rel=1e-6)
    wall.drive(lambda time: ([0, 0, 0], [0, 0, time]))
    simulation.step(5)
    assert wall.angular_velocity[2] == pytest.approx(1.0)
    assert wall.orientation.shape == (4,)
    wall.drive(None)
    simulation.step(2)
    assert not wall.velocity.any()
    with pytest.raises(TypeError, match="drive"):
        wall.drive(lambda time: "left")

    def fail(time: float) -> list[float]:
        if time > simulation.time:
            raise ZeroDivisionError("by hand")
        return [0, 0, 0]

    wall.drive(fail)
    steps = simulation.steps
    with pytest.raises(ZeroDivisionError):
        simulation.step()
    assert simulation.steps == steps


def test_callbacks_look_change_and_stop(simulation: esker.Simulation) -> None:
    seen: list[float] = []

    def look(running: esker.Simulation) -> bool:
        assert running is simulation
        seen.append(float(running.grains.position[-1, 2]))
        if running.steps == 3:
            running.remove_grains([0])
        return running.steps < 7

    assert not simulation.run(callback=look)
    assert len(seen) == 7 and seen == sorted(seen, reverse=True)
    assert len(simulation.grains) == 59
    with pytest.raises(ZeroDivisionError):
        simulation.run(callback=lambda running: 1 / 0)  # type: ignore[arg-type,return-value]
    simulation.step()


def test_closed_simulations_say_so(scene: esker.Scene, tmp_path: pathlib.Path) -> None:
    with esker.Simulation(scene, folder=tmp_path / "run") as simulation:
        simulation.step(30)
        grains, wall = simulation.grains, simulation.walls["bin"]
        assert simulation.folder == tmp_path / "run"
    assert simulation.closed
    assert (tmp_path / "run" / "summary.json").exists()
    simulation.close()
    for use in (simulation.step, lambda: simulation.time, lambda: grains.id, lambda: wall.force):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(simulation)


def test_a_run_is_resumed_with_the_same_bits(scene: esker.Scene, tmp_path: pathlib.Path) -> None:
    unbroken = esker.Simulation(scene)
    unbroken.run()
    folder = tmp_path / "run"
    with esker.Simulation(scene, folder=folder) as simulation:
        simulation.run(steps=77)
    with pytest.raises(FileExistsError, match="overwrite"):
        esker.Simulation(scene, folder=folder)
    with pytest.raises(FileNotFoundError):
        esker.Simulation.resume(scene, tmp_path / "nowhere")
    other = esker.Scene.from_text(BOX.replace("friction = 0.5", "friction = 0.4"))
    with pytest.raises(esker.SimulationError, match="friction"):
        esker.Simulation.resume(other, folder)
    with esker.Simulation.resume(scene, folder, threads=1) as simulation:
        assert simulation.steps == 77
        simulation.run()
        assert simulation.state_hash == unbroken.state_hash


def test_two_threads_do_not_share_a_simulation(scene: esker.Scene) -> None:
    simulation = esker.Simulation(scene)
    answers: list[str] = []
    inside = threading.Event()

    def look() -> None:
        inside.wait()
        while not answers:
            try:
                simulation.steps
            except RuntimeError as error:
                answers.append(str(error))

    other = threading.Thread(target=look)
    other.start()
    inside.set()
    while not answers:
        simulation.run(steps=200)
    other.join()
    assert "another thread" in answers[0]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_leaves_a_checkpoint(tmp_path: pathlib.Path) -> None:
    handler = signal.getsignal(signal.SIGINT)
    program = f"""
import os, signal, threading, esker
scene = esker.Scene.from_text({BOX!r}.replace("duration = 0.2", "duration = 1e4"))
simulation = esker.Simulation(scene, folder={str(tmp_path / "run")!r})
# Where the tests run in the background, Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    simulation.run()
except KeyboardInterrupt:
    print(simulation.steps, simulation.state_hash)
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    steps, state_hash = output.stdout.split()
    scene = esker.Scene.from_text(BOX.replace("duration = 0.2", "duration = 1e4"))
    resumed = esker.Simulation.resume(scene, tmp_path / "run")
    assert (resumed.steps, resumed.state_hash) == (int(steps), state_hash)
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_step_that_fails_is_an_error(simulation: esker.Simulation) -> None:
    simulation.set_velocity([5], [np.finfo(float).max, 0, 0])
    with pytest.raises(esker.SimulationError, match="grain 5"):
        simulation.step()
    with pytest.raises(esker.SimulationError, match="grain 5"):
        simulation.step()


def test_progress_is_shown(
    simulation: esker.Simulation, capsys: pytest.CaptureFixture[str]
) -> None:
    simulation.run(progress=True)
    assert "0.200 of 0.200 s" in capsys.readouterr().err


def test_probes_give_rows(simulation: esker.Simulation) -> None:
    simulation.run(until=0.05)
    assert list(simulation.probe_rows) == ["load"]
    simulation.step()
    assert not simulation.probe_rows
