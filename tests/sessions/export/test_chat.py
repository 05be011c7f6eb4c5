"""Chat messages for trainers: each line is a history as it was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pool.events import Compacted
from pool.messages import Message, ReasoningField, Role, ToolCall, tool_result, user
from pool.sessions.export.fold import folded
from pool.sessions.export.session import Format, Read, exported
from pool.wire.ollama import encode_message
from tests.sessions.export.logs import HEAD, Script, everything


def lines(rows: list[dict[str, Any]], *, raw: bool = False) -> list[dict[str, Any]]:
    text = exported(Read(rows, folded(rows), None), Format.JSONL, raw=raw)
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_is_what_was_sent(tmp_path: Path) -> None:
    script = everything(tmp_path)
    rows = script.rows()
    first, last = lines(rows)
    assert [m["role"] for m in first["messages"]] == "system user assistant tool tool".split()
    assert [m["role"] for m in last["messages"]] == "system user assistant tool assistant user assistant".split()
    sent = [json.loads(r["text"]) for r in rows if r["type"] == "message.added"]
    assert all(m in sent for line in (first, last) for m in line["messages"])
    assert first["tools"] == HEAD["tools"]
    assert (first["metadata"]["pool"]["history"], last["metadata"]["pool"]["of"]) == (1, 2)
    assert set(lines(rows, raw=True)[0]) == {"messages", "tools"}


def test_a_history_that_only_went_on_is_no_line_of_its_own(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("one")
    script.reply("1")
    seq = script.begin("two", "run-2")
    script.reply("2")
    last = script.rows()[-1]["seq"]
    undo = {"type": "rewound", "to_seq": seq, "seq": last + 1}
    redo = {"type": "rewound", "to_seq": last + 1, "why": "redo", "seq": last + 2}
    assert [len(x["messages"]) for x in lines([*script.rows(), undo])] == [5, 3]
    assert [len(x["messages"]) for x in lines([*script.rows(), undo, redo])] == [5]


def test_a_compaction_that_was_cut_short_is_no_break(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("one")
    script.reply("1")
    script.emit(Compacted(9, 1, "", 2))
    script.add(user("short"))
    assert [[m["content"] for m in x["messages"][1:]] for x in lines(script.rows())] == [["one", "1"]]


def test_messages_of_ollamas_own_api_become_openais(tmp_path: Path) -> None:
    script = Script(tmp_path)
    script.begin("one")
    call = ToolCall("c", "read", '{"path": "x"}')
    message = Message(Role.ASSISTANT, "", "hm", ReasoningField.THINKING, (call,))
    rows = script.rows()
    for one in (message, tool_result("c", "text", "read")):
        text = encode_message(one).data.decode()
        rows.append({"type": "message.added", "role": one.role.value, "text": text, "seq": rows[-1]["seq"] + 1})
    (line,) = lines(rows)
    made = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"path": "x"}'}}
    assert line["messages"][2:] == [
        {
            "role": "assistant",
            "content": "",
            "reasoning": "hm",
            "tool_calls": [made],
        },
        {"role": "tool", "tool_call_id": "c", "content": "text"},
    ]
