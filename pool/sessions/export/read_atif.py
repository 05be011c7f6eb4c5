"""Reading a trajectory (ATIF v1.x, Pool's own or another agent's) back into a session."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pool.messages import Message, ReasoningField, Role, ToolCall, encode_json
from pool.sessions.export.fold import number_of, object_of, objects_of, text_of
from pool.sessions.export.incoming import (
    Builder,
    ImportProblem,
    Incoming,
    arguments_text,
    content_text,
    field_at,
)

Json = dict[str, Any]

VERSIONS = "ATIF-v1."

_SOURCES = ("system", "user", "agent")
_STARTED = ("prompt", "workspace", "model", "server", "mode", "sandbox")


def read_atif(root: Any) -> Incoming:
    """The session of a trajectory. Raises `ImportProblem` with the field that is wrong."""
    version = field_at(root, "schema_version", str, "the file")
    if not version.startswith(VERSIONS):
        raise ImportProblem(f"schema_version: {VERSIONS}x is expected, not {version!r}")
    out = Incoming(source=text_of(root, "session_id"))
    _Reader(out, root, "", "").read()
    return out


class _Reader:
    """Reads one trajectory into rows of one agent; agent is its path, where the place of the trajectory in the file."""

    def __init__(self, out: Incoming, root: Json, agent: str, where: str) -> None:
        self._out, self._root, self._agent, self._where = out, root, agent, where
        self._builder = Builder(out, agent)
        self._runs = 0
        self._starts: list[int] = []
        subs = objects_of(root, "subagent_trajectories")
        self._subs = {text_of(s, "trajectory_id") or str(i): (i, s) for i, s in enumerate(subs)}
        self._own = field_at(root, "agent", dict, where or "the file")

    def read(self) -> None:
        """Read the steps."""
        steps: list[Any] = field_at(self._root, "steps", list, self._where or "the file")
        if not steps:
            raise ImportProblem(f"{self._where}steps: there are none")
        self._head()
        for number, step in enumerate(steps):
            self._starts.append(len(self._out.rows))
            self._step(step, f"{self._where}steps[{number}]")
        for name in list(self._subs):
            self._sub(name)

    def _head(self) -> None:
        name = object_of(object_of(self._root, "extra"), "pool").get("name")
        tools = objects_of(self._own, "tool_definitions")
        request = object_of(object_of(object_of(self._own, "extra"), "pool"), "request")
        head: Json = {"model": text_of(self._own, "model_name")} if self._own.get("model_name") else {}
        head |= {"tools": tools} if tools else {}
        head |= {k: v for k, v in request.items() if k not in head and k != "options"}
        if head:
            self._builder.event("head.set", head=encode_json(head).decode(), why="imported")
        if isinstance(name, str) and name:
            self._builder.event("session.named", name=name)

    def _step(self, step: Any, where: str) -> None:
        source = field_at(step, "source", str, where)
        if source not in _SOURCES:
            raise ImportProblem(f"{where}.source: system, user or agent is expected, not {source!r}")
        if "message" not in step:
            raise ImportProblem(f"{where}: the field 'message' is missing")
        text = content_text(step["message"], f"{where}.message", self._builder.note)
        pool = object_of(object_of(step, "extra"), "pool")
        self._place(step, pool, where)
        match source:
            case "user":
                self._user(step, text, pool)
            case "agent":
                self._agent_step(step, text, pool, where)
            case _:
                self._system(text, pool, where)
        self._marks(pool)
        if source == "agent":
            self._turn_ends(step, pool)
        if "run_finished" in pool:
            self._builder.event("run.finished", **_finished(object_of(pool, "run_finished")))

    def _place(self, step: Json, pool: Json, where: str) -> None:
        stamp = field_at(step, "timestamp", str, where, needed=False)
        place = self._builder.place
        if stamp:
            try:
                place.wall = datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
            except (ValueError, OverflowError):
                raise ImportProblem(f"{where}.timestamp: a time in ISO 8601 is expected, not {stamp!r}") from None
        if text_of(pool, "run"):
            place.run = text_of(pool, "run")
        place.turn = int(number_of(pool, "turn")) if "turn" in pool or pool else place.turn

    def _system(self, text: str, pool: Json, where: str) -> None:
        event = object_of(pool, "event")
        match event.get("type"):
            case "history.compacted":
                counts = [int(number_of(event, k)) for k in ("before", "after")]
                follow = int(number_of(event, "follow")) if "follow" in event else -1
                self._builder.compacted(counts[0], counts[1], text_of(event, "detail") or text, follow)
            case "rewound":
                number = int(number_of(event, "to_step"))
                if not 1 <= number <= len(self._starts):
                    raise ImportProblem(f"{where}.extra.pool.event.to_step: there is no earlier step {number}")
                self._builder.rewound(self._starts[number - 1], int(number_of(event, "prompt")), text_of(event, "why"))
            case str():
                pass
            case _:
                self._builder.system(text)

    def _user(self, step: Json, text: str, pool: Json) -> None:
        builder = self._builder
        foreign = not pool and step.get("is_copied_context") is not True
        if "run_started" in pool or foreign:
            self._runs += 1
            if foreign:
                builder.place.run, builder.place.turn = f"imported-{self._runs}", 0
            started = object_of(pool, "run_started")
            given = {"prompt": text, "model": text_of(self._own, "model_name")} if foreign else {}
            builder.event("run.started", **{k: text_of(started, k) or given.get(k, "") for k in _STARTED})
        if pool.get("kept") is False:
            return
        if pool.get("steered") is True:
            builder.event("run.steered", text=text, in_thought=False)
        builder.user(text, replaces=pool.get("replaces") is True)

    # -- replies

    def _agent_step(self, step: Json, text: str, pool: Json, where: str) -> None:
        builder = self._builder
        copied = step.get("is_copied_context") is True
        if not copied:
            if not pool:
                builder.place.turn += 1
            self._turn_begins(step, where)
        calls_at: list[Any] = field_at(step, "tool_calls", list, where, needed=False) or list[Any]()
        calls = [_call(c, f"{where}.tool_calls[{i}]") for i, c in enumerate(calls_at)]
        if pool.get("kept") is False:
            return
        if not text.strip() and not calls:
            builder.note("replies without content and without calls were left out")
            return
        reasoning = field_at(step, "reasoning_content", str, where, needed=False) or ""
        message = Message(Role.ASSISTANT, text, reasoning, _reasoning_field(pool, reasoning), tuple(calls))
        kept = builder.assistant(message)
        ids = {given.id: new for given, new in zip(calls, kept, strict=True)}
        self._results(step, calls_at, ids, where, events=not copied)

    def _turn_begins(self, step: Json, where: str) -> None:
        metrics: Json = field_at(step, "metrics", dict, where, needed=False) or {}
        if not metrics:
            return
        extra = object_of(metrics, "extra")
        counts = {
            "prompt": max(0, int(number_of(metrics, "prompt_tokens"))),
            "completion": max(0, int(number_of(metrics, "completion_tokens"))),
            "cached": max(0, int(number_of(metrics, "cached_tokens"))),
            "reasoning": max(0, int(number_of(extra, "reasoning_tokens"))),
        }
        times: Json = {k: number_of(extra, k) for k in ("first_token_seconds", "reply_seconds")}
        self._builder.event("turn.started", prompt_tokens=counts["prompt"], max_tokens=0)
        usage = {**counts, "estimated": extra.get("estimated") is True}
        self._builder.event("usage", usage=usage, **times)
        for _ in range(1, min(int(number_of(step, "llm_call_count")), 100)):
            self._builder.event("usage", usage=dict.fromkeys(counts, 0), first_token_seconds=0.0, reply_seconds=0.0)

    def _turn_ends(self, step: Json, pool: Json) -> None:
        if text_of(pool, "finish") or text_of(pool, "ending"):
            calls = len(objects_of(step, "tool_calls"))
            words = {k: text_of(pool, k) for k in ("finish", "ending")}
            self._builder.event("turn.finished", **words, calls=calls, repairs=[])

    def _results(self, step: Json, calls: list[Any], ids: dict[str, str], where: str, *, events: bool) -> None:
        observation: Json = field_at(step, "observation", dict, where, needed=False) or {}
        at = f"{where}.observation"
        listed: list[Any] = field_at(observation, "results", list, at) if observation else []
        results: dict[str, tuple[Json, str]] = {}
        loose: list[str] = []
        for i, result in enumerate(listed):
            call_id = field_at(result, "source_call_id", str, f"{at}.results[{i}]", needed=False)
            text = content_text(result.get("content"), f"{at}.results[{i}].content", self._builder.note)
            if call_id is None:
                loose.append(text)
            elif call_id not in ids or call_id in results:
                word = "a second result of" if call_id in results else "this step has no call"
                raise ImportProblem(f"{at}.results[{i}].source_call_id: {word} {call_id!r}")
            else:
                results[call_id] = (result, text)
        for call in calls:
            given = text_of(call, "tool_call_id")
            result, text = results.get(given, ({}, ""))
            if events:
                self._call_events(call, ids[given], result, text)
            if given in results and object_of(object_of(result, "extra"), "pool").get("in_history") is not False:
                self._builder.result(ids[given], text)
        for text in loose:
            self._builder.user(text)

    def _call_events(self, call: Json, call_id: str, result: Json, text: str) -> None:
        builder = self._builder
        pool = object_of(object_of(call, "extra"), "pool")
        arguments: Any = call.get("arguments")
        words = {"effect": text_of(pool, "effect"), "title": text_of(pool, "title")}
        name = text_of(call, "function_name")
        builder.event("call.proposed", call_id, name=name, arguments=arguments, **words, preview_kind="", preview="")
        denied = pool.get("denied")
        if text_of(pool, "approved_by") or denied:
            reason = denied if isinstance(denied, str) else ""
            builder.event("approval.given", call_id, allowed=not denied, by=text_of(pool, "approved_by"), reason=reason)
        about = object_of(object_of(result, "extra"), "pool")
        refs = [text_of(r, "trajectory_id") for r in objects_of(result, "subagent_trajectory_ref")]
        if not (about or refs):
            return
        builder.event("call.started", call_id, name=name)
        for ref in refs:
            self._sub(ref)
        fields: Json = {"seconds": number_of(about, "seconds")} if "seconds" in about else {}
        changes = [_change(c) for c in objects_of(about, "changes")]
        fields |= {"status": text_of(about, "status"), "text": text, "data": object_of(about, "data")}
        builder.event("call.finished", call_id, name=name, **fields, changes=changes)

    def _sub(self, name: str) -> None:
        if name not in self._subs:
            return
        number, sub = self._subs.pop(name)
        prefix = f"{self._agent}/" if self._agent else ""
        where = f"{self._where}subagent_trajectories[{number}]."
        _Reader(self._out, sub, f"{prefix}{number + 1}", where).read()

    def _marks(self, pool: Json) -> None:
        for mark in objects_of(pool, "marks"):
            text, label = text_of(mark, "text"), text_of(mark, "label")
            if mark.get("type") == "guard.fired":
                guard, _, action = label.partition(": ")
                self._builder.event("guard.fired", guard=guard, action=action, detail=text)
            else:
                self._builder.event("notice", level=label, text=text, remedy=text_of(mark, "remedy"))


def _call(call: Any, where: str) -> ToolCall:
    call_id = field_at(call, "tool_call_id", str, where)
    name = field_at(call, "function_name", str, where)
    arguments = field_at(call, "arguments", dict, where)
    exact = object_of(object_of(call, "extra"), "pool").get("arguments_text")
    if isinstance(exact, str) and _is_object(exact):
        return ToolCall(call_id, name, exact)
    return ToolCall(call_id, name, arguments_text(arguments, f"{where}.arguments"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _reasoning_field(pool: Json, reasoning: str) -> ReasoningField:
    if not reasoning:
        return ReasoningField.NONE
    try:
        return ReasoningField(text_of(pool, "reasoning_field") or ReasoningField.BOTH)
    except ValueError:
        return ReasoningField.BOTH


def _finished(row: Json) -> Json:
    """The fields of `RunFinished`, of the types that readers of a log rely on."""
    usage = object_of(row, "usage")
    counts: Json = {k: int(number_of(usage, k)) for k in ("prompt", "completion", "cached", "reasoning")}
    out: Json = {k: text_of(row, k) for k in ("reason", "detail", "answer")}
    out |= {k: int(number_of(row, k)) for k in ("exit_code", "turns", "signal", "reasoning_tokens") if k in row}
    out |= {"seconds": number_of(row, "seconds"), "usage": {**counts, "estimated": usage.get("estimated") is True}}
    return {**out, "changes": [_change(c) for c in objects_of(row, "changes")]}


def _change(row: Json) -> Json:
    return {
        **{k: text_of(row, k) for k in ("path", "kind")},
        **{k: int(number_of(row, k)) for k in ("added", "removed")},
    }
