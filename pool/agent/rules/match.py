"""Whether a rule is about a command or a path: surely, perhaps, or not."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from itertools import dropwhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pool.agent.rules.paths import normal, real
from pool.agent.rules.syntax import Action, Rule
from pool.agent.rules.words import Word
from pool_tools.globs import compile_glob
from pool_tools.home import home
from pool_tools.network.rules import WEB_PORTS, HostRule, allow_list

if TYPE_CHECKING:
    # The tables of programs are imported with the first command that is judged.
    from pool.agent.rules.commands import Command

_REST = "*"
_GUARDED_PART = ".git"
"""A part of a path that no wildcard of an allow rule covers: git runs what lies there."""


class Match(IntEnum):
    """How surely a rule is about something. An allow rule must be sure; for ask and deny, perhaps is enough to ask."""

    NO = 0
    MAYBE = 1
    YES = 2


def match_command(rule: Rule, command: Command) -> Match:
    """How a shell rule meets a command."""
    if rule.action is Action.ALLOW:
        return Match.YES if _allows(rule, command) else Match.NO
    if not rule.words:
        return Match.YES
    words = list(dropwhile(lambda w: "=" in w.text, command.words)) or list(command.words)
    starts = range(len(words)) if command.anywhere else range(1)
    return max((_meets(rule.words, words[i:]) for i in starts), default=Match.NO)


def _allows(rule: Rule, command: Command) -> bool:
    if command.never or not command.words:
        return False
    if not rule.words:
        return not command.named and not any(w.sharp for w in command.words)
    return _covers(rule.words, command.words)


def _covers(pattern: Sequence[str], words: Sequence[Word]) -> bool:
    """Whether each word is spelled by the pattern or covered by a wildcard that may cover it."""
    if pattern and pattern[-1] == _REST:
        fixed = pattern[:-1]
        tail = words[len(fixed) :]
        return len(words) >= len(fixed) and _covers(fixed, words[: len(fixed)]) and not any(w.sharp for w in tail)
    return len(pattern) == len(words) and all(map(_covers_word, pattern, words))


def _covers_word(pattern: str, word: Word) -> bool:
    if pattern == _REST:
        return not word.sharp and not word.splits
    if not word.literal:
        return False
    if "*" not in pattern:
        return pattern == word.text
    climbs = ".." in word.text.split("/")
    return not word.sharp and not climbs and _wild(pattern).fullmatch(word.text) is not None


@lru_cache(maxsize=1024)
def _wild(pattern: str) -> re.Pattern[str]:
    """A word's pattern: `*` stands for any characters."""
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL | re.IGNORECASE)


def _meets(pattern: Sequence[str], words: Sequence[Word]) -> Match:
    """For ask and deny: the name counts without its folder and in any case; options between words do not hide it."""
    if not words:
        return Match.NO
    name = words[0]
    if not name.literal:
        return Match.MAYBE
    from pool.agent.rules.commands import known_name

    if PurePosixPath(known_name(name.text)).name.casefold() != PurePosixPath(pattern[0]).name.casefold():
        return Match.NO
    return _meets_rest(pattern[1:], words[1:])


def _meets_rest(pattern: Sequence[str], words: Sequence[Word]) -> Match:
    """A loose search: between the pattern's words, options and the word after an option may stand."""
    best = Match.NO
    # (pattern index, word index, whether the word before is an option, certain)
    todo = [(0, 0, False, True)]
    seen: set[tuple[int, int, bool, bool]] = set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        p, w, after_option, sure = state
        rest = pattern[p:]
        if not rest or list(rest) == [_REST]:
            if rest or w == len(words) or all(x.text.startswith("-") for x in words[w:]):
                best = max(best, Match.YES if sure else Match.MAYBE)
            continue
        if w == len(words):
            continue
        word = words[w]
        if not word.literal:
            # It may be the wanted word, or nothing, or stand for more of them.
            todo += [(p + 1, w + 1, False, False), (p, w + 1, False, False)]
            todo += [(p + 1, w, False, False)] if word.splits else []
            continue
        if rest[0] == _REST or _wild(rest[0]).fullmatch(word.text):
            todo.append((p + 1, w + 1, False, sure))
        if word.text.startswith("-") or after_option:
            todo.append((p, w + 1, word.text.startswith("-"), sure))
    return best


def match_action(rule: Rule, words: Sequence[Word]) -> Match:
    """How a rule for typed actions meets an action's words; ask and deny rules look at as many as they have."""
    if not rule.words:
        return Match.YES
    pattern = rule.words if rule.action is Action.ALLOW or rule.words[-1] == _REST else (*rule.words, _REST)
    return Match.YES if _covers(pattern, words) else Match.NO


def match_host(rule: Rule, host: str, port: int) -> Match:
    """How a rule for hosts meets one. Without a port, an allow rule is for the web's own ports, others for any."""
    if not rule.pattern:
        return Match.YES
    (covered,) = _hosts(rule.pattern)
    ports = covered.ports
    if rule.action is not Action.ALLOW and ports == WEB_PORTS:
        ports = ports | {port}
    return Match.YES if replace(covered, ports=ports).matches(host, port) else Match.NO


@lru_cache(maxsize=256)
def _hosts(pattern: str) -> tuple[HostRule, ...]:
    return allow_list([pattern]).hosts


def match_path(rule: Rule, path: PurePosixPath, workspace: PurePosixPath) -> Match:
    """How a path rule meets an absolute path, links included: allow rules see where it leads, others that too."""
    if rule.action is Action.ALLOW:
        return Match.YES if _path_covered(rule.pattern, real(path), workspace) else Match.NO
    if not rule.pattern:
        return Match.YES
    lexical = normal(path)
    met = any(_path_met(rule.pattern, p, workspace) for p in {lexical, real(path)})
    return Match.YES if met else Match.NO


def _path_covered(pattern: str, path: PurePosixPath, workspace: PurePosixPath) -> bool:
    inside = path.is_relative_to(workspace)
    guarded = _GUARDED_PART in path.relative_to(workspace).parts if inside else _GUARDED_PART in path.parts
    if guarded and _GUARDED_PART not in PurePosixPath(pattern).parts:
        return False
    return _path_met(pattern, path, workspace)


def _path_met(pattern: str, path: PurePosixPath, workspace: PurePosixPath) -> bool:
    """Patterns are for paths below the workspace, unless they begin with `/` or `~/`."""
    inside = path.is_relative_to(workspace)
    if not pattern:
        return inside
    expression, absolute = _glob(pattern)
    if absolute:
        return expression.fullmatch(str(path).lstrip("/")) is not None
    return inside and expression.fullmatch(str(path.relative_to(workspace))) is not None


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> tuple[re.Pattern[str], bool]:
    """The expression for a pattern, and whether it is for absolute paths (without their first `/`)."""
    whole = pattern
    if whole.startswith("~/"):
        whole = os.path.join(os.path.realpath(home()), whole[2:])
    absolute = whole.startswith("/")
    anchored = absolute or whole.startswith("./")
    glob = whole.removeprefix("./").strip("/")
    if anchored and "/" not in glob:
        # A pattern without a folder would be for names at any depth.
        return re.compile(compile_glob(glob).pattern.removeprefix("(?:.*/)?"), re.DOTALL), absolute
    return compile_glob(glob), absolute
