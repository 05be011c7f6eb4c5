"""The user's own commands and a checkout's, beside those of the table."""

from __future__ import annotations

from collections.abc import Sequence

from pool.agent.commands.kinds import ActionKind, CommandResult, Typed, act
from pool.agent.control import Conversation
from pool.agent.sessionskills import TRUST
from pool.extend.customcommands.command import CustomCommand


def names(conversation: Conversation) -> tuple[str, ...]:
    """Their names."""
    return tuple(command.name for command in conversation.session.skills.found.commands.commands)


def holding(text: str, conversation: Conversation | None) -> Sequence[CustomCommand]:
    """Those whose names hold a text, those that begin with it first."""
    if conversation is None:
        return ()
    found = [command for command in conversation.session.skills.found.commands.commands if text in command.name]
    return sorted(found, key=lambda command: not command.name.startswith(text))


def rows(conversation: Conversation) -> tuple[tuple[str, str, str], ...]:
    """A row of the table of all commands for each."""
    found = conversation.session.skills.found.commands.commands
    return tuple((f"/{c.name} {c.hint}".rstrip(), c.description, c.place) for c in found)


def help_lines(name: str, conversation: Conversation) -> tuple[str, ...]:
    """What is known of one, nothing if there is none of that name."""
    command = conversation.session.skills.found.commands.named(name)
    return (f"/{command.name} {command.hint}".rstrip(), command.description, command.place) if command else ()


def answer(typed: Typed, conversation: Conversation) -> CommandResult | None:
    """What one answers: its prompt, to be worked. None if there is none of that name."""
    found = conversation.session.skills.found.commands
    if command := found.named(typed.name):
        return act(ActionKind.SUBMIT, command.prompt(typed.rest))
    if any(command.name == typed.name for command in found.waiting):
        return CommandResult((f"/{typed.name} came with this checkout and waits for your trust; {TRUST}",), ok=False)
    return None
