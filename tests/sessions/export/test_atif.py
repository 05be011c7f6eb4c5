"""Trajectories: accepted by the published schema, true to the log, and without what scanners of real traces find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import atif
import pytest

from pool.events import STOP_TABLE, RunFinished, StopReason, Usage
from pool.messages import ToolCall, tool_result
from pool.sessions.export.atif import trajectory
from pool.sessions.export.fold import folded
from pool.sessions.export.session import read_session
from pool.sessions.log import read_rows
from tests.sessions.export.logs import Script, edit_call, everything

Json = dict[str, Any]


def exported(rows: list[Json]) -> Json:
    out = trajectory(folded(rows), None)
    atif.Trajectory.model_validate(out)
    return out


def test_a_session_with_everything_validates(tmp_path: Path) -> None:
    out = exported(everything(tmp_path).rows())
    sources = [s["source"] for s in out["steps"]]
    assert sources == [
        "system",
        "user",
        "agent",
        "user",
        "agent",
        "agent",
        "system",
        "user",
        "agent",
        "agent",
        "user",
        "agent",
    ]
    agents = [s for s in out["steps"] if s["source"] == "agent"]
    cut, edits, account, copied, done, welcome = agents
    assert (cut["message"], cut["extra"]["pool"]["kept"], cut["metrics"]["completion_tokens"]) == ("", False, 90)
    assert cut["extra"]["pool"]["marks"][0]["label"] == "thinking: cut"
    assert edits["reasoning_content"] == "It is `a = 1`."
    assert [c["tool_call_id"] for c in edits["tool_calls"]] == ["c1", "c2"]
    assert edits["tool_calls"][1]["extra"]["pool"]["denied"] == "not now"
    assert edits["tool_calls"][1]["extra"]["pool"]["arguments_text"] == '{"command":"ls"}'
    assert edits["observation"]["results"][0]["content"] == "Edited x.py."
    assert account["extra"]["pool"]["purpose"] == "compaction"
    assert copied["is_copied_context"] is True
    assert "metrics" not in copied
    assert done["extra"]["stop_reason"] == welcome["extra"]["stop_reason"] == "completed"
    assert out["steps"][3]["message"] == "[Pool] Act."


def test_what_scanners_of_traces_look_for(tmp_path: Path) -> None:
    script = everything(tmp_path)
    out = exported(script.rows())
    steps = out["steps"]
    metrics = [s["metrics"] for s in steps if "metrics" in s]
    for name in ("prompt", "completion", "cached"):
        assert out["final_metrics"][f"total_{name}_tokens"] == sum(m[f"{name}_tokens"] for m in metrics)
    assert out["final_metrics"]["total_prompt_tokens"] > metrics[-1]["prompt_tokens"]
    assert len({s["timestamp"] for s in steps}) > 1
    ids = [c["tool_call_id"] for s in steps if not s.get("is_copied_context") for c in s.get("tool_calls", [])]
    assert len(ids) == len(set(ids))
    assert [s["message"] for s in steps if "run_started" in s.get("extra", {}).get("pool", {})] == [
        "Mend x.py",
        "Thanks",
    ]
    for step in steps:
        for result in step.get("observation", {}).get("results", []):
            assert result["content"] not in ("ok", "failed", "denied")
    assert "cost" not in str(out)


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_stop_reason_has_its_word(reason: StopReason, tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("x")
    script.reply("y")
    script.emit(RunFinished(reason, 0, "", "", 1, 1.0, Usage()))
    assert exported(script.rows())["steps"][-1]["extra"]["stop_reason"] == STOP_TABLE[reason].atif


def test_a_subagent_is_a_trajectory_of_its_own(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("x")
    script.reply("", [edit_call()])
    rows = script.rows()
    started = {"type": "call.started", "call": "c1", "name": "edit", "run": "run-1", "seq": 90}
    inner: list[Json] = []
    for row in rows[1:]:
        inner.append({**row, "agent": "1", "seq": 100 + len(inner)})
    finished = {
        "type": "call.finished",
        "call": "c1",
        "name": "edit",
        "status": "ok",
        "text": "t",
        "seconds": 1.0,
        "seq": 190,
    }
    script.add(tool_result("c1", "t"))
    out = exported([*rows, started, *inner, finished, script.rows()[-1]])
    assert [s["trajectory_id"] for s in out["subagent_trajectories"]] == [f"{out['session_id']}/1"]
    result = out["steps"][2]["observation"]["results"][0]
    assert result["subagent_trajectory_ref"] == [{"trajectory_id": f"{out['session_id']}/1"}]
    assert len(out["subagent_trajectories"][0]["steps"]) == len(out["steps"])


def test_rewinds_are_steps_and_what_they_took_back_is_marked(tmp_path: Path) -> None:
    script = Script(tmp_path)
    for number in (1, 2):
        seq = script.begin(f"prompt {number}", f"run-{number}")
        script.reply(f"answer {number}")
        script.end()
    rows = script.rows()
    last = rows[-1]["seq"]
    rewind = {"type": "rewound", "to_seq": seq, "why": "undo", "seq": last + 1}
    redo = {"type": "rewound", "to_seq": last + 1, "why": "redo", "seq": last + 2}

    def left(rows: list[Json]) -> list[str]:
        steps = exported(rows)["steps"]
        return [
            s["message"]
            for s in steps[1:]
            if s["extra"]["pool"].get("in_history", True) and "event" not in s["extra"]["pool"]
        ]

    assert left([*rows, rewind]) == ["prompt 1", "answer 1"]
    assert left([*rows, rewind, redo]) == ["prompt 1", "answer 1", "prompt 2", "answer 2"]
    assert exported([*rows, rewind])["steps"][5]["extra"]["pool"]["event"]["to_step"] == 4


def test_a_compaction_that_was_cut_short_does_not_count(tmp_path: Path) -> None:
    rows = everything(tmp_path).rows()
    at = next(i for i, r in enumerate(rows) if r["type"] == "history.compacted")
    steps = exported(rows[: at + 3])["steps"]
    kept = [s["step_id"] for s in steps if s.get("extra", {}).get("pool", {}).get("in_history", True)]
    assert kept == [1, 2, 4, 5, 7]


def test_unfinished_and_torn_sessions(tmp_path: Path) -> None:
    data = everything(tmp_path).path.read_bytes()
    path = tmp_path / "torn.jsonl"
    for cut in range(0, len(data), 211):
        path.write_bytes(data[:cut])
        transcript = read_session(path, None).transcript
        out = trajectory(transcript, None)
        if out["steps"]:
            atif.Trajectory.model_validate(out)
        assert transcript.id
        last = [r["type"] for r in read_rows(data[:cut])[0] if r["type"] in ("run.started", "run.finished")][-1:]
        assert transcript.finished is (last != ["run.started"])


def test_damage_in_the_middle_is_counted(tmp_path: Path) -> None:
    script = everything(tmp_path)
    lines = script.path.read_bytes().split(b"\n")
    for bad in (
        b"{",
        b'{"type":"message.added","text":"{"}',
        b'{"type":"head.set","head":3}',
        b"[1]",
        b'{"type":"usage","usage":[]}',
    ):
        lines.insert(4, bad)
    script.path.write_bytes(b"\n".join(lines))
    transcript = read_session(script.path, None).transcript
    assert transcript.damaged == 4
    atif.Trajectory.model_validate(trajectory(transcript, None))


def test_arguments_that_are_no_strict_json_stay_valid(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("x")
    script.reply("", [ToolCall("c", "edit", '{"a": NaN}'), ToolCall("d", "edit", "[]")])
    calls = exported(script.rows())["steps"][-1]["tool_calls"]
    assert calls[0]["arguments"] == {"a": "NaN"}
    assert calls[1]["arguments"] == {}
