"""Walking the syntax tree of a shell command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pool.agent.rules import programs
from pool.agent.rules.commands import Command, Taking, assignment, take_assigned
from pool.agent.rules.heredoc import check_heredoc
from pool.agent.rules.paths import normal, real
from pool.agent.rules.script import MOST_DEPTH, MOST_FOLDERS, FileUse, bash_parser, checked_source
from pool.agent.rules.treewords import NOT_UNDERSTOOD, WordReader
from pool.agent.rules.words import Unclear, Word
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from tree_sitter import Node

# A line may go on after a blank or a whole sign: elsewhere bash would join what stands around into another sign.
_JOINED_LINE = rb"(?:(?<=[ \t])|(?<=&&)|(?<=\|\|))\\\n"
_BLANKS = re.compile(rb"(?:[ \t\n]|" + _JOINED_LINE + rb")*")
_BLANKS_IN_LINE = re.compile(rb"(?:[ \t]|" + _JOINED_LINE + rb")*")
_LINE_END = re.compile(rb"(?<!\\)\n")

_GROUPS: dict[str, frozenset[str]] = {
    "program": frozenset({";", "&", "\n"}),
    "list": frozenset({"&&", "||", "\n"}),
    "pipeline": frozenset({"|", "|&", "\n"}),
    "subshell": frozenset({"(", ")", ";", "&", "\n"}),
    "compound_statement": frozenset({"{", "}", ";", "&", "\n"}),
    "if_statement": frozenset({"if", "then", "fi", ";", "&", "\n"}),
    "elif_clause": frozenset({"elif", "then", ";", "&", "\n"}),
    "else_clause": frozenset({"else", ";", "&", "\n"}),
    "while_statement": frozenset({"while", "until", ";", "&", "\n"}),
    "do_group": frozenset({"do", "done", ";", "&", "\n"}),
    "negated_command": frozenset({"!"}),
    "command_substitution": frozenset({"$(", ")", "`", ";", "&", "\n"}),
    "process_substitution": frozenset({"<(", ">(", ")", ";", "&", "\n"}),
}
"""Nodes that only hold statements, and the signs between them."""

_UNKNOWN = {
    "ERROR": NOT_UNDERSTOOD,
    "function_definition": "it defines a function",
    "case_statement": "a `case` statement",
    "c_style_for_statement": "arithmetic, which can run commands",
}

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OPERAND = r"(?:\"\$?[\w./:@%+, -]*\"|'[^'\n]*'|[\w./:@%+,-]+)"
_UNARY = r"-[defrswxzhLn]"
_TEST = re.compile(
    rf"\[ (?:! )?(?:{_UNARY} {_OPERAND}|{_OPERAND} (?:==?|!=|-nt|-ot|-eq|-ne|-lt|-le|-gt|-ge) {_OPERAND}) \]"
    rf"|\[\[ (?:! )?(?:{_UNARY} \$?{_OPERAND}|\$?{_OPERAND} (?:==?|!=|-nt|-ot) \$?{_OPERAND}) \]\]",
    re.ASCII,
)
_REDIRECTIONS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>"})
_STREAMS = re.compile(r"/dev/(?:null|stdin|stdout|stderr|fd/\d+)")
_SOCKETS = ("/dev/tcp/", "/dev/udp/")


@frozen
class _Flow:
    """Where a statement stands: in a loop, and with a pipe or a text as its input."""

    loops: bool = False
    fed: bool = False


class Reader(WordReader):
    """Collects commands, redirections and what is unclear. folders are the working folders that are possible."""

    def __init__(self, folder: PurePosixPath) -> None:
        self.commands: list[Command] = []
        self.files: list[FileUse] = []
        self.unclear: list[str] = []
        super().__init__()
        self._start = folder
        self._folders: tuple[PurePosixPath, ...] | None = (folder,)
        self._depth = 0

    def read(self, text: str, flow: _Flow | None = None) -> None:
        """Take code apart, beside what was collected before. Raises `Unclear` for all of it."""
        flow = flow or _Flow()
        source = checked_source(text)
        self._deeper(1)
        outer, self.source = self.source, source
        try:
            root = bash_parser().parse(self.source).root_node
            if root.has_error:
                self.unclear.append(NOT_UNDERSTOOD)
            before = _BLANKS.fullmatch(self.source, 0, root.start_byte)
            if before is None or _BLANKS.fullmatch(self.source, root.end_byte) is None:
                self.unclear.append(NOT_UNDERSTOOD)
            self._group(root, flow)
        finally:
            self.source = outer
            self._deeper(-1)

    def _deeper(self, by: int) -> None:
        self._depth += by
        if self._depth > MOST_DEPTH:
            self._depth -= by
            raise Unclear("it nests too deeply")

    # -- statements

    def _statement(self, node: Node, flow: _Flow) -> None:
        """Walk one statement; what is unclear in it leaves the others standing."""
        try:
            self._deeper(1)
            try:
                self._walk(node, flow)
            finally:
                self._deeper(-1)
        except Unclear as why:
            self.unclear.append(str(why))

    def _walk(self, node: Node, flow: _Flow) -> None:
        match node.type:
            case "while_statement":
                self._group(node, replace(flow, loops=True))
            case "for_statement":
                self._for(node, replace(flow, loops=True))
            case kind if kind in _GROUPS and not kind.endswith("substitution"):
                self._group(node, flow)
            case "command":
                self._command(node, flow, [])
            case "redirected_statement":
                self._redirected(node, flow)
            case "variable_assignment":
                self._assigned(node)
            case "variable_assignments":
                for child in self._children(node, in_line=True):
                    self._assigned(child)
            case "declaration_command":
                self._declaration(node)
            case "test_command":
                self._test(node)
            case "comment":
                self._comment(node)
            case kind:
                raise Unclear(_UNKNOWN.get(kind, f"{kind.replace('_', ' ')} is not understood"))

    def _group(self, node: Node, flow: _Flow) -> None:
        signs = _GROUPS.get(node.type)
        if signs is None:
            raise Unclear(NOT_UNDERSTOOD)
        piped = node.type == "pipeline"
        before: Node | None = None
        if self.raw(node).startswith(b"(("):
            raise Unclear("arithmetic, which can run commands")
        for i, child in enumerate(self._children(node)):
            if not child.is_named:
                if self.text(child).strip(" \t") not in signs:
                    raise Unclear(f"`{self.text(child)}` is not understood")
                before = None
                continue
            if before is not None and not _LINE_END.search(self.source[before.end_byte : child.start_byte]):
                trailing = child.type == "comment" or before.type == "comment"
                if not trailing:
                    raise Unclear(NOT_UNDERSTOOD)
            inner = replace(flow, fed=True) if piped and i else flow
            if child.type == "file_redirect" and node.type == "command_substitution":
                self._redirect(child)
            else:
                self._statement(child, inner)
            before = child

    def _children(self, node: Node, *, in_line: bool = False) -> Sequence[Node]:
        """The children of a node, with nothing but blanks between them."""
        blanks = _BLANKS_IN_LINE if in_line else _BLANKS
        end = node.start_byte
        for child in node.children:
            if child.is_missing or not blanks.fullmatch(self.source, end, child.start_byte):
                raise Unclear(NOT_UNDERSTOOD)
            end = child.end_byte
        if node.children and not blanks.fullmatch(self.source, end, node.end_byte):
            raise Unclear(NOT_UNDERSTOOD)
        return node.children

    def _comment(self, node: Node) -> None:
        raw = self.raw(node)
        before, after = self.source[: node.start_byte][-1:], self.source[node.end_byte :][:1]
        stands_alone = before in b" \t\n;|&()<>" and after in b"\n"
        if not raw.startswith(b"#") or b"\n" in raw or not stands_alone:
            raise Unclear("a comment is not understood")

    def _for(self, node: Node, flow: _Flow) -> None:
        for child in self._children(node):
            match child.type:
                case "for" | "in" | ";" | "\n":
                    pass
                case "variable_name":
                    if not programs.SHELL_VARIABLES.fullmatch(self.text(child)):
                        raise Unclear(f"it sets the variable {self.text(child)}")
                case "do_group":
                    self._statement(child, flow)
                case "select":
                    raise Unclear("a `select` statement")
                case _:
                    self.word(child)

    def _test(self, node: Node) -> None:
        if not _TEST.fullmatch(self.text(node)):
            raise Unclear("a test that can run commands, or is not understood")

    # -- variables

    def _assigned(self, node: Node) -> None:
        """An assignment that stays: of a variable for the shell's own use, or one that only a rule's words allow."""
        name, value = self._assignment(node)
        if not programs.SHELL_VARIABLES.fullmatch(name):
            word = assignment(name, value.text, literal=value.literal)
            self.commands.append(Command((word,), harmless=not word.sharp))

    def _assignment(self, node: Node) -> tuple[str, Word]:
        if node.type != "variable_assignment":
            raise Unclear("an assignment is not understood")
        name, sign, *rest = node.children
        raw = self.text(name)
        contiguous = all(a.end_byte == b.start_byte for a, b in pairwise(node.children))
        if name.type != "variable_name" or not _NAME.fullmatch(raw) or not contiguous or len(rest) > 1:
            raise Unclear("an assignment that can run commands, or is not understood")
        if self.text(sign) not in ("=", "+="):
            raise Unclear("an assignment is not understood")
        return raw, self.word(rest[0]) if rest else Word("")

    def _declaration(self, node: Node) -> None:
        keyword, *rest = self._children(node, in_line=True)
        if self.text(keyword) != "export":
            raise Unclear(f"`{self.text(keyword)}` changes what later words mean")
        words = [Word("export")]
        for child in rest:
            if child.type == "variable_assignment":
                name, value = self._assignment(child)
                words.append(assignment(name, value.text, literal=value.literal))
            else:
                words.append(Word(self.text(child), sharp=True))
        self.commands.append(Command(tuple(words), harmless=not any(w.sharp for w in words)))

    # -- commands

    def _command(self, node: Node, flow: _Flow, more: Sequence[Word]) -> None:
        assigned: list[Word] = []
        words: list[Word] = []
        end = -1
        for child in self._children(node, in_line=True):
            if child.start_byte == end and not child.type.endswith("_redirect"):
                raise Unclear("two words without a blank between them")
            end = child.end_byte
            match child.type:
                case "variable_assignment":
                    name, value = self._assignment(child)
                    assigned.append(assignment(name, value.text, literal=value.literal))
                case "command_name":
                    words.append(self.word(child.children[0]) if child.child_count == 1 else self.word(child))
                case "file_redirect":
                    flow = replace(flow, fed=self._redirect(child) or flow.fed)
                case "herestring_redirect":
                    self._here_string(child)
                    flow = replace(flow, fed=True)
                case _:
                    words.append(self.word(child))
        words += more
        if not words:
            raise Unclear("a command without a name")
        if words[0].literal and words[0].text == "cd":
            self._cd(words, flow)
            return
        if words[0].text == "read":
            assigned = [w for w in assigned if not w.text.startswith("IFS=")]
        if "/" in words[0].text and not words[0].text.startswith("/") and self._folders != (self._start,):
            raise Unclear(f"`{words[0].text}` after `cd`")
        nested = _Nested(self, flow)
        take_assigned(assigned, words, Taking(flow.fed, nested.read, self.commands.append))

    def _cd(self, words: Sequence[Word], flow: _Flow) -> None:
        """A literal `cd` is followed; below the start it needs no rule."""
        target = words[1] if len(words) == 2 else Word("", literal=False)
        follows = target.literal and target.text not in ("", "-") and not flow.loops and self._folders is not None
        inside = False
        if follows and self._folders is not None:
            new = tuple(dict.fromkeys(normal(f / target.text) for f in self._folders))
            inside = all(real(f).is_relative_to(self._start) for f in new)
            known = tuple(dict.fromkeys((*self._folders, *new)))
            self._folders = known if len(known) <= MOST_FOLDERS else None
        else:
            self._folders = None
        self.commands.append(Command(tuple(words), harmless=inside))

    # -- redirections

    def _redirected(self, node: Node, flow: _Flow) -> None:
        """A statement and its redirections. The parser hangs those of a list's last command on the whole list."""
        children = list(self._children(node))
        redirections = [c for c in children if c.type in _REDIRECTIONS]
        body, *others = [c for c in children if c.type not in _REDIRECTIONS] or [None]
        if others or (body is not None and not body.is_named):
            raise Unclear("a redirection is not understood")
        feeds = any(c.type != "file_redirect" or b"<" in self.raw(c)[:3] for c in redirections)
        flow = replace(flow, fed=flow.fed or feeds)
        more: list[Word] = []
        if body is not None and body.type != "command":
            self._statement(body, flow)
        for child in redirections:
            match child.type:
                case "file_redirect":
                    self._redirect(child, more)
                case "herestring_redirect":
                    self._here_string(child)
                case _:
                    self._heredoc(child, flow, more)
        if body is not None and body.type == "command":
            self._command(body, flow, more)
        elif more:
            raise Unclear("a redirection is not understood")

    def _redirect(self, node: Node, more: list[Word] | None = None) -> bool:
        """Note what a redirection reads or writes; True if it gives the command its input.

        The parser takes words that follow the file for further files: they go to more.
        """
        children = list(self._children(node, in_line=True))
        if children and children[0].type == "file_descriptor":
            children.pop(0)
        if not children:
            raise Unclear("a redirection is not understood")
        sign, *targets = children
        kind = self.text(sign)
        if kind in (">&-", "<&-") and not targets:
            return False
        if not targets or (len(targets) > 1 and more is None):
            raise Unclear("a redirection is not understood")
        words = [self.word(t) for t in targets]
        for before, after in pairwise(targets):
            if before.end_byte == after.start_byte:
                raise Unclear("two words without a blank between them")
        if more is not None:
            more += words[1:]
        if targets[0].type == "process_substitution":
            return kind == "<"
        duplicates = words[0].literal and (words[0].text.isdecimal() or words[0].text == "-")
        if kind in (">&", "<&") and duplicates:
            return kind == "<&"
        if kind not in (*_WRITES, ">&", "<"):
            raise Unclear(f"the redirection `{kind}`")
        self._use(words[0], writes=kind != "<")
        return kind == "<"

    def _use(self, word: Word, *, writes: bool) -> None:
        if not word.literal or not word.text:
            raise Unclear("the file of a redirection is only known when it runs")
        if _STREAMS.fullmatch(word.text):
            return
        path = PurePosixPath(word.text)
        if str(normal(path)).startswith(_SOCKETS):
            raise Unclear("a redirection that opens a network connection")
        if not path.is_absolute() and self._folders is None:
            raise Unclear("the folder of a redirection is only known when it runs")
        folders = self._folders or (self._start,)
        self.files.append(FileUse(tuple(dict.fromkeys(f / path for f in folders)), writes, word.text))

    def _here_string(self, node: Node) -> None:
        for child in self._children(node, in_line=True):
            if child.type not in ("<<<", "file_descriptor"):
                self.word(child)

    def _heredoc(self, node: Node, flow: _Flow, more: list[Word]) -> None:
        check_heredoc(self.source, node)
        for child in node.children:
            match child.type:
                case "<<" | "<<-" | "heredoc_start" | "heredoc_body" | "heredoc_end" | "&&" | "||" | "file_descriptor":
                    pass
                case "file_redirect":
                    self._redirect(child, more)
                case "pipeline":
                    self._statement(child, replace(flow, fed=True))
                case "command" | "redirected_statement" | "list" | "subshell":
                    self._statement(child, flow)
                case _ if child.is_named:
                    more.append(self.word(child))
                case _:
                    raise Unclear("a here-document is not understood")

    def substitution(self, node: Node) -> None:
        self._deeper(1)
        try:
            self._group(node, _Flow())
        finally:
            self._deeper(-1)


@frozen
class _Nested:
    """Reads code that a command runs, such as that of `bash -c`."""

    reader: Reader
    flow: _Flow

    def read(self, code: str) -> None:
        self.reader.read(code, self.flow)
