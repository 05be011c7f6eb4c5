"""Commands on the context window: what fills it, what it cost, making room."""

from __future__ import annotations

from pool.agent.commands.kinds import Ask, Choice, Command, CommandResult, Rows, Typed, said
from pool.agent.control import Conversation

NOW = "--now"
"""Given first, it lets a compaction go on whose price was shown."""


async def _context(conversation: Conversation, typed: Typed) -> CommandResult:
    report = conversation.context()
    of = "of the window" if report.window else "of the prompt (the window is unknown)"
    rows = [(part.name, f"{part.tokens:,}", f"{part.share:.1%}") for part in report.parts]
    if report.window:
        free = max(0, report.window - report.tokens)
        rows += [("free", f"{free:,}", f"{free / report.window:.1%}")]
    about = "" if report.counted else "about "
    lines = [f"{about}{report.tokens:,} tokens" + (f" of {report.window:,}" if report.window else "")]
    if report.cached_share >= 0:
        lines.append(f"the server had {report.cached_share:.0%} of the last prompt cached")
    lines.append(f"the prefix broke last at {report.last_break}" if report.last_break else "the prefix never broke")
    if report.unannounced:
        lines.append(f"{report.unannounced} of {report.breaks} breaks were not on purpose: please report this")
    return CommandResult(tuple(lines), Rows(("part", "tokens", of), tuple(rows), frozenset({1, 2})))


async def _compact(conversation: Conversation, typed: Typed) -> CommandResult:
    guidance = typed.rest.removeprefix(NOW).strip()
    price = conversation.price_to_compact()
    if price.is_high and not typed.rest.startswith(NOW):
        choices = (Choice("compact", f"/compact {NOW} {guidance}".rstrip()), Choice("leave it as it is"))
        return CommandResult(ask=Ask(f"After compacting, {price.words}. Compact now?", choices))
    before = conversation.status().tokens
    helped = await conversation.compact(guidance)
    after = conversation.status().tokens
    if before == after and not helped:
        return CommandResult(("nothing was changed",), ok=False)
    return said(f"{before:,} tokens became about {after:,}" + ("" if helped else ", which is not much less"))


async def _usage(conversation: Conversation, typed: Typed) -> CommandResult:
    run = conversation.session.agent.state
    by_name = {line.name: line.used for line in conversation.budgets()}
    mark = "about " if run.usage.estimated else ""
    rows = (
        ("turns", f"{by_name['turns']:,.0f}", f"{by_name['session-turns']:,.0f}"),
        ("seconds", f"{by_name['seconds']:,.0f}", f"{by_name['session-seconds']:,.0f}"),
        ("tokens read", f"{mark}{run.usage.prompt:,}", ""),
        ("of them cached", f"{run.usage.cached:,}", ""),
        ("tokens written", f"{mark}{run.usage.completion:,}", ""),
        ("read and written", f"{mark}{by_name['tokens']:,.0f}", f"{by_name['session-tokens']:,.0f}"),
        ("thought", f"about {by_name['reasoning']:,.0f}", f"about {by_name['session-reasoning']:,.0f}"),
    )
    return CommandResult(
        rows=Rows(("", "this run" if conversation.busy else "last run", "session"), rows, frozenset({1, 2}))
    )


COMMANDS = (
    Command("context", "what fills the context window, and what the server has cached", _context, aliases=("ctx",)),
    Command(
        "compact",
        "replace the history by an account of it",
        _compact,
        aliases=("compress", "summarize"),
        hint="[WHAT TO KEEP]",
        needs_idle=True,
    ),
    Command("usage", "turns, time and tokens of the run and of the session", _usage, aliases=("cost",)),
)
