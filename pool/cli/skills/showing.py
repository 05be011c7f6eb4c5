"""`pool skills list`, `check` and `show`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pool.agent.commands.table import taken_names
from pool.config.files import Places
from pool.config.settings import SettingsError
from pool.extend.customcommands.finding import FoundCommands, find_commands
from pool.extend.skills.finding import FoundSkills, find_skills, skill_at
from pool.extend.skills.skill import Skill, SkillError
from pool.extend.skills.using import file_text, files_of, text_of
from pool.headless.configured import folder_of
from pool.headless.plain import safe
from pool.wire.tokens import raw_tokens
from pool_tools.home import expanded
from pool_tools.text import plural

EXIT_FAULTS = 1
LINE_CHARS = 78
LONG_TOKENS = 5_000
"""Instructions longer than this are better cut into files that are read when needed (the specification's advice)."""


def _found(folder: str) -> tuple[FoundSkills, FoundCommands]:
    workspace, places = folder_of(folder), Places.usual(os.environ)
    return find_skills(workspace, places), find_commands(workspace, places, taken_names())


def show_all(folder: str, *, as_json: bool) -> int:
    """Two lines for each skill and command. Raises `SettingsError`."""
    skills, commands = _found(folder)
    if as_json:
        for row in _rows(skills, commands):
            print(json.dumps(row, ensure_ascii=True))
        return 0
    for row in _rows(skills, commands):
        state = "  (waits for trust: pool config trust)" if row["waits"] else ""
        mark = "$" if row["kind"] == "skill" else "/"
        _say(f"{mark}{row['name']}  {row['place']}{state}")
        _say(f"    {_short(str(row['description']))}")
    for fault in skills.hidden:
        _say(f"not used: {fault}")
    count = len(skills.faults) + len(commands.faults)
    if count:
        sys.stderr.write(f"{plural(count, 'fault')} in skills and commands that are not used: pool skills check\n")
    return 0


def check(folder: str, given: Sequence[str]) -> int:
    """Say all that is wrong; the exit code. Raises `SettingsError`."""
    faults: list[str] = []
    if given:
        sound = [skill for name in given if (skill := _checked(expanded(name).absolute(), name, faults))]
    else:
        skills, commands = _found(folder)
        sound = [*skills.own, *skills.waiting]
        faults = [str(fault) for fault in (*skills.faults, *commands.faults)]
        for skill in skills.own:
            faults += _in_files(skill)
    for skill in sound:
        _say(f"{skill.place}: {_size(skill)}")
        for advice in _advice(skill):
            _say(f"    {advice}")
    for fault in faults:
        _say(fault)
    if not sound and not faults:
        print("no skills but those that come with Pool")
    return EXIT_FAULTS if faults else 0


def show_one(folder: str, name: str) -> int:
    """A skill as the model gets it. Raises `SettingsError`."""
    skills, _ = _found(folder)
    name = name.lstrip("$")
    skill = skills.named(name) or next((s for s in skills.waiting if s.name == name), None)
    if skill is None:
        raise SettingsError(f"there is no skill {name!r}; `pool skills` lists them")
    files = _files(skill)
    _say(f"# {skill.place}: {skill.folder}")
    _say(f"# {skill.line}")
    for title, text in _fields(skill):
        _say(f"# {title}: {text}")
    _say(text_of(skill, str(skill.folder), files))
    return 0


def _checked(path: Path, name: str, faults: list[str]) -> Skill | None:
    try:
        return skill_at(Path(os.path.normpath(path)))
    except SkillError as error:
        faults += [f"{name}: {fault}" for fault in error.faults]
    return None


def _in_files(skill: Skill) -> list[str]:
    """What is wrong with the files of a skill of the user's own, which are not read before they are needed."""
    try:
        files_of(skill)
    except SkillError as error:
        return [f"{skill.place}: {fault}" for fault in error.faults]
    return []


def _files(skill: Skill) -> tuple[str, ...]:
    try:
        return files_of(skill)
    except SkillError as error:
        raise SettingsError(f"{skill.place}: {error}") from None


def _size(skill: Skill) -> str:
    return f"about {round(raw_tokens(skill.body.encode())):,} tokens when it is loaded"


def _advice(skill: Skill) -> Iterator[str]:
    if raw_tokens(skill.body.encode()) > LONG_TOKENS:
        yield f"more than {LONG_TOKENS:,} tokens: put what is not always needed into files of its folder"
    if skill.unknown:
        yield f"fields that mean nothing to Pool: {', '.join(skill.unknown)}"
    if skill.allowed_tools:
        yield "allowed-tools allows nothing here: what runs unasked is settled by approvals"
    for name in _named_files(skill):
        try:
            file_text(skill, name)
        except SkillError as error:
            yield f"the text names a file that cannot be read: {error}"


def _named_files(skill: Skill) -> Iterator[str]:
    """Files that the instructions link to."""
    for part in skill.body.split("](")[1:]:
        name = part.partition(")")[0].partition("#")[0]
        if name and ":" not in name and not name.startswith("/"):
            yield name


def _fields(skill: Skill) -> Iterator[tuple[str, str]]:
    given = {"license": skill.license, "needs": skill.compatibility, "allowed-tools": skill.allowed_tools}
    yield from ((title, " ".join(text.split())) for title, text in given.items() if text)
    yield from skill.metadata


def _rows(skills: FoundSkills, commands: FoundCommands) -> Iterator[dict[str, str | bool]]:
    for waits, some in ((False, skills.skills), (True, skills.waiting)):
        for skill in some:
            yield {"kind": "skill", "name": skill.name, "place": skill.place, "description": skill.line, "waits": waits}
    for waits, more in ((False, commands.commands), (True, commands.waiting)):
        for one in more:
            about = {"name": one.name, "place": one.place, "description": one.description}
            yield {"kind": "command", **about, "waits": waits}


def _short(line: str) -> str:
    return line if len(line) <= LINE_CHARS - 4 else f"{line[: LINE_CHARS - 5].rstrip()}…"


def _say(text: str) -> None:
    print(safe(text, terminal=sys.stdout.isatty()))
