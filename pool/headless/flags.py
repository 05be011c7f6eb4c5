"""Flags that every command with a session takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable

MOST_DIGITS = 12


def add_session_flags(p: argparse.ArgumentParser, *, by_client: bool = False) -> None:
    """Add them. `settings_from` reads what they gave.

    by_client: folder and session are a client's to say, so flags for them are known, but not shown.
    """

    def shown(words: str) -> str:
        return argparse.SUPPRESS if by_client else words

    p.add_argument("-C", "--dir", metavar="DIR", default=".", help=shown("workspace folder (default: this one)"))
    p.add_argument("--profile", metavar="NAME", default="", help="night, spark, or one of yours (pool config)")
    p.add_argument("--base-url", metavar="URL", help="server, such as http://127.0.0.1:8000 (POOL_BASE_URL)")
    p.add_argument("--model", metavar="ID", help="model id, or PROFILE:ID for one of a profile's (POOL_MODEL)")
    p.add_argument("--allow-hosted", action="store_true", help="do not ask before a local session goes on elsewhere")
    p.add_argument("--mode", metavar="MODE", help="default, accept-edits, auto, allow-all or plan")
    p.add_argument(
        "--allow", metavar="RULE", action="append", default=[], help="run such calls unasked, as 'shell(git log *)'"
    )
    p.add_argument("--ask", metavar="RULE", action="append", default=[], help="ask before such calls, in mode auto too")
    p.add_argument("--deny", metavar="RULE", action="append", default=[], help="never run such calls, in any mode")
    p.add_argument("--sandbox", metavar="WHAT", help="auto (default), required, read-only, external or off")
    p.add_argument("--net", metavar="WHAT", help="what commands reach: off, on, HOST[,HOST], python, node, rust, go")
    p.add_argument("--gpu", action="store_true", help="let commands use GPUs (needs bubblewrap)")
    p.add_argument(
        "--readable", metavar="PATH", action="append", default=[], help="let commands read this file or folder at home"
    )
    p.add_argument("--system", metavar="WHAT", help="a file, or text, in place of the built-in system prompt")
    p.add_argument("--append-system", metavar="WHAT", help="a file, or text, at the end of the system prompt")
    p.add_argument("--no-agents-md", action="store_true", help="read no AGENTS.md files")
    p.add_argument("--no-skills", action="store_true", help="use no skills (pool skills lists them)")
    p.add_argument("--thinking", metavar="LEVEL", help="on, off, low, normal, high, or tokens a turn")
    p.add_argument("--max-turns", type=count_flag, metavar="N", help="model replies (default 40, 0: no limit)")
    p.add_argument("--max-seconds", type=seconds_flag, metavar="S", help="wall time (default 1800, 0: no limit)")
    p.add_argument(
        "--max-tokens", type=count_flag, metavar="N", help="tokens read and written in all (default: no limit)"
    )
    p.add_argument("--max-reasoning", type=count_flag, metavar="N", help="tokens of thought in all (default 16384)")
    p.add_argument(
        "--wait-server", type=seconds_flag, metavar="S", help="wait so long for a server that is away (default 60)"
    )
    go_on = shown("go on with this folder's last")
    p.add_argument("-c", "--continue", dest="continue_last", action="store_true", help=go_on)
    go_on = shown("go on with a session, by the beginning or end of its id")
    p.add_argument("-r", "--resume", metavar="ID", default="", help=go_on)
    go_on = shown("go on with a copy of a session, from before prompt N")
    p.add_argument("--fork", metavar="ID[@N]", default="", help=go_on)
    add_worktree_flags(p, shown)
    p.add_argument("--ephemeral", action="store_true", help="keep no session on disk, or nothing more of the one named")
    p.add_argument("--plan", action="store_true", help="change nothing, only plan: the same as --mode plan")
    p.add_argument("--mcp", metavar="NAME", action="append", default=[], help="use only these MCP servers (pool mcp)")
    p.add_argument("--no-mcp", action="store_true", help="use no MCP servers")
    p.add_argument("--fetch", action="store_true", help="let the model read web pages; it asks for each host")
    p.add_argument("--tools", type=_names, metavar="LIST", default=(), help="only these tools, as read,search,shell")
    p.add_argument("--no-tools", type=_names, metavar="LIST", default=(), help="all tools but these")


def add_worktree_flags(p: argparse.ArgumentParser, shown: Callable[[str], str] = str) -> None:
    """Flags of everything that begins a session. shown gives the words of the help."""
    p.add_argument(
        "--worktree",
        metavar="BRANCH",
        nargs="?",
        const="",
        help=shown(
            "work in a git worktree of its own beside the repository, on this branch or a new one (--worktree=BRANCH)"
        ),
    )
    p.add_argument("--worktree-with-changes", action="store_true", help=shown("copy what is not committed there too"))


def add_git_flags(p: argparse.ArgumentParser) -> None:
    """Flags of `pool run` alone."""
    p.add_argument("--commit", metavar="MSG", help="commit what the agent changed if the run completes; auto: propose")
    p.add_argument("--branch", metavar="NAME", default="", help="switch to this branch first, made if there is none")
    p.add_argument("--pr-body", metavar="FILE", default="", help="write title and body of a pull request in Markdown")
    p.add_argument("--assisted-by", action="store_true", help="add an Assisted-by: trailer to the commit")
    p.add_argument("--sign", action="store_true", help="sign the commit without asking, where git is set to sign")


def add_live_flags(p: argparse.ArgumentParser) -> None:
    """Flags of a run that may outlive its terminal."""
    p.add_argument("--detach", action="store_true", help="go on in the background: prints the session id (pool ps)")
    p.add_argument(
        "--on-hangup",
        choices=["stop", "detach"],
        default="stop",
        help="what a run does when its terminal goes: end (default), or go on as if it had been detached",
    )
    p.add_argument("--notify", metavar="CMD", default="", help="your command, run at the end and when an answer is due")
    p.add_argument("--in-place", action="store_true", help="with the profile night: work here, not in a worktree")


def add_option_flags(p: argparse.ArgumentParser) -> None:
    """Flags of `pool run` alone: who drives it, what it leaves."""
    p.add_argument("-i", "--input", choices=["text", "stream-json"], default="text", help="what stdin holds")
    p.add_argument("--output-schema", metavar="FILE", help="the answer is JSON that fits this JSON Schema, or exit 8")
    p.add_argument("--artifacts", metavar="DIR", help="leave diff, trajectory, transcript, answer and figures in DIR")
    p.add_argument(
        "--approve-plan",
        action="store_true",
        help="with -c or -r: carry out the plan that waits there (--plan made it); a prompt, as -f FILE, replaces it",
    )
    p.add_argument("--session", metavar="NAME", default="", help="go on with this folder's session NAME, or begin it")
    p.add_argument("--dry-run", action="store_true", help="print the exact first request, and send it nowhere")


def give_back_prompt(args: argparse.Namespace) -> None:
    """`--worktree "do this"`: what has blanks is no branch but the prompt."""
    if args.worktree and any(char.isspace() for char in args.worktree):
        args.prompt = [args.worktree, *args.prompt]
        args.worktree = ""


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("a list of names with commas between them is wanted")
    return names


def count_flag(text: str) -> int:
    """A whole number from 0 on, as argparse wants it."""
    if not (text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def seconds_flag(text: str) -> float:
    """A number of seconds from 0 on, as argparse wants it."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value
