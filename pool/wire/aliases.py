"""Names that models use for tools and arguments, and the names that were meant.

A model trained on another agent's tools asks for `read_file{"filename": ..}` where the tool is `read{"path": ..}`.
An alias counts only if the name that was given is unknown and exactly one name that it may mean is known: what a server
or a user defines always wins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

TOOL_ALIASES: dict[str, tuple[str, ...]] = {
    "read": ("read_file", "view", "view_file", "open_file", "cat"),
    "write": ("write_file", "create_file", "save_file", "create"),
    "edit": ("edit_file", "str_replace", "search_replace", "replace_in_file"),
    "shell": (
        "bash",
        "sh",
        "exec",
        "execute",
        "execute_bash",
        "execute_command",
        "exec_command",
        "run_command",
        "run_shell_command",
        "run_terminal_cmd",
        "shell_command",
        "terminal",
    ),
    "search": ("grep", "rg", "ripgrep", "grep_search", "search_files", "search_file_content"),
    "list": ("ls", "list_dir", "list_directory", "list_files"),
}
"""Pool's tool names, and what other agents call the same tool."""

ARGUMENT_ALIASES: tuple[frozenset[str], ...] = (
    frozenset({"path", "file_path", "filename", "file_name", "file", "target_file"}),
    frozenset({"command", "cmd"}),
    frozenset({"old_text", "old", "old_string", "old_str"}),
    frozenset({"new_text", "new", "new_string", "new_str"}),
    frozenset({"pattern", "query", "regex"}),
    frozenset({"content", "contents", "text", "file_text"}),
    frozenset({"replace_all", "all"}),
)
"""Groups of argument names that mean the same; any one of them is taken for the one that the schema has."""

_NAMESPACE = "functions."
_CALL_BRACKETS = re.compile(r"\(\s*\)\Z")
_QUOTES = " \t\r\n\"'`"


def clean_name(name: str, known: Iterable[str]) -> str | None:
    """The known tool that a name from a model means, or None.

    Trims blanks, quotes, a trailing `()` and the prefix `functions.`; then ignores letter case, `_` and `-` where that
    is unambiguous; then tries `TOOL_ALIASES`. CALL-13: names arrive as "read\\n", " shell" and "Shell".
    """
    names = set(known)
    trimmed = _CALL_BRACKETS.sub("", name.strip(_QUOTES)).removeprefix(_NAMESPACE).strip(_QUOTES)
    if trimmed in names:
        return trimmed
    same = _only(one for one in names if _folded(one) == _folded(trimmed))
    if same is not None:
        return same
    return _only(
        target
        for target, others in TOOL_ALIASES.items()
        if target in names and _folded(trimmed) in map(_folded, others)
    )


def argument_key(name: str, properties: Collection[str], taken: Collection[str]) -> str | None:
    """The schema's property that an argument name means, or None. taken are names that were given themselves."""
    if name in properties:
        return name
    free = [one for one in properties if one not in taken]
    same = _only(one for one in free if _folded(one) == _folded(name))
    if same is not None:
        return same
    meanings = [group for group in ARGUMENT_ALIASES if _folded(name) in map(_folded, group)]
    return _only(one for one in free for group in meanings if one in group)


def _folded(name: str) -> str:
    return name.strip().casefold().replace("_", "").replace("-", "")


def _only(names: Iterable[str]) -> str | None:
    found = set(names)
    return found.pop() if len(found) == 1 else None
