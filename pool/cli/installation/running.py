"""Who works with Pool's files now: sessions that are open, and processes of this user that run Pool."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pool.config.files import Places
from pool.facekit.live.place import LIVE_FOLDER, live_records
from pool.sessions.log import in_use
from pool.sessions.store import SUFFIX, sessions_folder, short_id
from pool_tools.text import visible

NAMES = ("pool", "laguna-pool")
HARMLESS = frozenset({"sim", "completion"})
"""Commands that use nothing of what Pool keeps."""

PROCESSES = Path("/proc")
_UNIT = re.compile(r"/pool-serve-\d+\.service(/|$)", re.MULTILINE)
_ARGUMENTS_SHOWN = 60


def running(processes: Path = PROCESSES) -> list[str]:
    """A line for each session that is open and each other process of Pool, this one left out. Raises `PlaceError`.

    Servers that a unit of Pool's keeps running do not count: they are stopped with the unit.
    """
    lines: list[str] = []
    folder = sessions_folder()
    # Asking makes the folder.
    live = live_records() if folder.with_name(LIVE_FOLDER).is_dir() else []
    known = {record.session for record in live}
    lines += [f"session {short_id(r.session)} in {visible(r.workspace)}: pool stop {short_id(r.session)}" for r in live]
    if folder.is_dir():
        logs = sorted(path for path in folder.glob(f"*{SUFFIX}") if path.stem not in known)
        lines += [f"session {short_id(path.stem)} is open in another terminal" for path in logs if in_use(path)]
    return lines + [f"process {pid}: {words}" for pid, words in _processes(processes)]


def _processes(folder: Path) -> list[tuple[int, str]]:
    """Processes of Pool that keep their state where this one does. None where the system has no /proc."""
    own = os.path.realpath(Places.usual(os.environ).state)
    found: list[tuple[int, str]] = []
    for entry in sorted(folder.glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            if int(entry.name) == os.getpid() or entry.stat().st_uid != os.geteuid():
                continue
            words = [os.fsdecode(word) for word in (entry / "cmdline").read_bytes().split(b"\0") if word]
            arguments = arguments_of(words)
            if arguments is None or HARMLESS.intersection(arguments[:1]) or _by_unit(entry):
                continue
            if _state_of(entry) == own:
                shown = visible(" ".join(["pool", *arguments]))
                found.append((int(entry.name), shown[:_ARGUMENTS_SHOWN]))
        except OSError:
            continue
    return found


def arguments_of(words: list[str]) -> list[str] | None:
    """The arguments of a command line of Pool, None if it is another program's."""
    if not words or not os.path.basename(words[0]).startswith("python"):
        return None
    # Flags of Python itself come before the module or script.
    for place, word in enumerate(words[1:], start=1):
        if word == "-m":
            return words[place + 2 :] if words[place + 1 : place + 2] == ["pool"] else None
        if not word.startswith("-"):
            return words[place + 1 :] if os.path.basename(word) in NAMES else None
    return None


def _by_unit(process: Path) -> bool:
    """Whether systemd started a process for a unit of `pool serve --install`; its control group says so."""
    try:
        return bool(_UNIT.search((process / "cgroup").read_text(encoding="utf-8", errors="replace")))
    except FileNotFoundError:
        return False


def _state_of(process: Path) -> str:
    """The state folder that a process uses, by its environment. Raises OSError where that may not be read."""
    rows = (os.fsdecode(row).partition("=") for row in (process / "environ").read_bytes().split(b"\0"))
    env = {name: value for name, _, value in rows}
    given = env.get("XDG_STATE_HOME", "")
    base = given if os.path.isabs(given) else os.path.join(env.get("HOME", ""), ".local", "state")
    return os.path.realpath(os.path.join(base, "pool"))
