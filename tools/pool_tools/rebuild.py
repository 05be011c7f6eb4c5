"""The new text of a matched place: what the replacement leaves as it was keeps the file's own bytes."""

from __future__ import annotations

from collections.abc import Callable

from pool_tools.frozen import frozen
from pool_tools.textfile import line_end, to_lf

LineMaker = Callable[[str, str, str], str]
"""(line of the file or "", line of old_text or "", new line) -> the line to write."""


def plain(_file: str, _old: str, new: str) -> str:
    """The new line as the model wrote it."""
    return new


@frozen
class Pieces:
    """Text cut at its line ends: contents one more than ends."""

    contents: list[str]
    ends: list[str]


def cut(text: str) -> Pieces:
    """text in pieces at `\\n` and `\\r\\n`."""
    contents = text.split("\n")
    ends = ["\n"] * (len(contents) - 1)
    for i in range(len(ends)):
        if contents[i].endswith("\r"):
            contents[i] = contents[i][:-1]
            ends[i] = "\r\n"
    return Pieces(contents, ends)


def rebuild(matched: str, old: str, new: str, default_end: str, make: LineMaker = plain) -> str:
    """What replaces matched, a text that old stands for line by line, so that it says new.

    Lines that old and new share keep matched's own content and line end; new lines get the line end of the line that
    they replace, else the one that is most frequent in matched, else default_end.
    """
    from difflib import SequenceMatcher

    file = cut(matched)
    olds, news = to_lf(old).split("\n"), to_lf(new).split("\n")
    style = line_end(matched) if file.ends else default_end
    out: list[tuple[str, str]] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, olds, news, autojunk=False).get_opcodes():
        paired = tag == "equal" or i2 - i1 == j2 - j1
        for j in range(j1, j2):
            i = i1 + j - j1 if paired else -1
            end = file.ends[i] if 0 <= i < len(file.ends) else style
            if tag == "equal":
                out.append((file.contents[i], end))
            elif paired:
                out.append((make(file.contents[i], olds[i], news[j]), end))
            else:
                out.append((make("", "", news[j]), end))
    return "".join(content + end for content, end in out[:-1]) + out[-1][0]
