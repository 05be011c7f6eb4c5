"""The output of the user's own command, as it comes."""

from __future__ import annotations

from collections.abc import Callable

from pool.repl.ink import Ink
from pool.repl.results import Output, output_line
from pool_tools.colours import PeopleText


class ShellOutput(Output):
    """Says each line as soon as it is whole."""

    def __init__(self, ink: Ink, say: Callable[[str], None]) -> None:
        super().__init__()
        self._ink = ink
        self._say = say
        self._safe = PeopleText()

    def append(self, text: str) -> None:
        super().append(self._safe.feed(text.encode("utf-8", "surrogatepass")))

    def take(self, line: str) -> None:
        self._say(f"  {output_line(line.rstrip(), self._ink)}")
