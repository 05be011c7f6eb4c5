"""What runs unasked, what asks, who answers, and what an answer is remembered for."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pool.agent.rules.kept import KeptApprovals, KeptError, fingerprint
from pool.agent.rules.ruleset import RuleSet
from pool.agent.rules.suggest import parsed, suggest
from pool.agent.rules.syntax import SHELL, Action
from pool.config.settings import Mode
from pool.ports import ApprovalAnswer, ApprovalRequest, Approver, Remember, SuggestedRule
from pool_tools import Effect

_WRITES_FREELY = frozenset({Mode.ACCEPT_EDITS, Mode.AUTO, Mode.ALLOW_ALL})
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Question:
    """A call that somebody has to be asked about: why, and which rules would let it and its like through."""

    why: str
    rules: tuple[SuggestedRule, ...] = ()


class Approvals:
    """Decides by rules, then by what was approved before, then by mode; then asks.

    sandboxed: commands are confined by a sandbox that was proven to work. The mode may be changed between calls.
    """

    def __init__(
        self,
        mode: Mode,
        *,
        sandboxed: bool,
        approver: Approver,
        rules: RuleSet,
        kept: KeptApprovals,
        warn: Callable[[str], object],
    ) -> None:
        """rules are the user's own; those kept for the checkout join them. warn takes what a person should know."""
        self.mode = mode
        self.sandboxed = sandboxed
        self.rules = rules
        self._approver = approver
        self._kept = kept
        self._warn = warn
        self._exact: set[str] = set()
        try:
            loaded = kept.load()
        except KeptError as error:
            warn(str(error))
            return
        rules.add(loaded.rules)
        self._exact.update(print_ for print_, _ in loaded.calls)

    def judge(self, tool: str, args: Mapping[str, Any], effect: Effect) -> ApprovalAnswer | Question:
        """An answer where rules, memory or mode have one, else the question. Blocks for some milliseconds at most."""
        verdict = self.rules.judge(tool, args, free_writes=self.mode in _WRITES_FREELY)
        if verdict.action is Action.DENY:
            return ApprovalAnswer(False, "rule", f"{_sentence(verdict.why)} It holds in every mode.")
        by_mode = self.by_mode(effect)
        if isinstance(by_mode, ApprovalAnswer) and not by_mode.allowed:
            return by_mode
        if fingerprint(tool, args) in self._exact:
            return ApprovalAnswer(True, "rule", "this exact call was approved before")
        match verdict.action:
            case Action.ASK if verdict.guards or self.mode is not Mode.ALLOW_ALL:
                return Question(verdict.why)
            case Action.ALLOW:
                return ApprovalAnswer(True, "rule", verdict.why)
            case _ if isinstance(by_mode, ApprovalAnswer):
                return by_mode
            case _:
                why = f"{by_mode}; {verdict.why}" if verdict.why else by_mode
                return Question(why, suggest(self.rules, tool, args))

    def by_mode(self, effect: Effect) -> ApprovalAnswer | str:
        """An answer where the mode has one, else why a person must be asked."""
        match self.mode, effect:
            case _, Effect.READ:
                return ApprovalAnswer(True, "mode")
            case Mode.PLAN, _:
                return ApprovalAnswer(False, "mode", "Plan mode is read-only: say what you would do instead.")
            case Mode.ALLOW_ALL, _:
                return ApprovalAnswer(True, "mode")
            case ((Mode.AUTO | Mode.ACCEPT_EDITS), Effect.WRITE):
                return ApprovalAnswer(True, "mode")
            case Mode.AUTO, Effect.EXECUTE:
                return ApprovalAnswer(True, "mode") if self.sandboxed else "no sandbox confines this command"
            case Mode.AUTO, Effect.NETWORK:
                return "it leaves the sandbox, with the user's own rights"
            case _:
                return f"mode {self.mode.value} asks before it can {_DOES[effect]}"

    def can_run_commands(self, *, interactive: bool) -> bool:
        """Whether any command could run at all in this mode and with these rules."""
        answer = self.by_mode(Effect.EXECUTE)
        if isinstance(answer, ApprovalAnswer):
            return answer.allowed
        return interactive or self.rules.may_allow(SHELL)

    @property
    def can_keep(self) -> bool:
        """Whether an answer can be kept for this checkout."""
        return self._kept.usable

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask whoever answers for this run, and remember the answer as far as it says."""
        answer = await self._approver.ask(request)
        if answer.allowed and answer.remember is not Remember.ONCE:
            self._remember(request, answer.remember)
        return answer

    def _remember(self, request: ApprovalRequest, remember: Remember) -> None:
        rules = parsed(request.rules) if remember is not Remember.EXACT else []
        calls: Sequence[tuple[str, str]] = ()
        if not rules:
            mark = fingerprint(request.name, request.arguments)
            self._exact.add(mark)
            calls = [(mark, f"{request.name}: {' '.join(request.preview.split())[:_SHOWN_CHARS]}")]
        self.rules.add(rules)
        if remember is Remember.ALWAYS:
            try:
                self._kept.add(rules, calls)
            except KeptError as error:
                self._warn(f"{error}. The answer holds for this session only")


_DOES = {Effect.READ: "read", Effect.WRITE: "change files", Effect.EXECUTE: "run commands", Effect.NETWORK: "reach out"}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


class NobodyThere:
    """Answers for a run without a person: no, and what would allow it."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        flags = " ".join(f"--allow {shlex.quote(rule.text)}" for rule in request.rules)
        match request.effect:
            case Effect.WRITE.value:
                mode = "--mode accept-edits"
            case Effect.NETWORK.value:
                mode = "--mode allow-all"
            case _:
                mode = "--mode auto or --mode allow-all"
        lift = f"{flags} or {mode}" if flags else mode
        return ApprovalAnswer(
            False, "rule", f"Nobody is there to approve it ({request.why}); the user can allow it with {lift}."
        )


class Questions:
    """Questions that are open to several faces: the first answer counts, later ones are told so."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[ApprovalRequest, asyncio.Future[ApprovalAnswer]]] = {}

    @property
    def waiting(self) -> Sequence[ApprovalRequest]:
        """What waits for an answer, oldest first; for a face that joins late."""
        return tuple(request for request, _ in self._open.values())

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the first answer. Cancelled, the question is gone."""
        future: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._open[request.call_id] = (request, future)
        try:
            return await future
        finally:
            del self._open[request.call_id]

    def answer(self, call_id: str, answer: ApprovalAnswer) -> bool:
        """Answer a question; False if it is no longer open."""
        entry = self._open.get(call_id)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(answer)
        return True
