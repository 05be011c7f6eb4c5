"""The tool `edit`: one text for another in a file, or several at once, everything else byte for byte as it was.

Several replacements are all found in the file as it is, may not overlap, and are made together or not at all.

What must be known before: a file of which anything was read in this session (and that has not changed since) may be
edited by all steps of matching. A file that was never read may be edited only where `old_text` is there exactly and
once: text that fits exactly is itself a sign of knowing the file, and a model that got it from a search or a command
need not read it again. A file that changed since it was read is not edited; the refusal shows the current lines and
counts as a reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import stat_result
from typing import Any

from pool_tools.api import Change, Effect, OutputSink, Preview, ToolError, ToolResult, ToolSpec
from pool_tools.arguments import text_argument
from pool_tools.blocking import CancelFlag, run_blocking
from pool_tools.diff import counts, unified
from pool_tools.frozen import frozen
from pool_tools.ledger import Knowledge
from pool_tools.match import Step, find, line_number
from pool_tools.nearest import has_line_numbers, nearest
from pool_tools.paths import Place
from pool_tools.refusal import current_lines
from pool_tools.replacements import Placed, Replacement, apply, refuse_empty, refuse_several, replacements
from pool_tools.text import plural, size
from pool_tools.textfile import TextFile, binary_kind, decode, lines_of
from pool_tools.workspace import Content, Workspace, stamp

SHOWN_DIFF_LINES = 40
"""Lines of the diff that the result shows after a match that was not exact."""


@frozen
class _Edit:
    """A computed edit, not yet written. step is the loosest that was needed; lines are where, in the file before."""

    name: str
    before: TextFile
    after: str
    data: bytes
    stat: stat_result
    step: Step
    lines: tuple[int, ...]
    whole: bool


class EditTool:
    """Replaces text in a file. See the module's text for what must have been read."""

    spec = ToolSpec(
        name="edit",
        description=(
            "Replace old_text by new_text in a file. old_text must occur exactly once (or set all). Copy it from the "
            "file, without line numbers, with enough lines around to be unique. Differences in line ends, trailing "
            "blanks, indentation and typographic quotes are bridged where the match is unique. For several changes "
            "of one file give edits instead: all are made or none."
        ),
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File, relative to the workspace"},
                "old_text": {"type": "string", "description": "Text to replace"},
                "new_text": {"type": "string", "description": "Text to put there"},
                "all": {"type": "boolean", "description": "Replace every occurrence"},
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old_text": {"type": "string"},
                            "new_text": {"type": "string"},
                            "all": {"type": "boolean"},
                        },
                        "required": ["old_text", "new_text"],
                    },
                },
            },
            "required": ["path"],
        },
        effect=Effect.WRITE,
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def preview(self, args: Mapping[str, Any]) -> Preview:
        with self._workspace.locate(text_argument(args, "path")) as place:
            edit = self._compute(place, args)
        return Preview("diff", f"Edit {edit.name}", unified(edit.before.text, edit.after, edit.name), (edit.name,))

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        return await run_blocking(self._run, args)

    def _run(self, flag: CancelFlag, args: Mapping[str, Any]) -> ToolResult:
        with self._workspace.locate(text_argument(args, "path")) as place:
            edit = self._compute(place, args)
            now = self._workspace.replace(place, edit.data, edit.stat, flag)
            total = len(lines_of(edit.after))
            self._workspace.ledger.wrote(place.real, edit.data, stamp(now), total, edit.whole)
        return _result(edit)

    def _compute(self, place: Place, args: Mapping[str, Any]) -> _Edit:
        wanted = replacements(args)
        name = self._workspace.shown(place)
        self._workspace.check_writable(place)
        if place.stat is None:
            raise ToolError(f"{name} does not exist, so there is nothing to replace. To make it, use `write`.")
        content = self._workspace.read(place)
        for one in wanted:
            refuse_empty(name, one, content.data)
        if kind := binary_kind(content.data):
            raise ToolError(f"{name} is not text: {kind}, {size(len(content.data))}. It cannot be edited as text.")
        file = decode(content.data)
        known = self._workspace.ledger.knowledge(place.real, content.data)
        if known is Knowledge.STALE:
            shown = current_lines(self._workspace, place, content, file, wanted[0].old)
            raise ToolError(f"{name} has changed since it was read. Nothing was changed.\n{shown}", changed=True)
        loose = known is not Knowledge.UNSEEN
        placed = [self._place(place, name, content, file, one, loose) for one in wanted]
        after = apply(name, file.text, placed)
        if after == file.text:
            raise ToolError(f"No change: {name} already says so.")
        lines = tuple(sorted(line_number(file.text, m.start) for p in placed for m in p.found.matches))
        step = max((p.found.step for p in placed), key=list(Step).index)
        return _Edit(name, file, after, file.encode(after), content.stat, step, lines, known is Knowledge.WHOLE)

    def _place(
        self, place: Place, name: str, content: Content, file: TextFile, wanted: Replacement, loose: bool
    ) -> Placed:
        """Find one replacement. Raises `ToolError` where it is not found, or too often."""
        found = find(file.text, wanted.old, wanted.new, wanted.every, loose=loose)
        if found is None:
            shown = self._not_found(place, content.data, stamp(content.stat), file, wanted.old)
            if wanted.label:
                shown = f" All edits are found in the file as it is now.{shown}"
            raise ToolError(
                f"{wanted.label}old_text was not found in {name}. Nothing was changed.{shown}", not_found=True
            )
        placed = Placed(wanted, found)
        refuse_several(name, file.text, placed)
        return placed

    def _not_found(self, place: Place, data: bytes, now: tuple[int, int, int], file: TextFile, old: str) -> str:
        lines = lines_of(file.text)
        near = nearest(lines, old)
        out = ""
        if has_line_numbers(old):
            out += " old_text begins its lines with the numbers that `read` prints (`12|`): leave them out."
        if near is None:
            return f"{out} No line in it is like it. Read the file, or search for a word of it."
        self._workspace.ledger.show(place.real, data, now, len(lines), [(near.first, near.last)])
        if near.differences:
            out += f" The nearest place differs:\n{near.differences}"
        return f"{out}\nLines {near.first}-{near.last} of the file are:\n{near.text}"


def _result(edit: _Edit) -> ToolResult:
    added, removed = counts(edit.before.text, edit.after)
    places = f"line {edit.lines[0]}" if len(edit.lines) == 1 else f"{len(edit.lines)} places"
    text = f"Edited {edit.name} at {places}: +{added} -{removed} lines."
    if edit.step not in (Step.EXACT, Step.LINE_ENDS):
        text += f" old_text fits only when {edit.step} are ignored; the file's own were kept:\n{_short_diff(edit)}"
    if edit.stat.st_nlink > 1:
        text += (
            f"\nNote: the file had {plural(edit.stat.st_nlink, 'name')} (hard links); the others keep the old content."
        )
    data = {
        "path": edit.name,
        "step": edit.step.name.lower(),
        "lines": list(edit.lines),
        "added": added,
        "removed": removed,
    }
    return ToolResult(True, text, data, (Change(edit.name, "modified", added, removed),))


def _short_diff(edit: _Edit) -> str:
    lines = unified(edit.before.text, edit.after, edit.name).split("\n")[2:]
    more = [f"… {len(lines) - SHOWN_DIFF_LINES} more lines"] if len(lines) > SHOWN_DIFF_LINES else []
    return "\n".join(lines[:SHOWN_DIFF_LINES] + more)
