"""Recordings: frames and time series as numpy arrays, read as they are asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union, overload

import numpy as np
import numpy.typing as npt

from ._native import RecordingFile

if TYPE_CHECKING:
    import pandas
    import xarray

_Floats = npt.NDArray[np.float64]


class Frame:
    """The grains at one time, in the order of ids. Fields that were not recorded raise
    AttributeError.

    time (s), step, id (n,), position (n, 3) m, velocity (n, 3) m/s, angular_velocity (n, 3)
    rad/s, orientation (n, 4), radius (n,) m, mass (n,) kg, material (n,), and contacts, a dict of
    arrays as those of Simulation.contacts.
    """

    time: float
    step: int
    id: npt.NDArray[np.uint64]
    position: _Floats
    velocity: _Floats
    angular_velocity: _Floats
    orientation: _Floats
    radius: _Floats
    mass: _Floats
    material: npt.NDArray[np.uint16]
    contacts: dict[str, npt.NDArray[Any]]

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.__dict__.update(arrays)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"this frame has no {name!r}: the scene's [record] fields say what is recorded"
        )

    def __len__(self) -> int:
        return len(self.id)

    @property
    def fields(self) -> list[str]:
        """Names of the arrays that it has, by grain."""
        return [name for name in self.__dict__ if name not in ("time", "step", "contacts")]

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row per grain, by id; vectors become columns _x, _y, _z (and _w)."""
        import pandas

        columns: dict[str, npt.NDArray[Any]] = {}
        for name in self.fields:
            array = getattr(self, name)
            if name == "id":
                continue
            if array.ndim == 1:
                columns[name] = array
            else:
                for part, axis in zip(array.T, "xyzw"):
                    columns[f"{name}_{axis}"] = part
        return pandas.DataFrame(columns, index=pandas.Index(self.id, name="id"))

    def __repr__(self) -> str:
        return f"<Frame at {self.time:.6g} s: {len(self)} grains>"


class Recording(Sequence[Frame]):
    """The recording of a run: `Recording("out/drum")`, a run's folder or its file.

    recording[i] reads a frame, recording[a:b] is a part of the recording that reads its frames as
    they are asked for. A recording that is being written shows what was there when it was opened,
    until refresh().
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = RecordingFile(os.fspath(path))
        self._part: range | None = None

    @property
    def _frames(self) -> range:
        return range(len(self._file.frames()["time"])) if self._part is None else self._part

    @property
    def path(self) -> str:
        """Its file."""
        return os.fspath(self._file.path)

    @property
    def header(self) -> dict[str, Any]:
        """What is known before the first frame: name, scene (its text), version, materials,
        gravity (m/s²), step (s), walls, probes, has_contacts."""
        return self._file.header()

    @property
    def gaps(self) -> list[str]:
        """What is missing of the run, in words."""
        return self._file.gaps()

    @property
    def times(self) -> _Floats:
        """Times of the frames, s."""
        times: _Floats = self._file.frames()["time"]
        return times if self._part is None else times[self._part]

    @property
    def steps(self) -> npt.NDArray[np.uint64]:
        """Steps done at the frames."""
        steps: npt.NDArray[np.uint64] = self._file.frames()["step"]
        return steps if self._part is None else steps[self._part]

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> Frame: ...

    @overload
    def __getitem__(self, index: slice) -> Recording: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Frame, Recording]:
        frames = self._frames
        if isinstance(index, slice):
            part = object.__new__(Recording)
            part._file, part._part = self._file, frames[index]
            return part
        try:
            place = frames[index]
        except IndexError:
            raise IndexError(f"there is no frame {index}: there are {len(frames)}") from None
        return Frame(self._file.frame(place))

    def at(self, time: float) -> Frame:
        """The frame nearest to a time, s."""
        return self[self.index_at(time)]

    def index_at(self, time: float) -> int:
        """The index of the frame nearest to a time, s."""
        times = self.times
        if len(times) == 0:
            raise IndexError("the recording has no frames yet")
        return int(np.argmin(np.abs(times - time)))

    def between(self, start: float, end: float) -> Recording:
        """The frames from one time to another, s, both included."""
        times = self.times
        return self[int(np.searchsorted(times, start)) : int(np.searchsorted(times, end, "right"))]

    def refresh(self) -> None:
        """Looks again at a recording that is being written."""
        self._file.refresh()

    def follow(self, timeout: float = 60.0, pause: float = 0.2) -> Iterator[Frame]:
        """All frames, then those to come, until none has come for `timeout` seconds."""
        if self._part is not None:
            raise ValueError("a part of a recording does not grow")
        index, last = 0, time.monotonic()
        while True:
            while index < len(self):
                yield self[index]
                index, last = index + 1, time.monotonic()
            if time.monotonic() - last > timeout:
                return
            time.sleep(pause)
            self.refresh()

    @property
    def scalars(self) -> dict[str, _Floats]:
        """Scalars of all steps, by name: time (s), kinetic_energy (J), contacts, …"""
        return self._file.scalars()

    def wall_loads(self, wall: str) -> dict[str, _Floats]:
        """Loads of a wall in all steps: time (s), force (n, 3) N, torque (n, 3) N m, power W."""
        return self._file.wall_loads(wall)

    def probe(self, name: str) -> dict[str, _Floats]:
        """Rows of a probe of the scene: time (s), and its columns by name."""
        return self._file.probe(name)

    def to_pandas(self) -> pandas.DataFrame:
        """Scalars of all steps as a table, by time."""
        import pandas

        scalars = dict(self.scalars)
        times = pandas.Index(scalars.pop("time"), name="time")
        return pandas.DataFrame(scalars, index=times)

    def to_xarray(self, fields: Sequence[str] = ("position", "velocity")) -> xarray.Dataset:
        """Frames as a dataset over time and id; grains that are not there are not numbers. All
        frames are read: take a part of a long recording first."""
        import xarray

        frames = list(self)
        empty = np.zeros(0, dtype=np.uint64)
        ids = np.unique(np.concatenate([frame.id for frame in frames] or [empty]))
        data: dict[str, Any] = {}
        for field in fields:
            arrays = [getattr(frame, field) for frame in frames]
            shape = arrays[0].shape[1:] if arrays else ()
            table = np.full((len(frames), len(ids), *shape), np.nan)
            for row, frame, array in zip(table, frames, arrays):
                row[np.searchsorted(ids, frame.id)] = array
            dimensions = ["time", "id"]
            if shape:
                dimensions.append("axis" if shape == (3,) else "quaternion")
            data[field] = (dimensions, table)
        coordinates = {"time": self.times, "id": ids, "axis": ["x", "y", "z"]}
        return xarray.Dataset(data, coords=coordinates)

    def __repr__(self) -> str:
        return f"<Recording {self.path}: {len(self)} frames>"
