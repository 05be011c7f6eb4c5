"""Files given after `--`: their texts become part of the prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pool.config.settings import SettingsError
from pool_tools.home import expanded

FILE_LIMIT_BYTES = 128 * 1024
"""A file of more is refused: the agent reads from it what it needs."""

ALL_LIMIT_BYTES = 512 * 1024

_TICKS = re.compile("`{3,}")


def attached(paths: Sequence[str], workspace: Path) -> str:
    """The texts of files, each in a fence below its name. A folder is named only. Raises `SettingsError`.

    Names are relative to the workspace where they lie in it.
    """
    parts: list[str] = []
    left = ALL_LIMIT_BYTES
    for given in paths:
        path = expanded(given)
        shown = _shown(path, workspace)
        if path.is_dir():
            parts.append(f"Folder: {shown}")
            continue
        data = _read(path, given)
        left -= len(data)
        if left < 0:
            raise SettingsError(f"the files after -- have more than {ALL_LIMIT_BYTES:,} bytes; name some in the prompt")
        text = data.decode("utf-8", "replace")
        fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])
        parts.append(f"File: {shown}\n{fence}\n{_ended(text)}{fence}")
    return "\n\n".join(parts)


def _shown(path: Path, workspace: Path) -> str:
    whole = os.path.abspath(path)
    top = str(workspace)
    name = os.path.relpath(whole, top) if whole == top or whole.startswith(f"{top.rstrip('/')}/") else whole
    name = os.fsencode(name).decode("utf-8", "replace")
    return name if name.isprintable() else repr(name)


def _read(path: Path, given: str) -> bytes:
    instead = "name it in the prompt instead"
    advice = "what stands after -- is a file; a prompt goes before it"
    try:
        if not path.is_file():
            raise SettingsError(f"there is no file {given!r}: {advice}")
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(f"the file {given!r} cannot be read: {reason}") from None
    if len(data) > FILE_LIMIT_BYTES:
        raise SettingsError(f"the file {given!r} has more than {FILE_LIMIT_BYTES:,} bytes; {instead}")
    if b"\0" in data:
        raise SettingsError(f"the file {given!r} is binary; {instead}")
    return data


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
