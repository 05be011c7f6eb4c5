"""One private network for several sandboxed commands, so that what one serves the others can reach.

A command of its own has a loopback of its own: a server started by one call could not be reached by the next. Here a
short-lived bwrap makes a user and a network namespace in which only a loopback is up; the two are kept open as
descriptors, no process stays in them. Each launch then joins them by `nsenter` and makes its own sandbox inside, as
before. Measured on Linux 6.18: 2 to 4 ms more a command (`docs/benchmarks.md`).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from pool_tools.environment import find_program, why_no_program
from pool_tools.frozen import frozen

MAKE_SECONDS = 10.0
"""How long making the namespaces may take."""

SEARCH_PATH = os.pathsep.join(("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"))
"""Where the system keeps its programs."""

_INFO_BYTES = 4_096


@runtime_checkable
class SharesNetwork(Protocol):
    """A sandbox that gives each command a network of its own, and can give all further ones the same."""

    def share_network(self) -> str:
        """Give all further commands one private loopback. Says why that cannot be, "" if it can. Blocks."""
        ...


class NetworkError(Exception):
    """The namespaces could not be made or joined. The message says why."""


@frozen
class SharedNetwork:
    """Open namespaces, and the programs that join them. user and network are descriptors."""

    nsenter: str
    bash: str
    user: int
    network: int

    @property
    def descriptors(self) -> tuple[int, int]:
        """What a launcher must inherit."""
        return self.user, self.network

    def joined(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command that runs argv in the namespaces. argv does not inherit the descriptors."""
        # dash cannot close descriptors of two digits.
        shut = f'exec "$@" {self.user}<&- {self.network}<&-'
        enter = (f"--user=/proc/self/fd/{self.user}", f"--net=/proc/self/fd/{self.network}", "--preserve-credentials")
        # A bash whose input is a socket takes itself for a remote login's and would run the user's .bashrc, outside of
        # the sandbox; -p keeps it from BASH_ENV and from functions in the environment.
        return (self.nsenter, *enter, self.bash, "--norc", "-p", "-c", shut, "bash", *argv)

    def run(self, argv: Sequence[str]) -> None:
        """Run a program of ours in the namespaces, outside of any sandbox. Raises `NetworkError` if it fails."""
        try:
            done = subprocess.run(
                self.joined(argv),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=MAKE_SECONDS,
                check=False,
                pass_fds=self.descriptors,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NetworkError(f"nsenter failed: {error}") from None
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
            raise NetworkError(f"nsenter failed: {reason}")

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def open_network(bwrap: str, roots: Sequence[Path]) -> SharedNetwork:
    """Make the namespaces and try to join them. Blocks for about 30 ms. Raises `NetworkError`.

    roots are folders from which no program is taken.
    """
    nsenter, bash = (_needed(name, roots) for name in ("nsenter", "bash"))
    told, tell = os.pipe()
    rights = ("--unshare-user", "--unshare-net", "--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/")
    argv = (bwrap, *rights, "--info-fd", str(tell), "--", "/bin/sh", "-c", "echo; read -r line")
    try:
        maker = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(tell,)
        )
    except OSError as error:
        os.close(told)
        raise NetworkError(f"{bwrap} could not be started: {error.strerror}") from None
    finally:
        os.close(tell)
    with maker:
        try:
            network = _opened(nsenter, bash, maker, told)
        finally:
            os.close(told)
    try:
        network.run(("/bin/sh", "-c", ":"))
    except NetworkError:
        network.close()
        raise
    return network


def _needed(name: str, roots: Sequence[Path]) -> str:
    found = find_program(name, SEARCH_PATH, roots)
    if found is None:
        reason = why_no_program(name, SEARCH_PATH, roots)
        raise NetworkError(f"nsenter (of util-linux) and bash are needed for that, and {reason}")
    return found


def _opened(nsenter: str, bash: str, maker: subprocess.Popen[bytes], told: int) -> SharedNetwork:
    """The namespaces of the process that maker started, which waits until its input ends."""
    assert maker.stdin is not None
    assert maker.stdout is not None
    if not maker.stdout.read(1):
        raise NetworkError("bubblewrap could not make a network namespace")
    child: int = json.loads(os.read(told, _INFO_BYTES))["child-pid"]
    try:
        user = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            network = os.open(f"/proc/{child}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(user)
            raise
    except OSError as error:
        raise NetworkError(f"the namespaces could not be opened: {error.strerror}") from None
    return SharedNetwork(nsenter, bash, user, network)
