"""Faults at the border of Laguna's thoughts (R1 to R11) and in its call markup (T1 to T17), as a client meets them.

Numbers are those of the fault catalogue for Laguna behind vLLM 0.25.1 and its siblings; a test says what a client sees
and what it must make of it. T5, T6 and T10 as the stream carries them show nothing that a client could see (text is
lost inside the server), so they are tested where the markup reaches the client as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pool.wire.reading import Ending, Expectation
from tests.cases.client import EXPECT, MAX_TOKENS, TOOLS, receive, receive_from
from tests.cases.driver import Json, answer, call, delta, finish, last_result, piece, play, say, usage, whole
from tests.wire.scripted import Exchange

CALL = "<tool_call>shell<arg_key>command</arg_key><arg_value>ls -l</arg_value></tool_call>"
PATH = "<tool_call>write<arg_key>path</arg_key><arg_value>a</arg_value>"
RUN: tuple[str, dict[str, Any]] = ("shell", {"command": "ls -l"})
NOTHING: dict[str, Any] = {}
QUIET = replace(EXPECT, thinking=False)


def markup(name: str, **arguments: str) -> str:
    """A call as Laguna writes it."""
    pairs = "".join(f"<arg_key>{k}</arg_key><arg_value>{v}</arg_value>" for k, v in arguments.items())
    return f"<tool_call>{name}{pairs}</tool_call>"


def letters(text: str, field: str = "content") -> list[bytes]:
    """A delta for each character."""
    return [delta(**{field: character}) for character in text]


# -- R: the border between thought and answer


@pytest.mark.parametrize(
    ("text", "expect", "texts", "repair"),
    [
        pytest.param(
            "I should look…</think>The answer",
            EXPECT,
            ("I should look…", "The answer"),
            "leaked-think-close",
            id="R1 vllm#49379 sglang#32536 pool#43",
        ),
        pytest.param("</think>Hello", EXPECT, ("", "Hello"), "stray-think-close", id="R2 modelplane#374"),
        pytest.param("<think>x</think>y", QUIET, ("x", "y"), "think-in-content", id="R3 whole block, thinking off"),
        pytest.param("x</think>y", QUIET, ("x", "y"), "leaked-think-close", id="R3 close tag, thinking off"),
        pytest.param(
            "ans <think>more</think> ans2", EXPECT, ("more", "ans  ans2"), "second-think-block", id="R4 second block"
        ),
    ],
)
async def test_R1_to_R4_tags_in_the_content(
    text: str, expect: Expectation, texts: tuple[str, str], repair: str
) -> None:
    """Whole and letter by letter."""
    for deltas in ([delta(content=text)], letters(text)):
        got = await receive(*deltas, finish("stop"), expect=expect)
        assert got.texts == texts
        assert got.reading.repairs == (repair,)
        assert "think>" not in "".join(got.shown)
        assert got.reading.ending is Ending.WHOLE


async def test_R5_a_whole_body_with_nothing_but_reasoning() -> None:
    message: Json = {"role": "assistant", "reasoning": "everything", "content": None, "tool_calls": []}
    body: Json = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}

    async def step(exchange: Exchange) -> None:
        await exchange.reply_json(body)

    got = await receive_from(step)
    assert got.texts == ("everything", "")
    assert not got.reading.usable


@pytest.mark.parametrize("tail", ["", "</think>", "\n", "</think>\n"])
async def test_R6_a_call_in_the_thought(tail: str) -> None:
    """It is the last thing in a thought that no content follows: a call."""
    for deltas in ([delta(reasoning=f"I look.\n{CALL}{tail}")], letters(f"I look.\n{CALL}{tail}", "reasoning")):
        got = await receive(*deltas, finish("stop"))
        assert got.calls == [RUN]
        assert got.texts == ("I look.", "")
        assert "call-in-reasoning" in got.reading.repairs
        assert tail.strip() or "tool_call" not in "".join(got.shown)


async def test_R7_tags_in_what_the_user_and_files_say(tmp_path: Path) -> None:
    """They are data: sent as they are, and the reply after them is read as ever."""
    text = "before </think> after <think> and <tool_call>\n"
    (tmp_path / "a.txt").write_text(text)
    run, bodies = await play(tmp_path, call("read", path="a.txt"), answer("Done."))
    assert text.strip() in last_result(bodies[1])
    assert run.answer == "Done."


async def test_R8_empty_reasoning() -> None:
    got = await receive(delta(reasoning=""), delta(content="A", reasoning=""), finish("stop"))
    assert (got.texts, got.reading.reasoning_field, got.reading.repairs) == (("", "A"), "", ())


async def test_R9_the_answer_is_in_the_thought() -> None:
    """vllm#40816. Without a tag it is no answer; behind one it is."""
    got = await receive(delta(reasoning="The answer is 4."), finish("stop"))
    assert (got.texts, got.reading.usable) == (("The answer is 4.", ""), False)
    behind = await receive(*letters("I add.</think>It is 4.", "reasoning"), finish("stop"))
    assert behind.texts == ("I add.", "It is 4.")
    assert behind.shown[1] == "It is 4."


