"""Importing: what was exported comes back whole; what others wrote becomes a history that strict servers take."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import atif
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.messages import Role, encode
from pool.sessions.export.atif import trajectory
from pool.sessions.export.fold import folded
from pool.sessions.export.incoming import ImportProblem
from pool.sessions.export.kept import incoming, keep
from pool.sessions.export.session import Format, Read, exported
from pool.sessions.log import read_rows
from pool.sessions.mend import acceptable
from pool.sessions.replay import resumed
from tests.sessions.export.logs import Script, everything

Json = dict[str, Any]
REFUSED = {(Role.USER, Role.USER), (Role.ASSISTANT, Role.ASSISTANT), (Role.SYSTEM, Role.ASSISTANT)}
HEADER: Json = {"type": "session", "id": "x", "created": 1.0, "pool": "0.1.0", "imported": True}


def rows_of(document: Json | str) -> list[Json]:
    text = document if isinstance(document, str) else json.dumps(document)
    (one,) = incoming(text.encode(), 5.0)
    return one.rows


def again(rows: list[Json]) -> Json:
    return trajectory(folded([HEADER, *rows]), None)


def valid(rows: list[Json]) -> list[Any]:
    """The history, after checking that a strict server takes it and that resuming drops nothing."""
    played = resumed(rows)
    assert played.left_out == 0
    assert acceptable(played.messages) == played.messages
    roles = [m.message.role for m in played.messages]
    assert Role.SYSTEM not in roles[1:]
    assert REFUSED.isdisjoint(pairwise(roles))
    return [m.message for m in played.messages]


def test_a_session_with_everything_comes_back_step_for_step(tmp_path: Path) -> None:
    first = trajectory(folded(everything(tmp_path).rows()), None)
    rows = rows_of(first)
    second = again(rows)
    assert second["steps"] == first["steps"]
    assert second["agent"] == first["agent"]
    assert second["final_metrics"] == first["final_metrics"]
    assert [m.data for m in resumed(rows).messages] == [
        m.data for m in resumed(everything(tmp_path / "b").rows()).messages
    ]
    valid(rows)


def test_rewinds_come_back(tmp_path: Path) -> None:
    script = Script(tmp_path)
    for number in (1, 2):
        seq = script.begin(f"prompt {number}", f"run-{number}")
        script.reply(f"answer {number}")
        script.end()
    last = script.rows()[-1]
    rewind = {**last, "type": "rewound", "to_seq": seq, "why": "undo", "seq": last["seq"] + 1}
    first = trajectory(folded([*script.rows(), rewind]), None)
    rows = rows_of(first)
    assert again(rows)["steps"] == first["steps"]
    histories = exported(Read(rows, folded([HEADER, *rows]), None), Format.JSONL).splitlines()
    assert [len(json.loads(line)["messages"]) for line in histories] == [5, 3]


TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
SAID = TEXT.filter(lambda t: bool(t.strip()))
ARGUMENTS = st.dictionaries(TEXT, st.one_of(TEXT, st.integers(), st.none(), st.lists(TEXT, max_size=2)), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[Json]:
    """Messages in OpenAI's form as a strict server takes them."""
    out: list[Json] = [{"role": "system", "content": draw(TEXT)}]
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        out.append({"role": "user", "content": draw(TEXT)})
        for _ in range(draw(st.integers(0, 2))):
            calls: list[Json] = []
            for arguments in draw(st.lists(ARGUMENTS, min_size=1, max_size=3)):
                number += 1
                text = json.dumps(
                    arguments, ensure_ascii=False, separators=draw(st.sampled_from([(", ", ": "), (",", ":")]))
                )
                calls.append({"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": text}})
            message: Json = {"role": "assistant", "content": draw(TEXT)}
            if reasoning := draw(TEXT):
                message[draw(st.sampled_from(["reasoning", "reasoning_content"]))] = reasoning
            out.append({**message, "tool_calls": calls})
            out += [{"role": "tool", "tool_call_id": c["id"], "content": draw(TEXT)} for c in calls]
        out.append({"role": "assistant", "content": draw(SAID)})
    return out


