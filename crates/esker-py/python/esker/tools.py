"""Measures, contact solvers and experiments."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Optional

from . import _native
from .recording import Recording


def measure(
    recording: Recording | str | os.PathLike[str],
    *measures: str,
    at: Optional[float] = None,
    axis: tuple[float, float, float] = (0.0, 1.0, 0.0),
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> dict[str, Optional[float]]:
    """Measures the frame of a recording nearest to a time (s), or the last one.

    measures: pile (height, angle of repose), drum (angle of the bed; axis and centre of the drum),
    motion, overlap, network, walls, orientation, probes. Keys end with their units; None stands
    where there is nothing to measure. Without names: pile and motion.
    """
    if not isinstance(recording, Recording):
        recording = Recording(recording)
    if len(recording) == 0:
        raise ValueError("the recording has no frames yet")
    index = len(recording) - 1 if at is None else recording.index_at(at)
    wanted = list(measures) or ["pile", "motion"]
    place = recording._frames[index]
    return recording._file.measure(wanted, place, (axis, centre))


def solve(
    problem: str | os.PathLike[str],
    solver: str | Sequence[str] = "auto",
    *,
    tolerance: float = 1e-8,
    time_limit: float = 60.0,
    iterations: int = 10_000_000,
    law: str = "coulomb",
) -> list[dict[str, Any]]:
    """Solves one contact problem (an FCLIB file, or one of `esker run --dump-step`) with solvers by
    name, or with "all".

    tolerance: residual that counts as converged (natural map over the norm of q); time_limit in
    s per solver; law: coulomb or associated. Each dict has solver, status, natural_map and other
    residuals, iterations, products, seconds, and history with arrays to plot.
    """
    names = [solver] if isinstance(solver, str) else list(solver)
    limits = (float(tolerance), float(time_limit), int(iterations))
    return _native.solve(os.fspath(problem), names, limits, law)


def experiments() -> list[dict[str, Any]]:
    """The experiments of the literature: name, paper, shows, seconds_full, seconds_reduced."""
    listed: list[dict[str, Any]] = json.loads(_native.experiments())
    return listed


def experiment(
    name: str,
    *,
    full: bool = False,
    folder: str | os.PathLike[str] = "experiments",
    workers: Optional[int] = None,
) -> dict[str, Any]:
    """Runs a published experiment, writes its report to a folder and returns its verdict with all
    criteria. Cases that are finished are kept in the folder and not run again."""
    verdict = _native.experiment(name, full, os.fspath(folder), workers)
    judged: dict[str, Any] = json.loads(verdict)
    return judged
