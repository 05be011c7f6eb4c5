"""What is taken over from other agents' files, and that nothing is copied before it was shown."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pool.agent.rules.syntax import Action
from pool.cli.config.command import main
from pool.cli.config.importing import claude, codex, opencode, poolside
from pool.cli.config.importing.found import without_comments
from pool.config.settings import SettingsError


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


POOLSIDE = """
pool: {api_url: "https://p.example"}
tools:
  shell: {allow: ["git log *", "make; rm"], deny: ["curl *"]}
  web_search: {disabled: true}
paths:
  allow: [{path: "src/**", write: true}, "docs/**", 3]
  deny: ["~/.ssh/**"]
mcp_servers:
  time: {command: uvx, args: [mcp-server-time], env: {TZ: UTC}}
  bad: {kind: x}
"""


def test_poolside(tmp_path: Path) -> None:
    write(tmp_path / "poolside" / "settings.yaml", POOLSIDE)
    found = poolside.read(tmp_path)
    assert found.rules[Action.ALLOW] == ["shell(git log *)", "read(src/**)", "write(src/**)", "read(docs/**)"]
    assert found.rules[Action.DENY] == ["shell(curl *)", "read(~/.ssh/**)", "write(~/.ssh/**)"]
    assert found.servers == {"time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}}}
    left = "\n".join(found.left)
    assert all(word in left for word in ("make; rm", "web_search", "an entry of a form", "bad", "https://p.example"))


@pytest.mark.parametrize("text", ["a: [", "!!python/object/apply:os.system ['touch pwned']"])
def test_poolside_files_that_are_no_plain_yaml(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "poolside" / "settings.yaml", text)
    with pytest.raises(SettingsError, match="no YAML"):
        poolside.read(tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_claude(tmp_path: Path) -> None:
    rules = {
        "allow": ["Bash(git log:*)", "Bash(npm test)", "Read(~/notes/**)", "WebFetch(domain:x)", "mcp__docs__search"],
        "deny": ["Read(//etc/**)", "Bash"],
        "ask": ["Edit(src/**)", 3, "Bash("],
    }
    write(tmp_path / ".claude" / "settings.json", json.dumps({"permissions": rules}))
    servers = {"r": {"type": "http", "url": "https://m", "headers": {"A": "b"}}, "x": {"command": "y", "args": "no"}}
    write(tmp_path / ".claude.json", json.dumps({"mcpServers": servers}))
    found = claude.read(tmp_path, {})
    assert found.rules[Action.ALLOW] == ["shell(git log *)", "shell(npm test)", "read(~/notes/**)", "mcp__docs__search"]
    assert (found.rules[Action.DENY], found.rules[Action.ASK]) == (["read(/etc/**)", "shell"], ["write(src/**)"])
    assert found.servers == {"r": {"url": "https://m", "headers": {"A": "b"}, "transport": "http"}}
    assert len(found.left) == 3


def test_codex(tmp_path: Path) -> None:
    text = "model = 'm'\nmodel_provider = 'p'\n[model_providers.p]\nbase_url = 'http://h/v1'\n"
    write(tmp_path / "config.toml", text + "[mcp_servers.a]\ncommand = 'x'\nenv = { K = 'v' }\n")
    rules = """
prefix_rule(pattern=["git", ["log", "show"]], decision="allow")
prefix_rule(pattern=["echo", "a b"])
prefix_rule(pattern=["rm"], decision="forbidden")
prefix_rule(pattern=NAMES)
host_executable(name="git")
"""
    write(tmp_path / "rules" / "a.rules", rules)
    write(tmp_path / "rules" / "b.rules", "this is (")
    found = codex.read(Path("/nowhere"), {"CODEX_HOME": str(tmp_path)})
    assert found.rules[Action.ALLOW] == ["shell(git log *)", "shell(git show *)", "shell(echo 'a b' *)"]
    assert found.rules[Action.DENY] == ["shell(rm *)"]
    assert (found.base_url, found.model, list(found.servers)) == ("http://h/v1", "m", ["a"])
    assert len(found.left) == 2


def test_opencode(tmp_path: Path) -> None:
    text = """{ // mine
      "model": "vl/laguna", "provider": {"vl": {"options": {"baseURL": "http://h:1/v1" /* here */}}},
      "permission": {"edit": "ask", "bash": {"git *": "allow", "*": "deny"}, "webfetch": "deny"},
      "mcp": {"l": {"type": "local", "command": ["a", "b"], "environment": {"A": "//1"}},},
    }"""
    write(tmp_path / "opencode" / "opencode.jsonc", text)
    found = opencode.read(tmp_path)
    assert (found.rules[Action.ALLOW], found.rules[Action.ASK]) == (["shell(git *)"], ["write"])
    assert found.rules[Action.DENY] == []
    assert found.servers == {"l": {"command": "a", "args": ["b"], "env": {"A": "//1"}}}
    assert (found.base_url, found.model) == ("http://h:1/v1", "laguna")
    assert len(found.left) == 2


def test_comments_in_json() -> None:
    assert json.loads(without_comments('{"a": "// no, /* no */ ,]", /* c */ "b": [1, 2,], // d\n}')) == {
        "a": "// no, /* no */ ,]",
        "b": [1, 2],
    }


def test_nothing_is_copied_before_yes_and_what_is_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / ".claude" / "settings.json", '{"permissions": {"allow": ["Bash(ls:*)"]}}')
    write(tmp_path / ".claude.json", '{"mcpServers": {"a": {"command": "new", "env": {"K": "secretvalue"}}}}')
    skill = tmp_path / ".claude" / "skills" / "s"
    write(skill / "SKILL.md", "x")
    (skill / "link").symlink_to("/etc/passwd")
    own = tmp_path / ".config" / "pool" / "config.toml"
    write(own, "# mine\n[approvals]\nallow = ['read']\n[mcp_servers.a]\ncommand = 'old'\n")
    before = own.read_text()
    assert main(["import", "claude"]) == 0
    out = capsys.readouterr().out
    assert "shell(ls *)" in out
    assert "secretvalue" not in out
    assert (own.read_text(), (own.parent / "skills").exists()) == (before, False)
    assert main(["import", "claude", "--yes"]) == 0
    made: dict[str, Any] = tomllib.loads(own.read_text())
    assert made == {"approvals": {"allow": ["read", "shell(ls *)"]}, "mcp_servers": {"a": {"command": "old"}}}
    assert own.read_text().startswith("# mine\n")
    assert [p.name for p in (own.parent / "skills" / "s").iterdir()] == ["SKILL.md"]


def test_nothing_to_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert main(["import", "codex"]) == 0
    assert "nothing of codex was found" in capsys.readouterr().out
