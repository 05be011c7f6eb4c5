"""The words of the help panel and of a conversation's first lines, made from the tables of keys and commands."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from pool import __version__
from pool.tui.keys import APP_KEYS, PROMPT_KEYS, Bound, shown

NAME_COLUMNS = 26

MARKS = (
    ("/", "a command; type / to see them all"),
    ("@", "a file or folder of the workspace"),
    ("!", "a shell command of your own, outside the sandbox; its output goes with the next prompt"),
    ("?", "this help"),
)

TERMINAL_SELECTION = "Hold Shift (Option in iTerm2, Fn in macOS Terminal) to select with the terminal instead of Pool."


def welcome_text(workspace: Path) -> str:
    """What stands at the top of a new conversation."""
    home = str(Path.home())
    place = str(workspace)
    if place == home or place.startswith(home + "/"):
        place = "~" + place[len(home) :]
    return f"Pool {__version__} in {place}   ·   ? help   / commands   @ files   ! shell"


def help_text(bound: Bound) -> Text:
    """Keys as they are bound, marks and commands."""
    from pool.agent.commands import COMMANDS

    text = Text()
    _heading(text, "In the box")
    for mark, about in MARKS:
        _row(text, mark, about)
    for title, keys in (("Writing", PROMPT_KEYS), ("Everywhere", APP_KEYS)):
        _heading(text, title)
        for key in keys:
            _row(text, ", ".join(map(shown, bound[key.id])), key.help)
    _heading(text, "Commands")
    for command in COMMANDS:
        names = " ".join(f"/{n}" for n in (command.name, *command.aliases))
        _row(text, f"{names} {command.hint}".rstrip(), command.help)
    _heading(text, "The mouse")
    text.append(TERMINAL_SELECTION + "\n")
    return text


def _heading(text: Text, title: str) -> None:
    text.append("\n" if text.plain else "")
    text.append(title + "\n", style="bold")


def _row(text: Text, name: str, about: str) -> None:
    text.append(f"  {name:<{NAME_COLUMNS}}")
    if len(name) > NAME_COLUMNS - 1:
        text.append("\n" + " " * (NAME_COLUMNS + 2))
    text.append(about + "\n", style="dim")
