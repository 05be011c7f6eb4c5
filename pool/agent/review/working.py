"""Working a review: a session for each part of the diff, in which nothing can be changed, and its answer in a form."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from pool.agent.answerform import AnswerForm, FormGuard
from pool.agent.approvals import NobodyThere
from pool.agent.factory import Extras, Session, open_session
from pool.agent.ids import new_id
from pool.agent.review.finding import FORM, placed, ranked
from pool.agent.review.parts import Part, part_tokens, parts_of, reviewable
from pool.agent.review.report import PartEnd, Review, ended
from pool.agent.review.source import Diff
from pool.agent.review.words import SYSTEM, asked
from pool.agent.state import Stop
from pool.config.settings import Mode, Settings
from pool.events import STOP_TABLE, Event, RunFinished, StopReason, Usage
from pool.wire.errors import ServerProblem
from pool_tools.text import plural, visible

TOOLS = ("read", "list", "search", "git")
"""What a reviewer can call; git only reads, since nothing may change."""

TURNS = 30
"""Replies that a part may take where the user has set no budget of his own."""

END_SECONDS = 5.0
"""How long a run may take to end in order once the review is stopped."""

GOOD = frozenset({StopReason.COMPLETED, StopReason.UNVERIFIED, StopReason.DENIED})
"""Ends of a run whose report counts: nothing in a review needs tests, and what was denied was not needed."""

NAMED_FILES = 3

Follow = Callable[[AsyncIterator[Event]], Awaitable[object]]
"""Follows the events of one part's session until they end."""


async def _nobody(events: AsyncIterator[Event]) -> None:
    """Follow nothing."""


class Reviewing:
    """One review of a diff. tell takes a line before each part; follow the events of each part's session."""

    def __init__(
        self,
        settings: Settings,
        diff: Diff,
        *,
        focus: str = "",
        tell: Callable[[str], object] = lambda line: None,
        follow: Follow = _nobody,
    ) -> None:
        """settings are those of a run; what could change anything is taken away. focus is what matters above all."""
        self._settings = review_settings(settings)
        self._diff = diff
        self._focus = focus
        self._tell = tell
        self._follow = follow
        self._form = AnswerForm(FORM, "the form of a review")
        self._session: Session | None = None
        self._stopped: Stop | None = None
        self._usage = Usage()
        self._about = ("", "")

    def stop(self, stop: Stop) -> None:
        """End the part that is worked on, and begin no other; what was found until then is kept."""
        self._stopped = self._stopped or stop
        if self._session is not None:
            self._session.agent.stop(stop)

    async def run(self) -> Review:
        """The whole review. Raises `SettingsError` and `ServerProblem` where it cannot even begin."""
        started = time.monotonic()
        files, left_out = reviewable(self._diff.files)
        names = {visible(file.path): file for file in files}
        parts: list[Part] = []
        rows: list[dict[str, Any]] = []
        summaries: list[str] = []
        ends: list[PartEnd] = []
        while len(ends) < len(parts) or (not parts and files):
            try:
                async with open_session(
                    self._settings, NobodyThere(), Extras(guards=self._guards, plans=False)
                ) as session:
                    if not parts:
                        await session.replies.exchange.link.settled()
                        parts = parts_of(files, part_tokens(session.replies.window))
                        self._tell(self._plan(files, parts))
                    end, report = await self._part(session, parts[len(ends)], len(ends) + 1, len(parts))
            except ServerProblem as problem:
                if not ends:
                    raise
                end, report = ended(StopReason.SERVER_FAILED, str(problem), parts[len(ends)].files), None
            ends.append(end)
            rows += report["findings"] if report else []
            summaries += [report["summary"].strip()] if report and report["summary"].strip() else []
            if self._stopped is not None or end.reason is StopReason.SERVER_FAILED:
                ends += [self._never_begun(part, end) for part in parts[len(ends) :]]
        counts = [file.counts for file in files]
        return Review(
            self._diff.what,
            tuple(ranked(placed(rows, names))),
            tuple(summaries),
            tuple(file.path for file in files),
            (*self._diff.left_out, *left_out),
            tuple(ends),
            sum(added for added, _ in counts),
            sum(removed for _, removed in counts),
            *self._about,
            round(time.monotonic() - started, 3),
            self._usage,
        )

    async def _part(
        self, session: Session, part: Part, number: int, count: int
    ) -> tuple[PartEnd, dict[str, Any] | None]:
        """How a part ended, and the report of its run, None where it gave none that fits the form."""
        if count > 1:
            self._tell(f"part {number} of {count}: {names_of(part.files)}")
        self._session = session
        self._about = (session.agent.labels.model, session.agent.labels.server)
        following = asyncio.ensure_future(self._follow(session.hub.subscribe()))
        prompt = self._form.asked(asked(part, number, count, self._diff, self._focus))
        running = asyncio.create_task(session.agent.run(prompt, new_id()))
        if self._stopped is not None:
            session.agent.stop(self._stopped)
        try:
            finished = await asyncio.shield(running)
        except asyncio.CancelledError:
            session.agent.stop(Stop(StopReason.INTERRUPTED, "the review was stopped"))
            await asyncio.wait({running}, timeout=END_SECONDS)
            raise
        finally:
            self._session = None
            session.hub.close()
            await following
        self._usage += session.agent.state.all_usage
        kept = "" if self._settings.ephemeral else session.hub.session
        return self._read(finished, part, kept)

    def _read(self, finished: RunFinished, part: Part, session: str) -> tuple[PartEnd, dict[str, Any] | None]:
        if finished.reason not in GOOD:
            detail = finished.detail or finished.reason.value
            return PartEnd(part.files, finished.reason, finished.exit_code, detail, session), None
        try:
            report = cast("dict[str, Any]", self._form.value(finished.answer))
        except ValueError as error:
            return ended(
                StopReason.UNUSABLE_REPLY, f"the report does not fit its form: {error}", part.files, session
            ), None
        return PartEnd(part.files, StopReason.COMPLETED, STOP_TABLE[StopReason.COMPLETED].exit, "", session), report

    def _guards(self) -> Sequence[FormGuard]:
        return [FormGuard(self._form)]

    def _plan(self, files: Sequence[Any], parts: Sequence[Part]) -> str:
        text = f"{self._diff.what}: {plural(len(files), 'file')}"
        return f"{text}, too much to be read at once, so in {len(parts)} parts" if len(parts) > 1 else text

    def _never_begun(self, part: Part, last: PartEnd) -> PartEnd:
        return PartEnd(part.files, last.reason, last.exit_code, f"never begun: {last.detail}")


def review_settings(settings: Settings) -> Settings:
    """Settings of a run as those of a review: nothing can be changed, and nothing is there that could."""
    budgets = settings.budgets
    usual = type(budgets)()
    return replace(
        settings,
        mode=Mode.PLAN,
        only_tools=TOOLS,
        without_tools=(),
        system=settings.system or SYSTEM,
        mcp=replace(settings.mcp, servers=()),
        keep_mode=False,
        continue_last=False,
        resume="",
        fork="",
        budgets=replace(budgets, turns=TURNS) if budgets.turns == usual.turns else budgets,
    )


def names_of(files: Sequence[str]) -> str:
    """A part's files in a few words."""
    shown = ", ".join(visible(name) for name in files[:NAMED_FILES])
    return f"{shown} and {len(files) - NAMED_FILES} more" if len(files) > NAMED_FILES else shown
