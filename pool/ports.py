"""The protocols at which the core meets the world: who takes events, who approves, where messages come from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pool.events import Event, SuggestedRule
from pool_tools.frozen import frozen


class EventLog(Protocol):
    """Durable storage of a session's events. `append` returns when the event is safe on disk."""

    def append(self, event: Event) -> None: ...


class EventSource(Protocol):
    """What a face subscribes to."""

    def subscribe(self, after: int = -1) -> AsyncIterator[Event]:
        """All durable events with a sequence number above after, then everything as it happens."""
        ...


class Remember(StrEnum):
    """How far a yes reaches: this call; the same again; calls like it, in this session; those, in this checkout."""

    ONCE = "once"
    EXACT = "exact"
    SIMILAR = "similar"
    ALWAYS = "always"


@frozen
class ApprovalRequest:
    """What a person is asked. preview is the exact command or diff, as data; why says which rule asks.

    rules are what `similar` and `always` would allow, all of them together. Without any, `similar` is not offered, and
    `always` means this exact call. can_keep: `always` is offered. policy says what the sandbox allows the call and what
    not, lift which flags of the user would have let it run unasked. call_id is
    unique among questions: a later step of a call has more behind the call's id.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    effect: str
    preview_kind: str
    preview: str
    why: str
    rules: tuple[SuggestedRule, ...] = ()
    can_keep: bool = False
    policy: str = ""
    lift: str = ""


@frozen
class ApprovalAnswer:
    """The answer; reason reaches the model when it is a no. by is person, rule, mode or program.

    remember says how far a yes reaches; a no is for this call alone.
    """

    allowed: bool
    by: str
    reason: str = ""
    remember: Remember = Remember.ONCE


class Approver(Protocol):
    """Answers approval requests: a person in a face, or a program."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer: ...


@frozen
class Question:
    """Something that the model asks the user. choices may be empty; free_text: other answers than those are taken."""

    id: str
    text: str
    choices: tuple[str, ...] = ()
    free_text: bool = True


@frozen
class Answer:
    """What was answered: one of the choices or other words. by is person or program."""

    text: str
    by: str = "person"


@runtime_checkable
class Questioner(Protocol):
    """An approver that can also bring a question of the model to somebody."""

    async def question(self, question: Question) -> Answer | None:
        """The answer; None if nobody gives one."""
        ...
