"""Which archives stay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from backups.names import Archive

KEEP_DAYS = 30


def is_old(archive: Archive, today: date, days: int = KEEP_DAYS) -> bool:
    """Whether an archive is no longer needed: it was made days or more before today, so days is inclusive."""
    return (today - archive.day).days >= days


def to_remove(found: Sequence[Archive], today: date, days: int = KEEP_DAYS) -> list[Archive]:
    """Old archives, oldest first; the newest one of each folder stays, however old."""
    newest = {archive.folder: archive for archive in sorted(found)}
    return sorted(archive for archive in found if is_old(archive, today, days) and archive != newest[archive.folder])
