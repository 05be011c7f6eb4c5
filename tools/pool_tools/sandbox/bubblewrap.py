"""The bubblewrap tier: read-only system, writable workspace, private /tmp, no network, no rights, no survivors."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pool_tools.network.starter import PROXY_PORT, SOCKET_NAME, interpreter_folders, proxy_variables, start_command
from pool_tools.private import PrivateFolder, make_private
from pool_tools.sandbox.base import Guard, Launch, Policy, Process, start_launch
from pool_tools.sandbox.devices import DeviceGuard
from pool_tools.sandbox.gitguard import GitPaths, git_paths
from pool_tools.sandbox.gitrestore import GitGuard
from pool_tools.sandbox.home import narrowed_homes
from pool_tools.sandbox.memscope import MemoryScope
from pool_tools.sandbox.seccomp import program as seccomp_program
from pool_tools.sandbox.secrets import secret_paths
from pool_tools.sandbox.sharednet import NetworkError, SharedNetwork, open_network
from pool_tools.sandbox.unseen import UNKEPT, exclude_files
from pool_tools.sandbox.view import CACHES, KEPT_IN_RUN, gpu_devices, replaced, resolver_file, seen, shown_again
from pool_tools.sandbox.watch import MEMORY_LEAST_BYTES, available_memory

if TYPE_CHECKING:
    from pool_tools.network.rules import AllowList

TMP_BYTES = 4 * 1024**3
"""Most that /var/tmp and /dev/shm hold; they are in memory."""

DISABLE_USERNS_SINCE = (0, 8)
"""First version of bubblewrap that can forbid further user namespaces."""

PROXY_FOLDER = "/run/pool"
"""Where commands see the folder of the network proxy."""

_FILTER_FD = 9
_HASH_CHARS = 16

# The inner end: runs the command, then tells its status and what it left running over descriptor 0, a socket that the
# command itself does not get. `trap :` keeps it alive when all are asked to end; unlike an ignored signal it is not
# inherited. What the shell itself has to say ("Terminated") is nobody's output.
_REPORT = """trap : TERM
exec 3>&2 2>/dev/null
("$@" </dev/null 2>&3 3>&-)
s=$?
l=
for p in /proc/[0-9]*; do
case $p in /proc/1|/proc/$$) continue;; esac
n=
read -r n <"$p/comm" && l="$l\t$n"
done 2>/dev/null
printf '%s%s\\n' "$s" "$l" >&0
exit "$s"
"""


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
        self.bounds = policy.bounds
        self._private: PrivateFolder | None = None
        self._shared: SharedNetwork | None = None
        self._handed: set[int] = set()
        self._scope: MemoryScope | None = None
        self._kept = 0
        self._mounted: tuple[Path, ...] | None = None
        # Mounts protect what is there; the guard, what is not there yet, and repositories inside this one.
        self.guard: Guard | None = None
        if policy.writable:
            self.guard = GitGuard(policy.roots, self._protected, policy.journals)
        if os.geteuid() == 0:
            self.guard = DeviceGuard(self.guard)

    def describe(self) -> str:
        where = "in the workspace and a private /tmp" if self._policy.writable else "in a private /tmp"
        network = "network on" if self._policy.network else "no network"
        if self._policy.allow is not None:
            network = f"network only to {self._policy.allow}"
        roots = [Path(os.path.realpath(root)) for root in self._policy.roots]
        narrowed = narrowed_homes(os.environ, roots)
        home = "your home hidden but for tools and caches" if narrowed else "secrets in your home hidden"
        return f"bubblewrap: writes only {where}, {network}, {home}"

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        if self._policy.allow is not None:
            env = {**env, **proxy_variables()}
            if self._shared is None:
                argv = start_command(f"{PROXY_FOLDER}/{SOCKET_NAME}", self._policy.allow.loopback_ports, argv)
        # Limits are set inside, since the number of processes is counted for each user namespace.
        limited = ("/bin/sh", "-c", f'{self._policy.bounds.shell()}; exec "$@"', "sh", *argv)
        inside = [*self._namespaces(), *self._system(env), *self._workspace(env), "--chdir", str(cwd), "--", *limited]
        launcher = [self._program]
        if self._filter is not None:
            # bwrap reads the filter from a descriptor; the shell opens it, so that a launch is nothing but arguments.
            launcher = ["/bin/sh", "-c", f'exec "$@" {_FILTER_FD}<"$0"', self._folder("filter"), self._program]
            launcher += ["--seccomp", str(_FILTER_FD)]
        caches = {name: f"/tmp/{folder}" for name, folder in CACHES.items()}
        env = {**caches, **env, "TMPDIR": "/tmp"}
        if self._shared is None:
            return Launch((*launcher, *inside), env)
        return Launch(self._shared.joined((*launcher, *inside)), env, self._shared.descriptors)

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], control: int, output: int) -> Process:
        launch = self.wrap(("/bin/sh", "-c", _REPORT, "sh", *argv), cwd, env)
        if self._scope is not None:
            most = max(available_memory() - self._kept, MEMORY_LEAST_BYTES)
            launch = replace(launch, argv=self._scope.around(launch.argv, most))
        return start_launch(launch, cwd, control, output)

    def scope_memory(self, scope: MemoryScope, kept: int) -> None:
        """Bound the memory of all further commands: what is available as they start, less kept bytes."""
        self._scope, self._kept = scope, kept

    def share_network(self) -> str:
        """Give all further commands one private loopback. Says why that cannot be, "" if it can. Blocks."""
        if not self._policy.network and self._shared is None:
            try:
                shared = open_network(self._program, self._policy.roots)
            except NetworkError as error:
                return str(error)
            if failure := self._hand_over(shared, self._policy):
                shared.close()
                return failure
            self._shared = shared
        return ""

    def reach(self, allow: AllowList, proxy_folder: Path, caches: Sequence[Path]) -> str:
        """Let all further commands out to a list of hosts. Says why that cannot be, "" if it can. Blocks."""
        policy = replace(self._policy, allow=allow, proxy_folder=proxy_folder, caches=tuple(caches))
        if self._shared is not None and (failure := self._hand_over(self._shared, policy)):
            return failure
        self._policy = policy
        return ""

    def _hand_over(self, shared: SharedNetwork, policy: Policy) -> str:
        """Hand the ports that lead out of a shared network to the proxy, those that it has not got yet."""
        if policy.allow is None or policy.proxy_folder is None:
            return ""
        first = PROXY_PORT not in self._handed
        ports = [port for port in policy.allow.loopback_ports if port not in self._handed]
        if not first and not ports:
            return ""
        try:
            shared.run(start_command(str(policy.proxy_folder / SOCKET_NAME), ports, proxy=first))
        except NetworkError as error:
            return str(error)
        self._handed.update((PROXY_PORT, *ports))
        return ""

    def read_only(self) -> Bubblewrap:
        """This sandbox for commands that write only to /tmp, which is the same, and have no network."""
        self._folder("tmp")
        view = copy.copy(self)
        view._policy = self._policy.reading()
        view._shared = None
        view.guard = DeviceGuard(None) if os.geteuid() == 0 else None
        return view

    def scratch_folder(self) -> tuple[Path, str]:
        """Where the commands' /tmp is."""
        return Path(self._folder("tmp")), "/tmp"

    def close(self) -> None:
        if self.guard is not None:
            self.guard.close()
        if self._private is not None:
            self._private.remove()
            self._private = None
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def _folder(self, name: str) -> str:
        if self._private is None:
            self._private = make_private("sandbox")
            folder = self._private.path
            (folder / "tmp").mkdir()
            (folder / "empty").touch(mode=0o444)
            if self._filter is not None:
                (folder / "filter").write_bytes(self._filter)
        return str(self._private.path / name)

    def _protected(self) -> tuple[Path, ...]:
        """What was mounted for the last command, or will be for the first."""
        if self._mounted is None:
            roots = (Path(os.path.realpath(root)) for root in self._policy.roots)
            return tuple(path for root in roots for path in git_paths(root).protected)
        return self._mounted

    def _copy(self, data: bytes) -> str:
        """A file with that content, which commands are shown in place of another one."""
        path = Path(self._folder(f"copy-{hashlib.sha256(data).hexdigest()[:_HASH_CHARS]}"))
        if not path.exists():
            path.write_bytes(data)
        return str(path)

    def _namespaces(self) -> Iterator[str]:
        yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        if not self._policy.network and self._shared is None:
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
            if self._policy.proxy_folder is not None:
                yield from ("--ro-bind", str(self._policy.proxy_folder), PROXY_FOLDER)
            resolver = resolver_file() if self._policy.network else None
            if resolver:
                yield from ("--ro-bind-try", resolver, resolver)
        if self._policy.gpu:
            for device in gpu_devices():
                yield from ("--dev-bind-try", device, device)
        starter = interpreter_folders() if self._policy.allow is not None else ()
        for path, real in shown_again(env, starter):
            yield from ("--ro-bind", real, path)

    def _workspace(self, env: Mapping[str, str]) -> Iterator[str]:
        roots = [Path(os.path.realpath(root)) for root in self._policy.roots]
        narrowed = narrowed_homes(env, roots, self._policy.readable, interpreter_folders())
        hidden = [
            path
            for path in secret_paths(env, self._policy.hidden, self._policy.readable)
            if not replaced(str(path)) or seen(path, roots, env)
        ]
        folders = [*roots, *(Path(os.path.realpath(cache)) for cache in self._policy.caches)]
        around = [path for path in hidden if path not in folders and any(f.is_relative_to(path) for f in folders)]
        others = [path for path in hidden if path not in around and path not in folders]
        for home in narrowed:
            yield from ("--tmpfs", str(home.path))
            for shown, real in home.shown:
                yield from ("--ro-bind", str(real), str(shown))
            unseen = [path for path in others if path.is_relative_to(home.path)]
            others = [path for path in others if path not in unseen or any(path.is_relative_to(f) for f in folders)]
            others += [copied for path in hidden for copied in home.copies(path) if copied not in others]
        for path in around:
            yield from ("--tmpfs", str(path))
        for folder in folders:
            yield from ("--bind" if self._policy.writable else "--ro-bind", str(folder), str(folder))
        # A linked worktree's repository lies elsewhere: its place is made before a hidden home is closed again.
        found = [git_paths(root) for root in roots]
        if self._policy.writable:
            self._mounted = tuple(path for paths in found for path in paths.protected)
        for paths in found:
            yield from _git(paths, writable=self._policy.writable)
        for path in (*around, *(home.path for home in narrowed)):
            yield from ("--remount-ro", str(path))
        kept_out = {path for path in self._policy.hidden if path in others and _within(path, folders)}
        for path in others:
            if path.is_dir():
                yield from ("--tmpfs", str(path), "--remount-ro", str(path))
            elif path.exists():
                yield from ("--ro-bind", UNKEPT if path in kept_out else self._folder("empty"), str(path))
        held = [*folders, *(path for paths in found for path in paths.writable)]
        for path, data in exclude_files(kept_out, held, writable=self._policy.writable).items():
            yield from ("--ro-bind", self._copy(data), str(path))


def _within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _git(paths: GitPaths, *, writable: bool) -> Iterator[str]:
    """Each git folder is a mount of its own, so that it cannot be moved aside and made anew without its protection."""
    for path in paths.writable:
        yield from ("--bind" if writable else "--ro-bind", str(path), str(path))
    for path in paths.protected:
        yield from ("--ro-bind", str(path), str(path))
