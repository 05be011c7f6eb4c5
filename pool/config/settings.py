"""The settings of a run, from built-in defaults, the environment and flags (later sources win)."""

from __future__ import annotations

from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from pool.config.agents import AgentSettings, SubagentSettings
from pool.config.diagnostics import DiagnosticsSettings
from pool.config.guards import GuardSettings
from pool.config.interface import InterfaceSettings
from pool.config.mcp import McpSettings
from pool.config.web import WebSettings
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.config.hooks import Hook

USUAL_PORTS = (8000, 30000, 8080, 11434, 1234)
"""Where local servers listen by default: vLLM, SGLang, llama.cpp, Ollama, LM Studio."""


class SettingsError(Exception):
    """A setting that cannot be used. The message names the setting, its value and what is allowed."""


class Mode(StrEnum):
    """Approval modes: what runs without asking. The tool list is the same in all."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept-edits"
    AUTO = "auto"
    ALLOW_ALL = "allow-all"
    PLAN = "plan"


MODE_ALIASES = {"always-allow": Mode.ALLOW_ALL, "always-ask": Mode.DEFAULT, "allow-edits": Mode.ACCEPT_EDITS}
"""Names that Poolside's pool and other agents use for the same modes."""


class SandboxChoice(StrEnum):
    """`required` refuses to start without a sandbox, `auto` uses one if it works, `off` uses none.

    `read-only` is `required`, and commands may write nothing but their temporary files. `external` says that a
    container or a virtual machine holds all of Pool.
    """

    REQUIRED = "required"
    AUTO = "auto"
    OFF = "off"
    READ_ONLY = "read-only"
    EXTERNAL = "external"


SANDBOX_ALIASES = {
    "workspace-write": SandboxChoice.AUTO,
    "danger-full-access": SandboxChoice.OFF,
    "disabled": SandboxChoice.OFF,
    "none": SandboxChoice.OFF,
}
"""Names that other agents use for the same choices."""


@frozen
class Budgets:
    """Limits of one run. 0 means no limit. Tokens are the server's; seconds are wall time without approvals.

    idle_turns_note, idle_turns_stop: turns without progress until the model is told, and until the run ends;
    idle_stop_seconds: seconds without progress that end it.
    A reply's `max_tokens` is its reasoning limit plus answer_tokens, fitted to what the window leaves.
    """

    turns: int = 40
    seconds: float = 1800.0
    tokens: int = 0
    reasoning_soft: int = 800
    reasoning_first_turn: int = 4096
    reasoning_turn: int = 2048
    reasoning_run: int = 16384
    answer_tokens: int = 8192
    denials_in_row: int = 3
    idle_turns_note: int = 8
    idle_turns_stop: int = 15
    idle_stop_seconds: float = 0.0


@frozen
class SamplingSettings:
    """Sampling parameters; the defaults are Laguna S 2.1's. None leaves a value to the server.

    extra are further fields of the request, such as `min_p`, which vLLM refuses while it speculates.
    """

    temperature: float | None = 0.7
    top_p: float | None = 0.95
    top_k: int | None = 20
    extra: tuple[tuple[str, str | int | float | bool], ...] = ()


@frozen
class SessionBudgets:
    """Limits of a session, all its runs together, also those before it was resumed. 0 means no limit; units as above.

    reasoning counts the tokens of all thoughts.
    """

    turns: int = 0
    seconds: float = 0.0
    tokens: int = 0
    reasoning: int = 0


@frozen
class AgentsMd:
    """How AGENTS.md files are read. fallbacks are names of files that count, in this order, where there is none.

    file_bytes: how much of one file is read; tokens: what all of them together may take of the prompt.
    """

    read: bool = True
    fallbacks: tuple[str, ...] = ()
    file_bytes: int = 32 * 1024
    tokens: int = 8_000


@frozen
class SkillSettings:
    """How skills are used. tokens is what their list may take of the prompt; without are names of those left out."""

    read: bool = True
    tokens: int = 1_500
    without: tuple[str, ...] = ()


