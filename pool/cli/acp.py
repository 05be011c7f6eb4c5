"""`pool acp`: the agent for editors, over the Agent Client Protocol."""

from __future__ import annotations

import argparse
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pool.headless.flags import add_session_flags

if TYPE_CHECKING:
    from pool.acp.agent import SettingsFor
    from pool.config.settings import Settings

EXIT_USAGE = 2

EPILOG = """\
An editor starts this and speaks the Agent Client Protocol with it, JSON lines on stdin and stdout; docs/editors.md has
the lines for each editor. Folder and session are the editor's to say. No login is needed.
"""

OF_THE_CLIENT = ("continue_last", "resume", "fork", "worktree", "worktree_with_changes")
"""Flags that say which session: the client does."""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool acp`."""
    p = argparse.ArgumentParser(
        prog="pool acp",
        description="Be the agent of an editor: Zed, JetBrains, Neovim, Emacs, Toad and others.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_session_flags(p, by_client=True)
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="serve clients over WebSocket on this port of 127.0.0.1 (0: any that is free), with a token",
    )
    p.add_argument(
        "--trust-mcp",
        action="store_true",
        help="start MCP servers that the editor hands over without the sandbox; yours are as you have configured them",
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Serve an editor; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    given = [name for name in OF_THE_CLIENT if getattr(args, name) not in ("", None, False)]
    if given or args.dir != ".":
        sys.stderr.write(
            "pool acp: folder and session are the editor's to say; leave out -C, -c, -r, --fork, --worktree\n"
        )
        return EXIT_USAGE

    def settings_for(workspace: Path, *, resume: str = "", fork: str = "") -> Settings:
        from pool.headless.configured import settings_from

        own = argparse.Namespace(**{**vars(args), "dir": str(workspace), "resume": resume, "fork": fork})
        return settings_from(own, program="pool acp", interactive=True)

    if args.port is not None:
        return _at_port(args.port, settings_for, confined=not args.trust_mcp)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("pool acp: waiting for JSON lines of an editor (pool acp --help); Ctrl-C ends\n")
    from pool.acp.command import serve

    return serve(settings_for, confined=not args.trust_mcp)


def _at_port(port: int, settings_for: SettingsFor, *, confined: bool) -> int:
    try:
        from pool.acp.websocket import LOOPBACK, serve_port
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pool"):
            raise
        sys.stderr.write(f"pool acp --port needs the package {error.name!r}: pip install 'laguna-pool[web]'\n")
        return EXIT_USAGE
    try:
        listening = socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        sys.stderr.write(f"pool acp: --port {port} cannot be listened at: {error}; --port 0 takes any that is free\n")
        return EXIT_USAGE
    return serve_port(listening, settings_for, confined=confined)
