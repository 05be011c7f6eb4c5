"""The bubblewrap tier: read-only system, writable workspace, private /tmp, no network, no rights, no survivors."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pool_tools.sandbox.base import Launch, Policy
from pool_tools.sandbox.gitguard import git_paths
from pool_tools.sandbox.seccomp import program as seccomp_program
from pool_tools.sandbox.secrets import homes, secret_paths

TMP_BYTES = 4 * 1024**3
"""Most that /var/tmp and /dev/shm hold; they are in memory."""

DISABLE_USERNS_SINCE = (0, 8)
"""First version of bubblewrap that can forbid further user namespaces."""

REPLACED = ("/tmp", "/var/tmp", "/run", "/dev", "/proc")
"""Folders of the system that commands see their own version of."""

KEPT_IN_RUN = ("/run/current-system", "/run/opengl-driver", "/run/wrappers", "/run/host")
"""Parts of /run that hold programs: NixOS, Flatpak."""

_GPU_DEVICES = ("/dev/dri", "/dev/kfd")
_GPU_PREFIX = "nvidia"

_FILTER_FD = 9

_CACHES = {"GOCACHE": "/tmp/go-build", "UV_CACHE_DIR": "/tmp/uv", "npm_config_cache": "/tmp/npm"}
"""Programs that fail where their cache cannot be written; elsewhere the home's caches are used, read-only."""


class Bubblewrap:
    """Runs commands through bwrap. program is its absolute path, version what it says of itself.

    Each sandbox keeps one folder on disk, which commands see as /tmp, until `close`: files that one command leaves
    there are found by the next.
    """

    name = "bubblewrap"
    contains_processes = True

    def __init__(self, program: str, version: tuple[int, ...], policy: Policy, seccomp: bool = True) -> None:
        """seccomp: filter system calls too, where there is a filter for this machine."""
        self._program = program
        self._version = version
        self._policy = policy
        self._filter = seccomp_program(os.uname().machine) if seccomp else None
        self._private: Path | None = None

    def describe(self) -> str:
        where = "in the workspace and a private /tmp" if self._policy.writable else "in a private /tmp"
        network = "network on" if self._policy.network else "no network"
        return f"bubblewrap: writes only {where}, {network}, secrets in your home hidden"

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        inside = [*self._namespaces(), *self._system(env), *self._workspace(env), "--chdir", str(cwd), "--", *argv]
        launcher = [self._program]
        if self._filter is not None:
            # bwrap reads the filter from a descriptor; the shell opens it, so that a launch is nothing but arguments.
            launcher = ["/bin/sh", "-c", f'exec "$@" {_FILTER_FD}<"$0"', self._folder("filter"), self._program]
            launcher += ["--seccomp", str(_FILTER_FD)]
        return Launch((*launcher, *inside), {**_CACHES, **env, "TMPDIR": "/tmp"})

    def close(self) -> None:
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)
            self._private = None

    def _folder(self, name: str) -> str:
        if self._private is None:
            self._private = Path(tempfile.mkdtemp(prefix="sandbox-"))
            (self._private / "tmp").mkdir()
            (self._private / "empty").touch(mode=0o444)
            if self._filter is not None:
                (self._private / "filter").write_bytes(self._filter)
        return str(self._private / name)

    def _namespaces(self) -> Iterator[str]:
        yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        if not self._policy.network:
            yield "--unshare-net"
        if self._version >= DISABLE_USERNS_SINCE:
            yield "--disable-userns"
        yield from ("--cap-drop", "ALL", "--die-with-parent", "--new-session")

    def _system(self, env: Mapping[str, str]) -> Iterator[str]:
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        # Root keeps the right to write there, whatever its capabilities.
        yield from ("--ro-bind", "/proc/sys", "/proc/sys")
        yield from ("--size", str(TMP_BYTES), "--tmpfs", "/dev/shm", "--bind", self._folder("tmp"), "/tmp")
        if os.path.isdir("/var/tmp") and not os.path.islink("/var/tmp"):
            yield from ("--size", str(TMP_BYTES), "--tmpfs", "/var/tmp")
        if os.path.isdir("/run"):
            yield from ("--tmpfs", "/run")
            for kept in KEPT_IN_RUN:
                yield from ("--ro-bind-try", kept, kept)
            if self._policy.network:
                resolver = os.path.realpath("/etc/resolv.conf")
                if resolver.startswith("/run/"):
                    yield from ("--ro-bind-try", resolver, resolver)
        if self._policy.gpu:
            for device in _gpu_devices():
                yield from ("--dev-bind-try", device, device)
        for path in (*homes(env), env.get("VIRTUAL_ENV", ""), *_program_folders(env)):
            real = os.path.realpath(path) if path else ""
            if real and _replaced(real) and os.path.isdir(real):
                yield from ("--ro-bind", real, str(path))

    def _workspace(self, env: Mapping[str, str]) -> Iterator[str]:
        roots = [Path(os.path.realpath(root)) for root in self._policy.roots]
        hidden = [
            path
            for path in secret_paths(env, self._policy.hidden)
            if not _replaced(str(path)) or _seen(path, roots, env)
        ]
        around = [path for path in hidden if path not in roots and any(root.is_relative_to(path) for root in roots)]
        others = [path for path in hidden if path not in around and path not in roots]
        for path in around:
            yield from ("--tmpfs", str(path))
        for root in roots:
            yield from ("--bind" if self._policy.writable else "--ro-bind", str(root), str(root))
        for path in around:
            yield from ("--remount-ro", str(path))
        if self._policy.writable:
            for root in roots:
                yield from _git(root)
        for path in others:
            if path.is_dir():
                yield from ("--tmpfs", str(path), "--remount-ro", str(path))
            elif path.exists():
                yield from ("--ro-bind", self._folder("empty"), str(path))


def _git(root: Path) -> Iterator[str]:
    """Each git folder is a mount of its own, so that it cannot be moved aside and made anew without its protection."""
    paths = git_paths(root)
    for path in paths.writable:
        yield from ("--bind", str(path), str(path))
    for path in paths.protected:
        yield from ("--ro-bind", str(path), str(path))


def _program_folders(env: Mapping[str, str]) -> Iterator[str]:
    """Where the programs of PATH lie: its folders, and for those of a Python environment the whole of it."""
    for folder in env.get("PATH", "").split(os.pathsep):
        prefix = os.path.dirname(folder)
        yield prefix if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else folder


def _replaced(path: str) -> bool:
    return any(path == top or path.startswith(top + "/") for top in REPLACED)


def _seen(path: Path, roots: Sequence[Path], env: Mapping[str, str]) -> bool:
    """Whether a path in a replaced folder shows again, below a root or a home."""
    tops = [*roots, *(Path(os.path.realpath(home)) for home in homes(env))]
    return any(path.is_relative_to(top) for top in tops)


def _gpu_devices() -> Iterator[str]:
    yield from _GPU_DEVICES
    for name in sorted(os.listdir("/dev")):
        if name.startswith(_GPU_PREFIX):
            yield f"/dev/{name}"
