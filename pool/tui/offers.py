"""What the completion list offers for the word at the cursor: `/` commands, `@` files and folders, `$` skills."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from pool.facekit.fileindex import FileIndex
from pool.tui.completion import Offer

CommandOffers = Callable[[str], Sequence[Offer]]
"""Offers for what was typed after the slash, the whole line given."""


class Offers:
    """Finds offers; files are listed in a thread and matched in one, so that typing never waits for a disk."""

    def __init__(self, workspace: Callable[[], Path], commands: CommandOffers, skills: CommandOffers) -> None:
        """workspace gives the folder whose files are offered; it may become another one."""
        self._commands = commands
        self._skills = skills
        self._workspace = workspace
        self._index = FileIndex(workspace())
        self._busy = asyncio.Lock()

    async def find(self, line: str, word: str) -> Sequence[Offer]:
        """Offers for a prompt whose first line up to the cursor is line, and whose last word is word."""
        if line.startswith("/") and "\n" not in line:
            return self._commands(line)
        if word.startswith("$"):
            return self._skills(word)
        if word.startswith("@"):
            return await self.files(word[1:])
        return ()

    async def files(self, typed: str) -> Sequence[Offer]:
        """Files and folders that fit, as they stand in a prompt."""
        async with self._busy:
            if (workspace := self._workspace()) != self._index.workspace:
                self._index = FileIndex(workspace)
            if not self._index.fresh:
                await asyncio.to_thread(self._index.refresh)
            found = await asyncio.to_thread(self._index.match, typed)
        return [Offer("@" + _quoted(path), "folder" if path.endswith("/") else "") for path in found]


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path
