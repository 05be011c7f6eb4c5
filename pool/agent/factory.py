"""Putting a session together from its settings: server, tools, sandbox, approvals, guards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pool.agent.approvals import Approvals
from pool.agent.asking import AskTool, UserQuestions
from pool.agent.calls import CallRunner
from pool.agent.checkpointing import Checkpointer
from pool.agent.compaction import Compactor
from pool.agent.confinement import Confinement, confine
from pool.agent.editchecks import EditChecks, edit_checks
from pool.agent.exchange import Exchange
from pool.agent.goingon import GoingOn
from pool.agent.guards import Guard
from pool.agent.guards.budgets import budget_guards
from pool.agent.guards.calls import LoopGuard, PingPongGuard, ProgressGuard
from pool.agent.guards.claims import ClaimsGuard
from pool.agent.guards.replies import ReplyGuard
from pool.agent.guards.thinking import ThinkingGuard
from pool.agent.history import INTERRUPTED, History
from pool.agent.hooksetup import session_hooks
from pool.agent.hub import EventHub
from pool.agent.instructions import RELOAD, SessionInstructions, instructions_for
from pool.agent.limits import Limits
from pool.agent.loop import Agent, Labels
from pool.agent.mcptools import mcp_servers, mcp_tools
from pool.agent.modelswitch import ModelSwitch, as_left, recode
from pool.agent.netasking import NetworkAsking
from pool.agent.plan import ASK
from pool.agent.policywords import policy_words
from pool.agent.prompt import system_prompt
from pool.agent.questions import WaitingClock
from pool.agent.resume import Opened, open_log, other_form
from pool.agent.room import RoomMaker
from pool.agent.rules.given import rules_of
from pool.agent.rules.kept import KeptApprovals
from pool.agent.secretuse import masked, session_secrets
from pool.agent.server import ServerLink, find_server
from pool.agent.sessionskills import SessionSkills, extensions_for
from pool.agent.skilltool import skill_tools
from pool.agent.steering import Steering
from pool.agent.streaming import ReplyStream
from pool.agent.subagents.host import Host
from pool.agent.subagents.tool import TaskTool
from pool.agent.todo import TodoTool
from pool.agent.toolchoice import chosen_tools
from pool.agent.unfinished import finish
from pool.agent.webtools import web_tools
from pool.agent.work import Work
from pool.config.settings import Mode, SandboxChoice, Settings, SettingsError
from pool.events import Notice
from pool.ports import Approver
from pool.sessions.store import commits_folder, sessions_folder
from pool.wire.dialects import for_address
from pool.wire.reading import DEFAULT_THINK_TAGS, Expectation
from pool.wire.request import Head, RequestBuilder, Sampling
from pool.wire.tokens import TokenMeter
from pool_tools import Tool
from pool_tools.home import homeless_note
from pool_tools.masking import Mask
from pool_tools.network.session import SessionNetwork
from pool_tools.sandbox import NoSandbox
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

if TYPE_CHECKING:
    from pool.agent.hooking import SessionHooks
    from pool.agent.undoing import SessionUndo
    from pool.extend.mcp.servers import McpServers
    from pool.sessions.checkpoints.checkpoints import Checkpoints
    from pool_tools.sandbox.probe import Probe


@dataclass(slots=True)
class Session:
    """A conversation that can run prompts, and what a face needs to know of it."""

    agent: Agent
    hub: EventHub
    approvals: Approvals
    questions: UserQuestions
    sandbox_note: str
    settings: Settings
    toolbox: Toolbox
    instructions: SessionInstructions
    replies: ReplyStream
    network: SessionNetwork
    models: ModelSwitch
    work: Work
    skills: SessionSkills
    queued: tuple[str, ...] = ()
    """Prompts that waited when the session was left."""
    make_undo: Callable[[], SessionUndo] | None = None
    mcp: McpServers | None = None

    @property
    def undo(self) -> SessionUndo | None:
        """Undo, diffs and forks; None where the session is not saved. Made when asked for, since it imports much."""
        return self.make_undo() if self.make_undo else None


@dataclass(frozen=True, slots=True)
class Extras:
    """What a caller adds to a session: tools after Pool's own, and guards, made anew for each run, after Pool's own."""

    tools: Sequence[Tool] = ()
    guards: Callable[[], Sequence[Guard]] = tuple


NO_EXTRAS = Extras()


def _kept_mode(settings: Settings, left_in: str) -> Mode | None:
    """The mode in which an earlier session was left, if it is to be kept and there was one."""
    return Mode(left_in) if settings.keep_mode and left_in in {mode.value for mode in Mode} else None


def _as_left(settings: Settings, opened: Opened) -> Settings:
    """Settings with the model that the session was switched to last, unless the user names another server or model."""
    if not opened.earlier.model or settings.server_named:
        return settings
    try:
        return as_left(settings, opened.earlier.model)
    except SettingsError as error:
        opened.notes.append(f"the session's last model, {opened.earlier.model}, cannot be had: {error}")
        return settings


@asynccontextmanager
async def open_session(settings: Settings, approver: Approver, extras: Extras = NO_EXTRAS) -> AsyncGenerator[Session]:
    """A session with its server found, its sandbox probed and its log open; closed with all it started.

    Raises `SettingsError` where a setting cannot be met and `ServerProblem` where no server is found.
    """
    hubs: list[EventHub] = []
    opened = open_log(settings, lambda text: [hub.emit(Notice("warning", text)) for hub in hubs])
    settings = await asyncio.to_thread(_as_left, settings, opened)
    async with AsyncExitStack() as stack:
        if opened.log is not None:
            stack.enter_context(opened.log)
        # Before anything else looks at the repository.
        unfinished = await asyncio.to_thread(finish, settings.workspace)
        # The server is asked what it is while the sandbox is tried: one loads httpx, the other waits for processes.
        confining = asyncio.create_task(confine(settings, stack))
        linking = asyncio.create_task(_linked(settings, stack))
        stack.push_async_callback(_cancelled, confining, linking)
        reading = asyncio.to_thread(instructions_for, settings)
        keeping = asyncio.to_thread(session_secrets, settings.workspace)
        confinement, link, found, use, more = await asyncio.gather(
            confining, linking, reading, keeping, asyncio.to_thread(extensions_for, settings)
        )
        await confinement.forbid(link.client.transport.endpoint.base_url)
        hub = EventHub(opened.id, opened.log, next_seq=opened.earlier.next_seq)
        hubs.append(hub)
        hub.mask = use.secrets.mask
        sandbox = confinement.found.sandbox
        confined = sandbox.name != NoSandbox.name
        mode = _kept_mode(settings, opened.earlier.mode) or settings.mode or (Mode.AUTO if confined else Mode.DEFAULT)
        workspace = _opened_workspace(settings, stack, use.secrets.mask)
        toolbox = Toolbox(workspace, sandbox, None, confinement.network, use.secrets)
        stack.push_async_callback(toolbox.close)
        _spare_memory(toolbox, link)
        questions = UserQuestions(approver, hub, WaitingClock())
        asking = NetworkAsking(
            confinement.network,
            questions,
            KeptApprovals(settings.workspace),
            settings.workspace,
            hub.emit,
            toolbox.only_reading,
        )
        mcp = _mcp(settings, toolbox, hub, stack)
        skills = SessionSkills(more, settings.workspace, hub.emit, toolbox.commands)
        others = (
            *(*extras.tools, *skill_tools(skills, opened.earlier.head), *web_tools(settings, confinement.network)),
            *mcp_tools(mcp, link.window, opened.earlier.head),
        )
        work = Work.of(hub.emit, opened.earlier.work, confined=confined, plans=not settings.parent)
        host = Host(settings, hub)
        own = (*asking.over(toolbox.tools), AskTool(questions), TodoTool(work.todo), TaskTool(settings, host))
        tools = chosen_tools((*own, *others), settings)
        approvals = Approvals(
            mode,
            sandboxed=confined,
            approver=approver,
            rules=rules_of(settings, [t.spec.name for t in tools]),
            kept=KeptApprovals(settings.workspace),
            tell=hub.emit,
        )
        approvals.secrets = use
        _hold_to(approvals, toolbox, confinement)
        instructions = SessionInstructions(settings, found)
        kept = _checkpointer(opened, settings, hub, workspace, toolbox)
        if kept is not None:
            stack.push_async_callback(kept.close)
            # Once more, so that jobs have ended when the last look is taken.
            stack.push_async_callback(toolbox.close)
        agent, replies = _assemble(
            *(settings, link, hub, approvals, questions, tools, confinement, workspace.ledger.clear, opened),
            *(prompt_for(settings, found.block, skills.listed(tools)), kept, extras.guards, work.for_model),
            session_hooks(
                settings, toolbox.commands, hub, lambda: approvals.mode.value, resumed=bool(opened.earlier.messages)
            ),
            edit_checks(settings, toolbox.commands, hub, stack),
        )
        skills.attach(agent)
        work.attach(agent, approvals, lambda: _begin(instructions, agent, kept, mcp))
        models = ModelSwitch(settings, agent, replies, confinement, toolbox, stack, instructions.shown)
        host.attach(approvals, agent, replies, lambda: models.settings)
        opening = (*opened.notes, *use.notes, *unfinished)
        _say_first(hub, settings, confinement, opening, (*_chosen(link, settings), *found.notes(), *more.notes()))
        yield Session(
            agent,
            hub,
            approvals,
            questions,
            confinement.note,
            settings,
            toolbox,
            instructions,
            replies,
            confinement.network,
            models,
            work,
            skills,
            opened.earlier.queued,
            _undo(opened, settings, agent, kept, work),
            mcp,
        )


def _spare_memory(toolbox: Toolbox, link: ServerLink) -> None:
    """A model server on this machine must not be pushed out of memory by a command."""
    if link.client.transport.endpoint.is_loopback:
        toolbox.protect_memory()


def _mcp(settings: Settings, toolbox: Toolbox, hub: EventHub, stack: AsyncExitStack) -> McpServers | None:
    servers = mcp_servers(settings, toolbox.commands, hub.emit)
    if servers is not None:
        stack.push_async_callback(servers.close)
    return servers


def _opened_workspace(settings: Settings, stack: AsyncExitStack, mask: Mask) -> Workspace:
    workspace = Workspace(settings.workspace)
    stack.callback(workspace.close)
    workspace.mask = mask
    return workspace


def _hold_to(approvals: Approvals, toolbox: Toolbox, confinement: Confinement) -> None:
    """In plan mode commands run only where they can change nothing; hidden files are shown as far as approvals say."""
    toolbox.read_only_when(lambda: approvals.mode is Mode.PLAN)
    approvals.read_only_sandbox = toolbox.only_reading
    if confinement.hidden is not None:
        approvals.show_allowed(confinement.hidden)


def _chosen(link: ServerLink, settings: Settings) -> Sequence[str]:
    """What is to be said of a server whose model nobody named."""
    return link.info.notes if link.info and not settings.model else ()


def _say_first(
    hub: EventHub, settings: Settings, confinement: Confinement, opening: Sequence[str], read: Sequence[str]
) -> None:
    """Say what people should know before the first run: of how the session was opened, what was read, the sandbox."""
    lesser = (confinement.lesser,) if confinement.lesser else ()
    homeless = (note,) if (note := homeless_note()) else ()
    noticed = () if settings.parent else settings.notices
    for note in [*homeless, *noticed, *opening, *read, *lesser, *_begun(settings)]:
        hub.emit(Notice("warning", note))
    if confinement.found.sandbox.name != NoSandbox.name and confinement.found.reason:
        hub.emit(_weaker(confinement.found, settings))


def _begun(settings: Settings) -> list[str]:
    """What is to be said of a commit that was left unfinished here."""
    if not commits_folder().is_dir():
        return []
    from pool.agent.gitwork.begun import begun_words

    words = begun_words(settings.workspace)
    return [words] if words else []


def _checkpointer(
    opened: Opened, settings: Settings, hub: EventHub, workspace: Workspace, toolbox: Toolbox
) -> Checkpointer | None:
    """What keeps the files before they change; None for a session that is not kept, or can change nothing."""
    if opened.log is None or (settings.parent and settings.mode is Mode.PLAN):
        return None

    def open_checkpoints() -> Checkpoints:
        from pool.sessions.checkpoints.checkpoints import Checkpoints, checkpoints_folder

        checkpoints = Checkpoints(checkpoints_folder(sessions_folder(), opened.id), settings.workspace)
        checkpoints.tree.withheld = hub.mask.holds
        return checkpoints

    return Checkpointer(
        open_checkpoints,
        hub,
        workspace,
        jobs_running=toolbox.jobs_running,
        only_reading=toolbox.only_reading,
    )


def _weaker(found: Probe, settings: Settings) -> Notice:
    """What people are told, in scripts too, where commands are confined by less than the strongest tier."""
    level = "info" if settings.sandbox is SandboxChoice.EXTERNAL else "warning"
    return Notice(level, f"the sandbox is weaker than it could be: {found.tier}, since {found.reason}", found.remedy)


def _undo(
    opened: Opened,
    settings: Settings,
    agent: Agent,
    kept: Checkpointer | None,
    work: Work,
) -> Callable[[], SessionUndo] | None:
    log = opened.log
    if log is None or kept is None:
        return None

    def make() -> SessionUndo:
        from pool.agent.undoing import SessionUndo

        return SessionUndo(log.path, settings.workspace, kept, agent.history, agent.hub, work.restore)

    return make


def _begin(instructions: SessionInstructions, agent: Agent, kept: Checkpointer | None, mcp: McpServers | None) -> None:
    """A prompt has come: say if the AGENTS.md files are not what the model knows any more; look at the files."""
    if kept is not None:
        kept.prepare()
    if mcp is not None:
        mcp.begin_soon()
    if news := instructions.news(agent.history):
        agent.hub.emit(Notice("info", news, f"{RELOAD} tells the model; a new session reads them anyway"))


async def _linked(settings: Settings, stack: AsyncExitStack) -> ServerLink:
    return await stack.enter_async_context(await find_server(settings))


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Where one fails, the others may still be on their way; what they have opened meanwhile is closed after this."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _assemble(
    settings: Settings,
    link: ServerLink,
    hub: EventHub,
    approvals: Approvals,
    questions: UserQuestions,
    tools: Sequence[Tool],
    confinement: Confinement,
    clear_ledger: Callable[[], None],
    opened: Opened,
    prompt: str,
    kept: Checkpointer | None,
    more_guards: Callable[[], Sequence[Guard]],
    kept_words: Callable[[], str],
    hooks: SessionHooks | None,
    checks: EditChecks | None,
) -> tuple[Agent, ReplyStream]:
    shape = link.dialect.shape
    head = Head(
        model=link.model,
        thinking=settings.thinking,
        tools=tuple(_declared(t) for t in tools),
        sampling=_sampling(settings),
        window=settings.window,
    )
    expect = Expectation(
        tools={t.spec.name: t.spec.parameters for t in tools},
        thinking=settings.thinking,
        think_tags=(*DEFAULT_THINK_TAGS, *settings.think_tags),
    )
    exchange = Exchange(link=link, builder=RequestBuilder(head, shape), expect=expect, meter=TokenMeter(), hub=hub)
    limits = Limits(settings.budgets, settings.session_budgets, opened.earlier.totals)
    replies = ReplyStream(exchange, hub, limits, settings.guards, tuple(expect.tools))
    workspace = str(settings.workspace)
    sandbox = confinement.found.sandbox
    history = History(prompt, hub.emit, masked(shape.encode, hub.mask), opened.earlier.messages)
    steering = Steering(history, hub)
    replies.user_waits = steering.wants
    if other_form(opened.earlier, native=shape.sets_window):
        history.close_calls(INTERRUPTED)
        recode(history, replies, hub, link.dialect, f"the session goes on at {link.display}")
    compactor = Compactor(
        *(replies, hub, clear_ledger),
        at_share=settings.compact_at,
        summary_tokens=settings.summary_tokens,
        keeps=kept_words,
    )

    def guards() -> Sequence[Guard]:
        thresholds = settings.guards
        return [
            *budget_guards(limits, thresholds.told_share),
            ThinkingGuard(thresholds),
            ReplyGuard(thresholds.announcements, thresholds.unknown_tools),
            ClaimsGuard(),
            LoopGuard(thresholds),
            PingPongGuard(thresholds.returns_note, thresholds.returns_stop),
            ProgressGuard(limits, thresholds.reads_after_plan, lambda: approvals.mode is Mode.PLAN),
            *more_guards(),
        ]

    agent = Agent(
        hub=hub,
        history=history,
        replies=replies,
        calls=CallRunner(
            *(tools, approvals, hub, questions.clock),
            lambda effect: policy_words(effect, sandbox.describe()),
            *(kept, hooks, checks),
        ),
        room=RoomMaker(compactor, history, replies, allowed=settings.auto_compact, hooks=hooks),
        steering=steering,
        going_on=GoingOn(questions),
        guards=guards,
        limits=limits,
        head=opened.earlier.head,
        hooks=hooks,
        labels=Labels(workspace, link.model, link.display, lambda: approvals.mode.value, confinement.found.tier),
    )
    return agent, replies


def prompt_for(settings: Settings, instructions: str, skills: str) -> str:
    """A session's system prompt; instructions are the block of its AGENTS.md files, skills their list."""
    return system_prompt(
        str(settings.workspace),
        instead=settings.system,
        more=settings.append_system,
        skills=skills,
        instructions=instructions,
    )


