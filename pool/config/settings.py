"""The settings of a run, from built-in defaults, the environment and flags (later sources win)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from pool.config.guards import GuardSettings

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
    """`required` refuses to start without a sandbox, `auto` uses one if it works, `off` uses none."""

    REQUIRED = "required"
    AUTO = "auto"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits of one run. 0 means no limit. Tokens are the server's; seconds are wall time without approvals.

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


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run needs to know. base_url "" means: look on the usual ports. window 0: ask the server.

    wait_server_seconds is how long a server that has answered before may be away; first_contact_seconds how long one
    that never answered is waited for. auto_compact: a history that no longer fits is compacted without being asked.
    allow, ask and deny are rules for calls, as text. network is what commands reach: off, on, or hosts and presets with
    commas between.
    continue_last goes on with the workspace's last session, resume with one by the beginning of its id; ephemeral keeps
    no session.
    """

    workspace: Path
    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    window: int = 0
    thinking: bool = True
    mode: Mode | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sandbox: SandboxChoice = SandboxChoice.AUTO
    network: str = "off"
    budgets: Budgets = Budgets()
    guards: GuardSettings = field(default_factory=GuardSettings)
    auto_compact: bool = True
    think_tags: tuple[str, ...] = ()
    wait_server_seconds: float = 60.0
    first_contact_seconds: float = 10.0
    idle_seconds: float = 300.0
    trace: Path | None = None
    continue_last: bool = False
    resume: str = ""
    ephemeral: bool = False


THINKING_LEVELS = {"low": 512, "normal": 2048, "high": 6144}
"""Tokens of thought a turn may take, by name. The chat template stays as it is, so no level costs the cache."""


def think_budget(budgets: Budgets, level: str) -> Budgets:
    """Budgets for a level of thinking: `on` (as they are), a name of `THINKING_LEVELS`, or tokens a turn."""
    text = level.strip().lower()
    if text == "on":
        return budgets
    tokens = THINKING_LEVELS.get(text, int(text) if text.isdecimal() and len(text) <= 9 else 0)
    if tokens <= 0:
        names = ", ".join(["on", "off", *THINKING_LEVELS])
        raise SettingsError(f"thinking {level!r} is not known; use {names}, or a number of tokens a turn")
    soft = min(budgets.reasoning_soft, tokens)
    return replace(budgets, reasoning_soft=soft, reasoning_turn=tokens, reasoning_first_turn=tokens)


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


@dataclass(frozen=True, slots=True)
class ServerEnvironment:
    """What the environment says about the server. source names the variable that gave the base URL."""

    base_url: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    window: int = 0


def server_environment(env: Mapping[str, str]) -> ServerEnvironment:
    """Read Pool's variables, then Poolside's as drop-ins. Raises `SettingsError` for a window that is no number."""

    def first(*names: str) -> str:
        return next((env[n].strip() for n in names if env.get(n, "").strip()), "")

    text = first("POOL_CONTEXT_LENGTH", "POOLSIDE_STANDALONE_CONTEXT_LENGTH")
    if text and not (text.isdecimal() and text.isascii() and len(text) <= 12):
        raise SettingsError(f"the context length in the environment is {text!r}; it must be a number of tokens")
    return ServerEnvironment(
        base_url=first("POOL_BASE_URL", "POOLSIDE_STANDALONE_BASE_URL"),
        model=first("POOL_MODEL", "POOLSIDE_STANDALONE_MODEL"),
        api_key=first("POOL_API_KEY", "POOLSIDE_API_KEY"),
        window=int(text) if text else 0,
    )
