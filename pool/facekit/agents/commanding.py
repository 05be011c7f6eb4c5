"""Slash commands in a conversation with another agent: a few of Pool's, and all that the agent offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pool.agent.commands import Action, ActionKind, Ask, Choice, CommandResult, Rows
from pool.facekit.agents.descriptions import AgentError
from pool.facekit.agents.earlier import listed
from pool.facekit.agents.offered import offered_names

if TYPE_CHECKING:
    from pool.facekit.agents.driving import AgentDriver

OWN = (
    ("/agent", "NAME  a new session with another agent, or with pool's own"),
    ("/copy", "the last answer to the clipboard"),
    ("/help", "keys and commands"),
    ("/login", "METHOD  log in by one of the agent's methods"),
    ("/mode", "NAME  the agent's modes, or choose one"),
    ("/new", "a new session; starts the agent again"),
    ("/option", "ID VALUE  the agent's own settings, such as its model, or change one"),
    ("/quit", "leave; the agent ends"),
    ("/resume", "ID  go on with another session of the agent's"),
    ("/status", "the agent, its model and mode, where it works"),
    ("/stop", "cancel what the agent does"),
    ("/theme", "NAME  colours"),
)
"""Pool's commands in such a conversation. A command of the agent's with the same name is not reached."""

OF_A_FACE = {
    "quit": ActionKind.QUIT,
    "exit": ActionKind.QUIT,
    "q": ActionKind.QUIT,
    "new": ActionKind.NEW,
    "agent": ActionKind.AGENT,
    "theme": ActionKind.THEME,
}
"""Commands that only a face can do."""


def offers(line: str, driver: AgentDriver) -> Sequence[tuple[str, str]]:
    """Commands that fit the beginning of a line, each with a line about it."""
    talk = driver.talk
    if line.startswith("/mode ") and talk is not None:
        every = [(f"/mode {one.name}", one.about) for one in talk.modes]
    elif line.startswith("/option ") and talk is not None:
        every = [(f"/option {o.id} {c.name}", c.about or o.name) for o in talk.options for c in o.choices]
    else:
        theirs = [(f"/{one.name}", one.about) for one in talk.commands] if talk is not None else []
        every = [*OWN, *(one for one in theirs if one[0] not in dict(OWN))]
    return [one for one in every if one[0].startswith(line)]


async def execute(line: str, driver: AgentDriver) -> CommandResult:
    """Do a command; what went wrong is in the result."""
    name, _, rest = line.strip().removeprefix("/").partition(" ")
    try:
        return await _done(name, rest.strip(), line.strip(), driver)
    except AgentError as error:
        return CommandResult((str(error), *([error.remedy] if error.remedy else [])), ok=False)


async def _done(name: str, rest: str, line: str, driver: AgentDriver) -> CommandResult:
    talk = driver.talk
    if talk is None:
        return CommandResult(("the agent has been left",), ok=False)
    if name in OF_A_FACE:
        return CommandResult(action=Action(OF_A_FACE[name], rest))
    match name:
        case "help":
            return CommandResult(action=Action(ActionKind.OPEN, "/help"))
        case "copy" if talk.last_answer:
            return CommandResult(action=Action(ActionKind.COPY, talk.last_answer))
        case "copy":
            return CommandResult(("there is no answer to copy yet",), ok=False)
        case "resume":
            return await _resume(rest, driver)
        case "stop":
            return CommandResult(() if talk.stop() else ("nothing works",))
        case "status":
            return _status(driver)
        case "login":
            return await _log_in(rest, driver)
        case "option":
            return await _option(rest, driver)
        case "mode" if rest:
            await talk.choose_mode(rest)
            return CommandResult()
        case "mode":
            rows = tuple((one.name, one.about, "now" if one.name == talk.mode else "") for one in talk.modes)
            return CommandResult(rows=Rows(("mode", "is", ""), rows)) if rows else CommandResult(("it has no modes",))
        case _ if name in {one.name for one in talk.commands}:
            return CommandResult(action=Action(ActionKind.SUBMIT, line))
        case _:
            theirs = offered_names(talk.commands)
            here = ", ".join(own for own, _ in OWN)
            more = f"; {driver.agent.title} has {theirs}" if theirs else ""
            return CommandResult((f"/{name} is not there with another agent", f"there are {here}{more}"), ok=False)


def _status(driver: AgentDriver) -> CommandResult:
    talk = driver.talk
    assert talk is not None
    agent = driver.agent
    lines = (
        f"{agent.title} {talk.connection.version}".rstrip() + ("" if talk.alive else ": it does not run; /new"),
        f"command: {' '.join(agent.command)} (described in {agent.file})",
        f"model: {talk.model or 'not told'}; mode: {talk.mode or 'not told'}",
        f"in {driver.settings.workspace}, outside Pool's sandbox",
    )
    return CommandResult(lines)


async def _option(rest: str, driver: AgentDriver) -> CommandResult:
    talk = driver.talk
    assert talk is not None
    name, _, value = rest.partition(" ")
    chosen = next((one for one in talk.options if one.id == name), None)
    if chosen is not None and value:
        await talk.set_option(chosen, value.strip())
        return CommandResult()
    if chosen is not None:
        choices = ((one.name, one.about, "now" if one.name == chosen.value else "") for one in chosen.choices)
        return CommandResult(rows=Rows((chosen.name, "is", ""), tuple(choices)))
    if not talk.options:
        return CommandResult((f"{driver.agent.title} offers no settings",))
    rows = tuple((one.id, one.value, offered_names(one.choices)) for one in talk.options)
    return CommandResult(rows=Rows(("setting", "is", "may be"), rows), ok=not name)


async def _resume(session: str, driver: AgentDriver) -> CommandResult:
    talk = driver.talk
    assert talk is not None
    if talk.busy:
        return CommandResult(("the agent works: /stop first",), ok=False)
    if session:
        return CommandResult(action=Action(ActionKind.RESUME, session))
    found = await listed(talk.connection, driver.settings.workspace)
    others = [one for one in found if one.id != talk.connection.session]
    if not others:
        return CommandResult((f"{driver.agent.title} has no other session in this folder",))
    choices = [Choice(f"{one.title or one.id}  {one.changed}".rstrip(), f"/resume {one.id}") for one in others]
    return CommandResult(ask=Ask("Sessions of the agent's", (*choices, Choice("none of them"))))


async def _log_in(method: str, driver: AgentDriver) -> CommandResult:
    talk = driver.talk
    assert talk is not None
    methods = talk.connection.methods
    if method not in {one.id for one in methods}:
        offered = ", ".join(f"{one.id} ({one.name})" for one in methods)
        why = f"{driver.agent.title} offers {offered or 'no login'}"
        return CommandResult((why, *([driver.agent.login] if driver.agent.login else [])), ok=False)
    await driver.log_in(method)
    return CommandResult((f"{driver.agent.title}: logged in",)) if talk.alive else CommandResult()
