"""A session's log as text for people: what was asked, said and done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pool.sessions.store import clock
from pool.sessions.summary import seconds_of, summarized

RESULT_LINES = 6
"""Of a call's result so many lines are shown."""


def shown_rows(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The texts of a session, one after the other; a head with its title first."""
    one = summarized(rows, Path("session"))
    yield one.name or one.title or "(no prompt yet)"
    counts = f"{_plural(one.prompts, 'prompt')}, {_plural(one.turns, 'turn')}"
    yield f"{one.id} · {one.workspace} · {clock(one.created)} · {counts}"
    if one.parent:
        yield f"a subagent's, for the session {one.parent}"
    yield from filter(None, map(_shown, rows))


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _shown(row: dict[str, Any]) -> str:
    """What a person wants to see of a row, "" if nothing."""
    match row:
        case {"type": "run.started", "prompt": prompt, "model": model}:
            return f"\n> {prompt}\n  ({model}, {clock(seconds_of(row.get('wall')))})"
        case {"type": "message.added", "role": "assistant", "text": text}:
            return _content(str(text))
        case {"type": "call.proposed", "preview_kind": "command", "preview": str(command)} if command.strip():
            return f"→ $ {command.strip()}"
        case {"type": "call.proposed", "title": title, "name": name}:
            return f"→ {title or name}"
        case {"type": "call.finished", "status": status, "text": text}:
            return f"← {status}{_indented(str(text).splitlines())}"
        case {"type": "task.started", "kind": kind, "task_session": session}:
            return f"  the subagent {kind} works in session {session}"
        case {"type": "plan.decided", "decision": decision}:
            return f"── plan {decision}"
        case {"type": "guard.fired", "guard": guard, "action": action, "detail": detail}:
            return f"guard {guard}: {action}: {detail}"
        case {"type": "history.compacted", "detail": detail}:
            return f"── compacted: {detail}"
        case {"type": "rewound", "prompt": prompt, "why": why}:
            back = f"back to before prompt {prompt}" if why == "undo" else "the last undo was taken back"
            return f"── {back}"
        case {"type": "session.named", "name": name}:
            return f"── named {name!r}"
        case {"type": "run.finished", "reason": reason, "detail": detail, "turns": turns}:
            return f"── {reason}{f': {detail}' if detail else ''} ({turns} turns)"
        case _:
            return ""


def _content(message: str) -> str:
    try:
        return str(json.loads(message).get("content") or "").strip()
    except (ValueError, AttributeError, RecursionError):
        return ""


def _indented(lines: Sequence[str]) -> str:
    more = [f"... {len(lines) - RESULT_LINES} more lines"] if len(lines) > RESULT_LINES else []
    return "".join(f"\n    {line}" for line in [*lines[:RESULT_LINES], *more])
