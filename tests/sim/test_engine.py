"""Limits, stops, rates, the prefix cache, slots and counters."""

from __future__ import annotations

import itertools
import time
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.sim.cache import BLOCK_TOKENS, PrefixCache
from pool.sim.engine import Job, steps
from pool.sim.request import Repetition
from pool.sim.settings import DEFAULT_MODEL, SimSettings, StepSizes, parse_step_sizes
from pool.sim.tokens import END_TURN
from tests.sim.client import NOT_THINKING, THINKING, Json, collect, events, tools_in
from tests.sim.conftest import Connect

LONG = "word " * 400


def body(**changes: Any) -> Json:
    messages = [{"role": "user", "content": "Say something."}]
    plain = {"model": DEFAULT_MODEL, "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    return {**plain, "chat_template_kwargs": NOT_THINKING, **changes}


def ask(client: httpx.Client, **changes: Any) -> list[Json]:
    response = client.post("/v1/chat/completions", json=body(**changes))
    assert response.status_code == 200, response.text
    return events(response.content)


def ending(chunks: list[Json]) -> tuple[str, Any]:
    choice = chunks[-2]["choices"][0]
    return choice["finish_reason"], choice["stop_reason"]


def gauge(client: httpx.Client, name: str, label: str = "") -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{") and label in line)


def run_steps(tokens: list[str], sizes: list[int], **how: Any) -> list[tuple[str, str]]:
    job = Job(number=1, prompt=(), tokens=iter([*tokens, END_TURN]), limit=10_000, **how)
    return [(step.text, step.finish) for _, step in steps(job, itertools.cycle(sizes))]


def test_limit_cuts_exactly(connect: Connect) -> None:
    chunks = ask(connect(SimSettings(script=(LONG,))), max_tokens=7)
    assert ending(chunks) == ("length", None)
    assert chunks[-1]["usage"]["completion_tokens"] == 7
    assert collect(chunks)["content"] == "word word word word word word word"


def test_without_a_limit_the_window_cuts(connect: Connect) -> None:
    chunks = ask(connect(SimSettings(script=(LONG,), max_model_len=100)))
    assert ending(chunks)[0] == "length"
    assert chunks[-1]["usage"]["total_tokens"] == 100


def test_natural_end_counts_its_token(connect: Connect) -> None:
    chunks = ask(connect(SimSettings(script=("",))))
    assert ending(chunks) == ("stop", 6)
    assert chunks[-1]["usage"]["completion_tokens"] == 1


def test_max_completion_tokens_wins(connect: Connect) -> None:
    chunks = ask(connect(SimSettings(script=(LONG,))), max_tokens=3, max_completion_tokens=5)
    assert chunks[-1]["usage"]["completion_tokens"] == 5


def test_stop_string_ends_the_reply(connect: Connect) -> None:
    chunks = ask(connect(SimSettings(script=("one two STOP three",))), stop=["STOP"])
    assert ending(chunks) == ("stop", "STOP")
    assert collect(chunks)["content"] == "one two "


def test_repetition_ends_the_reply(connect: Connect) -> None:
    client = connect(SimSettings(script=("Hm. " + "spam egg " * 500,)))
    detection = {"max_pattern_size": 8, "min_pattern_size": 1, "min_count": 10}
    chunks = ask(client, repetition_detection=detection)
    assert ending(chunks) == ("repetition", "repetition_detected")
    assert collect(chunks)["content"].count("spam egg") == 10
    assert gauge(client, "vllm:request_success_total", "repetition") == 1


def test_repetition_in_an_argument_looks_like_a_call(connect: Connect) -> None:
    text = f"<tool_call>write<arg_key>content</arg_key><arg_value>{'spam egg ' * 50}</arg_value></tool_call>"
    tool = {"type": "object", "properties": {"content": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "write", "parameters": tool}}]
    detection = {"max_pattern_size": 8, "min_count": 10}
    chunks = ask(connect(SimSettings(script=(text,))), tools=tools, repetition_detection=detection)
    assert ending(chunks) == ("tool_calls", "repetition_detected")
    assert collect(chunks)["tool_calls"][0]["function"]["arguments"].endswith('"}')


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5),
    count=st.integers(2, 6),
    extra=st.integers(0, 20),
)
def test_repetition_fires_at_the_last_token_of_the_last_copy(pattern: list[str], count: int, extra: int) -> None:
    how = Repetition(shortest=len(pattern), longest=len(pattern), count=count)
    found = run_steps(["x", *pattern * (count + extra)], [1], repetition=how)
    assert found[-1][1] == "repetition"
    assert len(found) == 1 + len(pattern) * count


