"""From what checkers print to problems. Whatever they print, a parser gives problems or raises `NotUnderstood`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from pool.extend.diagnostics.problems import Problem
from pool.messages import valid_text
from pool_tools.colours import people_text, plain_text
from pool_tools.text import clip, visible

MESSAGE_CHARS = 300
LINE_CHARS = 2_000
"""Longer lines of a checker's output are no problem's."""

MOST_PARSED = 5_000
"""Problems of one run that are looked at."""

Parser = Callable[[str, Path], list[Problem]]
"""Takes a checker's output and the folder that it ran in, the workspace."""

_TSC = re.compile(
    r"(?P<path>[^(\n]+)\((?P<line>\d+),(?P<column>\d+)\): (?P<severity>\w+) (?P<code>TS\d+): (?P<message>.*)"
)
_GO = re.compile(r"(?:vet: )?(?P<path>[^:\n]+\.go):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<message>.*)")

_SEVERITIES = {"error": "error", "fatal": "error", "warning": "warning", "warn": "warning"}
_CARGO_LEVELS = ("error", "warning")


class NotUnderstood(ValueError):
    """Output that is not what the checker prints."""


def problem(root: Path, path: str, line: object, column: object, severity: str, code: object, message: str) -> Problem:
    """A problem from what a checker says; path may be absolute or relative to root."""
    full = os.path.normpath(root / path)
    shown = os.path.relpath(full, root) if Path(full).is_relative_to(root) else full
    text = valid_text(plain_text(people_text(message))).strip().split("\n")[0]
    return Problem(
        visible(shown),
        _whole(line),
        _whole(column),
        _SEVERITIES.get(severity.lower(), "info"),
        visible(code)[:40] if isinstance(code, str) else "",
        clip(visible(" ".join(text.split())), MESSAGE_CHARS),
    )


def ruff(output: str, root: Path) -> list[Problem]:
    """`ruff check --output-format=json`."""
    out: list[Problem] = []
    for one in _items(_json(_from(output, "["))):
        at = _object(one.get("location"))
        severity = "error" if one.get("code") in (None, "invalid-syntax") else "warning"
        path, said = str(one.get("filename", "")), str(one.get("message", ""))
        out.append(problem(root, path, at.get("row"), at.get("column"), severity, one.get("code"), said))
    return out


def pyright(output: str, root: Path) -> list[Problem]:
    """`pyright --outputjson`; its lines and columns count from 0."""
    out: list[Problem] = []
    for one in _items(_object(_json(_from(output, "{"))).get("generalDiagnostics")):
        at = _object(_object(one.get("range")).get("start"))
        line, column = _whole(at.get("line")) + 1, _whole(at.get("character")) + 1
        path, said = str(one.get("file", "")), str(one.get("message", ""))
        out.append(problem(root, path, line, column, str(one.get("severity")), one.get("rule"), said))
    return out


def cargo(output: str, root: Path) -> list[Problem]:
    """`cargo check --message-format=json`: one JSON object a line, among other lines."""
    out: list[Problem] = []
    for line in output.split("\n"):
        row = _object(_json(line)) if line.startswith("{") else {}
        said = _object(row.get("message"))
        if row.get("reason") != "compiler-message" or said.get("level") not in _CARGO_LEVELS:
            continue
        spans = [span for span in _items(said.get("spans")) if span.get("is_primary")]
        if not spans:
            continue
        code = _object(said.get("code")).get("code")
        path, at, column = str(spans[0].get("file_name", "")), spans[0].get("line_start"), spans[0].get("column_start")
        out.append(problem(root, path, at, column, str(said["level"]), code, str(said.get("message", ""))))
    if not out and "could not compile" not in output and "error:" in output:
        raise NotUnderstood(output[output.find("error:") :].split("\n")[0])
    return list(dict.fromkeys(out))


def tsc(output: str, root: Path) -> list[Problem]:
    """`tsc --pretty false`."""
    return list(_lines(_TSC, output, root))


def go(output: str, root: Path) -> list[Problem]:
    """`go vet`, and what the compiler says in its place."""
    return list(_lines(_GO, output, root, "error"))


def by_pattern(pattern: str, path: str) -> Parser:
    """A parser for lines that fit a user's pattern; path is meant where a line names none."""
    compiled = re.compile(pattern)

    def parse(output: str, root: Path) -> list[Problem]:
        return list(_lines(compiled, output, root, "error", path))

    return parse


def _lines(
    pattern: re.Pattern[str], output: str, root: Path, severity: str = "error", path: str = ""
) -> Iterator[Problem]:
    found = 0
    for line in plain_text(people_text(output)).split("\n"):
        match = pattern.search(line) if len(line) <= LINE_CHARS else None
        if match is None:
            continue
        found += 1
        if found > MOST_PARSED:
            return
        has = {name: value or "" for name, value in match.groupdict().items()}
        where = has.get("path", "").strip() or path
        of = has.get("severity") or severity
        yield problem(root, where, has.get("line"), has.get("column"), of, has.get("code"), has["message"])


def _from(output: str, mark: str) -> str:
    """The output from the first line on that begins with a mark: warnings may come before it."""
    found = 0 if output.startswith(mark) else output.find(f"\n{mark}") + 1
    return output[found:]


def _json(text: str) -> Any:
    try:
        # What follows the value is let be: error output comes by the same pipe.
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        first = next((line for line in text.split("\n") if line.strip()), "nothing")
        raise NotUnderstood(f"it printed {visible(first)[:120]}") from None


def _object(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _items(value: Any) -> list[dict[str, Any]]:
    return [_object(one) for one in cast(list[Any], value)[:MOST_PARSED]] if isinstance(value, list) else []


def _whole(value: object) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 9:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
