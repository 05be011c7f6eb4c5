"""Finding a live run by a part of its session's id."""

from __future__ import annotations

from pool.facekit.live.place import LiveRecord, live_records
from pool.sessions.store import short_id


class NoSuchRun(Exception):
    """No live run fits what was asked for, or several do. The message says what to do."""


def by_id(part: str) -> LiveRecord:
    """The live run whose session's id begins or ends with part. Raises `NoSuchRun` and `PlaceError`."""
    wanted = part.strip().lower().replace("-", "")
    ids = {record.session.replace("-", "").lower(): record for record in live_records()}
    found = [record for name, record in ids.items() if wanted and (name.startswith(wanted) or name.endswith(wanted))]
    if len(found) == 1:
        return found[0]
    if found:
        raise NoSuchRun(f"{len(found)} live runs fit {part!r}: {', '.join(short_id(r.session) for r in found)}")
    raise NoSuchRun(
        f"no live run has an id that begins or ends with {part!r}; pool ps lists them, and pool sessions show {part} "
        "shows what ended"
    )
