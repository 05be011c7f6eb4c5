"""What was found, written as a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.agent.configured import settings_for
from pool.config.settings import ServerEnvironment, SettingsError
from pool.lab.doctor.command import main
from pool.lab.doctor.finding import Finding, Status
from pool.lab.doctor.profile import proposal, write
from pool.lab.doctor.subject import Subject
from pool.sim.process import running
from pool.sim.settings import SimSettings
from pool.wire.endpoint import parse_endpoint
from pool.wire.identify import ServerInfo
from pool.wire.transport import Transport

CLOSED = "http://127.0.0.1:9"
OLD = "# mine\n[budgets]\nturns = 7 # few\n\n[profiles.doctor.server]\nmodel = 'old'\nwait_seconds = 5.0\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration, in a home of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "pool" / "config.toml"
    path.parent.mkdir()
    path.write_text(OLD)
    return path


def test_it_is_shown_first_and_then_written(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POOL_CONTEXT_LENGTH", "50000")
    with running(SimSettings()) as sim:
        asked = ["--base-url", sim.url, "--only", "window", "--fix"]
        assert main(asked) == 0
        shown = capsys.readouterr().out
        assert file.read_text() == OLD
        assert "Nothing was written" in shown
        assert main([*asked, "--yes"]) == 0
        written = capsys.readouterr().out
    assert f'server.base_url = "{sim.url}/v1"' in shown
    assert "Written. Use it: pool --profile doctor" in written
    text = file.read_text()
    assert text.startswith("# mine\n[budgets]\nturns = 7 # few\n")
    assert "wait_seconds = 5.0" in text
    monkeypatch.delenv("POOL_CONTEXT_LENGTH")
    settings = settings_for(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path)}, profile="doctor").settings
    assert (settings.base_url, settings.window) == (f"{sim.url}/v1", 50_000)


def test_without_a_server_there_is_nothing_to_write(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", CLOSED, "--only", "window", "--fix", "--yes"]) == 75
    assert "Nothing to write" in capsys.readouterr().out
    assert file.read_text() == OLD


@pytest.mark.parametrize("name", ["a.b", "", "x y"])
def test_names_that_no_profile_has(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--base-url", CLOSED, "--fix", name]) == 2
    assert "name of a profile" in capsys.readouterr().err


def test_what_findings_suggest() -> None:
    def proposed(url: str, window: int, *findings: Finding) -> dict[str, object]:
        subject = Subject(Transport(parse_endpoint(url)), ServerEnvironment(window=window))
        subject.info, subject.model = ServerInfo(window=65_536), "m"
        return proposal((Finding("reachable", Status.OK, ""), *findings), subject)

    slow = Finding("speed", Status.OK, "", data={"tokens_per_second": 18.0})
    inside = Finding("tool-call", Status.WARN, "", data={"markup_in_reasoning": ["<tool_call>"]})
    assert proposed("http://h:1/v1", 0) == {"server.base_url": "http://h:1/v1", "server.model": "m"}
    assert "secretword" not in str(proposed("http://u:secretword@h:1/v1", 0))
    assert proposed("http://h:1/v1", 90_000)["server.window"] == 65_536
    assert proposed("http://h:1/v1", 0, inside)["thinking.level"] == "off"
    assert proposed("http://h:1/v1", 0, slow)["server.idle_seconds"] == 600.0


def test_files_that_cannot_take_it(file: Path) -> None:
    for text in ("this is [no TOML", "profiles = 3\n"):
        file.write_text(text)
        with pytest.raises(SettingsError):
            write(file, "doctor", {"server.model": "m"})
        assert file.read_text() == text
