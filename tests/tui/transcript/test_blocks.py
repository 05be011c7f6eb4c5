"""Prompts, thoughts, cards, diffs, tables, remarks."""

from __future__ import annotations

import time

import pytest

from pool.config.interface import ReasoningView
from pool.tui.transcript.answer import Answer
from pool.tui.transcript.block import Block
from pool.tui.transcript.card import KEPT_LINES, CallFacts, CallState, ToolCard
from pool.tui.transcript.diff import diff_rows
from pool.tui.transcript.diffparse import parse
from pool.tui.transcript.notice import ErrorCard, Quiet, Tone
from pool.tui.transcript.plaintext import output_rows
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from pool_tools.diff import unified
from tests.tui.transcript.kit import LOOK, at, drawn, shown

OLD = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"
NEW = OLD.replace("= 0", "= 0.0").replace("    for", "    check(items)\n    for")
DIFF = unified(OLD, NEW, "src/app.py")

HOSTILE = [
    "[/bold] tail", "[step=load, n=3", "[12] and [ok]", "[red]hi", "[@click=app.quit]x[/]", "a\x1b]52;c;aGk=\x07b",
    "\x1b[2J\x1b[6n", "\u202etxt.exe", "\x1b]0;title", "\x9b31m", "a\ud800b",
]  # fmt: skip


# -- prompts


def test_a_long_prompt_is_folded() -> None:
    text = "\n".join(f"line {n}" for n in range(10_000))
    block = Prompt(text)
    assert drawn(block)[-1] == "… 9,992 more lines"
    assert len(drawn(block)) == 9
    assert block.fold(0, None)
    assert len(drawn(block)) == 10_000
    assert block.source() == text
    assert not Prompt("short").fold(0, None)


# -- thoughts


def test_a_thought_is_one_line_while_it_lasts_and_when_it_is_done() -> None:
    block = Reasoning(started=100.0)
    block.append("First I look at the file.\nThen I change the sum. ")
    row = shown(block.layout(at(70, now=112.0)))
    assert row == ["▸ Thinking 12 s · ~14 tokens  look at the file. Then I change the sum."]
    block.finish()
    block.measured(17, 12.4)
    assert drawn(block) == ["▸ Thought for 12 s · 17 tokens"]
    assert block.fold(0, None)
    assert drawn(block)[1:] == ["│ First I look at the file.", "│ Then I change the sum."]


def test_an_open_thought_shows_its_end_and_folds_when_done() -> None:
    block = Reasoning(show=ReasoningView.OPEN, started=1.0)
    block.append("\n".join(f"step {n}" for n in range(50)))
    assert len(drawn(block)) == 11
    assert drawn(block)[-1] == "│ step 49"
    block.finish()
    assert len(drawn(block)) == 1


def test_hidden_thoughts_show_nothing_until_asked_for() -> None:
    block = Reasoning("thought", show=ReasoningView.HIDDEN, done=True)
    assert drawn(block) == []
    block.show(ReasoningView.LINE)
    assert drawn(block) == ["▸ Thought · ~2 tokens"]


def test_a_thought_of_100000_lines_costs_little() -> None:
    """Case TUI-09."""
    block = Reasoning(started=1.0, show=ReasoningView.OPEN)
    start = time.process_time()
    for _ in range(1000):
        block.append("x\n" * 100)
        block.layout(at(80))
    block.finish()
    block.fold(0, False)
    assert len(drawn(block)) < 2_100
    assert time.process_time() - start < 5


# -- cards


def card(state: CallState, **more: object) -> ToolCard:
    return ToolCard(CallFacts("shell", state, preview_kind="command", preview="pytest -q")).with_facts(**more)


@pytest.mark.parametrize(
    ("block", "head"),
    [
        (
            ToolCard(CallFacts("write", CallState.WRITING, path="a.py", chars=12345)),
            "● write a.py · writing arguments, 12,345 characters",
        ),
        (card(CallState.PROPOSED), "● $ pytest -q"),
        (card(CallState.WAITING), "? $ pytest -q · waits for your answer"),
        (card(CallState.RUNNING, started=5.0), "● $ pytest -q · running 7 s"),
        (card(CallState.OK, seconds=75.0), "✓ $ pytest -q · 1 min 15 s"),
        (card(CallState.FAILED, exit_status=2), "✗ $ pytest -q · failed · exit 2"),
        (card(CallState.DENIED), "⊘ $ pytest -q · denied"),
        (card(CallState.INVALID), "✗ $ pytest -q · invalid"),
        (card(CallState.BLOCKED), "⊘ $ pytest -q · blocked"),
        (card(CallState.INTERRUPTED), "⊘ $ pytest -q · interrupted"),
        (card(CallState.OK, preview="one\ntwo"), "✓ $ one …"),
        (ToolCard(CallFacts("read", CallState.OK, "Read a.py", result="a\nb")), "✓ Read a.py · 2 lines"),
    ],
)
def test_the_head_of_a_card_says_its_state(block: ToolCard, head: str) -> None:
    assert shown(block.layout(at(60, now=12.0)))[0] == head


def test_a_running_card_shows_the_end_of_its_output() -> None:
    block = card(CallState.RUNNING, started=1.0)
    for number in range(1000):
        block.append(f"line {number}\nha")
        block.append("lf")
    assert drawn(block)[1:3] == ["│ halfline 995", "│ halfline 996"]
    assert drawn(block)[-1] == "│ half"
    block.fold(0, None)
    assert len(drawn(block)) == KEPT_LINES + 1


