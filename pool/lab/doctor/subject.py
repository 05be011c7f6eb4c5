"""The server under examination: how to ask it, and what the checks have learnt so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pool.agent.server import ServerLink
from pool.config.settings import ServerEnvironment, Settings
from pool.lab.bench.counters import Speculation
from pool.lab.doctor.here import Here
from pool.lab.doctor.remedies import Remedies, remedies_for
from pool.lab.doctor.reply import Reply, exchange, whole_body, without
from pool.messages import Message, system, user
from pool.wire.client import ChatClient
from pool.wire.endpoint import redact
from pool.wire.identify import ServerInfo
from pool.wire.probe import Found
from pool.wire.reading import Expectation
from pool.wire.request import Head, RequestBuilder, Sampling
from pool.wire.retry import RetryPolicy
from pool.wire.tokens import TokenMeter
from pool.wire.transport import Transport
from pool_tools.frozen import frozen

REQUEST_SECONDS = 120.0
"""How long one request may take: a slow server writes 512 tokens in half a minute, and may first load its model."""

SYSTEM_TEXT = "You are a careful assistant. Answer briefly."
QUOTE_CHARS = 60
"""Most characters of a server's text that a finding quotes."""


@frozen
class Ask:
    """A request to make. tools are as in the request body; extra are further fields; model "" means the chosen one.

    switched False leaves the thinking switch out, as a run never does.
    sampling None means temperature 0 and Pool's other values.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    thinking: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    stream: bool = True
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sampling: Sampling | None = None
    switched: bool = True


@frozen
class Seen:
    """A reply that came, to which request of which check."""

    check: str
    ask: Ask
    reply: Reply


@frozen
class Sizes:
    """How Pool's estimate of prompts, as it is before the first count of a session, compares with the server's count.

    estimated and counted are sums in tokens over all requests whose size the server told. lowest and highest are the
    errors of single requests as shares of their counts.
    """

    requests: int
    estimated: int
    counted: int
    lowest: float = 0.0
    highest: float = 0.0


class Subject:
    """The server. Checks fill in `info`, `model` and `thought_field`, and read what others have `seen`.

    found is what a search of this machine gave, None if the address was named. sampling is what a run would send; here
    is this machine. drafts is what speculation did in one reply, None if that is not known. thought_field is the field
    in which thoughts arrive ("" if in none, or there were none), None as long as nobody has looked.
    """

    def __init__(
        self,
        transport: Transport,
        environment: ServerEnvironment,
        *,
        found: Sequence[Found] | None = None,
        limit_seconds: float = REQUEST_SECONDS,
        sampling: Sampling | None = None,
        here: Here | None = None,
    ) -> None:
        self.transport = transport
        self.environment = environment
        self.found = found
        self.limit_seconds = limit_seconds
        self.sampling = sampling or Sampling()
        self.here = here or Here.this()
        self.drafts: Speculation | None = None
        self.info = ServerInfo()
        self.model = environment.model
        self.thought_field: str | None = None
        self.seen: list[Seen] = []
        self.check = ""
        self.read_tokens = 0
        self.written_tokens = 0
        self._estimates: list[tuple[int, int]] = []

    @property
    def display(self) -> str:
        """The server's address without secrets."""
        return self.transport.endpoint.display

    @property
    def remedies(self) -> Remedies:
        """Lines to paste for this kind of server."""
        return remedies_for(self.info.kind, self.model)

    @property
    def sizes(self) -> Sizes:
        """How well the prompts' sizes were estimated."""
        errors = [estimated / counted - 1 for estimated, counted in self._estimates] or [0.0]
        estimated, counted = (sum(column) for column in zip((0, 0), *self._estimates, strict=True))
        return Sizes(len(self._estimates), estimated, counted, min(errors), max(errors))

    def quote(self, text: str) -> str:
        """The beginning of a server's text in quotation marks, on one line and without secrets."""
        line = " ".join(redact(text, self.transport.endpoint).split())
        return f'"{line[:QUOTE_CHARS]}{"..." if len(line) > QUOTE_CHARS else ""}"'

    def body(self, ask: Ask) -> bytes:
        """The request body: what a run of Pool would send, but at temperature 0."""
        shape = self.info.dialect.shape
        head = Head(
            model=ask.model or self.model,
            thinking=ask.thinking,
            tools=ask.tools,
            sampling=ask.sampling or Sampling(temperature=0.0),
            window=self.environment.window,
        )
        messages = [shape.encode(message).data for message in ask.messages]
        extra = {**self._fields(ask.thinking), **ask.extra}
        body = RequestBuilder(head, shape).build(messages, max_tokens=ask.max_tokens, extra=extra)
        if not ask.switched:
            body = without(body, self.info.dialect.thinking(False).keys() | {shape.thinking_field})
        return body if ask.stream else whole_body(body)

    async def ask(self, ask: Ask) -> Reply:
        """Make a request and keep its reply for later checks. Raises `ServerProblem`, TIMEOUT after the limit."""
        body = self.body(ask)
        tools = {t["function"]["name"]: t["function"]["parameters"] for t in ask.tools}
        expect = Expectation(tools=tools, thinking=ask.thinking, max_tokens=ask.max_tokens, window=self.info.window)
        reply = await exchange(self.transport, body, expect, self.limit_seconds, stream=ask.stream)
        self.seen.append(Seen(self.check, ask, reply))
        self._measure(ask, body, reply)
        return reply

    def _measure(self, ask: Ask, body: bytes, reply: Reply) -> None:
        self.read_tokens += reply.prompt_tokens
        self.written_tokens += reply.written_tokens
        # A grammar is a part of the body, but of no prompt.
        if reply.prompt_tokens and "response_format" not in ask.extra:
            self._estimates.append((TokenMeter().estimate(body).tokens, reply.prompt_tokens))

    def _fields(self, thinking: bool) -> Mapping[str, Any]:
        """The fields that a run sends to this kind of server, taken from where a run takes them."""
        client = ChatClient(self.transport, RetryPolicy())
        return ServerLink(client, Settings(workspace=Path(), thinking=thinking), self.model, self.info).extra


def talk(text: str) -> tuple[Message, ...]:
    """A conversation of a system message and what the user says."""
    return system(SYSTEM_TEXT), user(text)
