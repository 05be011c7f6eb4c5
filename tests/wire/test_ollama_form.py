"""Ollama's own API: its address, the form of its requests, replies and errors."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.messages import Message, Role, ToolCall, encode, tool_result
from pool.wire.dialects import ServerKind, for_address
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import ProblemKind, classify_fault, classify_response
from pool.wire.ollama import NATIVE, encode_message
from pool.wire.probe import probe
from pool.wire.reader import Reader
from pool.wire.reading import Ending, Expectation, Reading, ServerFault
from pool.wire.request import Head, RequestBuilder, Sampling
from pool.wire.sse import SseDecoder
from pool.wire.transport import Transport
from tests.wire.ollama_server import ANSWER, MODEL, Json, OllamaServer, call, last, line, overflow

TOOL = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}
EXPECT = Expectation(tools={"t": {"type": "object"}})

# -- addresses and the probe


@pytest.mark.parametrize(
    ("text", "base", "root"),
    [
        ("http://h:11434/api", "http://h:11434/api", "http://h:11434"),
        ("h:11434/api/", "http://h:11434/api", "http://h:11434"),
        ("http://[::1]:11434//api/chat", "http://[::1]:11434/api", "http://[::1]:11434"),
        ("http://h:11434", "http://h:11434/v1", "http://h:11434"),
        ("http://h/x/api", "http://h/x/api/v1", "http://h/x/api"),
        ("http://h/api/v1", "http://h/api/v1", "http://h/api"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1", "https://openrouter.ai/api"),
    ],
)
def test_which_addresses_mean_ollamas_own_api(text: str, base: str, root: str) -> None:
    endpoint = parse_endpoint(text)
    assert (endpoint.base_url, endpoint.root) == (base, root)
    assert parse_endpoint(endpoint.base_url) == endpoint
    native = base.endswith("/api")
    assert (for_address(base).shape is NATIVE) is native
    assert endpoint.url(for_address(base).shape.path) == f"{base}/{'chat' if native else 'chat/completions'}"


async def test_the_probe_asks_for_ollamas_own_documents() -> None:
    async with OllamaServer(ANSWER) as server, Transport(parse_endpoint(server.address)) as transport:
        info = await probe(transport, "LAGUNA-S:2.1")
    assert (info.kind, info.version, info.models) == (ServerKind.OLLAMA_NATIVE, "0.33.0", (MODEL,))
    assert (info.model, info.window) == (MODEL, 0)
    assert "POOL_CONTEXT_LENGTH" in " ".join(info.notes)
    assert sorted(server.paths) == ["GET /api/ps", "GET /api/tags", "GET /api/version"]


# -- errors


@pytest.mark.parametrize(
    ("status", "text", "kind", "remedy"),
    [
        (404, "model 'laguna-s:2.1' not found", ProblemKind.MODEL_NOT_FOUND, "http://h:11434/v1/models"),
        (400, '"llama3.2" does not support thinking', ProblemKind.BAD_REQUEST, "--thinking off"),
        (400, "registry.ollama.ai/library/x:1b does not support tools", ProblemKind.BAD_REQUEST, "ollama show"),
        (503, "server busy, please try again.  maximum pending requests exceeded", ProblemKind.BUSY, ""),
        (500, "llama runner process has terminated: error loading model", ProblemKind.SERVER_ERROR, "log"),
        (400, "the prompt is longer than the context length currently available", ProblemKind.OVERFLOW, "POOL_CONTEXT"),
        (400, overflow(7412, 4096), ProblemKind.OVERFLOW, "POOL_CONTEXT_LENGTH"),
    ],
)
def test_refusals(status: int, text: str, kind: ProblemKind, remedy: str) -> None:
    endpoint = parse_endpoint("http://h:11434/api")
    body = json.dumps({"error": text}).encode()
    problem = classify_response(status, {"content-type": "application/json"}, body, endpoint)
    assert problem.kind is kind
    assert remedy in problem.remedy
    assert "{" not in problem.message


def test_llamacpps_error_inside_the_stream_is_read_too() -> None:
    reading = read(json.dumps({"error": overflow(7412, 4096)}).encode() + b"\n")
    assert isinstance(reading.fault, ServerFault)
    problem = classify_fault(reading.fault, parse_endpoint("http://h:11434/api"))
    assert (problem.kind, problem.window, problem.prompt_tokens) == (ProblemKind.OVERFLOW, 4096, 7412)
    assert read(b'{"error":"{not json"}\n').fault == ServerFault("{not json")


# -- the form of a request


def test_extra_options_and_request_fields() -> None:
    head = Head("m", True, (TOOL,), Sampling(top_k=None, extra={"min_p": 0.05}), {"keep_alive": "30m"}, window=4096)
    builder = RequestBuilder(head, NATIVE)
    body = json.loads(builder.build([b"{}"], max_tokens=0, tool_choice="none", extra={"format": "json"}))
    assert body["options"] == {"num_ctx": 4096, "temperature": 0.7, "top_p": 0.95, "min_p": 0.05, "num_predict": 1}
    assert (body["keep_alive"], body["format"], "tool_choice" in body) == ("30m", "json", False)
    assert json.loads(builder.head_json)["options"]["num_ctx"] == 4096
    assert json.loads(builder.build([], max_tokens=7))["options"]["num_predict"] == 7


def test_v1_keeps_its_bytes() -> None:
    """Named tools and a wanted window leave no trace in OpenAI's form."""
    assert encode(tool_result("c1", "x", "read")).data == b'{"role":"tool","tool_call_id":"c1","content":"x"}'
    body = RequestBuilder(Head("m", False, window=4096)).build([b"{}"], max_tokens=5, tool_choice="none")
    assert body == (
        b'{"model":"m","temperature":0.7,"top_p":0.95,"top_k":20,"chat_template_kwargs":{"enable_thinking":false},'
        b'"stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"messages":[{}]}'
    )


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TEXT = st.text(st.characters(), max_size=20)


