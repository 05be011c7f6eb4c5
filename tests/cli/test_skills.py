"""`pool skills` and `pool config trust` as people use them; every example of docs/skills.md is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pool.cli.main import main
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.extend.skills.desk import Desk

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
FILES = re.findall(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
LINES = re.findall(r"^\$ (pool .*)$", PAGE, re.MULTILINE)

Pool = Callable[..., tuple[int, str, str]]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(desk.work)
    return desk


@pytest.fixture
def pool(desk: Desk, capsys: pytest.CaptureFixture[str]) -> Pool:
    def run(*argv: str) -> tuple[int, str, str]:
        code = main(list(argv))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_every_example_of_the_page(desk: Desk, pool: Pool) -> None:
    assert len(FILES) == 4
    assert len(LINES) == 7
    for path, text in FILES:
        desk.command(f"work/{path}", text)
    said: list[str] = []
    for line in LINES:
        code, out, err = pool(*shlex.split(line)[1:])
        assert code == 0, (line, err)
        said.append(out)
    checked, listed, trusted, shown, released, nothing, reviewed = said
    assert "tokens when it is loaded" in checked
    assert "cannot be read" not in checked
    assert "$release  .pool/skills/release  (waits for trust" in listed
    assert ".pool/skills/release is a skill: Puts a release out." in trusted
    assert "scripts/notes.sh" in trusted
    assert "/inspect: Review a file for one kind of fault" in trusted
    assert "# needs: Needs git." in shown
    prompt = json.loads(released)["messages"]
    assert "- release: Puts a release out." in prompt[0]["content"]
    assert prompt[1]["content"].startswith("$release of version 1.2\n\n<skill")
    assert "references/style.md, scripts/notes.sh" in prompt[1]["content"]
    assert nothing == "nothing waits for trust\n"
    assert "Read src/app.py and look only for missing checks." in json.loads(reviewed)["messages"][1]["content"]


def test_faults_and_wrong_uses(desk: Desk, pool: Pool) -> None:
    assert pool("skills", "check")[:2] == (0, "no skills but those that come with Pool\n")
    desk.skill("work/.pool/skills/bad", "---\nname: \x1b[31mRed\ndescription: d\n---\nx")
    desk.skill("home/.agents/skills/long", description="d\nlicense: MIT\ncolor: red\nallowed-tools: Read")
    (desk.home / ".agents" / "skills" / "long" / "out.md").symlink_to("/etc/passwd")
    desk.command("home/.config/pool/commands/undo.md", "x")
    code, out, _ = pool("skills", "check")
    assert code == 1
    assert ".pool/skills/bad: SKILL.md: this is no YAML: unacceptable character" in out
    assert "~/.agents/skills/long: out.md is a link that leads out of the folder" in out
    assert "fields that mean nothing to Pool: color" in out
    assert "allowed-tools allows nothing here" in out
    assert "/undo is a command of Pool's own" in out
    assert "\x1b" not in out
    code, out, err = pool("skills")
    assert "pool skills check" in err
    assert [json.loads(row)["name"] for row in pool("skills", "list", "--json")[1].splitlines()] == [
        *("long", "pool-docs", "write-skill"),
    ]
    assert "there is no skill 'x'" in pool("skills", "show", "x")[2]
    assert pool("skills", "show", "x")[0] == 2
    assert pool("skills", "check", "nowhere")[:2] == (
        1,
        "nowhere: it is no folder; a skill is a folder with a SKILL.md\n",
    )
    assert pool("skills", "--nope")[0] == 2


def test_trust_covers_what_was_shown_and_nothing_more(desk: Desk, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.skill("work/.pool/skills/one")
    desk.skill("home/.agents/skills/one")
    desk.command("home/.config/pool/commands/same.md", "mine")
    desk.command("work/.pool/commands/same.md", "theirs")
    code, out, err = pool("config", "trust")
    assert "it takes the place of ~/.config/pool/commands/same.md" in out
    assert code == 2
    assert "it may take the place of ~/.agents/skills/one" in out
    assert "nobody is there to ask" in err
    assert pool("config", "trust", "--yes")[0] == 0
    assert pool("config", "trust")[1] == "nothing waits for trust\n"
    desk.skill("work/.pool/skills/two")
    assert ".pool/skills/two is a skill" in pool("config", "trust", "--yes")[1]
    assert pool("config", "untrust")[1] == "trust is taken back\n"
    assert pool("skills")[1].count("waits for trust") == 3


@pytest.mark.slow
def test_a_pipe_into_the_chat_and_a_run_use_them(desk: Desk) -> None:
    desk.skill("home/.agents/skills/greet")
    desk.command("home/.config/pool/commands/hello.md", "!Say hello to $1 with $greet.")
    with running(SimSettings()) as server:
        env = {**os.environ, "POOL_BASE_URL": server.url, "PYTHONPATH": os.pathsep.join(sys.path)}
        argv = [sys.executable, "-m", "pool"]
        chat = subprocess.run(
            [*argv, "chat"], input="/hello world\n", env=env, cwd=desk.work, capture_output=True, text=True
        )
        run = subprocess.run(
            [*argv, "run", "/hello moon", "-o", "stream-json"], env=env, cwd=desk.work, capture_output=True, text=True
        )
    assert chat.returncode == 0, chat.stderr
    assert "skill greet (~/.agents/skills/greet)" in chat.stdout
    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert [e["prompt"] for e in events if e["type"] == "run.started"] == ["/hello moon"]
    assert any(e["type"] == "notice" and e["text"].startswith("skill greet (~/.agents") for e in events)
