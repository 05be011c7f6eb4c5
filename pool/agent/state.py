"""What a run knows about itself; guards read it, the loop writes it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pool.agent.calls import Outcome
from pool.agent.filestates import FileStates
from pool.agent.ledger import TestLedger
from pool.events import ChangedFile, StopReason, Usage
from pool_tools.frozen import frozen


@frozen
class Steer:
    """How the next reply is to differ. act: a tool call is forced where the server can; no_thought: thinking is off.

    form is a JSON Schema that its content is constrained to where the server can.
    """

    act: bool = False
    no_thought: bool = False
    form: Mapping[str, Any] | bool | None = None


@dataclass(slots=True)
class RunState:
    """Counters of one run.

    started is on the monotonic clock, paused the seconds spent waiting for approvals. unverified says why the final
    answer's claim that tests pass is not backed, "" if it is or none was made. came_back are the files that the last
    call brought back to contents which they had before. forgotten counts how often earlier results left the history.
    tasks are the runs of its subagents: what they use counts as the run's own.
    """

    prompt: str
    started: float = field(default_factory=time.monotonic)
    paused: float = 0.0
    turns: int = 0
    usage: Usage = Usage()
    answer: str = ""
    changes: dict[str, ChangedFile] = field(default_factory=dict[str, ChangedFile])
    denied: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    denied_in_row: int = 0
    files: FileStates = field(default_factory=FileStates)
    came_back: tuple[str, ...] = ()
    forgotten: int = 0
    ledger: TestLedger = field(default_factory=TestLedger)
    unverified: str = ""
    reasoning_tokens: int = 0
    tasks: list[RunState] = field(default_factory=list["RunState"])

    @property
    def all_usage(self) -> Usage:
        """The tokens of the run and of its subagents."""
        return sum((task.all_usage for task in self.tasks), self.usage)

    @property
    def seconds(self) -> float:
        """Wall seconds that count against the budget."""
        return time.monotonic() - self.started - self.paused

    def note(self, outcome: Outcome) -> None:
        """Keep the run's books: changed files, test runs, denials."""
        # A tool that runs one command of its own says it in its data.
        command = outcome.args.get("command") or outcome.data.get("command")
        changed = [change.path for change in outcome.changes]
        if isinstance(command, str) and outcome.status in ("ok", "failed"):
            self.ledger.command(command, outcome.text, outcome.data.get("exit_status"), changed)
        elif changed:
            self.ledger.edited(changed)
        self.ledger.saw(outcome.text)
        self.came_back = tuple(c.path for c in outcome.changes if self.files.came_back(c.path))
        for change in outcome.changes:
            self.changed(change)
        target = (outcome.name, str(outcome.args.get("path") or outcome.args.get("command") or ""))
        # What plan mode refuses belongs into the plan; it is nothing that the run lacked.
        if outcome.status == "denied" and outcome.data.get("denied_by") != "mode":
            self.denied[target] = outcome.text
        elif outcome.status == "ok":
            self.denied.pop(target, None)

    def changed(self, new: ChangedFile) -> None:
        """Note a changed file; several changes of one file add up."""
        old = self.changes.get(new.path)
        if old is None:
            self.changes[new.path] = new
            return
        kind = "created" if old.kind == "created" and new.kind == "modified" else new.kind
        self.changes[new.path] = ChangedFile(new.path, kind, old.added + new.added, old.removed + new.removed)


@frozen
class Stop:
    """End the run. detail is one line for people. number is the signal's for `SIGNALLED`.

    natural: the model has given its answer, nothing cut it short.
    """

    reason: StopReason
    detail: str = ""
    number: int = 0
    natural: bool = False


@frozen
class Nudge:
    """Say something to the model, as the user's side, and go on. detail is for people; steer changes the next reply."""

    text: str
    detail: str
    steer: Steer = Steer()


@frozen
class CallNote:
    """A guard's word on one call: text is appended to its result, stop ends the run after this turn."""

    text: str = ""
    detail: str = ""
    stop: Stop | None = None


Verdict = Stop | Nudge
