"""Prompts of an editor: what is told meanwhile, who is asked, and how a turn ends, cancelled ones at every point."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pool.config.settings import Mode
from pool.extend.acp.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError
from tests.acp.desk import Json, editing, held, texts
from tests.cases.driver import answer, call, delta, finish, last_user, piece, refuse, say, whole


async def test_a_turn_is_told_in_order_and_answered_after_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    steps = (
        say(delta(reasoning="Look \x1b]0;first."), whole("read", path="a.txt"), finish("tool_calls")),
        call("edit", "c2", path="a.txt", old_text="one", new_text="two"),
        answer("It says two now."),
    )
    async with editing(tmp_path, *steps, mode=Mode.ACCEPT_EDITS) as editor:
        opened = await editor.begin()
        done = await editor.prompt("Change it.")
        assert done["stopReason"] == "end_turn"
        assert done["usage"]["totalTokens"] >= 0
        assert done["_meta"]["pool/stopReason"] == "completed"
        kinds = [u["sessionUpdate"] for u in editor.updates]
        assert kinds.index("agent_thought_chunk") < kinds.index("tool_call") < kinds.index("agent_message_chunk")
        assert editor.said("agent_thought_chunk") == "Look \\x1b]0;first."
        assert editor.said() == "It says two now."
        read, edit = editor.call(), editor.call("c2")
        assert (read["kind"], read["status"], read["locations"]) == (
            "read",
            "completed",
            [{"path": str(tmp_path / "a.txt")}],
        )
        assert "one" in texts(read["content"])
        assert (edit["kind"], edit["status"]) == ("edit", "completed")
        assert edit["content"] == [
            {"type": "diff", "path": str(tmp_path / "a.txt"), "oldText": "one\n", "newText": "two\n"}
        ]
        assert edit["rawInput"]["new_text"] == "two"
        assert edit["rawOutput"]["status"] == "ok"
        ids = [u["messageId"] for u in editor.of("agent_thought_chunk") + editor.of("agent_message_chunk")]
        assert len(set(ids)) == 2
        assert editor.of("usage_update")[-1]["size"] > editor.of("usage_update")[-1]["used"] >= 0
        assert any(u.get("title") == "Change it." for u in editor.of("session_info_update"))
        assert {m["id"] for m in opened["modes"]["availableModes"]} == {mode.value for mode in Mode}
    assert (tmp_path / "a.txt").read_text() == "two\n"


@pytest.mark.parametrize(
    ("chosen", "status", "asked_again"),
    [("once", "completed", True), ("reject", "failed", True), ("similar", "completed", False)],
)
async def test_permissions_have_the_reach_that_was_chosen(
    tmp_path: Path, chosen: str, status: str, asked_again: bool
) -> None:
    steps = call("shell", command="printf hi > out"), call("shell", "c2", command="printf hi > out"), answer("Done.")
    async with editing(tmp_path, *steps) as editor:
        await editor.begin()
        editor.answer = chosen
        assert (await editor.prompt())["stopReason"] == "end_turn"
        first = editor.asked[0]
        assert first["toolCall"]["toolCallId"] == "c1"
        assert "printf hi > out" in texts(first["toolCall"]["content"])
        kinds = {o["optionId"]: o["kind"] for o in first["options"]}
        assert kinds["once"] == "allow_once"
        assert kinds["similar"] == kinds["always"] == kinds["exact"] == "allow_always"
        assert kinds["reject"] == "reject_once"
        assert len(editor.asked) == 1 + asked_again
        assert editor.call()["status"] == status
    assert (tmp_path / "out").exists() is (status == "completed")


AT_POINTS: dict[str, tuple[bytes, ...]] = {
    "before the first byte": (),
    "in a thought": (delta(reasoning="Hm, "),),
    "in the answer": (delta(content="So "),),
    "in a call": (piece(0, id="c1", type="function", name="write", arguments='{"path": "a'),),
}


async def test_cancelled_at_any_point_it_is_cancelled_and_the_session_goes_on(tmp_path: Path) -> None:
    async with editing(tmp_path, answer(".")) as editor:
        await editor.begin()
        for point, events in AT_POINTS.items():
            begun = asyncio.Event()
            editor.server.steps[:] = [held(begun, *events)]
            running = asyncio.create_task(editor.prompt(point))
            await begun.wait()
            editor.cancel()
            assert (await running)["stopReason"] == "cancelled", point

        editor.server.steps[:] = [call("write", "c2", path="a", content="x")]
        for outcome in ("wait", None):
            editor.answer, known = outcome, len(editor.asked)
            running = asyncio.create_task(editor.prompt("in a question"))
            await editor.until(lambda: len(editor.asked) > known)  # noqa: B023
            if outcome:
                editor.cancel()
            assert (await running)["stopReason"] == "cancelled"
            editor.server.steps[:] = [call("write", "c3", path="a", content="x")]

        await editor.ask("session/set_mode", sessionId=editor.session, modeId="allow-all")
        editor.server.steps[:] = [call("shell", "c4", command="echo here; exec sleep 60")]
        running = asyncio.create_task(editor.prompt("in a tool"))
        await editor.until(lambda: "here" in texts(editor.call("c4").get("content", [])) and editor.ran("c4"))
        editor.cancel()
        assert (await running)["stopReason"] == "cancelled"
        assert editor.call("c4")["status"] == "failed"

        running = asyncio.create_task(editor.prompt("at once"))
        await asyncio.sleep(0)  # The prompt is on its way.
        editor.cancel()
        assert (await running)["stopReason"] == "cancelled"

        editor.server.steps[:] = [answer("Again.")]
        assert (await editor.prompt("And now?"))["stopReason"] == "end_turn"
        assert editor.said().endswith("Again.")
    assert not (tmp_path / "a").exists()


async def test_a_prompt_right_behind_a_cancel_waits_and_any_other_is_refused(tmp_path: Path) -> None:
    begun = asyncio.Event()
    async with editing(tmp_path, held(begun), answer("Two.")) as editor:
        await editor.begin()
        first = asyncio.create_task(editor.prompt("One."))
        await begun.wait()
        with pytest.raises(RpcError, match="session/cancel") as refused:
            await editor.prompt("Too soon.")
        assert refused.value.code == INVALID_REQUEST
        editor.cancel()
        second = asyncio.create_task(editor.prompt("Two?"))
        assert (await first)["stopReason"] == "cancelled"
        assert (await second)["stopReason"] == "end_turn"
        editor.cancel()
        assert editor.said() == "Two."


async def test_two_sessions_work_side_by_side(tmp_path: Path) -> None:
    begun = asyncio.Event()
    async with editing(tmp_path, held(begun), answer("Other.")) as editor:
        await editor.begin()
        first = asyncio.create_task(editor.prompt("One."))
        await begun.wait()
        other = await editor.ask("session/new", cwd=str(tmp_path), mcpServers=[])
        editor.server.bodies.clear()
        editor.server.steps[:] = [answer("Other.")]
        done = await editor.prompt("Two.", sessionId=other["sessionId"])
        assert done["stopReason"] == "end_turn"
        editor.cancel()
        assert (await first)["stopReason"] == "cancelled"


async def test_a_server_that_fails_is_an_error_and_the_session_goes_on(tmp_path: Path) -> None:
    async with editing(tmp_path, refuse(401, "who are you?"), answer("Here.")) as editor:
        await editor.begin()
        with pytest.raises(RpcError, match="who are you") as failed:
            await editor.prompt()
        assert failed.value.code == INTERNAL_ERROR
        assert failed.value.data["reason"] == "server_failed"


async def test_steering_is_echoed_and_reaches_the_run(tmp_path: Path) -> None:
    async with editing(
        tmp_path, call("shell", command="until test -e go; do sleep 0.02; done"), answer("Good."), mode=Mode.ALLOW_ALL
    ) as editor:
        await editor.begin()
        with pytest.raises(RpcError, match="session/prompt"):
            await editor.ask("_poolside/session_steer", sessionId=editor.session, inputId="i0", prompt="Early.")
        running = asyncio.create_task(editor.prompt())
        await editor.until(lambda: editor.call().get("status") == "in_progress")
        block = [{"type": "text", "text": "And be brief."}]
        steered = await editor.ask("_poolside/session_steer", sessionId=editor.session, inputId="i1", prompt=block)
        assert steered == {"inputId": "i1"}
        (tmp_path / "go").touch()
        assert (await running)["stopReason"] == "end_turn"
        assert "And be brief." in last_user(editor.server.bodies[-1])
        assert "And be brief." in editor.said("user_message_chunk")
        metas = [u.get("_meta", {}) for u in editor.of("session_info_update")]
        assert [m["poolside/clientInputId"] for m in metas if "poolside/clientInputId" in m] == ["i1"]


async def test_a_plan_is_a_question_and_a_yes_carries_it_out(tmp_path: Path) -> None:
    steps = answer("1. Write a."), call("write", path="a", content="x"), answer("Written.")
    async with editing(tmp_path, *steps, mode=Mode.PLAN) as editor:
        await editor.begin()
        editor.answer = "2"
        assert (await editor.prompt("Plan it."))["stopReason"] == "end_turn"
        (asked,) = editor.asked
        assert asked["toolCall"]["kind"] == "switch_mode"
        assert asked["options"][2]["name"] == "yes, in mode accept-edits"
        assert editor.of("current_mode_update")[-1]["currentModeId"] == "accept-edits"
        assert editor.said().endswith("Written.")
    assert (tmp_path / "a").read_text() == "x"


async def test_the_list_of_steps_is_the_plan(tmp_path: Path) -> None:
    items = ["[x] read", "[>] mend", "[ ] test"]
    async with editing(tmp_path, call("todo", items=items), answer("On it.")) as editor:
        await editor.begin()
        await editor.prompt()
        (plan,) = editor.of("plan")
        assert [(e["content"], e["status"]) for e in plan["entries"]] == [
            ("read", "completed"),
            ("mend", "in_progress"),
            ("test", "pending"),
        ]


@pytest.mark.parametrize("forms", [True, False], ids=["by a form", "by choices"])
async def test_what_the_model_asks_is_put_to_the_user(tmp_path: Path, forms: bool) -> None:
    steps = call("ask", question="Which colour?", choices=["red", "blue"]), answer("So be it.")
    async with editing(tmp_path, *steps) as editor:
        await editor.begin({"elicitation": {"form": {}}} if forms else {})

        async def form(params: Json) -> Any:
            assert params["requestedSchema"]["required"] == ["answer"]
            return {"action": "accept", "content": {"answer": "green"}}

        editor.peer.methods = {**editor.peer.methods, "elicitation/create": form}
        editor.answer = "1"
        await editor.prompt()
        result = editor.server.bodies[-1]["messages"][-1]["content"]
        assert ("green" if forms else "blue") in result


async def test_a_terminal_of_the_client_gets_the_output_as_it_comes(tmp_path: Path) -> None:
    async with editing(
        tmp_path, call("shell", command="echo here; exit 3"), answer("."), mode=Mode.ALLOW_ALL
    ) as editor:
        await editor.begin({"_meta": {"terminal_output": True}})
        await editor.prompt()
        updates = [u for u in editor.updates if u.get("toolCallId") == "c1"]
        assert updates[0]["content"] == [{"type": "terminal", "terminalId": "c1"}]
        assert updates[0]["_meta"]["terminal_info"]["cwd"] == str(tmp_path)
        assert (
            "".join(u["_meta"]["terminal_output"]["data"] for u in updates if "terminal_output" in u.get("_meta", {}))
            == "here\r\n"
        )
        assert updates[-1]["_meta"]["terminal_exit"]["exit_code"] == 3


async def test_blocks_that_cannot_be_used_are_refused_and_files_are_taken(tmp_path: Path) -> None:
    image: Json = {"type": "image", "data": "", "mimeType": "image/png"}
    blob: Json = {"type": "resource", "resource": {"uri": "file:///x", "blob": ""}}
    async with editing(tmp_path, answer(".")) as editor:
        await editor.begin()
        for block in (image, blob, {"type": "song"}, {"type": "text", "text": " "}, {"type": "text"}):
            with pytest.raises(RpcError) as refused:
                await editor.prompt(prompt=[block])
            assert refused.value.code == INVALID_PARAMS
        assert editor.server.bodies == []
        blocks: list[Json] = [
            {"type": "text", "text": "Compare "},
            {"type": "resource_link", "name": "a b.py", "uri": f"{tmp_path.as_uri()}/a%20b.py#L3"},
            {"type": "text", "text": " with "},
            {"type": "resource", "resource": {"uri": f"{tmp_path.as_uri()}/c.md", "text": "```\nx\n```"}},
        ]
        await editor.prompt(prompt=blocks)
        assert last_user(editor.server.bodies[-1]) == (
            "Compare `a b.py#L3` with `c.md`\n\nFile: c.md\n````\n```\nx\n```\n````"
        )
