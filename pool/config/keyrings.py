"""The system's keyring, asked within a time limit: one that wants a password on another screen never answers.

The package `keyring` is imported when something is kept there, or is to be.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

SERVICE = "laguna-pool"
"""What the keyring lists Pool's entries under."""

START_SECONDS = 8.0
"""How long a session waits for the keyring."""

PERSON_SECONDS = 60.0
"""How long a command waits at which a person sits, who may have to unlock it."""

LEAST_PRIORITY = 1.0
"""Backends below this keep nothing, or keep it in clear (https://keyring.readthedocs.io: recommended ones have 1)."""

BACKEND = "PYTHON_KEYRING_BACKEND"

T = TypeVar("T")


class NoKeyring(Exception):
    """The keyring cannot be used. The message says why, and holds no value."""


class Keyring:
    """The keyring of this user and machine. Every call may take up to seconds."""

    def __init__(self, env: Mapping[str, str], seconds: float = START_SECONDS) -> None:
        """env is asked whether there can be one at all."""
        self._env = env
        self._seconds = seconds

    def get(self, name: str) -> str | None:
        """The value of an entry, None if there is none. Raises `NoKeyring`."""

        def work() -> str | None:
            import keyring

            return keyring.get_password(SERVICE, name)

        return self._within(work)

    def put(self, name: str, value: str) -> None:
        """Keep a value, and see that it comes back. Raises `NoKeyring`."""

        def work() -> bool:
            import keyring

            keyring.set_password(SERVICE, name, value)
            return keyring.get_password(SERVICE, name) == value

        if not self._within(work):
            raise NoKeyring("the keyring does not give back what was put into it")

    def remove(self, name: str) -> None:
        """Forget an entry, if there is one. Raises `NoKeyring`."""

        def work() -> None:
            import keyring
            from keyring.errors import PasswordDeleteError

            try:
                keyring.delete_password(SERVICE, name)
            except PasswordDeleteError:
                return

        self._within(work)

    def _within(self, work: Callable[[], T]) -> T:
        if why := _hopeless(self._env):
            raise NoKeyring(why)
        answers: queue.SimpleQueue[tuple[T, None] | tuple[None, Exception]] = queue.SimpleQueue()

        def ask() -> None:
            try:
                _usable()
                answers.put((work(), None))
            except Exception as error:  # a backend may fail in any way
                answers.put((None, error))

        # A thread that never comes back must not keep the process.
        threading.Thread(target=ask, name="keyring", daemon=True).start()
        try:
            value, error = answers.get(timeout=self._seconds)
        except queue.Empty:
            raise NoKeyring(f"the keyring has not answered for {self._seconds:g} s; is it locked?") from None
        if error is None:
            return value  # pyright: ignore[reportReturnType]  # without an error it is the work's own value
        if isinstance(error, NoKeyring):
            raise error
        raise NoKeyring(f"the keyring failed: {type(error).__name__}: {str(error)[:200]}") from None


def _hopeless(env: Mapping[str, str]) -> str:
    """Why there can be no keyring, found without asking for one; "" if there may be."""
    if sys.platform != "linux" or env.get(BACKEND) or env.get("DBUS_SESSION_BUS_ADDRESS"):
        return ""
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.exists(Path(runtime, "bus")):
        return ""
    return "there is no keyring here: no session bus (D-Bus), as over SSH"


def _usable() -> None:
    """Raise `NoKeyring` where the best backend keeps nothing, or in clear."""
    import keyring

    found = keyring.get_keyring()
    try:
        priority = float(found.priority)
    except (TypeError, ValueError, RuntimeError):
        priority = 0.0
    if priority < LEAST_PRIORITY:
        raise NoKeyring("there is no keyring here: no service that keeps secrets answers")
