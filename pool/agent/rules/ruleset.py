"""All rules of a session at work: deny wins over ask, ask over allow, and every part of a call counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pool.agent.rules.match import Match, match_action, match_command, match_host, match_path
from pool.agent.rules.paths import real
from pool.agent.rules.script import FileUse, Script, parse_script
from pool.agent.rules.syntax import COMMANDS, HOSTS, READS, SHELL, WRITES, Action, Rule
from pool.agent.rules.words import Word
from pool_tools.api import ToolError
from pool_tools.frozen import frozen
from pool_tools.secretfiles import is_secret_file, looks_secret
from pool_tools.web.address import page_address

if TYPE_CHECKING:
    from pool.agent.rules.commands import Command

MOST_SHOWN_CHARS = 200
"""So much of a command a reason quotes."""


@frozen
class Verdict:
    """What the rules say of a call. action None: no rule settles it, the mode does.

    why is for people and for the model: the rule and the part that it is about, or what is not understood. guards: it
    asks because a deny rule may be met. secrets: it asks because of these files alone, which may hold keys.
    """

    action: Action | None
    why: str = ""
    guards: bool = False
    secrets: tuple[PurePosixPath, ...] = ()


NOTHING = Verdict(None)
LISTING = frozenset({"list"})
_BETWEEN = re.compile(r"[\s'\"=<>|;&()`$,:{}@]+")
"""What stands between names of files in a command, as far as that can be told without its grammar."""

_ACTION_KEYS = ("action", "op", "name", "rev")


class RuleSet:
    """Rules over one workspace. They may be added to while the session runs."""

    def __init__(self, workspace: PurePosixPath, rules: Iterable[Rule] = ()) -> None:
        """workspace is the absolute path, as commands and file tools start from it."""
        self.workspace = real(workspace)
        self._rules: list[Rule] = list(dict.fromkeys(rules))

    @property
    def rules(self) -> Sequence[Rule]:
        return tuple(self._rules)

    def add(self, rules: Iterable[Rule]) -> None:
        """Add rules; those that are there already change nothing."""
        self._rules += [r for r in dict.fromkeys(rules) if r not in self._rules]

    def may_allow(self, tool: str) -> bool:
        """Whether an allow rule for the tool is there at all."""
        return any(r.action is Action.ALLOW and r.covers_tool(tool) for r in self._rules)

    def judge(self, tool: str, args: Mapping[str, Any], *, free_writes: bool = False) -> Verdict:
        """What the rules say of a call of tool with args. free_writes: redirections into the workspace need no rule."""
        verdict = self._by_rules(tool, args, free_writes=free_writes)
        if verdict.action in (Action.DENY, Action.ASK):
            return verdict
        found = self.secrets(tool, args)
        if not found:
            return verdict
        names = ", ".join(f"`{_short(path.name)}`" for path in found)
        kind = "look like files" if len(found) > 1 else "looks like a file"
        return Verdict(Action.ASK, f"{names} {kind} with keys or passwords", secrets=found)

    def secrets(self, tool: str, args: Mapping[str, Any]) -> tuple[PurePosixPath, ...]:
        """Files with secrets that a call names and that no rule allows by name."""
        if tool in (READS | WRITES) - LISTING:
            named = [str(args.get("path") or ".")]
        elif tool in COMMANDS and isinstance(command := args.get("command"), str):
            named = [word for word in _BETWEEN.split(command) if looks_secret(PurePosixPath(word).name)]
        else:
            return ()
        paths = dict.fromkeys(self.workspace / name for name in named)
        return tuple(path for path in paths if is_secret_file(str(path)) and not self.shows(path))

    def shows(self, path: PurePosixPath) -> bool:
        """Whether a rule allows a file by its name: one for folders or for any name does not, for a secret file."""
        return any(
            rule.action is Action.ALLOW
            and rule.tool in ("read", "write")
            and PurePosixPath(rule.pattern).name.strip("*?") != ""
            and match_path(rule, path, self.workspace)
            for rule in self._rules
        )

    def _by_rules(self, tool: str, args: Mapping[str, Any], *, free_writes: bool) -> Verdict:
        if tool in READS | WRITES:
            return self._path(tool, self.workspace / str(args.get("path") or "."))
        if tool in HOSTS:
            return self._host(tool, args)
        command = args.get("command")
        if tool not in COMMANDS or not isinstance(command, str):
            return self._action(tool, args)
        if tool != SHELL and (own := self._action(tool, args)).action in (Action.ASK, Action.DENY):
            return own
        return self._shell(command, free_writes=free_writes)

    def script(self, command: str) -> Script:
        """A command of the shell tool taken apart."""
        return parse_script(command, self.workspace)

    # -- typed actions, and tools without a pattern

    def _action(self, tool: str, args: Mapping[str, Any]) -> Verdict:
        """Shell rules that ask or deny are about git's actions too; those that allow are not, as some go further."""
        words = action_words(args)
        shown = " ".join((tool, *(w.text for w in words)))
        met = [(r, match_action(r, words), shown) for r in self._rules if r.covers_tool(tool)]
        if tool == "git":
            from pool.agent.rules.commands import Command

            command = Command((Word(tool), *words))
            strict = (r for r in self._rules if r.tool == SHELL and r.action is not Action.ALLOW)
            met += [(r, match_command(r, command), shown) for r in strict]
        return _worst([m for m in met if m[1]]) or NOTHING

    # -- hosts of the web

    def _host(self, tool: str, args: Mapping[str, Any]) -> Verdict:
        try:
            address = page_address(str(args.get("url", "")))
        except ToolError:
            # The call fails before it leaves the machine.
            return NOTHING
        met = [
            (r, match_host(r, address.host, address.port), address.authority)
            for r in self._rules
            if r.covers_tool(tool)
        ]
        return _worst([m for m in met if m[1]]) or NOTHING

    # -- files

    def _path(self, tool: str, path: PurePosixPath) -> Verdict:
        met = [
            (r, match_path(r, path, self.workspace), str(path))
            for r in self._rules
            if r.is_path and r.covers_tool(tool)
        ]
        return _worst([m for m in met if m[1]]) or NOTHING

    def file(self, use: FileUse, *, free_writes: bool) -> Verdict:
        """What the rules say of a redirection; allowed only where it is allowed for every folder it may be in."""
        tool = "write" if use.writes else "read"
        verdicts = [self._path(tool, p) for p in use.paths]
        for action in (Action.DENY, Action.ASK):
            if found := next((v for v in verdicts if v.action is action), None):
                return found
        missing = [
            path
            for path, verdict in zip(use.paths, verdicts, strict=True)
            if verdict.action is None and not self._free(path, writes=use.writes, free_writes=free_writes)
        ]
        if not missing:
            return Verdict(Action.ALLOW, next((v.why for v in verdicts if v.why), ""))
        does = "writes" if use.writes else "reads"
        return Verdict(None, f"no rule covers that it {does} {_short(use.shown)}")

    def _free(self, path: PurePosixPath, *, writes: bool, free_writes: bool) -> bool:
        """Whether a redirection needs no rule: reading inside the workspace, and writing there if that runs unasked."""
        if writes and not free_writes:
            return False
        led = real(path)
        return led.is_relative_to(self.workspace) and ".git" not in led.relative_to(self.workspace).parts

    # -- commands

    def _shell(self, text: str, *, free_writes: bool) -> Verdict:
        shell = [r for r in self._rules if r.tool == SHELL]
        if not shell and not any(r.is_path for r in self._rules):
            return NOTHING
        if denied := next((r for r in shell if r.action is Action.DENY and not r.words), None):
            return Verdict(Action.DENY, _says(denied, "every command"))
        script = self.script(text)
        files = [self.file(use, free_writes=free_writes) for use in script.files]
        against = [r for r in shell if r.action is not Action.ALLOW]
        met = [(r, match_command(r, c), c.shown) for c in script.commands for r in against]
        worst = _worst([m for m in met if m[1]])
        for action in (Action.DENY, Action.ASK):
            for verdict in (worst, *files):
                if verdict is not None and verdict.action is action:
                    return verdict
        if script.unclear:
            why = f"not understood: {'; '.join(script.unclear[:2])}"
            if not against:
                return Verdict(None, why)
            guards = any(r.action is Action.DENY for r in against)
            return Verdict(Action.ASK, f"{why}; it may hide what a rule is about", guards)
        return self._allowed(script, files)

    def _allowed(self, script: Script, files: Sequence[Verdict]) -> Verdict:
        by: dict[str, None] = {}
        for command in script.commands:
            rule = self.allowing(command)
            if rule is not None:
                by[rule.text] = None
            elif not command.harmless:
                why = f" ({command.never})" if command.never else ""
                return Verdict(None, f"no rule covers `{_short(command.shown)}`{why}")
        if missing := next((f for f in files if f.action is None), None):
            return missing
        by |= dict.fromkeys(f.why for f in files if f.why)
        return Verdict(Action.ALLOW, ", ".join(by)) if by else NOTHING

    def allowing(self, command: Command) -> Rule | None:
        """The first allow rule that covers a command of a script."""
        rules = (r for r in self._rules if r.action is Action.ALLOW and r.tool == SHELL)
        return next((r for r in rules if match_command(r, command)), None)


