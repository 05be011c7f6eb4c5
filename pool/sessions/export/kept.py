"""`pool import`: a file to sessions on disk. Either all of the file's sessions are kept, or none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from pool.events import SCHEMA_VERSION
from pool.sessions.export.incoming import ImportProblem, Incoming, kind_of
from pool.sessions.export.read_atif import read_atif
from pool.sessions.export.read_chat import read_chat
from pool.sessions.wholelog import write_logs

MOST_BYTES = 1 << 28
"""Files up to this size are taken: parsed they need several times as much memory."""


def incoming(data: bytes, now: float) -> list[Incoming]:
    """The sessions in a file: one of a trajectory, one for each line of chat messages. Raises `ImportProblem`."""
    if len(data) > MOST_BYTES:
        raise ImportProblem(f"the file has more than {MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportProblem(f"the file is no UTF-8 text (byte {error.start:,})") from None
    if not text.strip():
        raise ImportProblem("the file is empty")
    try:
        whole: Any = json.loads(text)
    except RecursionError:
        raise ImportProblem("the file is nested too deeply") from None
    except ValueError as error:
        return _lines(text, now, str(error))
    if isinstance(whole, dict) and ("steps" in whole or "schema_version" in whole):
        return [_guarded(read_atif, whole)]
    if isinstance(whole, dict) and "messages" in whole:
        return [_guarded(partial(read_chat, where="line 1", now=now), whole)]
    what = "neither steps (ATIF) nor messages (JSONL)" if isinstance(whole, dict) else f"no object but {kind_of(whole)}"
    raise ImportProblem(f"the file holds {what}; what pool export writes as atif or jsonl can be imported")


def _lines(text: str, now: float, error: str) -> list[Incoming]:
    out: list[Incoming] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError) as problem:
            # A file of one document that is torn: its own error tells more than its first line's.
            said = error if number == 1 else f"line {number}: {problem}"
            raise ImportProblem(f"the file is no JSON: {said}") from None
        if isinstance(row, dict) and cast(dict[str, Any], row).get("type") == "session":
            raise ImportProblem("the file is a session's own log; pool export writes what can be imported")
        out.append(_guarded(partial(read_chat, where=f"line {number}", now=now), row))
    return out


def _guarded(read: Callable[[Any], Incoming], row: Any) -> Incoming:
    try:
        return read(row)
    except RecursionError:
        raise ImportProblem("the file is nested too deeply") from None


def keep(
    sessions: Sequence[Incoming], folder: Path, ids: Sequence[str], *, workspace: str, created: float, pool: str
) -> list[Path]:
    """Write the sessions below folder, under these ids. Raises OSError; then nothing is left of them."""
    header = {"type": "session", "v": SCHEMA_VERSION, "workspace": workspace, "created": created, "pool": pool}
    logs: list[tuple[str, list[dict[str, Any]]]] = []
    for one, session in zip(sessions, ids, strict=True):
        first = {**header, "id": session, "imported": one.source or True}
        logs.append((session, [first, *({**row, "session": session} for row in one.rows)]))
    return write_logs(folder, logs)
