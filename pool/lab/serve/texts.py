"""What `pool serve` shows: lines that fit 80 columns, but for what is there to be pasted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from pool.lab.serve.advice import FIRST_START_MINUTES, Advice, rows
from pool.lab.serve.catalog import MODELS
from pool.lab.serve.clock import clock
from pool.lab.serve.setup import Setup
from pool.lab.serve.shapes import GIB, Engine
from pool.lab.serve.traps import Trap
from pool.lab.serve.weights import State, Weights
from pool_tools.text import printable, size, visible

WIDTH = 80
_VALUE_CHARS = 40


def advice_lines(advice: Advice) -> Iterator[str]:
    """The command, why each flag is there, what to look at, and what comes next."""
    setup = advice.setup
    if setup:
        yield setup.title
        yield from _wrapped(setup.remarks)
        yield ""
    yield printable(advice.command.shell())
    yield ""
    yield from reason_lines(advice)
    yield from trap_lines(advice.traps)
    if setup:
        yield f"Memory: {memory_line(setup)}"
    for weights in advice.weights:
        yield from weights_lines(weights)
    yield f"First start: {start_words(setup)}"
    yield ""
    yield "pool serve plan shows what fits; --watch starts it and keeps it running."


def reason_lines(advice: Advice) -> Iterator[str]:
    """Each flag with its reason."""
    named = [(f"{name}={value}", why) for name, value, why in advice.command.env]
    named += [(" ".join(flag.words), flag.reason) for flag in advice.command.flags]
    for words, why in named:
        head = words if len(words) <= _VALUE_CHARS else f"{words[: _VALUE_CHARS - 1]}…"
        yield f"  {visible(head)}"
        yield from _wrapped([why], "      ")
    yield ""


def trap_lines(found: Iterable[Trap]) -> Iterator[str]:
    """What is wrong, who saw it, what to do."""
    for trap in found:
        yield from _wrapped([f"{'REFUSED' if trap.refuse else 'Note'} ({trap.name}): {trap.words}"], "", "  ")
        yield from _wrapped([f"seen: {trap.source}"], "  ")
        yield f"  -> {visible(trap.remedy)}"


def memory_line(setup: Setup) -> str:
    """What the cache holds, in a line."""
    full = setup.layout.capacity(setup.pool_bytes, setup.context)
    about = "" if setup.layout.exact else "about "
    return f"{setup.pool_bytes / GIB:.1f} GiB of cache, {about}{full.requests:.1f} sessions of {setup.context:,} tokens"


def weights_lines(weights: Weights) -> Iterator[str]:
    """Whether a checkpoint is here, and the line that fetches it."""
    have, need = size(weights.have_bytes), size(weights.need_bytes)
    match weights.state:
        case State.HERE:
            yield f"Weights: {weights.repo} is here ({have})"
        case State.OTHER:
            words = f"Weights: {weights.repo}: {have} are here where {need} are expected: another upload or more files"
            yield from _wrapped([words], "", "  ")
        case State.PARTLY | State.MISSING:
            so_far = f"{have} of about {need}" if weights.have_bytes else f"about {need}"
            room = size(weights.free_bytes)
            enough = f"{room} are free" if weights.fits else f"only {room} are free, which is too little"
            yield from _wrapped([f"Weights: {weights.repo}: {so_far} still to fetch; {enough}"], "", "  ")
            yield f"  {visible(weights.download)}"
            yield f"  into {visible(str(weights.place))}"


def start_words(setup: Setup | None, last_seconds: float = 0.0) -> str:
    """How long a start takes."""
    if last_seconds:
        return f"the last one took {clock(last_seconds)}"
    if setup is None:
        return "not known for a command of yours"
    if setup.engine in (Engine.LLAMACPP, Engine.MLX):
        return "as long as loading the weights takes; no kernels are compiled"
    least, most = FIRST_START_MINUTES
    return f"{least} to {most} minutes (loading, compiling, recording graphs)"


def plan_lines(setup: Setup) -> Iterator[str]:
    """The memory plan as tables."""
    yield setup.title
    yield from _wrapped(setup.remarks)
    yield ""
    yield from _budget(setup)
    yield ""
    yield from _cache(setup)
    yield ""
    yield f"{'length':>11}{'one session':>14}{'fit at once':>14}{'reading it adds':>18}"
    for row in rows(setup):
        fit = f"{row.sessions:,.2f}" if row.sessions >= 1 else f"none ({row.sessions:.2f})"
        read = f"{row.read_ms:.1f} ms/token"
        yield f"{row.length:>11,}{row.session_bytes / GIB:>10.2f} GiB{fit:>14}{read:>18}"
    yield ""
    yield from _sources(setup)


def _budget(setup: Setup) -> Iterator[str]:
    share = f"usable: {setup.utilization:.0%} of {setup.devices * setup.machine.memory_gib:.1f} GiB"
    lines = [
        (share, setup.usable_bytes),
        (f"weights, {setup.variant.repo}", -setup.variant.weights_bytes),
    ]
    if setup.draft:
        own = setup.draft.repo or "in the weights"
        lines.append((f"draft, K={setup.depth}, {own}", -setup.draft_bytes))
    lines.append(("work space and graphs", -setup.overhead_bytes))
    if setup.pool_gib is not None:
        lines = []
    for words, count in lines:
        yield f"{words:<58}{count / GIB:>9.2f} GiB"
    measured = "cache, as measured" if setup.pool_gib is not None else "left for the cache"
    yield f"{measured:<58}{setup.pool_bytes / GIB:>9.2f} GiB"


def _cache(setup: Setup) -> Iterator[str]:
    layout, plain = setup.layout, setup.plain_layout
    full = layout.capacity(setup.pool_bytes, setup.context)
    about = "" if layout.exact else "about "
    fixed = layout.fixed_bytes(setup.context) / 1024**2
    words = (
        f"A session takes {layout.token_bytes / 1024:.1f} KiB a token and {fixed:,.0f} MiB at once ({setup.cache}, "
        f"{layout.step_tokens:,} tokens a step)."
    )
    yield from _wrapped([words], "")
    lead = "The server will report" if setup.engine is Engine.VLLM else "It holds"
    words = f"{lead} {about}{full.tokens:,} tokens: {full.requests:.2f} sessions of {setup.context:,}."
    yield from _wrapped([words], "")
    if setup.draft:
        without = plain.capacity(setup.pool_bytes + setup.draft_bytes, setup.context)
        more = (layout.token_bytes - plain.token_bytes) / 1024
        words = f"The draft takes {more:.1f} KiB of each token; without it {without.requests:.2f} sessions fit."
        yield from _wrapped([words], "")
    if not layout.exact:
        yield "This is an estimate: only vLLM's blocks of one size are followed exactly."


def _sources(setup: Setup) -> Iterator[str]:
    yield "Where the figures are from"
    texts = [("layers", setup.model.source), ("weights", setup.variant.source), ("machine", setup.machine.source)]
    texts += [("draft", setup.draft.source)] if setup.draft else []
    for name, text in texts:
        yield from _wrapped([f"{name}: {text}"], "  ", "    ")


def list_lines() -> Iterator[str]:
    """All profiles."""
    for model in MODELS.values():
        yield f"{model.name}"
        for variant in model.variants:
            engines = ", ".join(engine.value for engine in variant.engines)
            yield f"  {variant.name:<9}{size(variant.weights_bytes):>9}  {engines:<13} {variant.repo}"


def _wrapped(texts: Iterable[str], first: str = "  ", rest: str | None = None) -> Iterator[str]:
    for text in texts:
        yield from textwrap.wrap(
            visible(text),
            WIDTH,
            initial_indent=first,
            subsequent_indent=first if rest is None else rest,
            break_on_hyphens=False,
            break_long_words=False,
        )
