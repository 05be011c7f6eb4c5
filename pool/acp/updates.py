"""Events as `session/update` notifications, live and from a log alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pool.acp.output import LiveOutput
from pool.acp.toolcalls import finished_content, kind_of, locations_of, proposed_content, status_of, title_of
from pool.agent.ids import new_id
from pool.agent.todo import MARKS
from pool.events import (
    CallFinished,
    CallProposed,
    CallStarted,
    Compacted,
    ContentDelta,
    ContentRetracted,
    Event,
    GuardFired,
    MessageAdded,
    Notice,
    PromptCopied,
    ReasoningDelta,
    RunStarted,
    SessionNamed,
    Steered,
    TaskProgress,
    TodoChanged,
    TurnStarted,
    Waiting,
)
from pool.facekit.clean import clean
from pool.facekit.words import task_words, without_note

Json = dict[str, Any]

TITLE_CHARS = 80
_STATES = {"open": "pending", "now": "in_progress", "done": "completed"}
_TOLD_WAITS = frozenset({"loading", "retry", "hook"})
"""What a reply waits for and an editor's own sign of work does not say."""

assert set(_STATES) == set(MARKS)


@dataclass(slots=True)
class Updates:
    """Of one session, in order. replay: events come from a log, which keeps whole messages instead of pieces."""

    folder: Path
    terminals: bool = False
    """The client shows a command's output as a terminal, by `_meta`."""
    replay: bool = False
    titled: bool = False
    _message: str = ""
    _kind: str = ""
    _waited: str = ""
    _skipped: int = 0
    _titles: dict[str, str] = field(default_factory=dict[str, str])
    _diffs: set[str] = field(default_factory=set[str])
    _live: dict[str, LiveOutput] = field(default_factory=dict[str, LiveOutput])

    def of(self, event: Event) -> Iterator[Json]:
        """The updates of an event: none, one or several. Events of subagents are not shown by themselves."""
        if event.envelope.agent:
            return
        body, call = event.body, event.envelope.call
        match body:
            case RunStarted():
                yield from self._begun(body.prompt, event.envelope.seq)
            case PromptCopied() if self.replay:
                yield from self._begun(body.text, event.envelope.seq)
            case Steered():
                yield self._said("user", without_note(body.text)[0])
            case ReasoningDelta() | ContentDelta():
                self._waited = ""
                yield self._said("thought" if isinstance(body, ReasoningDelta) else "agent", body.text)
            case ContentRetracted() | TurnStarted():
                self._kind = ""
            case MessageAdded() if self.replay and body.role == "assistant":
                yield from self._replayed(body)
            case Compacted():
                self._skipped = max(0, body.follow)
            case CallProposed() | CallStarted() | CallFinished() | TaskProgress():
                yield from self._call(body, call)
            case TodoChanged():
                yield {"sessionUpdate": "plan", "entries": [_entry(i.text, i.state) for i in body.items]}
            case SessionNamed() if body.name:
                self.titled = True
                yield {"sessionUpdate": "session_info_update", "title": body.name}
            case _ if not self.replay:
                yield from self._told(body)
            case _:
                pass

    # -- messages

    def _begun(self, prompt: str, seq: int) -> Iterator[Json]:
        self._kind = ""
        if self.replay:
            yield self._said("user", without_note(prompt)[0])
        info: Json = {"sessionUpdate": "session_info_update", "_meta": {"poolside/inputEventId": str(seq)}}
        if not self.titled:
            self.titled = True
            info["title"] = _title(prompt)
        yield info

    def _said(self, who: str, text: str) -> Json:
        """A piece of a message; who changes, and each new turn, begin another message."""
        if who != self._kind or who == "user":
            self._kind, self._message = who, new_id()
        return chunk(who, text, self._message)

    def _replayed(self, body: MessageAdded) -> Iterator[Json]:
        if self._skipped:
            self._skipped -= 1
            return
        self._kind = ""
        message = _object(body.text)
        thought = next((message[k] for k in ("reasoning", "reasoning_content", "thinking") if message.get(k)), "")
        if isinstance(thought, str) and thought.strip():
            yield self._said("thought", thought)
        content = message.get("content")
        if isinstance(content, str) and content.strip():
            yield self._said("agent", content)

    # -- calls

    def _call(self, body: CallProposed | CallStarted | CallFinished | TaskProgress, call: str) -> Iterator[Json]:
        match body:
            case CallProposed():
                self._kind = ""
                yield self._proposed(body, call)
            case CallStarted():
                self._live[call] = LiveOutput(call, terminal=self.terminals)
                yield {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress"}
            case TaskProgress():
                text = f"{clean(body.step)} · {task_words(body)}"
                content = [{"type": "content", "content": {"type": "text", "text": text}}]
                yield {"sessionUpdate": "tool_call_update", "toolCallId": call, "content": content}
            case CallFinished():
                yield self._finished(body, call)

    def _proposed(self, body: CallProposed, call: str) -> Json:
        content = proposed_content(body, self.folder)
        if any(part["type"] == "diff" for part in content):
            self._diffs.add(call)
        self._titles[call] = title_of(body)
        update: Json = {
            "sessionUpdate": "tool_call",
            "toolCallId": call,
            "title": self._titles[call],
            "kind": kind_of(body.name, body.effect),
            "status": "pending",
            "content": content,
            "locations": locations_of(body.arguments, self.folder),
            "rawInput": body.arguments,
            "_meta": {"tool_name": body.name},
        }
        if self.terminals and body.preview_kind == "command":
            update["content"] = [{"type": "terminal", "terminalId": call}]
            update["_meta"]["terminal_info"] = {"terminal_id": call, "cwd": str(self.folder)}
        return update

    def _finished(self, body: CallFinished, call: str) -> Json:
        update: Json = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call,
            "status": status_of(body.status),
            "rawOutput": {"status": body.status, "text": body.text, "data": body.data},
        }
        content = finished_content(body, shows_diff=call in self._diffs)
        self._diffs.discard(call)
        self._titles.pop(call, None)
        live = self._live.pop(call, None)
        if live is not None and live.used_terminal:
            update["_meta"] = live.ended(body.data.get("exit_status"))
        elif content is not None:
            update["content"] = content
        return update

    def title(self, call: str) -> str:
        """What a call that is not done was announced as, "" for any other."""
        return self._titles.get(call, "")

    def live_output(self, call: str) -> LiveOutput | None:
        """What a running call has printed, None for one that does not run."""
        return self._live.get(call)

    # -- remarks

    def _told(self, body: object) -> Iterator[Json]:
        """What Pool itself has to say: warnings as messages, the rest as thoughts."""
        match body:
            case Notice() if body.level != "info":
                yield self.remark(f"{body.text}{f' ({body.remedy})' if body.remedy else ''}")
            case GuardFired():
                yield self._aside(f"{body.guard}: {body.action}: {body.detail}")
            case Waiting() if body.state in _TOLD_WAITS:
                words = f"{body.state}{f' {body.number}' if body.number else ''}"
                if words != self._waited:
                    self._waited = words
                    soon = f", in {body.seconds:.0f} s" if body.seconds else ""
                    yield self._aside(f"the server: {words}{soon}{f': {body.detail}' if body.detail else ''}")
            case _:
                pass

    def reply(self, text: str) -> Json:
        """What a command answers, as a message of its own; text is Markdown."""
        self._kind = ""
        return chunk("agent", f"{text}\n\n", new_id())

    def remark(self, text: str) -> Json:
        """Something that Pool says, as a message of its own."""
        self._kind = ""
        return chunk("agent", f"[Pool] {text}\n\n", new_id())

    def _aside(self, text: str) -> Json:
        self._kind = ""
        return chunk("thought", f"[Pool] {text}\n\n", new_id())


def chunk(who: str, text: str, message: str) -> Json:
    """A piece of a message of user, agent or thought. Nothing is in it that a terminal would obey."""
    kind = {"user": "user_message_chunk", "thought": "agent_thought_chunk"}.get(who, "agent_message_chunk")
    return {"sessionUpdate": kind, "content": {"type": "text", "text": clean(text)}, "messageId": message}


def _entry(text: str, state: str) -> Json:
    return {"content": text, "priority": "medium", "status": _STATES.get(state, "pending")}


def _title(prompt: str) -> str:
    line = " ".join(next((line for line in prompt.splitlines() if line.strip()), "").split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"


def _object(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return cast(Json, value) if isinstance(value, dict) else {}
