"""From the calls of a reply to their results: validate all, approve, run, answer in call order.

Read-only calls that stand side by side run concurrently; any other runs alone and in order. A call that cannot be run
is answered with what was wrong, never dropped.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pool.agent.approvals import Approvals, Unsettled
from pool.agent.checkpointing import Checkpointer, joined
from pool.agent.hub import EventHub
from pool.agent.questions import WaitingClock
from pool.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallFinished,
    CallOutput,
    CallProposed,
    CallStarted,
    ChangedFile,
    Notice,
)
from pool.messages import ToolCall
from pool.ports import ApprovalAnswer, ApprovalRequest
from pool.wire.coerce import clean_name, coerce
from pool.wire.reading import BrokenCall, RawCall, Reading
from pool_tools import Effect, Preview, Tool, ToolError, ToolResult
from pool_tools.api import CalledTool, StandsForTools, Step, SteppedTool, effect_of
from pool_tools.frozen import frozen
from pool_tools.text import clip

if TYPE_CHECKING:
    from pool.agent.editchecks import EditChecks
    from pool.agent.hooking import HookedCall, SessionHooks

NO_NAME = "unnamed"
"""What a call without a name is called in the history; strict servers want a name."""

NO_REASON = "No reason was given."

ARGUMENTS_CHARS = 2_000
"""So much of arguments that a hook has changed the model is told."""


@dataclass(slots=True)
class PreparedCall:
    """A call after validation. refusal is "" if it may be run, else what the model is told; args are coerced."""

    call: ToolCall
    tool: Tool | None
    args: dict[str, Any]
    refusal: str = ""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    preview: Preview = Preview("text", "", "")
    denied: str = ""
    """Why a hook does not let it run."""
    added: list[str] = field(default_factory=list[str])
    """What hooks want the model to be told with the result."""
    done: Outcome | None = None
    """The outcome of the tool itself, before hooks and checks had their say."""
    found: tuple[ChangedFile, ...] = ()
    """What the files say that the call changed."""
    seconds: float = 0.0
    """How long the tool ran; what a person was waited for is no part of it."""

    @property
    def effect(self) -> Effect:
        return effect_of(self.tool, self.args) if self.tool else Effect.READ


@frozen
class Outcome:
    """How a call ended; status as in `CallFinished`."""

    name: str
    args: dict[str, Any]
    effect: Effect
    status: str
    text: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    changes: tuple[ChangedFile, ...] = ()


@frozen
class _Subject:
    """What is to be approved: a call, or a later step of it. id is its own, call that of the call."""

    id: str
    call: str
    name: str
    args: Mapping[str, Any]
    effect: Effect
    preview: Preview


PolicyWords = Callable[[Effect], str]
"""Says what the sandbox allows a call with such an effect, and what not."""

Gate = Callable[[str, Mapping[str, Any]], str]
"""Says why a call by its name and arguments is not to be run, "" if it may."""


def _open_gate(name: str, args: Mapping[str, Any]) -> str:
    return ""


class CallRunner:
    """Prepares and runs the calls of one agent with its tools."""

    def __init__(
        self,
        tools: Sequence[Tool],
        approvals: Approvals,
        hub: EventHub,
        clock: WaitingClock,
        policy: PolicyWords,
        checkpoints: Checkpointer | None = None,
        hooks: SessionHooks | None = None,
        checks: EditChecks | None = None,
    ) -> None:
        """clock counts the time that people are waited for; policy is shown with a question.

        checks look at files around an edit.
        """
        self.tools = {t.spec.name: t for t in tools}
        self._approvals = approvals
        self._hub = hub
        self._clock = clock
        self._policy = policy
        self._checkpoints = checkpoints
        self._hooks = hooks
        self._checks = checks
        self.finished: dict[str, Outcome] = {}
        self._gate: Gate = _open_gate

    @property
    def waited_seconds(self) -> float:
        """How long people have been waited for, the wait that goes on now included."""
        return self._clock.seconds

    # -- preparing

    def prepare(self, reading: Reading, unique_id: Callable[[str], str], *, allowed: bool = True) -> list[PreparedCall]:
        """Validate every call of a whole reply. allowed is False under `tool_choice: none`: answered, not run."""
        out: list[PreparedCall] = []
        taken: set[str] = set()

        def new_id(wanted: str) -> str:
            call_id = unique_id("" if wanted in taken else wanted)
            taken.add(call_id)
            return call_id

        for raw in reading.calls:
            out.append(self._prepare_whole(raw, new_id(raw.id), allowed=allowed))
        out += [
            self._prepare_broken(broken, new_id(broken.id)) for broken in reading.broken if broken.name or broken.id
        ]
        return out

    def _prepare_whole(self, raw: RawCall, call_id: str, *, allowed: bool) -> PreparedCall:
        name = clean_name(raw.name, self.tools) or ""
        tool = self.tools.get(name)
        arguments = _object(raw.arguments)
        call = ToolCall(call_id, name or raw.name.strip() or NO_NAME, json.dumps(arguments, ensure_ascii=False))
        if not allowed:
            return PreparedCall(call, tool, {}, "No tool may be called in this reply.")
        if tool is None:
            given = (
                f"There is no tool named {raw.name.strip()!r}." if raw.name.strip() else "The call has no tool name."
            )
            return PreparedCall(
                call, None, {}, f"{given} The tools are: {', '.join(self.tools)}.", {"unknown_tool": True}
            )
        coerced = coerce(arguments, tool.spec.parameters)
        if coerced.problems:
            text = f"{name} was not run: {' '.join(coerced.problems)}"
            return PreparedCall(call, tool, coerced.arguments, text)
        return PreparedCall(call, tool, coerced.arguments)

    def _prepare_broken(self, broken: BrokenCall, call_id: str) -> PreparedCall:
        name = clean_name(broken.name, self.tools) or broken.name.strip() or NO_NAME
        tool = self.tools.get(name)
        text = f"{name} was not run: {broken.why.rstrip('.')}. Nothing was changed. Send the call again, whole."
        return PreparedCall(ToolCall(call_id, name, "{}"), tool, {}, text, {} if tool else {"unknown_tool": True})

    # -- running

    async def run(self, calls: Sequence[PreparedCall], gate: Gate = _open_gate) -> list[Outcome]:
        """Run the calls; outcomes come in call order. Cancelled, it cancels what runs; `finished` keeps the rest.

        gate is asked right before a valid call runs.
        """
        self.finished = {}
        self._gate = gate
        outcomes: list[Outcome] = []
        batch: list[PreparedCall] = []
        for call in [*calls, None]:
            if call is not None:
                await self._ask_hooks(call)
            if call is not None and (call.refusal or (call.effect is Effect.READ and not self._is_hooked(call))):
                batch.append(call)
                continue
            # Looked at first, so that what asks then asks in call order.
            await asyncio.gather(*(self._look(c) for c in batch))
            outcomes += await _side_by_side([self._run_one(c) for c in batch])
            batch = []
            if call is not None:
                await self._look(call)
                outcomes.append(await self._run_one(call))
        return outcomes

    async def _look(self, call: PreparedCall) -> None:
        """Find out what a call would do, for people."""
        if call.refusal or call.denied or call.tool is None:
            return
        try:
            call.preview = await asyncio.to_thread(call.tool.preview, call.args)
        except ToolError as error:
            call.refusal, call.data = str(error), dict(error.data)

    async def _run_one(self, call: PreparedCall) -> Outcome:
        try:
            outcome = await self._approve_and_run(call)
            self.finished[call.call.id] = outcome
        except asyncio.CancelledError:
            if call.done is not None:
                # Only what follows a call was cut: the call itself is done.
                self.finished[call.call.id] = call.done
            cut = call.done or Outcome(call.call.name, call.args, call.effect, "interrupted", "", changes=call.found)
            self._finished(call, cut)
            raise
        self._finished(call, outcome)
        return outcome

    def _finished(self, call: PreparedCall, outcome: Outcome) -> None:
        body = CallFinished(outcome.name, outcome.status, outcome.text, call.seconds, outcome.data, outcome.changes)
        self._hub.emit(body, call.call.id)

    async def _approve_and_run(self, call: PreparedCall) -> Outcome:
        tool, name = call.tool, call.call.name
        preview = call.preview
        arguments = call.args or _object(call.call.arguments)
        proposed = CallProposed(name, arguments, call.effect.value, preview.title, preview.kind, preview.body)
        self._hub.emit(proposed, call.call.id)
        if call.refusal or tool is None:
            return Outcome(name, call.args, call.effect, "invalid", call.refusal, call.data)
        if call.denied:
            self._hub.emit(ApprovalGiven(False, "hook", call.denied, call.call.id), call.call.id)
            text = _with(f"{name} was not run: {call.denied}", call.added)
            return Outcome(name, call.args, call.effect, "denied", text, {"denied_by": "hook"})
        if blocked := self._gate(name, call.args):
            return Outcome(name, call.args, call.effect, "blocked", blocked)
        answer = await self._approval(_subject(call, tool))
        if not answer.allowed:
            text = f"{name} was not run: it was denied. {answer.reason or NO_REASON}"
            return Outcome(name, call.args, call.effect, "denied", text, {"denied_by": answer.by})
        return await self._run_kept(call, tool)

    async def _run_kept(self, call: PreparedCall, tool: Tool) -> Outcome:
        """Run a call between two looks at the files."""
        # A hook may change any file.
        effect = Effect.EXECUTE if self._is_hooked(call) else call.effect
        kept = self._checkpoints if effect is not Effect.READ else None
        if kept is not None:
            await kept.before(call.call.id, effect, call.args)
        self._hub.emit(CallStarted(call.call.name), call.call.id)
        try:
            outcome = await self._run_checked(call, tool)
        finally:
            if kept is not None:
                call.found = await kept.after()
            if call.done is not None:
                call.done = replace(call.done, changes=joined(call.done.changes, call.found))
        return replace(outcome, changes=joined(outcome.changes, call.found))

    async def _run_checked(self, call: PreparedCall, tool: Tool) -> Outcome:
        """Run a call, then the hooks that follow it, then the checks of what it has edited."""
        checks = self._checks if call.effect is Effect.WRITE else None
        if checks is not None:
            await checks.before(call.args)
        call.done = outcome = await self._run_tool(call, tool)
        if self._hooks is not None and self._is_hooked(call):
            changed = [change.path for change in outcome.changes]
            said = await self._hooks.after_tool(_hooked(call, tool), outcome.status, outcome.text, changed)
            call.added += [*([said.blocked] if said.blocked else []), *said.added]
        call.done = outcome = replace(outcome, text=_with(outcome.text, call.added))
        if checks is not None and outcome.status == "ok":
            report = await checks.after(call.args)
            if report is not None:
                text = _with(outcome.text, [report.text])
                outcome = replace(outcome, text=text, data={**outcome.data, **report.data})
        return outcome

    # -- hooks

    def _is_hooked(self, call: PreparedCall) -> bool:
        if self._hooks is None or call.tool is None or call.refusal:
            return False
        subject = _subject(call, call.tool)
        return self._hooks.about(subject.name, subject.args)

    async def _ask_hooks(self, call: PreparedCall) -> None:
        """What the hooks before a call make of it: it may be denied, or become another, which is then approved."""
        if self._hooks is None or call.tool is None or not self._is_hooked(call):
            return
        said = await self._hooks.before_tool(_hooked(call, call.tool))
        call.denied, call.added = said.blocked, list(said.added)
        if said.arguments is not None and said.arguments != call.args:
            call.args = said.arguments
            call.added.insert(0, f"[a hook changed the arguments; what ran is: {_short(said.arguments)}]")

    async def confirm(self, number: str, name: str, step: Step) -> str:
        """Why a step of the user's own command may not be taken, "" if it may; number tells its questions apart."""
        answer = await self._approval(_Subject(number, "", name, step.args, step.gravity, step.preview))
        return "" if answer.allowed else answer.reason or NO_REASON

    async def _approval(self, subject: _Subject) -> ApprovalAnswer:
        """The answer for a call. One question is asked at a time; what it is remembered for counts for the next."""
        answer = await self._judged(subject)
        asked = isinstance(answer, Unsettled)
        if isinstance(answer, Unsettled):
            async with self._clock.turn:
                answer = await self._judged(subject)
                if isinstance(answer, Unsettled):
                    answer = await self._ask(subject, answer)
        if asked or not answer.allowed or subject.effect is not Effect.READ:
            self._hub.emit(ApprovalGiven(answer.allowed, answer.by, answer.reason, subject.id), subject.call)
        return answer

    async def _judged(self, subject: _Subject) -> ApprovalAnswer | Unsettled:
        return await asyncio.to_thread(self._approvals.judge, subject.name, subject.args, subject.effect)

    async def _ask(self, subject: _Subject, question: Unsettled) -> ApprovalAnswer:
        # In a thread, as a sandbox that is still being tried out would block.
        policy = await asyncio.to_thread(self._policy, subject.effect)
        request = ApprovalRequest(
            subject.id,
            subject.name,
            subject.args,
            subject.effect.value,
            subject.preview.kind,
            subject.preview.body,
            question.why,
            question.rules,
            self._approvals.can_keep,
            policy,
            question.lift,
        )
        # No step of the loop lies between the event and the question: who sees the one can answer the other.
        self._hub.emit(_asked(request), subject.call)
        with self._clock.running():
            return await self._approvals.ask(request)

    async def _run_tool(self, call: PreparedCall, tool: Tool) -> Outcome:
        def output(text: str) -> None:
            self._hub.emit(CallOutput(text), call.call.id)

        refused: list[ApprovalAnswer] = []
        asked = itertools.count(1)

        async def confirm(step: Step) -> str:
            subject = _Subject(
                f"{call.call.id}.{next(asked)}", call.call.id, call.call.name, step.args, step.gravity, step.preview
            )
            asked_at = time.monotonic()
            try:
                answer = await self._approval(subject)
            finally:
                call.seconds -= time.monotonic() - asked_at
            if answer.allowed:
                return ""
            refused.append(answer)
            return answer.reason or NO_REASON

        started = time.monotonic()
        try:
            if isinstance(tool, SteppedTool):
                result = await tool.run_steps(call.args, output, confirm)
            elif isinstance(tool, CalledTool):
                result = await tool.run_call(call.call.id, call.args, output)
            else:
                result = await tool.run(call.args, output)
        except ToolError as error:
            result = ToolResult(False, str(error), dict(error.data))
        except Exception as error:  # a defect in a tool must not cost the run
            self._hub.emit(Notice("error", f"the tool {call.call.name} failed inside: {error!r}"), call.call.id)
            result = ToolResult(False, f"{call.call.name} failed: {error}")
        finally:
            call.seconds += time.monotonic() - started
        changes = tuple(ChangedFile(c.path, c.kind, c.added, c.removed) for c in result.changes)
        if refused and not result.ok:
            data = {**result.data, "denied_by": refused[-1].by}
            return Outcome(call.call.name, call.args, call.effect, "denied", result.text, data, changes)
        status = "ok" if result.ok else "failed"
        return Outcome(call.call.name, call.args, call.effect, status, result.text, result.data, changes)