@pytest.mark.parametrize("torn", ["nk>", "ink>", "think>", "/think>"])
async def test_R10_a_torn_closing_tag(torn: str) -> None:
    for deltas in ([delta(content=f"{torn}The answer")], letters(f"{torn}The answer")):
        got = await receive(delta(reasoning="I see"), *deltas, finish("stop"))
        assert got.texts == ("I see", "The answer")
        assert got.shown[1] == "The answer"


async def test_R11_no_thought_where_tools_are_present() -> None:
    """llama.cpp#25165: no reasoning key in any chunk; the reply is fine as it is."""
    got = await receive(delta(content="Fine."), whole("shell", command="ls -l"), finish("tool_calls"))
    assert (got.texts, got.calls, got.reading.repairs) == (("", "Fine."), [RUN], ())


# -- T: calls as the server's parser hands them over


def named(name: str, arguments: str = "{}") -> list[bytes]:
    return [piece(id="c1", type="function", name=name, arguments=""), piece(arguments=arguments)]


@pytest.mark.parametrize("number", ["T1 newline after the tag", "T2 no name at all"])
async def test_T1_T2_an_empty_name(number: str, tmp_path: Path) -> None:
    """The arguments are fine, the call cannot be run; the model is told to name the tool."""
    events = [*named("", '{"path": "a.txt", "content": "x"}'), finish("tool_calls")]
    got = await receive(*events)
    assert got.calls == []
    assert [(b.id, b.name) for b in got.reading.broken] == [("c1", "")]
    assert "name" in got.reading.broken[0].why
    run, bodies = await play(tmp_path, say(*events), answer("Done."))
    assert run.calls == [("unnamed", "invalid")]
    assert "without a tool name. " in last_result(bodies[1])
    assert bodies[1]["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize(
    ("completion", "stop", "ending"),
    [
        pytest.param(MAX_TOKENS, None, Ending.LENGTH, id="T3 at max_tokens"),
        pytest.param(MAX_TOKENS - 1, "repetition_detected", Ending.REPETITION, id="repetition"),
        pytest.param(MAX_TOKENS - 1, 6, Ending.WHOLE, id="control: a natural end"),
    ],
)
async def test_T3_a_cut_call_that_was_closed(completion: int, stop: Any, ending: Ending) -> None:
    """Valid JSON and `tool_calls`: only the token count, or the stop reason, tells that it was cut."""
    events = named("write", '{"path": "a.txt", "content": "first li"}')
    got = await receive(*events, finish("tool_calls", stop), usage(100, completion))
    assert got.reading.ending is ending
    assert bool(got.calls) is (ending is Ending.WHOLE)
    assert bool(got.reading.broken) is (ending is not Ending.WHOLE)


async def test_T3_a_call_that_fills_the_window() -> None:
    events = named("write", '{"path": "a.txt", "content": "first li"}')
    got = await receive(*events, finish("tool_calls"), usage(4096 - 20, 20))
    assert (got.reading.ending, got.calls) == (Ending.WINDOW, [])


async def test_T4_a_value_with_the_closing_tag() -> None:
    content = "text </tool_call> more"
    got = await receive(*named("write", json.dumps({"path": "a", "content": content})), finish("tool_calls"))
    assert got.calls == [("write", {"path": "a", "content": content})]
    text = await receive(*letters(markup("write", path="a", content=content)), finish("stop"))
    assert text.calls == got.calls


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(markup("write", path="a", content="x</arg_value>y"), id="T5 a value with its own closing tag"),
        pytest.param(f"{PATH}<arg_key>content</tool_call>", id="T7 no value"),
        pytest.param(f"{PATH}<arg_key>path</arg_key><arg_value>b</arg_value></tool_call>", id="T6 a key twice"),
    ],
)
async def test_T5_T6_T7_markup_that_is_not_clear_is_not_run(text: str) -> None:
    """As text in the content: nothing is guessed, the model is told, and no markup is shown."""
    got = await receive(*letters(text), finish("stop"))
    assert got.calls == []
    assert len(got.reading.broken) == 1
    assert got.reading.broken[0].why
    assert got.shown[1] == ""


async def test_T7_a_key_without_a_value(tmp_path: Path) -> None:
    """The name is sent, its arguments stay empty: not run, since something required is missing."""
    step = say(piece(id="c1", name="write", arguments=""), finish("tool_calls"))
    run, bodies = await play(tmp_path, step, answer("Done."))
    assert run.calls == [("write", "invalid")]
    assert "content" in last_result(bodies[1])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param('shell{"command": "ls -l"}', id="T8"),
        pytest.param('{"name": "shell", "arguments": {"command": "ls -l"}}', id="T9"),
    ],
)
async def test_T8_T9_json_in_the_name(name: str) -> None:
    got = await receive(*named(name), finish("tool_calls"))
    assert (got.calls, got.reading.repairs) == ([RUN], ("json-in-name",))


