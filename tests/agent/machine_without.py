"""Run a command on a machine that offers it neither namespaces nor Landlock, as containers often do.

`machine_without.py COMMAND ARGUMENT...`: a filter of system calls refuses both, for good; then COMMAND starts.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

from pool_tools.sandbox.syscalls import ARCHITECTURES

LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
NEW_USER_NAMESPACE = 0x10000000
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
FIRST_ARGUMENT = 16


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def main() -> None:
    numbers = ARCHITECTURES[os.uname().machine].numbers
    code = [step(LOAD, 0)]
    for name, error in (("landlock_create_ruleset", ENOSYS), ("clone3", ENOSYS), ("unshare", EPERM)):
        code += [step(EQUAL, numbers[name], no=1), step(RETURN, REFUSE | error)]
    flags = [step(LOAD, FIRST_ARGUMENT), step(ANY_BIT, NEW_USER_NAMESPACE, no=1), step(RETURN, REFUSE | EPERM)]
    code += [step(EQUAL, numbers["clone"], no=len(flags)), *flags, step(RETURN, ALLOW)]
    program = Program(len(code), b"".join(code))
    libc = ctypes.CDLL(None)
    assert libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(SECCOMP, FILTER, ctypes.byref(program), 0, 0) == 0
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
