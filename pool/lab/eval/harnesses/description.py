"""What is known of another agent's command line: a TOML file, one of Pool's own or one of the user's.

    about = "an agent"
    argv = ["agent", "--yes", "--model={model}", "--prompt={prompt}"]
    version = ["agent", "--version"]

    [env]
    OPENAI_BASE_URL = "{base_url}"
    OPENAI_API_KEY = "{key}"

    [files]
    "{home}/.agent/config.json" = '{"model": "{model}"}'

In argv, env and files stand `{prompt}`, `{prompt_file}` (a file that holds it), `{base_url}` (ending in /v1),
`{model}`, `{key}` (a made-up one), `{home}` (a folder that is made for the run, and its HOME) and `{work}` (the task's
tree). In files they are written as inside of a JSON text, which a TOML text between quotes is too.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from pool_tools.frozen import frozen
from pool_tools.home import base_folder

FOLDER = "harnesses"
"""In Pool's configuration folder: descriptions of the user's own, which win over those that come with Pool."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
_WORD = re.compile(r"\{(prompt|prompt_file|base_url|model|key|home|work)\}")
_KEYS = frozenset({"about", "argv", "version", "env", "files", "tried", "readable"})


class HarnessProblem(Exception):
    """A harness that is not known, not described well, or not installed. The message says what to do."""


@frozen
class Launch:
    """What to start, and the files that have to be there before."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str]


@frozen
class Harness:
    """An agent's command line. tried says with which version it was run here, "" for never.

    readable are folders of the home that the agent's program needs.
    """

    name: str
    about: str
    argv: tuple[str, ...]
    version: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    files: Mapping[str, str] | None = None
    tried: str = ""
    readable: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """What has to be installed: the program that tells its version, since another one may stand before it."""
        return self.version[0] if self.version else self.argv[0]

    def launch(self, values: Mapping[str, str]) -> Launch:
        """The command for a run; values are those of the words in braces."""

        def plain(template: str) -> str:
            return _filled(template, values, str)

        def quoted(template: str) -> str:
            return _filled(template, values, lambda value: json.dumps(value, ensure_ascii=False)[1:-1])

        written = {plain(path): quoted(content) for path, content in (self.files or {}).items()}
        env = {name: plain(value) for name, value in (self.env or {}).items()}
        return Launch(tuple(map(plain, self.argv)), env, written)


def harness_named(name: str) -> Harness:
    """A harness by its name. Raises `HarnessProblem`."""
    found = harnesses()
    if name not in found:
        own = own_folder()
        known = ", ".join(sorted(found))
        raise HarnessProblem(f"there is no harness {name!r}; there are {known}, and those that you describe in {own}")
    return found[name]


def harnesses() -> dict[str, Harness]:
    """All that are described, by name. Raises `HarnessProblem` for a file with a fault."""
    return {name: _read(name, text, place) for name, text, place in _files()}


def _files() -> Iterator[tuple[str, str, str]]:
    """Name, text and place of each description, those that win last."""
    folders: list[Traversable] = [files("pool.lab.eval.harnesses") / "known"]
    own = own_folder()
    if own.is_dir():
        folders.append(own)
    for folder in folders:
        for entry in sorted(folder.iterdir(), key=lambda one: one.name):
            if entry.name.endswith(".toml"):
                try:
                    yield entry.name.removesuffix(".toml"), entry.read_text("utf-8"), str(entry)
                except (OSError, ValueError) as error:
                    raise HarnessProblem(f"{entry} cannot be read: {error}") from None


def _read(name: str, text: str, place: str) -> Harness:
    if not _NAME.fullmatch(name):
        raise HarnessProblem(f"{place}: a harness's name has small letters, digits and dashes alone")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HarnessProblem(f"{place}: {error}") from None
    if unknown := sorted(table.keys() - _KEYS):
        raise HarnessProblem(f"{place}: {', '.join(unknown)}: there are only {', '.join(sorted(_KEYS))}")
    argv = _texts(table, "argv", place)
    if not argv:
        raise HarnessProblem(f"{place}: argv is missing: the command and its arguments, a list of texts")
    return Harness(
        name,
        str(table.get("about", "")),
        argv,
        _texts(table, "version", place),
        _table(table, "env", place),
        _table(table, "files", place),
        str(table.get("tried", "")),
        _texts(table, "readable", place),
    )


def _texts(table: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value: Any = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
        raise HarnessProblem(f"{place}: {key} has to be a list of texts")
    return tuple(cast("list[str]", value))


def _table(table: Mapping[str, Any], key: str, place: str) -> dict[str, str]:
    value: Any = table.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in cast("dict[str, Any]", value).values()):
        raise HarnessProblem(f"{place}: [{key}] has to be a table of texts")
    return cast("dict[str, str]", value)


def _filled(template: str, values: Mapping[str, str], form: Callable[[str], str]) -> str:
    return _WORD.sub(lambda match: form(values[match[1]]), template)


def own_folder() -> Path:
    """Where the user's own descriptions lie."""
    return base_folder("XDG_CONFIG_HOME") / "pool" / FOLDER
