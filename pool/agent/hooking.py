"""The hooks of a session: which run when, what they are told, and what becomes of their answers.

Each point's hooks run one after the other, the user's own first. A hook sees what the one before it has made of the
call or the prompt; the first that says no ends it. What hooks add is only ever appended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pool.agent.hub import EventHub
from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.syntax import Action, RuleError, parse_rule
from pool.config.hooks import Hook, HookPoint, OnError
from pool.config.settings import SettingsError
from pool.events import HookRan, Waiting
from pool.extend.hooks.answer import Answer, HookFault, cleaned, read_answer
from pool.extend.hooks.running import HookPlaces, run_hook
from pool.wire.coerce import coerce
from pool_tools.blocking import run_blocking
from pool_tools.foreign import tell_changes
from pool_tools.frozen import frozen
from pool_tools.text import clip

PAYLOAD_VERSION = 1

OF_SUBAGENTS = (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL, HookPoint.BEFORE_COMPACTION)
"""Points of hooks that run in a subagent's session too."""

GOES_ON_MOST = 3
"""How often hooks can keep one run from ending."""

RESULT_CHARS = 100_000
"""So much of a call's result a hook is given."""

DETAIL_CHARS = 200

_CHANGED = "[after the hooks ran, files that you have read have changed; work from this:]"


@dataclass(slots=True)
class Asked:
    """What the hooks of one point said together. blocked is the reason of the first that said no, "" for none."""

    blocked: str = ""
    arguments: dict[str, Any] | None = None
    prompt: str | None = None
    go_on: str = ""
    added: list[str] = field(default_factory=list[str])

    @property
    def context(self) -> str:
        """What the model is told besides."""
        return "\n\n".join(self.added)


@frozen
class HookedCall:
    """The call that hooks are asked about. name and args are the call's own; rule_name and rule_args those that rules
    are about, which differ for a tool that calls other tools. schema is what arguments must fit.
    """

    id: str
    name: str
    args: dict[str, Any]
    rule_name: str
    rule_args: Mapping[str, Any]
    schema: Mapping[str, Any]


