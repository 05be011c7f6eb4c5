"""Starting git: always through the sandbox, never with orders that a checkout could have given to a reading action.

Flags and environment follow what can make git run a program: hooks, fsmonitor, external diffs, textconv, pagers,
editors, aliases of transports. They are the belt; the sandbox, in which every process of git runs, is the braces: a
filter driver, for one, cannot be switched off by flags.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pool_tools.api import ToolError
from pool_tools.capture import HeadTail
from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.process import Ended

READ_SECONDS = 60.0
WRITE_SECONDS = 600.0
"""Time limits. A commit runs the user's hooks, which may run tests."""

KEPT_BYTES = 8 * 1024 * 1024
"""Output of git up to this size is looked at."""

ERROR_CHARS = 8_000

_COMMON = (
    *("--no-pager", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "color.ui=false"),
    *("-c", "safe.bareRepository=explicit", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "submodule.recurse=false"),
)
_READING = (
    *("--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "diff.external="),
    *("-c", "log.showSignature=false", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false"),
)

ENVIRONMENT: Mapping[str, str] = {
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
}
"""Names are names, not patterns. Nothing is fetched. Messages are in English, as they are looked into."""

# Runs git and puts what it says on standard error behind a mark that no output can hold.
_SEPARATE = """
exec 3>&1
e=$("$@" 2>&1 >&3 3>&-)
s=$?
printf '%s%s' "$0" "$e"
exit "$s"
"""


@frozen
class Output:
    """What one git process gave. out is its output, up to `KEPT_BYTES` (cut if there was more), err what it complained.

    Of a writing process both streams are in out, in order. status is None where it was killed.
    """

    status: int | None
    out: bytes
    err: str
    cut: bool
    ended: Ended

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.ended.timed_out

    @property
    def text(self) -> str:
        """out as text; bytes that are no UTF-8 as lone surrogates, for `printable` to show."""
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def line(self) -> str:
        """The first line of the output."""
        return self.text.split("\n", 1)[0].strip()


class Git:
    """Runs git in the workspace's main folder. env are variables besides, such as that of another index."""

    def __init__(self, commands: Commands, env: Mapping[str, str] = MappingProxyType({})) -> None:
        self.commands = commands
        self._env = env

    def with_env(self, env: Mapping[str, str]) -> Git:
        """The same with more variables."""
        return Git(self.commands, {**self._env, **env})

    async def read(self, *args: str, limit: float = READ_SECONDS) -> Output:
        """A git command that changes nothing: no locks, no hooks, output and complaints apart. limit is in seconds."""
        mark = secrets.token_hex(16)
        output = await self._run(("/bin/sh", "-c", _SEPARATE, mark, *self._argv(_READING, args)), limit)
        out, found, err = output.out.rpartition(mark.encode())
        if not found:
            return output
        told = err.decode("utf-8", "replace")[:ERROR_CHARS]
        return Output(output.status, out, told.strip(), output.cut, output.ended)

    async def write(self, *args: str, literal: bool = True, limit: float = WRITE_SECONDS) -> Output:
        """A git command that changes the repository. Hooks and signing are as the user has set them.

        literal: paths are names. Not for `stash`, which uses patterns inside. limit is in seconds.
        """
        more = {} if literal else {"GIT_LITERAL_PATHSPECS": "0"}
        return await self._run(self._argv((), args), limit, more)

    async def script(self, script: str, *args: str) -> Output:
        """A script for sh, in which `$0` and `$@` are args and git has the same environment."""
        return await self._run(("/bin/sh", "-c", script, *args), WRITE_SECONDS)

    def _argv(self, flags: Sequence[str], args: Sequence[str]) -> tuple[str, ...]:
        program = self.commands.program("git")
        if program is None:
            raise ToolError(f"{self.commands.why_no_program('git')}. Tell the user.")
        return (program, *_COMMON, *flags, *args)

    async def _run(self, argv: tuple[str, ...], limit: float, env: Mapping[str, str] = MappingProxyType({})) -> Output:
        kept = _Kept()
        ended = await self.commands.run(argv, limit, kept.add, {**ENVIRONMENT, **self._env, **env})
        return Output(ended.status, kept.data(), "", kept.cut, ended)


class _Kept:
    """The first bytes of an output, and its last ones, in which complaints stand."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.cut = False

    def add(self, data: bytes) -> None:
        room = KEPT_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * ERROR_CHARS:
            self.cut = True
            del self._tail[:-ERROR_CHARS]

    def data(self) -> bytes:
        return bytes(self._head + self._tail)


def shortened(text: str, head: int, tail: int) -> tuple[str, bool]:
    """text by its first and last characters if it is longer than both, and whether it was."""
    kept = HeadTail(head, tail)
    kept.add(text)
    first, last, chars, lines = kept.parts()
    if not chars:
        return first, False
    return f"{first.rstrip()}\n[… {chars:,} characters in {lines:,} lines left out here …]\n{last.lstrip()}", True
