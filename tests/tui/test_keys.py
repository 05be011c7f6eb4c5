"""Keys: names, remapping, and the faults in it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pool.config.kinds import KeyTable
from pool.tui.keypage import key_tables
from pool.tui.keys import APP_KEYS, DEFAULTS, PROMPT_KEYS, RemapError, bound, key_name, shown
from pool_themes import parse

PAGE = Path(__file__).parents[2] / "docs" / "interface.md"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ctrl+r", "ctrl+r"),
        ("Ctrl+R", "ctrl+r"),
        ("control+/", "ctrl+slash"),
        ("shift+alt+Up", "alt+shift+up"),
        ("F5", "f5"),
        ("Esc", "escape"),
        ("PgDn", "pagedown"),
        ("ctrl++", "ctrl+plus"),
        ("alt+question_mark", "alt+question_mark"),
        ("ctrl+underscore", "ctrl+underscore"),
        ("alt+ö", "alt+ö"),
    ],
)
def test_names(written: str, name: str) -> None:
    assert key_name(written) == name


@pytest.mark.parametrize("written", ["x", "shift+x", "?", "crtl+r", "ctrl+", "f99", "", "ctrl+nokey", "\x1b"])
def test_what_is_no_key(written: str) -> None:
    with pytest.raises(RemapError):
        key_name(written)


def test_defaults_name_themselves_and_meet_nowhere() -> None:
    keys = [key for k in (*PROMPT_KEYS, *APP_KEYS) for key in k.keys]
    assert [key_name(k) for k in keys] == [k if "+" not in k else "+".join(k.split("+")) for k in keys]
    assert len(keys) == len(set(keys))
    assert bound(()) == DEFAULTS


def test_a_key_given_to_one_action_is_taken_from_the_other() -> None:
    now = bound((("fold", ("Shift+Enter", "F5")),))
    assert now["fold"] == ("shift+enter", "f5")
    assert now["newline"] == ("ctrl+j", "alt+enter")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((("flod", ("f5",)),), "did you mean 'fold'"),
        ((("zzz", ("f5",)),), "there are"),
        ((("fold", ("hyperspace",)),), "keys.fold: 'hyperspace' is no key"),
        ((("fold", ()),), "keys.fold needs a key"),
        ((("fold", ("f5",)), ("find", ("F5",))), "'f5' is given to 'fold' and to 'find'"),
        ((("fold", ("ctrl+p",)),), "the only key of 'palette'"),
    ],
)
def test_faults_name_the_action_and_the_remedy(given: tuple[tuple[str, tuple[str, ...]], ...], said: str) -> None:
    with pytest.raises(RemapError, match=said):
        bound(given)


def test_two_actions_may_change_keys() -> None:
    now = bound((("fold", ("ctrl+p",)), ("palette", ("ctrl+t",))))
    assert (now["fold"], now["palette"]) == (("ctrl+p",), ("ctrl+t",))


def test_keys_as_people_write_them() -> None:
    assert [shown(k) for k in ("ctrl+j", "f1", "escape", "ctrl+slash")] == ["Ctrl+J", "F1", "Esc", "Ctrl+/"]


def test_the_page_holds_the_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert key_tables() in text, "python -m pool.tui.keypage prints the new tables"
    examples = re.findall(r"```toml\n(\[keys\]\n.*?)```", text, re.DOTALL)
    assert examples
    for example in examples:
        bound(KeyTable().read(tomllib.loads(example)["keys"]))


def test_the_theme_of_the_page_is_one() -> None:
    (example,) = re.findall(r"```toml\n(base.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert parse("mine", example).title == "Mine"
