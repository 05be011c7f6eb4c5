"""What commands reach: granted while the session runs, for a time or until its end."""

from __future__ import annotations

from pool.agent.commands.kinds import Command, CommandError, CommandResult, Rows, Typed, said, words
from pool.agent.control import Conversation
from pool_tools.network.grants import seconds_of
from pool_tools.network.presets import PRESETS

USAGE = "usage: /net, /net HOST[:PORT] [30s|10m|2h], /net python|node|rust|go, or /net off WHAT"


async def _net(conversation: Conversation, typed: Typed) -> CommandResult:
    match typed.words:
        case []:
            return _shown(conversation)
        case ["off" | "revoke", what]:
            if not conversation.revoke_network(what):
                raise CommandError(f"{what} was not granted in this session; /net shows what was")
            return said(f"commands may no longer reach {what}")
        case [what] if what != "off":
            grant = await conversation.grant_network(what)
            return said(f"commands may reach {grant.text} until the session ends")
        case [what, time]:
            grant = await conversation.grant_network(what, seconds_of(time))
            return said(f"commands may reach {grant.text} for {time}")
        case _:
            raise CommandError(USAGE)


def _shown(conversation: Conversation) -> CommandResult:
    network = conversation.session.network
    reach = conversation.status().network
    lines = [f"commands reach: {reach}"]
    if refusal := network.can_grant:
        return said(*lines, refusal)
    rows = tuple((grant.text, _left(conversation, grant.text)) for grant in network.grants())
    return CommandResult((*lines, USAGE), Rows(("granted", "for"), rows) if rows else None)


def _left(conversation: Conversation, text: str) -> str:
    seconds = conversation.network_seconds_left(text)
    return "the session" if seconds is None else f"{seconds:,.0f} s more"


COMMANDS = (
    Command(
        "net",
        "what commands reach: let them reach a host for a while",
        _net,
        aliases=("network",),
        hint="[HOST [TIME] | off WHAT]",
        arguments=words("off", *PRESETS),
    ),
)
