"""The user's home folder, also where nobody says which that is, as in containers that run with any user id."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

_NOWHERE = Path("/proc/no-home")
"""A home that holds nothing and in which nobody can make anything, root neither."""

_BELOW_HOME = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


def home() -> Path:
    """The home by `HOME`, or else by the user database; without both, `stand_in`, where that can be had. Never raises.

    Where nothing can be had it is a folder that does not exist and cannot be made, so that reading finds nothing and
    keeping fails with an `OSError`, as in a home that is not writable.
    """
    return known_home() or stand_in() or _NOWHERE


def known_home() -> Path | None:
    """The home that the environment or the user database names, None where neither does."""
    named = os.environ.get("HOME", "")
    if not os.path.isabs(named):
        try:
            named = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    return Path(named) if os.path.isabs(named) else None


def stand_in() -> Path | None:
    """`pool-UID` among the temporary files, made if need be. None if others could have made it or may enter it."""
    import tempfile  # 4 ms of a start, seldom needed

    path = Path(tempfile.gettempdir(), f"pool-{os.getuid()}")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return path if ours and stat.S_IMODE(found.st_mode) == 0o700 else None


def homeless_note() -> str:
    """What people are told where no home is known: where things are kept instead. "" where one is known."""
    if known_home() is not None:
        return ""
    place = stand_in()
    kept = f"settings and state lie in {place}" if place else "nothing is kept beyond the run"
    return f"HOME is not set and user {os.getuid()} is not in the user database, so {kept}; set HOME"


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path whose `~` is replaced by `home`. `~NAME` is replaced where there is such a user, and kept where not."""
    text = os.fspath(path)
    if text == "~" or text.startswith("~/"):
        return home() / text[1:].lstrip("/")
    return Path(os.path.expanduser(text))


def base_folder(variable: str) -> Path:
    """The user's folder of a kind, by XDG_CONFIG_HOME, XDG_STATE_HOME or XDG_CACHE_HOME, or below the home."""
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else home() / _BELOW_HOME[variable]
