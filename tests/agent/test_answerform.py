"""A final answer in a given form: checked, asked for once more, constrained where the server can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pool.agent.answerform import AnswerForm, FormGuard
from pool.agent.approvals import NobodyThere
from pool.agent.factory import Extras, open_session
from pool.agent.ids import new_id
from pool.config.settings import Mode, SandboxChoice, Settings, SettingsError
from pool.events import RunFinished, StopReason
from pool.wire.dialects import DIALECTS, ServerKind
from tests.cases.driver import MODEL, Json, ModelServer, Step, answer, call, last_user, play

SCHEMA = {
    "type": "object",
    "properties": {"bugs": {"type": "integer", "minimum": 0}},
    "required": ["bugs"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"bugs": 2}', 2), ('```json\n{"bugs": 0}\n```', 0), ('\n  {"bugs": 7}\n', 7)],
)
def test_a_value_that_fits(text: str, value: int) -> None:
    assert AnswerForm(SCHEMA).value(text) == {"bugs": value}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("There are two bugs.", "not one JSON value"),
        ('{"bugs": 2} is what I found', "not one JSON value"),
        ('{"bugs": NaN}', "NaN"),
        ('{"bugs": -1}', r"\$.bugs: -1 is less than"),
        ('{"bugs": 1, "more": 2}', "more"),
        ("[" * 100_000, "not one JSON value"),
        ("", "not one JSON value"),
    ],
)
def test_a_value_that_does_not_fit_says_why(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        AnswerForm(SCHEMA).value(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[1]", "no JSON Schema"),
        ('{"type": "thing"}', r"'thing' is not valid.* at \$.type"),
        ('{"$ref": "https://example.com/schema.json"}', "nothing is fetched"),
        ('{"allOf": [{"$ref": "other.json"}]}', "nothing is fetched"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(text)
    with pytest.raises(SettingsError, match=says):
        AnswerForm.read(tmp_path / "form.json")


def test_a_schema_that_is_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        AnswerForm.read(tmp_path / "none.json")
    (tmp_path / "big.json").write_text(" " * 300_000)
    with pytest.raises(SettingsError, match="more than"):
        AnswerForm.read(tmp_path / "big.json")


def test_references_within_and_those_that_lead_nowhere() -> None:
    inside = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}
    assert AnswerForm(inside).value("[1, 2]") == [1, 2]
    with pytest.raises(ValueError, match="is not of type"):
        AnswerForm(inside).value('["a"]')
    with pytest.raises(ValueError, match="cannot be applied"):
        AnswerForm({"items": {"$ref": "#/$defs/none"}}).value("[1]")


@pytest.fixture
def plain_server() -> Iterator[None]:
    """The test server, which says that it is vLLM, taken as one that knows no schemas."""
    vllm = DIALECTS[ServerKind.VLLM]
    DIALECTS[ServerKind.VLLM] = replace(vllm, json_schema=False)
    yield
    DIALECTS[ServerKind.VLLM] = vllm


async def formed(folder: Path, *steps: Step, **changes: Any) -> tuple[RunFinished, list[Json]]:
    form = AnswerForm(SCHEMA)
    async with ModelServer(*steps) as server:
        settings = Settings(
            folder, server.url, MODEL, mode=Mode.ALLOW_ALL, sandbox=SandboxChoice.OFF, ephemeral=True, **changes
        )
        extras = Extras(guards=lambda: [FormGuard(form)])
        async with open_session(settings, NobodyThere(), extras) as session:
            finished = await session.agent.run(form.asked("Count the bugs."), new_id())
    assert server.complaints == []
    return finished, server.bodies


async def test_a_good_answer_costs_no_second_request(tmp_path: Path) -> None:
    finished, bodies = await formed(tmp_path, call("list", path="."), answer('{"bugs": 3}'))
    assert (finished.reason, json.loads(finished.answer)) == (StopReason.COMPLETED, {"bugs": 3})
    assert len(bodies) == 2
    assert '"minimum":0' in last_user(bodies[0])
    assert all("response_format" not in body for body in bodies)


async def test_the_second_answer_is_held_to_the_schema_with_its_thought_closed(tmp_path: Path) -> None:
    """Grammars begin after the thought: it is closed by hand, so that the schema holds from the first token on."""
    finished, bodies = await formed(tmp_path, call("list", path="."), answer("Three."), answer('{"bugs": 3}'))
    assert finished.reason is StopReason.COMPLETED
    asked = bodies[-1]
    assert asked["response_format"]["json_schema"]["schema"] == SCHEMA
    assert asked["continue_final_message"] is True
    assert asked["messages"][-1]["role"] == "assistant"
    assert asked["chat_template_kwargs"]["enable_thinking"] is True
    assert "not one JSON value" in last_user(asked)


async def test_without_thinking_there_is_no_thought_to_close(tmp_path: Path) -> None:
    steps = call("list", path="."), answer("Three."), answer('{"bugs": 3}')
    _, bodies = await formed(tmp_path, *steps, thinking=False)
    assert "response_format" in bodies[-1]
    assert "continue_final_message" not in bodies[-1]


@pytest.mark.usefixtures("plain_server")
async def test_a_server_that_knows_no_schemas_is_asked_once_more_in_words(tmp_path: Path) -> None:
    steps = call("list", path="."), answer("Three."), answer('{"bugs": 3}')
    finished, bodies = await formed(tmp_path, *steps)
    assert finished.reason is StopReason.COMPLETED
    assert "response_format" not in bodies[-1]


async def test_a_second_misfit_ends_the_run_without_an_answer(tmp_path: Path) -> None:
    finished, bodies = await formed(tmp_path, answer("Three."), answer('{"bugs": "three"}'))
    assert (finished.reason, finished.exit_code, finished.answer) == (StopReason.UNUSABLE_REPLY, 8, "")
    assert "$.bugs" in finished.detail
    assert len(bodies) == 2


async def test_could_not_do_it_stays_so(tmp_path: Path) -> None:
    finished, _ = await formed(tmp_path, answer("Could not do it: there is no code here."))
    assert (finished.reason, finished.exit_code) == (StopReason.GAVE_UP, 4)


async def test_tools_are_left_out_by_name(tmp_path: Path) -> None:
    _, bodies = await play(tmp_path, answer("Fine."), only_tools=("read", "list", "shell"), without_tools=("shell",))
    assert [tool["function"]["name"] for tool in bodies[0]["tools"]] == ["read", "list"]
    with pytest.raises(SettingsError, match="no tool 'reed'"):
        await play(tmp_path, answer("Fine."), only_tools=("reed",))
