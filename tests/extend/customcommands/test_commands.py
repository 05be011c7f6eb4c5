"""Custom commands: what becomes of their text, which files are some, and which names they cannot have."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.extend.customcommands.command import CustomCommand, read_command
from pool.extend.customcommands.finding import FoundCommands, find_commands
from tests.extend.skills.desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    return desk


@pytest.mark.parametrize(
    ("body", "typed", "prompt"),
    [
        ("Review $ARGUMENTS.", "src  lib", "Review src  lib."),
        ("From $1 to $2.", "'a b' c d", "From a b to c."),
        ("From $1 to $2.", "a", "From a to ."),
        ("Say $1 $1.", "it's", "Say it's it's."),
        ("Say $1.", "'$2 $ARGUMENTS'", "Say $2 $ARGUMENTS."),
        ("No places.", "more words", "No places.\n\nmore words"),
        ("No places.", "", "No places."),
        ("It costs $10 and $ARGUMENTSX.", "", "It costs $10 and $ARGUMENTSX."),
    ],
)
def test_what_was_typed_is_put_in_once(body: str, typed: str, prompt: str) -> None:
    assert CustomCommand("x", "", "", body, "here").prompt(typed) == prompt


def test_front_matter_is_optional(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ndescription: Fix it\nargument-hint: [FILE] [LINE]\n---\nFix $1.")
    (tmp_path / "b.md").write_text("\n# Tidy up\n\nTidy.")
    (tmp_path / "c.md").write_text("---\nargument-hint: '[FILE]'\ndescription: >\n  Two\n  lines\n---\nx")
    one = read_command(tmp_path, "a.md", "here")
    assert (one.description, one.hint, one.body) == ("Fix it", "[FILE] [LINE]", "Fix $1.")
    assert read_command(tmp_path, "b.md", "here").description == "Tidy up"
    folded = read_command(tmp_path, "c.md", "here")
    assert (folded.description, folded.hint) == ("Two lines", "[FILE]")


def find(desk: Desk) -> FoundCommands:
    return find_commands(desk.work, desk.places, frozenset({"undo", "exit"}))


def test_a_checkouts_count_after_trust_and_then_come_first(desk: Desk) -> None:
    desk.command("home/.config/pool/commands/review.md", "Mine.")
    theirs = desk.command("work/.pool/commands/review.md", "Theirs.")
    assert [c.body for c in find(desk).commands] == ["Mine."]
    assert [c.place for c in find(desk).waiting] == [".pool/commands/review.md"]
    desk.trust()
    assert [c.body for c in find(desk).commands] == ["Theirs."]
    theirs.write_text("Theirs, changed.")
    assert [c.body for c in find(desk).commands] == ["Mine."]


def test_what_is_no_command_is_said(desk: Desk, tmp_path: Path) -> None:
    folder = "home/.config/pool/commands"
    (tmp_path / "secret").write_text("secret")
    for name, text in {
        "undo.md": "x",
        "exit.md": "x",
        "Big.md": "x",
        "no text.md": "x",
        "empty.md": " \n",
        "escape.md": "a\x1b[2Jb",
        "good.md": "Good.",
        "notes.txt": "not a command",
    }.items():
        desk.command(f"{folder}/{name}", text)
    (desk.user / "commands" / "link.md").symlink_to(tmp_path / "secret")
    found = find(desk)
    assert [c.name for c in found.commands] == ["good"]
    said = {fault.place.rpartition("/")[2]: fault.text for fault in found.faults}
    assert "/undo is a command of Pool's own" in said["undo.md"]
    assert "/exit is a command of Pool's own" in said["exit.md"]
    assert "rename the file" in said["Big.md"]
    assert "rename the file" in said["no text.md"]
    assert "no text that could be a prompt" in said["empty.md"]
    assert "control characters" in said["escape.md"]
    assert "leads out" in said["link.md"]
