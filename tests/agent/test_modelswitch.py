"""Another model in a session: priced, asked about where it is hosted, valid there, and kept for when it goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pool.agent.approvals import NobodyThere
from pool.agent.commands.table import execute
from pool.agent.control import Conversation
from pool.agent.factory import open_session
from pool.agent.history import History
from pool.config.modelchoice import choice_of
from pool.config.settings import Mode, SandboxChoice, Settings
from pool.messages import Message, ReasoningField, Role, ToolCall, encode, system, tool_result, user
from pool.wire.locality import is_hosted
from pool.wire.ollama import encode_message
from tests.cases.driver import MODEL, Json, ModelServer, answer, delta, finish, say, usage, whole
from tests.wire.scripted import Exchange

OTHER = "other-model"


class OtherServer(ModelServer):
    """A server with another model and a small window, and no word of the first one's prefix."""

    @staticmethod
    async def _describe(exchange: Exchange) -> None:
        if not exchange.path.endswith("/models"):
            await exchange.reply_json({"detail": "Not Found"}, 404)
            return
        models = [{"id": name, "owned_by": "vllm", "max_model_len": 9_000} for name in (OTHER, "third-model")]
        await exchange.reply_json({"object": "list", "data": models})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("x = 1\n")
    (tmp_path / "work" / "AGENTS.md").write_text("Be brief.\n")
    return tmp_path / "work"


def configure(work: Path, text: str) -> None:
    own = work.parent / "config" / "pool" / "config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(text)


def settings_of(work: Path, base_url: str, **changes: Any) -> Settings:
    settings = Settings(work, base_url=base_url, model=MODEL, mode=Mode.ALLOW_ALL, sandbox=SandboxChoice.OFF)
    return replace(settings, **changes)


def roles(body: Json) -> list[str]:
    return [m["role"] for m in body["messages"]]


async def test_a_session_goes_on_with_another_model_and_stays_there(work: Path) -> None:
    read = say(delta(reasoning="Look."), whole("read", path="a.py"), finish("tool_calls"), usage(3_000, 20))
    async with ModelServer(read, answer("One.")) as first, OtherServer(answer("Two."), answer("Three.")) as second:
        configure(
            work,
            f"[profiles.big.server]\nbase_url = '{second.url}'\nmodel = '{OTHER}'\ninput_price = 2.5\n"
            "[profiles.big.sampling]\ntemperature = 0.1\n[profiles.big.thinking]\nlevel = 'off'\n",
        )
        settings = settings_of(work, first.url)
        async with open_session(settings, NobodyThere()) as session:
            conversation = Conversation(session)
            await conversation.submit("Do it.")
            listed = await execute("/model", conversation)
            assert listed.rows is not None
            assert ("*", MODEL, first.url) in listed.rows.rows
            assert ("", f"big:{OTHER}", second.url) in listed.rows.rows
            assert listed.ask is not None
            assert [c.line for c in listed.ask.choices] == [f"/model big:{OTHER}", ""]
            filtered = await execute("/model ?big", conversation)
            assert filtered.rows is not None
            assert len(filtered.rows.rows) == 1
            asked = await execute("/model big:", conversation)
            assert asked.ask is not None
            assert "tokens have to be read anew, some" in asked.ask.text
            assert "0.01 at its price" in asked.ask.text
            assert [c.label for c in asked.ask.choices] == ["switch", "stay"]
            assert "all that follows" not in asked.ask.text
            done = await execute(asked.ask.choices[0].line, conversation)
            assert done.ok, done.lines
            await conversation.submit("Go on.")
            status = conversation.status()
            assert (status.model, status.server, status.window) == (OTHER, second.url, 9_000)
            log = session.hub.session
        (body,) = second.bodies
        assert not second.complaints
        assert (body["model"], body["temperature"]) == (OTHER, 0.1)
        assert body["chat_template_kwargs"] == {"enable_thinking": False}
        assert roles(body) == ["system", "user", "assistant", "tool", "assistant", "user"]
        assert body["messages"][2]["tool_calls"][0]["id"] == body["messages"][3]["tool_call_id"]
        async with open_session(replace(settings, resume=log), NobodyThere()) as session:
            again = Conversation(session)
            assert again.status().model == OTHER
            await again.submit("And on.")
            wrong = await execute("/model big:no-such", again)
            assert not wrong.ok
            assert f"has no model 'no-such'; it has {OTHER}, third-model" in wrong.lines[0]
        assert second.bodies[-1]["messages"][: len(body["messages"])] == body["messages"]
        async with open_session(replace(settings, resume=log, server_named=True), NobodyThere()) as session:
            assert Conversation(session).status().model == MODEL


