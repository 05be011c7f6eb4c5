"""A language server as a source of problems: started at the first edit that it is about, ended with the session."""

from __future__ import annotations

import asyncio
import os
from fnmatch import fnmatch
from typing import Any, cast

from pool.config.checkers import LanguageServer
from pool.extend.diagnostics.lsp.client import Diagnostic, LanguageClient, ServerGone
from pool.extend.diagnostics.lsp.process import ServerProcess, start_server
from pool.extend.diagnostics.parsing import MOST_PARSED, problem
from pool.extend.diagnostics.problems import Problem
from pool.extend.diagnostics.sources import CheckFault, shell_of
from pool_tools.colours import people_text, plain_text
from pool_tools.commands import Commands
from pool_tools.text import visible

_SEVERITIES = {1: "error", 2: "warning", 3: "info"}
_HINT = 4
_SAID_CHARS = 160


class ServerSource:
    """One configured server. A start that an edit does not wait for to its end goes on, for the next edit."""

    whole = False

    def __init__(self, server: LanguageServer, commands: Commands) -> None:
        self._server = server
        self._commands = commands
        self._process: ServerProcess | None = None
        self._client: LanguageClient | None = None
        self._starting: asyncio.Task[LanguageClient] | None = None

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def settled(self) -> bool:
        return self._client is not None

    def checks(self, path: str) -> bool:
        name = os.path.basename(path)
        return any(fnmatch(name, pattern) or fnmatch(path, pattern) for pattern in self._server.files)

    async def problems(self, path: str, text: str) -> list[Problem]:
        try:
            if self._client is None:
                self._client = await self._started()
            found = await self._client.diagnostics(self._commands.folder / path, text)
        except (ServerGone, OSError) as error:
            why = f"{error}{self._said()}"
            await self.close()
            raise CheckFault(why) from None
        return [self._problem(path, one) for one in found[:MOST_PARSED] if one.get("severity") != _HINT]

    async def close(self) -> None:
        """End it; no process of it is left. The next question starts it anew."""
        starting, client, process = self._starting, self._client, self._process
        self._starting = self._client = self._process = None
        if starting is not None:
            starting.cancel()
            (made,) = await asyncio.gather(starting, return_exceptions=True)
            client = client or (made if isinstance(made, LanguageClient) else None)
        if process is not None:
            await process.note_children()
        if client is not None:
            await client.close()
        if process is not None:
            await process.close()

    async def _started(self) -> LanguageClient:
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        task = self._starting
        # An edit's limit ends the waiting, not the start.
        client = await asyncio.shield(task)
        self._starting = None
        return client

    async def _start(self) -> LanguageClient:
        self._process = await start_server(self._server.command, shell_of(self._commands), self._commands)
        client = LanguageClient(self._process, self._commands.folder, self._server.language)
        try:
            await client.open()
        except BaseException:
            await client.close()
            raise
        return client

    def _said(self) -> str:
        """What it wrote to its error output last."""
        text = plain_text(people_text(self._process.errors.decode("utf-8", "replace"))) if self._process else ""
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return f" (it said: {visible(lines[-1])[:_SAID_CHARS]})" if lines else ""

    def _problem(self, path: str, one: Diagnostic) -> Problem:
        start = _object(_object(one.get("range")).get("start"))
        severity = one.get("severity")
        words = _SEVERITIES.get(severity, "error") if isinstance(severity, int) else "error"
        code = one.get("code")
        line, column = _plus_one(start.get("line")), _plus_one(start.get("character"))
        said = str(one.get("message", ""))
        return problem(self._commands.folder, path, line, column, words, str(code) if code else "", said)


def _object(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _plus_one(value: object) -> int:
    return value + 1 if isinstance(value, int) and value >= 0 else 0
