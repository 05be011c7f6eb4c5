"""The tokenizer and the chat template."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pool.sim.errors import ApiError
from pool.sim.settings import SimSettings
from pool.sim.template import Rendering, render
from pool.sim.tokens import END_THINK, THINK, decode, encode, ids
from tests.sim.client import Json, tools_in
from tests.sim.conftest import Connect

MOST_JSON_INTEGER = 2**53
CHAT: list[Json] = [
    {"role": "system", "content": "SYS"},
    {"role": "user", "content": "U1"},
    {
        "role": "assistant",
        "reasoning": "R1",
        "tool_calls": [{"id": "1", "function": {"name": "ls", "arguments": '{"d": ".", "n": 2}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "T1"},
]


@given(st.text())
@example("<think>a</think><tool_call>x<arg_key>k</arg_key>  日本語 👩‍💻 <b> </thin")
def test_tokens_join_to_the_text_and_ids_decode_to_it(text: str) -> None:
    tokens = encode(text)
    assert "".join(tokens) == text
    assert decode(ids(tokens)) == text
    assert all(2 <= number < MOST_JSON_INTEGER for number in ids(tokens))


@given(st.text(alphabet="ab .<\n", max_size=20), st.text(alphabet="ab .<\n", max_size=20))
def test_a_mark_splits_what_is_around_it(before: str, after: str) -> None:
    assert encode(f"{before}{END_THINK}{after}") == [*encode(before), END_THINK, *encode(after)]


def test_a_token_is_about_four_characters() -> None:
    text = "The tests fail because the function compares with the wrong operator; I change it.\n" * 20
    assert 3 < len(text) / len(encode(text)) < 5


def test_unknown_ids_are_left_out() -> None:
    assert decode([0, -5, 1, 99, *ids(["hi"]), 2**60]) == "hi"


def test_prompt_has_lagunas_frame() -> None:
    prompt = render(CHAT, [], Rendering(thinks=True))
    assert prompt == (
        "〈|EOS|〉<system>SYS</system>\n<user>U1</user>\n"
        "<assistant><think>R1</think><tool_call>ls<arg_key>d</arg_key><arg_value>.</arg_value>"
        "<arg_key>n</arg_key><arg_value>2</arg_value></tool_call></assistant>\n"
        "<tool_response>T1</tool_response>\n<assistant><think>"
    )


def test_thoughts_are_left_out_with_thinking_off_unless_kept() -> None:
    assert "<assistant></think><tool_call>" in render(CHAT, [], Rendering(thinks=False))
    assert "<think>R1</think>" in render(CHAT, [], Rendering(thinks=False, preserve=True))


def test_tools_stand_in_the_system_block() -> None:
    prompt = render(CHAT, tools_in("bar"), Rendering(thinks=True))
    listed = prompt.partition("<available_tools>\n")[2].partition("\n</available_tools></system>\n<user>")[0]
    assert [json.loads(line)["function"]["name"] for line in listed.splitlines()] == ["read", "edit", "shell"]


@pytest.mark.parametrize(
    ("message", "end"),
    [
        ({"reasoning": "R"}, "<assistant><think>R</think>"),
        ({"reasoning": "R", "content": "The answer"}, "<assistant><think>R</think>The answer"),
        ({"reasoning_content": "R"}, "<assistant><think>R</think>"),
    ],
)
def test_last_message_is_left_open_to_go_on(message: Json, end: str) -> None:
    how = Rendering(thinks=True, generate=False, continue_final=True)
    assert render([{"role": "user", "content": "U"}, {"role": "assistant", **message}], [], how).endswith(end)


@pytest.mark.parametrize("arguments", ['{"a', "[1]", '"text"'])
def test_arguments_that_are_no_object_are_refused(arguments: str) -> None:
    call = {"function": {"name": "f", "arguments": arguments}}
    with pytest.raises(ApiError):
        render([{"role": "assistant", "tool_calls": [call]}], [], Rendering(thinks=True))


@pytest.mark.parametrize("arguments", ["", None, {}, "{}"])
def test_empty_arguments_are_fine(arguments: Any) -> None:
    call = {"function": {"name": "f", "arguments": arguments}}
    assert "<tool_call>f</tool_call>" in render(
        [{"role": "assistant", "tool_calls": [call]}], [], Rendering(thinks=True)
    )


def test_tokenize_shows_what_the_template_does(connect: Connect) -> None:
    client = connect(SimSettings())
    body = {"messages": CHAT, "chat_template_kwargs": {"enable_thinking": True}}
    told = client.post("/tokenize", json=body).json()
    text = client.post("/detokenize", json={"tokens": told["tokens"]}).json()["prompt"]
    assert told["count"] == len(told["tokens"])
    assert told["token_strs"] is None
    assert f"{THINK}R1{END_THINK}" in text
    renamed = [{**message, "reasoning_content": message.get("reasoning"), "reasoning": None} for message in CHAT]
    told = client.post("/tokenize", json={**body, "messages": renamed}).json()
    assert "R1" not in client.post("/detokenize", json={"tokens": told["tokens"]}).json()["prompt"]


def test_chat_can_return_its_prompt(connect: Connect) -> None:
    body: Json = {"messages": CHAT, "max_tokens": 1, "return_prompt_text": True}
    answer = connect(SimSettings(template_thinks=False)).post("/v1/chat/completions", json=body).json()
    assert answer["prompt_text"].endswith("<assistant></think>")
    assert answer["usage"]["prompt_tokens"] == len(encode(answer["prompt_text"]))
