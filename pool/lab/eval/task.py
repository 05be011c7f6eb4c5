"""A task: a folder in Harbor's layout, read and held to what Pool's engine needs of it.

`task.toml`, `instruction.md`, `environment/` (Dockerfile, `app/`), `tests/test.sh`, `solution/solve.sh`: the names are
those of Harbor's `TaskPaths`, the tables those of its `TaskConfig`. `[metadata]` is free there, so that Pool's own keys
are in `[metadata.pool]`; `naive/solve.sh`, an attempt that must fail, is Pool's own as well.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from pool_tools.frozen import frozen

CONFIG, INSTRUCTION, APP = "task.toml", "instruction.md", "app"
TEST_SCRIPT, SOLVE_SCRIPT = "test.sh", "solve.sh"

DEFAULT_TURNS = 40
DEFAULT_SECONDS = 900.0
"""Limits of a run where neither `[metadata.pool]` nor `[agent]` says one."""

DEFAULT_JUDGE_SECONDS = 600.0
"""Harbor's own default for `[verifier] timeout_sec`."""


_E = TypeVar("_E", bound=StrEnum)


class TaskProblem(Exception):
    """A folder that is no task, or a task with a fault. The message names the file, the key and what is allowed."""


class Kind(StrEnum):
    """What is worked on. REPO: a tree of files; ANSWER: a prompt alone; FUNCTIONS: functions that can be called."""

    REPO = "repo"
    ANSWER = "answer"
    FUNCTIONS = "functions"


class Expect(StrEnum):
    """What earns the reward: a solution, an honest stop where there is none, or any answer before the limits."""

    SOLVE = "solve"
    STOP = "stop_honestly"
    END = "end_in_time"


class Thinking(StrEnum):
    """With which thinking a task is worked unless a flag says otherwise."""

    ON = "on"
    OFF = "off"
    BOTH = "both"

    @property
    def levels(self) -> tuple[bool, ...]:
        """Whether the model thinks, for each of the runs."""
        return {Thinking.ON: (True,), Thinking.OFF: (False,), Thinking.BOTH: (True, False)}[self]


@frozen
class Task:
    """A task of a suite. tools are the only ones that the model gets, () for the usual ones of its kind.

    functions is a Python file of functions that the model can call, tests the command of the visible tests, "" for
    none. needs are programs without which it cannot be judged. Limits are in turns and in seconds.
    """

    name: str
    suite: str
    folder: Path
    instruction: str
    kind: Kind
    expect: Expect
    thinking: Thinking
    tools: tuple[str, ...]
    functions: Path | None
    tests: str
    needs: tuple[str, ...]
    max_turns: int
    limit_seconds: float
    judge_seconds: float

    @property
    def app(self) -> Path:
        """The tree that the agent gets; it need not exist, for a task without files."""
        return self.folder / "environment" / APP

    @property
    def test_folder(self) -> Path:
        """What the agent never sees: the verifier and its tests."""
        return self.folder / "tests"

    @property
    def solution(self) -> Path:
        """The folder of the reference solution."""
        return self.folder / "solution"

    @property
    def naive(self) -> Path:
        """The folder of an attempt that must fail."""
        return self.folder / "naive"


def read_task(folder: Path) -> Task:
    """The task in a folder. Raises `TaskProblem`."""
    config = _config(folder / CONFIG)
    own = _table(config, folder, "metadata", "pool")
    for place in (folder / INSTRUCTION, folder / "tests" / TEST_SCRIPT):
        if not place.is_file():
            raise TaskProblem(
                f"{place}: there is no such file; a task has {CONFIG}, {INSTRUCTION}, tests/{TEST_SCRIPT}"
            )
    kind = _choice(Kind, own, "kind", Kind.REPO, folder)
    functions = _functions(folder, own, kind)
    limit = _number(own, "time_limit_s", folder)
    limit = limit if limit is not None else _number(_table(config, folder, "agent"), "timeout_sec", folder)
    judging = _number(_table(config, folder, "verifier"), "timeout_sec", folder)
    turns = _number(own, "max_turns", folder)
    return Task(
        name=folder.name,
        suite=folder.parent.name,
        folder=folder,
        instruction=_text(folder / INSTRUCTION).strip(),
        kind=kind,
        expect=_choice(Expect, own, "expect", Expect.SOLVE, folder),
        thinking=_choice(Thinking, own, "thinking", Thinking.ON, folder),
        tools=_words(own, "tools", folder),
        functions=functions,
        tests=_word(own, "tests", folder),
        needs=_words(own, "needs", folder),
        max_turns=DEFAULT_TURNS if turns is None else int(turns),
        limit_seconds=DEFAULT_SECONDS if limit is None else limit,
        judge_seconds=DEFAULT_JUDGE_SECONDS if judging is None else judging,
    )


def is_task(folder: Path) -> bool:
    """Whether a folder claims to be a task."""
    return (folder / CONFIG).is_file()


def _config(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise TaskProblem(f"{path}: {error}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise TaskProblem(f"{path}: it is not UTF-8") from None
    except OSError as error:
        raise TaskProblem(f"{path}: {error.strerror}") from None


def _functions(folder: Path, own: Mapping[str, Any], kind: Kind) -> Path | None:
    name = _word(own, "functions", folder)
    if (kind is Kind.FUNCTIONS) != bool(name):
        raise TaskProblem(f"{folder / CONFIG}: kind = 'functions' and functions = 'FILE.py' go together")
    if not name:
        return None
    place = folder / "environment" / name
    if os.path.basename(name) != name or not place.is_file():
        raise TaskProblem(f"{folder / CONFIG}: functions = {name!r}: there is no such file in {place.parent}")
    return place


def _table(config: Mapping[str, Any], folder: Path, *names: str) -> Mapping[str, Any]:
    found: Any = config
    for name in names:
        found = cast("Mapping[str, Any]", found).get(name, {})
        if not isinstance(found, dict):
            raise TaskProblem(f"{folder / CONFIG}: {'.'.join(names)} is no table")
    return cast("Mapping[str, Any]", found)


def _choice(of: type[_E], own: Mapping[str, Any], key: str, usual: _E, folder: Path) -> _E:
    value = own.get(key, usual.value)
    try:
        return of(value)
    except ValueError:
        allowed = ", ".join(one.value for one in of)
        raise TaskProblem(f"{folder / CONFIG}: metadata.pool.{key} = {value!r}; allowed are {allowed}") from None


def _number(own: Mapping[str, Any], key: str, folder: Path) -> float | None:
    value = own.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise TaskProblem(f"{folder / CONFIG}: {key} = {value!r}; it has to be a number above 0")
    return float(value)


def _word(own: Mapping[str, Any], key: str, folder: Path) -> str:
    value = own.get(key, "")
    if not isinstance(value, str):
        raise TaskProblem(f"{folder / CONFIG}: {key} = {value!r}; it has to be a text")
    return value


def _words(own: Mapping[str, Any], key: str, folder: Path) -> tuple[str, ...]:
    value = own.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
        raise TaskProblem(f"{folder / CONFIG}: {key} = {value!r}; it has to be a list of texts")
    return tuple(cast("list[str]", value))
