"""The hooks of a session from its settings; without any, nothing of them is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pool.agent.hub import EventHub
from pool.config.settings import SandboxChoice, Settings
from pool_tools.commands import Commands

if TYPE_CHECKING:
    from pool.agent.hooking import SessionHooks


def session_hooks(
    settings: Settings, commands: Commands, hub: EventHub, mode: Callable[[], str], *, resumed: bool
) -> SessionHooks | None:
    """None where no hook is configured. mode gives the approval mode as it is. Raises `SettingsError`.

    A subagent has those that are about calls and compaction: its prompt is no prompt of the user's, and its end is not
    the run's.
    """
    if all(hook.disabled for hook in settings.hooks):
        return None
    from pool.agent.hooking import OF_SUBAGENTS, SessionHooks
    from pool.extend.hooks.running import HookPlaces

    external = settings.sandbox is SandboxChoice.EXTERNAL
    unconfined = external or settings.sandbox is SandboxChoice.OFF
    hooks = [hook for hook in settings.hooks if not settings.parent or hook.point in OF_SUBAGENTS]
    places = HookPlaces(commands, unconfined, external)
    return SessionHooks(hooks, places, hub, mode, resumed=resumed, parent=settings.parent)
