"""Other agents that can be driven: a TOML file each. Those that Pool knows lie beside this file, the user's own in
his configuration; none is ever read from a checkout, since each names a program that runs outside the sandbox.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pool.config.files import Places
from pool_tools.frozen import frozen

OWN_FOLDER = "agents-acp"
"""Below the folder of the user's configuration."""

KNOWN_FOLDER = Path(__file__).with_name("known")
MOST_BYTES = 64 * 1024
_TEXTS = ("title", "install", "login")
_KEYS = frozenset({*_TEXTS, "command", "env", "files"})


class AgentError(Exception):
    """An agent that cannot be used. The message says why, remedy what to do about it."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


@frozen
class AgentDescription:
    """An agent. command is its program and arguments, env is added to the environment that Pool has.

    install says how the program is had, login how one logs in, each "" where nothing is known. file is where it is
    described. files: it is offered the workspace's files through Pool; some have faults of their own there.
    """

    name: str
    title: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    install: str
    login: str
    file: Path
    files: bool = True

    def program(self, environ: Mapping[str, str]) -> str:
        """The program's path, "" if it is not installed. A program is never looked for in the working folder."""
        name = os.path.expanduser(self.command[0])
        folders = [folder for folder in environ.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
        if "/" in name and not name.startswith("/"):
            return ""
        return shutil.which(name, path=os.pathsep.join(folders)) or ""


def own_folder(environ: Mapping[str, str]) -> Path:
    """Where the user's own descriptions lie."""
    return Places.usual(environ).user / OWN_FOLDER


def agent_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names of all agents that are described, in order."""
    folders = (KNOWN_FOLDER, own_folder(environ))
    return tuple(sorted({file.stem for folder in folders for file in folder.glob("*.toml")}))


def agent_named(name: str, environ: Mapping[str, str]) -> AgentDescription:
    """The agent of that name; the user's own file counts before Pool's. Raises `AgentError`."""
    for folder in (own_folder(environ), KNOWN_FOLDER):
        if name in {file.stem for file in folder.glob("*.toml")}:
            return read_description(folder / f"{name}.toml")
    known = ", ".join(agent_names(environ))
    raise AgentError(f"no agent is called {name!r}", f"there are {known}; {own_folder(environ)} is for your own")


def installed_agent(name: str, environ: Mapping[str, str]) -> AgentDescription:
    """The agent of that name, which is installed. Raises `AgentError`."""
    agent = agent_named(name, environ)
    if not agent.program(environ):
        raise not_installed(agent)
    return agent


def not_installed(agent: AgentDescription) -> AgentError:
    """That an agent's program is not there, and how it is had."""
    return AgentError(f"{agent.title} is not installed: there is no program {agent.command[0]!r}", agent.install)


def read_description(file: Path) -> AgentDescription:
    """What a file describes. Raises `AgentError` with what is wrong in it."""
    remedy = f"mend {file}; docs/agents.md shows one"
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise AgentError(f"{file} has more than {MOST_BYTES:,} bytes", remedy)
        values = tomllib.loads(data.decode())
    except OSError as error:
        raise AgentError(f"{file} cannot be read: {error.strerror}", remedy) from None
    except ValueError as error:
        raise AgentError(f"{file} is no TOML: {error}", remedy) from None
    if unknown := sorted(values.keys() - _KEYS):
        raise AgentError(f"{file} has a key that is not known: {', '.join(unknown)}", remedy)
    return _described(file, values, remedy)


def _described(file: Path, values: Mapping[str, Any], remedy: str) -> AgentDescription:
    match values.get("command"):
        case [str(program), *rest] if program and all(isinstance(word, str) for word in rest):
            command = (program, *map(str, rest))
        case _:
            raise AgentError(f"{file}: command has to be a list of texts, the program first", remedy)
    match values.get("env", {}):
        case dict() as env if all(isinstance(value, str) for value in env.values()):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # TOML
            pairs = tuple((str(name), str(value)) for name, value in env.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
        case _:
            raise AgentError(f"{file}: env has to be a table of texts", remedy)
    for key in _TEXTS:
        if not isinstance(values.get(key, ""), str):
            raise AgentError(f"{file}: {key} has to be a text", remedy)
    files = values.get("files", True)
    if not isinstance(files, bool):
        raise AgentError(f"{file}: files has to be true or false", remedy)
    title, install, login = (str(values.get(key, "")) for key in _TEXTS)
    return AgentDescription(file.stem, title or file.stem, command, pairs, install, login, file, files)
