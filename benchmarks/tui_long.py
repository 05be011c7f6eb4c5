"""The whole interface in a long session, and over many replies.

    python benchmarks/tui_long.py [--messages 5000] [--replies 0] [--tokens 20000] [--rate 1000]

Makes a session of so many messages by a real run of commands, and another of 10; goes on with each in the interface, in
a pseudo-terminal of 120x40: seconds from exec to its last words on the screen beside those of an empty prompt, and CPU
of a reply of 1,600 tokens at 80 a second then. With --replies it lets the model write so many replies of --tokens at
--rate one after the other instead, and tells the memory after each.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from tui_start import Program, Started
from tui_stream import END_MARK
from tui_whole import LONG_RUN, serve

FEW_MESSAGES = 10
SLOW_TOKENS = 1600
SLOW_RATE = 80.0
QUIET_SECONDS = 1.5
LONGEST_SECONDS = 900.0
READY = "What is to be done"
FLAGS = ("--mode", "allow-all", "--sandbox", "off", "--max-turns", "0")


class ModelServer:
    """A scripted server in a process of its own."""

    def __init__(self, rate: float, tokens: int, turns: int) -> None:
        heard, tell = multiprocessing.Pipe(duplex=False)
        self._process = multiprocessing.Process(target=serve, args=(tell, rate, tokens, turns), daemon=True)
        self._process.start()
        self.url = f"http://127.0.0.1:{int(heard.recv()[1])}/v1"
        self._heard: Connection = heard

    def has_said(self) -> bool:
        """Whether a reply was sent whole since this was asked last."""
        said = False
        while self._heard.poll():
            said = self._heard.recv()[0] == "said" or said
        return said

    def end(self) -> None:
        self._process.terminate()
        self._process.join()


def make_session(home: Path, messages: int) -> None:
    """A run of `pool run` with a command in each turn."""
    (home / "work").mkdir(parents=True)
    server = ModelServer(0.0, 0, messages // 2 - 1)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("POOL_", "XDG_"))}
    env |= LONG_RUN | {"HOME": str(home), "POOL_BASE_URL": server.url, "POOL_BUDGETS_SECONDS": "0"}
    command = [sys.executable, "-m", "pool", "run", "Write it.", *FLAGS]
    process = subprocess.Popen(command, cwd=home / "work", env=env, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        server.has_said()
        time.sleep(0.05)
    server.end()
    if process.returncode:
        raise RuntimeError(f"the run ended with {process.returncode}")


def opened(home: Path, url: str, words: str, *flags: str) -> tuple[Started, float]:
    """The interface, once words are on the screen, and the seconds that took."""
    command = [sys.executable, "-m", "pool", *FLAGS[:-2], "--max-turns", "1000", *flags]
    started = Started(Program("pool", words, command, LONG_RUN | {"POOL_BASE_URL": url}), home)
    return started, started.wait_for(words)


def reply(started: Started, server: ModelServer) -> float:
    """Ask for a reply and wait for its end; CPU seconds from Enter until it is shown and quiet."""
    server.has_said()
    before, end = started.cpu(), time.monotonic() + LONGEST_SECONDS
    for key in "Write it.\r":
        started.type(key)
        started.drain(0.05)
    while not server.has_said():
        started.drain(0.05)
        started.raw = b""
        if time.monotonic() > end:
            raise TimeoutError("the end of the answer never came")
    started.drain(QUIET_SECONDS)
    return started.cpu() - before


def long_session(folder: Path, messages: int) -> None:
    server = ModelServer(SLOW_RATE, SLOW_TOKENS, 0)
    costs: list[float] = []
    for count in (FEW_MESSAGES, messages):
        home = folder / str(count)
        make_session(home, count)
        empty, ready = opened(home, server.url, READY)
        empty.end()
        started, shown = opened(home, server.url, END_MARK, "-c")
        started.drain(QUIET_SECONDS)
        before = started.megabytes()
        costs.append(reply(started, server))
        print(f"{count} messages: prompt after {ready:.2f} s, resumed after {shown:.2f} s; ", end="")
        print(f"{before:.0f} MB, after a reply {started.megabytes():.0f} MB; reply {costs[-1]:.2f} CPU s", flush=True)
        started.end()
    server.end()
    print(f"cost of a token, {messages} messages to {FEW_MESSAGES}: {costs[1] / costs[0]:.2f}")
    print(f"load {os.getloadavg()[0]:.1f}")


def many_replies(folder: Path, replies: int, tokens: int, rate: float) -> None:
    server = ModelServer(rate, tokens, 0)
    (folder / "many" / "work").mkdir(parents=True)
    started, _ = opened(folder / "many", server.url, READY)
    started.drain(QUIET_SECONDS)
    began = time.monotonic()
    print(f"before: {started.megabytes():.0f} MB", flush=True)
    for number in range(1, replies + 1):
        cpu = reply(started, server)
        print(f"{number}: {time.monotonic() - began:.0f} s, {started.megabytes():.0f} MB, {cpu:.1f} CPU s", flush=True)
    started.end()
    server.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--replies", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=1000.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.replies:
            many_replies(Path(folder), options.replies, options.tokens, options.rate)
        else:
            long_session(Path(folder), options.messages)


if __name__ == "__main__":
    main()
