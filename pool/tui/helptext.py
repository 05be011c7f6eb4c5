"""The words of the help panel and of a conversation's first lines, made from the tables of keys and commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pool import __version__
from pool.facekit.homely import homely
from pool.facekit.plain import plain
from pool.tui.keys import APP_KEYS, PROMPT_KEYS, Bound, shown

NAME_COLUMNS = 24
NARROW_COLUMNS = 64
NARROW_NAME_COLUMNS = 12
"""In a window with less than `NARROW_COLUMNS` names have so many."""

MARKS = (
    ("/", "a command; type / to see them all"),
    ("@", "a file or folder of the workspace"),
    ("$", "a skill by its name (/skills lists them)"),
    ("!", "a shell command of your own, outside the sandbox; its output goes with the next prompt"),
    ("?", "this help"),
)

TERMINAL_SELECTION = "held (Option in iTerm2, Fn in macOS Terminal): the terminal selects instead of Pool"


def welcome_text(workspace: Path) -> str:
    """What stands at the top of a new conversation."""
    return f"Pool {__version__} in {homely(workspace)}   ·   ? help   / commands   @ files   ! shell"


def commands_help() -> list[tuple[str, str]]:
    """Pool's own commands with their aliases and arguments, each with a line about it."""
    from pool.agent.commands import COMMANDS

    rows = list[tuple[str, str]]()
    for command in COMMANDS:
        names = " ".join(f"/{n}" for n in (command.name, *command.aliases))
        rows.append((f"{names} {command.hint}".rstrip(), command.help))
    return rows


def help_text(bound: Bound, commands: Sequence[tuple[str, str]], *, width: int = 0) -> RenderableType:
    """Keys as they are bound, marks and commands, each with a line about it, in two columns. It is data, not markup.

    width is that of the window, 0 for a wide one: in a narrow one the names' column is narrower, too.
    """
    rows = Table.grid(padding=(0, 2, 0, 0), pad_edge=False, expand=True)
    narrow = 0 < width < NARROW_COLUMNS
    rows.add_column(max_width=NARROW_NAME_COLUMNS if narrow else NAME_COLUMNS)
    rows.add_column(ratio=1)
    _heading(rows, "In the box")
    for mark, about in MARKS:
        _row(rows, mark, about)
    for title, keys in (("Writing", PROMPT_KEYS), ("Everywhere", APP_KEYS)):
        _heading(rows, title)
        for key in keys:
            _row(rows, ", ".join(map(shown, bound[key.id])), key.help)
    _heading(rows, "Commands")
    for command, about in commands:
        _row(rows, plain(command), plain(about))
    _heading(rows, "The mouse")
    _row(rows, "Shift", TERMINAL_SELECTION)
    return rows


def _heading(rows: Table, title: str) -> None:
    if rows.row_count:
        rows.add_row()
    rows.add_row(Text(title, style="bold"))


def _row(rows: Table, name: str, about: str) -> None:
    rows.add_row(Text(name), Text(about))
