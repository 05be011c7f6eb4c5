"""The flags of `pool bench`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from pool.lab.bench.corpus import Kind
from pool.lab.bench.plan import DEPTHS, RUNS, SEED_TOKENS, STREAMS

LIMIT_SECONDS = 600.0
STARTS = 2
START_SECONDS = 1_800.0

MOST_STREAMS = 512
MOST_DEPTH = 1_000_000


def parser() -> argparse.ArgumentParser:
    """The flags."""
    p = argparse.ArgumentParser(
        prog="pool bench",
        usage="pool bench [FLAGS]\n       pool bench compare FILE FILE [...]",
        description="Measure how fast a model server reads and writes, and what speculation brings, by the server's "
        "own token counts. Says first what it costs. pool bench compare shows saved measurements side by side.",
        epilog="Exit codes: 0 measured, 2 usage, 75 the server failed (what was measured is shown), 130 interrupted. "
        "See docs/bench.md.",
    )
    add = p.add_argument
    add("--base-url", metavar="URL", help="server, such as http://127.0.0.1:8000 (POOL_BASE_URL)")
    add("--model", metavar="ID", help="model id; default: the server's (POOL_MODEL)")
    add("--profile", metavar="NAME", default="", help="the server of a profile (pool config)")
    add(
        "--against", metavar="URL", action="append", default=[], help="another server, measured in turns with the first"
    )
    add("--against-model", metavar="ID", default="", help="its model id; default: what it serves")
    add(
        "--protocol",
        choices=("full", "seed"),
        help="full unless it is a sweep; seed: replies of 256 tokens, the median of 3 single streams, then 8 at once",
    )
    kinds = [kind.value for kind in Kind if kind is not Kind.SEED]
    add("--kinds", nargs="+", metavar="KIND", choices=kinds, default=[], help=f"some of: {', '.join(kinds)}")
    add("--replay", metavar="SESSION", action="append", default=[], help="send prompts of a session of yours again")
    add(
        "--streams",
        type=_numbers(1, MOST_STREAMS),
        default=STREAMS,
        metavar="N,N",
        help="requests at a time (1,2,4,8,16)",
    )
    add(
        "--depths",
        type=_numbers(0, MOST_DEPTH),
        default=DEPTHS,
        metavar="N,N",
        help="tokens before the prompt (0,4096,16384)",
    )
    add("--runs", type=_positive, default=RUNS, metavar="N", help="repeats of a single stream (3)")
    add("--tokens", type=_positive, default=SEED_TOKENS, metavar="N", help="tokens of a reply at most (256)")
    add("--thinking", choices=("on", "off"), default="off", help="with or without a thought (off)")
    add("--temperature", type=_temperature, metavar="T", help="default: as your runs have it; --protocol seed: 0")
    add("--timeout", type=_seconds, default=LIMIT_SECONDS, metavar="S", help="limit of one reply (600)")
    add(
        "--step-time",
        type=_step_time,
        action="append",
        default=[],
        metavar="K=MS",
        help="a step's time at depth K, if you know it (0: none)",
    )
    add("--json", action="store_true", help="one JSON object instead of text")
    add("--save", metavar="FILE", help="write that object into a file too")
    add("--html", metavar="FILE", help="write a page with the figures and plots")
    add("--svg", metavar="FOLDER", help="write the plots as SVG files")
    add("--dry-run", action="store_true", help="say what it would cost, and end")
    sweep = p.add_argument_group("sweeps", "start a server anew for each value and measure it")
    sweep.add_argument("--sweep-k", metavar="K,K", type=_numbers(0, 64), help="draft depths; 0 is no speculation")
    sweep.add_argument("--sweep", metavar="FLAG=A,B", help="a flag of the server's, such as moe-backend=auto,marlin")
    sweep.add_argument("--serve", metavar="COMMAND", help="starts the server; {K}, {K+1}, {VALUE} are put in")
    sweep.add_argument("--starts", type=_positive, default=STARTS, metavar="N", help="starts of each value (2)")
    sweep.add_argument(
        "--start-timeout", type=_seconds, default=START_SECONDS, metavar="S", help="limit of a start (1800)"
    )
    sweep.add_argument("--log", metavar="FOLDER", help="keep the servers' logs there")
    return p


def step_times(given: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Seconds by K; of several for one K the last counts."""
    return dict(given)


def _step_time(text: str) -> tuple[int, float]:
    k, _, ms = text.partition("=")
    number = _number(ms)
    if not (k.isascii() and k.isdigit()) or number is None or number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no depth and milliseconds such as 0=51")
    return int(k), number / 1000


class _numbers:
    """Reads `1,2,4`: whole numbers between low and high."""

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high

    def __call__(self, text: str) -> tuple[int, ...]:
        try:
            out = tuple(int(part) for part in text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers such as 1,2,4") from None
        if not all(self._low <= number <= self._high for number in out):
            raise argparse.ArgumentTypeError(f"each of {text} must be from {self._low:,} to {self._high:,}")
        return tuple(dict.fromkeys(out))


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    number = _number(text)
    if number is None or number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return number


def _temperature(text: str) -> float:
    number = _number(text)
    if number is None or number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return number


def _number(text: str) -> float | None:
    """A finite number, None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
