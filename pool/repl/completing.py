"""What Tab and typing offer: `/` commands and their arguments, `@` files and folders, `$` skills."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from pool.facekit.fileindex import FileIndex
from pool.facekit.plain import plain
from pool.facekit.skillwords import skills_for

if TYPE_CHECKING:
    from pool.facekit.agents.driving import AgentDriver
    from pool.facekit.driver import Driver
    from pool.facekit.live.attaching import AttachedDriver

MOST_ABOUT = 60


class Offers(Completer):
    """Files are listed in a thread and matched in one, so that typing never waits for a disk."""

    def __init__(
        self, workspace: Callable[[], Path], driver: Callable[[], Driver | AttachedDriver | AgentDriver]
    ) -> None:
        """workspace gives the folder whose files are offered; it may become another one."""
        self._driver = driver
        self._workspace = workspace
        self._index = FileIndex(workspace())
        self._busy = asyncio.Lock()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        line = document.text_before_cursor
        word = document.get_word_before_cursor(WORD=True)
        if line.startswith("/") and "\n" not in line:
            for completion in self._commands(line):
                yield completion
        elif found := skills_for(word, self._driver().skills()):
            for name, about in found:
                yield Completion(name, start_position=-len(word), display=name, display_meta=plain(about)[:MOST_ABOUT])
        elif word.startswith("@") or (complete_event.completion_requested and word):
            async with self._busy:
                if (workspace := self._workspace()) != self._index.workspace:
                    self._index = FileIndex(workspace)
                if not self._index.fresh:
                    await asyncio.to_thread(self._index.refresh)
                found = await asyncio.to_thread(self._index.match, word.removeprefix("@"))
            for path in found:
                text = f'@"{path}"' if " " in path else f"@{path}"
                yield Completion(text, start_position=-len(word), display=plain(path))

    def _commands(self, line: str) -> Iterable[Completion]:
        driver = self._driver()
        if driver.talk is None:
            return
        from pool.agent.commands import complete

        for found in complete(line, driver.conversation):
            about = " ".join(part for part in (found.hint, found.help) if part)
            yield Completion(
                found.text,
                start_position=-len(line),
                display=plain(found.text),
                display_meta=plain(about)[:MOST_ABOUT],
            )
