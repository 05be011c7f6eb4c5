"""`pool config` as it is used: changes keep comments, trust is asked for, other agents' files are shown first."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pool.cli.config.command import main

MINE = """\
# what I like
[budgets]   # limits
turns = 5   # few
"""


class Here:
    """A home and a workspace; runs `pool config` in it."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home = folder / "home"
        self.workspace = folder / "checkout"
        self.user = self.home / ".config" / "pool" / "config.toml"
        self.project = self.workspace / ".pool" / "config.toml"
        self.local = self.workspace / ".pool" / "config.local.toml"
        (self.workspace / ".git" / "objects").mkdir(parents=True)
        (self.workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self._capture = capture

    def __call__(self, *args: str) -> tuple[int, str, str]:
        """Exit code, stdout, stderr."""
        code = main(args)
        out, err = self._capture.readouterr()
        return code, out, err

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    made = Here(tmp_path, capsys)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made.home / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.workspace)
    return made


def test_set_keeps_comments_and_order(here: Here) -> None:
    here.write(here.user, MINE)
    here.user.chmod(0o640)
    assert here("set", "budgets.seconds", "60")[0] == 0
    assert here("set", "server.model", "laguna")[0] == 0
    text = here.user.read_text()
    assert text.startswith(MINE.rstrip())
    assert tomllib.loads(text) == {"budgets": {"turns": 5, "seconds": 60}, "server": {"model": "laguna"}}
    assert stat.S_IMODE(here.user.stat().st_mode) == 0o640
    assert here("unset", "budgets.turns")[0] == 0
    assert "# limits" in here.user.read_text()
    assert here("get", "budgets.turns")[1] == "40\n"


def test_a_new_file_is_its_owners(here: Here) -> None:
    here("set", "budgets.turns", "5")
    assert stat.S_IMODE(here.user.stat().st_mode) == 0o600


def test_set_follows_a_link_to_the_users_own_file(here: Here) -> None:
    real = here.home / "dotfiles" / "pool.toml"
    here.write(real, MINE)
    here.user.parent.mkdir(parents=True)
    here.user.symlink_to(real)
    assert here("set", "budgets.turns", "6")[0] == 0
    assert here.user.is_symlink()
    assert "turns = 6   # few" in real.read_text()


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (("approvals.allow", "shell(ls)", "read"), ["shell(ls)", "read"]),
        (("approvals.allow", '["a", "b"]'), ["a", "b"]),
        (("server.headers", '{ "X-A" = "b" }'), {"X-A": "b"}),
        (("context.auto_compact", "off"), False),
        (("sampling.top_k", "server"), "server"),
        (("sampling.temperature", "0.3"), 0.3),
        (("approvals.mode", "always-allow"), "allow-all"),
        (("thinking.level", "1500"), "1500"),
        (("profiles.big.server.model", "x y"), "x y"),
    ],
)
def test_values_of_every_kind(here: Here, words: tuple[str, ...], stored: object) -> None:
    assert here("set", *words)[0] == 0
    value: Any = tomllib.loads(here.user.read_text())
    for part in words[0].split("."):
        value = value[part]
    assert value == stored
    assert here("check")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("budgets.turn", "3"), "did you mean budgets.turns?"),
        (("budgets.turns", "many"), "must be a whole number from 0 on, not 'many'"),
        (("budgets.turns", "1", "2"), "one value"),
        (("server.api_key", '"\n"'), "not the value given"),
        (("approvals.allow", "[1]"), "must be a list of texts"),
        (("profiles.x", "1"), "names no key"),
        (("guards.repeats", "9"), "is a table of keys; name one of them: guards.repeats.note, "),
    ],
)
def test_what_cannot_be_set_changes_nothing(here: Here, words: tuple[str, ...], said: str) -> None:
    code, _, err = here("set", *words)
    assert code == 2
    assert said in err
    assert not here.user.exists()


def test_a_broken_file_is_not_overwritten(here: Here) -> None:
    here.write(here.user, "a = = 1\n")
    code, _, err = here("set", "budgets.turns", "3")
    assert (code, here.user.read_text()) == (2, "a = = 1\n")
    assert "nothing was changed" in err


def test_show_names_origins_and_reads_as_toml(here: Here) -> None:
    here.write(here.user, MINE)
    out = here("show")[1]
    assert f"turns = 5{' ' * 31}  # user: ~/.config/pool/config.toml:3" in out
    assert tomllib.loads(out)["budgets"]["seconds"] == 1800
    rows = json.loads(here("--json", "--changed")[1])
    assert rows == {"budgets.turns": {"value": 5, "origin": {"layer": "user", "place": str(here.user), "line": 3}}}


