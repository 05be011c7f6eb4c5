"""The command line of `pool run` and `pool prompt`: their flags.

What the flags lead to is imported once they are read, so that `--help` and a wrong flag are answered at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from pool.headless.flags import add_git_flags, add_live_flags, add_option_flags, add_session_flags, give_back_prompt

OUTPUTS = ("text", "json", "stream-json")


class Flags(argparse.ArgumentParser):
    """A parser that keeps what was wrong with the flags, "" if nothing was."""

    problem = ""

    def error(self, message: str) -> NoReturn:
        """Keep the words, and end as any parser does."""
        self.problem = message
        super().error(message)


def parser() -> Flags:
    """The flags of `pool run`."""
    p = Flags(
        prog="pool run",
        description="Work one prompt to its end. The answer goes to stdout, everything else to stderr.",
        epilog="Exit codes: 0 done, 1 defect of Pool, 2 usage, 4 could not do it or commit it, 5 budget or context, "
        "6 loop, 7 denied, 8 no usable reply, 9 done but unverified, 75 server away, failed or refusing, "
        "130 interrupted, 128+n signal n. Files after -- become part of the prompt: pool run 'review' -- a.py b.py. "
        "The whole contract, with every event of the JSON outputs, is in docs/headless.md.",
    )
    p.add_argument("prompt", nargs="*", help="what to do; '-' reads it from stdin")
    p.add_argument("-f", "--file", metavar="FILE", help="read the prompt from a file")
    add_session_flags(p)
    add_git_flags(p)
    add_live_flags(p)
    add_option_flags(p)
    p.add_argument("--trace", metavar="FILE", help="keep the raw bytes of each reply (keys removed) in FILE")
    p.add_argument("-o", "--output", choices=OUTPUTS, default=OUTPUTS[0])
    p.add_argument("-v", "--verbose", action="store_true", help="progress on stderr also when it is no terminal")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool run`; returns the exit code."""
    flags = parser()
    try:
        args = parsed_args(flags, argv)
    except SystemExit as error:
        if flags.problem and (form := _output_asked(argv)) != "text":
            from pool.headless.output import output_for
            from pool.headless.run import show_early_end
            from pool.stops import StopReason

            show_early_end(output_for(form), StopReason.USAGE_ERROR, flags.problem)
        return int(error.code or 0)
    from pool.headless.parsed import run

    return run(args)


def _output_asked(argv: Sequence[str]) -> str:
    """The form of the output that flags ask for which cannot be read as a whole: text, json or stream-json."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    p = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    p.add_argument("-o", "--output", choices=OUTPUTS, default=OUTPUTS[0])
    try:
        return str(p.parse_known_args(words)[0].output)
    except argparse.ArgumentError:
        return OUTPUTS[0]


def parsed_args(flags: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """What the arguments say; `files` are those after the first `--`. Raises SystemExit."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    args = flags.parse_args(words[:at])
    args.files = words[at + 1 :]
    give_back_prompt(args)
    return args


def show_prompt(argv: Sequence[str]) -> int:
    """Run `pool prompt`: print the first request of a `pool run` with the same arguments, and send nothing."""
    flags = parser()
    flags.prog = "pool prompt"
    try:
        args = parsed_args(flags, argv)
    except SystemExit as error:
        return int(error.code or 0)
    from pool.headless.parsed import show

    return show(args, flags.prog)
