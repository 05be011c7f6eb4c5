"""How a run ends: the reason that its books give, and the model's last word where a budget or a guard ended it."""

from __future__ import annotations

import asyncio
import re

from pool.agent.history import History
from pool.agent.state import RunState, Stop
from pool.agent.streaming import LastWord, ReplyStream
from pool.events import StopReason
from pool.wire.errors import ServerProblem
from pool.wire.reading import Ending

_GAVE_UP = re.compile(
    r"[\W_]*(?:(?:sorry|unfortunately)\W+)?(?:could not do it|できませんでした"
    r"|i (?:could not|couldn't|cannot|can't|was unable to|am unable to)"
    r" (?:do|finish|complete|solve|fix|mend|find) (?:it|this|that|the))",
    re.IGNORECASE,
)
"""How a final answer begins when the agent could not do the task; the system prompt asks for "Could not do it:"."""

CLOSED_BY_MODEL = frozenset(
    {
        StopReason.MAX_TURNS,
        StopReason.MAX_TOKENS,
        StopReason.MAX_REASONING,
        StopReason.DENIED,
        StopReason.LOOP,
        StopReason.NO_PROGRESS,
    }
)
"""Stops after which the model may close with an account of what is done, in one last reply without tools."""

CLOSING_TOKENS = 800
CLOSING_SECONDS = 120.0


def completed(run: RunState) -> Stop:
    """The stop of a run whose model has given its answer."""
    if run.denied:
        return Stop(StopReason.DENIED, next(iter(run.denied.values())), natural=True)
    if run.unverified:
        return Stop(StopReason.UNVERIFIED, run.unverified, natural=True)
    if gave_up(run.answer):
        return Stop(StopReason.GAVE_UP, "the agent says that it could not do it", natural=True)
    return Stop(StopReason.COMPLETED, natural=True)


def gave_up(answer: str) -> bool:
    """Whether an answer says that the agent could not do the task."""
    return bool(_GAVE_UP.match(answer.strip()))


async def last_words(replies: ReplyStream, history: History, run: RunState, stop: Stop) -> None:
    """Let the model say what is done and what is not. Whatever goes wrong here, the stop stands."""
    history.add_user(
        f"[Pool] The run ends here: {stop.detail}. Say in a few sentences what is done, what is not, and what you "
        "did not verify. No tools."
    )
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            reading = await replies.last_word(history, history.data, LastWord(CLOSING_TOKENS, show=True))
    except (ServerProblem, TimeoutError):
        return
    finally:
        run.usage += replies.cut_usage
    run.usage += replies.usage
    text = reading.content.strip()
    if text and reading.ending in (Ending.WHOLE, Ending.LENGTH):
        history.add_assistant(reading, [])
        run.answer = text
