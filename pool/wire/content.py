"""Splitting a reply's content channel into answer and reasoning while it streams.

Servers leak the end of a thought, whole thoughts and call markup into `content`. The splitter sorts them out and holds
text back only as long as it may still become a tag, so text appears while it streams and no piece of a tag flashes on
screen. Its result depends on the text alone, never on how the text was cut into deltas.

Rules (sources: vLLM issue 49379, SGLang 32536, recordings 07, 08, 48, 60, 61, 66):
tags in code fences and code spans are text; a close tag before any text is dropped; a close tag in a reply whose
reasoning did not come apart turns all before it into reasoning; an open tag at the start opens a thought; a whole
thought later in the answer moves to the reasoning; call markup is held back for `markup.find_calls` at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pool.wire.holding import MAX_LOOSE_MARKUPS, Held, HeldMarkup
from pool.wire.reading import DEFAULT_THINK_TAGS, ContentText, ContentWasReasoning, ReadingEvent, ReasoningText
from pool.wire.tags import OPENERS

CODE_SPAN_LOOKAHEAD_CHARS = 500
"""How far a tag inside an open code span is held back while the closing backticks may still come."""

TORN_TAG_CHARS = 3
"""Least length of a torn close tag at the very start of the content; less could be the answer's own text."""

_PLAIN = re.compile(r"[`<\[\n]")
_IN_FENCE = re.compile(r"[<\n]")
_FENCE_START = re.compile(r" {0,3}(`{3,}|~{3,})")
_FENCE_MAYBE = re.compile(r" {0,3}(`*|~*)\Z")
_BACKTICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"[ \t]*\n")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_BEFORE_MENTION = frozenset(" \t\"'(")
_AFTER_MENTION = frozenset(" \t\"'),.;:!?")


