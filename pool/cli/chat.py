"""`pool chat`: the conversation on plain lines, from its flags to its last words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from pool.cli.attach import settings_of
from pool.config.interface import ReasoningView
from pool.config.settings import SettingsError
from pool.facekit.live.finding import NoSuchRun, by_id
from pool.facekit.live.place import Attachment, PlaceError
from pool.headless.configured import as_text, settings_from
from pool.headless.flags import add_session_flags, give_back_prompt
from pool.headless.plain import safe
from pool.headless.startfolder import started_in

EXIT_USAGE = 2

EPILOG = """\
In a terminal: Enter sends, Ctrl+J is a new line, Esc stops, Ctrl+T shows the last thought, Ctrl+D leaves; /help lists
the commands. With TERM=dumb lines are read and written as they are. Without a terminal each line of stdin is a prompt,
and the exit code is that of the first one that did not end well.
"""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool chat`."""
    p = argparse.ArgumentParser(
        prog="pool chat",
        description="Work with the agent on plain lines: for SSH, screen readers, serial consoles and pipes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("prompt", nargs="*", help="a first prompt")
    add_session_flags(p)
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument("--attach", metavar="ID", default="", help="talk to a detached run (pool ps); leaving lets it go on")
    p.add_argument("--vi", action="store_true", help="edit the prompt with vi's keys (ui.vi in the configuration)")
    p.add_argument(
        "--reasoning", choices=[view.value for view in ReasoningView], help="what is shown of thoughts (ui.reasoning)"
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Run the line interface; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    give_back_prompt(args)
    prompt = as_text(" ".join(args.prompt))
    try:
        attachment = Attachment(by_id(args.attach)) if args.attach else None
        if attachment is not None:
            settings = settings_of(attachment.record, "pool chat")
        else:
            settings = settings_from(args, program="pool chat", interactive=sys.stdin.isatty())
            settings = started_in(args, settings, prompt, "pool chat")
    except (SettingsError, NoSuchRun, PlaceError) as error:
        sys.stderr.write(safe(f"pool chat: {error}", terminal=True) + "\n")
        return EXIT_USAGE
    ui = settings.ui
    shown = ReasoningView(args.reasoning) if args.reasoning else ui.reasoning
    settings = replace(settings, ui=replace(ui, vi=ui.vi or args.vi, reasoning=shown))
    from pool.repl.command import run_chat

    return run_chat(settings, prompt, attachment)
