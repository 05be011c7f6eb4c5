"""All checks together: a good server is all green, each fault of the simulator turns the right checks red or yellow."""

from __future__ import annotations

import json

import pytest

from pool.config.settings import ServerEnvironment
from pool.lab.doctor.examine import CHECKS, chosen, cost
from pool.lab.doctor.finding import Status
from pool.sim.process import running
from pool.sim.settings import SimSettings, StepSizes
from tests.lab.doctor.servers import Said, Script, made, native_ollama, of_script, of_sim, subject_at, vllm
from tests.wire.scripted import ScriptedServer

OK, WARN, FAIL, SKIP = Status.OK, Status.WARN, Status.FAIL, Status.SKIP
TOOL_CALL_REQUEST = 3
"""The number of the chat request with which the check of tool calls begins: after an unknown model and a stream."""


@pytest.mark.parametrize("steps", [StepSizes(), StepSizes(1, 8)])
async def test_a_good_server_is_green(steps: StepSizes) -> None:
    findings = await of_sim(steps=steps)
    assert list(findings) == [check.name for check in CHECKS]
    assert {name: f.words for name, f in findings.items() if f.status is not OK} == {}


FAULTS: list[tuple[str, dict[str, Status]]] = [
    ("leaked-think", {"thinking": FAIL, "leaks": FAIL}),
    ("think-in-content", {"thinking": FAIL, "leaks": FAIL}),
    ("stray-close", {"thinking": FAIL, "leaks": FAIL}),
    ("second-think", {"thinking": FAIL, "leaks": FAIL}),
    ("thought-never-closed", {"tool-call": WARN, "thinking": WARN}),
    ("reasoning-only", {"tool-call": WARN, "thinking": WARN}),
    ("call-in-reasoning", {"tool-call": WARN}),
    ("runaway-thought", {"tool-call": WARN, "thinking": WARN}),
    ("markup-as-text", {"tool-call": FAIL, "leaks": FAIL}),
    (f"tool-calls-without-call@{TOOL_CALL_REQUEST}-99", {"tool-call": FAIL, "thinking": WARN}),
    ("announce-without-act", {"tool-call": WARN}),
    ("null-arguments", {"tool-call": FAIL}),
    ("empty-name", {"tool-call": FAIL, "leaks": WARN}),
    ("no-value", {"tool-call": FAIL}),
    ("stop-with-call", {}),
    ("no-ids", {}),
    ("crlf", {}),
    ("byte-by-byte", {}),
    ("no-usage", {"stream": WARN, "cache": WARN}),
    ("json-body", {"stream": WARN}),
]


@pytest.mark.parametrize(("fault", "coloured"), FAULTS, ids=[fault for fault, _ in FAULTS])
async def test_a_fault_shows_where_it_belongs(fault: str, coloured: dict[str, Status]) -> None:
    findings = await of_sim(faults=(fault,))
    found = {name: f.status for name, f in findings.items() if f.status is not OK}
    assert found == coloured, [f.words for f in findings.values()]
    assert all(findings[name].means and findings[name].remedy for name in coloured)


@pytest.mark.parametrize(
    "fault", ["drop-mid-stream:1", "reset", "heartbeats-only", "error-in-stream", "500", "empty-reply"]
)
async def test_without_a_reply_the_rest_is_skipped_with_the_reason(fault: str) -> None:
    findings = await of_sim(faults=(fault,))
    statuses = [findings[check.name].status for check in CHECKS]
    assert statuses == [OK] * 4 + [FAIL] + [SKIP] * 5
    assert {f.words for f in findings.values() if f.status is SKIP} == {"not tried: it needs the check stream"}


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
    assert all(findings[check.name].status is SKIP for check in CHECKS[1:])


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
    assert [check.name for check in chosen(["cache"])] == ["reachable", "server", "model", "stream", "cache"]
    assert chosen([]) == CHECKS
    known: set[str] = set()
    for check in CHECKS:
        assert set(check.needs) <= known
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
            assert subject.sizes.counted == subject.read_tokens
    assert all(body["max_tokens"] <= 512 for body in sim.seen)
    assert all("chat_template_kwargs" in body for body in sim.seen)


def test_the_price_is_told_for_a_slow_server() -> None:
    price = cost(CHECKS)
    assert price.slow_seconds == pytest.approx(price.reads / 600 + price.writes / 20)
    assert 60 < price.slow_seconds < 180
    assert cost(chosen(["server"])).reads == 0
