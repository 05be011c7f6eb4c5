"""The command `/audit`: did this session earn its success?"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.agent.commands.kinds import Command, CommandError, CommandResult, Typed, words
from pool.agent.control import Conversation
from pool.sessions.store import NoSuchSession, by_id, sessions_folder

if TYPE_CHECKING:
    from pathlib import Path

    from pool.agent.audit.audit import Audit

COLUMNS = 96
"""Lines are made for this width; a narrower face wraps them."""

RERUN, JUDGE, DISMISS = "rerun", "judge", "dismiss"


async def _audit(conversation: Conversation, typed: Typed) -> CommandResult:
    # The signals are loaded only when somebody asks.
    from pool.agent.audit.facts import AuditProblem
    from pool.agent.audit.rerun import verified
    from pool.agent.audit.shown import shown

    wish, *rest = typed.words or [""]
    if wish not in ("", RERUN, JUDGE, DISMISS):
        raise CommandError(f"/audit {wish}? It takes nothing, {RERUN}, {JUDGE}, or {DISMISS} KEY REASON")
    try:
        log = await asyncio.to_thread(_log, conversation)
        audit = await asyncio.to_thread(_looked, log, rest if wish == DISMISS else None)
        if wish in (RERUN, JUDGE) and conversation.busy:
            raise CommandError(f"/audit {wish} has to wait until the run is over; stop it first")
        if wish == RERUN:
            audit = await verified(audit)
        if wish == JUDGE:
            audit = await _judged(conversation, audit)
    except AuditProblem as problem:
        raise CommandError(str(problem)) from None
    more = [] if wish else [f"/audit {RERUN} runs the original tests over the result; /audit {JUDGE} asks the model"]
    return CommandResult((*shown(audit, COLUMNS), *more))


def _log(conversation: Conversation) -> Path:
    try:
        return by_id(sessions_folder(), conversation.session.hub.session).path
    except NoSuchSession:
        raise CommandError("this session is not kept on disk, so there is nothing to audit") from None


def _looked(log: Path, dismissed: list[str] | None) -> Audit:
    from pool.agent.audit.audit import audit_log
    from pool.agent.audit.dismissals import dismiss, dismissals_of_log, read_dismissals

    audit, place = audit_log(log), dismissals_of_log(log)
    if dismissed is not None:
        key, *reason = dismissed or [""]
        if not reason:
            raise CommandError(f"/audit {DISMISS} KEY REASON: a finding is dismissed with a reason")
        dismiss(place, audit, key, " ".join(reason))
    return audit.dismissing(read_dismissals(place))


async def _judged(conversation: Conversation, audit: Audit) -> Audit:
    from pool.agent.audit.judge import asker, judged

    link = conversation.session.replies.exchange.link
    await link.settled()
    ask = asker(link, conversation.session.settings)
    return replace(audit, judgement=await judged(audit, ask, link.model))


COMMANDS = (
    Command(
        "audit",
        "did the session earn its success: what it changed in tests, ran and claimed; rerun runs the original tests",
        _audit,
        hint=f"[{RERUN} | {JUDGE} | {DISMISS} KEY REASON]",
        arguments=words(RERUN, JUDGE, DISMISS),
    ),
)
