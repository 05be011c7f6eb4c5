"""What every request carries before the conversation begins must stay small."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pool.agent.firstrequest import first_request
from pool.config.settings import Settings
from pool.wire.tokens import count_offline

ROOT = Path(__file__).parents[2]

ROUNDED = 60
"""How far README's figure, which is rounded to hundreds, may be from the truth."""

PROMPT_TOKENS = 2_500
"""What all built-in tools and the system prompt may cost together, in tokens of cl100k."""


def first(workspace: Path) -> dict[str, Any]:
    settings = Settings(base_url="http://127.0.0.1:8000/v1", workspace=workspace)
    return json.loads(first_request(settings, "model", "hello"))


def test_tools_and_system_prompt_are_small(tmp_path: Path) -> None:
    request = first(tmp_path)
    system = request["messages"][0]
    assert system["role"] == "system"
    tokens = count_offline(json.dumps(request["tools"])) + count_offline(system["content"])
    assert tokens < PROMPT_TOKENS
    told = re.search(r"before your first word \| ([\d,]+) \|", (ROOT / "README.md").read_text("utf-8"))
    assert told is not None
    assert abs(int(told[1].replace(",", "")) - tokens) <= ROUNDED


def test_tools_stand_in_their_order_and_take_text_as_plain_strings(tmp_path: Path) -> None:
    """Servers take a parameter's text as it is only where its type is `string` and nothing else."""
    functions: dict[str, dict[str, Any]] = {
        tool["function"]["name"]: tool["function"] for tool in first(tmp_path)["tools"]
    }
    assert list(functions) == ["read", "write", "edit", "list", "search", "shell", "job", "git", "ask", "todo", "task"]
    for tool, parameter in (
        ("write", "content"),
        ("edit", "old_text"),
        ("edit", "new_text"),
        ("shell", "command"),
        ("job", "command"),
        ("git", "message"),
    ):
        assert functions[tool]["parameters"]["properties"][parameter]["type"] == "string"
