"""Pruning leaves old bulky results out, in one step, and touches nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pool.agent.pruning import BULKY_CHARS, KEPT_TURNS, LEFT_OUT, SHOWN_CHARS, first_difference, pruned
from pool.messages import Encoded, Message, Role, ToolCall, encode, system, tool_result, user


def history(sizes: list[int]) -> list[Encoded]:
    """A system message, a prompt, and turns with one result each, of these sizes."""
    out = [encode(system("s")), encode(user("u"))]
    for i, size in enumerate(sizes):
        out.append(encode(Message(Role.ASSISTANT, "", calls=(ToolCall(f"c{i}", "read", "{}"),))))
        out.append(encode(tool_result(f"c{i}", "x" * size, "read")))
    return out


def test_old_bulky_results_are_left_out() -> None:
    before = history([5000, 10, *[5000] * KEPT_TURNS])
    after = pruned(before, encode)
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a is not b]
    assert changed == [3]
    assert after[3].message.content == f"{'x' * SHOWN_CHARS}\n{LEFT_OUT}"
    assert (after[3].message.call_id, after[3].message.tool) == ("c0", "read")
    assert first_difference(before, after) == 3


@given(st.lists(st.integers(0, 3 * BULKY_CHARS), max_size=12))
def test_pruning_twice_changes_nothing_more(sizes: list[int]) -> None:
    before = history(sizes)
    once = pruned(before, encode)
    twice = pruned(once, encode)
    assert all(a is b for a, b in zip(once, twice, strict=True))
    assert [m.message.role for m in once] == [m.message.role for m in before]
    assert all(a is b for a, b in zip(before[-2 * KEPT_TURNS :], once[-2 * KEPT_TURNS :], strict=True))
