"""`pool`: parse the command line and hand over to the command's own module."""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from pool import __version__

USAGE = """\
usage: pool [COMMAND] ...

  pool                  work with the agent in the terminal (pool -c goes on with the last session, pool -r ID with one)
  pool chat             the same on plain lines: SSH, screen readers, serial consoles; lines of a pipe are prompts
  pool run "PROMPT"     work a prompt to its end, without questions (see pool run --help)
  pool -p "PROMPT"      the same
  pool ps               the runs that live: pool run --detach, and sessions that are open
  pool attach ID        show a detached run, steer it, answer what it asks; leaving it lets it go on
  pool stop ID          end a detached run; --now kills it
  pool exec -p "PROMPT" the same with the flags and the records of Poolside's pool exec
  pool acp              the agent for an editor: Zed, JetBrains, Neovim, Emacs and others (docs/editors.md)
  pool agents           other agents that pool --agent NAME works with: Gemini CLI, OpenCode, Hermes and more
  pool batch FILE       many prompts (JSON lines), several at a time, each in a folder of its own; --resume goes on
  pool approvals        what you approved for good in this checkout: list, forget RULE, forget all
  pool config           the configuration: show, set, check, trust, import
  pool hooks            commands that run at fixed points of a session: list, test
  pool mcp              MCP servers: list, add, remove, test, login; serve makes Pool one
  pool skills           skills and custom commands: list, check, show
  pool secrets          values that single commands may be given: list, add, allow, remove
  pool sessions         the sessions on disk: list, show, search, rename, delete, prune, path
  pool report [ID]      one screen about a session: asked, done, not verified, changed, tested, denied
  pool diff             what a session, a run or the working tree changed
  pool review [CHANGE]  findings on a diff: of the working tree, a branch, a range or a patch; text, JSON, SARIF
  pool commit           commit what the agent changed, with a message from the diff; yours stays as it is
  pool worktree         worktrees in which sessions work: list, merge back, remove
  pool undo             files and conversation back to before a prompt; --redo takes it back
  pool stats            what sessions cost and how they went: tokens, speeds, tools, guards, times
  pool export [ID]      a session as a file: atif, html, md, jsonl; secrets taken out
  pool import FILE      a trajectory (ATIF) or chat messages (JSONL) as a session
  pool prompt           the exact first request of a run, sent nowhere
  pool doctor           what the server is, and whether it does what Pool needs
  pool serve [MODEL]    the command that serves a model here, with reasons; its memory; start it and keep it running
  pool bench            how fast the server reads and writes, what speculation brings, which draft depth pays
  pool audit [ID]       did a run earn its success: tests, claims, signals of cheating; the original tests run again
  pool eval SUITE       work tasks with a model, judge and audit what comes of it: pass, tokens, time, with intervals
  pool top              what the server is doing now: requests, cache, speeds, drafts
  pool web              the interface in a browser on this machine
  pool keys             what this terminal sends for each key, and what the key does
  pool themes           the themes there are, in their colours
  pool replay FILE      read the replies of a trace again (pool run --trace FILE writes one)
  pool completion SHELL completion of commands, flags, sessions, models and themes for bash, zsh and fish
  pool paths            where Pool keeps what on this machine
  pool uninstall        take Pool away; with --purge all that it keeps too, after a list and a question
  pool man              the manual page
  pool schema           the JSON Schema of what pool run prints and takes
  pool sim              a simulated Laguna server, to try Pool without a model
  pool --version        the version
  pool --help           this text
"""

EXIT_INTERNAL = 1
EXIT_USAGE = 2

DESCRIPTION_COLUMN = 24
"""Where the descriptions of USAGE begin."""

DEBUG_VARIABLE = "POOL_DEBUG"
"""Set in the environment, it lets the traceback of an unexpected error through."""


