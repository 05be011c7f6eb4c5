"""Filters of system calls, for what namespaces or Landlock leave open.

Classic BPF programs as `seccomp(2)` takes them. Each rule begins with the call's number in the accumulator and either
answers or leaves it there again: what a rule's body loads is its own affair, for it always answers.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Sequence

from pool_tools.frozen import frozen
from pool_tools.sandbox.syscalls import ARCHITECTURES, Architecture

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

# Offsets in `struct seccomp_data`; arguments are 64 bits, their low half comes first on both architectures.
_NUMBER, _ARCH = 0, 4
_ARGUMENTS = 16
_HALF = 4
_MASK_32 = 0xFFFFFFFF

_X32_BIT = 0x40000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_F_SETOWN, _F_SETOWN_EX = 8, 15
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_NETLINK_ROUTE = 0
_SOCK_STREAM, _SOCK_DGRAM, _SOCK_TYPE_BITS = 1, 2, 0xF
_IPPROTO_TCP, _IPPROTO_UDP = 6, 17
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000

_CLONE_NAMESPACES = 0x7E020000
"""All CLONE_NEW* flags that `clone` takes."""

_REFUSED = (
    "io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr "
    "bpf perf_event_open userfaultfd keyctl add_key request_key mount umount2 pivot_root unshare setns "
    "open_by_handle_at process_vm_readv process_vm_writev init_module finit_module delete_module kexec_load "
    "kexec_file_load swapon swapoff reboot acct quotactl syslog iopl ioperm"
).split()
"""Refused in every tier: kernel interfaces that development does not need, and other processes' memory."""

_REFUSED_WITHOUT_NAMESPACES = ("chroot", "process_madvise", "migrate_pages", "move_pages")

_OTHERS_PROCESS_FIRST = ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
_OTHERS_PROCESS_SECOND = ("setpriority", "ioprio_set")
"""Calls that change a process given as first or second argument, where 0 is the caller."""

_SIGNALS = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")

TRUNCATE_SINCE_ABI = 3
SCOPES_SINCE_ABI = 6
"""Versions of Landlock from which on it handles truncation, and signals and abstract sockets."""


@frozen
class Unnamespaced:
    """What a filter must do where there are no namespaces.

    network: allow sockets for TCP, UDP and routing. abi: the version of Landlock beside the filter. protected: ids of
    processes that must not be signalled, where Landlock cannot see to it; their groups are included by negative ids.
    """

    network: bool
    abi: int
    protected: tuple[int, ...] = ()


def program(machine: str) -> bytes | None:
    """The filter for commands in namespaces of their own; None for a machine that has no table."""
    sockets = [
        *_when(0, (_AF_UNIX, _AF_INET, _AF_INET6), [_ALLOWED]),
        *_when(0, (_AF_NETLINK,), _routing_only()),
        _refuse(errno.EAFNOSUPPORT),
    ]
    a = ARCHITECTURES.get(machine)
    if a is None:
        return None
    # Other kinds of sockets, such as vsock, are in no network namespace.
    return _program(a, [*_refuse_all(a, _REFUSED), *_no_terminal_input(a), *_on(a, "socket", sockets)])


def landlock_program(machine: str, rest: Unnamespaced) -> bytes | None:
    """The filter for commands under Landlock; None for a machine that has no table."""
    a = ARCHITECTURES.get(machine)
    if a is None:
        return None
    sockets = _internet() if rest.network else [_refuse(errno.EACCES)]
    code = [
        *_refuse_all(a, (*_REFUSED, *_REFUSED_WITHOUT_NAMESPACES)),
        # With ENOSYS the C library takes `clone`, whose flags can be looked into.
        *_refuse_all(a, ("clone3",), errno.ENOSYS),
        *_on(a, "clone", [_argument(0), _step(_ANY_BIT, _CLONE_NAMESPACES, no=1), _refuse(errno.EPERM), _ALLOWED]),
        *_on(a, "socket", sockets),
        *_on(a, "prlimit64", [*_when(0, (0,), [_ALLOWED]), *_when_null(2, [_ALLOWED]), _refuse(errno.EPERM)]),
    ]
    for name in _OTHERS_PROCESS_FIRST:
        code += _on(a, name, [*_when(0, (0,), [_ALLOWED]), _refuse(errno.EPERM)])
    for name in _OTHERS_PROCESS_SECOND:
        code += _on(a, name, [*_when(1, (0,), [_ALLOWED]), _refuse(errno.EPERM)])
    if rest.abi < TRUNCATE_SINCE_ABI:
        code += _no_truncation(a)
    if rest.abi < SCOPES_SINCE_ABI:
        code += _no_signals_to(a, rest.protected)
    return _program(a, [*code, *_no_terminal_input(a)])


