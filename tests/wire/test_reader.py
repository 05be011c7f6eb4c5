"""The reader: reasoning, content and calls kept apart whatever a server leaks, and the same however it is cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.wire.reader import Reader
from pool.wire.reading import (
    ContentText,
    ContentWasReasoning,
    Ending,
    Expectation,
    Reading,
    ReadingEvent,
    ReasoningText,
)

SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
EXPECT = Expectation(tools={"shell": SHELL})
CALL = "<tool_call>shell<arg_key>command</arg_key><arg_value>ls -l</arg_value></tool_call>"


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}, ensure_ascii=True).encode()


def run(payloads: Sequence[bytes], expect: Expectation = EXPECT) -> tuple[list[ReadingEvent], Reading]:
    reader = Reader(expect)
    events: list[ReadingEvent] = []
    for payload in payloads:
        events += reader.feed([payload])
    late, reading = reader.close()
    return events + late, reading


def content_of(text: str, *, reasoning: str = "", finish: str = "stop", expect: Expectation = EXPECT) -> Reading:
    payloads = [chunk(reasoning=reasoning)] if reasoning else []
    return run([*payloads, chunk(content=text), chunk(finish)], expect)[1]


def shown(events: Sequence[ReadingEvent]) -> tuple[str, str]:
    """What a face shows at the end: reasoning and content."""
    reasoning = content = ""
    for event in events:
        match event:
            case ReasoningText(text=text):
                reasoning += text
            case ContentText(text=text):
                content += text
            case ContentWasReasoning():
                reasoning, content = reasoning + content, ""
            case _:
                pass
    return reasoning, content


# -- THINK cases


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        pytest.param("Let me look.\n</think>\nThe answer is 4.", "Let me look.", "The answer is 4.", id="THINK-01 R1"),
        pytest.param("</think>Hello", "", "Hello", id="R2"),
        pytest.param("<think>The plan</think>Done.", "The plan", "Done.", id="THINK-02 R3"),
        pytest.param("<mm:think>The plan</mm:think>Done.", "The plan", "Done.", id="THINK-02 other tag"),
        pytest.param("ans <think>more</think> ans2", "more", "ans  ans2", id="R4"),
        pytest.param("<think>never closed", "never closed", "", id="thought never closed"),
        pytest.param("tail of thought</think>Answer", "tail of thought", "Answer", id="THINK-03 one delta"),
        pytest.param(
            "I write:\n```python\nx = 1\n</think>\nDone.", "I write:\n```python\nx = 1", "Done.", id="fence left open"
        ),
        pytest.param("a `</think>` b", "", "a `</think>` b", id="in a code span"),
        pytest.param("```\n<think>x</think>\n```\nend", "", "```\n<think>x</think>\n```\nend", id="in a fence"),
        pytest.param("2 < 3 and a <b> tag", "", "2 < 3 and a <b> tag", id="other tags"),
        pytest.param("ends with <thi", "", "ends with <thi", id="half a tag at a natural end"),
    ],
)
def test_content_without_separate_reasoning(text: str, reasoning: str, content: str) -> None:
    reading = content_of(text)
    assert (reading.reasoning.strip(), reading.content.strip()) == (reasoning, content)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("The tag `</think>` closes it.", "The tag `</think>` closes it."),
        ("The </think> tag closes it.", "The </think> tag closes it."),
        ("```\na</think>b\n```\nok", "```\na</think>b\n```\nok"),
        ("\n</think>\nAnswer", "\n\nAnswer"),
        ("nk>first line", "first line"),
    ],
)
def test_content_of_a_reply_whose_reasoning_came_apart(text: str, content: str) -> None:
    assert content_of(text, reasoning="I think.").content == content


@pytest.mark.parametrize("cut", range(1, 13))
def test_closing_tag_cut_anywhere(cut: int) -> None:
    """THINK-03: no piece of the tag is ever shown."""
    text = "a</think>b"
    events, reading = run([chunk(content=text[:cut]), chunk(content=text[cut:]), chunk("stop")])
    assert (reading.reasoning, reading.content) == ("a", "b")
    assert shown(events) == ("a", "b")
    assert not any("<" in e.text or "think" in e.text for e in events if isinstance(e, (ContentText, ReasoningText)))


@pytest.mark.parametrize(
    "fields", [{"reasoning": "R"}, {"reasoning_content": "R"}, {"reasoning": "R", "reasoning_content": "R"}]
)
def test_both_field_names_never_doubled(fields: dict[str, str]) -> None:
    """THINK-04."""
    reading = run([chunk(**fields), chunk(**fields), chunk(content="A"), chunk("stop")])[1]
    assert (reading.reasoning, reading.content) == ("RR", "A")
    assert reading.reasoning_field == next(iter(fields))


def test_field_that_changes_its_name_keeps_all_text() -> None:
    reading = run([chunk(reasoning_content="a"), chunk(reasoning="b"), chunk(content="A"), chunk("stop")])[1]
    assert reading.reasoning == "ab"


def test_answer_behind_a_close_tag_in_the_reasoning_channel() -> None:
    """R9 with the tag in the wrong channel."""
    events, reading = run([chunk(reasoning="It is 8080.</think>Port 8080."), chunk("stop")])
    assert (reading.reasoning, reading.content) == ("It is 8080.", "Port 8080.")
    assert shown(events)[1] == "Port 8080."


def test_text_streams_while_it_comes() -> None:
    """Nothing is held back that cannot become a tag."""
    reader = Reader(EXPECT)
    assert reader.feed([chunk(content="Hello, ")]) == [ContentText("Hello, ")]
    assert reader.feed([chunk(content="a < b, ")]) == [ContentText("a < b, ")]
    assert reader.feed([chunk(content="and <t")]) == [ContentText("and ")]
    assert reader.feed([chunk(content="d>")]) == [ContentText("<td>")]


# -- calls in text


def test_call_markup_as_text_is_recovered() -> None:
    """CALL-15; nothing of the markup is shown."""
    text = f"I look.\n{CALL}"
    events, reading = run([*(chunk(content=c) for c in text), chunk("stop")])
    assert [(c.name, json.loads(c.arguments), c.recovered) for c in reading.calls] == [
        ("shell", {"command": "ls -l"}, True)
    ]
    assert shown(events)[1].strip() == reading.content.strip() == "I look."


def test_call_in_prose_is_text() -> None:
    """CALL-17: talked about, not called."""
    reading = content_of(f"Like this:\n\n```\n{CALL}\n```\n\nThat is all.")
    assert not reading.calls
    assert CALL in reading.content


def test_call_rehearsed_in_a_thought_is_not_run() -> None:
    """CALL-19."""
    reading = content_of("Nothing to do.", reasoning=f"I could run {CALL} but need not.")
    assert not reading.calls
    assert reading.content == "Nothing to do."


def test_call_at_the_end_of_a_lone_thought_is_run() -> None:
    """R6, recordings 11 and 12; and its markup is not shown."""
    events, reading = run([*(chunk(reasoning=c) for c in f"I look. {CALL}"), chunk("stop")])
    assert [c.name for c in reading.calls] == ["shell"]
    assert reading.reasoning.strip() == "I look."
    assert "<tool_call>" not in shown(events)[0]


def test_no_call_is_recovered_where_none_was_allowed() -> None:
    """T17: without tools, or under tool_choice none, markup is dropped and nothing runs."""
    for expect in (Expectation(tools={}), Expectation(tools={"shell": SHELL}, calls_allowed=False)):
        reading = content_of(f"So be it. {CALL}", expect=expect)
        assert not reading.calls
        assert reading.content.strip() == "So be it."


def test_cut_markup_is_a_broken_call() -> None:
    reading = content_of(CALL[:50], finish="length")
    assert not reading.calls
    assert reading.broken
    assert reading.ending is Ending.LENGTH


# -- endings


def ended(
    finish: str | None, usage: tuple[int, int] = (10, 5), stop: Any = None, max_tokens: int = 0, window: int = 0
) -> Reading:
    last: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": finish, "stop_reason": stop}]}
    counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    call = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "shell", "arguments": '{"command":"ls"}'}}])
    payloads = [call, json.dumps(last).encode(), json.dumps({"choices": [], "usage": counts}).encode()]
    return run(payloads, Expectation(tools={"shell": SHELL}, max_tokens=max_tokens, window=window))[1]


@pytest.mark.parametrize(
    ("reading", "ending"),
    [
        (ended("tool_calls"), Ending.WHOLE),
        (ended("stop"), Ending.WHOLE),
        (ended("length"), Ending.LENGTH),
        (ended("tool_calls", (10, 64), max_tokens=64), Ending.LENGTH),
        (ended("tool_calls", (10, 100), max_tokens=64), Ending.WHOLE),
        (ended("tool_calls", (4000, 96), window=4096), Ending.WINDOW),
        (ended("tool_calls", stop="repetition_detected"), Ending.REPETITION),
        (ended("repetition"), Ending.REPETITION),
        (ended("content_filter"), Ending.CUT),
        (ended(None), Ending.DROPPED),
    ],
)
def test_only_a_whole_reply_keeps_its_calls(reading: Reading, ending: Ending) -> None:
    """LAG-T3 and the ruling on whole replies."""
    assert reading.ending is ending
    assert bool(reading.calls) == (ending is Ending.WHOLE)
    assert bool(reading.broken) == (ending is not Ending.WHOLE)


def test_json_in_the_name() -> None:
    """T8, T9 and recording 16."""
    for name in ('{"name": "shell", "arguments": {"command": "ls"}}', 'shell{"command": "ls"}'):
        item = {"index": 0, "id": "c", "function": {"name": name, "arguments": "{}"}}
        reading = run([chunk(tool_calls=[item]), chunk("tool_calls")])[1]
        assert [(c.name, json.loads(c.arguments)) for c in reading.calls] == [("shell", {"command": "ls"})]


# -- envelopes


@pytest.mark.parametrize(
    "odd",
    [
        b'{"choices": null}',
        b'{"choices": []}',
        b"{}",
        b'{"choices": [null]}',
        b'{"choices": [{"delta": null}]}',
        b'{"choices": [{}]}',
        b"[]",
        b"null",
        b"17",
        b"not json",
        b"[" * 5000,
        b"",
        b'{"usage": null}',
        b'{"choices": [{"delta": {"content": null, "tool_calls": null}}]}',
    ],
)
def test_odd_chunks_are_passed_over(odd: bytes) -> None:
    """WIRE-04 and the envelope faults."""
    reading = run([odd, chunk(content="A"), odd, chunk("stop"), odd])[1]
    assert (reading.content, reading.ending) == ("A", Ending.WHOLE)


def test_error_objects_of_every_shape() -> None:
    for error, text, code in [
        ({"message": "engine stopped", "code": 500}, "engine stopped", 500),
        ("Unauthorized", "Unauthorized", 0),
        ({"detail": "x", "code": "429"}, "x", 429),
    ]:
        reading = run([chunk(content="Working"), json.dumps({"error": error}).encode()])[1]
        assert reading.ending is Ending.SERVER_ERROR
        assert reading.fault is not None
        assert (reading.fault.message, reading.fault.code) == (text, code)


def test_whole_bodies_and_ollamas_own_lines() -> None:
    body: dict[str, Any] = {
        "choices": [{"message": {"content": "Hi", "reasoning": "R"}, "finish_reason": "stop"}],
        "usage": {},
    }
    reading = run([json.dumps(body).encode()])[1]
    assert (reading.reasoning, reading.content, reading.ending) == ("R", "Hi", Ending.WHOLE)
    lines = [
        {"message": {"role": "assistant", "thinking": "R"}, "done": False},
        {"message": {"tool_calls": [{"function": {"name": "shell", "arguments": {"command": "ls"}}}]}, "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3},
    ]
    reading = run([json.dumps(line).encode() for line in lines])[1]
    assert reading.usage is not None
    assert (reading.reasoning, reading.usage.prompt, reading.calls[0].name) == ("R", 9, "shell")


def test_surrogates_are_joined_or_replaced() -> None:
    """FILE-03: a pair cut between deltas is one character, a lone half never stays."""
    reading = run([b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}', chunk(content="\ude80b"), chunk("stop")])[1]
    assert reading.content == "a🚀b"
    reading = run([b'{"choices":[{"delta":{"content":"a\\ud83d"}}]}', chunk("stop")])[1]
    assert reading.content == "a\ufffd"


# -- any text, any cuts

WORDS = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
    "shell", "command", CALL, "```", "```py", "~~~", "`", "``", "\n", "\n\n", "   ", "<", "</", "[TOOL_REQUEST]",
    "<function=shell>", "text", "日本語", "👩‍💻", "\u2028", "\x85", "\ufeff", "é", "[END_TOOL_REQUEST]", "{", "}", '"',
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=14).map("".join)


def cut(text: str, cuts: Sequence[int]) -> list[str]:
    edges = sorted({c % (len(text) + 1) for c in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(edges)]


@settings(max_examples=500, deadline=None)
@given(
    reasoning=TEXTS,
    content=TEXTS,
    cuts=st.lists(st.integers(0, 400), max_size=12),
    finish=st.sampled_from(["stop", "length", "tool_calls"]),
    together=st.booleans(),
)
def test_reading_does_not_depend_on_the_cuts(
    reasoning: str, content: str, cuts: list[int], finish: str, together: bool
) -> None:
    """Same text, other chunks: same reading; and what was shown adds up to what was read."""
    reasoning, content = (t.encode("utf-8", "replace").decode() for t in (reasoning, content))
    whole = [chunk(reasoning=reasoning)] if reasoning else []
    whole.append(chunk(content=content, finish=finish))
    _, expected = run(whole)
    pieces = [chunk(reasoning=p) for p in cut(reasoning, cuts) if p]
    parts = cut(content, cuts) or [""]
    pieces += [chunk(content=p) for p in parts[:-1]]
    pieces += [chunk(content=parts[-1], finish=finish)] if together else [chunk(content=parts[-1]), chunk(finish)]
    events, reading = run(pieces)
    assert reading == expected
    assert shown(events)[1] == reading.content


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_reader_takes_any_bytes(data: bytes) -> None:
    reader = Reader(EXPECT)
    reader.feed([data, b'{"choices":[{"delta":' + data + b"}]}"])
    reader.close()
