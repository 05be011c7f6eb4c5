"""The events of a run: the one vocabulary that leaves the agent core.

A run yields `Event`s: an `Envelope` (where in which session, and when) around a body, one frozen dataclass per kind.
Faces draw them, `pool run -o stream-json` prints them, the session log keeps the durable ones. Bodies marked
*transient* are shown and never logged. Readers skip kinds that they do not know.

Order within a run: `RunStarted`; per turn `TurnStarted`, deltas, `UsageReported`, then for each call `CallProposed`,
`CallStarted`, `CallOutput`, `CallFinished`, then `TurnFinished`; at the end `RunFinished`. `GuardFired`, `Notice` and
`Waiting` may stand anywhere between, `QueueChanged` and `SettingChanged` also outside of a run.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from pool.eventbase import SCHEMA_VERSION as SCHEMA_VERSION
from pool.eventbase import Body as Body
from pool.eventbase import ChangedFile as ChangedFile
from pool.eventbase import Envelope as Envelope
from pool.eventbase import Usage as Usage
from pool.hookevents import HookRan as HookRan
from pool.jsonable import plain as plain
from pool.stops import STOP_TABLE as STOP_TABLE
from pool.stops import StopCode as StopCode
from pool.stops import StopReason as StopReason
from pool.workevents import PlanDecided as PlanDecided
from pool.workevents import PlanProposed as PlanProposed
from pool.workevents import PromptCopied as PromptCopied
from pool.workevents import TaskFinished as TaskFinished
from pool.workevents import TaskProgress as TaskProgress
from pool.workevents import TaskStarted as TaskStarted
from pool.workevents import TodoChanged as TodoChanged
from pool.workevents import TodoItem as TodoItem
from pool_tools.frozen import frozen


@frozen
class RunStarted(Body):
    """A prompt was accepted. First event of each run."""

    type: ClassVar[str] = "run.started"
    prompt: str
    workspace: str
    model: str
    server: str
    mode: str
    sandbox: str


@frozen
class HeadSet(Body):
    """Everything of a request but its messages, as JSON text. A second one in a session is an announced break."""

    type: ClassVar[str] = "head.set"
    head: str
    why: str = "session start"


@frozen
class MessageAdded(Body):
    """A message entered the history; text is its exact JSON as sent to the server (UTF-8).

    replaces_last: the message takes the place of the one before it (two user messages in a row become one).
    """

    type: ClassVar[str] = "message.added"
    role: str
    text: str
    replaces_last: bool = False


@frozen
class Steered(Body):
    """The user's word reached a running run: text becomes a message now. in_thought: a thought was ended for it."""

    type: ClassVar[str] = "run.steered"
    text: str
    in_thought: bool = False


@frozen
class QueueChanged(Body):
    """What waits: prompts to be worked after this run, and steering that has not reached the model yet."""

    type: ClassVar[str] = "queue.changed"
    prompts: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()


@frozen
class SettingChanged(Body):
    """A face changed how the session works: name is thinking, budget, net, or that of another setting."""

    type: ClassVar[str] = "setting.changed"
    name: str
    value: str
    detail: str = ""


@frozen
class UserCommand(Body):
    """The user ran a command in a shell of their own, beside the session; the model is told with the next prompt.

    output is its end, ended how it ended, in words.
    """

    type: ClassVar[str] = "user.command"
    command: str
    output: str
    ended: str


@frozen
class Compacted(Body):
    """The history is replaced by the messages that follow, `MessageAdded` each: an announced break of the prefix.

    before and after are the prompt's estimated tokens; all of after has to be read again by the server. follow counts
    the messages that stand in for the history, the system message not among them; until all of them are in the log, the
    earlier history holds. It is -1 in logs that do not say.
    """

    type: ClassVar[str] = "history.compacted"
    before: int
    after: int
    detail: str
    follow: int = -1


@frozen
class SessionNamed(Body):
    """The user gave the session a name, "" to take it back; the last one holds. It belongs to no run."""

    type: ClassVar[str] = "session.named"
    name: str


