"""`pool run --dry-run`: the first request, as it would be sent, on stdout."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from pool.agent.approvals import NobodyThere
from pool.agent.factory import Session, open_session
from pool.agent.firstrequest import first_request
from pool.config.settings import Settings
from pool.headless.plain import safe
from pool.wire.errors import ProblemKind, ServerProblem
from pool.wire.tokens import TokenMeter

ANSWER_SECONDS = 3.0
"""How long the server is waited for to say what it is: a request has fields of its own then."""

POLL_SECONDS = 0.02


def show_request(settings: Settings, prompt: str) -> int:
    """Print the body that would be sent; returns the exit code. The server is asked by GETs what it is, no more.

    Nothing is written to the session's log. Raises `SettingsError`.
    """
    try:
        body, note = asyncio.run(_body(replace(settings, ephemeral=True), prompt)), ""
    except ServerProblem as problem:
        body = first_request(settings, settings.model or "MODEL", prompt)
        note = f"; the server may get fields of its own besides, but it cannot be asked: {problem}"
    sys.stdout.write(body.decode() + "\n")
    tokens = TokenMeter().estimate(body).tokens
    sys.stderr.write(safe(f"{len(body):,} bytes, about {tokens:,} tokens{note}", terminal=True) + "\n")
    return 0


async def _body(settings: Settings, prompt: str) -> bytes:
    async with open_session(settings, NobodyThere()) as session:
        await _known(session)
        worded = session.skills.worded(prompt), session.work.plan.begin(session.approvals.mode)
        session.agent.history.add_user("\n\n".join(text for text in worded if text))
        return session.replies.first_body(session.agent.history)


async def _known(session: Session) -> None:
    """Wait until the server has said what it is. Raises `ServerProblem` where nothing answers."""
    link = session.replies.exchange.link
    waited = 0.0
    while not link.asked and waited < ANSWER_SECONDS:
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    info = link.look()
    if info is None or not info.reachable:
        raise ServerProblem(ProblemKind.REFUSED, f"nothing answers at {link.display}")