async def test_T10_prose_that_mentions_the_tag() -> None:
    """What the server lets through is kept: no call, no re-ask."""
    text = "Calls begin with <tool_call> and end with </tool_call>, as you know."
    got = await receive(*letters(text), finish("stop"))
    assert (got.calls, got.reading.broken, got.reading.content) == ([], (), text)


async def test_T11_text_between_and_after_calls() -> None:
    second = piece(1, id="c2", type="function", name="list", arguments="{}")
    events = (*named("shell", '{"command": "ls -l"}'), delta(content="\n"), second, delta(content="So it is."))
    got = await receive(*events, finish("tool_calls"))
    assert (got.calls, got.texts[1]) == ([RUN, ("list", {})], "So it is.")


async def test_T12_typed_values(tmp_path: Path) -> None:
    """What the server's parser could not convert comes as text: the model is told which argument is wrong."""
    (tmp_path / "a.txt").write_text("alpha\n")
    steps = [call("read", path="a.txt", offset="three"), call("read", "c2", path="a.txt", offset=1), answer("Done.")]
    run, bodies = await play(tmp_path, *steps)
    assert run.calls == [("read", "invalid"), ("read", "ok")]
    assert "offset" in last_result(bodies[1])


async def test_T13_every_text_parameter_is_a_plain_string(tmp_path: Path) -> None:
    """A union or a missing type would have its values stripped and decoded by the server."""
    _, bodies = await play(tmp_path, answer("Done."))
    for tool in bodies[0]["tools"]:
        for name, schema in tool["function"]["parameters"]["properties"].items():
            assert isinstance(schema.get("type"), str), (tool["function"]["name"], name)
            assert not {"anyOf", "oneOf", "$ref"} & schema.keys()


async def test_T14_an_unknown_tool_is_handed_on() -> None:
    """For the agent to answer with the real names (CALL-14)."""
    got = await receive(whole("conjure", q="x"), finish("tool_calls"))
    assert got.calls == [("conjure", {"q": "x"})]


async def test_T15_empty_markup() -> None:
    """The server drops it: an empty reply. As text it is no call either."""
    dropped = await receive(delta(content=""), finish("stop"))
    assert not dropped.reading.usable
    text = await receive(*letters("<tool_call></tool_call>"), finish("stop"))
    assert text.calls == []


async def test_T16_no_arguments() -> None:
    for events in (named("list", "{}"), [piece(id="c1", name="list", arguments="")]):
        got = await receive(*events, finish("tool_calls"))
        assert got.calls == [("list", {})]


@pytest.mark.parametrize(
    "expect",
    [
        pytest.param(Expectation(tools={}), id="no tools"),
        pytest.param(Expectation(tools=TOOLS, calls_allowed=False), id="tool_choice none"),
    ],
)
async def test_T17_markup_where_no_call_is_allowed(expect: Expectation) -> None:
    got = await receive(*letters(f"So be it. {CALL}"), finish("stop"), expect=expect)
    assert (got.calls, got.texts[1]) == ([], "So be it.")


# -- what sibling parsers and the model itself do with the same tags


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param(f"<tool_call>{CALL}", [RUN], id="doubled opening tag"),
        pytest.param(CALL.removesuffix("</tool_call>"), [RUN], id="closing tag missing at the end"),
        pytest.param(f"<user>{CALL}</user>", [RUN], id="wrapped in user tags"),
        pytest.param(CALL.replace("shell", "bash"), [RUN], id="another name for the tool"),
        pytest.param('<tool_call>{"name":"shell","arguments":{"command":"ls -l"}}</tool_call>', [RUN], id="JSON body"),
        pytest.param(f"{CALL}\n\n{CALL.replace('ls -l', 'pwd')}", [RUN, ("shell", {"command": "pwd"})], id="two"),
        pytest.param("<tool_call>list</tool_call>", [("list", NOTHING)], id="vllm#32436 no arguments"),
    ],
)
async def test_markup_faults_that_occur(text: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Each is one that Ollama's parser for Laguna has code for, or that vLLM's issues report."""
    got = await receive(*letters(text), finish("stop"))
    assert got.calls == calls
    assert "tool_call" not in "".join(got.shown)


async def test_arguments_that_were_sent_twice() -> None:
    """vllm#51697: the end flush sends the object again."""
    text = '{"command": "ls -l"}'
    got = await receive(*named("shell", text), piece(arguments=text), finish("tool_calls"))
    assert (got.calls, got.reading.repairs) == ([RUN], ("arguments-sent-twice",))


async def test_arguments_lost_after_a_call_without_any() -> None:
    """vllm#47901: the second call's arguments are dropped; it is a call that lacks something, never a wrong one."""
    events = (*named("list", "{}"), piece(1, id="c2", type="function", name="shell", arguments=""))
    got = await receive(*events, finish("tool_calls"))
    assert got.calls == [("list", {}), ("shell", {})]
