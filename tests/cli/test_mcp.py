"""`pool mcp` as a person uses it, with a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pool.cli.mcp.command import main
from pool.config.files import Places, read_source
from tests.extend.mcp.desk import HOSTILE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file; the working folder is an empty workspace."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "config" / "pool" / "config.toml"


def test_add_list_get_remove(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", "time", "--env", "TZ=UTC", "--", "uvx", "mcp-server-time", "--local-timezone", "UTC"]) == 0
    assert main(["add", "docs", "https://u:pw@d.example/mcp?key=k", "--header", "Authorization=Bearer secret1"]) == 0
    assert own.stat().st_mode & 0o077 == 0
    stored = tomllib.loads(own.read_text())["mcp_servers"]
    assert stored["time"]["args"] == ["mcp-server-time", "--local-timezone", "UTC"]
    assert stored["docs"]["headers"] == {"Authorization": "Bearer secret1"}
    capsys.readouterr()
    assert main([]) == 0
    assert main(["get", "docs"]) == 0
    assert main(["list", "--json"]) == 0
    out = capsys.readouterr().out
    assert "time  uvx mcp-server-time" in out
    assert "https://d.example/mcp?..." in out
    assert "secret1" not in out
    assert "pw" not in out
    assert json.loads(out.splitlines()[-1])["headers"] == ["Authorization"]
    assert main(["remove", "time"]) == 0
    assert list(tomllib.loads(own.read_text())["mcp_servers"]) == ["docs"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["get", "x"], "there is no MCP server 'x'"),
        (["remove", "x"], "there is no server x"),
        (["test", "x"], "there is no MCP server 'x'"),
        (["add", "x", "ls", "--transport", "sse"], "is for an address"),
        (["add", "x", "https://h", "--transport", "stdio"], "is for a command"),
        (["add", "x", "https://h", "--env", "A=1"], "--env is for a command only"),
        (["add", "x", "ls", "--header", "A=1"], "--header is for an address only"),
        (["add", "x", "ls", "--env", "A"], "NAME=VALUE"),
        (["add", "x", "ls", "--no-sandbox", "--project"], "only in your own file"),
        (["add", "\x1b[2J", "ls"], "visible characters"),
    ],
)
def test_wrong_uses_change_nothing(own: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: str) -> None:
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "\x1b" not in err
    assert not own.exists()


def test_a_name_is_not_replaced_unasked(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", "x", "one"]) == 0
    assert main(["add", "x", "two"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["add", "x", "two", "--force"]) == 0
    assert tomllib.loads(own.read_text())["mcp_servers"]["x"]["command"] == "two"


def test_a_projects_server_waits_for_trust(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(".pool").mkdir()
    Path(".pool/config.toml").write_text("[mcp_servers.theirs]\ncommand = 'evil'\n")
    assert main([]) == 0
    said = capsys.readouterr()
    assert "theirs" not in said.out
    assert "wait for your trust: pool config trust" in said.err


def test_a_server_is_tried(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", "good", "--", sys.executable, "-I", "-S", str(HOSTILE), "escapes"]) == 0
    assert main(["add", "bad", "--", "sh", "-c", "echo no config >&2; exit 3"]) == 0
    capsys.readouterr()
    assert main(["test", "good", "--sandbox", "off"]) == 0
    out = capsys.readouterr().out
    assert "good works: hostile-escapes 1, 2 tools" in out
    assert "mcp__good__red  \\x1b[31mred" in out
    # The next session lists them from its start.
    (kept,) = (Places.usual(os.environ).state / "mcp").glob("*.json")
    assert len(json.loads(kept.read_text())["tools"]) == 2
    assert main(["test", "bad", "--sandbox", "off"]) == 1
    assert "bad does not work: it ended with status 3 (it said: no config)" in capsys.readouterr().out


def test_flags_of_a_run_choose_servers(own: Path) -> None:
    main(["add", "one", "a"])
    main(["add", "two", "b"])

    def tools(*flags: str) -> str:
        argv = [sys.executable, "-m", "pool", "prompt", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", *flags]
        env = {**os.environ, "PYTHONPATH": ":".join(str(ROOT / p) for p in (".", "tools", "themes"))}
        done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=30)
        found = [t["function"] for t in json.loads(done.stdout)["tools"]] if done.stdout else []
        return next((t["description"] for t in found if t["name"] == "find_tool"), done.stderr if not found else "")

    assert "(one, two)" in tools()
    assert "(two)" in tools("--mcp", "two")
    assert tools("--no-mcp") == ""
    assert "there is no such MCP server; there are one, two" in tools("--mcp", "three")


def test_the_examples_of_the_page_are_valid_and_run(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(str(ROOT / p) for p in (".", "tools", "themes")))
    page = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(block)
        source = read_source("user", own)
        assert source is not None
        assert (source.errors, source.warnings) == ([], [])
    own.unlink()
    (script,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    shell = f'set -e\npool() {{ {sys.executable} -m pool "$@"; }}\n{script}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tomllib.loads(own.read_text())["mcp_servers"]) == ["time"]
