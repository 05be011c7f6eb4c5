"""What an agent tells of its work, as the events that a face shows. Nothing of it is trusted to be whole or of the
right kind: what cannot be understood is left out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from pool.events import (
    Body,
    CallFinished,
    CallOutput,
    CallProposed,
    CallStarted,
    ChangedFile,
    ContentDelta,
    ReasoningDelta,
    TodoChanged,
    TodoItem,
)
from pool.facekit.clean import one_line
from pool_tools.diff import counts, unified
from pool_tools.text import clip

Json = dict[str, Any]

TITLE_CHARS = 200
OUTPUT_CHARS = 200_000
DIFF_CHARS_MOST = 400_000
"""Longer texts are not compared: what changed is said in a line."""

NAMES = {"execute": "shell", "other": "tool"}
"""Kinds of calls that a card calls by another name."""

EFFECTS = {"edit": "write", "delete": "write", "move": "write", "execute": "execute", "fetch": "web"}
_STEPS = {"pending": "open", "in_progress": "now", "completed": "done"}
_ENDS = {"completed": "ok", "failed": "failed"}
_FENCE = "```"
UNSAID = "the agent did not say how this ended"


@dataclass(slots=True)
class Call:
    """A tool call as far as the agent has told it."""

    id: str
    title: str = ""
    kind: str = "other"
    arguments: Json = field(default_factory=Json)
    content: Sequence[Json] = ()
    output: Any = None
    status: str = "pending"
    started: float = 0.0
    shown: str = ""

    def take(self, row: Json) -> None:
        """What a `tool_call` or an update of one says; what it does not name stays."""
        if isinstance(title := row.get("title"), str) and title.strip():
            self.title = clip(one_line(title), TITLE_CHARS)
        if isinstance(kind := row.get("kind"), str) and kind:
            self.kind = clip(one_line(kind), TITLE_CHARS)
        if isinstance(arguments := row.get("rawInput"), dict):
            self.arguments = cast(Json, arguments)
        if isinstance(content := row.get("content"), list):
            self.content = rows_of(content)
        if "rawOutput" in row:
            self.output = row["rawOutput"]
        if isinstance(status := row.get("status"), str):
            self.status = status

    @property
    def name(self) -> str:
        return NAMES.get(self.kind, self.kind)

    def preview(self, folder: Path) -> tuple[str, str]:
        """Kind and text of what it would do: a diff, a command, or other text."""
        diffs = [diff for part in self.content if part.get("type") == "diff" and (diff := _diff(part, folder))]
        if diffs:
            return "diff", "".join(diffs)
        if self.kind == "execute":
            return "command", command_of(self.arguments) or self.title
        return "text", ""

    def proposed(self, folder: Path) -> CallProposed:
        kind, preview = self.preview(folder)
        effect = EFFECTS.get(self.kind, "read")
        title = self.title or self.name
        return CallProposed(self.name, self.arguments, effect, title, kind, preview)

    def text(self) -> str:
        """The output: the texts of its content, else what the agent gives raw."""
        texts = [text_of(part.get("content")) for part in self.content if part.get("type") == "content"]
        if texts := [unfenced(text) for text in texts if text.strip()]:
            return clip("\n".join(texts), OUTPUT_CHARS)
        match self.output:
            case None:
                return ""
            case str(text):
                return clip(text, OUTPUT_CHARS)
            case _:
                return clip(json.dumps(self.output, ensure_ascii=False, indent=2), OUTPUT_CHARS)

    def finished(self, folder: Path) -> CallFinished:
        seconds = time.monotonic() - self.started if self.started else 0.0
        changes = tuple(_changes(self.content, folder)) if self.status == "completed" else ()
        return CallFinished(self.name, _ENDS[self.status], self.text(), seconds, changes=changes)


@dataclass(slots=True)
class Translator:
    """Keeps the calls of one agent that are not done."""

    folder: Path
    calls: dict[str, Call] = field(default_factory=dict[str, Call])

    def of(self, update: Json) -> Iterator[tuple[Body, str]]:
        """The events of an update, each with the id of the call that it belongs to, "" for none."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk" if text := text_of(update.get("content")):
                yield ContentDelta(text), ""
            case "agent_thought_chunk" if text := text_of(update.get("content")):
                yield ReasoningDelta(text), ""
            case "tool_call" | "tool_call_update":
                yield from self._call(update)
            case "plan":
                yield TodoChanged(tuple(_steps(update.get("entries")))), ""
            case _:
                pass

    def call_of(self, row: Json) -> tuple[Call, bool]:
        """The call that a row is about, with what the row says of it; and whether it was not known before."""
        id_ = str(row.get("toolCallId") or "call")
        new = id_ not in self.calls
        call = self.calls.setdefault(id_, Call(id_))
        call.take(row)
        return call, new

    def unsaid(self) -> Iterator[tuple[Body, str]]:
        """The end of calls of which the agent has told none although it is done: Hermes Agent 0.19 tells few."""
        for call in self.calls.values():
            call.status = "completed"
            ended = call.finished(self.folder)
            yield replace(ended, text=ended.text or UNSAID, changes=()), call.id
        self.calls.clear()

    def _call(self, row: Json) -> Iterator[tuple[Body, str]]:
        call, new = self.call_of(row)
        if new or {"title", "content", "rawInput", "kind"} & row.keys():
            yield call.proposed(self.folder), call.id
        if call.status == "in_progress" and not call.started:
            call.started = time.monotonic()
            yield CallStarted(call.name), call.id
        if call.status in _ENDS:
            del self.calls[call.id]
            yield call.finished(self.folder), call.id
        elif call.started and (more := self._more(call)):
            yield CallOutput(more), call.id

    @staticmethod
    def _more(call: Call) -> str:
        """What the output of a running call has grown by. One that is replaced by another is shown at its end."""
        text = call.text()
        before, call.shown = call.shown, text
        return text[len(before) :] if text.startswith(before) else ""


