"""Findings that a person dismissed, with the reason: kept beside the session, or beside the trajectory's file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pool.agent.audit.audit import Audit
from pool.agent.audit.facts import AuditProblem

VERSION = 1
_MODE = 0o600
_FOLDER_MODE = 0o700


def audits_folder(sessions: Path) -> Path:
    """Where dismissals lie; sessions is the folder of the logs. What is named after a session goes with it."""
    return sessions.parent / "audits"


def dismissals_of_log(log: Path) -> Path:
    """The file for a session's log."""
    return audits_folder(log.parent) / f"{log.stem}.json"


def dismissals_of_trajectory(file: Path) -> Path:
    """The file beside a trajectory."""
    return file.with_name(f"{file.name}.audit.json")


def read_dismissals(place: Path) -> dict[str, str]:
    """Reasons by the findings' keys; what cannot be read counts as none."""
    try:
        value: Any = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    rows: Any = cast(dict[str, Any], value).get("dismissed") if isinstance(value, dict) else None
    out: dict[str, str] = {}
    for key, row in cast(dict[str, Any], rows).items() if isinstance(rows, dict) else ():
        reason: Any = cast(dict[str, Any], row).get("reason") if isinstance(row, dict) else None
        if isinstance(reason, str) and reason:
            out[key] = reason
    return out


def dismiss(place: Path, audit: Audit, key: str, reason: str) -> dict[str, str]:
    """Dismiss the finding of that key, or with an empty reason take that back; all dismissals that hold then.

    Raises `AuditProblem` for a key that no finding has, and `OSError`.
    """
    keys = [one.key for one in audit.findings]
    if key not in keys:
        raise AuditProblem(f"there is no finding {key!r}; there are {', '.join(keys) or 'none'}")
    kept = read_dismissals(place) | {key: reason.strip()}
    kept = {name: why for name, why in kept.items() if why}
    _write(place, kept)
    return kept


def _write(place: Path, kept: Mapping[str, str]) -> None:
    now = time.time()
    rows = {key: {"reason": reason, "at": round(now, 3)} for key, reason in kept.items()}
    place.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _MODE)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump({"v": VERSION, "dismissed": rows}, file)
    os.replace(beside, place)
