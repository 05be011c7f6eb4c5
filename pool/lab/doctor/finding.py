"""What a check found, and what a check is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.lab.doctor.subject import Subject


class Status(StrEnum):
    """How a check came out. Only `FAIL` makes the command fail; `SKIP` means that nothing was tried."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@frozen
class Finding:
    """One check's result.

    words say what was found, means says what that means for Pool, remedy is one line to paste (a command, a flag of
    the server, a line for the environment). means and remedy may be "". data is the same for machines: JSON values.
    Texts of the server may stand in all of them and are not yet made safe to print.
    """

    name: str
    status: Status
    words: str
    means: str = ""
    remedy: str = ""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def blocks(self) -> bool:
        """Whether checks that need this one cannot be made."""
        return self.status in (Status.FAIL, Status.SKIP)


@frozen
class Check:
    """A check.

    title is for people. needs names the checks without which it makes no sense, after those whose result it uses,
    however they came out. run may raise `ServerProblem`; means then says what that means for Pool. reads and writes are
    the most tokens that it costs.
    """

    name: str
    title: str
    run: Callable[[Subject], Awaitable[Finding]]
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    means: str = ""
    reads: int = 0
    writes: int = 0
