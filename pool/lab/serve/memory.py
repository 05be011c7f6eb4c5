"""How much key-value cache a request takes, and how many requests fit.

vLLM keeps blocks of 16 tokens. Layers with a window keep, for each request, the window and one step's tokens, whatever
the request's length; layers over the whole context keep all of it. Where all pages have one size, layers are put in
groups of equal number, and a block serves one group. That arithmetic gives two published starts to the token:
74,028 blocks are 977,533 tokens at 65,536, and 73,349 are 1,114,602 at 262,144.

Elsewhere (other servers, layers of different sizes, recurrent states) it is an estimate from the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pool.lab.serve.shapes import Attention, Recurrent
from pool_tools.frozen import frozen

BLOCK_TOKENS = 16
ELEMENT_BYTES = {"fp8": 1.0, "bf16": 2.0, "q8_0": 34 / 32}
"""Bytes of one number in the cache. llama.cpp's q8_0 keeps a scale of two bytes for 32 numbers."""

_NEARLY_EQUAL = 1.5
"""Numbers of layers that differ by less than this are grouped by the greater one (vLLM 0.25.1, kv_cache_utils.py)."""


@frozen
class Capacity:
    """What fits at a length: requests, and tokens as vLLM reports them (requests times length)."""

    requests: float
    tokens: int


@frozen
class Layout:
    """All layers that keep something, a draft's among them.

    step_tokens: the most tokens that one step of the server handles. element_bytes: of one number in the cache. blocks:
    whether vLLM's block arithmetic is used, where it applies.
    """

    attention: tuple[Attention, ...]
    element_bytes: float
    step_tokens: int
    recurrent: Recurrent | None = None
    blocks: bool = True

    def with_draft(self, draft: Attention) -> Layout:
        """The same with a draft's layers, added to those of their kind."""
        return replace(self, attention=_added(self.attention, draft))

    @property
    def exact(self) -> bool:
        """Whether the server's own arithmetic is followed to the block."""
        sizes = {layer.kv_heads * layer.head_dim for layer in self.attention}
        return self.blocks and self.recurrent is None and len(sizes) == 1

    @property
    def token_bytes(self) -> float:
        """What each further token of a long request takes."""
        return sum(layer.layers * self._row(layer) for layer in self.attention if not layer.window)

    def fixed_bytes(self, length: int) -> float:
        """What a request of this length takes besides its tokens in the layers that keep all."""
        return self.request_bytes(length) - self.token_bytes * length

    def request_bytes(self, length: int) -> float:
        """What one request of so many tokens takes."""
        if self.exact:
            return self._request_blocks(length) * self._block_bytes()
        rows = sum(layer.layers * self._row(layer) * self._kept(layer, length) for layer in self.attention)
        return rows + (self.recurrent.layers * self.recurrent.state_bytes if self.recurrent else 0)

    def capacity(self, pool_bytes: float, length: int) -> Capacity:
        """What a pool of so many bytes holds, in requests of one length."""
        if self.exact:
            requests = (max(pool_bytes, 0) // self._block_bytes()) / self._request_blocks(length)
        else:
            requests = max(pool_bytes, 0) / self.request_bytes(length)
        return Capacity(requests, int(requests * length))

    def pool_for(self, tokens: int, length: int) -> float:
        """The bytes of a pool of which a server reports so many tokens at its longest length."""
        return tokens / length * self.request_bytes(length)

    def _row(self, layer: Attention) -> float:
        """Bytes of one token in one layer, keys and values."""
        return 2 * layer.kv_heads * layer.head_dim * self.element_bytes

    def _kept(self, layer: Attention, length: int) -> int:
        return min(layer.window - 1 + self.step_tokens, length) if layer.window else length

    def _group(self) -> int:
        counts = [layer.layers for layer in self.attention]
        return max(counts) if max(counts) < min(counts) * _NEARLY_EQUAL else min(counts)

    def _block_bytes(self) -> float:
        return self._group() * BLOCK_TOKENS * self._row(self.attention[0])

    def _request_blocks(self, length: int) -> int:
        group = self._group()
        return sum(_ceil(layer.layers, group) * self._layer_blocks(layer, length) for layer in self.attention)

    def _layer_blocks(self, layer: Attention, length: int) -> int:
        blocks = _ceil(self._kept(layer, length), BLOCK_TOKENS)
        # A window may begin in the middle of a block.
        return blocks + 1 if layer.window else blocks


def step_tokens_of(
    layout: Layout, pool_bytes: float, tokens: int, length: int, candidates: Sequence[int] = (2_048, 4_096, 8_192)
) -> int:
    """The step size that best explains what a server reports of its pool: tokens at its longest length."""

    def off(step: int) -> float:
        return abs(replace(layout, step_tokens=step).capacity(pool_bytes, length).tokens - tokens)

    return min(candidates, key=off)


def _added(layers: tuple[Attention, ...], more: Attention) -> tuple[Attention, ...]:
    for number, layer in enumerate(layers):
        if replace(layer, layers=0) == replace(more, layers=0):
            joined = replace(layer, layers=layer.layers + more.layers)
            return (*layers[:number], joined, *layers[number + 1 :])
    return (*layers, more)


def _ceil(value: int, step: int) -> int:
    return -(-value // step)
