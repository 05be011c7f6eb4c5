"""Thoughts that are long, or look repetitive, and are honest."""

from __future__ import annotations

from pool.config.settings import Budgets
from tests.guards.corpus.texts import code, maths, prose, prose_japanese, table
from tests.guards.script import Case, Say, answer, read

SHOWN = frozenset({"thinking"})
"""Thoughts over the soft limit are shown as such, to people only."""


def thought(name: str, text: str, *, shown: bool = True, budgets: Budgets | None = None) -> Case:
    """One long thought and an answer."""
    return Case(
        name,
        (Say(text, "The answer is 42."),),
        honest=True,
        requests=1,
        notes=SHOWN if shown else frozenset(),
        settings={"budgets": budgets} if budgets else {},
    )


_MULTIPLICATION = "\n".join(f"{a} * {b} = {a * b}" for a in range(1, 13) for b in range(1, 13))
_CASES = "\n".join(
    f"- case {i}: input of {i} rows, expected {i * i} cells, as in the table of the task" for i in range(50)
)
_NUMBERED = " ".join(f"Case {i} is covered by the second test in the list." for i in range(1, 100))
_TRACE = "\n".join(
    f'  File "app/{name}.py", line {17 * i % 400 + 3}, in {name}\n    return {name}_impl(value, depth + {i})'
    for i, name in enumerate("load parse split merge check store flush index scan close".split() * 2)
)
_QUOTED = "\n".join(f'    assert convert("{i}", base={i % 9 + 2}) == {i * 3}  # from the ticket' for i in range(40))
_WAITS = (
    f"{prose(12)}Wait, no, the cache is filled before that. {prose(14, 40)}Actually, wait, that is the other path. "
    f"{prose(10, 80)}Let me reconsider the order of the calls. {prose(9, 120)}"
    f"Let me re-read the function. {prose(6, 160)}"
)
_OPTIONS = "".join(
    f"\nOption {i}: change {part}.\n  For: the smallest change, no new names.\n  Against: {prose(2, 20 * i)}\n"
    for i, part in enumerate("the reader|the writer|the test|the default|the caller|the schema|the type".split("|"))
)

CASES: tuple[Case, ...] = (
    thought("long calculation", maths(100)),
    thought("long thought", prose(150)),
    thought("long Japanese thought", prose_japanese(110)),
    thought("as long as a thought may be", prose(160), budgets=Budgets(reasoning_first_turn=6144, reasoning_soft=800)),
    thought("multiplication table", _MULTIPLICATION, shown=False),
    thought("table in the thought", f"I lay it out.\n\n{table(80)}\nNo gaps."),
    thought("list in the thought", f"The cases are:\n{_CASES}\nAll are covered."),
    thought("snippet in the thought", f"It could look so:\n{code(30)}That is close.", shown=False),
    thought("traceback in the thought", f"The log says:\n{_TRACE}\nSo it recurses.", shown=False),
    thought("quoted assertions", f"The tests are\n{_QUOTED}\nand they are consistent.", shown=False),
    thought("numbered cases", _NUMBERED),
    thought("some second thoughts", _WAITS),
    thought("options weighed", _OPTIONS, shown=False),
    Case(
        "a thought before each of many calls",
        (
            *(Say(prose(14, 30 * i), calls=read(f"part{i}.txt").calls) for i in range(14)),
            answer("All parts are alike."),
        ),
        honest=True,
        files={f"part{i}.txt": f"part {i}\n" for i in range(14)},
    ),
    Case(
        "the same short thought before each call",
        (
            *(Say("I look at the next part.", calls=read(f"part{i}.txt").calls) for i in range(12)),
            answer("All are alike."),
        ),
        honest=True,
        files={f"part{i}.txt": f"part {i}\n" for i in range(12)},
    ),
)
