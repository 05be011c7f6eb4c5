"""What fills the context window: the prompt's parts, how much of it the server has cached, and what broke it last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pool.agent.history import History
from pool.agent.streaming import ReplyStream
from pool.extend.agentsmd import NAME, block_in
from pool.extend.skills.using import block_in as list_of_skills
from pool.messages import Message, Role
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen

SKILLS = "skills"
MCP_PREFIX = "mcp__"
"""How names of tools begin that come from MCP servers."""

MCP_PAIR = frozenset({"find_tool", "call_tool"})
"""Tools by which the others of MCP servers are reached."""


PARTS = ("system prompt", SKILLS, NAME, "tools", "MCP tools", "conversation", "tool results", "reasoning")


@frozen
class ContextPart:
    """A part of the prompt, in tokens, and its share of the window (of the prompt, where no window is known)."""

    name: str
    tokens: int
    share: float


@frozen
class ContextReport:
    """The prompt of the next request.

    tokens is its size, counted is whether the server has counted most of it; window 0 is unknown. cached_share is that
    of the last prompt, -1 where the server does not tell. last_break says where and why the prefix broke last, breaks
    how often it did, unannounced how often without a cause that Pool knew.
    """

    parts: tuple[ContextPart, ...]
    tokens: int
    window: int
    counted: bool
    cached_share: float
    last_break: str
    breaks: int
    unannounced: int


def context_report(history: History, replies: ReplyStream) -> ContextReport:
    """Measure."""
    raw = _raw_sizes(history, replies)
    exchange = replies.exchange
    estimate = replies.estimate(history.data)
    window, total = replies.window, sum(raw.values())
    scale = estimate.tokens / total if total else 0.0
    whole = window or estimate.tokens or 1
    parts = tuple(
        ContextPart(name, round(size * scale), size * scale / whole) for name, size in raw.items() if round(size)
    )
    usage, prefix = exchange.usage, exchange.prefix
    told = prefix.cache_told and usage.prompt
    return ContextReport(
        parts,
        estimate.tokens,
        window,
        usage.prompt > 0 and not usage.estimated,
        usage.cached / usage.prompt if told else -1.0,
        prefix.last_break,
        prefix.breaks,
        prefix.unannounced,
    )


def _raw_sizes(history: History, replies: ReplyStream) -> Mapping[str, float]:
    """Sizes by the plain ratio of bytes to tokens; they are scaled to the whole afterwards."""
    sizes: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    system = history.messages[0].message.content
    block = raw_tokens(block_in(system).encode())
    skills = raw_tokens(list_of_skills(system).encode())
    sizes["system prompt"] = raw_tokens(system.encode()) - block - skills
    sizes[NAME] = block
    sizes[SKILLS] = skills
    head: dict[str, Any] = json.loads(replies.head_json)
    for tool in head.get("tools", []):
        name = str(tool["function"]["name"])
        of_mcp = name.startswith(MCP_PREFIX) or name in MCP_PAIR
        sizes["MCP tools" if of_mcp else "tools"] += raw_tokens(json.dumps(tool).encode())
    for encoded in history.messages[1:]:
        reasoning = _reasoning_size(encoded.message)
        kind = "tool results" if encoded.message.role is Role.TOOL else "conversation"
        sizes["reasoning"] += reasoning
        sizes[kind] += max(0.0, raw_tokens(encoded.data) - reasoning)
    return sizes


def _reasoning_size(message: Message) -> float:
    return raw_tokens(message.reasoning.encode("utf-8", "replace")) if message.reasoning else 0.0
