"""A prefix cache that counts honestly: shared beginnings of prompts, in whole blocks, as vLLM's."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

BLOCK_TOKENS = 16
CAPACITY_BLOCKS = 262_144


class PrefixCache:
    """Which blocks of tokens were computed, each known by all tokens up to its end; the longest unused are dropped."""

    def __init__(self, capacity_blocks: int = CAPACITY_BLOCKS) -> None:
        self._blocks: OrderedDict[int, None] = OrderedDict()
        self._capacity = capacity_blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def cached(self, tokens: Sequence[str], salt: str = "") -> int:
        """Tokens at the start that need not be computed again. The last token always is, for it gives the next one."""
        found = 0
        for key in _keys(tokens[:-1], salt):
            if key not in self._blocks:
                break
            self._blocks.move_to_end(key)
            found += BLOCK_TOKENS
        return found

    def store(self, tokens: Sequence[str], salt: str = "") -> None:
        """Keep all whole blocks of tokens."""
        for key in _keys(tokens, salt):
            self._blocks[key] = None
            self._blocks.move_to_end(key)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)


def _keys(tokens: Sequence[str], salt: str) -> list[int]:
    keys: list[int] = []
    chain = hash(salt)
    for end in range(BLOCK_TOKENS, len(tokens) + 1, BLOCK_TOKENS):
        chain = hash((chain, tuple(tokens[end - BLOCK_TOKENS : end])))
        keys.append(chain)
    return keys
