"""Going on with another session: searched as one types, over titles, prompts, answers and files."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from pool.sessions.index import SessionEntry, SessionIndex
from pool.sessions.summary import plain_line
from pool.tui.inorder import Line
from pool.tui.screens.frame import PanelScreen, frame_css
from pool.tui.screens.keyline import KeyLine
from pool.tui.screens.linelist import LineList, Row
from pool_tools.frozen import frozen
from pool_tools.text import plural

MOST_SHOWN = 1_000

FOUND_SECONDS = 1.0
"""How long a key that chooses waits for a search at most."""

WIDE_COLUMNS = 90
MIDDLE_COLUMNS = 60
PASSAGE_CELLS = 60
"""Of the passage that was found so much is shown."""

KEYS_OF_LIST = frozenset({"up", "down", "pageup", "pagedown"})
KINDS = {"prompt": "", "name": "", "answer": "answer: ", "file": "file: "}

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_WEEK = 7 * _DAY


@frozen
class Found:
    """A session of the list, and where the words stand that were searched, "" where it is the title."""

    entry: SessionEntry
    passage: str = ""


class Finder:
    """The index, used from one thread of its own. Close it."""

    def __init__(self, folder: Path, workspace: str, own: str) -> None:
        """own is the id of a session that is left out."""
        self._folder, self._workspace, self._own = folder, workspace, own
        self._thread = ThreadPoolExecutor(1)
        self._index: SessionIndex | None = None

    async def find(self, text: str) -> list[Found]:
        """The sessions that hold every word; all of them for no words. The one changed last comes first."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._find, text.split())

    def close(self) -> None:
        """Let the index go, after what is asked just now."""
        self._thread.submit(self._close)
        self._thread.shutdown(wait=False)

    def _find(self, words: Sequence[str]) -> list[Found]:
        if self._index is None:
            self._index = SessionIndex(self._folder, lambda text: None)
        if not words:
            entries = self._index.entries(self._workspace, MOST_SHOWN)
            return [Found(entry) for entry in entries if entry.id != self._own]
        hits = self._index.search(words, self._workspace, MOST_SHOWN)
        return [Found(hit.entry, _passage(hit.kind, hit.text, words)) for hit in hits if hit.entry.id != self._own]

    def _close(self) -> None:
        if self._index is not None:
            self._index.close()


class SessionsScreen(PanelScreen[str | None]):
    """Returns the id of the session to go on with, or None."""

    DEFAULT_CSS = (
        frame_css("SessionsScreen")
        + """
    SessionsScreen Input, SessionsScreen Input:focus {
        border: none; height: 1; background: $panel; padding: 0 1;
    }
    """
    )

    def __init__(self, finder: Finder, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._finder = finder
        self._now = now
        self._found: Sequence[Found] = ()
        self._is_found = asyncio.Event()
        self.list = LineList(self._row, empty="looking …")
        self.list.can_focus = False
        self.keys = KeyLine((("Enter", "goes on with it"), ("↑ ↓", "choose"), ("Esc", "close")))

    def compose(self) -> ComposeResult:
        self._box = Vertical(
            Line(placeholder="words of a title, a prompt, an answer, a file's name", select_on_focus=False),
            self.list,
            self.keys,
        )
        yield self._box

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._search("")

    def on_unmount(self) -> None:
        self._finder.close()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._is_found.clear()
        self._search(event.value)

    @work(exclusive=True, group="search")
    async def _search(self, text: str) -> None:
        found = await self._finder.find(text)
        self._found = found
        self.list.empty = "nothing fits" if text.strip() else "there is no other session of this folder"
        self.list.show_rows(len(found))
        self._box.border_title = Text(f"Sessions of this folder: {len(found):,}")
        self._is_found.set()

    async def on_key(self, event: events.Key) -> None:
        if event.key not in KEYS_OF_LIST and event.key != "enter":
            return
        event.stop()
        # They mean the rows for what was typed before them.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FOUND_SECONDS):
                await self._is_found.wait()
        if event.key == "enter":
            self._take(self.list.cursor)
        else:
            self.list.take_key(event.key)
        event.prevent_default()

    def on_line_list_clicked(self, event: LineList.Clicked) -> None:
        self._take(event.row)

    def _take(self, row: int) -> None:
        if row < len(self._found):
            self.dismiss(self._found[row].entry.id)

    def _row(self, number: int) -> Row:
        found = self._found[number]
        entry, width = found.entry, self.size.width
        left = f"{age(self._now() - entry.changed):>9}  "
        counts = ""
        if width >= MIDDLE_COLUMNS:
            counts = f"{plural(entry.prompts, 'prompt'):>11}  "
        if width >= WIDE_COLUMNS:
            counts += f"{size_text(entry.size):>8}  {_ended(entry):<12}  "
        title = plain_line(entry.title) or "(no prompt yet)"
        passage = (f"  {found.passage}", "tool") if found.passage and found.passage != title else ("", "text")
        return Row(((left, "muted"), (counts, "muted"), (title, "text"), passage))


def age(seconds: float) -> str:
    """How long ago, for people."""
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h"
    if seconds < _WEEK:
        return plural(int(seconds // _DAY), "day")
    return time.strftime("%Y-%m-%d", time.localtime(max(0.0, time.time() - seconds)))[2:]


def size_text(size: int) -> str:
    """Bytes for people."""
    if size < 1_000_000:
        return f"{max(1, size // 1000):,} kB"
    return f"{size / 1e6:,.1f} MB"


def _ended(entry: SessionEntry) -> str:
    return entry.ended.replace("_", " ")[:12]


def _passage(kind: str, text: str, words: Sequence[str]) -> str:
    """The place in a text where the first of the words stands."""
    line = plain_line(text)
    at = max(0, line.casefold().find(words[0].casefold()))
    start = line.rfind(" ", 0, max(0, at - PASSAGE_CELLS // 3)) + 1
    cut = line[start : start + PASSAGE_CELLS]
    while cell_len(cut) > PASSAGE_CELLS:
        cut = cut[:-1]
    shown = f"{'…' if start else ''}{cut}{'…' if start + len(cut) < len(line) else ''}"
    return f"{KINDS.get(kind, '')}{shown}"
