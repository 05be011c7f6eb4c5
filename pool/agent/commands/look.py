"""Commands on how a face looks. What they do is the face's."""

from __future__ import annotations

from pool.agent.commands.kinds import ActionKind, Command, CommandResult, Typed, act
from pool.agent.control import Conversation


async def _theme(conversation: Conversation, typed: Typed) -> CommandResult:
    return act(ActionKind.THEME, typed.rest)


async def _agent(conversation: Conversation, typed: Typed) -> CommandResult:
    return act(ActionKind.AGENT, typed.rest)


def _names(conversation: Conversation) -> tuple[str, ...]:
    # Imported when somebody asks: runs have no colours.
    from pool_themes import names

    return names()


COMMANDS = (
    Command("agent", "other agents; with a name, a new session with that one", _agent, hint="[NAME]"),
    Command(
        "theme", "colours; without a name, try them on", _theme, aliases=("themes",), hint="[NAME]", arguments=_names
    ),
)