async def _side_by_side(running: Sequence[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    """Outcomes in order. Cancelled, it returns when all have ended: a call may have to end something of its own."""
    tasks = [asyncio.create_task(one) for one in running]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _subject(call: PreparedCall, tool: Tool) -> _Subject:
    name, args = call.call.name, call.args
    if isinstance(tool, StandsForTools):
        name, args = tool.rules_name(args), tool.rules_args(args)
    return _Subject(call.call.id, call.call.id, name, args, call.effect, call.preview)


def _hooked(call: PreparedCall, tool: Tool) -> HookedCall:
    from pool.agent.hooking import HookedCall

    subject = _subject(call, tool)
    return HookedCall(call.call.id, call.call.name, call.args, subject.name, subject.args, tool.spec.parameters)


def _with(text: str, more: Sequence[str]) -> str:
    return "\n\n".join(part for part in (text, *more) if part)


def _short(args: Mapping[str, Any]) -> str:
    return clip(json.dumps(args, ensure_ascii=False), ARGUMENTS_CHARS)


def _object(arguments: str) -> dict[str, Any]:
    value: Any = json.loads(arguments or "{}")
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _asked(request: ApprovalRequest) -> ApprovalAsked:
    return ApprovalAsked(
        request.name,
        request.why,
        request.call_id,
        request.effect,
        request.preview_kind,
        request.preview,
        request.rules,
        request.can_keep,
        request.policy,
    )
