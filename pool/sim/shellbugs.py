"""Two kinds of bug in shell scripts: a variable without quotes, and a number compared off by one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pool.sim.source import Fix, Kind

SHELL_ENDS = (".sh", ".bash")
_COMMENT = re.compile(r"^\s*#(?!!)\s?(.*)$", re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\(\(.*?\)\)")
_BARE = re.compile(r"(?<=\s)\$(\w+|\{\w+\})(?=\s|$)")
_ASSIGNED = re.compile(r"^\s*(?:export |local |readonly )?\w+=")
_COMPARED = re.compile(r"-(lt|le|gt|ge)\b")
_ONE_OFF = re.compile(r"\$\(\(\s*\$?(\w+)\s*[+-]\s*1\s*\)\)")
_INCLUSIVE = {"lt": re.compile(r"\bat most\b|\bup to\b", re.I), "gt": re.compile(r"\bat least\b|\bor more\b", re.I)}
_FLIPPED = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}


def is_shell(path: str) -> bool:
    """Whether a path is one of a shell script."""
    return path.endswith(SHELL_ENDS)


def shell_name(path: str) -> str:
    """What stands for a script's function in a `Fix`: the name of its file."""
    return path.rpartition("/")[2]


def shell_bugs(path: str, text: str) -> list[Fix]:
    """Possible mends, the sure ones first."""
    about = " ".join(_COMMENT.findall(text))
    found = [fix for row, line in enumerate(text.splitlines(), 1) for fix in _in_line(path, row, line, about)]
    return sorted(found, key=lambda fix: not fix.sure)


def _in_line(path: str, row: int, line: str, about: str) -> Iterator[Fix]:
    if line.lstrip().startswith("#"):
        return
    name = shell_name(path)

    def fix(new: str, kind: Kind, why: str, *, sure: bool) -> Fix:
        return Fix(path, row, row, new, kind, name, why, sure)

    # Same length, so that places stay what they are.
    outside = _QUOTED.sub(lambda match: "x" * len(match[0]), line)
    bare = [] if _ASSIGNED.match(line) or "for " in outside else list(_BARE.finditer(outside))
    if bare:
        new = line
        for match in reversed(bare):
            new = f'{new[: match.start()]}"{match[0]}"{new[match.end() :]}'
        yield fix(new, Kind.UNQUOTED, f"`{bare[0][0]}` falls apart at a blank", sure=True)
    for match in _COMPARED.finditer(outside):
        sign, flipped = match[1], _FLIPPED[match[1]]
        one_off = _ONE_OFF.search(line, match.end())
        if one_off is not None:
            plain = f'{line[: one_off.start()]}"${one_off[1]}"{line[one_off.end() :]}'
            yield fix(plain, Kind.BOUNDARY, f"`{one_off[0]}` is one off", sure=False)
        new = f"{line[: match.start(1)]}{flipped}{line[match.end(1) :]}"
        sure = sign in _INCLUSIVE and one_off is None and bool(_INCLUSIVE[sign].search(about))
        yield fix(new, Kind.BOUNDARY, f"`-{sign}` should be `-{flipped}`", sure=sure)
