"""From a log's rows to a `Transcript`. Whatever the rows hold, damaged ones too, they make some transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from pool.events import Usage
from pool.messages import Message, Role
from pool.sessions.export.transcript import Call, Mark, Step, StepKind, Transcript
from pool.sessions.replay import decode

JOINT = "\n\n"
"""What stands between two user messages that were joined into one."""

Row = dict[str, Any]

_KINDS = {Role.SYSTEM: StepKind.SYSTEM, Role.USER: StepKind.USER, Role.ASSISTANT: StepKind.AGENT}


def folded(rows: Sequence[Row], damaged: int = 0) -> Transcript:
    """The transcript of a session; damaged is the number of records that were lost before."""
    main = _Fold("")
    fold = {"": main}
    for row in rows:
        agent = text_of(row, "agent")
        if agent not in fold:
            fold[agent] = _Fold(agent)
            parent = fold.get(agent.rpartition("/")[0], main)
            parent.spawned(agent)
        fold[agent].take(row)
    for one in fold.values():
        one.end()
    out = main.out
    out.damaged += damaged
    for agent, one in fold.items():
        if agent:
            one.out.id, one.out.pool, one.out.workspace = f"{out.id}/{agent}", out.pool, out.workspace
            fold.get(agent.rpartition("/")[0], main).out.subagents.append(one.out)
    return out


def text_of(row: Row, key: str) -> str:
    """A field as text, "" if it is missing or something else."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


def number_of(row: Row, key: str) -> float:
    """A field as a number, 0 if it is missing or something else."""
    value = row.get(key)
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e15 else 0.0


def object_of(row: Row, key: str) -> Row:
    """A field as an object, empty if it is missing or something else."""
    value = row.get(key)
    return cast(Row, value) if isinstance(value, dict) else {}


def objects_of(row: Row, key: str) -> list[Row]:
    """The objects of a list, none if the field is missing or something else."""
    value = row.get(key)
    return [cast(Row, v) for v in cast(list[Any], value) if isinstance(v, dict)] if isinstance(value, list) else []


def usage_of(row: Row) -> Usage:
    """The `usage` field of a row."""
    usage = object_of(row, "usage")
    counts = [max(0, int(number_of(usage, k))) for k in ("prompt", "completion", "cached", "reasoning")]
    return Usage(counts[0], counts[1], counts[2], counts[3], usage.get("estimated") is True)


