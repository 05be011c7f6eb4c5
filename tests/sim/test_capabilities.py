"""What a server can do beyond plain chat, and the faults that take each of it away."""

from __future__ import annotations

import json
from typing import Any

from pool.sim.forms import DEEPEST, instance
from pool.sim.settings import DEFAULT_MODEL, SimSettings, StepSizes
from tests.sim.client import Json, collect, events
from tests.sim.conftest import Connect

READ: Json = {
    "type": "function",
    "function": {
        "name": "read_file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
SCHEMA: Json = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 3}, "name": {"enum": ["Ann"]}},
    "required": ["age", "name"],
}
IN_SCHEMA: Json = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA}}
TAG: Json = {"type": "tag", "begin": "<tool_call>read_file", "content": {"type": "any_text"}, "end": "</tool_call>"}
FORCED: Json = {"type": "structural_tag", "format": {"type": "or", "elements": [TAG]}}


def body(text: str, **more: Any) -> Json:
    thinking = {"enable_thinking": more.pop("thinking", False)}
    fixed: Json = {"model": DEFAULT_MODEL, "stream": True, "stream_options": {"include_usage": True}}
    fixed |= {"chat_template_kwargs": thinking, "messages": [{"role": "user", "content": text}], "max_tokens": 300}
    return fixed | more


class Client:
    """Asks one simulated server, with faults that hit single requests."""

    def __init__(self, connect: Connect, **settings: Any) -> None:
        self._http = connect(SimSettings(**settings))

    def ask(self, text: str = "Hello", **more: Any) -> tuple[Json, list[Json]]:
        response = self._http.post("/v1/chat/completions", json=body(text, **more))
        assert response.status_code == 200, response.text
        if not more.get("stream", True):
            whole = response.json()
            return whole["choices"][0]["message"], [whole]
        chunks = events(response.content)
        return collect(chunks), chunks

    def get(self, path: str) -> str:
        return self._http.get(path).text


def test_grammars(connect: Connect) -> None:
    faults = ("grammar-ignored@4-5",)
    client = Client(connect, faults=faults)
    assert json.loads(client.ask(response_format=IN_SCHEMA)[0]["content"]) == {"age": 3, "name": "Ann"}
    assert client.ask(response_format=FORCED, tools=[READ])[0]["tool_calls"][0]["function"]["name"] == "read_file"
    thought = client.ask(response_format=IN_SCHEMA, thinking=True)[0]
    assert thought["reasoning"]
    assert json.loads(thought["content"])
    assert "{" not in client.ask(response_format=IN_SCHEMA)[0]["content"]
    assert not client.ask(response_format=FORCED, tools=[READ])[0]["tool_calls"]


def test_instances_of_schemas() -> None:
    assert instance({"type": ["array", "null"], "items": {"type": "boolean"}, "minItems": 2}) == [False, False]
    assert instance({"const": 5}) == 5
    assert instance({}) == "text"
    endless: Json = {"type": "object", "required": ["a"], "properties": {}}
    endless["properties"]["a"] = endless
    assert json.dumps(instance(endless)).count("{") == DEEPEST + 1


def test_budget_and_repetition(connect: Connect) -> None:
    faults = ("budget-ignored@2", "repetition-ignored@4")
    client = Client(connect, faults=faults, reasoning_config=True)
    assert client.ask(thinking=True, thinking_token_budget=0)[0]["reasoning"] == ""
    assert client.ask(thinking=True, thinking_token_budget=0)[0]["reasoning"]
    stop = {"min_count": 8, "min_pattern_size": 1, "max_pattern_size": 4}
    text = "Write the word echo 90 times."
    _, cut = client.ask(text, repetition_detection=stop)
    assert cut[-2]["choices"][0]["stop_reason"] == "repetition_detected"
    message, _ = client.ask(text, repetition_detection=stop)
    assert message["content"].split() == ["echo"] * 90


def test_two_files_are_read_at_once(connect: Connect) -> None:
    client = Client(connect, faults=("calls-merged@2", "one-call@3"))
    asked: Json = {"tools": [READ]}
    calls = client.ask("Read alpha.txt and beta.txt.", **asked)[0]["tool_calls"]
    assert [json.loads(c["function"]["arguments"])["path"] for c in calls] == ["alpha.txt", "beta.txt"]
    (merged,) = client.ask("Read alpha.txt and beta.txt.", **asked)[0]["tool_calls"]
    assert merged["function"]["arguments"].count("{") == 2
    assert len(client.ask("Read alpha.txt and beta.txt.", **asked)[0]["tool_calls"]) == 1


def test_prompts(connect: Connect) -> None:
    client = Client(connect, faults=("no-prefix-cache@3", "cuts-front:20@4", "counts-off:200@5", "forgets-thoughts@7"))
    text = "A long question. " * 20

    def usage(**more: Any) -> Json:
        return client.ask(text, **more)[1][-1]["usage"]

    first, again, unkept = usage(), usage(), usage()
    assert again["prompt_tokens_details"]["cached_tokens"] > 0
    assert unkept["prompt_tokens_details"]["cached_tokens"] == 0
    assert usage()["prompt_tokens"] == 20
    assert usage()["prompt_tokens"] == 2 * first["prompt_tokens"]
    history: list[Json] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "reasoning": "I think so. " * 9, "content": "b"},
        {"role": "user", "content": "c"},
    ]
    kept, lost = (usage(messages=history, thinking=True)["prompt_tokens"] for _ in range(2))
    assert kept - lost > 20


def test_without_streaming_the_parsers_may_pass_everything(connect: Connect) -> None:
    client = Client(connect, faults=("unstreamed-raw",))
    asked: Json = {"tools": [READ], "thinking": True}
    assert client.ask("Read alpha.txt.", **asked)[0]["tool_calls"]
    message, _ = client.ask("Read alpha.txt.", stream=False, stream_options=None, **asked)
    assert "</think><tool_call>read_file" in message["content"]


def test_drafts_graphs_and_version(connect: Connect) -> None:
    client = Client(
        connect, faults=("drafts-rejected",), steps=StepSizes(1, 8), capture_sizes=(1, 2, 4), version="0.24.0"
    )
    client.ask("Write the word echo 30 times.")
    counted = dict(line.split(" ") for line in client.get("/metrics").splitlines() if not line.startswith("#"))
    labels = f'{{engine="0",model_name="{DEFAULT_MODEL}"}}'
    assert float(counted[f"vllm:spec_decode_num_drafts_total{labels}"]) > 20
    assert float(counted[f"vllm:spec_decode_num_accepted_tokens_total{labels}"]) == 0
    config = json.loads(client.get("/server_info?config_format=json"))["vllm_config"]
    assert config["compilation_config"] == {"cudagraph_capture_sizes": [1, 2, 4], "max_cudagraph_capture_size": 4}
    assert config["speculative_config"] == {"num_speculative_tokens": 7}
    assert json.loads(client.get("/version"))["version"] == "0.24.0"
