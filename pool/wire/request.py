"""Building a request: a head (everything but the messages) and stored message bytes, joined.

No message is encoded twice, and a request of a thousand turns is one `bytes.join`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pool.messages import Encoded, Message, encode, encode_json
from pool_tools.frozen import frozen


@frozen
class Sampling:
    """Sampling parameters; the defaults are Laguna S 2.1's. None leaves a field out.

    `min_p` and `logit_bias` are refused by vLLM under speculation, so they are never sent unless the user sets them in
    extra.
    """

    temperature: float | None = 0.7
    top_p: float | None = 0.95
    top_k: int | None = 20
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen
class Head:
    """What every request of a session says before its messages. Frozen for the session: a change breaks the cache.

    tools are the `{"type": "function", ...}` objects in their fixed order; empty means that the key is left out (vLLM
    refuses `tools: []`). extra are fields of the server's dialect. window is the context window in tokens to ask for,
    where a request can do that; 0 leaves it to the server.
    """

    model: str
    thinking: bool
    tools: tuple[Mapping[str, Any], ...] = ()
    sampling: Sampling = Sampling()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    window: int = 0

    def fields(self) -> dict[str, Any]:
        """The head as the first keys of a request body, in OpenAI's form."""
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


@frozen
class RequestShape:
    """The form of a chat request, and where it goes: one value per API.

    path is below the base URL. encode turns a message into its bytes. head gives all that comes before the messages;
    tail what each request adds, from max_tokens and tool_choice ("" if there is none). open_field names an object of
    the head that each request completes, "" for none: it moves to the tail. thinking_field names the field of the head
    that switches thinking. sets_window: the request says how large the context window is to be.
    """

    path: str
    encode: Callable[[Message], Encoded]
    head: Callable[[Head], dict[str, Any]]
    tail: Callable[[int, str], dict[str, Any]]
    thinking_field: str
    open_field: str = ""
    sets_window: bool = False


def _openai_tail(max_tokens: int, tool_choice: str) -> dict[str, Any]:
    tail: dict[str, Any] = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": max_tokens,
    }
    if tool_choice:
        tail["tool_choice"] = tool_choice
    return tail


OPENAI = RequestShape(
    path="chat/completions",
    encode=encode,
    head=Head.fields,
    tail=_openai_tail,
    thinking_field="chat_template_kwargs",
)
"""OpenAI's chat completions, as vLLM and the others understand them."""


class RequestBuilder:
    """Joins head and messages in a shape. The head is encoded once; messages must be encoded in the same shape."""

    def __init__(self, head: Head, shape: RequestShape = OPENAI) -> None:
        self.head = head
        self.shape = shape
        fields = shape.head(head)
        self.head_json = encode_json(fields).decode()
        self._open = {shape.open_field: fields.pop(shape.open_field)} if shape.open_field in fields else {}
        self._prefix = encode_json(fields)[:-1]

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
        tail: dict[str, Any] = {name: dict(value) for name, value in self._open.items()}
        merge(tail, self.shape.tail(max(1, max_tokens), tool_choice if self.head.tools else ""))
        merge(tail, extra or {})
        # One join, since each copies all of a history: commas part the messages as they part the fields before them.
        first, *rest = messages or (b"",)
        parts = [self._prefix, encode_json(tail)[1:-1], b'"messages":[' + first, *rest]
        parts[-1] += b"]}"
        return b",".join(parts)