async def test_a_hosted_server_is_asked_about_with_all_that_it_would_get(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = say(whole("read", path="a.py"), finish("tool_calls"), usage(3_000, 20))
    async with ModelServer(read, answer("One.")) as first, OtherServer(answer("Two.")) as second:
        configure(work, f"[profiles.far.server]\nbase_url = '{second.url}'\nmodel = '{OTHER}'\n")
        monkeypatch.setattr("pool.agent.modelswitch.is_hosted", bool)
        async with open_session(settings_of(work, first.url, ephemeral=True), NobodyThere()) as session:
            conversation = Conversation(session)
            fresh = await execute("/model far:", conversation)
            assert fresh.ask is not None
            assert "the conversation from here on" in fresh.ask.text
            await conversation.submit("Do it.")
            asked = await execute("/model far:", conversation)
            assert asked.ask is not None
            for word in ("the whole conversation", "files that were read (a.py)", "AGENTS.md", "all that follows"):
                assert word in asked.ask.text
            assert conversation.status().model == MODEL
        assert not second.requests


@pytest.mark.parametrize(
    ("host", "hosted"),
    [
        ("localhost", False),
        ("127.0.0.1", False),
        ("::1", False),
        ("10.1.2.3", False),
        ("192.168.0.9", False),
        ("100.100.1.1", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("spark", False),
        ("spark.local", False),
        ("8.8.8.8", True),
        ("::ffff:8.8.8.8", True),
        ("2606:4700::1111", True),
        ("api.example.com", True),
        ("local.example.com", True),
        ("localhost.example.com.", True),
    ],
)
def test_which_servers_are_hosted(host: str, hosted: bool) -> None:
    assert is_hosted(host) is hosted


def test_what_names_a_model() -> None:
    profiles = ("big", "spark")
    given = ("big:m", "big:", "laguna:latest", "m", "big:a:b", ":m")
    assert [str(choice_of(text, profiles)) for text in given] == [
        "big:m",
        "big:",
        ":laguna:latest",
        ":m",
        "big:a:b",
        ":m",
    ]


def test_a_history_is_written_in_the_form_of_the_new_server() -> None:
    call = ToolCall("", "read", '{"path": "a"}')
    thought = Message(Role.ASSISTANT, "", "Look.", ReasoningField.THINKING, (call,))
    earlier = [user("Do."), thought, tool_result("", "x", "read"), user("On.")]
    history = History("S", lambda body: None, encode_message, [encode_message(m) for m in (system("S"), *earlier)])
    after = history.recoded(encode, ReasoningField.REASONING_CONTENT)
    (given,) = after[1].message.calls
    assert given.id
    assert after[2].message.call_id == given.id
    assert b'"reasoning_content":"Look."' in after[1].data
    history.replace([], after)
    assert history.recoded(encode, ReasoningField.REASONING_CONTENT) == []
    assert [m.data for m in history.messages[1:]] == [m.data for m in after]


async def test_a_session_whose_messages_were_written_anew_goes_on(work: Path) -> None:
    """Between OpenAI's form and Ollama's own, before any prompt was worked there."""
    read = say(whole("read", path="a.py"), finish("tool_calls"), usage(3_000, 20))
    async with ModelServer(read, answer("One.")) as first:
        address = first.url.replace("/v1", "/api")
        configure(work, f"[profiles.own.server]\nbase_url = '{address}'\nmodel = '{OTHER}'\n")
        settings = settings_of(work, first.url)
        async with open_session(settings, NobodyThere()) as session:
            conversation = Conversation(session)
            await conversation.submit("Do it.")
            done = await execute("/model own: --yes", conversation)
            assert done.ok, done.lines
            before = [m.data for m in session.agent.history.messages]
            assert b'"tool_name":"read"' in before[3]
            log = session.hub.session
        async with open_session(replace(settings, resume=log), NobodyThere()) as session:
            assert Conversation(session).status().server == address
            assert [m.data for m in session.agent.history.messages] == before
        back = replace(settings, resume=log, server_named=True)
        async with open_session(back, NobodyThere()) as session:
            await session.agent.run("And here.", "r")
        assert not first.complaints
        assert first.bodies[-1]["messages"][: len(first.bodies[1]["messages"])] == first.bodies[1]["messages"]


async def test_a_window_that_is_too_small_is_said_and_compacting_offered(work: Path) -> None:
    (work / "big.txt").write_text("".join(f"line {n} of a long file with words in it\n" for n in range(1_200)))
    read = say(whole("read", path="big.txt"), finish("tool_calls"), usage(3_000, 20))
    account = answer("We read a file.")
    async with ModelServer(read, answer("One."), account) as first, OtherServer(answer("Two.")) as second:
        configure(work, f"[profiles.big.server]\nbase_url = '{second.url}'\nmodel = '{OTHER}'\n")
        async with open_session(settings_of(work, first.url, ephemeral=True), NobodyThere()) as session:
            conversation = Conversation(session)
            await conversation.submit("Do it.")
            asked = await execute("/model big:", conversation)
            assert asked.ask is not None
            assert "is large for its window of 9,000: it is compacted before the next request" in asked.ask.text
            _, compact, _ = asked.ask.choices
            assert "compact first" in compact.label
            done = await execute(compact.line, conversation)
            assert done.ok, done.lines
            assert len(first.bodies) == 3
            await conversation.submit("Go on.")
            assert conversation.status().model == OTHER
        assert len(second.bodies) == 1
