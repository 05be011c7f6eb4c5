"""`pool man`: the manual page, made from the parsers of all commands."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pool import __version__
from pool.cli.cmdline import Command, Option, whole
from pool.config.files import Places
from pool.stops import STOP_TABLE, StopReason

EXIT_USAGE = 2

USER_FOLDER = "~/.config/pool"
FILES = (
    (f"{USER_FOLDER}/config.toml", "your settings; pool config path names all files that count"),
    (f"{USER_FOLDER}/credentials.toml", "API keys that pool config key has kept"),
    (".pool/config.toml", "a project's settings, which widen nothing before pool config trust"),
    ("~/.local/state/pool/sessions", "the sessions, one file each, and what is kept for undo"),
)
ENVIRONMENT = (
    ("POOL_BASE_URL, POOL_MODEL, POOL_API_KEY", "the server's address, the model's id, the server's key"),
    ("POOL_CONTEXT_LENGTH", "the context window in tokens, where the server does not tell it"),
    ("POOL_DEBUG", "lets the traceback of an unexpected error through"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "where configuration and state lie instead"),
    ("HOME", "your home; unset, the user database's, and for a user unknown there /tmp/pool-UID if it is private"),
)


MOST_CHOICES = 60
"""Characters of a list of choices that stands beside its flag: a line has no place to break in it. The help of a
flag says those of a longer one."""


def parser() -> argparse.ArgumentParser:
    """The flags of `pool man`."""
    p = argparse.ArgumentParser(
        prog="pool man", description="Print the manual page in the form of man(7): pool man | man -l -"
    )
    p.add_argument("--into", metavar="FILE", help="write FILE")
    return p


def main(argv: Sequence[str]) -> int:
    """Run `pool man`; returns the exit code."""
    try:
        args = parser().parse_args(list(argv))
    except SystemExit as error:
        return int(error.code or 0)
    text = page(whole())
    if not args.into:
        sys.stdout.write(text)
        return 0
    try:
        Path(args.into).write_text(text, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"pool man: {args.into!r} cannot be written: {error.strerror}\n")
        return EXIT_USAGE
    return 0


def page(root: Command) -> str:
    """The page as troff source."""
    text = "".join(f"{line}\n" for line in _lines(root))
    # Some help names folders of the person who runs it.
    return text.replace(_text(str(Places.usual(os.environ).user)), _text(USER_FOLDER))


def _lines(root: Command) -> Iterator[str]:
    yield f'.TH POOL 1 "" "Pool {__version__}" "User Commands"'
    yield from (".SH NAME", r"pool \- a terminal coding agent for people who run their own model")
    yield from (".SH SYNOPSIS", ".B pool", r"[\fIflags\fR] [\fIprompt\fR]", ".br", ".B pool", r"\fIcommand\fR ...")
    yield from (".SH DESCRIPTION", _text(root.description), *_options(root))
    yield ".SH COMMANDS"
    for command in root.actions:
        yield from _command(command)
    yield ".SH EXIT STATUS"
    for code, reasons in _codes().items():
        yield from (".TP", f".B {code}", _text(", ".join(reasons)))
    yield from (".TP", r".B 128+\fIn\fR", "ended by signal n")
    for title, rows in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        yield f".SH {title}"
        for name, text in rows:
            yield from (".TP", f".B {_text(name)}", _text(text))


def _codes() -> dict[int, list[str]]:
    codes: dict[int, list[str]] = {}
    for reason, code in STOP_TABLE.items():
        if reason is not StopReason.SIGNALLED:
            codes.setdefault(code.exit, []).append(reason.value.replace("_", " "))
    return codes


def _command(command: Command) -> Iterator[str]:
    yield f".SS pool {' '.join(command.words)}"
    yield _text(command.description or command.help)
    for action in command.actions:
        yield from (".TP", f".B {_text(' '.join(action.words[1:]))}{_arguments(action)}", _text(action.help))
        for flag in action.flags[1:]:
            yield from (".RS", ".TP", _named(flag), _text(flag.help), ".RE")
    yield from _options(command)
    if command.epilog:
        yield from (".PP", _text(" ".join(command.epilog.split())))


def _arguments(command: Command) -> str:
    return "".join(rf" \fI{_text(a.metavar)}\fR" for a in command.arguments)


def _options(command: Command) -> Iterator[str]:
    for option in (*command.arguments, *command.flags):
        yield from (".TP", _named(option), _text(option.help))


def _named(option: Option) -> str:
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.names)
    choices = "|".join(option.choices)
    value = (choices if 0 < len(choices) <= MOST_CHOICES else option.metavar) if option.metavar else ""
    shown = rf"\fI{_text(value)}\fR" if value else ""
    return f"{names}{' ' if names and shown else ''}{shown}" or r"\&"


def _text(text: str) -> str:
    """A text as troff takes it: hyphens stay hyphens, and no line begins with a control character."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE) or r"\&"
