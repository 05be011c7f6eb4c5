"""The agent of a session from its parts: what asks the server, what runs calls, the guards, room for the history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pool.agent.approvals import Approvals
from pool.agent.asking import UserQuestions
from pool.agent.calls import CallRunner
from pool.agent.checkpointing import Checkpointer
from pool.agent.compaction import Compactor
from pool.agent.confinement import Confinement
from pool.agent.editchecks import EditChecks
from pool.agent.exchange import Exchange
from pool.agent.firstrequest import declared, sampling_of
from pool.agent.goingon import GoingOn
from pool.agent.guards import Guard
from pool.agent.guards.budgets import budget_guards
from pool.agent.guards.calls import LoopGuard, PingPongGuard, ProgressGuard
from pool.agent.guards.claims import ClaimsGuard
from pool.agent.guards.replies import ReplyGuard
from pool.agent.guards.thinking import ThinkingGuard
from pool.agent.history import INTERRUPTED, History
from pool.agent.hub import EventHub
from pool.agent.limits import Limits
from pool.agent.loop import Agent, Labels
from pool.agent.modelswitch import recode
from pool.agent.policywords import policy_words
from pool.agent.resume import Opened, other_form
from pool.agent.room import RoomMaker
from pool.agent.secretuse import masked
from pool.agent.server import ServerLink
from pool.agent.steering import Steering
from pool.agent.streaming import ReplyStream
from pool.config.settings import Mode, Settings
from pool.wire.reading import DEFAULT_THINK_TAGS, Expectation
from pool.wire.request import Head, RequestBuilder
from pool.wire.tokens import TokenMeter
from pool_tools import Tool
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.hooking import SessionHooks


@frozen
class Parts:
    """What an agent is made of."""

    settings: Settings
    link: ServerLink
    hub: EventHub
    opened: Opened
    prompt: str
    """The system prompt."""
    tools: Sequence[Tool]
    approvals: Approvals
    questions: UserQuestions
    confinement: Confinement
    kept: Checkpointer | None
    hooks: SessionHooks | None
    checks: EditChecks | None
    more_guards: Callable[[], Sequence[Guard]]
    """Guards of a caller, made anew for each run, after Pool's own."""
    forget_files: Callable[[], None]
    """Called when a compaction has taken away what the model had read of files."""
    kept_words: Callable[[], str]
    """What a compacted history says word for word: the list of steps, a plan that waits."""


def assemble(parts: Parts) -> tuple[Agent, ReplyStream]:
    """The agent of a session, and what asks its server for replies."""
    settings, link, hub, opened = parts.settings, parts.link, parts.hub, parts.opened
    limits = Limits(settings.budgets, settings.session_budgets, opened.earlier.totals)
    offered = tuple(tool.spec.name for tool in parts.tools)
    replies = ReplyStream(_exchange(parts), hub, limits, settings.guards, offered)
    history = _history(parts, replies)
    steering = Steering(history, hub)
    replies.user_waits = steering.wants
    compactor = Compactor(
        *(replies, hub, parts.forget_files),
        at_share=settings.compact_at,
        summary_tokens=settings.summary_tokens,
        keeps=parts.kept_words,
    )
    sandbox = parts.confinement.found.sandbox
    agent = Agent(
        hub=hub,
        history=history,
        replies=replies,
        calls=CallRunner(
            *(parts.tools, parts.approvals, hub, parts.questions.clock),
            lambda effect: policy_words(effect, sandbox.describe()),
            *(parts.kept, parts.hooks, parts.checks),
        ),
        room=RoomMaker(compactor, history, replies, allowed=settings.auto_compact, hooks=parts.hooks),
        steering=steering,
        going_on=GoingOn(parts.questions),
        guards=lambda: _guards(parts, limits),
        limits=limits,
        head=opened.earlier.head,
        hooks=parts.hooks,
        labels=Labels(
            *(str(settings.workspace), link.model, link.display),
            *(lambda: parts.approvals.mode.value, parts.confinement.found.tier),
        ),
    )
    return agent, replies


def _exchange(parts: Parts) -> Exchange:
    settings, link = parts.settings, parts.link
    head = Head(
        model=link.model,
        thinking=settings.thinking,
        tools=tuple(declared(tool) for tool in parts.tools),
        sampling=sampling_of(settings),
        window=settings.window,
    )
    expect = Expectation(
        tools={tool.spec.name: tool.spec.parameters for tool in parts.tools},
        thinking=settings.thinking,
        think_tags=(*DEFAULT_THINK_TAGS, *settings.think_tags),
    )
    builder = RequestBuilder(head, link.dialect.shape)
    return Exchange(link=link, builder=builder, expect=expect, meter=TokenMeter(), hub=parts.hub)


def _history(parts: Parts, replies: ReplyStream) -> History:
    """The history as it was left, in the form of the server that the session goes on with."""
    shape, hub, earlier = parts.link.dialect.shape, parts.hub, parts.opened.earlier
    history = History(parts.prompt, hub.emit, masked(shape.encode, hub.mask), earlier.messages)
    if other_form(earlier, native=shape.sets_window):
        history.close_calls(INTERRUPTED)
        recode(history, replies, hub, parts.link.dialect, f"the session goes on at {parts.link.display}")
    return history


def _guards(parts: Parts, limits: Limits) -> Sequence[Guard]:
    """The guards of one run."""
    thresholds = parts.settings.guards
    return [
        *budget_guards(limits, thresholds.told_share),
        ThinkingGuard(thresholds),
        ReplyGuard(thresholds.announcements, thresholds.unknown_tools),
        ClaimsGuard(),
        LoopGuard(thresholds),
        PingPongGuard(thresholds.returns_note, thresholds.returns_stop),
        ProgressGuard(limits, thresholds.reads_after_plan, lambda: parts.approvals.mode is Mode.PLAN),
        *parts.more_guards(),
    ]
