"""Building a request: a head (everything but the messages) and stored message bytes, joined.

No message is encoded twice, and a request of a thousand turns is one `bytes.join`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pool.messages import encode_json


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; the defaults are Laguna S 2.1's. None leaves a field out.

    `min_p` and `logit_bias` are refused by vLLM under speculation, so they are never sent unless the user sets them in
    extra.
    """

    temperature: float | None = 0.7
    top_p: float | None = 0.95
    top_k: int | None = 20
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Head:
    """What every request of a session says before its messages. Frozen for the session: a change breaks the cache.

    tools are the `{"type": "function", ...}` objects in their fixed order; empty means that the key is left out (vLLM
    refuses `tools: []`). extra are fields of the server's dialect.
    """

    model: str
    thinking: bool
    tools: tuple[Mapping[str, Any], ...] = ()
    sampling: Sampling = Sampling()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def fields(self) -> dict[str, Any]:
        """The head as the first keys of a request body."""
        out: dict[str, Any] = {"model": self.model}
        if self.tools:
            out["tools"] = list(self.tools)
        for name in ("temperature", "top_p", "top_k"):
            value = getattr(self.sampling, name)
            if value is not None:
                out[name] = value
        out.update(self.sampling.extra)
        out["chat_template_kwargs"] = {"enable_thinking": self.thinking}
        merge(out, self.extra)
        return out


def merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add more to into, one level deep for objects."""
    for key, value in more.items():
        old = into.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            old.update(value)  # pyright: ignore[reportUnknownMemberType]
        else:
            into[key] = value


class RequestBuilder:
    """Joins head and messages. The head is encoded once."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._prefix = encode_json(head.fields())[:-1]

    def build(
        self,
        messages: Sequence[bytes],
        *,
        max_tokens: int,
        tool_choice: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The request body. messages are encoded chat messages; max_tokens is always sent.

        Every request streams and asks for usage. tool_choice "none" keeps the tools in the request (dropping them costs
        the prefix). extra are fields of this request alone; they must not repeat the head's.
        """
        tail: dict[str, Any] = {
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": max(1, max_tokens),
        }
        if tool_choice and self.head.tools:
            tail["tool_choice"] = tool_choice
        merge(tail, extra or {})
        return b"".join((self._prefix, b",", encode_json(tail)[1:-1], b',"messages":[', b",".join(messages), b"]}"))