class _Fold:
    """Takes the rows of one agent."""

    def __init__(self, agent: str) -> None:
        self.out = Transcript("", agent=agent)
        self._start: Row | None = None
        self._reply: Step | None = None
        self._steered = False
        self._copying: Step | None = None
        self._wanted = -1
        self._replaced: list[Step] = []
        self._moves: dict[int, list[tuple[int, bool]]] = {}
        self._full: dict[int, str] = {}
        self._user_texts: set[str] = set()
        self._calls: dict[str, Call] = {}
        self._running: list[Call] = []
        self._row: Row = {}

    # -- rows

    def take(self, row: Row) -> None:
        """Take the next row."""
        self._row = row
        kind = text_of(row, "type")
        if self._copying is not None and (kind != "message.added" or not self._wanted):
            self._copied()
        match kind:
            case "session":
                self.out.id, self.out.workspace = text_of(row, "id"), text_of(row, "workspace")
                self.out.created, self.out.pool = number_of(row, "created"), text_of(row, "pool")
                self.out.imported = "imported" in row
            case "head.set":
                self._head(row)
            case "run.started":
                self._run_begins()
                self._start = row
                self.out.finished = self.out.imported
            case "message.added":
                self._message(row)
            case "usage" | "turn.started" | "turn.finished":
                self._turn(kind, row)
            case "guard.fired":
                label = f"{text_of(row, 'guard')}: {text_of(row, 'action')}"
                self._mark(Mark(kind, label, text_of(row, "detail")))
            case "notice":
                self._mark(Mark(kind, text_of(row, "level"), text_of(row, "text"), text_of(row, "remedy")))
            case "history.compacted":
                self._flush("compaction")
                self._compacted(row)
            case "rewound":
                self._rewound(row)
            case "run.finished":
                self._run_ends(row)
            case "run.steered":
                self._steered = True
            case "session.named":
                self.out.name = text_of(row, "name")
            case _:
                self._call_event(kind, row)

    def end(self) -> None:
        """No more rows."""
        self._copied()
        self._flush("")
        self._run_begins()

    def spawned(self, agent: str) -> None:
        """A subagent's first row came: it belongs to the call that runs."""
        if self._running:
            self._running[-1].subagents.append(agent)

    def _head(self, row: Row) -> None:
        try:
            head: Any = json.loads(text_of(row, "head"))
        except (ValueError, RecursionError):
            self.out.damaged += 1
            return
        if isinstance(head, dict):
            self.out.head = cast(Row, head)
            self.out.heads += 1

    # -- runs and turns

    def _run_begins(self) -> None:
        """A prompt that never entered the history is a step too."""
        self._flush("")
        if self._start is not None:
            row, self._start = self._start, None
            step = self._step(StepKind.USER, text_of(row, "prompt"))
            step.kept = step.in_history = False
            step.started, step.wall, step.run = _body(row), number_of(row, "wall"), text_of(row, "run")
            step.seq = _seq(row)

    def _run_ends(self, row: Row) -> None:
        self._run_begins()
        self.out.finished = True
        run = text_of(row, "run")
        last = self.out.steps[-1] if self.out.steps else None
        if last is None or (run and last.run != run) or last.finished is not None:
            last = self._event("the run ended", {"type": "run.finished"})
        last.finished = _body(row)

    def _turn(self, kind: str, row: Row) -> None:
        if kind == "turn.started":
            self._flush("")
            self._reply = self._new(StepKind.AGENT, "")
            return
        if kind == "usage":
            reply = self._reply or self._new(StepKind.AGENT, "")
            self._reply = reply
            first = number_of(row, "first_token_seconds")
            reply.first_token_seconds = reply.first_token_seconds if reply.replies else first
            reply.usage = usage_of(row) if reply.usage is None else reply.usage + usage_of(row)
            reply.reply_seconds += number_of(row, "reply_seconds")
            reply.replies += 1
            return
        finish, ending = text_of(row, "finish"), text_of(row, "ending")
        target = self._reply if self._reply is not None else self._last_reply()
        if target is not None:
            target.finish, target.ending = finish, ending
        self._flush("")

    def _last_reply(self) -> Step | None:
        run, turn = text_of(self._row, "run"), int(number_of(self._row, "turn"))
        for step in reversed(self.out.steps):
            if (step.run, step.turn) != (run, turn):
                return None
            if step.kind is StepKind.AGENT and not step.copied:
                return step
        return None

    def _flush(self, purpose: str) -> None:
        """A reply that was asked for and did not enter the history."""
        reply, self._reply = self._reply, None
        if reply is None or not (reply.replies or reply.marks):
            return
        reply.kept = reply.in_history = False
        reply.purpose = purpose
        self.out.steps.append(reply)

    # -- messages

    def _message(self, row: Row) -> None:
        try:
            message = decode(text_of(row, "text")).message
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.out.damaged += 1
            return
        self._wanted -= self._copying is not None
        if message.role is Role.TOOL:
            self._result(message)
            return
        step = self._reply if message.role is Role.ASSISTANT and self._reply is not None else None
        if step is None:
            step = self._new(_KINDS[message.role], "")
        self._fill(step, message, replaces=row.get("replaces_last") is True)
        if message.role is Role.ASSISTANT:
            self._reply = None
        self.out.steps.append(step)

    def _fill(self, step: Step, message: Message, *, replaces: bool) -> None:
        step.text, step.reasoning, step.reasoning_field = message.content, message.reasoning, message.reasoning_field
        step.wall = step.wall or number_of(self._row, "wall")
        step.calls = [Call(c.id, c.name, c.arguments) for c in message.calls]
        self._calls.update({c.id: c for c in step.calls})
        self._full[id(step)] = message.content
        if step.kind is StepKind.USER:
            self._user(step, replaces=replaces)
        step.copied = self._copying is not None and (step.kind is StepKind.AGENT or step.text in self._user_texts)
        if step.kind is StepKind.USER:
            self._user_texts.add(message.content)

    def _user(self, step: Step, *, replaces: bool) -> None:
        last = next((s for s in reversed(self.out.steps) if s.in_history and s.kind is not StepKind.EVENT), None)
        if replaces and last is not None:
            before = self._full.get(id(last), "")
            if last.kind is StepKind.USER and step.text.startswith(before + JOINT):
                step.joined, step.text = True, step.text[len(before) + len(JOINT) :]
            else:
                step.replaces = True
                self._move(last, to=False)
        if self._start is not None:
            step.seq = min(step.seq, _seq(self._start))
            step.started, self._start = _body(self._start), None
        step.steered, self._steered = self._steered, False

    def _result(self, message: Message) -> None:
        call = self._calls.get(message.call_id)
        if call is not None and call.result is None:
            call.result = message.content
            return
        self.out.damaged += 1
        self._event(message.content, {"type": "orphan.result", "call": message.call_id})

    def _compacted(self, row: Row) -> None:
        self._replaced = [s for s in self.out.steps if s.in_history and s.kind is not StepKind.SYSTEM]
        for step in self._replaced:
            self._move(step, to=False)
        step = self._event(text_of(row, "detail"), {"type": "history.compacted", **_body(row)})
        self._copying, self._wanted = step, int(number_of(row, "follow")) if "follow" in row else -1
        self._calls = {}

    def _copied(self) -> None:
        """All messages of a compaction are here. If some are missing (a kill), the earlier history holds."""
        if self._copying is not None and self._wanted > 0:
            at = next(i for i, step in enumerate(self.out.steps) if step is self._copying)
            for step in self.out.steps[at + 1 :]:
                self._move(step, to=False)
            for step in self._replaced:
                self._move(step, to=True)
        self._copying = None

    def _rewound(self, row: Row) -> None:
        """The history is again as it was before an event; that event may be a rewind itself, which is then undone."""
        self._flush("")
        to = row.get("to_seq")
        if not isinstance(to, int):
            return
        for step in self.out.steps:
            self._move(step, to=self._was_in(step, to))
        number = next((i for i, s in enumerate(self.out.steps, 1) if s.seq >= to), len(self.out.steps) + 1)
        prompt = int(number_of(row, "prompt"))
        self._event("", {"type": "rewound", "to_step": number, "prompt": prompt, "why": text_of(row, "why")})

    def _was_in(self, step: Step, seq: int) -> bool:
        if step.seq >= seq:
            return False
        moves = [to for at, to in self._moves.get(id(step), []) if at < seq]
        return moves[-1] if moves else step.kept and step.kind is not StepKind.EVENT

    def _move(self, step: Step, *, to: bool) -> None:
        if step.in_history is not to:
            step.in_history = to
            self._moves.setdefault(id(step), []).append((_seq(self._row), to))

    def _event(self, text: str, event: Row) -> Step:
        step = self._step(StepKind.EVENT, text)
        step.in_history, step.event = False, event
        return step

    # -- calls

    def _call_event(self, kind: str, row: Row) -> None:
        call = self._calls.get(text_of(row, "call"))
        if call is None:
            return
        match kind:
            case "call.proposed":
                call.title, call.effect = text_of(row, "title"), text_of(row, "effect")
                call.preview_kind, call.preview = text_of(row, "preview_kind"), text_of(row, "preview")
            case "approval.given":
                call.allowed, call.allowed_by = row.get("allowed") is True, text_of(row, "by")
                call.denied_why = "" if call.allowed else text_of(row, "reason")
            case "call.started":
                self._running.append(call)
            case "call.finished":
                call.status = text_of(row, "status")
                call.seconds = number_of(row, "seconds") if "seconds" in row else None
                call.output, call.data = text_of(row, "text"), object_of(row, "data")
                changes: Any = row.get("changes")
                call.changes = (
                    [c for c in cast(list[Any], changes) if isinstance(c, dict)] if isinstance(changes, list) else []
                )
                self._running = [c for c in self._running if c is not call]
            case _:
                pass

    # -- steps

    def _mark(self, mark: Mark) -> None:
        if self._reply is not None:
            self._reply.marks.append(mark)
        elif self.out.steps:
            self.out.steps[-1].marks.append(mark)

    def _new(self, kind: StepKind, text: str) -> Step:
        row = self._row
        wall = number_of(row, "wall")
        return Step(kind, text, wall, _seq(row), text_of(row, "run"), int(number_of(row, "turn")))

    def _step(self, kind: StepKind, text: str) -> Step:
        step = self._new(kind, text)
        self.out.steps.append(step)
        return step


_ENVELOPE = frozenset({"type", "session", "run", "turn", "seq", "wall", "mono", "agent", "call", "v"})


def _seq(row: Row) -> int:
    seq = row.get("seq")
    return seq if isinstance(seq, int) else -1


def _body(row: Row) -> Row:
    return {k: v for k, v in row.items() if k not in _ENVELOPE}
