"""The command line of `pool run`: flags and stdin to settings, a prompt and an output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pool.config.settings import SettingsError
from pool.events import StopReason
from pool.headless.configured import as_text, settings_from
from pool.headless.flags import add_session_flags
from pool.headless.gitwishes import add_git_flags, wishes_of
from pool.headless.output import output_for
from pool.headless.startfolder import give_back_prompt, started_in
from pool.headless.stdin import StdinTooLong, read_stdin

EXIT_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """The flags of `pool run`."""
    p = argparse.ArgumentParser(
        prog="pool run",
        description="Work one prompt to its end. The answer goes to stdout, everything else to stderr.",
        epilog="Exit codes: 0 done, 1 defect of Pool, 2 usage, 4 could not do it or commit it, 5 budget or context, "
        "6 loop, 7 denied, 8 no usable reply, 9 done but unverified, 75 server away, failed or refusing, "
        "130 interrupted, 128+n signal n.",
    )
    p.add_argument("prompt", nargs="*", help="what to do; '-' reads it from stdin")
    p.add_argument("-f", "--file", metavar="FILE", help="read the prompt from a file")
    add_session_flags(p)
    add_git_flags(p)
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument("-o", "--output", choices=["text", "json", "stream-json"], default="text")
    p.add_argument("-v", "--verbose", action="store_true", help="progress on stderr also when it is no terminal")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool run`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    give_back_prompt(args)
    try:
        wishes = wishes_of(args)
        settings = settings_from(args, program="pool run")
        prompt = prompt_from(args)
        settings = started_in(args, settings, prompt, "pool run")
    except SettingsError as error:
        from pool.headless.run import fail_early

        return fail_early(output_for(args.output), StopReason.USAGE_ERROR, str(error))
    level = 0 if args.quiet else 1 if args.verbose or sys.stderr.isatty() else 0
    from pool.headless.run import run_to_end

    return run_to_end(settings, prompt, output=args.output, level=level, wishes=wishes)


def show_prompt(argv: Sequence[str]) -> int:
    """Run `pool prompt`: print the first request of a `pool run` with the same arguments, and send nothing."""
    import json

    from pool.agent.factory import first_request
    from pool.wire.tokens import TokenMeter

    flags = parser()
    flags.prog = "pool prompt"
    try:
        args = flags.parse_args(list(argv))
        give_back_prompt(args)
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