@frozen
class Settings:
    """Everything that a run needs to know. base_url "" means: look on the usual ports. window 0: ask the server.

    wait_server_seconds is how long a server that has answered before may be away; first_contact_seconds how long one
    that never answered is waited for. auto_compact: a history that no longer fits is compacted without being asked.
    compact_at: share of the window at which that is done; summary_tokens: the longest account that replaces a history.
    allow, ask and deny are rules for calls, as text. network is what commands reach: off, on, or hosts and presets with
    commas between. gpu shows them the devices of GPUs. readable are files and folders of the home that they may read.
    input_price is what a million tokens of prompt cost, 0 unknown; server_named: flags name the server or model.
    system replaces the built-in system prompt, append_system is added to it; `{workspace}` in either is the folder.
    continue_last goes on with the workspace's last session, resume with one by the beginning of its id, fork with a
    copy of one, `ID@3` with what it was before its third prompt; ephemeral keeps no session, or nothing more of it.
    keep_mode: a session that is gone on with has the mode in which it was left, whatever mode says.
    assisted_by: commits that Pool makes name the model in a trailer.
    parent is the id of the session that this one works for as a subagent, "" for all others.
    notices: what is to be said of the configuration when the session begins, where nothing else could show it.
    only_tools are the names of the tools that the model gets, all if there are none; without_tools it does not get.
    unseen are files and folders that commands must not see, as the hidden tests of an evaluation.
    """

    workspace: Path
    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    window: int = 0
    input_price: float = 0.0
    server_named: bool = False
    thinking: bool = True
    mode: Mode | None = None
    keep_mode: bool = False
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sandbox: SandboxChoice = SandboxChoice.AUTO
    network: str = "off"
    gpu: bool = False
    readable: tuple[Path, ...] = ()
    budgets: Budgets = Budgets()
    session_budgets: SessionBudgets = SessionBudgets()
    guards: GuardSettings = field(default_factory=GuardSettings)
    auto_compact: bool = True
    compact_at: float = 0.8
    summary_tokens: int = 1500
    sampling: SamplingSettings = SamplingSettings()
    agents_md: AgentsMd = AgentsMd()
    skills: SkillSettings = SkillSettings()
    assisted_by: bool = False
    mcp: McpSettings = field(default_factory=McpSettings)
    web: WebSettings = field(default_factory=WebSettings)
    hooks: tuple[Hook, ...] = ()
    agents: tuple[AgentSettings, ...] = ()
    subagents: SubagentSettings = field(default_factory=SubagentSettings)
    parent: str = ""
    notices: tuple[str, ...] = ()
    diagnostics: DiagnosticsSettings = field(default_factory=DiagnosticsSettings)
    ui: InterfaceSettings = field(default_factory=InterfaceSettings)
    system: str = ""
    append_system: str = ""
    think_tags: tuple[str, ...] = ()
    wait_server_seconds: float = 60.0
    first_contact_seconds: float = 10.0
    idle_seconds: float = 300.0
    trace: Path | None = None
    continue_last: bool = False
    resume: str = ""
    fork: str = ""
    ephemeral: bool = False
    only_tools: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    unseen: tuple[Path, ...] = ()


THINKING_LEVELS = {"low": 512, "normal": 2048, "high": 6144}
"""Tokens of thought a turn may take, by name. The chat template stays as it is, so no level costs the cache."""


def think_budget(budgets: Budgets, level: str) -> Budgets:
    """Budgets for a level of thinking: `on` (as they are), a name of `THINKING_LEVELS`, or tokens a turn.

    A level above the usual one raises the run's limit in proportion, so that as many turns may think as before.
    """
    text = level.strip().lower()
    if text == "on":
        return budgets
    tokens = THINKING_LEVELS.get(text, int(text) if text.isdecimal() and len(text) <= 9 else 0)
    if tokens <= 0:
        names = ", ".join(["on", "off", *THINKING_LEVELS])
        raise SettingsError(f"thinking {level!r} is not known; use {names}, or a number of tokens a turn")
    soft = min(budgets.reasoning_soft, tokens)
    usual = budgets.reasoning_turn or tokens
    run = budgets.reasoning_run * max(tokens, usual) // usual
    return replace(budgets, reasoning_soft=soft, reasoning_turn=tokens, reasoning_first_turn=tokens, reasoning_run=run)


def mode_of(text: str) -> Mode:
    """A mode by its name or alias; raises `SettingsError`."""
    name = text.strip().lower().replace("_", "-")
    if name in MODE_ALIASES:
        return MODE_ALIASES[name]
    try:
        return Mode(name)
    except ValueError:
        names = ", ".join(m.value for m in Mode)
        raise SettingsError(f"mode {text!r} is not known; use one of {names}") from None


@frozen
class ServerEnvironment:
    """What is said about the server: its address, and how to reach it."""

    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    window: int = 0
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
