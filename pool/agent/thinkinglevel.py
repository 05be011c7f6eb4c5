"""How much the model may think, changed in mid-session: by budget where that costs nothing, else by the template.

A level is a limit of tokens a turn; the thought is closed by hand there, so the server's cache holds. `off` closes each
thought before it begins where the server can continue a turn. Only where it cannot, and to switch thinking on that was
off from the start, the chat template has to be told, which renders the history anew: that is done on request alone.
"""

from __future__ import annotations

from dataclasses import replace

from pool.agent.history import History
from pool.agent.limits import Limits
from pool.agent.price import Price
from pool.agent.streaming import ReplyStream
from pool.config.settings import Budgets, think_budget
from pool.wire.tokens import raw_tokens
from pool_tools.frozen import frozen

OFF = "off"
FREE = Price(0, 0.0)


@frozen
class ThinkingChange:
    """What became of a wish to change the level. Not applied: it needs the template's switch, at this price."""

    applied: bool
    text: str
    price: Price


class ThinkingLevel:
    """The level of one session. usual are the budgets that it began with."""

    def __init__(self, limits: Limits, replies: ReplyStream, history: History, usual: Budgets) -> None:
        self._limits = limits
        self._replies = replies
        self._history = history
        self._usual = usual
        self.name = "on" if replies.thinks else OFF
        """The level as the user named it."""

    @property
    def words(self) -> str:
        """The level for people, with its limit."""
        if not self._replies.thinks:
            return "off (by the chat template)"
        if self._limits.no_thought:
            return "off (each thought is closed before it begins)"
        tokens = self._limits.run.reasoning_turn
        return f"{self.name}, {f'at most {tokens:,} tokens a turn' if tokens else 'without a limit'}"

    def set(self, level: str, *, by_template: bool) -> ThinkingChange:
        """Change it. by_template: the template may be told too. Raises `SettingsError` for a level that is none."""
        name = level.strip().lower()
        budgets = self._usual if name == OFF else think_budget(self._usual, name)
        price = self._price() if self._needs_template(name) else FREE
        if price is not FREE:
            if price.tokens and not by_template:
                return ThinkingChange(False, self._why_template(name, price), price)
            self._replies.exchange.switch_thinking(name != OFF)
        self._limits.no_thought = name == OFF and self._replies.thinks
        if name != OFF:
            self._limits.run = self._with_level(budgets)
        self.name = name
        return ThinkingChange(True, f"thinking is {self.words}", price)

    def _needs_template(self, name: str) -> bool:
        if name == OFF:
            return self._replies.thinks and not self._replies.can_close_at_once
        return not self._replies.thinks

    def _with_level(self, level: Budgets) -> Budgets:
        run = self._limits.run
        return replace(
            run,
            reasoning_soft=level.reasoning_soft,
            reasoning_turn=level.reasoning_turn,
            reasoning_first_turn=level.reasoning_first_turn,
            reasoning_run=max(run.reasoning_run, level.reasoning_run) if run.reasoning_run else 0,
        )

    def _price(self) -> Price:
        """All but the system prompt and the tools is rendered anew."""
        return self._replies.price(round(sum(raw_tokens(m) for m in self._history.data[1:])))

    @staticmethod
    def _why_template(name: str, price: Price) -> str:
        why = "this server cannot close a thought before it begins" if name == OFF else "it was off from the start"
        return f"{why}, so the chat template has to switch it {'off' if name == OFF else 'on'}: {price.words}"
