"""All checks together: a good server is all green, each fault of the simulator turns the right checks red or yellow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pool.config.settings import ServerEnvironment
from pool.lab.doctor.examine import CHECKS, SERVER_CHECKS, chosen, cost
from pool.lab.doctor.finding import Status
from pool.sim.process import running
from pool.sim.settings import SimSettings, StepSizes
from pool.wire.request import Sampling
from tests.lab.doctor.servers import Said, Script, made, native_ollama, of_script, of_sim, subject_at, vllm
from tests.wire.scripted import Exchange, ScriptedServer

OK, WARN, FAIL, SKIP = Status.OK, Status.WARN, Status.FAIL, Status.SKIP
TOOL_CALL_REQUEST = 3
"""The number of the chat request with which the check of tool calls begins: after an unknown model and a stream."""


@pytest.mark.parametrize("steps", [StepSizes(), StepSizes(1, 8)])
async def test_a_good_server_is_green(steps: StepSizes) -> None:
    findings = await of_sim(steps=steps, reasoning_config=True, template_thinks=False)
    assert list(findings) == [check.name for check in SERVER_CHECKS]
    assert {name: f.words for name, f in findings.items() if f.status is not OK} == {}


CALLS = ("tool-call", "thinking", "leaks", "unstreamed")
COUNTED = ("stream", "cache", "truncation", "tokens", "speed")
FAULTS: list[tuple[str, tuple[str, ...], dict[str, Status]]] = [
    ("leaked-think", CALLS, {"thinking": FAIL, "leaks": FAIL, "unstreamed": FAIL}),
    ("think-in-content", CALLS, {"thinking": FAIL, "leaks": FAIL, "unstreamed": FAIL}),
    ("stray-close", CALLS, {"thinking": FAIL, "leaks": FAIL, "unstreamed": FAIL}),
    ("second-think", CALLS, {"thinking": FAIL, "leaks": FAIL, "unstreamed": WARN}),
    ("thought-never-closed", CALLS, {"tool-call": WARN, "thinking": WARN}),
    ("reasoning-only", CALLS, {"tool-call": WARN, "thinking": WARN}),
    ("call-in-reasoning", CALLS, {"tool-call": WARN}),
    ("runaway-thought", CALLS, {"tool-call": WARN, "thinking": WARN}),
    ("markup-as-text", (*CALLS, "two-calls"), dict.fromkeys(("tool-call", "two-calls", "leaks", "unstreamed"), FAIL)),
    (f"tool-calls-without-call@{TOOL_CALL_REQUEST}-99", CALLS, {"tool-call": FAIL, "thinking": WARN}),
    ("announce-without-act", (*CALLS, "forced-call"), {"tool-call": WARN, "forced-call": FAIL}),
    ("null-arguments", CALLS, {"tool-call": FAIL}),
    ("empty-name", CALLS, {"tool-call": FAIL, "unstreamed": WARN}),
    ("no-value", CALLS, {"tool-call": FAIL}),
    ("stop-with-call", CALLS, {}),
    ("no-ids", (*CALLS, "two-calls"), {}),
    ("crlf", CALLS, {}),
    ("byte-by-byte", CALLS, {}),
    ("unstreamed-raw", CALLS, {"unstreamed": FAIL}),
    ("no-usage", COUNTED, dict.fromkeys(COUNTED, WARN)),
    ("json-body", ("stream",), {"stream": WARN}),
    ("calls-merged", ("two-calls",), {"two-calls": FAIL}),
    ("one-call", ("two-calls",), {"two-calls": WARN}),
    ("grammar-ignored", ("forced-call", "schema"), {"forced-call": FAIL, "schema": FAIL}),
    ("budget-ignored", ("thinking", "budget"), {"budget": FAIL}),
    ("repetition-ignored", ("loop-stop",), {"loop-stop": FAIL}),
    ("forgets-thoughts", ("thinking", "history"), {"history": FAIL}),
    ("no-prefix-cache", ("cache",), {"cache": FAIL}),
    ("cuts-front", ("truncation",), {"truncation": FAIL}),
    ("counts-off", ("tokens",), {"tokens": FAIL}),
]


@pytest.mark.parametrize(("fault", "checks", "coloured"), FAULTS, ids=[fault[0] for fault in FAULTS])
async def test_a_fault_shows_where_it_belongs(fault: str, checks: tuple[str, ...], coloured: dict[str, Status]) -> None:
    findings = await of_sim(*checks, faults=(fault,), reasoning_config=True)
    found = {name: f.status for name, f in findings.items() if f.status is not OK}
    assert found == coloured, [f.words for f in findings.values()]
    assert all(findings[name].remedy for name in coloured)


SETTINGS: list[tuple[str, dict[str, Any], Status]] = [
    ("reachable", {"api_key": "sesame"}, FAIL),
    ("server", {"model": "laguna-s", "version": "0.24.2"}, FAIL),
    ("window", {"max_model_len": 4_000}, FAIL),
    ("window", {"max_model_len": 8_000}, WARN),
    ("budget", {}, WARN),
    ("unswitched", {}, WARN),
    ("unswitched", {"template_thinks": False}, OK),
    ("speculation", {"steps": StepSizes(1, 8), "faults": ("drafts-rejected",)}, FAIL),
    ("graphs", {"steps": StepSizes(1, 8), "capture_sizes": (1, 2, 4)}, FAIL),
    ("graphs", {"steps": StepSizes(1, 8), "capture_sizes": (1, 2, 4, 8, 16)}, FAIL),
    ("graphs", {"steps": StepSizes(1, 8), "capture_sizes": (1, 2, 4, 8, 16), "max_num_seqs": 2}, OK),
    ("graphs", {"steps": StepSizes(1, 6)}, WARN),
    ("graphs", {"steps": StepSizes(1, 6), "faults": ("drafts-rejected",)}, WARN),
    ("graphs", {"steps": StepSizes(1, 4)}, OK),
]


@pytest.mark.parametrize(("check", "settings", "status"), SETTINGS)
async def test_a_server_that_is_set_up_wrongly(check: str, settings: dict[str, Any], status: Status) -> None:
    found = (await of_sim(check, **settings))[check]
    assert found.status is status, found.words
    assert bool(found.remedy) == (status is not OK)


async def test_sampling_that_the_server_refuses() -> None:
    with running(SimSettings(steps=StepSizes(1, 4))) as sim:
        async with subject_at(sim.url, sampling=Sampling(extra={"min_p": 0.05})) as subject:
            found = (await made(subject, "sampling"))["sampling"]
        async with subject_at(sim.url, environment=ServerEnvironment(model="misspelt")) as subject:
            model = (await made(subject, "model"))["model"]
    assert (found.status, found.remedy) == (FAIL, "pool config unset sampling.extra")
    assert "min_p 0.05" in found.words
    assert model.status is FAIL


async def test_a_slow_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(SimSettings(rate=100.0)) as sim:
        for least, status in ((1.0, WARN), (1e6, FAIL)):
            monkeypatch.setattr("pool.lab.doctor.speed.LEAST_RATE", least)
            monkeypatch.setattr("pool.lab.doctor.speed.SLOW_RATE", 1e6)
            async with subject_at(sim.url) as subject:
                found = (await made(subject, "speed"))["speed"]
            assert (found.status, found.remedy) == (status, "pool bench")
            assert found.data["tokens_per_second"] > 0


@pytest.mark.parametrize(
    "fault", ["drop-mid-stream:1", "reset", "heartbeats-only", "error-in-stream", "500", "empty-reply"]
)
async def test_without_a_reply_the_rest_is_skipped_with_the_reason(fault: str) -> None:
    findings = await of_sim(faults=(fault,))
    statuses = [findings[check.name].status for check in SERVER_CHECKS]
    assert statuses == [OK] * 4 + [FAIL] + [SKIP] * (len(SERVER_CHECKS) - 5)
    why = {f.words.removeprefix("not tried: it needs the check ") for f in findings.values() if f.status is SKIP}
    assert why == {"stream"}


async def test_a_request_without_an_end_is_given_up() -> None:
    with running(SimSettings(faults=("silent:30",))) as sim:
        async with subject_at(sim.url, limit_seconds=0.3) as subject:
            findings = await made(subject, "stream")
    stream = findings["stream"]
    assert stream.status is FAIL
    assert "not complete after 0.3 s; nothing of it had come" in stream.words
    assert stream.remedy == "pool doctor --only stream --timeout 1.5"


async def test_a_reply_without_an_end_says_how_much_had_come() -> None:
    with running(SimSettings(rate=1.0)) as sim:
        async with subject_at(sim.url, limit_seconds=0.3) as subject:
            findings = await made(subject, "stream")
    assert "pieces of it had come" in findings["stream"].words


async def test_a_key_that_the_server_wants_is_asked_for() -> None:
    findings = await of_sim(api_key="sesame")
    assert (findings["reachable"].status, findings["reachable"].remedy) == (FAIL, "export POOL_API_KEY=KEY")
    assert all(findings[check.name].status is SKIP for check in SERVER_CHECKS[1:])


async def test_a_refusal_in_the_middle_names_what_mends_it() -> None:
    def say(body: dict[str, object]) -> Said:
        if body["model"] != "laguna":
            return Said(status=404, error="The model does not exist.")
        if len(str(body)) > 4000:
            return Said(status=400, error="This model's maximum context length is 1000 tokens. However, ...")
        return Said("Ready.")

    findings = await of_script(Script(say, vllm()), "cache")
    assert findings["cache"].status is FAIL
    assert "does not fit the context window" in findings["cache"].words
    assert findings["cache"].remedy == "--max-model-len 131072"


async def test_ollamas_own_api_is_spoken_too() -> None:
    async with ScriptedServer(native_ollama) as server:
        url = server.url.replace("/v1", "/api")
        async with subject_at(url, ServerEnvironment(window=32_768)) as subject:
            findings = await made(subject)
        bodies = [json.loads(exchange.body) for exchange in server.requests if exchange.method == "POST"]
    assert {name: f.words for name, f in findings.items() if f.status is not OK} == {}
    assert findings["window"].words == "32,768 tokens, which Pool asks the server for"
    assert findings["thinking"].words.startswith("on: thoughts arrive in the field thinking")
    assert findings["history"].data["arrived"] == {"thinking": True}
    assert all(body["options"]["num_ctx"] == 32_768 for body in bodies)


def test_checks_bring_what_they_need() -> None:
    assert [check.name for check in chosen(["cache"])] == ["reachable", "model", "stream", "cache"]
    assert chosen([]) == CHECKS
    known: set[str] = set()
    for check in CHECKS:
        assert {*check.needs, *check.after} <= known
        known.add(check.name)


async def test_no_check_costs_more_than_it_says() -> None:
    with running(SimSettings(faults=("runaway-thought",))) as sim:
        async with subject_at(sim.url) as subject:
            await made(subject)
            for check in CHECKS:
                mine = [seen.reply for seen in subject.seen if seen.check == check.name]
                assert sum(reply.prompt_tokens for reply in mine) <= check.reads
                assert sum(reply.written_tokens for reply in mine) <= check.writes
            assert subject.read_tokens <= cost(CHECKS).reads
            assert 0 < subject.sizes.counted <= subject.read_tokens
    assert all(body["max_tokens"] <= 512 for body in sim.seen)
    assert sum("chat_template_kwargs" not in body for body in sim.seen) == 1, "but for the check of just that"


def test_the_price_is_told_for_a_slow_server() -> None:
    price = cost(CHECKS)
    assert price.slow_seconds == pytest.approx(price.reads / 600 + price.writes / 20)
    assert 60 < price.slow_seconds < 240
    assert cost(chosen(["server"])).reads == 0


async def test_a_long_prompt_that_is_refused_is_not_cut_and_templates_that_leave_things_out_are_named() -> None:
    def say(body: dict[str, Any]) -> Said:
        if len(str(body)) > 9_000:
            return Said(status=400, error="This model's maximum context length is 4096 tokens. However, ...")
        return Said("Ready.", counted=8)

    class Tokenizer(Script):
        async def handle(self, exchange: Exchange) -> None:
            if exchange.path == "/tokenize":
                await exchange.reply_json({"count": 8, "tokens": [1] * 8, "max_model_len": 4096})
            else:
                await super().handle(exchange)

    findings = await of_script(Tokenizer(say, vllm()), "truncation", "tokens")
    assert findings["truncation"].status is OK
    assert "refused in words" in findings["truncation"].words
    assert findings["tokens"].status is FAIL
    assert "leaves out much of what is sent" in findings["tokens"].words
