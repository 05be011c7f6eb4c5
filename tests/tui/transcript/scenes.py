"""Scenes of a conversation, for pictures."""

from __future__ import annotations

from collections.abc import Callable

from pool.tui.transcript.answer import Answer
from pool.tui.transcript.card import CallFacts, CallState, ToolCard
from pool.tui.transcript.notice import ErrorCard, Quiet, Tone
from pool.tui.transcript.prompt import Prompt
from pool.tui.transcript.reasoning import Reasoning
from pool.tui.transcript.widget import Transcript
from pool_tools.diff import unified
from tests.tui.transcript.test_answer import WHOLE

OLD = """def total(items):
    result = 0
    for item in items:
        result += item.price
    return round(result, 2)
"""
NEW = """def total(items: list[Item]) -> Decimal:
    result = Decimal(0)
    for item in items:
        check(item)
        result += item.price
    return result.quantize(CENT)
"""
DIFF = unified(OLD, NEW, "src/shop/cart.py")
OUTPUT = (
    "\n".join(f"tests/test_cart.py::test_{n} \x1b[32mPASSED\x1b[0m" for n in range(20)) + "\n\x1b[1;31m1 failed\x1b[0m"
)


def markdown(view: Transcript) -> None:
    view.add(Prompt("What is wrong with the totals?\nLook at src/shop/cart.py first."))
    view.add(Answer(WHOLE, done=True))


def cards(view: Transcript) -> None:
    view.add(ToolCard(CallFacts("read", CallState.OK, "Read src/shop/cart.py", result="1|a\n2|b")))
    view.add(ToolCard(CallFacts("write", CallState.WRITING, path="src/shop/money.py", chars=1234)))
    tests = ToolCard(CallFacts("shell", CallState.OK, preview_kind="command", preview="pytest -q tests/test_cart.py"))
    view.add(tests.with_facts(state=CallState.WAITING, why="it writes outside of the workspace"))
    view.add(tests.with_facts(result="12 passed", seconds=3.0))
    view.add(tests.with_facts(state=CallState.FAILED, result=OUTPUT, seconds=75.0, exit_status=1))
    view.add(tests.with_facts(state=CallState.DENIED, result="shell was not run: it was denied."))
    view.add(tests.with_facts(state=CallState.INTERRUPTED))


def diffs(view: Transcript) -> None:
    view.add(ToolCard(CallFacts("edit", CallState.OK, "Edit src/shop/cart.py", "diff", DIFF, added=4, removed=3)))


def remarks(view: Transcript) -> None:
    view.add(Reasoning("The totals are sums of floats. I change them to decimals.", done=True))
    view.add(Reasoning("First I read the file.\nThen I change the sum.", done=True)).block.fold(0, False)
    view.add(Quiet("guard loops: nudge: the same call three times", tone=Tone.WARNING))
    view.add(Quiet("compacted: 31,000 to 4,000 tokens"))
    view.add(ErrorCard("the server closed the connection", "reset by peer", "start it again, or name another one"))
    view.add(Quiet("completed · 4 turns · 12,345 tokens read (11,000 cached), 800 written · 32 s", tone=Tone.GOOD))


SCENES: dict[str, tuple[Callable[[Transcript], None], int, int]] = {
    "markdown": (markdown, 80, 42),
    "cards": (cards, 80, 24),
    "diffs": (diffs, 80, 14),
    "diffs-wide": (diffs, 120, 12),
    "remarks": (remarks, 80, 16),
    "narrow": (markdown, 40, 48),
}
"""Each with its columns and rows."""
