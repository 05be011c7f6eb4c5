"""File patterns as people write them: `*.py`, `src/**/test_*.py`, `*.{js,ts}`."""

from __future__ import annotations

import re

from pool_tools.api import ToolError
from pool_tools.text import visible

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|[{},]|.", re.DOTALL)


def compile_glob(glob: str) -> re.Pattern[str]:
    """A regular expression for relative paths with `/`.

    Without a `/` in it the pattern is for the last name, at any depth; with one it is for the whole path. `**` stands
    for any folders, `{a,b}` for alternatives.
    """
    pattern = glob.removeprefix("./").strip("/")
    prefix = "" if "/" in pattern else "(?:.*/)?"
    braces = 0
    out: list[str] = []
    for token in _TOKEN.findall(pattern):
        match token:
            case "**/":
                out.append("(?:.*/)?")
            case "**":
                out.append(".*")
            case "*":
                out.append("[^/]*")
            case "?":
                out.append("[^/]")
            case "{":
                braces += 1
                out.append("(?:")
            case "}" if braces:
                braces -= 1
                out.append(")")
            case "," if braces:
                out.append("|")
            case _ if len(token) > 1:
                out.append(_character_class(token))
            case _:
                out.append(re.escape(token))
    if braces:
        raise ToolError(f"The pattern {visible(glob)} has a `{{` without its `}}`.")
    try:
        return re.compile(prefix + "".join(out), re.DOTALL)
    except re.error as error:
        raise ToolError(f"The pattern {visible(glob)} cannot be understood: {error.msg}.") from None


def _character_class(token: str) -> str:
    body = token[1:-1].replace("\\", r"\\").replace("[", r"\[")
    return f"[^{body[1:]}]" if body.startswith("!") else f"[{body}]"
