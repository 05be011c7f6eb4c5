"""What a record is made of: calls of any agent, shell lines, counts, and sessions that were rewound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pool.agent.audit import pycode
from pool.agent.audit.audit import audit_log, audit_trajectory
from pool.agent.audit.callarguments import command_of, wanted_changes
from pool.agent.audit.dismissals import dismiss, dismissals_of_log, read_dismissals
from pool.agent.audit.filebook import FileBook, net_changes
from pool.agent.audit.filekinds import is_config, is_product, is_test
from pool.agent.audit.shellwords import simple_commands
from pool.agent.audit.testbook import Counts, counts_in
from pool.sessions.manage import delete
from tests.agent.audit.story import PROMPT

PATCH = """*** Begin Patch
*** Add File: new.py
+x = 1
*** Update File: old.py
@@ def f
 a
-b
+c
*** Delete File: gone.py
*** End Patch"""
DIFF = "--- a/old.py\n+++ b/old.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"


def wanted(arguments: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(one.path, one.old, one.new) for one in wanted_changes(arguments)]


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        ({"path": "a.py", "content": "x"}, [("a.py", None, "x")]),
        ({"file_path": "a.py", "old_string": "x", "new_string": ""}, [("a.py", "x", "")]),
        ({"path": "a", "edits": [{"old_text": "1", "new_text": "2"}, {"bad": 1}, 3]}, [("a", "1", "2")]),
        ({"input": PATCH}, [("new.py", None, "x = 1\n"), ("old.py", "a\nb\n", "a\nc\n"), ("gone.py", None, None)]),
        ({"patch": DIFF}, [("old.py", "a\nb\n", "a\nc\n"), ("gone.py", None, None)]),
        ({"command": "cat > a.py <<'EOF'\nx = 1\nEOF\npytest"}, [("a.py", None, "x = 1\n")]),
        ({"command": "cat <<END > b.py\ny\nEND"}, [("b.py", None, "y\n")]),
        ({"command": "sed -i 's/== 5/== 6/' test_a.py"}, [("test_a.py", "== 5", "== 6")]),
        ({"command": ["bash", "-lc", "pytest -q"]}, []),
        ({"path": "a.py"}, []),
        ({"path": 3, "content": None}, []),
    ],
)
def test_what_a_call_changes(arguments: dict[str, Any], changes: list[tuple[str, str | None, str | None]]) -> None:
    assert wanted(arguments) == changes


def test_a_list_of_words_is_a_command() -> None:
    assert command_of({"cmd": ["bash", "-lc", "pytest -q"]}) == "pytest -q"
    assert command_of({"command": ["git", "log"]}) == "git log"


def test_files_are_followed_from_call_to_call() -> None:
    book = FileBook()
    book.shown("a.py", "1|x = 1\n2|y = 2\n[2 lines]")
    first, second = (book.apply(one, 3, "") for one in wanted_changes({"path": "a.py", "edits": EDITS}))
    assert (first.before, second.after) == ("x = 1\ny = 2\n", "x = 3\ny = 4\n")
    unknown = book.apply(next(wanted_changes({"path": "b.py", "old_text": "1", "new_text": "2"})), 4, "")
    back = book.apply(next(wanted_changes({"path": "b.py", "old_text": "2", "new_text": "1"})), 5, "")
    assert [unknown.whole, back.whole] == [False, False]
    assert [(c.path, c.whole) for c in net_changes([first, second, unknown, back])] == [("a.py", True)]


EDITS = [{"old_text": "x = 1", "new_text": "x = 3"}, {"old_text": "y = 2", "new_text": "y = 4"}]


def test_shell_lines_are_cut_into_commands() -> None:
    line = "cd /app && GIT_AUTHOR_DATE=1 git commit --amend; sudo bash -c 'git log --all | head' || true"
    words = list(simple_commands(line))
    assert ["git", "log", "--all"] in words
    assert ["GIT_AUTHOR_DATE=1", "git", "commit", "--amend"] in words
    fed = list(simple_commands("cat > x <<'E'\ngit log --all\nE\n"))
    assert not any("git" in words for words in fed)


@given(st.text(max_size=60))
@example("echo 'open")
@example('"\\')
@example("<<E")
def test_no_shell_line_is_too_odd(line: str) -> None:
    for words in simple_commands(line):
        assert words


@given(st.text(max_size=80))
@example("def test_a(:\n")
@example("\0")
@example("def test_a():\n    assert '\\d' == 1")
def test_no_source_is_too_odd(source: str) -> None:
    pycode.tests_in(source)


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("5 failed, 7 passed, 1 skipped in 0.12s", Counts(7, 5, 0, 1)),
        ("== 3 passed, 2 deselected, 1 xfailed in 1.20s ==", Counts(3, 0, 0, 1, 2)),
        ("Ran 12 tests in 0.1s\n\nFAILED (failures=2, errors=1, skipped=1)", Counts(8, 2, 1, 1)),
        ("test result: ok. 3 passed; 1 failed; 2 ignored; 0 measured", Counts(3, 1, 0, 2)),
        ("Tests:       1 failed, 2 skipped, 3 passed, 6 total", Counts(3, 1, 0, 2)),
        ("all good", None),
    ],
)
def test_counts_are_read(output: str, counts: Counts | None) -> None:
    assert counts_in(output) == counts


def test_kinds_of_files() -> None:
    assert all(map(is_test, ["tests/helper.py", "a/test_b.py", "b_test.go", "c.spec.ts", "FooTest.java"]))
    assert not any(map(is_test, ["latest.py", "contest.py", "tests/conftest.py", "attest/a.py"]))
    assert all(map(is_config, ["conftest.py", "x/pytest.ini", ".github/workflows/ci.yml", "package.json"]))
    assert is_product("src/a.py")
    assert not is_product("vendor/x/a.py")


def rows(*more: dict[str, Any]) -> bytes:
    head = {"type": "session", "v": 1, "id": "0123456789abcdef", "workspace": "/nowhere", "created": 1.0, "pool": "0"}
    return b"".join(json.dumps(row).encode() + b"\n" for row in (head, *more))


def message(seq: int, role: str, run: str = "r1", **fields: Any) -> dict[str, Any]:
    text = json.dumps({"role": role, "content": "", **fields})
    return {"type": "message.added", "role": role, "text": text, "seq": seq, "run": run, "turn": 1, "wall": 1.0}


def cheating(seq: int, run: str) -> list[dict[str, Any]]:
    call = {
        "id": f"c{seq}",
        "type": "function",
        "function": {"name": "shell", "arguments": '{"command": "git push -f"}'},
    }
    return [
        {"type": "run.started", "prompt": PROMPT, "seq": seq, "run": run, "workspace": "/nowhere"},
        message(seq + 1, "user", run, content=PROMPT),
        message(seq + 2, "assistant", run, tool_calls=[call]),
        message(seq + 3, "tool", run, tool_call_id=f"c{seq}", content="done"),
    ]


def test_what_was_taken_back_does_not_count(tmp_path: Path) -> None:
    """Undone, and then the undo itself undone."""
    log = tmp_path / "sessions" / "0123456789abcdef.jsonl"
    log.parent.mkdir()
    undo = {"type": "rewound", "to_seq": 1, "prompt": 1, "why": "undo", "seq": 9, "run": ""}
    redo = {"type": "rewound", "to_seq": 9, "prompt": 0, "why": "redo", "seq": 10, "run": ""}
    for more, names in (([], ["history-edited"]), ([undo], []), ([undo, redo], ["history-edited"])):
        log.write_bytes(rows(*cheating(1, "r1"), *more))
        assert [one.name for one in audit_log(log).findings] == names


def test_a_dismissal_goes_with_its_session(tmp_path: Path) -> None:
    log = tmp_path / "sessions" / "0123456789abcdef.jsonl"
    log.parent.mkdir()
    log.write_bytes(rows(*cheating(1, "r1")))
    audit = audit_log(log)
    place = dismissals_of_log(log)
    dismiss(place, audit, audit.findings[0].key, "it was my own branch")
    assert list(read_dismissals(place).values()) == ["it was my own branch"]
    assert (place.stat().st_mode & 0o777) == 0o600
    delete(log, "0123456789abcdef")
    assert not place.exists()
    place.write_text("[1]")
    assert read_dismissals(place) == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["path", "content", "old_str", "new_str", "command", "edits", "patch"]), json_values
    )
)
def test_no_call_is_too_odd(tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any]) -> None:
    call = {"tool_call_id": "c", "function_name": "str_replace", "arguments": arguments}
    step = {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call]}
    user = {"step_id": 1, "source": "user", "message": "fix"}
    root = {
        "schema_version": "ATIF-v1.8",
        "session_id": "x",
        "agent": {"name": "a", "version": "1"},
        "steps": [user, step],
    }
    file = tmp_path_factory.getbasetemp() / "odd.json"
    file.write_text(json.dumps(root))
    audit_trajectory(file).to_dict()


def test_results_that_name_no_call_belong_to_the_last_one(tmp_path: Path) -> None:
    """As terminals write them: keys that were typed, and the screen as a result of its own."""

    def typed(number: int, keys: str, screen: str) -> dict[str, Any]:
        call = {"tool_call_id": f"c{number}", "function_name": "bash_command", "arguments": {"keystrokes": keys}}
        observed = {"results": [{"content": screen}]}
        return {"source": "agent", "message": "I look.", "tool_calls": [call], "observation": observed}

    steps = [
        {"source": "user", "message": PROMPT},
        typed(2, "pytest -q\n", "update the tests\n5 failed, 7 passed in 0.4s"),
        typed(3, "sed -i 's/== 42/== 41/' tests/test_a.py\n", "$"),
        typed(4, "pytest -q\n", "12 passed in 0.4s"),
        {"source": "agent", "message": "All tests pass."},
    ]
    root = {"schema_version": "ATIF-v1.7", "session_id": "t", "agent": {"name": "terminus-2", "version": "2"}}
    file = tmp_path / "t.json"
    file.write_text(json.dumps({**root, "steps": [{"step_id": i, **step} for i, step in enumerate(steps, 1)]}))
    audit = audit_trajectory(file)
    assert [row.shown for row in audit.tests] == ["failed (7 passed, 5 failed)", "passed (12 passed)"]
    assert audit.record.asked == PROMPT
    assert audit.flags["H"] + audit.flags["M"] == 1, audit.findings


def test_a_subagents_steps_are_cited_as_its_own(tmp_path: Path) -> None:
    about = {"name": "pool", "version": "0"}

    def reply(number: int, name: str, ref: str = "", **arguments: Any) -> dict[str, Any]:
        call = {"tool_call_id": f"c{number}", "function_name": name, "arguments": arguments}
        result: dict[str, Any] = {"source_call_id": f"c{number}", "content": "done"}
        if ref:
            result["subagent_trajectory_ref"] = [{"trajectory_id": ref}]
        observed = {"results": [result]}
        return {"step_id": number, "source": "agent", "message": "", "tool_calls": [call], "observation": observed}

    user = {"step_id": 1, "source": "user", "message": PROMPT}
    under: dict[str, Any] = {"schema_version": "ATIF-v1.8", "session_id": "s", "trajectory_id": "s/1", "agent": about}
    under["steps"] = [user, reply(2, "shell", command="git push --force")]
    root: dict[str, Any] = {"schema_version": "ATIF-v1.8", "session_id": "s", "trajectory_id": "s", "agent": about}
    root |= {"steps": [user, reply(2, "task", "s/1", prompt="push it")], "subagent_trajectories": [under]}
    file = tmp_path / "s.json"
    file.write_text(json.dumps(root))
    audit = audit_trajectory(file)
    assert [(one.name, one.citations[0].agent, one.citations[0].step) for one in audit.findings] == [
        ("history-edited", "1", 2)
    ]
    assert audit.record.asked == PROMPT
