"""Another model in a session, between two runs: what it would cost, what would leave the machine, the switch itself."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pool.agent.secretuse import masked
from pool.agent.server import ServerLink, endpoint_of, find_server
from pool.config.modelchoice import ModelChoice, ProfileServer, choice_of, chosen, profile_servers
from pool.config.settings import Settings, SettingsError
from pool.events import Compacted, SettingChanged
from pool.messages import Role
from pool.wire.locality import is_hosted
from pool.wire.probe import probe
from pool.wire.request import RequestBuilder, Sampling
from pool_tools.frozen import frozen

if TYPE_CHECKING:
    from pool.agent.confinement import Confinement
    from pool.agent.history import History
    from pool.agent.hub import EventHub
    from pool.agent.loop import Agent
    from pool.agent.streaming import ReplyStream
    from pool.wire.dialects import Dialect
    from pool_tools.toolbox import Toolbox

SETTING = "model"
"""The name of the setting in events."""

ASSUMED_RATE = 700.0
"""Tokens of prompt a second that a server is taken to read before it was measured.

Public reports of Laguna S 2.1 on a DGX Spark give 600 to 800.
"""

MILLION = 1_000_000
LEAST_MONEY = 0.01
FILES_NAMED = 5
MODELS_NAMED = 8


@frozen
class Offer:
    """A model that can be chosen: how to name it, where it is, and whether the session uses it."""

    name: str
    where: str
    current: bool = False


@frozen
class Switch:
    """A switch as it would be. model and where are for people; link is the new server's, None before it may be asked.

    seconds are at the measured speed, or at the assumed one. money is 0 where no price is known, window where none is.
    leaves says what would leave, "" if nothing does.
    """

    choice: ModelChoice
    settings: Settings
    model: str
    where: str
    tokens: int
    seconds: float
    measured: bool
    leaves: str
    link: ServerLink | None = None

    @property
    def window(self) -> int:
        """The new window in tokens, 0 if unknown."""
        return self.link.window if self.link else self.settings.window

    @property
    def money(self) -> float:
        """What reading the conversation costs, 0 if no price is known."""
        return self.tokens * self.settings.input_price / MILLION

    @property
    def fits(self) -> bool:
        """Whether the history has room in the new window, as far as that is known."""
        return not self.window or self.tokens <= self.window * self.settings.compact_at

    @property
    def words(self) -> str:
        """The price, for people."""
        if not self.tokens:
            return "nothing has to be read again"
        how = "" if self.measured else f", if it reads {ASSUMED_RATE:,.0f} tokens a second"
        time = f", some {self.seconds:,.0f} s{how}" if self.seconds >= 1 else ""
        money = f", {max(self.money, LEAST_MONEY):,.2f} at its price" if self.money else ""
        return f"about {self.tokens:,} tokens have to be read anew{time}{money}"


class ModelSwitch:
    """The models of one session. All but `offers` belongs between two runs."""

    def __init__(
        self,
        settings: Settings,
        agent: Agent,
        replies: ReplyStream,
        confinement: Confinement,
        toolbox: Toolbox,
        stack: AsyncExitStack,
        instructions: Callable[[], Sequence[str]],
    ) -> None:
        """stack closes what is opened; instructions names the AGENTS.md files that the prompt holds."""
        self.settings = settings
        self._agent = agent
        self._replies = replies
        self._confinement = confinement
        self._toolbox = toolbox
        self._stack = stack
        self._instructions = instructions

    @property
    def profiles(self) -> tuple[ProfileServer, ...]:
        """The profiles that count here. Blocks for some milliseconds."""
        return profile_servers(self.settings.workspace, os.environ)

    async def offers(self, wanted: str = "") -> list[Offer]:
        """The models of the server, and profiles that name a server or a model; wanted is a part of the name."""
        link = self._replies.exchange.link
        info = link.look() or await probe(link.client.transport, link.model)
        names = dict.fromkeys((link.model, *info.models))
        found = [Offer(name, link.display, name == link.model) for name in names]
        found += [
            Offer(f"{one.name}:{one.model}", one.base_url or "the same server")
            for one in self.profiles
            if one.base_url or one.model
        ]
        return [offer for offer in found if wanted.lower() in f"{offer.name} {offer.where}".lower()]

    async def prepare(self, text: str, *, confirmed: bool) -> Switch:
        """Look at what a switch would be; nothing is changed. Raises `SettingsError` and `ServerProblem`.

        A hosted server is asked nothing before that is confirmed. Close it with `give_up`, or do it with `apply`.
        """
        choice = choice_of(text, [one.name for one in self.profiles])
        before = self._replies.exchange
        # An address that was found on a usual port is kept, whatever else may answer by now.
        base = replace(self.settings, base_url=self.settings.base_url or before.link.display)
        settings = await asyncio.to_thread(chosen, base, choice, os.environ)
        endpoint = endpoint_of(settings)
        same = endpoint.display == before.link.display
        tokens = self._replies.estimate(self._agent.history.data).tokens if self._began else 0
        measured = same and before.prefill_rate > 0
        leaves = "" if same else self._leaves(endpoint.host, tokens)
        seconds = tokens / (before.prefill_rate if measured else ASSUMED_RATE)
        model = settings.model or "the server's model"
        switch = Switch(choice, settings, model, endpoint.display, tokens, seconds, measured, leaves)
        if leaves and not confirmed:
            return switch
        link = await _asked(settings)
        return replace(switch, link=link, model=link.model)

    async def give_up(self, switch: Switch) -> None:
        """Close what was prepared."""
        if switch.link is not None:
            await switch.link.client.transport.aclose()

    async def apply(self, switch: Switch) -> str:
        """Do it; what was done, for people. Raises `SettingsError` if the sandbox's network names the new server."""
        link, settings, exchange = switch.link, switch.settings, self._replies.exchange
        if link is None:
            raise SettingsError(f"a switch to {switch.where} has to be confirmed")
        endpoint = link.client.transport.endpoint
        try:
            await self._confinement.forbid(endpoint.base_url)
        except BaseException:
            await self.give_up(switch)
            raise
        if endpoint.is_loopback:
            self._toolbox.protect_memory()
        old = exchange.link
        await self._stack.enter_async_context(link)
        given = settings.sampling
        head = replace(
            exchange.builder.head,
            model=link.model,
            thinking=settings.thinking,
            sampling=Sampling(given.temperature, given.top_p, given.top_k, dict(given.extra)),
            window=settings.window,
        )
        why = f"the model is {link.model} at {link.display}"
        recode(self._agent.history, self._replies, self._agent.hub, link.dialect, why)
        exchange.switch_server(link, RequestBuilder(head, link.dialect.shape), settings.think_tags, why)
        self._agent.head_changed(why)
        self._agent.labels = replace(self._agent.labels, model=link.model, server=link.display)
        self.settings = settings
        await old.__aexit__(None, None, None)
        text = f"{why}; {switch.words}"
        named = ModelChoice(switch.choice.profile, switch.choice.model or link.model)
        self._agent.hub.emit(SettingChanged(SETTING, str(named), text))
        return text

    @property
    def _began(self) -> bool:
        return any(m.message.role is not Role.SYSTEM for m in self._agent.history.messages)

    def _leaves(self, host: str, tokens: int) -> str:
        """What a hosted server would get, "" for one of the user's own."""
        if not is_hosted(host):
            return ""
        read = self._read_files()
        more = f" and {len(read) - FILES_NAMED} more" if len(read) > FILES_NAMED else ""
        whole = f"the whole conversation (about {tokens:,} tokens)" if self._began else "the conversation from here on"
        files = f"the contents of files that were read ({', '.join(read[:FILES_NAMED])}{more})"
        parts = [whole, *([files] if read else []), *self._instructions()]
        return f"{host} is not on this machine or in your network. It gets {', '.join(parts)}, and all that follows"

    def _read_files(self) -> list[str]:
        paths: dict[str, None] = {}
        for message in self._agent.history.messages:
            for call in message.message.calls:
                try:
                    path: object = json.loads(call.arguments).get("path")
                except (ValueError, AttributeError):
                    continue
                if call.name in ("read", "search", "edit") and isinstance(path, str):
                    paths[path] = None
        return list(paths)


