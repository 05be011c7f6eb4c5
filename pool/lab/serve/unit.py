"""`pool serve --install`: a unit of the user's own systemd that watches a server. It is shown before it is written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pool.lab.serve.setup import ServeError
from pool_tools.home import home
from pool_tools.text import visible

MARK = "# Made by pool serve --install; pool serve --uninstall takes it away."
STOP_SECONDS = 60
RESTART_SECONDS = 30
_SYSTEMCTL_SECONDS = 60.0
_PASSED_ON = ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")

Ask = Callable[[str], bool]


def unit_name(port: int) -> str:
    """How the unit for a port is called."""
    return f"pool-serve-{port}.service"


def unit_file(port: int, env: Mapping[str, str]) -> Path:
    """Where the user's systemd looks for it."""
    base = env.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else home() / ".config") / "systemd" / "user" / unit_name(port)


def unit_text(arguments: Sequence[str], title: str, env: Mapping[str, str]) -> str:
    """The unit: this Pool with these arguments of `pool serve`, and --watch."""
    words = [sys.executable, "-m", "pool", "serve", *arguments]
    if "--watch" not in arguments:
        # What is for the server stands behind --.
        place = words.index("--") if "--" in words else len(words)
        words.insert(place, "--watch")
    variables = {"PATH": env.get("PATH", os.defpath), **{n: env[n] for n in _PASSED_ON if env.get(n)}}
    # Paths may have been typed as seen from here.
    folder = _plain(os.getcwd())
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in variables.items())
    return (
        f"{MARK}\n[Unit]\nDescription=Pool watches {_plain(title)}\n\n[Service]\n{environment}"
        f"WorkingDirectory={folder}\n"
        f"ExecStart={' '.join(map(_quoted, words))}\n"
        # The watch ends the server itself; what is left after that is killed.
        f"KillMode=mixed\nTimeoutStopSec={STOP_SECONDS}\n"
        # It starts servers anew itself; 1 to 3 are its own words for giving up.
        f"Restart=on-failure\nRestartSec={RESTART_SECONDS}\nRestartPreventExitStatus=1 2 3\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def install(text: str, port: int, env: Mapping[str, str], ask: Ask) -> int:
    """Show the unit, ask, write it and start it; the exit code. Raises `ServeError`."""
    file = unit_file(port, env)
    old = _ours(file)
    print(f"{visible(str(file))} {'would be replaced by' if old is not None else 'would hold'}:\n\n{text}")
    print(f"Then: systemctl --user daemon-reload; systemctl --user enable --now {unit_name(port)}")
    if not ask("Write it and start it?"):
        print("nothing was written")
        return 1
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ServeError(f"{file}: {error.strerror}") from None
    _systemctl("daemon-reload")
    _systemctl("enable", "--now", unit_name(port))
    print(f"written and started. Its words: journalctl --user -fu {unit_name(port)}")
    print("To have it run while you are not logged in: loginctl enable-linger")
    return 0


def uninstall(port: int, env: Mapping[str, str], ask: Ask) -> int:
    """Show what goes, ask, stop the unit and delete it; the exit code. Raises `ServeError`."""
    file = unit_file(port, env)
    text = _ours(file)
    if text is None:
        raise ServeError(f"{file} is not there, so nothing is to be taken away; --port names another")
    print(f"{visible(str(file))} holds:\n\n{text}\nIt would be stopped, switched off and deleted.")
    if not ask("Do it?"):
        print("nothing was changed")
        return 1
    _systemctl("disable", "--now", file.name)
    _delete(file)
    _systemctl("daemon-reload")
    print("stopped and deleted")
    return 0


def take_away(file: Path) -> str:
    """Stop a unit that Pool made, switch it off and delete it, asking nobody; what went wrong, "" if nothing did.

    It is deleted also where systemd cannot be asked: no session of the user's may be there. Raises `ServeError` where
    it cannot be deleted.
    """
    problem = ""
    try:
        _systemctl("disable", "--now", file.name)
    except ServeError as error:
        problem = f"{file.name} is deleted, but may still run: {error}"
    _delete(file)
    if not problem:
        _systemctl("daemon-reload")
    return problem


def _delete(file: Path) -> None:
    try:
        file.unlink()
    except OSError as error:
        raise ServeError(f"{file}: {error.strerror}") from None


def _ours(file: Path) -> str | None:
    """The unit's text, None if there is none. Raises `ServeError` if it is not one that Pool made."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ServeError(f"{file}: it cannot be read: {error}") from None
    if not text.startswith(MARK):
        raise ServeError(f"{file} was not made by Pool and is left alone; move it away, or name another --port")
    return text


def _systemctl(*words: str) -> None:
    program = shutil.which("systemctl")
    command = " ".join(["systemctl", "--user", *words])
    if program is None:
        raise ServeError(f"there is no systemctl here; where systemd runs for this user: {command}")
    try:
        done = subprocess.run(
            [program, "--user", *words], capture_output=True, text=True, timeout=_SYSTEMCTL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServeError(f"{command}: {error}") from None
    if done.returncode:
        raise ServeError(f"{command} failed: {visible(done.stderr.strip())}")


def _quoted(word: str) -> str:
    """A word as systemd reads it: quoted, with its signs for variables and specifiers doubled."""
    if "\n" in word or "\0" in word:
        raise ServeError(f"{visible(word)!r} has a line end, which no unit can hold")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _plain(text: str) -> str:
    return " ".join(visible(text).split()).replace("%", "%%")
