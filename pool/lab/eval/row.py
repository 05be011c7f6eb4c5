"""What is known of one run of a task: a line of `results.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from pool.jsonable import plain
from pool_tools.frozen import frozen

ROW_VERSION = 1


@frozen
class Row:
    """One run. reward, passed (visible tests) and held_out are 0 to 1, None where nothing was judged or there are none.

    error says why there is no result: the server was away, or the task cannot be judged here. Tokens are counts,
    seconds wall time, decode_seconds the time in which the model wrote. guards names what fired, as `guard:action`.
    audit is the verdict, flags its open findings as `H1 M2`. folder is relative to the evaluation's.
    """

    task: str
    arm: str
    thinking: bool
    number: int
    reward: float | None = None
    passed: float | None = None
    held_out: float | None = None
    reason: str = ""
    error: str = ""
    turns: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    decode_seconds: float = 0.0
    guards: tuple[str, ...] = ()
    audit: str = ""
    flags: tuple[str, ...] = ()
    server: str = ""
    model: str = ""
    build: str = ""
    pool: str = ""
    sandbox: str = ""
    why: tuple[str, ...] = ()
    folder: str = ""
    figures: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def key(self) -> tuple[str, str, bool, int]:
        """Which cell of the plan this run fills."""
        return self.task, self.arm, self.thinking, self.number

    @property
    def arm_name(self) -> str:
        """The arm with its thinking, as tables name it."""
        return f"{self.arm}, {'thinking' if self.thinking else 'no thinking'}"

    @property
    def solved(self) -> bool | None:
        """Whether it earned the reward; None where nothing was judged."""
        return None if self.reward is None else self.reward >= 1.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"v": ROW_VERSION, **plain(self)}


def row_of(value: dict[str, Any]) -> Row:
    """A row from its JSON; fields that this version does not know are left out. Raises TypeError, KeyError."""
    if not isinstance(value, dict):  # pyright: ignore[reportUnnecessaryIsInstance] a line of a file can be anything
        raise TypeError("a row is an object")
    known = {one.name for one in fields(Row)}
    given: dict[str, Any] = {name: value[name] for name in known & value.keys()}
    for name in ("guards", "flags", "why"):
        given[name] = tuple(given.get(name, ()))
    return Row(**given)
