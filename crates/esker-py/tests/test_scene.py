"""Scenes say what is wrong as `esker check` does, however they were made."""

import pathlib

import numpy as np
import pytest

import esker
from esker.scene import to_toml

from conftest import BOX, ROOT


def test_a_scene_in_code_is_the_scene_of_its_text() -> None:
    scene = esker.Scene(
        duration=0.2,
        step=np.float64(1e-3),
        material={"glass": {"density": 2500, "young": 5e7, "poisson": 0.3}},
        wall=[esker.Section(name="floor", shape="plane")],
        grains=[{"place": "column", "count": np.int64(3), "diameter": 0.01}],
    )
    scene.gravity = np.array([0.0, 0.0, -9.81])
    text = """
        duration = 0.2
        step = 1e-3
        gravity = [0, 0, -9.81]
        material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
        wall = [{ name = "floor", shape = "plane" }]
        grains = [{ place = "column", count = 3, diameter = 0.01 }]
    """
    one, other = esker.Simulation(scene), esker.Simulation(esker.Scene.from_text(text))
    one.run()
    other.run()
    assert one.state_hash == other.state_hash
    assert one.steps == 200


def test_what_is_wrong_is_told_as_the_program_does() -> None:
    wrong = BOX.replace("density = 2500", "densty = 2500").replace("count = 60", "count = -1")
    with pytest.raises(ValueError, match="did you mean `density`") as error:
        esker.Scene.from_text(wrong, name="box.toml").check()
    assert "box.toml:" in str(error.value)
    assert "count" in str(error.value)
    built = esker.Scene(duration=1.0, materiall={})
    with pytest.raises(ValueError, match="materiall"):
        esker.Simulation(built)


def test_values_that_no_scene_can_hold_are_type_errors() -> None:
    for value in (object(), {1: 2}, [object()]):
        with pytest.raises(TypeError):
            esker.Scene(duration=value).check()
    with pytest.raises(TypeError):
        esker.Scene.from_text(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        esker.Simulation(3)
    with pytest.raises(FileNotFoundError):
        esker.Scene.from_file("nowhere.toml")


def test_text_and_names_survive_the_way_to_toml() -> None:
    odd = 'a "b" \\ \n\t\x01 ü'
    tomllib = pytest.importorskip("tomllib")
    table = {
        "plain": 1,
        "odd key": {"inner": [1, 2.5, True, odd]},
        "list": [{"a": 1, "b": [{"c": 2}]}, {"a": 3}],
        "empty": [],
        "none": None,
    }
    read = tomllib.loads(to_toml(table))
    del table["none"]
    assert read == table


def test_a_scene_of_text_is_not_changed_by_keys() -> None:
    scene = esker.Scene.from_text(BOX)
    with pytest.raises(AttributeError):
        scene.duration = 2.0
    with pytest.raises(AttributeError, match="no key"):
        esker.Scene().duration  # noqa: B018


def test_shipped_scenes_are_read_from_their_folder() -> None:
    scene = esker.Scene.from_file(ROOT / "scenes" / "column.toml")
    checked = scene.check()
    assert checked.name == "column"
    assert pathlib.Path(ROOT, "scenes").exists()
