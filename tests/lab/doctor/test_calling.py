"""Whether a tool call arrives as one, on scripted servers; the simulator's faults are in test_checks."""

from __future__ import annotations

from typing import Any

import pytest

from pool.lab.doctor.finding import Status
from tests.lab.doctor.servers import Json, Said, Script, llamacpp, of_script, vllm

MARKUP = "<tool_call>read_file<arg_key>path</arg_key><arg_value>alpha.txt</arg_value></tool_call>"
TOOLS_FLAGS = "--enable-auto-tool-choice --tool-call-parser poolside_v1"


def call(name: str = "read_file", arguments: str = '{"path": "alpha.txt"}', id: str = "call_1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def called(*calls: dict[str, Any], finish: str = "tool_calls") -> Said:
    return Said(calls=calls, finish=finish, counted=200)


CASES: list[tuple[str, Said, Status, str, str]] = [
    ("good", called(call()), Status.OK, "a structured call of read_file with valid arguments", ""),
    ("no id", called(call(id="")), Status.OK, "calls have no ids", ""),
    ("finish stop", called(call(), finish="stop"), Status.OK, "finish reason stop", ""),
    ("other tool", called(call("run")), Status.FAIL, 'of "run" instead of read_file', "pip install --upgrade vllm"),
    ("other argument", called(call(arguments='{"file": "a"}')), Status.FAIL, "not what was asked for", "vllm"),
    ("no JSON", called(call(arguments="alpha.txt")), Status.FAIL, "not what was asked for", "vllm"),
    ("a number", called(call(arguments='{"path": 5}')), Status.FAIL, "not what was asked for", "vllm"),
    ("cut", called(call(), finish="length"), Status.WARN, "the call was cut", "pool doctor --only tool-call"),
    ("markup", Said(MARKUP, counted=200), Status.FAIL, "as markup in the text (<tool_call>)", TOOLS_FLAGS),
    ("thought", Said(reasoning=MARKUP, counted=200), Status.WARN, "inside the thought", '--thinking off "PROMPT"'),
    ("lost", Said("Now.", finish="tool_calls", counted=200), Status.FAIL, "but no call was sent", TOOLS_FLAGS),
    ("prose", Said("It says hello.", counted=200), Status.WARN, 'answered "It says hello."', "--only tool-call"),
    ("mention", Said("Use `<tool_call>` for it.", counted=200), Status.WARN, "answered", "--only tool-call"),
    ("dropped", Said("It says hello.", counted=20), Status.FAIL, "it adds 0 tokens to the prompt", TOOLS_FLAGS),
    ("uncounted", Said("It says hello.", counted=None), Status.WARN, "answered", "--only tool-call"),
    ("refused", Said(status=400, error='"auto" tool choice requires ...'), Status.FAIL, "is refused", TOOLS_FLAGS),
]


@pytest.mark.parametrize(("said", "status", "words", "remedy"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
async def test_replies(said: Said, status: Status, words: str, remedy: str) -> None:
    def say(body: Json) -> Said:
        return said if "tools" in body else Said("Ready.")

    found = (await of_script(Script(say, vllm()), "tool-call"))["tool-call"]
    assert (found.status, found.remedy.endswith(remedy)) == (status, True), (found.words, found.remedy)
    assert bool(found.remedy) == bool(remedy)
    assert words in found.words


async def test_a_thought_that_takes_all_tokens_is_followed_by_a_try_without() -> None:
    asked: list[bool] = []

    def say(body: Json) -> Said:
        if "tools" not in body:
            return Said("Ready.")
        asked.append(body["chat_template_kwargs"]["enable_thinking"])
        return Said(reasoning="Let me see. ", finish="length", counted=200) if asked[-1] else called(call())

    found = (await of_script(Script(say, vllm()), "tool-call"))["tool-call"]
    assert asked == [True, False]
    assert found.status is Status.OK


async def test_a_remedy_names_no_laguna_parser_for_another_model() -> None:
    def say(body: Json) -> Said:
        return Said(MARKUP, counted=200) if "tools" in body else Said("Ready.")

    found = (await of_script(Script(say, vllm("qwen3")), "tool-call"))["tool-call"]
    assert found.remedy == "--enable-auto-tool-choice --tool-call-parser NAME"
    found = (await of_script(Script(say, llamacpp()), "tool-call"))["tool-call"]
    assert found.remedy.startswith("--jinja")


async def test_a_hostile_answer_stays_short_and_on_one_line() -> None:
    def say(body: Json) -> Said:
        return Said("\x1b[2J" + "a\nb" * 1000, counted=200) if "tools" in body else Said("Ready.")

    found = (await of_script(Script(say, vllm()), "tool-call"))["tool-call"]
    assert len(found.words) < 120
    assert "\n" not in found.words
