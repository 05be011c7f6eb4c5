"""How a configured server becomes a process: which program, which environment, in the sandbox or not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pool.config.mcp import McpServer
from pool_tools.commands import Commands
from pool_tools.home import expanded as with_home
from pool_tools.sandbox.base import Launch, NoSandbox
from pool_tools.sandbox.view import REPLACED, replaced

_NODE_PACKAGES = "node_modules"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class CannotStart(Exception):
    """A server that cannot be started as it is configured. The message says why and what would do."""


def launch_for(server: McpServer, commands: Commands, environ: Mapping[str, str], *, unconfined: bool) -> Launch:
    """What to start for a server with a command, in the folder of commands. Blocks. Raises `CannotStart`, OSError.

    unconfined: the user has switched the sandbox off, or says that something else confines all of Pool.
    """
    env = {**commands.environment(), **dict(expanded(server.env, environ))}
    if not server.sandbox:
        return Launch((_own_program(server.command, commands), *server.args), env)
    if commands.sandbox.name == NoSandbox.name and not unconfined:
        raise CannotStart("no sandbox works here; sandbox = false in your own configuration starts it without one")
    program = server.command
    if "/" not in program:
        program = commands.program(program) or program
    argv = (str(with_home(program)), *server.args)
    return commands.sandbox.wrap(argv, commands.folder, showing(env, argv, commands.workspace.roots))


def showing(env: Mapping[str, str], argv: Sequence[str], roots: Sequence[Path]) -> dict[str, str]:
    """env with a PATH that ends in the folders of a program and its script, where a sandbox has its own version of
    what holds them, such as /tmp: it shows the folders of PATH, to be read.
    """
    path = env.get("PATH", os.defpath)
    known = path.split(os.pathsep)
    files = [word for word in argv if word.startswith("/") and os.path.isfile(word)]
    folders = (folder for file in files for folder in (os.path.dirname(file), _own_folder(os.path.realpath(file))))
    more = [
        folder
        for folder in dict.fromkeys(folders)
        if folder not in known
        and replaced(real := os.path.realpath(folder))
        and real not in REPLACED
        and not any(Path(real).is_relative_to(os.path.realpath(root)) for root in roots)
    ]
    return {**env, "PATH": os.pathsep.join([path, *more])} if more else dict(env)


def _own_folder(file: str) -> str:
    """Where a program really lies: its folder, or all the packages beside its own where it is one of Node's."""
    top, found, _ = file.partition(f"/{_NODE_PACKAGES}/")
    return f"{top}/{_NODE_PACKAGES}" if found else os.path.dirname(file)


def expanded(values: Iterable[tuple[str, str]], environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Names and values with `${NAME}` replaced by what the user's environment has. Raises `CannotStart`."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in environ:
            raise CannotStart(f"the variable {found[1]} is not set; set it before you start Pool")
        return environ[found[1]]

    return tuple((name, _VARIABLE.sub(value, text)) for name, text in values)


def _own_program(command: str, commands: Commands) -> str:
    """A program to run with the user's own rights: none that commands could replace."""
    if "/" not in command:
        program = commands.program(command)
        if program is None:
            raise CannotStart(commands.why_no_program(command))
        return program
    path = commands.folder / with_home(command)
    if any(
        Path(os.path.realpath(p)).is_relative_to(root) for p in (path, path.parent) for root in commands.workspace.roots
    ):
        raise CannotStart(f"{command} lies in the workspace, where commands can change it; leave it in the sandbox")
    return str(path)