COMMANDS = {
    "run": ("pool.headless.command", "main"),
    "chat": ("pool.cli.chat", "main"),
    "ps": ("pool.headless.live.ps", "main"),
    "attach": ("pool.cli.attach", "main"),
    "stop": ("pool.headless.live.stop", "main"),
    "exec": ("pool.headless.poolside", "main"),
    "acp": ("pool.cli.acp", "main"),
    "agents": ("pool.cli.agents", "main"),
    "batch": ("pool.headless.batch.command", "main"),
    "approvals": ("pool.headless.approvals", "main"),
    "config": ("pool.cli.config.command", "main"),
    "hooks": ("pool.cli.hooks.command", "main"),
    "mcp": ("pool.cli.mcp.command", "main"),
    "skills": ("pool.cli.skills.command", "main"),
    "secrets": ("pool.cli.secrets.command", "main"),
    "sessions": ("pool.headless.sessions", "main"),
    "diff": ("pool.headless.diff", "main"),
    "commit": ("pool.headless.commit", "main"),
    "review": ("pool.headless.review.command", "main"),
    "worktree": ("pool.headless.worktree", "main"),
    "report": ("pool.headless.report", "main"),
    "undo": ("pool.headless.undo", "main"),
    "stats": ("pool.headless.stats", "main"),
    "export": ("pool.headless.export", "main"),
    "import": ("pool.headless.importing", "main"),
    "prompt": ("pool.headless.command", "show_prompt"),
    "doctor": ("pool.lab.doctor.command", "main"),
    "serve": ("pool.lab.serve.command", "main"),
    "bench": ("pool.lab.bench.command", "main"),
    "eval": ("pool.lab.eval.command", "main"),
    "audit": ("pool.lab.audit.command", "main"),
    "top": ("pool.lab.top.command", "main"),
    "web": ("pool.cli.web", "main"),
    "keys": ("pool.cli.keys", "main"),
    "themes": ("pool.cli.themes", "main"),
    "replay": ("pool.lab.replay", "main"),
    "completion": ("pool.cli.completion", "main"),
    "paths": ("pool.cli.installation.paths", "main"),
    "uninstall": ("pool.cli.installation.uninstall", "main"),
    "man": ("pool.cli.manual", "main"),
    "schema": ("pool.headless.schema", "main"),
}
"""Module and function of each command; a module is imported only when its command runs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the process exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    match args:
        case ["--version" | "-V", *_]:
            print(f"pool {__version__}")
            return 0
        case ["--help" | "-h" | "help", *_]:
            print(_fitted(USAGE), end="")
            return 0
        case ["-p" | "--prompt", *rest]:
            return _command("run", rest)
        case ["sim", *rest]:
            return _sim(rest)
        case [command, *rest] if command in COMMANDS:
            return _command(command, rest)
        case []:
            return _interactive(args)
        case [first, *_] if first.startswith("-") or " " in first:
            return _interactive(args)
        case [command, *_]:
            sys.stderr.write(_unknown(command))
            return EXIT_USAGE
        case _:
            return EXIT_USAGE


def _fitted(usage: str) -> str:
    """The usage with its descriptions folded below themselves, where stdout is a terminal narrower than they are."""
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return usage
    lines: list[str] = []
    for line in usage.splitlines():
        rest = line
        while len(rest) > width and (cut := rest.rfind(" ", DESCRIPTION_COLUMN, width + 1)) > DESCRIPTION_COLUMN:
            lines.append(rest[:cut])
            rest = " " * DESCRIPTION_COLUMN + rest[cut + 1 :]
        lines.append(rest)
    return "\n".join(lines) + "\n"


def _unknown(command: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(command, [*COMMANDS, "sim", "help"], n=1)
    meant = f"; did you mean pool {near[0]}?" if near else ""
    more = 'pool --help lists the commands; a prompt needs the command run: pool run "PROMPT"'
    return f"pool: there is no command {command!r}{meant}\n  {more}\n"


def _interactive(args: Sequence[str]) -> int:
    from pool.cli.interactive import main as interactive

    return interactive(args)


def _command(name: str, args: Sequence[str]) -> int:
    module, function = COMMANDS[name]
    command: Callable[[Sequence[str]], int] = getattr(importlib.import_module(module), function)
    return command(args)


def _sim(args: Sequence[str]) -> int:
    try:
        from pool.sim.cli import main as sim
    except ModuleNotFoundError as error:
        sys.stderr.write(f"pool sim needs the package {error.name!r}: pip install 'laguna-pool[sim]'\n")
        return EXIT_USAGE
    return sim(list(args))


def _open_streams() -> None:
    """Closed standard streams lead nowhere; text that the locale cannot say is written as UTF-8, never an error."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


GARBAGE_OBJECTS = 50_000
"""New objects after which the collector looks for garbage. Imports make a start's objects and leave no garbage; with
Python's own 700 the looking is a seventh of a start's time."""


def entry() -> None:
    """Console entry point: exits with the command's code, quietly when the reader of stdout has gone.

    An error that nobody expected is one line and exit code 1, never a traceback.
    """
    gc.set_threshold(GARBAGE_OBJECTS)
    _open_streams()
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        sys.stderr.write(f"pool: {error.strerror}{f': {error.filename}' if error.filename else ''}\n")
        code = EXIT_INTERNAL
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        sys.stderr.write(_unexpected(error))
        code = EXIT_INTERNAL
    sys.exit(code)


def _unexpected(error: Exception) -> str:
    """What is said of an error that nobody expected."""
    if isinstance(error, ImportError):
        return (
            f"pool: a part of Pool cannot be loaded: {error}\n"
            "  If Pool or a package of it was installed anew meanwhile, start it again; else install it again.\n"
        )
    return (
        f"pool failed inside: {type(error).__name__}: {error}\n"
        f"  This is a defect of Pool. {DEBUG_VARIABLE}=1 shows where; please report it.\n"
    )
