"""Diagnostics around the edits of one session: a look before, a look after, and what of it is new.

An edit waits no longer than its limit, and each look no longer than half of it. A checker that was too slow twice, or
failed twice, is left out for the rest of the session, with a word to people; the model is told only what is known.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pool.config.diagnostics import AUTO, DiagnosticsSettings
from pool.extend.diagnostics.checkers import KNOWN, chosen, configures_ruff, program_of
from pool.extend.diagnostics.problems import Problem, new_problems
from pool.extend.diagnostics.sources import CheckFault, CommandSource, Source, shell_of
from pool.jsonable import plain
from pool_tools import ToolError
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.sandbox.base import NoSandbox
from pool_tools.text import plural

FILE_BYTES = 1024 * 1024
"""Larger files are not checked."""

LOOK_SHARE = 0.5
"""Share of an edit's limit that one look may take: a checker that is too slow must not cost the others theirs."""

FAILURES_MOST = 2
"""So often a checker may fail or be too slow before it is left out."""

REPORTED_MOST = 100
"""New problems of one edit that are told to programs."""


@frozen
class CheckReport:
    """What checks found: text for the model, "" for nothing; data for programs, added to the call's."""

    text: str = ""
    data: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class _State:
    """A source, how often it failed, and what it said last of each file: the hash of its content, and the problems.

    parsed is what it said of a file when that had no error of syntax, behind which checkers see little else.
    """

    source: Source
    failures: int = 0
    known: dict[str, tuple[bytes, list[Problem]]] = field(default_factory=dict[str, tuple[bytes, list[Problem]]])
    parsed: dict[str, list[Problem]] = field(default_factory=dict[str, list[Problem]])

    def baseline(self, path: str, before: list[Problem]) -> list[Problem]:
        """What counts as old: where the file could not be parsed before, also what was there when it last could."""
        if not _unparsed(before):
            self.parsed[path] = before
            return before
        return [*before, *self.parsed.get(path, [])]


@dataclass(slots=True)
class _Look:
    """What was seen before an edit. problems is by source; text is "" for a new file."""

    path: str
    text: str
    spent: float
    problems: dict[str, list[Problem]] = field(default_factory=dict[str, list[Problem]])


