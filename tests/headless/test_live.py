"""Live output of a command in the progress of `pool run`: a carriage return begins its line anew."""

from __future__ import annotations

import io
from typing import TypeVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pool.agent.hub import EventHub
from pool.events import CallOutput, Event, Notice
from pool.headless.output import LIVE_LINES, Progress
from pool_tools.capture import OutputCapture


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """Its lines, as written over."""
        return [line.rpartition("\r\x1b[K")[2] for line in self.getvalue().split("\n")]


Stream = TypeVar("Stream", bound=io.StringIO)


def told(err: Stream, *live: str) -> Stream:
    progress = Progress(err, 1)
    hub = EventHub("s")
    events: list[Event] = [hub.emit(CallOutput(text), "c") for text in live]
    for event in [*events, hub.emit(Notice("info", "end"))]:
        progress.show(event)
    return err


PYTEST = ("tests ", "\rtests .", "F", "\rtests .F.\nnext\r", "last", "\nend")


def test_a_terminals_line_is_written_over() -> None:
    assert told(Terminal(), *PYTEST).screen() == ["  | tests .F.", "  | last", "  | end", "pool: end", ""]


def test_elsewhere_only_whole_lines_are_written() -> None:
    assert told(io.StringIO(), *PYTEST).getvalue() == "  | tests .F.\n  | last\n  | end\npool: end\n"


@pytest.mark.parametrize("live", [("a\rb",), ("a", "\rb"), ("a\r", "b")])
def test_nothing_of_a_line_that_began_anew_is_left(live: tuple[str, ...]) -> None:
    assert told(io.StringIO(), *live).getvalue() == "  | b\npool: end\n"


@given(st.lists(st.sampled_from(["ab", "c", "\n", "\r", "\r\n", "50%\r"]), max_size=20))
def test_what_is_shown_is_what_the_command_said(parts: list[str]) -> None:
    assume("".join(parts).count("\n") <= LIVE_LINES)  # Beyond it is told that there is more.
    capture = OutputCapture()
    live: list[str] = []
    for part in parts:
        capture.feed(part.encode())
        live.append(capture.live())
    capture.close()
    lines = [line for line in capture.text().split("\n") if line]
    for err in (io.StringIO(), Terminal()):
        told(err, *live)
        shown = err.screen() if isinstance(err, Terminal) else err.getvalue().split("\n")
        assert [line.removeprefix("  | ") for line in shown if line.strip(" |")] == [*lines, "pool: end"]


@pytest.mark.parametrize("at_once", [True, False])
def test_more_output_is_said_once_and_only_if_there_is_more(at_once: bool) -> None:
    def shown(count: int) -> list[str]:
        lines = [f"line {i}\n" for i in range(count)]
        text = told(io.StringIO(), *(["".join(lines)] if at_once else lines)).getvalue()
        return [line for line in text.splitlines() if line.strip(" |")]

    assert shown(LIVE_LINES) == [*(f"  | line {i}" for i in range(LIVE_LINES)), "pool: end"]
    assert shown(LIVE_LINES + 5)[LIVE_LINES:] == ["  | ... more output", "pool: end"]
