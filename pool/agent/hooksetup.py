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
    """None where no hook is configured. mode gives the approval mode as it is. Raises `SettingsError`."""
    if all(hook.disabled for hook in settings.hooks):
        return None
    from pool.agent.hooking import SessionHooks
    from pool.extend.hooks.running import HookPlaces

    external = settings.sandbox is SandboxChoice.EXTERNAL
    unconfined = external or settings.sandbox is SandboxChoice.OFF
    return SessionHooks(settings.hooks, HookPlaces(commands, unconfined, external), hub, mode, resumed=resumed)
