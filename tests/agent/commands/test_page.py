"""docs/commands.md holds the table of commands as it is."""

from __future__ import annotations

from pathlib import Path

from pool.agent.commands.page import command_table

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"


def test_the_page_holds_the_table() -> None:
    assert command_table() in PAGE.read_text(encoding="utf-8"), (
        "python -m pool.agent.commands.page prints the new table"
    )
