"""Putting a session together from its settings: server, tools, sandbox, approvals, guards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pool.agent.approvals import Approvals
from pool.agent.calls import CallRunner
from pool.agent.compaction import Compactor
from pool.agent.exchange import Exchange
from pool.agent.guards import Guard
from pool.agent.guards.budgets import budget_guards
from pool.agent.guards.calls import LoopGuard, PingPongGuard, ProgressGuard
from pool.agent.guards.claims import ClaimsGuard
from pool.agent.guards.replies import ReplyGuard
from pool.agent.guards.thinking import ThinkingGuard
from pool.agent.history import History
from pool.agent.hub import EventHub
from pool.agent.ids import new_id
from pool.agent.loop import Agent, Labels
from pool.agent.prompt import system_prompt
from pool.agent.rules.given import rules_of
from pool.agent.rules.kept import KeptApprovals
from pool.agent.server import ServerLink, find_server
from pool.agent.streaming import ReplyStream
from pool.config.settings import Mode, SandboxChoice, Settings, SettingsError
from pool.events import Notice
from pool.ports import Approver, EventLog
from pool.wire.dialects import for_address
from pool.wire.reading import DEFAULT_THINK_TAGS, Expectation
from pool.wire.request import Head, RequestBuilder
from pool.wire.tokens import TokenMeter
from pool_tools import Tool
from pool_tools.sandbox import NoSandbox, Policy
from pool_tools.sandbox.probe import Probe, probe
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace


@dataclass(slots=True)
class Session:
    """A conversation that can run prompts, and what a face needs to know of it."""

    agent: Agent
    hub: EventHub
    approvals: Approvals
    sandbox_note: str


@asynccontextmanager
async def open_session(settings: Settings, approver: Approver, log: EventLog | None = None) -> AsyncGenerator[Session]:
    """A session with its server found and its sandbox probed; closed with all it started.

    Raises `SettingsError` where a setting cannot be met and `ServerProblem` where no server is found.
    """
    found, link = await asyncio.gather(asyncio.to_thread(_sandbox, settings), find_server(settings))
    async with link:
        confined = found.tier != NoSandbox.name
        mode = settings.mode or (Mode.AUTO if confined else Mode.DEFAULT)
        hub = EventHub(new_id(), log)
        workspace = Workspace(settings.workspace)
        toolbox = Toolbox(workspace, found.sandbox)
        try:
            approvals = Approvals(
                mode,
                sandboxed=confined,
                approver=approver,
                rules=rules_of(settings, [t.spec.name for t in toolbox.tools]),
                kept=KeptApprovals(settings.workspace),
                warn=lambda text: hub.emit(Notice("warning", text)),
            )
            yield _assemble(settings, link, hub, approvals, toolbox.tools, found, workspace.ledger.clear)
        finally:
            await toolbox.close()
            found.sandbox.close()
            workspace.close()


def _sandbox(settings: Settings) -> Probe:
    """The sandbox for this run; blocks for about 50 ms. Raises `SettingsError` if one is required and none works."""
    if settings.sandbox is SandboxChoice.OFF:
        return Probe(NoSandbox(), "it was switched off by --sandbox off")
    found = probe(Policy((settings.workspace,)))
    if settings.sandbox is SandboxChoice.REQUIRED and found.tier == NoSandbox.name:
        raise SettingsError(f"--sandbox required, but {found.reason}. {found.remedy}")
    return found


def _assemble(
    settings: Settings,
    link: ServerLink,
    hub: EventHub,
    approvals: Approvals,
    tools: Sequence[Tool],
    found: Probe,
    clear_ledger: Callable[[], None],
) -> Session:
    shape = link.dialect.shape
    head = Head(
        model=link.model,
        thinking=settings.thinking,
        tools=tuple(_declared(t) for t in tools),
        window=settings.window,
    )
    expect = Expectation(
        tools={t.spec.name: t.spec.parameters for t in tools},
        thinking=settings.thinking,
        think_tags=(*DEFAULT_THINK_TAGS, *settings.think_tags),
    )
    exchange = Exchange(link=link, builder=RequestBuilder(head, shape), expect=expect, meter=TokenMeter(), hub=hub)
    replies = ReplyStream(exchange, hub, settings.budgets, settings.guards, tuple(expect.tools))
    workspace = str(settings.workspace)

    def guards() -> Sequence[Guard]:
        budgets, limits = settings.budgets, settings.guards
        return [
            *budget_guards(budgets, limits.told_share),
            ThinkingGuard(budgets.reasoning_run, limits),
            ReplyGuard(limits.announcements),
            ClaimsGuard(),
            LoopGuard(limits),
            PingPongGuard(limits.returns_note, limits.returns_stop),
            ProgressGuard(budgets.idle_turns_note, budgets.idle_turns_stop, limits.reads_after_plan),
        ]

    agent = Agent(
        hub=hub,
        history=History(system_prompt(workspace), hub.emit, shape.encode),
        replies=replies,
        calls=CallRunner(tools, approvals, hub),
        compactor=Compactor(replies, hub, clear_ledger),
        guards=guards,
        budgets=settings.budgets,
        auto_compact=settings.auto_compact,
        labels=Labels(workspace, link.model, link.display, approvals.mode.value, found.tier),
    )
    return Session(agent, hub, approvals, found.note)


def first_request(settings: Settings, model: str, prompt: str) -> bytes:
    """The exact body of a session's first request, before the server's own fields are known. Nothing is sent."""
    shape = for_address(settings.base_url).shape
    workspace = Workspace(settings.workspace)
    try:
        tools = Toolbox(workspace, NoSandbox()).tools
        head = Head(model, settings.thinking, tuple(_declared(t) for t in tools), window=settings.window)
        history = History(system_prompt(str(settings.workspace)), lambda body: None, shape.encode)
        history.add_user(prompt)
        budgets = settings.budgets
        limit = budgets.reasoning_first_turn + budgets.answer_tokens
        return RequestBuilder(head, shape).build(history.data, max_tokens=limit)
    finally:
        workspace.close()


def _declared(tool: Tool) -> dict[str, object]:
    """A tool as chat completions declare it."""
    spec = tool.spec
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}
