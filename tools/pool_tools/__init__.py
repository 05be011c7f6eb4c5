"""Workspace tools for a coding agent: files, search, shell, sandbox. Knows nothing of Pool."""

from __future__ import annotations

# As in `typing`, whose import would cost some milliseconds of a start that needs `pool_tools.home` alone.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from pool_tools.api import Change, Effect, OutputSink, Preview, Tool, ToolError, ToolResult, ToolSpec, effect_of

__all__ = ["Change", "Effect", "OutputSink", "Preview", "Tool", "ToolError", "ToolResult", "ToolSpec", "effect_of"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'pool_tools' has no attribute {name!r}")
    from pool_tools import api

    return getattr(api, name)
