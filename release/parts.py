"""What Pool is made of: the distributions that it and its extras need, as they are installed in this environment."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "pyproject.toml"
EXTRAS = ("sim", "web", "mcp", "fetch", "eval")
"""The extras that are looked into. `dev` and `realserver` are for working on Pool; Ray's parts depend on the user's."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
UNSTATED = "none stated"
_LONGEST_FREE_TEXT = 40
"""Some packages have their whole licence in the field."""


@dataclass(frozen=True, slots=True)
class Part:
    """A distribution. extras are those of Pool that bring it, none where Pool itself does; needs are names."""

    name: str
    version: str
    licence: str
    extras: tuple[str, ...]
    needs: tuple[str, ...]
    direct: bool


def parts() -> list[Part]:
    """All of them by name, Pool itself left out."""
    wanted = required()
    needed = {extra: _closure(texts) for extra, texts in wanted.items()}
    direct = {name for texts in wanted.values() for name, _ in needs(texts)}
    found: dict[str, Part] = {}
    for extra, installed in needed.items():
        for name, (one, asked) in installed.items():
            if extra and name in needed[""]:
                continue
            extras = (*found[name].extras, extra) if name in found else (extra,) if extra else ()
            below = tuple(sorted({other for other, _ in needs(one.requires or (), ("", *asked))}))
            found[name] = Part(name, one.version, licence_of(one), extras, below, name in direct)
    return [found[name] for name in sorted(found)]


def required() -> dict[str, list[str]]:
    """The requirements of Pool itself, under "", and of each extra, as pyproject.toml has them."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], **{extra: project["optional-dependencies"][extra] for extra in EXTRAS}}


def needs(requirements: Iterable[str], extras: tuple[str, ...] = ("",)) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What of some requirements counts on Linux, with any Python that Pool runs on: names, and their extras."""
    for text in requirements:
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate(env) for env in _environments(extras)):
            yield canonicalize_name(wanted.name), tuple(sorted(wanted.extras))


def _environments(extras: tuple[str, ...]) -> Iterator[dict[str, str]]:
    for version in PYTHONS:
        for extra in extras:
            system = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
            yield {**system, "python_version": version, "python_full_version": f"{version}.0", "extra": extra}


def _closure(requirements: Iterable[str]) -> dict[str, tuple[Distribution, set[str]]]:
    """What is installed of all that requirements lead to, and the extras asked of each.

    What only another Python than this would need may miss.
    """
    found: dict[str, tuple[Distribution, set[str]]] = {}
    waiting = list(needs(requirements))
    while waiting:
        name, extras = waiting.pop()
        if name in found and found[name][1].issuperset(extras):
            continue
        try:
            one, asked = found.setdefault(name, (distribution(name), set[str]()))
        except PackageNotFoundError:
            continue
        asked.update(extras)
        waiting += needs(one.requires or (), ("", *sorted(asked)))
    return found


def licence_of(one: Distribution) -> str:
    """The licence as the metadata has it: the SPDX expression, else classifiers, else the field's text if short."""
    if expression := _field(one, "License-Expression"):
        return expression
    classifiers = one.metadata.get_all("Classifier") or []
    named = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License :: ")]
    text = " ".join(_field(one, "License").split())
    free = text if len(text) <= _LONGEST_FREE_TEXT else next((n for n in ("MIT License",) if text.startswith(n)), "")
    said = free or ", ".join(name for name in named if name != "OSI Approved")
    return _SPDX.get(re.sub(r"\s+", " ", said).strip().lower(), said) or UNSTATED


def _field(one: Distribution, name: str) -> str:
    """A field of the metadata, "" if it is not there: whether its lookup raises then depends on who read the file."""
    return (one.metadata.get_all(name) or [""])[0]


_SPDX = {
    "mit": "MIT",
    "mit license": "MIT",
    "the mit license (mit)": "MIT",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mpl-2.0": "MPL-2.0",
    "isc license (iscl)": "ISC",
    "python software foundation license": "PSF-2.0",
}
"""Names that metadata of the packages use for licences with an SPDX identifier (https://spdx.org/licenses)."""
