"""Requests: the head frozen, the messages' own bytes, and never a field that servers refuse."""

from __future__ import annotations

import json
from typing import Any

from pool.messages import encode, user
from pool.wire.request import Head, RequestBuilder, Sampling

TOOL: dict[str, Any] = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {}}}


def test_request_has_all_that_it_must_say() -> None:
    messages = [encode(user("Grüße\u2028")).data, encode(user("2")).data]
    body = RequestBuilder(Head("m", True, (TOOL,))).build(messages, max_tokens=100)
    assert b",".join(messages) in body
    request = json.loads(body)
    assert request["chat_template_kwargs"] == {"enable_thinking": True}
    assert request["stream"] is True
    assert request["stream_options"] == {"include_usage": True}
    assert request["max_tokens"] == 100
    assert request["tools"] == [TOOL]
    assert (request["temperature"], request["top_p"], request["top_k"]) == (0.7, 0.95, 20)
    assert not {"min_p", "logit_bias", "stop", "tool_choice"} & set(request)


def test_no_empty_tool_list_is_sent() -> None:
    request = json.loads(RequestBuilder(Head("m", False)).build([b"{}"], max_tokens=1, tool_choice="none"))
    assert "tools" not in request
    assert "tool_choice" not in request


def test_only_the_end_of_a_request_grows() -> None:
    """The bytes before the messages stay the same, so nothing there can break the server's prefix cache."""
    builder = RequestBuilder(Head("m", True, (TOOL,)))
    messages = [encode(user(str(i))).data for i in range(4)]
    short, longer = (builder.build(messages[:n], max_tokens=5) for n in (3, 4))
    assert longer.startswith(short[:-2])


def test_extra_fields_join_and_max_tokens_is_never_below_one() -> None:
    builder = RequestBuilder(Head("m", True, (TOOL,), Sampling(temperature=None)))
    extra = {"stream_options": {"continuous_usage_stats": True}, "seed": 1}
    request = json.loads(builder.build([b"{}"], max_tokens=-5, tool_choice="none", extra=extra))
    assert request["max_tokens"] == 1
    assert request["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert (request["seed"], request["tool_choice"]) == (1, "none")
    assert "temperature" not in request
