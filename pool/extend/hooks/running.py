"""Running one hook: JSON to its input, its output apart from its error output, and no process of it left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pool.config.hooks import Hook
from pool.extend.hooks.answer import HookFault, Ran
from pool_tools import ToolError
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.home import home
from pool_tools.process import run_command
from pool_tools.sandbox.base import NoSandbox
from pool_tools.scratch import Scratch

OUTPUT_BYTES = 256 * 1024
"""A hook that writes more to its output has failed."""

ERROR_BYTES = 16 * 1024
"""So much of its error output is read."""

_SCRIPT = 'exec <"$1" 2>>"$2"; exec "$0" -c "$3"'
"""Input and error output are files: a command in the sandbox has one pipe, for its output."""

_OWN = ("POOL_", "POOLSIDE_")
"""Pool's own variables are not for hooks: a key is among them."""


@frozen
class HookPlaces:
    """Where hooks run: commands is the session's way into the sandbox; unconfined: the user wants no sandbox.

    external: something else confines all of Pool, so that a checkout's hooks run too.
    """

    commands: Commands
    unconfined: bool = False
    external: bool = False


async def run_hook(hook: Hook, payload: Mapping[str, Any], extra: Mapping[str, str], places: HookPlaces) -> Ran:
    """Run a hook to its end; payload is its input, extra are variables for it. Raises `HookFault`.

    When this returns or is cancelled, no process of it is left.
    """
    commands = places.commands
    if hook.sandbox and (why := _unfit(hook, places)):
        raise HookFault(why)
    own = None if hook.sandbox else Commands(commands.workspace, NoSandbox())
    try:
        scratch = (own or commands).scratch()
        text = json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
        handed = await asyncio.to_thread(_Handed, scratch, text)
        try:
            return await _run(hook, extra, commands, handed)
        finally:
            await asyncio.shield(asyncio.to_thread(handed.remove))
    except OSError as error:
        raise HookFault(f"it could not be started: {error.strerror or error}") from None
    except ToolError as error:
        raise HookFault(f"it could not be started: {error}") from None
    finally:
        if own is not None:
            await own.close()


async def _run(hook: Hook, extra: Mapping[str, str], commands: Commands, handed: _Handed) -> Ran:
    out = bytearray()

    def keep(data: bytes) -> None:
        out.extend(data[: max(0, OUTPUT_BYTES + 1 - len(out))])

    bash = commands.program("bash")
    if bash is None:
        raise HookFault("there is no bash, which runs hooks")
    argv = (bash, "-c", _SCRIPT, bash, handed.names[0], handed.names[1], hook.command)
    if hook.sandbox:
        ended = await commands.run(argv, hook.seconds, keep, env=extra)
    else:
        refuse_workspace(hook.command, commands)
        env = {**_own_environment(commands), **extra}
        # Not in the workspace: interpreters take modules from the folder that they start in.
        ended = await run_command(argv, home(), env, NoSandbox(), hook.seconds, keep)
    if ended.timed_out:
        raise HookFault(f"it took longer than {hook.seconds:g} s and was ended")
    if ended.killed or ended.status is None:
        raise HookFault(ended.killed or "it was ended from outside")
    if len(out) > OUTPUT_BYTES:
        raise HookFault(f"it wrote more than {OUTPUT_BYTES:,} bytes")
    err = await asyncio.to_thread(handed.errors)
    return Ran(ended.status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _unfit(hook: Hook, places: HookPlaces) -> str:
    """Why a hook of the sandbox cannot run here, "" if it can."""
    if places.commands.sandbox.name != NoSandbox.name or places.external:
        return ""
    if hook.projects:
        return "no sandbox holds it, and hooks of a project run in no other way"
    return "" if places.unconfined else "no sandbox works here; sandbox = false in your own file runs it without one"


def refuse_workspace(command: str, commands: Commands) -> None:
    """Raise `HookFault` for a command line outside the sandbox that names a file of the workspace."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    for word in words:
        path = Path(os.path.realpath(commands.folder / Path(word).expanduser())) if "/" in word else None
        if path is not None and path.exists() and any(path.is_relative_to(root) for root in commands.workspace.roots):
            raise HookFault(
                f"{word} lies in the workspace, where commands can change it; leave the hook in the sandbox"
            )


def _own_environment(commands: Commands) -> dict[str, str]:
    """The user's environment; programs are not looked for in the workspace."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    roots = commands.workspace.roots
    folders = [
        folder
        for folder in env.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(folder) and not any(Path(os.path.realpath(folder)).is_relative_to(root) for root in roots)
    ]
    return {**env, "PATH": os.pathsep.join(folders)}


class _Handed:
    """The files that one hook's process is given. names are what it calls them: its input, and its error output."""

    def __init__(self, scratch: Scratch, text: bytes) -> None:
        mark = secrets.token_hex(8)
        self._scratch = scratch
        self._files = (f"hook-{mark}.json", f"hook-{mark}.err")
        self.names = (scratch.path(self._files[0]), scratch.path(self._files[1]))
        with open(scratch.open(self._files[0]), "wb") as file:
            file.write(text)
        os.close(scratch.open(self._files[1]))

    def errors(self) -> bytes:
        """The beginning of what was written to the error output."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with contextlib.suppress(OSError), open(os.open(self._scratch.folder / self._files[1], flags), "rb") as file:
            return file.read(ERROR_BYTES)
        return b""

    def remove(self) -> None:
        for name in self.names:
            self._scratch.remove(name)