async def _asked(settings: Settings) -> ServerLink:
    """A link to a server that was asked what it is. Raises `SettingsError` for a model that it does not have."""
    link = await find_server(settings)
    try:
        if link.info is None:
            link.info = await probe(link.client.transport, link.model)
        if link.info.models and link.model not in link.info.models:
            known = ", ".join(link.info.models[:MODELS_NAMED])
            raise SettingsError(f"the server at {link.display} has no model {link.model!r}; it has {known}")
    except BaseException:
        await link.client.transport.aclose()
        raise
    return link


def recode(history: History, replies: ReplyStream, hub: EventHub, dialect: Dialect, why: str) -> None:
    """Write a history as another server takes it: the form of messages, the name of the reasoning field."""
    changed = history.recoded(masked(dialect.shape.encode, hub.mask), dialect.reasoning_history)
    if not changed:
        return
    tokens = replies.estimate(history.data).tokens
    hub.emit(Compacted(tokens, tokens, f"{why}: the messages are written in its form, none is lost", len(changed)))
    replies.announce_break(why)
    history.replace([], changed)


def as_left(settings: Settings, value: str) -> Settings:
    """Settings with the model that a session was switched to last, as its log has it. Raises `SettingsError`."""
    profile, _, model = value.partition(":")
    return chosen(settings, ModelChoice(profile, model), os.environ)
