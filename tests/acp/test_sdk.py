"""The official SDK's client with a real `pool acp` and the simulated server: what comes is what the schema says."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from pool.sim.process import running
from pool.sim.settings import SimSettings
from tests.acp.desk import editing
from tests.cases.driver import answer

ARGUMENT = "<arg_key>{}</arg_key><arg_value>{}</arg_value>"
CALL = f"<tool_call>{{}}{ARGUMENT}{ARGUMENT}</tool_call>"
SCRIPT = (
    "A look first.</think>" + CALL.format("shell", "command", "cat a.txt", "timeout", "9"),
    "Now the file.</think>" + CALL.format("write", "path", "b.txt", "content", "two"),
    "That is all.</think>Both are there.",
    "Once more.</think>" + CALL.format("shell", "command", "echo here; exec sleep 60", "timeout", "90"),
)
KINDS = frozenset(
    "session_info_update usage_update agent_thought_chunk agent_message_chunk tool_call tool_call_update "
    "available_commands_update config_option_update".split()
)


class Editor:
    """Allows everything once, and has no files of its own open."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[str] = []
        self.written: list[str] = []
        self.begun = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        if update.session_update == "tool_call_update" and update.status == "in_progress":
            self.begun.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(str(tool_call.title))
        chosen = next(option.option_id for option in options if option.kind == "allow_always")
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **kwargs: Any) -> schema.ReadTextFileResponse:
        return schema.ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> schema.WriteTextFileResponse:
        self.written.append(Path(path).name)
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()


async def test_a_task_from_the_first_word_to_a_second_session(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    editor = Editor()
    with running(SimSettings(rate=0, script=SCRIPT)) as sim:
        command = (sys.executable, "-m", "pool", "acp", "--base-url", sim.url, "--mode", "default")
        async with acp.spawn_agent_process(
            cast(acp.Client, editor), *command, env=dict(os.environ), use_unstable_protocol=True
        ) as (agent, process):
            files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
            hello = await agent.initialize(1, schema.ClientCapabilities(fs=files))
            assert hello.protocol_version == 1
            assert hello.auth_methods == []
            new = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
            assert new.modes is not None
            done = await agent.prompt(session_id=new.session_id, prompt=[acp.text_block("Look, then write.")])
            assert done.stop_reason == "end_turn"
            assert editor.asked == ["cat a.txt", "Create b.txt"]
            assert editor.written == ["b.txt"]
            option = await agent.set_config_option(config_id="mode", session_id=new.session_id, value="auto")
            assert option is not None
            assert next(o.current_value for o in option.config_options if o.id == "mode") == "auto"
            assert {update.session_update for update in editor.updates} >= KINDS
            listed = await agent.list_sessions(cwd=str(tmp_path))
            assert [one.session_id for one in listed.sessions] == [new.session_id]
            await agent.close_session(session_id=new.session_id)
            editor.updates.clear()
            await agent.load_session(cwd=str(tmp_path), session_id=new.session_id, mcp_servers=[])
            assert editor.updates[0].session_update == "user_message_chunk"
            assert sum(update.session_update == "tool_call" for update in editor.updates) == 2

            # Killed in the middle of a call: the session can be had again, and says what became of it.
            editor.begun.clear()
            running_on = asyncio.create_task(
                agent.prompt(session_id=new.session_id, prompt=[acp.text_block("Once more.")])
            )
            await editor.begun.wait()
            process.kill()
            with pytest.raises((acp.RequestError, ConnectionError)):
                await running_on
    async with editing(tmp_path, answer("Where was I?")) as later:
        await later.ask("session/load", sessionId=new.session_id, cwd=str(tmp_path), mcpServers=[])
        cut = [update["toolCallId"] for update in later.of("tool_call")][-1]
        assert later.call(cut)["status"] == "failed"
        assert later.said("user_message_chunk").endswith("Once more.")
        assert (await later.prompt("And?", sessionId=new.session_id))["stopReason"] == "end_turn"
