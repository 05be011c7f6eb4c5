"""The skills and custom commands of a session: found once, so that the prompt stays; loaded when they are needed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pool.agent.initprompt import NAME as INIT
from pool.agent.initprompt import init_prompt
from pool.config.files import Places
from pool.config.settings import Settings
from pool.events import Body, Notice
from pool.extend.customcommands.finding import FoundCommands, find_commands
from pool.extend.skills.finding import FoundSkills, find_skills
from pool.extend.skills.skill import Skill, SkillError
from pool.extend.skills.using import TOOL, Block, block_of, file_text, files_of, fresh, sources_of, text_of
from pool.wire.tokens import raw_tokens
from pool_tools import Tool
from pool_tools.frozen import frozen
from pool_tools.text import plural

if TYPE_CHECKING:
    from pool.agent.loop import Agent
    from pool_tools.commands import Commands

MENTION = re.compile(r"(?<![\w$\\])\$([a-z0-9]+(?:-[a-z0-9]+)*)(?![\w-])")
"""`$name` in a prompt."""

MOST_MENTIONS = 5
"""So many skills of one prompt are loaded."""

FAULTS_TOLD = 3
_COMMAND = re.compile(r"/([a-z][a-z0-9_-]*)(?:\s+(.*))?", re.DOTALL)
TRUST = "`pool config trust` shows what they would do, and asks"


@frozen
class Extensions:
    """What there is of skills and custom commands, and the list of skills for the prompt."""

    skills: FoundSkills
    commands: FoundCommands
    block: Block

    def notes(self) -> Iterator[str]:
        """What people should know when a session begins."""
        waiting = [s.name for s in self.skills.waiting] + [f"/{c.name}" for c in self.commands.waiting]
        if waiting:
            yield f"skills and commands of this checkout wait for your trust: {_few(waiting)}; {TRUST}"
        faults = [str(fault) for fault in (*self.skills.faults, *self.commands.faults)]
        yield from faults[:FAULTS_TOLD]
        if len(faults) > FAULTS_TOLD:
            yield f"{len(faults) - FAULTS_TOLD} more skills or commands are not used; `pool skills check` says why"
        if self.block.listed and self.block.listed < len(self.skills.skills):
            yield (
                f"only {self.block.listed} of {plural(len(self.skills.skills), 'skill')} are listed in the prompt "
                "(skills.tokens is full); $NAME uses any of them"
            )


def extensions_for(settings: Settings) -> Extensions:
    """Look for all of it. Reads files, so it is for a thread."""
    given, places = settings.skills, Places.usual(os.environ)
    skills = find_skills(settings.workspace, places, given.without) if given.read else FoundSkills()
    commands = find_commands(settings.workspace, places)
    if commands.commands or commands.waiting:
        # Late: the table of commands imports much, and few have commands of their own.
        from pool.agent.commands.table import taken_names

        commands = find_commands(settings.workspace, places, taken_names())
    # What comes with Pool alone is used by people: it adds nothing to the prompt.
    block = block_of(skills.skills, given.tokens) if skills.own else Block()
    return Extensions(skills, commands, block)


class SessionSkills:
    """Skills and custom commands at work in one session. Texts that it gives are for the model."""

    def __init__(
        self, found: Extensions, workspace: Path, tell: Callable[[Body], object], commands: Commands | None = None
    ) -> None:
        """commands is what runs them, which have to see the files of skills; None where nothing ever runs."""
        self.found = found
        self.commands = commands
        self._workspace = workspace
        self._tell = tell
        self._copies: dict[tuple[str, tuple[object, ...]], str] = {}

    def attach(self, agent: Agent) -> None:
        """Word what is said to an agent."""
        agent.worded = agent.steering.worded = self.worded

    def listed(self, tools: Sequence[Tool]) -> str:
        """The list for the prompt, "" where the model has no tool to load one."""
        return self.found.block.text if any(tool.spec.name == TOOL for tool in tools) else ""

    def worded(self, prompt: str) -> str:
        """A prompt as it goes to the model: a custom command or `/init` as its text, then the skills named by `$`."""
        text = self._command_text(prompt)
        names = list(dict.fromkeys(MENTION.findall(text)))
        loaded = [block for name in names[:MOST_MENTIONS] if (block := self._mentioned(name))]
        return "\n\n".join([text, *loaded])

    def _command_text(self, prompt: str) -> str:
        typed = _COMMAND.fullmatch(prompt.strip())
        if typed and typed[1] == INIT:
            return init_prompt((typed[2] or "").strip())
        command = self.found.commands.named(typed[1]) if typed else None
        return command.prompt((typed[2] or "").strip()) if typed and command else prompt

    def _mentioned(self, name: str) -> str:
        if self.found.skills.named(name) is None:
            if any(skill.name == name for skill in self.found.skills.waiting):
                self._tell(Notice("warning", f"the skill {name} waits for your trust, so it is not used", TRUST))
            return ""
        try:
            text, place = self.load(name)
        except SkillError as error:
            self._tell(Notice("warning", f"the skill {name} is not used: {error}", "pool skills check"))
            return ""
        tokens = round(raw_tokens(text.encode()))
        self._tell(Notice("info", f"skill {name} ({place}), about {tokens:,} tokens"))
        return text

    def load(self, name: str) -> tuple[str, str]:
        """A skill's text and where it comes from. Raises `SkillError`. Blocks."""
        skill = self._fresh(name)
        try:
            files = files_of(skill)
            return text_of(skill, self._folder(skill, files) if files else "", files), skill.place
        except OSError as error:
            raise SkillError(f"it cannot be read: {error.strerror or error}") from None

    def file(self, name: str, path: str) -> str:
        """The text of a file of a skill. Raises `SkillError`. Blocks."""
        return file_text(self._fresh(name), path)

    def _fresh(self, name: str) -> Skill:
        skill = self.found.skills.named(name)
        if skill is None:
            names = ", ".join(s.name for s in self.found.skills.skills)
            raise SkillError(f"there is no skill {name[:64]!r}; there are {names or 'none'}")
        return fresh(skill)

    def _folder(self, skill: Skill, files: Sequence[str]) -> str:
        """Where commands find the files of a skill: in the workspace, else in a copy that is made for them."""
        from pool.agent.skillcopies import copied
        from pool_tools.sandbox import NoSandbox

        if skill.folder.is_relative_to(self._workspace):
            return str(skill.folder.relative_to(self._workspace))
        if self.commands is None or (self.commands.sandbox.name == NoSandbox.name and not skill.also):
            return str(skill.folder)
        sources = sources_of(skill, files)
        stamps = tuple((name, found.st_size, found.st_mtime_ns) for name, p in sources for found in [p.stat()])
        key = (skill.name, stamps)
        if key not in self._copies:
            self._copies[key] = copied(skill.name, sources, self.commands.scratch())
        return self._copies[key]


def _few(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
