"""A batch as it is shown: a table that is drawn anew on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, TextIO

from pool.headless.batch.engine import Watch
from pool.headless.batch.ledger import Attempt, Ended
from pool.headless.columns import cut, pad
from pool.headless.live.ps import age_words
from pool.headless.plain import one_line

DRAW_SECONDS = 0.2
MOST_ROWS = 20
"""Tasks at work that the table shows; the others are counted."""

ID_COLUMNS, STATE_COLUMNS = 16, 22


@dataclass(slots=True)
class _AtWork:
    attempt: Attempt
    began: float = field(default_factory=time.monotonic)
    turn: int = 0
    tokens: int = 0
    state: str = "starting"


class Board:
    """Shows a batch on out. live: it is a terminal of so many columns."""

    def __init__(self, out: TextIO, total: int, before: int, *, columns: int, failed: int = 0) -> None:
        """before is how many tasks had ended before, failed how many of them were not done; columns 0: no terminal."""
        self._out = out
        self._columns = columns
        self._total = total
        self._done = before
        self._failed = failed
        self._tokens = 0
        self._began = time.monotonic()
        self._at_work: dict[str, _AtWork] = {}
        self._drawn = 0
        self._last = float("-inf")
        self._why = ""

    def begin(self, attempt: Attempt) -> None:
        """An attempt begins."""
        self._at_work[attempt.task.id] = _AtWork(attempt)
        self._why = ""
        again = f" (attempt {attempt.number})" if attempt.number > 1 else ""
        if not self._columns:
            self._line(f"begin {attempt.task.id}{again}: {attempt.workspace}")
        self._draw()

    def watch(self, attempt: Attempt) -> Watch:
        """What takes the attempt's events."""

        def take(row: dict[str, Any]) -> None:
            work = self._at_work.get(attempt.task.id)
            if work is None:
                return
            _note(work, row)
            self._draw()

        return take

    def end(self, attempt: Attempt, ended: Ended) -> None:
        """It has ended: a line that stays."""
        self._at_work.pop(attempt.task.id, None)
        self._done += 1
        self._failed += ended.exit_code != 0
        usage: dict[str, Any] = ended.result.get("usage", {})
        self._tokens += usage.get("prompt", 0) + usage.get("completion", 0)
        files = len(ended.result.get("changes", ()))
        what = ended.reason if not ended.detail else f"{ended.reason}: {ended.detail}"
        turns = ended.result.get("turns", 0)
        self._clear()
        self._line(
            f"{'done' if not ended.exit_code else 'FAIL'}  {attempt.task.id}: {what}; {_counted(turns, 'turn')}, "
            f"{age_words(ended.seconds)}, {_counted(files, 'file')} changed"
        )
        self._draw(now=True)

    def wait(self, why: str) -> None:
        """No more can begin now; why."""
        self._why = why
        self._draw()

    def close(self) -> None:
        """Leave the last state on the screen."""
        self._clear()
        self._line(self._summary())

    def _line(self, text: str) -> None:
        self._out.write((cut(text, self._columns) if self._columns else one_line(text)) + "\n")
        self._out.flush()

    def _draw(self, *, now: bool = False) -> None:
        if not self._columns or (not now and time.monotonic() - self._last < DRAW_SECONDS):
            return
        self._last = time.monotonic()
        rows = [self._row(work) for work in list(self._at_work.values())[:MOST_ROWS]]
        if len(self._at_work) > MOST_ROWS:
            rows.append(f"  and {len(self._at_work) - MOST_ROWS} more")
        rows.append(self._summary())
        self._clear()
        self._out.write("".join(f"{cut(row, self._columns - 1)}\n" for row in rows))
        self._out.flush()
        self._drawn = len(rows)

    def _clear(self) -> None:
        if self._drawn:
            self._out.write(f"\x1b[{self._drawn}F\x1b[J")
            self._drawn = 0

    def _row(self, work: _AtWork) -> str:
        age = age_words(time.monotonic() - work.began)
        name = pad(cut(work.attempt.task.id, ID_COLUMNS), ID_COLUMNS)
        state = pad(cut(work.state, STATE_COLUMNS), STATE_COLUMNS)
        prompt = " ".join(work.attempt.task.prompt.split())
        return f"  {name} {state} turn {work.turn:<3} {work.tokens:>9,} tok {age:>6}  {prompt}"

    def _summary(self) -> str:
        waiting = self._total - self._done - len(self._at_work)
        parts = [f"{self._done} of {self._total} ended", f"{self._failed} failed", f"{len(self._at_work)} at work"]
        parts += [f"{waiting} to come"] if waiting else []
        parts += [f"{self._tokens:,} tokens", age_words(time.monotonic() - self._began)]
        return ", ".join(parts) + (f" ({self._why})" if self._why and waiting else "")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' if number != 1 else ''}"


def _note(work: _AtWork, row: dict[str, Any]) -> None:
    match row.get("type"):
        case "turn.started":
            work.turn, work.state = int(row.get("turn", 0)), "waits for the model"
        case "reasoning.delta":
            work.state = "thinks"
        case "content.delta":
            work.state = "writes"
        case "call.started":
            work.state = f"runs {row.get('name')}"
        case "waiting":
            work.state = str(row.get("state"))
        case "usage":
            usage: dict[str, Any] = row.get("usage") or {}
            work.tokens += int(usage.get("prompt", 0)) + int(usage.get("completion", 0))
        case _:
            pass
