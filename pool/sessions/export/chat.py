"""A session as chat messages in OpenAI's form, one JSON object a line: what trainers of chat models read.

Each line is a history as it was sent, `{"messages": [...], "tools": [...]}`, arguments of calls as JSON text. A session
is one line, unless its history was replaced in between (a compaction, a rewind): then each history is a line, and
`metadata` says which of how many. Reasoning is under the name under which it was sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from pool.messages import Encoded, Message, ReasoningField, Role, encode
from pool.sessions.export.redact import Found
from pool.sessions.export.transcript import Transcript
from pool.sessions.replay import resumed

Row = dict[str, Any]


def chat_lines(
    rows: Sequence[Row], transcript: Transcript, found: Found | None, *, bare: bool = False
) -> Iterator[str]:
    """One JSON text a history, without line ends. bare: no `metadata`."""
    every = [h for h in histories(rows) if any(m.message.role is not Role.SYSTEM for m in h)]
    for number, history in enumerate(every, 1):
        out: Row = {"messages": [_openai(m) for m in history]}
        if transcript.tools:
            out["tools"] = transcript.tools
        if not bare:
            redaction: Any = found.as_json() if found else {"applied": False}
            about: Row = {"session": transcript.id, "model": transcript.model, "redaction": redaction}
            if len(every) > 1:
                about |= {"history": number, "of": len(every)}
            out["metadata"] = {"pool": about}
        yield json.dumps(out, ensure_ascii=False)


def histories(rows: Sequence[Row]) -> list[list[Encoded]]:
    """The history before each break, and the last one; none that a later one only goes on with."""
    main = [r for r in rows if not r.get("agent")]
    every: list[list[Encoded]] = []
    for history in [*_before_breaks(main), resumed(main).messages]:
        data = [m.data for m in history]
        every = [e for e in every if [m.data for m in e] != data[: len(e)]]
        every.append(history)
    return every


def _before_breaks(main: Sequence[Row]) -> Iterator[list[Encoded]]:
    """The history before each compaction and each rewind."""
    rewinds = any(r.get("type") == "rewound" for r in main)
    system = [r for r in main if _is_system(r)][:1]
    start = 0
    for at, row in enumerate(main):
        compacts = row.get("type") == "history.compacted" and _whole(main, at)
        if not compacts and row.get("type") != "rewound":
            continue
        # What stands before a whole compaction does not count after it, but for the system message.
        before = main[:at] if rewinds else [*(system if start else []), *main[start:at]]
        yield resumed(before).messages
        start = at


def _whole(rows: Sequence[Row], at: int) -> bool:
    """Whether all messages that a compaction announces are there."""
    follow = rows[at].get("follow", -1)
    count = follow if isinstance(follow, int) else -1
    return all(r.get("type") == "message.added" for r in rows[at + 1 : at + 1 + count]) and at + count < len(rows)


def _is_system(row: Row) -> bool:
    return row.get("type") == "message.added" and row.get("role") == Role.SYSTEM


def _openai(encoded: Encoded) -> Row:
    """A message as OpenAI's API has it: as it was sent, or translated from Ollama's own form."""
    row = cast(Row, json.loads(encoded.data))
    calls = cast(list[Row], row.get("tool_calls") or [])
    native = "thinking" in row or "tool_name" in row or any("type" not in c for c in calls)
    if not native:
        return row
    message = encoded.message
    plain = Message(
        message.role,
        message.content,
        message.reasoning,
        ReasoningField.REASONING if message.reasoning else ReasoningField.NONE,
        message.calls,
        message.call_id,
    )
    return cast(Row, json.loads(encode(plain).data))
