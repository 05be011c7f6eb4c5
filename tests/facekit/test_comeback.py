"""How to come back to a session: what can be typed where Pool was started."""

from __future__ import annotations

from pathlib import Path

import pytest

from pool.config.settings import Settings
from pool.facekit.comeback import come_back

ID = "01a22f2b-9cde-74a2-a1c9-c06a301a882b"


@pytest.mark.parametrize(
    ("base_url", "named", "server"),
    [
        ("http://spark:8123/v1", True, "--base-url http://spark:8123/v1 "),
        ("http://spark:8123/v1", False, ""),
        ("", True, ""),
        ("http://me:secret@spark:8123/v1", True, ""),
        ("http://spark:8123/v1?key=secret", True, ""),
    ],
)
def test_a_server_that_was_named_for_this_time_is_named_again(base_url: str, named: bool, server: str) -> None:
    settings = Settings(Path.cwd(), base_url=base_url, server_named=named)
    assert come_back("pool", ID, settings) == f"pool {server}-r {ID}"


def test_a_folder_is_named_where_it_is_another() -> None:
    assert come_back("pool chat", ID, Settings(Path("/a b"))) == f"pool chat -C '/a b' -r {ID}"
