"""Publishing: files that name each other, ATIF that stays ATIF, secrets out, hostile text as text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import atif
import pytest

from pool.lab.eval.publish import Publication, PublishedRun, PublishProblem, publish

KEY = "sk-abcdefghijklmnopqrstuvwxyz012345"
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>"


def trajectory(**more: Any) -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "shell", "arguments": {"command": f"curl -H 'Bearer {KEY}'"}}
    result = {"source_call_id": "c1", "content": f"/home/anna/x {HOSTILE}"}
    steps = [
        {"step_id": 1, "source": "user", "message": f"Do it. {HOSTILE}"},
        {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result]}},
        {"step_id": 3, "source": "agent", "message": f"Done, {HOSTILE}"},
    ]
    agent = {"name": "pool", "version": "1", "model_name": "m"}
    return {"schema_version": "ATIF-v1.8", "session_id": "s", "agent": agent, "steps": steps, **more}


class Links(HTMLParser):
    """What a page refers to, and its elements."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "data", "srcset")]
        assert not [name for name, _ in attrs if name.startswith("on")]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    (source / "t.json").write_text(json.dumps(trajectory()))
    (source / "broken.json").write_text("{")
    (source / "odd.json").write_text(json.dumps({"steps": 3}))
    (source / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (source / "b.png").write_text(HOSTILE)
    (source / "report.html").write_text(f"<p>{KEY}</p>")
    audit = {"verdict": "suspected", "flags": {"H": 1, "M": 0, "L": 2}, "findings": [{"text": f"saw {KEY}"}]}
    runs = [
        PublishedRun(
            *("fix/inventory", f"a {HOSTILE}", 1, True, False),
            figures={"turns": 3, "tok/s": 18.25, "build": f"NVFP4 {HOSTILE}", "held": None},
            trajectory=source / "t.json",
            answer=f"Done. {KEY} {HOSTILE}",
            diff=f"+{HOSTILE}\n",
            audit=audit,
            pictures=(source / "a.png", source / "b.png", source / "none.png"),
        ),
        PublishedRun("../../etc", "b", 1, trajectory=source / "broken.json", error=HOSTILE),
        PublishedRun("../../etc", "b", 1, False, trajectory=source / "odd.json"),
    ]
    arms = {f"a {HOSTILE}": {"server": "vllm 0.14", "model": "laguna", "key": KEY}, "b": {}}
    publication = Publication(f"T {HOSTILE}", "fix", "2026-11-30", "0.1", arms, runs, report=source / "report.html")
    into = tmp_path / "site"
    notes = publish(publication, into, {})
    assert [note.partition(": ")[2] for note in notes[2:]] == [
        "the picture b.png is left out: no PNG, or too large",
        "the picture none.png cannot be read: No such file or directory",
        "its trajectory cannot be read: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        next(note.partition(": ")[2] for note in notes if "no whole ATIF" in note or "is not whole ATIF" in note),
    ]
    return into


def test_files_name_each_other_and_nothing_else(written: Path) -> None:
    pages = list(written.rglob("*.html"))
    assert len(pages) == 3
    for page in pages:
        for link in Links(page).links:
            if not link.startswith(("#", "data:")):
                assert "//" not in link
                assert (page.parent / link).is_file(), link
    index = Links(written / "index.html")
    assert {link.rpartition("/")[2] for link in index.links if not link.startswith("data:")} == {
        *("index.html", "trajectory.json", "answer.txt", "changes.diff", "audit.json", "picture-1.png"),
        *("publication.json", "report.html"),
    }
    assert all(path.resolve().is_relative_to(written.resolve()) for path in written.rglob("*"))


def test_text_stays_text_and_secrets_are_out(written: Path) -> None:
    """No script but the trajectory page's own, which its policy names; no key and no home anywhere."""
    assert "script" not in Links(written / "index.html").tags
    (page,) = (written / "runs").glob("*/index.html")
    assert Links(page).tags.count("script") == 1
    for path in written.rglob("*"):
        if path.is_file() and path.suffix != ".png":
            text = path.read_text("utf-8")
            assert KEY not in text, path
            assert "/home/anna" not in text, path
    assert "Redacted: " in (written / "index.html").read_text("utf-8")
    assert "1 of 1" in (written / "index.html").read_text("utf-8")


def test_the_trajectory_passes_as_atif_and_says_what_was_taken_out(written: Path) -> None:
    for path in (written / "runs").glob("fix-*/trajectory.json"):
        row = json.loads(path.read_text("utf-8"))
        atif.Trajectory.model_validate(row)
        assert row["extra"]["publication"]["redaction"]["applied"] is True
        assert row["steps"][1]["tool_calls"][0]["tool_call_id"] == "c1"
        assert re.search(r"Bearer \S*redacted", row["steps"][1]["tool_calls"][0]["arguments"]["command"], re.IGNORECASE)
    row = json.loads((written / "publication.json").read_text("utf-8"))
    assert [run["passed"] for run in row["runs"]] == [True, None, False]
    assert row["redaction"]["applied"] is True


def test_it_is_written_over_itself_and_over_nothing_else(written: Path, tmp_path: Path) -> None:
    empty = Publication("T", "fix", "", "0.1", {}, [])
    publish(empty, written, {})
    assert not (written / "runs").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").touch()
    with pytest.raises(PublishProblem, match="holds other files"):
        publish(empty, tmp_path / "mine", {})
    with pytest.raises(PublishProblem, match="is no folder"):
        publish(empty, tmp_path / "mine" / "x", {})
