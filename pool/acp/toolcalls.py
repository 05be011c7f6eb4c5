"""Tool calls as the protocol shows them: kind, places, diffs and output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pool.events import CallFinished, CallProposed
from pool.facekit.clean import clean, one_line
from pool_tools.colours import plain_text
from pool_tools.text import clip

Json = dict[str, Any]

KINDS = {
    "read": "read",
    "list": "read",
    "skill": "read",
    "search": "search",
    "find_tool": "search",
    "write": "edit",
    "edit": "edit",
    "shell": "execute",
    "job": "execute",
    "git": "execute",
    "fetch": "fetch",
    "web_search": "fetch",
    "todo": "think",
    "task": "think",
}
_KINDS_BY_EFFECT = {"read": "read", "write": "edit", "execute": "execute", "network": "execute", "web": "fetch"}

TITLE_CHARS = 200
OUTPUT_CHARS = 30_000
"""So much of a call's text is sent; the model may have seen more."""

_TICKS = re.compile("`{3,}")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


def kind_of(name: str, effect: str) -> str:
    """The protocol's kind of a call."""
    return KINDS.get(name) or _KINDS_BY_EFFECT.get(effect, "other")


def title_of(body: CallProposed) -> str:
    """One line: the command itself, else what the call would do."""
    title = body.preview if body.preview_kind == "command" and body.preview else body.title or body.name
    return one_title(title)


def one_title(text: str) -> str:
    """A text as the title of a call: one line, of limited length."""
    return clip(one_line(text), TITLE_CHARS)


def locations_of(arguments: Mapping[str, Any], folder: Path) -> list[Json]:
    """The file that a call is about, with its line where it names one."""
    path = arguments.get("path")
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        return []
    place: Json = {"path": str(folder / path)}
    line = arguments.get("offset")
    if isinstance(line, int) and line > 0:
        place["line"] = line
    return [place]


def proposed_content(body: CallProposed, folder: Path) -> list[Json]:
    """What a call would do: a diff for each changed part of a file, else the command or text."""
    path = body.arguments.get("path")
    if body.preview_kind == "diff" and isinstance(path, str):
        return [{"type": "diff", "path": str(folder / path), **part} for part in diff_parts(body.preview)]
    return [fenced(body.preview)] if body.preview and body.preview_kind == "command" else []


def diff_parts(diff: str) -> Iterator[Json]:
    """The changed parts of a unified diff of one file, as texts before and after; before is None for a new file."""
    before, after = list[str](), list[str]()
    new = False
    for line in [*diff.split("\n")[2:], ""]:
        if _HUNK.match(line) or not line:
            if before or after:
                yield {"oldText": None if new else _joined(before), "newText": _joined(after)}
            before, after = [], []
            new = line.startswith("@@ -0,0 ")
            continue
        mark, text = line[0], line[1:]
        if mark in " -":
            before.append(text)
        if mark in " +":
            after.append(text)


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def finished_content(body: CallFinished, *, shows_diff: bool) -> list[Json] | None:
    """What came of a call; None leaves what is shown: the diff of an edit that was done."""
    if shows_diff and body.status == "ok":
        return None
    return [fenced(clip(plain_text(body.text), OUTPUT_CHARS))] if body.text.strip() else []


def status_of(status: str) -> str:
    """The protocol's status of an ended call."""
    return "completed" if status == "ok" else "failed"


def fenced(text: str) -> Json:
    """Text as it is, in a code block that nothing in it can end."""
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])
    return text_content(f"{fence}\n{clean(text).rstrip()}\n{fence}")


def text_content(text: str) -> Json:
    """A text as content of a call."""
    return {"type": "content", "content": {"type": "text", "text": text}}
