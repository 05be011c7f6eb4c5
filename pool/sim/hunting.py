"""A search for a fault with functions that look around in files: from a message to the line that is wrong."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from typing import NamedTuple, cast

from pool.sim.boundary import boundaries
from pool.sim.functioncalls import Function
from pool.sim.listing import FileView
from pool.sim.say import Call, Reply
from pool.sim.source import functions, parse

_QUOTED = re.compile(r"[\"“]([^\"”]+)[\"”]")
_HIT = re.compile(r"([\w./-]+):(\d+): ?(.*)")
_CONSTANT = re.compile(r"\s*([A-Z][A-Z0-9_]+)\s*=")
SEARCH, SHOW = "search", "show"
Past = Sequence[tuple[Call, str]]


class Hit(NamedTuple):
    """A line that a search found; row counts from 1."""

    path: str
    row: int
    line: str


def can_hunt(known: Sequence[Function], prompt: str) -> bool:
    """Whether there are functions to search and to show files, and the prompt quotes what to look for."""
    return {SEARCH, SHOW} <= {function.name for function in known} and bool(_QUOTED.search(prompt))


def hunted(prompt: str, known: Sequence[Function], past: Past) -> Reply | None:
    """The next step: search the message, then the constant that holds it; read who raises it; search what decides.

    None if the trail is lost.
    """
    trail = _Trail(prompt, known, past)
    for step in (trail.message, trail.constant, trail.raising, trail.deciding, trail.wrong):
        reply = step()
        if reply is not None:
            return reply
    return None


class _Trail:
    """What is known of the way to the fault. Each step asks for what it lacks, or leaves it to the next one."""

    def __init__(self, prompt: str, known: Sequence[Function], past: Past) -> None:
        self._words = {function.name: next(iter(function.required), "") for function in known}
        quoted = _QUOTED.search(prompt)
        self._needle = quoted[1] if quoted else ""
        self._searched = {self._asked(call): _hits(result) for call, result in past if call.name == SEARCH}
        self._shown = {self._asked(call): _text(result) for call, result in past if call.name == SHOW}
        self._place = Hit("", 0, "")

    def _asked(self, call: Call) -> str:
        return str(call.arguments.get(self._words[call.name]))

    def _search(self, text: str) -> Reply | None:
        if text in self._searched:
            return None
        return Reply(f"I look where {text!r} stands.", calls=(Call(SEARCH, {self._words[SEARCH]: text}),))

    def _show(self, path: str) -> Reply | None:
        if not path or path in self._shown:
            return None
        return Reply(f"I read {path}.", calls=(Call(SHOW, {self._words[SHOW]: path}),))

    def message(self) -> Reply | None:
        """Where the message stands."""
        return self._search(self._needle)

    def constant(self) -> Reply | None:
        """Who uses the constant that holds the message."""
        named = (match[1] for hit in self._searched[self._needle] if (match := _CONSTANT.match(hit.line)))
        self._needle = next(named, self._needle)
        return self._search(self._needle)

    def raising(self) -> Reply | None:
        """The file that raises it."""
        self._place = next((hit for hit in self._searched[self._needle] if "raise " in hit.line), self._place)
        return self._show(self._place.path)

    def deciding(self) -> Reply | None:
        """The function that decides whether it is raised, and its file."""
        name = _decider(self._shown.get(self._place.path, ""), self._place.row)
        if not name:
            return None
        self._needle = f"def {name}"
        asked = self._search(self._needle)
        if asked is not None:
            return asked
        self._place = next(iter(self._searched[self._needle]), self._place)
        return self._show(self._place.path)

    def wrong(self) -> Reply | None:
        """The line in it that is wrong."""
        path, name = self._place.path, self._needle.removeprefix("def ")
        fixes = [fix for fix in boundaries(path, self._shown.get(path, "")) if fix.function == name]
        if not fixes:
            return None
        why = f"{fixes[0].why}: the boundary itself is left out."
        return Reply("That is the line.", f"{path}:{fixes[0].first}\n\n{why}")


def _decider(text: str, row: int) -> str:
    """The function that is asked in the condition around a line, "" if there is none."""
    tree = parse(text)
    for function in functions(tree) if tree is not None else ():
        for node in function.walk():
            if isinstance(node, ast.If) and node.lineno <= row <= (node.end_lineno or 0):
                called = [inner for inner in ast.walk(node.test) if isinstance(inner, ast.Call)]
                return ast.unparse(called[0].func).rpartition(".")[2] if called else ""
    return ""


def _hits(result: str) -> list[Hit]:
    try:
        listed: object = json.loads(result)
        lines = [str(one) for one in cast("list[object]", listed)] if isinstance(listed, list) else result.splitlines()
    except ValueError:
        lines = result.splitlines()
    return [Hit(match[1], int(match[2]), match[3]) for line in lines if (match := _HIT.fullmatch(line))]


def _text(result: str) -> str:
    view = FileView()
    view.learn(result)
    return view.text