def test_what_the_user_writes_into_a_checkout_stays_trusted(here: Here) -> None:
    assert here("set", "--project", "budgets.turns", "100")[0] == 0
    assert here("get", "budgets.turns") == (0, "100\n", "")
    here.write(here.project, "approvals.mode = 'allow-all'\n")
    here("set", "--project", "budgets.turns", "200")
    assert here("get", "budgets.turns")[1] == "40\n"


def test_the_local_file_is_kept_out_of_git(here: Here) -> None:
    here("set", "--local", "server.model", "x")
    assert "config.local.toml" in (here.workspace / ".git" / "info" / "exclude").read_text()
    assert here("get", "server.model")[1] == "x\n"


def test_a_folder_that_leads_out_of_the_checkout_is_not_written(here: Here, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (here.workspace / ".pool").symlink_to(tmp_path / "elsewhere")
    code, _, err = here("set", "--project", "budgets.turns", "1")
    assert code == 2
    assert "outside of" in err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_trust_shows_each_command_its_files_and_the_variables_that_would_be_sent(here: Here) -> None:
    hooks = "[hooks.a]\non = 'stop'\ncommand = 'sh check.sh'\n[hooks.b]\non = 'stop'\ncommand = 'make'\n"
    headers = "[web]\nsearch_headers = { A = '${TOKEN}', B = 'a-value' }\n"
    here.write(here.project, hooks + headers)
    (here.workspace / "check.sh").write_text("true\n")
    out = here("trust")[1].splitlines()
    assert '  hooks.a = { on = "stop", command = "sh check.sh" }' in out
    assert '  hooks.b = { on = "stop", command = "make" }' in out
    assert "      files of this checkout that it names: check.sh; read them first" in out
    assert '  web.search_headers = { A = "${TOKEN}", B = "<hidden>" }' in out


def test_trust_shows_what_is_asked_for_and_what_it_would_do(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write(here.project, "server.base_url = 'http://me:pw@evil\\u001b[2J.example'\nbudgets.turns = 9\n")
    code, out, err = here("trust")
    assert code == 2
    assert "your API key go to this server" in out
    assert "no more than you allow now" in out
    assert "\x1b" not in out
    assert "pw" not in out
    assert "--yes" in err
    monkeypatch.setattr("sys.stdin", Terminal("n"))
    assert here("trust")[0] == 1
    monkeypatch.setattr("sys.stdin", Terminal("y"))
    assert here("trust")[0] == 0
    assert here("trust")[1] == "nothing waits for trust\n"
    assert here("untrust")[1] == "trust is taken back\n"
    assert here("get", "server.base_url")[1] == "\n"


class Terminal:
    """Somebody who types one line."""

    def __init__(self, line: str) -> None:
        self._line = line

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1) -> str:
        return self._line + "\n"


def test_a_key_is_kept_for_the_server_and_read_by_its_owner_only(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    here("set", "server.base_url", "http://h:8000/v1")
    read, write = os.pipe()
    os.write(write, b"sk-secret\n")
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        code, out, _ = here("key")
    path = here.user.parent / "credentials.toml"
    assert (code, stat.S_IMODE(path.stat().st_mode)) == (0, 0o600)
    assert tomllib.loads(path.read_text()) == {"keys": {"h:8000": "sk-secret"}}
    shown = out + here("show")[1]
    assert "sk-secret" not in shown
    assert 'api_key = "<hidden>"' in shown
    assert here("key", "--remove")[0] == 0
    assert here("key", "--remove")[0] == 2


def test_edit_opens_the_editor_and_checks(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", f"{sys.executable} -c \"import sys; open(sys.argv[1], 'a').write('turns = 1')\"")
    code, out, _ = here("edit")
    assert code == 0
    assert "there is no key 'turns', so it is ignored; did you mean budgets.turns?" in out
    monkeypatch.setenv("EDITOR", "no-such-editor")
    assert here("edit")[0] == 2


def test_schema_and_reference_are_printed(here: Here) -> None:
    assert json.loads(here("schema")[1])["properties"]["budgets"]["properties"]["turns"]["default"] == 40
    assert "| `turns` |" in here("reference")[1]


def test_usage(here: Here) -> None:
    assert here("nonsense")[0] == 2
    assert here("--help")[0] == 0
    assert here("-C", "/no/such/folder")[0] == 2
