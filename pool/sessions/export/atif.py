"""A session as a trajectory in the Agent Trajectory Interchange Format, ATIF v1.8.

What ATIF has no field for is in `extra`, under `pool`; a run's stop reason is `extra.stop_reason` of its last step. No
cost is given: Pool does not know any. A compaction is a system step that says so, followed by the steps that were taken
over, flagged `is_copied_context`. Replies that never entered the history are there, for their tokens.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from pool.events import STOP_TABLE, StopReason, Usage
from pool.messages import ReasoningField
from pool.sessions.export.redact import Found
from pool.sessions.export.transcript import Call, Mark, Step, StepKind, Transcript
from pool.sessions.export.words import event_words, notes

SCHEMA = "ATIF-v1.8"
AGENT_NAME = "pool"

_SOURCES = {StepKind.EVENT: "system"}
_CALL_DATA_BYTES = 20_000
"""Larger structured results are left out of `extra`; the text of the result is there anyway."""

Json = dict[str, Any]


def trajectory(transcript: Transcript, found: Found | None) -> Json:
    """The trajectory as a JSON object; found says what was redacted, None that nothing was."""
    out: Json = {
        "schema_version": SCHEMA,
        "session_id": transcript.id.partition("/")[0] or "unknown",
        "trajectory_id": transcript.id or "unknown",
        "agent": _agent(transcript),
        "steps": [_step(number, step, transcript) for number, step in enumerate(transcript.steps, 1)],
        "notes": _notes(transcript, found),
        "final_metrics": _final(transcript),
        "extra": {"pool": _about(transcript, found)},
    }
    if transcript.subagents:
        out["subagent_trajectories"] = [trajectory(sub, found) for sub in transcript.subagents]
    return out


def _notes(transcript: Transcript, found: Found | None) -> str:
    """What a reader should know of the file, in sentences."""
    parts = [notes(transcript, found)]
    kinds = {(s.event or {}).get("type") for s in transcript.steps}
    if "history.compacted" in kinds:
        parts.append("The history was compacted; steps taken over have is_copied_context.")
    if "rewound" in kinds:
        parts.append("The conversation was rewound; steps that were taken back have in_history false.")
    return " ".join(parts)


def _agent(transcript: Transcript) -> Json:
    started = next((s.started for s in reversed(transcript.steps) if s.started), Json())
    out: Json = {"name": AGENT_NAME, "version": transcript.pool or "unknown"}
    if transcript.model:
        out["model_name"] = transcript.model
    if transcript.tools:
        out["tool_definitions"] = transcript.tools
    shown = {k: started[k] for k in ("server", "mode", "sandbox") if started.get(k)}
    settings = {k: v for k, v in transcript.head.items() if k not in ("model", "tools", "messages")}
    if settings:
        shown["request"] = settings
    if shown:
        out["extra"] = {"pool": shown}
    return out


def _about(transcript: Transcript, found: Found | None) -> Json:
    out: Json = {"workspace": transcript.workspace, "redaction": found.as_json() if found else {"applied": False}}
    if transcript.name:
        out["name"] = transcript.name
    if transcript.created:
        out["created"] = transcript.created
    if transcript.damaged:
        out["damaged_records"] = transcript.damaged
    if not transcript.finished:
        out["unfinished"] = True
    if transcript.heads > 1:
        out["request_heads"] = transcript.heads
    return out


def _final(transcript: Transcript) -> Json:
    total = sum((s.usage for s in transcript.steps if s.usage), Usage())
    runs = [s.finished for s in transcript.steps if s.finished]
    extra: Json = {"runs": sum(1 for s in transcript.steps if s.started)}
    if total.reasoning:
        extra["reasoning_tokens"] = total.reasoning
    extra["seconds"] = round(sum(float(r.get("seconds") or 0) for r in runs), 3)
    if total.estimated:
        extra["estimated"] = True
    return {
        "total_prompt_tokens": total.prompt,
        "total_completion_tokens": total.completion,
        "total_cached_tokens": total.cached,
        "total_steps": len(transcript.steps),
        "extra": extra,
    }


def _step(number: int, step: Step, transcript: Transcript) -> Json:
    out: Json = {"step_id": number}
    if stamp := timestamp(step.wall):
        out["timestamp"] = stamp
    out["source"] = _SOURCES.get(step.kind, step.kind.value)
    out["message"] = event_words(step) if step.kind is StepKind.EVENT else step.text
    if step.kind is StepKind.AGENT:
        _add_reply(out, step, transcript)
    if step.copied:
        out["is_copied_context"] = True
    if extra := _extra(step):
        out["extra"] = extra
    return out


def _add_reply(out: Json, step: Step, transcript: Transcript) -> None:
    if step.reasoning:
        out["reasoning_content"] = step.reasoning
    if step.calls:
        out["tool_calls"] = [_call(c) for c in step.calls]
        results = [_result(c, transcript) for c in step.calls if c.result is not None or c.output is not None]
        if results:
            out["observation"] = {"results": results}
    if step.usage is not None and step.replies:
        out["llm_call_count"] = step.replies
        out["metrics"] = _metrics(step, step.usage)


def _metrics(step: Step, usage: Usage) -> Json:
    extra: Json = {"reasoning_tokens": usage.reasoning} if usage.reasoning else {}
    extra["first_token_seconds"] = round(step.first_token_seconds, 4)
    extra["reply_seconds"] = round(step.reply_seconds, 4)
    if usage.estimated:
        extra["estimated"] = True
    tokens = {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion, "cached_tokens": usage.cached}
    return {**tokens, "extra": extra}


def _call(call: Call) -> Json:
    arguments, exact = arguments_of(call.arguments)
    extra: Json = {} if exact else {"arguments_text": call.arguments}
    for key, value in (("effect", call.effect), ("title", call.title), ("approved_by", call.allowed_by)):
        if value:
            extra[key] = value
    if call.allowed is False:
        extra["denied"] = call.denied_why or True
    out: Json = {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments}
    if extra:
        out["extra"] = {"pool": extra}
    return out


def arguments_of(text: str) -> tuple[Json, bool]:
    """A call's arguments as an object, and whether writing that object again gives the same text."""
    try:
        value: Any = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return {}, False
    if not isinstance(value, dict):
        return {}, False
    return cast(Json, value), json.dumps(value, ensure_ascii=False) == text


