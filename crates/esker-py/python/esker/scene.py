"""Scenes: from a file, from text, or built in code with the keys of scene files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Union

from ._native import CheckedScene

_Path = Union[str, "os.PathLike[str]"]
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


class Section(dict[str, Any]):
    """A part of a scene: a dict whose keys are attributes, too.

    >>> floor = Section(name="floor", shape="plane")
    >>> floor.position = [0, 0, -0.1]
    """

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"this section has no key {key!r}") from None

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value

    def __delattr__(self, key: str) -> None:
        try:
            del self[key]
        except KeyError:
            raise AttributeError(f"this section has no key {key!r}") from None


class Scene:
    """What is simulated.

    ``Scene(duration=1.0, step=1e-3, material={...}, wall=[...], ...)`` takes the keys of scene
    files (docs/src/scene-format.md): tables are dicts or Sections, ``[[wall]]`` and the like are
    lists of them. What is wrong is found when a simulation is made, or by check(), with the
    messages of ``esker check``; numbers may be numpy's.

    >>> scene = Scene(duration=1.0, material={"glass": {"density": 2500, "young": 5e7}})
    >>> scene.wall = [Section(name="floor", shape="plane")]
    >>> scene.grains = [Section(place="column", count=3, diameter=0.01)]
    >>> scene.check().step > 0
    True
    """

    keys: Section
    """Its keys, where it is built in code."""

    def __init__(self, /, **keys: Any) -> None:
        self._set(keys=Section(keys), source=None, name="scene", folder=".")

    def _set(self, **parts: Any) -> None:
        for name, part in parts.items():
            object.__setattr__(self, "keys" if name == "keys" else f"_{name}", part)

    @classmethod
    def from_file(cls, path: _Path) -> Scene:
        """The scene of a file. Files that it names are looked up beside it."""
        path = os.fspath(path)
        if not isinstance(path, str):
            raise TypeError("the path of a scene must be text")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        return cls.from_text(text, name=path, folder=os.path.dirname(path) or ".")

    @classmethod
    def from_text(cls, text: str, *, name: str = "scene", folder: _Path = ".") -> Scene:
        """The scene that a text in TOML is; files that it names are looked up in `folder`."""
        if not isinstance(text, str):
            raise TypeError(f"a scene's text must be a str, not {type(text).__name__}")
        scene = cls()
        scene._set(source=text, name=name, folder=os.fspath(folder))
        return scene

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        return getattr(self.keys, key)

    def __setattr__(self, key: str, value: Any) -> None:
        if self._source is not None:
            raise AttributeError("a scene that was read as text is changed as text")
        self.keys[key] = value

    def __delattr__(self, key: str) -> None:
        delattr(self.keys, key)

    @property
    def text(self) -> str:
        """The scene as the text of a scene file."""
        return to_toml(self.keys) if self._source is None else str(self._source)

    def check(self) -> CheckedScene:
        """Checks the scene and places its grains. Raises ValueError with everything that is
        wrong, as `esker check` tells it."""
        return CheckedScene.parse(self.text, self._name, self._folder)

    def __repr__(self) -> str:
        return f"<Scene {self._name}, {len(self.text.splitlines())} lines>"


def to_toml(table: Mapping[str, Any]) -> str:
    """A table as TOML: plain values first, then tables and lists of tables by their names."""
    lines: list[str] = []
    _write(table, "", lines)
    return "\n".join(lines) + "\n"


def _write(table: Mapping[str, Any], prefix: str, lines: list[str]) -> None:
    later: list[tuple[str, Any]] = []
    for key, value in table.items():
        if not isinstance(key, str):
            raise TypeError(f"keys of a scene are str, not {type(key).__name__}: {key!r}")
        if value is None:
            continue
        if _is_list_of_tables(value):
            later.append((prefix + _key(key), value))
        else:
            lines.append(f"{_key(key)} = {_value(value, prefix + key)}")
    for name, sections in later:
        for section in sections:
            lines.append(f"\n[[{name}]]")
            _write(section, name + ".", lines)


def _is_list_of_tables(value: Any) -> bool:
    is_list = isinstance(value, (list, tuple)) and len(value) > 0
    return is_list and all(isinstance(part, Mapping) for part in value)


def _key(key: str) -> str:
    return key if _BARE_KEY.match(key) else _text(key)


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    # Other control characters have no short form.
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\u{ord(c.group()):04x}", escaped) + '"'


def _value(value: Any, path: str) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, os.PathLike):
        return _text(os.fspath(value))
    if isinstance(value, Mapping):
        parts = (f"{_key(k)} = {_value(v, f'{path}.{k}')}" for k, v in value.items())
        return "{ " + ", ".join(parts) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(part, path) for part in value) + "]"
    kind = type(value).__name__
    raise TypeError(f"{path}: a scene holds numbers, text, lists and tables, not {kind}")
