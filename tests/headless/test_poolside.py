"""`pool exec`: Poolside's flags and records."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pool.headless.poolside import main
from tests.cases.driver import MODEL, ModelServer, Step, answer, call, delta, finish, last_user, say, usage, whole

Row = dict[str, Any]
RUN_SECONDS = 30.0


async def pool_exec(
    folder: Path, *steps: Step, flags: tuple[str, ...], stdin: bytes = b""
) -> tuple[int, str, str, ModelServer]:
    async with ModelServer(*steps) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pool", "exec", "-d", str(folder), "--api-url", server.url, "--model-name", MODEL),
            *("--sandbox", "disabled", *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(stdin), RUN_SECONDS)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode(), server


async def test_records(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A\n")
    (tmp_path / "b").write_text("B\n")
    reads = say(
        delta(reasoning="I read."),
        delta(content="Both files."),
        whole("read", "r1", path="a"),
        whole("read", "r2", index=1, path="b"),
        finish("tool_calls"),
        usage(100, 5),
    )
    steps = reads, call("shell", "s", command="echo hi; exit 3"), answer("Done.")
    flags = ("-o", "json", "--unsafe-auto-allow", "-p", "Do it.")
    code, out, err, _ = await pool_exec(tmp_path, *steps, flags=flags)
    assert (code, err) == (0, "")
    rows: list[Row] = [json.loads(line) for line in out.splitlines()]
    kinds = [(row["type"], row.get("name") or row.get("id") or "") for row in rows]
    assert kinds == [
        ("reasoning", ""),
        ("thought", ""),
        ("toolCall", "read"),
        ("toolCallResult", "r1"),
        ("toolCall", "read"),
        ("toolCallResult", "r2"),
        ("toolCall", "shell"),
        ("toolCallResult", "s"),
        ("assistantMessage", ""),
        ("toolCall", "exit"),
        ("toolCallResult", ""),
    ]
    assert rows[0]["reasoning"] == "I read."
    assert rows[1]["thought"] == "Both files."
    assert rows[6]["args"]["cmd"] == rows[6]["args"]["command"] == "echo hi; exit 3"
    assert (rows[7]["exitStatus"], "hi" in rows[7]["result"]) == (3, True)
    assert rows[8]["message"] == "Done."
    assert rows[9]["args"] == {"success": True}


async def test_prompt_from_stdin_files_and_going_on(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    flags = ("-p", "-", "--unsafe-auto-allow", "--verbose", "--debug")
    steps = call("read", path="a.py"), answer("Done.")
    code, out, err, server = await pool_exec(
        tmp_path, *steps, flags=(*flags, "--", str(tmp_path / "a.py")), stdin=b"From stdin."
    )
    assert code == 0
    assert last_user(server.bodies[0]) == "From stdin.\n\nFile: a.py\n```\nx\n```"
    assert out.startswith("**read** ")
    assert out.endswith("Done.\n")
    assert "--debug does nothing here" in err
    flags = ("--continue", "-p", "-v is a flag?", "--unsafe-auto-allow")
    code, out, _, server = await pool_exec(tmp_path, answer("Yes."), flags=flags)
    assert (code, out) == (0, "Yes.\n")
    assert [m["content"] for m in server.bodies[0]["messages"] if m["role"] == "user"][1] == "-v is a flag?"


async def test_what_goes_wrong(tmp_path: Path) -> None:
    flags = ("-o", "json", "-p", "Do it.", "--unsafe-auto-allow")
    code, out, _, _ = await pool_exec(tmp_path, answer("Could not do it: no."), flags=flags)
    assert code == 4
    assert json.loads(out.splitlines()[-2])["args"] == {"success": False}
    code, out, err, _ = await pool_exec(tmp_path, answer("x"), flags=("-o", "json", "-p", "x", "-a", "mine"))
    assert code == 2
    assert "agent of Poolside's platform" in json.loads(out)["error"]
    assert "agent of Poolside's platform" in err


def test_unknown_flags_are_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-such-flag", "-p", "x"]) == 2
    assert main(["--cont", "-p", "x"]) == 2
    assert capsys.readouterr().out == ""
