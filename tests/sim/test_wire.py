"""The bytes: shapes of chunks, bodies and errors against recordings of vLLM 0.25.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from pool.sim.process import running
from pool.sim.settings import SimSettings, StepSizes
from pool.sim.tokens import END_THINK, encode
from tests.sim.client import RECORDINGS, Json, collect, events
from tests.sim.conftest import Connect

MODEL = "laguna-test"
WINDOW = 4096
STREAMS = (
    *("01-think-content", "02-think-tool", "03-think-content-tool", "04-parallel-two-tools", "05-nothink-content"),
    *("06-nothink-tool", "07-kwarg-absent-stray-close", "08-kwarg-absent-model-thinks", "09-think-unclosed-length"),
    *(
        "10-think-unclosed-stop",
        "11-tool-inside-think-closed",
        "12-tool-inside-think-unclosed",
        "15-missing-tool-close",
    ),
    *("16-json-in-tool-tag", "19-args-nested-json", "20-args-code-quotes-newlines", "21-japanese-content"),
    *("24-empty-arguments", "25-empty-string-value", "26-unknown-tool", "27-max-tokens-in-string-arg"),
    *("28-max-tokens-in-array-arg", "30-duplicate-key", "33-python-literals", "34-no-tools-offered-call-emitted"),
    *("35-empty-output", "36-empty-after-think", "37-tool-choice-required", "38-tool-choice-none"),
    *("39-tool-choice-named", "40-parallel-off-two-calls", "41-include-usage", "42-continuous-usage"),
    *("48-think-reopened", "51-include-reasoning-false"),
)
ERRORS = (
    *("E1-context-too-long", "E2-context-too-long-not-streaming", "E3-max-tokens-over-context"),
    "E4-model-not-found",
    *("E7-unknown-route", "E12-history-arguments-not-json", "E14-max-tokens-zero", "E17-wrong-api-key"),
)
VALIDATION_ERRORS = (
    *("E5-bad-json", "E6-missing-messages", "E10-tool-choice-without-tools", "E11-named-tool-not-in-tools"),
    "E15-stream-options-without-stream",
)


def recorded(case: str, name: str) -> str:
    return (RECORDINGS / case / name).read_text(encoding="utf-8")


def script_of(case: str) -> str:
    """What the model said."""
    return recorded(case, "model_text.txt")


def shape(value: object) -> object:
    """Keys in order, and which values are null; texts, numbers and ids are only of a kind."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [shape(inner) for inner in cast("list[object]", value)]
    return type(value).__name__


def shapes(chunks: list[Json]) -> list[str]:
    """The shapes of a stream's chunks, repetitions joined: how many there are depends on the tokenizer."""
    found = [json.dumps(shape(chunk)) for chunk in chunks]
    return [text for at, text in enumerate(found) if at == 0 or text != found[at - 1]]


def max_tokens_for(case: str) -> int | None:
    """A limit that cuts at the recorded place, if there is one: the recorded number counts another's tokens."""
    if not (RECORDINGS / case / "whole.json").exists():
        return None
    whole: Json = json.loads(recorded(case, "whole.json"))["choices"][0]
    if whole["finish_reason"] != "length":
        return None
    message = whole["message"]
    thought = message["reasoning"] + (END_THINK if message["content"] else "")
    return len(encode(thought + (message["content"] or "")))


def body_of(case: str, *, stream: bool) -> Json:
    body: Json = {**json.loads(recorded(case, "request.json")), "stream": stream}
    if (limit := max_tokens_for(case)) is not None:
        body["max_tokens"] = limit
    if not stream:
        body.pop("stream_options", None)
    return body


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, bool], httpx.Response]:
    """The answers of one server to all recorded requests, by case and whether streamed."""
    wanted = [(case, stream) for case in STREAMS for stream in (True, False)]
    script = tuple(script_of(case) for case, _ in wanted)
    settings = SimSettings(
        model=MODEL, max_model_len=WINDOW, template_thinks=False, prompt_token_details=False, script=script
    )
    with running(settings) as sim, httpx.Client(base_url=sim.url, trust_env=False, timeout=30) as client:
        return {
            (case, stream): client.post("/v1/chat/completions", json=body_of(case, stream=stream))
            for case, stream in wanted
        }


