"""Finding out by trying what confines commands on this machine."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pool_tools.environment import clean_environment, find_program, why_no_program
from pool_tools.frozen import frozen
from pool_tools.private import private_folder, sweep_in_background
from pool_tools.sandbox.base import (
    Access,
    CannotExpress,
    CanOnlyRead,
    Guard,
    Launch,
    NoSandbox,
    Policy,
    Process,
    ReachesHosts,
    Sandbox,
    StartsAhead,
)
from pool_tools.sandbox.bounds import Bounds
from pool_tools.sandbox.bubblewrap import Bubblewrap
from pool_tools.sandbox.confine import landlock_abi
from pool_tools.sandbox.landlock import Landlock
from pool_tools.sandbox.memscope import MemoryScope, TakesScope
from pool_tools.sandbox.seatbelt import SANDBOX_EXEC, Seatbelt
from pool_tools.sandbox.secrets import homes
from pool_tools.sandbox.sharednet import SharesNetwork
from pool_tools.sandbox.trial import output_of
from pool_tools.scratch import HasScratch

if TYPE_CHECKING:
    from pool_tools.network.rules import AllowList

TIERS = ("seatbelt",) if sys.platform == "darwin" else ("bubblewrap", "landlock")
"""Those of this system, from the strongest on."""

PROBE_SECONDS = 10.0
"""A probe that takes longer has failed."""

_INSTALL = "Install bubblewrap (Debian and Ubuntu: sudo apt install bubblewrap; Fedora: sudo dnf install bubblewrap)."
_NARROWER = "Choose a narrower workspace, such as a project's folder."
_APPARMOR = (
    "Load Ubuntu's profile for it: sudo apt install apparmor-profiles && sudo cp "
    "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r "
    "/etc/apparmor.d/bwrap-userns-restrict"
)
_KERNEL = "Landlock needs Linux 5.13 or newer, with landlock among the kernel's security modules (lsm=)."
_CONTAINER = (
    "Inside a container, allow user namespaces: docker run --security-opt seccomp=unconfined --security-opt "
    "apparmor=unconfined --security-opt systempaths=unconfined. On a machine of your own: sysctl "
    "kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0."
)
_APPARMOR_SWITCH = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

# Prints what worked. $1 a folder that may be written, $2 and $3 files that may not, $4 a hidden file, $5 a port on the
# host's loopback, $6 the agent's process id.
_TRIAL = r"""
true >"$1/inside" && echo inside
true >"$2"
true >"$3"
while read -r line; do case $line in *secret*) echo secret;; esac; done <"$4"
while read -r key value; do case $key in CapEff:) echo "capabilities $value";; esac; done </proc/self/status
(unshare -U true) && echo namespace
bash -c ": <>/dev/tcp/127.0.0.1/$5" && echo network
kill -0 "$6" && echo signal
echo end
"""


@frozen
class Probe:
    """What was found. reason says why it is not the best tier, remedy what would help; both "" if it is."""

    sandbox: Sandbox
    reason: str = ""
    remedy: str = ""

    @property
    def tier(self) -> str:
        return self.sandbox.name

    @property
    def note(self) -> str:
        """What people are told of it: what is enforced, and why not more."""
        if self.tier == NoSandbox.name and self.reason:
            return self.reason
        said = self.sandbox.describe()
        return f"{said}. Not better, since {self.reason}. {self.remedy}" if self.reason else said


def probe(policy: Policy, environ: Mapping[str, str] | None = None, tiers: Sequence[str] = TIERS) -> Probe:
    """The strongest of tiers that was seen to hold policy, by running its full command line against a scratch folder.

    Takes about 50 ms and blocks; call it in a thread. Never raises. A tier that cannot express policy is passed over.
    """
    sweep_in_background()
    environ = os.environ if environ is None else environ
    if policy.access is Access.FULL:
        return Probe(NoSandbox(bounds=policy.bounds, kept=True), "full access was asked for")
    if policy.access is Access.EXTERNAL:
        tiers = [tier for tier in tiers if tier == "landlock"]
    failed: list[tuple[str, str]] = []
    for tier in tiers:
        found = _TIERS[tier](policy, environ)
        if found.tier != NoSandbox.name:
            return replace(found, reason="; ".join(why for why, _ in failed), remedy=failed[0][1] if failed else "")
        failed.append((found.reason, found.remedy))
    reason, remedy = "; ".join(why for why, _ in failed), failed[0][1] if failed else ""
    return Probe(NoSandbox(policy.access is Access.EXTERNAL, policy.bounds, kept=True), reason, remedy)


def _bubblewrap(policy: Policy, environ: Mapping[str, str]) -> Probe:
    search_path = environ.get("PATH", os.defpath)
    program = find_program("bwrap", search_path, policy.roots)
    if program is None:
        installed = find_program("bwrap", search_path, ()) is not None
        reason = why_no_program("bwrap", search_path, policy.roots)
        return Probe(NoSandbox(), f"bubblewrap: {reason}", _NARROWER if installed else _INSTALL)
    try:
        version = _version(program)
        env = clean_environment(environ)
        fault = ""
        for seccomp in (True, False):
            fault = _try_out(partial(Bubblewrap, program, version, seccomp=seccomp), policy, env)
            if not fault:
                return Probe(Bubblewrap(program, version, policy, seccomp))
            # Kernels and emulations without filters: the namespaces alone are still worth having.
            if "seccomp" not in fault.lower():
                break
    except (OSError, subprocess.SubprocessError) as error:
        return Probe(NoSandbox(), f"bubblewrap could not be tried: {error}", _INSTALL)
    return Probe(NoSandbox(), f"bubblewrap does not work here: {fault}", _remedy(fault))


def _landlock(policy: Policy, environ: Mapping[str, str]) -> Probe:
    abi = landlock_abi()
    if not abi:
        return Probe(NoSandbox(), "this kernel offers no Landlock", _KERNEL)
    try:
        env = clean_environment(environ)
        found = Landlock(policy, abi, env)
        fault = _try_out(partial(Landlock, abi=abi, env=env), policy, env)
        return Probe(NoSandbox(), f"Landlock does not hold here: {fault}") if fault else Probe(found)
    except CannotExpress as error:
        return Probe(NoSandbox(), str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Probe(NoSandbox(), f"Landlock could not be tried: {error}", _KERNEL)


def _seatbelt(policy: Policy, environ: Mapping[str, str]) -> Probe:
    if not os.access(SANDBOX_EXEC, os.X_OK):
        return Probe(NoSandbox(), f"{SANDBOX_EXEC} is not there")
    try:
        fault = _try_out(Seatbelt, policy, clean_environment(environ))
        return Probe(NoSandbox(), f"Seatbelt does not hold here: {fault}") if fault else Probe(Seatbelt(policy))
    except (OSError, subprocess.SubprocessError) as error:
        return Probe(NoSandbox(), f"Seatbelt could not be tried: {error}")


_TIERS: Mapping[str, Callable[[Policy, Mapping[str, str]], Probe]] = {
    "bubblewrap": _bubblewrap,
    "landlock": _landlock,
    "seatbelt": _seatbelt,
}


def _version(program: str) -> tuple[int, ...]:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    return tuple(int(part) for part in re.findall(r"\d+", done.stdout))


def _try_out(make: Callable[[Policy], Sandbox], policy: Policy, env: dict[str, str]) -> str:
    """What did not hold, "" if all did."""
    with private_folder("probe") as scratch, socket.create_server(("127.0.0.1", 0)) as listener:
        root, home, outside = scratch / "root", scratch / "home", scratch / "outside"
        root.mkdir()
        home.mkdir()
        secret = home / "hidden"
        secret.write_text("secret\n")
        in_home = (homes(env) or (Path("/"),))[0] / f".{scratch.name}"
        access = policy.access if policy.access is Access.READ_ONLY else Access.WORKSPACE_WRITE
        sandbox = make(replace(policy, roots=(root,), hidden=(secret,), access=access))
        port = str(listener.getsockname()[1])
        try:
            argv = ("/bin/sh", "-c", _TRIAL, "sh", str(root), str(outside), str(in_home), str(secret), port)
            output = output_of(sandbox, (*argv, str(os.getpid())), root, {**env, "HOME": str(home)}, PROBE_SECONDS)
        finally:
            sandbox.close()
        escaped = outside.exists() or in_home.exists()
        if in_home.exists():
            in_home.unlink()
        return _judge(output.split("\n"), escaped, policy, (root / "inside").exists())


def _judge(lines: Sequence[str], escaped: bool, policy: Policy, written: bool) -> str:
    if "end" not in lines:
        told = [line for line in lines if line.startswith(("bwrap", "The sandbox"))]
        return told[0] if told else "the command did not run to its end"
    faults = {
        "a write in the workspace failed": policy.writable and ("inside" not in lines or not written),
        "a write in the workspace succeeded": not policy.writable and written,
        "a write outside the workspace succeeded": escaped,
        "a hidden file could be read": "secret" in lines,
        "the command kept capabilities": sys.platform == "linux"
        and not any(re.fullmatch(r"capabilities 0+", line) for line in lines),
        "the command could make a user namespace": "namespace" in lines,
        "the host's loopback could be reached": "network" in lines and not policy.network,
        "the agent could be signalled": "signal" in lines,
    }
    return next((fault for fault, present in faults.items() if present), "")


def _remedy(fault: str) -> str:
    try:
        restricted = Path(_APPARMOR_SWITCH).read_text().strip() == "1"
    except OSError:
        restricted = False
    if restricted:
        return _APPARMOR
    if "namespace" in fault or "Operation not permitted" in fault or "uid map" in fault or "/proc" in fault:
        return _CONTAINER
    return "Update bubblewrap to 0.8 or newer."


class LazySandbox:
    """A sandbox that is probed when it is first needed, or in the background by `ready` in a thread. Thread-safe."""

    def __init__(self, find: Callable[[], Probe]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._found: Probe | None = None

    def ready(self) -> Probe:
        """The probe's result; blocks while it runs."""
        with self._lock:
            if self._found is None:
                self._found = self._find()
            return self._found

    @property
    def name(self) -> str:
        return self.ready().sandbox.name

    @property
    def contains_processes(self) -> bool:
        return self.ready().sandbox.contains_processes

    @property
    def guard(self) -> Guard | None:
        return self.ready().sandbox.guard

    @property
    def bounds(self) -> Bounds:
        return self.ready().sandbox.bounds

    def describe(self) -> str:
        return self.ready().sandbox.describe()

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        return self.ready().sandbox.wrap(argv, cwd, env)

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], control: int, output: int) -> Process:
        return self.ready().sandbox.start(argv, cwd, env, control, output)

    def ready_to_start(self) -> None:
        sandbox = self.ready().sandbox
        if isinstance(sandbox, StartsAhead):
            sandbox.ready_to_start()

    def scratch_folder(self) -> tuple[Path, str] | None:
        sandbox = self.ready().sandbox
        return sandbox.scratch_folder() if isinstance(sandbox, HasScratch) else None

    def read_only(self) -> Sandbox:
        """Raises `CannotExpress` where nothing can hold that."""
        sandbox = self.ready().sandbox
        if not isinstance(sandbox, CanOnlyRead):
            raise CannotExpress(f"the tier {sandbox.name} cannot keep commands from writing")
        return sandbox.read_only()

    def reach(self, allow: AllowList, proxy_folder: Path, caches: Sequence[Path]) -> str:
        sandbox = self.ready().sandbox
        if not isinstance(sandbox, ReachesHosts):
            return f"the tier {sandbox.name} cannot hold a list of hosts"
        return sandbox.reach(allow, proxy_folder, caches)

    def scope_memory(self, scope: MemoryScope, kept: int) -> None:
        sandbox = self.ready().sandbox
        if isinstance(sandbox, TakesScope):
            sandbox.scope_memory(scope, kept)

    def share_network(self) -> str:
        sandbox = self.ready().sandbox
        return sandbox.share_network() if isinstance(sandbox, SharesNetwork) else ""

    def close(self) -> None:
        with self._lock:
            if self._found is not None:
                self._found.sandbox.close()
