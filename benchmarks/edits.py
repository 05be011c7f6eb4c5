"""What hooks and diagnostics cost an edit: seconds around one, in the sandbox that works here.

python benchmarks/edits.py [--runs N]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pool.agent.confinement import confine
from pool.agent.hooking import HookedCall, SessionHooks
from pool.agent.hub import EventHub
from pool.config.checkers import LanguageServer
from pool.config.diagnostics import DiagnosticsSettings
from pool.config.hooks import Hook, HookPoint
from pool.config.settings import Settings
from pool.extend.diagnostics.session import Diagnostics
from pool.extend.hooks.running import HookPlaces
from pool_tools.commands import Commands
from pool_tools.toolbox import Toolbox
from pool_tools.workspace import Workspace

SECONDS = 60.0
LINES = 300
"""Lines of the Python file that is edited."""

CASES = {
    "ruff, unasked": DiagnosticsSettings(seconds=SECONDS),
    "pyright": DiagnosticsSettings(("pyright",), seconds=SECONDS),
    "ruff server": DiagnosticsSettings(
        (), servers=(LanguageServer("ruff", "ruff server", ("*.py",), "python"),), seconds=SECONDS
    ),
    "pyright-langserver": DiagnosticsSettings(
        (), servers=(LanguageServer("pyright", "pyright-langserver --stdio", ("*.py",), "python"),), seconds=SECONDS
    ),
}


async def main(runs: int) -> None:
    """Print a table: the first edit, and the median of those after it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text("[tool.ruff]\n")
        async with AsyncExitStack() as stack:
            confinement = await confine(Settings(folder), stack)
            workspace = Workspace(folder)
            stack.callback(workspace.close)
            toolbox = Toolbox(workspace, confinement.found.sandbox, None, confinement.network)
            stack.push_async_callback(toolbox.close)
            print(f"sandbox {confinement.found.tier}; seconds: first edit, median of {runs} more")
            for what, settings in CASES.items():
                checks = Diagnostics(settings, toolbox.commands, print, unconfined=False)
                await _told(what, runs, _edits(folder, checks))
                await checks.close()
            await _told("a hook, `true`", runs, _hooked(toolbox.commands))


def _edits(folder: Path, checks: Diagnostics) -> Callable[[int], Coroutine[Any, Any, None]]:
    path = folder / "a.py"
    path.write_text(_source(0))

    async def edit(number: int) -> None:
        await checks.before({"path": "a.py"})
        path.write_text(_source(number + 1))
        await checks.after({"path": "a.py"})

    return edit


def _source(number: int) -> str:
    return "".join(f"def f{i}(x: int) -> int:\n    return x + {number}\n\n\n" for i in range(LINES // 4))


def _hooked(commands: Commands) -> Callable[[int], Coroutine[Any, Any, None]]:
    hook = Hook("true", HookPoint.BEFORE_TOOL, "true")
    hooks = SessionHooks([hook], HookPlaces(commands), EventHub("bench"), lambda: "auto", resumed=False)

    async def run(number: int) -> None:
        await hooks.before_tool(HookedCall("c1", "read", {"path": "a.py"}, "read", {"path": "a.py"}, {}))

    return run


async def _told(what: str, runs: int, work: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    times: list[float] = []
    for number in range(runs + 1):
        began = time.monotonic()
        await work(number)
        times.append(time.monotonic() - began)
    print(f"| {what} | {times[0]:.2f} | {statistics.median(times[1:]):.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    asyncio.run(main(parser.parse_args().runs))
