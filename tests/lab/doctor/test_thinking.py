"""The thinking switch on scripted servers."""

from __future__ import annotations

import pytest

from pool.lab.doctor.finding import Status
from tests.lab.doctor.servers import Json, Said, Script, llamacpp, made, of_script, ollama, subject_at, vllm
from tests.wire.scripted import ScriptedServer

PARSER = "--reasoning-parser poolside_v1"
AGAIN = "pool doctor --only thinking"
PLAIN = Said("391")
THOUGHT = Said("391", reasoning="17 times 23.")

CASES: list[tuple[str, Said, Said, Status, str, str]] = [
    ("both ways", THOUGHT, PLAIN, Status.OK, "in the field reasoning; off: none", ""),
    ("older name", Said("391", "17.", "reasoning_content"), PLAIN, Status.OK, "in the field reasoning_content", ""),
    ("never", PLAIN, PLAIN, Status.WARN, "on: no thought came; off: none came", AGAIN),
    (
        "always",
        THOUGHT,
        THOUGHT,
        Status.FAIL,
        "off: the model thinks all the same, in the field reasoning",
        "--thinking on",
    ),
    ("off leaks", THOUGHT, Said("Hm.</think>391"), Status.FAIL, "in the text (</think>)", PARSER),
    ("on leaks", Said("Hm.</think>391"), PLAIN, Status.FAIL, "on: the thought stands in the text (</think>)", PARSER),
    ("whole leak", Said("<think>Hm.</think>391"), PLAIN, Status.FAIL, "(<think> </think>)", PARSER),
    ("again", Said("3<think>Hm.</think>91", "Hm."), PLAIN, Status.WARN, "a second one stood in the text", AGAIN),
    ("no answer", Said(reasoning="It is 391."), PLAIN, Status.WARN, "the answer never came", AGAIN),
    ("too long", Said(reasoning="Hm.", finish="length"), PLAIN, Status.WARN, "not over after 512 tokens", AGAIN),
    ("circles", Said(reasoning="Hm.", finish="repetition"), PLAIN, Status.WARN, "ran in circles", AGAIN),
    ("mention", Said("391, not `<think>`", "Hm."), PLAIN, Status.OK, "off: none", ""),
]


@pytest.mark.parametrize(("on", "off", "status", "words", "remedy"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
async def test_replies(on: Said, off: Said, status: Status, words: str, remedy: str) -> None:
    def say(body: Json) -> Said:
        return on if body["chat_template_kwargs"]["enable_thinking"] else off

    found = (await of_script(Script(say, vllm()), "thinking"))["thinking"]
    assert (found.status, found.remedy.endswith(remedy)) == (status, True), (found.words, found.remedy)
    assert words in found.words


async def test_the_switch_is_the_one_that_a_run_sends() -> None:
    efforts: list[object] = []

    def say(body: Json) -> Said:
        efforts.append(body.get("reasoning_effort"))
        return THOUGHT if body.get("reasoning_effort") != "none" else PLAIN

    found = (await of_script(Script(say, ollama("laguna")), "thinking"))["thinking"]
    assert found.status is Status.OK
    assert {"medium", "none"} <= set(efforts)


async def test_where_thoughts_arrive_is_kept_for_the_checks_after_it() -> None:
    def say(body: Json) -> Said:
        return Said("391", "17.", "reasoning_content") if body["chat_template_kwargs"]["enable_thinking"] else PLAIN

    async with ScriptedServer(Script(say, llamacpp()).handle) as server, subject_at(server.url) as subject:
        assert subject.thought_field is None
        await made(subject, "thinking")
        assert subject.thought_field == "reasoning_content"
