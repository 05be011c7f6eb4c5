"""Keeping this process's memory and environment from other processes of the same user."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def keep_private() -> bool:
    """Make this process undumpable, for good; whether that was done.

    On Linux its environment, memory, open files and working folder can then be looked at, and it can be traced, by
    nobody but root with all rights; it writes no core file either. Programs that it starts are not affected. Elsewhere
    nothing is done.
    """
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
