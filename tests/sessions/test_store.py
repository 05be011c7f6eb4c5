"""Listing sessions: what is no session, or a damaged one, is no obstacle to the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pool.sessions.log import read_rows
from pool.sessions.store import NoSuchSession, by_id, last_of, listed

HEADER = {"type": "session", "v": 1, "id": "good", "workspace": "/w", "created": 1.0}
NESTED = b"[" * 200_000


def test_a_line_that_is_nested_too_deeply_is_skipped(tmp_path: Path) -> None:
    good = json.dumps(HEADER).encode()
    started = json.dumps({"type": "run.started", "prompt": "fix it\nnow"}).encode()
    (tmp_path / "good.jsonl").write_bytes(good + b"\n" + NESTED[:1000] + b"\n" + started + b"\n")
    (tmp_path / "nested.jsonl").write_bytes(NESTED + b"\n")
    assert [(one.id, one.prompt) for one in listed(tmp_path)] == [("good", "fix it")]
    rows, _ = read_rows(good + b"\n" + NESTED + b"\n" + started + b"\n")
    assert [row["type"] for row in rows] == ["session", "run.started"]


@pytest.mark.parametrize("odd", [{"v": "x"}, {"v": None}, {"created": "x"}, {"created": None}, {"created": 10**400}])
def test_a_header_with_odd_values_hides_no_other_session(odd: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text(json.dumps(HEADER) + "\n")
    (tmp_path / "odd.jsonl").write_text(json.dumps({**HEADER, "id": "odd", **odd}) + "\n")
    assert "good" in [one.id for one in listed(tmp_path)]


def test_a_session_whose_first_line_is_lost_is_found_by_its_files_name(tmp_path: Path) -> None:
    started = json.dumps({"type": "run.started", "prompt": "fix it", "workspace": "/w", "wall": 5.0}).encode()
    (tmp_path / "0199-abcd.jsonl").write_bytes(b'{"type":"sess\n' + started + b"\n")
    (tmp_path / "0199-abce.jsonl").write_bytes(started + b"\n")
    (tmp_path / "0199-abcf.jsonl").write_bytes(b"\xff\n" * 9)
    for end in ("abcd", "abce"):
        one = by_id(tmp_path, end)
        assert (one.id, one.workspace, one.created, one.prompt) == (f"0199-{end}", "/w", 5.0, "fix it")
    assert last_of(tmp_path, "/w").id in ("0199-abcd", "0199-abce")
    with pytest.raises(NoSuchSession):
        by_id(tmp_path, "abcf")
