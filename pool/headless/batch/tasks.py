"""The tasks of a batch: one JSON object a line, with a prompt, a folder, limits, mode and model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, cast

from pool_tools.frozen import frozen
from pool_tools.home import expanded

ISOLATIONS = ("auto", "worktree", "copy", "none")
MOST_ID_CHARS = 64
MOST_LIMIT = 10**11
MOST_FAULTS = 10
"""So many faults of a file are told at once."""

_SLUG = re.compile(r"[^A-Za-z0-9._-]+")


class BatchError(Exception):
    """A batch that cannot be worked. The message has one line for each fault, with the line of the file."""


@frozen
class Task:
    """One prompt of a batch.

    id names it within the batch; dir is its folder, as an absolute path. isolate says where it works: in a git worktree
    of its own, in a copy, in the folder itself (none), or, with auto, in a worktree where dir is in a git repository,
    else in a copy. server ties it to one server. The other fields are flags of `pool run` of the same name.
    """

    id: str
    prompt: str
    dir: str
    isolate: str = "auto"
    server: str = ""
    model: str = ""
    mode: str = ""
    profile: str = ""
    thinking: str = ""
    sandbox: str = ""
    commit: str = ""
    max_turns: float | None = None
    max_seconds: float | None = None
    max_tokens: float | None = None
    max_reasoning: float | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The id as a part of a file's or branch's name."""
        return _SLUG.sub("-", self.id).strip("-.") or "task"

    def flags(self) -> list[str]:
        """What the task asks of `pool run`, but for folder and server."""
        out: list[str] = []
        for name in ("model", "mode", "profile", "thinking", "sandbox", "commit"):
            if value := getattr(self, name):
                out.append(f"--{name}={value}")
        for name in ("max_turns", "max_seconds", "max_tokens", "max_reasoning"):
            value: float | None = getattr(self, name)
            if value is not None:
                out.append(f"--{name.replace('_', '-')}={int(value) if value == int(value) else value}")
        out += [f"--allow={rule}" for rule in self.allow] + [f"--deny={rule}" for rule in self.deny]
        return out


def read_tasks(path: Path) -> list[Task]:
    """The tasks of a file; folders are taken from where the file lies. Raises `BatchError`."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BatchError(f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    tasks: list[Task] = []
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            tasks.append(task_of(line, number, path.resolve().parent))
        except BatchError as error:
            faults.append(f"{path}:{number}: {error}")
    seen: set[str] = set()
    for task in tasks:
        if task.slug.lower() in seen:
            faults.append(f"{path}: the id {task.id!r} is there twice, or two differ in nothing that a file name keeps")
        seen.add(task.slug.lower())
    if faults:
        more = [f"and {len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
        raise BatchError("\n".join([*faults[:MOST_FAULTS], *more]))
    if not tasks:
        raise BatchError(f'{path} holds no task; a line is {{"prompt": "...", "dir": "..."}}')
    return tasks


def task_of(line: str, number: int, base: Path) -> Task:
    """The task of one line; without an id its number is the id. Raises `BatchError`."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BatchError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BatchError("not a JSON object")
    row = cast(dict[str, Any], value)
    kinds = {each.name: str(each.type) for each in fields(Task)}
    if unknown := [name for name in row if name not in kinds]:
        raise BatchError(f"`{unknown[0]}` is not known; there are {', '.join(kinds)}")
    given: dict[str, Any] = {"id": str(number), "dir": ".", **row}
    given["id"] = str(given["id"])
    values: dict[str, Any] = {}
    for each in fields(Task):
        if each.name in given:
            values[each.name] = _checked(each.name, given[each.name], kinds[each.name])
        elif each.default is MISSING:
            raise BatchError(f"`{each.name}` is missing")
    values["dir"] = str((base / expanded(values["dir"])).resolve())
    return _sound(Task(**values))


def _checked(name: str, value: Any, kind: str) -> object:
    """A value if it is of the kind. Raises `BatchError`."""
    match kind:
        case "str":
            fits, words = isinstance(value, str), "text"
        case "tuple[str, ...]":
            items = cast(list[Any], value) if isinstance(value, list) else [None]
            fits, words = all(isinstance(each, str) for each in items), "a list of texts"
        case _:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            fits, words = is_number and 0 <= value <= MOST_LIMIT, "a number from 0 on"
    if not fits:
        raise BatchError(f"`{name}` has to be {words}")
    return tuple(cast(list[str], value)) if isinstance(value, list) else cast(object, value)


def _sound(task: Task) -> Task:
    if not task.prompt.strip():
        raise BatchError("`prompt` is empty")
    if not task.id.strip() or len(task.id) > MOST_ID_CHARS or not task.id.isprintable():
        raise BatchError(f"`id` has to have 1 to {MOST_ID_CHARS} visible characters")
    if task.isolate not in ISOLATIONS:
        raise BatchError(f"`isolate` is {task.isolate!r}; it can be {', '.join(ISOLATIONS)}")
    if not Path(task.dir).is_dir():
        raise BatchError(f"`dir` is no folder: {task.dir}")
    return task


def row_of(task: Task) -> Mapping[str, Any]:
    """A task as a row of a results file has it."""
    return {"id": task.id, "dir": task.dir, "prompt": task.prompt}
