"""Each fault, by the bytes that a client sees of it."""

from __future__ import annotations

import inspect
import json
import re
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from pool.sim.faults import ALL_FAULTS, describe_faults, parse_fault
from pool.sim.settings import DEFAULT_MODEL, SimSettings
from tests.sim.client import PROMPT, THINKING, Json, Workbench, collect, drive, events, tools_in
from tests.sim.conftest import Connect, StartSim

LIST_FILES = {"name": "shell", "arguments": '{"command":"ls"}'}
HISTORY: list[Json] = [
    {"role": "user", "content": PROMPT},
    {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": LIST_FILES}]},
    {"role": "tool", "tool_call_id": "c1", "content": "nothing"},
]


def request(**changes: Any) -> Json:
    """A request whose honest answer is a thought and one call of the shell."""
    return {
        "model": DEFAULT_MODEL,
        "messages": [{"role": "user", "content": PROMPT}],
        "tools": tools_in("bar"),
        "stream": True,
        "stream_options": {"include_usage": True},
        "chat_template_kwargs": THINKING,
        "max_tokens": 400,
        **changes,
    }


def finish_of(chunks: list[Json]) -> str:
    return next(c["choices"][0]["finish_reason"] for c in reversed(chunks) if c.get("choices"))


def usage_of(chunks: list[Json]) -> Json:
    return chunks[-1]["usage"]


def the_call(message: Json) -> Json:
    (call,) = message["tool_calls"]
    return call["function"]


def leaked(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["reasoning"] == ""
    assert re.fullmatch(r"[^<]+</think>", message["content"])
    assert finish == "tool_calls"


def stray(message: Json, finish: str, chunks: list[Json]) -> None:
    assert (message["reasoning"], message["content"]) == ("", "</think>")


def block(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["reasoning"] == ""
    assert re.fullmatch(r"<think>[^<]+</think>", message["content"])


def second(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["reasoning"]
    assert message["content"] == "<think>One more thought.</think>"
    assert the_call(message)["name"] == "shell"


def in_reasoning(message: Json, finish: str, chunks: list[Json]) -> None:
    assert "<tool_call>shell<arg_key>command</arg_key>" in message["reasoning"]
    assert (message["content"], message["tool_calls"], finish) == ("", [], "stop")


def only_reasoning(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["reasoning"]
    assert (message["content"], message["tool_calls"], finish) == ("", [], "stop")


def nameless(message: Json, finish: str, chunks: list[Json]) -> None:
    assert the_call(message)["name"] == ""
    assert json.loads(the_call(message)["arguments"]) == {"command": "python -m pytest -q"}


def valueless(message: Json, finish: str, chunks: list[Json]) -> None:
    assert the_call(message) == {"name": "shell", "arguments": ""}


def cut_but_closed(message: Json, finish: str, chunks: list[Json]) -> None:
    assert json.loads(the_call(message)["arguments"])["command"].startswith("python -m pytest -q\n")
    assert finish == "tool_calls"
    assert chunks[-2]["choices"][0]["stop_reason"] is None
    assert usage_of(chunks)["completion_tokens"] == 400


def as_text(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["content"].startswith("<tool_call>shell<arg_key>command</arg_key>")
    assert (message["tool_calls"], finish) == ([], "stop")


def no_call(message: Json, finish: str, chunks: list[Json]) -> None:
    assert (message["content"], message["tool_calls"], finish) == ("", [], "tool_calls")


def stopped(message: Json, finish: str, chunks: list[Json]) -> None:
    assert the_call(message)["name"] == "shell"
    assert finish == "stop"


def runaway(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["reasoning"].count("wait, check again. ") > 50
    assert (message["content"], finish) == ("", "length")
    assert usage_of(chunks)["completion_tokens"] == 400


def nothing(message: Json, finish: str, chunks: list[Json]) -> None:
    assert (message["reasoning"], message["content"], message["tool_calls"], finish) == ("", "", [], "stop")


def announced(message: Json, finish: str, chunks: list[Json]) -> None:
    assert message["content"] == "Now I will use shell on python -m pytest -q:"
    assert (message["tool_calls"], finish) == ([], "stop")


def null_arguments(message: Json, finish: str, chunks: list[Json]) -> None:
    assert the_call(message) == {"name": "shell", "arguments": None}


def without_id(message: Json, finish: str, chunks: list[Json]) -> None:
    starts = [p for c in chunks for ch in c["choices"] for p in ch["delta"].get("tool_calls", []) if "type" in p]
    assert len(starts) == 1
    assert "id" not in starts[0]


def doubled(message: Json, finish: str, chunks: list[Json]) -> None:
    once = '{"command": "python -m pytest -q"}'
    assert the_call(message)["arguments"] == once + once


def early(message: Json, finish: str, chunks: list[Json]) -> None:
    assert the_call(message)["arguments"] == '{"command": "python -m pytest -q"}}'


def without_usage(message: Json, finish: str, chunks: list[Json]) -> None:
    assert not any("usage" in chunk for chunk in chunks)
    assert the_call(message)["name"] == "shell"


def error_in_stream(message: Json, finish: str, chunks: list[Json]) -> None:
    assert len(chunks) == 4
    assert chunks[-1]["error"]["code"] == 500


STREAM_CHECKS: dict[str, Callable[[Json, str, list[Json]], None]] = {
    "leaked-think": leaked,
    "stray-close": stray,
    "think-in-content": block,
    "second-think": second,
    "thought-never-closed": in_reasoning,
    "call-in-reasoning": in_reasoning,
    "call-in-reasoning:closed": in_reasoning,
    "reasoning-only": only_reasoning,
    "empty-name": nameless,
    "no-value": valueless,
    "cut-call-closed": cut_but_closed,
    "markup-as-text": as_text,
    "tool-calls-without-call": no_call,
    "stop-with-call": stopped,
    "runaway-thought": runaway,
    "empty-reply": nothing,
    "announce-without-act": announced,
    "null-arguments": null_arguments,
    "no-ids": without_id,
    "double-object": doubled,
    "early-brace": early,
    "no-usage": without_usage,
    "error-in-stream:3": error_in_stream,
}
OTHER_CHECKS = (
    *("repeat-call", "same-index", "drop-mid-stream", "reset", "heartbeats-only", "crlf", "byte-by-byte", "silent"),
    *("429-then-ok", "503-then-ok", "loading", "html-body", "401", "500", "json-body"),
    # What these do is seen in test_capabilities.py.
    *("grammar-ignored", "budget-ignored", "repetition-ignored", "drafts-rejected", "no-prefix-cache"),
    *("forgets-thoughts", "unstreamed-raw", "cuts-front", "calls-merged", "counts-off", "one-call"),
)


def post(client: httpx.Client, **changes: Any) -> httpx.Response:
    return client.post("/v1/chat/completions", json=request(**changes))


@pytest.mark.parametrize("fault", STREAM_CHECKS)
def test_stream_shows_the_fault(connect: Connect, fault: str) -> None:
    response = post(connect(SimSettings(faults=(fault,))))
    assert response.status_code == 200
    chunks = events(response.content)
    STREAM_CHECKS[fault](collect(chunks), "" if "error" in chunks[-1] else finish_of(chunks), chunks)


def test_every_fault_is_checked_and_names_its_source() -> None:
    checked = {parse_fault(text).name for text in (*STREAM_CHECKS, *OTHER_CHECKS)}
    assert checked == set(ALL_FAULTS)
    for name, fault in ALL_FAULTS.items():
        text = inspect.getdoc(fault) or ""
        assert "https://github.com/" in text or "ecording" in text or "Run with vLLM" in text, name
        assert name in describe_faults()


@pytest.mark.parametrize("fault", ["leaked-think", "stray-close", "think-in-content", "runaway-thought"])
def test_thinking_off_has_its_own_form(connect: Connect, fault: str) -> None:
    response = post(connect(SimSettings(faults=(fault,))), chat_template_kwargs={"enable_thinking": False})
    message = collect(events(response.content))
    assert message["reasoning"] == ""
    assert "think>" in message["content"] or "check again" in message["content"]


def test_repeats_the_last_call_of_the_history(connect: Connect) -> None:
    message = collect(events(post(connect(SimSettings(faults=("repeat-call",))), messages=HISTORY).content))
    assert json.loads(the_call(message)["arguments"]) == {"command": "ls"}


def test_all_calls_have_index_0(connect: Connect) -> None:
    script = ("</think><tool_call>read<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>" * 2,)
    chunks = events(post(connect(SimSettings(faults=("same-index",), script=script))).content)
    indices = [p["index"] for c in chunks for ch in c["choices"] for p in ch["delta"].get("tool_calls", [])]
    assert set(indices) == {0}


@pytest.mark.parametrize("fault", ["drop-mid-stream:3", "reset:3"])
def test_connection_ends_in_the_middle(start_sim: StartSim, fault: str) -> None:
    url = httpx.URL(start_sim(SimSettings(faults=(fault,))).url)
    body = json.dumps(request()).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    got = b""
    with socket.create_connection((url.host, url.port or 0), timeout=10) as raw:
        raw.sendall(head + body)
        reset = False
        try:
            while data := raw.recv(65536):
                got += data
        except ConnectionResetError:
            reset = True
    assert reset is fault.startswith("reset")
    assert got.count(b"data: ") == 3
    assert not got.endswith(b"0\r\n\r\n")


def test_only_heartbeats(connect: Connect) -> None:
    raw = post(connect(SimSettings(faults=("heartbeats-only",)))).content
    assert raw == b": waiting\n\n" * 3 + b"data: [DONE]\n\n"


def test_lines_end_with_cr_lf(connect: Connect) -> None:
    raw = post(connect(SimSettings(faults=("crlf",)))).content
    assert raw.endswith(b"data: [DONE]\r\n\r\n")
    assert raw.count(b"\n") == raw.count(b"\r\n")


def test_bytes_come_one_by_one(connect: Connect) -> None:
    script = ("Hm.</think>日本語 👩‍💻",)
    client = connect(SimSettings(faults=("byte-by-byte",), script=script))
    with client.stream("POST", "/v1/chat/completions", json=request()) as response:
        pieces = list(response.iter_raw(chunk_size=1))
    assert max(map(len, pieces)) == 1
    assert collect(events(b"".join(pieces)))["content"] == "日本語 👩‍💻"


def test_silence_comes_after_the_headers(connect: Connect) -> None:
    client = connect(SimSettings(faults=("silent:30",)))
    limits = httpx.Timeout(5, read=0.4)
    with (
        client.stream("POST", "/v1/chat/completions", json=request(), timeout=limits) as response,
        pytest.raises(httpx.ReadTimeout),
    ):
        response.read()
    assert response.status_code == 200


def test_refusals_that_pass(connect: Connect) -> None:
    client = connect(SimSettings(faults=("429-then-ok:7",)))
    first, then = post(client), post(client)
    assert (first.status_code, first.headers["retry-after"]) == (429, "7")
    assert then.status_code == 200
    busy = connect(SimSettings(faults=("503-then-ok@1-2",)))
    assert [post(busy).status_code for _ in range(3)] == [503, 503, 200]
    loading = connect(SimSettings(faults=("loading",)))
    assert [post(loading).status_code for _ in range(4)] == [503, 503, 503, 200]
    assert post(connect(SimSettings(faults=("loading",)))).json()["error"]["message"] == "Loading model"


def test_refusals_that_stay(connect: Connect) -> None:
    html = post(connect(SimSettings(faults=("html-body",))))
    assert (html.status_code, html.headers["content-type"]) == (502, "text/html; charset=utf-8")
    assert html.text.startswith("<html>")
    assert post(connect(SimSettings(faults=("401",)))).json() == {"error": "Unauthorized"}
    broken = post(connect(SimSettings(faults=("500",))))
    assert (broken.status_code, broken.json()["error"]["type"]) == (500, "InternalServerError")


def test_json_instead_of_a_stream(connect: Connect) -> None:
    response = post(connect(SimSettings(faults=("json-body",))))
    assert response.headers["content-type"] == "application/json"
    assert response.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "shell"


def test_a_fault_hits_the_requests_that_it_is_for(start_sim: StartSim, bench: Workbench) -> None:
    """The loop of the tests ends at a reply without calls, so only a fault on a later request lets it get there."""
    loop = drive(start_sim(SimSettings(faults=("empty-reply@3",))).url, bench)
    assert loop.turns == 3
    assert loop.answer == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reset", ("reset", "", 1, 2**31)),
        ("reset@2", ("reset", "", 2, 2)),
        ("reset:7@2-4", ("reset", "7", 2, 4)),
        ("runaway-thought:and: so @ on ", ("runaway-thought", "and: so @ on ", 1, 2**31)),
        ("loading", ("loading", "", 1, 3)),
    ],
)
def test_spec_is_read(text: str, expected: tuple[str, str, int, int]) -> None:
    use = parse_fault(text)
    assert (use.name, use.arg, use.first, use.last) == expected


def test_number_is_asked_for() -> None:
    with pytest.raises(ValueError, match="argument of fault 'reset' is a whole number, not 'soon'"):
        parse_fault("reset:soon")


def test_unknown_fault_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="no fault 'leaked-thnk'; did you mean 'leaked-think'"):
        parse_fault("leaked-thnk")
