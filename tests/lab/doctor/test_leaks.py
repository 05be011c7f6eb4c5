"""Marks of the model in the text, and replies that differ without streaming."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.lab.doctor.finding import Status
from pool.lab.doctor.marks import call_markup, template_marks, thinking_tags
from tests.lab.doctor.servers import Json, Said, Script, of_script, vllm

CALLED = Said(
    calls=[{"id": "c", "function": {"name": "read_file", "arguments": '{"path": "alpha.txt"}'}}], finish="tool_calls"
)
MARKUP = "<tool_call>read_file<arg_key>path</arg_key><arg_value>alpha.txt</arg_value></tool_call>"


async def found_for(streamed: Said, whole: Said, check: str = "leaks") -> tuple[Status, str, str]:
    def say(body: Json) -> Said:
        if "tools" not in body:
            return Said("Ready.")
        return streamed if body["stream"] else whole

    found = (await of_script(Script(say, vllm()), check))[check]
    return found.status, found.words, found.remedy


async def test_alike() -> None:
    assert await found_for(CALLED, CALLED) == (Status.OK, "no marks in the text of 3 replies", "")
    alike = "with and without streaming a reply is the same"
    assert await found_for(CALLED, CALLED, "unstreamed") == (Status.OK, alike, "")


WHOLE: list[tuple[Said, str]] = [
    (Said("Hm.", finish="tool_calls"), "calls none (streamed: read_file), text some (streamed: none)"),
    (Said(reasoning="Hm.", calls=CALLED.calls, finish="tool_calls"), "thoughts reasoning (streamed: none)"),
]


@pytest.mark.parametrize(("whole", "words"), WHOLE)
async def test_different_without_streaming(whole: Said, words: str) -> None:
    status, said, remedy = await found_for(CALLED, whole, "unstreamed")
    assert (status, remedy) == (Status.WARN, "pip install --upgrade vllm")
    assert words in said


async def test_a_request_that_fails_without_streaming() -> None:
    status, said, _ = await found_for(CALLED, Said(status=500, error="boom"), "unstreamed")
    assert (status, said) == (Status.FAIL, "the server failed (HTTP 500): boom")


MARKS = [
    ("Hm.</think>Yes.", "</think>", "--reasoning-parser poolside_v1"),
    (MARKUP, "<tool_call>", "--enable-auto-tool-choice --tool-call-parser poolside_v1"),
    ("Yes.</assistant>", "</assistant>", "pip install --upgrade vllm"),
    ("Yes.<|im_end|>", "<|im_end|>", "pip install --upgrade vllm"),
]


@pytest.mark.parametrize(("text", "mark", "remedy"), MARKS)
async def test_marks(text: str, mark: str, remedy: str) -> None:
    status, words, line = await found_for(Said(text), Said(text))
    assert (status, line) == (Status.FAIL, remedy)
    assert f"(leaks: {mark})" in words


async def test_a_call_without_a_tool_is_not_the_servers_fault() -> None:
    def say(body: Json) -> Said:
        return CALLED if "tools" in body else Said(MARKUP)

    assert (await of_script(Script(say, vllm()), "leaks"))["leaks"].status is Status.OK


async def test_a_parser_that_works_but_leaks_is_not_asked_for_again() -> None:
    torn = Said("think>Yes.", reasoning="Hm.")
    status, words, line = await found_for(torn, torn)
    assert (status, line) == (Status.FAIL, "pip install --upgrade vllm"), words


async def test_marks_in_replies_of_other_checks_count() -> None:
    def say(body: Json) -> Said:
        return CALLED if "tools" in body else Said("</think>Ready.")

    found = (await of_script(Script(say, vllm()), "leaks"))["leaks"]
    assert found.status is Status.FAIL
    assert found.data["marks"] == {"model": ["</think>"], "stream": ["</think>"]}


@pytest.mark.parametrize(
    "text",
    [
        "Write `<think>` and `</think>` around it.",
        "```\n<think>\n</think>\n<tool_call>read</tool_call>\n<|im_end|>\n```\n",
        "a < b, c > d, <table>, <thinker>",
        "the tag <tool_call> in prose",
        "",
    ],
)
def test_what_is_no_mark(text: str) -> None:
    assert (thinking_tags(text), call_markup(text), template_marks(text)) == ([], [], [])


@given(st.text("abc <>/`\n", max_size=30), st.text("abc /\n", max_size=30))
def test_a_tag_in_plain_text_is_always_found(before: str, after: str) -> None:
    before = before.replace("`", "")
    assert "</think>" in thinking_tags(f"{before}</think>{after}")