def _result(call: Call, transcript: Transcript) -> Json:
    text = call.result if call.result is not None else call.output
    extra: Json = {}
    if call.status:
        extra["status"] = call.status
    if call.seconds is not None:
        extra["seconds"] = round(call.seconds, 4)
    if call.changes:
        extra["changes"] = call.changes
    if call.data and len(json.dumps(call.data)) <= _CALL_DATA_BYTES:
        extra["data"] = call.data
    if call.result is None:
        extra["in_history"] = False
    out: Json = {"source_call_id": call.id, "content": text or ""}
    if call.subagents:
        out["subagent_trajectory_ref"] = [{"trajectory_id": f"{transcript.id}/{a}"} for a in call.subagents]
    if extra:
        out["extra"] = {"pool": extra}
    return out


def _extra(step: Step) -> Json:
    pool: Json = {}
    flags = {"kept": step.kept, "in_history": step.in_history or step.kind is StepKind.EVENT}
    pool.update({k: v for k, v in flags.items() if not v})
    pool.update(
        {k: True for k, v in (("joined", step.joined), ("replaces", step.replaces), ("steered", step.steered)) if v}
    )
    words = {"run": step.run, "finish": step.finish, "ending": step.ending, "purpose": step.purpose}
    pool.update({k: v for k, v in words.items() if v})
    if step.turn:
        pool["turn"] = step.turn
    if step.reasoning and step.reasoning_field is not ReasoningField.NONE:
        pool["reasoning_field"] = step.reasoning_field.value
    if step.marks:
        pool["marks"] = [{k: v for k, v in _mark(m).items() if v} for m in step.marks]
    for key, value in (("run_started", step.started), ("run_finished", step.finished), ("event", step.event)):
        if value is not None:
            pool[key] = value
    out: Json = {"stop_reason": stop_word(step.finished)} if step.finished is not None else {}
    return {**out, "pool": pool} if pool else out


def _mark(mark: Mark) -> Json:
    return {"type": mark.kind, "label": mark.label, "text": mark.text, "remedy": mark.remedy}


def stop_word(finished: Json) -> str:
    """ATIF's word for why a run ended; a reason that this Pool does not know stays as it is."""
    reason = str(finished.get("reason", ""))
    try:
        return STOP_TABLE[StopReason(reason)].atif
    except (ValueError, KeyError):
        return reason or "unknown"


def timestamp(wall: float) -> str:
    """A Unix time as ISO 8601 in UTC, "" if there is none or it cannot be."""
    try:
        return (
            datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            if wall > 0
            else ""
        )
    except (OverflowError, ValueError, OSError):
        return ""
