"""Which rules would let similar calls through: what "similar things" in an answer means."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pool.agent.rules.paths import real
from pool.agent.rules.ruleset import RuleSet, action_words
from pool.agent.rules.script import FileUse
from pool.agent.rules.syntax import (
    ACTIONS,
    COMMANDS,
    HOSTS,
    MCP,
    SHELL,
    SWITCHED,
    WRITES,
    Action,
    Rule,
    RuleError,
    parse_rule,
)
from pool.ports import SuggestedRule
from pool_tools.api import ToolError
from pool_tools.network.rules import WEB_PORTS, HostRule
from pool_tools.web.address import page_address

if TYPE_CHECKING:
    from pool.agent.rules.commands import Command

MOST_RULES = 4
"""A command that needs more rules than this is offered none."""

_SUBCOMMANDS = frozenset(
    "git npm pnpm yarn bun cargo go uv uvx pip pip3 poetry docker podman kubectl gh glab brew apt dotnet rustup make "
    "just mvn gradle systemctl nix terraform conda hatch deno npx nox tox task ninja cmake meson bazel".split()
)
"""Programs whose first word says what they do: it stays in the rule."""

_TWO_WORDS = frozenset(
    "npm run,pnpm run,yarn run,bun run,uv run,poetry run,docker compose,git stash,git worktree,git remote,gh pr,"
    "gh issue,gh run,kubectl config,uv pip,cargo run,go tool,deno task".split(",")
)
"""Programs and first words after which a second word says what they do."""

_WORD = re.compile(r"[A-Za-z0-9_][\w.:@/+-]*")
_GLOB_CHARS = re.compile(r"[*?\[{]")


def suggest(rules: RuleSet, tool: str, args: Mapping[str, Any], *, free: bool = False) -> tuple[SuggestedRule, ...]:
    """Rules that together would allow this call and those like it; empty where no narrow rule does.

    free: the mode lets it run, where no rule asks.
    """
    found = _for_secrets(rules, tool, args)
    if not free and (tool in COMMANDS or not found):
        found += _candidates(rules, tool, args)
    if not found:
        return ()
    try:
        tried = RuleSet(rules.workspace, [*rules.rules, *parsed(found)])
    except RuleError:
        return ()
    settled = (Action.ALLOW, None) if free else (Action.ALLOW,)
    return found if tried.judge(tool, args).action in settled else ()


def _for_secrets(rules: RuleSet, tool: str, args: Mapping[str, Any]) -> tuple[SuggestedRule, ...]:
    """Each file by its name: nothing wider allows a file with secrets."""
    found: list[SuggestedRule] = []
    for path in rules.secrets(tool, args):
        led = real(path)
        inside = led.is_relative_to(rules.workspace)
        name = f"./{_escaped(str(led.relative_to(rules.workspace)))}" if inside else _escaped(str(led))
        verb = "write" if tool in WRITES else "read"
        found.append(SuggestedRule(f"{verb}({name})", f"{'changing' if tool in WRITES else 'reading'} this one file"))
    return tuple(found)


def _candidates(rules: RuleSet, tool: str, args: Mapping[str, Any]) -> tuple[SuggestedRule, ...]:
    if tool in COMMANDS and isinstance(command := args.get("command"), str):
        return _for_command(rules, command)
    if tool in WRITES:
        return _for_path(rules.workspace, rules.workspace / str(args.get("path") or "."))
    if tool.startswith(MCP):
        return (SuggestedRule(tool, "every call of this tool"),)
    if tool in HOSTS:
        return _for_host(args)
    if tool in SWITCHED:
        return (SuggestedRule(tool, "every search"),)
    return _for_action(tool, args) if tool in ACTIONS else ()


def _for_host(args: Mapping[str, Any]) -> tuple[SuggestedRule, ...]:
    """The host, and its port where that is none of the web's own."""
    try:
        address = page_address(str(args.get("url", "")))
    except ToolError:
        return ()
    ports = WEB_PORTS if address.port in WEB_PORTS else frozenset({address.port})
    host = str(HostRule(address.host, ports))
    return (SuggestedRule(f"fetch({host})", f"every page of {host}"),)


def _for_action(tool: str, args: Mapping[str, Any]) -> tuple[SuggestedRule, ...]:
    """The action and, where one is named, the remote or branch that it is for."""
    words = [w.text for w in action_words({**args, "rev": ""})]
    if not words or not all(_WORD.fullmatch(w) for w in words):
        return ()
    start = " ".join(words)
    return (SuggestedRule(f"{tool}({start} *)", f"`{tool}` with the action `{start}`, whatever else it is given"),)


def _for_command(rules: RuleSet, text: str) -> tuple[SuggestedRule, ...]:
    script = rules.script(text)
    if script.unclear:
        return ()
    found: dict[str, SuggestedRule] = {}
    for command in script.commands:
        if command.harmless or rules.allowing(command):
            continue
        suggestion = _one_command(command)
        if suggestion is None:
            return ()
        found[suggestion.text] = suggestion
    for use in script.files:
        if rules.file(use, free_writes=False).action is Action.ALLOW:
            continue
        suggestions = _for_file(rules.workspace, use)
        if not suggestions:
            return ()
        found |= {s.text: s for s in suggestions}
    return tuple(found.values()) if len(found) <= MOST_RULES else ()


def _one_command(command: Command) -> SuggestedRule | None:
    """The shortest rule that keeps what the command does and still covers it."""
    words = command.words
    kept = 1
    if words[0].literal and words[0].text in _SUBCOMMANDS:
        kept = 2
        if len(words) > 2 and f"{words[0].text} {words[1].text}" in _TWO_WORDS:
            kept = 3
    elif len(words) > 1 and "." in words[1].text and not words[1].text.startswith(("-", ".")):
        # An interpreter and its script, such as `python tools/check.py`.
        kept = 2
    if command.named or command.never or len(words) < kept or any(w.sharp for w in words):
        return None
    if not all(w.literal and _WORD.fullmatch(w.text) for w in words[1:kept]):
        return None
    start = " ".join(shlex.quote(w.text) for w in words[:kept])
    return SuggestedRule(f"{SHELL}({start} *)", f"`{start}` with any other words after it")


def _for_file(workspace: PurePosixPath, use: FileUse) -> tuple[SuggestedRule, ...]:
    found = [_for_path(workspace, p, tool="write" if use.writes else "read") for p in use.paths]
    return tuple(s for some in found for s in some) if all(found) else ()


def _for_path(workspace: PurePosixPath, path: PurePosixPath, tool: str = "write") -> tuple[SuggestedRule, ...]:
    """The file's folder and all below it; for a file right in the workspace, or outside of it, only that file."""
    led = real(path)
    if ".git" in led.parts or not str(led).isprintable():
        return ()
    does = "changing" if tool == "write" else "reading"
    if not led.is_relative_to(workspace):
        return (SuggestedRule(f"{tool}({_escaped(str(led))})", f"{does} this one file"),)
    folder = led.relative_to(workspace).parent
    if folder == PurePosixPath("."):
        return (SuggestedRule(f"{tool}(./{_escaped(led.name)})", f"{does} this one file"),)
    return (SuggestedRule(f"{tool}({_escaped(str(folder))}/**)", f"{does} any file below {folder}/"),)


def _escaped(path: str) -> str:
    """A path as a pattern for itself."""
    return _GLOB_CHARS.sub(lambda m: f"[{m.group()}]", path)


def parsed(suggestions: Sequence[SuggestedRule]) -> list[Rule]:
    """The suggestions as allow rules."""
    return [parse_rule(Action.ALLOW, s.text) for s in suggestions]
