"""What a watch says, for a person at a terminal, for a log, or for a program."""

from __future__ import annotations

import json
import time
from typing import Any, TextIO

from pool.lab.serve.clock import clock
from pool.lab.serve.watch import Said
from pool_tools.text import visible

_ERASE_LINE = "\r\x1b[K"
_STEPS_SHOWN = 4
"""Where lines cannot be rewritten, so many of a counted phase are shown."""


class TextFace:
    """A line for each thing; on a terminal a count is rewritten in place."""

    def __init__(self, out: TextIO, *, live: bool, width: int) -> None:
        self._out = out
        self._live = live
        self._width = width
        self._begun = time.monotonic()
        self._passing = False
        self._share = ("", 0)

    def __call__(self, said: Said) -> None:
        if said.passing and not self._live and not self._next_share(said.data):
            return
        text = f"{clock(time.monotonic() - self._begun):>8}  {visible(said.words)}"
        if self._passing:
            self._out.write(_ERASE_LINE)
        self._passing = said.passing and self._live
        self._out.write(text[: self._width - 1] if self._passing else f"{text}\n")
        if said.remedy:
            self._out.write(f"{'':>10}-> {visible(said.remedy)}\n")
        self._out.flush()

    def _next_share(self, data: dict[str, Any]) -> bool:
        share = (data["phase"], data["done"] * _STEPS_SHOWN // data["of"])
        changed, self._share = share != self._share, share
        return changed


class JsonFace:
    """One object a line: type `serve.` and the kind, words, remedy, and what belongs to the kind."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, said: Said) -> None:
        row = {"type": f"serve.{said.kind}", "words": said.words, **said.data}
        if said.remedy:
            row["remedy"] = said.remedy
        self._out.write(json.dumps(row) + "\n")
        self._out.flush()
