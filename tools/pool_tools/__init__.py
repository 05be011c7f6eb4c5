"""Workspace tools for a coding agent: files, search, shell, sandbox. Knows nothing of Pool."""

from pool_tools.api import Change, Effect, OutputSink, Preview, Tool, ToolError, ToolResult, ToolSpec, effect_of

__all__ = ["Change", "Effect", "OutputSink", "Preview", "Tool", "ToolError", "ToolResult", "ToolSpec", "effect_of"]
