"""The Landlock tier: a process confined by the kernel's Landlock and a filter of system calls.

For machines where nobody may make namespaces. Weaker than bubblewrap in what `LACKS` says.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pool_tools.private import PrivateFolder, make_private
from pool_tools.sandbox import confine
from pool_tools.sandbox.base import Access, CannotExpress, Guard, Launch, Policy, Process
from pool_tools.sandbox.bounds import OOM_SCORE
from pool_tools.sandbox.confine import Plan
from pool_tools.sandbox.forkclient import ForkClient
from pool_tools.sandbox.gitguard import git_paths
from pool_tools.sandbox.gitrestore import GitGuard
from pool_tools.sandbox.seccomp import SCOPES_SINCE_ABI, Unnamespaced, landlock_program
from pool_tools.sandbox.secrets import secret_paths
from pool_tools.sandbox.view import CACHES, KEPT_IN_RUN, REPLACED, resolver_file, shown_again, without

NEWEST_ABI = 7
"""Newest version of Landlock that this code knows; later ones are used as this one."""

MOVES_SINCE_ABI = 2

_READ = confine.EXECUTE | confine.READ_FILE | confine.READ_FOLDER
_WRITE = (
    _READ
    | confine.WRITE_FILE
    | confine.TRUNCATE
    | confine.REMOVE_FOLDER
    | confine.REMOVE_FILE
    | confine.MAKE_FOLDER
    | confine.MAKE_FILE
    | confine.MAKE_SOCKET
    | confine.MAKE_FIFO
    | confine.MAKE_LINK
    | confine.MOVE_BETWEEN_FOLDERS
)
_DEVICE = confine.READ_FILE | confine.WRITE_FILE | confine.TRUNCATE | confine.IOCTL_DEVICE

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")

LACKS = (
    "modes, owners and times of your files elsewhere can be changed",
    "names of all files, and command lines of all processes, can be seen",
    "no terminals, local servers or shared memory inside",
)
"""What this tier does not do that bubblewrap does, for people."""

NO_GPU = "CUDA does not work under Landlock: it wants local sockets, and to write in /proc"
"""Seen on an H200 with CUDA 13: each of the two makes `cudaGetDeviceCount` fail with error 304."""

LACKS_SCOPES = "processes of yours other than Pool can be signalled"
LACKS_MOVES = "files cannot be moved between folders"
LACKS_LOOPBACK = "servers on this machine can be reached"


class Landlock:
    """Runs commands under Landlock. abi is the kernel's version of it, or a lower one to be used.

    Each sandbox keeps one folder on disk, which commands have as TMPDIR, until `close`; and one process that starts
    commands, from the first command on.
    """

    contains_processes = False

    def __init__(self, policy: Policy, abi: int, env: Mapping[str, str] | None = None) -> None:
        """env: the environment that names the user's home. Raises `CannotExpress`."""
        if policy.access is Access.FULL:
            raise CannotExpress("full access is no sandbox")
        if policy.allow is not None:
            raise CannotExpress("Landlock cannot limit the network to a list of hosts")
        if policy.gpu:
            raise CannotExpress(NO_GPU)
        self.name = "external" if policy.access is Access.EXTERNAL else "landlock"
        self._policy = policy
        self._abi = min(abi, NEWEST_ABI)
        self._roots = [Path(os.path.realpath(root)) for root in policy.roots]
        self.bounds = policy.bounds
        self._private: PrivateFolder | None = None
        self._forker = ForkClient()
        self.guard: Guard | None = GitGuard(self._roots, journals=policy.journals) if policy.writable else None
        self._check(self._secrets(os.environ if env is None else env))

    def describe(self) -> str:
        where = "in the workspace and a private TMPDIR" if self._policy.writable else "in a private TMPDIR"
        lacks: list[str] = [*LACKS]
        if self._abi < MOVES_SINCE_ABI:
            lacks.append(LACKS_MOVES)
        if self._abi < SCOPES_SINCE_ABI:
            lacks.append(LACKS_SCOPES)
        if self._policy.network:
            lacks.append(LACKS_LOOPBACK)
        network = "network on" if self._policy.network else "no network"
        first = "external, and Landlock inside" if self.name == "external" else "Landlock"
        return f"{first}: writes only {where}, {network}, secrets in your home unreadable. Weaker than bubblewrap: " + (
            "; ".join(lacks)
        )

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        """Through a new interpreter, which takes some 30 ms; `start` needs none. Raises `CannotExpress`."""
        plan = json.dumps(self._plan(env)).encode()
        file = self._folder() / f"plan-{hashlib.sha256(plan).hexdigest()[:16]}"
        if not file.exists():
            file.write_bytes(plan)
        launcher = (sys.executable, "-I", "-S", confine.__file__, str(file))
        return Launch((*launcher, *argv), self._environment(env))

    def ready_to_start(self) -> None:
        with contextlib.suppress(OSError):  # the command that is started next tells of it
            self._forker.ready()

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], control: int, output: int) -> Process:
        self._forker.ready()
        return self._forker.start(argv, cwd, self._environment(env), self._plan(env), control, output)

    def read_only(self) -> Landlock:
        """This sandbox for commands that write only to TMPDIR, which is the same, and have no network."""
        self._folder()
        view = copy.copy(self)
        view._policy = self._policy.reading()
        view.guard = None
        return view

    def scratch_folder(self) -> tuple[Path, str]:
        """The commands' temporary folder, and how they call it."""
        folder = self._folder() / "tmp"
        return folder, str(folder)

    def close(self) -> None:
        if self.guard is not None:
            self.guard.close()
        self._forker.close()
        if self._private is not None:
            self._private.remove()
            self._private = None

    def _folder(self) -> Path:
        if self._private is None:
            self._private = make_private("sandbox")
            (self._private.path / "tmp").mkdir()
        return self._private.path

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        tmp = self._folder() / "tmp"
        return {**{name: str(tmp / folder) for name, folder in CACHES.items()}, **env, "TMPDIR": str(tmp)}

    def _plan(self, env: Mapping[str, str]) -> Plan:
        hidden = self._secrets(env)
        self._check(hidden)
        protected = (*_with_group(os.getpid()), *_with_group(self._forker.pid))
        rest = Unnamespaced(self._policy.network, self._abi, tuple(pid for pid in protected if pid not in (0, 1)))
        code = landlock_program(os.uname().machine, rest)
        if code is None:
            raise CannotExpress(f"there is no filter of system calls for {os.uname().machine}")
        bounds = self._policy.bounds
        return {
            "rules": list(self._rules(env, hidden)),
            "network": self._policy.network,
            "filter": code.hex(),
            "resources": [*bounds.resources(), bounds.processes_outside()],
            "oom": OOM_SCORE,
            "abi": self._abi,
        }

    def _secrets(self, env: Mapping[str, str]) -> tuple[Path, ...]:
        return secret_paths(env, self._policy.hidden, self._policy.readable)

    def _check(self, hidden: Sequence[Path]) -> None:
        """Rules only add: what lies in a folder that may be written as a whole cannot be kept from being read."""
        if not self._policy.writable:
            return
        for path in hidden:
            if any(path != root and path.is_relative_to(root) for root in (*self._roots, *self._policy.caches)):
                raise CannotExpress(
                    f"Landlock cannot hide {path}, since it lies in the workspace, which may be written. "
                    "Choose a narrower workspace"
                )

    def _rules(self, env: Mapping[str, str], hidden: Sequence[Path]) -> Iterator[tuple[str, int]]:
        # Without this no folder that holds something hidden could be listed, the root and the home among them.
        yield "/", confine.READ_FOLDER
        for path in without("/", (*(Path(top) for top in REPLACED), *hidden)):
            yield path, _READ
        for _, real in shown_again(env):
            for path in without(real, hidden):
                yield path, _READ
        yield "/proc", _READ
        for path in KEPT_IN_RUN:
            yield path, _READ
        resolver = resolver_file() if self._policy.network else None
        if resolver:
            yield resolver, _READ
        for device in _DEVICES:
            yield device, _DEVICE
        yield str(self._folder() / "tmp"), _WRITE
        for folder in self._policy.caches:
            yield os.path.realpath(folder), _WRITE if self._policy.writable else _READ
        yield from self._workspace(hidden)

    def _workspace(self, hidden: Sequence[Path]) -> Iterator[tuple[str, int]]:
        for root in self._roots:
            if self._policy.writable:
                yield str(root), _WRITE
                for folder in git_paths(root).writable:
                    yield str(folder), _WRITE
            else:
                for place in (root, *git_paths(root).writable):
                    for path in without(str(place), [path for path in hidden if path != place]):
                        yield path, _READ


def _with_group(pid: int) -> tuple[int, ...]:
    """A process, and its group as `kill` names it."""
    try:
        return (pid, -os.getpgid(pid)) if pid else ()
    except OSError:
        return (pid,)
