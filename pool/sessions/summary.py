"""What a log's rows say about a session as a whole: its title, its counts, and the texts by which it can be found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pool.events import SCHEMA_VERSION
from pool.messages import valid_text
from pool_tools.frozen import frozen

TITLE_CHARS = 200
PASSAGE_CHARS = 20_000
"""Of one prompt or answer so much is searched."""

MOST_FILES = 2_000
"""Files of one session that are searched by name."""

MAX_SECONDS = 1e12
"""Latest Unix time that a log is believed."""

MAX_COUNT = 2**62

_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_NO_PASSAGE = re.compile("[\x00-\x08\x0b-\x1f\x7f]+")


@frozen
class Passage:
    """A text of a session: kind is prompt, answer, name or file; run counts prompts from 1, 0 for the session."""

    kind: str
    run: int
    text: str


@dataclass(slots=True)
class Summary:
    """A session as a whole. id is "" for a file that holds none.

    title is the first line of the first prompt; name what the user called it, "" if nothing. ended is the last run's
    stop reason, "" while it has none. created is Unix time in seconds. parent is the session that gave it its task.
    """

    id: str = ""
    workspace: str = ""
    created: float = 0.0
    title: str = ""
    name: str = ""
    prompts: int = 0
    turns: int = 0
    tokens: int = 0
    model: str = ""
    ended: str = ""
    parent: str = ""
    passages: list[Passage] = field(default_factory=list[Passage])


def title_of(prompt: str) -> str:
    """The first line of a prompt that says something, without control characters."""
    for line in prompt.splitlines():
        if text := plain_line(line):
            return text[:TITLE_CHARS]
    return ""


def plain_line(text: str) -> str:
    """A text as one line: control characters and overrides of writing direction out, blanks joined."""
    return " ".join(_NO_TEXT.sub(" ", valid_text(text)).split())


def summarized(rows: Iterable[dict[str, Any]], path: Path) -> Summary:
    """Sum up a log's rows. A session whose first line is lost is still one if it has a run."""
    out = Summary()
    files: dict[str, None] = {}
    for row in rows:
        match row:
            case {"type": "session"}:
                if not readable(row):
                    return Summary()
                out.id = text_of(row.get("id")) or path.stem
                out.workspace = text_of(row.get("workspace"))
                out.created = seconds_of(row.get("created"))
                out.parent = text_of(row.get("parent"))
            case {"type": "run.started"}:
                _start(out, row, path)
            case {"type": "run.steered", "text": str(text)}:
                _add(out, "prompt", text)
            case {"type": "message.added", "role": "assistant", "text": str(text)}:
                _add(out, "answer", _content(text))
            case {"type": "session.named", "name": str(name)}:
                out.name = plain_line(name)[:TITLE_CHARS]
            case {"type": "turn.finished"}:
                out.turns += 1
            case {"type": "usage"}:
                usage: Any = row.get("usage")
                counts = cast(dict[str, Any], usage) if isinstance(usage, dict) else {}
                out.tokens += count_of(counts.get("prompt")) + count_of(counts.get("completion"))
            case {"type": "call.finished"}:
                files.update(dict.fromkeys(_paths(row)))
            case {"type": "run.finished"}:
                out.ended = text_of(row.get("reason"))
            case _:
                pass
    if out.name:
        out.passages.append(Passage("name", 0, out.name))
    if files:
        out.passages.append(Passage("file", 0, "\n".join(list(files)[:MOST_FILES])))
    return out


def readable(header: dict[str, Any]) -> bool:
    """Whether a log's first line is of a version that this Pool knows."""
    version = header.get("v", 0)
    return isinstance(version, int) and version <= SCHEMA_VERSION


def text_of(value: Any) -> str:
    """A text of a log that anybody may have edited; "" for anything else."""
    return valid_text(value) if isinstance(value, str) else ""


def seconds_of(value: Any) -> float:
    """A time or duration in seconds, 0 for what cannot be one."""
    good = isinstance(value, (int, float)) and 0 <= value <= MAX_SECONDS
    return float(value) if good else 0.0


def count_of(value: Any) -> int:
    """A count, 0 for what cannot be one."""
    good = isinstance(value, (int, float)) and 0 <= value <= MAX_COUNT
    return int(value) if good else 0


def _start(out: Summary, row: dict[str, Any], path: Path) -> None:
    prompt = text_of(row.get("prompt"))
    out.id = out.id or path.stem
    out.workspace = out.workspace or text_of(row.get("workspace"))
    out.created = out.created or seconds_of(row.get("wall"))
    out.title = out.title or title_of(prompt)
    out.model = text_of(row.get("model"))
    out.prompts += 1
    out.ended = ""
    _add(out, "prompt", prompt)


def _add(out: Summary, kind: str, text: str) -> None:
    text = _NO_PASSAGE.sub(" ", valid_text(text)).strip()[:PASSAGE_CHARS]
    if text:
        out.passages.append(Passage(kind, out.prompts, text))


def _content(message: str) -> str:
    try:
        row: Any = json.loads(message)
    except (ValueError, RecursionError):
        return ""
    return text_of(cast(dict[str, Any], row).get("content")) if isinstance(row, dict) else ""


def _paths(row: dict[str, Any]) -> Iterable[str]:
    """The files that a call was about or changed."""
    data: Any = row.get("data")
    changes: Any = row.get("changes")
    rows: list[Any] = [data, *cast(list[Any], changes if isinstance(changes, list) else [])]
    for one in rows:
        path = cast(dict[str, Any], one).get("path") if isinstance(one, dict) else None
        if isinstance(path, str) and path:
            yield plain_line(path)
