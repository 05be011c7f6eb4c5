"""The tool `skill`, by which the model loads one. It is there only where the prompt lists skills."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pool.agent.mcptools import names_in
from pool.agent.sessionskills import SessionSkills
from pool.extend.skills.skill import SkillError
from pool.extend.skills.using import TOOL
from pool_tools import Effect, Preview, Tool, ToolError, ToolResult
from pool_tools.api import OutputSink, ToolSpec
from pool_tools.text import valid_unicode


class SkillTool:
    """Loads a skill's instructions, or the text of one of its files."""

    spec = ToolSpec(
        name=TOOL,
        description="Load a skill's instructions, or with `file` one of its files.",
        parameters={
            "type": "object",
            "properties": {"name": {"type": "string"}, "file": {"type": "string"}},
            "required": ["name"],
        },
        effect=Effect.READ,
    )

    def __init__(self, skills: SessionSkills) -> None:
        self._skills = skills

    def preview(self, args: Mapping[str, Any]) -> Preview:
        name, file = _given(args)
        return Preview("text", f"Skill {name}", file)

    async def run(self, args: Mapping[str, Any], output: OutputSink) -> ToolResult:
        name, file = _given(args)
        try:
            if file:
                text = await asyncio.to_thread(self._skills.file, name, file)
            else:
                text, _ = await asyncio.to_thread(self._skills.load, name)
        except SkillError as error:
            raise ToolError(f"{error}.") from None
        return ToolResult(True, text, {"skill": name})


def skill_tools(skills: SessionSkills, head: str = "") -> tuple[Tool, ...]:
    """The tool where skills are listed, else none. A session that goes on, whose head is given, keeps what it had."""
    named = TOOL in names_in(head) if head else bool(skills.found.block.text)
    return (SkillTool(skills),) if named else ()


def _given(args: Mapping[str, Any]) -> tuple[str, str]:
    name = valid_unicode(str(args.get("name") or "").strip().lstrip("$"), "`name`")
    file = valid_unicode(str(args.get("file") or "").strip(), "`file`")
    if not name:
        raise ToolError("`name` is empty. Take one from the list of skills.")
    return name, file
