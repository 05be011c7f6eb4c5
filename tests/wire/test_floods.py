"""Replies made to be slow to read or endless: the work stays in proportion to the text, and what is kept is bounded."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from pool.wire.calls import CallAssembler
from pool.wire.holding import MAX_LOOSE_MARKUPS
from pool.wire.jsontext import read_object
from pool.wire.markup import find_calls
from pool.wire.reader import Reader
from pool.wire.reading import (
    LEAST_REPLY_CHARS,
    MAX_CALLS,
    MOST_REPLY_CHARS,
    REPLY_TOO_LONG,
    TOO_MANY_CALLS,
    Ending,
    Expectation,
    Reading,
)

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
EXPECT = Expectation(tools={"shell": SHELL})
CALL = "<tool_call>shell<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>"
FLOOD_CHARS = 400_000
FLOOD_SECONDS = 8.0
"""CPU seconds; read in time that grows with the square of the length, each of these takes much longer."""


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


def read(deltas: Sequence[dict[str, Any]], expect: Expectation = EXPECT) -> Reading:
    reader = Reader(expect)
    for delta in deltas:
        reader.feed([chunk(**delta)])
    reader.feed([chunk("stop")])
    return reader.close()[1]


@pytest.mark.slow
@pytest.mark.parametrize("field", ["content", "reasoning"])
@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("<tool_call>", ""),
        ("<user>", ""),
        ("<a", ""),
        ("<", ""),
        (CALL, ""),
        (CALL, " x"),
        ("<tool_call>a</tool_call>", ""),
        ("<tool_call>a<arg_key>", "</tool_call> x"),
        ("<tool_call>a<arg_key>k</arg_key><arg_value></tool_call>", ""),
        ('<user>{"name":"x"}', ""),
        ("x<think>", ""),
        ("`<user>``<user>```<user>````<user>", ""),
    ],
)
def test_markup_without_end_is_read_in_time(pattern: str, end: str, field: str) -> None:
    text = "a " + pattern * (FLOOD_CHARS // len(pattern)) + end
    begun = time.process_time()
    read([{field: text}])
    assert time.process_time() - begun < FLOOD_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("start", ["a <tool_call>shell<arg_key>command</arg_key><arg_value>", "a <think>", "```"])
def test_text_that_is_held_back_is_read_in_time(start: str) -> None:
    """A long call written as text comes in many small pieces; none is looked at again with each that follows."""
    begun = time.process_time()
    read([{"content": start}, *[{"content": "</x> and "}] * 60_000])
    assert time.process_time() - begun < FLOOD_SECONDS


def test_an_object_sent_many_times_is_read_in_time() -> None:
    begun = time.process_time()
    assert read_object('{"a":1}' * 100_000).value == {"a": 1}
    assert time.process_time() - begun < FLOOD_SECONDS


def test_markup_in_the_middle_is_looked_for_only_so_often() -> None:
    loose = f"{CALL} and so on. " * (MAX_LOOSE_MARKUPS + 5)
    reading = read([{"content": loose}])
    assert (reading.content, reading.calls, len(reading.broken)) == (loose, (), 1)
    assert reading == read([{"content": c} for c in loose])


def test_calls_beyond_the_limit_become_one_broken_call() -> None:
    def item(n: int, index: int | None) -> dict[str, Any]:
        place = {} if index is None else {"index": index}
        return {**place, "id": f"c{n}", "function": {"name": "shell", "arguments": f'{{"command":"{n}"}}'}}

    for indexed in (True, False):
        items = [item(n, n if indexed else None) for n in range(10_000)]
        reading = read([{"tool_calls": [one]} for one in items])
        assert [json.loads(call.arguments)["command"] for call in reading.calls] == [str(n) for n in range(MAX_CALLS)]
        assert [broken.why for broken in reading.broken] == [TOO_MANY_CALLS]
        assert len(read([{"tool_calls": items}]).broken) == 1
    same = read([{"tool_calls": [item(n, 0)]} for n in range(MAX_CALLS + 3)])
    assert len(same.calls) == MAX_CALLS


def test_pieces_of_a_call_beyond_the_limit_end_up_in_no_other() -> None:
    assembler = CallAssembler()
    for n in range(MAX_CALLS):
        assembler.feed([{"index": 0, "id": f"c{n}", "function": {"name": "shell", "arguments": "{}"}}])
    assembler.feed([{"index": 0, "id": "late", "function": {"name": "shell", "arguments": ""}}])
    assembler.feed([{"index": 0, "function": {"arguments": '{"command":"rm"}'}}])
    assembler.feed([{"function": {"arguments": '{"command":"rm"}'}}])
    calls, broken, _ = assembler.finish()
    assert [call.arguments for call in calls] == ["{}"] * MAX_CALLS
    assert [b.why for b in broken] == [TOO_MANY_CALLS]


def test_calls_beyond_the_limit_written_as_text() -> None:
    finding = find_calls(CALL * (MAX_CALLS + 1), EXPECT.tools, at_natural_end=True)
    assert (finding.calls, finding.rejected) == ((), TOO_MANY_CALLS)
    assert len(find_calls(CALL * MAX_CALLS, EXPECT.tools, at_natural_end=True).calls) == MAX_CALLS


def test_a_reply_far_beyond_its_limit_is_cut_at_the_same_place_however_it_comes() -> None:
    expect = Expectation(tools={"shell": SHELL}, max_tokens=16)
    text = "word " * (LEAST_REPLY_CHARS // 5 + 1000)
    whole = read([{"content": text}, {"content": "late"}], expect)
    assert (whole.content, whole.ending) == (text[:LEAST_REPLY_CHARS], Ending.LENGTH)
    assert whole.repairs == (REPLY_TOO_LONG,)
    assert read([{"content": text[i : i + 70_001]} for i in range(0, len(text), 70_001)], expect) == whole


def test_how_long_a_reply_may_be() -> None:
    assert Expectation(tools={}).most_chars == MOST_REPLY_CHARS
    assert Expectation(tools={}, max_tokens=100).most_chars == LEAST_REPLY_CHARS
    assert LEAST_REPLY_CHARS < Expectation(tools={}, max_tokens=200_000).most_chars < MOST_REPLY_CHARS


def test_an_event_of_many_documents_is_read_up_to_a_limit() -> None:
    begun = time.process_time()
    reader = Reader(EXPECT)
    reader.feed([b"x\n" * 2_000_000, b"{}\n" * 2_000_000, b"[" + b"{}," * 2_000_000 + b"{}]"])
    reading = reader.close()[1]
    assert time.process_time() - begun < FLOOD_SECONDS
    assert reading.repairs == ("undecodable-event",)
