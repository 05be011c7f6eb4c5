"""`pool keys`: what this terminal really sends for each key, what Pool takes it for, and what that does."""

from __future__ import annotations

import codecs
import os
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from pool.tui.keys import APP_KEYS, DEFAULTS, PROMPT_KEYS, Bound, shown
from pool_tools.frozen import frozen

TWICE_SECONDS = 2.0
"""A second Ctrl-C within this time ends it."""

WAIT_SECONDS = 0.05
"""How long to wait for more of a key that has begun."""

TMUX_SECONDS = 2.0

BYTES_COLUMNS, NAME_COLUMNS = 22, 18

ON = "\x1b[>25u\x1b[?2004h"
"""What the interface asks of the terminal: keys that can be told apart (kitty's protocol), pastes marked."""

OFF = "\x1b[<u\x1b[?2004l"

INTERRUPT = "ctrl+c"


@frozen
class Pressed:
    """A key or a paste: the characters that came, and Textual's name of the key, "" for what it does not know."""

    sent: str
    name: str
    typed: str = ""
    pasted: int = 0


class Reader:
    """Takes characters apart into keys, each with what was sent for it."""

    def __init__(self) -> None:
        self._parser = XTermParser()
        self._sent = ""

    def feed(self, text: str) -> Iterator[Pressed]:
        """The keys that text completes."""
        for character in text:
            self._sent += character
            yield from self._taken(self._parser.feed(character))

    def settle(self) -> Iterator[Pressed]:
        """The keys that are complete because nothing followed."""
        yield from self._taken(self._parser.tick())

    def _taken(self, found: Iterable[Message]) -> Iterator[Pressed]:
        for event in found:
            match event:
                case events.Key():
                    yield Pressed(
                        self._sent, event.key, event.character if event.is_printable and event.character else ""
                    )
                case events.Paste():
                    yield Pressed(self._sent, "paste", pasted=len(event.text))
                case _:
                    yield Pressed(self._sent, "")
            self._sent = ""


def line(pressed: Pressed, bound: Bound) -> str:
    """A key as a line for people."""
    sent = pressed.sent.encode("unicode_escape").decode().replace("\\x1b", "ESC ")
    if len(sent) > BYTES_COLUMNS - 1:
        sent = sent[: BYTES_COLUMNS - 4] + "..."
    if pressed.pasted:
        return f"{sent:<{BYTES_COLUMNS}}{'':<{NAME_COLUMNS}}a paste of {pressed.pasted:,} characters"
    return f"{sent:<{BYTES_COLUMNS}}{pressed.name:<{NAME_COLUMNS}}{meaning(pressed, bound)}"


def meaning(pressed: Pressed, bound: Bound) -> str:
    """What a key does in the prompt box."""
    for key in (*APP_KEYS, *PROMPT_KEYS):
        if pressed.name in bound[key.id]:
            return f"{key.id}: {key.help}"
    if pressed.typed:
        return "typed"
    return "nothing, or moves and deletes in the box" if pressed.name else "a report of the terminal"


def warnings(environ: Mapping[str, str]) -> list[str]:
    """What is known to keep keys apart from Pool in this terminal."""
    if not environ.get("TMUX"):
        return []
    value = _tmux_option("extended-keys")
    if value in ("on", "always"):
        return []
    return [
        f"tmux has extended-keys {value or 'off'}: Shift+Enter comes as Enter. Ctrl+J makes a new line.",
        "To tell them apart, put into ~/.tmux.conf: set -s extended-keys on",
    ]


def _tmux_option(name: str) -> str:
    if (tmux := shutil.which("tmux")) is None:
        return ""
    try:
        done = subprocess.run(
            [tmux, "show-options", "-sv", name], capture_output=True, text=True, timeout=TMUX_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def show_keys(bound: Bound = DEFAULTS) -> int:
    """Show keys until Ctrl-C is pressed twice; returns the exit code."""
    out = sys.stdout
    out.write(f"Press keys; {shown(INTERRUPT)} twice ends.\n")
    for warning in warnings(os.environ):
        out.write(f"{warning}\n")
    out.write(f"\n{'sent':<{BYTES_COLUMNS}}{'name':<{NAME_COLUMNS}}does\n")
    out.flush()
    last = -TWICE_SECONDS
    with _raw():
        for pressed in _keys(sys.stdin.fileno()):
            # The terminal does not turn a line end into two any more.
            out.write(line(pressed, bound) + "\r\n")
            out.flush()
            if pressed.name == INTERRUPT:
                if time.monotonic() - last < TWICE_SECONDS:
                    return 0
                last = time.monotonic()
    return 0


def _keys(handle: int) -> Iterator[Pressed]:
    """Keys from a terminal in raw mode, until it is gone."""
    reader, decode = Reader(), codecs.getincrementaldecoder("utf-8")("replace").decode
    while True:
        if select.select([handle], [], [], WAIT_SECONDS)[0]:
            try:
                data = os.read(handle, 4096)
            except OSError:
                return
            if not data:
                return
            yield from reader.feed(decode(data))
        else:
            yield from reader.settle()


@contextmanager
def _raw() -> Generator[None]:
    """The terminal as the interface has it; given back as it was, also when somebody ends the program."""
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    handlers = {n: signal.signal(n, _leave) for n in (signal.SIGTERM, signal.SIGHUP)}
    now = termios.tcgetattr(handle)
    now[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
    now[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    try:
        termios.tcsetattr(handle, termios.TCSANOW, now)
        sys.stdout.write(ON)
        sys.stdout.flush()
        yield
    finally:
        sys.stdout.write(OFF)
        sys.stdout.flush()
        termios.tcsetattr(handle, termios.TCSANOW, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