@settings(max_examples=60)
@given(conversations())
def test_messages_calls_and_results_stay_byte_for_byte(messages: list[Json]) -> None:
    line = json.dumps({"messages": messages, "tools": []})
    rows = rows_of(line)
    assert valid(rows)
    read = Read(rows, folded([HEADER, *rows]), None)
    assert json.loads(exported(read, Format.JSONL, raw=True))["messages"] == messages
    first = trajectory(read.transcript, None)
    atif.Trajectory.model_validate(first)
    back = rows_of(exported(read, Format.ATIF))
    assert again(back)["steps"] == first["steps"]
    assert [m.data for m in resumed(back).messages] == [m.data for m in resumed(rows).messages]


CALL: Json = {"tool_call_id": "c", "function_name": "ls", "arguments": {}}
FOREIGN: Json = {
    "schema_version": "ATIF-v1.5",
    "session_id": "s",
    "agent": {"name": "other", "version": "1", "model_name": "big"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "Be good."},
        {
            "step_id": 2,
            "source": "user",
            "message": [{"type": "text", "text": "Look"}, {"type": "image", "source": {}}],
        },
        {
            "step_id": 3,
            "source": "agent",
            "message": "",
            "reasoning_content": "hm",
            "tool_calls": [
                CALL,
                {"tool_call_id": "d", "function_name": "ls", "arguments": {"a": 1}},
            ],
            "observation": {"results": [{"source_call_id": "d", "content": "two"}]},
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": "ls", "arguments": {}}],
        },
        {"step_id": 5, "source": "agent", "message": "first"},
        {"step_id": 6, "source": "agent", "message": "second"},
        {"step_id": 7, "source": "system", "message": "The network is back."},
        {"step_id": 8, "source": "user", "message": "go on"},
        {"step_id": 9, "source": "agent", "message": " "},
    ],
}


def test_what_another_agent_wrote_becomes_a_valid_history() -> None:
    (one,) = incoming(json.dumps(FOREIGN).encode(), 5.0)
    messages = valid(one.rows)
    assert [
        m.role.value for m in messages
    ] == "system user assistant tool tool assistant tool assistant user assistant user".split()
    assert [c.id for m in messages for c in m.calls] == ["c", "d", "c-2"]
    assert [m.content for m in messages if m.role is Role.TOOL][1] == "two"
    assert messages[1].content == "Look\n[image left out]"
    assert len(one.notes) == 6
    atif.Trajectory.model_validate(again(one.rows))


def test_chat_of_others_becomes_a_valid_history() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    other = {"id": "b", "function": {"name": "f", "arguments": ""}}
    messages = [
        {"role": "assistant", "content": "Hello."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": None},
        {"role": "assistant", "content": None, "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "assistant", "tool_calls": [call]},
    ]
    history = valid(rows_of(json.dumps({"messages": messages})))
    assert [m.content for m in history if m.role is Role.TOOL] == ["1", "2"]
    assert [c.id for m in history for c in m.calls] == ["a", "b", "a-2"]


def broken(path: str, value: Any) -> Json:
    """The foreign trajectory with one field changed, or left out where value is ...."""
    copy: Json = json.loads(json.dumps(FOREIGN))
    at: Any = copy
    *front, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    for key in front:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("schema_version", "2.0", "schema_version: ATIF-v1.x is expected"),
        ("schema_version", ..., "'schema_version' is missing"),
        ("agent", 3, "agent: an object is expected, not a number"),
        ("steps", [], "steps: there are none"),
        ("steps.2", "x", "steps[2]: an object is expected, not a text"),
        ("steps.2.source", "robot", "steps[2].source: system, user or agent"),
        ("steps.4.message", ..., "steps[4]: the field 'message' is missing"),
        ("steps.4.message", 4, "steps[4].message: a text or a list of parts"),
        ("steps.4.timestamp", "noon", "steps[4].timestamp: a time in ISO 8601"),
        ("steps.2.tool_calls.1.arguments", "{}", "steps[2].tool_calls[1].arguments: an object is expected"),
        ("steps.2.tool_calls.1.function_name", ..., "steps[2].tool_calls[1]: the field 'function_name'"),
        ("steps.2.observation.results.0.source_call_id", "z", "steps[2].observation.results[0].source_call_id"),
        ("steps.2.observation.results", {}, "steps[2].observation.results: a list is expected"),
        ("steps.3.extra", {"pool": {"event": 1, "run_finished": 2, "marks": {}}}, ""),
        ("steps.6.extra", {"pool": {"event": {"type": "rewound", "to_step": 99}}}, "no earlier step 99"),
    ],
)
def test_a_fault_in_a_trajectory_is_named(path: str, value: Any, said: str) -> None:
    document = json.dumps(broken(path, value)).encode()
    if not said:
        assert incoming(document, 5.0)
        return
    with pytest.raises(ImportProblem, match=re.escape(said)):
        incoming(document, 5.0)