@pytest.mark.parametrize("case", STREAMS)
def test_stream_has_the_recorded_shape_and_meaning(answers: dict[tuple[str, bool], httpx.Response], case: str) -> None:
    response = answers[case, True]
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    ours, theirs = events(response.content), events((RECORDINGS / case / "stream.sse").read_bytes())
    assert shapes(ours) == shapes(theirs)
    assert [c["choices"] and c["choices"][0]["finish_reason"] for c in ours[-2:]] == [
        c["choices"] and c["choices"][0]["finish_reason"] for c in theirs[-2:]
    ]
    mine, wanted = collect(ours), collect(theirs)
    assert (mine["reasoning"], mine["content"]) == (wanted["reasoning"], wanted["content"])
    assert [call["function"] for call in mine["tool_calls"]] == [call["function"] for call in wanted["tool_calls"]]


@pytest.mark.parametrize("case", [case for case in STREAMS if (RECORDINGS / case / "whole.json").exists()])
def test_whole_body_is_as_recorded(answers: dict[tuple[str, bool], httpx.Response], case: str) -> None:
    ours: Json = answers[case, False].json()
    theirs: Json = json.loads(recorded(case, "whole.json"))
    assert json.dumps(shape(ours)) == json.dumps(shape(theirs))
    mine, wanted = ours["choices"][0], theirs["choices"][0]
    assert mine["finish_reason"] == wanted["finish_reason"]
    assert mine["stop_reason"] == wanted["stop_reason"]
    for message in (mine["message"], wanted["message"]):
        for call in message.get("tool_calls", []):
            del call["id"]
    assert mine["message"] == wanted["message"]


@pytest.mark.parametrize("case", ERRORS)
def test_error_is_the_recorded_one(connect: Connect, case: str) -> None:
    client = connect(SimSettings(model=MODEL, max_model_len=WINDOW, api_key="right" if "key" in case else ""))
    response = send(client, case)
    assert response.status_code == json.loads(recorded(case, "response.json"))["status"]
    assert response.text == recorded(case, "response.body")


@pytest.mark.parametrize("case", VALIDATION_ERRORS)
def test_refused_shape_is_told_as_recorded(connect: Connect, case: str) -> None:
    """The recorded message quotes the request and the server's own files; its first words and the rest must agree."""
    response = send(connect(SimSettings(model=MODEL, max_model_len=WINDOW)), case)
    ours: Json = response.json()["error"]
    theirs: Json = json.loads(recorded(case, "response.body"))["error"]
    assert response.status_code == 400
    start = theirs["message"].partition(", 'input'")[0]
    assert ours["message"].startswith(start)
    assert {**ours, "message": ""} == {**theirs, "message": ""}


def send(client: httpx.Client, case: str) -> httpx.Response:
    request: Json = json.loads(recorded(case, "request.json"))
    body: Any = request["body"]
    if isinstance(body, dict) and "context-too-long" in case:
        body = {**cast("Json", body), "messages": [{"role": "user", "content": "word " * 6000}]}
    raw = body if isinstance(body, str) else json.dumps(body)
    headers = {"authorization": request["authorization"]} if "authorization" in request else {}
    return client.request(request["method"], request["path"], content=raw, headers=headers)


@pytest.mark.parametrize("case", ["E9-bad-role", "E16-unknown-field-is-accepted"])
def test_what_vllm_accepts_is_accepted(connect: Connect, case: str) -> None:
    assert send(connect(SimSettings(model=MODEL)), case).status_code == 200


