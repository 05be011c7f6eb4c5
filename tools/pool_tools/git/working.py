"""What carries out the calls of the tool `git`, made with the first of them: declaring the tool needs none of it."""

from __future__ import annotations

from pool_tools.commands import Commands
from pool_tools.frozen import frozen
from pool_tools.git.reading import Reader
from pool_tools.git.runner import Git
from pool_tools.git.signing import Signing
from pool_tools.git.transport import Transport
from pool_tools.git.writing import Writer


@frozen
class Work:
    """Git in the sandbox, and what reads, writes and reaches remotes with it."""

    git: Git
    reader: Reader
    writer: Writer
    transport: Transport


def work_with(commands: Commands, transport: Transport | None) -> Work:
    """The parts of a tool over commands; transport None is the usual one."""
    git = Git(commands)
    reader = Reader(git)
    return Work(git, reader, Writer(git, reader, Signing(git, reader)), transport or Transport())
