"""`pool exec`: Poolside's flags and records, so that scripts made for its `pool exec` run unchanged.

What they are is known from Poolside's documentation and from published fixtures of versions 1.0.14 to 1.0.16. Where
those records say nothing (call ids, exit status), keys are added; none is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from pool.events import (
    CallFinished,
    CallProposed,
    ContentDelta,
    ContentRetracted,
    Event,
    ReasoningDelta,
    RunFinished,
    StopReason,
    TurnStarted,
)
from pool.headless.plain import safe
from pool.jsonable import plain

SHELL = "shell"
REFUSED = {
    "agent_name": "--agent-name chooses an agent of Poolside's platform; Pool works with a model server alone",
    "agent_config_file": "--agent-config-file holds an agent of Poolside's; see pool config for Pool's own settings",
}
"""Flags that ask for something which Pool has not, with what is said of them."""

IGNORED = ("run_id", "image_url", "debug", "container_env_id", "ping_me", "keep_running_shells", "continue_aid")
"""Flags that change nothing here; each is told on stderr."""

ENDED_BY_AGENT = frozenset({StopReason.COMPLETED, StopReason.UNVERIFIED, StopReason.GAVE_UP, StopReason.DENIED})


def parser() -> argparse.ArgumentParser:
    """The flags of `pool exec`."""
    p = argparse.ArgumentParser(
        prog="pool exec",
        description="Poolside's exec: its flags and its records. For new scripts pool run tells more.",
        epilog="Exit codes are those of pool run: 0 done, 4 the agent could not do it, others say what went wrong.",
        allow_abbrev=False,
    )
    p.add_argument("-p", "--prompt", metavar="TEXT", help="the prompt; '-' reads it from stdin")
    p.add_argument("-f", "--prompt-file", metavar="FILE", help="read the prompt from a file")
    p.add_argument("-d", "--directory", metavar="DIR", default=".", help="workspace folder")
    p.add_argument("-o", "--output", choices=["markdown", "json"], default="markdown")
    p.add_argument("--verbose", action="store_true", help="with -o markdown: calls and their whole results too")
    p.add_argument("--unsafe-auto-allow", action="store_true", help="approve everything that no rule denies")
    p.add_argument("--continue", dest="go_on", nargs="?", const="", metavar="ID", help="go on with the last, or a run")
    p.add_argument("--api-url", metavar="URL", help="the server's address")
    p.add_argument("--model-name", "--model", metavar="ID", default="", help="model id")
    p.add_argument("--sandbox", metavar="WHAT", help="required, disabled, or what pool run takes")
    p.add_argument("-a", "--agent-name", metavar="NAME", help=argparse.SUPPRESS)
    p.add_argument("--context-file", metavar="FILE", action="append", default=[], help=argparse.SUPPRESS)
    p.add_argument("--continue-sid", metavar="ID", default="", help=argparse.SUPPRESS)
    p.add_argument("--ignore-context", action="store_true", help=argparse.SUPPRESS)
    for name in ("run-id", "agent-config-file", "image-url", "container-env-id", "continue-aid"):
        p.add_argument(f"--{name}", metavar="X", help=argparse.SUPPRESS)
    for name in ("debug", "ping-me", "keep-running-shells"):
        p.add_argument(f"--{name}", action="store_true", help=argparse.SUPPRESS)
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool exec`; returns the exit code."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    try:
        args = parser().parse_args(words[:at])
    except SystemExit as error:
        return int(error.code or 0)
    out = PoolsideJson(sys.stdout) if args.output == "json" else Markdown(sys.stdout, verbose=args.verbose)
    from pool.config.settings import SettingsError
    from pool.headless.run import fail_early

    try:
        return _run(args, words[at + 1 :], out)
    except SettingsError as error:
        return fail_early(out, StopReason.USAGE_ERROR, str(error))


def _run(args: argparse.Namespace, files: list[str], out: PoolsideJson | Markdown) -> int:
    from pool.config.settings import SettingsError
    from pool.headless.command import parsed_args
    from pool.headless.command import parser as run_parser
    from pool.headless.configured import settings_from
    from pool.headless.parsed import prompt_from
    from pool.headless.run import run_to_end

    for name, why in REFUSED.items():
        if getattr(args, name):
            raise SettingsError(why)
    for name in IGNORED:
        if getattr(args, name):
            sys.stderr.write(f"pool exec: --{name.replace('_', '-')} does nothing here\n")
    as_run = parsed_args(run_parser(), [*_translated(args), "--", *args.context_file, *files])
    as_run.prompt = [args.prompt] if args.prompt else []
    settings = settings_from(as_run, program="pool exec")
    prompt = prompt_from(as_run)
    level = 1 if sys.stderr.isatty() else 0
    return run_to_end(settings, prompt, output=args.output, level=level, out=out)


def _translated(args: argparse.Namespace) -> list[str]:
    """The same as arguments of `pool run`."""
    words = [f"--dir={args.directory}"]
    for flag, value in (
        ("--file", args.prompt_file),
        ("--base-url", args.api_url),
        ("--model", args.model_name),
        ("--sandbox", args.sandbox),
    ):
        words += [f"{flag}={value}"] if value else []
    words += ["--mode=allow-all"] if args.unsafe_auto_allow else []
    words += ["--no-agents-md"] if args.ignore_context else []
    if args.continue_sid or args.go_on:
        words += [f"--resume={args.continue_sid or _session_of(args.go_on)}"]
    elif args.go_on is not None:
        words += ["--continue"]
    return words


def _session_of(name: str) -> str:
    """The id of the session that a session's or a run's id means; the name itself if none is found by it."""
    from pool.sessions.store import NoSuchSession, by_id, listed, sessions_folder

    folder = sessions_folder()
    try:
        return by_id(folder, name).id
    except NoSuchSession:
        mark = f'"run":{json.dumps(name)}'.encode()
        return next((one.id for one in listed(folder) if mark in one.path.read_bytes()), name)


@dataclass(slots=True)
class _Call:
    row: dict[str, Any]
    result: dict[str, Any] | None = None
    shown: bool = False


class PoolsideJson:
    """Poolside's records, one JSON object a line.

    A call's result stands right after the call, as scripts that know no ids expect, also where calls run side by side.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._reasoning = ""
        self._content = ""
        self._calls: dict[str, _Call] = {}

    def show(self, event: Event) -> None:
        """Print what an event means in Poolside's records."""
        match event.body:
            case TurnStarted():
                self._flush_texts()
            case ReasoningDelta(text=text):
                self._reasoning += text
            case ContentDelta(text=text):
                self._flush_reasoning()
                self._content += text
            case ContentRetracted(as_=as_):
                self._reasoning += self._content if as_ == "reasoning" else ""
                self._content = ""
            case CallProposed(name=name, arguments=arguments):
                self._flush_texts()
                given = {"cmd": arguments["command"], **arguments} if "command" in arguments else arguments
                row = {"type": "toolCall", "name": name, "args": given, "id": event.envelope.call}
                self._calls[event.envelope.call] = _Call(row)
                self._advance()
            case CallFinished() as body:
                self._finished(body, event.envelope.call)
            case RunFinished() as body:
                self._ended(body)
            case _:
                pass

    def _finished(self, body: CallFinished, call: str) -> None:
        row: dict[str, Any] = {"type": "toolCallResult", "result": body.text, "id": call, "status": body.status}
        if "exit_status" in body.data:
            row["exitStatus"] = body.data["exit_status"]
        if call in self._calls:
            self._calls[call].result = row
        self._advance()

    def _advance(self) -> None:
        for name, call in list(self._calls.items()):
            if not call.shown:
                self._line(call.row)
                call.shown = True
            if call.result is None:
                return
            self._line(call.result)
            del self._calls[name]

    def _ended(self, body: RunFinished) -> None:
        self._flush_reasoning()
        if body.answer:
            self._line({"type": "assistantMessage", "message": body.answer})
        if body.reason not in ENDED_BY_AGENT:
            self._line({"error": body.detail or body.reason.value})
        if body.reason in ENDED_BY_AGENT or body.turns:
            success = body.reason is StopReason.COMPLETED
            self._line({"type": "toolCall", "name": "exit", "args": {"success": success}})
            self._line({"type": "toolCallResult", "result": ""})

    def _flush_texts(self) -> None:
        self._flush_reasoning()
        if self._content.strip():
            self._line({"type": "thought", "thought": self._content})
        self._content = ""

    def _flush_reasoning(self) -> None:
        if self._reasoning.strip():
            self._line({"type": "reasoning", "reasoning": self._reasoning})
        self._reasoning = ""

    def _line(self, row: dict[str, Any]) -> None:
        self._out.write(json.dumps(plain(row), ensure_ascii=True, separators=(",", ":")) + "\n")
        self._out.flush()


class Markdown:
    """The answer as it is; with verbose each call and its result before it."""

    def __init__(self, out: TextIO, *, verbose: bool) -> None:
        self._out = out
        self._verbose = verbose

    def show(self, event: Event) -> None:
        """Print what an event means."""
        match event.body:
            case CallProposed() as body if self._verbose:
                self._text(f"**{body.name}** {body.title or body.preview}".rstrip())
            case CallFinished() as body if self._verbose:
                self._text(f"{_fenced(body.text)}\n")
            case RunFinished(answer=answer) if answer:
                self._text(answer)
            case _:
                pass

    def _text(self, text: str) -> None:
        self._out.write(safe(text, terminal=self._out.isatty()) + "\n")
        self._out.flush()


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"
