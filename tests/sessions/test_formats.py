"""Sessions as earlier Pools wrote them open for ever. `formats/` keeps one of each state of the format; none is edited.

`v1-first`: the first one that `pool run` kept, two prompts. `v1-named`: compactions say how many messages follow,
replies how long the server was waited for, and the user may give a name.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pool.agent.history import History
from pool.sessions.index import SessionIndex
from pool.sessions.log import SessionLog
from pool.sessions.replay import resumed
from tests.agent.test_history import problems

FORMATS = sorted(Path(__file__).with_name("formats").glob("*.jsonl"))
TITLES = {"v1-first": "What does notes.txt say?", "v1-named": "The notes"}


def test_each_state_of_the_format_is_here() -> None:
    assert {path.stem for path in FORMATS} == set(TITLES)


@pytest.mark.parametrize("kept", FORMATS, ids=lambda path: path.stem)
def test_it_opens_and_goes_on_with_the_same_bytes(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / kept.name
    shutil.copyfile(kept, path)
    log, rows, damage = SessionLog.reopen(path, print)
    log.close()
    assert damage == 0
    found = resumed(rows)
    texts = [str(row["text"]).encode() for row in rows if row["type"] == "message.added"]
    assert [message.data for message in found.messages] == texts
    assert found.runs == 2
    assert json.loads(found.head)["model"] == "laguna-sim-rule-based"
    history = History("", lambda body: None, earlier=found.messages)
    history.add_user("next")
    sent: list[dict[str, Any]] = [json.loads(data) for data in history.data]
    assert problems(sent) == []
    assert history.data[: len(texts)] == texts


@pytest.mark.parametrize("kept", FORMATS, ids=lambda path: path.stem)
def test_it_is_listed_with_its_statistics(kept: Path, tmp_path: Path) -> None:
    shutil.copyfile(kept, tmp_path / kept.name)
    with SessionIndex(tmp_path, pytest.fail) as index:
        (entry,) = index.entries("/home/ada/inventory")
        assert (entry.title, entry.prompts, entry.turns, entry.ended) == (TITLES[kept.stem], 2, 3, "completed")
        figures = [figures for _, _, figures in index.figures()]
        assert sum(f.requests for f in figures) == 3
        assert [f.tools for f in figures] == [{"read ok": 1}]
