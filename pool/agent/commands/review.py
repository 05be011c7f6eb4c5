"""The command that reviews a change, with a context of its own, and hands the findings to the agent if asked to."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.agent.commands.kinds import ActionKind, Ask, Choice, Command, CommandError, CommandResult, Typed, act
from pool.agent.control import Conversation
from pool.config.settings import Settings
from pool.events import CallProposed, ContentDelta, Event, Notice, ReasoningDelta, Waiting
from pool.sessions.totals import Totals
from pool_tools.text import clip, visible

if TYPE_CHECKING:
    from pool.agent.review.report import Review
    from pool.agent.review.source import Diff

WORKS = Waiting("agent", "review")
"""Said as long as the server is not the one that is waited for."""

STEP_CHARS = 80
WORK = "work"
STAGED = "--staged"


async def _review(conversation: Conversation, typed: Typed) -> CommandResult:
    # Git and what reviews are not loaded before they are asked for.
    from pool.agent.gitwork.errors import GitWorkError
    from pool.agent.review.parts import reviewable
    from pool.agent.review.report import heading, unreviewed_lines, verdict
    from pool.agent.review.source import NothingToReview

    if typed.rest == WORK:
        if not conversation.findings:
            raise CommandError("there are no findings to work on; /review looks for some")
        return act(ActionKind.SUBMIT, conversation.findings)
    settings = _settings(conversation)
    try:
        diff = await _diff(settings, conversation, typed)
        if not reviewable(diff.files)[0]:
            left = [f"{visible(one.path)}: {one.why}" for one in (*diff.left_out, *reviewable(diff.files)[1])]
            return CommandResult((f"nothing to review: {diff.what}", *left))
        review = await conversation.beside(_work(conversation, settings, diff))
    except (NothingToReview, GitWorkError) as error:
        raise CommandError(str(error)) from None
    if review is None:
        return CommandResult(("the review was stopped",), ok=False)
    conversation.session.agent.limits.used += Totals(tokens=review.usage.total)
    conversation.findings = for_agent(review)
    lines = (heading(review), *finding_lines(review), *unreviewed_lines(review), verdict(review))
    if not review.findings:
        return CommandResult((*lines, *review.summaries), ok=not review.unreviewed)
    choices = (Choice("let the agent work on them", f"/review {WORK}"), Choice("leave it"))
    return CommandResult(lines, ask=Ask("What is to be done with the findings?", choices))


async def _diff(settings: Settings, conversation: Conversation, typed: Typed) -> Diff:
    from pool.agent.review.source import find

    match typed.words:
        case []:
            change, staged = "", False
        case [word] if word == STAGED:
            change, staged = "", True
        case [word] if not word.startswith("-"):
            change, staged = word, False
        case _:
            raise CommandError(f"usage: /review [{STAGED} | BRANCH | COMMIT | A..B | FILE]")
    return await find(settings, change, conversation.session.settings.workspace, staged=staged)


async def _work(conversation: Conversation, settings: Settings, diff: Diff) -> Review:
    from pool.agent.review.working import Reviewing

    def tell(line: str) -> None:
        conversation.hub.emit(Notice("info", f"review: {line}"))

    async def follow(events: AsyncIterator[Event]) -> None:
        writes = False
        async for event in events:
            match event.body:
                case Waiting():
                    conversation.hub.emit(event.body)
                    writes = False
                case ReasoningDelta() | ContentDelta() if not writes:
                    conversation.hub.emit(WORKS)
                    writes = True
                case CallProposed(title=title, name=name):
                    tell(clip(" ".join((title or name).split()), STEP_CHARS))
                case _:
                    pass

    conversation.hub.emit(WORKS)
    return await Reviewing(settings, diff, tell=tell, follow=follow).run()


def _settings(conversation: Conversation) -> Settings:
    """The session's settings, with the server and model that it uses now, for the whole repository."""
    from pool.sessions.checkpoints.repository import repository_of

    session = conversation.session
    link = session.replies.exchange.link
    repository = repository_of(session.settings.workspace)
    workspace = session.settings.workspace if repository is None else repository.top
    return replace(
        session.models.settings,
        base_url=link.client.transport.endpoint.base_url,
        model=link.model,
        workspace=workspace,
        parent=session.hub.session,
    )


def finding_lines(review: Review) -> list[str]:
    """The findings as lines."""
    lines: list[str] = []
    for one in review.findings:
        lines.append(f"{one.severity.value}  {visible(one.at)}: {visible(one.title)}")
        lines += [f"  (outside of the diff: {one.why_outside})"] if one.why_outside else []
        lines += [f"  {visible(line)}" for line in one.reason.split("\n")]
    return lines


def for_agent(review: Review) -> str:
    """A prompt that hands the findings over, "" for none."""
    if not review.findings:
        return ""
    text = "\n".join(finding_lines(review))
    return (
        f"A review of this change ({visible(review.what)}) reports the findings below. They can be wrong: look at "
        f"each, mend what is a real problem, and say for each other one why it is none.\n\n{text}"
    )


def _branches(conversation: Conversation) -> tuple[str, ...]:
    """Local branches, from git's own files: those that are kept loose."""
    from pool.sessions.checkpoints.repository import repository_of

    repository = repository_of(conversation.session.settings.workspace)
    if repository is None:
        return (STAGED,)
    folder = repository.common / "refs" / "heads"
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file()) if folder.is_dir() else []
    return (STAGED, *names)


COMMANDS = (
    Command(
        "review",
        "findings on what is not committed, or on a branch, commit, range or patch; changes nothing",
        _review,
        hint=f"[{STAGED} | BRANCH | A..B | FILE]",
        needs_idle=True,
        arguments=_branches,
    ),
)