@frozen
class CommitMade(Body):
    """The session's work was committed for the user (`/commit`, `pool commit`, `pool run --commit`).

    commit is its id, branch "" where HEAD is detached; files are paths from the top of the repository. It may come
    after `RunFinished`.
    """

    type: ClassVar[str] = "commit.made"
    commit: str
    branch: str
    subject: str
    files: tuple[str, ...]


@frozen
class TurnStarted(Body):
    """A request is about to be sent. prompt_tokens is an estimate; max_tokens the reply's limit."""

    type: ClassVar[str] = "turn.started"
    prompt_tokens: int
    max_tokens: int


@frozen
class Waiting(Body):
    """What the server is doing while nothing arrives: connecting, queued, prefill, loading, retry; or hook, where a
    hook runs, which detail names; or agent, where another agent than Pool's works.

    progress is 0 to 1, or -1 if unknown. seconds is how long the next try is away, else 0. number is that try's, the
    first being 1, and 0 while nothing is tried again; most is how many there will be, 0 where time is the limit.
    """

    type: ClassVar[str] = "waiting"
    transient: ClassVar[bool] = True
    state: str
    detail: str = ""
    progress: float = -1.0
    seconds: float = 0.0
    number: int = 0
    most: int = 0


@frozen
class ReasoningDelta(Body):
    """More of the model's thinking."""

    type: ClassVar[str] = "reasoning.delta"
    transient: ClassVar[bool] = True
    text: str


@frozen
class ContentDelta(Body):
    """More of the model's answer."""

    type: ClassVar[str] = "content.delta"
    transient: ClassVar[bool] = True
    text: str


@frozen
class ContentRetracted(Body):
    """All content shown so far in this turn was something else: `reasoning`, or `discarded` (it is sent anew)."""

    type: ClassVar[str] = "content.retracted"
    transient: ClassVar[bool] = True
    as_: str


@frozen
class CallProgress(Body):
    """A call's arguments are being written: characters so far."""

    type: ClassVar[str] = "call.progress"
    transient: ClassVar[bool] = True
    index: int
    name: str
    chars: int
    path: str = ""


@frozen
class CallProposed(Body):
    """A wholly received call, before approval.

    title says in one line what it would do; preview is the exact command, diff or text, as preview_kind says.
    """

    type: ClassVar[str] = "call.proposed"
    name: str
    arguments: dict[str, Any]
    effect: str
    title: str = ""
    preview_kind: str = "text"
    preview: str = ""


@frozen
class SuggestedRule:
    """A rule that an answer may set: its text, such as `shell(git log *)`, and in words what it would cover."""

    text: str
    covers: str


@frozen
class ApprovalAsked(Body):
    """A call waits for an answer: all that a face needs to show it and to offer answers, however late it attaches.

    id is what an answer is given for: the call's id, with more behind it for a later step of the same call. preview is
    the exact command, diff or text, as preview_kind says. rules are what `similar` and `always` would allow, can_keep
    says whether `always` is offered. policy says what the sandbox allows the call and what not.
    """

    type: ClassVar[str] = "approval.asked"
    name: str
    why: str
    id: str = ""
    effect: str = ""
    preview_kind: str = "text"
    preview: str = ""
    rules: tuple[SuggestedRule, ...] = ()
    can_keep: bool = False
    policy: str = ""


@frozen
class ApprovalGiven(Body):
    """The answer to a call's approval; by is person, rule, mode, program or hook, id what `ApprovalAsked` has."""

    type: ClassVar[str] = "approval.given"
    allowed: bool
    by: str
    reason: str = ""
    id: str = ""


@frozen
class QuestionAsked(Body):
    """The model asks the user. choices may be empty; free_text: an answer may be something else."""

    type: ClassVar[str] = "question.asked"
    id: str
    text: str
    choices: tuple[str, ...] = ()
    free_text: bool = True


@frozen
class QuestionAnswered(Body):
    """The answer to a question, or that there was none: answered is False where nobody could or would give one."""

    type: ClassVar[str] = "question.answered"
    id: str
    answered: bool
    text: str = ""
    by: str = ""


@frozen
class ModeChanged(Body):
    """The approval mode changed; it holds from the next call on."""

    type: ClassVar[str] = "mode.changed"
    mode: str
    before: str


