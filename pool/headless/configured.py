"""From the flags of `pool run` to its settings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.agent.configured import settings_for
from pool.config.load import flag_values
from pool.config.mcp import McpSettings
from pool.config.settings import Mode, Settings, SettingsError, mode_of
from pool.headless.leaving import before_leaving, profile_and_model
from pool.headless.plain import safe
from pool_tools.home import expanded


def settings_from(
    args: argparse.Namespace, *, program: str, with_key: bool = True, interactive: bool = False, covered: bool = False
) -> Settings:
    """Settings from flags, the environment and files; what people should know of them goes to stderr.

    with_key: the API key is fetched too. interactive: a person is there. covered: what is on the terminal is covered at
    once, so the session says it as `Settings.notices`. Raises `SettingsError`.
    """
    if args.plan and args.mode and mode_of(args.mode) is not Mode.PLAN:
        raise SettingsError(f"--plan and --mode {args.mode} cannot be together")
    given: dict[str, object] = {
        "server.base_url": args.base_url,
        "server.wait_seconds": args.wait_server,
        "server.first_contact_seconds": args.wait_server,
        "thinking.level": args.thinking,
        "approvals.mode": Mode.PLAN.value if args.plan else args.mode,
        "approvals.allow": args.allow,
        "approvals.ask": args.ask,
        "approvals.deny": args.deny,
        "sandbox.use": args.sandbox,
        "sandbox.network": args.net,
        "sandbox.gpu": args.gpu or None,
        "web.fetch": args.fetch or None,
        "sandbox.readable": [_readable(path) for path in args.readable],
        "prompt.text": _file_or_text(args.system, "--system"),
        "prompt.append": _file_or_text(args.append_system, "--append-system"),
        "agents_md.read": False if args.no_agents_md else None,
        "skills.read": False if args.no_skills else None,
        "budgets.turns": args.max_turns,
        "budgets.seconds": args.max_seconds,
        "budgets.tokens": args.max_tokens,
        "budgets.reasoning_run": args.max_reasoning,
    }
    workspace = folder_of(args.dir)
    profile, given["server.model"] = profile_and_model(workspace, args.profile, as_text(args.model or ""))
    values = flag_values(given)
    loaded = settings_for(workspace, os.environ, values, profile, with_key=with_key, interactive=interactive)
    tell(() if covered else loaded.warnings, program)
    settings = replace(
        loaded.settings,
        notices=loaded.warnings if covered else (),
        server_named=bool(args.base_url or args.model or profile),
        mcp=_servers(loaded.settings.mcp, args.mcp, none=args.no_mcp),
        trace=Path(args.trace) if args.trace else None,
        keep_mode=interactive and not (args.mode or args.plan),
        continue_last=args.continue_last,
        resume=args.resume,
        fork=args.fork,
        ephemeral=args.ephemeral,
        only_tools=args.tools,
        without_tools=args.no_tools,
    )
    if with_key and not args.allow_hosted:
        before_leaving(settings, switched=profile != args.profile, program=program)
    return settings


def _servers(given: McpSettings, names: Sequence[str], *, none: bool) -> McpSettings:
    """The MCP servers that `--mcp` and `--no-mcp` leave. Raises `SettingsError` for a name that is none."""
    if none and names:
        raise SettingsError("--mcp and --no-mcp cannot be together")
    known = [server.name for server in given.servers]
    for name in names:
        if name not in known:
            raise SettingsError(f"--mcp {name}: there is no such MCP server; there are {', '.join(known) or 'none'}")
    if not names and not none:
        return given
    return replace(given, servers=tuple(replace(s, disabled=False) for s in given.servers if s.name in names))


def tell(warnings: Sequence[str], program: str) -> None:
    """Write warnings to stderr, one on a line."""
    for warning in warnings:
        sys.stderr.write(safe(f"{program}: {warning}", terminal=True) + "\n")


def folder_of(given: str) -> Path:
    """A workspace by its name. Raises `SettingsError` for one that is no folder."""
    try:
        workspace = expanded(given).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(f"the workspace {given!r} cannot be found: {error}") from None
    if not workspace.is_dir():
        raise SettingsError(f"the workspace {str(workspace)!r} is no folder; give one with -C DIR")
    return workspace


def as_text(argument: str) -> str:
    """An argument as text: where the locale knows no UTF-8, its bytes came in as surrogates."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _file_or_text(given: str | None, flag: str) -> str | None:
    """The text of a file of that name, else what was given as it is. Raises `SettingsError`."""
    if not given:
        return None
    looks_like_a_path = not any(c.isspace() for c in given)
    try:
        if looks_like_a_path and expanded(given).is_file():
            return expanded(given).read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(f"{flag} {given!r} cannot be read: {error}") from None
    if looks_like_a_path and ("/" in given or given.endswith((".md", ".txt"))):
        raise SettingsError(f"{flag} {given!r} looks like a file, and there is none of that name")
    return as_text(given)


def _readable(given: str) -> str:
    try:
        path = expanded(given).absolute()
        found = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(f"--readable {given!r} cannot be found: {error}") from None
    if not found:
        raise SettingsError(f"--readable {given!r} is not there")
    return str(path)