@given(TEXT, TEXT, st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3))
def test_messages_are_valid_json_and_arguments_keep_values_and_order(text: str, thought: str, args: Json) -> None:
    calls = (ToolCall("c1", "t", json.dumps(args, ensure_ascii=False)),)
    message = json.loads(encode_message(Message(Role.ASSISTANT, text, thought, calls=calls)).data)
    assert message["tool_calls"][0]["function"]["arguments"] == args
    assert list(message["tool_calls"][0]["function"]["arguments"]) == list(args)
    assert message["content"] == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert ("thinking" in message) is bool(thought)


# -- reading


def read(*pieces: bytes) -> Reading:
    decoder, reader = SseDecoder(), Reader(EXPECT)
    for data in pieces:
        reader.feed(decoder.feed(data))
    reader.feed(decoder.close())
    return reader.close()[1]


@pytest.mark.parametrize(
    ("data", "ending", "usage"),
    [
        (line(content="x") + last("stop", 9, 3), Ending.WHOLE, (9, 3)),
        (line(content="x") + last("length", 9, 3), Ending.LENGTH, (9, 3)),
        (line(content="x") + last("stop", 9, 0), Ending.WHOLE, (9, 0)),
        (line(content="x") + last("stop", 0, 3), Ending.WHOLE, (0, 3)),
        (line(content="x") + b'{"model":"m","done":true,"eval_count":2}', Ending.WHOLE, (0, 2)),
        (line(content="x"), Ending.DROPPED, None),
        (line("load"), Ending.DROPPED, None),
        (line("unload"), Ending.DROPPED, None),
    ],
)
def test_how_a_reply_ends(data: bytes, ending: Ending, usage: tuple[int, int] | None) -> None:
    reading = read(data)
    assert reading.ending is ending
    assert (usage and (reading.usage and (reading.usage.prompt, reading.usage.completion))) == usage


def test_cached_tokens_are_part_of_the_prompt() -> None:
    reading = read(b'{"done":true,"done_reason":"stop","prompt_eval_count":90,"prompt_eval_cached_count":80}\n')
    assert reading.usage is not None
    assert (reading.usage.prompt, reading.usage.cached) == (90, 80)


def two_calls(text: str) -> bytes:
    return line(tool_calls=[call("t", x=text), call("t")])


def thought(text: str) -> bytes:
    return line(thinking=text)


def content(text: str) -> bytes:
    return line(content=text)


def test_a_broken_line_holds_up_nothing() -> None:
    decoder = SseDecoder()
    broken = b'{"model":"m","mess\n'
    assert len(decoder.feed(line(content="a") + broken + line(content="b"))) == 3
    reading = read(line(content="a") + broken + line(content="b") + last())
    assert (reading.content, reading.repairs) == ("ab", ("undecodable-event",))


PARTS = st.one_of(
    st.builds(thought, st.text(min_size=1, max_size=8)),
    st.builds(content, st.sampled_from(["a", "é\u2028", "日本", "<tool_call>", "```", "\n\n", "{"])),
    st.builds(two_calls, st.text(max_size=8)),
)


@given(st.lists(PARTS, max_size=6), st.lists(st.integers(min_value=0), max_size=8), st.booleans())
def test_where_lines_are_cut_makes_no_difference(parts: list[bytes], cuts: list[int], crlf: bool) -> None:
    body = b"".join(parts) + last()
    if crlf:
        body = body.replace(b"\n", b"\r\n")
    edges = sorted({cut % (len(body) + 1) for cut in cuts} | {0, len(body)})
    reading = read(*(body[a:b] for a, b in pairwise(edges)))
    assert reading == read(b"".join(parts) + last())
    assert reading.ending is Ending.WHOLE
    sent = [m for part in parts for m in json.loads(part)["message"].get("tool_calls", ())]
    assert [json.loads(c.arguments) for c in reading.calls] == [c["function"]["arguments"] for c in sent]
