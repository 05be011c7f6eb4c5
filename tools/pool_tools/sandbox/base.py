"""What a sandbox is: a policy, and something that turns a command into a confined one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pool_tools.frozen import frozen
from pool_tools.sandbox.bounds import Bounds

if TYPE_CHECKING:
    from pool_tools.network.rules import AllowList
    from pool_tools.sandbox.forkclient import ForkClient

_SUPERVISOR = Path(__file__).parent.with_name("supervisor.py")

DEFAULT_BOUNDS = Bounds()


class Access(StrEnum):
    """What commands may do to files, by the names that users know.

    `danger-full-access` asks for no sandbox. `external` says that the whole agent is confined already, in a container
    or a virtual machine: what can be enforced besides is, and nothing more is claimed.
    """

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    FULL = "danger-full-access"
    EXTERNAL = "external"


@frozen
class Policy:
    """What commands may do. The rest of the system can be read, but for secrets.

    roots: folders that may be written (as access says), the first is where commands run. hidden: further files and
    folders that commands must not see, looked at anew for every command. gpu: show the NVIDIA, AMD and render devices.
    bounds: what a command may use.

    readable: files and folders of the home that may be read besides what development takes, secrets too if named
    exactly.

    network: everything can be reached. allow: only what it lists, by the proxy whose folder is proxy_folder
    (`pool_tools.network.proxy`), which must be open as long as commands run. caches: more folders that may be written
    like roots.

    journals: a folder that commands cannot see, where it is written down as long as one runs what git took orders from
    before it: see `pool_tools.sandbox.gitrestore.finish_checks`.
    """

    roots: tuple[Path, ...]
    access: Access = Access.WORKSPACE_WRITE
    network: bool = False
    hidden: Collection[Path] = ()
    gpu: bool = False
    bounds: Bounds = DEFAULT_BOUNDS
    allow: AllowList | None = None
    proxy_folder: Path | None = None
    caches: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    journals: Path | None = None

    def __post_init__(self) -> None:
        if self.network and self.allow is not None:
            raise ValueError("a policy has the network on or a list of hosts, not both")
        if (self.allow is None) != (self.proxy_folder is None):
            raise ValueError("a list of hosts needs a proxy that serves it")

    def reading(self) -> Policy:
        """This policy for commands that only read: what they see can go nowhere."""
        return replace(self, access=Access.READ_ONLY, network=False, allow=None, proxy_folder=None)

    @property
    def writable(self) -> bool:
        return self.access is not Access.READ_ONLY


class CannotExpress(OSError):
    """A policy that a tier cannot enforce, so that a command cannot be started. The text says which part of it."""


@frozen
class Launch:
    """What to start: arguments, environment, and descriptors that the process must inherit."""

    argv: tuple[str, ...]
    env: dict[str, str]
    descriptors: tuple[int, ...] = ()


class Process(Protocol):
    """A started launcher. What it started ends with it."""

    @property
    def pid(self) -> int: ...

    def kill(self) -> None: ...

    def wait(self, timeout: float | None = None) -> int:
        """Until it has ended. Raises `subprocess.TimeoutExpired` after timeout seconds."""
        ...


class Guard(Protocol):
    """Looks after files that a tier cannot protect by itself, by putting back what a command changed. Thread-safe."""

    def before(self) -> None:
        """Remember them. Called before each command."""
        ...

    def after(self) -> tuple[str, ...]:
        """Put back what changed since; says of each what was done. Called when no process of the command is left."""
        ...

    def close(self) -> None:
        """Remove what it keeps on disk. No command may be running."""
        ...


class Sandbox(Protocol):
    """Confines commands. name is the tier: `bubblewrap`, `landlock`, `seatbelt`, `external`, `none`.

    contains_processes: ending the launcher ends every process of the command. guard: None where nothing needs one.
    bounds: those of the policy.
    """

    @property
    def name(self) -> str: ...

    @property
    def contains_processes(self) -> bool: ...

    @property
    def guard(self) -> Guard | None: ...

    @property
    def bounds(self) -> Bounds: ...

    def describe(self) -> str:
        """One line for people: what is enforced, and what is not."""
        ...

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        """The command to start instead of argv, to be started in cwd with the launch's environment."""
        ...

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], control: int, output: int) -> Process:
        """Start argv, confined, with all its output on the descriptor output and its input at the end.

        control is one end of a socket pair. When argv ends, one line is written there: exit status (128 + n for signal
        n) and the names of what it left running, separated by tabs; all of that is dead by then. Where
        contains_processes is false, everything is killed as soon as the other end is closed. Raises `OSError`.
        """
        ...

    def close(self) -> None:
        """Remove what the sandbox keeps on disk. No command may be running."""
        ...


