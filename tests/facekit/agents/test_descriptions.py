"""Descriptions of agents: Pool's own are whole, the user's count before them, faults are said with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.cli.agents import main as agents
from pool.cli.main import main
from pool.facekit.agents.descriptions import OWN_FOLDER, AgentError, agent_named, agent_names, read_description

KNOWN = ("claude", "codex", "gemini", "hermes", "opencode", "poolside", "vibe")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f".:{tmp_path / 'bin'}")
    folder = tmp_path / "pool" / OWN_FOLDER
    folder.mkdir(parents=True)
    return folder


def test_pools_own_descriptions_are_whole(own: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(own.parent.parent)}
    assert agent_names(env) == KNOWN
    for name in KNOWN:
        agent = agent_named(name, env)
        assert agent.title
        assert agent.install
        assert agent.login


def test_the_users_own_count_first(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = own.parent.parent / "bin" / "mine"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (own / "gemini.toml").write_text('command = ["mine", "--acp"]\n[env]\nA = "b"\n')
    (own / "broken.toml").write_text("command = []\n")
    assert agents([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"gemini    gemini; installed: {program}" in lines
    assert any(line.startswith("broken    cannot be used:") for line in lines)
    assert agents(["gemini"]) == 0
    assert "variables    A" in capsys.readouterr().out


def test_a_program_is_never_taken_from_the_working_folder(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own)
    (own / "mine").write_text("#!/bin/sh\n")
    (own / "mine").chmod(0o755)
    for command in ("mine", "./mine"):
        (own / "here.toml").write_text(f'command = ["{command}"]\n')
        assert agent_named("here", {"XDG_CONFIG_HOME": str(own.parent.parent)}).program({"PATH": "."}) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("command = [", "is no TOML"),
        ('command = "x"', "command has to be a list"),
        ('command = ["x", 1]', "command has to be a list"),
        ('command = ["x"]\nfiles = "no"', "files has to be true or false"),
        ('command = ["x"]\nenv = ["A"]', "env has to be a table"),
        ('command = ["x"]\n[env]\nA = 1', "env has to be a table"),
        ('command = ["x"]\ntitle = 1', "title has to be a text"),
        ('command = ["x"]\nsandbox = false', "not known: sandbox"),
        ("#" * 70_000, "more than 65,536 bytes"),
    ],
)
def test_faults_are_said_with_their_place(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(AgentError, match=why) as caught:
        read_description(file)
    assert str(file) in str(caught.value)


def test_an_agent_that_is_not_there_is_refused_before_the_interface_opens(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--agent", "nobody"]) == 2
    assert "no agent is called 'nobody'" in capsys.readouterr().err
    assert main(["--agent", "gemini"]) == 2
    assert "npm install -g @google/gemini-cli" in capsys.readouterr().err
    assert main(["--agent", "gemini", "--sandbox", "required", "--plan"]) == 2
    assert "--plan, --sandbox would hold for Pool's own agent only" in capsys.readouterr().err
