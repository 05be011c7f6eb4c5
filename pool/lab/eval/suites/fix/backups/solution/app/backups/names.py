"""Names of archives, as `bin/pack.sh` gives them: `photos-20310509.tar`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


class NameError_(ValueError):
    """A file name that is not one of an archive."""


@dataclass(frozen=True, order=True)
class Archive:
    """An archive of a folder, made on a day."""

    day: date
    folder: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.folder}-{self.day:%Y%m%d}.tar"


def parse(name: str) -> Archive:
    """The archive of a file name. Raises NameError_ if it is the name of something else."""
    stem = name.removesuffix(".tar")
    folder, _, digits = stem.rpartition("-")
    if stem == name or not folder:
        raise NameError_(f"{name!r} is no archive")
    try:
        day = datetime.strptime(digits, "%Y%m%d").date()
    except ValueError as error:
        raise NameError_(f"{name!r} has no day") from error
    return Archive(day, folder)


def archives(names: list[str], seen: list[Archive] | None = None) -> list[Archive]:
    """The archives among names, after those seen before; names of other files are left out."""
    seen = [] if seen is None else seen
    for name in names:
        try:
            seen.append(parse(name))
        except NameError_:
            continue
    return seen
