"""What a refusal shows of a file, noted in the ledger as a reading."""

from __future__ import annotations

from pool_tools.limits import LINE_CHARS, REFUSAL_CHARS, REFUSAL_LINES
from pool_tools.lines import numbered
from pool_tools.nearest import WINDOW_LINES, nearest
from pool_tools.paths import Place
from pool_tools.textfile import TextFile, lines_of
from pool_tools.workspace import Content, Workspace, stamp


def current_lines(workspace: Workspace, place: Place, content: Content, file: TextFile, around: str = "") -> str:
    """The file as it is now: all of it if it is small, else the part most like around, else a request to read it."""
    lines = lines_of(file.text)
    note = workspace.ledger.show
    now = stamp(content.stat)
    if not lines:
        note(place.real, content.data, now, 0, [])
        return "It is empty now."
    fits = len(lines) <= REFUSAL_LINES and len(file.text) <= REFUSAL_CHARS and max(map(len, lines)) <= LINE_CHARS
    if fits:
        note(place.real, content.data, now, len(lines), [(1, len(lines))])
        return f"These are its current lines; work from them:\n{numbered(lines, 1)}"
    near = nearest(lines, around) if around.strip() else None
    if near is None:
        return f"It has {len(lines):,} lines now. Read it before you go on."
    first = max(1, near.first - WINDOW_LINES // 3)
    last = min(len(lines), near.last + WINDOW_LINES // 3)
    note(place.real, content.data, now, len(lines), [(first, last)])
    shown = numbered(lines[first - 1 : last], first)
    return f"These are its current lines {first}-{last} of {len(lines):,}; work from them:\n{shown}"
