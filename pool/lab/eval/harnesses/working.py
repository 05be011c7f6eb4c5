"""Running another agent on a task: its files written, its process in the sandbox, its requests recorded.

The process reaches the recorder and nothing else of the network. It may write the task's tree and a home that is made
for the run; what must stay hidden from it is. Where no sandbox works here, the run says so.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from pool.lab.eval.harnesses.description import Harness, HarnessProblem, Launch
from pool.lab.eval.harnesses.record import Figures, answer, figures, trajectory
from pool.lab.eval.harnesses.recorder import Recording, first_model, recording
from pool_tools.api import ToolError
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.home import expanded
from pool_tools.network.choice import network_for
from pool_tools.network.proxy import open_proxy
from pool_tools.network.session import SessionNetwork
from pool_tools.process import Ended
from pool_tools.sandbox.base import NoSandbox, Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace

KEY = "pool-eval"
"""The key that an agent is given. The recorder puts the user's in its place."""

UNCONFINED = "none: "
"""How the words for what confines an agent begin where nothing does."""

VERSION_SECONDS = 60.0
VERSION_CHARS = 80
OUTPUT_BYTES = 200_000
"""So much of an agent's own output is kept, from its end."""


@frozen
class HarnessTask:
    """What an agent is to do: prompt, in the tree work. home is a folder for it alone. hidden it must not see.
    Without a sandbox nothing is run, unless unconfined.

    server is the address, with /v1; model "" is the server's first; key is the user's, "" for none. most_turns 0 is no
    limit.
    """

    prompt: str
    work: Path
    home: Path
    server: str
    model: str
    key: str = ""
    seconds: float = 900.0
    most_turns: int = 0
    hidden: Sequence[Path] = ()
    unconfined: bool = False


@frozen
class HarnessRun:
    """How it went. ended is `completed`, `max_turns`, `max_seconds` or `failed`, with the process's status in words.

    trajectory is ATIF; sandbox says what confined the process.
    """

    ended: str
    detail: str
    answer: str
    seconds: float
    figures: Figures
    trajectory: dict[str, object]
    output: str
    sandbox: str
    version: str = ""
    model: str = ""


async def run_harness(harness: Harness, task: HarnessTask) -> HarnessRun:
    """Work a task with another agent. Raises `HarnessProblem` where it is not installed, and `OSError`."""
    program = shutil.which(harness.program)
    if program is None:
        raise HarnessProblem(f"{harness.name}: there is no program {harness.program!r} on PATH; install it first")
    task.home.mkdir(parents=True, exist_ok=True)
    task = replace(task, model=task.model or await first_model(task.server, task.key))
    async with AsyncExitStack() as stack:
        kept = await stack.enter_async_context(recording(task.server, task.key, task.most_turns))
        launch = _launch(harness, task, kept)
        commands, confined = await _confined(harness, task, kept, Path(program), stack)
        if confined.startswith(UNCONFINED) and not task.unconfined:
            raise HarnessProblem(f"no sandbox works here for {harness.name}: {confined.removeprefix(UNCONFINED)}")
        version = await _version(commands, harness, launch)
        began = time.monotonic()
        ended, output = await _worked(commands, launch, task, kept)
        seconds = time.monotonic() - began
    how, detail = _how(ended, kept)
    exchanges = kept.exchanges
    return HarnessRun(
        how,
        detail,
        answer(exchanges),
        round(seconds, 3),
        figures(exchanges),
        trajectory(exchanges, harness.name, version, task.model),
        output,
        confined,
        version,
        task.model,
    )


