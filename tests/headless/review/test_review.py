"""`pool review` on real repositories, before a server that plays a reviewer."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from pool.headless.review.command import main, parser
from pool.headless.review.running import reviewed
from tests.agent.review.reviewer import Anew, finding, long_answer, report
from tests.cases.driver import MODEL, ModelServer, Step, answer, call, last_user

SCHEMA = Path(__file__).with_name("sarif-schema-2.1.0.json")
ODD = "b ü\x1b.py"


@cache
def validator() -> Any:
    """SARIF's own schema, as OASIS publishes it."""
    return Draft4Validator(json.loads(SCHEMA.read_text()))


def git(folder: Path, *args: str) -> str:
    named = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    return subprocess.run(["git", *named, *args], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """main with one commit, the branch `work` with another; something staged, something not, something new."""
    top = tmp_path_factory.mktemp("repo")
    git(top, "init", "-q", "-b", "main")
    (top / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    git(top, "checkout", "-qb", "work")
    (top / "c.py").write_text("committed = 1\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "second")
    (top / "a.py").write_text((top / "a.py").read_text().replace("line 5\n", "staged\n"))
    git(top, "add", ".")
    (top / "a.py").write_text((top / "a.py").read_text().replace("line 20\n", "loose\n"))
    (top / ODD).write_text("new = 1\n")
    (top / ".env").write_text("KEY=secret\n")
    return top


async def run(
    repo: Path, *steps: Step, args: Sequence[str] = (), kind: type[ModelServer] = ModelServer
) -> tuple[int, ModelServer]:
    async with kind(*steps) as server:
        words = list(args)
        at = words.index("--") if "--" in words else len(words)
        flags = ("--base-url", server.url, "--model", MODEL, "-C", str(repo), "--sandbox", "off")
        given = parser().parse_args([*flags, *words[:at]])
        given.paths = words[at + 1 :]
        code = await reviewed(given)
    assert server.complaints == []
    return code, server


async def test_the_working_tree_is_reviewed_and_the_report_is_for_people(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escapes in what a model says stay text; what is outside of the diff is marked, and does not count."""
    said = report(finding("a.py", 20, "medium"), finding("a.py", 12, title="\x1b[31mred"), finding("c.py", 1))
    code, server = await run(repo, call("read", path="a.py"), answer(said))
    out, err = capsys.readouterr()
    assert code == 0
    assert out.splitlines() == [
        "what is not committed: 2 files, +3 -2",
        "medium  a.py:20: It is wrong",
        "        For 0 it fails.",
        "high    a.py:12: \\x1b[31mred",
        "        (outside of the diff: the diff does not show this line)",
        "        For 0 it fails.",
        "high    c.py:1: It is wrong",
        "        (outside of the diff: the diff does not change this file)",
        "        For 0 it fails.",
        "left out: .env (its name says that it holds secrets)",
        "3 findings: 2 high, 1 medium; 2 outside of the diff",
    ]
    assert "what is not committed: 2 files" in err
    prompt = last_user(server.bodies[0])
    assert "    20 + loose" in prompt
    assert "       - line 20" in prompt
    assert "secret" not in json.dumps(server.bodies)
    assert {tool["function"]["name"] for tool in server.bodies[0]["tools"]} == {"read", "list", "search", "git"}
    assert "Plan mode" not in prompt


@pytest.mark.parametrize(
    ("args", "what", "lines"),
    [
        (["--staged"], "what is staged", ["     5 + staged"]),
        (["main"], "what HEAD adds to main since", ["     1 + committed = 1"]),
        (["HEAD"], "commit ", ["     1 + committed = 1"]),
        (["main..work"], "the range main..work", ["     1 + committed = 1"]),
        (["--", ODD], "what is not committed", ["     1 + new = 1"]),
    ],
)
async def test_what_is_reviewed(
    repo: Path, capsys: pytest.CaptureFixture[str], args: list[str], what: str, lines: list[str]
) -> None:
    code, server = await run(repo, answer(report(summary="Fine.")), args=args)
    out = capsys.readouterr().out
    assert code == 0
    assert out.startswith(what)
    assert out.endswith("Fine.\nno findings\n")
    prompt = last_user(server.bodies[0])
    assert [line for line in prompt.splitlines() if line[7:8] == "+"] == lines


async def test_json_and_sarif_hold_the_same_findings(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reply that does not fit is asked for again, constrained; the SARIF fits its schema."""
    said = report(finding("b ü\\x1b.py", 1), finding("a.py", 21, "low", kind="tests", end_line=22))
    file = repo / ".git" / "out.sarif"
    code, server = await run(
        repo, answer("I found two bugs."), answer(said), args=["-o", "json", "--sarif", str(file), "--fail-on", "low"]
    )
    assert code == 3
    assert server.bodies[1]["response_format"]["type"] == "json_schema"
    row = json.loads(capsys.readouterr().out)
    assert (row["type"], row["exit_code"], row["model"]) == ("review", 3, MODEL)
    assert [(f["file"], f["line"], f["place"], f["quote"]) for f in row["findings"]] == [
        (ODD, 1, "changed", "new = 1"),
        ("a.py", 21, "context", "line 21"),
    ]
    log = json.loads(file.read_text())
    assert list(validator().iter_errors(log)) == []
    (one,) = log["runs"]
    first, second = one["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b%20%C3%BC%1B.py"
    assert (first["level"], second["level"], second["ruleId"]) == ("error", "note", "tests")
    assert second["locations"][0]["physicalLocation"]["region"]["endLine"] == 22
    assert one["invocations"][0]["exitCode"] == 3


async def test_a_large_change_is_split_by_file_and_what_fails_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of 8,192 tokens: three files in three parts; one gives no report, the findings of the others stay."""
    patch = "".join(
        f"--- /dev/null\n+++ b/{name}.py\n@@ -0,0 +1,200 @@\n"
        + "".join(f"+{name} = {n} * factor\n" for n in range(200))
        for name in ("one", "two", "three")
    )
    monkeypatch.setenv("POOL_CONTEXT_LENGTH", "8192")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(patch.encode())))
    said = report(finding("one.py", 7)), "no", "no", report(finding("three.py", 1, "low"))
    code, _ = await run(tmp_path, *map(long_answer, said), args=["-", "--fail-on", "low"], kind=Anew)
    out, err = capsys.readouterr()
    assert code == 3
    assert "3 files, too much to be read at once, so in 3 parts" in err
    assert "part 2 of 3: two.py" in err
    assert "high    one.py:7" in out
    assert "low     three.py:1" in out
    assert "not reviewed: two.py: the answer does not fit the schema" in out


async def test_a_failed_part_alone_gives_its_exit_code(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = await run(repo, answer("no"), args=["-o", "sarif", "--staged"])
    assert code == 8
    log = json.loads(capsys.readouterr().out)
    assert list(validator().iter_errors(log)) == []
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_what_cannot_be_reviewed(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, code, said in (
        (["nowhere"], 2, "'nowhere' is no branch, commit, range or file here"),
        (["main..nowhere"], 2, "'nowhere' of 'main..nowhere' is no branch"),
        (["--staged", "main"], 2, "cannot be together"),
        (["--", "none.py"], 2, "changes nothing in none.py"),
        (["./a.py"], 2, "the patch ./a.py holds no diff"),
    ):
        assert main(["-C", str(repo), *words]) == code
        assert said in capsys.readouterr().err
    assert main(["-C", str(tmp_path)]) == 2
    assert "in no git repository" in capsys.readouterr().err
    git(tmp_path, "init", "-q")
    assert main(["-C", str(tmp_path), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == []
