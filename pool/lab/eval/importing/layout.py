"""A task in Harbor's layout, as an importer makes it, and writing it to a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pool_tools.frozen import frozen

MOST_FILE_BYTES = 4 * 1024 * 1024
"""Larger files are no part of an exercise."""

MOST_FILES = 2_000
_UNSAFE = re.compile(r"[^a-z0-9]+")


class ImportProblem(Exception):
    """A suite cannot be imported. The message says what was looked for, where, and what there is."""


@frozen
class Blob:
    """A file's bytes, and whether it is a program."""

    data: bytes
    executable: bool = False


def text(*lines: str, executable: bool = False) -> Blob:
    """A text of some lines as a file."""
    return Blob("".join(f"{line}\n" for line in lines).encode(), executable)


Files = Mapping[str, Blob]
"""Files by their paths, with `/` between the folders."""


@frozen
class ImportedTask:
    """One task. app is the tree that the agent gets, None where only the image has it; environment are further files.

    about is the table `[metadata.pool]`, tables are further ones of task.toml, each by its name.
    """

    name: str
    instruction: str
    dockerfile: Sequence[str]
    tests: Files
    app: Files | None = None
    solution: Files = field(default_factory=dict[str, Blob])
    environment: Files = field(default_factory=dict[str, Blob])
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Sequence[str] = ()
    category: str = "programming"
    source: str = ""
    agent_seconds: float = 900.0
    verifier_seconds: float = 300.0
    servers: Sequence[Mapping[str, Any]] = ()


@frozen
class Imported:
    """What an importer read: tasks, and what it left out, each with the reason."""

    tasks: Sequence[ImportedTask]
    left_out: Sequence[tuple[str, str]] = ()


def folder_name(name: str) -> str:
    """A name as that of a task's folder: small letters, digits and dashes."""
    return _UNSAFE.sub("-", name.lower()).strip("-") or "task"


def write_task(task: ImportedTask, suite: Path) -> Path:
    """Write a task into a folder of its own in a suite. Raises `ImportProblem` if it is there, and `OSError`."""
    folder = suite / folder_name(task.name)
    if folder.exists():
        raise ImportProblem(f"{folder} is there already; name a new folder for the suite")
    _write(
        folder,
        {"task.toml": Blob(_toml(task).encode()), "instruction.md": Blob(f"{task.instruction.strip()}\n".encode())},
    )
    _write(folder / "environment", {"Dockerfile": text(*task.dockerfile), **task.environment})
    if task.app is not None:
        (folder / "environment" / "app").mkdir()
        _write(folder / "environment" / "app", task.app)
    _write(folder / "tests", task.tests)
    if task.solution:
        _write(folder / "solution", task.solution)
        nothing = text("#!/bin/sh", "# An attempt that does nothing, and has to fail.", "exit 0", executable=True)
        _write(folder / "naive", {"solve.sh": nothing})
    return folder


def files_below(folder: Path, *, skip: Sequence[str] = ()) -> dict[str, Blob]:
    """The plain files of a folder by their paths, without links, hidden folders of git and what skip names at its top.

    Raises `ImportProblem` for a folder that is too large to be an exercise.
    """
    found: dict[str, Blob] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] in (*skip, ".git") or path.is_symlink() or not path.is_file():
            continue
        if len(found) >= MOST_FILES:
            raise ImportProblem(f"{folder} has more than {MOST_FILES:,} files")
        found[name] = blob_of(path)
    return found


def blob_of(path: Path) -> Blob:
    """A file. Raises `ImportProblem` for one that is too large."""
    status = path.stat()
    if status.st_size > MOST_FILE_BYTES:
        raise ImportProblem(f"{path} has more than {MOST_FILE_BYTES // 1024 // 1024} MiB")
    return Blob(path.read_bytes(), bool(status.st_mode & 0o100))


def _write(folder: Path, files: Files) -> None:
    for name, blob in files.items():
        parts = name.split("/")
        if name.startswith("/") or any(part in ("", ".", "..") for part in parts) or "\\" in name:
            raise ImportProblem(f"a file of the suite is called {name!r}, which is no path in a folder")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob.data)
        path.chmod(0o755 if blob.executable else 0o644)


def _toml(task: ImportedTask) -> str:
    metadata = {"category": task.category, "tags": list(task.tags), "source": task.source}
    tables: list[tuple[str, Mapping[str, Any]]] = [
        ("[metadata]", {key: value for key, value in metadata.items() if value}),
        ("[metadata.pool]", {"kind": "repo", "expect": "solve", **task.about}),
        ("[agent]", {"timeout_sec": task.agent_seconds}),
        ("[verifier]", {"timeout_sec": task.verifier_seconds}),
        ("[environment]", {"build_timeout_sec": 1800.0, "cpus": 2, "memory_mb": 4096, "allow_internet": False}),
        *(("[[environment.mcp_servers]]", server) for server in task.servers),
    ]
    lines = ['version = "1.0"']
    for name, table in tables:
        lines += ["", name, *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A value as TOML: its texts and numbers are written as in JSON."""
    return json.dumps(value, ensure_ascii=True)
