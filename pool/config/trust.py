"""Trust in the configuration of a checkout: what it covers, and where the user's answer is kept.

The answer is kept in the user's state folder, in one file for each folder, named after its real path. It covers a hash
of everything in a file that could widen what Pool may do, so a change of that asks again and a comment does not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from pool.config.files import FOLDER, LOCAL_FILE, PROJECT_FILE, Source, read_text
from pool.config.keys import keys
from pool_tools.frozen import frozen
from pool_tools.home import expanded

VERSION = 1
_NAME_CHARS = 32
_MOST_BYTES = 256 * 1024
"""Of a file of answers: a few hundred skills and commands of a checkout have one each."""


@frozen
class Asked:
    """A value of a checkout's file that could widen. name is dotted, as in the file (with `profiles.NAME.`)."""

    name: str
    key: str
    value: object


def asked_by(source: Source) -> list[Asked]:
    """What a checkout's file sets that could widen, in the file's order."""
    found = [Asked(name, name, value) for name, value in source.values.items()]
    for profile, values in source.profiles.items():
        found += [Asked(f"profiles.{profile}.{name}", name, value) for name, value in values.items()]
    return [one for one in found if keys()[one.key].trust.widens]


def digest(source: Source) -> str:
    """The hash of what trust in a file covers; "" if it asks for nothing. Files that it names are covered as well."""
    asked = asked_by(source)
    if not asked:
        return ""
    body = [[one.name, one.value, _content(source, one)] for one in asked]
    import json

    return _sha256(json.dumps(body, sort_keys=True, ensure_ascii=True).encode())


def _sha256(data: bytes) -> str:
    # Not at the top: loading OpenSSL costs a start 3 ms, and most configurations ask for no trust.
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _content(source: Source, one: Asked) -> str:
    key = keys()[one.key]
    if key.lines is not None:
        found = scripts_of(source, one)
        import json

        return json.dumps(sorted(found.items())) if found else ""
    if not key.path:
        return ""
    try:
        return _sha256((read_text(beside(source, str(one.value))) or "").encode())
    except OSError:
        return ""


def scripts_of(source: Source, one: Asked) -> Mapping[str, str]:
    """Hashes of the files of the checkout that the command lines in a value name, by their path in it."""
    lines = keys()[one.key].lines
    if lines is None:
        return {}
    # Not at the top: only files that ask for commands need it.
    from pool.config.scripts import scripts

    root = source.path.parent.parent
    return scripts(root, source.workspace or root, lines(one.value))


def beside(source: Source, name: str) -> Path:
    """A file that a configuration file names: relative to its folder; in a checkout, to the folder of `.pool`."""
    folder = source.path.parent.parent if source.checkout else source.path.parent
    return folder / expanded(name)


class TrustStore:
    """Which files of one folder are trusted. Nothing is kept in memory."""

    def __init__(self, state: Path, folder: Path) -> None:
        """state is Pool's state folder; folder the one that holds `.pool`."""
        self.folder = Path(os.path.realpath(folder))
        self._state = state

    @cached_property
    def path(self) -> Path:
        """The file of answers."""
        name = _sha256(os.fsencode(self.folder))[:_NAME_CHARS]
        return Path(os.path.realpath(self._state)) / "trust" / f"{name}.json"

    @property
    def usable(self) -> bool:
        """False if the state folder lies in the folder: what works there could then trust itself."""
        return not self.path.is_relative_to(self.folder)

    def trusts(self, source: Source) -> bool:
        """Whether everything that a file asks for was allowed before."""
        wanted = digest(source)
        return not wanted or self.load().get(source.path.name) == wanted

    def load(self) -> Mapping[str, str]:
        """Hashes by file name. A file that is damaged, or that others could have written, gives none."""
        if not self.usable:
            return {}
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return {}
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if found.st_uid != os.geteuid() or found.st_mode & 0o022:
                return {}
            data = file.read(_MOST_BYTES)
        import json

        try:
            value: Any = json.loads(data)
        except (ValueError, RecursionError):
            return {}
        body = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        if body.get("version") != VERSION or body.get("folder") != str(self.folder):
            return {}
        hashes: Any = body.get("files")
        return {str(k): str(v) for k, v in cast(dict[Any, Any], hashes).items()} if isinstance(hashes, dict) else {}

    def trust(self, hashes: Mapping[str, str]) -> None:
        """Keep that files are trusted: the `digest` of each by its name. Raises OSError."""
        # Not at the top: it costs each start 4 ms, and only an answer of the user is written.
        from pool.config.writing import changing

        if not self.usable:
            raise OSError(0, "Pool's state folder lies in this folder, where commands could change it", str(self.path))
        with changing(self.path):
            self._write({**self.load(), **hashes})

    def forget(self) -> bool:
        """Take trust back; whether there was any. Raises OSError."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _write(self, files: Mapping[str, str]) -> None:
        import json

        from pool.config.writing import write_whole

        body = {"version": VERSION, "folder": str(self.folder), "files": dict(files)}
        write_whole(self.path, json.dumps(body, indent=1) + "\n")


def checkout_files(folder: Path) -> tuple[Path, Path]:
    """The project's and the local file of a folder."""
    return folder / FOLDER / PROJECT_FILE, folder / FOLDER / LOCAL_FILE
