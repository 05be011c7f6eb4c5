"""What runs without asking, and why: the mode, and the rules in force."""

from __future__ import annotations

from pool.agent.commands.kinds import Command, CommandError, CommandResult, Rows, Typed
from pool.agent.control import Conversation

_ORIGINS = {
    "settings": "settings",
    "kept": "kept for this checkout (pool approvals forget)",
    "session": "until this session ends",
}
"""How `Standing.origin` is said."""


async def _approvals(conversation: Conversation, typed: Typed) -> CommandResult:
    if typed.rest:
        raise CommandError("usage: /approvals; /mode MODE changes the mode, --allow, --ask and --deny set rules")
    approvals = conversation.session.approvals
    rows = tuple((one.rule, _ORIGINS.get(one.origin, one.origin)) for one in approvals.standing())
    lines = (f"mode {approvals.mode.value} (/mode changes it)",)
    return CommandResult(lines, Rows(("rule", "from"), rows)) if rows else CommandResult((*lines, "no rules are set"))


COMMANDS = (
    Command("approvals", "the mode and the rules in force, and where each comes from", _approvals, ("permissions",)),
)
