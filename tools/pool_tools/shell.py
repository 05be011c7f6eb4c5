"""The tool `shell`: one command in a fresh shell, confined, bounded in time and output, with nothing left behind."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pool_tools.api import Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import number_argument, text_argument
from pool_tools.blocking import run_blocking
from pool_tools.capture import OutputCapture
from pool_tools.colours import PeopleText, last_frames
from pool_tools.commands import Commands
from pool_tools.denials import explain, explain_landlock, missed_hosts
from pool_tools.foreign import Foreign, tell_changes, tell_earlier
from pool_tools.limits import SHELL_SECONDS, SHELL_SECONDS_MOST
from pool_tools.network.traffic import Flow
from pool_tools.process import Ended
from pool_tools.sandbox.landlock import Landlock
from pool_tools.secretenv import secrets_note, wanted_secrets, with_secrets
from pool_tools.spill import Spills
from pool_tools.supervisor import SIGNALLED
from pool_tools.text import few, printable, visible

LIVE_SECONDS = 0.1
"""Live output is delivered at most this often."""

LIVE_BYTES = 16 * 1024
"""As much raw output is looked through for colours in one delivery, its last bytes."""

_COLOUR = re.compile(rb"(?:\x1b\[|\xc2\x9b)[0-9;:]*m")

REFUSALS_TOLD, FLOWS_TOLD = 3, 100
"""So many of a command's refused connections the model is told of, and so many of all its connections are kept."""

PROGRAMS_TOLD = 10
"""So many programs are named that a command had left running."""

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
            "over. No terminal and no input. Processes left in the background end with the call: use job for them. A "
            "sandbox may limit writing to the workspace and /tmp and switch the network off."
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

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._spills = Spills(commands.scratch)
        self.spec = with_secrets(ShellTool.spec, commands.secrets)

    def preview(self, args: Mapping[str, Any]) -> Preview:
        command, seconds, _ = _arguments(args)
        title = f"Run in {visible(str(self._commands.folder))}"
        given = secrets_note(args, self._commands.secrets)
        return Preview("command", f"{title}, {seconds:.0f} s at most{given}", printable(command))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        command, seconds, note = _arguments(args)
        capture = OutputCapture(self._spills)
        live = _Live(capture, output)
        earlier = await run_blocking(tell_earlier, self._commands.workspace)
        try:
            given = wanted_secrets(args)
            ended = await self._commands.shell(command, seconds, live.feed, secrets=given)
        finally:
            live.close()
        foreign = await run_blocking(tell_changes, self._commands.workspace)
        flows = await self._commands.flows()
        foreign = replace(foreign, text="\n".join(text for text in (earlier, foreign.text) if text))
        return self._result(ended, capture, foreign, flows, seconds, note)

    def _result(
        self,
        ended: Ended,
        capture: OutputCapture,
        foreign: Foreign,
        flows: Sequence[Flow],
        limit: float,
        note: str,
    ) -> ToolResult:
        text = capture.text()
        ok = ended.status == 0 and not ended.timed_out
        folder = visible(str(self._commands.folder))
        parts = [f"{_headline(ended, limit)} in {folder}"]
        parts.append(text.rstrip("\n") if text.strip() else "(no output)")
        notes = [note] if note else []
        notes += [f"put back by the sandbox: {visible(what)}" for what in ended.restored]
        if ended.left:
            notes.append(f"left running and ended with the call: {few(sorted(set(ended.left)), PROGRAMS_TOLD)}")
        if not ok:
            notes += [hint for pattern, hint in _HINTS if pattern.search(text)]
            if self._commands.sandbox.contains_processes:
                notes += explain(text, self._commands.reach())
            elif isinstance(self._commands.sandbox, Landlock):
                notes += explain_landlock(text, self._commands.reach())
        notes += _refusals(flows)
        parts += [f"[{n}]" for n in notes]
        if foreign.text:
            parts.append(foreign.text)
        data: dict[str, Any] = {
            "exit_status": ended.status,
            "seconds": round(ended.seconds, 3),
            "timed_out": ended.timed_out,
            "killed": ended.killed,
            "left_running": list(ended.left),
            "restored": list(ended.restored),
            "truncated": capture.truncated,
            "output_bytes": capture.bytes,
            "output_file": capture.spilled,
            "cwd": str(self._commands.folder),
            "sandbox": self._commands.sandbox.name,
        }
        if not ok and not self._commands.only_reading() and (missed := missed_hosts(text)) is not None:
            data["missed_network"] = missed
        if flows:
            data["network"] = [asdict(flow) for flow in flows[-FLOWS_TOLD:]]
        return ToolResult(ok, "\n".join(parts), data, foreign.changes)


def _refusals(flows: Sequence[Flow]) -> list[str]:
    reasons = list(dict.fromkeys(flow.refused for flow in flows if flow.refused))
    more = [f"and {len(reasons) - REFUSALS_TOLD} more refusals"] if len(reasons) > REFUSALS_TOLD else []
    return [f"Stopped by the sandbox's network: {visible(reason)}" for reason in reasons[:REFUSALS_TOLD]] + more


def command_argument(args: Mapping[str, Any]) -> str:
    """The parameter `command`. Raises `ToolError` for what no shell can run."""
    command = text_argument(args, "command")
    if not command.strip():
        raise ToolError("`command` is empty.")
    if "\0" in command:
        raise ToolError("`command` holds a NUL character, which no command can. Use printf '\\0' in it.")
    return command


def _arguments(args: Mapping[str, Any]) -> tuple[str, float, str]:
    """Command, time limit in seconds, and a note if the limit is not the one that was asked for."""
    command = command_argument(args)
    seconds = number_argument(args, "timeout", SHELL_SECONDS)
    if seconds > SHELL_SECONDS_MOST:
        return (
            command,
            SHELL_SECONDS_MOST,
            f"the time limit is {SHELL_SECONDS_MOST:.0f} s at most; use `job` for longer",
        )
    return command, seconds if seconds > 0 else SHELL_SECONDS, ""


def _headline(ended: Ended, limit: float) -> str:
    took = f"{ended.seconds:.1f} s"
    if ended.killed:
        return f"killed after {took}, since {ended.killed};"
    if ended.timed_out:
        return f"timed out after {limit:g} s while still running, and killed;"
    if ended.status is None:
        return f"failed: the command was not started, or all of its processes were killed, after {took}"
    return f"exit {ended.status}{signal_name(ended.status)} after {took}"


def signal_name(status: int) -> str:
    """` (SIGTERM)` for the status of a command killed by a signal: shells report n as 128 + n."""
    try:
        return f" ({signal.Signals(status - SIGNALLED).name})" if status > SIGNALLED else ""
    except ValueError:
        return ""


class _Live:
    """Feeds the capture and delivers live output, at most every `LIVE_SECONDS`: in colours where it has any."""

    def __init__(self, capture: OutputCapture, output: OutputSink) -> None:
        self._capture = capture
        self._output = output
        self._timer: asyncio.TimerHandle | None = None
        self._people = PeopleText()
        self._raw = b""

    def feed(self, data: bytes) -> None:
        self._capture.feed(data)
        self._raw = (self._raw + data[-LIVE_BYTES:])[-LIVE_BYTES:]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LIVE_SECONDS, self._deliver)

    def _deliver(self) -> None:
        self._timer = None
        raw, self._raw = self._raw, b""
        plain, coloured = self._capture.live(), last_frames(self._people.feed(raw))
        if text := coloured if _COLOUR.search(raw) and not self._capture.binary else plain:
            self._output(text)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._capture.close()
        self._deliver()
