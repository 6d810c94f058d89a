"""Pictures of recordings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Optional

from .recording import Recording


class Image:
    """A picture that notebooks show."""

    def __init__(self, png: bytes) -> None:
        self._png = png

    @property
    def png(self) -> bytes:
        """The content of a PNG file."""
        return self._png

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a PNG file."""
        with open(path, "wb") as file:
            file.write(self._png)

    def _repr_png_(self) -> bytes:
        return self._png

    def __repr__(self) -> str:
        return f"<Image, {len(self._png)} bytes of PNG>"


def render(
    recording: Recording | str | os.PathLike[str],
    at: Optional[float] = None,
    *,
    color: str = "speed",
    view: str = "oblique",
    size: tuple[int, int] = (960, 720),
    range: Optional[tuple[float, float]] = None,
    zoom: float = 1.0,
    focus: Optional[tuple[float, float, float]] = None,
    clip: Sequence[str] = (),
    hide: Sequence[str] = (),
    chains: bool = False,
    joints: bool = False,
) -> Image:
    """Draws the frame of a recording nearest to a time (s), or the last one.

    color: speed, radius, material, force or height; view: oblique, front, side, top or a
    direction "x,y,z"; size in pixels; range: values at the ends of the colours; focus: point in
    the middle, m; clip: halves of space that are shown, such as "y<0.05"; hide: names of walls;
    chains: contacts as bars by normal force; joints: anchors and axes of joints of machines.
    """
    if not isinstance(recording, Recording):
        recording = Recording(recording)
    if len(recording) == 0:
        raise ValueError("the recording has no frames yet")
    index = len(recording) - 1 if at is None else recording.index_at(at)
    png = recording._file.render(
        recording._frames[index],
        color=color,
        view=view,
        size=size,
        range=range,
        zoom=zoom,
        focus=focus,
        clip=list(clip),
        hide=list(hide),
        chains=chains,
        joints=joints,
    )
    return Image(png)
