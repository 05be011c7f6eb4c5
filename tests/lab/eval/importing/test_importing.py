"""Suites of others, in small samples of their true shape, become tasks: the solution passes, a naive attempt fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pool.lab.eval.importing.command import main
from pool.lab.eval.suites import suite_named

HELLO = {
    ".meta/config.json": json.dumps(
        {"files": {"solution": ["two_fer.py"], "test": ["two_fer_test.py"], "example": [".meta/example.py"]}}
    ),
    ".meta/example.py": "def two_fer(name='you'):\n    return f'One for {name}, one for me.'\n",
    ".docs/instructions.md": "# Instructions\n\nSay it.\n",
    ".docs/instructions.append.md": "# More\n\nWith a default.\n",
    "two_fer.py": "def two_fer(name):\n    pass\n",
    "two_fer_test.py": "import unittest\nfrom two_fer import two_fer\n\n\nclass T(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(two_fer('A'), 'One for A, one for me.')\n",
}
CARD = {
    ".meta/config.json": json.dumps(
        {"files": {"solution": ["card.js"], "test": ["card.spec.js"], "example": [".meta/proof.ci.js"]}}
    ),
    ".meta/proof.ci.js": "export const card = () => 1;\n",
    ".docs/instructions.md": "# Card\n",
    "card.js": "export const card = () => {};\n",
    "card.spec.js": "test('a', () => {});\nxtest('b', () => {});\nxdescribe('c', () => {});\n",
    "package.json": "{}\n",
}


def put(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def reward(task: Path, tree: Path, *attempts: str) -> list[float]:
    """What a task's own scripts earn in a copy of its tree, one after the other."""
    earned: list[float] = []
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for attempt in attempts:
        app, logs = tree / attempt / "app", tree / attempt / "logs"
        app.parent.mkdir()
        subprocess.run(["cp", "-r", str(task / "environment" / "app"), str(app.parent)], check=True)
        env = {**os.environ, "PATH": path, "TESTS_DIR": str(task / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        env |= {"APP_DIR": str(app), "LOGS_DIR": str(logs)}
        for script in (task / attempt / "solve.sh", task / "tests" / "test.sh"):
            subprocess.run(["sh", str(script)], cwd=app, env=env, check=True, capture_output=True)
        earned.append(json.loads((logs / "verifier" / "reward.json").read_text())["reward"])
    return earned


def tasks(folder: Path) -> dict[str, Any]:
    return {task.name: task for task in suite_named(str(folder)).tasks}


def test_exercises_by_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    practice = "exercises/practice"
    put(tmp_path / "polyglot" / "python" / practice / "two-fer", HELLO)
    put(tmp_path / "polyglot" / "javascript" / practice / "card", CARD)
    put(
        tmp_path / "polyglot" / "javascript" / practice / "odd", {".meta/config.json": "{", ".docs/instructions.md": ""}
    )
    into = tmp_path / "suite"
    assert main(["polyglot", str(tmp_path / "polyglot"), str(into)]) == 0
    assert "left out: javascript/exercises/practice/odd: .meta/config.json" in capsys.readouterr().err
    assert set(tasks(into)) == {"python-two-fer", "javascript-card"}
    task = into / "python-two-fer"
    assert [p.name for p in (task / "environment" / "app").iterdir()] == ["two_fer.py"]
    said = (task / "instruction.md").read_text()
    assert said.startswith(
        "# Instructions\n\nSay it.\n\n# More\n\nWith a default.\n\nWrite your solution in `two_fer.py`."
    )
    assert reward(task, tmp_path, "solution") == [1]
    spec = (into / "javascript-card" / "tests" / "files" / "card.spec.js").read_text()
    assert spec == "test('a', () => {});\ntest('b', () => {});\ndescribe('c', () => {});\n"
    assert main(["exercism", str(tmp_path / "polyglot" / "python" / practice / "two-fer"), str(tmp_path / "one")]) == 0
    assert set(tasks(tmp_path / "one")) == {"two-fer"}


def test_quixbugs(tmp_path: Path) -> None:
    """The solution passes; of the work only the one program counts, so that a configuration of tests is of no use."""
    clone = tmp_path / "clone"
    test = (
        "import pytest\nfrom load_testdata import load_json_testcases\n\nif pytest.use_correct:\n"
        "    from correct_python_programs.twice import twice\nelse:\n    from python_programs.twice import twice\n\n"
        "testdata = load_json_testcases(twice.__name__)\n\n\n"
        '@pytest.mark.parametrize("input_data,expected", testdata)\ndef test_twice(input_data, expected):\n'
        "    assert twice(*input_data) == expected\n"
    )
    load = (
        "import json\nfrom pathlib import Path\n\n\ndef load_json_testcases(name):\n"
        "    lines = (Path(__file__).parent / f'../json_testcases/{name}.json').read_text().splitlines()\n"
        "    return [json.loads(line) for line in lines]\n"
    )
    put(
        clone,
        {
            "python_programs/twice.py": 'def twice(n):\n    return n + 2\n\n\n"""\nTwice\n"""\n',
            "python_programs/twice_test.py": "",
            "python_programs/lonely.py": "",
            "correct_python_programs/twice.py": "def twice(n):\n    return n * 2\n",
            "python_testcases/test_twice.py": test,
            "python_testcases/load_testdata.py": load,
            "json_testcases/twice.json": "[[2], 4]\n[[5], 10]\n",
            "conftest.py": "import pytest\n\n\ndef pytest_configure(config):\n    pytest.use_correct = False\n",
        },
    )
    into = tmp_path / "suite"
    assert main(["quixbugs", str(clone), str(into)]) == 0
    assert set(tasks(into)) == {"quixbugs-twice"}
    task = into / "quixbugs-twice"
    (task / "naive" / "solve.sh").write_text("echo 'def pytest_runtest_call(item): item.obj = print' >conftest.py\n")
    assert reward(task, tmp_path, "solution", "naive") == [1, 0]


def test_bfcl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"type": "array", "items": {"type": "integer"}, "description": "what to add"}
    unit = {"type": "string", "enum": ["m", "km"], "description": 'a "unit"'}
    add: dict[str, Any] = {
        "name": "math.add",
        "description": "Adds.",
        "parameters": {"type": "dict", "properties": {"of": numbers}},
    }
    add["parameters"]["required"] = ["of"]
    add["parameters"]["properties"]["unit"] = unit
    deep = {"name": "f", "description": "", "parameters": {"type": "dict", "properties": {"x": {"type": "dict"}}}}
    ask = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add 1 and 2, then 3 and 4."}]]
    rows = [
        {"id": "parallel_0", "question": ask, "function": [add]},
        {"id": "parallel_1", "question": ask, "function": [deep]},
        {"id": "parallel_2", "question": [*ask, *ask], "function": [add]},
    ]
    truth = [{"math.add": {"of": [[1, 2]], "unit": ["m", ""]}}, {"math.add": {"of": [[3, 4]], "unit": []}}]
    answers = [{"id": f"parallel_{n}", "ground_truth": truth} for n in range(3)]
    data = tmp_path / "data"
    put(
        data,
        {
            "BFCL_v4_parallel.json": "".join(json.dumps(row) + "\n" for row in rows),
            "possible_answer/BFCL_v4_parallel.json": "".join(json.dumps(row) + "\n" for row in answers),
            "BFCL_v4_irrelevance.json": json.dumps({"id": "irrelevance_0", "question": ask, "function": [add]}) + "\n",
            "BFCL_v4_multi_turn_base.json": "{}\n",
        },
    )
    into = tmp_path / "suite"
    assert main(["bfcl", str(data), str(into)]) == 0
    told = capsys.readouterr().err
    assert "parallel_1: the argument 'x' is of the type dict" in told
    assert "parallel_2: it has several turns" in told
    assert "BFCL_v4_multi_turn_base.json: only single-turn" in told
    found = tasks(into)
    assert set(found) == {"bfcl-parallel-0", "bfcl-irrelevance-0"}
    task = found["bfcl-parallel-0"]
    assert (task.kind.value, task.instruction) == ("functions", "Be brief.\n\nAdd 1 and 2, then 3 and 4.")
    expected = json.loads((task.test_folder / "expected.json").read_text())
    assert expected["together"] is True
    assert expected["calls"][0] == {"name": "math_add", "arguments": {"of": [[1, 2]], "unit": ["m", None]}}
    assert expected["calls"][1]["arguments"]["unit"] == [None]
    requests = [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]
    server = task.folder / "environment" / "functions.py"
    done = subprocess.run(
        [sys.executable, server], input=json.dumps(requests[0]), capture_output=True, text=True, check=True
    )
    (tool,) = json.loads(done.stdout)["result"]["tools"]
    assert (tool["name"], tool["description"]) == ("math_add", "Adds.")
    assert tool["inputSchema"]["required"] == ["of"]
    assert tool["inputSchema"]["properties"]["unit"]["enum"] == ["m", "km"]


def test_swebench_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tree comes from a clone at its commit; tests that the work has changed are put back."""
    clone = tmp_path / "clones" / "own__lib"
    put(clone, {"lib.py": "def half(n):\n    return n / 3\n", "test_lib.py": "def test_old():\n    assert True\n"})
    git = ("git", "-C", str(clone), "-c", "user.name=T", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    row = {
        "instance_id": "own__lib-7",
        "repo": "own/lib",
        "base_commit": commit,
        "problem_statement": "half(4) is not 2",
        "patch": "--- a/lib.py\n+++ b/lib.py\n@@ -1,2 +1,2 @@\n def half(n):\n-    return n / 3\n+    return n / 2\n",
        "test_patch": "--- a/test_lib.py\n+++ b/test_lib.py\n@@ -1,2 +1,7 @@\n+from lib import half\n+\n"
        " def test_old():\n     assert True\n+\n+def test_half():\n+    assert half(4) == 2\n",
        "FAIL_TO_PASS": '["test_lib.py::test_half"]',
        "PASS_TO_PASS": ["test_lib.py::test_old"],
    }
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        json.dumps(row) + "\n\n" + json.dumps({**row, "instance_id": "own__gone-1", "repo": "own/gone"}) + "\n"
    )
    into = tmp_path / "suite"
    assert main(["swebench", str(rows), str(into), "--repos", str(tmp_path / "clones")]) == 0
    assert "own__gone-1: " in capsys.readouterr().err
    task = into / "own-lib-7"
    assert "FROM swebench/sweb.eval.x86_64.own_1776_lib-7:latest" in (task / "environment" / "Dockerfile").read_text()
    (task / "naive" / "solve.sh").write_text("printf 'def test_half():\\n    pass\\n' >test_lib.py\n")
    assert reward(task, tmp_path, "solution", "naive") == [1, 0]
    assert main(["swebench", str(rows), str(tmp_path / "images"), "--limit", "1"]) == 0
    assert "harbor run takes them" in capsys.readouterr().err


def test_what_cannot_be_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.jsonl").write_text('{"instance_id": 1}\n')
    (tmp_path / "broken.jsonl").write_text("{\n")
    evil = json.dumps({"files": {"solution": ["a.py"], "test": ["../../etc/x_test.py", "a_test.py"]}})
    put(tmp_path / "track" / "x", {".meta/config.json": evil, ".docs/instructions.md": "", "a_test.py": "", "a.py": ""})
    for words, said in (
        (["quixbugs", str(tmp_path)], "name the top of a clone of QuixBugs"),
        (["exercism", str(tmp_path / "rows.jsonl")], "has no exercise"),
        (["bfcl", str(tmp_path)], "has no file of BFCL"),
        (["swebench", str(tmp_path / "rows.jsonl")], "line 1: repo, base_commit"),
        (["swebench", str(tmp_path / "broken.jsonl")], "line 1: "),
        (["swebench", str(tmp_path / "none")], "there is no "),
    ):
        assert main([*words, str(tmp_path / "into")]) == 2
        assert said in capsys.readouterr().err
    assert main(["exercism", str(tmp_path / "track"), str(tmp_path / "into")]) == 0
    assert [p.name for p in (tmp_path / "into" / "python-x" / "tests" / "files").iterdir()] == ["a_test.py"]
    assert main(["exercism", str(tmp_path / "track"), str(tmp_path / "into")]) == 2
    assert "is there already" in capsys.readouterr().err
