"""Vi's modes for the prompt box: a small set of its commands.

Motions h j k l w b e 0 ^ $ gg G, with counts; d c y with a motion or twice; x D C p P u Ctrl-R; i a I A o O; Esc.
j and k leave the first and last line for the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pool.tui.vimotions import Motion, Place, first_column, motion

MOST_COUNT = 999

OPERATORS = ("d", "c", "y")


class Mode(StrEnum):
    """What keys do: they are typed, or they are commands."""

    INSERT = "insert"
    NORMAL = "normal"


class Editing(Protocol):
    """What is edited."""

    def lines(self) -> Sequence[str]:
        """The text, at least one line."""
        ...

    def place(self) -> Place:
        """Where the cursor is."""
        ...

    def go(self, to: Place) -> None:
        """Move it."""
        ...

    def put(self, text: str, start: Place, end: Place) -> None:
        """Put text in the place of what is between two places; the cursor may go anywhere."""
        ...

    def undo(self) -> None:
        """Take the last change back."""
        ...

    def redo(self) -> None:
        """Take that back."""
        ...

    def history(self, step: int) -> None:
        """The prompt before (-1) or after (1)."""
        ...


@dataclass(slots=True)
class Register:
    """What was last cut or copied; whole: of whole lines."""

    text: str = ""
    whole: bool = False


class Vi:
    """The state of vi's modes over a text."""

    def __init__(self, over: Editing) -> None:
        self.mode = Mode.INSERT
        self._over = over
        self._pending = ""
        self._count = ""
        self._register = Register()

    @property
    def shown(self) -> str:
        """The mode and what was typed of a command, for people; "" while keys are typed."""
        return "" if self.mode is Mode.INSERT else f"normal {self._count}{self._pending}".rstrip()

    def escape(self) -> None:
        """Esc: a command that was begun is dropped; keys are commands."""
        if self.mode is Mode.INSERT:
            self.mode = Mode.NORMAL
            row, column = self._over.place()
            self._over.go((row, max(0, column - 1)))
        self._pending = self._count = ""

    def insert(self) -> None:
        """Keys are typed again."""
        self.mode = Mode.INSERT
        self._pending = self._count = ""

    def key(self, key: str) -> bool:
        """Take a character (or `ctrl+r`) in normal mode. False if it means nothing there."""
        if key.isdecimal() and key.isascii() and (key != "0" or self._count):
            self._count = str(min(MOST_COUNT, int(self._count + key)))
            return True
        begun, self._pending = self._pending, ""
        if (begun in ("", *OPERATORS) and key == "g") or (not begun and key in OPERATORS):
            self._pending = begun + key
            return True
        count, self._count = int(self._count or "1"), ""
        if begun[:1] not in OPERATORS:
            return self._command(begun + key, count)
        self._operate(begun[0], begun[1:] + key, count)
        return True

    def _command(self, typed: str, count: int) -> bool:
        over = self._over
        row, column = over.place()
        lines = over.lines()
        found = motion(typed, lines, (row, column), count)
        match typed:
            case "j" if row == len(lines) - 1:
                over.history(1)
            case "k" if row == 0:
                over.history(-1)
            case _ if found is not None:
                self._go(found.to)
            case "x":
                self._cut((row, column), (row, min(len(lines[row]), column + count)))
            case "D" | "C":
                self._cut((row, column), (row, len(lines[row])))
                if typed == "C":
                    self.insert()
                    over.go((row, column))
            case "p" | "P":
                self._paste(after=typed == "p", count=count)
            case "u":
                over.undo()
            case "ctrl+r":
                over.redo()
            case "i" | "a" | "I" | "A" | "o" | "O":
                self._begin(typed, lines[row], row, column)
            case _:
                return False
        return True

    def _begin(self, typed: str, line: str, row: int, column: int) -> None:
        """The ways to begin typing."""
        self.insert()
        match typed:
            case "a":
                self._over.go((row, min(len(line), column + 1)))
            case "I":
                self._over.go((row, first_column(line)))
            case "A":
                self._over.go((row, len(line)))
            case "o":
                self._over.put("\n", (row, len(line)), (row, len(line)))
                self._over.go((row + 1, 0))
            case "O":
                self._over.put("\n", (row, 0), (row, 0))
                self._over.go((row, 0))
            case _:
                pass

    def _operate(self, operator: str, over: str, count: int) -> None:
        """d, c or y over a motion, or over lines where it is doubled."""
        at, lines = self._over.place(), self._over.lines()
        if over == operator:
            found: Motion | None = Motion((min(len(lines) - 1, at[0] + count - 1), 0), linewise=True)
        else:
            # As vi does: cw changes the word without the blanks after it.
            key = "e" if (operator, over) == ("c", "w") and lines[at[0]][at[1] : at[1] + 1].strip() else over
            found = motion(key, lines, at, count)
        if found is None:
            return
        if found.linewise:
            self._operate_lines(operator, *sorted((at[0], found.to[0])))
            return
        start, end = sorted((at, found.to))
        if over == "w" and end[0] > start[0]:
            end = (start[0], len(lines[start[0]]))
        if found.inclusive:
            end = (end[0], min(len(lines[end[0]]), end[1] + 1))
        self._register = Register(_between(lines, start, end))
        if operator == "y":
            self._go(start)
        else:
            self._cut(start, end)
        if operator == "c":
            self.insert()
            self._over.go(start)

    def _operate_lines(self, operator: str, first: int, last: int) -> None:
        lines = self._over.lines()
        self._register = Register("\n".join(lines[first : last + 1]), whole=True)
        if operator == "y":
            self._go((first, self._over.place()[1]))
            return
        start, end = (first, 0), (last, len(lines[last]))
        if operator == "c":
            self._over.put("", start, end)
            self.insert()
            self._over.go(start)
            return
        if last + 1 < len(lines):
            end = (last + 1, 0)
        elif first:
            start = (first - 1, len(lines[first - 1]))
        self._over.put("", start, end)
        row = min(first, len(self._over.lines()) - 1)
        self._go((row, first_column(self._over.lines()[row])))

    def _cut(self, start: Place, end: Place) -> None:
        """Take out what is between two places, and keep it."""
        if start == end:
            return
        self._register = Register(_between(self._over.lines(), start, end))
        self._over.put("", start, end)
        self._go(start)

    def _paste(self, *, after: bool, count: int) -> None:
        if not self._register.text and not self._register.whole:
            return
        (row, column), lines = self._over.place(), self._over.lines()
        if self._register.whole:
            text = "\n".join([self._register.text] * count)
            if after:
                end = (row, len(lines[row]))
                self._over.put("\n" + text, end, end)
            else:
                self._over.put(text + "\n", (row, 0), (row, 0))
            to = row + 1 if after else row
            self._go((to, first_column(self._over.lines()[to])))
            return
        at = (row, min(len(lines[row]), column + 1) if after else column)
        text = self._register.text * count
        self._over.put(text, at, at)
        before, _, tail = text.rpartition("\n")
        self._go((row + text.count("\n"), (len(tail) if before or "\n" in text else at[1] + len(text)) - 1))

    def _go(self, to: Place) -> None:
        """Move; in normal mode the cursor stands on a character."""
        row, column = to
        self._over.go((row, max(0, min(column, len(self._over.lines()[row]) - 1))))


def _between(lines: Sequence[str], start: Place, end: Place) -> str:
    if start[0] == end[0]:
        return lines[start[0]][start[1] : end[1]]
    middle = lines[start[0] + 1 : end[0]]
    return "\n".join([lines[start[0]][start[1] :], *middle, lines[end[0]][: end[1]]])
