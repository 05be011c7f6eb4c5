"""Answers and calls: each reference solution passes, each naive one fails, and the rules are the ones that are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.lab.eval.suites.conftest import SUITES, Attempting
from tests.lab.eval.suites.judge_many import load

JAPANESE, ENDING, CALLS = load("japanese"), load("ending"), load("calls")
TASKS = [f"{suite}/{task.name}" for suite in ("ja", "loop", "tools") for task in sorted((SUITES / suite).iterdir())]


def verdict_on(attempted: Any, task: Path) -> Any:
    expected = json.loads((task / "tests" / "expected.json").read_text(encoding="utf-8"))
    if task.parent.name == "tools":
        return CALLS.judged(expected, attempted.logs / "agent")
    judge: ModuleType = JAPANESE if task.parent.name == "ja" else ENDING
    return judge.judged(expected, (attempted.logs / "agent" / "answer.txt").read_text(encoding="utf-8").strip())


@pytest.mark.parametrize("name", TASKS)
def test_solution_passes_and_naive_one_fails(name: str, attempt: Attempting) -> None:
    tried = attempt(name)
    for kind, wanted in (("solution", 1.0), ("naive", 0.0)):
        tried.solve(kind)
        verdict = verdict_on(tried, tried.task)
        assert verdict.figures["reward"] == wanted, verdict.why


@pytest.mark.parametrize("name", ["loop/choice", "tools/single"])
def test_script_writes_the_reward(name: str, attempt: Attempting) -> None:
    tried = attempt(name)
    tried.solve("solution")
    tests = tried.task / "tests"
    env = {**os.environ, "TESTS_DIR": str(tests), "LOGS_DIR": str(tried.logs), "PATH": path_with_python()}
    subprocess.run(["sh", str(tests / "test.sh")], cwd=tried.app, env=env, check=True, capture_output=True, timeout=30)
    reward = json.loads((tried.logs / "verifier" / "reward.json").read_text(encoding="utf-8"))
    assert reward["reward"] == 1.0
    assert all(isinstance(value, float) for value in reward.values())


def path_with_python() -> str:
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("name", TASKS[:3] + TASKS[-2:])
def test_nothing_said_earns_nothing(name: str, attempt: Attempting) -> None:
    tried = attempt(name)
    (tried.logs / "agent").mkdir()
    (tried.logs / "agent" / "answer.txt").write_text(" \n", encoding="utf-8")
    assert verdict_on(tried, tried.task).figures["reward"] == 0.0


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("東京です。", 5),
        ("東京です。\n", 5),
        ("東京です。（49文字）", 5),
        ("東京です。(計 5 字)", 5),
        ("東京です。\n文字数：49", 5),
        ("**東京**です。", 5),
        ("「東京です。」", 5),
        ("「東京」は「首都」です。", 12),
        ("か\u3099くです。", 5),
        ("The user wants one sentence.\n東京です。", 5),
        ("<think>短く。</think>東京です。", 5),
        ("考えます。</think>\n\n東京です。", 5),
        ("東京 です。", 6),
        ("𠮷野家です。", 6),
    ],
)
def test_counting_characters(answer: str, count: int) -> None:
    assert JAPANESE.counted(answer) == count


def test_code_of_an_answer_may_end_never_or_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JAPANESE, "CODE_SECONDS", 0.5)
    expected = json.loads((SUITES / "ja" / "code" / "tests" / "expected.json").read_text(encoding="utf-8"))
    for code in (
        "while True: pass",
        "import sys\nsys.exit(0)",
        "def tidy(names):\n    print([[[], True]])\n    return 1",
    ):
        verdict = JAPANESE.judged(expected, f"整えます。\n\n```python\n{code}\n```")
        assert verdict.figures["reward"] == 0.0


@pytest.mark.parametrize(
    ("value", "right", "same"),
    [
        (2, 2.0, True),
        ("2", 2, False),
        (True, 1, False),
        (" Porto ", "porto", True),
        (["Bo", "Ana"], ["Ana", "Bo"], True),
        ("Ana, Bo", ["Ana", "Bo"], False),
        ("(1 + 2) * 3", {"worth": 9.0}, True),
        ("__import__('os').getpid()", {"worth": 9.0}, False),
        ("9" * 400 + "/1", {"worth": 9.0}, False),
        ("(" * 500, {"worth": 9.0}, False),
        (9, {"worth": 9.0}, False),
    ],
)
def test_values_of_arguments(value: Any, right: Any, same: bool) -> None:
    assert CALLS._same(value, right) is same


@pytest.mark.parametrize("name", ["get_time", "mcp__functions__get_time", "functions.get_time"])
def test_names_with_a_prefix(name: str) -> None:
    step = {"source": "agent", "message": "", "tool_calls": [{"function_name": name, "arguments": {"city": "Lima"}}]}
    (call,), _ = CALLS.read_trajectory({"steps": [{"source": "user", "message": "?"}, step]})
    assert call.name == "get_time"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"steps": 3}', '{"steps": [1]}', "\x00"])
def test_broken_trajectory_earns_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "trajectory.json").write_text(text, encoding="utf-8")
    (tmp_path / "answer.txt").write_text("Helsinki", encoding="utf-8")
    verdict = CALLS.judged({"calls": [], "answer": [["helsinki"]]}, tmp_path)
    assert verdict.figures["reward"] == 0.0
    assert "no trajectory" in verdict.why[0]


@pytest.mark.parametrize(
    ("sentence", "true"),
    [
        ("This sentence has thirty-one letters.", True),
        ("This sentence has thirty-two letters.", False),
        ("There are thirty-nine letters in this sentence.", True),
        ("This sentence has letters.", False),
    ],
)
def test_sentence_that_counts_itself(sentence: str, true: bool) -> None:
    assert ENDING.counts_itself(sentence) is true


def test_circles() -> None:
    assert ENDING.in_circles("Let me start coding. Wait, one more thing to plan.\n" * 60)
    own = Path(ENDING.__file__ or "").read_text(encoding="utf-8")
    assert not ENDING.in_circles(own)


def test_functions_are_served_over_the_protocol() -> None:
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "show", "arguments": {"path": "no.py"}}},
        {
            "jsonrpc": "2.0",
            "id": 4,
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"text": "30\n"}},
        },
        {"jsonrpc": "2.0", "id": 5, "method": "resources/list"},
    ]
    file = SUITES / "tools" / "hunt" / "environment" / "functions.py"
    text = "\n".join(map(json.dumps, messages))
    command = [sys.executable, "-B", str(file)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=30)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == ["list_files", "search", "show"]
    assert answers[1]["result"]["tools"][0]["inputSchema"]["required"] == []
    assert answers[2]["result"]["isError"]
    assert answers[3]["result"]["content"] == [{"type": "text", "text": "[]"}]
    assert answers[4]["error"]["code"] == -32601
