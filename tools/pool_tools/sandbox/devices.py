"""The modes of devices that commands share with the system.

bubblewrap binds the system's own `/dev/null` and its like into the sandbox. Commands that run as the system's root own
these files, and can take `/dev/null` away from everybody by a change of its mode. A bound device cannot be made
read-only without losing its use, so modes are put back.
"""

from __future__ import annotations

import os
import stat

from pool_tools.sandbox.base import Guard

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""What `bwrap --dev` binds (bubblewrap 0.8.0)."""

USUAL_MODE = 0o666
"""Theirs on every Linux. One that has another when the sandbox is made is left alone."""


class DeviceGuard:
    """Puts modes of devices back after each command, after what inner puts back."""

    def __init__(self, inner: Guard | None) -> None:
        self._inner = inner
        self._usual = [path for path in DEVICES if _mode(path) == USUAL_MODE]

    def before(self) -> None:
        """Remember what inner has to."""
        if self._inner is not None:
            self._inner.before()

    def after(self) -> tuple[str, ...]:
        """What was put back."""
        told = self._inner.after() if self._inner is not None else ()
        changed = [path for path in self._usual if _mode(path) not in (USUAL_MODE, None)]
        for path in changed:
            os.chmod(path, USUAL_MODE)
        return (*told, *(f"the mode of {path} was changed and has been put back" for path in changed))

    def close(self) -> None:
        """As inner."""
        if self._inner is not None:
            self._inner.close()


def _mode(path: str) -> int | None:
    """The permissions of a device, None if there is none of that name."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return stat.S_IMODE(found.st_mode) if stat.S_ISCHR(found.st_mode) else None
