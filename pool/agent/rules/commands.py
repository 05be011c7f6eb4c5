"""One command of a script: what it starts besides itself, and which of its words no wildcard may cover."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from pool.agent.rules import programs
from pool.agent.rules.starters import COMMAND, ENV, STARTERS, XARGS
from pool.agent.rules.words import UNKNOWN, Unclear, Word
from pool_tools.frozen import frozen

_VERSION = re.compile(r"(python|pypy|node|perl|ruby|php|lua)[0-9.]*w?")
_SHELL_CODE = re.compile(r"-[eluxf]*c")
_SHELL_OPTION = re.compile(r"-[euxl]+")
_SET_OPTION = re.compile(r"[-+][euxo]+|errexit|nounset|pipefail|xtrace")

_UNKNOWN_START = frozenset("$`*?[{\"'…")
"""How a word begins, in its source, that may turn out to be an option."""

_TAKES_TEXT = frozenset({"-m", "--message", "-e", "--regexp", "-C", "-name", "-path", "-A", "-B", "-n"})
"""Options whose value is the next word, whatever it looks like."""


@frozen
class Command:
    """One program call of a script.

    words: assignments in front, then the name and the arguments. harmless: it needs no rule. named: only a rule that
    spells its name covers it. never: why no rule at all covers it, "" if one may. anywhere: it starts another program
    that stands among its words.
    """

    words: tuple[Word, ...]
    harmless: bool = False
    named: bool = False
    never: str = ""
    anywhere: bool = False

    @property
    def shown(self) -> str:
        """The command for people; words that are only known later as their source."""
        return " ".join(w.text if w.text else "''" for w in self.words)


@frozen
class Taking:
    """How a command is taken apart: fed says that its input is a pipe or a text, nested takes code to be parsed."""

    fed: bool
    nested: Callable[[str], None]
    add: Callable[[Command], None]


def take(words: Sequence[Word], taking: Taking) -> None:
    """Take a command apart; words hold its name and arguments. Raises `Unclear`."""
    name = words[0]
    if not name.literal or not name.text:
        raise Unclear("the command's name is only known when it runs")
    if name.text in programs.RESERVED or "=" in name.text:
        raise Unclear(f"`{name.text}` as a command's name")
    program = known_name(name.text)
    if program in programs.SHELLS:
        _shell(program, words, taking)
    elif opener := _OPENERS.get(program):
        opener(words, taking)
    elif program in programs.SHELL_CHANGERS:
        raise Unclear(f"`{program}` changes what later words mean")
    else:
        taking.add(_ordinary(program, tuple(words), taking.fed))


def known_name(name: str) -> str:
    """What a program is known as: its name, or the last part of a path in a system folder; else the path itself."""
    path = PurePosixPath(name)
    return path.name if str(path.parent) in programs.SYSTEM_FOLDERS else name


def _ordinary(program: str, words: tuple[Word, ...], fed: bool) -> Command:
    family = (_VERSION.fullmatch(program) or [program, program])[1].replace("pypy", "python")
    sharp = programs.SHARP.get(
        {"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "fdfind": "fd"}.get(program, program)
    )
    if sharp is not None:
        words = _sharpen(words, sharp)
    words = _sharp_script(program, words)
    never = ""
    if (code := programs.CODE_OPTIONS.get(family)) is not None:
        words, never = _interpreter(words, code)
    elif fed and program in programs.READS_CODE:
        never = f"{program} runs what it is fed"
    return Command(
        words,
        harmless=_is_harmless(program, words),
        named=program in programs.NAMED_ONLY or program.startswith("mkfs."),
        never=never,
        anywhere=program in programs.LAUNCHERS,
    )


def _sharpen(words: tuple[Word, ...], sharp: re.Pattern[str]) -> tuple[Word, ...]:
    """Words with those made sharp that are, or may turn out to be, what sharp is for."""
    out = [words[0]]
    operands = False
    for before, word in pairwise(words):
        text = word.text
        if not word.literal:
            may_be = text[:1] in _UNKNOWN_START or (text.startswith("-") and "=" not in text.split("$")[0])
            is_value = not word.splits and before.literal and before.text in _TAKES_TEXT
            is_sharp = (may_be and not is_value and not operands) or sharp.fullmatch(text) is not None
        else:
            is_sharp = sharp.fullmatch(text) is not None
            operands = operands or text == "--"
        out.append(word.sharpened() if is_sharp else word)
    return tuple(out)


def _is_harmless(program: str, words: tuple[Word, ...]) -> bool:
    texts = [w.text for w in words[1:]]
    literal = all(w.literal for w in words)
    match program:
        case "printf":
            return bool(texts) and not any(w.sharp for w in words) and words[1].literal
        case "read":
            return literal and all(t == "-r" or programs.SHELL_VARIABLES.fullmatch(t) for t in texts)
        case "test":
            return literal and len(texts) < 4 and not any(w.sharp for w in words)
        case _ if program in programs.COUNTED:
            return literal and all(t.isdecimal() for t in texts)
        case _:
            return program in programs.HARMLESS


def _interpreter(words: tuple[Word, ...], code: re.Pattern[str]) -> tuple[tuple[Word, ...], str]:
    """Code on the command line is sharp; an interpreter without a script runs its input, which no rule covers."""
    out = list(words)
    for i in range(1, len(words)):
        word = words[i]
        if not word.literal:
            return tuple(out), "which code it runs is only known when it runs"
        if code.fullmatch(word.text):
            out[i:] = [w.sharpened() for w in words[i:]]
            return tuple(out), ""
        if word.text in programs.MODULE_OPTIONS or word.text in programs.ONLY_TELLS:
            return tuple(out), ""
        if word.text == "-" or not word.text.startswith("-"):
            return tuple(out), "it runs the code that it reads from its input" if word.text == "-" else ""
    return tuple(out), "it runs the code that it reads from its input"


def _sharp_script(program: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The scripts of sed and awk, sharp where they may do more than print."""
    is_sed = program in ("sed", "gsed")
    if not is_sed and program not in ("awk", "gawk", "mawk", "nawk"):
        return words
    out = list(words)
    explicit = is_sed and any(w.text.startswith(("-e", "--expression")) for w in words)
    seen = False
    for i in range(1, len(words)):
        text = words[i].text
        is_script = text.startswith(("-e", "--expression")) or words[i - 1].text == "-e" if explicit else not seen
        if not explicit and text.startswith("-"):
            continue
        seen = True
        script = text.removeprefix("-e").removeprefix("--expression=") if explicit else text
        fine = words[i].literal and (
            programs.SAFE_SED.fullmatch(script) if is_sed else not programs.UNSAFE_AWK.search(script)
        )
        if is_script and not fine:
            out[i] = words[i].sharpened()
    return tuple(out)


