from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pool_tools.sandbox.base import Policy
from pool_tools.sandbox.probe import probe
from pool_tools.secretfiles import HiddenFiles, is_secret_file, looks_secret

from .conftest import Desk, make_desk, missing


@pytest.mark.parametrize(
    "name",
    [".env", ".ENV", ".env.local", ".env.production", "server.pem", "tls.KEY", "id_rsa", "id_ed25519", "id_work_2",
     "secrets.yaml", "credentials.json", "service-account-7.json", ".netrc"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    [".env.example", ".env.sample", "env.py", ".environment", "id_rsa.pub", "id_map.py", "id_", "key.py", "pem.txt",
     "secrets.py", "secrets.yaml.template", "config.json", "", "."],
)  # fmt: skip
def test_names_that_are_none(name: str) -> None:
    assert not looks_secret(name)


def test_a_secret_file_is_there_or_led_to_by_a_link(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("K=1")
    (tmp_path / "settings").symlink_to(".env")
    (tmp_path / "id_folder").mkdir()
    assert is_secret_file(str(tmp_path / "settings"))
    for name in ("id_rsa", "id_folder", ".env/x", "\0"):
        assert not is_secret_file(str(tmp_path / name))


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that keeps one certificate, with secrets beside it, in a folder and in a repository in it."""
    for name in ("tests/cert.pem", ".env", "deploy/id_rsa", "node_modules/x/.env", "inner/.env", ".env.example"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "tests")
    git(tmp_path / "inner", "init", "-q")
    git(tmp_path / "inner", "add", ".env")
    return tmp_path


def test_what_git_keeps_and_dependencies_are_not_hidden(checkout: Path) -> None:
    assert list(HiddenFiles(checkout)) == [checkout / ".env", checkout / "deploy/id_rsa"]
    git(checkout, "update-index", "--index-version=4")
    assert list(HiddenFiles(checkout)) == [checkout / ".env", checkout / "deploy/id_rsa"]


def test_what_is_allowed_or_shown_is_not_hidden_any_more(checkout: Path) -> None:
    hidden = HiddenFiles(checkout)
    hidden.allowed = lambda path: path.name == "id_rsa"
    assert (list(hidden), len(hidden)) == ([checkout / ".env"], 1)
    hidden.show(checkout / ".env")
    assert not list(hidden)
    assert checkout / ".env" not in hidden


async def test_commands_see_nothing_of_a_hidden_file_until_it_is_shown(checkout: Path) -> None:
    hidden = HiddenFiles(checkout)
    found = probe(Policy((checkout,), hidden=hidden))
    if found.tier != "bubblewrap":
        missing(f"no bubblewrap here: {found.reason}")
    for here in make_desk(checkout, found.sandbox):
        assert (
            "secret" not in (await here.call("shell", command="cat .e*v deploy/*; git status --short >/dev/null")).text
        )
        hidden.show(checkout / ".env")
        assert "secret" in (await here.call("shell", command="cat .e*v")).text
        assert (checkout / ".env").read_text() == "secret\n"


async def test_search_leaves_them_out_and_says_so(desk: Desk) -> None:
    desk.file(".env", "KEY=1\n")
    desk.file("a.py", "KEY = 2\n")
    found = (await desk.call("search", pattern="KEY")).text
    assert found.startswith("a.py:1:KEY = 2")
    assert "left out, as they look like secrets: .env; name one" in found
    assert "KEY=1" not in found
    assert ".env:1:KEY=1" in (await desk.call("search", pattern="KEY", path=".env")).text


def forge(checkout: Path, name: str) -> None:
    """What a command can do: an entry in the index for a file that it has never seen."""
    (checkout / "a").write_text("x\n")
    made = subprocess.run(["git", "hash-object", "-w", "a"], cwd=checkout, check=True, capture_output=True, text=True)
    git(checkout, "update-index", "--add", "--cacheinfo", f"100644,{made.stdout.strip()},{name}")
    git(checkout, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "forged")


def test_a_forged_entry_shows_nothing_that_was_hidden(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = tmp_path_factory.mktemp("state") / "hidden/x.json"
    assert list(HiddenFiles(checkout, before)) == [checkout / ".env", checkout / "deploy/id_rsa"]
    forge(checkout, ".env")
    forge(checkout, "deploy/id_rsa")
    assert list(HiddenFiles(checkout, before)) == [checkout / ".env", checkout / "deploy/id_rsa"]
    (checkout / "deploy").rename(checkout / "moved")
    forge(checkout, "moved/id_rsa")
    assert list(HiddenFiles(checkout, before)) == [checkout / ".env", checkout / "moved/id_rsa"]
    assert before.stat().st_mode & 0o777 == 0o600
    before.write_text("[[7]]")
    assert list(HiddenFiles(checkout, before)) == [], "without that list an entry is believed"


def test_what_the_user_adds_is_shown_and_stays_so(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = tmp_path_factory.mktemp("state") / "x.json"
    (checkout / ".env").write_bytes(b"a\r\nb\r\n")
    assert len(HiddenFiles(checkout, before)) == 2
    git(checkout, "-c", "core.autocrlf=input", "add", ".env")
    assert list(HiddenFiles(checkout, before)) == [checkout / "deploy/id_rsa"]
    (checkout / ".env").write_text("changed\n")
    (checkout / "tests/cert.pem").write_text("changed\n")
    assert list(HiddenFiles(checkout, before)) == [checkout / "deploy/id_rsa"]


def test_nothing_is_remembered_where_it_cannot_be_written(checkout: Path) -> None:
    (checkout / "file").touch()
    assert len(HiddenFiles(checkout, checkout / "file/x.json")) == 2
