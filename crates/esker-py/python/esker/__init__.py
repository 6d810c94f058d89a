"""Esker: granular matter simulated with the nonsmooth discrete element method.

    import esker

    scene = esker.Scene.from_file("scenes/drum.toml")
    with esker.Simulation(scene, folder="out/drum") as simulation:
        simulation.run(until=1.0, progress=True)
        print(simulation.grains.position.mean(axis=0))

    recording = esker.Recording("out/drum")
    esker.render(recording)

SI units throughout: metre, kilogram, second, newton, radian.
"""

from ._native import (
    Bodies,
    Body,
    Contacts,
    Drive,
    Drives,
    Grains,
    Joint,
    Joints,
    Simulation,
    SimulationError,
    StepReport,
    Wall,
    Walls,
    __version__,
)
from .picture import Image, render
from .recording import Frame, Recording
from .scene import Scene, Section
from .tools import experiment, experiments, measure, solve

__all__ = [
    "Bodies",
    "Body",
    "Contacts",
    "Drive",
    "Drives",
    "Frame",
    "Grains",
    "Image",
    "Joint",
    "Joints",
    "Recording",
    "Scene",
    "Section",
    "Simulation",
    "SimulationError",
    "StepReport",
    "Wall",
    "Walls",
    "__version__",
    "experiment",
    "experiments",
    "measure",
    "render",
    "solve",
]
