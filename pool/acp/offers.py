"""What may follow a `/` in an editor: commands, custom commands, skills; and what a typed line of them means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pool.agent.commands import COMMANDS, find, parse
from pool.agent.control import Conversation
from pool.facekit.skillwords import MARK

Json = dict[str, Any]

ONLY_ELSEWHERE = frozenset({"agent", "copy", "merge", "move", "new", "queue", "quit", "resume", "stop", "theme"})
"""Commands that an editor has its own ways for, or that belong to a terminal."""


def commands(conversation: Conversation) -> list[Json]:
    """All that is offered."""
    own = (
        *((c.name, c.help, c.hint) for c in COMMANDS if c.name not in ONLY_ELSEWHERE),
        *((c.name, c.description, c.hint) for c in conversation.session.skills.found.commands.commands),
        *_skills(conversation),
    )
    return [_offer(name, about, hint) for name, about, hint in own]


def _skills(conversation: Conversation) -> Iterator[tuple[str, str, str]]:
    """Skills whose names no command has."""
    custom = {command.name for command in conversation.session.skills.found.commands.commands}
    for skill in conversation.session.skills.found.skills.skills:
        if find(skill.name) is None and skill.name not in custom:
            yield skill.name, f"skill: {skill.line}", "what to do with it"


def _offer(name: str, about: str, hint: str) -> Json:
    return {"name": name, "description": about or name, **({"input": {"hint": hint}} if hint else {})}


def is_command(line: str) -> bool:
    """Whether a prompt is a command; a prompt of several lines may be one too, as `/plan edited` is."""
    return parse(line) is not None


def as_prompt(line: str, conversation: Conversation) -> str:
    """A line that names a skill, as `/review these files`, as the prompt that uses it; any other as it is."""
    typed = parse(line)
    if typed is None or find(typed.name) is not None:
        return line
    names = {name for name, _, _ in _skills(conversation)}
    return f"{MARK}{typed.name} {typed.rest}".rstrip() if typed.name in names else line
