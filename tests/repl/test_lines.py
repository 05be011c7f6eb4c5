"""Calls, diffs and what is unfinished, as lines."""

from __future__ import annotations

import asyncio

import pytest

from pool.agent.commands import Ask, Choice
from pool.events import CallFinished
from pool.facekit.approving import SETTLE_SECONDS
from pool.ports import ApprovalAnswer, ApprovalRequest, Question, Remember
from pool.repl import asking
from pool.repl.asking import Asking, Query
from pool.repl.ink import Ink
from pool.repl.layout import wrapped_end
from pool.repl.results import Call, Output, asked_lines, finished_lines

PLAIN = Ink(colours=False, marks=False)


def test_a_long_output_shows_its_ends_with_its_colours() -> None:
    call = Call("shell", kind="command", preview="make\nall", output=Output())
    call.output.append("0 %\r50 %\r")
    call.output.append(
        "100 %\n" + "".join(f"\x1b[31mline {n}\x1b[0m\n" for n in range(1, 20)) + "end\x1b[2J\x1b]0;t\x07"
    )
    body = CallFinished("shell", "failed", "what the model sees", 2.4, {"exit_status": 2})
    told = finished_lines(call, body, Ink())
    assert "$ make …" in told[0]
    assert "exit 2" in told[0]
    assert told[1] == "  100 %"
    assert told[2].startswith("  \x1b[31mline 1")
    assert "14 more lines" in told[4]
    assert told[-1] == "  end"
    assert not any("\x1b" in line for line in finished_lines(call, body, PLAIN))


def test_a_diff_that_was_asked_about_is_not_shown_twice() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\x1b[2J\n"
    body = CallFinished("edit", "ok", "edited", 0.1)
    shown = finished_lines(Call("edit", "Edit x", "diff", diff), body, Ink())
    assert "  \x1b[31m-old\x1b[0m" in shown
    assert "  \x1b[32m+new\\x1b[2J\x1b[0m" in shown
    assert len(finished_lines(Call("edit", "Edit x", "diff", diff, asked=True), body, Ink())) == 1


def test_what_is_asked_is_shown_exactly() -> None:
    assert asked_lines("command", "a\n\tb \x07", PLAIN) == ["$ a", "      b \\x07"]


@pytest.mark.parametrize(
    ("lines", "columns", "most", "rows"),
    [
        (["abcdef"], 4, 5, ["abcd", "ef"]),
        (["one", "設定を読む"], 4, 3, ["設定", "を読", "む"]),
        (["x"] * 9, 10, 2, ["x", "x"]),
        ([""], 10, 2, [""]),
    ],
)
def test_the_unfinished_end_is_wrapped_as_the_terminal_will(
    lines: list[str], columns: int, most: int, rows: list[str]
) -> None:
    assert wrapped_end(lines, columns, most) == rows


REQUEST = ApprovalRequest("c1", "shell", {}, "execute", "command", "ls", "mode default asks", can_keep=True)


async def put(monkeypatch: pytest.MonkeyPatch, *steps: tuple[float, str]) -> ApprovalAnswer:
    """Ask, and press keys at times in seconds after the question."""
    now = 100.0
    monkeypatch.setattr(asking.time, "monotonic", lambda: now)
    raised: list[Query] = []
    subject = Asking(PLAIN, raised.append, lambda: None)
    answer = asyncio.create_task(subject.ask(REQUEST))
    await asyncio.sleep(0)
    assert raised
    for at, key in steps:
        now = 100.0 + at
        if len(key) == 1:
            subject.key(key)
        else:
            subject.write(key)
    return await asyncio.wait_for(answer, 1)


LATER = SETTLE_SECONDS + 0.01


async def test_keys_that_come_too_soon_or_belong_to_words_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    got = await put(monkeypatch, (0.1, "y"), (LATER, "y"), (LATER + 0.1, "e"), (2 * LATER + 0.2, "a"))
    assert got == ApprovalAnswer(True, "person", remember=Remember.ALWAYS)
    got = await put(monkeypatch, (LATER, "x"), (LATER + 0.2, "y"), (3 * LATER, "r"), (3 * LATER + 0.1, "not now"))
    assert got == ApprovalAnswer(False, "person", reason="not now")


@pytest.mark.parametrize(
    ("count", "keys", "line"), [(3, "2", "/do 2"), (12, "#11", "/do 11"), (12, "#13", ""), (12, "#two", "")]
)
async def test_choices_of_a_command_are_taken_by_key_or_by_number(
    monkeypatch: pytest.MonkeyPatch, count: int, keys: str, line: str
) -> None:
    now = 100.0
    monkeypatch.setattr(asking.time, "monotonic", lambda: now)
    subject = Asking(PLAIN, lambda query: None, lambda: None)
    ask = Ask("Which?", tuple(Choice(f"number {n}", f"/do {n}") for n in range(1, count + 1)))
    answer = asyncio.create_task(subject.choose(ask))
    await asyncio.sleep(0)
    now += LATER
    if keys.startswith("#"):
        subject.write(keys[1:])
    else:
        subject.key(keys)
    assert await asyncio.wait_for(answer, 1) == line


async def test_a_question_that_is_cancelled_leaves_no_trace() -> None:
    raised: list[Query] = []
    subject = Asking(PLAIN, raised.append, lambda: None)
    first = asyncio.create_task(subject.ask(REQUEST))
    second = asyncio.create_task(subject.question(Question("q", "Which?\x1b[2J", ("a", "b"))))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert [q.title for q in raised] == ["shell: may it run?", "Which?\\x1b[2J"]
    assert subject.decline()
    assert await second is None
    assert subject.current is None
