"""`pool run` with rules: what it does, what it says, and how it exits."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.cases.driver import MODEL, ModelServer, Step, answer, call, last_result

RUN_SECONDS = 30.0


async def pool_run(folder: Path, *steps: Step, flags: tuple[str, ...]) -> tuple[int, str, str, ModelServer]:
    """Exit code, stdout, stderr and the server of one process."""
    folder.mkdir(exist_ok=True)
    async with ModelServer(*steps) as server:
        argv = [sys.executable, "-m", "pool", "run", "Do it.", "--base-url", server.url, "--model", MODEL]
        process = await asyncio.create_subprocess_exec(
            *argv,
            *("-C", str(folder), "--sandbox", "off", "--ephemeral", *flags),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), RUN_SECONDS)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode(), server


async def test_deny_holds_in_allow_all_and_exits_7(tmp_path: Path) -> None:
    flags = ("--mode", "allow-all", "--deny", "shell(touch *)", "-o", "json")
    step = call("shell", command="echo a; \\touch made")
    code, out, _, server = await pool_run(tmp_path, step, answer("Done."), flags=flags)
    assert code == 7
    assert json.loads(out)["reason"] == "denied"
    assert not (tmp_path / "made").exists()
    told = last_result(server.bodies[-1])
    assert "`deny shell(touch *)`" in told
    assert "`touch made`" in told


async def test_a_rule_that_asks_denies_where_nobody_is_there(tmp_path: Path) -> None:
    flags = ("--mode", "accept-edits", "--ask", "write(*.lock)")
    steps = call("write", path="a.txt", content="x"), call("write", path="a.lock", content="x"), answer("Done.")
    code, _, _, server = await pool_run(tmp_path, *steps, flags=flags)
    assert code == 7
    assert (tmp_path / "a.txt").exists()
    assert not (tmp_path / "a.lock").exists()
    assert "`ask write(*.lock)`" in last_result(server.bodies[-1])


async def test_a_rule_lets_a_command_run_without_a_person(tmp_path: Path) -> None:
    flags = ("--mode", "default", "--allow", "shell(touch *)", "--allow", "write(log/**)")
    step = call("shell", command="touch made && echo done > log/x; mkdir x")
    (tmp_path / "log").mkdir()
    fine = call("shell", command="touch made && echo done > log/x")
    code, out, err, server = await pool_run(tmp_path, step, fine, answer("Done."), flags=flags)
    assert (code, out) == (7, "Done.\n")  # the first was denied and not done another way
    assert err.startswith("pool: denied: shell was not run")
    assert err.count("\n") == 1
    assert (tmp_path / "made").exists()
    assert (tmp_path / "log/x").read_text() == "done\n"
    assert not (tmp_path / "x").exists()
    refused = next(str(m["content"]) for m in server.bodies[1]["messages"] if m["role"] == "tool")
    assert "no rule covers `mkdir x`" in refused
    assert "--allow 'shell(mkdir *)'" in refused


async def test_HEAD_04_without_a_rule_the_model_and_the_exit_code_say_so(tmp_path: Path) -> None:
    step = call("write", path="src/a.txt", content="x")
    code, _, err, server = await pool_run(tmp_path, step, answer("Done."), flags=("--mode", "default"))
    assert code == 7
    assert "no command can run" in err
    told = last_result(server.bodies[-1])
    assert "Nobody is there to approve it" in told
    assert "--allow 'write(src/**)' or --mode accept-edits" in told


@pytest.mark.parametrize(
    ("flag", "rule", "said"),
    [
        ("--allow", "shell(git | head)", "--allow: the rule 'shell(git | head)', column 11"),
        ("--deny", "shell(ls", "--deny: the rule 'shell(ls', column 9: the closing `)` is missing"),
        ("--ask", "shell(ls;)", "column 9"),
        ("--deny", "shel", "did you mean shell?"),
    ],
)
async def test_a_bad_rule_is_a_usage_error(flag: str, rule: str, said: str, tmp_path: Path) -> None:
    code, out, err, server = await pool_run(tmp_path, answer("Done."), flags=(flag, rule))
    assert (code, out) == (2, "")
    assert said in err
    assert "^" in err
    assert not server.bodies
