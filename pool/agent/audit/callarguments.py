"""What a call changes in files, by its arguments alone: for agents of which nothing more is written down.

Names of parameters are those that agents use; patches are unified diffs, or those that begin with `*** Begin Patch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pool_tools.frozen import frozen

PATHS = ("path", "file_path", "filepath", "filename", "file", "target_file", "target", "notebook_path")
OLDS = ("old_text", "old_string", "old_str", "oldtext", "old", "search", "find", "target_content")
NEWS = ("new_text", "new_string", "new_str", "newtext", "new", "replace", "replacement", "replacement_content")
CONTENTS = ("content", "contents", "file_text", "new_content", "text", "code_content", "code_edit")
COMMANDS = ("command", "cmd", "script", "commandline", "command_line", "bash_command", "keystrokes")
PATCHES = ("patch", "diff", "input", "patch_text")

_HEREDOC = re.compile(
    r"""\bcat\s+(?:<<-?\s*(['"]?)(\w+)\1\s*(>{1,2})\s*(\S+)|(>{1,2})\s*(\S+)\s*<<-?\s*(['"]?)(\w+)\7)[^\n]*\n(.*?)^\s*(?:\2|\8)\s*$""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_SED = re.compile(r"""\bsed\s+(?:-[A-Za-z]+\s+)*-i\S*\s+(?:-[eE]\s+)?(['"])s(.)(.+?)\2(.*?)\2\w*\1\s+([\w./-]+)""")
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_DIFF_FILE = re.compile(r"^--- (?:a/)?(\S+).*\n\+\+\+ (?:b/)?(\S+).*$", re.MULTILINE)
_NOTHING = "/dev/null"


@frozen
class Wanted:
    """A change that a call asks for. old None: the file gets new as its whole content; new None: the file goes.

    adds: new is put at the end of the file.
    """

    path: str
    old: str | None
    new: str | None
    adds: bool = False


def text_of(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first argument of one of these names that is text, "" if there is none; a list of words is joined."""
    lower = {key.lower(): value for key, value in arguments.items()}
    for name in names:
        value = lower.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in cast(list[Any], value)):
            words = cast(list[str], value)
            # `["bash", "-lc", SCRIPT]` is the script.
            return (
                words[-1] if len(words) > 2 and words[1].startswith("-") and words[1].endswith("c") else " ".join(words)
            )
    return ""


def command_of(arguments: Mapping[str, Any]) -> str:
    """The shell command of a call, "" if it has none."""
    return text_of(arguments, COMMANDS)


def wanted_changes(arguments: Mapping[str, Any]) -> Iterator[Wanted]:
    """All changes that a call asks for."""
    path, command = text_of(arguments, PATHS), command_of(arguments)
    edits: Any = arguments.get("edits")
    if path and isinstance(edits, list):
        for edit in cast(list[Any], edits):
            if isinstance(edit, dict):
                yield from _replacement(path, cast(dict[str, Any], edit))
    for name in PATCHES:
        value: Any = arguments.get(name)
        if isinstance(value, str):
            yield from patch_changes(value)
    if command:
        yield from _in_shell(command)
        return
    if path:
        yield from _replacement(path, arguments)


def _replacement(path: str, arguments: Mapping[str, Any]) -> Iterator[Wanted]:
    old, new = text_of(arguments, OLDS), text_of(arguments, NEWS)
    keys = {key.lower() for key in arguments}
    if keys & set(OLDS) and old:
        yield Wanted(path, old, new)
    elif (keys & set(CONTENTS)) and not keys & set(OLDS):
        yield Wanted(path, None, text_of(arguments, CONTENTS))


def _in_shell(command: str) -> Iterator[Wanted]:
    for found in _HEREDOC.finditer(command):
        arrow, path = found[3] or found[5], found[4] or found[6]
        yield Wanted(path.strip("'\""), None, found[9], adds=arrow == ">>")
    for found in _SED.finditer(command):
        yield Wanted(found[5], _plain(found[3]), _plain(found[4]))
    if "*** Begin Patch" in command:
        yield from patch_changes(command)


def _plain(pattern: str) -> str:
    """The text that a simple pattern of sed stands for."""
    return re.sub(r"\\(.)", r"\1", pattern)


def patch_changes(text: str) -> Iterator[Wanted]:
    """The changes of a patch, hunk by hunk."""
    marks = list(_PATCH_FILE.finditer(text)) if "*** Begin Patch" in text else []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=False):
        body = text[mark.end() + 1 : end].partition("*** End Patch")[0]
        if mark[1] == "Delete":
            yield Wanted(mark[2].strip(), None, None)
            continue
        yield from _hunks(mark[2].strip(), body, whole=mark[1] == "Add")
    if marks:
        return
    files = list(_DIFF_FILE.finditer(text))
    for mark, end in zip(files, [*(mark.start() for mark in files[1:]), len(text)], strict=False):
        body = text[mark.end() + 1 : end]
        if mark[2] == _NOTHING:
            yield Wanted(mark[1], None, None)
        else:
            yield from _hunks(mark[2], body, whole=mark[1] == _NOTHING)


def _hunks(path: str, body: str, *, whole: bool) -> Iterator[Wanted]:
    for part in re.split(r"^@@.*$\n?", body, flags=re.MULTILINE):
        lines = [line for line in part.split("\n") if line[:1] in (" ", "+", "-")]
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
        if whole and new:
            yield Wanted(path, None, new)
        elif old != new:
            yield Wanted(path, old, new)
