"""The table of commands: reading a line, finding a command by any of its names, completing, executing.

A group of commands is a module with a tuple `COMMANDS`; to add one, name it in `_GROUPS`. docs/commands.md
holds the table: `python -m pool.agent.commands.page` prints it anew.
"""

from __future__ import annotations

import difflib
import re

from pool.agent.commands import (
    approvals,
    audit,
    context,
    custom,
    files,
    gitwork,
    look,
    mcp,
    model,
    network,
    records,
    review,
    session,
    settings,
    skills,
    work,
    worktrees,
)
from pool.agent.commands.kinds import Command, CommandError, CommandResult, Rows, Typed, said
from pool.agent.control import Busy, Conversation, NothingToDo
from pool.config.settings import SettingsError
from pool.wire.errors import ServerProblem
from pool_tools.frozen import frozen
from pool_tools.network.rules import RuleError
from pool_tools.text import visible

_GROUPS = (
    *(session, settings, approvals, audit, context, network, records, files),
    *(gitwork, worktrees, look, mcp, model, skills, work, review),
)
_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:\s+(.*))?", re.DOTALL)
NEAR = 0.5
"""How alike a name has to be to be offered for one that does not exist."""

MOST_COMPLETIONS = 80


async def _help(conversation: Conversation, typed: Typed) -> CommandResult:
    if typed.rest:
        command = find(typed.rest.lstrip("/"))
        if command is None and (lines := custom.help_lines(typed.rest.lstrip("/"), conversation)):
            return said(*lines)
        if command is None:
            raise CommandError(_unknown(typed.rest.lstrip("/"), conversation))
        others = f"also: {', '.join(f'/{alias}' for alias in command.aliases)}" if command.aliases else ""
        return said(*(line for line in (f"/{command.name} {command.hint}".rstrip(), command.help, others) if line))
    rows = tuple((f"/{c.name} {c.hint}".rstrip(), _help_words(c)) for c in COMMANDS)
    own = ((name, f"{about} ({place})") for name, about, place in custom.rows(conversation))
    return CommandResult(rows=Rows(("command", "what it does"), (*rows, *own)))


def _help_words(command: Command) -> str:
    """What it does, and its other names."""
    names = ", ".join(f"/{alias}" for alias in command.aliases)
    return f"{command.help} (also {names})" if names else command.help


def _names(conversation: Conversation) -> tuple[str, ...]:
    return (*(command.name for command in COMMANDS), *custom.names(conversation))


HELP = Command(
    "help", "all commands, or one of them", _help, aliases=("commands", "?"), hint="[COMMAND]", arguments=_names
)

COMMANDS: tuple[Command, ...] = tuple(
    sorted((HELP, *(command for group in _GROUPS for command in group.COMMANDS)), key=lambda command: command.name)
)
"""All commands by name. Every name and alias stands for one command only."""

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


@frozen
class Completion:
    """What a line could become: text is the whole line; hint and help are for people."""

    text: str
    hint: str = ""
    help: str = ""


def parse(line: str) -> Typed | None:
    """A line as a command, None if it is a prompt. Paths (`/usr/bin`) and code are prompts; names that do not exist
    are commands, so that a slip of the pen does not go to the model."""
    found = _COMMAND.fullmatch(line.strip())
    if found is None:
        return None
    command = find(found[1])
    return Typed(command.name if command else found[1].lower(), (found[2] or "").strip())


def find(name: str) -> Command | None:
    """A command by its name or an alias, None if there is none."""
    return _BY_NAME.get(name.lower())


def taken_names() -> frozenset[str]:
    """All names and aliases: custom commands cannot have them."""
    return frozenset(_BY_NAME)


def complete(line: str, conversation: Conversation | None) -> list[Completion]:
    """What a line that begins with `/` could become, best first; without a conversation only names are known."""
    if not line.startswith("/"):
        return []
    name, blank, rest = line[1:].partition(" ")
    if not blank:
        found = [Completion(f"/{c.name}", c.hint, c.help) for c in _beginning(name.lower())]
        own = [Completion(f"/{c.name}", c.hint, c.description) for c in custom.holding(name.lower(), conversation)]
        return [*found, *own][:MOST_COMPLETIONS]
    command = find(name)
    if command is None or command.arguments is None or conversation is None:
        return []
    before, _, last = rest.rpartition(" ")
    lead = f"/{name} {before} " if before else f"/{name} "
    fitting = [word for word in command.arguments(conversation) if word.startswith(last) and word != last]
    about = {c.name: c.help for c in COMMANDS} if command.name == "help" else {}
    return [Completion(lead + word, help=about.get(word, "")) for word in fitting][:MOST_COMPLETIONS]


def _beginning(start: str) -> list[Command]:
    """Commands whose name begins so, then those with such an alias, then those that hold it somewhere."""
    by_name = [c for c in COMMANDS if c.name.startswith(start)]
    by_alias = [c for c in COMMANDS if any(a.startswith(start) for a in c.aliases)]
    inside = [c for c in COMMANDS if start in c.name]
    return list(dict.fromkeys((*by_name, *by_alias, *inside)))


async def execute(line: str, conversation: Conversation) -> CommandResult:
    """Do what a line says. Never raises for what was typed, or for what a server or a file does."""
    typed = parse(line)
    if typed is None:
        return CommandResult((f"{line.strip()!r} is no command; commands begin with / (/help shows all)",), ok=False)
    command = find(typed.name)
    if command is None:
        return custom.answer(typed, conversation) or CommandResult((_unknown(typed.name, conversation),), ok=False)
    if command.needs_idle and conversation.busy:
        return CommandResult((f"/{command.name} has to wait until the run is over; stop it first",), ok=False)
    try:
        return await command.run(conversation, typed)
    except ServerProblem as problem:
        return CommandResult(tuple(text for text in (str(problem), problem.remedy) if text), ok=False)
    except (CommandError, SettingsError, Busy, NothingToDo, RuleError) as error:
        return CommandResult((str(error),), ok=False)
    except OSError as error:
        place = f" ({visible(str(error.filename))})" if error.filename else ""
        return CommandResult((f"/{typed.name}: {error.strerror or error}{place}",), ok=False)


def _unknown(name: str, conversation: Conversation) -> str:
    near = difflib.get_close_matches(name.lower(), [*_BY_NAME, *custom.names(conversation)], n=1, cutoff=NEAR)
    return f"there is no command /{name}; " + (f"did you mean /{near[0]}?" if near else "/help shows all")
