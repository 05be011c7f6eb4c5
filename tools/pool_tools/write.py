"""The tool `write`: a file's whole content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pool_tools.api import Change, Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import text_argument
from pool_tools.blocking import CancelFlag, run_blocking
from pool_tools.diff import counts, unified
from pool_tools.frozen import frozen
from pool_tools.ledger import Knowledge
from pool_tools.paths import Place
from pool_tools.refusal import current_lines
from pool_tools.text import plural, size
from pool_tools.textfile import TextFile, binary_kind, decode, line_end, lines_of
from pool_tools.workspace import Content, Workspace, stamp

PREVIEW_BYTES = 2 * 1024 * 1024
"""Old content up to this size is compared for the preview's diff."""


@frozen
class _Write:
    """A checked write, not yet done. old is None for a new file, file its text (None if binary or empty)."""

    name: str
    data: bytes
    old: Content | None
    file: TextFile | None


class WriteTool:
    """Makes or replaces a file. An existing one must have been shown whole and be unchanged since."""

    spec = ToolSpec(
        name="write",
        description=(
            "Create a file, or replace all of one that you have read whole. Missing folders are made. For a part of a "
            "file use edit."
        ),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File, relative to the workspace"},
                "content": {"type": "string", "description": "The whole new content"},
            },
            "required": ["path", "content"],
        },
        effect=Effect.WRITE,
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def preview(self, args: Mapping[str, Any]) -> Preview:
        with self._workspace.locate(text_argument(args, "path")) as place:
            write = self._check(place, args)
        before = write.file.text if write.file and write.old and len(write.old.data) <= PREVIEW_BYTES else ""
        title = f"{'Create' if write.old is None else 'Replace'} {write.name}"
        return Preview("diff", title, unified(before, write.data.decode(), write.name), (write.name,))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        return await run_blocking(self._run, args)

    def _run(self, flag: CancelFlag, args: Mapping[str, Any]) -> ToolResult:
        with self._workspace.locate(text_argument(args, "path")) as place:
            write = self._check(place, args)
            text = write.data.decode()
            now = self._workspace.replace(place, write.data, write.old and write.old.stat, flag)
            self._workspace.ledger.wrote(place.real, write.data, stamp(now), len(lines_of(text)), True)
        return _result(write, text)

    def _check(self, place: Place, args: Mapping[str, Any]) -> _Write:
        data = text_argument(args, "content").encode()
        name = self._workspace.shown(place)
        self._workspace.check_writable(place)
        if place.stat is None:
            return _Write(name, data, None, None)
        old = self._workspace.read(place)
        binary = binary_kind(old.data)
        file = None if binary or not old.data else decode(old.data)
        if old.data == data:
            raise ToolError(f"No change: {name} already has exactly this content.")
        if not old.data:
            return _Write(name, data, old, None)
        if file is None:
            raise ToolError(
                f"{name} exists and is not text: {binary}, {size(len(old.data))}. Remove it in the shell first."
            )
        known = self._workspace.ledger.knowledge(place.real, old.data)
        if known is not Knowledge.WHOLE:
            shown = current_lines(self._workspace, place, old, file)
            raise ToolError(f"{_WHY[known].format(name=name)} Nothing was written.\n{shown}", unread=True)
        return _Write(name, data, old, file)


_WHY = {
    Knowledge.UNSEEN: "{name} exists and has not been read, so its content would be lost unseen.",
    Knowledge.PART: "{name} exists and only a part of it has been read.",
    Knowledge.STALE: "{name} has changed since it was read.",
}


def _result(write: _Write, text: str) -> ToolResult:
    before = write.file.text if write.file else ""
    added, removed = counts(before, text)
    kind = "created" if write.old is None else "modified"
    verb = "Created" if write.old is None else "Replaced"
    told = f"{verb} {write.name}: {plural(len(lines_of(text)), 'line')}, {size(len(write.data))}."
    if write.file and (write.file.codec != "utf-8" or write.file.mark):
        told += f" Note: it was {write.file.describe} and is plain UTF-8 now."
    if line_end(before) == "\r\n" and "\r\n" not in text:
        told += " Note: its line ends were CR LF and are LF now."
    if write.old and write.old.stat.st_nlink > 1:
        told += " Note: the file had hard links; its other names keep the old content."
    data = {"path": write.name, "size": len(write.data), "added": added, "removed": removed}
    return ToolResult(True, told, data, (Change(write.name, kind, added, removed),))
