"""Making room when a history no longer fits, and giving up honestly when that does not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pool.agent.compaction import Compactor
from pool.agent.history import History
from pool.agent.price import Price
from pool.agent.state import RunState
from pool.agent.streaming import ReplyStream
from pool.extend.agentsmd import NAME

if TYPE_CHECKING:
    from pool.agent.hooking import SessionHooks

NOTHING_TO_COMPACT = 2
"""Messages of a history that is only the system prompt and a first prompt."""

USELESS_COMPACTIONS = 2
"""After so many compactions in a row that did not help the run ends."""


HEAD_SHARE_TOLD = 0.25
"""Share of the window that system prompt and tools may take without a word."""

LEAST_WORK_TOKENS = 2048
"""Room for a prompt and a reply below which no request is worth sending."""


class OutOfRoom(Exception):
    """The history does not fit the window, and compacting it did not help. The message names both numbers."""


class RoomMaker:
    """Prunes or compacts one conversation's history. allowed: without it a history that does not fit ends the run."""

    def __init__(
        self,
        compactor: Compactor,
        history: History,
        replies: ReplyStream,
        *,
        allowed: bool,
        hooks: SessionHooks | None = None,
    ) -> None:
        self._hooks = hooks
        self._compactor = compactor
        self._history = history
        self._replies = replies
        self._allowed = allowed
        self._useless, self._compacted, self._helped = 0, 0, False
        self._head_said = 0

    def begin(self) -> None:
        """A run begins: what earlier compactions brought no longer counts."""
        self._useless, self._compacted, self._helped = 0, 0, False

    def look_at_head(self) -> str:
        """What people should know, once, of the share that the prompt's fixed part takes; "" if nothing.

        Raises `OutOfRoom` where it leaves no room for work.
        """
        window = self._replies.window
        if not window or self._head_said == window:
            return ""
        self._head_said = window
        head = self._replies.estimate([self._history.messages[0].data]).tokens
        what = f"system prompt, {NAME} and tools take about {head:,} of the {window:,} tokens of the window"
        if window - head < LEAST_WORK_TOKENS:
            raise OutOfRoom(f"{what}, which leaves no room to work")
        return f"{what} ({head / window:.0%})" if head > window * HEAD_SHARE_TOLD else ""

    @property
    def due(self) -> bool:
        """Whether room is to be made before the next request."""
        return self._allowed and self._compactor.due(self._history)

    async def compact(self, run: RunState, guidance: str) -> bool:
        """Compact on request; whether the history became clearly smaller. Raises `ServerProblem`."""
        refused, more = await self._ask_hooks("asked")
        if refused:
            return False
        guidance = "\n".join(part for part in (guidance, more) if part)
        return await self._compactor.compact(self._history, run, cut_first=False, guidance=guidance)

    async def _ask_hooks(self, reason: str) -> tuple[str, str]:
        """Why hooks refuse that the history is compacted, "" if they do not, and what they want kept."""
        if self._hooks is None:
            return "", ""
        said = await self._hooks.before_compaction(reason)
        return said.blocked, said.context

    def price_to_compact(self) -> Price:
        """What compacting now would cost: the tokens of the history that would stand in for this one."""
        return self._compactor.price(self._history)

    async def make(self, run: RunState, *, cut_first: bool) -> None:
        """Prune or compact the history. Raises `OutOfRoom` after `USELESS_COMPACTIONS` that did not help."""
        tokens, window = self._replies.estimate(self._history.data).tokens, self._replies.window
        if not self._allowed:
            raise OutOfRoom(f"about {tokens:,} tokens do not fit the window of {window:,}; compacting is switched off")
        if len(self._history.messages) <= NOTHING_TO_COMPACT:
            raise OutOfRoom(f"the prompt alone takes about {tokens:,} tokens; the window has {window:,}")
        if self._compactor.prune(self._history):
            run.forgotten += 1
            return
        # The server refuses it again at once, or counts it as full again: it did not help, whatever the estimate said.
        soon = 0 < self._compacted >= run.turns - 1
        full = self._replies.usage.prompt >= window * self._compactor.at_share or self._compacted == run.turns
        self._useless += soon and full and self._helped
        if self._useless >= USELESS_COMPACTIONS:
            tokens = max(tokens, self._replies.usage.prompt)
            raise OutOfRoom(f"about {tokens:,} tokens do not fit the window of {window:,}, and compacting did not help")
        refused, guidance = await self._ask_hooks("full")
        if refused:
            raise OutOfRoom(f"about {tokens:,} tokens do not fit the window of {window:,}; not compacted: {refused}")
        self._helped = await self._compactor.compact(self._history, run, cut_first=cut_first, guidance=guidance)
        run.forgotten += 1
        self._compacted = run.turns
        run.usage += self._replies.usage
        if not self._helped:
            self._useless += 1
        elif not (soon and full):
            self._useless = 0
