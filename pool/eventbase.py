"""What all events are made of: the envelope, the base of the bodies, and values that several of them hold."""

from __future__ import annotations

from typing import ClassVar

from pool_tools.frozen import frozen

SCHEMA_VERSION = 1


@frozen
class Envelope:
    """Where and when an event happened.

    seq counts up by one per session. agent is the path of the agent, "" for the main one, "1/2" for a subagent's
    subagent. call is the call id, "" where the event belongs to no call. wall is Unix time and mono the monotonic
    clock, both in seconds.
    """

    session: str
    run: str
    turn: int
    seq: int
    wall: float
    mono: float
    agent: str = ""
    call: str = ""
    v: int = SCHEMA_VERSION


@frozen
class Body:
    """Base of all event bodies."""

    type: ClassVar[str] = ""
    transient: ClassVar[bool] = False


@frozen
class Usage:
    """Tokens of one reply or summed over a run, as the server counts them; estimated says that it did not."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
        )

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@frozen
class ChangedFile:
    """A file that a run changed. path is relative to the workspace; added and removed count lines."""

    path: str
    kind: str
    added: int = 0
    removed: int = 0
