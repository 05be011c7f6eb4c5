"""What runs unasked, what asks, who answers, and what an answer is remembered for."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pool.agent.questions import Desk, Questions
from pool.agent.rules.kept import KeptApprovals, KeptError, fingerprint
from pool.agent.rules.ruleset import RuleSet, Verdict
from pool.agent.rules.suggest import parsed, suggest
from pool.agent.rules.syntax import SHELL, Action
from pool.agent.secretuse import SecretUse
from pool.config.settings import Mode
from pool.events import Body, ModeChanged, Notice
from pool.ports import ApprovalAnswer, ApprovalRequest, Approver, Remember, SuggestedRule
from pool_tools import Effect
from pool_tools.frozen import frozen
from pool_tools.secretfiles import HiddenFiles

_WRITES_FREELY = frozenset({Mode.ACCEPT_EDITS, Mode.AUTO, Mode.ALLOW_ALL})
_SHOWN_CHARS = 200


__all__ = ["Approvals", "NobodyThere", "Questions", "Standing", "Unsettled"]


@frozen
class Unsettled:
    """A call that somebody has to be asked about: why, and which rules would let it and its like through.

    lift says in words what the user could have set so that it ran unasked.
    """

    why: str
    rules: tuple[SuggestedRule, ...] = ()
    lift: str = ""


@frozen
class Standing:
    """A rule in force, such as `allow shell(git log *)`. origin is settings, kept (for this checkout) or session."""

    rule: str
    origin: str


class Approvals:
    """Decides by rules, then by what was approved before, then by mode; then asks.

    sandboxed: commands are confined by a sandbox that was proven to work. read_only_sandbox says whether a command that
    starts now could change nothing: what lets commands run in plan mode.
    """

    sandboxed: bool
    read_only_sandbox: Callable[[], bool]

    def __init__(
        self,
        mode: Mode,
        *,
        sandboxed: bool,
        approver: Approver,
        rules: RuleSet,
        kept: KeptApprovals,
        tell: Callable[[Body], object],
    ) -> None:
        """rules are the user's own; those kept for the checkout join them. tell takes events for people."""
        self._mode = mode
        self._followers: list[Callable[[Mode], object]] = []
        self.sandboxed = sandboxed
        self.read_only_sandbox = _never
        self.secrets: SecretUse | None = None
        """What commands may be given, and which get it unasked."""
        self.rules = rules
        self._desk = Desk[ApprovalRequest, ApprovalAnswer]()
        self._hidden: HiddenFiles | None = None
        self._approver = approver
        self._kept = kept
        self._tell = tell
        self._exact: set[str] = set()
        self._origins = dict.fromkeys(rules.rules, "settings")
        try:
            loaded = kept.load()
        except KeptError as error:
            self._warn(str(error))
            return
        rules.add(loaded.rules)
        self._origins = {**dict.fromkeys(loaded.rules, "kept"), **self._origins}
        self._exact.update(print_ for print_, _ in loaded.calls)

    @property
    def mode(self) -> Mode:
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Change the mode for the next call on; what runs or was asked already goes on as it was."""
        before, self._mode = self._mode, mode
        if mode is before:
            return
        for follower in self._followers:
            follower(mode)
        self._tell(ModeChanged(mode.value, before.value))

    def follow_mode(self, follower: Callable[[Mode], object]) -> None:
        """Call follower with the mode, now and before any later mode holds for a call."""
        self._followers.append(follower)
        follower(self._mode)

    def show_allowed(self, hidden: HiddenFiles) -> None:
        """Let commands see what rules, the mode or an answer allow of files that hold secrets."""
        hidden.allowed = lambda path: self._mode is Mode.ALLOW_ALL or self.rules.shows(PurePosixPath(path))
        self._hidden = hidden

    def standing(self) -> Sequence[Standing]:
        """The rules in force, each with where it comes from."""
        return tuple(Standing(str(rule), self._origins.get(rule, "session")) for rule in self.rules.rules)

    def judge(self, tool: str, args: Mapping[str, Any], effect: Effect) -> ApprovalAnswer | Unsettled:
        """An answer where rules, memory or mode have one, else the question. Blocks for some milliseconds at most."""
        verdict = self.rules.judge(tool, args, free_writes=self.mode in _WRITES_FREELY)
        if verdict.action is Action.DENY:
            return ApprovalAnswer(False, "rule", f"{_sentence(verdict.why)} {_HOLDS}")
        by_mode = self.by_mode(effect)
        if isinstance(by_mode, ApprovalAnswer) and not by_mode.allowed:
            return by_mode
        if fingerprint(tool, args) in self._exact:
            return ApprovalAnswer(True, "rule", "this exact call was approved before")
        if self.secrets is not None and (wanted := self.secrets.wanted(tool, args)):
            return self._with_secrets(self.secrets, wanted, verdict, tool, args)
        match verdict.action:
            case Action.ASK if verdict.guards or self.mode is not Mode.ALLOW_ALL:
                return self._by_rule(verdict, tool, args, free=isinstance(by_mode, ApprovalAnswer))
            case Action.ALLOW:
                return ApprovalAnswer(True, "rule", verdict.why)
            case _ if isinstance(by_mode, ApprovalAnswer):
                return by_mode
            case _:
                why = f"{by_mode}; {verdict.why}" if verdict.why else by_mode
                rules = suggest(self.rules, tool, args)
                return Unsettled(why, rules, _lift(rules, self._modes(effect)))

    def _with_secrets(
        self, use: SecretUse, wanted: Sequence[str], verdict: Verdict, tool: str, args: Mapping[str, Any]
    ) -> ApprovalAnswer | Unsettled:
        """A command that gets secrets is asked about in every mode, unless the user has allowed this very pair."""
        if asked := use.asked(wanted, str(args["command"])):
            why = f"it gets the secret {', '.join(asked)}"
            more = f"; {verdict.why}" if verdict.action is Action.ASK else ""
            lift = f"The user can allow the pair for good with: pool secrets allow {asked[0]} 'COMMAND *'."
            return Unsettled(why + more, lift=lift)
        if verdict.action is Action.ASK:
            return self._by_rule(verdict, tool, args, free=True)
        return ApprovalAnswer(True, "rule", f"the user lets such a command have the secret {', '.join(wanted)}")

    def _by_rule(self, verdict: Verdict, tool: str, args: Mapping[str, Any], *, free: bool) -> Unsettled:
        """The question where a rule asks, or because of secrets."""
        if verdict.guards:
            return Unsettled(verdict.why, lift="Written so that it is clear which command runs, it needs no question.")
        if verdict.secrets:
            rules = suggest(self.rules, tool, args, free=free)
            return Unsettled(verdict.why, rules, _lift(rules, (Mode.ALLOW_ALL,)))
        return Unsettled(verdict.why, lift=f"{_lift((), (Mode.ALLOW_ALL,))[:-1]}, or by taking the rule away.")

    def _modes(self, effect: Effect) -> Sequence[Mode]:
        """Modes in which a call of such an effect runs unasked."""
        modes = (Mode.ACCEPT_EDITS, Mode.AUTO, Mode.ALLOW_ALL)
        match effect:
            case Effect.READ | Effect.WRITE:
                return modes[:1]
            case Effect.EXECUTE if self.sandboxed:
                return modes[1:]
            case _:
                return modes[2:]

    def by_mode(self, effect: Effect) -> ApprovalAnswer | str:
        """An answer where the mode has one, else why a person must be asked."""
        match self.mode, effect:
            case _, Effect.READ:
                return ApprovalAnswer(True, "mode")
            case Mode.PLAN, Effect.EXECUTE if self.read_only_sandbox():
                return ApprovalAnswer(True, "mode")
            case Mode.PLAN, _:
                return ApprovalAnswer(False, "mode", _PLAN)
            case Mode.ALLOW_ALL, _:
                return ApprovalAnswer(True, "mode")
            case ((Mode.AUTO | Mode.ACCEPT_EDITS), Effect.WRITE):
                return ApprovalAnswer(True, "mode")
            case Mode.AUTO, Effect.EXECUTE:
                return ApprovalAnswer(True, "mode") if self.sandboxed else "no sandbox confines this command"
            case Mode.AUTO, Effect.NETWORK:
                return "it leaves the sandbox, with the user's own rights"
            case Mode.AUTO, Effect.WEB:
                return "what the model asks for leaves this machine"
            case Mode.AUTO, Effect.FOREIGN:
                return "another program does it, and only that knows what it does"
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
        """Ask whoever answers for this run, and remember the answer as far as it says.

        The approver is asked, and `answer` is taken from anybody else; the first answer counts.
        """
        answer = await self._desk.first(request.call_id, request, lambda: self._asked(request))
        if answer.allowed and self._hidden is not None:
            for path in self.rules.secrets(request.name, request.arguments):
                self._hidden.show(Path(path))
        if answer.allowed and answer.remember is not Remember.ONCE:
            self._remember(request, answer.remember)
        return answer

    def answer(self, call_id: str, answer: ApprovalAnswer) -> bool:
        """Answer what `pending` lists, by its call_id; False, and nothing happens, if it is not open any more."""
        return self._desk.answer(call_id, answer)

    def pending(self) -> Sequence[ApprovalRequest]:
        """What waits for an answer, oldest first."""
        return self._desk.waiting

    async def _asked(self, request: ApprovalRequest) -> ApprovalAnswer:
        try:
            return await self._approver.ask(request)
        except Exception as error:  # a face that fails must not cost the run, nor let the call run
            self._warn(f"who was to answer failed: {error!r}")
            return ApprovalAnswer(False, "program", "It could not be asked for: the interface failed.")

    def _warn(self, text: str) -> None:
        self._tell(Notice("warning", text))

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
                self._origins |= dict.fromkeys(rules, "kept")
            except KeptError as error:
                self._warn(f"{error}. The answer holds for this session only")


_HOLDS = "It holds in every mode, until the user takes the rule away."
_PLAN = "Plan mode is read-only: say what you would do instead. The user can change the mode."


def _lift(rules: Sequence[SuggestedRule], modes: Sequence[Mode]) -> str:
    flags = [" ".join(f"--allow {shlex.quote(rule.text)}" for rule in rules)] if rules else []
    return f"The user can allow it with {' or '.join([*flags, *(f'--mode {mode.value}' for mode in modes)])}."


def _never() -> bool:
    return False


_DOES = {
    Effect.READ: "read",
    Effect.WRITE: "change files",
    Effect.EXECUTE: "run commands",
    Effect.NETWORK: "reach out",
    Effect.WEB: "ask a host of the web",
    Effect.FOREIGN: "use another program's tools",
}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


class NobodyThere:
    """Answers for a run without a person: no, and what would allow it."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(False, "rule", f"Nobody is there to approve it ({request.why}). {request.lift}".rstrip())
