"""The command line of `pool run`: flags and stdin to settings, a prompt and an output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.config.settings import SettingsError
from pool.events import StopReason
from pool.headless.configured import as_text, settings_from
from pool.headless.output import output_for
from pool.headless.stdin import StdinTooLong, read_stdin

EXIT_USAGE = 2
MOST_DIGITS = 12


def parser() -> argparse.ArgumentParser:
    """The flags of `pool run`."""
    p = argparse.ArgumentParser(
        prog="pool run",
        description="Work one prompt to its end. The answer goes to stdout, everything else to stderr.",
        epilog="Exit codes: 0 done, 1 defect of Pool, 2 usage, 4 could not do it, 5 budget or context, 6 loop, "
        "7 denied, 8 no usable reply, 9 done but unverified, 75 server away, failed or refusing, 130 interrupted, "
        "128+n signal n.",
    )
    p.add_argument("prompt", nargs="*", help="what to do; '-' reads it from stdin")
    p.add_argument("-f", "--file", metavar="FILE", help="read the prompt from a file")
    p.add_argument("-C", "--dir", metavar="DIR", default=".", help="workspace folder (default: this one)")
    p.add_argument("--profile", metavar="NAME", default="", help="night, spark, or one of yours (pool config)")
    p.add_argument("--base-url", metavar="URL", help="server, such as http://127.0.0.1:8000 (POOL_BASE_URL)")
    p.add_argument("--model", metavar="ID", help="model id; default: the server's only one (POOL_MODEL)")
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
    p.add_argument("--thinking", metavar="LEVEL", help="on, off, low, normal, high, or tokens a turn")
    p.add_argument("--max-turns", type=_count, metavar="N", help="model replies (default 40, 0: no limit)")
    p.add_argument("--max-seconds", type=_seconds, metavar="S", help="wall time (default 1800, 0: no limit)")
    p.add_argument("--max-tokens", type=_count, metavar="N", help="tokens read and written in all (default: no limit)")
    p.add_argument("--max-reasoning", type=_count, metavar="N", help="tokens of thought in all (default 16384)")
    p.add_argument(
        "--wait-server", type=_seconds, metavar="S", help="wait so long for a server that is away (default 60)"
    )
    p.add_argument("-c", "--continue", dest="continue_last", action="store_true", help="go on with this folder's last")
    p.add_argument("-r", "--resume", metavar="ID", default="", help="go on with a session, by the beginning of its id")
    p.add_argument("--ephemeral", action="store_true", help="keep no session on disk")
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument("-o", "--output", choices=["text", "json", "stream-json"], default="text")
    p.add_argument("-v", "--verbose", action="store_true", help="progress on stderr also when it is no terminal")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return p


def _count(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def main(argv: Sequence[str]) -> int:
    """Run `pool run`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    try:
        settings = settings_from(args, program="pool run")
        prompt = prompt_from(args)
    except SettingsError as error:
        from pool.headless.run import fail_early

        return fail_early(output_for(args.output), StopReason.USAGE_ERROR, str(error))
    level = 0 if args.quiet else 1 if args.verbose or sys.stderr.isatty() else 0
    from pool.headless.run import run_to_end

    return run_to_end(settings, prompt, output=args.output, level=level)


def show_prompt(argv: Sequence[str]) -> int:
    """Run `pool prompt`: print the first request of a `pool run` with the same arguments, and send nothing."""
    import json

    from pool.agent.factory import first_request
    from pool.wire.tokens import TokenMeter

    flags = parser()
    flags.prog = "pool prompt"
    try:
        args = flags.parse_args(list(argv))
        settings = settings_from(args, program=flags.prog, with_key=False)
    except SystemExit as error:
        return int(error.code or 0)
    except SettingsError as error:
        sys.stderr.write(f"pool prompt: {error}\n")
        return EXIT_USAGE
    body = first_request(settings, settings.model or "MODEL", " ".join(args.prompt) or "PROMPT")
    print(json.dumps(json.loads(body), ensure_ascii=False, indent=2))
    tokens = TokenMeter().estimate(body).tokens
    sys.stderr.write(f"{len(body):,} bytes, about {tokens:,} tokens; the server may get fields of its own besides\n")
    return 0


def prompt_from(args: argparse.Namespace) -> str:
    """The prompt: argument, then file, then what stdin holds. Raises `SettingsError` if there is none."""
    words: list[str] = args.prompt
    parts: list[str] = []
    if words and words != ["-"]:
        parts.append(as_text(" ".join(words)))
    if args.file:
        parts.append(_file_text(args.file))
    try:
        piped = read_stdin(only_prompt=not parts, to_end=words == ["-"])
    except StdinTooLong as error:
        raise SettingsError(str(error)) from None
    if piped.strip():
        parts.append(piped)
    prompt = "\n\n".join(p for p in parts if p.strip())
    if not prompt.strip():
        raise SettingsError('there is no prompt; give one: pool run "PROMPT", -f FILE, or on stdin')
    return prompt


def _file_text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise SettingsError(f"cannot read the prompt from {name!r}: {error.strerror}") from None
