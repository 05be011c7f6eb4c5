"""The times of one reply, and the figures that follow from them.

Rates come from the server's own token counts. Chunks are never counted as tokens: with speculative decoding one chunk
holds several, and parsers hold text back.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from pool_tools.frozen import frozen

STALL_SECONDS = 0.25
STALL_TIMES = 5.0
"""A gap is a stall if it is as long as this, in seconds and in median gaps."""

SAME_SECONDS = 0.0005
"""Pieces that come within this time are one arrival: the network, or a busy server, sent several steps together."""

LEAST_ARRIVALS = 3
"""With no more than these, a reply's last step counts although its end has cut it."""

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


@frozen
class Mark:
    """A piece of a reply that came: seconds since the request was sent, and characters in it.

    answer: some of it was content or a call, not a thought. tokens is the reply's running count that came with it,
    None if none did.
    """

    at: float
    chars: int
    answer: bool
    tokens: int | None = None


@frozen
class Sample:
    """One reply, measured. Times are in seconds since its request was sent; None where there is nothing to measure.

    began: absolute time of sending, on the loop's clock. prompt, cached and written are the server's counts in tokens
    (cached None: not told; written 0: not told). first: the first token; first_answer: the first token that is no
    thought; last: the last token. decoded: tokens and seconds from the first arrival to the last whole one, None if
    there are too few. The end of a reply cuts its last step, so with a running count that one is left out.
    exact: tokens of the first arrival are from a running count, else from their share of the text. pieces: arrivals
    in decoded, None without a running count.
    gaps: quantiles (`QUANTILES`) of the times between arrivals. stalls: gaps far longer than usual. finish: as sent.
    """

    began: float
    prompt: int
    cached: int | None
    written: int
    first: float | None
    first_answer: float | None
    last: float | None
    decoded: tuple[int, float] | None
    exact: bool
    pieces: int | None
    gaps: tuple[float, ...]
    stalls: int
    longest_gap: float
    finish: str = ""
    server_rate: float | None = None

    @property
    def decode_seconds(self) -> float | None:
        """From the first token to the last that counts."""
        return None if self.decoded is None else self.decoded[1]

    @property
    def decode_rate(self) -> float | None:
        """Tokens a second after the first ones."""
        return None if self.decoded is None else self.decoded[0] / self.decoded[1]

    @property
    def whole_rate(self) -> float | None:
        """Tokens a second from sending the request on: reading the prompt counts."""
        return None if not self.last or not self.written else self.written / self.last

    @property
    def read_rate(self) -> float | None:
        """Prompt tokens a second that were not cached, up to the first token; queueing counts too."""
        fresh = self.prompt - (self.cached or 0)
        return None if not self.first or fresh <= 0 else fresh / self.first

    @property
    def tokens_a_piece(self) -> float | None:
        """Tokens of an arrival by the running count: those of a step, unless server or network joined some."""
        return None if not self.pieces or self.decoded is None else self.decoded[0] / self.pieces


@frozen
class Counts:
    """The server's token counts of a reply; cached None if it does not tell."""

    prompt: int = 0
    cached: int | None = None
    written: int = 0


def sample(
    marks: Sequence[Mark], counts: Counts, *, began: float = 0.0, finish: str = "", server_rate: float | None = None
) -> Sample:
    """Put the figures of a reply together from its marks, in order of time."""
    real = _bringing(marks)
    at_first, exact = _at_first(real, counts.written)
    rated = real[:-1] if exact and len(real) > LEAST_ARRIVALS else real
    gaps = sorted(later.at - earlier.at for earlier, later in pairwise(real))
    usual = median(gaps) if gaps else 0.0
    return Sample(
        began=began,
        prompt=counts.prompt,
        cached=counts.cached,
        written=counts.written,
        first=real[0].at if real else None,
        first_answer=next((mark.at for mark in real if mark.answer), None),
        last=real[-1].at if real else None,
        decoded=_decoded(rated, at_first, counts.written, exact=exact),
        exact=exact,
        pieces=len(rated) - 1 if exact else None,
        gaps=quantiles(gaps),
        stalls=sum(gap >= max(STALL_SECONDS, STALL_TIMES * usual) for gap in gaps),
        longest_gap=gaps[-1] if gaps else 0.0,
        finish=finish,
        server_rate=server_rate,
    )


def quantiles(ordered: Sequence[float]) -> tuple[float, ...]:
    """The values at `QUANTILES` of values in order; () of none."""
    if not ordered:
        return ()
    return tuple(ordered[round(share * (len(ordered) - 1))] for share in QUANTILES)


def _decoded(rated: Sequence[Mark], at_first: int, written: int, *, exact: bool) -> tuple[int, float] | None:
    if len(rated) < 2 or not written:
        return None
    tokens = (rated[-1].tokens or 0 if exact else written) - at_first
    seconds = rated[-1].at - rated[0].at
    return (tokens, seconds) if tokens > 0 and seconds > 0 else None


def _bringing(marks: Sequence[Mark]) -> list[Mark]:
    """The arrivals that brought tokens. Where counts run, text without a new token was only held back before."""
    out: list[Mark] = []
    told = 0
    counted = any(mark.tokens for mark in marks)
    for mark in marks:
        if mark.tokens is not None and mark.tokens > told:
            told = mark.tokens
        elif counted or not mark.chars:
            continue
        if out and mark.at - out[-1].at < SAME_SECONDS:
            last = out.pop()
            mark = Mark(last.at, last.chars + mark.chars, last.answer or mark.answer, mark.tokens)
        out.append(mark)
    return out


def _at_first(real: Sequence[Mark], written: int) -> tuple[int, bool]:
    """Tokens of the first arrival, and whether they were counted."""
    if not real or not written:
        return 0, False
    if real[0].tokens:
        return min(real[0].tokens, written), True
    chars = sum(mark.chars for mark in real)
    return max(1, min(written, round(written * real[0].chars / chars))), False
