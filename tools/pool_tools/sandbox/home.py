"""What of the user's home commands see: nothing but what development takes, the workspace, and what the user names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pool_tools.frozen import frozen
from pool_tools.sandbox.secrets import homes

READABLE = (
    # programs and their libraries
    ".local/bin", ".local/lib", ".local/opt", ".local/pipx", "bin", ".nix-profile",
    # toolchains and version managers
    ".cargo", ".rustup", ".pyenv", ".rye", ".virtualenvs", ".local/share/virtualenvs", ".local/share/uv",
    ".local/share/pipx", ".conda", "miniconda3", "miniforge3", "anaconda3", ".nvm", ".fnm", ".local/share/fnm",
    ".volta", ".local/share/pnpm", ".local/share/mise", ".npm-global", ".yarn", ".bun", ".deno", "go", ".goenv",
    ".asdf", ".sdkman", ".rbenv", ".rvm", ".gem", ".dotnet", ".nuget", ".ghcup", ".cabal", ".stack", ".opam", ".elan",
    ".julia", ".juliaup", ".mix", ".hex", ".pub-cache", "Android/Sdk",
    # what was downloaded and built before
    ".cache", ".npm", ".m2", ".gradle", ".ivy2", ".sbt",
    # who commits, and how tools are set up
    ".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".gitattributes", ".config/pip", ".pip",
    ".config/uv", ".config/go", ".config/ruff", ".config/fontconfig", ".config/matplotlib", ".tool-versions",
    ".python-version", ".node-version", ".editorconfig",
)  # fmt: skip
"""Relative to the home. Of these, `SECRETS` stay hidden."""

_NAMING = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "CARGO_HOME",
    "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "ANDROID_HOME", "DOTNET_ROOT", "GEM_HOME", "RBENV_ROOT",
    "CUDA_HOME", "HF_HOME", "UV_CACHE_DIR", "PIP_CACHE_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""Variables that say where something of that kind is instead."""

# Without its hooks a commit would bypass them; included files may hold the user's name.
_NAMED_BY_GIT = re.compile(
    r"^\s*(?:hookspath|template|templatedir|excludesfile|attributesfile|path)\s*=\s*\"?([^\"\n#;]+?)\"?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_GIT_CONFIGS = (".gitconfig", ".config/git/config")
_CONFIG_CHARS = 64 * 1024
_INCLUDES_MOST = 16

_SYSTEM = ("/usr", "/bin", "/sbin", "/etc", "/proc", "/sys", "/dev")
_SHARED = ("/", "/home", "/var", "/opt", "/srv", "/run", "/tmp", "/mnt", "/media", "/Users")


@frozen
class Home:
    """A home of which only some is shown. path is real; shown are paths in it as commands call them, with real ones."""

    path: Path
    shown: tuple[tuple[Path, Path], ...]

    def copies(self, hidden: Path) -> Iterator[Path]:
        """Where a hidden path, a real one, can be seen in this home."""
        for path, real in self.shown:
            if hidden.is_relative_to(real):
                yield path / hidden.relative_to(real)


def narrowed_homes(
    env: Mapping[str, str], roots: Sequence[Path], readable: Iterable[Path] = (), also: Iterable[str] = ()
) -> tuple[Home, ...]:
    """The homes that can be hidden but for what is needed there.

    roots are real paths; a home that holds no more than a workspace, or is a folder of the system, is not among them.
    readable: what the user lets commands read. also: folders that commands need besides.
    """
    found = dict.fromkeys(Path(os.path.realpath(home)) for home in homes(env))
    named = [*map(str, readable), *also, *(env.get(name, "") for name in _NAMING), *env.get("GOPATH", "").split(":")]
    return tuple(
        Home(home, tuple(_shown(home, env, named)))
        for home in found
        if _is_a_home(home) and not any(home.is_relative_to(root) for root in roots)
    )


def _is_a_home(path: Path) -> bool:
    """Some accounts of the system have folders that everybody needs for their homes."""
    return str(path) not in _SHARED and not any(path.is_relative_to(top) for top in _SYSTEM)


def _shown(home: Path, env: Mapping[str, str], named: Iterable[str]) -> Iterator[tuple[Path, Path]]:
    """What there is of it, without what lies in something that comes before."""
    wanted = [f"{home}/{name}" for name in READABLE]
    wanted += [path for path in (*named, *_programs(home, env), *_named_by_git(home)) if os.path.isabs(path)]
    wanted = [path for path in wanted if os.path.lexists(path)]
    done: list[str] = []
    for path in sorted({os.path.normpath(path) for path in wanted}):
        inside = path.startswith(f"{home}/") and path != str(home)
        if inside and os.path.exists(path) and not any(path.startswith(f"{top}/") for top in done):
            done.append(path)
            yield Path(path), Path(os.path.realpath(path))
    # What a link outside leads to, such as an interpreter that an environment elsewhere is made of.
    for path in wanted:
        real = os.path.realpath(path)
        if real != path and real.startswith(f"{home}/") and not any(f"{real}/".startswith(f"{t}/") for t in done):
            done.append(real)
            yield Path(real), Path(real)


def _programs(home: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Folders of PATH: with what lies around them, unless that is the home or something that holds much else."""
    for folder in env.get("PATH", "").split(os.pathsep):
        around = os.path.dirname(folder)
        own = os.path.basename(folder) == "bin" and around not in (str(home), f"{home}/.local")
        yield around if own else folder


def _named_by_git(home: Path) -> Iterator[str]:
    """Files and folders that the user's own configuration of git names, and those that files it includes name."""
    todo = [os.path.join(home, name) for name in _GIT_CONFIGS]
    seen: set[str] = set()
    while todo and len(seen) < _INCLUDES_MOST:
        config = todo.pop()
        seen.add(config)
        try:
            with open(config, encoding="utf-8", errors="replace") as file:
                text = file.read(_CONFIG_CHARS)
        except OSError:
            continue
        for found in _NAMED_BY_GIT.finditer(text):
            path = found[1].replace("~", str(home), 1) if found[1].startswith("~/") else found[1]
            path = os.path.normpath(os.path.join(os.path.dirname(config), path))
            yield path
            if path not in seen and os.path.isfile(path):
                todo.append(path)
