"""What the model says: a decided reply, and the tokens it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Literal

from pool.sim.template import call_markup
from pool.sim.tokens import END_THINK, END_TURN, encode


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model wants."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def markup(self) -> str:
        """The call as the model writes it."""
        return call_markup(self.name, self.arguments)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the rules decided: a thought, words, calls. The thought is only written if the prompt asks for one."""

    thought: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def rest(self) -> str:
        """Everything after the thought, as model text."""
        return self.content + "".join(call.markup for call in self.calls)


@dataclass(frozen=True, slots=True)
class Saying:
    """A reply on its way to tokens; faults change it here.

    reply: what was decided. opened: the prompt ends inside a thought. thought, closed, rest: the model text, in parts.
    loop, loops_in: a phrase repeated for ever at the end of that part. plain: the reasoning parser passes everything.
    deaf: the call parser passes everything. finish: a finish reason told instead of the true one. last_call: the last
    call of the history.
    """

    reply: Reply
    opened: bool
    thought: str
    rest: str
    closed: bool = True
    loop: str = ""
    loops_in: Literal["thought", "rest"] = "thought"
    plain: bool = False
    deaf: bool = False
    finish: str = ""
    last_call: Call | None = None

    def tokens(self, budget: int | None = None) -> Iterator[str]:
        """Tokens of the model's text, its end token last. A thought is closed after budget tokens (None: never)."""
        if self.opened:
            yield from self._thought(budget)
        yield from encode(self.rest)
        if self.loop and self.loops_in == "rest":
            yield from cycle(encode(self.loop))
        yield END_TURN

    def _thought(self, budget: int | None) -> Iterator[str]:
        for written, token in enumerate(self._thought_tokens()):
            if written == budget:
                yield END_THINK
                return
            yield token
        if self.closed:
            yield END_THINK

    def _thought_tokens(self) -> Iterator[str]:
        yield from encode(self.thought)
        if self.loop and self.loops_in == "thought":
            yield from cycle(encode(self.loop))


def scripted(text: str, opened: bool) -> Saying:
    """A text given word for word, split at the end of its thought; its own end token may be there or not."""
    text = text.removesuffix(END_TURN)
    if not opened:
        return Saying(Reply(content=text), opened, "", text)
    thought, tag, rest = text.partition(END_THINK)
    return Saying(Reply(thought, rest), opened, thought, rest, closed=bool(tag))
