"""What an agent says of itself that it can do beyond the baseline of the protocol."""

from __future__ import annotations

from enum import StrEnum

from pool.facekit.agents.translating import Json, row_of
from pool_tools.frozen import frozen


class Steers(StrEnum):
    """How something can be said to a run that works. The protocol has no way; agents have two of their own.

    POOLSIDE is `_poolside/session_steer`, of Poolside's agent and Pool's own. INJECTED is `_session/steering`, of
    codex-acp 2.6: its answer says whether a turn took it.
    """

    NO = ""
    POOLSIDE = "_poolside/session_steer"
    INJECTED = "_session/steering"


@frozen
class Abilities:
    """loads: earlier sessions are told again; resumes: they are gone on with untold; lists: they can be asked for."""

    loads: bool = False
    resumes: bool = False
    lists: bool = False
    steers: Steers = Steers.NO


def abilities_of(answer: Json) -> Abilities:
    """From the answer to `initialize`."""
    said = row_of(answer.get("agentCapabilities"))
    sessions = row_of(said.get("sessionCapabilities"))
    extras = row_of(said.get("_meta")) | row_of(answer.get("_meta"))
    steers = Steers.NO
    if extras.get("poolside/session_steer") is True:
        steers = Steers.POOLSIDE
    elif row_of(extras.get("steering")).get("supported") is True:
        steers = Steers.INJECTED
    return Abilities(
        loads=said.get("loadSession") is True,
        resumes=_offered(sessions, "resume"),
        lists=_offered(sessions, "list"),
        steers=steers,
    )


def _offered(capabilities: Json, name: str) -> bool:
    """An object says yes, also an empty one; what is absent or null says no."""
    return isinstance(capabilities.get(name), dict)
