"""What problems come from: a command that is run each time, or a language server that stays."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pool.extend.diagnostics.checkers import Checker
from pool.extend.diagnostics.parsing import NotUnderstood
from pool.extend.diagnostics.problems import Problem
from pool_tools import ToolError
from pool_tools.colours import people_text, plain_text
from pool_tools.commands import Commands
from pool_tools.text import visible

OUTPUT_BYTES = 8 * 1024 * 1024
"""More output of one run is no list of problems."""

COMMAND_SECONDS = 120.0
"""A command's own limit; what ends it as a rule is the limit of the edit."""

_SAID_CHARS = 160


class CheckFault(Exception):
    """A source that does not work: it could not be started, or said what is no answer."""


class Source(Protocol):
    """Finds problems of a file. whole: of more than the file, so that what it said of it before may be out of date."""

    @property
    def name(self) -> str: ...

    @property
    def whole(self) -> bool: ...

    @property
    def settled(self) -> bool:
        """Whether an answer that does not come in time counts against it; what still starts may take longer."""
        ...

    def checks(self, path: str) -> bool:
        """Whether it is about a file, by its path relative to the workspace. May look at the disk."""
        ...

    async def problems(self, path: str, text: str) -> list[Problem]:
        """The problems of a file whose content is text. May be cancelled. Raises `CheckFault`."""
        ...

    async def close(self) -> None:
        """End what it keeps running."""
        ...


class CommandSource:
    """A checker that is run each time."""

    def __init__(self, checker: Checker, program: str, commands: Commands) -> None:
        self._checker = checker
        self._program = program
        self._commands = commands

    @property
    def name(self) -> str:
        return self._checker.name

    @property
    def whole(self) -> bool:
        return self._checker.whole

    @property
    def settled(self) -> bool:
        return True

    def checks(self, path: str) -> bool:
        return self._checker.checks(path)

    async def problems(self, path: str, text: str) -> list[Problem]:
        root = self._commands.folder
        out = bytearray()
        extra = variables(root, path)
        try:
            argv = self._checker.argv(self._program, path)
            ended = await self._commands.run(argv, COMMAND_SECONDS, lambda data: _keep(out, data), env=extra)
        except ToolError as error:
            raise CheckFault(str(error)) from None
        output = out.decode("utf-8", "replace")
        if len(out) > OUTPUT_BYTES:
            raise CheckFault(f"it printed more than {OUTPUT_BYTES:,} bytes")
        if ended.status not in self._checker.statuses:
            raise CheckFault(f"it ended with status {ended.status}: {_last_line(output)}")
        try:
            return await asyncio.to_thread(self._checker.parse(path), output, root)
        except NotUnderstood as error:
            raise CheckFault(str(error)) from None

    async def close(self) -> None:
        """Nothing is left running between two checks."""


def variables(root: Path, path: str) -> Mapping[str, str]:
    """What a checker of the user's finds in its environment."""
    return {"CHECK_FILE": str(root / path), "CHECK_WORKSPACE": str(root)}


def shell_of(commands: Commands) -> str:
    """The shell for command lines."""
    return commands.program("bash") or shutil.which("sh") or "/bin/sh"


def _keep(out: bytearray, data: bytes) -> None:
    out.extend(data[: max(0, OUTPUT_BYTES + 1 - len(out))])


def _last_line(output: str) -> str:
    lines = [line for line in plain_text(people_text(output)).split("\n") if line.strip()]
    return visible(lines[-1].strip())[:_SAID_CHARS] if lines else "no output"