# -- commands that start others


def _shell(program: str, words: Sequence[Word], taking: Taking) -> None:
    for i, word in enumerate(words[1:], 1):
        if not word.literal:
            break
        if _SHELL_CODE.fullmatch(word.text):
            if i + 1 == len(words) or not words[i + 1].literal:
                raise Unclear(f"the code that `{program}` runs is only known when it runs")
            taking.add(Command(tuple(words), harmless=True))
            taking.nested(words[i + 1].text)
            return
        if word.text in ("--version", "--help"):
            taking.add(Command(tuple(words)))
            return
        if _SHELL_OPTION.fullmatch(word.text) or words[i - 1].text == "-o":
            continue
        if word.text.startswith(("-", "+")):
            raise Unclear(f"the option {word.text} of `{program}`")
        taking.add(Command(tuple(words)))
        return
    raise Unclear(f"`{program}` runs commands that are only known when it runs")


def _eval(words: Sequence[Word], taking: Taking) -> None:
    if not all(w.literal for w in words):
        raise Unclear("what `eval` runs is only known when it runs")
    taking.add(Command(tuple(words), harmless=True))
    taking.nested(" ".join(w.text for w in words[1:]))


def _start(words: Sequence[Word], taking: Taking) -> None:
    options = STARTERS[known_name(words[0].text)]
    inner = options.inner(words)
    taking.add(Command(tuple(words), harmless=not options.named, named=options.named, anywhere=options.named))
    if inner:
        take(inner, taking)
    elif options.named:
        raise Unclear(f"`{words[0].text}` without a command")


