"""The tool `shell`: one command in a fresh shell, confined, bounded in time and output, with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from typing import Any

from pool_tools.api import Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import number_argument, text_argument
from pool_tools.blocking import run_blocking
from pool_tools.capture import OutputCapture
from pool_tools.denials import explain
from pool_tools.environment import clean_environment, find_program
from pool_tools.foreign import Foreign, tell_changes
from pool_tools.limits import SHELL_SECONDS, SHELL_SECONDS_MOST
from pool_tools.process import Ended, run_command
from pool_tools.sandbox.base import Sandbox
from pool_tools.supervisor import SIGNALLED
from pool_tools.text import printable, visible
from pool_tools.workspace import Workspace

LIVE_SECONDS = 0.1
"""Live output is delivered at most this often."""

_FALLBACK_SHELL = "/bin/sh"

_LONG_COMMAND_CHARS = 30_000
"""From here on a command may be too long for the system (Linux: 128 KiB an argument)."""

# What output means that a model tends to misread; looked for only when the command failed.
_HINTS = (
    (
        re.compile(r"failed to sign|signing failed|no secret key", re.IGNORECASE),
        "Signing needs the user. Do not switch it off; ask.",
    ),
    (
        re.compile(r"terminal is required|no tty|not a tty|cannot open /dev/tty|inappropriate ioctl", re.IGNORECASE),
        "There is no terminal: nothing can ask for a password or a key press.",
    ),
)


class ShellTool:
    """Runs commands. The rule for the working folder: always the workspace's root, whatever earlier calls did."""

    spec = ToolSpec(
        name="shell",
        description=(
            "Run a bash command. Each call is a fresh shell in the workspace folder: cd and variables do not carry "
            "over. No terminal and no input. Processes left in the background end with the call. A sandbox may limit "
            "writing to the workspace and /tmp and switch the network off."
        ),
        parameters={
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "Command line or script"},
                "timeout": {
                    "type": "integer",
                    "description": f"Seconds, default {SHELL_SECONDS:.0f}, at most {SHELL_SECONDS_MOST:.0f}",
                },
            },
            "required": ["command"],
        },
        effect=Effect.EXECUTE,
    )

    def __init__(self, workspace: Workspace, sandbox: Sandbox, extra_env: Mapping[str, str] | None = None) -> None:
        """extra_env are variables that the user wants commands to have."""
        self._workspace = workspace
        self._sandbox = sandbox
        self._extra_env = dict(extra_env or {})
        self._running: set[asyncio.Task[Any]] = set()

    def preview(self, args: Mapping[str, Any]) -> Preview:
        command, seconds, _ = _arguments(args)
        title = f"Run in {visible(str(self._workspace.root))}"
        return Preview("command", f"{title}, {seconds:.0f} s at most", printable(command))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        command, seconds, note = _arguments(args)
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            return await self._run(command, seconds, note, output)
        finally:
            self._running.discard(task)

    async def close(self) -> None:
        """End the calls that are running and wait until their processes are gone."""
        tasks = self._running - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, command: str, seconds: float, note: str, output: OutputSink) -> ToolResult:
        env = clean_environment(os.environ, self._extra_env)
        search_path = env.get("PATH", os.defpath)
        shell = find_program("bash", search_path, self._workspace.roots) or _FALLBACK_SHELL
        # A sandbox that is still being probed would block here.
        await asyncio.to_thread(lambda: self._sandbox.name)
        capture = OutputCapture()
        live = _Live(capture, output)
        try:
            ended = await run_command(
                (shell, "-c", command), self._workspace.root, env, self._sandbox, seconds, live.feed
            )
        except OSError as error:
            remedy = " Write long text to a file with `write`." if len(command) > _LONG_COMMAND_CHARS else ""
            raise ToolError(f"The command could not be started: {error.strerror or error}.{remedy}") from None
        finally:
            live.close()
        foreign = await run_blocking(tell_changes, self._workspace)
        return self._result(ended, capture, foreign, seconds, note)

    def _result(self, ended: Ended, capture: OutputCapture, foreign: Foreign, limit: float, note: str) -> ToolResult:
        text = capture.text()
        ok = ended.status == 0 and not ended.timed_out
        folder = visible(str(self._workspace.root))
        parts = [f"{_headline(ended, limit)} in {folder}"]
        parts.append(text.rstrip("\n") if text.strip() else "(no output)")
        notes = [note] if note else []
        if ended.left:
            names = ", ".join(visible(name) for name in sorted(set(ended.left)))
            notes.append(f"left running and ended with the call: {names}")
        if not ok:
            notes += [hint for pattern, hint in _HINTS if pattern.search(text)]
            notes += explain(text) if self._sandbox.contains_processes else []
        parts += [f"[{n}]" for n in notes]
        if foreign.text:
            parts.append(foreign.text)
        data: dict[str, Any] = {
            "exit_status": ended.status,
            "seconds": round(ended.seconds, 3),
            "timed_out": ended.timed_out,
            "left_running": list(ended.left),
            "truncated": capture.truncated,
            "output_bytes": capture.bytes,
            "cwd": str(self._workspace.root),
            "sandbox": self._sandbox.name,
        }
        return ToolResult(ok, "\n".join(parts), data, foreign.changes)


def _arguments(args: Mapping[str, Any]) -> tuple[str, float, str]:
    """Command, time limit in seconds, and a note if the limit is not the one that was asked for."""
    command = text_argument(args, "command")
    if not command.strip():
        raise ToolError("`command` is empty.")
    if "\0" in command:
        raise ToolError("`command` holds a NUL character, which no command can. Use printf '\\0' in it.")
    seconds = number_argument(args, "timeout", SHELL_SECONDS)
    if seconds > SHELL_SECONDS_MOST:
        return command, SHELL_SECONDS_MOST, f"the time limit is {SHELL_SECONDS_MOST:.0f} s at most"
    return command, seconds if seconds > 0 else SHELL_SECONDS, ""


def _headline(ended: Ended, limit: float) -> str:
    took = f"{ended.seconds:.1f} s"
    if ended.timed_out:
        return f"timed out after {limit:g} s while still running, and killed;"
    if ended.status is None:
        return f"failed: the command was not started, or all of its processes were killed, after {took}"
    return f"exit {ended.status}{_signal_name(ended.status)} after {took}"


def _signal_name(status: int) -> str:
    """Shells report a command killed by signal n as 128 + n."""
    try:
        return f" ({signal.Signals(status - SIGNALLED).name})" if status > SIGNALLED else ""
    except ValueError:
        return ""


class _Live:
    """Feeds the capture and delivers live output, at most every `LIVE_SECONDS`."""

    def __init__(self, capture: OutputCapture, output: OutputSink) -> None:
        self._capture = capture
        self._output = output
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        self._capture.feed(data)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LIVE_SECONDS, self._deliver)

    def _deliver(self) -> None:
        self._timer = None
        if text := self._capture.live():
            self._output(text)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._capture.close()
        self._deliver()
