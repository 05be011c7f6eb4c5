"""Diagnostics around the edits of a session; what they need is imported at the first edit that they are about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from pool.agent.hub import EventHub
from pool.config.settings import SandboxChoice, Settings
from pool.events import Notice
from pool_tools.commands import Commands

if TYPE_CHECKING:
    from pool.extend.diagnostics.session import CheckReport, Diagnostics

UNASKED = (".py", ".pyi")
"""Ends of the files that are checked where nothing is configured."""


class EditChecks:
    """Looks at the file that a writing call names, before it and after it."""

    def __init__(self, settings: Settings, commands: Commands, hub: EventHub) -> None:
        self._settings = settings
        self._commands = commands
        self._hub = hub
        self._made: Diagnostics | None = None

    async def before(self, args: Mapping[str, Any]) -> None:
        """The call is about to run."""
        if not self._settings.diagnostics.named and not str(args.get("path", "")).endswith(UNASKED):
            return
        if self._made is None:
            self._made = await asyncio.to_thread(self._make)
        await self._made.before(args)

    async def after(self, args: Mapping[str, Any]) -> CheckReport | None:
        """The call has run, and went well; None if nothing was looked at."""
        return await self._made.after(args) if self._made is not None else None

    async def close(self) -> None:
        """End what still runs."""
        if self._made is not None:
            await self._made.close()

    def _make(self) -> Diagnostics:
        from pool.extend.diagnostics.session import Diagnostics

        unconfined = self._settings.sandbox in (SandboxChoice.OFF, SandboxChoice.EXTERNAL)
        return Diagnostics(self._settings.diagnostics, self._commands, self._tell, unconfined=unconfined)

    def _tell(self, text: str) -> None:
        self._hub.emit(Notice("warning", text, "see [diagnostics] in the configuration; tools = [] switches it off"))


def edit_checks(settings: Settings, commands: Commands, hub: EventHub, stack: AsyncExitStack) -> EditChecks | None:
    """None where nothing is to be checked. The stack ends what is started."""
    if not settings.diagnostics.used:
        return None
    checks = EditChecks(settings, commands, hub)
    stack.push_async_callback(checks.close)
    return checks
