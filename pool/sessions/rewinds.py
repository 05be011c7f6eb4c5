"""Going back in a conversation: which rows of a log count after rewinds, and the prompts among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pool_tools.frozen import frozen

Row = dict[str, Any]


@frozen
class Prompt:
    """A prompt that counts. number is from 1; seq that of its `run.started`; at is Unix time in seconds.

    A fork has prompts of its source too: run is the source's then. workspace is where it was worked, "" if not known.
    """

    number: int
    run: str
    seq: int
    text: str
    at: float
    workspace: str = ""


BEGINS = ("run.started", "prompt.copied")
"""Kinds of rows with which a prompt begins."""


class NoSuchPrompt(Exception):
    """No prompt fits what was asked for. The message says which there are."""


def effective(rows: Iterable[Row]) -> list[Row]:
    """The rows that count: each rewind takes back everything from its `to_seq` on, other rewinds included."""
    every: list[Row] = []
    out: list[Row] = []
    for row in rows:
        every.append(row)
        to = row.get("to_seq")
        if row.get("type") == "rewound" and isinstance(to, int):
            out = effective(r for r in every if _seq(r) < to)
        else:
            out.append(row)
    return out


def prompts(rows: Iterable[Row]) -> list[Prompt]:
    """The prompts that count, in order."""
    begun = [r for r in effective(rows) if r.get("type") in BEGINS and not r.get("agent")]
    return [prompt_of(row, number) for number, row in enumerate(begun, 1)]


def prompt_of(row: Row, number: int = 0) -> Prompt:
    """The prompt of a row of one of the kinds in `BEGINS`."""
    if row.get("type") == "prompt.copied":
        return Prompt(number, str(row.get("source_run", "")), _seq(row), str(row.get("text", "")), _at(row.get("at")))
    where = str(row.get("workspace", ""))
    return Prompt(number, str(row.get("run", "")), _seq(row), str(row.get("prompt", "")), _at(row.get("wall")), where)


def _at(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def prompt_named(rows: Iterable[Row], name: str) -> Prompt:
    """The prompt of that number, or whose run's id begins with name; "" is the last. Raises `NoSuchPrompt`."""
    every = prompts(rows)
    if not every:
        raise NoSuchPrompt("the session has no prompt yet")
    if not name:
        return every[-1]
    found = [p for p in every if (str(p.number) == name) or (len(name) > _SHORT_ID and p.run.startswith(name))]
    if len(found) != 1:
        raise NoSuchPrompt(f"there is no prompt {name!r}; the session's prompts are 1 to {len(every)}")
    return found[0]


def runs_from(rows: Sequence[Row], seq: int) -> set[str]:
    """The runs that began at or after seq, also those that were taken back since."""
    return {str(r.get("run", "")) for r in rows if r.get("type") == "run.started" and _seq(r) >= seq}


def last_rewind(rows: Sequence[Row]) -> Row | None:
    """The rewind after which nothing was said, None if there is none: it can be taken back."""
    for row in reversed(rows):
        match row.get("type"):
            case "rewound":
                return row if row.get("why") != "redo" else None
            case "run.started":
                return None
            case _:
                continue
    return None


_SHORT_ID = 7


def _seq(row: Row) -> int:
    value = row.get("seq")
    return value if isinstance(value, int) else -1
