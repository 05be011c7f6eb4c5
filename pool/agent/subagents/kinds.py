"""The kinds of subagents: two that are built in, and those of the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pool.config.agents import AgentSettings
from pool.config.settings import Budgets, Mode, SessionBudgets, Settings

GENERAL = AgentSettings("general", "changes files, in a git worktree that you merge")
EXPLORE = AgentSettings("explore", "only reads", read_only=True)

LEFT_OUT = ("task", "ask", "todo")
"""Tools that no subagent has: there is nobody to ask, and none has subagents of its own."""

RULES = (
    "You are a subagent: another agent gave you this one task and sees nothing of your work but your last message. "
    "Nobody can be asked. What would need an approval is refused. Your last message is the result alone, in at most "
    "{words} words, with the paths and lines that matter."
)
READS = "You can change nothing."
WORDS_OF_TOKENS = 0.6
"""Words of a result that fit a token, with paths among them."""


def kinds_of(settings: Settings) -> Mapping[str, AgentSettings]:
    """The kinds of subagents by name. The user's own may take the place of those that are built in."""
    return {kind.name: kind for kind in (GENERAL, EXPLORE, *settings.agents)}


def settings_for_task(
    settings: Settings, kind: AgentSettings, session: str, mode: Mode, budgets: Budgets, key: str
) -> Settings:
    """Settings of a subagent's own session. session is the id of the one that it works for, whose mode is mode.

    budgets are what is left to it; key is the key for the kind's own server.
    """
    elsewhere = bool(kind.base_url) and kind.base_url != settings.base_url
    rules = RULES.format(words=round(settings.subagents.answer_tokens * WORDS_OF_TOKENS / 50) * 50 or 50)
    parts = (settings.append_system, rules, READS if kind.read_only else "", kind.prompt)
    made = replace(
        settings,
        model=kind.model or settings.model,
        mode=Mode.PLAN if kind.read_only else mode,
        keep_mode=False,
        budgets=budgets,
        session_budgets=SessionBudgets(),
        append_system="\n\n".join(part.strip() for part in parts if part.strip()),
        mcp=replace(settings.mcp, servers=()),
        continue_last=False,
        resume="",
        fork="",
        parent=session,
        only_tools=_both(kind.tools, settings.only_tools),
        without_tools=(*settings.without_tools, *LEFT_OUT),
        trace=None,
    )
    if not elsewhere:
        return made
    # The key and the headers are for the session's own server, and go nowhere else.
    return replace(made, base_url=kind.base_url, api_key=key, headers=(), window=0, model=kind.model)


def _both(own: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """The tools that two lists allow; an empty one allows all."""
    return tuple(name for name in own or allowed if not allowed or name in allowed)
