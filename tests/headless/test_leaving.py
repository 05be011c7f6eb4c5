"""`--model PROFILE:ID`, and that nothing local goes to a hosted server unasked. The examples of docs/models.md."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import pytest

from pool.config.files import read_source
from pool.config.settings import Settings, SettingsError
from pool.events import Envelope, Event, RunStarted
from pool.headless.command import parser, show_prompt
from pool.headless.configured import settings_from
from pool.headless.leaving import profile_and_model
from pool.sessions.log import Header, SessionLog
from pool.sessions.store import sessions_folder

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of a user whose configuration is that of the page."""
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("EXAMPLE_KEY", "sk-of-the-example")
    own = tmp_path / "config" / "pool" / "config.toml"
    own.parent.mkdir(parents=True)
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    own.write_text(text)
    source = read_source("user", own)
    assert source is not None
    assert (source.errors, source.warnings) == ([], [])
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def settings(*flags: str) -> Settings:
    return settings_from(parser().parse_args([*flags, "x"]), program="pool run")


def test_the_examples_of_the_page_run(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in script.splitlines():
        assert show_prompt(shlex.split(line)[2:]) == 0
        body = json.loads(capsys.readouterr().out)
        assert (body["model"], body["temperature"]) == ("laguna-m.1", 0.6)
        assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_hosted_profile_needs_a_word(work: Path) -> None:
    with pytest.raises(SettingsError, match=r"api\.example\.com is not on this machine .* --allow-hosted allows it"):
        settings("--model", "hosted:")
    found = settings("--model", "hosted:other", "--allow-hosted")
    assert (found.model, found.base_url, found.api_key) == ("other", "https://api.example.com/v1", "sk-of-the-example")
    # Who names the server himself has said it.
    assert settings("--profile", "hosted").model == "laguna-m.1"
    assert settings("--base-url", "https://api.example.com").server_named
    assert profile_and_model(work, "", "laguna:latest") == ("", "laguna:latest")
    with pytest.raises(SettingsError, match="name two profiles"):
        settings("--profile", "spark", "--model", "hosted:")


@pytest.mark.parametrize(("server", "asks"), [("http://127.0.0.1:8000/v1", True), ("https://a.example.org/v1", False)])
def test_a_local_session_that_goes_on_elsewhere_needs_a_word(work: Path, server: str, asks: bool) -> None:
    with SessionLog.create(sessions_folder(), Header("s1", str(work), time.time(), "0"), print) as log:
        log.append(
            Event(Envelope("s1", "r", 0, 0, time.time(), 0.0), RunStarted("x", str(work), "m", server, "auto", ""))
        )
    flags = ("--profile", "hosted", "-c")
    if asks:
        with pytest.raises(SettingsError, match="the whole conversation, with the contents of files"):
            settings(*flags)
    assert settings(*flags, *(["--allow-hosted"] if asks else [])).continue_last