@dataclass(slots=True)
class ContentSplitter:
    """State of one reply's content channel.

    `content` and `reasoning` hold the pieces given so far, `repairs` the names of what was mended, and `held`, after
    `close`, the text from a call opener to the end of the reply, which the caller judges. `loose_call` says that call
    markup stands in the middle of the text.
    """

    tags: tuple[str, ...] = DEFAULT_THINK_TAGS
    content: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    repairs: list[str] = field(default_factory=list[str])
    held: str = ""
    loose_call: bool = False
    _buf: str = ""
    _pos: int = 0
    _final: bool = False
    _natural: bool = True
    _apart: bool = False
    _fence: str = ""
    _inline: str = ""
    _line_start: bool = True
    _in_thought: bool = False
    _split: bool = False
    _blank: bool = True
    _first: bool = True
    _call: HeldMarkup | None = None
    _loose: int = 0
    _unclosed: int = 0
    _last: str = ""
    _given: int = 0
    _fenced_close: tuple[int, int] | None = None
    _events: list[ReadingEvent] = field(default_factory=list[ReadingEvent])
    _tag: re.Pattern[str] = field(init=False)
    _candidates: tuple[str, ...] = field(init=False)
    _longest: int = field(init=False)

    def __post_init__(self) -> None:
        names = "|".join(re.escape(t) for t in self.tags)
        self._tag = re.compile(f"<(/?)(?:{names})>")
        thinks = tuple(f"<{slash}{t}>" for t in self.tags for slash in ("", "/"))
        self._candidates = (*thinks, *OPENERS)
        self._longest = max(len(c) for c in self._candidates)

    def feed(self, text: str, *, apart: bool) -> list[ReadingEvent]:
        """Take more content; apart says whether reasoning came in a field of its own before this text."""
        self._apart = apart
        self._buf += text
        return self._run()

    def close(self, *, apart: bool, natural: bool) -> list[ReadingEvent]:
        """End of the reply. natural: the model stopped by itself (half a tag at a cut is no content)."""
        self._apart, self._natural, self._final = apart, natural, True
        events = self._run()
        if self._fenced_close and self._fence and (self._in_thought or not (apart or self._split)):
            self._split_at_fenced_close(*self._fenced_close)
        return events

    def _run(self) -> list[ReadingEvent]:
        self._events = []
        self._pos = 0
        while self._pos < len(self._buf) and self._step():
            pass
        self._buf = self._buf[self._pos :]
        self._unclosed = max(0, self._unclosed - self._pos)
        return self._events

    def _step(self) -> bool:
        """Handle what stands at the position and move it; False if more text is needed to tell."""
        if self._call is not None:
            return self._held_call(self._call)
        if self._first and not self._torn_close():
            return False
        if self._line_start and not self._at_line_start():
            return False
        found = (_IN_FENCE if self._fence else _PLAIN).search(self._buf, self._pos)
        if found is None:
            return self._emit(len(self._buf))
        self._emit(found.start())
        match found.group():
            case "\n":
                self._line_start = True
                return self._emit(self._pos + 1)
            case "`":
                return self._backticks()
            case _:
                return self._maybe_tag()

    def _emit(self, end: int) -> bool:
        """Give the text up to end to the channel that is open."""
        if end <= self._pos:
            return True
        text = self._buf[self._pos : end]
        self._pos = end
        self._last = text[-1]
        self._given += len(text)
        if self._in_thought:
            self.reasoning.append(text)
            self._events.append(ReasoningText(text))
            return True
        if self._blank and not text.isspace():
            self._blank = False
        self.content.append(text)
        self._events.append(ContentText(text))
        return True

    def _torn_close(self) -> bool:
        """Drop the rest of a close tag that a server cut at the boundary (vLLM, recording 50, fault R10)."""
        if not self._apart:
            self._first = False
            return True
        rest = self._buf[self._pos :]
        tails = [f"/{t}>"[i:] for t in self.tags for i in range(len(t))]
        torn = next((t for t in tails if len(t) >= TORN_TAG_CHARS and rest.startswith(t)), "")
        if not torn and not self._final and any(t.startswith(rest) for t in tails):
            return False
        self._first = False
        if torn:
            self._pos += len(torn)
            self.repairs.append("torn-think-close")
        return True

    # -- Markdown's code, in which tags are text

    def _at_line_start(self) -> bool:
        buf, at = self._buf, self._pos
        if not self._final and _FENCE_MAYBE.match(buf, at):
            return False
        opened = _FENCE_START.match(buf, at)
        end = buf.find("\n", at)
        if opened and end < 0 and not self._final:
            return False
        self._line_start = False
        rest = buf[opened.end() : end if end >= 0 else len(buf)] if opened else ""
        if self._fence:
            if opened and opened.group(1).startswith(self._fence) and not rest.strip():
                self._fence, self._fenced_close = "", None
                self._emit(opened.end())
        elif opened and not (opened.group(1)[0] == "`" and "`" in rest):
            self._fence, self._inline = opened.group(1), ""
            self._emit(opened.end() + len(rest))
        elif self._inline and _BLANK_LINE.match(buf, at):
            self._inline = ""
        return True

    def _backticks(self) -> bool:
        run = _BACKTICKS.match(self._buf, self._pos)
        assert run is not None
        if run.end() == len(self._buf) and not self._final:
            return False
        if not self._inline:
            self._inline = run.group()
        elif self._inline == run.group():
            self._inline = ""
        return self._emit(run.end())

    def _in_code_span(self) -> bool | None:
        """Whether the position is inside a closed code span; None if that is still open."""
        limit = self._pos + CODE_SPAN_LOOKAHEAD_CHARS
        # One character more is looked at: it tells whether a run of backticks is at its end.
        closing = re.compile(f"(?<!`){self._inline}(?!`)").search(self._buf, self._pos, limit + 1)
        if closing and closing.end() > limit:
            closing = None
        paragraph = _PARAGRAPH_END.search(self._buf, self._pos, limit)
        if closing and not (paragraph and paragraph.start() < closing.start()):
            return None if closing.end() == len(self._buf) and not self._final else True
        if paragraph or self._final or len(self._buf) > limit:
            self._inline = ""
            return False
        return None

    # -- tags

    def _maybe_tag(self) -> bool:
        buf, at = self._buf, self._pos
        tag = self._tag.match(buf, at)
        opener = not tag and not self._in_thought and self._loose < MAX_LOOSE_MARKUPS and buf.startswith(OPENERS, at)
        if not tag and not opener:
            rest = buf[at : at + self._longest]
            if at + len(rest) == len(buf) and any(c.startswith(rest) for c in self._candidates):
                if not self._final:
                    return False
                if not self._natural and len(rest) > 1:
                    self._pos = len(buf)
                    self.repairs.append("half-tag-at-cut")
                    return True
            return self._emit(at + 1)
        if self._fence:
            return self._tag_in_fence(tag)
        if self._inline:
            inside = self._in_code_span()
            if inside is None:
                return False
            if inside:
                return self._emit(tag.end() if tag else at + 1)
        if opener:
            self._call = HeldMarkup()
            return True
        assert tag is not None
        return self._close_tag(tag) if tag.group(1) else self._open_tag(tag)

    def _tag_in_fence(self, tag: re.Match[str] | None) -> bool:
        if tag and tag.group(1) and self._fenced_close is None:
            self._fenced_close = (self._given, len(tag.group()))
        return self._emit(tag.end() if tag else self._pos + 1)

    def _close_tag(self, tag: re.Match[str]) -> bool:
        if self._in_thought:
            self._leave_thought(tag.end())
        elif self._blank:
            self._pos = tag.end()
            self._split = True
            self.repairs.append("stray-think-close")
        elif not self._apart and not self._split:
            self.reasoning, self.content = [*self.reasoning, *self.content], []
            self._events.append(ContentWasReasoning())
            self.repairs.append("leaked-think-close")
            self._leave_thought(tag.end())
        else:
            return self._late_close(tag)
        return True

    def _late_close(self, tag: re.Match[str]) -> bool:
        """A close tag with nothing to close: a mention in prose stays, a leak goes."""
        if tag.end() == len(self._buf) and not self._final:
            return False
        after = self._buf[tag.end() : tag.end() + 1]
        if self._last in _BEFORE_MENTION and (not after or after in _AFTER_MENTION):
            return self._emit(tag.end())
        self._pos = tag.end()
        self.repairs.append("stray-think-close")
        return True

    def _leave_thought(self, at: int) -> None:
        self._pos = at
        self._in_thought, self._split, self._blank = False, True, True
        self._fence, self._inline, self._line_start, self._given = "", "", False, 0

    def _open_tag(self, tag: re.Match[str]) -> bool:
        if self._in_thought:
            self._pos = tag.end()
            return True
        if self._blank:
            self._pos = tag.end()
            self._in_thought, self._given = True, 0
            self._fence, self._inline, self._line_start = "", "", False
            self.repairs.append("think-in-content")
            return True
        begin = max(tag.end(), self._unclosed)
        close = next((m for m in self._tag.finditer(self._buf, begin) if m.group(1)), None)
        if close is None:
            # What has been searched is not searched again, but for a tag that is not whole yet.
            self._unclosed = max(begin, len(self._buf) - self._longest)
            return self._emit(tag.end()) if self._final else False
        text = self._buf[tag.end() : close.start()]
        self.reasoning.append(text)
        self._events.append(ReasoningText(text))
        self.repairs.append("second-think-block")
        self._pos = close.end()
        return True

    def _held_call(self, call: HeldMarkup) -> bool:
        """Hold text from a call opener on, until it turns out to be prose or the reply ends."""
        state = call.look(self._buf, self._pos)
        if state is not Held.OPEN:
            self._call = None
            if state is Held.OVER:
                self.loose_call = True
                self._loose += 1
            return self._emit(self._pos + 1)
        if self._final:
            self.held = self._buf[self._pos :]
            self._pos = len(self._buf)
        return False

    def _split_at_fenced_close(self, at: int, length: int) -> None:
        """The reply ended inside a code fence that had begun in the thought: its close tag was a real one."""
        source = self.reasoning if self._in_thought else self.content
        text = "".join(source)
        if self._in_thought:
            self.reasoning = [text[:at]]
        else:
            self.reasoning = [*self.reasoning, text[:at]]
            self._events.append(ContentWasReasoning())
        self.content = [text[at + length :]]
        self._events.append(ContentText(text[at + length :]))
        self.repairs.append("leaked-think-close")
