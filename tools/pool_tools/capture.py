"""Keeping a command's output within bounds while it is read: its head, its tail, and a count of the middle."""

from __future__ import annotations

from collections import deque

from pool_tools.binary import HEAD_BYTES, beginning, is_binary
from pool_tools.limits import OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS
from pool_tools.spill import SPILL_BYTES, Spills
from pool_tools.terminal import EscapeStripper, LineFolder
from pool_tools.text import size

LIVE_CHARS = 4_000
"""Characters of live output that one delivery carries; of more, the last are shown."""


class HeadTail:
    """The first and the last characters of a text of any length, in bounded memory."""

    def __init__(self, head: int, tail: int) -> None:
        self._head_limit = head
        self._tail_limit = tail
        self._head: list[str] = []
        self._head_chars = 0
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self.chars = 0
        self.lines = 0

    def add(self, text: str) -> None:
        self.chars += len(text)
        self.lines += text.count("\n")
        room = self._head_limit - self._head_chars
        if room > 0:
            self._head.append(text[:room])
            self._head_chars += min(room, len(text))
            text = text[room:]
        if text:
            text = text[-self._tail_limit :]
            self._tail.append(text)
            self._tail_chars += len(text)
            while self._tail_chars - len(self._tail[0]) >= self._tail_limit:
                self._tail_chars -= len(self._tail.popleft())

    def parts(self) -> tuple[str, str, int, int]:
        """Head, tail, and how many characters and line ends between them are left out.

        The cuts are moved to line ends where one is near.
        """
        head = "".join(self._head)
        tail = "".join(self._tail)[-self._tail_limit :]
        if self.chars <= self._head_limit + self._tail_limit:
            return head + tail, "", 0, 0
        cut = head.rfind("\n") + 1
        if cut > len(head) // 2:
            head = head[:cut]
        cut = tail.find("\n") + 1
        if 0 < cut < len(tail) // 2:
            tail = tail[cut:]
        left_out = self.chars - len(head) - len(tail)
        return head, tail, left_out, self.lines - head.count("\n") - tail.count("\n")


class OutputCapture:
    """Takes raw output by `feed`; gives live text by `live` and, after `close`, what the model sees by `text`."""

    def __init__(
        self, spills: Spills | None = None, head: int = OUTPUT_HEAD_CHARS, tail: int = OUTPUT_TAIL_CHARS
    ) -> None:
        """spills keep the whole output where it is too long to be shown."""
        self._spill = spills.new(head + tail) if spills else None
        self._folder = LineFolder()
        self._stripper = EscapeStripper(self._folder)
        self._kept = HeadTail(head, tail)
        self._live: list[str] = []
        self._live_line = ""
        self._first = b""
        self.bytes = 0
        self.truncated = False

    def feed(self, data: bytes) -> None:
        if self.bytes < HEAD_BYTES:
            self._first += data[:HEAD_BYTES]
        self.bytes += len(data)
        self._stripper.feed(data)
        self._keep(self._folder.take())

    def close(self) -> None:
        self._stripper.close()
        self._keep(self._folder.take() + self._folder.line)
        self._folder.line = ""
        if self._spill:
            self._spill.close()

    def _keep(self, text: str) -> None:
        if not text:
            return
        self._kept.add(text)
        if self._spill:
            self._spill.add(text)
        self._live.append(text[-LIVE_CHARS:])
        if len(self._live) > 1 and sum(map(len, self._live)) > 2 * LIVE_CHARS:
            self._live = ["".join(self._live)[-LIVE_CHARS:]]

    def live(self) -> str:
        """What to show since the last call: text, line feeds, tabs; a carriage return means "this line begins anew"."""
        out = "".join(self._live)[-LIVE_CHARS:] + self._folder.line
        self._live.clear()
        before, self._live_line = self._live_line, self._folder.line
        if out.startswith(before):
            return out[len(before) :]
        return "\r" + out

    @property
    def binary(self) -> bool:
        """Whether the output is no text."""
        return is_binary(self._folder.controls, self.bytes)

    def text(self) -> str:
        """The output for the model. Sets `truncated` when something is left out."""
        if self.binary:
            self.truncated = True
            return f"[binary output, {size(self.bytes)}, beginning with {beginning(self._first)}, not shown]"
        head, tail, chars, lines = self._kept.parts()
        if not chars:
            return head
        self.truncated = True
        left_out = f"{chars:,} characters" + (f" in {lines:,} lines" if lines else "")
        return f"{head.rstrip()}\n[… {left_out} left out here; {self._remedy()} …]\n{tail.lstrip(chr(10))}"

    @property
    def spilled(self) -> str:
        """The file that holds the output, as commands call it; "" if there is none."""
        return self._spill.path if self._spill else ""

    def _remedy(self) -> str:
        if not self._spill or not self._spill.path:
            return "to see them, narrow the command or send its output to a file"
        what = "the whole output" if self._spill.whole else f"its first {size(SPILL_BYTES)}"
        return f"{what} is in {self._spill.path}, for commands such as grep"
