"""Signs that a thought has run away, computed on the reasoning as it streams. Pure: text and counts in, a finding out.

Thresholds rest on public measurements of Laguna NVFP4 and of reasoning models: the last 4 KB of runaways compress up to
143 times, where honest thoughts that were cut off keep a zlib ratio of 0.33 and a share of 0.86 unique lines; a runaway
of 32,000 tokens had only 1.6 plan restarts per 1,000 tokens, so they are counted since the last action, not by density.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter

from pool.config.guards import GuardSettings, SignalLimits
from pool_tools.frozen import frozen

TAIL_BYTES = 4096
STEP_BYTES = 1024
"""The tail is looked at each time so much text has come; two findings in a row count.

Bytes and not characters: a Japanese character has three bytes and is about a token, so that both numbers stand for
about the same number of tokens in any language.
"""

LEAST_LINES = 12

LEAST_SENTENCE_BYTES = 20
LEAST_SENTENCE_WORDS = 4
LISTED_WEIGHT = 2
"""A line of a list may come so many times as often: the same remark may hold for each of its items."""

RESTART_PHRASES: tuple[str, ...] = (
    r"actually,? wait",
    r"wait,? (?:actually|no|let me)",
    r"let me (?:reconsider|re-?think|start over|start (?:coding|writing|implementing)|re-?read|think again)",
    r"(?:ok(?:ay)?[,.]? )?(?:the )?plan(?:ning)? is (?:mostly )?(?:done|complete)",
    r"i think (?:the )?plan(?:ning)? is",
    r"now i(?:'ll| will) (?:start|begin) (?:coding|writing|implementing)",
    r"いや、?待って",
    r"待って、",
    r"もう一度(?:考え|見直)",
    r"考え直",
    r"計画は(?:できた|完了)",
    r"では、?(?:実装|コーディング)を(?:始め|開始)",
)
"""Sentences that begin so restart a plan instead of acting on it."""

_HESITATES = re.compile(
    r"\W*(?:(?:but|so|and|or|ok(?:ay)?|hmm+|no|yes)\W+)*(?:wait|hmm|maybe|perhaps|actually|let me|let's|but"
    r"|i (?:need|should|must|have|could|might|want|will)|もう一度|念のため|やはり|しかし|いや)",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*(?:[-*•|>#]|\d+[.)]\s|[\w ]{1,20}:\s)|\s{2,}\S")
_CODE = re.compile(r"[=(){}\[\]<>_;\\|@]|::|->|\w[./]\w|^\s*(?:import|from|return|#|//|\"|'|--)")
"""Marks of code, markup and addresses: their lines repeat in honest text, so only the tail's signals look at them."""

_WIDE = re.compile(r"[\u3000-\u9fff]")
_NUMBER = re.compile(r"\d+")
_LONGEST_SENTENCE_CHARS = 2000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|[。\uff01\uff1f\n]")
"""A stop ends a sentence only before a blank: names of files have stops too."""

_WORDS = re.compile(r"\w+", re.UNICODE)
_FENCE = re.compile(r"\s*(?:[-*>]\s+)?(?:```|~~~)")


@frozen
class Finding:
    """A sign: name, and one line of detail for people."""

    name: str
    detail: str


