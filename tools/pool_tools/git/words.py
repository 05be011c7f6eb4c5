"""The parameters of a git call, checked: names that are no options, paths inside the workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from pool_tools.api import ToolError
from pool_tools.arguments import flag_argument, integer_argument, text_argument
from pool_tools.frozen import frozen
from pool_tools.text import unescape_name, valid_unicode, visible
from pool_tools.workspace import Workspace

LOG_COMMITS = 20
LOG_COMMITS_MOST = 500

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
_STASH = re.compile(r"(?:stash@\{)?(\d{1,4})\}?")
_LINES = re.compile(r"(\d{1,9})\s*[-,:]\s*(\d{1,9})")


class Action(StrEnum):
    """What a call does."""

    STATUS = "status"
    DIFF = "diff"
    LOG = "log"
    SHOW = "show"
    BLAME = "blame"
    BRANCH = "branch"
    ADD = "add"
    COMMIT = "commit"
    STASH = "stash"
    RESTORE = "restore"
    WORKTREE = "worktree"
    FETCH = "fetch"
    PUSH = "push"


READING = frozenset({Action.STATUS, Action.DIFF, Action.LOG, Action.SHOW, Action.BLAME})
REMOTE = frozenset({Action.FETCH, Action.PUSH})

OPERATIONS: Mapping[Action, tuple[str, ...]] = {
    Action.BRANCH: ("list", "create", "switch", "delete"),
    Action.STASH: ("push", "list", "show", "pop", "apply", "drop"),
    Action.WORKTREE: ("list", "add", "remove"),
}
"""What the parameter `op` can say, its default first."""

READING_OPERATIONS = frozenset({"list", "show"})


@frozen
class Call:
    """A git call. What was not given is "", empty, false or the default."""

    action: Action
    op: str
    paths: tuple[str, ...]
    rev: str
    name: str
    message: str
    lines: str
    staged: bool
    every: bool
    count: int

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.action in READING or self.op in READING_OPERATIONS


def parse(args: Mapping[str, Any]) -> Call:
    """The call that args say. Raises `ToolError` for what cannot be one."""
    action = _action(text_argument(args, "action"))
    operations = OPERATIONS.get(action, ("",))
    op = text_argument(args, "op", "").strip() or operations[0]
    if op not in operations:
        allowed = f"one of {', '.join(operations)}" if operations[0] else "left out"
        raise ToolError(f"`op` of {action} must be {allowed}, not {op!r}.")
    count = integer_argument(args, "count", LOG_COMMITS)
    return Call(
        action=action,
        op=op,
        paths=_paths(args.get("paths")),
        rev=_name("rev", text_argument(args, "rev", "")),
        name=_name("name", text_argument(args, "name", "")),
        message=text_argument(args, "message", ""),
        lines=text_argument(args, "lines", "").strip(),
        staged=flag_argument(args, "staged"),
        every=flag_argument(args, "all"),
        count=min(max(1, count), LOG_COMMITS_MOST),
    )


def _action(given: str) -> Action:
    try:
        return Action(given.strip())
    except ValueError:
        raise ToolError(
            f"`action` must be one of {', '.join(Action)}, not {given!r}. For anything else use git in the shell."
        ) from None


def _name(parameter: str, given: str) -> str:
    """A revision, a range or a name. One that begins with a dash would be an option."""
    text = given.strip()
    if text.startswith("-"):
        raise ToolError(f"`{parameter}` {text!r} begins with a dash: options cannot be given, only names.")
    if _CONTROL.search(text):
        raise ToolError(f"`{parameter}` holds control characters: {visible(text)}.")
    return text


def _paths(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    out: list[str] = []
    for item in items:
        if not isinstance(item, str) or not item.strip():
            raise ToolError("`paths` must be a list of file names.")
        if "\0" in item:
            raise ToolError(f"`paths` holds a NUL character: {visible(item)}.")
        out.append(valid_unicode(item, "`paths`"))
    return tuple(out)


def inside(workspace: Workspace, paths: Sequence[str]) -> tuple[str, ...]:
    """paths as git is to see them, from the main folder on. Raises `ToolError` if one leads out of the workspace.

    Links are not followed: to git they are files of their own.
    """
    return tuple(_inside(workspace, path) for path in paths)


def _inside(workspace: Workspace, path: str) -> str:
    top = str(workspace.root)
    absolute = os.path.normpath(os.path.join(top, path))
    if "\\x" in path and not os.path.lexists(absolute):
        # Names with odd bytes are shown with escapes.
        real = os.path.normpath(os.path.join(top, unescape_name(path)))
        absolute = real if os.path.lexists(real) else absolute
    if not any(os.path.commonpath((str(root), absolute)) == str(root) for root in workspace.roots):
        raise ToolError(f"{visible(path)} is outside the workspace {visible(top)}.")
    return os.path.relpath(absolute, top) if os.path.commonpath((top, absolute)) == top else absolute


def remote_name(call: Call, default: str) -> str:
    """The remote that a call names. Addresses are refused: what is fetched and pushed is the user's choice."""
    name = call.name or default
    if not _REMOTE.fullmatch(name) or ".." in name:
        raise ToolError(f"`name` {name!r} must be the name of a remote that is set up, such as origin.")
    return name


def stash_entry(call: Call) -> str:
    """The stash that `rev` names: `2`, `stash@{2}`, the newest by default."""
    found = _STASH.fullmatch(call.rev or "0")
    if not found:
        raise ToolError(f"`rev` {call.rev!r} must be a stash: stash@{{0}} or its number.")
    return f"stash@{{{found[1]}}}"


def line_range(call: Call) -> str:
    """The lines that `lines` names, as git takes them; "" for all."""
    if not call.lines:
        return ""
    found = _LINES.fullmatch(call.lines)
    if not found:
        raise ToolError(f"`lines` must be first-last, such as 10-40, not {call.lines!r}.")
    return f"{found[1]},{found[2]}"
