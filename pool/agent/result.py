"""What a run did, as one value: what `pool run -o json` prints, and what a report and the Python interface give.

The fields are a contract: docs/headless.md describes them, docs/events.schema.json is made from them, and a change of
meaning raises `RESULT_VERSION`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pool.events import ChangedFile, TodoItem, Usage
from pool.jsonable import plain
from pool_tools.frozen import frozen

RESULT_TYPE = "run.result"
RESULT_VERSION = 1


@frozen
class TurnResult:
    """One reply of the model. usage and the seconds are the sums over its requests, of which there may be several.

    cached_share is what of the prompt the server had cached, from 0 to 1, null where nothing was read. Times are in
    seconds: waited until a server took the request, first_token from sending to the first token, reply to its end.
    finish is the server's finish reason, ending how Pool read the reply.
    """

    turn: int
    requests: int
    usage: Usage
    cached_share: float | None
    waited_seconds: float
    first_token_seconds: float
    reply_seconds: float
    finish: str = ""
    ending: str = ""
    calls: int = 0


@frozen
class CallResult:
    """One tool call. status is ok, failed, denied, invalid, blocked or interrupted, "" if its end is missing.

    exit_status is that of a command, null for other calls and for a command that did not end. data is what the tool
    gives for programs, text what the model was told. denied_by is who said no, "" if nobody did.
    """

    id: str
    turn: int
    name: str
    arguments: dict[str, Any]
    title: str
    effect: str
    status: str = ""
    seconds: float = 0.0
    exit_status: int | None = None
    denied_by: str = ""
    changes: tuple[ChangedFile, ...] = ()
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""


@frozen
class GuardResult:
    """A guard that acted: action is note, nudge, cut, block or stop."""

    turn: int
    guard: str
    action: str
    detail: str


@frozen
class HookResult:
    """A hook that ran, as its event `hook.ran` says. call is the id of the call that it was about, "" for none."""

    turn: int
    call: str
    hook: str
    point: str
    outcome: str
    detail: str
    seconds: float


@frozen
class TestResult:
    """One run of tests, as the command and its output tell. whole: nothing narrowed it to a part of the tests."""

    call: str
    command: str
    passed: bool
    executed: bool
    whole: bool


@frozen
class TestBook:
    """The test runs in order; edited_since says that files were changed after the last one.

    unbacked says which claim of the answer about tests no run backs, "" for none.
    """

    runs: tuple[TestResult, ...] = ()
    edited_since: bool = False
    unbacked: str = ""


@frozen
class NoticeResult:
    """Something that a person should know: level info, warning or error."""

    level: str
    text: str
    remedy: str


@frozen
class SubagentResult:
    """A task of a subagent. agent is its kind, session the id of its own session, reason its stop reason.

    reason is "" where its end is missing. usage counts in the run's. branch holds what it changed, "" for nothing; stat
    says that in one line.
    """

    call: str
    agent: str
    title: str
    session: str
    reason: str = ""
    detail: str = ""
    turns: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()
    branch: str = ""
    stat: str = ""


@frozen
class TimeSpent:
    """Where a run's seconds went. waiting: until the server took requests; prefill: reading prompts; decode: writing.

    tools: running calls; approvals: waiting for answers; other: what is left.
    """

    waiting: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0
    tools: float = 0.0
    approvals: float = 0.0
    other: float = 0.0


@frozen
class RunResult:
    """A run from its prompt to its end.

    reason is the stop reason, "" where the log has no end; exit_code is the process's exit code that goes with it.
    answer is the last reply's content, output its value where a schema was asked for and it fits, else null.
    cached_share is as in a turn. todo is the model's list of steps as the run left it, empty if it did not change it;
    plan is the plan that waits for the user, "" for none. usage is that of the run and its subagents, per_turn that of
    its own replies. commits are the ids of those that were made of its work, compactions say what each did. pool is
    Pool's version.
    """

    pool: str
    session: str
    run: str
    prompt: str
    workspace: str
    model: str
    server: str
    mode: str
    sandbox: str
    reason: str
    exit_code: int
    detail: str
    signal: int
    answer: str
    output: Any
    turns: int
    seconds: float
    usage: Usage
    cached_share: float | None
    reasoning_tokens: int
    per_turn: tuple[TurnResult, ...] = ()
    calls: tuple[CallResult, ...] = ()
    changes: tuple[ChangedFile, ...] = ()
    guards: tuple[GuardResult, ...] = ()
    hooks: tuple[HookResult, ...] = ()
    tests: TestBook = TestBook()
    commits: tuple[str, ...] = ()
    compactions: tuple[str, ...] = ()
    notices: tuple[NoticeResult, ...] = ()
    time: TimeSpent = TimeSpent()
    todo: tuple[TodoItem, ...] = ()
    plan: str = ""
    subagents: tuple[SubagentResult, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as one JSON object, with its `type` and its version `v` first."""
        return {"type": RESULT_TYPE, "v": RESULT_VERSION, **plain(self)}
