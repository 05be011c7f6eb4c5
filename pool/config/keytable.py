"""All keys of the configuration: `docs/configuration.md`, the JSON Schema and `pool config` are made of this table."""

from __future__ import annotations

from typing import cast

from pool.config.agentkeys import AGENT_KEYS
from pool.config.guardkeys import BUDGET_KEYS, GUARD_KEYS
from pool.config.hookkeys import HOOK_KEYS
from pool.config.keys import Key, Trust
from pool.config.kinds import (
    Choice,
    Count,
    McpServers,
    Number,
    ScalarTable,
    Switch,
    Text,
    Texts,
    TextTable,
    Thinking,
    WholeOrServer,
)
from pool.config.mcp import command_lines, for_checkout, servers_of
from pool.config.settings import MODE_ALIASES, SANDBOX_ALIASES, THINKING_LEVELS, Mode, SandboxChoice
from pool.config.uikeys import UI_KEYS
from pool.config.web import TABLE as WEB_TABLE
from pool.config.web import WEB_KEYS
from pool_tools.home import expanded

TABLES = {
    "": "",
    "server": "The model server, and how to reach it.",
    "thinking": "How much the model thinks.",
    "sampling": "How the model's words are drawn. The defaults are those of Laguna S 2.1.",
    "approvals": "What runs without asking: a mode, and rules for calls. See approvals.md.",
    "sandbox": "What confines commands. See sandbox.md and network.md.",
    "budgets": "Limits of a run. 0 means none. See guards.md.",
    "session": "Limits of a session: all its runs together. 0 means none.",
    "context": "What happens when the window fills up.",
    "prompt": "The system prompt.",
    "agents_md": "AGENTS.md files.",
    "skills": "Skills. See skills.md.",
    "mcp": "MCP servers in general. See mcp.md.",
    "diagnostics": "Checks of what was edited. See hooks.md.",
    "web": WEB_TABLE,
    "subagents": "Subagents in general. See subagents.md.",
    "git": "Commits that Pool makes. See sessions.md.",
    "ui": "The full-screen interface. See interface.md.",
    "guards": "Thresholds of the guards. 0 switches a rule off. See guards.md.",
    "guards.repeats": "At how many equal calls with equal results something is done.",
    "guards.signals": "When the end of a thought counts as repeating itself.",
}
"""The tables, and what they are about."""

_OTHER_WORDS = "the model answers in another way, perhaps a worse one"
_OTHER_ROOM = "the history is replaced by an account of it at another time, or never"

MODES = (Mode.PLAN, Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.AUTO, Mode.ALLOW_ALL)
"""From the narrowest to the widest."""

SANDBOXES = (
    SandboxChoice.READ_ONLY,
    SandboxChoice.REQUIRED,
    SandboxChoice.AUTO,
    SandboxChoice.EXTERNAL,
    SandboxChoice.OFF,
)
"""From the narrowest to the widest."""

POOLS_OWN_FIELDS = frozenset(
    "model messages tools tool_choice stream stream_options max_tokens max_completion_tokens n temperature top_p top_k"
    " chat_template_kwargs response_format".split()
)
"""Request fields that no configuration may set: Pool's reading of the reply rests on them, or they have a key."""

_TOP = (
    Key(
        "profile",
        Text(),
        "The profile to use where no `--profile` is given: `night`, `spark`, or one of your own (`[profiles.NAME]`).",
        variables=("POOL_PROFILE",),
        flag="--profile",
        danger="a profile may raise budgets and name another server",
    ),
)