class ThoughtSignals:
    """Watches one thought. Feed text as it comes; a finding, once made, stands."""

    def __init__(self, settings: GuardSettings) -> None:
        self._settings = settings
        phrases = (*RESTART_PHRASES, *settings.restart_phrases)
        self._restart = re.compile(rf"\s*(?:{'|'.join(phrases)})", re.IGNORECASE)
        self._text: list[str] = []
        self._tail = b""
        self._since_look = 0
        self._in_row = 0
        self._rest = ""
        self._restarts = 0
        self._sentences = Counter[str]()
        self._hesitations = Counter[str]()
        self._fence_lines = -1
        self._line = ""

    def feed(self, text: str) -> Finding | None:
        """Take more of the thought; what it shows, if anything."""
        data = text.encode("utf-8", "replace")
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        self._since_look += len(data)
        return self._sentences_of(text) or self._code(text) or self._look()

    def _look(self) -> Finding | None:
        if self._since_look < STEP_BYTES or len(self._tail) < TAIL_BYTES:
            return None
        self._since_look = 0
        found = degenerate(self._tail.decode("utf-8", "ignore"), self._settings.signals)
        self._in_row = self._in_row + 1 if found else 0
        return found if self._in_row >= 2 else None

    def _sentences_of(self, text: str) -> Finding | None:
        for piece in self._pieces(text):
            if self._restart.match(piece):
                self._restarts += 1
                if 0 < self._settings.restarts <= self._restarts:
                    return Finding("plan-restarts", f"the plan was restarted {self._restarts} times")
            plain = " ".join(_WORDS.findall(piece.lower()))
            if not _is_prose(piece, plain):
                continue
            self._sentences[plain] += 1
            limit = self._settings.same_sentence * (LISTED_WEIGHT if _LISTED.match(piece) else 1)
            if 0 < limit <= self._sentences[plain]:
                return Finding("same-sentence", f"one sentence came {self._sentences[plain]} times: {plain[:60]}")
            if _HESITATES.match(piece) and (found := self._near_same(_NUMBER.sub("#", plain))):
                return found
        return None

    def _pieces(self, text: str) -> list[str]:
        """The sentences that end in text. What was looked at before is not looked at again."""
        waiting = self._rest + text
        out: list[str] = []
        begun = 0
        for end in _SENTENCE_END.finditer(waiting, max(0, len(self._rest) - 1)):
            out.append(waiting[begun : end.end()])
            begun = end.end()
        self._rest = waiting[begun:][-_LONGEST_SENTENCE_CHARS:]
        return out

    def _near_same(self, plain: str) -> Finding | None:
        self._hesitations[plain] += 1
        limit = self._settings.signals.near_same
        if not self._settings.same_sentence or not 0 < limit <= self._hesitations[plain]:
            return None
        return Finding("same-sentence", f"one sentence came {limit} times with other numbers: {plain[:60]}")

    def _code(self, text: str) -> Finding | None:
        """A fenced block of many lines: the model writes the file in its thought instead of by a tool."""
        *lines, self._line = (self._line + text).split("\n")
        self._line = self._line[:_LONGEST_SENTENCE_CHARS]
        for line in lines:
            if _FENCE.match(line):
                self._fence_lines = 0 if self._fence_lines < 0 else -1
            elif self._fence_lines >= 0:
                self._fence_lines += 1
        if 0 < self._settings.code_lines < self._fence_lines:
            return Finding("code-in-thought", f"more than {self._fence_lines - 1} lines of code in the thought")
        return None


def _is_prose(piece: str, plain: str) -> bool:
    """Whether a sentence says enough in plain words to be counted."""
    if len(plain.encode("utf-8", "replace")) < LEAST_SENTENCE_BYTES or _CODE.search(piece):
        return False
    return bool(_WIDE.search(plain)) or plain.count(" ") >= LEAST_SENTENCE_WORDS - 1


def degenerate(tail: str, limits: SignalLimits) -> Finding | None:
    """Whether the tail of a thought repeats itself: as a whole, by its lines, or by a phrase."""
    data = tail.encode("utf-8", "replace")
    ratio = len(zlib.compress(data, 6)) / len(data)
    if ratio < limits.zlib_ratio:
        return Finding("repetition", f"the last {len(tail):,} characters compress to {ratio:.0%}")
    lines = [line.strip() for line in tail.split("\n") if line.strip()]
    share = len(set(lines)) / len(lines) if lines else 1.0
    if len(lines) >= LEAST_LINES and share < limits.unique_line_share:
        return Finding("repetition", f"only {share:.0%} of the last {len(lines)} lines differ")
    words = _WORDS.findall(tail.lower())
    size = limits.phrase_words
    shingles = Counter(tuple(words[i : i + size]) for i in range(len(words) - size + 1))
    most = max(shingles.values(), default=0)
    if 0 < limits.phrase_repeats <= most and ratio < limits.phrase_zlib_ratio:
        return Finding("repetition", f"a phrase of {size} words came {most} times in a short while")
    return None
