"""Which batch sizes vLLM records as CUDA graphs. A batch of another size is padded to the next one and pays for it.

With speculation one step of c requests handles c times K + 1 tokens; K + 1 and that product should be sizes of the
grid, and the grid must reach to it: one report went from 25 to 133 tokens a second when it did.
"""

from __future__ import annotations

import json
from itertools import chain
from typing import Any, cast

MOST_CAPTURED = 512
"""The default's upper bound, in tokens."""

_FINE, _COARSE = 8, 16
_COARSE_FROM = 256
_START = (1, 2, 4)


def grid(most: int) -> list[int]:
    """The sizes up to most: 1, 2, 4, then by 8 below 256, then by 16."""
    every = chain(_START, range(_FINE, _COARSE_FROM, _FINE), range(_COARSE_FROM, most + 1, _COARSE))
    return [size for size in every if size <= most]


def default_most(max_num_seqs: int, depth: int, step_tokens: int) -> int:
    """The largest recorded size where no flag says it: twice the widest step, within bounds (vLLM 0.25.1, vllm.py)."""
    return max(grid(min(2 * max_num_seqs * (depth + 1), MOST_CAPTURED, step_tokens)), default=0)


def padded(tokens: int) -> int:
    """The size that a batch of so many tokens runs at, if it is recorded at all."""
    return next(size for size in grid(max(tokens + _COARSE, _COARSE_FROM)) if size >= tokens)


def aligned(depth: int) -> bool:
    """Whether a verification of depth draft tokens and one more has a size of the grid."""
    return padded(depth + 1) == depth + 1


def aligned_depths(up_to: int = 15) -> list[int]:
    """The depths that have one."""
    return [depth for depth in range(1, up_to + 1) if aligned(depth)]


def captured(sizes: str, compilation: str) -> list[int] | None:
    """Sizes that a command names itself: by `--cudagraph-capture-sizes`, or in its compilation config (JSON).

    None if it names none or they cannot be read.
    """
    if numbers := [int(word) for word in sizes.replace(",", " ").split() if word.isdecimal()]:
        return sorted(numbers)
    try:
        value: Any = json.loads(compilation or "{}")
    except ValueError:
        return None
    listed = cast(dict[str, Any], value).get("cudagraph_capture_sizes") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return None
    return sorted(size for size in cast(list[Any], listed) if isinstance(size, int))
