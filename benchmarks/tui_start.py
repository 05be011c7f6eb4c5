"""From exec to a prompt that can be typed into: `pool` beside a bare Textual app, one after the other in each round.

    python benchmarks/tui_start.py [--runs 15] [--idle 20] [NAME=COMMAND ...]

Each start is in a pseudo-terminal of its own (120x40) and a home of its own. *shown*: until the prompt's words are on
the terminal; *typed*: until a key that is pressed then is there too; CPU is the process's at each of the two. The bare
app is an input line and a log. NAME=COMMAND measures another program too; its words are given as NAME/WORDS=COMMAND.
--idle takes that many seconds of one start of each, once it has been quiet for 5: CPU and memory.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

BARE = """
from textual.app import App
from textual.widgets import Input, RichLog


class Bare(App):
    CSS = "Input { dock: bottom; } RichLog { height: 1fr; }"

    def compose(self):
        yield RichLog()
        yield Input(placeholder="Type here")

    def on_mount(self):
        self.query_one(Input).focus()


Bare().run()
"""

KEY = "Q"
LONGEST_SECONDS = 20.0
SETTLED_SECONDS = 5.0
ESCAPE = re.compile(rb"\x1b(\[[0-9;?<>=:]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_].*?\x1b\\|.)", re.DOTALL)
ANSWERS = {b"\x1b[c": b"\x1b[?62;22c", b"\x1b]11;?": b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\", b"\x1b[6n": b"\x1b[1;1R"}
"""What a terminal says when it is asked."""


@dataclass
class Program:
    name: str
    words: str
    command: list[str]
    env: dict[str, str] = field(default_factory=dict[str, str])
    shown: list[float] = field(default_factory=list[float])
    typed: list[float] = field(default_factory=list[float])
    cpu_shown: list[float] = field(default_factory=list[float])
    cpu_typed: list[float] = field(default_factory=list[float])
    idle: str = ""


class Started:
    """One start, in a pseudo-terminal that answers like a terminal."""

    def __init__(self, program: Program, home: Path) -> None:
        left_out = ("POOL_", "XDG_", "TMUX", "PYTHONDONTWRITEBYTECODE")
        env = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        env |= {"HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor"} | program.env
        self.began = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home / "work")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            os.execvpe(program.command[0], program.command, env)
        self.raw = b""

    def wait_for(self, text: str) -> float:
        """Read until text is among what was drawn; the seconds since exec. Raises if it never comes."""
        end = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < end:
            self.read(0.05)
            if text.encode() in ESCAPE.sub(b"", self.raw):
                return time.monotonic() - self.began
        raise TimeoutError(f"{text!r} never came: {self.raw[-300:]!r}")

    def read(self, seconds: float) -> None:
        """Take what the program writes, waiting so long at most."""
        if select.select([self.fd], [], [], seconds)[0]:
            data = os.read(self.fd, 1 << 16)
            for asked, answer in ANSWERS.items():
                if asked in data:
                    os.write(self.fd, answer)
            self.raw += data

    def type(self, key: str) -> None:
        self.raw = b""
        os.write(self.fd, key.encode())

    def drain(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def cpu(self) -> float:
        """Seconds, user and system, of all its threads."""
        text = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def end(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def start(program: Program, home: Path, idle: float) -> None:
    started = Started(program, home)
    try:
        program.shown.append(started.wait_for(program.words))
        program.cpu_shown.append(started.cpu())
        started.type(KEY)
        program.typed.append(started.wait_for(KEY))
        program.cpu_typed.append(started.cpu())
        if idle and not program.idle:
            started.drain(SETTLED_SECONDS)
            before = started.cpu()
            started.drain(idle)
            used = 100 * (started.cpu() - before) / idle
            program.idle = f"idle {used:.2f} % CPU, {started.megabytes():.0f} MB"
    finally:
        started.end()


def figures(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} [{min(values):.3f}-{max(values):.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--idle", type=float, default=0.0)
    parser.add_argument("others", nargs="*", metavar="NAME/WORDS=COMMAND")
    options = parser.parse_args()
    programs = [
        Program("bare", "Type here", [sys.executable, "-c", BARE]),
        Program("pool", "What is to be done", [sys.executable, "-m", "pool"]),
    ]
    for other in options.others:
        head, _, command = other.partition("=")
        name, _, words = head.partition("/")
        programs.append(Program(name, words, shlex.split(command)))
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            (Path(folder) / program.name / "work").mkdir(parents=True)
        for number in range(options.runs + 1):
            for program in programs:
                start(program, Path(folder) / program.name, options.idle if number else 0.0)
                if not number:  # the first round fills caches
                    program.shown, program.typed, program.cpu_shown, program.cpu_typed = [], [], [], []
    load = os.getloadavg()[0]
    for p in programs:
        print(f"{p.name}: shown {figures(p.shown)} s, CPU {figures(p.cpu_shown)}; ", end="")
        print(f"typed {figures(p.typed)} s, CPU {figures(p.cpu_typed)}; {p.idle}")
    bare = programs[0]
    for p in programs[1:]:
        best, middle = min(p.shown) / min(bare.shown), statistics.median(p.shown) / statistics.median(bare.shown)
        pairs = statistics.median(a / b for a, b in zip(p.shown, bare.shown, strict=True))
        print(f"{p.name} to bare, shown: best {best:.2f}, median {middle:.2f}, median of pairs {pairs:.2f}", end="")
        print(f"; load {load:.1f}")


if __name__ == "__main__":
    main()
