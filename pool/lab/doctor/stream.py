"""Does a short reply stream, and does it come with everything that Pool wants to know?"""

from __future__ import annotations

from typing import Any

from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.remedies import again
from pool.lab.doctor.reply import Reply, duration
from pool.lab.doctor.subject import Ask, Subject, talk

REPLY_TOKENS = 64
LEAST_TIMED_TOKENS = 8
"""Below this many tokens a rate says nothing."""

PROMPT = "Say in one short sentence that you are ready."


async def stream(subject: Subject) -> Finding:
    """One short streamed reply without thinking."""
    reply = await subject.ask(Ask(talk(PROMPT), max_tokens=REPLY_TOKENS))
    reading, data = reply.reading, _data(reply)
    words = _words(reply)
    if not (reply.content.strip() or reply.reasoning or reply.called):
        means = "The model says nothing: its chat template may not fit it, or the server ends replies at once."
        return Finding("stream", Status.FAIL, f"the reply is empty ({words})", means, again("stream"), data)
    if not reply.streamed:
        means = "Text appears only when a reply is complete, and a long one looks like a server that hangs."
        words = f"the server ignores stream: the reply came in one piece ({words})"
        return Finding("stream", Status.WARN, words, means, subject.remedies.upgrade, data)
    if reading.usage is None:
        means = "Pool has to estimate tokens, and cannot tell a call that was cut at the token limit from a whole one."
        return Finding("stream", Status.WARN, f"no token counts; {words}", means, subject.remedies.usage, data)
    if not reply.done:
        means = "Pool takes the finish reason as the end; a gateway that cuts streams would go unnoticed."
        return Finding("stream", Status.WARN, f"no [DONE] at the end; {words}", means, subject.remedies.upgrade, data)
    return Finding("stream", Status.OK, words, data=data)


def _words(reply: Reply) -> str:
    parts = [f"first token after {duration(reply.first)}"]
    rate = _rate(reply)
    parts += [f"then {rate:.0f} tokens/s"] if rate else []
    parts.append(f"finish reason {reply.reading.finish}")
    if reply.reading.usage is not None:
        parts.append(f"{reply.prompt_tokens} tokens read and {reply.written_tokens} written")
        parts.append("cached tokens told" if reply.cached is not None else "cached tokens not told")
    return ", ".join(parts)


def _rate(reply: Reply) -> float:
    """Tokens a second after the first one; 0 if that cannot be told."""
    seconds = reply.seconds - reply.first
    return (reply.written_tokens - 1) / seconds if reply.written_tokens >= LEAST_TIMED_TOKENS and seconds > 0 else 0.0


def _data(reply: Reply) -> dict[str, Any]:
    return {
        "first_seconds": round(reply.first, 4),
        "seconds": round(reply.seconds, 4),
        "tokens_per_second": round(_rate(reply), 1),
        "event_stream": reply.streamed,
        "done": reply.done,
        "finish": reply.reading.finish,
        "usage": reply.reading.usage is not None,
        "cached_told": reply.cached is not None,
        "prompt_tokens": reply.prompt_tokens,
        "written_tokens": reply.written_tokens,
    }


STREAM = Check(
    "stream",
    "does a reply stream?",
    stream,
    needs=("model",),
    means="Pool gets no usable reply from this server.",
    reads=64,
    writes=REPLY_TOKENS,
)