def _launch(harness: Harness, task: HarnessTask, kept: Recording) -> Launch:
    """The command, with its files written."""
    prompt_file = task.home / "prompt.txt"
    values = {
        "prompt": task.prompt,
        "prompt_file": str(prompt_file),
        "base_url": f"{kept.url}/v1",
        "model": task.model,
        "key": KEY,
        "home": str(task.home),
        "work": str(task.work),
    }
    prompt_file.write_text(task.prompt, encoding="utf-8")
    launch = harness.launch(values)
    for name, content in launch.files.items():
        path = Path(name)
        if not path.is_absolute() or not path.is_relative_to(task.home):
            raise HarnessProblem(f"{harness.name}: [files] may name files below {{home}} alone, and not {name!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return launch


async def _confined(
    harness: Harness, task: HarnessTask, kept: Recording, program: Path, stack: AsyncExitStack
) -> tuple[Commands, str]:
    """Commands in the task's tree, and what confines them, in words."""
    port = urlsplit(kept.url).port
    network = await asyncio.to_thread(network_for, f"localhost:{port}", os.environ, (task.work,), task.home / "caches")
    assert network.allow is not None
    proxy = await stack.enter_async_context(open_proxy(network.allow, os.environ))
    policy = Policy(
        (task.work, task.home),
        hidden=tuple(task.hidden),
        allow=network.allow,
        proxy_folder=proxy.folder,
        readable=(*(expanded(path) for path in harness.readable), *_needed(program)),
    )
    found = await asyncio.to_thread(probe, policy)
    stack.callback(found.sandbox.close)
    session = SessionNetwork(found.sandbox, os.environ, (task.work,), task.home / "caches", network, proxy)
    stack.push_async_callback(session.close)
    workspace = Workspace(task.work, (task.home,))
    stack.callback(workspace.close)
    folders = {name: str(task.home / place) for name, place in _XDG.items()}
    commands = Commands(workspace, found.sandbox, {"HOME": str(task.home), **folders}, session)
    stack.push_async_callback(commands.close)
    return commands, f"{UNCONFINED}{found.reason}" if found.tier == NoSandbox.name else found.tier


_XDG = {
    "XDG_CONFIG_HOME": "xdg/config",
    "XDG_STATE_HOME": "xdg/state",
    "XDG_DATA_HOME": "xdg/data",
    "XDG_CACHE_HOME": "xdg/cache",
}
"""Beside the usual places in a home, some of which a sandbox holds read-only."""


def _needed(program: Path) -> tuple[Path, ...]:
    """The folders that a program is installed in: that of its name, and those of what the name leads to."""
    real = program.resolve()
    # A program of npm has the packages that it needs beside its own.
    packages = [folder for folder in real.parents if folder.name == "node_modules"]
    return tuple(dict.fromkeys((program.parent, packages[-1] if packages else real.parent.parent)))


async def _version(commands: Commands, harness: Harness, launch: Launch) -> str:
    if not harness.version:
        return ""
    program = shutil.which(harness.version[0])
    if program is None:
        return ""
    kept = _Tail()
    try:
        await commands.run((program, *harness.version[1:]), VERSION_SECONDS, kept.add, launch.env)
    except ToolError:
        return ""
    return kept.text.strip().partition("\n")[0][:VERSION_CHARS]


async def _worked(commands: Commands, launch: Launch, task: HarnessTask, kept: Recording) -> tuple[Ended | None, str]:
    """The process to its end, None where the limit of turns ended it; and its output."""
    output = _Tail()
    running = asyncio.create_task(commands.run(launch.argv, task.seconds, output.add, launch.env))
    over = asyncio.create_task(kept.over.wait())
    try:
        await asyncio.wait({running, over}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
            return None, output.text
        return running.result(), output.text
    except ToolError as error:
        raise HarnessProblem(str(error)) from None
    finally:
        over.cancel()
        if not running.done():
            running.cancel()
            await asyncio.wait({running})


class _Tail:
    """The last of an output."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take more."""
        self._data += data
        if len(self._data) > 2 * OUTPUT_BYTES:
            del self._data[:-OUTPUT_BYTES]

    @property
    def text(self) -> str:
        """It as text."""
        return bytes(self._data[-OUTPUT_BYTES:]).decode("utf-8", "replace")


def _how(ended: Ended | None, kept: Recording) -> tuple[str, str]:
    if ended is None or kept.over.is_set():
        return "max_turns", f"{kept.most} turns were used up"
    if ended.timed_out:
        return "max_seconds", "its time was up"
    if ended.status == 0:
        return "completed", ""
    return "failed", f"it ended with status {ended.status}"
