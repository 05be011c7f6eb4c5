"""The tools that a task gives in place of Pool's own: reading, writing and running the tests; or a task's functions."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from pool.lab.eval.task import Kind, Task, TaskProblem
from pool_tools import Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.commands import Commands
from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.workspace import Workspace, stamp
from pool_tools.write import WriteTool

TEST_SECONDS = 120.0
CALL_SECONDS = 30.0
MOST_OUTPUT_CHARS = 20_000
"""Of a run of the tests the model gets so much, from its end: there the failures are counted."""

FUNCTIONS_FOLDER = "functions"
_TEXT = {"type": "string"}

Work = Callable[[Commands, Mapping[str, Any]], Awaitable[ToolResult]]


class GivenTool:
    """A tool over the commands of a session, which is opened after its tools are named."""

    def __init__(self, name: str, about: str, parameters: Mapping[str, Any], effect: Effect, work: Work) -> None:
        self.spec = ToolSpec(name, about, parameters, effect)
        self._work = work
        self._commands: Commands | None = None

    def attach(self, commands: Commands) -> None:
        """The session is open."""
        self._commands = commands

    def preview(self, args: Mapping[str, Any]) -> Preview:
        """The call with its arguments."""
        given = ", ".join(f"{key}={str(value)[:80]!r}" for key, value in args.items())
        return Preview("text", self.spec.name, f"{self.spec.name}({given})")

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        """Do it. Raises `ToolError`."""
        if self._commands is None:
            raise ToolError("The session is not open yet.")
        return await self._work(self._commands, args)


def file_tools(tests: str) -> tuple[GivenTool, ...]:
    """`read_file`, `write_file` and `run_tests`; tests is the command of the last."""

    async def run_tests(commands: Commands, args: Mapping[str, Any]) -> ToolResult:
        status, text = await _run(commands, tests, TEST_SECONDS)
        return ToolResult(
            status == 0, f"exit {status}\n{text[-MOST_OUTPUT_CHARS:]}", {"command": tests, "exit_status": status}
        )

    return (
        GivenTool("read_file", "Read a file of the project.", _parameters("path"), Effect.READ, _read),
        GivenTool(
            "write_file",
            "Write a file of the project: its whole new content.",
            _parameters("path", "content"),
            Effect.WRITE,
            _write,
        ),
        GivenTool("run_tests", f"Run the project's tests: {tests}", _parameters(), Effect.EXECUTE, run_tests),
    )


@asynccontextmanager
async def tools_for(task: Task, work: Path) -> AsyncGenerator[tuple[GivenTool, ...]]:
    """The tools of a task, () where it has Pool's own or none. work is the workspace, which a task's functions are
    copied beside. Raises `TaskProblem`.
    """
    if task.kind is not Kind.FUNCTIONS:
        yield _of_files(task)
        return
    folder = _functions_copied(task, work)
    found = await asyncio.to_thread(probe, Policy((folder,)))
    workspace = Workspace(folder)
    commands = Commands(workspace, found.sandbox)
    try:
        yield await _functions(task, commands)
    finally:
        await commands.close()
        workspace.close()
        found.sandbox.close()


def _of_files(task: Task) -> tuple[GivenTool, ...]:
    if not task.tools:
        return ()
    offered = {tool.spec.name: tool for tool in file_tools(task.tests)}
    missing = [name for name in task.tools if name not in offered]
    if missing and len(missing) < len(task.tools):
        raise TaskProblem(f"{task.folder}: tools {', '.join(missing)} cannot stand beside {', '.join(offered)}")
    return () if missing else tuple(offered[name] for name in task.tools)


def _parameters(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, _TEXT), "required": list(names)}


async def _read(commands: Commands, args: Mapping[str, Any]) -> ToolResult:
    data = await asyncio.to_thread(_known, commands.workspace, str(args["path"]))
    try:
        return ToolResult(True, (data or b"").decode("utf-8") or "(an empty file)")
    except UnicodeDecodeError:
        raise ToolError(f"{args['path']} is no text in UTF-8.") from None


async def _write(commands: Commands, args: Mapping[str, Any]) -> ToolResult:
    """As Pool's own tool, but that nobody has to have read a file before it is replaced."""
    path = str(args["path"])
    await asyncio.to_thread(_known, commands.workspace, path, missing=True)
    return await WriteTool(commands.workspace).run({"path": path, "content": str(args["content"])}, _nowhere)


