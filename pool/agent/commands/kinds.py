"""What a command is, and what it can answer. Results are data: each face shows them in its own way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

from pool.agent.control import Conversation
from pool_tools.frozen import frozen


class CommandError(Exception):
    """A command that could not be done. The message says why and what to type instead."""


class ActionKind(StrEnum):
    """What only a face can do.

    NEW begins a session, QUIT leaves, COPY puts the value on the clipboard, SUBMIT works the value as a prompt, OPEN
    shows the panel of that name, EDIT_PLAN lets the person edit the value and says `/plan edited TEXT`, RESUME goes on
    with the session of that id, THEME changes the colours or lets the person choose, AGENT begins a session with
    another agent, or lists them.
    """

    NEW = "new"
    QUIT = "quit"
    COPY = "copy"
    SUBMIT = "submit"
    OPEN = "open"
    EDIT_PLAN = "edit-plan"
    RESUME = "resume"
    THEME = "theme"
    AGENT = "agent"


@frozen
class Action:
    """Something for the face to do. folder is where a session that is resumed works from now on, "" for where it is."""

    kind: ActionKind
    value: str = ""
    folder: str = ""


@frozen
class Choice:
    """An answer: label is shown, line is the command that is executed if it is chosen, "" for none."""

    label: str
    line: str = ""


@frozen
class Ask:
    """A question that the face has to put before the command goes on. The last choice changes nothing."""

    text: str
    choices: tuple[Choice, ...]


@frozen
class Rows:
    """A table: titles of the columns, and rows of as many cells. numeric are the columns to align to the right."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


@frozen
class CommandResult:
    """What a command answers: lines of plain text, then a table; ok is False where it could not be done.

    Texts may hold what a model or a file said, so a face shows them as data.
    """

    lines: tuple[str, ...] = ()
    rows: Rows | None = None
    ok: bool = True
    ask: Ask | None = None
    action: Action | None = None


@frozen
class Typed:
    """A command as it was typed: its canonical name, and the rest of the line without blanks around it."""

    name: str
    rest: str = ""

    @property
    def words(self) -> list[str]:
        """The rest, cut at blanks."""
        return self.rest.split()


Run = Callable[[Conversation, Typed], Awaitable[CommandResult]]
Arguments = Callable[[Conversation], Sequence[str]]


@frozen
class Command:
    """A row of the table. hint shows the arguments; needs_idle: it has to wait until no run works.

    arguments gives the words that may follow, for completion.
    """

    name: str
    help: str
    run: Run
    aliases: tuple[str, ...] = ()
    hint: str = ""
    needs_idle: bool = False
    arguments: Arguments | None = None


def said(*lines: str) -> CommandResult:
    """A result of some lines."""
    return CommandResult(lines)


def act(kind: ActionKind, value: str = "", *lines: str) -> CommandResult:
    """A result that the face has to act on."""
    return CommandResult(lines, action=Action(kind, value))


def words(*choices: str) -> Arguments:
    """Arguments that are always the same."""
    return lambda conversation: choices
