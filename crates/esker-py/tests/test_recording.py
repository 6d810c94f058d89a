"""Recordings are read as numpy arrays, as far as they are asked for."""

import os
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

import esker

from conftest import ROOT


def test_frames_are_those_of_the_run(scene: esker.Scene, recorded: pathlib.Path) -> None:
    recording = esker.Recording(recorded)
    assert len(recording) == 11
    assert recording.times == pytest.approx(np.arange(11) * 0.02)
    assert list(recording.steps) == list(range(0, 201, 20))
    assert recording.header["name"] == "box" and recording.header["walls"] == ["bin"]
    assert recording.gaps == []
    frame = recording[-1]
    simulation = esker.Simulation(scene)
    simulation.run()
    assert np.array_equal(frame.id, simulation.grains.id)
    assert np.allclose(frame.position, simulation.grains.position, atol=1e-7)
    assert len(frame.contacts["grain"]) == len(simulation.contacts)
    assert np.allclose(
        np.sort(frame.contacts["normal_force"]), np.sort(simulation.contacts.normal_force), rtol=1e-5
    )
    with pytest.raises(IndexError):
        recording[11]
    with pytest.raises(AttributeError, match="fields"):
        frame.colour  # noqa: B018


def test_parts_read_nothing_until_asked(recorded: pathlib.Path) -> None:
    recording = esker.Recording(recorded)
    part = recording[2:8:2]
    assert len(part) == 3 and part.times == pytest.approx([0.04, 0.08, 0.12])
    assert part[1].time == pytest.approx(0.08) and part[-1].time == pytest.approx(0.12)
    assert [frame.step for frame in part] == [40, 80, 120]
    assert len(recording.between(0.05, 0.1)) == 3
    assert recording.at(0.099).time == pytest.approx(0.1)
    assert len(part[:0]) == 0


def test_time_series(recorded: pathlib.Path) -> None:
    recording = esker.Recording(recorded)
    scalars = recording.scalars
    assert len(scalars["time"]) == 200 and "kinetic_energy" in scalars
    loads = recording.wall_loads("bin")
    assert loads["force"].shape == (200, 3)
    probe = recording.probe("load")
    assert list(probe["time"]) == pytest.approx([0.05, 0.1, 0.15, 0.2])
    for wrong in (recording.wall_loads, recording.probe):
        with pytest.raises(ValueError, match="there are"):
            wrong("nothing")


def test_tables_of_others(recorded: pathlib.Path) -> None:
    pytest.importorskip("pandas")
    recording = esker.Recording(recorded)
    table = recording.to_pandas()
    assert table.index.name == "time" and len(table) == 200
    grains = recording[-1].to_pandas()
    assert list(grains.index) == list(range(60)) and "position_z" in grains.columns
    pytest.importorskip("xarray")
    data = recording[3:6].to_xarray()
    assert data["position"].shape == (3, 60, 3)
    assert float(data["position"].isel(time=0, id=5, axis=2)) == recording[3].position[5, 2]


def test_a_recording_is_read_while_it_is_written(
    scene: esker.Scene, tmp_path: pathlib.Path
) -> None:
    simulation = esker.Simulation(scene, folder=tmp_path / "run")
    simulation.run(until=0.06)
    simulation.checkpoint()
    recording = esker.Recording(tmp_path / "run")
    assert len(recording) == 4
    followed = recording.follow(timeout=0.0)
    assert [next(followed).step for _ in range(4)] == [0, 20, 40, 60]
    simulation.run(until=0.1)
    simulation.checkpoint()
    assert len(recording) == 4
    recording.refresh()
    assert len(recording) == 6
    simulation.close()


def test_what_is_not_there_is_said(tmp_path: pathlib.Path, recorded: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        esker.Recording(tmp_path / "nowhere.h5")
    (tmp_path / "text.h5").write_text("no recording")
    with pytest.raises(esker.SimulationError):
        esker.Recording(tmp_path / "text.h5")
    recording = esker.Recording(recorded)
    os.remove(recording.path)
    with pytest.raises(FileNotFoundError):
        recording.refresh()
    assert len(recording) == 11, "what is open stays readable"


def test_measures_and_pictures(recorded: pathlib.Path, tmp_path: pathlib.Path) -> None:
    measured = esker.measure(recorded, "pile", "network")
    assert 0 < (measured["height_m"] or 0) < 0.12 and measured["coordination"]
    assert "mean_speed_m_per_s" in esker.measure(esker.Recording(recorded), at=0.02)
    with pytest.raises(ValueError, match="no measure"):
        esker.measure(recorded, "taste")
    image = esker.render(recorded, at=0.1, size=(64, 48), color="height", view="front")
    assert image._repr_png_().startswith(b"\x89PNG")
    image.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == image.png
    options: list[dict[str, Any]] = [{"color": "taste"}, {"view": "in"}, {"size": (1, 1)}, {"hide": ["lid"]}]
    for wrong in options:
        with pytest.raises(ValueError):
            esker.render(recorded, **wrong)
    with pytest.raises(TypeError):
        esker.render(recorded, size="large")  # type: ignore[arg-type]


def test_problems_are_solved(scene: esker.Scene, tmp_path: pathlib.Path) -> None:
    (tmp_path / "box.toml").write_text(scene.text)
    folder = tmp_path / "run"
    from subprocess import run

    command = ["run", str(tmp_path / "box.toml"), "-o", str(folder), "--dump-step", "150"]
    run([sys.executable, "-m", "esker", *command], check=True, capture_output=True)
    reports = esker.solve(folder / "problem-150.esker", ["gauss-seidel", "auto"], tolerance=1e-6)
    assert [report["status"] for report in reports] == ["converged", "converged"]
    assert len(reports[0]["history"]["residual"]) > 0
    with pytest.raises(ValueError, match="solver"):
        esker.solve(folder / "problem-150.esker", "magic")
    with pytest.raises(FileNotFoundError):
        esker.solve("nowhere.hdf5")
    with pytest.raises(ValueError):
        esker.solve(ROOT / "README.md")


def test_experiments_are_listed_and_run(tmp_path: pathlib.Path) -> None:
    names = [about["name"] for about in esker.experiments()]
    assert "column" in names
    with pytest.raises(ValueError, match="column"):
        esker.experiment("colum", folder=tmp_path)


def test_the_command_line_is_the_program(recorded: pathlib.Path) -> None:
    from subprocess import run

    esker_main = [sys.executable, "-m", "esker"]
    info = run([*esker_main, "info", str(recorded)], capture_output=True, text=True)
    assert info.returncode == 0 and "60" in info.stdout
    wrong = run([*esker_main, "run", "nowhere.toml"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "nowhere.toml" in wrong.stderr
    assert run([*esker_main, "--no-such"], capture_output=True).returncode == 2
