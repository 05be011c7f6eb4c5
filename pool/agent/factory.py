"""Putting a session together from its settings: server, tools, sandbox, approvals, guards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pool.agent.approvals import Approvals
from pool.agent.asking import AskTool, UserQuestions
from pool.agent.assembling import Parts, assemble
from pool.agent.checkpointing import Checkpointer
from pool.agent.confinement import Confinement, confine
from pool.agent.editchecks import edit_checks
from pool.agent.firstrequest import prompt_for
from pool.agent.firstwords import of_choice, say_first
from pool.agent.guards import Guard
from pool.agent.hooksetup import session_hooks
from pool.agent.hub import EventHub
from pool.agent.installation import KEEP_AFTER_SECONDS, installation, telling
from pool.agent.instructions import RELOAD, SessionInstructions, instructions_for
from pool.agent.loop import Agent
from pool.agent.mcptools import mcp_servers, mcp_tools
from pool.agent.modelswitch import ModelSwitch, as_left
from pool.agent.netasking import NetworkAsking
from pool.agent.questions import WaitingClock
from pool.agent.resume import Opened, open_log
from pool.agent.rules.given import rules_of
from pool.agent.rules.kept import KeptApprovals
from pool.agent.secretuse import session_secrets
from pool.agent.server import ServerLink, find_server
from pool.agent.sessionskills import SessionSkills, extensions_for
from pool.agent.skilltool import skill_tools
from pool.agent.streaming import ReplyStream
from pool.agent.subagents.host import Host
from pool.agent.subagents.tool import TaskTool
from pool.agent.todo import TodoTool
from pool.agent.toolchoice import chosen_tools
from pool.agent.unfinished import finish
from pool.agent.webtools import web_tools
from pool.agent.work import Work
from pool.config.settings import Mode, Settings, SettingsError
from pool.events import Notice
from pool.ports import Approver
from pool.sessions.store import sessions_folder
from pool_tools import Tool
from pool_tools.frozen import frozen
from pool_tools.masking import Mask
from pool_tools.network.session import SessionNetwork
from pool_tools.sandbox import NoSandbox
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

if TYPE_CHECKING:
    from pool.agent.undoing import SessionUndo
    from pool.extend.mcp.servers import McpServers
    from pool.sessions.checkpoints.checkpoints import Checkpoints


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


@frozen
class Extras:
    """What a caller adds to a session: tools after Pool's own, and guards, made anew for each run, after Pool's own.

    plans: in plan mode an answer is a plan; False where the mode is only there so that nothing can be changed.
    """

    tools: Sequence[Tool] = ()
    guards: Callable[[], Sequence[Guard]] = tuple
    plans: bool = True


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
    hubs, early = list[EventHub](), list[str]()
    opened = open_log(settings, lambda text: [h.emit(Notice("warning", text)) for h in hubs] or early.append(text))
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
        plans = extras.plans and not settings.parent
        work = Work.of(hub.emit, opened.earlier.work, confined=confined, plans=plans)
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
        _close_last(kept, toolbox, stack)
        agent, replies = assemble(
            Parts(
                settings=settings,
                link=link,
                hub=hub,
                opened=opened,
                prompt=prompt_for(settings, found.block, skills.listed(tools)),
                tools=tools,
                approvals=approvals,
                questions=questions,
                confinement=confinement,
                kept=kept,
                hooks=session_hooks(
                    settings,
                    toolbox.commands,
                    hub,
                    lambda: approvals.mode.value,
                    resumed=bool(opened.earlier.messages),
                ),
                checks=edit_checks(settings, toolbox.commands, hub, stack),
                more_guards=extras.guards,
                forget_files=workspace.ledger.clear,
                kept_words=work.for_model,
            )
        )
        skills.attach(agent)
        _watch_installation(agent, stack)
        work.attach(agent, approvals, lambda: _begin(instructions, agent, kept, mcp))
        models = ModelSwitch(settings, agent, replies, confinement, toolbox, stack, instructions.shown)
        host.attach(approvals, agent, replies, lambda: models.settings)
        opening = (*early, *opened.notes, *use.notes, *unfinished)
        say_first(hub, settings, confinement, opening, (*of_choice(link, settings), *found.notes(), *more.notes()))
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


def _watch_installation(agent: Agent, stack: AsyncExitStack) -> None:
    """Say once when Pool's own files were replaced; what may still be needed of them is kept before that."""
    found, loop = installation(), asyncio.get_running_loop()
    agent.on_turn = telling(found, agent.hub.emit)
    later = loop.call_later(KEEP_AFTER_SECONDS, lambda: loop.run_in_executor(None, found.keep))
    stack.callback(later.cancel)


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


def _close_last(kept: Checkpointer | None, toolbox: Toolbox, stack: AsyncExitStack) -> None:
    """The last look at the files is taken when jobs have ended: the toolbox closes before, and again does no harm."""
    if kept is not None:
        stack.push_async_callback(kept.close)
        stack.push_async_callback(toolbox.close)


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