def _command(words: Sequence[Word], taking: Taking) -> None:
    """`command -v NAME` only tells; else it starts NAME."""
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        taking.add(Command(tuple(words), harmless=True))
        return
    inner = COMMAND.inner(words)
    taking.add(Command(tuple(words), harmless=True))
    if inner:
        take(inner, taking)


def _env(words: Sequence[Word], taking: Taking) -> None:
    rest = list(ENV.inner(words))
    assigned: list[Word] = []
    while rest and "=" in rest[0].text:
        name, _, value = rest[0].text.partition("=")
        assigned.append(assignment(name, value, literal=rest.pop(0).literal))
    if not rest:
        taking.add(Command(tuple(words)))
        return
    take_assigned(assigned, rest, taking)
    taking.add(Command(tuple(words), harmless=True))


def _xargs(words: Sequence[Word], taking: Taking) -> None:
    inner = XARGS.inner(words)
    taking.add(Command(tuple(words), harmless=True))
    if inner:
        marks = {w.text[2:] or after.text for w, after in pairwise(words) if w.text.startswith("-I")}
        known = [UNKNOWN if any(m in w.text for m in marks if m) else w for w in inner]
        take([*known, UNKNOWN], replace(taking, fed=False))


_FOUND = Word("./{}", literal=False)
"""What find puts in place of `{}`: a path that begins with one of its own arguments, so never an option."""

_FIND_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _find(words: Sequence[Word], taking: Taking) -> None:
    if any(not w.literal and w.splits and not _is_file_pattern(w) for w in words[1:]):
        raise Unclear("an argument of `find` that is only known when it runs")
    words = [_FOUND if w.text == "{}" else replace(w, literal=False) if "{}" in w.text else w for w in words]
    taking.add(_ordinary("find", tuple(words), taking.fed))
    i = 1
    while i < len(words):
        if words[i].text in _FIND_STARTS:
            end = next((j for j in range(i + 1, len(words)) if words[j].text in (";", "+")), None)
            if end is None or end == i + 1:
                raise Unclear(f"the end of {words[i].text} in `find`")
            take(words[i + 1 : end], taking)
            i = end
        i += 1


def _is_file_pattern(word: Word) -> bool:
    """A pattern for file names that cannot turn into an action of `find`, or its own `{}`."""
    return word.text == "{}" or (word.text[:1] not in _UNKNOWN_START and not any(c in word.text for c in "$`{"))


def _set(words: Sequence[Word], taking: Taking) -> None:
    if not all(w.literal and _SET_OPTION.fullmatch(w.text) for w in words[1:]) or len(words) == 1:
        raise Unclear("`set` changes what later words mean")
    taking.add(Command(tuple(words), harmless=True))


_OPENERS: dict[str, Callable[[Sequence[Word], Taking], None]] = {
    **dict.fromkeys(STARTERS, _start),
    "command": _command,
    "env": _env,
    "eval": _eval,
    "find": _find,
    "set": _set,
    "xargs": _xargs,
}


# -- variables


def assignment(name: str, value: str, *, literal: bool) -> Word:
    """`NAME=value` as a word: sharp, unless the variable changes no program into another."""
    return Word(f"{name}={value}", literal=literal, sharp=not programs.SAFE_VARIABLES.fullmatch(name))


def take_assigned(assigned: Sequence[Word], words: Sequence[Word], taking: Taking) -> None:
    """Take a command apart that has assignments in front: what it starts is matched with those that matter."""
    sharp = tuple(w for w in assigned if w.sharp)
    if not sharp:
        take(words, taking)
        return

    def add(command: Command) -> None:
        taking.add(replace(command, words=(*sharp, *command.words), harmless=False))

    take(words, replace(taking, add=add))
