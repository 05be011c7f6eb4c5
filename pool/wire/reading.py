"""What a streamed reply meant: the result of reading, and the small events on the way to it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pool.events import Usage
from pool_tools.frozen import frozen

DEFAULT_THINK_TAGS = ("think", "thinking", "mm:think")
"""Tag names that wrap reasoning; a profile may add to them."""

MAX_CALLS = 64
"""Most calls of one reply that are read; more is a model in a loop or a server that floods."""

TOO_MANY_CALLS = f"The reply holds more than {MAX_CALLS} tool calls. Make fewer in one reply."
FAR_BEYOND_CHARS_PER_TOKEN = 32
"""Four times what a reply could hold if each of its tokens were as long as long tokens are."""

LEAST_REPLY_CHARS = 4 * 1024 * 1024
MOST_REPLY_CHARS = 16 * 1024 * 1024
"""Bounds of the length, in characters, at which a reply is no longer read."""

REPLY_TOO_LONG = "reply-too-long"
"""The repair of a reply that Pool stopped reading because it went far beyond its limit."""


class Ending(StrEnum):
    """How a reply ended, as Pool reads it (the server's `finish_reason` alone does not say).

    Only `WHOLE` replies may have their calls run. `CUT` is the server's doing, `STOPPED` Pool's own.
    """

    WHOLE = "whole"
    LENGTH = "length"
    WINDOW = "window"
    REPETITION = "repetition"
    SERVER_ERROR = "server_error"
    DROPPED = "dropped"
    ABORTED = "aborted"
    CUT = "cut"
    STOPPED = "stopped"


@frozen
class RawCall:
    """A tool call as assembled from the wire: arguments is the JSON text of an object, not yet validated.

    id is "" when the server gave none. recovered says that it was found as markup in text.
    """

    id: str
    name: str
    arguments: str
    recovered: bool = False


@frozen
class BrokenCall:
    """A call that must not be run. why is for the model: what was wrong with what arrived."""

    id: str
    name: str
    arguments: str
    why: str


@frozen
class ServerFault:
    """An error object that the server sent, before or in the stream. code is HTTP-like, 0 if it gave none."""

    message: str
    code: int = 0
    kind: str = ""


@frozen
class Reading:
    """One reply, read.

    reasoning_field is the wire name under which reasoning arrived, "" if none came apart. calls may be run if and
    only if `ending` is `WHOLE`. repairs names each mending that changed what a naive reader would have seen.
    """

    reasoning: str = ""
    content: str = ""
    calls: tuple[RawCall, ...] = ()
    broken: tuple[BrokenCall, ...] = ()
    finish: str = ""
    stop: str = ""
    ending: Ending = Ending.WHOLE
    usage: Usage | None = None
    reasoning_field: str = ""
    fault: ServerFault | None = None
    repairs: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether there is an answer or a call to act on."""
        return bool(self.content.strip() or self.calls or self.broken)


@frozen
class ReasoningText:
    """More reasoning."""

    text: str


@frozen
class ContentText:
    """More content."""

    text: str


@frozen
class ContentWasReasoning:
    """All content given so far in this reply was reasoning (a leaked end of thought came)."""


@frozen
class CallText:
    """A call's arguments grew to chars characters. path is the value of its first path-like argument once known."""

    index: int
    name: str
    chars: int
    path: str = ""


@frozen
class UsageSoFar:
    """A running usage count (vLLM's `continuous_usage_stats`)."""

    usage: Usage


ReadingEvent = ReasoningText | ContentText | ContentWasReasoning | CallText | UsageSoFar


@frozen
class Expectation:
    """What the request asked for, as far as reading the reply depends on it.

    tools maps each name that was sent to its JSON schema; empty if none were. calls_allowed is False under
    `tool_choice: none`. max_tokens and window are in tokens, 0 if unknown. think_tags are names of tags that wrap
    reasoning.
    """

    tools: Mapping[str, Mapping[str, Any]]
    calls_allowed: bool = True
    thinking: bool = True
    max_tokens: int = 0
    window: int = 0
    think_tags: tuple[str, ...] = DEFAULT_THINK_TAGS

    @property
    def most_chars(self) -> int:
        """Characters of text, and likewise of calls, after which the server must have overlooked `max_tokens`."""
        if self.max_tokens <= 0:
            return MOST_REPLY_CHARS
        return min(MOST_REPLY_CHARS, max(LEAST_REPLY_CHARS, self.max_tokens * FAR_BEYOND_CHARS_PER_TOKEN))
