"""What keeping secrets out of output costs: making a mask, a long output, short pieces of a live one.

    python benchmarks/masking.py

Where no secret is kept, nothing of it runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from pool_tools.masking import Mask

TOKEN = "ghp_" + "x1Y2z3" * 6
KEY_LINES = 26
SECONDS = 0.5
PIECE = b"tick 123\n"


def key() -> str:
    """A value like a private key of 2,048 bits in PEM."""
    lines = [f"{n:02d}" + "aB3dE6gH9" * 7 for n in range(KEY_LINES)]
    return "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])


def measured(name: str, values: Mapping[str, str]) -> str:
    """One row."""
    began = time.perf_counter()
    mask = Mask(values)
    made = time.perf_counter() - began
    output = b"".join(b"%d some line of the output of a build\n" % n for n in range(8_000))
    rates: list[float] = []
    for piece in (output, PIECE):
        stream, count, began = mask.stream(), 0, time.perf_counter()
        while time.perf_counter() - began < SECONDS:
            stream.feed(piece)
            count += 1
        rates.append(count / (time.perf_counter() - began))
    return f"| {name} | {made * 1e3:.1f} | {rates[0] * len(output) / 1e6:,.0f} | {1e6 / rates[1]:,.0f} |"


def main() -> None:
    """Print a table."""
    print("| secrets | made, ms | long output, MB/s | a short piece, µs |\n|---|---|---|---|")
    print(measured("one token", {"A": TOKEN}))
    print(measured("five tokens", {name: name + TOKEN for name in "ABCDE"}))
    print(measured(f"a key of {KEY_LINES} lines", {"K": key()}))


if __name__ == "__main__":
    main()
