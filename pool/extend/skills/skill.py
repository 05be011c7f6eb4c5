"""One skill: a folder with a SKILL.md, read and held to the format of https://agentskills.io/specification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, cast

from pool.extend.frontmatter import FrontMatterError, parted
from pool.extend.plainfiles import FileFault, has_controls, read_within, shown
from pool_tools.frozen import frozen

FILE = "SKILL.md"
MOST_NAME = 64
MOST_DESCRIPTION = 1024
MOST_COMPATIBILITY = 500
"""In characters, as the specification says."""

MOST_FILE_BYTES = 128 * 1024
"""Of a SKILL.md: it goes into the prompt as a whole."""

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KNOWN = frozenset({"name", "description", "license", "compatibility", "allowed-tools", "metadata"})


class SkillError(Exception):
    """A skill that cannot be used. faults are full clauses, each with its remedy where there is one."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@frozen
class Skill:
    """A skill that holds to the format. place is how people are told of its folder.

    also are more folders that count as part of it, by their names in it. digest is that of the whole folder where it
    needs trust, else "". unknown are fields of its front matter that mean nothing to Pool.
    """

    name: str
    description: str
    body: str
    folder: Path
    place: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()
    checkout: bool = False
    digest: str = ""
    also: tuple[tuple[str, Path], ...] = field(default=())

    @property
    def line(self) -> str:
        """Its description as one line."""
        return " ".join(self.description.split())


def read_skill(folder: Path, place: str) -> Skill:
    """Read a skill's SKILL.md. Raises `SkillError` with all that is wrong with it."""
    try:
        text = read_within(folder, FILE, MOST_FILE_BYTES)
    except FileNotFoundError:
        near = next((p.name for p in folder.iterdir() if p.name.lower() == FILE.lower()), "")
        raise SkillError(f"there is no {FILE}" + (f"; rename {shown(near)}" if near else "")) from None
    except FileFault as fault:
        raise SkillError(f"{FILE}: {fault}") from None
    except OSError as error:
        raise SkillError(f"{FILE} cannot be read: {error.strerror or error}") from None
    try:
        both = parted(text)
    except FrontMatterError as error:
        raise SkillError(f"{FILE}{f':{error.line}' if error.line else ''}: {error}") from None
    values = both.values
    if not values:
        raise SkillError(f"{FILE} has no front matter: it begins with ---, then name: and description:, then ---")
    faults = [*_name_faults(values.get("name"), folder.name), *_text_faults(values), *_body_faults(both.body)]
    if faults:
        raise SkillError(*faults)
    return Skill(
        str(values["name"]),
        str(values["description"]).strip(),
        both.body,
        folder,
        place,
        str(values.get("license") or ""),
        str(values.get("compatibility") or ""),
        _tools(values.get("allowed-tools")),
        tuple((str(k), str(v)) for k, v in cast(Mapping[object, object], values.get("metadata") or {}).items()),
        tuple(shown(name) for name in values if name not in _KNOWN),
    )


def _name_faults(name: object, folder: str) -> list[str]:
    if name is None:
        return ["name: is missing"]
    if not isinstance(name, str):
        return [f"name: has to be text; put {shown(str(name))[:MOST_NAME]!r} in quotes"]
    faults: list[str] = []
    if len(name) > MOST_NAME:
        faults.append(f"name: has {len(name):,} characters; {MOST_NAME} are allowed")
    elif not NAME.fullmatch(name):
        faults.append("name: may hold a to z, 0 to 9 and single hyphens between them, nothing else")
    if name != folder:
        faults.append(
            f"name: is {shown(name)[:MOST_NAME]!r} and the folder is called {shown(folder)[:MOST_NAME]!r}; "
            "they have to be the same"
        )
    return faults


def _text_faults(values: Mapping[str, object]) -> list[str]:
    """What is wrong with the other fields."""
    faults: list[str] = []
    description = values.get("description")
    if not (isinstance(description, str) and description.strip()):
        faults.append("description: is missing; it says what the skill does and when to use it")
    limits = {"description": MOST_DESCRIPTION, "compatibility": MOST_COMPATIBILITY}
    for name in ("description", "license", "compatibility"):
        value = values.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            faults.append(f"{name}: has to be text; put it in quotes")
            continue
        if name in limits and len(value) > limits[name]:
            faults.append(f"{name}: has {len(value):,} characters; {limits[name]:,} are allowed")
        if has_controls(value.replace("\n", " ").replace("\t", " ")):
            faults.append(f"{name}: holds control characters")
    tools = values.get("allowed-tools")
    if tools is not None and not isinstance(tools, str) and not _all_text(tools):
        faults.append("allowed-tools: has to be text, tools with blanks between them")
    metadata = values.get("metadata")
    if metadata is not None and not (isinstance(metadata, dict) and _flat(cast(dict[Any, Any], metadata))):
        faults.append("metadata: has to be a table of texts")
    return faults


def _body_faults(body: str) -> list[str]:
    if not body:
        return ["there are no instructions below the front matter"]
    plain = body.replace("\n", " ").replace("\t", " ")
    return ["the instructions hold control characters"] if has_controls(plain) else []


def _tools(value: object) -> str:
    """Tools as one text; some skills have a list."""
    return " ".join(cast(list[str], value)) if isinstance(value, list) else str(value or "")


def _all_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast(list[object], value))


def _flat(value: dict[Any, Any]) -> bool:
    """Whether a table holds no lists and tables. `version: 1.0` is a number to YAML and a text to whoever wrote it."""
    return not any(isinstance(v, (list, dict)) for v in value.values())