GOOD = '{"messages":[{"role":"user","content":"x"}]}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "empty"),
        (b"\xff\xfe\x00", "no UTF-8 text (byte 0)"),
        (b"[1]", "no object but a list"),
        (b'{"a":1}', "neither steps (ATIF) nor messages (JSONL)"),
        (b'{"steps": [', "no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (f"{GOOD}\n{{".encode(), "line 2"),
        (f'{GOOD}\n{{"messages":[]}}'.encode(), "line 2: messages is empty"),
        (f'{GOOD}\n\n{{"messages":[{{"role":"user"}},{{"role":"robot"}}]}}'.encode(), "line 3: messages[1].role"),
        (b'{"messages":[{"role":"tool","tool_call_id":"x","content":""}]}', "messages[0].tool_call_id: no call 'x'"),
        (
            b'{"messages":[{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f","arguments":"[1]"}}]}]}',
            "messages[0].tool_calls[0].function.arguments: the arguments must be a JSON object",
        ),
        (b'{"type":"session"}\n{"type":"notice"}', "a session's own log"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_with_the_place(text: bytes, said: str) -> None:
    with pytest.raises(ImportProblem, match=re.escape(said)):
        incoming(text, 5.0)


JSONS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path, *(p for k, v in cast(Json, value).items() for p in paths_in(v, (*path, k)))]
    inner = cast(list[Any], value) if isinstance(value, list) else []
    return [path, *(p for i, v in enumerate(inner) for p in paths_in(v, (*path, i)))]


@settings(max_examples=150)
@given(data=st.data(), value=JSONS)
def test_no_change_of_a_file_breaks_the_import(data: st.DataObject, value: Any) -> None:
    document: Json = json.loads(json.dumps(WHOLE))
    path = data.draw(st.sampled_from(paths_in(document)[1:]))
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    try:
        (one,) = incoming(json.dumps(document).encode(), 5.0)
    except ImportProblem:
        return
    resumed(one.rows)
    if again(one.rows)["steps"]:
        atif.Trajectory.model_validate(again(one.rows))


def test_all_sessions_of_a_file_are_kept_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = incoming(f"{GOOD}\n{GOOD}\n".encode(), 5.0)
    paths = keep(sessions, tmp_path / "a", ["one", "two"], workspace="/w", created=1.0, pool="0")
    assert [p.stat().st_mode & 0o777 for p in paths] == [0o600, 0o600]
    rows, _ = read_rows(paths[1].read_bytes())
    assert rows[0]["id"] == rows[1]["session"] == "two"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / ".two.new").mkdir()
    with pytest.raises(OSError, match="exists"):
        keep(sessions, tmp_path / "b", ["one", "two"], workspace="/w", created=1.0, pool="0")
    assert [p.name for p in (tmp_path / "b").iterdir()] == [".two.new"]


def test_lone_surrogates_are_made_valid() -> None:
    line = '{"messages":[{"role":"user","content":"a\\ud800b"}]}'
    messages = valid(rows_of(line))
    assert encode(replace(messages[0])).data.decode().count("\ufffd") == 1


WHOLE: Json = {}


@pytest.fixture(scope="module", autouse=True)
def whole(tmp_path_factory: pytest.TempPathFactory) -> None:
    WHOLE.update(trajectory(folded(everything(tmp_path_factory.mktemp("log")).rows()), None))
