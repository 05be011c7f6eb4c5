"""Confines its own process by Landlock, a filter of system calls and limits, for good; then runs a command.

Run as a program, `confine.py PLAN COMMAND ARGUMENT...`, by an isolated interpreter; it imports nothing of ours. PLAN is
a file that holds a plan as JSON. Numbers and structures are those of `linux/landlock.h`, `linux/prctl.h`,
`linux/capability.h` and `linux/seccomp.h`.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import stat
import struct
import sys
from typing import TypedDict

CANNOT_CONFINE = 125
"""Exit status if confining failed; the command was not started."""

NOT_FOUND = 127
"""Exit status for a command that could not be started, as shells have it."""

READ_FILE, READ_FOLDER, EXECUTE = 1 << 2, 1 << 3, 1 << 0
WRITE_FILE, TRUNCATE, IOCTL_DEVICE = 1 << 1, 1 << 14, 1 << 15
REMOVE_FOLDER, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_FOLDER, MAKE_FILE, MAKE_SOCKET, MAKE_FIFO, MAKE_LINK = 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 12
MOVE_BETWEEN_FOLDERS = 1 << 13

ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
"""Rights that a rule for a single file may have."""

_RIGHTS_BY_ABI = (13, 14, 15, 15, 16, 16, 16)
"""How many rights on files each version of Landlock knows, from version 1 on."""

_TCP_BIND_AND_CONNECT, _TCP_SINCE_ABI = 0b11, 4
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
SCOPES_SINCE_ABI = 6
"""Version of Landlock from which on it keeps signals and abstract sockets apart."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_GIVE_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT = 22, 38, 24, 28, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_SECUREBITS_NO_ROOT = 0b101111
"""Root gets no capabilities by being root, and all of this is locked."""
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64
_INSTRUCTION_BYTES = 8


class Plan(TypedDict):
    """rules: path and rights. filter: the seccomp program in hexadecimal, "" for none. resources: number, soft and hard
    limit. oom: value for `oom_score_adj`. abi: highest version of Landlock to use.
    """

    rules: list[tuple[str, int]]
    network: bool
    filter: str
    resources: list[tuple[int, int, int]]
    oom: int
    abi: int


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


_libc = ctypes.CDLL(None, use_errno=True)


def landlock_abi() -> int:
    """The version of Landlock that this kernel offers, 0 for none."""
    return max(0, _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_GIVE_VERSION)))


def confine(plan: Plan) -> None:
    """Apply plan to this process and what it will start. Raises `OSError`; then the process is of no more use."""
    _raise_oom_score(plan["oom"])
    for number, soft, hard in plan["resources"]:
        resource.setrlimit(number, (soft, hard))
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _restrict(plan)
    _drop_capabilities()
    if plan["filter"]:
        _filter(bytes.fromhex(plan["filter"]))


def confine_signals() -> bool:
    """Let this process signal only itself and what it will start; whether that was seen to hold.

    What it starts and confines further cannot signal it in turn.
    """
    if landlock_abi() < SCOPES_SINCE_ABI:
        return False
    # Moving between folders is denied by every ruleset that does not allow it, even by one that is not about files.
    attributes = _Ruleset(MOVE_BETWEEN_FOLDERS, 0, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    ruleset = _libc.syscall(
        _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_uint32(0)
    )
    _check(ruleset, "landlock_create_ruleset")
    _allow(ruleset, "/", MOVE_BETWEEN_FOLDERS)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)), "landlock_restrict_self")
    os.close(ruleset)
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        return True
    return False


def _restrict(plan: Plan) -> None:
    abi = min(plan["abi"], landlock_abi())
    handled = (1 << _RIGHTS_BY_ABI[min(abi, len(_RIGHTS_BY_ABI)) - 1]) - 1
    tcp = 0 if plan["network"] or abi < _TCP_SINCE_ABI else _TCP_BIND_AND_CONNECT
    scopes = _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if abi >= SCOPES_SINCE_ABI else 0
    attributes = _Ruleset(handled, tcp, scopes)
    size = ctypes.sizeof(ctypes.c_uint64) * (3 if scopes else 2 if abi >= _TCP_SINCE_ABI else 1)
    ruleset = _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    _check(ruleset, "landlock_create_ruleset")
    for path, rights in plan["rules"]:
        _allow(ruleset, path, rights & handled)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule. A path that has gone since, or is another user's, is left out: that is stricter, never weaker."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= ON_FILES
        rule = struct.pack("=Qi", rights, handle)
        added = _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0))
        _check(added, f"landlock_add_rule for {path}")
    finally:
        os.close(handle)


def _drop_capabilities() -> None:
    """All of them, in all sets. Without effect for a plain user, who has none."""
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    _libc.prctl(_PR_SET_SECUREBITS, _SECUREBITS_NO_ROOT, 0, 0, 0)
    for capability in range(_MOST_CAPABILITIES):
        # The first that the kernel does not know, or the first at all for a plain user.
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _filter(code: bytes) -> None:
    program = _Program(len(code) // _INSTRUCTION_BYTES, code)
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")


def _raise_oom_score(value: int) -> None:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(value))
    except OSError:
        return


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def main(argv: list[str]) -> int:
    """Confine this process and become the command; see the module's text."""
    path, *command = argv
    try:
        with open(path, encoding="ascii") as file:
            plan: Plan = json.load(file)
        confine(plan)
    except OSError as error:
        os.write(2, f"The sandbox could not be set up: {error.strerror}\n".encode())
        return CANNOT_CONFINE
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode("utf-8", "backslashreplace"))
        return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
