"""A keyring that keeps its entries in a file which a variable names, for tests and the processes that they start."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

FILE = "TEST_KEYRING_FILE"


class FileKeyring(KeyringBackend):
    """As `keyring` knows one."""

    priority = 5.0  # pyright: ignore[reportAssignmentType]  # a property of the class there

    def get_password(self, service: str, username: str) -> str | None:
        return _entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        _write({**_entries(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        entries = _entries()
        if entries.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("no such entry")
        _write(entries)


def _entries() -> dict[str, str]:
    path = Path(os.environ[FILE])
    return json.loads(path.read_text()) if path.exists() else {}


def _write(entries: dict[str, str]) -> None:
    Path(os.environ[FILE]).write_text(json.dumps(entries))
