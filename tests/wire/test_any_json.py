"""Whatever JSON a server sends, at whatever place, it is read without an error, and so is all that is made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.events import plain
from pool.lab.doctor.reply import _Wire  # pyright: ignore[reportPrivateUsage]
from pool.wire.calls import CallAssembler
from pool.wire.dialects import ServerKind, for_server
from pool.wire.endpoint import parse_endpoint
from pool.wire.errors import classify_fault, classify_response
from pool.wire.identify import LMSTUDIO_MODELS_PATH, Documents, identify
from pool.wire.metrics import load_of, read_metrics
from pool.wire.reader import Reader
from pool.wire.reading import Expectation, Reading

ENDPOINT = parse_endpoint("h")
EXPECT = Expectation(tools={"shell": {"type": "object", "properties": {"command": {"type": "string"}}}}, window=4096)
DEEP = json.loads("[" * 900 + "]" * 900)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.sampled_from(["²", "9" * 5000, "\ud800", "stop", "length", "shell", '{"a":', "shell{}", 10**4000, DEEP])
)
FIELDS = (
    *("id", "choices", "delta", "message", "finish_reason", "stop_reason", "matched_stop", "index", "error", "code"),
    *("type", "detail", "usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens"),
    *("completion_tokens_details", "reasoning_tokens", "timings", "cache_n", "done", "done_reason", "eval_count"),
    *("content", "reasoning", "reasoning_content", "thinking", "tool_calls", "function", "name", "arguments", "text"),
    *("loc", "msg", "metadata", "raw", "provider_name", "param", "n_ctx", "n_prompt_tokens", "data", "meta", "state"),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=8,
)
CHUNK: dict[str, Any] = {
    "id": "r",
    "choices": [
        {
            "index": 0,
            "delta": {
                "reasoning": "R",
                "content": "C",
                "tool_calls": [{"index": 0, "id": "c", "function": {"name": "shell", "arguments": "{}"}}],
            },
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ],
    "usage": {
        "prompt_tokens": 4,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
    "timings": {"cache_n": 1},
    "message": {"content": "C", "thinking": "R", "tool_calls": []},
    "done": True,
    "done_reason": "stop",
    "eval_count": 1,
}
ERROR: dict[str, Any] = {"error": {"message": "m", "type": "t", "code": 400, "detail": [{"loc": ["a", 1], "msg": "m"}]}}


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where in a value something else can stand."""
    out = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    for key, inner in pairs:  # pyright: ignore[reportUnknownVariableType]
        out += places(inner, (*path, key))  # pyright: ignore[reportUnknownArgumentType]
    return out


def replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return copy


def read(value: Any) -> Reading:
    """Read one chunk to the end, and do with the reading what a client does."""
    payload = json.dumps(value).encode()
    reader, wire = Reader(EXPECT), _Wire()
    reader.feed([payload, payload])
    wire.take(payload)
    _, reading = reader.close()
    json.dumps(plain(reading), ensure_ascii=False).encode()
    reader.id.encode()
    if reading.fault is not None:
        str(classify_fault(reading.fault, ENDPOINT)).encode()
    if reading.usage is not None:
        usage = reading.usage
        assert min(usage.prompt, usage.completion, usage.cached, usage.reasoning) >= 0
    return reading


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("usage", "prompt_tokens_details"), [1]),
        (("usage", "completion_tokens_details"), "x"),
        (("choices", 0, "delta", "tool_calls", 0, "index"), "9" * 5000),
        (("choices", 0, "delta", "tool_calls", 0, "function", "name"), '{"a":' * 3000),
        (("choices", 0, "finish_reason"), DEEP),
        (("choices", 0, "stop_reason"), DEEP),
        (("done_reason",), DEEP),
        (("error",), {"code": "²"}),
        (("error",), {"code": "9" * 5000}),
        (("error",), DEEP),
        (("error",), {"message": DEEP}),
        (("error",), {"message": "\ud800"}),
        (("id",), "\ud800"),
    ],
)
def test_values_that_were_once_too_odd(path: tuple[str | int, ...], value: Any) -> None:
    read(replaced(CHUNK, path, value))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(places(CHUNK)), JSON)
def test_any_value_at_any_place_of_a_chunk(path: tuple[str | int, ...], value: Any) -> None:
    read(replaced(CHUNK, path, value))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(places(ERROR)), JSON)
def test_any_value_at_any_place_of_an_error(path: tuple[str | int, ...], value: Any) -> None:
    error = replaced(ERROR, path, value)
    read(error)
    body = json.dumps(error).encode()
    for status in (400, 500):
        problem = classify_response(status, {"content-type": "application/json"}, body, ENDPOINT)
        f"{problem} {problem.remedy}".encode()


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_any_value_is_a_chunk_a_body_and_a_list_of_calls(value: Any) -> None:
    read(value)
    assembler = CallAssembler()
    assembler.feed(value)
    assembler.feed(value)
    assembler.finish()


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["models", "/props", "/version", "/api/ps", LMSTUDIO_MODELS_PATH]), JSON))
def test_any_document_describes_a_server(documents: dict[str, Any]) -> None:
    for kind in (None, ServerKind.LLAMACPP):
        info = identify(Documents(documents), kind, "", reachable=True)
        assert all(name.isprintable() for name in info.models)
        assert info.describe().isprintable()


@pytest.mark.parametrize("text", [" \n", "a inf\na -inf\n", "vllm:num_requests_running inf\nx nan\n", "a{ 1\n"])
def test_odd_metrics_are_passed_over(text: str) -> None:
    values = read_metrics(text + "vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n")
    load = load_of(values, for_server(ServerKind.VLLM))
    assert load is not None
    assert load.running == 1


def test_counts_that_cannot_be_true_are_no_counts() -> None:
    absurd = replaced(CHUNK, ("usage", "prompt_tokens"), 2**41)
    negative = replaced(CHUNK, ("usage", "completion_tokens"), -5)
    assert read(absurd).usage is None
    usage = read(negative).usage
    assert usage is not None
    assert (usage.prompt, usage.completion) == (4, 0)