_SERVER = (
    Key(
        "server.base_url",
        Text(),
        "Address of an OpenAI-compatible server, such as `http://127.0.0.1:8000/v1`. Empty: the usual local ports.",
        "base_url",
        variables=("POOL_BASE_URL", "POOLSIDE_STANDALONE_BASE_URL"),
        flag="--base-url",
        danger="your prompts, every file that the model reads, and your API key go to this server",
    ),
    Key(
        "server.model",
        Text(),
        "Model id. Empty: the server's only model, or a Laguna among several.",
        "model",
        variables=("POOL_MODEL", "POOLSIDE_STANDALONE_MODEL"),
        flag="--model",
        danger="another model may cost more, or be worse",
    ),
    Key(
        "server.api_key",
        Text(),
        "API key in clear. Better: `POOL_API_KEY`, `api_key_env`, or `pool config key`, which keeps it apart.",
        "api_key",
        variables=("POOL_API_KEY", "POOLSIDE_API_KEY"),
        danger="the key of somebody else is used",
        secret=True,
    ),
    Key(
        "server.api_key_env",
        Text(),
        "Name of the variable that holds the API key.",
        danger="the value of this variable of yours is sent to the server",
    ),
    Key(
        "server.api_key_command",
        Text(),
        "Command whose first line of output is the API key, such as `pass show vllm`. Run without a shell.",
        trust=Trust.OWNER,
    ),
    Key(
        "server.headers",
        TextTable(),
        "Further headers of every request.",
        "headers",
        danger="these headers go with every request",
        secret=True,
    ),
    Key(
        "server.window",
        Count(),
        "Context window in tokens. 0: as the server tells.",
        "window",
        variables=("POOL_CONTEXT_LENGTH", "POOLSIDE_STANDALONE_CONTEXT_LENGTH"),
        danger="a wrong window makes runs fail",
    ),
    Key(
        "server.input_price",
        Number(),
        "What a million tokens of prompt cost at this server, in your currency; a switch of model says what it costs.",
        "input_price",
        danger="a wrong price is shown before a switch of model",
    ),
    Key(
        "server.wait_seconds",
        Number(),
        "How long a server that has answered before may be away.",
        "wait_server_seconds",
        Trust.LOWER,
        flag="--wait-server",
    ),
    Key(
        "server.first_contact_seconds",
        Number(),
        "How long a server that has never answered is waited for.",
        "first_contact_seconds",
        Trust.LOWER,
        flag="--wait-server",
    ),
    Key(
        "server.idle_seconds",
        Number(least=1.0),
        "How long a reply that has begun may pause.",
        "idle_seconds",
        Trust.LOWER,
    ),
)

_MODEL = (
    Key(
        "thinking.level",
        Thinking(THINKING_LEVELS),
        "`on` (as the budgets say), `off`, `low` (512 tokens a turn), `normal` (2,048), `high` (6,144), or a number.",
        trust=Trust.NARROWER,
        variables=("POOL_THINKING",),
        flag="--thinking",
    ),
    Key(
        "thinking.tags",
        Texts(),
        "Further names of tags in which a model may think aloud, beside the known ones (`think`).",
        "think_tags",
        danger="text in these tags is taken for thought, and not shown as an answer",
    ),
    Key(
        "sampling.temperature",
        Number(most=2.0, server=True),
        "Temperature.",
        "sampling.temperature",
        danger=_OTHER_WORDS,
    ),
    Key("sampling.top_p", Number(most=1.0, server=True), "Nucleus sampling.", "sampling.top_p", danger=_OTHER_WORDS),
    Key("sampling.top_k", WholeOrServer(), "The likeliest tokens that count.", "sampling.top_k", danger=_OTHER_WORDS),
    Key(
        "sampling.extra",
        ScalarTable(POOLS_OWN_FIELDS),
        "Further fields of the request, such as `min_p`, which vLLM refuses while it speculates.",
        "sampling.extra",
        danger="these fields go with every request",
    ),
)

_MAY = (
    Key(
        "approvals.mode",
        Choice(tuple(m.value for m in MODES), {k: v.value for k, v in MODE_ALIASES.items()}),
        "What runs without asking. Not set: `auto` where a sandbox works, else `default`.",
        "mode",
        Trust.NARROWER,
        variables=("POOL_MODE",),
        flag="--mode",
        danger="more runs without asking you",
        make=lambda value: Mode(str(value)),
    ),
    Key(
        "approvals.allow",
        Texts(),
        "Rules for calls that run unasked, as `shell(git log *)`.",
        "allow",
        flag="--allow",
        danger="these calls run without asking you",
        adds=True,
    ),
    Key(
        "approvals.ask",
        Texts(),
        "Rules for calls that always ask.",
        "ask",
        Trust.ADDS,
        flag="--ask",
        adds=True,
    ),
    Key(
        "approvals.deny",
        Texts(),
        "Rules for calls that never run, in any mode.",
        "deny",
        Trust.ADDS,
        flag="--deny",
        adds=True,
    ),
    Key(
        "sandbox.use",
        Choice(tuple(c.value for c in SANDBOXES), {k: v.value for k, v in SANDBOX_ALIASES.items()}),
        "`required` refuses to start without a sandbox, `read-only` lets commands write nothing besides; `auto` uses "
        "one if it works; `external` says that a container holds all of Pool; `off` uses none.",
        "sandbox",
        Trust.NARROWER,
        variables=("POOL_SANDBOX",),
        flag="--sandbox",
        danger="commands run unconfined, as you",
        make=lambda value: SandboxChoice(str(value)),
    ),
    Key(
        "sandbox.network",
        Text(),
        "What commands reach: `off`, `on`, or hosts and presets (`python`, `node`, `rust`, `go`) with commas between.",
        "network",
        Trust.NARROWER,
        variables=("POOL_NET",),
        flag="--net",
        danger="commands may send what they read to these hosts",
    ),
    Key(
        "sandbox.gpu",
        Switch(),
        "Show commands the devices of GPUs.",
        "gpu",
        flag="--gpu",
        danger="commands reach the driver of the GPUs",
    ),
    Key(
        "sandbox.readable",
        Texts(),
        "Files and folders of your home that commands may read, absolute or from `~`.",
        "readable",
        flag="--readable",
        danger="commands read these files of yours",
        make=lambda value: tuple(expanded(str(x)) for x in cast(tuple[object, ...], value)),
        adds=True,
    ),
)

