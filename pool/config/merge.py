"""Laying values over each other: who sets what, what a checkout may do, and what is locked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from pool.config.files import BUILT_IN, Origin, Source
from pool.config.keys import Key, Trust, keys
from pool.config.narrow import allows_more, narrowed
from pool.config.settings import Settings
from pool_tools.frozen import frozen

UNFIELDED: Mapping[str, object] = {
    "thinking.level": "on",
    "mcp_servers": {},
    "hooks": {},
    "agents": {},
    "diagnostics.commands": {},
    "diagnostics.servers": {},
}
"""Defaults of keys that are no fields of `Settings`, or other values there; of the rest it is what the field has."""


@cache
def defaults() -> Mapping[str, object]:
    """What each key is where nobody sets it."""
    settings = Settings(workspace=Path())
    return {
        name: _field(settings, key.field)
        if key.field and not key.path and name not in UNFIELDED
        else UNFIELDED.get(name, "")
        for name, key in keys().items()
    }


def _field(settings: Settings, path: str) -> object:
    value: Any = settings
    for part in path.split("."):
        value = getattr(value, part)
    # Enumerations are kept as text until settings are built; an empty mode stays None.
    return str(value.value) if hasattr(value, "value") else value


@frozen
class Step:
    """Values of one layer. source is the file, if it is one; prefix comes before the keys' names there."""

    values: Mapping[str, object]
    layer: str
    source: Source | None = None
    prefix: str = ""
    places: Mapping[str, str] | None = None

    def origin(self, name: str) -> Origin:
        """Where a value of this step comes from."""
        if self.source is None:
            return Origin(self.layer, (self.places or {}).get(name, ""))
        found = self.source.origin(self.prefix + name)
        return Origin(self.layer, found.place, found.line)


class Merge:
    """Values laid over each other, step by step.

    ignored are values of a checkout that would have widened, by the path of their file. capped are limits that a
    checkout lowered without being trusted, or that are locked.
    """

    def __init__(self) -> None:
        self.values: dict[str, object] = dict(defaults())
        self.ignored: dict[Path, list[str]] = {}
        self.capped: dict[str, object] = {}
        self.warnings: list[str] = []
        self._set_by: dict[str, tuple[int, Step]] = {}
        self._items: dict[tuple[str, str], Step] = {}
        self._steps = 0

    def lay(self, step: Step, *, trusted: bool = True) -> None:
        """Lay a step over what is there. trusted is False for a checkout that the user has not trusted."""
        self._steps += 1
        for name, given in step.values.items():
            key = keys()[name]
            value, said = _cut(step, key, given)
            if step.source is not None and step.source.checkout and not self._may(step, key, value, trusted=trusted):
                continue
            if said:
                self.warnings.append(said)
            self.values[name] = _joined(key, self.values[name], value)
            self._set_by[name] = (self._steps, step)
            if key.adds and isinstance(value, tuple):
                self._items |= {(name, str(item)): step for item in cast(tuple[object, ...], value)}

    def _may(self, step: Step, key: Key, value: object, *, trusted: bool) -> bool:
        source = step.source
        assert source is not None
        if key.trust is Trust.OWNER:
            place = source.at(step.prefix + key.name)
            self.warnings.append(f"{place}: {key.name} counts only in files of your own; it is ignored here")
            return False
        if trusted:
            return True
        if allows_more(key, value, self.values[key.name]):
            self.ignored.setdefault(source.path, []).append(step.prefix + key.name)
            return False
        if key.trust is Trust.LOWER:
            self.capped[key.name] = value
        return True

    def lock(self, source: Source) -> None:
        """Cut everything to what the system's file locks."""
        for name, limit in source.locked.items():
            key = keys()[name]
            value = self.values[name]
            cut = narrowed(key, value, limit)
            self.capped[name] = limit
            if cut == value:
                continue
            self.values[name] = cut
            _, step = self._set_by.get(name, (0, None))
            if step is not None and key.trust is not Trust.ADDS:
                what = "a value" if key.secret else f"{_plain(value)}"
                who = step.origin(name)
                self.warnings.append(f"{source.path} locks {name}: {what} ({who}) allows more, so it does not count")
            self._set_by[name] = (self._steps + 1, Step({}, "locked", source, "locked."))

    def order(self, name: str) -> int:
        """How late a key was set: higher is later, 0 never."""
        return self._set_by.get(name, (0, None))[0]

    def origin(self, name: str, item: str = "") -> Origin:
        """Where a key's value comes from, or an item of it if it is a list."""
        step = self._items.get((name, item)) or self._set_by.get(name, (0, None))[1]
        return step.origin(name) if step is not None else BUILT_IN

    def source(self, name: str) -> Source | None:
        """The file that set a key, if it was one."""
        _, step = self._set_by.get(name, (0, None))
        return step.source if step is not None else None


def _cut(step: Step, key: Key, value: object) -> tuple[object, str]:
    """What of a value may count where it stands at all, and what is to be said of the rest."""
    if step.source is None or not step.source.checkout or key.for_checkout is None:
        return value, ""
    left, said = key.for_checkout(value)
    return left, f"{step.source.at(step.prefix + key.name)}: {said}" if said else ""


def _joined(key: Key, old: object, new: object) -> object:
    if not key.adds:
        return new
    if isinstance(new, dict):
        return {**cast(dict[str, object], old or {}), **cast(dict[str, object], new)}
    return tuple(dict.fromkeys([*cast(tuple[object, ...], old or ()), *cast(tuple[object, ...], new)]))


def _plain(value: object) -> str:
    return repr(value)[:60]


def with_fields(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Settings with dotted fields replaced, each object once."""
    return cast(Settings, _replaced(settings, changes))


def _replaced(target: Any, changes: Mapping[str, object]) -> Any:
    from dataclasses import replace

    flat: dict[str, object] = {}
    nested: dict[str, dict[str, object]] = {}
    for path, value in changes.items():
        head, _, rest = path.partition(".")
        if rest:
            nested.setdefault(head, {})[rest] = value
        else:
            flat[head] = value
    for head, inner in nested.items():
        flat[head] = _replaced(getattr(target, head), inner)
    return replace(target, **flat)


def field_paths(value: object, lead: str = "") -> list[str]:
    """The dotted names of all fields of a dataclass, those of nested ones in their place."""
    out: list[str] = []
    assert is_dataclass(value)
    for one in fields(value):
        inner: object = getattr(value, one.name)
        is_group = is_dataclass(inner) and not isinstance(inner, type)
        out += field_paths(inner, f"{lead}{one.name}.") if is_group else [f"{lead}{one.name}"]
    return out