def test_repetition_leaves_varied_text_alone() -> None:
    how = Repetition(shortest=1, longest=20, count=3)
    tokens = [f"{n} " for n in range(300)]
    assert run_steps(tokens, [1], repetition=how)[-1] == ("", "stop")


@given(
    st.lists(st.text(alphabet="abS", min_size=1, max_size=4), max_size=30),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_steps_keep_all_text_up_to_a_stop_string(tokens: list[str], sizes: list[int]) -> None:
    text = "".join(tokens)
    assert "".join(part for part, _ in run_steps(tokens, sizes)) == text
    shown = "".join(part for part, _ in run_steps(tokens, sizes, stop=("Sa",)))
    assert shown == text.partition("Sa")[0]


def test_budget_closes_the_thought(connect: Connect) -> None:
    thought = "one two three four five six. "
    settings = SimSettings(script=(f"{thought * 20}</think>The answer.",), reasoning_config=True)
    chunks = ask(connect(settings), chat_template_kwargs=THINKING, thinking_token_budget=4)
    message = collect(chunks)
    assert message["reasoning"] == "one two three four"
    assert message["content"] == "The answer."


def test_budget_ends_a_runaway_thought(connect: Connect) -> None:
    settings = SimSettings(faults=("runaway-thought",), reasoning_config=True)
    message = collect(ask(connect(settings), chat_template_kwargs=THINKING, thinking_token_budget=50))
    assert "rule-based simulator" in message["content"]


def test_budget_without_config_is_refused_in_the_stream(connect: Connect) -> None:
    client = connect(SimSettings())
    (error,) = ask(client, thinking_token_budget=4)
    assert error["error"]["code"] == 400
    assert "reasoning_config is not configured" in error["error"]["message"]
    plain = client.post("/v1/chat/completions", json={**body(thinking_token_budget=4), "stream": False} | NO_OPTIONS)
    assert plain.status_code == 400


NO_OPTIONS: Json = {"stream_options": None}


def test_min_p_is_refused_with_speculation_only(connect: Connect) -> None:
    assert "speculative decoding" in ask(connect(SimSettings(steps=StepSizes(1, 4))), min_p=0.1)[0]["error"]["message"]
    assert ending(ask(connect(SimSettings()), min_p=0.1))[0] == "stop"


def test_step_sizes_are_as_asked_and_the_same_for_a_seed() -> None:
    first = list(itertools.islice(StepSizes(1, 8).draw(3, 1), 200))
    assert set(first) == set(range(1, 9))
    assert first == list(itertools.islice(StepSizes(1, 8).draw(3, 1), 200))
    assert first != list(itertools.islice(StepSizes(1, 8).draw(4, 1), 200))
    assert parse_step_sizes("4") == StepSizes(4, 4)
    assert parse_step_sizes("2-6") == StepSizes(2, 6)
    with pytest.raises(ValueError, match="tokens a step"):
        parse_step_sizes("0")


def test_rates_take_their_time(connect: Connect) -> None:
    client = connect(SimSettings(script=(LONG,), rate=100, prefill_rate=100))
    start = time.monotonic()
    with client.stream("POST", "/v1/chat/completions", json=body(max_tokens=21)) as response:
        headers = time.monotonic() - start
        lines = response.iter_lines()
        next(lines)
        first = time.monotonic() - start
        usage = next(line for line in lines if '"usage"' in line)
    whole = time.monotonic() - start
    prompt = int(usage.partition('"prompt_tokens":')[2].partition(",")[0])
    assert headers < prompt / 100
    assert first >= prompt / 100
    assert whole >= prompt / 100 + 20 / 100


def test_cached_tokens_are_those_of_the_shared_beginning(connect: Connect) -> None:
    client = connect(SimSettings(script=("Fine.",)))
    system = {"role": "system", "content": "Rules. " * 100}

    def cached(*messages: Json, **changes: Any) -> int:
        chunks = ask(client, messages=[system, *messages], **changes)
        return chunks[-1]["usage"]["prompt_tokens_details"]["cached_tokens"]

    user = {"role": "user", "content": "Say something about it."}
    assert cached(user) == 0
    again = cached(user)
    assert again > 100
    assert again % BLOCK_TOKENS == 0
    longer = cached(user, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More."})
    assert longer >= again
    assert cached(user, cache_salt="other") == 0
    clock = {"role": "system", "content": "It is noon. " + "Rules. " * 100}
    assert ask(client, messages=[clock, user])[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_what_the_model_said_is_cached_if_it_comes_back_unchanged(connect: Connect) -> None:
    client = connect(SimSettings())
    messages: list[Json] = [{"role": "user", "content": "Why do the tests fail?"}]
    asked: Json = {"tools": tools_in("bar"), "chat_template_kwargs": THINKING}
    first = ask(client, messages=messages, **asked)
    reply = collect(first)
    assert reply["reasoning"]
    assert reply["tool_calls"]
    result = {"role": "tool", "tool_call_id": reply["tool_calls"][0]["id"], "content": "no output"}
    second = ask(client, messages=[*messages, reply, result], **asked)
    cached = second[-1]["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached == first[-1]["usage"]["total_tokens"] // BLOCK_TOKENS * BLOCK_TOKENS
    forgotten = ask(client, messages=[*messages, {**reply, "reasoning": ""}, result], **asked)
    assert forgotten[-1]["usage"]["prompt_tokens_details"]["cached_tokens"] < cached


def test_cached_tokens_can_be_kept_to_itself(connect: Connect) -> None:
    assert "prompt_tokens_details" not in ask(connect(SimSettings(prompt_token_details=False)))[-1]["usage"]


@given(st.lists(st.sampled_from("abc"), max_size=80), st.lists(st.sampled_from("abc"), max_size=80))
def test_cache_counts_whole_blocks_of_the_common_prefix(one: list[str], two: list[str]) -> None:
    cache = PrefixCache()
    cache.store(one)
    common = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    expected = min(common, max(0, len(two) - 1)) // BLOCK_TOKENS * BLOCK_TOKENS
    assert cache.cached(two) == expected


def test_cache_forgets_the_oldest() -> None:
    cache = PrefixCache(capacity_blocks=2)
    for letter in "abc":
        cache.store([letter] * BLOCK_TOKENS)
    assert len(cache) == 2
    assert cache.cached(["a"] * 40) == 0
    assert cache.cached(["c"] * 40) == BLOCK_TOKENS


def test_counters_move(connect: Connect) -> None:
    client = connect(SimSettings(script=(LONG,), steps=StepSizes(4, 4)))
    for _ in range(2):
        ask(client, max_tokens=40)
    assert gauge(client, "vllm:generation_tokens_total") == 80
    assert gauge(client, "vllm:spec_decode_num_drafts_total") == 20
    assert gauge(client, "vllm:spec_decode_num_draft_tokens_total") == 60
    assert gauge(client, "vllm:spec_decode_num_accepted_tokens_total") == 60
    assert gauge(client, "vllm:spec_decode_num_accepted_tokens_per_pos_total", 'position="2"') == 20
    assert gauge(client, "vllm:request_success_total", "length") == 2
    prompt = gauge(client, "vllm:prompt_tokens_total")
    assert gauge(client, "vllm:prefix_cache_queries_total") == prompt
    hits = gauge(client, "vllm:prefix_cache_hits_total")
    assert hits == gauge(client, "vllm:prompt_tokens_by_source_total", "local_cache_hit") > 0
    assert gauge(client, "vllm:time_to_first_token_seconds_count") == 2


def wait_for(condition: Any, seconds: float = 3) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def test_closing_the_connection_aborts(connect: Connect) -> None:
    client = connect(SimSettings(script=(LONG,), rate=20))
    with client.stream("POST", "/v1/chat/completions", json=body()) as response:
        lines = response.iter_lines()
        next(lines)
        assert gauge(client, "vllm:num_requests_running") == 1
    wait_for(lambda: gauge(client, "vllm:num_requests_running") == 0)
    written = gauge(client, "vllm:generation_tokens_total")
    assert written < 100
    time.sleep(0.2)
    assert gauge(client, "vllm:generation_tokens_total") == written
    assert gauge(client, "vllm:request_success_total") == 0


def test_closing_aborts_prefill_and_whole_bodies_too(connect: Connect) -> None:
    client = connect(SimSettings(prefill_rate=1))
    for stream in (True, False):
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json=body(stream=stream) | ({} if stream else NO_OPTIONS), timeout=0.3)
        wait_for(lambda: gauge(client, "vllm:num_requests_running") == 0)


def test_requests_wait_for_a_slot(connect: Connect) -> None:
    client = connect(SimSettings(script=(LONG,), rate=50, max_num_seqs=1))
    with client.stream("POST", "/v1/chat/completions", json=body()) as first:
        lines = first.iter_lines()
        next(lines)
        with client.stream("POST", "/v1/chat/completions", json=body(max_tokens=1)) as second:
            assert second.status_code == 200
            wait_for(lambda: gauge(client, "vllm:num_requests_waiting") == 1)
            assert gauge(client, "vllm:num_requests_waiting_by_reason", "capacity") == 1
            first.close()
            assert "[DONE]" in second.read().decode()
    wait_for(lambda: gauge(client, "vllm:num_requests_waiting") == 0)
