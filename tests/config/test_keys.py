"""Where API keys come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.config.credentials import server_name
from pool.config.settings import SettingsError
from tests.config.places import Home


def keep(home: Home, text: str, mode: int = 0o600) -> None:
    home.places.user.mkdir(parents=True, exist_ok=True)
    home.places.credentials.write_text(text)
    home.places.credentials.chmod(mode)


def test_a_kept_key_goes_to_its_own_server_only(tmp_path: Path) -> None:
    home = Home(tmp_path)
    keep(home, "[keys]\n'127.0.0.1:8000' = 'mine'\n")
    assert home.load(flags={"server.base_url": "http://127.0.0.1:8000/v1"}).settings.api_key == "mine"
    assert home.load(flags={"server.base_url": "http://127.0.0.1:9000/v1"}).settings.api_key == ""


def test_a_file_of_keys_that_others_may_read_is_mended(tmp_path: Path) -> None:
    home = Home(tmp_path)
    keep(home, "[keys]\ndefault = 'mine'\n", 0o640)
    loaded = home.load()
    assert loaded.settings.api_key == "mine"
    assert "others could read this file (mode 0640)" in loaded.warnings[0]
    assert "mine" not in loaded.warnings[0]
    assert home.places.credentials.stat().st_mode & 0o777 == 0o600
    assert not home.load().warnings


def test_what_is_set_latest_counts(tmp_path: Path) -> None:
    home = Home(
        tmp_path, user="server.api_key_env = 'MY_KEY'\n[profiles.p.server]\napi_key_command = 'echo by-command'\n"
    )
    keep(home, "[keys]\ndefault = 'kept'\n")
    env = {"MY_KEY": "by-name"}
    assert home.load(env).settings.api_key == "by-name"
    assert home.load({**env, "POOL_API_KEY": "direct"}).settings.api_key == "direct"
    assert home.load({**env, "POOL_API_KEY": "direct"}, profile="p").settings.api_key == "by-command"


def test_a_variable_that_is_not_set_is_said(tmp_path: Path) -> None:
    loaded = Home(tmp_path, user="server.api_key_env = 'MY_KEY'").load()
    assert loaded.settings.api_key == ""
    assert "MY_KEY, which is not set" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("false", "ended with 1"),
        ("true", "printed nothing"),
        ("no-such-program", "cannot be run"),
        ("'", "cannot be run"),
    ],
)
def test_a_command_that_fails(tmp_path: Path, command: str, said: str) -> None:
    home = Home(tmp_path, user=f'server.api_key_command = "{command}"')
    with pytest.raises(SettingsError, match=said):
        home.load()


def test_names_of_servers() -> None:
    assert server_name("http://user:pw@Host.example:8000/v1") == "host.example:8000"
    assert server_name("https://api.example/v1") == "api.example"
    assert server_name("localhost:8000") == "localhost:8000"
    assert server_name("http://h:notaport") == "h"
