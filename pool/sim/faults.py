"""The registry of faults: their names, what is said on the command line, and which of them hit a request."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pool.sim.chunks import Chunk
from pool.sim.faults_http import INSTEAD_FAULTS, REQUEST_FAULTS, Instead
from pool.sim.faults_say import SAY_FAULTS
from pool.sim.faults_wire import BYTE_FAULTS, CHUNK_FAULTS
from pool.sim.request import ChatRequest
from pool.sim.say import Saying

ALL_FAULTS: Mapping[str, Callable[..., Any]] = {
    **INSTEAD_FAULTS,
    **REQUEST_FAULTS,
    **SAY_FAULTS,
    **CHUNK_FAULTS,
    **BYTE_FAULTS,
}
EVERY_REQUEST = (1, 2**31)
_DEFAULT_REQUESTS = {"429-then-ok": (1, 1), "503-then-ok": (1, 1), "loading": (1, 3)}
_NUMBERS = ("error-in-stream", "drop-mid-stream", "reset", "silent", "html-body", "cuts-front", "counts-off")
_SPEC = re.compile(r"(?P<name>[^:@]+)(?::(?P<arg>.*?))?(?:@(?P<first>\d+)(?:-(?P<last>\d+))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FaultUse:
    """A fault as asked for: with its argument, for chat requests first to last, counted from 1."""

    name: str
    arg: str
    first: int
    last: int

    def hits(self, number: int) -> bool:
        """Whether request number has this fault."""
        return self.first <= number <= self.last


def parse_fault(text: str) -> FaultUse:
    """Read `NAME[:ARG][@N|@N-M]`. Raises ValueError, with the nearest name, for what cannot be a fault."""
    match = _SPEC.fullmatch(text)
    if match is None:
        raise ValueError(f"a fault is NAME[:ARG][@N|@N-M], not {text!r}")
    name = match["name"]
    if name not in ALL_FAULTS:
        near = difflib.get_close_matches(name, ALL_FAULTS, 1)
        raise ValueError(f"there is no fault {name!r}{f'; did you mean {near[0]!r}?' if near else ''}")
    arg = match["arg"] or ""
    if arg and name in _NUMBERS and not arg.isdecimal():
        raise ValueError(f"the argument of fault {name!r} is a whole number, not {arg!r}")
    first, last = _DEFAULT_REQUESTS.get(name, EVERY_REQUEST)
    if match["first"]:
        first = int(match["first"])
        last = int(match["last"] or first)
    return FaultUse(name, arg, first, last)


def describe_faults() -> str:
    """One paragraph a fault: its name and what its docstring says."""
    texts = {name: (inspect.getdoc(fault) or "").replace("\n\n", "\n") for name, fault in ALL_FAULTS.items()}
    return "\n".join(f"{name}\n{textwrap.indent(text, '    ')}" for name, text in texts.items())


class Faults:
    """The faults of one request, in the order in which they were asked for."""

    def __init__(self, uses: Iterable[FaultUse], number: int) -> None:
        self._uses = [use for use in uses if use.hits(number)]

    def instead(self) -> Instead | None:
        """Another answer than the server's own, if a fault says so."""
        return next((INSTEAD_FAULTS[use.name](use.arg) for use in self._uses if use.name in INSTEAD_FAULTS), None)

    def request(self, request: ChatRequest) -> ChatRequest:
        """Serve the request as if it had asked for something else."""
        for use in self._uses:
            if use.name in REQUEST_FAULTS:
                request = REQUEST_FAULTS[use.name](request, use.arg)
        return request

    def say(self, saying: Saying) -> Saying:
        """Change what the model says."""
        for use in self._uses:
            if use.name in SAY_FAULTS:
                saying = SAY_FAULTS[use.name](saying, use.arg)
        return saying

    def chunks(self, source: AsyncGenerator[Chunk]) -> AsyncGenerator[Chunk]:
        """Change the chunks of a stream."""
        for use in self._uses:
            if use.name in CHUNK_FAULTS:
                source = CHUNK_FAULTS[use.name](source, use.arg)
        return source

    def raw(self, source: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """Change the bytes of a stream. Reading may raise `Dropped`."""
        for use in self._uses:
            if use.name in BYTE_FAULTS:
                source = BYTE_FAULTS[use.name](source, use.arg)
        return source
