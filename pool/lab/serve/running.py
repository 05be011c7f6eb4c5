"""`pool serve --run` and `--watch`: the last checks before a start, and the watch itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pool.config.files import Places
from pool.lab.serve.advice import Advice
from pool.lab.serve.container import LABEL, container_name
from pool.lab.serve.face import JsonFace, TextFace
from pool.lab.serve.health import taken
from pool.lab.serve.memory import step_tokens_of
from pool.lab.serve.setup import ServeError, Setup
from pool.lab.serve.shapes import GIB
from pool.lab.serve.texts import start_words, weights_lines
from pool.lab.serve.watch import Launch, Pace, Said, Watch
from pool_tools.text import size

EXIT_FAILED = 1
_RUNTIME_SECONDS = 60.0


def environment_for(advice: Advice, env: Mapping[str, str]) -> dict[str, str]:
    """The server's environment: the person's own, and what the set-up adds."""
    return {**env, **{name: value for name, value, _ in advice.command.env}}


def check_startable(advice: Advice, env: Mapping[str, str], *, download: bool) -> None:
    """Raises `ServeError` if the program is not there, the weights are not, or the disk is too small for them."""
    program = advice.command.program[0]
    if shutil.which(program, path=env.get("PATH")) is None:
        name = os.path.basename(program)
        raise ServeError(
            f"{program!r} cannot be run: it is not on the search path, or no program. For {name} in a virtual "
            "environment name that by --venv, or use --container docker"
        )
    for weights in advice.missing:
        if not weights.fits:
            need, free = size(weights.missing_bytes), size(weights.free_bytes)
            raise ServeError(f"{weights.repo}: {need} are still to fetch to {weights.place}, and {free} are free there")
        if not download:
            lines = "\n  ".join(weights_lines(weights))
            raise ServeError(f"{lines}\n  then start again; --download lets the server fetch them itself")


def run(advice: Advice, env: Mapping[str, str]) -> int:
    """Become the server. Does not return if that works."""
    words = advice.command.words
    try:
        os.execvpe(words[0], words, environment_for(advice, env))
    except OSError as error:
        sys.stderr.write(f"pool serve: {words[0]}: {error.strerror}\n")
    return EXIT_FAILED


def watch(advice: Advice, env: Mapping[str, str], pace: Pace, *, as_json: bool) -> int:
    """Start the server and keep it running until a signal; 0 if it was ended in order, 1 if it failed for good.

    Raises `ServeError` if something else listens on its port.
    """
    folder = Places.usual(env).state / "serve"
    port = urlsplit(advice.url).port or 80
    launch = Launch(advice.command.words, environment_for(advice, env), advice.url, folder / f"{port}.log", advice.stop)
    face = JsonFace(sys.stdout) if as_json else _text_face()
    times = StartTimes(folder / f"{port}.start", advice.command.words)
    _clear_container(advice, port)
    try:
        return asyncio.run(_watch(advice, launch, face, pace, times))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ServeError(f"{error.filename or launch.log}: {error.strerror}") from None


def _text_face() -> TextFace:
    live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return TextFace(sys.stdout, live=live, width=shutil.get_terminal_size().columns)


async def _watch(advice: Advice, launch: Launch, face: TextFace | JsonFace, pace: Pace, times: StartTimes) -> int:
    host, port = urlsplit(launch.url).hostname or "127.0.0.1", urlsplit(launch.url).port or 80
    if await taken(host, port):
        raise ServeError(f"something listens on {host}:{port} already; stop it, or name another --port")
    face(Said("begin", f"{advice.setup.title if advice.setup else 'your command'}, at {launch.url}"))
    face(Said("expect", f"time to wait: {start_words(advice.setup, times.last_seconds)}"))

    def say(said: Said) -> None:
        face(said)
        if said.kind == "ready":
            times.keep(said.data["seconds"])
            for more in _facts(advice.setup, said.data["facts"]):
                face(more)

    watching = Watch(launch, say, pace)
    with _signals(watching):
        return 0 if await watching.run() else EXIT_FAILED


@contextlib.contextmanager
def _signals(watching: Watch) -> Generator[None]:
    loop = asyncio.get_running_loop()
    # nohup has SIGHUP ignored, and means it.
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, watching.stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _facts(setup: Setup | None, facts: Mapping[str, float | str]) -> Iterator[Said]:
    """What the server says of itself, beside what was planned."""
    if backend := facts.get("moe_backend"):
        yield Said("fact", f"experts run on {backend}", {"moe_backend": backend})
    tokens, length, pool = (facts.get(name) for name in ("kv_tokens", "kv_length", "kv_gib"))
    if not (isinstance(tokens, float) and isinstance(length, float) and isinstance(pool, float)):
        return
    words = f"cache: {pool:g} GiB, {tokens:,.0f} tokens, {tokens / length:.2f} sessions of {length:,.0f}"
    data: dict[str, Any] = {"kv_gib": pool, "kv_tokens": tokens, "kv_length": length}
    if setup and setup.layout.exact:
        step = step_tokens_of(setup.layout, pool * GIB, int(tokens), int(length))
        planned = setup.pool_bytes / GIB
        data |= {"planned_gib": round(planned, 2), "step_tokens": step}
        words += f"; {planned:.1f} GiB were planned, and it counts with {step:,} tokens a step"
    yield Said("fact", words, data)


def _clear_container(advice: Advice, port: int) -> None:
    """End a container of ours that outlived its watch: a killed one leaves it to docker or podman."""
    if not advice.stop:
        return
    runtime, name = advice.stop[0], container_name(port)
    filters = ["--filter", f"name=^{name}$", "--filter", f"label={LABEL}"]
    found = _ask([runtime, "ps", "--quiet", *filters])
    if found:
        sys.stderr.write(f"pool serve: the container {name} still runs from an earlier watch; it is stopped first\n")
        _ask(list(advice.stop))


def _ask(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_RUNTIME_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServeError(f"{' '.join(words)}: {error}") from None
    if done.returncode:
        raise ServeError(f"{' '.join(words)}: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return done.stdout.strip()


class StartTimes:
    """How long the last start of the same command took, kept in a file; what cannot be kept is not."""

    def __init__(self, file: Path, words: list[str]) -> None:
        self._file = file
        self._words = words
        self.last_seconds = self._read()

    def keep(self, seconds: float) -> None:
        """Keep a start's time."""
        with contextlib.suppress(OSError):
            self._file.write_text(json.dumps({"words": self._words, "seconds": seconds}), encoding="utf-8")

    def _read(self) -> float:
        try:
            kept: Any = json.loads(self._file.read_text(encoding="utf-8"))
            return float(kept["seconds"]) if kept["words"] == self._words else 0.0
        except (OSError, ValueError, TypeError, KeyError):
            return 0.0
