"""Measures what Python costs: access to arrays of 1e5 grains, and stepping against the command line.

python crates/esker-py/tests/cost.py [path of the program esker]
"""

import json
import subprocess
import sys
import tempfile
import time
import timeit

import esker

SCENE = """
duration = {duration}
step = 1e-3
material.glass = {{ density = 2500, young = 5e7, poisson = 0.3 }}
wall = [{{ name = "bin", shape = "box", size = [{edge}, {edge}, {edge}] }}]
[[grains]]
place = "lattice"
count = {count}
diameter = 0.01
region = {{ box = [[-{half}, -{half}, -{half}], [{half}, {half}, {half}]] }}
"""


def box(count: int, duration: float) -> str:
    edge = 0.0125 * count ** (1 / 3) + 0.02
    return SCENE.format(count=count, duration=duration, edge=edge, half=0.5 * edge)


def access() -> None:
    simulation = esker.Simulation(esker.Scene.from_text(box(100_000, 1.0)))
    simulation.step()
    grains = simulation.grains
    for name in ("position", "velocity", "radius", "id"):
        start = time.perf_counter()
        getattr(grains, name)
        first = time.perf_counter() - start
        calls = 10_000
        again = timeit.timeit(lambda: getattr(simulation.grains, name), number=calls) / calls
        print(f"{name:10} first {1e3 * first:.2f} ms, again {1e6 * again:.2f} µs")


def stepping(program: str) -> None:
    text = box(2000, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/box.toml"
        with open(path, "w") as file:
            file.write(text)
        best = [float("inf")] * 3
        for trial in range(5):
            out = f"{folder}/cli{trial}"
            command = [program, "run", path, "-o", out, "--json", "--threads", "1"]
            printed = subprocess.run(command, capture_output=True, text=True, check=True)
            best[0] = min(best[0], json.loads(printed.stdout)["wall_seconds"])
            for k, run in ((1, lambda s: s.run()), (2, lambda s: [s.step() for _ in range(500)])):
                simulation = esker.Simulation(
                    esker.Scene.from_text(text), threads=1, folder=f"{folder}/py{k}{trial}"
                )
                start = time.perf_counter()
                run(simulation)
                best[k] = min(best[k], time.perf_counter() - start)
                simulation.close()
        print(f"command line {best[0]:.4f} s, run() {best[1]:.4f} s, 500 × step() {best[2]:.4f} s")


if __name__ == "__main__":
    access()
    if len(sys.argv) > 1:
        stepping(sys.argv[1])
