"""Does a reply read the same without streaming?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pool.lab.doctor.calling import call_ask
from pool.lab.doctor.finding import Check, Finding, Status
from pool.lab.doctor.leaks import marks_in, remedy_for
from pool.lab.doctor.reply import Reply
from pool.lab.doctor.subject import Seen, Subject

MEANS = "Pool always streams and is not hit; other clients of this server are."


async def unstreamed(subject: Subject) -> Finding:
    """Make the request of tool-call once more without streaming, and compare."""
    streamed = await _streamed(subject)
    await subject.ask(call_ask(thinking=streamed.ask.thinking, stream=False))
    whole = subject.seen[-1]
    differences = _differences(_shape(streamed.reply), _shape(whole.reply))
    marks = marks_in(whole)
    data = {"marks": marks, "differences": differences}
    if marks:
        words = f"marks of the model in the text of a reply that is not streamed: {' '.join(marks)}"
        return Finding("unstreamed", Status.FAIL, words, MEANS, remedy_for(subject, marks), data)
    if differences:
        words = f"without streaming, {', '.join(differences)}"
        return Finding("unstreamed", Status.WARN, words, MEANS, subject.remedies.upgrade, data)
    return Finding("unstreamed", Status.OK, "with and without streaming a reply is the same", data=data)


async def _streamed(subject: Subject) -> Seen:
    """The streamed reply with a tool that another check got, or a new one."""
    for seen in reversed(subject.seen):
        if seen.ask == call_ask(thinking=seen.ask.thinking):
            return seen
    await subject.ask(call_ask(thinking=True))
    return subject.seen[-1]


def _shape(reply: Reply) -> dict[str, Sequence[str]]:
    """What must not depend on streaming. The words may: the same prompt need not give the same tokens twice."""
    return {
        "calls": [call.name for call in reply.reading.calls] if reply.called else [],
        "thoughts": sorted(reply.reasoning),
        "text": ["some"] if reply.content.strip() else [],
    }


def _differences(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{name} {_there(after[name])} (streamed: {_there(old)})" for name, old in before.items() if old != after[name]
    ]


def _there(values: Sequence[str]) -> str:
    return " ".join(values) or "none"


UNSTREAMED = Check(
    "unstreamed",
    "and without streaming?",
    unstreamed,
    needs=("stream",),
    means="Pool always streams and is not hit; other clients of this server may be.",
    reads=2 * 256,
    writes=2 * 256,
)
