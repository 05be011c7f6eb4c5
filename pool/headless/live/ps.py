"""`pool ps`: the runs that live: detached ones, and sessions that another pool has open."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pool.agent.digest import result_of, runs_of
from pool.facekit.live.lines import LinkProblem
from pool.facekit.live.place import LiveRecord, PlaceError, live_records
from pool.facekit.live.remote import status_of
from pool.headless.columns import cut, cut_front, home_short, pad, terminal_columns, width
from pool.headless.plain import one_line
from pool.sessions.log import in_use, read_rows
from pool.sessions.store import SUFFIX, NoSuchSession, sessions_folder, short_id
from pool.sessions.store import by_id as session_by_id
from pool_tools.frozen import frozen

EXIT_FAILED = 1
NEWEST = 50
"""Of the sessions that were changed last so many are looked at."""

LEAST_PROMPT_COLUMNS = 10
PATH_COLUMNS = 28
GAP = "  "
TITLES = ("ID", "STATE", "TURNS", "TOKENS", "AGE", "FOLDER", "PROMPT")


@frozen
class Living:
    """A live session. state is working, waits or idle, or silent where its process does not answer.

    detached: `pool attach` and `pool stop` reach it. tokens are those of its last run; age is in seconds; pid 0 is
    unknown.
    """

    session: str
    pid: int
    workspace: str
    state: str
    waits_for: str
    turns: int
    tokens: int
    age: float
    prompt: str
    detached: bool


def parser() -> argparse.ArgumentParser:
    """The flags of `pool ps`."""
    p = argparse.ArgumentParser(prog="pool ps", description="List the runs that live: detached ones and open sessions.")
    p.add_argument("--json", action="store_true", help="as a JSON array")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool ps`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        found = asyncio.run(living())
    except PlaceError as error:
        sys.stderr.write(f"pool ps: {error}\n")
        return EXIT_FAILED
    if args.json:
        print(json.dumps([asdict(one) for one in found], ensure_ascii=True, indent=2))
        return 0
    for line in table(found, terminal_columns()):
        print(line)
    if not found:
        sys.stderr.write("no run lives; pool run --detach starts one that outlives the terminal\n")
    return 0


async def living() -> list[Living]:
    """All that live, the oldest first; detached runs before others. Raises `PlaceError`."""
    records = live_records()
    detached = await asyncio.gather(*(_detached(record) for record in records))
    known = {record.session for record in records}
    others = await asyncio.to_thread(_others, known)
    return [*detached, *others]


async def _detached(record: LiveRecord) -> Living:
    try:
        s = await status_of(record)
    except LinkProblem as problem:
        age = time.time() - record.started
        what = (record.workspace, "silent", str(problem), 0, 0, age, record.prompt, True)
        return Living(record.session, record.pid, *what)
    return Living(
        *(s.session, s.pid, s.workspace, s.state, s.waits_for, s.turns, s.tokens, s.age, one_line(s.prompt), True)
    )


def _others(known: set[str]) -> list[Living]:
    """Sessions that somebody has open and that cannot be attached to (blocking: for a thread)."""
    folder = sessions_folder()
    try:
        with os.scandir(folder) as entries:
            logs = [(e.stat().st_mtime, e.name) for e in entries if e.name.endswith(SUFFIX) and e.is_file()]
    except OSError:
        return []
    newest = [folder / name for _, name in sorted(logs, reverse=True)[:NEWEST]]
    found = [_other(path) for path in newest if path.stem not in known and in_use(path)]
    return sorted((one for one in found if one), key=lambda one: -one.age)


def _other(path: Path) -> Living | None:
    try:
        listed = session_by_id(path.parent, path.stem)
        runs = runs_of(read_rows(path.read_bytes())[0])
    except (NoSuchSession, OSError):
        return None
    state, turns, tokens, prompt = "idle", 0, 0, ""
    if runs:
        result = result_of(runs[-1])
        state = "idle" if result.reason else "waits" if _asks(runs[-1]) else "working"
        turns, tokens, prompt = result.turns, result.usage.total, result.prompt
    age = time.time() - listed.created
    return Living(path.stem, 0, listed.workspace, state, "", turns, tokens, age, one_line(prompt), False)


def _asks(rows: Sequence[dict[str, Any]]) -> bool:
    open_: set[str] = set()
    for row in rows:
        match row.get("type"):
            case "approval.asked" | "question.asked":
                open_.add(str(row.get("id")))
            case "approval.given" | "question.answered":
                open_.discard(str(row.get("id")))
            case _:
                pass
    return bool(open_)


def table(found: Sequence[Living], columns: int) -> list[str]:
    """Lines for people; columns 0: they need not fit."""
    if not found:
        return []
    rows = [TITLES, *(_row(one) for one in found)]
    numbers = (2, 3, 4)
    widths = [max(width(row[n]) for row in rows) for n in range(len(TITLES))]
    out: list[str] = []
    for row in rows:
        cells = [cell.rjust(widths[n]) if n in numbers else pad(cell, widths[n]) for n, cell in enumerate(row[:-1])]
        line = GAP.join(cells)
        room = columns - width(line) - len(GAP) if columns else len(row[-1])
        out.append(f"{line}{GAP}{cut(row[-1], room)}" if room >= LEAST_PROMPT_COLUMNS or not columns else line.rstrip())
    return [cut(line.rstrip(), columns) if columns else line.rstrip() for line in out]


def _row(one: Living) -> tuple[str, ...]:
    state = one.state if one.detached else f"{one.state} (open elsewhere)"
    if one.state == "waits" and one.waits_for:
        state = f"waits: {one.waits_for}"
    folder = cut_front(home_short(one.workspace), PATH_COLUMNS)
    return (
        *(short_id(one.session), one_line(state), f"{one.turns:,}", f"{one.tokens:,}", age_words(one.age), folder),
        one_line(one.prompt.strip()),
    )


def age_words(seconds: float) -> str:
    """A time in its two largest units: 12s, 3m05s, 7h02m, 2d03h."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86_400
    if days:
        return f"{days}d{hours % 24:02}h"
    if hours:
        return f"{hours}h{minutes % 60:02}m"
    return f"{minutes}m{whole % 60:02}s" if minutes else f"{whole}s"
