"""`pool themes`: what it lists and shows, on a terminal and off it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pool.cli import themes
from pool_themes import ROLES, load, names
from tests.tui.terminal import POOL, Terminal


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "pool" / "themes"
    folder.mkdir(parents=True)
    return folder


def test_all_themes_are_listed_the_users_too(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "mine.toml").write_text('base = "paper"\ntitle = "\x1b[31mMine"\n'.replace("\x1b", "\\u001b"))
    (own / "bad.toml").write_text("no")
    assert themes.main([]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == sorted([*names(), "mine", "bad"])
    assert "\\x1b[31mMine, your own" in out
    assert "has a fault: theme bad: not TOML" in out
    assert "\x1b" not in out


def test_a_theme_is_shown_by_its_roles_where_there_is_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    assert themes.main(["paper"]) == 0
    out = capsys.readouterr().out
    assert all(f"{role} " in out for role in ROLES)
    assert load("paper").colours.accent in out


def test_a_theme_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert themes.main(["nope"]) == 2
    assert "there are clear-dark" in capsys.readouterr().err


def test_the_file_of_a_theme_is_a_beginning(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert themes.main(["--toml", "deep"]) == 0
    (own / "mine.toml").write_text(capsys.readouterr().out)
    assert load("mine", own).colours == load("deep").colours


@pytest.mark.parametrize(
    "env", [{"COLORTERM": ""}, {"COLORTERM": "truecolor"}, {"NO_COLOR": "1"}, {"TERM": "linux", "COLORTERM": ""}]
)
def test_in_a_terminal(tmp_path: Path, env: dict[str, str]) -> None:
    with Terminal([*POOL, "themes", "pool-light", "sixteen-dark"], cwd=tmp_path, env=env, rows=60) as terminal:
        assert terminal.wait_end() == 0
        terminal.wait_for("sixteen-dark")
        raw = bytes(terminal.raw)
    true = re.findall(rb"38;2;(\d+;\d+;\d+)", raw)
    assert bool(true) is (env.get("COLORTERM") == "truecolor")
    assert bool(re.search(rb"38;5;\d+", raw)) is (env == {"COLORTERM": ""})
    assert (b"\x1b" in raw) is ("NO_COLOR" not in env)
    assert b"sixteen-dark" in raw


@pytest.mark.parametrize(
    ("colour", "place"),
    [((255, 255, 255), 231), ((0, 0, 0), 16), ((8, 8, 8), 232), ((255, 0, 0), 196), ((128, 128, 128), 244)],
)
def test_the_nearest_of_256(colour: tuple[int, int, int], place: int) -> None:
    assert themes.nearest(*colour) == place
