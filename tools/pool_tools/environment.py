"""The environment of commands, by allow-list, and programs found outside the workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pool_tools.text import visible

ALLOWED = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
        "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION",
        "NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR",
        "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN",
        "JAVA_HOME", "ANDROID_HOME", "DOTNET_ROOT", "GEM_HOME", "RBENV_ROOT", "CUDA_HOME", "CUDA_PATH",
        "CUDA_VISIBLE_DEVICES", "HF_HOME", "HF_HUB_OFFLINE", "UV_CACHE_DIR", "UV_OFFLINE", "PIP_CACHE_DIR",
        "NIX_PROFILES", "NIX_SSL_CERT_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "LOCALE_ARCHIVE", "SOURCE_DATE_EPOCH",
    }
)  # fmt: skip
"""Variables that commands get from the user's environment, besides `LC_*`. Loader and interpreter variables, sockets of
agents and buses, proxies and everything of git stay out."""

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|session|cookie|private", re.IGNORECASE)
LOGIN_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""An address with a password in it."""

_NO_EDITOR = (
    "echo 'No editor here: give the text (git commit -m) or keep the proposed one (GIT_EDITOR=true)' >&2; false"
)

FIXED: Mapping[str, str] = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": _NO_EDITOR,
    "GIT_SEQUENCE_EDITOR": _NO_EDITOR,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "SUDO_ASKPASS": "false",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
}
"""What commands get in any case: nothing that waits for a person, no pager, output as it comes."""


def clean_environment(environ: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a command: allowed variables of environ, the fixed ones, then extra (the user's additions).

    A variable whose name sounds like a secret, or whose value holds a login in a URL, is left out even if allowed; one
    in extra is the user's own decision and stays.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if (name in ALLOWED or name.startswith("LC_"))
        and not _SECRET_NAME.search(name)
        and not LOGIN_IN_URL.search(value)
    }
    return {**kept, **FIXED, **(extra or {})}


def find_program(name: str, search_path: str, roots: Sequence[Path]) -> str | None:
    """Absolute path of a program in search_path that lies, also by its real path, outside all roots; None if none does.

    A program in the workspace could have been put there by a checkout or a model.
    """
    return next((path for path, inside in _programs(name, search_path, roots) if not inside), None)


def why_no_program(name: str, search_path: str, roots: Sequence[Path]) -> str:
    """Why `find_program` finds none, for messages: it is not there, or not trusted where it is."""
    path = next((path for path, _ in _programs(name, search_path, roots)), None)
    if path is None:
        return f"{name} is not installed"
    return (
        f"{name} is installed only inside the workspace ({visible(path)}), where commands may replace it, so it is not "
        "trusted"
    )


def _programs(name: str, search_path: str, roots: Sequence[Path]) -> Iterator[tuple[str, bool]]:
    """Programs of that name in the order of search_path, each with whether it lies inside a root."""
    for folder in search_path.split(os.pathsep):
        if not os.path.isabs(folder):
            continue
        path = os.path.join(folder, name)
        real = os.path.realpath(path)
        if os.path.isfile(real) and os.access(path, os.X_OK):
            yield path, any(os.path.commonpath((root, p)) == str(root) for root in roots for p in (path, real))
