"""Words and figures that the page and the Markdown share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from pool.sessions.export.fold import objects_of
from pool.sessions.export.redact import Found
from pool.sessions.export.text import first_line
from pool.sessions.export.transcript import Call, Step, StepKind, Transcript
from pool_tools.text import plural

TITLE_CHARS = 90
OPENING = "before the first prompt"


@dataclass(slots=True)
class Part:
    """The steps of one prompt. number counts prompts from 1; 0 for what comes before the first."""

    number: int
    steps: list[Step] = field(default_factory=list[Step])


def parts(steps: Sequence[Step]) -> list[Part]:
    """The steps by prompt. Steps without a prompt before them come in a part of their own."""
    out = [Part(0)]
    for step in steps:
        if step.started is not None:
            out.append(Part(out[-1].number + 1))
        out[-1].steps.append(step)
    return [p for p in out if p.steps]


def title(transcript: Transcript) -> str:
    """The session's name, else the first line of its first prompt."""
    prompts = (s.text for s in transcript.steps if s.started is not None)
    return transcript.name or first_line(next(prompts, ""), TITLE_CHARS) or f"Session {transcript.id}"


def facts(transcript: Transcript) -> Iterator[tuple[str, str]]:
    """What the session was, as pairs of a word and its value."""
    started = next((s.started for s in reversed(transcript.steps) if s.started), dict[str, Any]())
    yield "session", transcript.id
    if transcript.created:
        yield "begun", when(transcript.created)
    if transcript.workspace:
        yield "workspace", transcript.workspace
    if transcript.model:
        yield "model", transcript.model
    for name in ("server", "mode", "sandbox"):
        if started.get(name):
            yield name, str(started[name])
    usage = [s.usage for s in transcript.steps if s.usage]
    read, cached, written = (
        sum(u.prompt for u in usage),
        sum(u.cached for u in usage),
        sum(u.completion for u in usage),
    )
    about = "about " if any(u.estimated for u in usage) else ""
    yield "tokens", f"{about}{read:,} read ({cached:,} cached), {written:,} written"
    yield "written by", f"Pool {transcript.pool}" if transcript.pool else "Pool"


def notes(transcript: Transcript, found: Found | None) -> str:
    """What was redacted, and what is missing, in sentences."""
    said = [found.sentence() if found else "Nothing was redacted: the file may hold secrets and names."]
    if transcript.imported:
        said.append("The session was imported from another file.")
    if not transcript.finished:
        said.append("The last run has no end: it was killed, or was still running when this was written.")
    if transcript.damaged:
        said.append(f"{plural(transcript.damaged, 'damaged record')} of the session's log could not be read.")
    return " ".join(said)


def when(wall: float) -> str:
    """A Unix time for people, in UTC."""
    try:
        return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M UTC") if wall > 0 else ""
    except (OverflowError, ValueError, OSError):
        return ""


def seconds(value: float) -> str:
    """A time for people."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def timings(step: Step) -> list[str]:
    """When and how long a reply took, what it cost, as short phrases."""
    out: list[str] = []
    if step.usage is not None and step.replies:
        out.append(f"first token {seconds(step.first_token_seconds)}")
        out.append(f"reply {seconds(step.reply_seconds)}")
    if ran := sum(c.seconds or 0.0 for c in step.calls):
        out.append(f"tools {seconds(ran)}")
    if step.usage is not None:
        usage = step.usage
        about = "about " if usage.estimated else ""
        out.append(f"{about}{usage.prompt:,} tokens read ({usage.cached:,} cached), {usage.completion:,} written")
    return out


def call_title(call: Call) -> str:
    """What a call does, in one line."""
    if call.preview_kind == "command" and call.preview.strip():
        return f"$ {first_line(call.preview, TITLE_CHARS)}"
    return first_line(call.title, TITLE_CHARS) or f"{call.name} {first_line(call.arguments, TITLE_CHARS)}".strip()


def call_status(call: Call) -> str:
    """How a call ended, and how long it took."""
    status = call.status or ("denied" if call.allowed is False else "no result" if call.result is None else "")
    return ", ".join(p for p in (status, seconds(call.seconds) if call.seconds is not None else "") if p)


def call_body(call: Call) -> tuple[str, str]:
    """What a call would do: `diff`, `command` or `json`, and the text. ("", "") if the title says it all."""
    if call.preview_kind in ("diff", "command") and call.preview.strip():
        return call.preview_kind, call.preview
    if diff := _diff(call):
        return "diff", diff
    if call.preview_kind == "text" and call.title:
        return "", ""
    try:
        return "json", json.dumps(json.loads(call.arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return "json", call.arguments


def _diff(call: Call) -> str:
    """A diff from the arguments of an edit whose preview was not kept (an imported session)."""
    import difflib

    if call.name not in ("edit", "write"):
        return ""
    try:
        arguments: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    given = cast(dict[str, Any], arguments)
    edits: Any = given.get("edits") or [given]
    pairs = [(e.get("old_text", ""), e.get("new_text", e.get("content", ""))) for e in edits if isinstance(e, dict)]  # pyright: ignore
    lines = [f"--- a/{given.get('path', '')}", f"+++ b/{given.get('path', '')}"]
    for old, new in pairs:  # pyright: ignore[reportUnknownVariableType]
        if isinstance(old, str) and isinstance(new, str):
            lines += list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3))[2:]
    return "\n".join(lines) if len(lines) > 2 else ""


def run_end(step: Step) -> tuple[str, str, list[dict[str, Any]]]:
    """How a run ended: its stop reason, a sentence, and the files that it changed."""
    finished = step.finished or {}
    reason = str(finished.get("reason", "ended")).replace("_", " ")
    words = [str(finished.get("detail") or "")]
    turns, took = finished.get("turns"), finished.get("seconds")
    if isinstance(turns, int):
        words.append(f"{turns} turn{'s' if turns != 1 else ''}")
    if isinstance(took, (int, float)):
        words.append(seconds(float(took)))
    return reason, ", ".join(w for w in words if w), objects_of(finished, "changes")


def event_words(step: Step) -> str:
    """What an EVENT step says, in one sentence."""
    match (step.event or {}).get("type"):
        case "history.compacted":
            return f"The history was compacted: {step.text}"
        case "rewound":
            return (
                f"The conversation was rewound: it went on as it was before step {(step.event or {}).get('to_step')}."
            )
        case "orphan.result":
            return "A result whose call is not in the log (damage)."
        case _:
            return step.text


def flags(step: Step) -> list[str]:
    """What is special about a step's place in the history."""
    out: list[str] = []
    if step.copied:
        out.append("taken over by the compaction")
    if not step.kept and step.kind is StepKind.AGENT:
        out.append(
            f"asked for {step.purpose}" if step.purpose else f"not kept in the history ({step.ending or 'no end'})"
        )
    if not step.kept and step.kind is StepKind.USER:
        out.append("never reached the model")
    if step.steered:
        out.append("said while the run was working")
    return out
