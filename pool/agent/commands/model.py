"""The command that changes the model of a session."""

from __future__ import annotations

from pool.agent.commands.kinds import Ask, Choice, Command, CommandError, CommandResult, Rows, Typed, said
from pool.agent.control import Busy, Conversation
from pool.agent.modelswitch import Switch

YES, COMPACT, FILTER = "--yes", "--compact", "?"
_FLAGS = frozenset({YES, COMPACT})
MOST_ROWS = 40
MOST_CHOICES = 8
"""Of so few others one can be picked at once."""


async def _model(conversation: Conversation, typed: Typed) -> CommandResult:
    words = [word for word in typed.words if word not in _FLAGS]
    if not words or words[0].startswith(FILTER):
        return await _listed(conversation, " ".join(words).removeprefix(FILTER).strip())
    if len(words) > 1:
        raise CommandError("usage: /model, /model ?PART, /model ID, or /model PROFILE:ID")
    if conversation.busy:
        raise Busy("a run is working; the model can be switched after it")
    if COMPACT in typed.words:
        await conversation.compact()
    confirmed = YES in typed.words
    switch = await conversation.session.models.prepare(words[0], confirmed=confirmed)
    if not confirmed and (switch.tokens or switch.leaves):
        await conversation.session.models.give_up(switch)
        return _asked(switch, words[0])
    return said(await conversation.switch_model(switch), *_narrow(switch))


def _asked(switch: Switch, name: str) -> CommandResult:
    lines = [f"switch to {switch.model}?", f"{switch.where}: {switch.words}", *_narrow(switch)]
    lines += [switch.leaves] if switch.leaves else []
    choices = [Choice("switch", f"/model {name} {YES}")]
    if not switch.fits:
        choices.append(Choice("compact first, with the present model", f"/model {name} {YES} {COMPACT}"))
    return CommandResult(ask=Ask("\n".join(lines), (*choices, Choice("stay"))))


def _narrow(switch: Switch) -> list[str]:
    """What is to be said where the history does not fit into the new window."""
    if switch.fits:
        return []
    what = f"the conversation of about {switch.tokens:,} tokens is large for its window of {switch.window:,}"
    return [f"{what}: it is compacted before the next request"]


async def _listed(conversation: Conversation, wanted: str) -> CommandResult:
    offers = await conversation.session.models.offers(wanted)
    if not offers:
        raise CommandError(f"no model's name has {wanted!r} in it; /model lists all")
    rows = tuple(("*" if one.current else "", one.name, one.where) for one in offers[:MOST_ROWS])
    more = [f"and {len(offers) - MOST_ROWS} more; /model ?PART shows those whose name has PART"]
    lines = ("/model NAME switches; ?PART filters", *(more if len(offers) > MOST_ROWS else ()))
    others = [one for one in offers if not one.current]
    ask = None
    if others and len(others) <= MOST_CHOICES and not conversation.busy:
        choices = tuple(Choice(f"{one.name}  {one.where}", f"/model {one.name}") for one in others)
        ask = Ask("switch the model?", (*choices, Choice("stay")))
    return CommandResult(lines, Rows(("", "model", "where"), rows), ask=ask)


def _names(conversation: Conversation) -> tuple[str, ...]:
    info = conversation.session.replies.exchange.link.look()
    profiles = [f"{one.name}:{one.model}" for one in conversation.session.models.profiles if one.base_url or one.model]
    return (*(info.models if info else ()), *profiles)


COMMANDS = (
    Command(
        "model",
        "the models there are, or another one for this session",
        _model,
        aliases=("models",),
        hint="[NAME | PROFILE:ID | ?PART]",
        arguments=_names,
    ),
)
