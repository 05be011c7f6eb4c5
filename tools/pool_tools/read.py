"""The tool `read`: numbered lines of a text file, within bounds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pool_tools.api import Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import integer_argument, text_argument
from pool_tools.blocking import CancelFlag, run_blocking
from pool_tools.frozen import frozen
from pool_tools.limits import EDITABLE_BYTES, LINE_CHARS, READ_CHARS, READ_LINES
from pool_tools.lines import cut_line, shown_line
from pool_tools.masking import Mask
from pool_tools.paths import Place
from pool_tools.text import plural, size
from pool_tools.textfile import TextFile, binary_kind, decode, line_end, lines_of
from pool_tools.workspace import Workspace, stamp

SCAN_BYTES = 1024 * 1024 * 1024
"""How far into a file too large for memory a line number is looked for."""

_CHUNK_BYTES = 1024 * 1024
_WINDOW_BYTES = 4 * READ_CHARS
_SAMPLE_BYTES = 8_192


@frozen
class _Window:
    """Shown lines first to last; cut are the numbers of those that were too long to show whole."""

    text: str
    first: int
    last: int
    cut: tuple[int, ...]

    def whole_ranges(self) -> list[tuple[int, int]]:
        """The ranges of lines that were shown whole."""
        edges = [self.first - 1, *self.cut, self.last + 1]
        return [(a + 1, b - 1) for a, b in pairwise(edges) if a + 1 <= b - 1]


class ReadTool:
    """Shows a file and notes in the ledger what was shown."""

    spec = ToolSpec(
        name="read",
        description=(
            f"Show a text file with line numbers (`12|text`; the number and bar are not in the file). At most "
            f"{READ_LINES:,} lines or {READ_CHARS:,} characters a call."
        ),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File, relative to the workspace"},
                "offset": {"type": "integer", "description": "First line, from 1"},
                "limit": {"type": "integer", "description": "Number of lines"},
            },
            "required": ["path"],
        },
        effect=Effect.READ,
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def preview(self, args: Mapping[str, Any]) -> Preview:
        path, offset, limit = _arguments(args)
        with self._workspace.locate(path) as place:
            name = self._workspace.shown(place)
        lines = "" if offset == 1 and limit == READ_LINES else f", lines {offset} to {offset + limit - 1}"
        return Preview("text", f"Read {name}", f"Read {name}{lines}", (name,))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        return await run_blocking(self._run, *_arguments(args))

    def _run(self, flag: CancelFlag, path: str, offset: int, limit: int) -> ToolResult:
        with self._workspace.locate(path) as place:
            handle, found = self._workspace.open_file(place)
            try:
                head = os.pread(handle, _SAMPLE_BYTES, 0)
                self._refuse_binary(place, head, found.st_size)
                if found.st_size > EDITABLE_BYTES:
                    return self._run_large(flag, place, handle, offset, limit)
            finally:
                os.close(handle)
            content = self._workspace.read(place)
            return self._run_whole(place, content.data, stamp(content.stat), offset, limit)

    def _refuse_binary(self, place: Place, head: bytes, length: int) -> None:
        if kind := binary_kind(head):
            raise ToolError(
                f"{self._workspace.shown(place)} is not text: {kind}, {size(length)}. Its bytes are not shown. Use a "
                "program in the shell that understands it.",
                kind=kind,
                size=length,
            )

    def _run_whole(self, place: Place, data: bytes, now: tuple[int, int, int], offset: int, limit: int) -> ToolResult:
        name = self._workspace.shown(place)
        file = decode(data)
        lines = lines_of(file.text)
        result_data: dict[str, Any] = {"path": name, "size": len(data), "total_lines": len(lines)}
        if not lines:
            self._workspace.ledger.show(place.real, data, now, 0, [])
            return ToolResult(True, f"{name} is empty (0 bytes).", result_data)
        if offset > len(lines):
            raise ToolError(f"{name} has {plural(len(lines), 'line')}; there is no line {offset}.")
        window = _window(lines[offset - 1 : offset - 1 + limit], offset, self._workspace.mask)
        self._workspace.ledger.show(place.real, data, now, len(lines), window.whole_ranges())
        text = _header(file) + window.text + _footer(window, len(lines))
        truncated = window.last < len(lines) or bool(window.cut)
        result_data |= {"first": window.first, "last": window.last, "truncated": truncated}
        return ToolResult(True, text, result_data)

    def _run_large(self, flag: CancelFlag, place: Place, handle: int, offset: int, limit: int) -> ToolResult:
        """A window of a file that is not taken into memory; it cannot be edited, so the ledger does not note it."""
        name = self._workspace.shown(place)
        length = os.fstat(handle).st_size
        raw = _find_window(flag, handle, name, offset)
        lines = lines_of(raw.decode("utf-8", "surrogateescape"))
        cut_off = len(raw) == _WINDOW_BYTES
        if cut_off and len(lines) > 1:
            lines.pop()
        window = _window(lines[:limit], offset, self._workspace.mask)
        text = (
            f"[{name} is large: {size(length)}, lines not counted]\n{window.text}\n"
            f"[shown up to line {window.last}; for more, read with offset {window.last + 1}, or search]"
        )
        data = {"path": name, "size": length, "first": window.first, "last": window.last, "truncated": True}
        return ToolResult(True, text, data)


def _arguments(args: Mapping[str, Any]) -> tuple[str, int, int]:
    path = text_argument(args, "path")
    offset = max(1, integer_argument(args, "offset", 1))
    limit = integer_argument(args, "limit", READ_LINES)
    return path, offset, limit if limit > 0 else READ_LINES


def _window(lines: list[str], first: int, mask: Mask) -> _Window:
    """As many of lines as fit, at least one, without secrets; lines are numbered from first."""
    out: list[str] = []
    cut: list[int] = []
    chars = 0
    for number, line in enumerate(lines, first):
        plain = shown_line(mask.text(line))
        entry = f"{number}|{cut_line(plain)}"
        if out and chars + len(entry) > READ_CHARS:
            break
        if len(plain) > LINE_CHARS:
            cut.append(number)
        chars += len(entry) + 1
        out.append(entry)
    return _Window("\n".join(out), first, first + len(out) - 1, tuple(cut))


def _header(file: TextFile) -> str:
    notes = [file.describe] if file.describe else []
    if line_end(file.text) == "\r\n":
        notes.append("CR LF line ends")
    return f"[{', '.join(notes)}]\n" if notes else ""


def _footer(window: _Window, total: int) -> str:
    notes: list[str] = []
    if window.last < total:
        notes.append(f"[lines {window.first}-{window.last} of {total:,}; for more, read with offset {window.last + 1}]")
    elif window.first > 1:
        notes.append(f"[lines {window.first}-{window.last} of {total:,}]")
    if window.cut:
        notes.append("[long lines were cut; to see the rest, use `search`, or `cut -c` in the shell]")
    return "".join("\n" + note for note in notes)


def _find_window(flag: CancelFlag, handle: int, name: str, offset: int) -> bytes:
    """Bytes from the start of line offset on, reading the file in pieces."""
    position, line = 0, 1
    while line < offset:
        flag.check()
        chunk = os.pread(handle, _CHUNK_BYTES, position)
        if not chunk or position > SCAN_BYTES:
            reached = (
                f"{name} ends at line {line:,}" if not chunk else f"line {offset:,} is more than {size(SCAN_BYTES)} in"
            )
            raise ToolError(f"{reached}. Use `sed -n` or `tail` in the shell.")
        ends = chunk.count(b"\n")
        if line + ends < offset:
            line += ends
            position += len(chunk)
            continue
        at = -1
        for _ in range(offset - line):
            at = chunk.index(b"\n", at + 1)
        return os.pread(handle, _WINDOW_BYTES, position + at + 1)
    return os.pread(handle, _WINDOW_BYTES, position)
