"""A clean copy of the result with the original tests and their configuration put back over it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pool.agent.audit.facts import AuditProblem
from pool.agent.audit.filebook import TOO_LARGE, files_of
from pool.agent.audit.filekinds import is_config, is_test, starts_python
from pool.agent.audit.record import Record
from pool_tools.frozen import frozen

MOST_COPIED_BYTES = 2 << 30
"""A larger tree is not copied."""

LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox"})
"""Folders that a clean copy does without: history, and what earlier runs left."""

LINKED = frozenset({"node_modules", ".venv", "venv"})
"""Installed packages are not copied: a link leads to those of the result."""

_MOST_NAMED = 20


@frozen
class Restored:
    """What was done to the copy: files put back, files of the run that were taken out, and what has to be said.

    folders are those that links lead to, which the sandbox has to show.
    """

    put_back: tuple[str, ...]
    taken_out: tuple[str, ...]
    folders: tuple[Path, ...]
    notes: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """All of them, as far as they are told."""
        return (*self.put_back, *(f"{path} (taken out)" for path in self.taken_out))[:_MOST_NAMED]


def is_theirs(path: str) -> bool:
    """Whether a file belongs to the tests or to how they are run, so that the original one counts."""
    return is_test(path) or is_config(path) or starts_python(path)


def copied(result: Path, copy: Path) -> tuple[Path, ...]:
    """Copy a tree without its history; the folders that links lead to. Raises `AuditProblem` and `OSError`."""
    links: list[Path] = []
    left = MOST_COPIED_BYTES
    for folder, folders, names in os.walk(result):
        here = copy / os.path.relpath(folder, result)
        here.mkdir(exist_ok=True)
        for name in list(folders):
            place = Path(folder, name)
            if name in LEFT_OUT:
                folders.remove(name)
            elif name in LINKED or place.is_symlink():
                folders.remove(name)
                os.symlink(os.path.realpath(place) if name in LINKED else os.readlink(place), here / name)
                links += [Path(os.path.realpath(place))] if name in LINKED else []
        for name in names:
            place = Path(folder, name)
            if place.is_symlink():
                os.symlink(os.readlink(place), here / name)
            elif place.is_file():
                left -= place.stat().st_size
                if left < 0:
                    raise AuditProblem(f"{result} holds more than {MOST_COPIED_BYTES >> 30} GiB; it is not copied")
                shutil.copy2(place, here / name)
    return tuple(links)


def restored(record: Record, copy: Path, folders: tuple[Path, ...]) -> Restored:
    """Put the original tests and configuration back in the copy. Raises `AuditProblem` and `OSError`."""
    before = dict(_from_tree(record.facts.original)) if record.facts.original else dict(_from_changes(record))
    had_tests = any(is_test(path) and data is not None for path, data in before.items()) or not _only_new(record)
    put_back: list[str] = []
    taken_out: list[str] = []
    notes: list[str] = []
    if record.facts.original is not None:
        before |= {path: None for path in files_of(copy) if is_theirs(path) and path not in before}
    for path, data in sorted(before.items()):
        place = copy / path
        _without_links(place, copy)
        if data is None and is_test(path) and not had_tests:
            notes.append(f"{path} is the run's own test, and there was none before")
        elif data is None:
            if place.is_file():
                place.unlink()
                taken_out.append(path)
        elif not place.is_file() or place.read_bytes() != data:
            _put(place, data)
            put_back.append(path)
    return Restored(tuple(put_back), tuple(taken_out), folders, tuple(notes))


def _only_new(record: Record) -> bool:
    """Whether all tests that are known are the run's own."""
    changed = {change.path for change in record.changes if not change.before}
    root = record.facts.result or Path(record.workspace)
    return all(path in changed for path in files_of(root) if is_test(path))


def _from_tree(original: Path) -> Iterator[tuple[str, bytes | None]]:
    for path, place in files_of(original).items():
        if is_theirs(path):
            yield path, place.read_bytes()


def _from_changes(record: Record) -> Iterator[tuple[str, bytes | None]]:
    for change in record.changes:
        if not is_theirs(change.path) or os.path.isabs(change.path) or ".." in change.path.split("/"):
            continue
        if not change.whole or (change.before or "").startswith(TOO_LARGE):
            raise AuditProblem(f"what {change.path} held before is not known; --original DIR names the tree before")
        yield change.path, None if change.before is None else change.before.encode("utf-8", "surrogateescape")


def laid_over(folder: Path, copy: Path) -> None:
    """Copy the files of a folder over the copy, none of them through a link. Raises `OSError`."""
    for path, source in files_of(folder).items():
        place = copy / path
        _without_links(place, copy)
        _put(place, source.read_bytes())


def _without_links(place: Path, copy: Path) -> None:
    """Remove links on the way to a place, and at it: what is written or removed there must not be elsewhere."""
    for parent in [*reversed(place.relative_to(copy).parents), place.relative_to(copy)]:
        if (copy / parent).is_symlink():
            (copy / parent).unlink()


def _put(place: Path, data: bytes) -> None:
    for parent in reversed(place.parents):
        # A file where a folder was.
        if parent.is_file():
            parent.unlink()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
