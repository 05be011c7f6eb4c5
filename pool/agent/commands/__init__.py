"""Slash commands: one table for every face, its completion and its documents."""

from pool.agent.commands.kinds import (
    Action,
    ActionKind,
    Ask,
    Choice,
    Command,
    CommandError,
    CommandResult,
    Rows,
    Typed,
)
from pool.agent.commands.table import COMMANDS, Completion, complete, execute, find, parse

__all__ = [
    "COMMANDS",
    "Action",
    "ActionKind",
    "Ask",
    "Choice",
    "Command",
    "CommandError",
    "CommandResult",
    "Completion",
    "Rows",
    "Typed",
    "complete",
    "execute",
    "find",
    "parse",
]
