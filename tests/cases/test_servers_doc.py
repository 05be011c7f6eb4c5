"""`docs/servers.md`, with its remedies in `docs/troubleshooting.md`, names all that Pool knows of servers.

That is every server, every field that Pool sends, and only options that there are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pool.config.settings import Settings
from pool.headless.command import parser
from pool.lab.doctor.examine import CHECKS
from pool.wire.dialects import DIALECTS, Dialect, ServerKind

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("servers.md", "troubleshooting.md"))
KNOWN = [dialect for kind, dialect in DIALECTS.items() if kind is not ServerKind.GENERIC]
NAMES = {ServerKind.MLX: "mlx-lm"}
"""What the page calls a server where that differs from the dialect's name."""


def sent(dialect: Dialect) -> dict[str, Any]:
    """The request fields that only some servers get."""
    fields = {**dialect.thinking_on, **dialect.thinking_off, **dialect.repetition_detection}
    fields |= {**dialect.reasoning_control, **(dialect.continue_message or {})}
    if dialect.continuous_usage:
        fields["continuous_usage_stats"] = True
    if dialect.structural_tags:
        fields["structural_tag"] = True
    return fields


@pytest.mark.parametrize("dialect", KNOWN, ids=[dialect.kind.value for dialect in KNOWN])
def test_each_server_and_its_fields_are_named(dialect: Dialect) -> None:
    assert NAMES.get(dialect.kind, dialect.name) in PAGE
    missing = [field for field in sent(dialect) if not re.search(rf"`[^`]*{re.escape(field)}[^`]*`", PAGE)]
    assert missing == []
    assert [host for host in dialect.hosts if f"`{host}`" not in PAGE] == []


def test_commands_on_the_page_are_real() -> None:
    checks = {check.name for check in CHECKS}
    assert set(re.findall(r"pool doctor --only ([\w-]+)", PAGE)) <= checks
    usage = parser().format_help()
    ours = {"--wait-server", "--trace", "--thinking"}
    assert all(flag in usage for flag in ours)
    assert all(flag in PAGE for flag in ours)


def test_the_waits_on_the_page_are_the_settings() -> None:
    assert "a minute for a server that was there before" in PAGE
    assert Settings(Path()).wait_server_seconds == 60.0
