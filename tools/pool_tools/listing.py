"""The tool `list`: what is in a folder, or which files match a pattern."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pool_tools.api import Effect, OutputSink, Preview, ToolResult, ToolSpec
from pool_tools.arguments import integer_argument, text_argument
from pool_tools.blocking import CancelFlag, run_blocking
from pool_tools.folders import open_folder
from pool_tools.globs import compile_glob
from pool_tools.limits import LIST_ENTRIES, LIST_SECONDS, WALK_DEPTH
from pool_tools.text import visible
from pool_tools.walk import Entry
from pool_tools.workspace import Workspace

DEFAULT_DEPTH = 2
"""Levels that are listed when the call names neither depth nor pattern."""


class ListTool:
    """Lists a folder without what is ignored."""

    spec = ToolSpec(
        name="list",
        description="List a folder (folders end in /). With pattern: find files by name. Ignored files are left out.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Folder, default the workspace"},
                "pattern": {"type": "string", "description": "Such as *.py or src/**/*.ts"},
                "depth": {"type": "integer", "description": f"Levels, default {DEFAULT_DEPTH}"},
            },
            "required": [],
        },
        effect=Effect.READ,
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def preview(self, args: Mapping[str, Any]) -> Preview:
        with self._workspace.locate(text_argument(args, "path", ".") or ".") as place:
            name = self._workspace.shown(place)
        pattern = text_argument(args, "pattern", "")
        return Preview("text", f"List {name}", f"List {name}{f', {visible(pattern)}' if pattern else ''}", (name,))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        path = text_argument(args, "path", ".") or "."
        pattern = text_argument(args, "pattern", "")
        depth = integer_argument(args, "depth", WALK_DEPTH if pattern else DEFAULT_DEPTH)
        return await run_blocking(self._run, path, pattern, max(1, min(depth, WALK_DEPTH)))

    def _run(self, flag: CancelFlag, path: str, pattern: str, depth: int) -> ToolResult:
        wanted = compile_glob(pattern) if pattern else None
        deadline = time.monotonic() + LIST_SECONDS
        shown: list[str] = []
        count, late = 0, False
        with open_folder(self._workspace, path) as folder:
            name = folder.name
            folder.walker.max_depth = depth
            for entry in folder.entries():
                flag.check()
                if time.monotonic() > deadline:
                    late = True
                    break
                if wanted and (entry.is_folder or not wanted.fullmatch(folder.below(entry))):
                    continue
                count += 1
                if count <= LIST_ENTRIES:
                    shown.append(_line(folder.shown(entry), entry))
            notes = folder.notes()
        if wanted is None and folder.walker.too_deep and depth < WALK_DEPTH:
            notes.append("deeper folders not shown: list them by path, or set depth")
        if count > LIST_ENTRIES:
            notes.insert(0, f"{LIST_ENTRIES} of {count:,} entries shown: narrow it by path or pattern")
        if late:
            notes.insert(0, f"stopped after {LIST_SECONDS:.0f} s: narrow it by path or pattern")
        if not count:
            shown.append(f"No file in {name} matches {visible(pattern)}." if wanted else f"{name} is empty.")
        text = "\n".join(shown + [f"[{note}]" for note in notes])
        return ToolResult(True, text, {"path": name, "entries": count, "truncated": count > LIST_ENTRIES or late})


def _line(path: str, entry: Entry) -> str:
    return f"{path} -> {visible(entry.link)}" if entry.link else path + ("/" if entry.is_folder else "")
