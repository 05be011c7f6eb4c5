"""Commands that change how the session works: mode, thinking, budgets, what is queued."""

from __future__ import annotations

from collections.abc import Sequence

from pool.agent.commands.kinds import Ask, Choice, Command, CommandError, CommandResult, Rows, Typed, said, words
from pool.agent.control import BudgetLine, Conversation
from pool.agent.limits import BUDGET_KINDS
from pool.config.settings import THINKING_LEVELS, Mode, mode_of

BY_TEMPLATE = "--template"
"""Given with a level of thinking, it lets the chat template be told, whatever that costs."""

NO_LIMIT = ("none", "off", "unlimited")
MOST_PROMPT_CHARS = 100

MODES = {
    Mode.PLAN: "reads only, and says what it would do",
    Mode.DEFAULT: "asks before it changes files or runs commands",
    Mode.ACCEPT_EDITS: "changes files unasked, asks before it runs commands",
    Mode.AUTO: "changes files and runs commands in the sandbox unasked",
    Mode.ALLOW_ALL: "asks nothing",
}


async def _mode(conversation: Conversation, typed: Typed) -> CommandResult:
    if typed.rest:
        conversation.set_mode(mode_of(typed.rest))
        now = conversation.status().mode
        return said(f"mode {now.value}: {MODES[now]}")
    now = conversation.status().mode
    rows = tuple(("*" if mode is now else "", mode.value, what) for mode, what in MODES.items())
    return CommandResult(rows=Rows(("", "mode", "what runs"), rows))


async def _think(conversation: Conversation, typed: Typed) -> CommandResult:
    if not typed.rest:
        levels = ", ".join(f"{name} {tokens:,}" for name, tokens in THINKING_LEVELS.items())
        return said(
            f"thinking is {conversation.status().thinking}", f"levels in tokens a turn: off, {levels}, or a number"
        )
    *level, flag = typed.words if BY_TEMPLATE in typed.words else [*typed.words, ""]
    if len(level) != 1 or flag not in ("", BY_TEMPLATE):
        raise CommandError("usage: /think off, low, normal, high, or a number of tokens a turn")
    change = conversation.set_thinking(level[0], by_template=bool(flag))
    if change.applied:
        return said(change.text)
    choices = (Choice("switch it", f"/think {level[0]} {BY_TEMPLATE}"), Choice("leave it"))
    return CommandResult(ask=Ask(change.text, choices))


async def _budget(conversation: Conversation, typed: Typed) -> CommandResult:
    match typed.words:
        case []:
            rows = tuple(
                (b.name, _amount(b.used), _amount(b.limit) if b.limit else "none", _left(b))
                for b in _lines(conversation)
            )
            return CommandResult(
                ("/budget NAME N sets one, 0 for no limit; it holds at once",),
                Rows(("budget", "used", "limit", ""), rows, frozenset({1, 2, 3})),
            )
        case [name, value]:
            conversation.set_budget(name, _number(value))
        case _:
            raise CommandError("usage: /budget, or /budget NAME N")
    (line,) = (b for b in _lines(conversation) if b.name == name)
    limit = (
        f"{_amount(line.limit)} {line.unit}, {_amount(line.used)} used" if line.limit else f"no limit of {line.unit}"
    )
    return said(f"budget {name}: {limit}")


async def _queue(conversation: Conversation, typed: Typed) -> CommandResult:
    match typed.words:
        case []:
            waiting = [*(("now", text) for text in conversation.waiting_steering())]
            waiting += [(str(i), text) for i, text in enumerate(conversation.queued(), 1)]
            rows = tuple((place, " ".join(text.split())[:MOST_PROMPT_CHARS]) for place, text in waiting)
            return CommandResult(rows=Rows(("", "prompt"), rows)) if rows else said("nothing is queued")
        case ["drop", number] if number.isascii() and number.isdecimal():
            try:
                return said(f"dropped: {conversation.drop_queued(int(number[:9]) - 1)[:MOST_PROMPT_CHARS]}")
            except IndexError as error:
                raise CommandError(str(error)) from None
        case ["drop", *_]:
            raise CommandError("usage: /queue drop NUMBER")
        case _:
            conversation.queue(typed.rest)
            return said("queued" if conversation.busy else "queued; it is worked after the next run")


def _lines(conversation: Conversation) -> Sequence[BudgetLine]:
    return conversation.budgets()


def _number(text: str) -> float:
    if text.lower() in NO_LIMIT:
        return 0.0
    plain = text.replace(",", "").replace("_", "")
    if not (plain.isascii() and plain.replace(".", "", 1).isdigit()):
        raise CommandError(f"{text!r} is no number; give one from 0 (no limit) on")
    return float(plain)


def _amount(value: float) -> str:
    return f"{value:,.0f}"


def _left(line: BudgetLine) -> str:
    return f"{line.used / line.limit:.0%}" if line.limit else ""


COMMANDS = (
    Command(
        "mode",
        "what runs without asking",
        _mode,
        hint="[MODE]",
        arguments=words(*(mode.value for mode in MODES)),
    ),
    Command(
        "think",
        "how much the model may think in a turn",
        _think,
        aliases=("thinking", "effort"),
        hint="[off|low|normal|high|N]",
        arguments=words("off", *THINKING_LEVELS, "on"),
    ),
    Command(
        "budget",
        "limits of this run and this session, and what is used of them",
        _budget,
        aliases=("budgets", "limits"),
        hint="[NAME N]",
        arguments=words(*(kind.name for kind in BUDGET_KINDS)),
    ),
    Command(
        "queue", "prompts that wait for this run to end", _queue, hint="[PROMPT | drop N]", arguments=words("drop")
    ),
)
