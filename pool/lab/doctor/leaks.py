"""Do the model's own marks get into the text?"""

from __future__ import annotations

from collections.abc import Sequence

from pool.lab.doctor.calling import call_ask
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.marks import call_markup, template_marks, thinking_tags
from pool.lab.doctor.subject import Seen, Subject

TORN = "torn-think-close"
"""The reader's name for a closing tag of which the server left the second half in the content."""


async def leaks(subject: Subject) -> Finding:
    """Look through every streamed reply so far."""
    seen = [one for one in subject.seen if one.ask.stream]
    if not any(one.ask.tools for one in seen):
        await subject.ask(call_ask(thinking=True))
        seen.append(subject.seen[-1])
    found = {one.check: marks for one in seen if (marks := marks_in(one))}
    data = {"replies": len(seen), "marks": found}
    count = f"{len(seen)} replies"
    if found:
        places = "; ".join(f"{name}: {' '.join(marks)}" for name, marks in found.items())
        remedy = remedy_for(subject, [mark for marks in found.values() for mark in marks])
        means = "The server's parsers miss marks of the model. Pool takes out what it can; the rest would be shown."
        return Finding(
            "leaks", Status.FAIL, f"marks of the model in the text of {count} ({places})", means, remedy, data
        )
    return Finding("leaks", Status.OK, f"no marks in the text of {count}", data=data)


def marks_in(seen: Seen) -> list[str]:
    """Marks in a reply's text. A call that the model writes although it was offered no tool is its own mistake."""
    content = seen.reply.content
    calls = call_markup(content) if seen.ask.tools else []
    marks = [*thinking_tags(content), *calls, *template_marks(content)]
    return marks or ([TORN] if TORN in seen.reply.reading.repairs else [])


def remedy_for(subject: Subject, marks: Sequence[str]) -> str:
    """The line that keeps such marks out of the text."""
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
    reads=256,
    writes=256,
)
