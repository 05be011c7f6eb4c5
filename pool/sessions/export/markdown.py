"""A session as Markdown for a forge: prompts, replies, calls with their diffs, and folded results.

What the session holds cannot break out: code stands in fences longer than any inside, prose in block quotes, whose open
fences and lists end with them, and neither HTML nor pictures in it are rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pool.sessions.export.redact import Found
from pool.sessions.export.text import shortened, visible
from pool.sessions.export.transcript import Call, Step, StepKind, Transcript
from pool.sessions.export.words import (
    OPENING,
    TITLE_CHARS,
    Part,
    call_body,
    call_status,
    call_title,
    event_words,
    facts,
    flags,
    notes,
    parts,
    run_end,
    timings,
    title,
)

_BACKTICKS = re.compile("`+")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SPAN = re.compile(r"(`+)(?:(?!`).)+?\1(?!`)")
_RAW = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
LEAST_FENCE = 3


def markdown(transcript: Transcript, found: Found | None, *, whole: bool = False) -> str:
    """The document; whole: no text is cut."""
    return "\n".join(_Document(transcript, found, whole=whole).lines()) + "\n"


class _Document:
    def __init__(self, transcript: Transcript, found: Found | None, *, whole: bool) -> None:
        self._transcript, self._found, self._whole = transcript, found, whole

    def lines(self) -> Iterator[str]:
        transcript = self._transcript
        yield f"# {_words(title(transcript))}"
        yield ""
        for name, value in facts(transcript):
            yield f"- {name}: {_code(value)}"
        yield from ("", f"_{_words(notes(transcript, self._found))}_", "")
        for part in parts(transcript.steps):
            yield from self._part(part)
        for sub in transcript.subagents:
            yield from (f"## Subagent {_words(sub.agent)}", "")
            for step in sub.steps:
                yield from self._step(step)

    def _part(self, part: Part) -> Iterator[str]:
        yield f"## {f'Prompt {part.number}' if part.number else OPENING.capitalize()}"
        yield ""
        for step in part.steps:
            yield from self._step(step)

    def _step(self, step: Step) -> Iterator[str]:
        said = "; ".join(flags(step))
        match step.kind:
            case StepKind.SYSTEM:
                yield from self._folded("System prompt", step.text)
            case StepKind.EVENT:
                yield from (f"**{_words(event_words(step))}**", "")
            case StepKind.USER:
                yield from ([f"_{_words(said)}_", ""] if said else [])
                yield from (_quoted(self._cut(step.text)), "")
            case StepKind.AGENT:
                yield from self._reply(step, said)
        for mark in step.marks:
            word = "Guard" if mark.kind == "guard.fired" else "Notice"
            yield from (f"⚠ {_words(f'{word} {mark.label}: {mark.text} {mark.remedy}'.strip())}", "")
        if step.finished is not None:
            reason, words, changed = run_end(step)
            yield from (f"**{_words(reason)}**, {_words(words)}", "")
            for change in changed:
                counts = f"+{change.get('added', 0)} -{change.get('removed', 0)}"
                yield f"- {_code(str(change.get('path', '')))} {_words(str(change.get('kind', '')))}, {_words(counts)}"
            yield from [""] if changed else []

    def _reply(self, step: Step, said: str) -> Iterator[str]:
        head = f"Turn {step.turn}" if step.turn else "Reply"
        yield f"### {head}"
        yield ""
        if more := ", ".join([*timings(step), *([said] if said else [])]):
            yield from (f"_{_words(more)}_", "")
        if step.reasoning.strip():
            yield from self._folded("Thinking", step.reasoning)
        if step.text.strip():
            yield from (_quoted(self._cut(step.text)), "")
        for call in step.calls:
            yield from self._call(call)

    def _call(self, call: Call) -> Iterator[str]:
        yield f"**→** {_code(call_title(call))} {_words(call_status(call))}"
        yield ""
        kind, body = call_body(call)
        if body and (kind != "command" or "\n" in body.strip() or len(body) > TITLE_CHARS):
            language = {"diff": "diff", "json": "json", "command": "sh"}[kind]
            yield from (_fenced(self._cut(body), language), "")
        if call.denied_why:
            yield from (f"Denied: {_words(call.denied_why)}", "")
        text = call.result if call.result is not None else call.output
        if text:
            yield from self._folded(f"Result, {text.count(chr(10)) + 1:,} lines", text)

    def _folded(self, summary: str, text: str) -> Iterator[str]:
        yield from (
            f"<details><summary>{summary}</summary>",
            "",
            _fenced(self._cut(text), "text"),
            "",
            "</details>",
            "",
        )

    def _cut(self, text: str) -> str:
        return visible(shortened(text, whole=self._whole))


def _fenced(text: str, language: str) -> str:
    longest = max((len(m.group()) for m in _BACKTICKS.finditer(text)), default=0)
    fence = "`" * max(LEAST_FENCE, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _quoted(text: str) -> str:
    """Markdown as a block quote, with HTML and pictures outside of code shown as text."""
    out: list[str] = []
    fence = ""
    for line in text.strip("\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark.group(1).startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
            out.append(line)
        elif mark is not None and ("`" not in line[mark.end() :] or mark.group(1)[0] == "~"):
            fence = mark.group(1)
            out.append(line)
        else:
            out.append(_harmless(line))
    return "\n".join(f"> {line}".rstrip() for line in out)


def _harmless(line: str) -> str:
    out: list[str] = []
    at = 0
    for span in _SPAN.finditer(line):
        out += [_RAW.sub(r"\\\g<0>", line[at : span.start()]), span.group()]
        at = span.end()
    return "".join([*out, _RAW.sub(r"\\\g<0>", line[at:])])


def _code(text: str) -> str:
    """Text in one line of code."""
    line = visible(" ".join(text.split()))
    longest = max((len(m.group()) for m in _BACKTICKS.finditer(line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _words(text: str) -> str:
    """Text in one line, without any meaning to Markdown."""
    return _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))
