"""What stands below the lines: what is not finished, what goes on, what waits, the answers to a question, the prompt
and the toolbar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.widgets import SearchToolbar

from pool.facekit.approving import LOW_ROWS
from pool.facekit.clean import one_line
from pool.repl.results import text_line
from pool.repl.toolbar import toolbar
from pool.repl.wrapping import rows_of

if TYPE_CHECKING:
    from pool.repl.screen import Screen

BOX_SHARE = 3
LIVE_SHARE = 3
"""The prompt, and what is not finished, take up to this part of the terminal's rows, 1 of so many."""

MOST_WAITING = 3
MENU_ROWS = 6
LEAST_ROWS = 2
GAP = "  "
LIVE_CHARS = 4_000
"""Of an unfinished line its end is drawn."""


def layout(screen: Screen) -> Layout:
    """The layout, with the prompt focused."""
    search = SearchToolbar(vi_mode=screen.chat.settings.ui.vi)
    control = BufferControl(screen.box, search_buffer_control=search.control, preview_search=True)
    box = Window(
        control,
        height=lambda: Dimension(min=1, max=_part(screen, BOX_SHARE)),
        wrap_lines=True,
        dont_extend_height=True,
        get_line_prefix=lambda row, wrap: _mark(screen, row, wrap),
    )
    menu = CompletionsMenu(max_height=MENU_ROWS)
    parts = [
        _lines(lambda: _live(screen), ""),
        _lines(lambda: [" "], ""),
        _lines(lambda: _activity(screen), "dim"),
        _lines(lambda: _waiting(screen), "dim"),
        _lines(lambda: _answers(screen), ""),
        box,
        ConditionalContainer(menu, Condition(lambda: not screen.answers_by_key)),
        search,
        ConditionalContainer(_lines(lambda: [toolbar(screen)], "dim"), ~is_searching),
    ]
    return Layout(HSplit(parts), focused_element=box)


def _lines(get: Callable[[], Sequence[str]], style: str) -> ConditionalContainer:
    """Lines of safe text, each cut at the window's width; nothing if there are none."""
    control = FormattedTextControl(lambda: [(style, "\n".join(get()))])
    height = Dimension(min=0)
    window = Window(control, height=height, wrap_lines=False, dont_extend_height=True)
    return ConditionalContainer(window, Condition(lambda: bool(get())))


def _part(screen: Screen, share: int) -> int:
    return max(LEAST_ROWS, screen.app.output.get_size().rows // share)


def _mark(screen: Screen, row: int, wrap: int) -> StyleAndTextTuples:
    if wrap:
        return []
    query = screen.chat.asking.current
    if query is not None and query.writing:
        return [("bold", f"{query.writes[query.writing]} ")] if not row else []
    return [("bold", "> ")] if not row else [("", "  ")]


def _live(screen: Screen) -> Sequence[str]:
    """The end of what is not finished, as the terminal will wrap it."""
    if not (lines := screen.chat.live()):
        return ()
    return wrapped_end(lines, screen.app.output.get_size().columns, _part(screen, LIVE_SHARE))


def wrapped_end(lines: Sequence[str], columns: int, most: int) -> list[str]:
    """The last rows of lines wrapped at a width in cells; an unfinished line of any length costs its end only."""
    out: list[str] = []
    for line in reversed(lines):
        out = [*_wrapped(line, columns), *out]
        if len(out) >= most:
            break
    return out[-most:]


def _wrapped(line: str, columns: int) -> list[str]:
    if len(line) > LIVE_CHARS:
        line = line[(len(line) - LIVE_CHARS) // columns * columns :]
    return rows_of(line, columns, least=1)


def _activity(screen: Screen) -> Sequence[str]:
    words = [one_line(word) for word in screen.chat.words() if word]
    return [" · ".join(words)] if words else ()


def _waiting(screen: Screen) -> Sequence[str]:
    rows = [f"{when}: {one_line(text)}" for when, text in screen.chat.waiting()]
    hidden = len(rows) - MOST_WAITING
    return [*rows[:MOST_WAITING], f"… {hidden} more wait (/queue)"] if hidden > 0 else rows


def _answers(screen: Screen) -> Sequence[str]:
    query = screen.chat.asking.current
    if query is None or query.writing:
        return ()
    size = screen.app.output.get_size()
    if query.short and size.rows < LOW_ROWS:
        short = GAP.join(query.short[key] for key, _ in query.rows)
        return wrap(short, max(1, size.columns), break_long_words=False)
    return [f" {key}  {text_line(words)}" for key, words in query.rows]