def _worst(met: Sequence[tuple[Rule, Match, str]]) -> Verdict | None:
    """The verdict of the rules that were met; None if there is none. A deny rule that only may be met asks."""
    by_weight = sorted(met, key=lambda m: (_WEIGHT[m[0].action], m[1]), reverse=True)
    for rule, match, what in by_weight:
        match rule.action, match:
            case Action.DENY, Match.MAYBE:
                return Verdict(Action.ASK, _says(rule, what, sure=False), guards=True)
            case Action.ALLOW, _:
                return Verdict(Action.ALLOW, rule.text)
            case action, _:
                return Verdict(action, _says(rule, what, sure=match is Match.YES))
    return None


_WEIGHT = {Action.ALLOW: 0, Action.ASK: 1, Action.DENY: 2}


def action_words(args: Mapping[str, Any]) -> tuple[Word, ...]:
    """A typed action as words: the action and what it is about."""
    return tuple(Word(str(args[key])) for key in _ACTION_KEYS if args.get(key))


def _says(rule: Rule, what: str, *, sure: bool = True) -> str:
    return f"the rule `{rule}` {'is' if sure else 'may be'} about `{_short(what)}`"


def _short(text: str) -> str:
    """Text on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_SHOWN_CHARS else line[:MOST_SHOWN_CHARS] + " ..."
