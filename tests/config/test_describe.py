"""The table of keys, and what is made from it: the schema, the page, values as TOML."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.cli.config.papers import placed
from pool.config.describe import schema, toml
from pool.config.files import read_source
from pool.config.guards import GuardSettings
from pool.config.keys import keys, tables
from pool.config.keytable import MODES, SANDBOXES
from pool.config.merge import defaults, field_paths
from pool.config.profiles import BUILT_IN_PROFILES, INTERACTIVE
from pool.config.settings import Mode, SandboxChoice, Settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "configuration.md"

NOT_FROM_FILES = {
    *("workspace", "trace", "continue_last", "resume", "fork", "ephemeral", "only_tools", "without_tools", "unseen"),
    *("keep_mode", "server_named", "notices"),
    "parent",
}
"""What belongs to one run: flags alone set it, or the session that starts another."""

BY_LEVEL = {"thinking"}
"""Set by `thinking.level`."""


def test_every_setting_has_a_key() -> None:
    """A new field of `Settings` needs a row in the table of keys (or its name above), and docs made anew."""
    fields = set(field_paths(Settings(Path())))
    assert fields - {key.field for key in keys().values()} - NOT_FROM_FILES - BY_LEVEL == set()
    assert {key.field for key in keys().values() if key.field} - fields == set()


def test_every_key_is_described_and_stands_in_a_known_table() -> None:
    for key in keys().values():
        assert key.table in tables(), key.name
        assert key.doc.endswith("."), key.name
        assert (
            key.danger
            or not key.trust.widens
            or key.name.startswith("server.")
            or key.table == "agents_md"
            or (key.table in ("thinking", "context"))
        ), key.name
        if defaults()[key.name] not in (None, "", (), {}):
            assert toml(defaults()[key.name], key.kind), key.name


def test_the_orders_hold_every_choice() -> None:
    assert set(MODES) == set(Mode)
    assert set(SANDBOXES) == set(SandboxChoice)


def test_the_profiles_hold_valid_values() -> None:
    for values in (*BUILT_IN_PROFILES.values(), INTERACTIVE):
        assert {name: keys()[name].kind.read(value) for name, value in values.items()} == values


def test_defaults_pass_their_own_kinds() -> None:
    for name, key in keys().items():
        value = defaults()[name]
        if value not in (None, "", ()):
            assert key.kind.read(value) == value, name
    assert GuardSettings().repeats.note == defaults()["guards.repeats.note"]


def test_the_page_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert placed(text, PAGE.name) == text, "make it anew: pool config reference --into docs/configuration.md"


def test_the_examples_of_the_page_are_valid(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(examples) >= 2
    for example in examples:
        (tmp_path / "config.toml").write_text(example)
        source = read_source("system", tmp_path / "config.toml")
        assert source is not None
        assert (source.errors, source.warnings) == ([], [])
        jsonschema.validate(tomllib.loads(example), schema())


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", ":".join(str(ROOT / p) for p in (".", "tools", "themes")))
    monkeypatch.setenv("EDITOR", "true")
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = f'set -e\npool() {{ {sys.executable} -m pool "$@"; }}\n{block}'
    folder = tmp_path / "project"
    folder.mkdir()
    done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert "turns = 60" in (folder / ".pool" / "config.toml").read_text()


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({}, True),
        ({"budgets": {"turns": 3}}, True),
        ({"budgets": {"turns": "3"}}, False),
        ({"budgets": {"truns": 3}}, False),
        ({"profiles": {"a": {"approvals": {"mode": "plan"}}}}, True),
        ({"profiles": {"a": {"profile": "b"}}}, False),
        ({"locked": {"sandbox": {"use": "required"}}}, True),
        ({"sampling": {"temperature": "server", "extra": {"min_p": 0.1}}}, True),
        ({"sampling": {"extra": {"messages": "x"}}}, False),
        ({"mcp_servers": {"a": {"command": "x"}}}, True),
        ({"mcp_servers": {"a": {"command": "x", "url": "y"}}}, False),
    ],
)
def test_the_schema_says_what_the_reader_says(tmp_path: Path, given: dict[str, Any], valid: bool) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert jsonschema.Draft202012Validator(schema()).is_valid(given) is valid  # pyright: ignore[reportUnknownMemberType]
    (tmp_path / "config.toml").write_text("\n".join(f"{name} = {toml(value)}" for name, value in given.items()))
    source = read_source("system", tmp_path / "config.toml")
    assert source is not None
    assert (source.errors + source.warnings == []) is valid


PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
NESTED = st.recursive(PLAIN, lambda inner: st.dictionaries(st.text(), inner, max_size=3), max_leaves=5)


@given(NESTED)
def test_values_come_back_from_toml(value: object) -> None:
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value
