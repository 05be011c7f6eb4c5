"""Flags of `pool run` that say what goes in besides the prompt, and what is left behind."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pool.config.settings import SettingsError
from pool.headless.attached import ALL_LIMIT_BYTES, FILE_LIMIT_BYTES, attached
from pool.headless.command import main
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.cases.driver import MODEL, ModelServer, Step, answer, call, last_user
from tests.headless.valid import faults

RUN_SECONDS = 30.0
SCHEMA = '{"type": "object", "properties": {"bugs": {"type": "integer"}}, "required": ["bugs"]}'


async def pool_run(folder: Path, *steps: Step, flags: tuple[str, ...]) -> tuple[int, str, str, ModelServer]:
    async with ModelServer(*steps) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pool", "run", "--base-url", server.url, "--model", MODEL, "--sandbox", "off"),
            *("--mode", "allow-all", *flags),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode(), server


async def test_artifacts(tmp_path: Path) -> None:
    """All files are there, and the diff can be applied to what was there before."""
    work, left = tmp_path / "work", tmp_path / "out/left"
    work.mkdir()
    (work / "b.txt").write_text("one\ntwo\n")
    steps = (
        call("write", "w", path="a.txt", content="x\n"),
        call("read", "r", path="b.txt"),
        call("edit", "e", path="b.txt", old="two", new="three"),
        answer("Done."),
    )
    code, _, err, _ = await pool_run(work, *steps, flags=("--artifacts", str(left), "Do it."))
    assert (code, err) == (0, "")
    names = {p.name for p in left.iterdir()}
    assert names == {*("answer.md", "changes.diff", "result.json", "stats.json", "trajectory.json", "transcript.md")}
    assert (left / "answer.md").read_text() == "Done.\n"
    result = json.loads((left / "result.json").read_text())
    assert [c["path"] for c in result["changes"]] == ["a.txt", "b.txt"]
    assert json.loads((left / "stats.json").read_text())["turns"] == 4
    assert json.loads((left / "trajectory.json").read_text())["schema_version"].startswith("ATIF")
    assert "# Do it." in (left / "transcript.md").read_text()
    (work / "a.txt").unlink()
    (work / "b.txt").write_text("one\ntwo\n")
    subprocess.run(["git", "apply", str(left / "changes.diff")], cwd=work, check=True)
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == ("x\n", "one\nthree\n")


async def test_artifacts_of_a_session_that_is_not_kept(tmp_path: Path) -> None:
    work, left = tmp_path / "work", tmp_path / "left"
    work.mkdir()
    (tmp_path / "form.json").write_text(SCHEMA)
    flags = ("--artifacts", str(left), "--ephemeral", "--output-schema", "../form.json", "Count.")
    code, out, _, _ = await pool_run(work, answer('```json\n{"bugs": 2}\n```'), flags=flags)
    assert (code, out) == (0, '{"bugs": 2}\n')
    assert {p.name for p in left.iterdir()} == {
        *("answer.json", "result.json", "stats.json", "trajectory.json", "transcript.md"),
    }
    assert json.loads((left / "result.json").read_text())["output"] == {"bugs": 2}
    assert "Count." in (left / "transcript.md").read_text()


async def test_the_commit_of_the_work_is_in_the_result(tmp_path: Path) -> None:
    for words in (["init", "-q"], ["config", "user.name", "A"], ["config", "user.email", "a@example.com"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], cwd=tmp_path, check=True)
    steps = call("write", path="a.txt", content="x\n"), answer("Done.")
    code, out, _, _ = await pool_run(tmp_path, *steps, flags=("-o", "json", "--commit", "Add a.", "Do it."))
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True)
    row = json.loads(out)
    assert (code, row["commits"]) == (0, [head.stdout.strip()])
    assert faults(row) == []


async def test_an_answer_without_its_form_is_exit_8_and_not_on_stdout(tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(SCHEMA)
    steps = answer("Two."), answer("Two, I said.")
    code, out, _, _ = await pool_run(tmp_path, *steps, flags=("--output-schema", "form.json", "Count."))
    assert (code, out) == (8, "")


async def test_files_after_two_dashes_are_part_of_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("x = '```'")
    (tmp_path / "folder").mkdir()
    (tmp_path / "ask.txt").write_text("FROM-FILE")
    flags = ("Review.", "-f", "ask.txt", "--", "a b.py", "folder")
    code, _, _, server = await pool_run(tmp_path, answer("Fine."), flags=flags)
    assert code == 0
    said = last_user(server.bodies[0])
    assert said == "Review.\n\nFROM-FILE\n\nFile: a b.py\n````\nx = '```'\n````\n\nFolder: folder"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("Go.", "--", "nowhere.py"), "there is no file 'nowhere.py'"),
        (("--", "here"), "no prompt"),
        (("--plan", "Go."), "--plan and --mode allow-all"),
        (("--session", "x", "-c", "Go."), "leave out -c"),
        (("--no-tools", ",", "Go."), "a list of names"),
        (("--tools", "reed", "Go."), "no tool 'reed'"),
        (("--output-schema", "none.json", "Go."), "No such file"),
        (("--artifacts", "here/below", "Go."), "cannot be made"),
        (("-i", "stream-json", "-"), "leave out the -"),
        (("-i", "stream-json", "--detach", "Go."), "takes the same lines on its socket"),
    ],
)
def test_what_cannot_be_is_exit_2(
    flags: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "here").write_text("x")
    monkeypatch.chdir(tmp_path)
    server = ("--base-url", "http://127.0.0.1:9", "--model", "m")
    assert main([*server, "--sandbox", "off", "--mode", "allow-all", *flags]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert out == ""


def test_files_that_cannot_be_attached(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "big").write_bytes(b"a" * (FILE_LIMIT_BYTES + 1))
    (tmp_path / "full").write_bytes(b"a" * FILE_LIMIT_BYTES)
    (tmp_path / "odd\n\x1b[2J").write_bytes(b"caf\xe9")
    full = [str(tmp_path / "full")] * (ALL_LIMIT_BYTES // FILE_LIMIT_BYTES + 1)
    for paths, says in ([str(tmp_path / "binary")], "binary"), ([str(tmp_path / "big")], "more than"), (full, "have"):
        with pytest.raises(SettingsError, match=says):
            attached(paths, tmp_path)
    text = attached([str(tmp_path / "odd\n\x1b[2J")], tmp_path)
    assert text == "File: 'odd\\n\\x1b[2J'\n```\ncaf\ufffd\n```"
    assert attached([str(tmp_path / "full")], tmp_path / "elsewhere").startswith(f"File: {tmp_path}/full")


def test_dry_run_prints_what_would_be_sent_and_sends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The request of the run that follows, in a session that goes on, is that of the dry run before it."""

    def pool(*flags: str) -> str:
        assert main(["-C", str(tmp_path), "--base-url", sim.url, "--sandbox", "off", "--plan", *flags]) == 0
        return capsys.readouterr().out

    with running(SimSettings(port=0)) as sim:
        dry: dict[str, Any] = json.loads(pool("--dry-run", "What are you?"))
        assert sim.seen == []
        pool("--session", "mine", "What are you?")
        assert sim.seen == [dry]
        again = json.loads(pool("--dry-run", "-c", "And now?"))
        pool("--session", "mine", "And now?")
    assert sim.seen[1:] == [again]
    assert [m["role"] for m in again["messages"]] == ["system", "user", "assistant", "user"]
