"""Lines about archives, and the sizes that `bin/sizes.sh` prints."""

from __future__ import annotations

from collections.abc import Iterable

from backups.names import Archive


class ReportError(Exception):
    """Output of a script that cannot be read."""


def parse_sizes(output: str) -> dict[str, int]:
    """Bytes by file name, from lines `1234 photos-20310509.tar`. Raises ReportError for any other line."""
    sizes: dict[str, int] = {}
    for line in output.splitlines():
        size, _, name = line.partition(" ")
        try:
            sizes[name] = int(size)
        except ValueError as error:
            raise ReportError(f"{line!r} is no size") from error
    return sizes


def lines(found: Iterable[Archive], sizes: dict[str, int]) -> list[str]:
    """A line for each archive: its day, its folder, its bytes."""
    return [f"{archive.day} {archive.folder} {sizes.get(archive.name, 0)}" for archive in sorted(found)]