def rows_of(given: Any) -> list[Json]:
    """The objects in a list, none if it is none."""
    many = cast(list[Any], given) if isinstance(given, list) else []
    return [cast(Json, one) for one in many if isinstance(one, dict)]


def row_of(given: Any) -> Json:
    """An object, an empty one for anything else."""
    return cast(Json, given) if isinstance(given, dict) else {}


def command_of(arguments: Mapping[str, Any]) -> str:
    """The command in the arguments of a call that runs one, "" if it cannot be told."""
    match arguments.get("command"):
        case str(text):
            return text
        case [*words]:
            return " ".join(map(str, words))
        case _:
            return ""


def unfenced(text: str) -> str:
    """A text without the code fence around all of it."""
    lines = text.strip("\n").split("\n")
    fence = lines[0][: len(lines[0]) - len(lines[0].lstrip("`"))]
    if len(lines) > 1 and fence.startswith(_FENCE) and lines[-1].strip() == fence:
        return "\n".join(lines[1:-1])
    return text


def text_of(content: Any) -> str:
    """The text of a content block; of another kind, what it is."""
    block = row_of(content)
    match block.get("type"):
        case "text":
            return text if isinstance(text := block.get("text"), str) else ""
        case "resource_link":
            return f"[{block.get('name') or block.get('uri')}]"
        case str(kind):
            return f"[{kind}]"
        case _:
            return ""


def _sides(part: Json) -> tuple[str, str]:
    old, new = part.get("oldText"), part.get("newText")
    return old if isinstance(old, str) else "", new if isinstance(new, str) else ""


def _shown(part: Json, folder: Path) -> str:
    path = str(part.get("path") or "file")
    return path.removeprefix(f"{folder}/")


def _diff(part: Json, folder: Path) -> str:
    old, new = _sides(part)
    if len(old) + len(new) > DIFF_CHARS_MOST:
        return f"{_shown(part, folder)}: {len(old):,} characters become {len(new):,}\n"
    diff = unified(old, new, _shown(part, folder))
    return diff if diff.endswith("\n") or not diff else f"{diff}\n"


def _changes(content: Sequence[Json], folder: Path) -> Iterator[ChangedFile]:
    for part in content:
        old, new = _sides(part)
        if part.get("type") == "diff" and len(old) + len(new) <= DIFF_CHARS_MOST:
            kind = "modified" if part.get("oldText") is not None else "added"
            yield ChangedFile(_shown(part, folder), kind, *counts(old, new))


def _steps(entries: Any) -> Iterator[TodoItem]:
    for entry in rows_of(entries):
        text = one_line(str(entry.get("content") or ""))
        if text.strip():
            yield TodoItem(clip(text, TITLE_CHARS), _STEPS.get(str(entry.get("status")), "open"))
