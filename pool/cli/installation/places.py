"""The places in which Pool keeps something, by the same functions that the parts of Pool find them with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pool.config.files import FOLDER, LOCAL_FILE, PROJECT_FILE, SYSTEM_FILE, Places, project_folder
from pool.config.toolsecrets import FILE as SECRETS_FILE
from pool.extend.mcp.logins import FOLDER as LOGINS_FOLDER
from pool.lab.serve.unit import MARK, unit_file
from pool.sessions.store import sessions_folder
from pool_tools.frozen import frozen
from pool_tools.home import base_folder, home

COMPLETION_MARK = b"# Made by `pool completion "
MANUAL_MARK = b'.TH POOL 1 "" "Pool '
_MARK_BYTES = 200
"""The mark is in the first lines."""

_ANY_PORT = "pool-serve-*.service"


@frozen
class Place:
    """A file or folder. holds says for people what is kept there; path may not exist."""

    name: str
    path: Path
    holds: str

    @property
    def exists(self) -> bool:
        """Whether there is something, a dangling link counts."""
        return os.path.lexists(self.path)


def caches_folder() -> Path:
    """Pool's own folder of the user's caches."""
    return base_folder("XDG_CACHE_HOME") / "pool"


def known_places(env: Mapping[str, str], workspace: Path) -> list[Place]:
    """Every place, also where nothing is yet; workspace is the folder whose project counts."""
    places, own = Places.usual(env), package_folder()
    checkout = project_folder(workspace) / FOLDER
    return [
        Place("configuration", places.user, "what is yours: settings, skills, commands, agents, themes"),
        Place("settings", places.user_file, "your settings"),
        Place("keys", places.credentials, "API keys of servers, or which of them the keyring has"),
        Place("secrets", places.user / SECRETS_FILE, "values for commands, or which of them the keyring has"),
        Place("logins", places.user / LOGINS_FOLDER, "logins at MCP servers, or that the keyring has them"),
        Place("state", places.state, "sessions, what undo needs, trust, approvals, prompts, logs"),
        Place("sessions", sessions_folder(), "one file for each session"),
        Place("caches", caches_folder(), "packages that commands downloaded"),
        Place("project", checkout / PROJECT_FILE, "settings of the project here, for all who work on it"),
        Place("local", checkout / LOCAL_FILE, "your settings for the project here"),
        Place("system", SYSTEM_FILE, "settings for everybody on this machine"),
        *(Place("unit", path, "a model server that pool serve --install keeps running") for path in units(env)),
        *(Place("shell", path, "completion for a shell, or the manual page") for path in shell_files(env)),
        Place("program", own, "Pool itself"),
    ]


def package_folder() -> Path:
    """The folder of the package `pool`."""
    return Path(__file__).resolve().parents[2]


def units(env: Mapping[str, str]) -> list[Path]:
    """The units of the user's systemd that Pool made."""
    return [path for path in sorted(unit_file(0, env).parent.glob(_ANY_PORT)) if _begins(path, MARK.encode())]


def shell_files(env: Mapping[str, str]) -> list[Path]:
    """Completion scripts and manual pages that Pool made, in the folders where a user's are looked for."""
    given = env.get("XDG_DATA_HOME", "")
    data = Path(given) if os.path.isabs(given) else home() / ".local" / "share"
    folders = [
        *(data / "bash-completion" / "completions", base_folder("XDG_CONFIG_HOME") / "fish" / "completions"),
        *(data / "zsh" / "site-functions", home() / ".zfunc", home() / ".zsh" / "completions", home() / ".zsh"),
        *(Path(one) for one in env.get("FPATH", "").split(":") if os.path.isabs(one)),
    ]
    names = ("pool", "laguna-pool", "pool.bash", "pool.fish", "_pool")
    found = [folder / name for folder in dict.fromkeys(folders) for name in names]
    pages = [data / "man" / "man1" / name for name in ("pool.1", "laguna-pool.1")]
    scripts = [path for path in found if _begins(path, COMPLETION_MARK)]
    return scripts + [path for path in pages if _begins(path, MANUAL_MARK)]


def _begins(path: Path, mark: bytes) -> bool:
    """Whether a regular file has a mark in its first lines."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        try:
            return mark in file.read(_MARK_BYTES)
        except OSError:
            return False
