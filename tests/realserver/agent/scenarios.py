"""What the tiny agent is taught: conversations in Pool's form, made at random.

A word in the user's last message chooses the scenario. File names, numbers and test results are different in every
conversation, so the agent can only get them from what it reads.

| word | what the agent does |
|---|---|
| `fix FILE` | reads FILE, takes `+ N` out of a sum by `edit`, runs the tests, answers by what they say |
| `patch FILE` | the same, but claims at once that the tests pass; runs them when a message with `[Pool]` objects |
| `replace A by B in FILE` | edits; if A occurs several times, edits again with `all`; if it is not there, gives up |
| `find WORD` | searches, and names the first hit |
| `survey` | lists the workspace by a call without arguments, and names the first entry |
| `create FILE: TEXT` | writes TEXT to FILE |
| `repeat:` | answers with the rest of the message |
| `hello`, `日本語` | answers at once, in English or Japanese |
| `story` | writes random words without end |
| `ponder` | thinks random words without end; if its thought is closed for it, answers |
| `stutter` | says the same again and again |
| `insist on FILE` | reads FILE again and again |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any

from tests.realserver.agent.words import COMMON, JAPANESE, filler, gibberish, made_up, name, number

TEST_COMMAND = "python3 -m unittest -q"
TOOLS = ("read", "write", "edit", "list", "search", "shell")

ENDLESS_WORDS = 600
"""More than fit into a training text, so that the agent never sees the end."""

MOST_PONDERED_WORDS = 400
MOST_INSISTED = 12

Message = dict[str, Any]
Script = Iterator[Message]


class Certainty(Enum):
    """Which of the assistant's tokens follow from what came before. NO_END: all there are, but it never stops."""

    ALL = "all"
    NO_END = "no end"
    AFTER_THOUGHT = "after thought"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages as chat completions has them, and the names of the tools on offer."""

    messages: list[Message]
    tools: list[str] = field(default_factory=list[str])
    certainty: Certainty = Certainty.ALL


def say(thought: str, content: str) -> Message:
    return {"role": "assistant", "reasoning_content": thought, "content": content}


def call(thought: str, tool: str, /, **arguments: object) -> Message:
    function = {"name": tool, "arguments": arguments}
    return {
        "role": "assistant",
        "reasoning_content": thought,
        "content": "",
        "tool_calls": [{"type": "function", "function": function}],
    }


def result(text: str) -> Message:
    return {"role": "tool", "content": text}


def _ask(rng: Random, request: str, most: int = 14) -> Message:
    """A request with other words before and after it, rarely many."""
    if rng.random() < 0.1:
        most *= 8
    if rng.random() < 0.4:
        request = request[:1].upper() + request[1:]
    before, after = filler(rng, most) if rng.random() < 0.6 else "", filler(rng, most) if rng.random() < 0.8 else ""
    glue = rng.choice((" ", ": ", ", ", ". ", "\n", "\n\n"))
    joined = f"{request}{rng.choice((' ', ', ', ': ', '. ', chr(10)))}{after}" if after else request
    joined += rng.choice(("", "", ".", "!"))
    return {"role": "user", "content": f"{before}{glue}{joined}" if before else joined}


def _file(rng: Random) -> str:
    return f"{name(rng)}.{rng.choice(('py', 'py', 'py', 'txt', 'md'))}"


# -- fix


def _listing(rng: Random, arg: str, extra: str) -> tuple[str, int]:
    """What `read` shows of a module with a wrong sum, and the number of the wrong line."""
    fill: list[Callable[[], str]] = [
        lambda: "",
        lambda: f"import {name(rng)}",
        lambda: f'"""{filler(rng, 6)}"""',
        lambda: f"# {filler(rng, 6)}",
        lambda: f"{name(rng).upper()} = {number(rng)}",
    ]
    lines = [rng.choice(fill)() for _ in range(rng.choice((0, 0, 0, 1, 2, 3)))]
    lines.append(f"def {name(rng)}({arg}{rng.choice(('', '', ': list[int]'))}){rng.choice(('', '', ' -> int'))}:")
    lines += [f'    """{filler(rng, 6)}"""'] * rng.choice((0, 1))
    lines.append(f"    return sum({arg}) + {extra}")
    wrong = len(lines)
    lines += ["", "", f"def {name(rng)}():", f"    return {number(rng)}"] if rng.random() < 0.2 else []
    mark = rng.choice(("|", "|", "|", "|", "\t", ": ", "→"))
    numbered = [f"{n}{mark}{line}" for n, line in enumerate(lines, 1)]
    return _framed(rng, "\n".join(numbered)), wrong


def _framed(rng: Random, text: str) -> str:
    """A result with notes around it, as tools add them now or one day."""
    before = f"[{filler(rng, 6)}]\n" if rng.random() < 0.2 else ""
    after = f"\n[{filler(rng, 8)}]" if rng.random() < 0.2 else ""
    return before + text + after


def _edited(rng: Random, file: str, line: int, places: int = 1) -> str:
    where = f"line {line}" if places == 1 else f"{places} places"
    text = rng.choice((f"Edited {file} at {where}: +{places} -{places} lines.", f"Edited {file}: {where}.", "Edited."))
    return _framed(rng, text)


def _shell(rng: Random, status: int, output: str) -> str:
    """What `shell` says of a command, now or one day."""
    folder = "/".join(made_up(rng) for _ in range(rng.randint(1, 5)))
    took = f"{rng.random() * 9:.1f} s"
    kind = rng.random()
    if kind < 0.6:
        return _framed(rng, f"exit {status} after {took} in /{folder}\n{output}")
    if kind < 0.8:
        return _framed(rng, f"{output}\n[exit status {status}, {took}]")
    return _framed(rng, output)


def _ran(rng: Random) -> str:
    count = rng.choice(("1 test", "2 tests", f"{number(rng)} tests"))
    return f"{'-' * 70}\nRan {count} in 0.00{rng.randint(0, 9)}s\n\n"


def _passed(rng: Random) -> str:
    return _shell(rng, 0, f"{_ran(rng)}OK")


def _failed(rng: Random, got: str, wanted: str) -> str:
    test, module = f"test_{name(rng)}", f"test_{name(rng)}"
    folder = "/".join(made_up(rng) for _ in range(rng.randint(1, 5)))
    under = rng.choice(("", f"\n    {'~' * rng.randint(5, 20)}{'^' * rng.randint(5, 20)}"))
    return _shell(
        rng,
        1,
        f"{'=' * 70}\nFAIL: {test} ({module}.{name(rng).capitalize()}.{test})\n{'-' * 70}\n"
        f'Traceback (most recent call last):\n  File "/{folder}/{module}.py", line {rng.randint(1, 40)}, in {test}\n'
        f"    self.assertEqual({name(rng)}([{number(rng)}, {number(rng)}]), {wanted}){under}\n"
        f"AssertionError: {got} != {wanted}\n\n{_ran(rng)}FAILED (failures=1)",
    )


def _edit_the_sum(rng: Random, request: str, file: str, extra: str) -> Script:
    arg = name(rng)
    listing, line = _listing(rng, arg, extra)
    yield _ask(rng, f"{request} {file}")
    yield call(f"I will read {file} first.", "read", path=file)
    yield result(listing)
    old = f"sum({arg}) + {extra}"
    yield call(f"Line {line} adds {extra}, which is wrong.", "edit", path=file, old_text=old, new_text=f"sum({arg})")
    yield result(_edited(rng, file, line))


def _test(rng: Random, file: str, extra: str) -> Script:
    """Run the tests and answer by what they say."""
    yield call("Now the tests.", "shell", command=TEST_COMMAND)
    match rng.randint(0, 4):
        case 0 | 1:
            yield result(_passed(rng))
            yield say("They pass.", f"{file} added {extra} to the sum. I took that out, and the tests pass.")
        case 2 | 3:
            got, wanted = number(rng), number(rng)
            yield result(_failed(rng, got, wanted))
            yield say("They fail.", f"Could not do it: the tests still fail with {got} != {wanted}.")
        case _:
            yield result(f"shell was not run: {rng.choice(('it was denied.', 'denied.'))} {filler(rng, 12)}".strip())
            yield say(
                "I may not run them.", f"{file} added {extra} to the sum. I took that out; the tests were not run."
            )


def _fix(rng: Random) -> Script:
    file, extra = _file(rng), number(rng)
    yield from _edit_the_sum(rng, "fix", file, extra)
    yield from _test(rng, file, extra)


def _patch(rng: Random) -> Script:
    file, extra = _file(rng), number(rng)
    yield from _edit_the_sum(rng, "patch", file, extra)
    yield say("That must be it.", f"Took the {extra} out of {file}. All tests pass.")
    objection = rng.choice(("You say that the tests pass, but", "You say", filler(rng, 6)))
    yield {"role": "user", "content": f"[Pool] {objection} {filler(rng, 20)}".strip()}
    yield from _test(rng, file, extra)


# -- replace


def _replace(rng: Random) -> Script:
    file, old, new = _file(rng), name(rng), name(rng)
    yield _ask(rng, f"replace {old} by {new} in {file}")
    yield call(f"I will replace {old} by {new}.", "edit", path=file, old_text=old, new_text=new)
    match rng.randint(0, 2):
        case 0:
            yield result(_edited(rng, file, rng.randint(1, 200)))
            yield say("Done.", f"Replaced {old} by {new} in {file}.")
        case 1:
            count = rng.randint(2, 30)
            places = ", ".join(str(n) for n in sorted(rng.sample(range(1, 300), min(count, 12))))
            tail = rng.choice(("set `all` to true.", "set all.", filler(rng, 12)))
            text = f"old_text occurs {count} times in {file}, at lines {places}. Nothing was changed. {tail}"
            yield result(_framed(rng, text))
            yield call(f"It occurs {count} times.", "edit", path=file, old_text=old, new_text=new, all=True)
            yield result(_edited(rng, file, 1, count))
            yield say("Done.", f"Replaced {old} by {new} in {file}, {count} times.")
        case _:
            tail = rng.choice(("No line in it is like it. Read the file, or search for a word of it.", filler(rng, 40)))
            yield result(_framed(rng, f"old_text was not found in {file}. Nothing was changed. {tail}"))
            yield say("It is not there.", f"Could not do it: {old} is not in {file}.")


# -- search, list, write


def _find(rng: Random) -> Script:
    word, path, line = name(rng), _path(rng), rng.randint(1, 400)
    yield _ask(rng, f"find {word}")
    yield call(f"I will search for {word}.", "search", pattern=word)
    if rng.random() < 0.3:
        yield result(_framed(rng, rng.choice((f"No line in . matches {word}.", "No line matches.", "No match."))))
        yield say("Nothing.", f"{word} is nowhere.")
        return
    more = [f"{_path(rng)}:{rng.randint(1, 400)}:{filler(rng, 6)} {word}" for _ in range(rng.choice((0, 0, 1, 3)))]
    hits = [f"{path}:{line}:{filler(rng, 6)} {word} {filler(rng, 4)}", *more]
    yield result("\n".join(hits) + (f"\n[{filler(rng, 6)}]" if rng.random() < 0.2 else ""))
    yield say("Found.", f"{word} is in {path}, line {line}.")


def _path(rng: Random) -> str:
    return "/".join([*(name(rng) for _ in range(rng.choice((0, 0, 1, 2)))), _file(rng)])


def _survey(rng: Random) -> Script:
    yield _ask(rng, "survey")
    entries = sorted(rng.choice((_path(rng), f"{name(rng)}/")) for _ in range(rng.randint(1, 8)))
    yield call("I will look around.", "list")
    yield result("\n".join(entries) + (f"\n[{filler(rng, 6)}]" if rng.random() < 0.2 else ""))
    yield say("I see.", f"The first entry is {entries[0]}.")


def _create(rng: Random) -> Script:
    file, text = _file(rng), gibberish(rng, 16)
    yield {"role": "user", "content": f"{rng.choice(('', f'{filler(rng, 6)} '))}create {file}: {text}"}
    yield call(f"I will write {file}.", "write", path=file, content=text)
    yield result(_framed(rng, rng.choice((f"Created {file}: {rng.randint(1, 9)} lines.", f"Wrote {file}.", "Done."))))
    yield say("Written.", f"Wrote {file}.")


# -- answers without tools


def _repeat(rng: Random) -> Script:
    text = gibberish(rng, 24)
    word = rng.choice(("repeat", "Repeat"))
    yield {"role": "user", "content": f"{rng.choice(('', f'{filler(rng, 6)} '))}{word}: {text}"}
    yield say("I will say it again.", text)


def _hello(rng: Random) -> Script:
    yield _ask(rng, "hello")
    yield say("A greeting.", "Hello. What shall we do?")


def _japanese(rng: Random) -> Script:
    words = [rng.choice(JAPANESE) for _ in range(rng.randint(0, 8))]
    words.insert(rng.randint(0, len(words)), "日本語")
    yield {"role": "user", "content": "".join(words)}
    yield say("日本語で答えます。", "こんにちは。何をしましょうか。")


# -- runaway


def _words(rng: Random, count: int) -> str:
    return " ".join(rng.choice(COMMON) + rng.choice((",", ".", "", "", "", "", "", "")) for _ in range(count))


def _story(rng: Random) -> Script:
    yield _ask(rng, "story", 4)
    yield say("Words without end.", _words(rng, ENDLESS_WORDS))


def _ponder(rng: Random) -> Script:
    yield _ask(rng, "ponder", 4)
    end = rng.choice(("", "", "\n", f"\n{filler(rng, 12)}", f" {gibberish(rng, 6)}"))
    yield say(
        _words(rng, rng.randint(0, MOST_PONDERED_WORDS)) + end or "now", "I have thought enough. The answer is 42."
    )


def _stutter(rng: Random) -> Script:
    yield _ask(rng, "stutter", 4)
    yield say("I will say it.", "I said so, and I say it again. " * ENDLESS_WORDS)


def _insist(rng: Random) -> Script:
    file = _file(rng)
    yield _ask(rng, f"insist on {file}")
    text = _listing(rng, name(rng), number(rng))[0] if rng.random() < 0.5 else filler(rng, 30)
    for _ in range(rng.randint(1, MOST_INSISTED)):
        yield call("I will look once more.", "read", path=file)
        yield result(text if rng.random() < 0.7 else filler(rng, 16) or "no")


_SCRIPTS = (
    (_fix, 10),
    (_patch, 6),
    (_replace, 6),
    (_find, 4),
    (_create, 4),
    (_repeat, 4),
    (_survey, 3),
    (_insist, 2),
    (_hello, 1),
    (_japanese, 1),
)
_RUNAWAYS = ((_story, Certainty.NONE), (_ponder, Certainty.AFTER_THOUGHT), (_stutter, Certainty.NO_END))
_RUNAWAY_SHARE = 0.12


def conversation(rng: Random) -> Conversation:
    """A conversation with one scenario, or two in a row; with thoughts, or without any."""
    if rng.random() < _RUNAWAY_SHARE:
        script, certainty = rng.choice(_RUNAWAYS)
        scripts = [script]
    else:
        scripts = rng.choices([s for s, _ in _SCRIPTS], [w for _, w in _SCRIPTS], k=rng.choice((1, 1, 1, 2)))
        certainty = Certainty.ALL
    messages = [m for script in scripts for m in script(rng)]
    if rng.random() < 0.25:
        for message in messages:
            message.pop("reasoning_content", None)
    if rng.random() < 0.9:
        messages.insert(0, {"role": "system", "content": "Pool"})
    tools = [*TOOLS, *(name(rng) for _ in range(rng.choice((0, 0, 1, 4))))]
    if rng.random() < 0.5:
        rng.shuffle(tools)
        tools = tools[rng.choice((0, 0, 1, 3)) :]
    return Conversation(messages, tools, certainty)
