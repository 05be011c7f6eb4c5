"""The simple commands of a shell line, as far as an audit needs them: words, without what separates them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

MOST_COMMAND_CHARS = 40_000
_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "|&", "\n", "(", ")", ";;"})
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_WRAPPERS = frozenset({"sudo", "env", "time", "command", "exec", "nice", "nohup", "timeout", "then", "do", "else", "!"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each command of a line; texts that are fed to commands are left out. Never raises."""
    text = _HEREDOC.sub(" ", command[:MOST_COMMAND_CHARS])
    for words in _split(text):
        while words and (words[0] in _WRAPPERS or words[0].isdigit()):
            words = words[1:]
        if not words:
            continue
        yield words
        name = words[0].rpartition("/")[2]
        if name in ("bash", "sh", "zsh", "dash") and len(words) > 2 and re.fullmatch(r"-\w*c", words[1]):
            yield from simple_commands(words[2])


def without_assignments(words: list[str]) -> list[str]:
    """The words without variables that are set in front."""
    at = next((i for i, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words))
    return words[at:]


def _split(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for token in lexer:
            if token in _SEPARATORS or (token and set(token) <= set("();|&")):
                yield words
                words = []
            else:
                words.append(token)
    except ValueError:
        # Quotes that do not close: the words as they stand.
        words = [] if words else text.split()
    yield words
