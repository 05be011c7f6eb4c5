"""A session as one list of steps, made from its log: what every export format is written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pool.events import Usage
from pool.messages import ReasoningField


class StepKind(StrEnum):
    """Who made a step. EVENT is Pool's own: the history was compacted, rewound or damaged there."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    EVENT = "event"


@dataclass(slots=True)
class Call:
    """A tool call and what became of it. arguments is the JSON text of an object, as kept in the history.

    status is as in `CallFinished`, "" if the call never finished. result is what the model was sent, None if nothing
    was; output what the tool said. allowed is None where nobody was asked. seconds is None if not known.
    """

    id: str
    name: str
    arguments: str
    title: str = ""
    effect: str = ""
    preview_kind: str = ""
    preview: str = ""
    allowed: bool | None = None
    allowed_by: str = ""
    denied_why: str = ""
    status: str = ""
    seconds: float | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    changes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    output: str | None = None
    result: str | None = None
    subagents: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Mark:
    """Something that happened at a step: a guard fired, or a notice. kind is the event's type."""

    kind: str
    label: str
    text: str
    remedy: str = ""


@dataclass(slots=True)
class Step:
    """A message with all that belongs to it. wall is Unix time in seconds, 0 if unknown; seq its first event's number.

    kept: the message entered the history (a cut or empty reply does not). in_history: it is still part of it at the
    end. copied: it was there before and was taken over by a compaction. joined: it was added to the user message before
    it; replaces: it took that message's place. steered: the user said it while the run was working. replies counts the
    requests whose tokens are summed in usage; purpose says what they were for if not for this step's message. started
    and finished are the fields of `RunStarted` and `RunFinished` where a run begins or ends here; event is an EVENT
    step's own.
    """

    kind: StepKind
    text: str
    wall: float = 0.0
    seq: int = -1
    run: str = ""
    turn: int = 0
    reasoning: str = ""
    reasoning_field: ReasoningField = ReasoningField.NONE
    calls: list[Call] = field(default_factory=list[Call])
    usage: Usage | None = None
    replies: int = 0
    purpose: str = ""
    first_token_seconds: float = 0.0
    reply_seconds: float = 0.0
    finish: str = ""
    ending: str = ""
    kept: bool = True
    in_history: bool = True
    copied: bool = False
    joined: bool = False
    replaces: bool = False
    steered: bool = False
    marks: list[Mark] = field(default_factory=list[Mark])
    started: dict[str, Any] | None = None
    finished: dict[str, Any] | None = None
    event: dict[str, Any] | None = None


@dataclass(slots=True)
class Transcript:
    """A session, or a subagent's part of it. agent is the subagent's path, "" for the main one.

    head is the last request head (everything but the messages). damaged counts records of the log that could not be
    read. finished is False where the last run has no end: it was killed, or is still running.
    """

    id: str
    workspace: str = ""
    created: float = 0.0
    pool: str = ""
    agent: str = ""
    head: dict[str, Any] = field(default_factory=dict[str, Any])
    heads: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    subagents: list[Transcript] = field(default_factory=list["Transcript"])
    damaged: int = 0
    finished: bool = True
    name: str = ""
    imported: bool = False

    @property
    def model(self) -> str:
        """The model of the last run, else that of the head."""
        names = (str(s.started.get("model", "")) for s in reversed(self.steps) if s.started)
        return next((n for n in names if n), "") or str(self.head.get("model", ""))

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool definitions that were sent."""
        tools: Any = self.head.get("tools")
        return [t for t in tools if isinstance(t, dict)] if isinstance(tools, list) else []  # pyright: ignore[reportUnknownVariableType]
