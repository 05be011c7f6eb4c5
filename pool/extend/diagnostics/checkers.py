"""The checkers that run as commands: those that Pool knows, and those of the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from pool.config.checkers import CheckCommand
from pool.config.diagnostics import AUTO, DiagnosticsSettings
from pool.extend.diagnostics import parsing
from pool.extend.diagnostics.parsing import Parser
from pool_tools.commands import Commands
from pool_tools.frozen import frozen

OWN_FOLDERS = (".venv/bin", "node_modules/.bin")
"""Where a project keeps its own tools; they are taken first where the user has named the checker."""

CONFIG_BYTES = 256 * 1024


@frozen
class Checker:
    """A command that checks a file, or a whole project (whole).

    argv makes its words from its program and the file's path relative to the workspace. files are patterns for names.
    statuses are those with which it ends when it has done its work.
    """

    name: str
    program: str
    argv: Callable[[str, str], tuple[str, ...]]
    files: tuple[str, ...]
    parse: Callable[[str], Parser]
    whole: bool = False
    statuses: tuple[int, ...] = (0, 1)

    def checks(self, path: str) -> bool:
        """Whether it is about a file."""
        return any(fnmatch(os.path.basename(path), pattern) or fnmatch(path, pattern) for pattern in self.files)


def _ruff(program: str, path: str) -> tuple[str, ...]:
    quiet = ("--output-format=json", "--no-cache", "--no-fix", "--exit-zero", "--force-exclude", "--quiet")
    return (program, "check", *quiet, "--", path)


def _pyright(program: str, path: str) -> tuple[str, ...]:
    return (program, "--outputjson", path)


def _tsc(program: str, path: str) -> tuple[str, ...]:
    return (program, "--noEmit", "--pretty", "false", "--incremental", "false")


def _cargo(program: str, path: str) -> tuple[str, ...]:
    return (program, "check", "--quiet", "--offline", "--message-format=json")


def _go(program: str, path: str) -> tuple[str, ...]:
    return (program, "vet", f"./{os.path.dirname(path)}")


KNOWN: dict[str, Checker] = {
    checker.name: checker
    for checker in (
        Checker("ruff", "ruff", _ruff, ("*.py", "*.pyi"), lambda path: parsing.ruff),
        Checker("pyright", "pyright", _pyright, ("*.py", "*.pyi"), lambda path: parsing.pyright),
        Checker(
            "tsc",
            "tsc",
            _tsc,
            ("*.ts", "*.tsx", "*.mts", "*.cts"),
            lambda path: parsing.tsc,
            whole=True,
            statuses=(0, 1, 2),
        ),
        Checker("cargo", "cargo", _cargo, ("*.rs",), lambda path: parsing.cargo, whole=True, statuses=(0, 101)),
        Checker("go", "go", _go, ("*.go",), lambda path: parsing.go, whole=True, statuses=(0, 1, 2)),
    )
}


def own_checker(command: CheckCommand, shell: str) -> Checker:
    """A checker of the user's."""

    def parse(path: str) -> Parser:
        return parsing.by_pattern(command.pattern, path)

    def argv(program: str, path: str) -> tuple[str, ...]:
        return (shell, "-c", command.command)

    return Checker(command.name, shell, argv, command.files, parse, whole=command.whole, statuses=tuple(range(126)))


def program_of(checker: Checker, commands: Commands, *, named: bool) -> str:
    """The program of a checker, "" if there is none. named: by the user, so that the project's own may be taken.

    It runs in the sandbox, where the project's tools may run as they do in any command.
    """
    if os.path.isabs(checker.program):
        return checker.program
    if named:
        for folder in OWN_FOLDERS:
            path = commands.folder / folder / checker.program
            if os.access(path, os.X_OK) and path.is_file():
                return str(path)
    return commands.program(checker.program) or ""


def configures_ruff(root: Path, path: str) -> bool:
    """Whether a project has a configuration of ruff's for a file: what makes ruff run unasked."""
    folder = (root / path).parent
    while folder.is_relative_to(root):
        if (folder / "ruff.toml").is_file() or (folder / ".ruff.toml").is_file():
            return True
        try:
            with (folder / "pyproject.toml").open("rb") as file:
                if b"[tool.ruff" in file.read(CONFIG_BYTES):
                    return True
        except OSError:
            pass
        if folder == root:
            return False
        folder = folder.parent
    return False


def chosen(settings: DiagnosticsSettings, shell: str) -> Sequence[Checker]:
    """The checkers that the settings name, without what `auto` stands for."""
    known = [KNOWN[name] for name in settings.tools if name != AUTO]
    return (*known, *(own_checker(command, shell) for command in settings.commands))
