"""What of the machine commands see, whichever tier shows it to them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pool_tools.sandbox.secrets import homes

REPLACED = ("/tmp", "/var/tmp", "/run", "/dev", "/proc")
"""Folders of the system that commands see their own version of, or little of."""

KEPT_IN_RUN = ("/run/current-system", "/run/opengl-driver", "/run/wrappers", "/run/host")
"""Parts of /run that hold programs: NixOS, Flatpak."""

CACHES = {"GOCACHE": "go-build", "UV_CACHE_DIR": "uv", "npm_config_cache": "npm"}
"""Programs that fail where their cache cannot be written get one in the commands' own temporary folder, under these
names. Elsewhere the home's caches are used, read-only."""

_GPU_DEVICES = ("/dev/dri", "/dev/kfd")
_GPU_PREFIX = "nvidia"


def replaced(path: str) -> bool:
    """Whether a path lies in a folder that commands have their own version of."""
    return any(path == top or path.startswith(top + "/") for top in REPLACED)


def seen(path: Path, roots: Sequence[Path], env: Mapping[str, str]) -> bool:
    """Whether a path in a replaced folder shows again: below a root, a home, or a folder of programs."""
    tops = [*roots, *(Path(real) for _, real in shown_again(env))]
    return any(path.is_relative_to(top) for top in tops)


def shown_again(env: Mapping[str, str], also: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Folders in replaced ones that commands need: homes, programs, those in also. Path as spelled, and real path."""
    for path in (*homes(env), env.get("VIRTUAL_ENV", ""), *_program_folders(env), *also):
        real = os.path.realpath(path) if path else ""
        if real and replaced(real) and os.path.isdir(real):
            yield str(path), real


def resolver_file() -> str | None:
    """The file that names DNS servers, where it lies in /run."""
    path = os.path.realpath("/etc/resolv.conf")
    return path if path.startswith("/run/") else None


def gpu_devices() -> Iterator[str]:
    """Device files that computing on a GPU takes, where there are any."""
    names = (f"/dev/{name}" for name in sorted(os.listdir("/dev")) if name.startswith(_GPU_PREFIX))
    yield from (path for path in (*_GPU_DEVICES, *names) if os.path.exists(path))


def without(top: str, hidden: Iterable[Path]) -> Iterator[str]:
    """The largest files and folders below top (or top itself) that together hold everything but hidden.

    Links are left out: what they lead to is covered where it is, or is not to be seen. What appears later in a folder
    that holds something hidden is not covered.
    """
    yield from _without(top, [str(path) for path in hidden])


def _without(top: str, hidden: list[str]) -> Iterator[str]:
    inside = top.rstrip("/") + "/"
    below = [path for path in hidden if path == top or path.startswith(inside)]
    if not below:
        yield top
    elif top not in below:
        try:
            entries = [entry.path for entry in os.scandir(top) if not entry.is_symlink()]
        except OSError:
            return
        for path in entries:
            yield from _without(path, below)


def _program_folders(env: Mapping[str, str]) -> Iterator[str]:
    """Where the programs of PATH lie: its folders, and for those of a Python environment the whole of it."""
    for folder in env.get("PATH", "").split(os.pathsep):
        prefix = os.path.dirname(folder)
        yield prefix if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else folder
