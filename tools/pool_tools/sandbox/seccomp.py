"""A filter of system calls for what namespaces leave open: odd sockets, kernel interfaces, terminal injection.

A classic BPF program as `seccomp(2)` takes it, for x86_64 and aarch64. Numbers are from the kernel's syscall tables.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

# Offsets in `struct seccomp_data`; arguments are 64 bits, their low half comes first on both architectures.
_NUMBER, _ARCH = 0, 4
_ARGUMENTS = 16

_X32_BIT = 0x40000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_NETLINK_ROUTE = 0

# The same numbers on all architectures.
_NEW = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Architecture:
    """audit is the kernel's number of the architecture; refused: calls by name; socket, ioctl: those looked into."""

    audit: int
    socket: int
    ioctl: int
    refused: Mapping[str, int]
    x32: bool = False


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        0xC000003E,
        socket=41,
        ioctl=16,
        x32=True,
        refused={
            **_NEW,
            "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250, "add_key": 248, "request_key": 249,
            "mount": 165, "umount2": 166, "pivot_root": 155, "unshare": 272, "setns": 308, "open_by_handle_at": 304,
            "process_vm_readv": 310, "process_vm_writev": 311, "init_module": 175, "finit_module": 313,
            "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320, "swapon": 167, "swapoff": 168,
            "reboot": 169, "acct": 163, "quotactl": 179, "syslog": 103, "iopl": 172, "ioperm": 173,
        },
    ),
    "aarch64": Architecture(
        0xC00000B7,
        socket=198,
        ioctl=29,
        refused={
            **_NEW,
            "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218,
            "mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "open_by_handle_at": 265,
            "process_vm_readv": 270, "process_vm_writev": 271, "init_module": 105, "finit_module": 273,
            "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294, "swapon": 224, "swapoff": 225,
            "reboot": 142, "acct": 89, "quotactl": 60, "syslog": 116,
        },
    ),
}  # fmt: skip
"""By the machine name that `uname` gives."""


def program(machine: str) -> bytes | None:
    """The filter for a machine, None for one that has no table."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        return None
    code = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, architecture.audit, yes=1),
        _refuse(errno.ENOSYS),
        _step(_LOAD, _NUMBER),
    ]
    if architecture.x32:
        code += [_step(_AT_LEAST, _X32_BIT, no=1), _refuse(errno.ENOSYS)]
    for number in sorted(architecture.refused.values()):
        code += [_step(_EQUAL, number, no=1), _refuse(errno.EPERM)]
    code += _ioctl(architecture.ioctl) + _socket(architecture.socket) + [_step(_RETURN, _ALLOW)]
    return b"".join(code)


def _ioctl(number: int) -> list[bytes]:
    """Refuse to put characters into a terminal's input."""
    body = [_argument(1)]
    for request in (_TIOCSTI, _TIOCLINUX):
        body += [_step(_EQUAL, request, no=1), _refuse(errno.EPERM)]
    body.append(_step(_RETURN, _ALLOW))
    return [_step(_EQUAL, number, no=len(body)), *body]


def _socket(number: int) -> list[bytes]:
    """Allow local, IPv4, IPv6 and routing sockets: others, such as vsock, are in no network namespace."""
    body = [_argument(0)]
    for family in (_AF_UNIX, _AF_INET, _AF_INET6):
        body += [_step(_EQUAL, family, no=1), _step(_RETURN, _ALLOW)]
    body += [
        _step(_EQUAL, _AF_NETLINK, yes=1),
        _refuse(errno.EAFNOSUPPORT),
        _argument(2),
        _step(_EQUAL, _NETLINK_ROUTE, yes=1),
        _refuse(errno.EPROTONOSUPPORT),
    ]
    return [_step(_EQUAL, number, no=len(body)), *body]


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; yes and no are how many instructions are skipped."""
    return struct.pack("=HBBI", code, yes, no, value)


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * index)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)
