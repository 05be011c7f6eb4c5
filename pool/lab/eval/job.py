"""What a worker is told to do, as JSON on its standard input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pool.jsonable import plain
from pool_tools.frozen import frozen


@frozen
class Job:
    """What a worker is to do. folder gets what is kept; unseen are what the agent's commands must not see.

    flags are settings by their flags' names, as `{"server.base_url": ...}`; harness is another agent's, "" for Pool.
    """

    task: str
    arm: str
    thinking: bool
    number: int
    folder: str
    flags: Mapping[str, str]
    profile: str = ""
    harness: str = ""
    unconfined: bool = False
    unseen: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return plain(self)


def job_of(value: dict[str, Any]) -> Job:
    """A job from its JSON. Raises TypeError."""
    unseen: list[str] = value.pop("unseen", [])
    return Job(**value, unseen=tuple(unseen))
