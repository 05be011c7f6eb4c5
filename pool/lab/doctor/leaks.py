"""Do the model's own marks get into the text, and does a reply read the same with and without streaming?"""

from __future__ import annotations

from collections.abc import Sequence

from pool.lab.doctor.calling import call_ask
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.marks import call_markup, template_marks, thinking_tags
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Seen, Subject
from pool.wire.errors import ServerProblem

TORN = "torn-think-close"
"""The reader's name for a closing tag of which the server left the second half in the content."""


async def leaks(subject: Subject) -> Finding:
    """Look through every reply so far, and compare one of them with its like without streaming."""
    streamed = await _streamed(subject)
    difference, trouble = await _compare(subject, streamed)
    found = {seen.check: marks for seen in subject.seen if (marks := _marks(seen))}
    data = {"replies": len(subject.seen), "marks": found, "not_streamed": difference or trouble or "alike"}
    count = f"{len(subject.seen)} replies"
    if found:
        places = "; ".join(f"{name}: {' '.join(marks)}" for name, marks in found.items())
        remedy = _remedy(subject, [mark for marks in found.values() for mark in marks])
        means = "The server's parsers miss marks of the model. Pool takes out what it can; the rest would be shown."
        return Finding(
            "leaks", Status.FAIL, f"marks of the model in the text of {count} ({places})", means, remedy, data
        )
    if difference or trouble:
        words = f"no marks in the text of {count}; without streaming, {difference or trouble}"
        means = "Pool always streams and is not hit; other clients of this server are."
        return Finding("leaks", Status.WARN, words, means, subject.remedies.upgrade, data)
    words = f"no marks in the text of {count}; with and without streaming a reply is the same"
    return Finding("leaks", Status.OK, words, data=data)


async def _streamed(subject: Subject) -> Seen:
    """The streamed reply with a tool that another check got, or a new one."""
    for seen in reversed(subject.seen):
        if seen.ask.tools and seen.ask.stream and seen.ask == call_ask(thinking=seen.ask.thinking):
            return seen
    await subject.ask(call_ask(thinking=True))
    return subject.seen[-1]


async def _compare(subject: Subject, streamed: Seen) -> tuple[str, str]:
    """How the reply differs without streaming, and why that could not be seen; "" each if there is nothing to say."""
    try:
        whole = await subject.ask(call_ask(thinking=streamed.ask.thinking, stream=False))
    except ServerProblem as problem:
        return "", f"the request fails: {problem}"
    before, after = _shape(streamed.reply), _shape(whole)
    differences = [f"{name} {_there(new)} (streamed: {_there(old)})" for name, old, new in _pairs(before, after)]
    return ", ".join(differences), ""


def _shape(reply: Reply) -> dict[str, Sequence[str]]:
    """What must not depend on streaming. The words may: the same prompt need not give the same tokens twice."""
    return {
        "calls": [call.name for call in reply.reading.calls] if reply.called else [],
        "thoughts": sorted(reply.reasoning),
        "text": ["some"] if reply.content.strip() else [],
    }


def _pairs(
    before: dict[str, Sequence[str]], after: dict[str, Sequence[str]]
) -> list[tuple[str, Sequence[str], Sequence[str]]]:
    return [(name, old, after[name]) for name, old in before.items() if old != after[name]]


def _there(values: Sequence[str]) -> str:
    return " ".join(values) or "none"


def _marks(seen: Seen) -> list[str]:
    """Marks in a reply's text. A call that the model writes although it was offered no tool is its own mistake."""
    content = seen.reply.content
    calls = call_markup(content) if seen.ask.tools else []
    marks = [*thinking_tags(content), *calls, *template_marks(content)]
    return marks or ([TORN] if TORN in seen.reply.reading.repairs else [])


def _remedy(subject: Subject, marks: Sequence[str]) -> str:
    parsed = any(seen.reply.reasoning for seen in subject.seen)
    if any(map(thinking_tags, marks)) and not parsed:
        return subject.remedies.reasoning
    if TORN in marks or any(map(thinking_tags, marks)):
        return subject.remedies.upgrade
    return subject.remedies.upgrade if any(map(template_marks, marks)) else subject.remedies.tools


LEAKS = Check(
    "leaks",
    "do marks get into the text?",
    leaks,
    needs=("stream",),
    means="Whether marks of the model get into the text is not known.",
    reads=2 * 256,
    writes=2 * 256,
)
