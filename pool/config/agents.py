"""Subagents as they are configured: what each is for, how it works, and what it may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pool_tools.frozen import frozen

PROJECTS = "project/"
"""How the names of subagents of a checkout's files begin, so that none takes the place of another."""


@frozen
class AgentSettings:
    """One kind of subagent. about is the line by which the model chooses it, prompt what it is told about its work.

    tools are the names of the tools that it gets, all if there are none. model and base_url are those of the session
    where they are ""; key_variable names the variable of the environment that holds the key for base_url, without it
    none is sent there. read_only: it can change nothing, and works where the session does. The limits are 0 where those
    of all subagents hold.
    """

    name: str
    about: str
    prompt: str = ""
    tools: tuple[str, ...] = ()
    model: str = ""
    base_url: str = ""
    key_variable: str = ""
    read_only: bool = False
    turns: int = 0
    seconds: float = 0.0
    tokens: int = 0


@frozen
class SubagentSettings:
    """parallel: how many work at the same time; 0: as the server has room. turns: how many replies each may take.

    answer_tokens: about how long what a subagent hands back may be; the rest stays in its own session.
    """

    parallel: int = 0
    turns: int = 30
    answer_tokens: int = 1_000


def agents_of(value: object) -> tuple[AgentSettings, ...]:
    """Subagents from what the configuration's kind reads; the user's own come first."""
    found = [_agent(name, one) for name, one in cast(Mapping[str, Mapping[str, Any]], value).items()]
    return tuple(sorted(found, key=lambda agent: agent.name.startswith(PROJECTS)))


def _agent(name: str, given: Mapping[str, Any]) -> AgentSettings:
    return AgentSettings(
        name,
        given["about"],
        prompt=given.get("prompt", ""),
        tools=tuple(given.get("tools", ())),
        model=given.get("model", ""),
        base_url=given.get("base_url", ""),
        key_variable=given.get("key_variable", ""),
        read_only=given.get("read_only", False),
        turns=given.get("turns", 0),
        seconds=given.get("seconds", 0.0),
        tokens=given.get("tokens", 0),
    )


def for_checkout(value: object) -> tuple[object, str]:
    """What a checkout's subagents may be, and what was taken from them: none of them is given a key of the user's."""
    agents = cast(Mapping[str, Mapping[str, Any]], value)
    keyed = [name for name, one in agents.items() if "key_variable" in one]
    held = {f"{PROJECTS}{n}": {k: v for k, v in one.items() if k != "key_variable"} for n, one in agents.items()}
    said = f"key_variable of {', '.join(keyed)} counts only in files of your own" if keyed else ""
    return held, said
