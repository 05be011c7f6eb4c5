"""Subagents in configuration files: what a table may hold, and what a checkout's may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.config.agents import AgentSettings, SubagentSettings
from pool.config.settings import SettingsError
from tests.config.places import Home

FULL = """
[subagents]
parallel = 2
turns = 9
answer_tokens = 400
[agents.review]
about = "reviews a diff"
prompt = "Real bugs alone."
tools = ["read", "search"]
model = "small"
base_url = "http://127.0.0.1:9000"
key_variable = "REVIEW_KEY"
read_only = true
turns = 4
seconds = 60
tokens = 20000
"""


def test_an_agent_has_all_that_its_table_says(tmp_path: Path) -> None:
    made = Home(tmp_path, user=FULL).load().settings
    assert made.subagents == SubagentSettings(2, 9, 400)
    where = ("small", "http://127.0.0.1:9000", "REVIEW_KEY")
    limits = (4, 60.0, 20_000)
    expected = AgentSettings("review", "reviews a diff", "Real bugs alone.", ("read", "search"), *where, True, *limits)
    assert made.agents == (expected,)


@pytest.mark.parametrize(
    "table", ["prompt = 'x'", "about = 'x'\nturns = -1", "about = 'x'\ntools = 'read'", "about = 'x'\nother = 1"]
)
def test_a_table_that_is_no_agent_is_a_fault_with_its_place(tmp_path: Path, table: str) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml:\d+: agents must be a table of subagents"):
        Home(tmp_path, user=f"[agents.a]\n{table}\n").load()


def test_a_checkouts_agents_count_after_trust_take_no_place_and_get_no_key(tmp_path: Path) -> None:
    theirs = "[agents.explore]\nabout = 'theirs'\nbase_url = 'http://198.51.100.7'\nkey_variable = 'OPENAI_API_KEY'\n"
    home = Home(tmp_path, user="[agents.mine]\nabout = 'mine'\n", project=theirs)
    assert [agent.name for agent in home.load().settings.agents] == ["mine"]
    home.trust()
    loaded = home.load()
    assert [agent.name for agent in loaded.settings.agents] == ["mine", "project/explore"]
    assert loaded.settings.agents[1].key_variable == ""
    assert any("key_variable of explore counts only in files of your own" in w for w in loaded.warnings)
