"""The keyring where there is one; where there is none, or none that answers, a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from pool.config.keyrings import Keyring, NoKeyring
from pool.config.toolsecrets import KeptIn, KeptSecret, SecretStore
from tests.config.keyringbackend import FILE, FileKeyring
from tests.config.places import Home

BUS = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}
KEY = "sk-kept-in-the-keyring"


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working keyring; the file that holds what it keeps."""
    monkeypatch.setenv(FILE, str(tmp_path / "entries"))
    yield from used(FileKeyring(), tmp_path / "entries")


def used(backend: KeyringBackend, path: Path) -> Iterator[Path]:
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    yield path
    keyring.set_keyring(before)


def test_secrets_go_into_the_keyring_and_names_into_the_file(tmp_path: Path, entries: Path) -> None:
    store = SecretStore(tmp_path / "user", Keyring(BUS))
    kept, why = store.add(KeptSecret("TOKEN", "MY_TOKEN"), KEY)
    assert (kept.kept, why) == (KeptIn.KEYRING, "")
    assert KEY not in store.path.read_text()
    assert store.value(*store.all()) == KEY
    assert store.remove(kept) == ""
    assert KEY not in entries.read_text()
    with pytest.raises(NoKeyring, match="add it again"):
        store.value(kept)


def test_the_key_of_a_server_comes_from_the_keyring(tmp_path: Path, entries: Path) -> None:
    home = Home(tmp_path)
    url = {"server.base_url": "http://127.0.0.1:8000/v1"}
    home.places.user.mkdir(parents=True)
    home.places.credentials.write_text("[keyring]\nservers = ['127.0.0.1:8000']\n")
    home.places.credentials.chmod(0o600)
    Keyring(BUS).put("server:127.0.0.1:8000", KEY)
    assert home.load(BUS, url).settings.api_key == KEY
    assert home.load(BUS).settings.api_key == ""
    loaded = home.load({}, url)
    assert loaded.settings.api_key == ""
    assert "no session bus (D-Bus), as over SSH; no API key is sent" in loaded.warnings[0]


class Silent(FileKeyring):
    """Waits for somebody who never comes, as a locked one over SSH does."""

    def __init__(self) -> None:
        super().__init__()
        self.given_up = threading.Event()

    def set_password(self, service: str, username: str, password: str) -> None:
        self.given_up.wait()


def test_a_keyring_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    silent = Silent()
    for _ in used(silent, tmp_path):
        store = SecretStore(tmp_path / "user", Keyring(BUS, seconds=0.05))
        kept, why = store.add(KeptSecret("TOKEN", "MY_TOKEN"), KEY)
        assert kept.kept is KeptIn.FILE
        assert "has not answered for 0.05 s" in why
        assert store.path.stat().st_mode & 0o777 == 0o600
    silent.given_up.set()


@pytest.mark.parametrize("env", [{}, {"XDG_RUNTIME_DIR": "/nowhere"}, BUS])
def test_without_one_it_is_said_why(env: dict[str, str]) -> None:
    """The keyring of tests is one that keeps nothing."""
    with pytest.raises(NoKeyring, match="there is no keyring here"):
        Keyring(env).get("anything")
