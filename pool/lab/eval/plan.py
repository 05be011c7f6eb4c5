"""Which runs an evaluation has, and in which order: all arms side by side, so that a busy hour meets each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from pool.lab.eval.task import Task, Thinking
from pool_tools.frozen import frozen

PREFILL_TOKENS, ANSWER_TOKENS = 6_000, 1_500
"""What a task takes at the least, for an estimate: read anew over its turns, and written. `fix` takes more."""


@frozen
class Arm:
    """A server with its settings, or another agent, that works the tasks. flags are settings by their names."""

    name: str
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    profile: str = ""
    harness: str = ""


@frozen
class Cell:
    """One run to be made."""

    task: Task
    arm: Arm
    thinking: bool
    number: int

    @property
    def key(self) -> tuple[str, str, bool, int]:
        """As a row's."""
        return self.task.name, self.arm.name, self.thinking, self.number


def cells(tasks: Sequence[Task], arms: Sequence[Arm], repeats: int, thinking: Thinking | None) -> Iterator[Cell]:
    """All runs: repeat by repeat, task by task, the arms of a task one after the other; every other repeat backwards.

    thinking None leaves it to each task.
    """
    for number in range(1, repeats + 1):
        for task in tasks:
            levels = (thinking or task.thinking).levels
            pairs = [(arm, level) for arm in arms for level in levels]
            for arm, level in pairs if number % 2 else reversed(pairs):
                yield Cell(task, arm, level, number)


def least_seconds(count: int, read_rate: float, write_rate: float) -> float:
    """How long so many runs take at the least, at these tokens a second."""
    return count * (PREFILL_TOKENS / read_rate + ANSWER_TOKENS / write_rate)
