"""A folder of wheels that pip can install Pool from without a network: what is still missing in it, per target."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

NEWEST_GLIBC, OLDEST_GLIBC = (2, 39), (2, 17)
"""Wheels for Linux are named after the C library that they need at least; 2.39 is Ubuntu 24.04's, and so DGX OS 7's."""


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of machine: Python as "3.12", and the processor as Linux names it."""

    python: str
    machine: str

    @property
    def version(self) -> tuple[int, int]:
        """The Python as numbers."""
        major, _, minor = self.python.partition(".")
        return int(major), int(minor)

    @property
    def platforms(self) -> list[str]:
        """Platform tags that wheels for it may have, the newest first."""
        glibc = range(NEWEST_GLIBC[1], OLDEST_GLIBC[1] - 1, -1)
        named = [f"manylinux_2_{minor}_{self.machine}" for minor in glibc]
        return [*named, f"manylinux2014_{self.machine}", f"linux_{self.machine}"]

    def tags(self) -> frozenset[Tag]:
        """The wheels that it can use."""
        version, name = self.version, f"cp{self.version[0]}{self.version[1]}"
        fitting = cpython_tags(version, abis=[name], platforms=self.platforms)
        return frozenset((*fitting, *compatible_tags(version, name, self.platforms)))

    def environment(self, extra: str) -> dict[str, str]:
        """What a requirement's marker is asked against."""
        return {
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": self.machine,
            "os_name": "posix",
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "extra": extra,
        }


def missing(folder: Path, wanted: Iterable[str], target: Target) -> list[str]:
    """Requirements that no wheel of a folder meets, of those wanted and of all that they lead to."""
    there = list(_wheels(folder, target))
    waiting = [(Requirement(text), "") for text in wanted]
    seen: set[str] = set()
    lacking: list[str] = []
    while waiting:
        requirement, asker = waiting.pop()
        key = f"{requirement}"
        if key in seen:
            continue
        seen.add(key)
        name = canonicalize_name(requirement.name)
        fitting = [
            (version, path)
            for one, version, path in there
            if one == name and requirement.specifier.contains(version, prereleases=True)
        ]
        if not fitting:
            lacking.append(f"{requirement.name}{requirement.specifier}" + (f" (for {asker})" if asker else ""))
            continue
        _, path = max(fitting)
        waiting += [(below, name) for below in _below(path, requirement.extras, target)]
    return sorted(lacking)


def _wheels(folder: Path, target: Target) -> Iterator[tuple[str, Version, Path]]:
    fits = target.tags()
    for path in sorted(folder.glob("*.whl")):
        name, version, _, tags = parse_wheel_filename(path.name)
        if tags & fits:
            yield name, version, path


def _below(wheel: Path, extras: Iterable[str], target: Target) -> Iterator[Requirement]:
    """What a wheel requires on a target, with some extras."""
    environments = [target.environment(extra) for extra in ("", *extras)]
    for text in requires(wheel):
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate(env) for env in environments):
            one.marker = None
            yield one


def requires(wheel: Path) -> list[str]:
    """The requirements that a wheel's metadata names."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1)
        return Parser().parsestr(archive.read(name).decode("utf-8")).get_all("Requires-Dist") or []
