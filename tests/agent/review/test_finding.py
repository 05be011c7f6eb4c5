"""Where findings stand: in the diff, beside it, outside of it."""

from __future__ import annotations

from typing import Any

import pytest

from pool.agent.review.finding import FORM, Place, placed, ranked
from pool.agent.review.patch import Change, FilePatch, numbered

LINES = [(" ", "one"), ("-", "gone"), (" ", "two"), ("+", "new"), (" ", "three")]
FILES = {
    "src/a.py": FilePatch("src/a.py", Change.MODIFIED, (numbered(LINES, 10),)),
    "old.py": FilePatch("old.py", Change.DELETED, (numbered([("-", "x")], 1),)),
}


def row(file: str, line: int, **more: Any) -> dict[str, Any]:
    words = {"severity": "high", "kind": "correctness", "title": "Wrong", "reason": "So."}
    return {"file": file, "line": line, **words, **more}


@pytest.mark.parametrize(
    ("file", "line", "more", "place"),
    [
        ("src/a.py", 12, {}, Place.CHANGED),
        ("src/a.py", 11, {}, Place.CHANGED),  # what stood before it is gone
        ("src/a.py", 10, {}, Place.CONTEXT),
        ("src/a.py", 10, {"end_line": 12}, Place.CHANGED),
        ("src/a.py", 16, {}, Place.CONTEXT),
        ("src/a.py", 17, {}, Place.OUTSIDE),
        ("src/a.py", 6, {}, Place.OUTSIDE),
        ("a.py", 12, {}, Place.CHANGED),
        ("b/src/a.py", 12, {}, Place.CHANGED),
        ("/home/me/src/a.py", 12, {}, Place.CHANGED),
        ("other.py", 12, {}, Place.OUTSIDE),
        ("old.py", 1, {}, Place.CHANGED),
    ],
)
def test_a_cited_line_is_looked_up(file: str, line: int, more: dict[str, Any], place: Place) -> None:
    (found,) = placed([row(file, line, **more)], FILES)
    assert found.place is place
    assert (found.file in FILES) is (file != "other.py")
    assert bool(found.why_outside) is (place is Place.OUTSIDE)


def test_the_quote_is_the_line_as_it_is() -> None:
    assert placed([row("src/a.py", 12)], FILES)[0].quote == "new"


def test_the_same_twice_is_one_and_the_worst_is_first() -> None:
    rows = [row("x.py", 1), row("src/a.py", 12, severity="low"), row("src/a.py", 12, title="WRONG "), row("old.py", 1)]
    found = ranked(placed(rows, FILES))
    assert [(f.at, f.severity.value) for f in found] == [
        ("old.py:1", "high"),
        ("src/a.py:12", "low"),
        ("x.py:1", "high"),
    ]


def test_the_form_is_one_that_servers_can_constrain_to() -> None:
    """Every object names all that it may hold."""
    item = FORM["properties"]["findings"]["items"]
    assert set(item["required"]) <= set(item["properties"])
    assert item["additionalProperties"] is FORM["additionalProperties"] is False
