"""A session as one web page: nothing is loaded from anywhere, and without JavaScript all can be read.

All text of the session is escaped. The page's policy lets no script run but its own, which is named by its hash, and
nothing be fetched; pictures in a model's Markdown stay text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from html import escape
from importlib.resources import files

from pool.sessions.export.redact import Found
from pool.sessions.export.text import first_line, shortened, visible
from pool.sessions.export.transcript import Call, Mark, Step, StepKind, Transcript
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
    seconds,
    timings,
    title,
    when,
)

OPEN_CALLS = frozenset({"edit", "write"})
"""Calls that are shown unfolded; those that did not end well are too."""

POOLS_WORD = "[Pool]"
"""How messages begin that Pool itself adds on the user's side."""

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_WHO = {StepKind.SYSTEM: "System prompt", StepKind.USER: "User", StepKind.EVENT: "Session"}


class Page:
    """Writes one transcript as a page. whole: no text is cut."""

    def __init__(self, transcript: Transcript, found: Found | None, *, whole: bool = False) -> None:
        self._transcript = transcript
        self._found = found
        self._whole = whole
        self._markdown = _markdown()

    def html(self) -> str:
        """The page."""
        script = _resource("page.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = f"{_POLICY}; script-src 'sha256-{digest}'"
        head = (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
            f"<title>{_text(title(self._transcript))}</title>\n<style>\n{_resource('page.css')}</style>\n</head>\n"
        )
        return "".join([head, *self._body(), f"<script>{script}</script>\n</body>\n</html>\n"])

    def _body(self) -> Iterator[str]:
        transcript = self._transcript
        every = parts(transcript.steps)
        yield '<body>\n<a class="skip" href="#main">To the conversation</a>\n<header class="top">\n'
        yield f"<h1>{_text(title(transcript))}</h1>\n<dl>\n"
        for name, value in facts(transcript):
            yield f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>\n"
        yield f'</dl>\n<p class="note">{_text(notes(transcript, self._found))}</p>\n'
        yield from _contents(every)
        yield f'</header>\n{_BAR}<main id="main">\n'
        for part in every:
            yield from self._part(part)
        for sub in transcript.subagents:
            yield f"<h2>Subagent {_text(sub.agent)}</h2>\n"
            for step in sub.steps:
                yield from self._step(step)
        yield "</main>\n<footer>Keys: / searches, j and k go to the next and the previous step.</footer>\n"

    def _part(self, part: Part) -> Iterator[str]:
        head = f"Prompt {part.number}" if part.number else OPENING.capitalize()
        yield f'<section id="p{part.number}" aria-label="{_text(head)}">\n<h2>{_text(head)}</h2>\n'
        for step in part.steps:
            yield from self._step(step)
        yield from self._split(part)
        yield "</section>\n"

    # -- steps

    def _step(self, step: Step) -> Iterator[str]:
        if step.kind is StepKind.AGENT:
            yield from self._reply(step)
        elif step.kind is StepKind.EVENT:
            yield f'<article class="event"><p>{_text(event_words(step))}</p>{self._marks(step)}</article>\n'
        else:
            out = "" if step.kept and step.in_history else " out"
            who = "Pool" if step.text.startswith(POOLS_WORD) and step.started is None else _WHO[step.kind]
            heading = _heading(who, [when(step.wall), *flags(step)])
            yield f'<article class="{step.kind.value}{out}">{heading}'
            if step.kind is StepKind.SYSTEM or step.copied:
                yield f"<details><summary>{_text(first_line(step.text, TITLE_CHARS))}</summary>"
                yield f"{self._pre(step.text, 'wrap')}</details>"
            else:
                yield f'<div class="body plain">{self._cut(step.text)}</div>'
            yield f"{self._marks(step)}</article>\n"
        if step.finished is not None:
            yield _end(step)

    def _reply(self, step: Step) -> Iterator[str]:
        out = "" if step.in_history else " out"
        who = f"Turn {step.turn}" if step.turn else "Reply"
        yield f'<article class="agent{out}">{_heading(who, [*timings(step), *flags(step)])}'
        if step.reasoning.strip():
            words = len(step.reasoning.split())
            yield f'<details class="thinking"><summary>Thinking, {words:,} word{"" if words == 1 else "s"}</summary>'
            yield f"{self._pre(step.reasoning, 'wrap')}</details>"
        if step.text.strip():
            yield f'<div class="said">{self._said(step.text)}</div>'
        for call in step.calls:
            yield from self._call(call)
        yield f"{self._marks(step)}</article>\n"

    def _call(self, call: Call) -> Iterator[str]:
        shown = call.status not in ("ok", "") or call.name in OPEN_CALLS
        kind, body = call_body(call)
        status = call_status(call)
        word = status.partition(",")[0].replace(" ", "-")
        yield f"<details{' open' if shown else ''}><summary><strong>{_text(call_title(call))}</strong>"
        yield f' <span class="status {_text(word)}">{_text(status)}</span></summary>'
        if kind == "diff":
            yield f'<pre tabindex="0"><code class="diff">{self._diff(body)}</code></pre>'
        elif body and (kind != "command" or "\n" in body.strip() or len(body) > TITLE_CHARS):
            yield self._pre(body, "")
        if call.denied_why:
            yield f'<p class="mark">{_text(call.denied_why)}</p>'
        text = call.result if call.result is not None else call.output
        if text:
            yield self._pre(text, "")
        yield "</details>"

    def _diff(self, text: str) -> str:
        out: list[str] = []
        for line in shortened(text.rstrip("\n"), whole=self._whole).split("\n"):
            head = line.startswith(("@@", "--- ", "+++ "))
            name = "h" if head else {"+": "a", "-": "d"}.get(line[:1], "c")
            out.append(f'<span class="{name}">{_text(line)}</span>')
        return "".join(out)

    def _said(self, text: str) -> str:
        """A reply's Markdown; where it is too long for that, or nested too deeply, as plain text."""
        try:
            return self._markdown(shortened(visible(text), whole=self._whole))
        except RecursionError:
            return f'<div class="plain">{self._cut(text)}</div>'

    def _cut(self, text: str) -> str:
        return _text(shortened(text, whole=self._whole))

    def _pre(self, text: str, name: str) -> str:
        return f'<pre tabindex="0"{f" class={name}" if name else ""}>{self._cut(text)}</pre>'

    def _marks(self, step: Step) -> str:
        return "".join(_mark(mark) for mark in step.marks)

    def _split(self, part: Part) -> Iterator[str]:
        """Where a prompt's time went."""
        waited = sum(s.first_token_seconds for s in part.steps if s.usage)
        wrote = max(0.0, sum(s.reply_seconds for s in part.steps if s.usage) - waited)
        ran = sum(c.seconds or 0.0 for s in part.steps for c in s.calls)
        total = waited + wrote + ran
        if total <= 0 or not part.number:
            return
        shares = "".join(f'<i style="width:{100 * v / total:.1f}%"></i>' for v in (waited, wrote, ran))
        named = (("to the first token", waited), ("writing", wrote), ("tools", ran))
        words = " ".join(f"<b>{_text(name)}</b> {_text(seconds(value))}" for name, value in named)
        yield f'<div class="split" role="presentation">{shares}</div><p class="key">Time: {words}</p>\n'


_BAR = (
    '<div class="bar" id="bar" hidden><div role="search">'
    '<input id="search" type="search" placeholder="Search (/)" aria-label="Search the session" autocomplete="off">'
    '<output id="count" for="search" aria-live="polite"></output>'
    '<button type="button" id="unfold">Unfold<span class="wide"> all</span></button>'
    '<button type="button" id="fold">Fold<span class="wide"> all</span></button>'
    '<button type="button" id="theme" aria-label="Dark or light">Dark<span class="wide"> or light</span></button>'
    "</div></div>\n"
)


def _contents(every: list[Part]) -> Iterator[str]:
    prompts = [p for p in every if p.number]
    if len(prompts) < 2:
        return
    yield '<nav aria-label="Prompts"><ol>\n'
    for part in prompts:
        shown = first_line(part.steps[0].text, TITLE_CHARS) or "(empty)"
        yield f'<li><a href="#p{part.number}">{_text(shown)}</a></li>\n'
    yield "</ol></nav>\n"


def _heading(who: str, more: list[str]) -> str:
    rest = "".join(f"<span>{_text(one)}</span>" for one in more if one)
    return f"<header><strong>{_text(who)}</strong>{rest}</header>"


def _mark(mark: Mark) -> str:
    word = "Guard" if mark.kind == "guard.fired" else "Notice"
    remedy = f"\n{mark.remedy}" if mark.remedy else ""
    return f'<p class="mark">{_text(f"{word} {mark.label}: {mark.text}{remedy}")}</p>'


def _end(step: Step) -> str:
    reason, words, changed = run_end(step)
    rows = "".join(
        f"<li>{_text(str(c.get('path', '')))} <span class=note>{_text(str(c.get('kind', '')))}, "
        f"+{_text(str(c.get('added', 0)))} -{_text(str(c.get('removed', 0)))}</span></li>"
        for c in changed
    )
    bad = "" if (step.finished or {}).get("exit_code") == 0 else " bad"
    listed = f"<ul>{rows}</ul>" if rows else ""
    return f'<div class="end{bad}"><strong>{_text(reason)}</strong> {_text(words)}{listed}</div>\n'


def _text(text: str) -> str:
    return escape(visible(text))


def _markdown() -> Callable[[str], str]:
    """Markdown to HTML: no HTML of its own, no pictures, nothing loaded."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    return parser.render


@lru_cache
def _resource(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