@runtime_checkable
class CanOnlyRead(Protocol):
    """A sandbox that can also hold commands that write nothing but their temporary files, and have no network."""

    def read_only(self) -> Sandbox:
        """This sandbox for such commands, with the same folders. It is this one's maker that closes it."""
        ...


@runtime_checkable
class ReachesHosts(Protocol):
    """A sandbox whose commands can be let out to a list of hosts, by a proxy."""

    def reach(self, allow: AllowList, proxy_folder: Path, caches: Sequence[Path]) -> str:
        """From the next command on. Says why that cannot be, "" if it can. Blocks."""
        ...


@runtime_checkable
class StartsAhead(Protocol):
    """A sandbox whose commands are started by a process that is kept."""

    def ready_to_start(self) -> None:
        """Start that process if it does not run, and wait until it takes commands. Blocks; never raises."""
        ...


class NoSandbox:
    """The tiers `none` and `external`: commands run as they are.

    Where it is kept, one process forks all commands until `close`, which takes a tenth of the time of an interpreter
    for each.
    """

    name = "none"
    contains_processes = False
    guard: Guard | None = None

    def __init__(self, external: bool = False, bounds: Bounds = DEFAULT_BOUNDS, kept: bool = False) -> None:
        """external: the user says that the whole agent runs in a container or a virtual machine.

        kept: it is for many commands, and `close` is called behind the last.
        """
        self.bounds = bounds
        self._kept = kept
        self._forker: ForkClient | None = None
        self._making = threading.Lock()
        if external:
            self.name = Access.EXTERNAL.value

    def describe(self) -> str:
        if self.name == Access.EXTERNAL:
            return "external: only what holds all of this agent confines commands; nothing here was checked"
        return "no sandbox: commands can do whatever you can"

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        return Launch(tuple(argv), dict(env))

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], control: int, output: int) -> Process:
        self.ready_to_start()
        if self._forker is None:
            return start_supervised(self.wrap(argv, cwd, env), cwd, control, output)
        return self._forker.start(argv, cwd, env, None, control, output)

    def ready_to_start(self) -> None:
        if not self._kept:
            return
        try:
            # Commands that begin side by side find one such process, and leave no second one behind.
            with self._making:
                if self._forker is None:
                    self._forker = _fork_client()
                forker = self._forker
            forker.ready()
        except OSError:
            # Commands get an interpreter each, as where they cannot be forked.
            self.close()
            self._kept = False

    def close(self) -> None:
        """End the process that forks, and with it all that it started."""
        if self._forker is not None:
            self._forker.close()
            self._forker = None


def _fork_client() -> ForkClient:
    """Raises `OSError` where there are no process descriptors, by which the fork server tells what it started."""
    from pool_tools.sandbox.forkclient import ForkClient

    if not hasattr(os, "pidfd_open"):
        raise OSError("this system has no process descriptors")
    os.close(os.pidfd_open(os.getpid()))
    return ForkClient()


def start_supervised(launch: Launch, cwd: Path, control: int, output: int) -> Process:
    """Start a launch under a supervisor of its own, which holds its processes together."""
    argv = (sys.executable, "-I", "-S", str(_SUPERVISOR), *launch.argv)
    return start_launch(replace(launch, argv=argv), cwd, control, output)


def start_launch(launch: Launch, cwd: Path, control: int, output: int) -> Process:
    """Start a launch in a session of its own, with control as its input."""
    # On the caller's thread: where a contained command is killed with its parent, the parent is a thread.
    return subprocess.Popen(
        launch.argv,
        cwd=cwd,
        env=launch.env,
        stdin=control,
        stdout=output,
        stderr=output,
        start_new_session=True,
        pass_fds=launch.descriptors,
    )