def test_a_long_result_shows_head_and_tail_and_opens() -> None:
    block = card(CallState.OK, result="\n".join(f"line {n}" for n in range(50)))
    assert drawn(block)[3:6] == ["│ line 2", "│ … 43 more lines", "│ line 46"]
    assert block.fold(0, None)
    assert len(drawn(block)) == 51
    assert block.source() == "$ pytest -q\n" + "\n".join(f"line {n}" for n in range(50))


def test_an_interrupted_call_keeps_its_output() -> None:
    block = card(CallState.RUNNING, started=1.0)
    block.append("half done\n")
    assert drawn(block.with_facts(state=CallState.INTERRUPTED))[1:] == ["│ half done"]


def test_a_waiting_card_shows_what_would_be_done() -> None:
    block = ToolCard(CallFacts("edit", CallState.WAITING, "Edit a.py", "diff", DIFF, why="it lies outside"))
    assert drawn(block)[1] == "│ it lies outside"
    assert "│ 2 +     result = 0.0" in drawn(block)


# -- output


def test_colours_of_output_are_kept_and_nothing_else() -> None:
    rows = output_rows(
        ["\x1b[1;31mred\x1b[0m plain", "10%\r50%\r100%", "\x1b[2K\x1b[3Aup", "a\tb", "x\x08y"], at(), LOOK.muted
    )
    assert shown(rows) == ["red plain", "100%", "up", "a   b", "y"]
    red = rows[0].segments[0].style
    assert red is not None
    assert red.bold
    assert red.color is not None
    assert red.color.number == 1


@pytest.mark.parametrize("text", ["x", "\x1b", "\x1b[31mx", "日", "e\u0301", "a\x08", "x\r"])
def test_a_megabyte_on_one_line_of_output_is_cut_in_view(text: str) -> None:
    assert len(output_rows([text * (1_000_000 // len(text))], at(80), LOOK.muted)) < 250


def test_true_colours_and_what_is_no_colour() -> None:
    rows = output_rows(["\x1b[38;2;1;2;3mrgb\x1b[48;5;200m256\x1b[38;5m\x1b[999mend\x1b[?25l"], at(), LOOK.muted)
    assert shown(rows) == ["rgb256end"]
    assert str(rows[0].segments[0].style).startswith("#010203")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_data_everywhere(text: str) -> None:
    """Cases TUI-01 and TUI-03."""
    blocks: list[Block] = [
        Prompt(text),
        Answer(text, done=True),
        Answer(f"```\n{text}\n```", done=True),
        Answer(f"| a |\n|---|\n| {text} |", done=True),
        Reasoning(text, done=True),
        Quiet(text, text, Tone.WARNING),
        ErrorCard(text, text, text),
        ToolCard(CallFacts(text, CallState.OK, text, "text", text, result=text), folded=False),
        ToolCard(CallFacts(text, CallState.WAITING, text, "command", text, why=text)),
        ToolCard(CallFacts("edit", CallState.OK, text, "diff", f"@@ -1,1 +1,1 @@ {text}\n-{text}\n+{text}x")),
    ]
    for block in blocks:
        block.fold(0, False)
        rows = block.layout(at(100))
        joined = "".join(row.drawn for row in rows)
        joined.encode()
        assert joined.isprintable() or not [c for c in joined if c < " " or "\x7f" <= c < "\xa0" or c == "\u202e"]
        if text.startswith("["):
            assert text in joined


# -- diffs


def test_a_diff_below_each_other() -> None:
    assert shown(diff_rows(DIFF, at(60))) == [
        "1   def total(items):",
        "2 -     result = 0",
        "2 +     result = 0.0",
        "3 +     check(items)",
        "4       for item in items:",
        "5           result += item.price",
        "6       return result",
    ]


def test_a_diff_side_by_side() -> None:
    rows = shown(diff_rows(DIFF, at(120)))
    assert rows[1].split("│") == ["2 -     result = 0".ljust(59), "2 +     result = 0.0"]
    assert rows[2].split("│") == [" " * 59, "3 +     check(items)"]
    assert rows[3].split("│") == ["3       for item in items:".ljust(59), "4       for item in items:"]


def test_changed_words_stand_out() -> None:
    rows = diff_rows(DIFF, at(60))
    marked = [s.text for row in rows for s in row.segments if s.style == LOOK.added_word]
    assert marked == [".0"]


def test_long_lines_of_a_diff_wrap() -> None:
    rows = diff_rows(unified("a\n", "b " * 60 + "\n", "x"), at(40))
    assert all(sum(s.cell_length for s in row.segments) <= 40 for row in rows)
    assert len(rows) == 5


def test_what_is_no_diff_shows_nothing() -> None:
    assert parse("") == []
    assert parse("no diff\n- at all") == []


# -- tables


def test_a_table_too_wide_wraps_its_cells_then_stacks() -> None:
    text = "| name | what it does |\n|---|---|\n| alpha | " + "word " * 12 + "|\n| beta | short |"
    assert drawn(Answer(text, done=True), 40)[:4] == [
        "name  │ what it does",
        "──────┼─────────────────────────────────",
        "alpha │ word word word word word word",
        "      │ word word word word word word",
    ]
    assert drawn(Answer(text, done=True), 12)[:3] == ["name:", "  alpha", "what it"]


# -- remarks


def test_remarks_and_errors() -> None:
    assert drawn(Quiet("done", tone=Tone.GOOD)) == ["✓ done"]
    assert drawn(Quiet("slow", "wait", Tone.WARNING)) == ["! slow", "  wait"]
    assert drawn(ErrorCard("failed", "because\nof this", "try again")) == [
        "┃ ✗ failed",
        "┃ because",
        "┃ of this",
        "┃ → try again",
    ]
