"""Whether thoughts that are sent back reach the prompt: by the prompt's text, and by its length."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from pool.lab.doctor.finding import Status
from pool.lab.doctor.history import MARK
from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.lab.doctor.servers import Json, Said, Script, llamacpp, made, models, of_script, of_sim, subject_at, vllm


def template(reads: Collection[str], *, forgets: bool = False, counts: bool = True, thoughts_in: str = "") -> Script:
    """A server whose template reads the thoughts in these fields, all of them or those after the last prompt only."""

    def say(body: Json) -> Said:
        messages = body["messages"]
        last = max(at for at, message in enumerate(messages) if message["role"] == "user")
        shown = [m for at, m in enumerate(messages) if at > last or not forgets]
        thoughts = [m[field] for m in shown for field in reads if field in m][:1]
        tokens = 100 + sum(len(thought) // 4 for thought in thoughts)
        thinks = body["chat_template_kwargs"]["enable_thinking"] and thoughts_in
        return Said("Ready.", "Hm." if thinks else "", thoughts_in or "reasoning", counted=tokens if counts else None)

    return Script(say, llamacpp())


CASES: list[tuple[str, Script, tuple[str, ...], Status, str]] = [
    (
        "both",
        template(["reasoning", "reasoning_content"]),
        (),
        Status.OK,
        "reasoning_content reaches the prompt, as Pool",
    ),
    ("right one", template(["reasoning_content"]), (), Status.OK, "reasoning_content reaches the prompt, as Pool"),
    ("wrong one", template(["reasoning"]), (), Status.FAIL, "as reasoning_content, but only reasoning reaches"),
    ("none", template([]), (), Status.FAIL, "does not reach the prompt"),
    ("none, never thinks", template([]), ("thinking",), Status.WARN, "does not reach the prompt"),
    ("none, thinks", template([], thoughts_in="reasoning"), ("thinking",), Status.FAIL, "does not reach the prompt"),
    (
        "where it comes from",
        template(["reasoning"], thoughts_in="reasoning"),
        ("thinking",),
        Status.OK,
        "reasoning reaches",
    ),
    (
        "forgotten",
        template(["reasoning_content"], forgets=True),
        (),
        Status.WARN,
        "dropped once you write the next prompt",
    ),
    ("not counted", template(["reasoning_content"], counts=False), (), Status.WARN, "cannot be told"),
]


@pytest.mark.parametrize(("script", "first", "status", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
async def test_templates(script: Script, first: tuple[str, ...], status: Status, words: str) -> None:
    found = (await of_script(script, *first, "history"))["history"]
    assert found.status is status, found.words
    assert words in found.words
    assert bool(found.remedy) == (status is not Status.OK)


@pytest.mark.parametrize(
    ("documents", "thoughts_in", "sent"),
    [
        (vllm(), "", ["reasoning"]),
        (llamacpp(), "", ["reasoning_content"]),
        ({"/v1/models": models("m")}, "", ["reasoning", "reasoning_content"]),
        (vllm(), "reasoning_content", ["reasoning_content"]),
        ({"/v1/models": models("m")}, "reasoning_content", ["reasoning_content"]),
    ],
)
async def test_a_thought_goes_back_as_a_run_would_send_it(documents: Json, thoughts_in: str, sent: list[str]) -> None:
    script = Script(template(["reasoning", "reasoning_content"], thoughts_in=thoughts_in).say, documents)
    found = (await of_script(script, *(("thinking",) if thoughts_in else ()), "history"))["history"]
    assert found.data["sent"] == sent


async def test_the_prompt_text_of_vllm_counts_more_than_its_tokenizer() -> None:
    found = (await of_sim("history"))["history"]
    assert found.status is Status.OK
    assert found.data["by"] == "prompt text"
    assert found.data["arrived"] == {"reasoning": True, "reasoning_content": True}
    assert found.data["kept_after_next_prompt"] is True
    assert found.data["tokenize"]["reasoning"] > 100
    assert found.data["tokenize"]["reasoning_content"] == 0


async def test_a_vllm_that_does_not_show_its_prompt_is_judged_by_its_counts() -> None:
    found = (await of_script(Script(template(["reasoning"]).say, vllm()), "history"))["history"]
    assert (found.status, found.data["by"]) == (Status.OK, "prompt tokens")


async def test_the_prompt_text_is_asked_of_vllm_only() -> None:
    with running(SimSettings()) as sim:
        async with subject_at(sim.url) as subject:
            await made(subject, "history")
    marked = [body for body in sim.seen if MARK in str(body)]
    assert marked
    assert all(body["return_prompt_text"] for body in marked)

    def say(body: Json) -> Said:
        assert "return_prompt_text" not in body
        return Said("Ready.")

    await of_script(Script(say, llamacpp()), "history")
