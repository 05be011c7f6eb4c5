"""Programs that start another one: which of their words are options, and where the other one begins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pool.agent.rules.words import Unclear, Word
from pool_tools.frozen import frozen

_NONE = re.compile(r"(?!)")
_NUMBER = r"-?[0-9.]+[smhd]?"


@frozen
class Options:
    """Options of a program that starts another: alone, or with a value in the next word."""

    alone: re.Pattern[str]
    valued: re.Pattern[str] = _NONE
    operands: int = 0
    named: bool = False

    def inner(self, words: Sequence[Word]) -> Sequence[Word]:
        """The words of the program that is started. Raises `Unclear` at an option that is not known."""
        i = 1
        while i < len(words):
            word = words[i]
            if not word.literal:
                raise Unclear(f"an option of `{words[0].text}` that is only known when it runs")
            if word.text == "--":
                i += 1
                break
            if not word.text.startswith("-") or word.text == "-":
                break
            if self.valued.fullmatch(word.text):
                i += 2
            elif self.alone.fullmatch(word.text):
                i += 1
            else:
                raise Unclear(f"the option {word.text} of `{words[0].text}`")
        rest = words[i:]
        if not all(w.literal for w in rest[: self.operands]):
            raise Unclear(f"an operand of `{words[0].text}` that is only known when it runs")
        return rest[self.operands :]


STARTERS: dict[str, Options] = {
    "nohup": Options(_NONE),
    "time": Options(re.compile(r"-p|-v")),
    "setsid": Options(re.compile(r"-[wfc]+|--wait|--fork")),
    "nice": Options(re.compile(r"-n?-?\d+|--adjustment=-?\d+"), re.compile(r"-n")),
    "ionice": Options(re.compile(r"-[cn]\d|-t"), re.compile(r"-[cn]")),
    "stdbuf": Options(re.compile(r"-[ioe][L0]|--(?:input|output|error)=[L0]"), re.compile(r"-[ioe]")),
    "timeout": Options(
        re.compile(rf"-k{_NUMBER}|-s\w+|--signal=\w+|--kill-after={_NUMBER}|--foreground|--preserve-status|-v"),
        re.compile(r"-[ks]|--signal|--kill-after"),
        operands=1,
    ),
    "builtin": Options(_NONE),
    "exec": Options(_NONE),
    "sudo": Options(re.compile(r"-[nEHSk]+"), re.compile(r"-[ugp]"), named=True),
    "doas": Options(re.compile(r"-n"), re.compile(r"-u"), named=True),
}

ENV = Options(re.compile(r"-i|-|--ignore-environment|--unset=\w+"), re.compile(r"-u|--unset"))

XARGS = Options(
    re.compile(
        r"-0|--null|-r|--no-run-if-empty|-t|-x|-[nPLl]\d+|-I\S+|-d\S+|--max-(?:args|procs|lines)=\d+|--delimiter=.+"
    ),
    re.compile(r"-[nPLIdsE]|--max-args|--max-procs|--delimiter"),
)

COMMAND = Options(_NONE)
"""The builtin `command`, when it starts something."""
