"""What a sandbox is: a policy, and something that turns a command into a confined one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Policy:
    """What commands may do. The rest of the system can be read, but for secrets.

    roots: folders that may be written (if writable), the first is where commands run. hidden: further files and
    folders that commands must not see. gpu: show the NVIDIA, AMD and render devices.
    """

    roots: tuple[Path, ...]
    writable: bool = True
    network: bool = False
    hidden: tuple[Path, ...] = ()
    gpu: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: arguments and environment."""

    argv: tuple[str, ...]
    env: dict[str, str]


class Sandbox(Protocol):
    """Confines commands. name is the tier: `bubblewrap`, `none`.

    contains_processes: ending the launcher ends every process of the command.
    """

    @property
    def name(self) -> str: ...

    @property
    def contains_processes(self) -> bool: ...

    def describe(self) -> str:
        """One line for people: what is enforced."""
        ...

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        """The command to start instead of argv, to be started in cwd with the launch's environment."""
        ...

    def close(self) -> None:
        """Remove what the sandbox keeps on disk. No command may be running."""
        ...


class NoSandbox:
    """The tier `none`: commands run as they are."""

    name = "none"
    contains_processes = False

    def describe(self) -> str:
        return "no sandbox: commands can do whatever you can"

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Launch:
        return Launch(tuple(argv), dict(env))

    def close(self) -> None:
        """Nothing is kept."""
