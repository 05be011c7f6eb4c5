"""What counts as the same call, as the same result, and as a cycle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.agent.guards.loops import LONGEST_CYCLE, LoopVerdict, LoopWatch, effect_of, result_digest
from pool.config.guards import RepeatLimits

SAME = [
    ("ls a", "ls   a"),
    ("ls a", "ls a # again"),
    ("ls a", "# try 2\nls a"),
    ("ls a", "echo 'try 2'; ls a"),
    ("ls a", 'echo "=== 2 ===" && echo more && ls a'),
    ("ls a", "ls a; echo done 2"),
    ("ls a", "ls a && true"),
    ("ls a", ": round 2; ls a"),
]
DIFFERENT = [
    ("ls a", "ls b"),
    ("echo $(date)", "echo"),
    ("echo x > a.txt; ls a", "ls a"),
    ("grep '#include' a.c", "grep '#define' a.c"),
    ("echo `rm a`; ls a", "ls a"),
    ("echo one", "echo two"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_labels_and_comments_do_not_count(first: str, second: str) -> None:
    a, b = (effect_of("shell", {"command": command}) for command in (first, second))
    assert a.signature == b.signature


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_a_command_does_counts(first: str, second: str) -> None:
    a, b = (effect_of("shell", {"command": command}) for command in (first, second))
    assert a.signature != b.signature


def test_times_and_labels_in_a_result_do_not_count() -> None:
    first = result_digest("exit 0 after 0.1 s\ntry 1\nRan 3 tests in 0.004s at 10:11:12", frozenset({"try 1"}))
    second = result_digest("exit 0 after 2.5 s\ntry 2\nRan 3 tests in 0.113s at 23:59:01", frozenset({"try 2"}))
    assert first == second
    assert result_digest("Ran 3 tests") != result_digest("Ran 4 tests")


def watch(rounds: int = 3) -> LoopWatch:
    return LoopWatch(RepeatLimits(), rounds)


def test_note_firmer_note_refusal_stop() -> None:
    one = watch()
    said: list[LoopVerdict] = []
    for _ in range(6):
        blocked = one.blocked("search", {"pattern": "x"})
        said.append(one.after("search", {"pattern": "x"}, blocked or "nothing", changed=False))
    assert [bool(v.note) for v in said] == [False, False, True, True, True, False]
    assert [v.stop for v in said] == [False] * 5 + [True]


def test_a_changed_file_or_result_begins_anew() -> None:
    for text, changed in (("other", False), ("nothing", True)):
        one = watch()
        for _ in range(4):
            one.after("search", {"pattern": "x"}, "nothing", changed=False)
        one.after("search", {"pattern": "x"}, text, changed=changed)
        assert one.blocked("search", {"pattern": "x"}) == ""


def test_polling_has_more_patience() -> None:
    one = watch()
    args = {"command": "sleep 5; cat state"}
    said = [one.after("shell", args, "busy", changed=False) for _ in range(8)]
    assert not any(v.note or v.stop for v in said)


def test_a_look_at_a_job_that_waits_is_polling() -> None:
    args = {"action": "read", "id": "1", "timeout": 60}
    one = watch()
    said = [one.after("job", args, f"job 1 running for {i}.5 s", changed=False) for i in range(8)]
    assert not any(v.note or v.stop for v in said)
    assert not effect_of("job", {"action": "read", "id": "1"}).waits
    assert not effect_of("job", {"action": "start", "command": "make", "timeout": 60}).waits


def test_what_left_the_conversation_may_be_read_again() -> None:
    one = watch()
    read, ran = {"path": "a"}, {"command": "make"}
    for _ in range(4):
        one.after("read", read, "x", changed=False, reads=True)
        one.after("shell", ran, "y", changed=False)
    one.forget_reads()
    assert one.blocked("read", read) == ""
    assert one.blocked("shell", ran) != ""
    said = one.after("read", read, "x", changed=False, reads=True)
    assert not said.note


def test_zero_switches_off() -> None:
    one = LoopWatch(RepeatLimits(note=0, firm=0, block=0, stop=0), 0)
    said = [one.after("read", {"path": "a"}, "x", changed=False) for _ in range(50)]
    assert not any(v.note or v.stop for v in said)
    assert one.blocked("read", {"path": "a"}) == ""


@given(st.integers(1, LONGEST_CYCLE), st.integers(0, 7))
def test_every_cycle_ends(length: int, lead: int) -> None:
    """Whatever came before: a cycle of distinct calls is ended within six of each."""
    one = watch()
    for i in range(lead):
        one.after("read", {"path": f"lead{i}"}, "x", changed=False)
    for i in range(6 * length):
        if one.after("read", {"path": f"f{i % length}"}, "x", changed=False).stop:
            return
    raise AssertionError(f"a cycle of {length} was not ended")


@given(st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True))
def test_calls_that_differ_are_left_alone(names: list[str]) -> None:
    one = watch()
    said = [one.after("read", {"path": name}, "x", changed=False) for name in names * 2]
    assert not any(v.note or v.stop for v in said)
