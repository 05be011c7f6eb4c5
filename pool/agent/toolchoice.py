"""Which tools a session has: those that it was given, less what the user leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from pool.config.settings import Settings, SettingsError
from pool_tools import Tool

NO_TOOLS = ("none",)
"""As the only name: no tool at all, for a model that is to answer and nothing else."""


def chosen_tools(tools: Sequence[Tool], settings: Settings) -> tuple[Tool, ...]:
    """The tools in their order, without those that the settings leave out. Raises `SettingsError` for unknown names."""
    if settings.only_tools == NO_TOOLS:
        return ()
    names = [tool.spec.name for tool in tools]
    for flag, given in (("--tools", settings.only_tools), ("--no-tools", settings.without_tools)):
        for name in given:
            if name not in names:
                raise SettingsError(f"{flag}: there is no tool {name!r}; there are {', '.join(names)}")
    return tuple(
        tool
        for tool in tools
        if (not settings.only_tools or tool.spec.name in settings.only_tools)
        and tool.spec.name not in settings.without_tools
    )
