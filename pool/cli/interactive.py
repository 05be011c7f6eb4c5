"""`pool`: the full-screen interface, from its flags to its last words."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.cli.themes import own_themes
from pool.config.interface import AUTO_THEME, OnHangup
from pool.config.settings import Settings, SettingsError
from pool.headless.configured import as_text, settings_from
from pool.headless.flags import add_session_flags, give_back_prompt
from pool.headless.plain import safe
from pool.headless.startfolder import started_in
from pool.tui.background import Question
from pool.tui.browser import in_browser

if TYPE_CHECKING:
    from pool.agent.control import Conversation
    from pool.facekit.agents.descriptions import AgentDescription
    from pool.facekit.live.place import Attachment

EXIT_USAGE = 2

GARBAGE_OBJECTS = 500_000
"""New objects after which the collector looks for garbage, until a session is open: a start makes 200,000, reading a
long session as many, and little of it is garbage. Then `pool.tui.garbage` says when."""

WITH_AGENT = frozenset(
    {"agent", "prompt", "dir", "theme", "on_hangup", "resume", "continue_last", "profile", "base_url", "model", "trace"}
)
"""Flags that may stand beside `--agent`; those of the server are for Pool's own agent, after `/agent pool`."""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool` without a command."""
    p = argparse.ArgumentParser(
        prog="pool",
        description="Work with the agent in the terminal.",
        epilog="Commands: see pool --help.",
        add_help=False,
    )
    p.add_argument("-h", "--help", action="help", help="this text")
    p.add_argument("prompt", nargs="*", help="a first prompt")
    add_session_flags(p)
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument("--theme", metavar="NAME", help="colours (pool themes lists them)")
    p.add_argument(
        "--agent",
        metavar="NAME",
        default="",
        help="work with another agent (pool agents lists them); it works outside Pool's sandbox",
    )
    p.add_argument(
        "--on-hangup",
        choices=[way.value for way in OnHangup],
        help="what a run does when the terminal goes: detach (default): go on, pool attach shows it; stop: end",
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Run the interface; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    agent = _agent(args) if args.agent else None
    if isinstance(agent, str):
        sys.stderr.write(f"pool: {agent}\n")
        return EXIT_USAGE
    if why := declined():
        sys.stderr.write(f'pool: {why}; `pool chat` and `pool run "PROMPT"` work without\n')
        return EXIT_USAGE
    give_back_prompt(args)
    try:
        settings = settings_from(args, program="pool", interactive=True, covered=True)
        if agent is None:
            settings = started_in(args, settings, as_text(" ".join(args.prompt)), "pool")
    except SettingsError as error:
        sys.stderr.write(safe(f"pool: {error}", terminal=True) + "\n")
        return EXIT_USAGE
    if args.on_hangup:
        settings = replace(settings, ui=replace(settings.ui, on_hangup=OnHangup(args.on_hangup)))
    return show(settings, theme=args.theme or "", prompt=as_text(" ".join(args.prompt)), attachment=agent)


def show(
    settings: Settings,
    *,
    theme: str = "",
    prompt: str = "",
    attachment: Attachment | AgentDescription | None = None,
) -> int:
    """Show the interface until it is left; the exit code. theme "" is that of the settings."""
    if theme:
        settings = replace(settings, ui=replace(settings.ui, theme=theme))
    gc.set_threshold(GARBAGE_OBJECTS)
    question = Question()
    if settings.ui.theme == AUTO_THEME and not in_browser(os.environ):
        # Asked before the interface is imported, which takes longer than any answer.
        question.ask()
    try:
        from pool.tui.command import run_app
    except BaseException:
        question.withdraw()
        raise
    return run_app(settings, question, prompt=prompt, own_themes=own_themes(), attachment=attachment, outlive=_outlive)


def _agent(args: argparse.Namespace) -> AgentDescription | str:
    """The other agent that is wanted, or why it cannot be had, with what to do about it."""
    from pool.facekit.agents.descriptions import AgentError, installed_agent

    usual = vars(parser().parse_args([]))
    if idle := sorted(name for name, value in vars(args).items() if name not in WITH_AGENT and value != usual[name]):
        flags = ", ".join("--" + name.replace("_", "-") for name in idle)
        return f"{flags} would hold for Pool's own agent only; another one works outside of its rules and its sandbox"
    try:
        return installed_agent(args.agent, os.environ)
    except AgentError as error:
        lines = (str(error), f"  {error.remedy}" if error.remedy else "")
        return "\n".join(safe(line, terminal=True) for line in lines if line)


async def _outlive(conversation: Conversation) -> int:
    from pool.headless.live.handover import serve_to_end

    return await serve_to_end(conversation)


def declined() -> str:
    """Why the full-screen interface cannot be shown here, "" if it can."""
    if in_browser(os.environ):
        return ""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        return "the interface needs a terminal"
    if os.environ.get("TERM", "") in ("", "dumb"):
        return f"a terminal of type {os.environ.get('TERM', '')!r} cannot show the interface"
    return ""
