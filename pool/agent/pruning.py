"""Pruning: old bulky results are left out of the history in one step, where that makes enough room.

It costs no reply of the model, only the reading of what stands behind the first result that is left out. It is done in
bulk and seldom, since each time the server's cache is lost from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pool.messages import Encoded, Message, Role

KEPT_TURNS = 4
"""Results of so many last turns stay as they are."""

BULKY_CHARS = 1500
SHOWN_CHARS = 200
"""Of a result that is left out so much of its beginning stays."""

LEFT_OUT = "[Pool] The rest of this result was left out to make room. Call the tool again if you need it."


def pruned(messages: Sequence[Encoded], encode: Callable[[Message], Encoded]) -> list[Encoded]:
    """The messages with old bulky results shortened; the others are the same objects."""
    replies = [i for i, m in enumerate(messages) if m.message.role is Role.ASSISTANT]
    old = replies[-KEPT_TURNS] if len(replies) >= KEPT_TURNS else 0
    return [_shortened(m, encode) if i < old else m for i, m in enumerate(messages)]


def first_difference(before: Sequence[Encoded], after: Sequence[Encoded]) -> int:
    """Index of the first message that differs; the length of the shorter list if none does."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a is not b), min(len(before), len(after)))


def _shortened(encoded: Encoded, encode: Callable[[Message], Encoded]) -> Encoded:
    message = encoded.message
    if message.role is not Role.TOOL or len(message.content) <= BULKY_CHARS:
        return encoded
    return encode(replace(message, content=f"{message.content[:SHOWN_CHARS]}\n{LEFT_OUT}"))
