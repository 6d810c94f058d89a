"""What several tests use."""

import pathlib

import pytest

import esker

BOX = """
duration = 0.2
step = 1e-3
record.every = 0.02
record.contacts = true
material.glass = { density = 2500, young = 5e7, poisson = 0.3 }
material.steel = { density = 7800, young = 1e8, poisson = 0.3 }
pair = [{ materials = ["glass", "glass"], friction = 0.5, restitution = 0.3 }]

[[wall]]
name = "bin"
shape = "box"
size = [0.06, 0.06, 0.12]
material = "glass"

[[grains]]
place = "lattice"
count = 60
diameter = 0.01
material = "glass"
region = { box = [[-0.0275, -0.0275, -0.055], [0.0275, 0.0275, 0.055]] }

[[probe]]
name = "load"
measure = "wall"
wall = "bin"
every = 0.05
"""

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture
def scene() -> esker.Scene:
    return esker.Scene.from_text(BOX, name="box")


@pytest.fixture
def simulation(scene: esker.Scene) -> esker.Simulation:
    return esker.Simulation(scene)


@pytest.fixture
def recorded(scene: esker.Scene, tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "run"
    with esker.Simulation(scene, folder=folder) as simulation:
        simulation.run()
    return folder
