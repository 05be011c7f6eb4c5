"""What differs from server to server, as data: the fields of a `Dialect` are everything that the rest of Pool asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from pool.messages import ReasoningField
from pool.wire.request import OPENAI, RequestShape
from pool_tools.frozen import frozen

Fragment = Mapping[str, Any]
"""Fields to add to a request body; nested objects are merged one level deep."""


class ServerKind(StrEnum):
    """The servers, and ways to speak to one, that Pool can tell apart."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMACPP = "llamacpp"
    OLLAMA = "ollama"
    OLLAMA_NATIVE = "ollama-native"
    MLX = "mlx"
    LMSTUDIO = "lmstudio"
    OPENROUTER = "openrouter"
    POOLSIDE = "poolside"
    GENERIC = "generic"


class TokenizerKind(StrEnum):
    """How a prompt can be counted exactly without generating.

    CHAT: `POST /tokenize` takes messages and tools (vLLM). TEMPLATE: `POST /apply-template` renders them to text, which
    `POST /tokenize` then counts (llama.cpp).
    """

    NONE = "none"
    CHAT = "chat"
    TEMPLATE = "template"


def thinking_by_template(on: bool) -> Fragment:
    """The switch that Laguna's chat template reads. A JSON boolean: the string "false" would count as true."""
    return {"chat_template_kwargs": {"enable_thinking": on}}


@frozen
class Dialect:
    """How to speak to one kind of server. Empty strings, tuples and fragments, and None, mean: it has no such thing.

    reasoning_history: under which name earlier reasoning must be sent back to reach the template. thinking_on and
    thinking_off: always send one of them. continuous_usage: `stream_options.continuous_usage_stats` gives a running
    token count. repetition_detection: the fragment of a server-side stop for loops. thinking_budget: path of the field
    that limits reasoning in tokens; if thinking_budget_uncertain, a server may refuse it and must be tried first.
    sampling: parameters that are taken beyond OpenAI's. refused_under_speculation: parameters that give HTTP 400 when
    the server speculates. continue_message: fragment with which the last assistant message is continued; {} if the
    server does so by itself. structural_tags: a call can be forced by a `structural_tag` response format.
    json_schema: a reply can be held to a schema by a `json_schema` response format, also beside tools.
    progress: fragment that asks for progress reports during prefill. reasoning_control and its path: fragment and
    address (below the base URL) by which running reasoning can be ended. The metrics are Prometheus names; speculation
    is a name that exists only while the server speculates. window_remedy says how a person makes the window larger;
    window_when_loaded: the server tells its window only once it has loaded the model. shape is the form of requests.
    An address whose host is, or is below, one of hosts, or whose path is one of paths, means such a server. overflow
    says how a prompt that is too long shows. source says where these facts come from.
    """

    kind: ServerKind
    name: str
    reasoning_history: ReasoningField = ReasoningField.BOTH
    thinking_on: Fragment = field(default_factory=lambda: thinking_by_template(True))
    thinking_off: Fragment = field(default_factory=lambda: thinking_by_template(False))
    stream_usage: bool = True
    continuous_usage: bool = False
    repetition_detection: Fragment = field(default_factory=dict[str, Any])
    thinking_budget: tuple[str, ...] = ()
    thinking_budget_uncertain: bool = False
    sampling: frozenset[str] = frozenset()
    refused_under_speculation: frozenset[str] = frozenset()
    continue_message: Fragment | None = None
    structural_tags: bool = False
    json_schema: bool = False
    progress: Fragment = field(default_factory=dict[str, Any])
    reasoning_control: Fragment = field(default_factory=dict[str, Any])
    reasoning_control_path: str = ""
    tokenizer: TokenizerKind = TokenizerKind.NONE
    running_metric: str = ""
    waiting_metric: str = ""
    preemption_metric: str = ""
    speculation_metric: str = ""
    window_remedy: str = "start the server with a larger context window"
    window_when_loaded: bool = False
    shape: RequestShape = OPENAI
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    overflow: str = ""
    source: str = ""

    def thinking(self, on: bool) -> Fragment:
        """The fragment that switches thinking."""
        return self.thinking_on if on else self.thinking_off

    def budget(self, tokens: int) -> dict[str, Any]:
        """The fragment that limits reasoning to tokens; {} if the server has no such field."""
        value: Any = tokens
        for name in reversed(self.thinking_budget):
            value = {name: value}
        return value if self.thinking_budget else {}
