"""Commands on what the session sets out to do: the list of steps, and the plan that waits for the user."""

from __future__ import annotations

from pool.agent.commands.kinds import ActionKind, Ask, Choice, Command, CommandError, CommandResult, Typed, act, said
from pool.agent.control import Conversation
from pool.agent.todo import lines_of, progress
from pool.config.settings import Mode, mode_of

CARRIED_OUT_IN = (Mode.AUTO, Mode.ACCEPT_EDITS, Mode.DEFAULT)
"""Modes that are offered for carrying a plan out; allow-all is chosen by name."""


async def _todo(conversation: Conversation, typed: Typed) -> CommandResult:
    items = conversation.session.work.todo.items
    if not items:
        return said("there is no list; the model keeps one for work of several steps")
    return said(progress(items), *lines_of(items))


async def _plan(conversation: Conversation, typed: Typed) -> CommandResult:
    plan = conversation.session.work.plan
    match typed.words:
        case [] if plan.waiting:
            return CommandResult(plan_lines(plan.waiting), ask=asked(conversation))
        case []:
            return _begin(conversation)
        case ["approve"]:
            return act(ActionKind.SUBMIT, conversation.approve_plan())
        case ["approve", mode]:
            return act(ActionKind.SUBMIT, conversation.approve_plan(mode_of(mode)))
        case ["edit"] if plan.waiting:
            return act(ActionKind.EDIT_PLAN, plan.waiting)
        case ["edited", *_] if plan.waiting:
            plan.edit(typed.rest.removeprefix("edited"))
            return CommandResult(plan_lines(plan.waiting))
        case ["drop" | "edit" | "edited", *_]:
            plan.drop()
            return said("the plan is dropped; the mode stays plan (/mode changes it)")
        case ["approve", *_]:
            raise CommandError("usage: /plan, /plan PROMPT, /plan approve [MODE], /plan edit, /plan drop")
        case _ if conversation.busy:
            raise CommandError("a run is working; stop it first, or use /mode plan")
        case _:
            conversation.set_mode(Mode.PLAN)
            return act(ActionKind.SUBMIT, typed.rest)


def _begin(conversation: Conversation) -> CommandResult:
    conversation.set_mode(Mode.PLAN)
    return said(
        "mode plan: nothing is changed. What you write next is planned; the plan then waits for you: approve it, edit "
        "it, or write what should be different"
    )


def plan_lines(text: str) -> tuple[str, ...]:
    """A plan as a command's answer."""
    return ("the plan that waits:", "", *text.split("\n"))


def asked(conversation: Conversation) -> Ask:
    """What is to be done with the plan that waits."""
    usual = conversation.session.work.plan.usual_mode
    modes = dict.fromkeys((usual, *CARRIED_OUT_IN))
    choices = [Choice(f"carry it out in mode {mode.value}", f"/plan approve {mode.value}") for mode in modes]
    more = (Choice("edit it", "/plan edit"), Choice("drop it", "/plan drop"), Choice("leave it waiting"))
    return Ask("Carry out this plan? (a prompt says what should be different)", (*choices, *more))


def _plan_words(conversation: Conversation) -> tuple[str, ...]:
    return ("approve", *(f"approve {mode.value}" for mode in CARRIED_OUT_IN), "edit", "drop")


COMMANDS = (
    Command("todo", "the model's list of steps", _todo, aliases=("todos",)),
    Command(
        "plan",
        "plan mode, and the plan that waits: approve, edit or drop it",
        _plan,
        hint="[PROMPT | approve [MODE] | edit | drop]",
        arguments=_plan_words,
    ),
)
