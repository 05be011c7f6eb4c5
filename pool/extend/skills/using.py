"""What the model gets of skills: a line for each, the instructions of one, its files, and copies for commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pool.extend.plainfiles import FileFault, listing, read_within
from pool.extend.skills.bundled import BUNDLED
from pool.extend.skills.finding import one_skill
from pool.extend.skills.skill import FILE, MOST_FILE_BYTES, Skill, SkillError
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen

TOOL = "skill"
"""The tool by which the model loads one."""

LINE_CHARS = 200
"""So much of a description stands in the prompt."""

FILES_NAMED = 60
_INTRODUCTION = (
    f"Skills are instructions for special tasks. Before a task that one of these fits, load it with the tool `{TOOL}`:"
)
_CLOSING_TAG = re.compile(r"</(?=skill\b)", re.IGNORECASE)


@frozen
class Block:
    """The list of skills for the prompt: its text, "" for none, and how many of them had room."""

    text: str = ""
    listed: int = 0


def block_of(skills: Sequence[Skill], tokens: int) -> Block:
    """A line for each skill, as many as fit into so many tokens."""
    lines = [_INTRODUCTION]
    room = tokens - raw_tokens(_INTRODUCTION.encode())
    for skill in skills:
        line = f"- {skill.name}: {_cut(skill.line)}"
        room -= raw_tokens(f"{line}\n".encode())
        if room < 0:
            break
        lines.append(line)
    return Block("\n".join(lines), len(lines) - 1) if len(lines) > 1 else Block()


def block_in(system_prompt: str) -> str:
    """The part of a system prompt that lists skills, "" if there is none."""
    _, begin, rest = system_prompt.partition(_INTRODUCTION)
    return begin + rest.partition("\n\n")[0].rstrip()


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1].rstrip()}…"


def fresh(skill: Skill) -> Skill:
    """The skill as it is on disk now. Raises `SkillError` for an unsound one, and one that is not what was trusted."""
    if skill.place == BUNDLED:
        return skill
    now = one_skill(skill.folder, skill.place, checkout=skill.checkout)
    if now.digest != skill.digest:
        raise SkillError("it was changed since you trusted it; `pool config trust` shows it, a new session uses it")
    return replace(now, also=skill.also)


def files_of(skill: Skill) -> tuple[str, ...]:
    """The files of a skill besides its SKILL.md, as paths below its folder. Raises `SkillError`, OSError."""
    found = listing(skill.folder)
    if found.faults:
        raise SkillError(*found.faults)
    names = [name for name, _ in found.files if name != FILE]
    for lead, folder in skill.also:
        if folder.is_dir():
            names += [f"{lead}/{p.name}" for p in sorted(folder.iterdir()) if p.suffix == ".md" and p.is_file()]
    return tuple(names)


def file_text(skill: Skill, name: str) -> str:
    """The text of one of its files. Raises `SkillError`."""
    folder, below = skill.folder, name.removeprefix("./")
    for lead, other in skill.also:
        if below.startswith(f"{lead}/"):
            folder, below = other, below.removeprefix(f"{lead}/")
    try:
        return read_within(folder, below, MOST_FILE_BYTES)
    except FileFault as fault:
        raise SkillError(f"{name}: {fault}") from None
    except OSError as error:
        raise SkillError(f"{name}: {error.strerror or error}") from None


def text_of(skill: Skill, folder: str, files: Sequence[str]) -> str:
    """A skill for the model. folder is where commands find its files, which are named."""
    lines = [f'<skill name="{skill.name}">', _CLOSING_TAG.sub("<\\/", skill.body)]
    if skill.compatibility:
        lines.append(f"It needs: {' '.join(skill.compatibility.split())}")
    if files:
        more = f" and {len(files) - FILES_NAMED:,} more" if len(files) > FILES_NAMED else ""
        lines.append(f"Its folder, for commands: {folder}\nIts files: {', '.join(files[:FILES_NAMED])}{more}")
    return "\n\n".join([*lines, "</skill>"])


def sources_of(skill: Skill, files: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Where each of these files lies, its SKILL.md first: paths below the skill, and real ones."""
    return tuple((name, _source(skill, name)) for name in (FILE, *files))


def _source(skill: Skill, name: str) -> Path:
    for lead, folder in skill.also:
        if name.startswith(f"{lead}/"):
            return folder / name.removeprefix(f"{lead}/")
    return skill.folder / name
