"""What is asked: prompts by kind, text to fill a context with, and prompts of one's own sessions.

Speculation keeps what can be guessed: edits echo what stands in the prompt, prose does not. Random or filler text says
nothing about either, so every kind is work that an agent is really given. The texts are data (`corpora.toml`).
"""

from __future__ import annotations

import json
import secrets
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from pool.messages import Message, Role, system, user
from pool.sessions.log import read_rows
from pool.sessions.replay import resumed
from pool_tools.frozen import frozen

CHARS_A_TOKEN = 4
"""Of source text, about; the server's own count of the prompt is what figures are made of."""

MOST_REPLAYED = 8
"""Prompts taken of a session at most, from the end: the long ones, as they were sent."""

PROBE_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "write",
        "description": "Write a text file, whole.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file's path."},
                "content": {"type": "string", "description": "All of its text."},
            },
            "required": ["path", "content"],
        },
    },
}


class Kind(StrEnum):
    """Kinds of work. SEED is one plain question, as the seed's protocol has it; REPLAY is one's own sessions."""

    EDIT = "edit"
    CODE = "code"
    TOOL = "tool"
    PROSE = "prose"
    JAPANESE = "japanese"
    SEED = "seed"
    REPLAY = "replay"


WRITTEN = (Kind.EDIT, Kind.CODE, Kind.TOOL, Kind.PROSE, Kind.JAPANESE)
"""The kinds that Pool brings texts for and that are measured by default."""


@frozen
class Prompt:
    """One conversation to send. encoded: messages as they went over the wire once (a replay); else messages count."""

    kind: Kind
    messages: tuple[Message, ...] = ()
    encoded: tuple[bytes, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()


def corpus() -> Mapping[Kind, tuple[Prompt, ...]]:
    """The prompts by kind, in a fixed order."""
    texts: dict[str, Any] = tomllib.loads(files(__package__ or "").joinpath("corpora.toml").read_text("utf-8"))
    out: dict[Kind, tuple[Prompt, ...]] = {}
    for kind in (*WRITTEN, Kind.SEED):
        tools = (PROBE_TOOL,) if kind is Kind.TOOL else ()
        entries = cast("list[Mapping[str, str]]", texts[kind.value])
        out[kind] = tuple(
            Prompt(kind, (system(entry.get("system", texts["system"])), user(entry["text"])), tools=tools)
            for entry in entries
        )
    return out


def deep(prompt: Prompt, tokens: int, nonce: str = "") -> Prompt:
    """The prompt after about so many tokens of source text. The nonce stands first, so that no cache knows it."""
    if not prompt.messages:
        return prompt
    first, *others = prompt.messages
    files = f" The project's files:\n{_filling(tokens)}" if tokens > 0 else ""
    filled = f"Session {nonce or secrets.token_hex(8)}. {first.content}{files}"
    return Prompt(prompt.kind, (system(filled), *others), tools=prompt.tools)


def _filling(tokens: int) -> str:
    """Source text of about that length; no part of it comes twice."""
    pieces: list[str] = []
    size = number = 0
    while size < tokens * CHARS_A_TOKEN:
        number += 1
        piece = _MODULE.format(n=number, a=number * 7 % 97, b=number * 13 % 89, c=number * 31 % 83)
        pieces.append(piece)
        size += len(piece)
    return "".join(pieces)[: tokens * CHARS_A_TOKEN]


_MODULE = '''
# store/shelf_{n}.py
LIMIT_{n} = {a}


def boxes_on_shelf_{n}(orders: list[int], reserve: int = {b}) -> int:
    """How many boxes of shelf {n} are free after all orders, never below zero."""
    taken = sum(order for order in orders if order <= LIMIT_{n})
    return max(0, {c} - taken - reserve)
'''


def replayed(paths: Sequence[Path]) -> tuple[Prompt, ...]:
    """Prompts of sessions: each history up to a message of the user or a tool's result, with the tools of its head.

    Raises OSError for a log that cannot be read.
    """
    return tuple(prompt for path in paths for prompt in _of_session(path))


def _of_session(path: Path) -> Iterator[Prompt]:
    session = resumed(read_rows(path.read_bytes())[0])
    try:
        head: object = json.loads(session.head or "{}")
    except ValueError:
        head = {}
    listed = cast("Mapping[str, Any]", head).get("tools") if isinstance(head, dict) else None
    tools = tuple(cast("list[Mapping[str, Any]]", listed)) if isinstance(listed, list) else ()
    ends = [at + 1 for at, said in enumerate(session.messages) if said.message.role in (Role.USER, Role.TOOL)]
    for end in ends[-MOST_REPLAYED:]:
        yield Prompt(Kind.REPLAY, encoded=tuple(said.data for said in session.messages[:end]), tools=tools)
