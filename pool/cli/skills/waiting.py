"""What of a checkout's skills and commands waits for trust, and what it would do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pool.agent.commands.table import taken_names
from pool.config.files import Places
from pool.extend.customcommands.command import CustomCommand
from pool.extend.customcommands.finding import FoundCommands, find_commands
from pool.extend.skills.finding import FoundSkills, find_skills
from pool.extend.skills.skill import FILE, Skill
from pool.extend.skills.using import files_of
from pool_tools.frozen import frozen
from pool_tools.text import plural

FILES_NAMED = 10


@frozen
class Waiting:
    """Lines for people, and the hashes that a yes to them covers."""

    lines: tuple[str, ...]
    hashes: dict[str, str]


def waiting(workspace: Path, places: Places) -> Waiting:
    """Look at what waits."""
    skills = find_skills(workspace, places)
    commands = find_commands(workspace, places, taken_names())
    lines = [line for skill in skills.waiting for line in _skill(skill, skills)]
    lines += [line for command in commands.waiting for line in _command(command, commands)]
    return Waiting(tuple(lines), {one.place: one.digest for one in (*skills.waiting, *commands.waiting)})


def _skill(skill: Skill, found: FoundSkills) -> Iterator[str]:
    files = files_of(skill)
    yield f"{skill.place} is a skill: {skill.line}"
    size = (skill.folder / FILE).stat().st_size
    yield "      this line stands in the prompt; the model takes the text as instructions when it loads the skill"
    yield f"      the text is {skill.folder / FILE} ({size:,} bytes); read it first"
    if files:
        more = f" and {len(files) - FILES_NAMED} more" if len(files) > FILES_NAMED else ""
        named = ", ".join(files[:FILES_NAMED]) + more
        yield f"      {plural(len(files), 'file')} that the model may read, and run in the sandbox: {named}"
    if (other := found.named(skill.name)) is not None:
        yield f"      it may take the place of {other.place}"


def _command(command: CustomCommand, found: FoundCommands) -> Iterator[str]:
    yield f"{command.place} is a command, /{command.name}: {command.description}"
    yield "      its text becomes the prompt when you type it; read it first"
    if (other := found.named(command.name)) is not None:
        yield f"      it takes the place of {other.place}"
