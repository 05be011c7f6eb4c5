"""The tool `job`: commands in the background, for servers and watchers, started and looked at by separate calls."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pool_tools.api import Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import number_argument, text_argument
from pool_tools.capture import HeadTail
from pool_tools.commands import Commands
from pool_tools.jobs import Job, Jobs
from pool_tools.limits import OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS
from pool_tools.secretenv import secrets_note, wanted_secrets, with_secrets
from pool_tools.shell import PROGRAMS_TOLD, command_argument, signal_name
from pool_tools.text import clip, few, plural, printable, visible

JOB_SECONDS = 3_600.0
JOB_SECONDS_MOST = 8 * 3_600.0
"""How long a job may run: by default, and the most that a call can ask for."""

START_SECONDS = 1.0
"""How long the start waits for first output, or for an early end."""

READ_SECONDS_MOST = 300.0
"""How long a reading may wait for new output."""

SHOWN_COMMAND_CHARS = 120


class Action(StrEnum):
    """What a call does with jobs."""

    START = "start"
    LIST = "list"
    READ = "read"
    STOP = "stop"


_READING = frozenset({Action.LIST, Action.READ})


class JobTool:
    """Runs commands in the background. They end with the session, at the latest."""

    spec = ToolSpec(
        name="job",
        description=(
            "Run a command in the background, for example a server. start gives an id; read gives output since the "
            "last read; list; stop. A server's port on 127.0.0.1 is reachable from later shell calls. Jobs end with "
            "the session."
        ),
        parameters={
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": [action.value for action in Action]},
                "command": {"type": "string", "description": "For start"},
                "id": {"type": "string", "description": "For read and stop"},
                "timeout": {
                    "type": "integer",
                    "description": (
                        f"Seconds. start: the job's lifetime, default {JOB_SECONDS:.0f}. read: wait so long for output"
                    ),
                },
            },
            "required": ["action"],
        },
        effect=Effect.EXECUTE,
    )

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._jobs = Jobs(commands)
        self.spec = with_secrets(JobTool.spec, commands.secrets)

    @property
    def jobs(self) -> Jobs:
        """All jobs that it knows."""
        return self._jobs

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """Looking at jobs changes nothing."""
        return Effect.READ if args.get("action") in _READING else Effect.EXECUTE

    def preview(self, args: Mapping[str, Any]) -> Preview:
        match _action(args):
            case Action.START:
                seconds = _lifetime(args)
                title = f"Run in the background in {visible(str(self._commands.folder))}, {seconds:.0f} s at most"
                title += secrets_note(args, self._commands.secrets)
                return Preview("command", title, printable(command_argument(args)))
            case Action.LIST:
                return Preview("text", "List jobs", "")
            case action:
                job = self._jobs.get(text_argument(args, "id"))
                verb = "Read" if action is Action.READ else "Stop"
                return Preview("text", f"{verb} job {job.id}", _shown(job))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        match _action(args):
            case Action.START:
                return await self._start(args, output)
            case Action.LIST:
                return self._list()
            case Action.READ:
                job = self._jobs.get(text_argument(args, "id"))
                seconds = min(max(0.0, number_argument(args, "timeout", 0.0)), READ_SECONDS_MOST)
                await self._jobs.wait(job, seconds)
            case Action.STOP:
                job = self._jobs.get(text_argument(args, "id"))
                await self._jobs.stop(job)
        return _result(job, output)

    @property
    def running(self) -> bool:
        """Whether a job runs just now."""
        return any(job.running for job in self._jobs.all())

    async def close(self) -> None:
        """End all jobs."""
        await self._jobs.close()

    async def _start(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        command = command_argument(args)
        lifetime = _lifetime(args)
        unreachable = await self._commands.share_network()
        job = self._jobs.start(command, lifetime, wanted_secrets(args))
        await self._jobs.wait(job, START_SECONDS)
        note = f"its ports cannot be reached from other calls: {unreachable}" if unreachable and job.running else ""
        return _result(job, output, note)

    def _list(self) -> ToolResult:
        jobs = self._jobs.all()
        lines = [f"{_state(job)}: {_shown(job)}{' [unread output]' if job.output.fresh else ''}" for job in jobs]
        data = [{"id": j.id, "command": j.command, "running": j.running, "seconds": round(j.seconds, 3)} for j in jobs]
        return ToolResult(True, "\n".join(lines) or "There are no jobs.", {"jobs": data})


def _action(args: Mapping[str, Any]) -> Action:
    given = text_argument(args, "action")
    try:
        return Action(given)
    except ValueError:
        raise ToolError(f"`action` must be one of {', '.join(Action)}, not {given!r}.") from None


def _lifetime(args: Mapping[str, Any]) -> float:
    seconds = number_argument(args, "timeout", JOB_SECONDS)
    return min(seconds, JOB_SECONDS_MOST) if seconds > 0 else JOB_SECONDS


def _shown(job: Job) -> str:
    return clip(visible(" ".join(job.command.split())), SHOWN_COMMAND_CHARS)


def _state(job: Job) -> str:
    took = f"{job.seconds:.1f} s"
    if job.running or job.ended is None:
        return f"job {job.id} running for {took}, {job.limit:.0f} s at most"
    if job.failure:
        return f"job {job.id} failed: {job.failure}"
    if job.stopped:
        return f"job {job.id} stopped after {took}"
    if job.ended.killed:
        return f"job {job.id} killed after {took}, since {job.ended.killed}"
    if job.ended.timed_out:
        return f"job {job.id} ended at its limit of {job.limit:g} s, still running then"
    if job.ended.status is None:
        return f"job {job.id} failed: it was not started, or all of its processes were killed, after {took}"
    return f"job {job.id} ended: exit {job.ended.status}{signal_name(job.ended.status)} after {took}"


def _result(job: Job, output: OutputSink, note: str = "") -> ToolResult:
    text, lost = job.output.read()
    output(text)
    parts = [f"{_state(job)}: {_shown(job)}"]
    if lost:
        parts.append(f"[{plural(lost, 'character')} of earlier output no longer kept]")
    parts.append(_capped(text).rstrip("\n") or "(no new output)")
    ended = job.ended
    notes = [note] if note else []
    notes += [f"put back by the sandbox: {visible(what)}" for what in job.restored]
    if ended and ended.left:
        notes.append(f"left running and ended with the job: {few(sorted(set(ended.left)), PROGRAMS_TOLD)}")
    parts += [f"[{text}]" for text in notes]
    data: dict[str, Any] = {
        "id": job.id,
        "command": job.command,
        "running": job.running,
        "seconds": round(job.seconds, 3),
        "exit_status": ended.status if ended else None,
        "timed_out": bool(ended and ended.timed_out),
        "stopped": job.stopped,
        "killed": ended.killed if ended else "",
        "left_running": list(ended.left) if ended else [],
        "restored": list(job.restored),
    }
    ok = job.running or job.stopped or bool(ended and ended.status == 0)
    return ToolResult(ok, "\n".join(parts), data)


def _capped(text: str) -> str:
    """A long text by its start and its end."""
    kept = HeadTail(OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS)
    kept.add(text)
    head, tail, chars, _ = kept.parts()
    if not chars:
        return head
    return f"{head.rstrip()}\n[… {chars:,} characters left out here …]\n{tail.lstrip()}"