class SessionHooks:
    """The hooks of one session, and the session's facts that they are told."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        places: HookPlaces,
        hub: EventHub,
        mode: Callable[[], str],
        *,
        resumed: bool,
        parent: str = "",
    ) -> None:
        """mode gives the approval mode as it is. resumed: the session goes on. parent is the id of the session that a
        subagent works for. Raises `SettingsError`.
        """
        self._parent = parent
        self._places = places
        self._hub = hub
        self._mode = mode
        self._resumed = resumed
        self._started = False
        self._workspace = places.commands.workspace
        self._hooks = [hook for hook in hooks if not hook.disabled]
        root = PurePosixPath(str(self._workspace.root))
        self._rules = {hook.name: _rules(hook, root) for hook in self._hooks if hook.match}

    @property
    def at_start(self) -> bool:
        """Whether any hook runs at a session's start."""
        return self._has(HookPoint.SESSION_START)

    @property
    def at_prompts(self) -> bool:
        """Whether any hook looks at prompts."""
        return self._has(HookPoint.PROMPT)

    @property
    def at_stop(self) -> bool:
        """Whether any hook runs before a run ends."""
        return self._has(HookPoint.STOP)

    def _has(self, point: HookPoint) -> bool:
        return any(hook.point is point for hook in self._hooks)

    def about(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether any hook runs before or after a call, by the name and arguments that rules are about."""
        return any(
            self.matches(hook, name, args)
            for hook in self._hooks
            if hook.point in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL)
        )

    # -- the points

    async def prompt(self, text: str) -> Asked:
        """A prompt of the user is about to reach the model; before a session's first, the start's hooks run."""
        asked = Asked()
        if not self._started and self.at_start:
            asked = await self._all(HookPoint.SESSION_START, {"source": "resume" if self._resumed else "new"})
        self._started = not asked.blocked
        if asked.blocked:
            return asked
        said = await self._all(HookPoint.PROMPT, {"prompt": text})
        return replace(said, added=[*asked.added, *said.added])

    async def before_tool(self, call: HookedCall) -> Asked:
        """A valid call is about to be approved; arguments that come back fit its schema."""
        asked = await self._all(HookPoint.BEFORE_TOOL, _told(call), call)
        await self._tell_changes(asked)
        return asked

    async def after_tool(self, call: HookedCall, status: str, text: str, changed: Sequence[str]) -> Asked:
        """A call has ended, well or not; changed are files relative to the workspace."""
        told = {**_told(call), "status": status, "result": clip(text, RESULT_CHARS), "changed": list(changed)}
        asked = await self._all(HookPoint.AFTER_TOOL, told, call)
        await self._tell_changes(asked)
        return asked

    async def before_compaction(self, reason: str) -> Asked:
        """The history is about to be replaced by an account; reason is full or asked."""
        return await self._all(HookPoint.BEFORE_COMPACTION, {"reason": reason})

    async def stop(self, reason: str, answer: str, went_on: int) -> Asked:
        """The run is about to end; went_on is how often hooks have kept it from that, -1 if it ends in any case."""
        final = not 0 <= went_on < GOES_ON_MOST
        return await self._all(HookPoint.STOP, {"reason": reason, "answer": answer, "final": final})

    # -- running them

    async def _all(self, point: HookPoint, told: Mapping[str, Any], call: HookedCall | None = None) -> Asked:
        asked = Asked()
        told = dict(told)
        for hook in self._hooks:
            if hook.point is not point:
                continue
            if call is not None and not self.matches(hook, call.rule_name, call.rule_args):
                continue
            answer = await self._one(hook, told, call)
            asked.blocked = answer.blocked
            asked.go_on = asked.go_on or answer.go_on
            if answer.context:
                asked.added.append(f"[the hook {hook.name} adds:]\n{answer.context}")
            if asked.blocked:
                return asked
            if answer.arguments is not None and call is not None:
                asked.arguments = told["arguments"] = answer.arguments
                # A tool that calls others is judged by what it was asked for: what it calls now is approved anew.
                same = call.name == call.rule_name
                call = replace(call, args=answer.arguments, rule_args=answer.arguments if same else call.rule_args)
            if answer.prompt is not None:
                asked.prompt = told["prompt"] = answer.prompt
        return asked

    async def _one(self, hook: Hook, told: Mapping[str, Any], call: HookedCall | None) -> Answer:
        began = time.monotonic()
        call_id = call.id if call else ""
        self._hub.emit(Waiting("hook", f"{hook.name} ({hook.point.value})"), call_id)
        try:
            ran = await run_hook(hook, *self.handed(hook.point, told), self._places)
            answer = _fitting(read_answer(hook.point, ran), call)
            if answer.go_on and told.get("final"):
                answer = replace(answer, go_on="", note=f"asks to go on, but the run ends: {answer.go_on}")
        except HookFault as fault:
            why = cleaned(str(fault), DETAIL_CHARS)
            deny = hook.on_error is OnError.DENY
            detail = f"{why}; on_error = {hook.on_error.value}"
            self._say(hook, "failed", detail, began, call_id)
            return Answer(blocked=f"the hook {hook.name} failed: {why}") if deny else Answer()
        self._say(hook, *_outcome(answer), began, call_id)
        if answer.blocked:
            return replace(answer, blocked=f"the hook {hook.name} says no: {answer.blocked}")
        return answer

    def _say(self, hook: Hook, outcome: str, detail: str, began: float, call_id: str) -> None:
        seconds = round(time.monotonic() - began, 3)
        body = HookRan(hook.name, hook.point.value, outcome, detail, seconds, hook.sandbox)
        self._hub.emit(body, call_id)

    def handed(self, point: HookPoint, told: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """What a hook is given of a point's facts: its input, and variables for it."""
        return {**self._facts(point), **told}, self._variables(point, told)

    def matches(self, hook: Hook, name: str, args: Mapping[str, Any]) -> bool:
        """Whether a hook of this session is about a call, by the name and arguments that rules are about."""
        rules = self._rules.get(hook.name)
        if rules is None:
            return True
        verdict = rules.judge(name, args)
        # What may be met is met: a hook that guards a command sees one that is not understood.
        return verdict.action is Action.DENY or verdict.guards

    def _facts(self, point: HookPoint) -> dict[str, Any]:
        return {
            "v": PAYLOAD_VERSION,
            "event": point.value,
            "session": self._hub.session,
            "run": self._hub.run,
            "turn": self._hub.turn,
            "workspace": str(self._workspace.root),
            "mode": self._mode(),
            **({"parent": self._parent} if self._parent else {}),
        }

    def _variables(self, point: HookPoint, told: Mapping[str, Any]) -> dict[str, str]:
        """What a hook of one line needs, without taking JSON apart."""
        out = {"HOOK_EVENT": point.value, "HOOK_WORKSPACE": str(self._workspace.root)}
        if "tool" in told:
            out["HOOK_TOOL"] = str(told["tool"])
            path: Any = told["arguments"].get("path")
            if isinstance(path, str) and path and "\0" not in path:
                out["HOOK_FILE"] = str(Path(self._workspace.root) / path)
        return out

    async def _tell_changes(self, asked: Asked) -> None:
        """Files that the model has read and that hooks have changed: the edits that follow start from what they are."""
        workspace = self._workspace
        told = await run_blocking(lambda flag: tell_changes(flag, workspace, _CHANGED, take=True))
        if told.changes:
            asked.added.append(told.text)


def _rules(hook: Hook, root: PurePosixPath) -> RuleSet:
    try:
        return RuleSet(root, [parse_rule(Action.DENY, hook.match)])
    except RuleError as error:
        raise SettingsError(f"hooks.{hook.name}: match: {error}") from None


def _told(call: HookedCall) -> dict[str, Any]:
    more = {"calls": call.rule_name} if call.rule_name != call.name else {}
    return {"call": call.id, "tool": call.name, "arguments": call.args, **more}


def _fitting(answer: Answer, call: HookedCall | None) -> Answer:
    """The answer with arguments that the tool takes. Raises `HookFault`."""
    if answer.arguments is None or call is None:
        return answer
    coerced = coerce(answer.arguments, call.schema)
    if coerced.problems:
        raise HookFault(f"its arguments do not fit {call.name}: {' '.join(coerced.problems)}")
    return replace(answer, arguments=coerced.arguments)


def _outcome(answer: Answer) -> tuple[str, str]:
    """How an answer is told to people."""
    match answer:
        case Answer(blocked=why) if why:
            said = "blocked", why
        case Answer(go_on=why) if why:
            said = "go-on", why
        case Answer(arguments=dict()):
            said = "rewrote", answer.note or "the arguments"
        case Answer(prompt=str()):
            said = "rewrote", answer.note or "the prompt"
        case Answer(context=text) if text:
            said = "added", answer.note or text
        case _:
            said = "ok", answer.note
    return said[0], cleaned(" ".join(said[1].split()), DETAIL_CHARS)
