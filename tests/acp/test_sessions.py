"""Sessions of an editor: gone on with, listed, closed, deleted, copied, gone back in; options, commands, servers."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from pool.acp.listing import PAGE
from pool.acp.mcpservers import servers_of, with_servers
from pool.config.mcp import McpServer, McpSettings
from pool.config.settings import Mode
from pool.extend.acp.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError
from tests.acp.desk import Editor, Json, editing, held, texts
from tests.cases.driver import answer, call, delta, finish, last_user, say, whole


def shown(editor: Editor) -> list[tuple[str, str]]:
    """What a person sees, in order."""
    out: list[tuple[str, str]] = []
    for update in editor.updates:
        match update["sessionUpdate"]:
            case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" as kind:
                out.append((kind, update["content"]["text"]))
            case "tool_call":
                out.append(("tool_call", update["title"]))
            case _:
                pass
    return out


async def test_loading_tells_everything_first_and_the_conversation_goes_on(tmp_path: Path) -> None:
    steps = (
        say(delta(reasoning="A file."), whole("write", path="a", content="x\n"), finish("tool_calls")),
        answer("There it is."),
        answer("Gladly."),
    )
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        await editor.begin()
        await editor.prompt("Make a.")
        await editor.ask("session/set_mode", sessionId=editor.session, modeId="plan")
        await editor.ask("session/close", sessionId=editor.session)
        with pytest.raises(RpcError, match="not open") as closed:
            await editor.prompt()
        assert closed.value.code == RESOURCE_NOT_FOUND

        editor.updates.clear()
        place: Json = {"sessionId": editor.session, "cwd": str(tmp_path), "mcpServers": []}
        loaded = await editor.ask("session/load", **place)
        assert shown(editor) == [
            ("user_message_chunk", "Make a."),
            ("agent_thought_chunk", "A file."),
            ("tool_call", "Create a"),
            ("agent_message_chunk", "There it is."),
        ]
        assert editor.call()["status"] == "completed"
        assert editor.call()["content"][0]["newText"] == "x\n"
        assert editor.call()["content"][0]["oldText"] is None
        assert editor.of("available_commands_update") == []
        assert loaded["modes"]["currentModeId"] == "accept-edits"
        await editor.ask("session/set_mode", sessionId=editor.session, modeId="auto")
        await editor.prompt("Thanks.")
        assert last_user(editor.server.bodies[-1]) == "Thanks."
        assert editor.said() == "There it is.Gladly."

        # Once more, while it is open: it is closed and opened again.
        editor.updates.clear()
        await editor.ask("session/resume", **place)
        assert shown(editor) == []
        copy = await editor.ask("session/fork", **place)
        assert copy["sessionId"] != editor.session
        listed = (await editor.ask("session/list", cwd=str(tmp_path)))["sessions"]
        assert {row["sessionId"] for row in listed} >= {editor.session}
        assert listed[-1]["title"] == "Make a."
        assert listed[-1]["cwd"] == str(tmp_path)

        await editor.ask("session/delete", sessionId=editor.session)
        await editor.ask("session/delete", sessionId=editor.session)
        with pytest.raises(RpcError) as gone:
            await editor.ask("session/load", **place)
        assert gone.value.code == RESOURCE_NOT_FOUND


async def test_closing_cancels_what_works(tmp_path: Path) -> None:
    begun = asyncio.Event()
    async with editing(tmp_path, held(begun)) as editor:
        await editor.begin()
        running = asyncio.create_task(editor.prompt())
        await begun.wait()
        await editor.ask("session/close", sessionId=editor.session)
        assert (await running)["stopReason"] == "cancelled"


async def test_a_list_comes_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pool.acp.listing.PAGE", 1)
    assert PAGE > 1
    async with editing(tmp_path, answer("One.")) as editor:
        for _ in range(2):
            # What cannot be understood of a client's capabilities is not there.
            await editor.begin({"fs": 7, "elicitation": [], "_meta": "x"})
            await editor.prompt()
            editor.server.bodies.clear()
        first = await editor.ask("session/list", cwd=str(tmp_path))
        second = await editor.ask("session/list", cwd=str(tmp_path), cursor=first["nextCursor"])
        assert "nextCursor" not in second
        assert first["sessions"][0]["sessionId"] == editor.session != second["sessions"][0]["sessionId"]
        with pytest.raises(RpcError, match="list anew"):
            await editor.ask("session/list", cursor="nowhere")
        for place in ("here", "/\0"):
            with pytest.raises(RpcError, match="absolute path"):
                await editor.ask("session/list", cwd=place)


async def test_going_back_takes_files_and_conversation(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old\n")
    steps = answer("Yes?"), call("write", path="b", content="new"), answer("Done."), answer("Again.")
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        await editor.begin()
        await editor.prompt("One.")
        await editor.prompt("Two.")
        events = [u["_meta"]["poolside/inputEventId"] for u in editor.of("session_info_update") if u.get("_meta")]
        back = await editor.ask("_poolside/session_rewind", sessionId=editor.session, eventId=events[-1])
        assert (back["files"], back["failures"]) == (["b"], [])
        assert not (tmp_path / "b").exists()
        with pytest.raises(RpcError, match="no prompt"):
            await editor.ask("_poolside/session_rewind", sessionId=editor.session, eventId="999")
        editor.server.bodies.clear()
        await editor.prompt("Three.")
        said = [m["content"] for m in editor.server.bodies[-1]["messages"] if m["role"] == "user"]
        assert said == ["One.", "Three."]


async def test_options_are_in_step_in_both_directions(tmp_path: Path) -> None:
    async with editing(tmp_path, answer(".")) as editor:
        opened = await editor.begin()
        values = {o["id"]: o["currentValue"] for o in opened["configOptions"]}
        assert values["mode"] == opened["modes"]["currentModeId"] == "default"
        assert values["agent_mode"] == "build"

        async def set_to(option: str, value: object) -> dict[str, str]:
            given = {"sessionId": editor.session, "configId": option, "value": value}
            rows = (await editor.ask("session/set_config_option", **given))["configOptions"]
            return {o["id"]: o["currentValue"] for o in rows}

        assert (await set_to("agent_mode", "plan"))["mode"] == "plan"
        await editor.until(lambda: bool(editor.of("current_mode_update")))
        assert editor.of("current_mode_update")[-1]["currentModeId"] == "plan"
        assert (await set_to("agent_mode", "build"))["mode"] == "default"
        assert (await set_to("thought_level", "low"))["thought_level"] == "low"
        await editor.prompt("/mode accept-edits")
        await editor.prompt("/think high")
        told = {o["id"]: o["currentValue"] for o in editor.of("config_option_update")[-1]["configOptions"]}
        assert (told["mode"], told["thought_level"]) == ("accept-edits", "high")
        for option, value in (
            ("mode", "loud"),
            ("colour", "red"),
            ("agent_mode", "x"),
            ("mode", True),
            ("thought_level", "?"),
        ):
            with pytest.raises(RpcError) as refused:
                await set_to(option, value)
            assert refused.value.code == INVALID_PARAMS
        assert editor.server.bodies == []


async def test_commands_and_skills_are_offered_and_done(tmp_path: Path) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "pool" / "skills" / "tidy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: tidy\ndescription: How to tidy.\n---\nSweep.\n")
    async with editing(tmp_path, answer(".")) as editor:
        await editor.begin()
        await editor.until(lambda: bool(editor.of("available_commands_update")))
        names = {c["name"] for c in editor.of("available_commands_update")[-1]["availableCommands"]}
        assert {"help", "compact", "plan", "undo", "diff", "tidy"} <= names
        assert not {"quit", "theme", "new"} & names
        assert (await editor.prompt("/status"))["stopReason"] == "end_turn"
        assert editor.said().startswith("```\nsession ")
        await editor.prompt("/nosuch")
        assert "there is no command" in editor.said()
        assert editor.server.bodies == []
        await editor.prompt("/tidy the shelf")
        assert "Sweep." in last_user(editor.server.bodies[-1])
        assert "the shelf" in last_user(editor.server.bodies[-1])
    shutil.rmtree(folder)


async def test_what_a_command_asks_is_put_to_the_user(tmp_path: Path) -> None:
    steps = call("write", path="b", content="new"), answer("Done.")
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        await editor.begin()
        await editor.prompt()
        editor.answer = "0"
        await editor.prompt("/undo")
        assert editor.asked[-1]["toolCall"]["title"] == "Do this?"
        assert not (tmp_path / "b").exists()
        question = editor.asked[-1]["toolCall"]["toolCallId"]
        assert texts(editor.call(question)["content"]) == "files and conversation"


async def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    async with editing(tmp_path, answer(".")) as editor:
        wrong: list[tuple[str, Json, int]] = [
            ("session/dance", {}, METHOD_NOT_FOUND),
            ("initialize", {}, INVALID_PARAMS),
            ("authenticate", {"methodId": "password"}, INVALID_PARAMS),
            ("session/new", {"cwd": "relative", "mcpServers": []}, INVALID_PARAMS),
            ("session/new", {"cwd": str(tmp_path / "none"), "mcpServers": []}, INVALID_PARAMS),
            ("session/new", {"cwd": str(tmp_path), "mcpServers": [{"name": "x"}]}, INVALID_PARAMS),
            ("session/new", {"cwd": str(tmp_path), "mcpServers": 7}, INVALID_PARAMS),
            ("session/prompt", {"sessionId": "none", "prompt": []}, RESOURCE_NOT_FOUND),
            ("session/load", {"sessionId": "0", "cwd": str(tmp_path), "mcpServers": []}, RESOURCE_NOT_FOUND),
            ("session/set_mode", {"sessionId": 3}, INVALID_PARAMS),
        ]
        for method, params, code in wrong:
            with pytest.raises(RpcError) as refused:
                await editor.ask(method, **params)
            assert refused.value.code == code, method
        old = await editor.ask("initialize", protocolVersion=99)
        assert old["protocolVersion"] == 1
        await editor.begin()
        with pytest.raises(RpcError, match="nothing can be said") as idle:
            await editor.ask("_poolside/session_steer", sessionId=editor.session, inputId="", prompt="Hm.")
        assert idle.value.code == INVALID_REQUEST


def test_mcp_servers_of_the_client_are_confined_and_yours_stay_yours() -> None:
    given: Json = {
        "mcpServers": [
            {"name": "My files!", "command": "/bin/files", "args": ["-v"], "env": [{"name": "A", "value": "1"}]},
            {"type": "http", "name": "web", "url": "https://a.test/mcp", "headers": [{"name": "X", "value": "y"}]},
            {"type": "sse", "name": "own", "url": "https://b.test/sse", "headers": []},
        ]
    }
    files, web, own = servers_of(given, confined=True)
    assert (files.name, files.command, files.args, files.env, files.sandbox) == (
        "My-files",
        "/bin/files",
        ("-v",),
        (("A", "1"),),
        True,
    )
    assert (web.transport, web.headers, own.transport) == ("http", (("X", "y"),), "sse")
    assert not servers_of(given, confined=False)[0].sandbox
    mine = McpServer("own", command="mine", sandbox=False)
    assert with_servers(McpSettings((mine,)), [files, own]).servers == (mine, files)
