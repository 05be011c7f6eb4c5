"""Finding the client's tools: which of them runs commands, reads, edits and writes files, and in which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from pool.sim.say import Call


class Role(StrEnum):
    """What a tool is for."""

    SHELL = "shell"
    TESTS = "tests"
    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    OTHER = "other"


_PATH = ("path", "file_path", "filepath", "filename", "file", "target_file")
_OLD = ("old_string", "old_str", "old_text", "oldtext", "old", "search")
_NEW = ("new_string", "new_str", "new_text", "newtext", "new", "replace")
_COMMAND = ("command", "cmd", "script", "code")
_CONTENT = ("content", "contents", "text", "file_text")
_OFFSET = ("offset", "start_line", "start", "line", "from_line")

_NAMES: Mapping[Role, tuple[str, ...]] = {
    Role.SHELL: (
        *("shell", "bash", "run_command", "run_shell_command", "shell_command", "execute_command", "exec_command"),
        *("execute_bash", "terminal", "run_terminal_cmd", "exec", "run"),
    ),
    Role.TESTS: ("run_tests", "runtests", "test", "tests"),
    Role.READ: ("read", "read_file", "readfile", "view", "view_file", "open_file", "cat"),
    Role.EDIT: ("edit", "edit_file", "editfile", "str_replace", "strreplacefile", "search_replace", "replace", "patch"),
    Role.WRITE: ("write", "write_file", "writefile", "create_file", "save_file", "create"),
}
# What a role must know how to say, and what it may: the role's word, and the clients' words for it.
_NEEDED: Mapping[Role, Mapping[str, tuple[str, ...]]] = {
    Role.SHELL: {"command": _COMMAND},
    Role.TESTS: {},
    Role.READ: {"path": _PATH},
    Role.EDIT: {"path": _PATH, "old": _OLD, "new": _NEW},
    Role.WRITE: {"path": _PATH, "content": _CONTENT},
}
_OPTIONAL: Mapping[Role, Mapping[str, tuple[str, ...]]] = {Role.READ: {"offset": _OFFSET}}
_HARMLESS: Mapping[str, Any] = {"string": "run by the simulator", "integer": 60, "number": 60, "boolean": False}


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A client's tool in a role.

    words maps the role's words to the client's parameter names. extra fills required parameters that no role knows.
    array is the parameter that takes a list of edits, "" if old and new stand by themselves.
    """

    name: str
    role: Role
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    array: str = ""

    def call(self, **values: str | int) -> Call:
        """A call with values under the role's words; a word that the tool does not know is left out."""
        told = {self.words[word]: value for word, value in values.items() if word in self.words}
        if not self.array:
            return Call(self.name, {**told, **self.extra})
        inner = {key: told.pop(key) for key in (self.words["old"], self.words["new"])}
        return Call(self.name, {**told, self.array: [inner], **self.extra})

    def values(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """What arguments say in the role's words, as text; only the first of several edits."""
        if self.array and arguments.get(self.array):
            edits = cast("list[Mapping[str, Any]]", arguments[self.array])
            arguments = {**arguments, **edits[0]}
        return {word: str(arguments[name]) for word, name in self.words.items() if name in arguments}


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The client's tools by role, the first of each kind."""

    tools: Mapping[Role, ClientTool] = field(default_factory=dict[Role, ClientTool])

    def get(self, role: Role) -> ClientTool | None:
        """The tool for a role, if the client has one."""
        return self.tools.get(role)

    def named(self, name: str) -> ClientTool:
        """The tool of that name, with the role OTHER if it has none."""
        return next((tool for tool in self.tools.values() if tool.name == name), ClientTool(name, Role.OTHER))


def find_tools(tools: Sequence[Mapping[str, Any]]) -> Toolbox:
    """Find a tool for each role, by its name and by whether its parameters can say what the role needs."""
    functions = [cast("Mapping[str, Any]", tool.get("function") or {}) for tool in tools]
    by_name = {str(function.get("name", "")).lower(): function for function in functions}
    found: dict[Role, ClientTool] = {}
    for role, names in _NAMES.items():
        candidates = (_fit(by_name[name], role) for name in names if name in by_name)
        tool = next((candidate for candidate in candidates if candidate is not None), None)
        if tool is not None:
            found[role] = tool
    return Toolbox(found)


def _fit(function: Mapping[str, Any], role: Role) -> ClientTool | None:
    schema = cast("Mapping[str, Any]", function.get("parameters") or {})
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {})
    array, known = "", dict(properties)
    if role is Role.EDIT:
        array, inner = _edit_array(properties)
        known = {**inner, **known}
    words: dict[str, str] = {}
    for word, names in {**_NEEDED[role], **_OPTIONAL.get(role, {})}.items():
        lower = {name.lower(): name for name in known}
        name = next((lower[name] for name in names if name in lower), None)
        if name is not None:
            words[word] = name
        elif word in _NEEDED[role]:
            return None
    required = cast("Sequence[str]", schema.get("required") or [])
    unknown = [name for name in required if name not in words.values() and name != array]
    extra = {name: _HARMLESS.get(str(properties.get(name, {}).get("type")), "") for name in unknown}
    return ClientTool(str(function.get("name")), role, words, extra, array)


def _edit_array(properties: Mapping[str, Mapping[str, Any]]) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """The parameter that takes a list of objects with old and new texts, and those objects' properties."""
    for name, schema in properties.items():
        items = cast("Mapping[str, Any]", schema.get("items") or {})
        inner = cast("Mapping[str, Mapping[str, Any]]", items.get("properties") or {})
        if schema.get("type") == "array" and set(map(str.lower, inner)) & set(_OLD):
            return name, inner
    return "", {}
