"""Prompts and drafts are kept per workspace, and never stand in the way."""

from __future__ import annotations

import os
from pathlib import Path

from pool.facekit.recall import MOST_PROMPTS, Recall


def test_back_and_forward_and_what_was_being_typed(tmp_path: Path) -> None:
    recall = Recall(tmp_path / "work", tmp_path)
    for prompt in ("one", "two\nlines", "three"):
        recall.add(prompt)
    assert recall.back("unsent") == "three"
    assert recall.back("three") == "two\nlines"
    assert recall.back("") == "one"
    assert recall.back("one") is None
    assert [recall.forward() for _ in range(4)] == ["two\nlines", "three", "unsent", None]


def test_another_start_remembers_and_another_workspace_does_not(tmp_path: Path) -> None:
    Recall(tmp_path / "a", tmp_path).add("hello")
    assert Recall(tmp_path / "a", tmp_path).prompts == ["hello"]
    assert Recall(tmp_path / "b", tmp_path).prompts == []


def test_a_move_to_another_workspace_leaves_the_prompts_behind(tmp_path: Path) -> None:
    Recall(tmp_path / "b", tmp_path).add("there")
    recall = Recall(tmp_path / "a", tmp_path)
    recall.add("here")
    assert recall.back("") == "here"
    recall.move(tmp_path / "b")
    assert recall.back("unsent") == "there"
    recall.add("there too")
    assert Recall(tmp_path / "a", tmp_path).prompts == ["here"]
    assert Recall(tmp_path / "b", tmp_path).prompts == ["there", "there too"]


def test_the_same_twice_is_kept_once(tmp_path: Path) -> None:
    recall = Recall(tmp_path, tmp_path)
    recall.add("go on")
    recall.add("go on")
    assert recall.prompts == ["go on"]


def test_search_finds_the_newest_first(tmp_path: Path) -> None:
    recall = Recall(tmp_path, tmp_path)
    for prompt in ("fix the Parser", "write docs", "fix the tests"):
        recall.add(prompt)
    assert recall.search("FIX") == "fix the tests"
    assert recall.search("fix", skip=1) == "fix the Parser"
    assert recall.search("fix", skip=2) is None


def test_the_file_is_cut_and_private(tmp_path: Path) -> None:
    recall = Recall(tmp_path, tmp_path)
    for number in range(MOST_PROMPTS + 1):
        recall.add(f"prompt {number}")
    kept = Recall(tmp_path, tmp_path).prompts
    assert kept[-1] == f"prompt {MOST_PROMPTS}"
    assert len(kept) == MOST_PROMPTS // 2
    (path,) = tmp_path.glob("*.jsonl")
    assert os.stat(path).st_mode & 0o077 == 0


def test_damage_costs_only_the_damaged_line(tmp_path: Path) -> None:
    recall = Recall(tmp_path, tmp_path)
    recall.add("good")
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes() + b'\xff\n{"prompt": 3}\n[]\n{"prompt": "al')
    assert Recall(tmp_path, tmp_path).prompts == ["good"]


def test_a_draft_survives_and_is_forgotten_when_sent(tmp_path: Path) -> None:
    recall = Recall(tmp_path, tmp_path)
    recall.save_draft("half a thought \U0001f914")
    assert Recall(tmp_path, tmp_path).draft() == "half a thought \U0001f914"
    recall.save_draft("")
    assert Recall(tmp_path, tmp_path).draft() == ""


def test_a_folder_that_cannot_be_written_costs_only_the_history(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    recall = Recall(tmp_path, tmp_path / "file" / "below")
    recall.add("hello")
    recall.save_draft("hello")
    assert recall.prompts == ["hello"]
