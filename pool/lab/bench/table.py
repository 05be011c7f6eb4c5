"""A measurement as text, for 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pool.lab.bench.advice import Advice
from pool.lab.bench.bars import Bar, bar_lines
from pool.lab.bench.counters import Speculation
from pool.lab.bench.figures import Figures
from pool.lab.bench.plan import Part
from pool.lab.bench.result import Measurement
from pool.lab.bench.target import Fingerprint
from pool.lab.bench.timeline import QUANTILES
from pool_tools.text import visible

WIDTH = 80
NAME_WIDTH = 14
DASH = "-"
GAP_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)

HEAD = (
    f"{'':<{NAME_WIDTH}} {'decode':>7} {'spread':>7} {'together':>8} {'first':>7} {'answer':>7} {'step':>7} "
    f"{'tokens/':>7} {'stalls':>6}",
    f"{'':<{NAME_WIDTH}} {'tok/s':>7} {'':>7} {'tok/s':>8} {'token':>7} {'token':>7} {'ms':>7} {'step':>7} {'':>6}",
)
DEEP_HEAD = (
    f"{'':<{NAME_WIDTH}} {'prompt':>8} {'cold':>8} {'read':>8} {'cached':>8} {'from':>9} {'decode':>8}",
    f"{'':<{NAME_WIDTH}} {'tokens':>8} {'first':>8} {'tok/s':>8} {'first':>8} {'cache':>9} {'tok/s':>8}",
)


def lines(found: Measurement, *, unicode: bool = True) -> Iterator[str]:
    """All of a measurement, in lines of at most `WIDTH` columns."""
    for at, server in enumerate(found.servers):
        own = [f for f in found.figures if f.target == at]
        yield ""
        yield from server_lines(server, found.labels[at] if len(found.servers) > 1 else "")
        yield from _cells([f for f in own if f.cell.part is not Part.DEPTH])
        yield from _deep([f for f in own if f.cell.part is Part.DEPTH], unicode=unicode)
        yield from _many(own, unicode=unicode)
        yield from _gaps(own)
        drafted = found.speculation(at)
        if drafted is not None:
            yield from speculation_lines(drafted, unicode=unicode)
        if advice := found.advice.get(at):
            yield from advice_lines(advice, unicode=unicode)
        if together := found.together.get(at):
            yield from together_lines(together)
        yield from _remarks(own)
    for words in dict.fromkeys(found.left_out):
        yield from wrapped(f"! {words}")
    if found.trouble:
        yield ""
        yield from wrapped(found.trouble)


def server_lines(server: Fingerprint, label: str = "") -> Iterator[str]:
    """What was measured."""
    window = f"window {server.window:,}" if server.window else ""
    words = ", ".join(word for word in (f"{server.kind} {server.version}".strip(), server.model, window) if word)
    yield from wrapped(f"{label + ': ' if label else ''}{words} (setup {server.id})")
    if server.details:
        yield from wrapped(", ".join(f"{name} {value}" for name, value in server.details.items()))


def _cells(own: Sequence[Figures]) -> Iterator[str]:
    if not own:
        return
    yield ""
    yield from HEAD
    for f in own:
        row = (
            f"{f.cell.name:<{NAME_WIDTH}} {_number(f.decode):>7} "
            f"{f'{f.spread:.1%}' if f.cell.part is Part.SINGLE and f.replies > 1 else '':>7} "
            f"{_number(f.total) if f.cell.streams > 1 else '':>8} {_time(f.first):>7} {_time(f.first_answer):>7} "
            f"{_number(f.step * 1000 if f.step else None):>7} {_number(f.step_tokens, 2):>7} {f.stalls:>6}"
        )
        yield visible(row).rstrip()


def _deep(own: Sequence[Figures], *, unicode: bool) -> Iterator[str]:
    if not own:
        return
    yield ""
    yield from DEEP_HEAD
    for f in own:
        cached = DASH if f.cached_tokens is None else f"{f.cached_tokens:,}"
        row = (
            f"{f.cell.name:<{NAME_WIDTH}} {f.prompt:>8,} {_time(f.cold_first):>8} {_number(f.cold_read, 0):>8} "
            f"{_time(f.cached_first):>8} {cached:>9} {_number(f.decode):>8}"
        )
        yield visible(row).rstrip()
    deep = [f for f in own if f.decode]
    if len(deep) > 1:
        yield ""
        yield "Writing after a prompt of so many tokens, tokens a second:"
        yield from bar_lines(
            [Bar(f"{f.prompt:,}", f.decode or 0.0, _number(f.decode)) for f in deep], WIDTH, unicode=unicode
        )


def _many(own: Sequence[Figures], *, unicode: bool) -> Iterator[str]:
    many = [f for f in own if f.cell.part is Part.STREAMS and f.total]
    if len(many) < 2:
        return
    yield ""
    yield "Together, tokens a second by streams:"
    bars = [Bar(str(f.cell.streams), f.total or 0.0, _number(f.total)) for f in many]
    yield from bar_lines(bars, WIDTH, unicode=unicode)


def _gaps(own: Sequence[Figures]) -> Iterator[str]:
    """How long one waits between two arrivals: the distribution of the first cell and of the one with most streams."""
    known = [f for f in own if f.gaps]
    chosen = dict.fromkeys([*known[:1], *sorted(known, key=lambda f: -f.cell.streams)[:1]])
    if not chosen:
        return
    yield ""
    yield "Between arrivals, ms:".ljust(NAME_WIDTH * 2) + "".join(f"{share:>6.0%}" for share in GAP_SHARES)
    for f in chosen:
        gaps = [f.gaps[QUANTILES.index(share)] * 1000 for share in GAP_SHARES]
        yield f.cell.name.ljust(NAME_WIDTH * 2) + "".join(f"{gap:>6.{0 if gap >= 100 else 1}f}" for gap in gaps)


def speculation_lines(drafted: Speculation, *, unicode: bool = True) -> Iterator[str]:
    """What drafts brought: both lengths with their names, and a bar for each place."""
    yield ""
    yield from wrapped(
        f"Speculation at K = {drafted.depth}, {drafted.drafts:,} steps by the server's counters: "
        f"{drafted.drafts_only:.2f} drafts kept a step (drafts only), {drafted.with_bonus:.2f} tokens a step (bonus "
        f"token included); {drafted.rate:.1%} of the proposed tokens were kept."
    )
    if not drafted.accepted:
        yield from wrapped(
            "No draft was kept at all: the draft model does not fit this revision of the model. The output is right "
            "all the same, so nothing else shows it; take the draft that belongs to the revision, or none."
        )
        return
    bars = [Bar(f"place {at}", share, f"{share:.1%}") for at, share in enumerate(drafted.curve, 1)]
    yield from bar_lines(bars, WIDTH, unicode=unicode)


def advice_lines(advice: Advice, *, unicode: bool = True) -> Iterator[str]:
    """The table of depths, a bar for each, and what to measure next."""
    yield from _depth_rows(advice)
    bars = [Bar(f"K {d.depth}", d.rate, f"{d.rate:.1f}", d.measured) for d in advice.depths]
    yield ""
    yield from bar_lines(bars, WIDTH, unicode=unicode)
    yield from wrapped(
        f"Best by this: K = {' or '.join(map(str, advice.best))}; measure both (pool bench --sweep-k "
        f"{','.join(map(str, advice.best))} --serve COMMAND). {advice.words}"
    )


def together_lines(advice: Advice) -> Iterator[str]:
    """The table of depths for streams at the same time: tokens a second are those of one of them."""
    yield ""
    yield f"The same for {advice.streams} streams at a time, each:"
    yield from _depth_rows(advice)
    yield from wrapped(f"Best by this for {advice.streams} streams: K = {' or '.join(map(str, advice.best))}.")


def _depth_rows(advice: Advice) -> Iterator[str]:
    yield ""
    yield f"{'K':>4} {'':<10} {'tok/step':>8} {'ms/step':>8} {'tok/s':>7} {'ceiling':>8} {'break-even':>10}"
    for d in advice.depths:
        source = "measured" if d.measured else "predicted"
        even = f"{d.break_even:.2f}" if d.depth else ""
        yield (
            f"{'' if d.aligned else '~'}{d.depth}".rjust(4)
            + f" {source:<10} {d.tokens:>8.2f} {d.seconds * 1000:>8.1f} {d.rate:>7.1f} {d.ceiling:>8.1f} {even:>10}"
        )


def _remarks(own: Sequence[Figures]) -> Iterator[str]:
    """Everything that makes a figure less than it seems."""
    notes: list[str] = []
    doubted = [f for f in own if f.doubts]
    if doubted:
        worst = max(doubted, key=lambda f: len("".join(f.doubts)))
        names = ", ".join(f.cell.name for f in doubted)
        notes.append(f"Too noisy to tell to 1 %: {names}. In {worst.cell.name}, {'; '.join(worst.doubts)}.")
    for f in own:
        if f.foreign:
            notes.append(
                f"{f.cell.name}: others used the server meanwhile ({f.foreign:,} tokens of theirs): measure again."
            )
        if f.short:
            notes.append(f"{f.cell.name}: {f.short} of {f.replies} replies ended before {f.cell.tokens} tokens.")
    blind = sum(f.estimated for f in own)
    if blind and all(f.written for f in own):
        notes.append(
            f"{blind} replies came without a running count: how many tokens came first is estimated from the text."
        )
    if any(not f.written for f in own):
        notes.append("The server tells no token counts, so there are no speeds of writing: pieces are not tokens.")
    if own and all(f.foreign is None for f in own):
        notes.append("The server shows no counters (/metrics), so others' traffic would not be seen.")
    if notes:
        yield ""
    for note in notes:
        yield from wrapped(f"! {note}")


def wrapped(text: str) -> list[str]:
    """Text on lines of `WIDTH`, without control characters."""
    return textwrap.wrap(visible(" ".join(text.split())), WIDTH, break_on_hyphens=False)


def _number(value: float | None, digits: int = 1) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return DASH
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
