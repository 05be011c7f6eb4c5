"""What every request of a session begins with: the system prompt, the tools as they are declared, the sampling."""

from __future__ import annotations

from pool.agent.asking import AskTool
from pool.agent.history import History
from pool.agent.instructions import instructions_for
from pool.agent.mcptools import mcp_servers, mcp_tools
from pool.agent.plan import ASK
from pool.agent.prompt import system_prompt
from pool.agent.secretuse import session_secrets
from pool.agent.sessionskills import SessionSkills, extensions_for
from pool.agent.skilltool import skill_tools
from pool.agent.subagents.tool import TaskTool
from pool.agent.todo import TodoTool
from pool.agent.toolchoice import chosen_tools
from pool.agent.webtools import web_tools
from pool.config.settings import Mode, Settings
from pool.wire.dialects import for_address
from pool.wire.request import Head, RequestBuilder, Sampling
from pool_tools import Tool
from pool_tools.sandbox import NoSandbox
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace


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
        described = tuple(declared(t) for t in tools)
        head = Head(model, settings.thinking, described, sampling_of(settings), window=settings.window)
        prompt_text = prompt_for(settings, instructions_for(settings).block, skills.listed(tools))
        history = History(prompt_text, lambda body: None, shape.encode)
        worded = skills.worded(prompt), ASK if settings.mode is Mode.PLAN else ""
        history.add_user("\n\n".join(text for text in worded if text))
        budgets = settings.budgets
        limit = budgets.reasoning_first_turn + budgets.answer_tokens
        return RequestBuilder(head, shape).build(history.data, max_tokens=limit)
    finally:
        workspace.close()


def sampling_of(settings: Settings) -> Sampling:
    """What the settings say of sampling."""
    given = settings.sampling
    return Sampling(given.temperature, given.top_p, given.top_k, dict(given.extra))


def declared(tool: Tool) -> dict[str, object]:
    """A tool as chat completions declare it."""
    spec = tool.spec
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}
