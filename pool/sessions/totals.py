"""What a session has used so far, over all its runs, counted from its log."""

from __future__ import annotations

from typing import Any, cast

from pool_tools.frozen import frozen


@frozen
class Totals:
    """Turns, seconds of work, tokens read and written, and tokens of thought."""

    turns: int = 0
    seconds: float = 0.0
    tokens: int = 0
    reasoning: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.turns + other.turns,
            self.seconds + other.seconds,
            self.tokens + other.tokens,
            self.reasoning + other.reasoning,
        )


class Tally:
    """Adds up a log's rows. A run that was killed has no last event, so its turns and requests are counted instead."""

    def __init__(self) -> None:
        self._done = Totals()
        self._open: Totals | None = None
        self._tasks = Totals()
        self._began = 0.0

    @property
    def totals(self) -> Totals:
        """All runs so far."""
        return self._done + (self._open + self._tasks if self._open is not None else Totals())

    def take(self, row: dict[str, Any]) -> None:
        """Take the next row; kinds that count nothing are skipped."""
        match row.get("type"):
            case "run.started":
                self._done = self.totals
                self._open, self._began = Totals(), _number(row.get("wall"))
                self._tasks = Totals()
            case "run.finished":
                reasoning = int(_number(row.get("reasoning_tokens")))
                finished = Totals(
                    int(_number(row.get("turns"))), _number(row.get("seconds")), _tokens(row.get("usage")), reasoning
                )
                # The tokens of its subagents are in those of the run.
                self._done, self._open = self._done + finished + Totals(self._tasks.turns), None
            case "task.finished" if self._open is not None:
                reasoning = int(_number(row.get("reasoning_tokens")))
                self._tasks += Totals(int(_number(row.get("turns"))), 0.0, _tokens(row.get("usage")), reasoning)
            case "usage" if self._open is not None:
                seconds = max(self._open.seconds, _number(row.get("wall")) - self._began)
                turns = max(self._open.turns, int(_number(row.get("turn"))))
                self._open = Totals(turns, seconds, self._open.tokens + _tokens(row.get("usage")))
            case _:
                pass


def _tokens(usage: Any) -> int:
    if not isinstance(usage, dict):
        return 0
    counts = cast(dict[str, Any], usage)
    return int(_number(counts.get("prompt")) + _number(counts.get("completion")))


def _number(value: Any) -> float:
    """A count of a log that anybody may have edited: never negative, never without end."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < float("inf") else 0.0