_REST = (
    Key(
        "context.auto_compact",
        Switch(),
        "Make room without being asked when the history no longer fits.",
        "auto_compact",
        danger=_OTHER_ROOM,
    ),
    Key(
        "context.compact_at",
        Number(least=0.1, most=0.95),
        "Share of the window at which room is made.",
        "compact_at",
        danger=_OTHER_ROOM,
    ),
    Key(
        "context.summary_tokens",
        Count(least=200),
        "Longest account that replaces a history, in tokens.",
        "summary_tokens",
        Trust.LOWER,
    ),
    Key(
        "prompt.file",
        Text(),
        "File whose text replaces the built-in system prompt; `{workspace}` in it stands for the folder.",
        "system",
        danger="it takes the place of Pool's own rules for the model, its honesty rules too",
        path=True,
    ),
    Key(
        "prompt.text",
        Text(lines=True),
        "The same as text. Of both, the one of the stronger layer counts.",
        "system",
        flag="--system",
        danger="it takes the place of Pool's own rules for the model, its honesty rules too",
    ),
    Key(
        "prompt.append",
        Text(lines=True),
        "Text at the end of the system prompt.",
        "append_system",
        flag="--append-system",
        danger="the model takes it as your instruction",
    ),
    Key(
        "agents_md.read",
        Switch(),
        "Read AGENTS.md files.",
        "agents_md.read",
        flag="--no-agents-md",
        danger="your own AGENTS.md is not read",
    ),
    Key(
        "agents_md.fallbacks",
        Texts(),
        "File names that are taken, in this order, where there is no AGENTS.md, such as `CLAUDE.md`, `.cursorrules`.",
        "agents_md.fallbacks",
        danger="the model takes the text of these files as instructions",
    ),
    Key(
        "agents_md.file_bytes",
        Count(),
        "How much of one file is read.",
        "agents_md.file_bytes",
        danger="less of your own AGENTS.md, or more of the checkout's, is read",
    ),
    Key(
        "agents_md.tokens",
        Count(),
        "What all of the files together may take of the prompt, in tokens.",
        "agents_md.tokens",
        danger="less of your own AGENTS.md, or more of the checkout's, is read",
    ),
    Key(
        "skills.read",
        Switch(),
        "Look for skills.",
        "skills.read",
        flag="--no-skills",
        danger="your own skills are not there",
    ),
    Key(
        "skills.tokens",
        Count(),
        "What the list of skills may take of the prompt, in tokens.",
        "skills.tokens",
        Trust.LOWER,
        danger="more of your context goes to the list of skills",
    ),
    Key(
        "skills.without",
        Texts(),
        "Names of skills that are not used.",
        "skills.without",
        Trust.ADDS,
        adds=True,
    ),
    Key(
        "git.assisted_by",
        Switch(),
        "Add an `Assisted-by: Pool (MODEL)` trailer to commits that Pool makes.",
        "assisted_by",
        Trust.FREE,
        flag="--assisted-by",
    ),
    Key(
        "mcp_servers",
        McpServers(),
        "MCP servers by name (`[mcp_servers.NAME]`): `command`, `args` and `env`, or `url` and `headers`; see mcp.md.",
        "mcp.servers",
        danger="these programs are started, in the sandbox, and see what the model gives them",
        make=servers_of,
        secret=True,
        adds=True,
        for_checkout=for_checkout,
        lines=command_lines,
    ),
    Key(
        "mcp.share",
        Number(most=0.5),
        "Share of the window that tools of MCP servers may take which the model sees in full; the rest is found.",
        "mcp.share",
        danger="tools of your own MCP servers take another share of the window",
    ),
    Key(
        "mcp.start_seconds",
        Number(least=0.1, most=600.0),
        "How long an MCP server may take to start. No request waits for that.",
        "mcp.start_seconds",
        Trust.LOWER,
        danger="a server that hangs is waited for longer",
    ),
    Key(
        "mcp.call_seconds",
        Number(least=0.1, most=3600.0),
        "How long one call of an MCP server's tool may take.",
        "mcp.call_seconds",
        Trust.LOWER,
        danger="a server that hangs is waited for longer",
    ),
)

_OWN = (*_TOP, *_SERVER, *_MODEL, *_MAY, *BUDGET_KEYS, *_REST)
KEYS: tuple[Key, ...] = (*_OWN, *WEB_KEYS, *HOOK_KEYS, *AGENT_KEYS, *UI_KEYS, *GUARD_KEYS)
