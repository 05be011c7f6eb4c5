"""The history is valid at every moment, grows only at its end, and encodes each message once."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pool.agent.history import INTERRUPTED, History
from pool.events import Body, MessageAdded
from pool.messages import ToolCall
from pool.sessions.replay import resumed
from pool.wire.reading import Reading


def rows(history: History) -> list[dict[str, Any]]:
    return [json.loads(data) for data in history.data]


def make() -> tuple[History, list[MessageAdded]]:
    recorded: list[MessageAdded] = []

    def record(body: Body) -> None:
        assert isinstance(body, MessageAdded)
        recorded.append(body)

    return History("be good", record), recorded


def problems(messages: list[dict[str, Any]]) -> list[str]:
    """What a strict server would refuse."""
    out: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for i, message in enumerate(messages):
        role = message["role"]
        if (role == "system") != (i == 0):
            out.append("system not first")
        if role == "user" and messages[i - 1]["role"] == "user":
            out.append("two users in a row")
        if role == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                out.append("result out of order")
            continue
        if waiting:
            out.append("call without result")
        if role == "assistant":
            calls = message.get("tool_calls", [])
            if not calls and not message["content"].strip():
                out.append("empty assistant message")
            waiting = [c["id"] for c in calls]
            if seen & set(waiting) or len(set(waiting)) < len(waiting):
                out.append("id used twice")
            seen |= set(waiting)
            if any(not isinstance(json.loads(c["function"]["arguments"]), dict) for c in calls):
                out.append("arguments are no object")
    return out


STEP = st.one_of(
    st.tuples(st.just("user"), st.text(max_size=8)),
    st.tuples(st.just("reply"), st.text(max_size=8), st.lists(st.sampled_from(["", "a", "b", "shell:0"]), max_size=3)),
    st.tuples(st.just("result"), st.text(max_size=8)),
    st.tuples(
        st.just("close"),
    ),
)


@given(st.lists(STEP, max_size=20))
def test_any_order_of_events_leaves_a_valid_history(steps: list[tuple[Any, ...]]) -> None:
    history, recorded = make()
    waiting: list[str] = []
    for step in steps:
        before = history.data
        match step:
            case ("user", text):
                history.add_user(text)
                waiting = []
            case ("reply", text, wanted) if not waiting:
                ids = [history.unique_id(w) for w in dict.fromkeys(wanted)]
                history.add_assistant(Reading(content=text, reasoning="r"), [ToolCall(i, "t", "{}") for i in ids])
                waiting = ids
            case ("result", text) if waiting:
                history.add_result(waiting.pop(0), text)
            case _:
                history.close_calls(INTERRUPTED)
                waiting = []
        assert history.data[: len(before) - 1] == before[:-1]
    history.add_user("next")
    assert problems(rows(history)) == []
    replayed: list[str] = []
    for body in recorded:
        if body.replaces_last:
            replayed.pop()
        replayed.append(body.text)
    assert [t.encode() for t in replayed] == history.data


def test_reasoning_goes_back_under_the_name_it_came_in() -> None:
    """THINK-06."""
    for field, keys in [
        ("reasoning", {"reasoning"}),
        ("reasoning_content", {"reasoning_content"}),
        ("", {"reasoning", "reasoning_content"}),
    ]:
        history, _ = make()
        history.add_assistant(Reading(content="A", reasoning="R", reasoning_field=field), [])
        last = rows(history)[-1]
        assert {k for k in last if k.startswith("reasoning")} == keys
        assert all(last[k] == "R" for k in keys)


def test_two_user_messages_become_one() -> None:
    history, _ = make()
    history.add_user("one")
    history.add_user("two")
    assert rows(history)[-1] == {"role": "user", "content": "one\n\ntwo"}
    assert len(rows(history)) == 2


def test_lone_surrogates_never_reach_the_wire() -> None:
    history, _ = make()
    history.add_user("a\ud83d b \ud83d\ude80")
    assert rows(history)[-1]["content"] == "a\ufffd b 🚀"


def test_a_session_goes_on_with_the_bytes_it_had() -> None:
    """CTX-07 and HEAD-08: also when it was interrupted between a call and its result."""
    first, recorded = make()
    first.add_user("one")
    calls = [ToolCall("a", "t", "{}"), ToolCall("b", "t", "{}")]
    first.add_assistant(Reading(content="", reasoning="R", reasoning_field="reasoning"), calls)
    first.add_result("a", "done")
    rows_ = [{"type": "message.added", "text": r.text, "replaces_last": r.replaces_last} for r in recorded]
    earlier = resumed(rows_).messages
    again: list[Body] = []
    second = History("another prompt", again.append, earlier=earlier)
    assert second.data == first.data
    assert again == []
    second.add_user("two")
    assert problems(rows(second)) == []
    assert second.data[: len(first.data)] == first.data
    assert rows(second)[-2] == {"role": "tool", "tool_call_id": "b", "content": INTERRUPTED}
    assert second.unique_id("a") != "a"


def test_a_message_is_encoded_once() -> None:
    history, _ = make()
    history.add_user("one")
    first = history.data
    history.add_assistant(Reading(content="A"), [])
    assert all(a is b for a, b in zip(first, history.data, strict=False))
