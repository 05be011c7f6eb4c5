"""A change as text: a unified diff, with lines of its own for what such a diff cannot say. Names are made visible."""

from __future__ import annotations

from collections.abc import Iterator

from pool.sessions.checkpoints.changes import FileChange
from pool.sessions.checkpoints.states import Kind
from pool_tools.text import visible


def diff_lines(change: FileChange) -> Iterator[str]:
    """A change as the lines of a unified diff, with what a diff cannot say in lines of its own."""
    name = visible(change.path)
    yield f"diff --pool a/{name} b/{name}"
    match change.kind:
        case Kind.CREATED:
            yield f"new file mode {mode_text(change.after_mode)}"
        case Kind.DELETED:
            yield f"deleted file mode {mode_text(change.before_mode)}"
        case _ if change.before_mode != change.after_mode:
            yield f"old mode {mode_text(change.before_mode)}"
            yield f"new mode {mode_text(change.after_mode)}"
        case _:
            pass
    if change.note:
        yield f"(contents not shown: {visible(change.note)})"
        return
    if change.before == change.after:
        return
    if change.binary:
        yield f"Binary files differ: {_bytes(change.before)} before, {_bytes(change.after)} after"
        return
    hunks = change.hunks()
    if hunks:
        yield "--- /dev/null" if change.kind is Kind.CREATED else f"--- a/{name}"
        yield "+++ /dev/null" if change.kind is Kind.DELETED else f"+++ b/{name}"
    for hunk in hunks:
        yield hunk.header
        for sign, line in hunk.lines:
            yield sign + line.decode("utf-8", "replace").removesuffix("\n")
            if not line.endswith(b"\n"):
                yield "\\ No newline at end of file"


def mode_text(mode: int) -> str:
    """A mode as git writes it, "" for none."""
    return f"{mode:06o}" if mode else ""


def _bytes(data: bytes | None) -> str:
    return "nothing" if data is None else f"{len(data):,} bytes"
