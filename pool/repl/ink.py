"""Colours of lines: the terminal's own sixteen, by role, or none."""

from __future__ import annotations

from enum import StrEnum

from pool_tools.colours import people_text, plain_text
from pool_tools.frozen import frozen

RESET = "\x1b[0m"


class Role(StrEnum):
    """What a text is, as SGR parameters (ECMA-48 8.3.117). Colours are the terminal's, so they fit its background."""

    MUTED = "2"
    STRONG = "1"
    USER = "1;36"
    TOOL = "36"
    GOOD = "32"
    WARNING = "33"
    BAD = "31"
    ADDED = "32"
    REMOVED = "31"
    KEYWORD = "35"
    STRING = "32"
    NUMBER = "33"
    NAME = "34"


@frozen
class Ink:
    """colours: SGR sequences may be written. marks: signs such as a tick may stand for words."""

    colours: bool = True
    marks: bool = True

    def paint(self, text: str, role: Role) -> str:
        """Safe text of one line in a role's colour."""
        return f"\x1b[{role.value}m{text}{RESET}" if self.colours and text else text

    def output(self, line: str) -> str:
        """A line of a command's output: of its escapes only colours are left, if there are any at all."""
        line = people_text(line).replace("\r", "").replace("\n", " ")
        if not self.colours:
            return plain_text(line)
        return line + RESET if "\x1b" in line else line
