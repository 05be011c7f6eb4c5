"""Asking the person for a network: in one question, when a command is about to install packages or lacked a network.

Where nobody can answer, nothing is asked: the result of the command says which flag would have helped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pool.agent.asking import UserQuestions
from pool.agent.ids import new_id
from pool.agent.rules.kept import KeptApprovals, KeptError, fingerprint
from pool.events import Body, Notice
from pool.ports import Question
from pool_tools import Preview, Tool, ToolResult, ToolSpec
from pool_tools.api import OutputSink
from pool_tools.network.rules import HostRule, RuleError
from pool_tools.network.session import SessionNetwork
from pool_tools.text import visible

ONCE_SECONDS = 600.0
"""How long the shortest yes holds: a command that failed has to be run again."""

NOS_MOST = 3
"""After so many noes about single hosts no more of them are asked about: a program may try very many."""

FOR_NOW, SESSION, ALWAYS, NO = "for 10 minutes", "for this session", "always for this checkout", "no"
_NAME = "network"
_SHELL = "shell"


class NetworkAsking:
    """Asks for one session. What was answered is not asked again; `always` is kept with the approvals."""

    def __init__(
        self,
        network: SessionNetwork,
        questions: UserQuestions,
        kept: KeptApprovals,
        workspace: Path,
        tell: Callable[[Body], object],
        only_reading: Callable[[], bool] = lambda: False,
    ) -> None:
        """tell takes events for people. only_reading: whether commands have no network now, whatever is granted."""
        self._network = network
        self._questions = questions
        self._kept = kept
        self._workspace = workspace
        self._tell = tell
        self._only_reading = only_reading
        self._settled: set[str] = set()
        self._marks: frozenset[str] | None = None
        self._noes = 0
        network.ask_with(self.host)

    def over(self, tools: Sequence[Tool]) -> tuple[Tool, ...]:
        """The tools, with `shell` asking."""
        return tuple(AskingShell(tool, self) if tool.spec.name == _SHELL else tool for tool in tools)

    async def before(self, command: str) -> None:
        """Grant what is kept for this checkout, and ask about a command that installs packages."""
        from pool_tools.network.presets import installing, presets_for

        if self._network.can_grant or self._only_reading():
            return
        names = presets_for(self._workspace)
        for name in names:
            if await self._is_kept(name):
                await self._grant(name, None, "as you allowed for this checkout")
        wanted = [name for name in installing(command) if name in names and name not in self._settled]
        if wanted:
            await self._ask(",".join(wanted), "A command wants to install packages")

    async def after(self, result: ToolResult) -> ToolResult:
        """The result of a command, with what the person has to say to its want of a network."""
        from pool_tools.network.presets import presets_for

        missed = cast("list[str] | None", result.data.get("missed_network"))
        if result.ok or missed is None or self._network.can_grant or not self._questions.can_answer:
            return result
        names = [name for name in presets_for(self._workspace) if name not in self._settled]
        wanted = names or [host for host in missed if host not in self._settled]
        if not wanted:
            return result
        said = await self._ask(",".join(wanted), "A command failed for want of a network")
        return replace(result, text=f"{result.text}\n[{said}]") if said else result

    async def host(self, host: str, port: int) -> bool:
        """Whether commands may reach a host that is not on the list."""
        what = str(HostRule(host)) if port in (80, 443) else str(HostRule(host, frozenset({port})))
        if await self._is_kept(what):
            return await self._grant(what, None, "as you allowed for this checkout")
        if what in self._settled or self._noes >= NOS_MOST:
            return False
        await self._ask(what, "A command wants to reach a host that is not on the list")
        return any(grant.text == what for grant in self._network.grants())

    async def _ask(self, what: str, why: str) -> str:
        """Ask once; what to tell the model, "" for nothing."""
        self._settled.update(what.split(","))
        if not self._questions.can_answer:
            return ""
        try:
            places = str(await self._network.worked_out(what))
        except RuleError as error:
            return f"The network cannot be had by asking: {error}"
        shown = visible(what if places == what else f"{what} ({places})")
        keeps = (ALWAYS,) if self._kept.usable else ()
        choices = (FOR_NOW, SESSION, *keeps, NO)
        answer = await self._questions.ask(Question(new_id(), f"{why}. Let commands reach {shown}?", choices, False))
        match answer.text if answer else NO:
            case text if text == FOR_NOW:
                granted = await self._grant(what, ONCE_SECONDS, FOR_NOW)
            case text if text == SESSION:
                granted = await self._grant(what, None, SESSION)
            case text if text == ALWAYS:
                granted = await self._grant(what, None, ALWAYS)
                await asyncio.to_thread(self._keep, what)
            case _:
                self._noes += 1
                return f"The user was asked to let commands reach {shown}, and said no"
        return f"The user has now let commands reach {shown}: run the command again" if granted else ""

    async def _grant(self, what: str, seconds: float | None, how: str) -> bool:
        self._settled.update(what.split(","))
        if any(grant.text == what and grant.until is None for grant in self._network.grants()):
            return True
        try:
            await self._network.grant(what, seconds)
        except RuleError as error:
            self._tell(Notice("warning", f"commands cannot reach {what}: {error}"))
            return False
        self._tell(Notice("info", f"commands reach {what}, {how}"))
        return True

    async def _is_kept(self, what: str) -> bool:
        if self._marks is None:
            self._marks = await asyncio.to_thread(self._kept_marks)
        return _mark(what) in self._marks

    def _kept_marks(self) -> frozenset[str]:
        try:
            return frozenset(mark for mark, _ in self._kept.load().calls)
        except KeptError:
            return frozenset()  # The approvals have told of it.

    def _keep(self, what: str) -> None:
        parts = what.split(",")
        try:
            self._kept.add(calls=[(_mark(part), f"{_NAME}: {part}") for part in parts])
        except KeptError as error:
            self._tell(Notice("warning", f"{error}. The answer holds for this session only"))
        self._marks = (self._marks or frozenset()) | {_mark(part) for part in parts}


class AskingShell:
    """The tool `shell`, with a person who can let its commands out."""

    def __init__(self, shell: Tool, asking: NetworkAsking) -> None:
        self._shell = shell
        self._asking = asking

    @property
    def spec(self) -> ToolSpec:
        return self._shell.spec

    def preview(self, args: Mapping[str, Any]) -> Preview:
        return self._shell.preview(args)

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        await self._asking.before(str(args.get("command") or ""))
        return await self._asking.after(await self._shell.run(args, output))


def _mark(what: str) -> str:
    return fingerprint(_NAME, {"what": what})