@frozen
class CheckpointTaken(Body):
    """What the call may change is kept, on disk, before it starts. It belongs to the call.

    number counts checkpoints up within a session. files contents were copied for it, copied_bytes together. skipped
    names files that are not kept, with the reason, skipped_count counts all of them. first: the whole tree was gone
    through.
    """

    type: ClassVar[str] = "checkpoint.taken"
    number: int
    files: int
    copied_bytes: int
    skipped: tuple[str, ...] = ()
    skipped_count: int = 0
    seconds: float = 0.0
    first: bool = False


@frozen
class Rewound(Body):
    """The conversation goes on from where it was before the event of number to_seq; all from there on does not count.

    prompt is the number of the prompt that was taken back, 0 for none. why is undo or redo: a redo takes back an undo.
    """

    type: ClassVar[str] = "rewound"
    to_seq: int
    prompt: int = 0
    why: str = "undo"


@frozen
class CallStarted(Body):
    """A call begins to run. On disk before its effects."""

    type: ClassVar[str] = "call.started"
    name: str


@frozen
class CallOutput(Body):
    """Live output of a running call; data, never markup. Of terminal escapes only colours are in it (SGR)."""

    type: ClassVar[str] = "call.output"
    transient: ClassVar[bool] = True
    text: str


@frozen
class CallFinished(Body):
    """A call ended. text is what the model sees; data is structured (exit_status, path, truncated, ...).

    status is ok, failed, denied, invalid, interrupted or blocked. seconds is how long the tool ran, without what a
    person was waited for.
    """

    type: ClassVar[str] = "call.finished"
    name: str
    status: str
    text: str
    seconds: float
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    changes: tuple[ChangedFile, ...] = ()


@frozen
class GuardFired(Body):
    """A guard acted: guard is its name, action note, nudge, cut, block or stop, detail is for people.

    cost says what the step costs the server's prefix cache, "" where it costs nothing.
    """

    type: ClassVar[str] = "guard.fired"
    guard: str
    action: str
    detail: str
    cost: str = ""


@frozen
class Notice(Body):
    """Something a person should know: level info, warning or error; remedy says what to do, if anything."""

    type: ClassVar[str] = "notice"
    level: str
    text: str
    remedy: str = ""


@frozen
class UsageReported(Body):
    """Tokens of a request, and its times: to the first token, and of the whole reply, in seconds.

    waited_seconds is what of both went by before the server took the request that was answered: it was away, loading or
    full, or an earlier try broke off.
    prefix_kept counts the messages that the request shares with the one before it; prefix_break says why it does not
    share all of them, "" if it does.
    """

    type: ClassVar[str] = "usage"
    usage: Usage
    first_token_seconds: float
    reply_seconds: float
    prefix_kept: int = 0
    prefix_break: str = ""
    waited_seconds: float = 0.0


@frozen
class TurnFinished(Body):
    """A reply and its calls are done. finish is the server's finish reason, ending how Pool read it."""

    type: ClassVar[str] = "turn.finished"
    finish: str
    ending: str
    calls: int
    repairs: tuple[str, ...] = ()


@frozen
class RunFinished(Body):
    """Last event of each run. answer is the final reply's content; detail says more about the reason.

    reasoning_tokens are those of the run's thoughts, estimated from their text.
    """

    type: ClassVar[str] = "run.finished"
    reason: StopReason
    exit_code: int
    detail: str
    answer: str
    turns: int
    seconds: float
    usage: Usage
    changes: tuple[ChangedFile, ...] = ()
    signal: int = 0
    reasoning_tokens: int = 0


@frozen
class Event:
    """One event: envelope and body."""

    envelope: Envelope
    body: Body


def to_dict(event: Event) -> dict[str, Any]:
    """The event as one flat JSON object: envelope keys, `type`, then the body's keys."""
    out: dict[str, Any] = {"type": event.body.type}
    out.update(plain(event.envelope))
    if not out["agent"]:
        del out["agent"]
    if not out["call"]:
        del out["call"]
    out.update(plain(event.body))
    return out
