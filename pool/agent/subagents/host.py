"""What subagents need of the session that they work for, and which of them work now."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pool.agent.approvals import Approvals
from pool.agent.hub import EventHub
from pool.agent.server import ServerLink
from pool.agent.subagents.serverroom import Places, Room, room_of
from pool.config.agents import AgentSettings
from pool.config.settings import Mode, Settings

if TYPE_CHECKING:
    from pool.agent.loop import Agent
    from pool.agent.streaming import ReplyStream
    from pool.agent.subagents.trees import Trees


@dataclass(slots=True)
class Running:
    """A subagent that works: its session's id and its approvals, and where it works."""

    session: str
    approvals: Approvals
    kind: AgentSettings


@dataclass(slots=True)
class Host:
    """One session, as its subagents see it. approvals, agent, replies and current come once it is put together.

    given are its settings; current gives them with the model that it was switched to.
    """

    given: Settings
    hub: EventHub
    approvals: Approvals | None = None
    agent: Agent | None = None
    replies: ReplyStream | None = None
    current: Callable[[], Settings] | None = None
    running: dict[str, Running] = field(default_factory=dict[str, Running])
    _places: dict[str, Places] = field(default_factory=dict[str, Places])
    _trees: Trees | None = None

    def attach(self, approvals: Approvals, agent: Agent, replies: ReplyStream, current: Callable[[], Settings]) -> None:
        """The session is there. A mode that is changed later holds for its subagents too."""
        self.approvals, self.agent, self.replies, self.current = approvals, agent, replies, current
        approvals.follow_mode(self._follow)

    def _follow(self, mode: Mode) -> None:
        for child in self.running.values():
            if not child.kind.read_only:
                child.approvals.set_mode(mode)

    @property
    def mode(self) -> Mode:
        """The session's mode; the narrowest before there is one."""
        return self.approvals.mode if self.approvals is not None else Mode.PLAN

    @property
    def link(self) -> ServerLink:
        """The session's server, as it is now."""
        assert self.replies is not None
        return self.replies.exchange.link

    @property
    def settings(self) -> Settings:
        """The session's settings, with the server and the model that it uses now."""
        endpoint = self.link.client.transport.endpoint
        now = self.current() if self.current is not None else self.given
        return replace(now, base_url=endpoint.base_url, model=self.link.model)

    @property
    def trees(self) -> Trees:
        """The worktrees of its subagents. Git's parts are loaded with the first one."""
        if self._trees is None:
            from pool.agent.subagents.trees import Trees

            self._trees = Trees()
        return self._trees

    def key_for(self, kind: AgentSettings) -> str:
        """The key for a kind's own server, "" for none."""
        return os.environ.get(kind.key_variable, "") if kind.key_variable else ""

    def places(self, kind: AgentSettings) -> Places:
        """Who waits for which server: that of the session, or the kind's own."""
        where = kind.base_url or ""
        if where not in self._places:
            self._places[where] = Places(self._own_room if where else self._room, self.given.subagents.parallel)
        return self._places[where]

    async def _room(self) -> Room:
        return await room_of(self.link.client.transport, self.link.look())

    async def _own_room(self) -> Room:
        return Room(1, "nothing is known of how many requests its own server takes")

    def price(self) -> str:
        """What it costs to read the session's history again, in words."""
        assert self.agent is not None
        assert self.replies is not None
        return self.replies.price(self.replies.estimate(self.agent.history.data).tokens).words
