"""The skills of the session: which there are, where they come from, which wait for trust."""

from __future__ import annotations

from pool.agent.commands.kinds import Command, CommandError, CommandResult, Rows, Typed, said
from pool.agent.control import Conversation
from pool.agent.sessionskills import TRUST
from pool_tools.text import plural

SHOWN_CHARS = 80


async def _skills(conversation: Conversation, typed: Typed) -> CommandResult:
    skills = conversation.session.skills
    found, listed = skills.found.skills, skills.found.block.listed
    if typed.rest:
        return _one(conversation, typed.rest.lstrip("$"))
    if not found.skills and not found.waiting:
        return said("no skills are used (skills.read, --no-skills)")
    in_prompt = {skill.name for skill in found.skills[:listed]}
    rows = [
        (f"${s.name}", s.place, "in the prompt" if s.name in in_prompt else "by $", _short(s.line))
        for s in found.skills
    ]
    rows += [(f"${s.name}", s.place, "waits for trust", _short(s.line)) for s in found.waiting]
    lines = [f"not used: {fault}" for fault in (*found.faults, *found.hidden)]
    lines += [TRUST] if found.waiting else []
    lines.append(f"{plural(listed, 'skill')} listed in the prompt; $NAME in a prompt uses one")
    return CommandResult(tuple(lines), Rows(("skill", "from", "", "what it does"), tuple(rows)))


def _one(conversation: Conversation, name: str) -> CommandResult:
    skill = conversation.session.skills.found.skills.named(name)
    if skill is None:
        raise CommandError(f"there is no skill {name!r}; /skills lists them")
    rows = [("name", skill.name), ("from", skill.place), ("folder", str(skill.folder)), ("about", skill.line)]
    rows += [("needs", skill.compatibility)] if skill.compatibility else []
    return CommandResult(rows=Rows(("", ""), tuple(rows)))


def _short(line: str) -> str:
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"


def _names(conversation: Conversation) -> tuple[str, ...]:
    return tuple(skill.name for skill in conversation.session.skills.found.skills.skills)


COMMANDS = (
    Command("skills", "skills: what there is, and where it comes from", _skills, hint="[NAME]", arguments=_names),
)