def _program(a: Architecture, rules: Sequence[bytes]) -> bytes:
    code = [_step(_LOAD, _ARCH), _step(_EQUAL, a.audit, yes=1), _refuse(errno.ENOSYS), _step(_LOAD, _NUMBER)]
    if a.x32:
        code += [_step(_AT_LEAST, _X32_BIT, no=1), _refuse(errno.ENOSYS)]
    return b"".join([*code, *rules, _ALLOWED])


def _internet() -> list[bytes]:
    """TCP and UDP over IP and the routing table. No local sockets: they lead to servers that act for the user."""
    stream = [*_when(2, (0, _IPPROTO_TCP), [_ALLOWED]), _refuse(errno.EPROTONOSUPPORT)]
    datagram = [*_when(2, (0, _IPPROTO_UDP), [_ALLOWED]), _refuse(errno.EPROTONOSUPPORT)]
    by_type = [
        *_when(1, (_SOCK_STREAM,), stream, _SOCK_TYPE_BITS),
        *_when(1, (_SOCK_DGRAM,), datagram, _SOCK_TYPE_BITS),
        _refuse(errno.EACCES),
    ]
    return [
        *_when(0, (_AF_INET, _AF_INET6), by_type),
        *_when(0, (_AF_NETLINK,), _routing_only()),
        _refuse(errno.EACCES),
    ]


def _routing_only() -> list[bytes]:
    return [*_when(2, (_NETLINK_ROUTE,), [_ALLOWED]), _refuse(errno.EPROTONOSUPPORT)]


def _no_terminal_input(a: Architecture) -> list[bytes]:
    return _on(a, "ioctl", [*_when(1, (_TIOCSTI, _TIOCLINUX), [_refuse(errno.EPERM)]), _ALLOWED])


def _no_truncation(a: Architecture) -> list[bytes]:
    """Old versions of Landlock do not see a file emptied by name, or while it is opened for reading."""
    code = _refuse_all(a, ("truncate",)) + _refuse_all(a, ("openat2",), errno.ENOSYS)
    for name, flags in (("open", 1), ("openat", 2)):
        refused = _when(flags, (_O_TRUNC,), [_refuse(errno.EACCES)], _O_TRUNC | _O_ACCMODE)
        code += _on(a, name, [*refused, _ALLOWED])
    return code


def _no_signals_to(a: Architecture, protected: Iterable[int]) -> list[bytes]:
    """No signal to the protected, to all processes at once, or by ways that do not name the process in a number."""
    pids = tuple(dict.fromkeys([-1, *protected]))
    code = _refuse_all(a, ("tkill", "pidfd_send_signal"))
    for name in _SIGNALS:
        code += _on(a, name, [*_when(0, pids, [_refuse(errno.EPERM)]), _ALLOWED])
    code += _on(a, "fcntl", [*_when(1, (_F_SETOWN, _F_SETOWN_EX), [_refuse(errno.EPERM)]), _ALLOWED])
    own = [*_when(1, (_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX), [_refuse(errno.EPERM)]), _ALLOWED]
    return code + _on(a, "ioctl", own)


def _refuse_all(a: Architecture, names: Iterable[str], error: int = errno.EPERM) -> list[bytes]:
    return [step for name in names for step in _on(a, name, [_refuse(error)])]


def _on(a: Architecture, name: str, body: Sequence[bytes]) -> list[bytes]:
    """For the call of that name, body, which must answer in every case. Nothing where the machine has no such call."""
    number = a.numbers.get(name)
    return [] if number is None else [_step(_EQUAL, number, no=len(body)), *body]


def _when(index: int, values: Sequence[int], body: Sequence[bytes], mask: int = 0) -> list[bytes]:
    """If the low half of an argument, less what mask leaves out, is one of values: body, which must answer."""
    code = [_argument(index)] + ([_step(_AND, mask)] if mask else [])
    last = len(values) - 1
    for place, value in enumerate(values):
        code.append(_step(_EQUAL, value & _MASK_32, yes=last - place, no=0 if place < last else len(body)))
    return [*code, *body]


def _when_null(index: int, body: Sequence[bytes]) -> list[bytes]:
    """If a pointer is null: body, which must answer."""
    low = [_argument(index), _step(_EQUAL, 0, no=2 + len(body))]
    high = [_step(_LOAD, _ARGUMENTS + 8 * index + _HALF), _step(_EQUAL, 0, no=len(body))]
    return [*low, *high, *body]


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; yes and no are how many instructions are skipped."""
    return struct.pack("=HBBI", code, yes, no, value)


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * index)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


_ALLOWED = _step(_RETURN, _ALLOW)
