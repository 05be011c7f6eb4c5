"""Modes and config options of a session, as an editor shows and sets them. All of it is read from the session itself,
so nothing has to be kept in step by hand.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pool.agent.control import Busy, Conversation
from pool.agent.modelswitch import Offer
from pool.config.settings import THINKING_LEVELS, Mode, SettingsError, mode_of
from pool.extend.acp.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError, bad_params
from pool.wire.errors import ServerProblem

Json = dict[str, Any]

MODE, AGENT_MODE, THINKING, MODEL = "mode", "agent_mode", "thought_level", "model"
BUILD, PLAN = "build", "plan"

MODES = {
    Mode.DEFAULT: ("Ask first", "asks before it changes files or runs commands"),
    Mode.ACCEPT_EDITS: ("Accept edits", "changes files unasked, asks before it runs commands"),
    Mode.AUTO: ("Auto", "changes files and runs commands in the sandbox unasked"),
    Mode.ALLOW_ALL: ("Allow all", "asks nothing"),
    Mode.PLAN: ("Plan", "reads only, and says what it would do"),
}
"""Name and description of each mode."""

Consent = Callable[[str], Awaitable[bool]]
"""Puts a question to the user; whether the answer is yes."""


def modes(conversation: Conversation) -> Json:
    """The approval modes in the form of clients that know no config options."""
    rows = [{"id": mode.value, "name": name, "description": about} for mode, (name, about) in MODES.items()]
    return {"currentModeId": conversation.status().mode.value, "availableModes": rows}


def options(conversation: Conversation, offers: Sequence[Offer]) -> list[Json]:
    """All options with their values; offers are the models as far as they are known by now."""
    status = conversation.status()
    planning = status.mode is Mode.PLAN
    level = conversation.thinking_level
    levels = dict.fromkeys((level, "off", *THINKING_LEVELS))
    models = dict.fromkeys(offer.name for offer in offers) or {status.model: None}
    current = next((offer.name for offer in offers if offer.current), status.model)
    where = {offer.name: offer.where for offer in offers}
    return [
        _select(MODE, "Approvals", MODE, status.mode.value, [(m.value, n, about) for m, (n, about) in MODES.items()]),
        _select(
            AGENT_MODE,
            "Build or plan",
            "_agent_mode",
            PLAN if planning else BUILD,
            [(BUILD, "Build", "works on the task"), (PLAN, "Plan", MODES[Mode.PLAN][1])],
        ),
        _select(THINKING, "Thinking", THINKING, level, [(one, one.capitalize(), _level_words(one)) for one in levels]),
        _select(MODEL, "Model", MODEL, current, [(n, n, where.get(n, "")) for n in dict.fromkeys((*models, current))]),
    ]


def _select(option: str, name: str, category: str, value: str, choices: Sequence[tuple[str, str, str]]) -> Json:
    rows = [{"value": v, "name": n, **({"description": about} if about else {})} for v, n, about in choices]
    return {
        "id": option,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": value,
        "options": rows,
    }


def _level_words(level: str) -> str:
    tokens = THINKING_LEVELS.get(level)
    return f"at most {tokens:,} tokens a turn" if tokens else ""


def set_mode(conversation: Conversation, name: str) -> None:
    """Set the approval mode. Raises `RpcError` for one that is none."""
    try:
        conversation.set_mode(mode_of(name))
    except SettingsError as error:
        raise bad_params(str(error)) from None


async def set_option(conversation: Conversation, option: str, value: Any, consent: Consent) -> None:
    """Set one. consent is asked before the conversation goes to a server elsewhere. Raises `RpcError`."""
    if not isinstance(value, str):
        raise bad_params(f"`value` of {option!r} has to be a text")
    try:
        match option:
            case "mode":
                set_mode(conversation, value)
            case "agent_mode" if value == PLAN:
                conversation.set_mode(Mode.PLAN)
            case "agent_mode" if value == BUILD:
                if conversation.status().mode is Mode.PLAN:
                    conversation.set_mode(conversation.session.work.plan.usual_mode)
            case "agent_mode":
                raise bad_params(f"agent_mode is {BUILD} or {PLAN}, not {value!r}")
            case "thought_level":
                _set_thinking(conversation, value)
            case "model":
                await _set_model(conversation, value, consent)
            case _:
                known = ", ".join((MODE, AGENT_MODE, THINKING, MODEL))
                raise bad_params(f"there is no option {option!r}; there are {known}")
    except SettingsError as error:
        raise bad_params(str(error)) from None
    except Busy as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
    except ServerProblem as problem:
        raise RpcError(INTERNAL_ERROR, str(problem), {"remedy": problem.remedy}) from None


def _set_thinking(conversation: Conversation, level: str) -> None:
    if not conversation.set_thinking(level).applied:
        # Who chooses it in a list has no way to be told a price first; the cost is one reading of the history.
        conversation.set_thinking(level, by_template=True)


async def _set_model(conversation: Conversation, name: str, consent: Consent) -> None:
    if conversation.busy:
        raise Busy("a run is working; the model can be switched after it")
    models = conversation.session.models
    switch = await models.prepare(name, confirmed=False)
    if switch.leaves:
        await models.give_up(switch)
        if not await consent(f"Switch to {switch.model}? {switch.leaves}"):
            raise RpcError(INVALID_REQUEST, "the model was not switched, since that was declined")
        switch = await models.prepare(name, confirmed=True)
    await conversation.switch_model(switch)
