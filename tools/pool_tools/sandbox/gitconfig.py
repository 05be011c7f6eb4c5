"""What of a git configuration names no program and leads nowhere else: what a repository may bring along.

An allow-list: keys that can run something are many, and new ones come with every version of git.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_SECTION = re.compile(r'\s*\[([A-Za-z0-9-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\][ \t]*')
_SETTING = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_COMMENT = re.compile(r"[ \t]*(?:[#;].*)?")

_PLAIN = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol "
    "safecrlf quotepath abbrev longpaths commentchar",
    "extensions": "objectformat compatobjectformat refstorage worktreeconfig partialclone",
    "user": "name email useconfigonly",
    "init": "defaultbranch",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "fetch": "prune prunetags",
    "index": "version",
    "lfs": "repositoryformatversion",
}
_NAMED = {
    "remote": "url pushurl fetch tagopt prune promisor partialclonefilter",
    "branch": "remote merge rebase pushremote description",
    "submodule": "url active branch path",
}
"""Sections whose name stands in quotes after them."""

_ADDRESSES = ("url", "pushurl")
_ELSEWHERE = ("core", "worktree")


def harmless(text: str, inside: Callable[[str], bool]) -> tuple[str, tuple[str, ...]]:
    """The part of a configuration that is known to be harmless, and the names of what is left out.

    inside: whether a work tree, as the configuration names it, may be written. If nothing is left out, git reads the
    text as it was understood here.
    """
    kept: list[str] = []
    dropped: list[str] = []
    section = name = ""
    for line in text.split("\n"):
        if _COMMENT.fullmatch(line):
            kept.append(line)
        elif found := _SECTION.fullmatch(line):
            section, name = found[1].lower(), found[2] or ""
            kept.append(line)
        elif (found := _SETTING.fullmatch(line)) and _allowed(section, name, found[1].lower(), found[2] or "", inside):
            kept.append(line)
        else:
            key = found[1].lower() if found else line.strip()
            dropped.append(".".join(part for part in (section, name, key) if part))
    return "\n".join(kept), tuple(dropped)


def included(text: str) -> list[str]:
    """Files that a configuration takes in, as it names them; no name of a file has a NUL character."""
    out: list[str] = []
    section = ""
    for line in text.split("\n"):
        if found := _SECTION.fullmatch(line):
            section = found[1].lower()
        elif section in ("include", "includeif") and (found := _SETTING.fullmatch(line)) and found[1].lower() == "path":
            out.append((found[2] or "").strip().strip('"'))
    return [name for name in out if "\0" not in name]


def _allowed(section: str, name: str, key: str, value: str, inside: Callable[[str], bool]) -> bool:
    if value.endswith("\\") or not value.isprintable():
        return False
    if (section, key) == _ELSEWHERE and not name:
        return inside(value.strip().strip('"'))
    if key not in (_NAMED if name else _PLAIN).get(section, "").split():
        return False
    # An address with :: names a program that fetches, one that begins with - is an option to whoever runs it.
    return key not in _ADDRESSES or not ("::" in value or value.strip('" ').startswith("-"))
