"""Sessions as lines of a table, as wide as the terminal, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pool.headless.columns import NARROW_COLUMNS, cut, cut_front, home_short, pad, terminal_columns, width
from pool.headless.plain import one_line
from pool.sessions.index import Hit, SessionEntry
from pool.sessions.log import in_use
from pool.sessions.store import SHORT_ID_CHARS, clock, short_id

WORKSPACE_SHARE = 3
"""Of a wide line a third, at most, says the workspace."""

EXCERPT_CHARS = 240
BEFORE_CHARS = 30
"""What is shown of a long passage: so much around the first word found, beginning so much before it."""


def print_entries(entries: Sequence[SessionEntry], *, everywhere: bool, as_json: bool) -> None:
    """Print one session a line; everywhere: with their workspaces."""
    columns = terminal_columns()
    for entry in entries:
        if as_json:
            print(json.dumps(entry_row(entry), ensure_ascii=False))
        else:
            print("\n".join(entry_lines(entry, columns, everywhere=everywhere)))


def print_hits(hits: Sequence[Hit], words: Sequence[str], *, everywhere: bool, as_json: bool) -> None:
    """Print each session that was found, and what was found in it."""
    columns = terminal_columns()
    for hit in hits:
        text = excerpt(hit.text, words)
        if as_json:
            print(json.dumps({**entry_row(hit.entry), "found": hit.kind, "text": text}, ensure_ascii=False))
            continue
        print("\n".join(entry_lines(hit.entry, columns, everywhere=everywhere)))
        line = f"    {hit.kind}: {text}"
        print(cut(line, columns) if columns else one_line(line))


def entry_row(entry: SessionEntry) -> dict[str, Any]:
    """A session as JSON takes it; live says that a process has it open."""
    return {**asdict(entry), "path": str(entry.path), "live": in_use(entry.path)}


def entry_lines(entry: SessionEntry, columns: int, *, everywhere: bool) -> list[str]:
    """A session as one line, or two on a narrow terminal. columns 0: as wide as it gets."""
    title = _title(entry)
    place = home_short(entry.workspace) if everywhere else ""
    narrow = 0 < columns < NARROW_COLUMNS
    gap = " " if narrow else "  "
    front = gap.join([pad(short_id(entry.id), SHORT_ID_CHARS), clock(entry.changed, year=not narrow)])
    if not columns:
        return [one_line(gap.join([front, *([place] if place else []), title]))]
    if place and not narrow:
        most = columns // WORKSPACE_SHARE
        front = gap.join([front, pad(cut_front(place, most), most)])
    lines = [f"{front}{gap}{cut(title, columns - width(front) - len(gap))}"]
    if place and narrow:
        lines.append(f"{gap}{cut_front(place, columns - len(gap))}")
    return [line.rstrip() for line in lines]


def excerpt(text: str, words: Sequence[str]) -> str:
    """The part of a passage around the first of the words that stands in it, as one line."""
    text = " ".join(text.split())
    folded = text.casefold()
    places = [at for word in words if (at := folded.find(" ".join(word.split()).casefold())) >= 0]
    start = max(0, min(places, default=0) - BEFORE_CHARS)
    cut_text = text[start : start + EXCERPT_CHARS]
    return f"{'…' if start else ''}{cut_text}{'…' if start + EXCERPT_CHARS < len(text) else ''}"


def _title(entry: SessionEntry) -> str:
    title = entry.title or "(no prompt yet)"
    return f"[in use] {title}" if in_use(entry.path) else title
