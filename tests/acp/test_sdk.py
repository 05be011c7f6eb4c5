"""The official SDK's client with a real `pool acp` and the simulated server: what comes is what the schema says."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema

from pool.sim.process import running
from pool.sim.settings import SimSettings

INVENTORY = Path(__file__).parents[2] / "examples" / "inventory"
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

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

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
    work = shutil.copytree(INVENTORY, tmp_path / "work", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    editor = Editor()
    with running(SimSettings(rate=0)) as sim:
        command = (sys.executable, "-m", "pool", "acp", "--base-url", sim.url, "--mode", "default")
        async with acp.spawn_agent_process(
            cast(acp.Client, editor), *command, env=dict(os.environ), use_unstable_protocol=True
        ) as (agent, _):
            files = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
            hello = await agent.initialize(1, schema.ClientCapabilities(fs=files))
            assert hello.protocol_version == 1
            assert hello.auth_methods == []
            new = await agent.new_session(cwd=str(work), mcp_servers=[])
            assert new.modes is not None
            done = await agent.prompt(session_id=new.session_id, prompt=[acp.text_block("The tests fail. Mend it.")])
            assert done.stop_reason == "end_turn"
            assert editor.asked[0] == "python -m pytest -q"
            assert {"items.py", "reports.py", "store.py"} <= set(editor.written)
            option = await agent.set_config_option(config_id="mode", session_id=new.session_id, value="auto")
            assert option is not None
            assert next(o.current_value for o in option.config_options if o.id == "mode") == "auto"
            assert {update.session_update for update in editor.updates} >= KINDS
            listed = await agent.list_sessions(cwd=str(work))
            assert [one.session_id for one in listed.sessions] == [new.session_id]
            await agent.close_session(session_id=new.session_id)
            editor.updates.clear()
            await agent.load_session(cwd=str(work), session_id=new.session_id, mcp_servers=[])
            assert editor.updates[0].session_update == "user_message_chunk"
            assert sum(update.session_update == "tool_call" for update in editor.updates) >= 3
