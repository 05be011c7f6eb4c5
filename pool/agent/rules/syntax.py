"""The text of a rule: `shell(git log *)`, `write(src/**)`, `read`."""

from __future__ import annotations

import re
from enum import StrEnum

from pool_tools.frozen import frozen

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
SHELL = "shell"
READS = frozenset({"read", "list", "search"})
"""Tools that a `read` rule covers."""

WRITES = frozenset({"write", "edit", "apply_patch"})
"""Tools that a `write` rule covers."""

COMMANDS = frozenset({SHELL, "job"})
"""Tools that take a shell command: shell rules are about all of them."""

ACTIONS = frozenset({"git", "job"})
"""Tools with typed actions: their patterns are for the action and what it is about, as in `git(push origin *)`."""

HOSTS = frozenset({"fetch"})
"""Tools that reach a host of the web: their patterns are for that, as in `fetch(docs.python.org)`."""

SWITCHED = HOSTS | {"web_search"}
"""Tools that are there only where the user switches them on: rules about them are right all the same."""

MCP = "mcp__"
"""How the names of MCP tools begin: `mcp__SERVER__TOOL`. A rule's name may end in `*`, as in `mcp__docs__*`."""

_PATHS = READS | WRITES
_MOST_CHARS = 1_000
_WILD = "*"


class Action(StrEnum):
    """What a rule says. Deny wins over ask, ask over allow."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class RuleError(ValueError):
    """A rule that cannot be understood. The message shows the rule, the place of the mistake and what would do."""

    def __init__(self, text: str, at: int, why: str) -> None:
        self.at = at
        shown = text.encode("unicode_escape").decode("ascii")
        column = len(text[:at].encode("unicode_escape"))
        super().__init__(f"the rule {shown!r}, column {column + 1}: {why}\n    {shown}\n    {' ' * column}^")


@frozen
class Rule:
    """One rule. tool is a tool's name; pattern is for its command or path, "" covers every call of the tool.

    words are the pattern's words, of rules for commands and actions.
    """

    action: Action
    tool: str
    pattern: str = ""
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The rule as it is written, without its action."""
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    def __str__(self) -> str:
        return f"{self.action.value} {self.text}"

    @property
    def is_path(self) -> bool:
        return self.tool in _PATHS

    def covers_tool(self, name: str) -> bool:
        """Whether a call of the tool name falls under this rule, its pattern aside."""
        match self.tool:
            case "read":
                return name in READS
            case "write":
                return name in WRITES
            case tool if tool.startswith(MCP) and tool.endswith(_WILD):
                return name.startswith(tool[:-1])
            case tool:
                return tool == name


def parse_rule(action: Action, text: str) -> Rule:
    """A rule from its text. Raises `RuleError`."""
    body = text.strip()
    start = text.index(body) if body else 0
    if len(text) > _MOST_CHARS:
        raise RuleError(text[:40] + "...", 0, f"it is longer than {_MOST_CHARS:,} characters")
    bad = next((i for i, c in enumerate(text) if not c.isprintable()), -1)
    if bad >= 0:
        raise RuleError(text, bad, "a character that cannot be seen; write the rule on one line, with plain spaces")
    name = _NAME.match(body)
    if name is None:
        raise RuleError(text, start, "a tool's name is missing; write TOOL or TOOL(PATTERN), such as shell(git log *)")
    rest = body[name.end() :]
    at = start + name.end()
    if not rest or (rest == _WILD and _ends_server(name.group())):
        return Rule(action, body)
    if not rest.startswith("("):
        raise RuleError(text, at, f"`(` or the end was expected after {name.group()!r}, as in {name.group()}(PATTERN)")
    if not rest.endswith(")"):
        raise RuleError(text, start + len(body), "the closing `)` is missing")
    pattern = rest[1:-1].strip()
    if not pattern:
        raise RuleError(text, at + 1, f"the pattern is empty; {name.group()} alone covers every call")
    return _with_pattern(action, name.group(), pattern, text, text.index(pattern, at + 1))


def _ends_server(name: str) -> bool:
    """Whether a name is the whole beginning of one server's tools: `mcp__docs__`."""
    return name.startswith(MCP) and len(name) > len(MCP) and name.endswith("__")


def _with_pattern(action: Action, tool: str, pattern: str, text: str, at: int) -> Rule:
    if tool == SHELL or tool in ACTIONS:
        words = _shell_words(pattern, text, at)
        return Rule(action, tool, "" if words == (_WILD,) else pattern, () if words == (_WILD,) else words)
    if tool in _PATHS:
        _check_path(pattern, text, at)
        return Rule(action, tool, "" if pattern == "**" else pattern)
    if pattern == _WILD:
        return Rule(action, tool)
    if tool in HOSTS:
        _check_host(pattern, text, at)
        return Rule(action, tool, pattern)
    takes = (
        f"shell takes a command, {', '.join(sorted(_PATHS))} a path, {', '.join(sorted(ACTIONS))} an action, "
        f"{', '.join(sorted(HOSTS))} a host"
    )
    raise RuleError(text, at, f"{tool} takes no pattern; {takes}")


def _shell_words(pattern: str, text: str, at: int) -> tuple[str, ...]:
    """Split into words. Quotes keep blanks in a word; a pattern has no operators, since it is for one command."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    opened = 0
    for i, char in enumerate(pattern):
        if quote:
            if char == quote:
                quote = ""
            else:
                word = (word or "") + char
        elif char in "'\"":
            quote, opened, word = char, i, word or ""
        elif char == " ":
            if word is not None:
                words.append(word)
            word = None
        elif char in "|&;<>`()":
            what = f"`{char}` stands between commands; a rule is for one command, and every part is checked"
            raise RuleError(text, at + i, f"{what}. Write one rule a command, or quote the character")
        else:
            word = (word or "") + char
    if quote:
        raise RuleError(text, at + opened, f"the quote {quote} is not closed")
    if word is not None:
        words.append(word)
    if any(c in words[0] for c in "*?") and words != [_WILD]:
        raise RuleError(text, at, "the command's name must be written out; only `*` alone stands for any command")
    if not words[0]:
        raise RuleError(text, at, "the command's name is empty")
    if words[0] == _WILD and len(words) > 1:
        raise RuleError(text, at, "`*` cannot stand for a command's name before other words")
    return tuple(words)


def _check_host(pattern: str, text: str, at: int) -> None:
    from pool_tools.network.rules import allow_list

    try:
        found = allow_list([pattern])
    except ValueError as error:
        raise RuleError(text, at, str(error)) from None
    if any(host.private for host in found.hosts) or found.loopback_ports:
        raise RuleError(text, at, "private addresses and this machine's are never fetched by a rule; --net names them")


def _check_path(pattern: str, text: str, at: int) -> None:
    if ".." in pattern.split("/"):
        raise RuleError(text, at + pattern.index(".."), "`..` is not understood in a path; write it from the root")
    if pattern.count("{") != pattern.count("}"):
        raise RuleError(text, at + max(pattern.rfind("{"), pattern.rfind("}")), "`{` and `}` do not match")
    if pattern.startswith("~") and not pattern.startswith("~/"):
        raise RuleError(text, at, "only `~/` is understood, for your own home folder")
