"""The agent for Harbor, which needs a newer Python than these tests: what can be said of it without its package."""

from __future__ import annotations

import ast
from pathlib import Path

from pool.headless.artifacts import ANSWER, TRAJECTORY
from pool.headless.command import parser
from pool.stops import STOP_TABLE, StopReason

SOURCE = Path(__file__).parents[2] / "examples" / "harbor" / "pool_agent.py"
ERRORS = {
    StopReason.INTERNAL_ERROR,
    StopReason.USAGE_ERROR,
    StopReason.SERVER_FAILED,
    StopReason.INTERRUPTED,
    StopReason.SIGNALLED,
}


def test_every_way_to_end_is_judged_or_an_error() -> None:
    tree = ast.parse(SOURCE.read_text())
    (judged,) = (
        str(ast.literal_eval(node.value))
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "JUDGED"
    )
    assert set(map(int, judged.split("|"))) == {row.exit for reason, row in STOP_TABLE.items() if reason not in ERRORS}


def test_what_judges_read_is_left_before_the_verifier_runs() -> None:
    """The names are those of the layout of tasks (docs/eval.md) and of what `--artifacts` leaves."""
    text = SOURCE.read_text()
    assert f"cp {{left}}/{TRAJECTORY} {{logs}}/{{TRAJECTORY}}; cp {{left}}/{ANSWER} {{logs}}/{{ANSWER}}" in text
    assert 'ANSWER = "answer.txt"' in text
    assert f'TRAJECTORY = "{TRAJECTORY}"' in text


def test_its_flags_are_those_of_pool_run() -> None:
    text = SOURCE.read_text()
    flags = {flag for action in parser()._actions for flag in action.option_strings}  # pyright: ignore[reportPrivateUsage] there is no public name
    used = {"-o", "--sandbox", "--mode", "--artifacts", "--model"}
    assert all(f'"{flag}"' in text for flag in used)
    assert used <= flags
