"""THINK cases: reasoning text, from a real socket through the agent to what is shown, answered and sent back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pool.events import ContentDelta, GuardFired, ReasoningDelta, StopReason
from tests.cases.driver import (
    Json,
    Step,
    answer,
    call,
    delta,
    finish,
    last_user,
    piece,
    play,
    say,
    usage,
    whole,
)


def content(*parts: str) -> Step:
    """A reply whose content comes in these pieces."""
    return say(*(delta(content=part) for part in parts), finish("stop"), usage(100, 5))


async def test_THINK_01_a_thought_and_a_lone_closing_tag_in_the_answer(tmp_path: Path) -> None:
    run, bodies = await play(tmp_path, content("Let me look.", "\n</think>\n", "The answer is 4."))
    assert run.answer == "The answer is 4."
    reasoning, shown = run.shown[0]
    assert (reasoning.strip(), shown.strip()) == ("Let me look.", "The answer is 4.")
    assert "think>" not in run.ever_shown
    assert [said.strip() for said in run.said] == ["The answer is 4."]
    assert bodies[0]["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize("thinking", [True, False])
async def test_THINK_01_every_request_states_the_switch(thinking: bool, tmp_path: Path) -> None:
    """As a JSON boolean: the text "false" would switch it on."""
    _, bodies = await play(tmp_path, call("shell", command="true"), answer("Done."), thinking=thinking)
    assert [body["chat_template_kwargs"]["enable_thinking"] for body in bodies] == [thinking, thinking]


@pytest.mark.parametrize(
    ("parts", "tags"),
    [
        (("<think>The", " plan</think>", "Done."), ()),
        (("<mm:think>The", " plan</mm:think>", "Done."), ()),
        (("<scratch>The", " plan</scratch>", "Done."), ("scratch",)),
    ],
)
async def test_THINK_02_whole_thoughts_in_the_content(
    parts: tuple[str, ...], tags: tuple[str, ...], tmp_path: Path
) -> None:
    """The list of tags can be extended."""
    run, _ = await play(tmp_path, content(*parts), think_tags=tags)
    assert run.answer == "Done."
    assert run.shown == [("The plan", "Done.")]
    assert run.said == ["Done."]


async def test_THINK_02_an_unknown_tag_is_text(tmp_path: Path) -> None:
    run, _ = await play(tmp_path, content("<scratch>The plan</scratch>Done."))
    assert run.answer == "<scratch>The plan</scratch>Done."


async def test_THINK_03_tags_cut_anywhere(tmp_path: Path) -> None:
    """Every place at which `a</think>b` can be cut, in one session; no piece of a tag is ever shown."""
    text = "a</think>b"
    replies = [content(text[:at], text[at:]) for at in range(1, len(text))]
    for reply in [*replies, content(*text)]:
        run, _ = await play(tmp_path, reply)
        assert (run.answer, run.shown) == ("b", [("a", "b")])
        pieces = [body.text for body in (*run.of(ContentDelta), *run.of(ReasoningDelta))]
        assert not any("<" in p or "think" in p or ">" in p or "/" in p for p in pieces)


async def test_THINK_03_several_tokens_in_one_delta(tmp_path: Path) -> None:
    run, _ = await play(tmp_path, content("tail of thought</think>Answer"))
    assert run.shown == [("tail of thought", "Answer")]


@pytest.mark.parametrize("names", [("reasoning",), ("reasoning_content",), ("reasoning", "reasoning_content")])
async def test_THINK_04_either_name_or_both(names: tuple[str, ...], tmp_path: Path) -> None:
    """Shown once, kept once, and sent back under the name in which it came (THINK-06)."""
    thought = [delta(**dict.fromkeys(names, part)) for part in ("I ", "see.")]
    step = say(*thought, whole("shell", command="true"), finish("tool_calls"))
    run, bodies = await play(tmp_path, step, answer("Done."))
    assert run.shown[0][0] == "I see."
    message = bodies[1]["messages"][2]
    sent = {key: value for key, value in message.items() if key.startswith("reasoning")}
    assert sent == {names[0]: "I see."}


async def test_THINK_05_the_whole_reply_is_a_thought(tmp_path: Path) -> None:
    """One request for an answer; still none: a failure that does not pass the thought off as the answer."""
    silent = say(delta(reasoning="… so the port is 8080."), finish("stop"))
    run, bodies = await play(tmp_path, silent)
    assert (run.reason, run.finished.exit_code, run.answer) == (StopReason.UNUSABLE_REPLY, 8, "")
    assert len(bodies) == 2
    assert "thinking" in last_user(bodies[1])
    assert "no answer" in run.finished.detail
    assert run.ever_shown == ""

    mended, bodies = await play(tmp_path, silent, answer("Port 8080."))
    assert (mended.answer, len(bodies)) == ("Port 8080.", 2)


async def test_THINK_06_thoughts_of_earlier_turns_are_sent_back(tmp_path: Path) -> None:
    """All of them, unchanged: a turn without is rendered with an empty thought, and then Laguna stops thinking."""

    def thinking(n: int) -> Step:
        parts = (delta(reasoning=f"thought {n}"), whole("shell", f"c{n}", command="true"), finish("tool_calls"))
        return say(*parts)

    _, bodies = await play(tmp_path, thinking(1), thinking(2), answer("Done."))
    assistants: list[Json] = [m for m in bodies[2]["messages"] if m["role"] == "assistant"]
    assert [m["reasoning"] for m in assistants] == ["thought 1", "thought 2"]
    assert bodies[2]["messages"][:4] == bodies[1]["messages"]


async def test_THINK_06_a_thought_found_in_the_content_is_sent_back_under_both_names(tmp_path: Path) -> None:
    """Which one the server reads is not known then; never unsplit, since the template would wrap it once more."""
    step = say(delta(content="I look.</think>"), whole("shell", command="true"), finish("tool_calls"))
    _, bodies = await play(tmp_path, step, answer("Done."))
    message = bodies[1]["messages"][2]
    assert message["reasoning"] == message["reasoning_content"] == "I look."
    assert "think>" not in json.dumps(message)


async def test_THINK_07_tags_in_what_is_written_to_files(tmp_path: Path) -> None:
    text = 'assert strip("<think>x</think>y") == "y"\n'
    arguments = json.dumps({"path": "t.py", "content": text})
    step = say(
        piece(id="c1", name="write", arguments=arguments[:45]), piece(arguments=arguments[45:]), finish("tool_calls")
    )
    run, bodies = await play(tmp_path, step, answer("Done."))
    assert run.calls == [("write", "ok")]
    assert (tmp_path / "t.py").read_bytes() == text.encode()
    sent = json.loads(bodies[1]["messages"][2]["tool_calls"][0]["function"]["arguments"])
    assert sent["content"] == text


async def test_THINK_08_no_thought_at_all(tmp_path: Path) -> None:
    """P3: a server that sends none, though it was asked for, is no fault."""
    run, bodies = await play(tmp_path, call("shell", command="true"), answer("Done."))
    assert (run.answer, len(bodies), run.of(GuardFired)) == ("Done.", 2, [])
    assert not any(key.startswith("reasoning") for m in bodies[1]["messages"] for key in m)