class Diagnostics:
    """Looks at files around edits. One edit is looked at at a time."""

    def __init__(
        self, settings: DiagnosticsSettings, commands: Commands, tell: Callable[[str], object], *, unconfined: bool
    ) -> None:
        """tell takes words for people. unconfined: the user wants no sandbox, or has another."""
        self._settings = settings
        self._commands = commands
        self._workspace = commands.workspace
        self._tell = tell
        self._unconfined = unconfined
        self._states: list[_State] | None = None
        self._look: _Look | None = None
        self._fits: dict[Path, bool] = {}

    async def before(self, args: Mapping[str, Any]) -> None:
        """A call that writes a file is about to run."""
        self._look = None
        path = str(args.get("path", ""))
        began = time.monotonic()
        found = await asyncio.to_thread(self._read, path)
        if found is None:
            return
        name, text = found
        look = _Look(name, text or "", 0.0)
        states = await self._for(name)
        if not states:
            return
        if text is not None:
            todo = [state for state in states if not self._is_known(state, name, text, look)]
            await self._ask(todo, name, text, look.problems, {})
        else:
            look.problems = {state.source.name: [] for state in states if not state.source.whole}
            await self._ask([state for state in states if state.source.whole], name, "", look.problems, {})
        look.spent = time.monotonic() - began
        self._look = look

    async def after(self, args: Mapping[str, Any]) -> CheckReport:
        """The call has run, and went well; formatters too."""
        look, self._look = self._look, None
        if look is None:
            return CheckReport()
        began = time.monotonic()
        found = await asyncio.to_thread(self._read, look.path)
        if found is None or found[1] is None:
            return CheckReport()
        text = found[1]
        states = [s for s in await self._for(look.path) if s.source.name in look.problems]
        now: dict[str, list[Problem]] = {}
        times: dict[str, float] = {}
        await self._ask(states, look.path, text, now, times)
        new: dict[str, tuple[Problem, ...]] = {}
        for state in states:
            name = state.source.name
            if name in now:
                state.known[look.path] = (_digest(text), now[name])
                before = state.baseline(look.path, look.problems[name])
                new[name] = await asyncio.to_thread(new_problems, before, now[name], look.path, look.text, text)
        return self._report(look, now, new, times, look.spent + time.monotonic() - began)

    async def close(self) -> None:
        """End all servers."""
        await asyncio.gather(*(state.source.close() for state in self._states or ()), return_exceptions=True)

    # -- looking

    def _is_known(self, state: _State, name: str, text: str, look: _Look) -> bool:
        known = state.known.get(name)
        if state.source.whole or known is None or known[0] != _digest(text):
            return False
        look.problems[state.source.name] = known[1]
        return True

    async def _ask(
        self,
        states: Sequence[_State],
        path: str,
        text: str,
        into: dict[str, list[Problem]],
        times: dict[str, float],
    ) -> None:
        """Ask several sources at once; what answers in time goes into the dictionaries."""
        seconds = self._settings.seconds * LOOK_SHARE

        async def one(state: _State) -> None:
            began = time.monotonic()
            try:
                async with asyncio.timeout(seconds):
                    into[state.source.name] = await state.source.problems(path, text)
                times[state.source.name] = time.monotonic() - began
            except TimeoutError:
                if not state.source.settled:
                    self._tell(f"the language server {state.source.name} still starts; this edit is not checked by it")
                    return
                self._failed(state, f"took longer than {seconds:g} s, half of diagnostics.seconds")
            except CheckFault as fault:
                self._failed(state, f"does not work: {fault}")

        await asyncio.gather(*(one(state) for state in states))

    def _failed(self, state: _State, why: str) -> None:
        state.failures += 1
        if state.failures == 1:
            self._tell(f"the checker {state.source.name} {why}")
        elif state.failures == FAILURES_MOST:
            self._tell(f"the checker {state.source.name} is left out from now on: it {why}")

    def _read(self, path: str) -> tuple[str, str | None] | None:
        """A file's path relative to the workspace and its text, None for a new one; None where it is not checked."""
        try:
            with self._workspace.locate(path) as place:
                if not self._workspace.is_main(place.root):
                    return None
                name = "/".join(place.parts)
                if place.stat is None:
                    return name, None
                return name, self._workspace.read(place, FILE_BYTES).data.decode()
        except (ToolError, OSError, UnicodeDecodeError):
            return None

    # -- sources

    async def _for(self, path: str) -> list[_State]:
        """The sources for a file that still work; they are made when the first edit is looked at."""
        if self._states is None:
            missing: list[str] = []
            sources = await asyncio.to_thread(self._sources, missing)
            # One that the user has made takes the place of one that Pool knows by the same name.
            self._states = [_State(source) for source in {source.name: source for source in sources}.values()]
            for text in missing:
                self._tell(text)
        left = [state for state in self._states if state.failures < FAILURES_MOST]
        fits = await asyncio.to_thread(lambda: [state.source.checks(path) for state in left])
        return [state for state, fit in zip(left, fits, strict=True) if fit]

    def _sources(self, missing: list[str]) -> list[Source]:
        """missing gets words on those that cannot be started."""
        confined = self._commands.sandbox.name != NoSandbox.name
        if not confined and not self._unconfined:
            missing += ["no sandbox works here, so nothing checks edits"] if self._settings.named else []
            return []
        out: list[Source] = []
        if AUTO in self._settings.tools and confined and "ruff" not in self._settings.tools:
            program = program_of(KNOWN["ruff"], self._commands, named=False)
            out += [_Unasked(self._commands, program, self._fits)] if program else []
        for checker in chosen(self._settings, shell_of(self._commands)):
            if program := program_of(checker, self._commands, named=True):
                out.append(CommandSource(checker, program, self._commands))
            else:
                why = self._commands.why_no_program(checker.program)
                missing.append(f"the checker {checker.name} is not there: {why}")
        if self._settings.servers:
            from pool.extend.diagnostics.lsp.source import ServerSource

            out += [ServerSource(server, self._commands) for server in self._settings.servers]
        return out

    # -- telling

    def _report(
        self,
        look: _Look,
        now: Mapping[str, Sequence[Problem]],
        new: Mapping[str, Sequence[Problem]],
        times: Mapping[str, float],
        seconds: float,
    ) -> CheckReport:
        if not now:
            return CheckReport()
        # Two checkers may say the same.
        found = {(p.path, p.line, p.message): p for some in tuple(new.values())[::-1] for p in some}
        every = list(found.values())
        every.sort(key=lambda p: (p.severity != "error", p.path != look.path, p.path, p.line))
        checks = [
            {"name": name, "seconds": round(times.get(name, 0.0), 3), "new": len(new[name]), "all": len(some)}
            for name, some in now.items()
        ]
        shown = [plain(problem) for problem in every[:REPORTED_MOST]]
        data = {"diagnostics": {"seconds": round(seconds, 3), "checks": checks, "new": shown}}
        if not every:
            return CheckReport("", data)
        old = sum(len(some) for some in now.values()) - sum(len(some) for some in new.values())
        head = f"[{', '.join(now)}, {seconds:.1f} s: {plural(len(every), 'new problem')} since this edit"
        head += f", {old:,} older not shown]" if old else "]"
        lines = [problem.text for problem in every[: self._settings.most]]
        more = len(every) - len(lines)
        return CheckReport("\n".join([head, *lines, *([f"... and {more:,} more"] if more else [])]), data)


class _Unasked(CommandSource):
    """Ruff as it runs without being named: only where the project configures it."""

    def __init__(self, commands: Commands, program: str, fits: dict[Path, bool]) -> None:
        super().__init__(KNOWN["ruff"], program, commands)
        self._root = commands.folder
        self._fits = fits

    def checks(self, path: str) -> bool:
        if not super().checks(path):
            return False
        folder = (self._root / path).parent
        if folder not in self._fits:
            self._fits[folder] = configures_ruff(self._root, path)
        return self._fits[folder]


def _unparsed(problems: Sequence[Problem]) -> bool:
    return any("syntax" in f"{p.code} {p.message}".lower() for p in problems)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