def test_empty_tools_are_refused(connect: Connect) -> None:
    body: Json = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "tools": []}
    response = connect(SimSettings(model=MODEL)).post("/v1/chat/completions", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "tools"


@pytest.mark.parametrize("case", ["G1-models", "G2-version", "G3-health", "G4-load", "G5-tokenize-chat"])
def test_get_has_the_recorded_shape(connect: Connect, case: str) -> None:
    response = send(connect(SimSettings(model=MODEL, max_model_len=WINDOW)), case)
    theirs = recorded(case, "response.body")
    assert response.status_code == 200
    if not theirs:
        assert response.content == b""
        return
    ours_shape, theirs_shape = shape(response.json()), shape(json.loads(theirs))
    for found in (ours_shape, theirs_shape):
        # How many tokens there are depends on the tokenizer.
        for key in ("tokens", "token_strs"):
            if isinstance(found, dict) and key in found:
                cast("dict[str, object]", found)[key] = "list"
    assert json.dumps(ours_shape) == json.dumps(theirs_shape)


def test_prompt_ends_as_recorded(connect: Connect) -> None:
    client = connect(SimSettings(model=MODEL, template_thinks=False))
    for case in ("G5-tokenize-chat", "G6-tokenize-chat-kwarg-absent"):
        ours = send(client, case).json()["token_strs"]
        theirs = json.loads(recorded(case, "response.body"))["token_strs"]
        assert ours[-6:] == [text.replace("Ċ", "\n") for text in theirs[-6:]]
        assert ours[0] == theirs[0]


def test_many_tokens_a_step_bring_all_fields_in_one_chunk(connect: Connect) -> None:
    case = "45-spec-16-all"
    settings = SimSettings(model=MODEL, script=(script_of(case),), steps=StepSizes(16, 16))
    client = connect(settings)
    response = client.post("/v1/chat/completions", json=body_of(case, stream=True))
    theirs = events((RECORDINGS / case / "stream.sse").read_bytes())
    ours = events(response.content)
    assert collect(ours)["content"] == collect(theirs)["content"]
    keys = [list(chunk["choices"][0]["delta"]) for chunk in ours]
    assert ["content", "reasoning", "tool_calls"] in keys or ["content", "tool_calls"] in keys
    assert len(ours) <= len(theirs) + 2


def test_continued_turn_lands_in_reasoning_unless_streamed(connect: Connect) -> None:
    """As measured on vLLM 0.25.1: only a stream knows that the prompt closed the thought."""
    client = connect(SimSettings(model=MODEL, script=("The answer is 4.",)))
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "reasoning": "Enough."}]
    body: Json = {"messages": messages, "continue_final_message": True, "add_generation_prompt": False}
    body["chat_template_kwargs"] = {"enable_thinking": True}
    streamed = collect(events(client.post("/v1/chat/completions", json={**body, "stream": True}).content))
    assert (streamed["reasoning"], streamed["content"]) == ("", "The answer is 4.")
    message = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert (message["reasoning"], message["content"]) == ("The answer is 4.", None)
    both = client.post("/v1/chat/completions", json={**body, "add_generation_prompt": True})
    assert both.status_code == 400


def test_error_in_stream_is_byte_for_byte_the_recorded_one(connect: Connect) -> None:
    case = "53-engine-dies-mid-stream"
    settings = SimSettings(model=MODEL, script=(script_of(case),), faults=("error-in-stream:12",))
    client = connect(settings)
    response = client.post("/v1/chat/completions", json=body_of(case, stream=True))
    theirs = (RECORDINGS / case / "stream.sse").read_bytes()
    assert response.content.split(b"\n\n")[-3:] == theirs.split(b"\n\n")[-3:]


def test_metrics_names_are_vllms(connect: Connect) -> None:
    text = connect(SimSettings(steps=StepSizes(1, 5))).get("/metrics").text
    recorded_text = (RECORDINGS.parent / "metrics-vllm-0.25.1-speculative.txt").read_text(encoding="utf-8")
    ours = {line.partition("{")[0] for line in text.splitlines() if not line.startswith("#")}
    theirs = {line.partition("{")[0] for line in recorded_text.splitlines() if not line.startswith("#")}
    assert ours <= theirs
    assert {name for name in theirs if "spec_decode" in name} <= ours


def test_recordings_are_there() -> None:
    assert Path(RECORDINGS).is_dir()