def first_request(settings: Settings, model: str, prompt: str) -> bytes:
    """The exact body of a session's first request, before the server's own fields are known. Nothing is sent."""
    shape = for_address(settings.base_url).shape
    workspace = Workspace(settings.workspace)
    try:
        use = session_secrets(settings.workspace, with_values=False)
        toolbox = Toolbox(workspace, NoSandbox(), secrets=use.secrets)
        servers = mcp_servers(settings, toolbox.commands, lambda body: None)
        skills = SessionSkills(extensions_for(settings), settings.workspace, lambda body: None)
        more = (*skill_tools(skills), *web_tools(settings, None), *mcp_tools(servers, settings.window))
        tools = chosen_tools((*toolbox.tools, AskTool(), TodoTool(), TaskTool(settings), *more), settings)
        declared = tuple(_declared(t) for t in tools)
        head = Head(model, settings.thinking, declared, _sampling(settings), window=settings.window)
        prompt_text = prompt_for(settings, instructions_for(settings).block, skills.listed(tools))
        history = History(prompt_text, lambda body: None, shape.encode)
        worded = skills.worded(prompt), ASK if settings.mode is Mode.PLAN else ""
        history.add_user("\n\n".join(text for text in worded if text))
        budgets = settings.budgets
        limit = budgets.reasoning_first_turn + budgets.answer_tokens
        return RequestBuilder(head, shape).build(history.data, max_tokens=limit)
    finally:
        workspace.close()


def _sampling(settings: Settings) -> Sampling:
    given = settings.sampling
    return Sampling(given.temperature, given.top_p, given.top_k, dict(given.extra))


def _declared(tool: Tool) -> dict[str, object]:
    """A tool as chat completions declare it."""
    spec = tool.spec
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}
