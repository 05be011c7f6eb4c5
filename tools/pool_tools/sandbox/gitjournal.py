"""What git took orders from before a command, on disk as long as the command runs.

Where the agent is killed meanwhile, nobody puts back what the command changed; the next start in the same workspace
finds the journal, sees by a lock that its owner is gone, and does so.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pool_tools.private import PrivateFolder, make_private
from pool_tools.sandbox.gitorders import Kind, Order

RUNNING = "running.json"
"""The journal's name while a command runs."""

ENDED = "ended.json"
"""Its name between commands, where there is nothing to be put back. It is written anew only when something differs."""

_PURPOSE = "guard"
_VERSION = 1
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class State:
    """marks: `.git` files and links. folders: git folders. orders: by path, None where there is no such file."""

    marks: dict[Path, Order] = field(default_factory=dict[Path, Order])
    folders: set[Path] = field(default_factory=set[Path])
    orders: dict[Path, Order | None] = field(default_factory=dict[Path, "Order | None"])


class Journal:
    """One guard's. parent: the folder of the workspace's journals, which commands must not see. Never raises `OSError`.

    Where it cannot be written commands run without it.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folder: PrivateFolder | None = None
        self._written: tuple[State, frozenset[Path]] | None = None

    def begin(self, state: State, skipped: Iterable[Path]) -> None:
        """A command is about to start. skipped: paths that it cannot change. On disk when this returns."""
        now = state, frozenset(skipped)
        with contextlib.suppress(OSError):
            if self._folder is None:
                self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._folder = make_private(_PURPOSE, self._parent)
            running, ended = self._folder.path / RUNNING, self._folder.path / ENDED
            if self._written == now and (running.exists() or ended.exists()):
                if ended.exists():
                    ended.rename(running)
                return
            self._written = None
            _write(self._folder, running, encode(*now))
            ended.unlink(missing_ok=True)
            self._written = now

    def end(self) -> None:
        """All commands have ended, and what they changed is put back."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                (self._folder.path / RUNNING).rename(self._folder.path / ENDED)

    def close(self) -> None:
        """Remove it."""
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


@contextmanager
def left_behind(parent: Path) -> Generator[list[tuple[State, frozenset[Path]]]]:
    """States before commands during which the agent was killed, with what those could not change.

    The journals are removed at the end of the block, unless it raises. Those of agents that live are left alone.
    """
    with contextlib.ExitStack() as stack:
        found: list[tuple[State, frozenset[Path]]] = []
        dead: list[PrivateFolder] = []
        for path in _folders(parent):
            with contextlib.suppress(OSError):
                lock = os.open(path, _FOLDER_FLAGS)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_private(os.fstat(lock)):
                    dead.append(PrivateFolder(path, os.dup(lock)))
                    found += _read(path / RUNNING)
        yield found
        for folder in dead:
            folder.remove()


def encode(state: State, skipped: frozenset[Path]) -> bytes:
    """JSON; names that are no UTF-8 as lone surrogates."""
    body = {
        "version": _VERSION,
        "skipped": [str(path) for path in skipped],
        "folders": [str(path) for path in state.folders],
        "marks": [[str(path), _plain(order)] for path, order in state.marks.items()],
        "orders": [[str(path), order and _plain(order)] for path, order in state.orders.items()],
    }
    return json.dumps(body).encode()


def decode(data: bytes) -> tuple[State, frozenset[Path]]:
    """What `encode` was given. Raises `ValueError`."""
    try:
        body = json.loads(data)
        if body["version"] != _VERSION:
            raise ValueError("a journal of another version")
        state = State(
            {Path(path): _order(fields) for path, fields in body["marks"]},
            {Path(path) for path in body["folders"]},
            {Path(path): fields and _order(fields) for path, fields in body["orders"]},
        )
        return state, frozenset(Path(path) for path in body["skipped"])
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"no journal: {error!r}") from None


def _plain(order: Order) -> list[object]:
    data = None if order.data is None else b64encode(order.data).decode()
    return [list(order.fingerprint), order.kind.name, data, order.mode]


def _order(fields: Any) -> Order:
    fingerprint, kind, data, mode = fields
    content = None if data is None else b64decode(data, validate=True)
    return Order(tuple(int(number) for number in fingerprint), Kind[kind], content, int(mode))


def _write(folder: PrivateFolder, path: Path, data: bytes) -> None:
    new = path.with_suffix(".new")
    with open(new, "wb", opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, 0o600)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
    os.fsync(folder.lock)


def _read(path: Path) -> list[tuple[State, frozenset[Path]]]:
    try:
        return [decode(path.read_bytes())]
    except (OSError, ValueError):
        return []


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(parent / name for name in os.listdir(parent))
    except OSError:
        return []


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