def _known(workspace: Workspace, path: str, *, missing: bool = False) -> bytes | None:
    """A file's content, which counts as read from now on; None where there is none and that may be."""
    with workspace.locate(path) as place:
        if place.stat is None and missing:
            return None
        content = workspace.read(place)
        lines = content.data.count(b"\n") + 1
        workspace.ledger.wrote(place.real, content.data, stamp(content.stat), lines, whole=True)
        return content.data


def _nowhere(text: str) -> None:
    """Live output that nobody looks at."""


async def _run(commands: Commands, line: str, seconds: float, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Exit status and output of a line of shell in the sandbox; -1 where its time was up. Raises `ToolError`."""
    kept = bytearray()
    ended = await commands.run(("sh", "-c", line), seconds, kept.extend, {**with_python(commands), **(env or {})})
    status = -1 if ended.timed_out or ended.status is None else ended.status
    return status, kept.decode("utf-8", "replace")


def with_python(commands: Commands) -> dict[str, str]:
    """PATH with this Python first: it has what tests need."""
    return {"PATH": f"{Path(sys.executable).parent}:{commands.environment().get('PATH', '/usr/bin:/bin')}"}


def _functions_copied(task: Task, work: Path) -> Path:
    """A folder with a task's functions, away from its tests."""
    assert task.functions is not None
    folder = work.parent / FUNCTIONS_FOLDER
    folder.mkdir(exist_ok=True)
    for file in task.functions.parent.glob("*.py"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


async def _functions(task: Task, commands: Commands) -> tuple[GivenTool, ...]:
    """A task's functions, asked in the sandbox for what they are."""
    assert task.functions is not None
    script = commands.folder / task.functions.name
    listed = await _asked(commands, script, "tools/list", {})
    tools = cast(Sequence[Mapping[str, Any]], listed.get("tools", []))
    if not tools:
        raise TaskProblem(f"{task.functions}: it offers no functions")
    return tuple(
        GivenTool(
            str(one["name"]),
            str(one.get("description", "")),
            cast(Mapping[str, Any], one["inputSchema"]),
            Effect.READ,
            _calling(str(one["name"]), script, commands),
        )
        for one in tools
    )


def _calling(name: str, script: Path, own: Commands) -> Work:
    async def call(commands: Commands, args: Mapping[str, Any]) -> ToolResult:
        result = await _asked(own, script, "tools/call", {"name": name, "arguments": dict(args)})
        parts = cast(Sequence[Mapping[str, Any]], result.get("content", []))
        text = "\n".join(str(part.get("text", "")) for part in parts)
        return ToolResult(not result.get("isError"), text or "(nothing)")

    return call


async def _asked(commands: Commands, script: Path, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """One request to a server of functions, which lives as long as it takes. Raises `ToolError`."""
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    line = f'printf "%s\\n" "$ASKED" | python3 {shlex.quote(str(script))}'
    status, text = await _run(commands, line, CALL_SECONDS, {"ASKED": request})
    for answer in reversed(text.splitlines()):
        try:
            message = json.loads(answer)
        except ValueError:
            continue
        if isinstance(message, dict) and "result" in message:
            return cast(Mapping[str, Any], message["result"])
        if isinstance(message, dict) and "error" in message:
            raise ToolError(str(cast(Mapping[str, Any], message)["error"]))
    raise ToolError(f"{script.name} gave no answer (exit {status}): {text[-400:]}")
