"""Opens what `esker run` and `esker export` wrote with the tools of others.

usage: check_outputs.py RUN_FOLDER      (after `esker export RUN_FOLDER`)

h5py reads the recording, VTK's own reader the exports; both must find what the
recording's tables say.
"""

import csv
import sys
from pathlib import Path

import h5py
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader


def read_steps(path):
    """Yields (time, poly data) of every step."""
    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    for step in range(reader.GetNumberOfSteps()):
        reader.SetStep(step)
        reader.Update()
        yield reader.GetTimeValue(), reader.GetOutputDataObject(0)


def main(folder):
    export = folder / "export"
    with h5py.File(folder / "recording.h5") as recording:
        frames = recording["frames"][:]
        grains = recording["grains"]
        scalars = recording["scalars"][:]
        walls = recording["wall_states"][:]
        triangles = recording["walls/triangle"][:]
        names = recording["walls/name"][:]
        assert recording.attrs["format"] == "Esker recording"
        assert grains.attrs["position.unit"] == "m"
        assert len(frames) > 1 and len(scalars) == scalars["step"][-1]
        assert len(walls) == len(frames) * len(names)

        count = 0
        for frame, (time, data) in zip(frames, read_steps(export / "grains.vtkhdf"), strict=True):
            rows = grains[frame["first_grain"] : frame["first_grain"] + frame["grains"]]
            assert time == frame["time"]
            assert data.GetNumberOfPoints() == data.GetNumberOfVerts() == len(rows)
            points = vtk_to_numpy(data.GetPoints().GetData())
            assert np.array_equal(points, rows["position"].astype(float) + recording["about/origin"][:])
            for name in grains.dtype.names:
                if name != "position":
                    found = vtk_to_numpy(data.GetPointData().GetArray(name))
                    assert np.array_equal(found, rows[name].astype(float)), name
            count += 1

        for step, (time, data) in enumerate(read_steps(export / "walls.vtkhdf")):
            assert data.GetNumberOfPolys() == len(triangles)
            assert data.GetCellData().GetArray("wall").GetRange()[1] == len(names) - 1
        assert step + 1 == len(frames)

        if "contacts" in recording:
            impulse_step = recording["about/impulse_step"][()]
            contacts = recording["contacts"]
            steps = read_steps(export / "contacts.vtkhdf")
            for frame, (time, data) in zip(frames, steps, strict=True):
                first = frame["first_contact"]
                rows = contacts[first : first + frame["contacts"]]
                assert data.GetNumberOfLines() == len(rows)
                if len(rows):
                    force = vtk_to_numpy(data.GetCellData().GetArray("normal_force"))
                    expected = rows["normal_impulse"].astype(float) / impulse_step
                    assert np.allclose(force, expected, rtol=1e-15)

        names = list(recording["joints/name"].asstr())
        states = recording["joint_states"]
        assert states.attrs["drive_torque.unit"] == "N m" and len(states) == len(frames) * len(names)
        with open(export / "joints.csv", newline="") as table:
            labels = list(csv.DictReader(table))
        assert [label["name"] for label in labels] == names
        assert [label["kind"] for label in labels] == ["revolute", "prismatic"]
        assert [label["drives"] for label in labels] == ["motor", ""]
        steps = read_steps(export / "joints.vtkhdf")
        for index, (frame, (time, data)) in enumerate(zip(frames, steps, strict=True)):
            rows = states[index * len(names) : (index + 1) * len(names)]
            assert time == frame["time"] and data.GetNumberOfVerts() == len(names)
            assert np.array_equal(vtk_to_numpy(data.GetPoints().GetData()), rows["anchor"])
            for name in ["axis", "force", "torque", "drive_force", "drive_torque", "power", "gap", "tilt"]:
                found = vtk_to_numpy(data.GetPointData().GetArray(name))
                assert np.array_equal(found, rows[name]), name
            for name, has in [("angle", [True, False]), ("slide", [False, True])]:
                assert np.array_equal(np.isfinite(rows[name]), has), name
                found = vtk_to_numpy(data.GetPointData().GetArray(name))
                assert np.array_equal(found, np.nan_to_num(rows[name])), name
        # A motor holds 4 rad/s, and its work is that of all frames.
        assert abs(rows["angle"][0] / time - 4.0) < 0.01
        power = states[:]["power"].reshape(len(frames), len(names))[1:, 0]
        assert np.isclose(np.sum(power * np.diff(frames["time"])), rows["work"][0])

        fall = recording["probes/fall"][:]
        surface = recording["probes/surface"]
        assert surface.attrs["height.unit"] == "m" and surface[:]["height"].shape[1] == 5
        with open(folder / "probes.csv", newline="") as table:
            rows = list(csv.DictReader(table))
        flow = [row for row in rows if row["fall mass_flow (kg/s)"]]
        assert len(flow) == len(fall) > 5 and fall["number"][-1] > 0
        assert [float(row["fall mass_flow (kg/s)"]) for row in flow] == list(fall["mass_flow"])

    with open(export / "scalars.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(scalars)
    assert float(rows[-1]["kinetic_energy (J)"]) == scalars["kinetic_energy"][-1]
    print(f"{folder}: h5py and VTK agree on {count} frames")


main(Path(sys.argv[1]))
