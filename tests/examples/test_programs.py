"""The example programs, run as they stand against a scripted server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from pool.headless.command import parsed_args, parser
from pool.headless.review.command import parser as review_parser
from tests.cases.driver import MODEL, ModelServer, Step, answer, call, last_result, last_user

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN_SECONDS = 30.0


async def program(name: str, folder: Path, *steps: Step, flags: tuple[str, ...] = ()) -> tuple[int, str, ModelServer]:
    """Exit code and stdout of an example that is given a prompt, and the server that it spoke to."""
    async with ModelServer(*steps) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(EXAMPLES / name), "Do it.", "--base-url", server.url, "--model", MODEL),
            *("-C", str(folder), "--sandbox", "off", "--ephemeral", *flags),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    assert server.complaints == []
    assert process.returncode is not None
    return process.returncode, out.decode(), server


async def test_outcome_says_how_it_went(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1\n")
    steps = call("write", path="a.txt", content="x\n"), call("shell", command="python -m pytest -q"), answer("Done.")
    code, out, _ = await program("outcome.py", tmp_path, *steps, flags=("--mode", "allow-all"))
    assert code == 0
    assert out.splitlines()[:2] == ["completed: 3 turns, 15 tokens written", "created a.txt +1 -0"]
    assert "passed: python -m pytest -q" in out


async def test_outcome_passes_the_exit_code_on(tmp_path: Path) -> None:
    code, out, _ = await program("outcome.py", tmp_path, answer("Done."), flags=("--mode", "bogus"))
    assert (code, out) == (2, "usage_error: 0 turns, 0 tokens written\n")
    assert len((EXAMPLES / "outcome.py").read_text().splitlines()) <= 16


async def test_drive_answers_and_steers(tmp_path: Path) -> None:
    steps = (
        call("write", "w", path="poem.txt", content="x\n"),
        call("shell", "s", command="rm poem.txt"),
        answer("Done."),
    )
    code, out, server = await program("drive.py", tmp_path, *steps)
    assert (tmp_path / "poem.txt").read_text() == "x\n"
    assert out.splitlines() == ["allowed: write", "denied: shell", "denied: Done."]
    assert code == 7
    assert "Only write files." in last_result(server.bodies[2])
    assert "Please hurry." in last_user(server.bodies[-1])


async def embedded(name: str, folder: Path, *steps: Step, args: tuple[str, ...]) -> tuple[int, str, ModelServer]:
    """As `program`, for one that takes the server from the environment."""
    async with ModelServer(*steps) as server:
        own = {"POOL_BASE_URL": server.url, "POOL_MODEL": MODEL, "POOL_SANDBOX": "off"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(EXAMPLES / name), *args),
            cwd=folder,
            env={**os.environ, **own},
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    assert server.complaints == []
    assert process.returncode is not None
    return process.returncode, out.decode(), server


async def test_own_tool_and_guard(tmp_path: Path) -> None:
    writes = [call("write", f"w{n}", path=f"{n}.txt", content="x\n") for n in range(5)]
    code, out, server = await embedded("own_tool.py", tmp_path, call("ticket", number=7), *writes, args=(".",))
    assert "The greeting should say the name." in last_result(server.bodies[1])
    assert out.splitlines()[:2] == ["ticket: ok", "write: ok"]
    assert code == 6
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"{n}.txt" for n in range(4)]


async def test_triage_reads_answers_in_a_form(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    steps = call("read", path="a.py"), answer('{"risk": "low", "why": "One line."}'), answer("Could not do it: no b.")
    code, out, _ = await embedded("triage.py", tmp_path, *steps, args=("a.py", "b.py"))
    assert out.splitlines() == ["a.py: low: One line.", "b.py: gave_up"]
    assert code == 4


async def test_a_hook_that_reviews_what_is_staged(tmp_path: Path) -> None:
    """No bug: the commit is made. A bug: it is refused. No server: it is made."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    shutil.copy(EXAMPLES / "review_staged.sh", tmp_path / ".git/hooks/pre-commit")
    own = {"POOL": f"{sys.executable} -m pool", "POOL_MODEL": MODEL, "POOL_SANDBOX": "off"}

    async def commit(url: str) -> tuple[int, str]:
        name = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        process = await asyncio.create_subprocess_exec(
            *("git", *name, "commit", "-q", "--allow-empty", "-m", "x"),
            cwd=tmp_path,
            env={**os.environ, **own, "POOL_BASE_URL": url},
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
        return process.returncode or 0, err.decode()

    (tmp_path / "a.py").write_text("STAGED = 1\n")
    subprocess.run(["git", "add", "a.py"], cwd=tmp_path, check=True)
    finding = {"file": "a.py", "line": 1, "severity": "high", "kind": "correctness", "title": "Wrong", "reason": "So."}
    reports = [json.dumps({"findings": found, "summary": ""}) for found in ([finding], [])]
    async with ModelServer(*map(answer, reports)) as server:
        code, err = await commit(server.url)
        assert (code, err.splitlines()[1]) == (1, "high    a.py:1: Wrong")
        code, err = await commit(server.url)
        assert (code, err.splitlines()[-1]) == (0, "no findings")
    assert "+ STAGED = 1" in last_user(server.bodies[0])
    (tmp_path / "a.py").write_text("STAGED = 2\n")
    subprocess.run(["git", "add", "a.py"], cwd=tmp_path, check=True)
    code, err = await commit("http://127.0.0.1:9")
    assert (code, err.splitlines()[-1]) == (0, "not reviewed")


def test_the_workflow_is_yaml_whose_flags_exist() -> None:
    text = (EXAMPLES / "github_actions.yml").read_text("utf-8")
    steps = yaml.safe_load(text)["jobs"]["mend"]["steps"]
    command = next(step["run"] for step in steps if "pool run" in step.get("run", ""))
    words = shlex.split(re.sub(r"\$\{\{.*?\}\}", "1", command))
    args = parsed_args(parser(), words[2:])
    assert (args.output, args.commit, args.sandbox) == ("json", "auto", "required")


def test_the_workflow_that_reviews_has_flags_that_exist() -> None:
    text = (EXAMPLES / "review_pull_request.yml").read_text("utf-8")
    steps = yaml.safe_load(text)["jobs"]["review"]["steps"]
    line = next(line for step in steps for line in step.get("run", "").splitlines() if "pool review" in line)
    args = review_parser().parse_args(shlex.split(line.partition("||")[0])[2:])
    assert (args.change, args.sandbox, args.sarif) == ("origin/$GITHUB_BASE_REF...HEAD", "required", "review.sarif")
